#include "tests/ui/pin-sample.h"

PinValue *
pin_sample_new (gint64 step, gsize rank, const gint64 *dims)
{
  static float values[PIN_SAMPLE_MAX];
  static const char *const names[] = { "sample", "channel", "row", "column" };
  PinValue *value = pin_value_new ("block.1.conv", "channel 2 of 3", "step 840", step);
  gsize n = 1;

  for (gsize i = 0; i < rank; i++)
    n *= (gsize)dims[i];
  g_assert_cmpuint (n, <=, PIN_SAMPLE_MAX);
  for (gsize i = 0; i < n; i++)
    values[i] = (float)i - (float)n / 3;
  g_assert_true (pin_value_set (value, rank, dims, values, n));
  value->full_rank = rank;
  for (gsize d = 0; d < rank; d++)
    {
      value->full[d] = dims[d];
      value->axis[d] = names[d % G_N_ELEMENTS (names)];
    }
  return value;
}

void
pin_image_init (PinImage *self, PinValue *value, const PinHistory *history, int width, int height, int margin)
{
  self->surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
  self->drawing = (PinDrawing){ .value = value,
                                .history = history,
                                .cr = cairo_create (self->surface),
                                .context = pango_font_map_create_context (pango_cairo_font_map_get_default ()),
                                .scale = 1,
                                .cell = -1,
                                .room = { margin, margin, width - 2 * margin, height - 2 * margin } };
}

void
pin_image_clear (PinImage *self)
{
  g_object_unref (self->drawing.context);
  cairo_destroy (self->drawing.cr);
  cairo_surface_destroy (self->surface);
}

const guint32 *
pin_image_draw (PinImage *self, const StudioPinKind *kind)
{
  kind->draw (&self->drawing);
  g_assert_cmpint (cairo_status (self->drawing.cr), ==, CAIRO_STATUS_SUCCESS);
  cairo_surface_flush (self->surface);
  g_assert_cmpint (cairo_image_surface_get_stride (self->surface), ==,
                   4 * cairo_image_surface_get_width (self->surface));
  return (const guint32 *)(const void *)cairo_image_surface_get_data (self->surface);
}
