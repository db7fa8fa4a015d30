/* Symbols to be repeated, in the same or in reverse order: a recurrent network must keep them in its state, and an
 * encoder must pass them to a decoder.
 *
 * With answer="after" it is the copying problem of Hochreiter and Schmidhuber ("Long short-term memory", 1997, section
 * 5) in the form of Arjovsky, Shah and Bengio ("Unitary evolution recurrent neural networks", 2016, section 4.1):
 *
 *   x   s₁ s₂ … s_L  · · · (delay)  ? · · …
 *   y   - - … -      - - -          s₁ s₂ … s_L
 *
 * Positions without a target have -100, which cross-entropy ignores. With answer="beside" x is the symbols alone and y
 * has one for each of them, for networks that see the whole sequence. */
#include "engine/data/loom-dataset-private.h"

#define STREAM 6
#define BLANK  0
#define MARK   1
#define FIRST  2 /* the first symbol */

static const char *const tasks[] = { "copy", "reverse", NULL };
static const char *const answers[] = { "after", "beside", NULL };

static const LoomDatasetParam params[] = {
  LOOM_GENERATED_PARAMS ("5000", "500"),
  { LOOM_OPTION ("task", ENUM, "copy"), .choices = tasks,
    .doc = "Whether the output repeats the symbols in their order or reversed." },
  { LOOM_OPTION ("answer", ENUM, "after"), .choices = answers,
    .doc = "after: the net reads the whole sequence, and y begins at the mark in x; beside: y has a symbol at each "
           "position of x." },
  { LOOM_OPTION ("length", INT, "6"), LOOM_RANGE (1, 1024), .doc = "The number of symbols to remember." },
  { LOOM_OPTION ("delay", INT, "0"), LOOM_RANGE (0, 4096),
    .doc = "The number of blanks between the last symbol and the mark, with answer=\"after\"." },
  { LOOM_OPTION ("values", INT, "8"), LOOM_RANGE (2, 4096),
    .doc = "The number of different symbols; with the blank and the mark there are values + 2 classes." },
  { .name = NULL },
};

typedef struct
{
  gint64 length, delay, values;
  gboolean backwards, after;
} Copy;

static Copy
copy_of (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  return (Copy){
    .length = loom_option_int (klass, options, "length"),
    .delay = loom_option_int (klass, options, "delay"),
    .values = loom_option_int (klass, options, "values"),
    .backwards = g_str_equal (loom_option_string (klass, options, "task"), "reverse"),
    .after = g_str_equal (loom_option_string (klass, options, "answer"), "after"),
  };
}

static gint64
sequence_length (const Copy *copy)
{
  return copy->after ? 2 * copy->length + copy->delay : copy->length;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const Copy copy = copy_of (klass, options);
  const gint64 n = sequence_length (&copy);

  loom_info_add_port (info, "x", LOOM_I64, 1, &n);
  loom_info_add_port (info, "y", LOOM_I64, 1, &n);
  loom_info_set_generated (info, klass, options);
  info->n_classes = FIRST + copy.values;
  return TRUE;
}

static void
make (gconstpointer data, LoomSampleRandom *random, gint64 i, LoomTensor *const row[])
{
  const Copy *copy = data;
  const gint64 n = sequence_length (copy), first = n - copy->length; /* beginning of the answer */
  gint64 *x = (gint64 *)row[0]->data + i * n, *y = (gint64 *)row[1]->data + i * n;

  for (gint64 t = 0; t < n; t++)
    {
      x[t] = BLANK;
      y[t] = LOOM_TARGET_IGNORED;
    }
  if (copy->after)
    x[first] = MARK;
  for (gint64 t = 0; t < copy->length; t++)
    {
      const gint64 symbol = FIRST + loom_sample_below (random, (guint32)copy->values);

      x[t] = symbol;
      y[first + (copy->backwards ? copy->length - 1 - t : t)] = symbol;
    }
}

/* Letters, as long as there are enough of them. */
static char **
name_symbols (gint64 values)
{
  char **names = g_new0 (char *, FIRST + values + 1);

  names[BLANK] = g_strdup ("·");
  names[MARK] = g_strdup ("?");
  for (gint64 k = 0; k < values; k++)
    names[FIRST + k] = values <= 26 ? g_strdup_printf ("%c", (char)('a' + k)) : g_strdup_printf ("%d", (int)k + 1);
  return names;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const Copy copy = copy_of (klass, options);
  LoomDataset *self = loom_table_generate (klass, options, STREAM, make, &copy, error);

  if (self == NULL)
    return NULL;
  self->class_names = name_symbols (copy.values);
  self->separator = " ";
  return self;
}

const LoomDatasetClass loom_dataset_copy = {
  .name = "copy",
  .title = "Copy or reverse",
  .doc = "Sequences of symbols that the output repeats, forwards or backwards: a task for networks with a memory.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
};
