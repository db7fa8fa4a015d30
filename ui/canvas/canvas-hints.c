#include "ui/canvas/canvas-hints.h"

#include <math.h>

#include "ui/canvas/canvas-style.h"
#include "ui/canvas/canvas-wires.h"
#include "ui/drawing/draw-card.h"

#define PADDING  8.0
#define DISTANCE 18.0 /* from the pointer */
#define WIDEST   320.0

static const StudioColor *
color_of (const CanvasFrame *frame, gboolean typed, const LoomType *type)
{
  return typed ? &frame->theme->dtype[type->dtype] : &frame->theme->accent;
}

void
canvas_hints_draw_wire (const CanvasFrame *frame, const StudioGesture *gesture)
{
  const StudioScene *scene = frame->scene;
  double x0, y0, x1 = gesture->x, y1 = gesture->y;
  const StudioItem *item;
  const StudioPort *port;

  if (gesture->state != STUDIO_GESTURE_WIRING || gesture->fixed_item >= scene->n_items)
    return;
  item = &scene->item[gesture->fixed_item];
  port = gesture->from_output ? &item->output[gesture->fixed_port] : &item->input[gesture->fixed_port];
  studio_geometry_port (item, gesture->from_output, gesture->fixed_port, &x0, &y0);
  if (gesture->target.kind != STUDIO_HIT_NOTHING)
    studio_geometry_port (&scene->item[gesture->target.item], !gesture->from_output, gesture->target.port, &x1, &y1);
  studio_wires_snapshot_loose (frame->snapshot, frame->view, frame->theme, scene->flow, gesture->from_output ? x0 : x1,
                               gesture->from_output ? y0 : y1, gesture->from_output ? x1 : x0,
                               gesture->from_output ? y1 : y0, color_of (frame, port->typed, &port->type));
}

static void
draw_guides (const CanvasFrame *frame, const StudioSnapped *snapped)
{
  for (guint i = 0; i < snapped->n_guides; i++)
    {
      const StudioGuide *guide = &snapped->guide[i];
      double x0, y0, x1, y1;

      studio_view_to_screen (frame->view, guide->is_upright ? guide->at : guide->from,
                             guide->is_upright ? guide->from : guide->at, &x0, &y0);
      studio_view_to_screen (frame->view, guide->is_upright ? guide->at : guide->to,
                             guide->is_upright ? guide->to : guide->at, &x1, &y1);
      gtk_snapshot_append_color (frame->snapshot, studio_rgba (&frame->theme->accent),
                                 &GRAPHENE_RECT_INIT (floor (x0), floor (y0), MAX (1, floor (x1) - floor (x0)),
                                                      MAX (1, floor (y1) - floor (y0))));
    }
}

static void
draw_box (const CanvasFrame *frame, const StudioRect *box)
{
  double x, y;
  GdkRGBA fill = *studio_rgba (&frame->theme->accent);
  GskRoundedRect outline;
  const float one[4] = { 1, 1, 1, 1 };
  const GdkRGBA accent = fill, colours[4] = { accent, accent, accent, accent };
  graphene_rect_t r;

  studio_view_to_screen (frame->view, box->x, box->y, &x, &y);
  r = GRAPHENE_RECT_INIT (floor (x), floor (y), ceil (box->width * frame->view->zoom),
                          ceil (box->height * frame->view->zoom));
  fill.alpha = 0.12;
  gtk_snapshot_append_color (frame->snapshot, &fill, &r);
  gsk_rounded_rect_init_from_rect (&outline, &r, 0);
  gtk_snapshot_append_border (frame->snapshot, &outline, one, colours);
}

void
canvas_hints_draw_drag (const CanvasFrame *frame, const StudioGesture *gesture)
{
  if (gesture->state == STUDIO_GESTURE_MOVING)
    draw_guides (frame, &gesture->snapped);
  if (gesture->state == STUDIO_GESTURE_BOXING)
    draw_box (frame, &gesture->box);
}

static void
draw_cut (const CanvasFrame *frame, const StudioGesture *g)
{
  cairo_t *cr = gtk_snapshot_append_cairo (frame->snapshot,
                                           &GRAPHENE_RECT_INIT (0, 0, frame->view->width, frame->view->height));
  const double dashes[] = { 6, 4 };
  double x0, y0, x1, y1;

  studio_view_to_screen (frame->view, g->start_x, g->start_y, &x0, &y0);
  studio_view_to_screen (frame->view, g->x, g->y, &x1, &y1);
  studio_color_set (&frame->theme->error, cr);
  cairo_set_line_width (cr, 2);
  cairo_set_dash (cr, dashes, G_N_ELEMENTS (dashes), 0);
  cairo_move_to (cr, x0, y0);
  cairo_line_to (cr, x1, y1);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

/* canvas_hints_draw_wire() draws the first of the wires. */
static void
draw_other_wires (const CanvasFrame *frame, const StudioGesture *g)
{
  const StudioScene *scene = frame->scene;
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
      studio_wires_snapshot_loose (frame->snapshot, frame->view, frame->theme, scene->flow, x0, y0, x1, y1,
                                   color_of (frame, link->typed, &link->type));
    }
}

void
canvas_hints_draw_lines (const CanvasFrame *frame, const StudioGesture *gesture)
{
  if (gesture->state == STUDIO_GESTURE_CUTTING)
    draw_cut (frame, gesture);
  if (gesture->state == STUDIO_GESTURE_WIRING && gesture->all)
    draw_other_wires (frame, gesture);
}

/* Next to the pointer, within the canvas, and never under the pointer itself. */
void
canvas_hints_draw_refusal (const CanvasFrame *frame, const char *sentence, PangoContext *context, double at_x,
                           double at_y)
{
  const StudioTheme *theme = frame->theme;
  g_autoptr (PangoLayout) layout = pango_layout_new (context);
  double widest = MIN (WIDEST * studio_text_enlargement (context), frame->view->width * 0.8);
  const float one[4] = { 1, 1, 1, 1 };
  const GdkRGBA edge = *studio_rgba (&theme->error), edges[4] = { edge, edge, edge, edge };
  GskRoundedRect outline;
  graphene_rect_t box;
  int width, height;
  double x = at_x + DISTANCE, y = at_y + DISTANCE;

  pango_layout_set_text (layout, sentence, -1);
  pango_layout_set_width (layout, (int)(widest * PANGO_SCALE));
  pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
  pango_layout_get_pixel_size (layout, &width, &height);
  if (x + width + 2 * PADDING > frame->view->width)
    x = MAX (0, at_x - DISTANCE - width - 2 * PADDING);
  if (y + height + 2 * PADDING > frame->view->height)
    y = MAX (0, at_y - DISTANCE - height - 2 * PADDING);
  box = GRAPHENE_RECT_INIT (floor (x), floor (y), (float)(width + 2 * PADDING), (float)(height + 2 * PADDING));
  gsk_rounded_rect_init_from_rect (&outline, &box, 6);
  gtk_snapshot_push_rounded_clip (frame->snapshot, &outline);
  gtk_snapshot_append_color (frame->snapshot, studio_rgba (&theme->card), &box);
  gtk_snapshot_pop (frame->snapshot);
  gtk_snapshot_append_border (frame->snapshot, &outline, one, edges);
  gtk_snapshot_save (frame->snapshot);
  gtk_snapshot_translate (frame->snapshot, &GRAPHENE_POINT_INIT (box.origin.x + PADDING, box.origin.y + PADDING));
  gtk_snapshot_append_layout (frame->snapshot, layout, studio_rgba (&theme->text));
  gtk_snapshot_restore (frame->snapshot);
}
