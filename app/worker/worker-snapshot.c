/* Snapshots of a port for a view, as sent over D-Bus: a matrix no larger than the view can show, or a text.
 *
 * Selects indices along leading dimensions until a matrix is left, and averages it down to max_bytes of f32. */
#include "app/worker/worker.h"

#include <math.h>
#include <string.h>

#define BINS 64

/* The part of a tensor that is sent: matrices of rows × columns cells, each the mean of row_factor × column_factor
 * values. The matrices are picked by an index along the leading dimensions, or all of a dimension. */
typedef struct
{
  int lead; /* number of leading dimensions */
  gint64 rows, columns, row_factor, column_factor;
  gint64 at[LOOM_SHAPE_MAX_RANK]; /* -1: all */
  gint64 n_matrices;
} Part;

static gint64
divide_up (gint64 n, gint64 by)
{
  return (n + by - 1) / by;
}

static Part
choose_part (const LoomTensor *value, const gint64 *index, gsize n_index, gsize limit)
{
  Part part = { .lead = MAX (0, value->rank - 2), .n_matrices = 1, .row_factor = 1, .column_factor = 1 };

  part.columns = value->rank >= 1 ? value->dim[value->rank - 1] : 1;
  part.rows = value->rank >= 2 ? value->dim[value->rank - 2] : 1;
  for (int d = 0; d < part.lead; d++)
    {
      const gint64 wanted = (gsize)d < n_index ? index[d] : 0;

      part.at[d] = wanted < 0 ? -1 : MIN (wanted, MAX (0, value->dim[d] - 1));
      part.n_matrices *= wanted < 0 ? value->dim[d] : 1;
    }
  /* Halves the side with more cells until the matrices fit, so that cells stay approximately square. */
  while (divide_up (part.rows, part.row_factor) * divide_up (part.columns, part.column_factor) * part.n_matrices
             > (gint64)limit
         && (part.row_factor < part.rows || part.column_factor < part.columns))
    {
      if (divide_up (part.rows, part.row_factor) > divide_up (part.columns, part.column_factor))
        part.row_factor *= 2;
      else
        part.column_factor *= 2;
    }
  return part;
}

/* The offset of matrix i of those in the part, counted in the order of the tensor. */
static gint64
matrix_offset (const LoomTensor *value, const Part *part, gint64 i)
{
  gint64 offset = 0, stride = part->rows * part->columns;

  for (int d = part->lead; d > 0; d--)
    {
      const gint64 dim = value->dim[d - 1];

      offset += stride * (part->at[d - 1] >= 0 ? part->at[d - 1] : i % dim);
      if (part->at[d - 1] < 0)
        i /= dim;
      stride *= dim;
    }
  return offset;
}

static GVariant *
reply (gint64 step, GVariantBuilder *shape, const LoomTensor *value, float *data, gsize n)
{
  GVariant *full = g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, value->dim, (gsize)value->rank, sizeof (gint64));
  GVariant *bytes = g_variant_new_from_data (G_VARIANT_TYPE ("ay"), data, n * sizeof (float), TRUE, g_free, data);

  return g_variant_new ("(xax@ax@ay)", step, shape, full, bytes);
}

static GVariant *
downsample (const LoomTensor *value, gint64 step, const gint64 *index, gsize n_index, guint32 max_bytes, GError **error)
{
  const gsize limit = MAX (1, MIN (max_bytes, WORKER_MAX_VIEW_BYTES) / sizeof (float));
  const Part part = choose_part (value, index, n_index, limit);
  const gint64 rows = divide_up (part.rows, part.row_factor), columns = divide_up (part.columns, part.column_factor);
  const gsize n = value->count == 0 ? 0 : (gsize)(part.n_matrices * rows * columns);
  GVariantBuilder shape;

  if (n > limit)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "The tensor has %" G_GINT64_FORMAT " matrices, too many to show at once. Choose a view of fewer.",
                   part.n_matrices);
      return NULL;
    }
  float *data = g_new0 (float, MAX (n, 1));
  for (gint64 i = 0; n > 0 && i < part.n_matrices; i++)
    loom_tensor_block_means (value, matrix_offset (value, &part, i), part.rows, part.columns, part.row_factor,
                             part.column_factor, data + i * rows * columns);
  g_variant_builder_init (&shape, G_VARIANT_TYPE ("ax"));
  for (int d = 0; d < part.lead; d++)
    if (part.at[d] < 0)
      g_variant_builder_add (&shape, "x", value->dim[d]);
  if (value->rank >= 2)
    g_variant_builder_add (&shape, "x", rows);
  if (value->rank >= 1)
    g_variant_builder_add (&shape, "x", columns);
  return reply (step, &shape, value, data, n);
}

/* ---- summaries -------------------------------------------------------- */

typedef struct
{
  double least, most, sum, squares;
  gint64 n; /* finite values */
} Extent;

static Extent
measure (const LoomTensor *value)
{
  Extent e = { .least = INFINITY, .most = -INFINITY };

  for (gint64 i = 0; i < value->count; i++)
    {
      const double v = loom_tensor_get (value, i);

      if (!isfinite (v))
        continue;
      e.least = MIN (e.least, v);
      e.most = MAX (e.most, v);
      e.sum += v;
      e.squares += v * v;
      e.n++;
    }
  return e;
}

/* f32[2 + BINS]: least and greatest finite value, and the number of values in equal bins between them. */
static gsize
count_bins (const LoomTensor *value, float *out)
{
  const Extent e = measure (value);
  const double width = (e.most - e.least) / BINS;
  gint64 count[BINS] = { 0 };

  for (gint64 i = 0; i < value->count; i++)
    {
      const double v = loom_tensor_get (value, i);

      if (isfinite (v))
        count[width > 0 ? CLAMP ((int)((v - e.least) / width), 0, BINS - 1) : BINS / 2]++;
    }
  out[0] = e.n > 0 ? (float)e.least : NAN;
  out[1] = e.n > 0 ? (float)e.most : NAN;
  for (int b = 0; b < BINS; b++)
    out[2 + b] = (float)count[b];
  return 2 + BINS;
}

/* f32[5]: Euclidean norm, mean, standard deviation, least and greatest of the finite values. */
static gsize
measure_norms (const LoomTensor *value, float *out)
{
  const Extent e = measure (value);
  const double mean = e.n > 0 ? e.sum / (double)e.n : NAN;

  out[0] = (float)sqrt (e.squares);
  out[1] = (float)mean;
  out[2] = (float)sqrt (MAX (0, e.squares / (double)e.n - mean * mean));
  out[3] = e.n > 0 ? (float)e.least : NAN;
  out[4] = e.n > 0 ? (float)e.most : NAN;
  return 5;
}

/* Prefixes of a port whose numbers are computed from the whole tensor, so that no mean of cells distorts them. */
static const struct
{
  const char *prefix;
  gsize (*compute) (const LoomTensor *value, float *out); /* out: [2 + BINS] */
} summaries[] = { { "bins:", count_bins }, { "norm:", measure_norms } };

static int
find_summary (const char *port)
{
  for (guint i = 0; i < G_N_ELEMENTS (summaries); i++)
    if (g_str_has_prefix (port, summaries[i].prefix))
      return (int)i;
  return -1;
}

static GVariant *
summarize (int summary, const LoomTensor *value, gint64 step)
{
  float *data = g_new0 (float, 2 + BINS);
  const gsize n = summaries[summary].compute (value, data);
  GVariantBuilder shape;

  g_variant_builder_init (&shape, G_VARIANT_TYPE ("ax"));
  g_variant_builder_add (&shape, "x", (gint64)n);
  return reply (step, &shape, value, data, n);
}

/* Text is sent unchanged. */
static GVariant *
as_bytes (const LoomTensor *value, gint64 step)
{
  GVariant *shape = g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, value->dim, 1, sizeof (gint64));
  GVariant *bytes = g_variant_new_fixed_array (G_VARIANT_TYPE_BYTE, value->data, (gsize)value->count, 1);

  return g_variant_new ("(x@ax@ax@ay)", step, shape, shape, bytes);
}

static gboolean
is_text (const char *port)
{
  return g_str_has_prefix (port, "words:") || g_str_equal (port, LOOM_SNAPSHOT_TRACE)
         || g_str_equal (port, LOOM_SNAPSHOT_NODES) || g_str_equal (port, LOOM_SNAPSHOT_LOSSES)
         || g_str_equal (port, LOOM_SNAPSHOT_RANKS) || g_str_equal (port, LOOM_SNAPSHOT_COSTS)
         || g_str_equal (port, LOOM_SNAPSHOT_HEALTH);
}

GVariant *
worker_snapshot (LoomTrainer *trainer, const char *port, const gint64 *index, gsize n_index, guint32 max_bytes,
                 GError **error)
{
  const int summary = find_summary (port);
  gint64 step = 0;
  g_autoptr (LoomTensor) value
      = loom_trainer_snapshot (trainer, summary >= 0 ? port + strlen (summaries[summary].prefix) : port, &step, error);

  if (value == NULL)
    return NULL;
  if (is_text (port))
    return as_bytes (value, step);
  return summary >= 0 ? summarize (summary, value, step) : downsample (value, step, index, n_index, max_bytes, error);
}
