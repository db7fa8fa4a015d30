/* The table of pin kinds. A new kind is its functions and an entry here, before the heat map, which accepts any tensor.
 */
#include "ui/pins/studio-pin-kind.h"

#include <glib/gi18n.h>

#include "ui/charts/heat-map-labels.h"
#include "ui/charts/studio-scalar-pin.h"

/* ---- scalar --------------------------------------------------------------------------- */

static gboolean
scalar_suits (const LoomType *type)
{
  return type->shape.rank == 0;
}

static GtkWidget *
scalar_create (int height)
{
  return GTK_WIDGET (studio_scalar_pin_new (""));
}

static void
scalar_show (GtkWidget *widget, const StudioPinValue *value)
{
  g_autofree char *figure = studio_format_number (value->values[0]);
  g_autofree char *caption = g_strdup_printf ("%s · %s", value->tensor, value->when);
  studio_scalar_pin_set_caption (STUDIO_SCALAR_PIN (widget), caption);
  studio_scalar_pin_set (STUDIO_SCALAR_PIN (widget), figure, NULL);
}

static void
scalar_clear (GtkWidget *widget, const char *tensor)
{
  studio_scalar_pin_set_caption (STUDIO_SCALAR_PIN (widget), tensor);
  studio_scalar_pin_set (STUDIO_SCALAR_PIN (widget), NULL, NULL);
}

/* ---- heat map ------------------------------------------------------------------------- */

#define PIN_PADDING 14 /* of the frame around the map, both sides */

static GtkWidget *
map_create (int height)
{
  StudioHeatMap *map = studio_heat_map_new ();
  studio_heat_map_set_map_height (map, height - PIN_PADDING);
  return GTK_WIDGET (map);
}

/* Of a tensor with more than two dimensions only the first matrix is sent. */
static const char *
map_part (gsize full_rank)
{
  static const char *const words[] = { NULL, NULL, NULL, N_ ("sample 1"), N_ ("sample 1, channel 1") };
  if (full_rank >= G_N_ELEMENTS (words))
    return _ ("first of each");
  return words[full_rank] != NULL ? _ (words[full_rank]) : NULL;
}

/* Averages blocks of cells so that neither side exceeds MAX_SIDE, which is more than the pixels of a screen. NULL: it
 * fits. */
#define MAX_SIDE 4096

static float *
map_reduce (const float *value, gint64 *rows, gint64 *columns)
{
  gint64 fr = (*rows + MAX_SIDE - 1) / MAX_SIDE, fc = (*columns + MAX_SIDE - 1) / MAX_SIDE;
  if (fr == 1 && fc == 1)
    return NULL;
  gint64 r_out = (*rows + fr - 1) / fr, c_out = (*columns + fc - 1) / fc;
  const gint64 dims[] = { *rows, *columns };
  g_autoptr (GBytes) bytes = g_bytes_new_static (value, (gsize)(*rows * *columns) * sizeof (float));
  g_autoptr (LoomTensor) matrix = loom_tensor_new_from_bytes (LOOM_F32, 2, dims, bytes, 0);
  float *out = g_new (float, (gsize)(r_out * c_out));
  loom_tensor_block_means (matrix, 0, *rows, *columns, fr, fc, out);
  *rows = r_out;
  *columns = c_out;
  return out;
}

static void
map_show (GtkWidget *widget, const StudioPinValue *value)
{
  gint64 rows = value->rank >= 2 ? value->dims[value->rank - 2] : 1;
  gint64 columns = value->rank >= 1 ? value->dims[value->rank - 1] : 1;
  g_autofree float *small = map_reduce (value->values, &rows, &columns);
  studio_heat_map_set_labels (STUDIO_HEAT_MAP (widget), value->row_labels, value->column_labels);
  studio_heat_map_set (STUDIO_HEAT_MAP (widget), value->tensor, map_part (value->full_rank), value->step, value->when,
                       (guint)rows, (guint)columns, small != NULL ? small : value->values);
}

static void
map_clear (GtkWidget *widget, const char *tensor)
{
  studio_heat_map_clear (STUDIO_HEAT_MAP (widget), tensor);
}

static void
map_set_text_scale (GtkWidget *widget, double scale)
{
  studio_heat_map_set_text_scale (STUDIO_HEAT_MAP (widget), scale);
}

static StudioHeatMap *
map_get_map (GtkWidget *widget)
{
  return STUDIO_HEAT_MAP (widget);
}

/* ---- table ---------------------------------------------------------------------------- */

static const StudioPinKind kinds[] = {
  { .name = "scalar",
    .height = 56,
    .suits = scalar_suits,
    .create = scalar_create,
    .show = scalar_show,
    .clear = scalar_clear },
  { .name = "heatmap",
    .height = 176,
    .create = map_create,
    .show = map_show,
    .clear = map_clear,
    .set_text_scale = map_set_text_scale,
    .get_map = map_get_map },
};

guint
studio_pin_n_kinds (void)
{
  return G_N_ELEMENTS (kinds);
}

const StudioPinKind *
studio_pin_kind (guint i)
{
  g_return_val_if_fail (i < G_N_ELEMENTS (kinds), NULL);
  return &kinds[i];
}

const StudioPinKind *
studio_pin_kind_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_strcmp0 (kinds[i].name, name) == 0)
      return &kinds[i];
  return studio_pin_kind_for (NULL);
}

const StudioPinKind *
studio_pin_kind_for (const LoomType *type)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i].suits == NULL || (type != NULL && kinds[i].suits (type)))
      return &kinds[i];
  g_return_val_if_reached (NULL);
}
