/* Snapshots of a port for a view, as sent over D-Bus: a matrix no larger than the view can show, or a text.
 *
 * Selects indices along leading dimensions until a matrix is left, and averages it down to max_bytes of f32. */
#include "app/worker/worker.h"

/* Picks along leading dimensions until a matrix is left and averages it down to max_bytes of f32. */
static GVariant *
downsample (const LoomTensor *value, gint64 step, const gint64 *index, gsize n_index, guint32 max_bytes)
{
  int lead = MAX (0, value->rank - 2);
  gint64 offset = 0, rows = 1, columns = 1;
  GVariantBuilder shape, full;

  for (int d = 0; d < lead; d++)
    {
      gint64 at = d < n_index ? CLAMP (index[d], 0, MAX (0, value->dim[d] - 1)) : 0;
      offset = offset * value->dim[d] + at;
    }
  if (value->rank >= 1)
    columns = value->dim[value->rank - 1];
  if (value->rank >= 2)
    rows = value->dim[value->rank - 2];
  offset *= rows * columns;

  /* Halves the side with more cells until the matrix fits, so that cells stay approximately square. */
  gsize limit = MAX (1, MIN (max_bytes, WORKER_MAX_VIEW_BYTES) / sizeof (float));
  gint64 fr = 1, fc = 1;
  while (((rows + fr - 1) / fr) * ((columns + fc - 1) / fc) > (gint64)limit)
    {
      if ((rows + fr - 1) / fr > (columns + fc - 1) / fc)
        fr *= 2;
      else
        fc *= 2;
    }
  gint64 out_rows = (rows + fr - 1) / fr, out_columns = (columns + fc - 1) / fc;
  gsize n = value->count == 0 ? 0 : (gsize)(out_rows * out_columns);
  float *data = g_new0 (float, MAX (n, 1));
  if (n > 0)
    loom_tensor_block_means (value, offset, rows, columns, fr, fc, data);

  g_variant_builder_init (&shape, G_VARIANT_TYPE ("ax"));
  if (value->rank >= 2)
    g_variant_builder_add (&shape, "x", out_rows);
  if (value->rank >= 1)
    g_variant_builder_add (&shape, "x", out_columns);
  g_variant_builder_init (&full, G_VARIANT_TYPE ("ax"));
  for (int d = 0; d < value->rank; d++)
    g_variant_builder_add (&full, "x", value->dim[d]);
  GVariant *bytes = g_variant_new_from_data (G_VARIANT_TYPE ("ay"), data, n * sizeof (float), TRUE, g_free, data);
  return g_variant_new ("(xaxax@ay)", step, &shape, &full, bytes);
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
         || g_str_equal (port, LOOM_SNAPSHOT_RANKS);
}

GVariant *
worker_snapshot (LoomTrainer *trainer, const char *port, const gint64 *index, gsize n_index, guint32 max_bytes,
                 GError **error)
{
  gint64 step = 0;
  g_autoptr (LoomTensor) value = loom_trainer_snapshot (trainer, port, &step, error);

  if (value != NULL && is_text (port))
    return as_bytes (value, step);
  return value ? downsample (value, step, index, n_index, max_bytes) : NULL;
}
