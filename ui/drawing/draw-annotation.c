/* Draws frames and notes. */
#include "ui/drawing/draw-annotation.h"

#include <math.h>
#include <pango/pangocairo.h>

#include "ui/drawing/draw-card.h"

PangoLayout *
studio_annotation_text_new (PangoContext *context, const StudioAnnotation *annotation)
{
  PangoLayout *layout = pango_layout_new (context);
  PangoAttrList *attributes = pango_attr_list_new ();

  pango_layout_set_text (layout, annotation->text, -1);
  pango_attr_list_insert (attributes, annotation->is_note ? pango_attr_scale_new (0.92)
                                                          : pango_attr_weight_new (PANGO_WEIGHT_SEMIBOLD));
  pango_layout_set_attributes (layout, attributes);
  pango_attr_list_unref (attributes);
  /* A frame's title leaves space for the arrow that collapses it. */
  pango_layout_set_width (layout, MAX (annotation->width - (annotation->is_note ? 24 : 24 + STUDIO_FRAME_ARROW), 8)
                                      * PANGO_SCALE);
  pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
  if (annotation->is_note)
    {
      pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
      pango_layout_set_height (layout, MAX (annotation->height - 16, 8) * PANGO_SCALE);
    }
  return layout;
}

#define LEAST_TITLE 0.85 /* the smallest text of frame titles, as a factor of the usual size */

/* At low zoom the strip is lower than the title's letters: then the title is on the frame's upper edge, over the heads
 * of cards, and as wide as the frame. */
static void
draw_far_title (cairo_t *cr, const StudioAnnotation *annotation, PangoLayout *text, const StudioTheme *theme,
                double zoom)
{
  double width = annotation->width * zoom / LEAST_TITLE;
  int usual = pango_layout_get_width (text), h;

  if (width < 32)
    return;
  pango_layout_set_width (text, (int)((width - 8) * PANGO_SCALE));
  pango_layout_get_pixel_size (text, NULL, &h);
  cairo_save (cr);
  cairo_scale (cr, LEAST_TITLE, LEAST_TITLE);
  cairo_move_to (cr, 4, MIN (6, STUDIO_FRAME_TITLE * zoom / LEAST_TITLE - h));
  studio_color_set (&theme->text, cr);
  pango_cairo_show_layout (cr, text);
  cairo_restore (cr);
  pango_layout_set_width (text, usual);
}

void
studio_draw_annotation (cairo_t *cr, const StudioAnnotation *annotation, PangoLayout *text, const StudioTheme *theme,
                        double zoom, gboolean selected)
{
  StudioColor color = annotation->is_note ? theme->category[LOOM_CATEGORY_ACTIVATIONS] : theme->dim, border;

  if (annotation->color != NULL)
    studio_color_parse (annotation->color, &color);
  border = selected ? theme->accent : color;
  border.alpha = selected ? 1 : theme->high_contrast ? 0.9f : 0.45f;
  color.alpha = annotation->is_note ? 0.16f : annotation->color != NULL ? 0.10f : 0.05f;
  studio_draw_box (cr, 0, 0, floor (annotation->width * zoom), floor (annotation->height * zoom),
                   (annotation->is_note ? 6 : 14) * MIN (zoom, 1), &color, selected ? 2 : 1, &border);
  /* Titles are drawn at lower zoom than cards' text, because they are useful there. */
  if (!annotation->is_note && zoom < LEAST_TITLE)
    {
      draw_far_title (cr, annotation, text, theme, zoom);
      return;
    }
  if (annotation->is_note && zoom < STUDIO_ZOOM_DETAIL)
    return;
  cairo_save (cr);
  cairo_scale (cr, zoom, zoom);
  cairo_move_to (cr, 12, annotation->is_note ? 8 : 6);
  studio_color_set (annotation->is_note ? &theme->text : &theme->dim, cr);
  pango_cairo_show_layout (cr, text);
  cairo_restore (cr);
}
