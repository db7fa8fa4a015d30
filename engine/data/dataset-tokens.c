/* Short sequences in which every position must fetch the value of another one: a task
 * that self-attention solves with weights which one can read off a heat map.
 *
 * A position's vector is [value one-hot | position one-hot | mark]. Values are drawn at
 * random, so the answer can only be copied from the right position:
 *
 *   marked    one position, drawn for each sequence, has mark 1, and every position must
 *             name its value. The weights become one bright column, where the mark is.
 *   reverse   position t must name the value of position T-1-t: a counter-diagonal.
 *   previous  position t must name the value of position t-1 (the first its own): a
 *             diagonal next to the main one.
 *
 * In the last two no position is marked, and the pattern is the same for every sequence. */
#include "engine/data/loom-dataset-private.h"

#define STREAM 5

static const char *const tasks[] = { "marked", "reverse", "previous", NULL };

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("2000", "500"),
  { LOOM_OPTION ("task", ENUM, "marked"), .choices = tasks,
    .doc = "The position whose value each position must predict: the marked one, the mirrored one, or the previous "
           "one." },
  { LOOM_OPTION ("length", INT, "8"), LOOM_RANGE (2, 512), .doc = "T, the number of positions of a sequence." },
  { LOOM_OPTION ("values", INT, "7"), LOOM_RANGE (2, 512),
    .doc = "The number of different values, which are the classes of y; x has values + length + 1 channels." },
  { .name = NULL },
};

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 length = loom_option_int (klass, options, "length"), values = loom_option_int (klass, options, "values");
  const gint64 dims[] = { length, values + length + 1 };

  loom_info_add_port (info, "x", LOOM_F32, 2, dims);
  loom_info_add_port (info, "y", LOOM_I64, 1, &length);
  loom_info_set_generated (info, klass, options);
  info->n_classes = values;
  return TRUE;
}

static gint64
mirrored (gint64 t, gint64 length)
{
  return length - 1 - t;
}

static gint64
previous (gint64 t, gint64 length)
{
  return MAX (t - 1, 0);
}

typedef struct
{
  gint64 length, values;
  gint64 (*source) (gint64 t, gint64 length); /* NULL: the marked position */
} Task;

static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Task *task = data;
  gint64 channels = task->values + task->length + 1;
  float *x = (float *)row[0]->data + i * task->length * channels;
  gint64 *y = (gint64 *)row[1]->data + i * task->length;
  gint64 marked = loom_sample_below (random, (guint32)task->length);
  guint32 value[512];

  for (gint64 t = 0; t < task->length; t++)
    {
      value[t] = loom_sample_below (random, (guint32)task->values);
      x[t * channels + value[t]] = 1;
      x[t * channels + task->values + t] = 1;
    }
  if (task->source == NULL)
    x[marked * channels + channels - 1] = 1;
  for (gint64 t = 0; t < task->length; t++)
    y[t] = value[task->source != NULL ? task->source (t, task->length) : marked];
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const char *name = loom_option_string (klass, options, "task");
  Task task = {
    .length = loom_option_int (klass, options, "length"),
    .values = loom_option_int (klass, options, "values"),
    .source = g_str_equal (name, "reverse")    ? mirrored
              : g_str_equal (name, "previous") ? previous
                                               : NULL,
  };

  return loom_table_generate (klass, options, STREAM, make, &task, error);
}

const LoomDatasetClass loom_dataset_tokens = {
  .name = "tokens",
  .title = "Look up a position",
  .doc = "Sequences in which each position must predict the value of another position: a task for self-attention.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
