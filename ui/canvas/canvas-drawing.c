#include "ui/canvas/canvas-drawing.h"

#include "ui/canvas/canvas-hints.h"
#include "ui/canvas/canvas-style.h"
#include "ui/drawing/draw-card.h"
#include "ui/drawing/draw-cost.h"
#include "ui/drawing/draw-health.h"
#include "ui/drawing/draw-types.h"
#include "ui/scene/studio-map.h"

static graphene_rect_t
whole (const CanvasFrame *frame)
{
  return GRAPHENE_RECT_INIT (0, 0, frame->view->width, frame->view->height);
}

static cairo_t *
begin (const CanvasFrame *frame)
{
  graphene_rect_t all = whole (frame);

  return gtk_snapshot_append_cairo (frame->snapshot, &all);
}

/* Draws what bars mean with its lower left corner at y; returns its height. */
static double
draw_bar_legend (CanvasBoard *board, const CanvasFrame *frame, cairo_t *cr, double y)
{
  PangoContext *context = gtk_widget_get_pango_context (board->widget);
  g_autoptr (PangoLayout) text = studio_small_text_new (context, "");
  /* It is next to the minimap, and as wide while that comes and goes. */
  const double room = studio_map_room (frame->view, studio_text_enlargement (context));
  const double width = frame->view->width - 24 - (room > 0 ? room + 12 : 0);

  if (board->context.shows_health)
    return studio_draw_health_legend (cr, frame->scene, 12, y, width, frame->theme, text) + 6;
  return studio_draw_cost_legend (cr, frame->scene, board->context.measure, 12, y, width, frame->theme, text) + 6;
}

/* At the lower left: what bars mean, and above it how types are drawn. */
static void
draw_legends (CanvasBoard *board, const CanvasFrame *frame)
{
  PangoContext *context = gtk_widget_get_pango_context (board->widget);
  const gboolean has_bars = board->context.measure != STUDIO_MEASURE_NONE || board->context.shows_health;
  double y = frame->view->height - 12;
  cairo_t *cr;

  canvas_view_set_legend (board->view, 0);
  if (canvas_view_is_presented (board->view) || frame->scene->n_items == 0 || (!has_bars && !board->shows_types))
    return;
  cr = begin (frame);
  if (has_bars)
    {
      const double height = draw_bar_legend (board, frame, cr, y);

      canvas_view_set_legend (board->view, height);
      y -= height;
    }
  if (board->shows_types)
    studio_draw_types_legend (cr, frame->scene, 12, y, frame->theme, context);
  cairo_destroy (cr);
}

/* The sentence about the sickest card, below it. */
static void
draw_complaint (CanvasBoard *board, const CanvasFrame *frame)
{
  const guint at = board->sick != NULL ? studio_scene_card_of (frame->scene, board->sick) : STUDIO_NO_ITEM;
  g_autoptr (PangoLayout) text = NULL;
  const StudioItem *item;
  double x, y;
  cairo_t *cr;

  if (!board->context.shows_health || at >= frame->scene->n_items
      || studio_geometry_detail (frame->view->zoom) != STUDIO_DETAIL_ALL)
    return;
  item = &frame->scene->item[at];
  text = studio_small_text_new (gtk_widget_get_pango_context (board->widget), "");
  studio_view_to_screen (frame->view, item->x, item->y + item->height, &x, &y);
  cr = begin (frame);
  studio_draw_health_sentence (cr, board->complaint, x, y, MAX (item->width * frame->view->zoom, 150),
                               frame->view->height, frame->theme, text);
  cairo_destroy (cr);
}

/* The waypoint that keys act on. */
static void
draw_point (CanvasBoard *board, const CanvasFrame *frame)
{
  guint link, point;
  cairo_t *cr;

  if (!canvas_points_get (board->points, frame->scene, &link, &point))
    return;
  cr = begin (frame);
  studio_draw_point (cr, &frame->scene->link[link].point[point], frame->view, frame->theme, &frame->theme->accent,
                     TRUE);
  cairo_destroy (cr);
}

/* The shape label of the wire under the pointer, if it is not on the wire. */
static void
draw_shape_label (CanvasBoard *board, const CanvasFrame *frame)
{
  cairo_t *cr;

  if (board->hover.link >= frame->scene->n_links || board->gesture.state != STUDIO_GESTURE_IDLE)
    return;
  cr = begin (frame);
  studio_draw_shape_label_above (cr, frame->scene, frame->view, frame->theme, board->hover.link, board->hover.x,
                                 board->hover.y, frame->view->zoom < STUDIO_ZOOM_SHAPE_LABELS,
                                 gtk_widget_get_pango_context (board->widget),
                                 canvas_pictures_shape_labels (board->pictures));
  cairo_destroy (cr);
}

static void
draw_wires (CanvasBoard *board, const CanvasFrame *frame, StudioScene *scene)
{
  gboolean wiring = board->gesture.state == STUDIO_GESTURE_WIRING;

  canvas_wire_cache_snapshot (board->wires, frame->snapshot, scene, frame->view, frame->theme,
                              wiring ? board->gesture.link : 0, canvas_board_is_selected_cb, board);
  canvas_marks_snapshot_ghosts (board->marks, frame->snapshot, scene, frame->view, frame->theme);
  /* During wiring the names of ports take the positions of shape labels. */
  if (!wiring)
    canvas_wire_cache_snapshot_labels (board->wires, frame->snapshot, scene, frame->view, frame->theme,
                                       board->hover.item, gtk_widget_get_pango_context (board->widget),
                                       canvas_pictures_shape_labels (board->pictures));
  draw_point (board, frame);
}

static void
draw_hints (CanvasBoard *board, const CanvasFrame *frame, StudioScene *scene)
{
  const StudioGesture *gesture = &board->gesture;
  const char *refusal = canvas_ports_get_refusal (board->ports);

  canvas_hints_draw_wire (frame, gesture);
  canvas_hints_draw_drag (frame, gesture);
  canvas_landing_snapshot (board->landing, frame->snapshot, scene, frame->view, frame->theme);
  canvas_hints_draw_lines (frame, gesture);
  if (gesture->state == STUDIO_GESTURE_WIRING && refusal != NULL)
    canvas_hints_draw_refusal (frame, refusal, gtk_widget_get_pango_context (board->widget), gesture->last_sx,
                               gesture->last_sy);
}

static void
draw_focus (const CanvasFrame *frame)
{
  graphene_rect_t all = whole (frame);
  GskRoundedRect outline;
  const float two[4] = { 2, 2, 2, 2 };
  const GdkRGBA accent = *studio_rgba (&frame->theme->accent), colours[4] = { accent, accent, accent, accent };

  gsk_rounded_rect_init_from_rect (&outline, &all, 0);
  gtk_snapshot_append_border (frame->snapshot, &outline, two, colours);
}

void
canvas_drawing_snapshot (CanvasBoard *board, GtkSnapshot *snapshot)
{
  StudioScene *scene = canvas_board_scene (board);
  const CanvasFrame frame = { snapshot, scene, canvas_board_view (board), canvas_board_theme (board) };
  graphene_rect_t all = whole (&frame);

  gtk_snapshot_push_clip (snapshot, &all);
  gtk_snapshot_append_color (snapshot, studio_rgba (&frame.theme->background), &all);
  if (!board->is_bare)
    studio_wires_snapshot_grid (snapshot, frame.view, frame.theme);
  canvas_cards_snapshot_annotations (board->cards, scene, snapshot);
  draw_wires (board, &frame, scene);
  canvas_cards_snapshot (board->cards, snapshot);
  canvas_marks_snapshot (board->marks, snapshot, scene, frame.view, frame.theme);
  draw_complaint (board, &frame);
  draw_legends (board, &frame);
  draw_shape_label (board, &frame);
  draw_hints (board, &frame, scene);
  if (gtk_widget_has_visible_focus (board->widget))
    draw_focus (&frame);
  gtk_snapshot_pop (snapshot);
}
