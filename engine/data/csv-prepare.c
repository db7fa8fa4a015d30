/* Fills gaps and normalises columns of a table with statistics of the training rows. */
#include "engine/data/csv-prepare.h"

#include <math.h>

const char *const loom_csv_missing_choices[] = { "refuse", "mean", "drop", NULL };
const char *const loom_csv_normalize_choices[] = { "none", "standard", "minmax", NULL };

/* Statistics of one column over the training rows. */
typedef struct
{
  double mean, deviation, least, most;
} Figures;

static int
choice (const char *const *choices, const char *text)
{
  int i = 0;

  while (choices[i] != NULL && !g_str_equal (choices[i], text))
    i++;
  return i;
}

LoomCsvMissing
loom_csv_missing (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  return choice (loom_csv_missing_choices, loom_option_string (klass, options, "missing"));
}

static Figures
measure_column (const LoomDataset *self, const float *x, gint64 features, gint64 column)
{
  Figures f = { 0, 0, INFINITY, -INFINITY };
  const guint32 *rows;
  double squares = 0;
  gint64 n, seen = 0;

  rows = loom_table_rows (self, LOOM_SPLIT_TRAIN, &n);
  for (gint64 i = 0; i < n; i++)
    {
      double value = x[(rows != NULL ? rows[i] : i) * features + column], delta;

      if (isnan (value))
        continue;
      delta = value - f.mean;
      f.mean += delta / (double)++seen;
      squares += delta * (value - f.mean);
      f.least = MIN (f.least, value);
      f.most = MAX (f.most, value);
    }
  f.deviation = seen > 0 ? sqrt (squares / (double)seen) : 0;
  return f;
}

void
loom_csv_prepare_row (const LoomDataset *self, float *row)
{
  const gint64 features = self->info.port[0].type.shape.dim[1].coef;

  for (gint64 k = 0; k < features; k++)
    {
      if (self->feature_fill != NULL && isnan (row[k]))
        row[k] = self->feature_fill[k];
      if (self->feature_scale != NULL)
        row[k] = (row[k] - self->feature_shift[k]) * self->feature_scale[k];
    }
}

void
loom_csv_prepare (LoomDataset *self, const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomTensor *x)
{
  enum
  {
    NONE,
    STANDARD,
    MINMAX
  } normalize;
  const gboolean fills = loom_csv_missing (klass, options) == LOOM_CSV_MISSING_MEAN;
  const gint64 features = x->dim[1];

  normalize = choice (loom_csv_normalize_choices, loom_option_string (klass, options, "normalize"));
  if (!fills && normalize == NONE)
    return;
  self->feature_fill = fills ? g_new0 (float, features) : NULL;
  self->feature_shift = normalize != NONE ? g_new0 (float, features) : NULL;
  self->feature_scale = normalize != NONE ? g_new0 (float, features) : NULL;
  for (gint64 k = 0; k < features; k++)
    {
      const Figures f = measure_column (self, x->data, features, k);
      const double range = normalize == MINMAX ? f.most - f.least : f.deviation;

      if (fills)
        self->feature_fill[k] = (float)f.mean;
      if (normalize == NONE)
        continue;
      self->feature_shift[k] = (float)(normalize == MINMAX && isfinite (f.least) ? f.least : f.mean);
      /* A constant column becomes 0. */
      self->feature_scale[k] = range > 0 && isfinite (range) ? (float)(1 / range) : 1;
    }
  for (gint64 i = 0; i < x->dim[0]; i++)
    loom_csv_prepare_row (self, (float *)x->data + i * features);
}
