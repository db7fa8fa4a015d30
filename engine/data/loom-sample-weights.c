/* The sampling weight of each sample: its own weight or that of its class.
 *
 * A sampler with weights draws with replacement, as torch.utils.data.WeightedRandomSampler does: an epoch has as many
 * samples as without weights, some of them several times and others not at all. */
#include "engine/data/loom-sample-weights.h"

#include <math.h>

#include "engine/core/loom-refuse.h"

#define CHUNK 256 /* number of samples that are read at a time for their classes */

static gboolean
are_balanced (const char *text)
{
  return g_str_equal (text, LOOM_SAMPLE_WEIGHTS_BALANCED);
}

/* TRUE if each sample's weight is the data set's port "weight". */
static gboolean
are_own (const char *text)
{
  return g_str_equal (text, LOOM_SAMPLE_WEIGHTS_OWN);
}

/* "1,0,2.5": GArray of double, at least one of them above 0; NULL if it is not valid. */
static GArray *
parse (const char *text)
{
  g_autoptr (GArray) weights = g_array_new (FALSE, FALSE, sizeof (double));
  double sum = 0;

  for (const char *at = text;;)
    {
      char *end;
      double w = g_ascii_strtod (at, &end);

      if (end == at || !isfinite (w) || w < 0 || (*end != '\0' && *end != ','))
        return NULL;
      g_array_append_val (weights, w);
      sum += w;
      if (*end == '\0')
        break;
      at = end + 1;
    }
  return sum > 0 ? g_steal_pointer (&weights) : NULL;
}

gboolean
loom_sample_weights_are_valid (const char *text)
{
  g_autoptr (GArray) weights = are_balanced (text) || are_own (text) ? NULL : parse (text);

  return weights != NULL || are_balanced (text) || are_own (text);
}

/* The port of this name with one number for each sample, an integer for classes; −1 if there is none. */
static int
find_port (const LoomDatasetInfo *info, const char *name, LoomDType dtype)
{
  for (guint p = 0; p < info->n_ports; p++)
    {
      const LoomType *type = &info->port[p].type;

      if (g_str_equal (info->port[p].name, name) && type->dtype == dtype && type->shape.rank == 1)
        return (int)p;
    }
  return -1;
}

/* Reads that number of each training sample. */
static gboolean
read_numbers (const LoomDataset *dataset, guint port, gint64 n, double *number, GError **error)
{
  gint64 index[CHUNK];

  for (gint64 done = 0; done < n; done += CHUNK)
    {
      const guint m = (guint)MIN (CHUNK, n - done);
      g_autoptr (GPtrArray) read = NULL;

      for (guint i = 0; i < m; i++)
        index[i] = done + i;
      read = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, index, m, error);
      if (read == NULL)
        return FALSE;
      for (guint i = 0; i < m; i++)
        number[done + i] = loom_tensor_get (read->pdata[port], i);
    }
  return TRUE;
}

/* The data set's own weights, which the data set has checked. */
static double *
own_weights (const LoomDataset *dataset, gint64 n, GError **error)
{
  const int port = find_port (loom_dataset_info (dataset), LOOM_WEIGHT_PORT, LOOM_F32);
  g_autofree double *weights = g_new (double, MAX (n, 1));
  double sum = 0;

  if (port < 0)
    return loom_refuse_null (
        error, LOOM_ERROR_DATA,
        "sample_weights=\"" LOOM_SAMPLE_WEIGHTS_OWN
        "\" needs a weight for each sample, which this data set does not have: set weight=\"COLUMN\" on a "
        "csv data set.");
  if (!read_numbers (dataset, (guint)port, n, weights, error))
    return NULL;
  for (gint64 i = 0; i < n; i++)
    sum += weights[i];
  if (sum > 0)
    return g_steal_pointer (&weights);
  return loom_refuse_null (error, LOOM_ERROR_DATA,
                           "With sample_weights the weight of each training sample is 0, so none can be drawn.");
}

static GArray *
balance (const double *classes, gint64 n, gint64 n_classes)
{
  GArray *weights = g_array_sized_new (FALSE, TRUE, sizeof (double), (guint)n_classes);

  g_array_set_size (weights, (guint)n_classes);
  for (gint64 i = 0; i < n; i++)
    if (classes[i] >= 0)
      g_array_index (weights, double, (guint)classes[i])++;
  for (gint64 c = 0; c < n_classes; c++)
    if (g_array_index (weights, double, c) > 0)
      g_array_index (weights, double, c) = 1 / g_array_index (weights, double, c);
  return weights;
}

static double *
weights_of_classes (const LoomDataset *dataset, const char *text, GError **error)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  const gint64 n = info->n[LOOM_SPLIT_TRAIN];
  const int port = find_port (info, "y", LOOM_I64);
  g_autofree double *classes = g_new (double, MAX (n, 1)), *weights = g_new (double, MAX (n, 1));
  g_autoptr (GArray) of_class = NULL;
  gint64 n_classes = info->n_classes;
  double sum = 0;

  if (port < 0)
    return loom_refuse_null (
        error, LOOM_ERROR_DATA,
        "sample_weights weights samples by class, but this data set has no classes (y, i64 [B]). Remove "
        "sample_weights.");
  if (!read_numbers (dataset, (guint)port, n, classes, error))
    return NULL;
  for (gint64 i = 0; i < n; i++)
    n_classes = MAX (n_classes, (gint64)classes[i] + 1);
  of_class = are_balanced (text) ? balance (classes, n, n_classes) : parse (text);
  if (of_class->len != n_classes)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "sample_weights has %u numbers, but the data set has %" G_GINT64_FORMAT
                             " classes. Set one for "
                             "each class, or “" LOOM_SAMPLE_WEIGHTS_BALANCED "”.",
                             of_class->len, n_classes);
  for (gint64 i = 0; i < n; i++)
    sum += weights[i] = classes[i] >= 0 ? g_array_index (of_class, double, (guint)classes[i]) : 0;
  if (sum > 0)
    return g_steal_pointer (&weights);
  return loom_refuse_null (
      error, LOOM_ERROR_DATA,
      "With sample_weights no training sample can be drawn: no sample has a class with a weight above 0.");
}

double *
loom_sample_weights (const LoomDataset *dataset, const char *text, GError **error)
{
  g_return_val_if_fail (loom_sample_weights_are_valid (text), NULL);
  return are_own (text) ? own_weights (dataset, loom_dataset_info (dataset)->n[LOOM_SPLIT_TRAIN], error)
                        : weights_of_classes (dataset, text, error);
}
