#include "ui/canvas/canvas-pointer.h"

#include <math.h>

#include "ui/canvas/annotation-edit.h"
#include "ui/canvas/gesture-commands.h"
#include "ui/canvas/quick-add.h"
#include "ui/canvas/waypoints.h"

struct _CanvasPointer
{
  CanvasBoard *board;
  gboolean awaits_release; /* GTK has cancelled a drag of which the release is still in the queue */
  gboolean has_press;      /* a press that the next one may make a double click */
  guint32 press_time;      /* ms, of the display */
  double press_x, press_y;
  guint pan_tick; /* while a drag is at the canvas's edge */
  gint64 pan_time;
};

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, CanvasPointer *self)
{
  CanvasBoard *board = self->board;
  StudioScene *scene = canvas_board_scene (board);
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (drag));
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (drag));
  StudioPressFlags flags = 0;
  StudioCommand command;

  if (button == GDK_BUTTON_SECONDARY && (state & GDK_CONTROL_MASK))
    flags |= STUDIO_PRESS_CUT;
  else if (button != GDK_BUTTON_PRIMARY && button != GDK_BUTTON_MIDDLE)
    {
      gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_DENIED);
      return;
    }
  if (state & (GDK_SHIFT_MASK | GDK_CONTROL_MASK))
    flags |= STUDIO_PRESS_EXTEND;
  if (state & GDK_CONTROL_MASK)
    flags |= STUDIO_PRESS_ALL;
  if (state & GDK_ALT_MASK)
    flags |= state & GDK_SHIFT_MASK ? STUDIO_PRESS_CUT : STUDIO_PRESS_FREE;
  if (button == GDK_BUTTON_MIDDLE || board->is_space_held)
    flags |= STUDIO_PRESS_PAN;
  self->awaits_release = FALSE;
  canvas_board_end_gesture (board);
  command = studio_gesture_press (&board->gesture, scene, canvas_board_view (board), x, y, flags,
                                  canvas_board_is_selected_cb, board);
  if (canvas_cards_get_focused (board->cards) == NULL && board->gesture.pressed.kind != STUDIO_HIT_ANNOTATION)
    gtk_widget_grab_focus (board->widget);
  gesture_commands_run (board, &command);
  if (board->gesture.pressed.kind == STUDIO_HIT_LINK)
    canvas_board_set_point (board, board->gesture.pressed_serial, board->gesture.pressed.port);
  if (board->gesture.state == STUDIO_GESTURE_PANNING)
    gtk_widget_set_cursor_from_name (board->widget, "grabbing");
}

static gboolean
lit_cb (guint item, guint port, gpointer data)
{
  CanvasBoard *board = data;

  return canvas_ports_is_lit (board->ports, &board->gesture, item, !board->gesture.from_output, port);
}

static void
light_ports (CanvasBoard *board)
{
  const StudioGesture *g = &board->gesture;
  StudioScene *scene;

  studio_document_get_net (board->document);
  scene = canvas_board_scene (board);
  if (g->fixed_item >= scene->n_items
      || g->fixed_port >= (g->from_output ? scene->item[g->fixed_item].n_outputs : scene->item[g->fixed_item].n_inputs))
    /* Inference has just found that there is no such port. */
    studio_gesture_cancel (&board->gesture);
  else
    canvas_ports_light (board->ports, scene, g);
}

static void
drag_to (CanvasBoard *board, double x, double y)
{
  StudioGesture *gesture = &board->gesture;
  StudioScene *scene = canvas_board_scene (board);
  StudioCommand command;

  if (gesture->state == STUDIO_GESTURE_PRESSED)
    {
      studio_gesture_motion (gesture, scene, canvas_board_view (board), x, y, NULL, NULL);
      if (gesture->state == STUDIO_GESTURE_WIRING)
        {
          light_ports (board);
          canvas_board_redraw_wires (board);
          canvas_cards_redraw_visible (board->cards);
        }
      scene = canvas_board_scene (board);
    }
  command = studio_gesture_motion (gesture, scene, canvas_board_view (board), x, y, lit_cb, board);
  gesture_commands_run (board, &command);
}

#define PAN_EDGE  28.0  /* pixels from the border where a drag begins to move the view */
#define PAN_SPEED 700.0 /* pixels a second at the border itself */

/* How far the pointer is into the border, -1 … 1, and up to twice that beyond it. */
static double
edge_depth (double at, double size)
{
  if (at < PAN_EDGE)
    return -CLAMP ((PAN_EDGE - at) / PAN_EDGE, 0, 2);
  if (at > size - PAN_EDGE)
    return CLAMP ((at - size + PAN_EDGE) / PAN_EDGE, 0, 2);
  return 0;
}

static gboolean
pan_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  CanvasPointer *self = data;
  CanvasBoard *board = self->board;
  const StudioView *view = canvas_board_view (board);
  const StudioGesture *gesture = &board->gesture;
  gint64 now = gdk_frame_clock_get_frame_time (clock);
  double dx = edge_depth (gesture->last_sx, view->width), dy = edge_depth (gesture->last_sy, view->height);
  double seconds = self->pan_time > 0 ? MIN ((now - self->pan_time) / 1e6, 0.1) : 0;

  self->pan_time = now;
  if ((dx == 0 && dy == 0)
      || (gesture->state != STUDIO_GESTURE_MOVING && gesture->state != STUDIO_GESTURE_WIRING
          && gesture->state != STUDIO_GESTURE_BOXING && gesture->state != STUDIO_GESTURE_BENDING))
    {
      self->pan_tick = 0;
      return G_SOURCE_REMOVE;
    }
  canvas_view_pan (board->view, dx * PAN_SPEED * seconds, dy * PAN_SPEED * seconds);
  drag_to (board, gesture->last_sx, gesture->last_sy);
  return G_SOURCE_CONTINUE;
}

/* At the edge the view moves on, so that a card or a wire can be dragged further than one screen. */
static void
watch_edge (CanvasPointer *self)
{
  const StudioGesture *gesture = &self->board->gesture;
  const StudioView *view = canvas_board_view (self->board);

  if (self->pan_tick != 0 || gesture->state == STUDIO_GESTURE_IDLE || gesture->state == STUDIO_GESTURE_PRESSED
      || gesture->state == STUDIO_GESTURE_PANNING
      || (edge_depth (gesture->last_sx, view->width) == 0 && edge_depth (gesture->last_sy, view->height) == 0))
    return;
  self->pan_time = 0;
  self->pan_tick = gtk_widget_add_tick_callback (self->board->widget, pan_cb, self, NULL);
}

static void
drag_update_cb (GtkGestureDrag *drag, double dx, double dy, CanvasPointer *self)
{
  double x, y;

  gtk_gesture_drag_get_start_point (drag, &x, &y);
  drag_to (self->board, x + dx, y + dy);
  watch_edge (self);
}

static void
finish_drag (CanvasBoard *board)
{
  StudioScene *scene = canvas_board_scene (board);
  StudioGestureState before = board->gesture.state;
  StudioCommand command;

  /* The scene gets the positions of the document again, then the document changes once. */
  canvas_board_shift (board, 0, 0);
  canvas_board_bend (board, 0, 0);
  command = studio_gesture_release (&board->gesture, scene, canvas_board_view (board));
  canvas_ports_forget_lit (board->ports);
  if (before == STUDIO_GESTURE_WIRING)
    canvas_cards_redraw_visible (board->cards);
  if (before == STUDIO_GESTURE_PANNING)
    gtk_widget_set_cursor (board->widget, NULL);
  canvas_board_redraw_wires (board);
  gesture_commands_run (board, &command);
  canvas_landing_forget (board->landing);
  canvas_ports_forget_refusal (board->ports);
}

static void
drag_end_cb (GtkGestureDrag *drag, double dx, double dy, CanvasPointer *self)
{
  CanvasBoard *board = self->board;

  if (board->gesture.state == STUDIO_GESTURE_IDLE || self->awaits_release)
    return;
  canvas_tooltip_pause (board->tooltip);
  drag_update_cb (drag, dx, dy, self);
  finish_drag (board);
}

static void
drag_cancel_cb (GtkGesture *drag, GdkEventSequence *sequence, CanvasPointer *self)
{
  CanvasBoard *board = self->board;
  GdkEvent *event = gtk_event_controller_get_current_event (GTK_EVENT_CONTROLLER (drag));

  gtk_widget_set_cursor (board->widget, NULL);
  /* GTK queries the display for the buttons when it makes a motion of its own. If the program is slow, such a motion
   * reports the button as released before the release itself is read from the queue, and GTK cancels the drag. The
   * release, with the position where the user ended it, is still to come. */
  self->awaits_release = event != NULL && gdk_event_get_event_type (event) == GDK_MOTION_NOTIFY;
  if (!self->awaits_release)
    canvas_board_end_gesture (board);
}

/* The event's position in the canvas. */
static void
position_of (GtkWidget *widget, GdkEvent *event, double *x, double *y)
{
  GtkNative *native = gtk_widget_get_native (widget);
  double dx, dy;

  gdk_event_get_position (event, x, y);
  gtk_native_get_surface_transform (native, &dx, &dy);
  gtk_widget_translate_coordinates (GTK_WIDGET (native), widget, *x - dx, *y - dy, x, y);
}

static gboolean
late_release_cb (GtkEventControllerLegacy *controller, GdkEvent *event, CanvasPointer *self)
{
  CanvasBoard *board = self->board;
  double x, y;

  if (!self->awaits_release || gdk_event_get_event_type (event) != GDK_BUTTON_RELEASE)
    return GDK_EVENT_PROPAGATE;
  self->awaits_release = FALSE;
  if (board->gesture.state == STUDIO_GESTURE_IDLE)
    return GDK_EVENT_PROPAGATE;
  position_of (self->board->widget, event, &x, &y);
  canvas_tooltip_pause (board->tooltip);
  drag_to (board, x, y);
  finish_drag (board);
  return GDK_EVENT_PROPAGATE;
}

static void
double_click (CanvasBoard *board, double x, double y)
{
  StudioHit hit;

  hit = studio_geometry_hit (canvas_board_scene (board), canvas_board_view (board), x, y);
  if (hit.kind == STUDIO_HIT_NOTHING)
    quick_add_open (board, "", x, y, NULL);
  else if (hit.kind == STUDIO_HIT_LINK && hit.port == STUDIO_NO_ITEM)
    {
      double cx, cy;

      canvas_board_end_gesture (board);
      studio_view_to_canvas (canvas_board_view (board), x, y, &cx, &cy);
      waypoints_add (board, canvas_board_scene (board)->link[hit.item].serial, cx, cy);
    }
  else if (hit.kind == STUDIO_HIT_ANNOTATION)
    {
      canvas_board_end_gesture (board);
      annotation_edit_open (board, hit.item);
    }
  else if (hit.kind == STUDIO_HIT_CARD && canvas_board_scene (board)->item[hit.item].is_frame)
    {
      canvas_board_end_gesture (board);
      if (hit.port != STUDIO_NO_ITEM)
        return;
      studio_document_select_only (board->document, canvas_board_scene (board)->item[hit.item].serial);
      gtk_widget_activate_action (board->widget, "canvas.fold", NULL);
    }
  else if (hit.kind == STUDIO_HIT_CARD)
    {
      guint64 serial = canvas_board_scene (board)->item[hit.item].serial;

      canvas_board_end_gesture (board);
      if (!studio_document_enter (board->document, serial))
        gtk_widget_activate_action (board->widget, "canvas.inspect", NULL);
    }
}

/* Counts presses by the display's own times. A GtkGestureClick forgets the first press if a motion of GTK's own reports
 * the button as released before the release is read (see drag_cancel_cb()), and then a fast double click is lost. */
static gboolean
press_cb (GtkEventControllerLegacy *controller, GdkEvent *event, CanvasPointer *self)
{
  GdkEventType type = gdk_event_get_event_type (event);
  double x, y;
  int time, distance;

  if (type != GDK_TOUCH_BEGIN
      && (type != GDK_BUTTON_PRESS || gdk_button_event_get_button (event) != GDK_BUTTON_PRIMARY))
    return GDK_EVENT_PROPAGATE;
  position_of (self->board->widget, event, &x, &y);
  g_object_get (gtk_widget_get_settings (self->board->widget), "gtk-double-click-time", &time,
                "gtk-double-click-distance", &distance, NULL);
  if (self->has_press && gdk_event_get_time (event) - self->press_time <= (guint32)time
      && fabs (x - self->press_x) <= distance && fabs (y - self->press_y) <= distance)
    {
      self->has_press = FALSE;
      double_click (self->board, x, y);
      return GDK_EVENT_PROPAGATE;
    }
  self->has_press = TRUE;
  self->press_time = gdk_event_get_time (event);
  self->press_x = x;
  self->press_y = y;
  return GDK_EVENT_PROPAGATE;
}

CanvasPointer *
canvas_pointer_new (CanvasBoard *board)
{
  CanvasPointer *self = g_new0 (CanvasPointer, 1);
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkEventController *releases = gtk_event_controller_legacy_new (), *presses = gtk_event_controller_legacy_new ();

  self->board = board;
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (drag_end_cb), self);
  g_signal_connect (drag, "cancel", G_CALLBACK (drag_cancel_cb), self);
  gtk_widget_add_controller (board->widget, GTK_EVENT_CONTROLLER (drag));
  gtk_event_controller_set_propagation_phase (releases, GTK_PHASE_CAPTURE);
  g_signal_connect (releases, "event", G_CALLBACK (late_release_cb), self);
  gtk_widget_add_controller (board->widget, releases);
  g_signal_connect (presses, "event", G_CALLBACK (press_cb), self);
  gtk_widget_add_controller (board->widget, presses);
  return self;
}

void
canvas_pointer_stop (CanvasPointer *self)
{
  if (self->pan_tick != 0)
    gtk_widget_remove_tick_callback (self->board->widget, self->pan_tick);
  self->pan_tick = 0;
}

void
canvas_pointer_free (CanvasPointer *self)
{
  g_free (self);
}
