/* Keys on the canvas that are no accelerators: arrows, Tab, Escape, the space bar, and letters that begin a quick
 * addition. */
#include "ui/canvas/studio-canvas-private.h"

static gboolean
follow (StudioCanvas *self, StudioDirection direction)
{
  guint item = studio_canvas_current (self), next;
  StudioScene *scene = studio_canvas_scene (self);

  if (item == STUDIO_NO_ITEM)
    next = scene->n_items > 0 ? 0 : STUDIO_NO_ITEM;
  else
    next = studio_geometry_neighbour (scene, item, direction);
  if (next == STUDIO_NO_ITEM)
    return FALSE;
  studio_canvas_focus_item (self, next, TRUE);
  return TRUE;
}

/* With a card selected the keys that lead out of a module mean the card. */
static gboolean
may_leave (StudioCanvas *self)
{
  return studio_document_scope_depth (self->document) > 0 && studio_document_n_selected (self->document) == 0;
}

static gboolean
key_pressed_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioCanvas *self)
{
  static const struct
  {
    guint key, keypad;
    StudioDirection direction;
    const char *move;
  } arrows[] = { { GDK_KEY_Left, GDK_KEY_KP_Left, STUDIO_LEFT, "canvas.move-left" },
                 { GDK_KEY_Right, GDK_KEY_KP_Right, STUDIO_RIGHT, "canvas.move-right" },
                 { GDK_KEY_Up, GDK_KEY_KP_Up, STUDIO_UP, "canvas.move-up" },
                 { GDK_KEY_Down, GDK_KEY_KP_Down, STUDIO_DOWN, "canvas.move-down" } };
  GdkModifierType mods = state & gtk_accelerator_get_default_mod_mask ();
  gunichar letter = gdk_keyval_to_unicode (key);

  if (key == GDK_KEY_space && mods == 0)
    {
      /* Held, it makes a drag a pan; tapped, it belongs to the window. */
      self->space_held = TRUE;
      return FALSE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (arrows); i++)
    if (key == arrows[i].key || key == arrows[i].keypad)
      {
        if (mods == GDK_ALT_MASK && arrows[i].direction == STUDIO_UP && may_leave (self))
          return gtk_widget_activate_action (GTK_WIDGET (self), "canvas.leave", NULL);
        if (mods == GDK_ALT_MASK)
          return gtk_widget_activate_action (GTK_WIDGET (self), arrows[i].move, NULL);
        if (mods == 0)
          {
            follow (self, arrows[i].direction);
            return TRUE;
          }
        return FALSE;
      }
  /* Elsewhere Tab leaves the canvas, and with Shift it does so here as well. */
  if (key == GDK_KEY_Tab && mods == 0 && !self->presentation && studio_canvas_focused (self) != NULL
      && studio_canvas_current (self) != STUDIO_NO_ITEM
      && (studio_canvas_scene (self)->item[studio_canvas_current (self)].is_module
          || studio_canvas_scene (self)->item[studio_canvas_current (self)].is_frame))
    return gtk_widget_activate_action (GTK_WIDGET (self), "canvas.enter", NULL);
  if (key == GDK_KEY_Escape && self->gesture.state != STUDIO_GESTURE_IDLE)
    {
      studio_canvas_end_gesture (self);
      return TRUE;
    }
  if (key == GDK_KEY_Escape && studio_document_n_selected (self->document) > 0 && !self->presentation)
    {
      studio_document_select_only (self->document, 0);
      return TRUE;
    }
  if ((key == GDK_KEY_Escape || key == GDK_KEY_BackSpace) && mods == 0 && !self->presentation && may_leave (self))
    return gtk_widget_activate_action (GTK_WIDGET (self), "canvas.leave", NULL);
  if ((mods & ~GDK_SHIFT_MASK) == 0 && !self->presentation)
    {
      if (key == GDK_KEY_A && (mods & GDK_SHIFT_MASK))
        return gtk_widget_activate_action (GTK_WIDGET (self), "canvas.quick-add", NULL);
      if (letter != 0 && g_unichar_isalnum (letter))
        {
          char text[8] = "";
          double x, y;

          text[g_unichar_to_utf8 (letter, text)] = '\0';
          studio_canvas_where_to_add (self, &x, &y);
          studio_quick_add_popup (self, text, x, y, NULL);
          return TRUE;
        }
    }
  return FALSE;
}

static void
key_released_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, StudioCanvas *self)
{
  if (key == GDK_KEY_space)
    self->space_held = FALSE;
}

static void
focus_left_cb (GtkEventControllerFocus *controller, StudioCanvas *self)
{
  self->space_held = FALSE;
}

void
studio_canvas_init_keys (StudioCanvas *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  GtkEventController *key = gtk_event_controller_key_new (), *focus = gtk_event_controller_focus_new ();

  g_signal_connect (key, "key-pressed", G_CALLBACK (key_pressed_cb), self);
  g_signal_connect (key, "key-released", G_CALLBACK (key_released_cb), self);
  gtk_widget_add_controller (widget, key);
  g_signal_connect (focus, "leave", G_CALLBACK (focus_left_cb), self);
  gtk_widget_add_controller (widget, focus);
}
