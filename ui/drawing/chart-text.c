/* Text layouts for charts; see the header. */
#include "ui/drawing/chart-text.h"

#include <math.h>

PangoLayout *
chart_text_layout (PangoContext *context, double scale, gboolean strong, const char *text)
{
  PangoLayout *layout = pango_layout_new (context);
  PangoFontDescription *font = pango_font_description_copy (pango_context_get_font_description (context));
  pango_font_description_set_absolute_size (font, 11 * scale * PANGO_SCALE);
  pango_font_description_set_weight (font, strong ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description (layout, font);
  pango_font_description_free (font);
  PangoAttrList *attributes = pango_attr_list_new ();
  pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  pango_layout_set_text (layout, text, -1);
  return layout;
}

double
chart_text_draw (cairo_t *cr, PangoLayout *layout, double x, double y, double align, double most)
{
  int w, h;

  pango_layout_get_pixel_size (layout, &w, &h);
  if (w > most)
    {
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
      pango_layout_set_width (layout, (int)(MAX (most, 1) * PANGO_SCALE));
      w = (int)most;
    }
  if (cr != NULL)
    {
      cairo_move_to (cr, floor (x - align * w), floor (y - h / 2.));
      pango_cairo_show_layout (cr, layout);
      cairo_new_path (cr); /* its current point would be the begin of the next path */
    }
  return w;
}
