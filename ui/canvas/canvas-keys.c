#include "ui/canvas/canvas-keys.h"

#include "ui/canvas/quick-add.h"

static gboolean
follow (CanvasBoard *board, StudioDirection direction)
{
  guint item = canvas_board_current (board), next;
  StudioScene *scene = canvas_board_scene (board);

  if (item == STUDIO_NO_ITEM)
    next = scene->n_items > 0 ? 0 : STUDIO_NO_ITEM;
  else
    next = studio_geometry_neighbour (scene, item, direction);
  if (next == STUDIO_NO_ITEM)
    return FALSE;
  canvas_board_focus_item (board, next, TRUE);
  return TRUE;
}

/* If a card is selected, the keys that leave a module act on the card. */
static gboolean
may_leave (CanvasBoard *board)
{
  return studio_document_scope_depth (board->document) > 0 && studio_document_n_selected (board->document) == 0;
}

static gboolean
key_pressed_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, CanvasBoard *board)
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
      /* Held, it turns a drag into panning; tapped, it is for the window. */
      board->is_space_held = TRUE;
      return FALSE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (arrows); i++)
    if (key == arrows[i].key || key == arrows[i].keypad)
      {
        if (mods == GDK_ALT_MASK && arrows[i].direction == STUDIO_UP && may_leave (board))
          return gtk_widget_activate_action (board->widget, "canvas.leave", NULL);
        if (mods == GDK_ALT_MASK)
          return gtk_widget_activate_action (board->widget, arrows[i].move, NULL);
        if (mods == 0)
          {
            follow (board, arrows[i].direction);
            return TRUE;
          }
        return FALSE;
      }
  /* On other cards Tab leaves the canvas, and with Shift on all. */
  if (key == GDK_KEY_Tab && mods == 0 && !canvas_view_is_presented (board->view)
      && canvas_cards_get_focused (board->cards) != NULL && canvas_board_current (board) != STUDIO_NO_ITEM
      && (canvas_board_scene (board)->item[canvas_board_current (board)].is_module
          || canvas_board_scene (board)->item[canvas_board_current (board)].is_frame))
    return gtk_widget_activate_action (board->widget, "canvas.enter", NULL);
  if (key == GDK_KEY_Escape && board->gesture.state != STUDIO_GESTURE_IDLE)
    {
      canvas_board_end_gesture (board);
      return TRUE;
    }
  if (key == GDK_KEY_Escape && studio_document_n_selected (board->document) > 0
      && !canvas_view_is_presented (board->view))
    {
      studio_document_select_only (board->document, 0);
      return TRUE;
    }
  if ((key == GDK_KEY_Escape || key == GDK_KEY_BackSpace) && mods == 0 && !canvas_view_is_presented (board->view)
      && may_leave (board))
    return gtk_widget_activate_action (board->widget, "canvas.leave", NULL);
  if ((mods & ~GDK_SHIFT_MASK) == 0 && !canvas_view_is_presented (board->view))
    {
      if (key == GDK_KEY_A && (mods & GDK_SHIFT_MASK))
        return gtk_widget_activate_action (board->widget, "canvas.quick-add", NULL);
      if (letter != 0 && g_unichar_isalnum (letter))
        {
          char text[8] = "";
          double x, y;

          text[g_unichar_to_utf8 (letter, text)] = '\0';
          canvas_board_where_to_add (board, &x, &y);
          quick_add_open (board, text, x, y, NULL);
          return TRUE;
        }
    }
  return FALSE;
}

static void
key_released_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, CanvasBoard *board)
{
  if (key == GDK_KEY_space)
    board->is_space_held = FALSE;
}

static void
focus_left_cb (GtkEventControllerFocus *controller, CanvasBoard *board)
{
  board->is_space_held = FALSE;
}

void
canvas_keys_add (CanvasBoard *board)
{
  GtkEventController *key = gtk_event_controller_key_new (), *focus = gtk_event_controller_focus_new ();

  g_signal_connect (key, "key-pressed", G_CALLBACK (key_pressed_cb), board);
  g_signal_connect (key, "key-released", G_CALLBACK (key_released_cb), board);
  gtk_widget_add_controller (board->widget, key);
  g_signal_connect (focus, "leave", G_CALLBACK (focus_left_cb), board);
  gtk_widget_add_controller (board->widget, focus);
}
