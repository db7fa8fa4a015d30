#include "ui/canvas/canvas-scroll.h"

#include <math.h>

/* Another card is under the pointer: its ports are named, and shape labels make way. */
static void
set_hover (CanvasBoard *board, guint item)
{
  guint both[2] = { board->hover.item, item };

  if (item == board->hover.item)
    return;
  board->hover.item = item;
  if (canvas_sync_is_stale (board->sync))
    return;
  StudioScene *scene = canvas_board_scene (board);
  for (guint i = 0; i < 2; i++)
    if (both[i] < scene->n_items)
      gtk_widget_queue_draw (GTK_WIDGET (canvas_cards_find (board->cards, scene->item[both[i]].serial)));
  canvas_wire_cache_forget_labels (board->wires);
  gtk_widget_queue_draw (board->widget);
}

static void
hover_link (CanvasBoard *board, guint link)
{
  if (board->hover.link == link)
    return;
  board->hover.link = link;
  gtk_widget_queue_draw (board->widget);
}

static void
motion_cb (GtkEventControllerMotion *motion, double x, double y, CanvasBoard *board)
{
  StudioHit hit;
  guint hover;

  board->hover.x = x;
  board->hover.y = y;
  /* GTK may be on its way from one card to another, with pointers to both, so no card may be removed here. The frame
   * that updates the cards ends with another motion. */
  if (board->gesture.state != STUDIO_GESTURE_IDLE || canvas_sync_is_stale (board->sync))
    return;
  StudioScene *scene = canvas_board_scene (board);
  hit = studio_geometry_hit (scene, canvas_board_view (board), x, y);
  hover = hit.kind == STUDIO_HIT_NOTHING || hit.kind == STUDIO_HIT_LINK || hit.kind == STUDIO_HIT_ANNOTATION
              ? STUDIO_NO_ITEM
              : hit.item;
  gtk_widget_set_cursor_from_name (board->widget,
                                   hit.kind == STUDIO_HIT_INPUT || hit.kind == STUDIO_HIT_OUTPUT ? "crosshair"
                                   : hit.kind == STUDIO_HIT_LINK && hit.port != STUDIO_NO_ITEM   ? "move"
                                   : hit.kind == STUDIO_HIT_FIX || hit.kind == STUDIO_HIT_LINK   ? "pointer"
                                                                                                 : NULL);
  set_hover (board, hover);
  canvas_landing_show_fix (board->landing, hit.kind == STUDIO_HIT_FIX ? scene->item[hit.item].serial : 0);
  hover_link (board, hit.kind == STUDIO_HIT_LINK ? hit.item : STUDIO_NO_ITEM);
}

static void
leave_cb (GtkEventControllerMotion *motion, CanvasBoard *board)
{
  board->hover.x = board->hover.y = -1;
  canvas_landing_show_fix (board->landing, 0);
  set_hover (board, STUDIO_NO_ITEM);
  hover_link (board, STUDIO_NO_ITEM);
}

static gboolean
scroll_cb (GtkEventControllerScroll *scroll, double dx, double dy, CanvasBoard *board)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (scroll));
  GdkEvent *event = gtk_event_controller_get_current_event (GTK_EVENT_CONTROLLER (scroll));
  /* A wheel counts clicks, a touchpad pixels. */
  double unit = gdk_scroll_event_get_direction (event) == GDK_SCROLL_SMOOTH
                        && gdk_device_get_source (gdk_event_get_device (event)) == GDK_SOURCE_TOUCHPAD
                    ? 1
                    : 48;

  if (state & GDK_CONTROL_MASK)
    {
      canvas_view_zoom_at (board->view, canvas_board_view (board)->zoom * exp (-dy * unit / 300), board->hover.x,
                           board->hover.y);
      return TRUE;
    }
  if ((state & GDK_SHIFT_MASK) && dx == 0)
    {
      dx = dy;
      dy = 0;
    }
  canvas_view_pan (board->view, dx * unit, dy * unit);
  return TRUE;
}

static void
pinch_begin_cb (GtkGesture *gesture, GdkEventSequence *sequence, CanvasBoard *board)
{
  double *zoom = g_object_get_data (G_OBJECT (gesture), "zoom");

  canvas_board_end_gesture (board);
  *zoom = canvas_board_view (board)->zoom;
}

static void
pinch_cb (GtkGestureZoom *gesture, double scale, CanvasBoard *board)
{
  const double *zoom = g_object_get_data (G_OBJECT (gesture), "zoom");
  double x, y;

  if (gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y))
    canvas_view_zoom_at (board->view, *zoom * scale, x, y);
}

void
canvas_scroll_add (CanvasBoard *board)
{
  GtkGesture *pinch = gtk_gesture_zoom_new ();
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);

  g_object_set_data_full (G_OBJECT (pinch), "zoom", g_new0 (double, 1), g_free);
  g_signal_connect (pinch, "begin", G_CALLBACK (pinch_begin_cb), board);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (pinch_cb), board);
  gtk_widget_add_controller (board->widget, GTK_EVENT_CONTROLLER (pinch));
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), board);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), board);
  gtk_widget_add_controller (board->widget, motion);
  g_signal_connect (scroll, "scroll", G_CALLBACK (scroll_cb), board);
  gtk_widget_add_controller (board->widget, scroll);
}
