/* Hints that the canvas draws over the cards during a gesture: the line that cuts, the other wires of a port that is
 * moved, and why a port takes no wire. */
#include <math.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/drawing/draw-card.h"

#define PADDING  8.0
#define DISTANCE 18.0 /* from the pointer */
#define WIDEST   320.0

static void
snapshot_cut (StudioCanvas *self, GtkSnapshot *snapshot)
{
  const StudioGesture *g = &self->gesture;
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, self->view.width, self->view.height));
  const double dashes[] = { 6, 4 };
  double x0, y0, x1, y1;

  studio_view_to_screen (&self->view, g->start_x, g->start_y, &x0, &y0);
  studio_view_to_screen (&self->view, g->x, g->y, &x1, &y1);
  studio_color_set (&studio_canvas_theme (self)->error, cr);
  cairo_set_line_width (cr, 2);
  cairo_set_dash (cr, dashes, G_N_ELEMENTS (dashes), 0);
  cairo_move_to (cr, x0, y0);
  cairo_line_to (cr, x1, y1);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

/* The first of the wires is drawn as any loose wire is. */
static void
snapshot_other_wires (StudioCanvas *self, GtkSnapshot *snapshot)
{
  const StudioGesture *g = &self->gesture;
  const StudioTheme *theme = studio_canvas_theme (self);
  StudioScene *scene = studio_canvas_scene (self);
  const StudioItem *item;
  double x0 = g->x, y0 = g->y;

  if (g->pressed.item >= scene->n_items || g->pressed.port >= scene->item[g->pressed.item].n_outputs)
    return;
  item = &scene->item[g->pressed.item];
  if (g->target.kind != STUDIO_HIT_NOTHING)
    studio_geometry_port (&scene->item[g->target.item], TRUE, g->target.port, &x0, &y0);
  for (guint l = item->output[g->pressed.port].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out)
    {
      const StudioLink *link = &scene->link[l];
      double x1, y1;

      studio_geometry_port (&scene->item[link->to], FALSE, link->input, &x1, &y1);
      studio_wires_snapshot_loose (snapshot, &self->view, theme, scene->flow, x0, y0, x1, y1,
                                   link->typed ? &theme->dtype[link->type.dtype] : &theme->accent);
    }
}

/* Beside the pointer, within the canvas, and never under the pointer itself. */
static void
snapshot_refusal (StudioCanvas *self, GtkSnapshot *snapshot)
{
  const StudioTheme *theme = studio_canvas_theme (self);
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), self->refusal);
  double widest = MIN (WIDEST * studio_text_enlargement (pango_layout_get_context (layout)), self->view.width * 0.8);
  const float one[4] = { 1, 1, 1, 1 };
  const GdkRGBA edge = *studio_rgba (&theme->error), edges[4] = { edge, edge, edge, edge };
  GskRoundedRect outline;
  graphene_rect_t box;
  int width, height;
  double x, y;

  pango_layout_set_width (layout, (int)(widest * PANGO_SCALE));
  pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
  pango_layout_get_pixel_size (layout, &width, &height);
  x = self->drag_x + DISTANCE;
  y = self->drag_y + DISTANCE;
  if (x + width + 2 * PADDING > self->view.width)
    x = MAX (0, self->drag_x - DISTANCE - width - 2 * PADDING);
  if (y + height + 2 * PADDING > self->view.height)
    y = MAX (0, self->drag_y - DISTANCE - height - 2 * PADDING);
  box = GRAPHENE_RECT_INIT (floor (x), floor (y), (float)(width + 2 * PADDING), (float)(height + 2 * PADDING));
  gsk_rounded_rect_init_from_rect (&outline, &box, 6);
  gtk_snapshot_push_rounded_clip (snapshot, &outline);
  gtk_snapshot_append_color (snapshot, studio_rgba (&theme->card), &box);
  gtk_snapshot_pop (snapshot);
  gtk_snapshot_append_border (snapshot, &outline, one, edges);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (box.origin.x + PADDING, box.origin.y + PADDING));
  gtk_snapshot_append_layout (snapshot, layout, studio_rgba (&theme->text));
  gtk_snapshot_restore (snapshot);
}

void
studio_canvas_snapshot_hints (StudioCanvas *self, GtkSnapshot *snapshot)
{
  studio_canvas_snapshot_landing (self, snapshot);
  if (self->gesture.state == STUDIO_GESTURE_CUTTING)
    snapshot_cut (self, snapshot);
  if (self->gesture.state == STUDIO_GESTURE_WIRING && self->gesture.all)
    snapshot_other_wires (self, snapshot);
  if (self->gesture.state == STUDIO_GESTURE_WIRING && self->refusal != NULL)
    snapshot_refusal (self, snapshot);
}
