/* The frame of a pin; see the header. */
#include "ui/pins/pin-frame.h"

#include <glib/gi18n.h>

#include "ui/charts/studio-template.h"
#include "ui/pins/pin-subject.h"

#define GRIP 14

typedef struct
{
  StudioPinView *view; /* a child of the frame */
  GActionGroup *actions;
  PinFrameLists lists;
  GtkWidget *menu;
  int dragged_x, dragged_y; /* of the current drag, already applied */
} Frame;

#define FRAME_KEY "pin-frame"

static void
frame_free (gpointer data)
{
  Frame *self = data;

  g_object_unref (self->actions);
  g_free (self);
}

static void
activate (Frame *self, const char *action, GVariant *value)
{
  g_action_group_activate_action (self->actions, action, value);
}

/* ---- menus ---------------------------------------------------------------------- */

static void
add_target (GMenu *menu, const char *label, const char *action, const char *target)
{
  g_autofree char *name = g_strconcat ("pin.", action, NULL);
  g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

  g_menu_item_set_action_and_target (item, name, "s", target);
  g_menu_append_item (menu, item);
}

static void
fill_kinds (Frame *self, GMenu *menu)
{
  g_autoptr (GPtrArray) kinds = self->lists.list_kinds (self->lists.owner);

  for (guint i = 0; i < kinds->len; i++)
    {
      const StudioPinKind *kind = kinds->pdata[i];
      g_autofree char *label = i < 9 ? g_strdup_printf ("%u  %s", i + 1, _ (kind->title)) : g_strdup (_ (kind->title));
      add_target (menu, label, "kind", kind->name);
    }
}

static GMenu *
kinds_menu (Frame *self)
{
  GMenu *menu = g_menu_new ();

  fill_kinds (self, menu);
  return menu;
}

static void
add_section (GMenu *menu, const char *label, GMenu *section)
{
  g_menu_append_section (menu, label, G_MENU_MODEL (section));
  g_object_unref (section);
}

static void
add_submenu (GMenu *menu, const char *label, GMenu *submenu)
{
  g_menu_append_submenu (menu, label, G_MENU_MODEL (submenu));
  g_object_unref (submenu);
}

/* A menu's label underlines the letter after "_", and shows "__" as "_". */
static char *
without_mnemonic (const char *name)
{
  g_auto (GStrv) part = g_strsplit (name, "_", -1);

  return g_strjoinv ("__", part);
}

/* Outputs and weights, and their gradients and updates. */
static GMenu *
tensors_menu (Frame *self)
{
  GMenu *menu = g_menu_new (), *values = g_menu_new (), *gradients = g_menu_new (), *updates = g_menu_new ();
  g_auto (GStrv) tensors = self->lists.list_tensors (self->lists.owner);

  for (guint i = 0; tensors[i] != NULL; i++)
    {
      g_autofree char *name = pin_tensor_title (tensors[i]);
      g_autofree char *title = without_mnemonic (name);
      GMenu *section = g_str_has_prefix (tensors[i], PIN_GRADIENT) ? gradients
                       : g_str_has_prefix (tensors[i], PIN_UPDATE) ? updates
                                                                   : values;
      add_target (section, title, "tensor", tensors[i]);
    }
  add_section (menu, NULL, values);
  add_section (menu, NULL, gradients);
  add_section (menu, NULL, updates);
  return menu;
}

static GMenu *
colors_menu (void)
{
  static const char *const labels[PIN_N_SCALES] = { N_ ("Linear"), N_ ("Logarithmic"), N_ ("Each Row by Itself") };
  GMenu *menu = g_menu_new ();

  for (guint i = 0; i < PIN_N_SCALES; i++)
    add_target (menu, _ (labels[i]), "colors", pin_scale_word ((PinScale)i));
  return menu;
}

static GMenu *
save_menu (void)
{
  static const char *const suffixes[] = { "svg", "png", "csv" };
  GMenu *menu = g_menu_new ();

  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++)
    {
      g_autofree char *label = g_ascii_strup (suffixes[i], -1);
      add_target (menu, label, "save", suffixes[i]);
    }
  return menu;
}

static void
add_resize (GMenu *menu, const char *label, int by)
{
  g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

  g_menu_item_set_action_and_target_value (item, "pin.resize", g_variant_new ("(iib)", by, by, TRUE));
  g_menu_append_item (menu, item);
}

static void
fill_menu (Frame *self, GMenu *menu)
{
  GMenu *place = g_menu_new (), *what = g_menu_new (), *end = g_menu_new ();

  add_submenu (what, _ ("_Kind"), kinds_menu (self));
  add_submenu (what, _ ("_Tensor"), tensors_menu (self));
  if (studio_pin_view_get_kind (self->view)->has_colors)
    add_submenu (what, _ ("_Colours"), colors_menu ());
  g_menu_append (place, _ ("_Fill the Canvas"), "pin.enlarged");
  g_menu_append (place, _ ("_Dock at the Side"), "pin.docked");
  add_resize (place, _ ("_Larger"), 48);
  add_resize (place, _ ("_Smaller"), -48);
  add_submenu (end, _ ("_Save as"), save_menu ());
  g_menu_append (end, _ ("_Close"), "pin.close");
  add_section (menu, NULL, what);
  add_section (menu, NULL, place);
  add_section (menu, NULL, end);
}

/* A button keeps its menu: another one would close the popover that opens. */
static void
popup_kinds_cb (GtkMenuButton *button, gpointer data)
{
  GMenu *menu = G_MENU (gtk_menu_button_get_menu_model (button));

  g_menu_remove_all (menu);
  fill_kinds (data, menu);
}

static void
popup_menu_cb (GtkMenuButton *button, gpointer data)
{
  GMenu *menu = G_MENU (gtk_menu_button_get_menu_model (button));

  g_menu_remove_all (menu);
  fill_menu (data, menu);
}

/* ---- keys -------------------------------------------------------------------------- */

static gboolean
choose_kind (Frame *self, guint n)
{
  g_autoptr (GPtrArray) kinds = self->lists.list_kinds (self->lists.owner);

  if (n < kinds->len)
    activate (self, "kind", g_variant_new_string (((const StudioPinKind *)kinds->pdata[n])->name));
  return TRUE;
}

/* Without a modifier keys choose an element of an axis, with Shift they move the cursor over cells. */
static const struct
{
  guint key, keypad;
  int axis, by;     /* counted from the last axis */
  int across, down; /* of the cursor */
} arrows[] = {
  { GDK_KEY_Left, GDK_KEY_KP_Left, 0, -1, -1, 0 },      { GDK_KEY_Right, GDK_KEY_KP_Right, 0, 1, 1, 0 },
  { GDK_KEY_Up, GDK_KEY_KP_Up, 1, -1, 0, -1 },          { GDK_KEY_Down, GDK_KEY_KP_Down, 1, 1, 0, 1 },
  { GDK_KEY_Page_Up, GDK_KEY_KP_Page_Up, 2, -1, 0, 0 }, { GDK_KEY_Page_Down, GDK_KEY_KP_Page_Down, 2, 1, 0, 0 },
  { GDK_KEY_Home, GDK_KEY_KP_Home, 3, -1, 0, 0 },       { GDK_KEY_End, GDK_KEY_KP_End, 3, 1, 0, 0 },
};

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, Frame *self)
{
  const GdkModifierType mods = state & gtk_accelerator_get_default_mod_mask ();

  for (guint i = 0; i < G_N_ELEMENTS (arrows); i++)
    if (key == arrows[i].key || key == arrows[i].keypad)
      {
        if (mods == GDK_SHIFT_MASK)
          studio_pin_view_move_cursor (self->view, arrows[i].across, arrows[i].down);
        else if (mods == 0)
          activate (self, "step", g_variant_new ("(ii)", arrows[i].axis, arrows[i].by));
        return mods == 0 || mods == GDK_SHIFT_MASK;
      }
  if (key == GDK_KEY_Menu || (key == GDK_KEY_F10 && mods == GDK_SHIFT_MASK))
    {
      gtk_menu_button_popup (GTK_MENU_BUTTON (self->menu));
      return TRUE;
    }
  if (mods != 0)
    return FALSE;
  if (key >= GDK_KEY_1 && key <= GDK_KEY_9)
    return choose_kind (self, key - GDK_KEY_1);
  if (key >= GDK_KEY_KP_1 && key <= GDK_KEY_KP_9)
    return choose_kind (self, key - GDK_KEY_KP_1);
  if (key == GDK_KEY_Return || key == GDK_KEY_KP_Enter)
    activate (self, "enlarged", NULL);
  else if (key == GDK_KEY_Delete)
    activate (self, "close", NULL);
  else if (key == GDK_KEY_Escape)
    {
      g_autoptr (GVariant) enlarged = g_action_group_get_action_state (self->actions, "enlarged");
      if (enlarged == NULL || !g_variant_get_boolean (enlarged))
        return FALSE;
      activate (self, "enlarged", NULL);
    }
  else
    return FALSE;
  return TRUE;
}

/* ---- size --------------------------------------------------------------------------- */

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, Frame *self)
{
  self->dragged_x = self->dragged_y = 0;
  gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_CLAIMED);
}

static void
drag (Frame *self, double x, double y, gboolean is_over)
{
  /* The grip moves with the corner, so that an offset is what is left to drag. */
  activate (self, "resize", g_variant_new ("(iib)", (int)x, (int)y, is_over));
}

static void
drag_update_cb (GtkGestureDrag *gesture, double x, double y, Frame *self)
{
  drag (self, x, y, FALSE);
}

static void
drag_end_cb (GtkGestureDrag *gesture, double x, double y, Frame *self)
{
  drag (self, 0, 0, TRUE);
}

static void
draw_grip (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  GdkRGBA ink;

  gtk_style_context_get_color (gtk_widget_get_style_context (GTK_WIDGET (area)), &ink);
  ink.alpha = 0.5f;
  gdk_cairo_set_source_rgba (cr, &ink);
  cairo_set_line_width (cr, 1.5);
  for (int i = 1; i <= 2; i++)
    {
      cairo_move_to (cr, width - 1, height - 1 - 4 * i);
      cairo_line_to (cr, width - 1 - 4 * i, height - 1);
    }
  cairo_stroke (cr);
}

static GtkWidget *
make_grip (Frame *self)
{
  GtkWidget *grip = gtk_drawing_area_new ();
  GtkGesture *gesture = gtk_gesture_drag_new ();

  gtk_drawing_area_set_content_width (GTK_DRAWING_AREA (grip), GRIP);
  gtk_drawing_area_set_content_height (GTK_DRAWING_AREA (grip), GRIP);
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (grip), draw_grip, NULL, NULL);
  gtk_widget_set_halign (grip, GTK_ALIGN_END);
  gtk_widget_set_valign (grip, GTK_ALIGN_END);
  gtk_widget_set_cursor_from_name (grip, "se-resize");
  gtk_widget_add_css_class (grip, "pin-grip");
  g_signal_connect (gesture, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (gesture, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect (gesture, "drag-end", G_CALLBACK (drag_end_cb), self);
  gtk_widget_add_controller (grip, GTK_EVENT_CONTROLLER (gesture));
  return grip;
}

/* ---- construction -------------------------------------------------------------------- */

static void
set_popup (GtkWidget *button, GtkMenuButtonCreatePopupFunc popup, Frame *self)
{
  g_autoptr (GMenu) menu = g_menu_new ();

  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_menu_button_set_create_popup_func (GTK_MENU_BUTTON (button), popup, self, NULL);
  /* Tab would reach the inner button, which is above the middle of the view, before the view. */
  gtk_widget_set_focusable (gtk_widget_get_first_child (button), FALSE);
  /* The button takes no focus, so that it would stay in the menu. */
  g_signal_connect_object (gtk_menu_button_get_popover (GTK_MENU_BUTTON (button)), "closed",
                           G_CALLBACK (gtk_widget_grab_focus), self->view, G_CONNECT_SWAPPED);
}

static GtkWidget *
make_tools (Frame *self)
{
  GtkWidget *tools = studio_template_new ("pin-tools.ui");

  STUDIO_TEMPLATE_FIELDS (tools, self, menu);
  set_popup (g_object_get_data (G_OBJECT (tools), "kinds"), popup_kinds_cb, self);
  set_popup (self->menu, popup_menu_cb, self);
  return tools;
}

GtkWidget *
pin_frame_new (StudioPinView *view, GActionGroup *actions, const PinFrameLists *lists)
{
  GtkWidget *overlay = gtk_overlay_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();
  Frame *self = g_new0 (Frame, 1);

  self->view = view;
  self->actions = g_object_ref (actions);
  self->lists = *lists;
  g_object_set_data_full (G_OBJECT (overlay), FRAME_KEY, self, frame_free);
  gtk_widget_add_css_class (overlay, "pin");
  gtk_widget_set_hexpand (GTK_WIDGET (view), TRUE);
  gtk_overlay_set_child (GTK_OVERLAY (overlay), GTK_WIDGET (view));
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), make_tools (self));
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), make_grip (self));
  gtk_widget_insert_action_group (overlay, "pin", actions);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (view), keys);
  return overlay;
}

void
pin_frame_detach (GtkWidget *frame)
{
  gtk_widget_insert_action_group (frame, "pin", NULL);
}
