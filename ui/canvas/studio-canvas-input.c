/* Pointer, scrolling, pinching and dropping: GTK's events into the gesture machine and the actions. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"

/* ---- ports that may take the wire ----------------------------------------- */

gboolean
studio_canvas_is_wiring (StudioCanvas *self)
{
  return self->gesture.state == STUDIO_GESTURE_WIRING;
}

static void
light_ports (StudioCanvas *self)
{
  StudioScene *scene;
  const StudioGesture *g = &self->gesture;
  guint n = 0;

  studio_document_get_net (self->document);
  scene = studio_canvas_scene (self);
  if (g->fixed_item >= scene->n_items
      || g->fixed_port >= (g->from_output ? scene->item[g->fixed_item].n_outputs : scene->item[g->fixed_item].n_inputs))
    {
      /* Inference has just found that this port is none. */
      studio_gesture_cancel (&self->gesture);
      return;
    }

  g_free (self->lit);
  g_free (self->lit_first);
  self->lit_first = g_new (guint, scene->n_items + 1);
  for (guint i = 0; i < scene->n_items; i++)
    {
      self->lit_first[i] = n;
      n += g->from_output ? scene->item[i].n_offered : scene->item[i].n_outputs;
    }
  self->lit_first[scene->n_items] = n;
  self->n_lit = scene->n_items;
  self->lit = g_new0 (gboolean, n + 1);
  if (g->all)
    studio_document_movable_ports (self->document, scene->item[g->pressed.item].serial, g->pressed.port, self->lit,
                                   self->lit_first);
  else
    studio_document_compatible_ports (self->document, scene->item[g->fixed_item].serial, g->from_output, g->fixed_port,
                                      self->lit, self->lit_first);
}

/* Why the port under the pointer takes no wire. Asked for once a port, as it tries the wire out. */
static void
explain_refusal (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  const StudioGesture *g = &self->gesture;
  const StudioHit *hit = &g->refused;
  const StudioItem *fixed, *other;

  if (hit->kind != STUDIO_HIT_NOTHING && self->refusal != NULL && hit->item == self->refused_item
      && hit->port == self->refused_port)
    return;
  g_clear_pointer (&self->refusal, g_free);
  if (hit->kind == STUDIO_HIT_NOTHING || g->fixed_item >= scene->n_items || hit->item >= scene->n_items)
    return;
  fixed = &scene->item[g->fixed_item];
  other = &scene->item[hit->item];
  self->refused_item = hit->item;
  self->refused_port = hit->port;
  if (g->all)
    self->refusal = studio_document_dup_moving_refusal (self->document, scene->item[g->pressed.item].serial,
                                                        scene->item[g->pressed.item].output[g->pressed.port].name,
                                                        other->serial, other->output[hit->port].name);
  else if (g->from_output)
    self->refusal = studio_document_dup_refusal (self->document, fixed->serial, fixed->output[g->fixed_port].name,
                                                 other->serial, other->input[hit->port].name);
  else
    self->refusal = studio_document_dup_refusal (self->document, other->serial, other->output[hit->port].name,
                                                 fixed->serial, fixed->input[g->fixed_port].name);
  if (self->refusal == NULL)
    self->refusal = g_strdup (_ ("This port does not accept the wire."));
}

gboolean
studio_canvas_port_is_lit (StudioCanvas *self, guint item, gboolean is_output, guint port)
{
  const StudioGesture *g = &self->gesture;

  if (is_output == g->from_output)
    return item == g->fixed_item && port == g->fixed_port;
  return self->lit != NULL && item < self->n_lit && self->lit_first[item] + port < self->lit_first[item + 1]
         && self->lit[self->lit_first[item] + port];
}

static gboolean
lit_cb (guint item, guint port, gpointer data)
{
  StudioCanvas *self = data;

  return studio_canvas_port_is_lit (self, item, !self->gesture.from_output, port);
}

/* ---- drags ---------------------------------------------------------------- */

static void
redraw_nodes (StudioCanvas *self)
{
  GHashTableIter iter;
  gpointer node;

  g_hash_table_iter_init (&iter, self->nodes);
  while (g_hash_table_iter_next (&iter, NULL, &node))
    if (gtk_widget_get_child_visible (node))
      studio_node_refresh (node, FALSE);
}

void
studio_canvas_end_gesture (StudioCanvas *self)
{
  gboolean was_wiring = studio_canvas_is_wiring (self);

  studio_canvas_finish_glide (self);
  if (self->gesture.state == STUDIO_GESTURE_IDLE)
    return;
  studio_canvas_quiet (self);
  if (self->shift_dx != 0 || self->shift_dy != 0)
    studio_canvas_shift (self, 0, 0);
  studio_canvas_bend (self, 0, 0);
  studio_gesture_cancel (&self->gesture);
  g_clear_pointer (&self->lit, g_free);
  g_clear_pointer (&self->refusal, g_free);
  studio_canvas_forget_landing (self);
  if (was_wiring)
    redraw_nodes (self);
  studio_canvas_redraw_wires (self);
}

static void
select_box (StudioCanvas *self, const StudioCommand *command)
{
  StudioScene *scene = studio_canvas_scene (self);
  g_autoptr (GArray) serials = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; command->extend && i < studio_document_n_selected (self->document); i++)
    {
      guint64 serial = studio_document_get_selected (self->document, i);

      g_array_append_val (serials, serial);
    }
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect card = studio_geometry_card (&scene->item[i]);

      if (studio_rect_intersects (&card, &command->box)
          && !(command->extend && studio_document_is_selected (self->document, scene->item[i].serial)))
        g_array_append_val (serials, scene->item[i].serial);
    }
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      const StudioAnnotation *m = &scene->annotation[i];
      StudioAnnotation box
          = { .x = command->box.x, .y = command->box.y, .width = command->box.width, .height = command->box.height };

      /* Frames are large: only a box around all of one means it. */
      if (studio_geometry_is_within (&box, m->x, m->y, m->width, m->height)
          && !(command->extend && studio_document_is_selected (self->document, m->serial)))
        g_array_append_val (serials, m->serial);
    }
  studio_document_select (self->document, (const guint64 *)(gpointer)serials->data, serials->len);
}

static void
connect_ports (StudioCanvas *self, const StudioCommand *command)
{
  StudioScene *scene = studio_canvas_scene (self);
  g_autoptr (GError) error = NULL;
  guint64 from = scene->item[command->from].serial, to = scene->item[command->to].serial, made;
  const char *output = scene->item[command->from].output[command->output].name;
  const char *input = scene->item[command->to].input[command->input].name;

  made = command->link != 0 ? studio_document_reconnect (self->document, command->link, to, input, &error)
                            : studio_document_connect (self->document, from, output, to, input, &error);
  if (made == 0)
    studio_canvas_say (self, error->message);
}

static void
cut_wires (StudioCanvas *self, const StudioCommand *command)
{
  StudioScene *scene = studio_canvas_scene (self);
  g_autoptr (GArray) wires = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint l = 0; l < scene->n_links; l++)
    if (studio_geometry_crosses (scene, l, command->x, command->y, command->x + command->dx, command->y + command->dy))
      g_array_append_val (wires, scene->link[l].serial);
  if (wires->len > 0)
    studio_document_cut_wires (self->document, (const guint64 *)(gpointer)wires->data, wires->len);
}

static void
move_wires (StudioCanvas *self, const StudioCommand *command)
{
  const StudioItem *from = &studio_canvas_scene (self)->item[command->to];
  const StudioItem *to = &studio_canvas_scene (self)->item[command->from];
  g_autoptr (GError) error = NULL;

  if (!studio_document_move_wires (self->document, from->serial, from->output[command->input].name, to->serial,
                                   to->output[command->output].name, &error))
    studio_canvas_say (self, error->message);
}

static void
redraw (StudioCanvas *self, const StudioCommand *command)
{
  if (self->gesture.state == STUDIO_GESTURE_MOVING)
    {
      studio_canvas_shift (self, self->gesture.dx, self->gesture.dy);
      studio_canvas_aim (self);
    }
  if (self->gesture.state == STUDIO_GESTURE_BENDING)
    studio_canvas_bend (self, self->gesture.dx, self->gesture.dy);
  if (self->gesture.state == STUDIO_GESTURE_WIRING)
    explain_refusal (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
select_one (StudioCanvas *self, const StudioCommand *command)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint item = command->serial != 0 ? studio_scene_find (scene, command->serial) : STUDIO_NO_ITEM;

  studio_document_select_only (self->document, command->serial);
  if (item != STUDIO_NO_ITEM)
    {
      self->last_focus = command->serial;
      gtk_widget_grab_focus (GTK_WIDGET (studio_canvas_node (self, command->serial)));
    }
  else
    {
      gpointer annotation = g_hash_table_lookup (self->annotations, &command->serial);

      self->last_focus = 0;
      gtk_widget_grab_focus (annotation != NULL ? annotation : GTK_WIDGET (self));
    }
}

static void
toggle (StudioCanvas *self, const StudioCommand *command)
{
  studio_document_set_selected (self->document, command->serial,
                                !studio_document_is_selected (self->document, command->serial));
}

static void
pan (StudioCanvas *self, const StudioCommand *command)
{
  self->view.x -= command->dx / self->view.zoom;
  self->view.y -= command->dy / self->view.zoom;
  studio_canvas_view_changed (self);
}

static void
move_cards (StudioCanvas *self, const StudioCommand *command)
{
  guint n = studio_document_n_selected (self->document);
  g_autofree guint64 *serials = g_new (guint64, n + 1);

  if (studio_canvas_land (self, command->dx, command->dy))
    return;
  for (guint i = 0; i < n; i++)
    serials[i] = studio_document_get_selected (self->document, i);
  studio_document_move (self->document, serials, n, command->dx, command->dy);
}

static void
move_point (StudioCanvas *self, const StudioCommand *command)
{
  studio_document_move_point (self->document, command->link, command->input, command->x, command->y);
}

static void
disconnect_wire (StudioCanvas *self, const StudioCommand *command)
{
  studio_document_disconnect (self->document, command->link);
}

static void
refuse (StudioCanvas *self, const StudioCommand *command)
{
  if (self->refusal != NULL)
    studio_canvas_say (self, self->refusal);
}

static void
wire_dropped (StudioCanvas *self, const StudioCommand *command)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint fixed = command->from != STUDIO_NO_ITEM ? command->from : command->to;
  gboolean from_output = command->from != STUDIO_NO_ITEM;
  StudioLoose loose = { scene->item[fixed].serial, from_output,
                        from_output ? scene->item[fixed].output[command->output].name
                                    : scene->item[fixed].input[command->input].name };
  StudioHit hit;
  double sx, sy;

  studio_view_to_screen (&self->view, command->x, command->y, &sx, &sy);
  hit = studio_geometry_hit (scene, &self->view, sx, sy);
  if (hit.kind == (from_output ? STUDIO_HIT_OUTPUT : STUDIO_HIT_INPUT))
    {
      if (hit.item != fixed)
        studio_canvas_say (
            self, from_output
                      ? _ ("That is also an output. Wires go from an output to an input, at the left of a card.")
                      : _ ("That is also an input. Wires go from an output, at the right of a card, to an input."));
      return;
    }
  /* The popover of a wire that was dropped outside the canvas opens at the edge, so that the new card is visible. */
  studio_quick_add_popup (self, "", CLAMP (sx, 0, self->view.width), CLAMP (sy, 0, self->view.height), &loose);
}

static void
apply_fix (StudioCanvas *self, const StudioCommand *command)
{
  studio_canvas_fix (self, command->serial);
}

static void
fold (StudioCanvas *self, const StudioCommand *command)
{
  studio_document_select_only (self->document, command->serial);
  gtk_widget_activate_action (GTK_WIDGET (self), "canvas.fold", NULL);
}

/* What each result of a gesture does. */
static void (*const actions[]) (StudioCanvas *self, const StudioCommand *command) = {
  [STUDIO_DO_NOTHING] = NULL,
  [STUDIO_DO_REDRAW] = redraw,
  [STUDIO_DO_SELECT] = select_one,
  [STUDIO_DO_TOGGLE] = toggle,
  [STUDIO_DO_PAN] = pan,
  [STUDIO_DO_MOVE] = move_cards,
  [STUDIO_DO_MOVE_POINT] = move_point,
  [STUDIO_DO_SELECT_BOX] = select_box,
  [STUDIO_DO_CONNECT] = connect_ports,
  [STUDIO_DO_DISCONNECT] = disconnect_wire,
  [STUDIO_DO_MOVE_WIRES] = move_wires,
  [STUDIO_DO_CUT] = cut_wires,
  [STUDIO_DO_REFUSE] = refuse,
  [STUDIO_DO_WIRE_DROPPED] = wire_dropped,
  [STUDIO_DO_FIX] = apply_fix,
  [STUDIO_DO_FOLD] = fold,
};

static void
carry_out (StudioCanvas *self, const StudioCommand *command)
{
  g_assert (command->what < G_N_ELEMENTS (actions));
  if (actions[command->what] != NULL)
    actions[command->what](self, command);
}

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
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
  if (button == GDK_BUTTON_MIDDLE || self->space_held)
    flags |= STUDIO_PRESS_PAN;
  self->awaits_release = FALSE;
  studio_canvas_end_gesture (self);
  command = studio_gesture_press (&self->gesture, scene, &self->view, x, y, flags, studio_canvas_is_selected_cb, self);
  if (studio_canvas_focused (self) == NULL && self->gesture.pressed.kind != STUDIO_HIT_ANNOTATION)
    gtk_widget_grab_focus (GTK_WIDGET (self));
  carry_out (self, &command);
  if (self->gesture.pressed.kind == STUDIO_HIT_LINK)
    studio_canvas_set_point (self, self->gesture.pressed_serial, self->gesture.pressed.port);
  if (self->gesture.state == STUDIO_GESTURE_PANNING)
    gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "grabbing");
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

static void drag_to (StudioCanvas *self, double x, double y);

static gboolean
pan_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  gint64 now = gdk_frame_clock_get_frame_time (clock);
  double dx = edge_depth (self->drag_x, self->view.width), dy = edge_depth (self->drag_y, self->view.height);
  double seconds = self->pan_time > 0 ? MIN ((now - self->pan_time) / 1e6, 0.1) : 0;
  StudioGestureState state = self->gesture.state;

  self->pan_time = now;
  if ((dx == 0 && dy == 0)
      || (state != STUDIO_GESTURE_MOVING && state != STUDIO_GESTURE_WIRING && state != STUDIO_GESTURE_BOXING
          && state != STUDIO_GESTURE_BENDING))
    {
      self->pan_tick = 0;
      return G_SOURCE_REMOVE;
    }
  self->view.x += dx * PAN_SPEED * seconds / self->view.zoom;
  self->view.y += dy * PAN_SPEED * seconds / self->view.zoom;
  studio_canvas_view_changed (self);
  drag_to (self, self->drag_x, self->drag_y);
  return G_SOURCE_CONTINUE;
}

/* At the edge the view moves on, so that a card or a wire can be taken further than one screen. */
static void
watch_edge (StudioCanvas *self)
{
  if (self->pan_tick != 0 || self->gesture.state == STUDIO_GESTURE_IDLE || self->gesture.state == STUDIO_GESTURE_PRESSED
      || self->gesture.state == STUDIO_GESTURE_PANNING
      || (edge_depth (self->drag_x, self->view.width) == 0 && edge_depth (self->drag_y, self->view.height) == 0))
    return;
  self->pan_time = 0;
  self->pan_tick = gtk_widget_add_tick_callback (GTK_WIDGET (self), pan_cb, NULL, NULL);
}

static void
drag_to (StudioCanvas *self, double x, double y)
{
  StudioScene *scene = studio_canvas_scene (self);
  StudioGestureState before = self->gesture.state;
  StudioCommand command;

  self->drag_x = x;
  self->drag_y = y;
  if (before == STUDIO_GESTURE_PRESSED)
    {
      command = studio_gesture_motion (&self->gesture, scene, &self->view, x, y, NULL, NULL);
      if (self->gesture.state == STUDIO_GESTURE_WIRING)
        {
          light_ports (self);
          studio_canvas_redraw_wires (self);
          redraw_nodes (self);
        }
      scene = studio_canvas_scene (self);
    }
  self->gesture.moving = self->moving_items;
  command = studio_gesture_motion (&self->gesture, scene, &self->view, x, y, lit_cb, self);
  carry_out (self, &command);
}

static void
drag_update_cb (GtkGestureDrag *drag, double dx, double dy, StudioCanvas *self)
{
  double x, y;

  gtk_gesture_drag_get_start_point (drag, &x, &y);
  drag_to (self, x + dx, y + dy);
  watch_edge (self);
}

static void
finish_drag (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  StudioGestureState before = self->gesture.state;
  StudioCommand command;

  /* The scene goes back to what the document says, then the document changes once. */
  studio_canvas_shift (self, 0, 0);
  studio_canvas_bend (self, 0, 0);
  command = studio_gesture_release (&self->gesture, scene, &self->view);
  g_clear_pointer (&self->lit, g_free);
  if (before == STUDIO_GESTURE_WIRING)
    redraw_nodes (self);
  if (before == STUDIO_GESTURE_PANNING)
    gtk_widget_set_cursor (GTK_WIDGET (self), NULL);
  studio_canvas_redraw_wires (self);
  carry_out (self, &command);
  studio_canvas_forget_landing (self);
  g_clear_pointer (&self->refusal, g_free);
}

static void
drag_end_cb (GtkGestureDrag *drag, double dx, double dy, StudioCanvas *self)
{
  if (self->gesture.state == STUDIO_GESTURE_IDLE || self->awaits_release)
    return;
  studio_canvas_quiet (self);
  drag_update_cb (drag, dx, dy, self);
  finish_drag (self);
}

static void
drag_cancel_cb (GtkGesture *drag, GdkEventSequence *sequence, StudioCanvas *self)
{
  GdkEvent *event = gtk_event_controller_get_current_event (GTK_EVENT_CONTROLLER (drag));

  gtk_widget_set_cursor (GTK_WIDGET (self), NULL);
  /* GTK asks the display for the buttons when it makes a motion of its own. If the program is slow, such a motion
   * reports the button as released before the release itself is read from the queue, and GTK cancels the drag. The
   * release, which says where the user ended it, is still to come. */
  self->awaits_release = event != NULL && gdk_event_get_event_type (event) == GDK_MOTION_NOTIFY;
  if (!self->awaits_release)
    studio_canvas_end_gesture (self);
}

/* The event's position in the canvas. */
static void
position_of (StudioCanvas *self, GdkEvent *event, double *x, double *y)
{
  GtkNative *native = gtk_widget_get_native (GTK_WIDGET (self));
  double dx, dy;

  gdk_event_get_position (event, x, y);
  gtk_native_get_surface_transform (native, &dx, &dy);
  gtk_widget_translate_coordinates (GTK_WIDGET (native), GTK_WIDGET (self), *x - dx, *y - dy, x, y);
}

static gboolean
late_release_cb (GtkEventControllerLegacy *controller, GdkEvent *event, StudioCanvas *self)
{
  double x, y;

  if (!self->awaits_release || gdk_event_get_event_type (event) != GDK_BUTTON_RELEASE)
    return GDK_EVENT_PROPAGATE;
  self->awaits_release = FALSE;
  if (self->gesture.state == STUDIO_GESTURE_IDLE)
    return GDK_EVENT_PROPAGATE;
  position_of (self, event, &x, &y);
  studio_canvas_quiet (self);
  drag_to (self, x, y);
  finish_drag (self);
  return GDK_EVENT_PROPAGATE;
}

static void
double_click (StudioCanvas *self, double x, double y)
{
  StudioHit hit;

  hit = studio_geometry_hit (studio_canvas_scene (self), &self->view, x, y);
  if (hit.kind == STUDIO_HIT_NOTHING)
    studio_quick_add_popup (self, "", x, y, NULL);
  else if (hit.kind == STUDIO_HIT_LINK && hit.port == STUDIO_NO_ITEM)
    {
      double cx, cy;

      studio_canvas_end_gesture (self);
      studio_view_to_canvas (&self->view, x, y, &cx, &cy);
      studio_canvas_add_point_at (self, studio_canvas_scene (self)->link[hit.item].serial, cx, cy);
    }
  else if (hit.kind == STUDIO_HIT_ANNOTATION)
    {
      studio_canvas_end_gesture (self);
      studio_annotation_edit (self, hit.item);
    }
  else if (hit.kind == STUDIO_HIT_CARD && studio_canvas_scene (self)->item[hit.item].is_frame)
    {
      studio_canvas_end_gesture (self);
      if (hit.port == STUDIO_NO_ITEM)
        studio_canvas_open_frame (self, hit.item);
    }
  else if (hit.kind == STUDIO_HIT_CARD)
    {
      guint64 serial = studio_canvas_scene (self)->item[hit.item].serial;

      studio_canvas_end_gesture (self);
      if (!studio_document_enter (self->document, serial))
        gtk_widget_activate_action (GTK_WIDGET (self), "canvas.inspect", NULL);
    }
}

/* Counts presses by the display's own times. A GtkGestureClick forgets the first press if a motion of GTK's own reports
 * the button as released before the release is read (see drag_cancel_cb()), and then a fast double click is lost. */
static gboolean
press_cb (GtkEventControllerLegacy *controller, GdkEvent *event, StudioCanvas *self)
{
  GdkEventType type = gdk_event_get_event_type (event);
  double x, y;
  int time, distance;

  if (type != GDK_TOUCH_BEGIN
      && (type != GDK_BUTTON_PRESS || gdk_button_event_get_button (event) != GDK_BUTTON_PRIMARY))
    return GDK_EVENT_PROPAGATE;
  position_of (self, event, &x, &y);
  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-double-click-time", &time,
                "gtk-double-click-distance", &distance, NULL);
  if (self->has_press && gdk_event_get_time (event) - self->press_time <= (guint32)time
      && fabs (x - self->press_x) <= distance && fabs (y - self->press_y) <= distance)
    {
      self->has_press = FALSE;
      double_click (self, x, y);
      return GDK_EVENT_PROPAGATE;
    }
  self->has_press = TRUE;
  self->press_time = gdk_event_get_time (event);
  self->press_x = x;
  self->press_y = y;
  return GDK_EVENT_PROPAGATE;
}

/* ---- hovering, scrolling, pinching ---------------------------------------- */

/* Another card is under the pointer: its ports are named, and shapes make room. */
static void
set_hover (StudioCanvas *self, guint item)
{
  guint both[2] = { self->hover, item };

  if (item == self->hover)
    return;
  self->hover = item;
  if (self->stale)
    return;
  StudioScene *scene = studio_canvas_scene (self);
  for (guint i = 0; i < 2; i++)
    if (both[i] < scene->n_items)
      gtk_widget_queue_draw (GTK_WIDGET (studio_canvas_node (self, scene->item[both[i]].serial)));
  g_clear_pointer (&self->pills, gsk_render_node_unref);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
hover_link (StudioCanvas *self, guint link)
{
  if (self->hover_link == link)
    return;
  self->hover_link = link;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
motion_cb (GtkEventControllerMotion *motion, double x, double y, StudioCanvas *self)
{
  StudioHit hit;
  guint hover;

  self->pointer_x = x;
  self->pointer_y = y;
  /* GTK may be on its way from one card to another, with pointers to both, so no card may be removed here. The frame
   * that updates the cards ends with another motion. */
  if (self->gesture.state != STUDIO_GESTURE_IDLE || self->stale)
    return;
  StudioScene *scene = studio_canvas_scene (self);
  hit = studio_geometry_hit (scene, &self->view, x, y);
  hover = hit.kind == STUDIO_HIT_NOTHING || hit.kind == STUDIO_HIT_LINK || hit.kind == STUDIO_HIT_ANNOTATION
              ? STUDIO_NO_ITEM
              : hit.item;
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self),
                                   hit.kind == STUDIO_HIT_INPUT || hit.kind == STUDIO_HIT_OUTPUT ? "crosshair"
                                   : hit.kind == STUDIO_HIT_LINK && hit.port != STUDIO_NO_ITEM   ? "move"
                                   : hit.kind == STUDIO_HIT_FIX || hit.kind == STUDIO_HIT_LINK   ? "pointer"
                                                                                                 : NULL);
  set_hover (self, hover);
  studio_canvas_preview_fix (self, hit.kind == STUDIO_HIT_FIX ? scene->item[hit.item].serial : 0);
  hover_link (self, hit.kind == STUDIO_HIT_LINK ? hit.item : STUDIO_NO_ITEM);
}

static void
leave_cb (GtkEventControllerMotion *motion, StudioCanvas *self)
{
  self->pointer_x = self->pointer_y = -1;
  studio_canvas_preview_fix (self, 0);
  set_hover (self, STUDIO_NO_ITEM);
  hover_link (self, STUDIO_NO_ITEM);
}

void
studio_canvas_where_to_add (StudioCanvas *self, double *x, double *y)
{
  gboolean inside = self->pointer_x >= 0 && self->pointer_y >= 0 && self->pointer_x < self->view.width
                    && self->pointer_y < self->view.height;

  *x = inside ? self->pointer_x : self->view.width / 2;
  *y = inside ? self->pointer_y : self->view.height / 3;
}

static gboolean
scroll_cb (GtkEventControllerScroll *scroll, double dx, double dy, StudioCanvas *self)
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
      studio_canvas_zoom_at (self, self->view.zoom * exp (-dy * unit / 300), self->pointer_x, self->pointer_y);
      return TRUE;
    }
  if ((state & GDK_SHIFT_MASK) && dx == 0)
    {
      dx = dy;
      dy = 0;
    }
  self->view.x += dx * unit / self->view.zoom;
  self->view.y += dy * unit / self->view.zoom;
  studio_canvas_view_changed (self);
  return TRUE;
}

static void
pinch_begin_cb (GtkGesture *gesture, GdkEventSequence *sequence, StudioCanvas *self)
{
  studio_canvas_end_gesture (self);
  self->zoom_start = self->view.zoom;
}

static void
pinch_cb (GtkGestureZoom *gesture, double scale, StudioCanvas *self)
{
  double x, y;

  if (!gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y))
    return;
  studio_canvas_zoom_at (self, self->zoom_start * scale, x, y);
}

void
studio_canvas_init_input (StudioCanvas *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  GtkGesture *drag = gtk_gesture_drag_new (), *pinch = gtk_gesture_zoom_new ();
  GtkEventController *motion = gtk_event_controller_motion_new (), *releases = gtk_event_controller_legacy_new (),
                     *presses = gtk_event_controller_legacy_new ();
  GtkEventController *scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);

  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (drag_end_cb), self);
  g_signal_connect (drag, "cancel", G_CALLBACK (drag_cancel_cb), self);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (drag));
  gtk_event_controller_set_propagation_phase (releases, GTK_PHASE_CAPTURE);
  g_signal_connect (releases, "event", G_CALLBACK (late_release_cb), self);
  gtk_widget_add_controller (widget, releases);
  g_signal_connect (presses, "event", G_CALLBACK (press_cb), self);
  gtk_widget_add_controller (widget, presses);
  g_signal_connect (pinch, "begin", G_CALLBACK (pinch_begin_cb), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (pinch_cb), self);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (pinch));
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  gtk_widget_add_controller (widget, motion);
  g_signal_connect (scroll, "scroll", G_CALLBACK (scroll_cb), self);
  gtk_widget_add_controller (widget, scroll);
  studio_canvas_init_keys (self);
  studio_canvas_init_landing (self);
}
