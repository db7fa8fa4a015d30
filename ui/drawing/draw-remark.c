/* Frames and notes: what people write beside a graph. */
#include "ui/drawing/draw-remark.h"

#include <math.h>
#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"

PangoLayout *
studio_remark_text_new (PangoContext *context, const StudioRemark *remark)
{
  PangoLayout *layout = pango_layout_new (context);
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_layout_set_text (layout, remark->text, -1);
  pango_attr_list_insert (attributes, remark->is_note ? pango_attr_scale_new (0.92)
                                                      : pango_attr_weight_new (PANGO_WEIGHT_SEMIBOLD));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  pango_layout_set_width (layout, MAX (remark->width - 24, 8) * PANGO_SCALE);
  pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
  if (remark->is_note)
    {
      pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
      pango_layout_set_height (layout, MAX (remark->height - 16, 8) * PANGO_SCALE);
    }
  return layout;
}

void
studio_draw_remark (cairo_t *cr, const StudioRemark *remark, PangoLayout *text, const StudioTheme *theme, double zoom,
                    gboolean selected)
{
  StudioColor color = remark->is_note ? theme->category[LOOM_CATEGORY_ACTIVATIONS] : theme->dim, border;

  if (remark->color != NULL)
    studio_color_parse (remark->color, &color);
  border = selected ? theme->accent : color;
  border.alpha = selected ? 1 : theme->high_contrast ? 0.9f : 0.45f;
  color.alpha = remark->is_note ? 0.16f : remark->color != NULL ? 0.10f : 0.05f;
  studio_draw_box (cr, 0, 0, floor (remark->width * zoom), floor (remark->height * zoom),
                   (remark->is_note ? 6 : 14) * MIN (zoom, 1), &color, selected ? 2 : 1, &border);
  /* Titles are worth reading long after the cards are not. */
  if (zoom < (remark->is_note ? STUDIO_ZOOM_DETAIL : 0.25))
    return;
  cairo_save (cr);
  cairo_scale (cr, zoom, zoom);
  cairo_move_to (cr, 12, remark->is_note ? 8 : 6);
  studio_color_set (remark->is_note ? &theme->text : &theme->dim, cr);
  pango_cairo_show_layout (cr, text);
  cairo_restore (cr);
}
