#include "ui/palette/studio-palette-menu.h"

#include <glib/gi18n.h>

typedef struct
{
  GtkWidget *palette, *list;
  StudioPaletteOp op_of;
} Menu;

static gboolean
unparent_idle (gpointer popover)
{
  gtk_widget_unparent (popover);
  g_object_unref (popover);
  return G_SOURCE_REMOVE;
}

/* The chosen action runs after the popover has closed. */
static void
closed_cb (GtkPopover *popover, gpointer data)
{
  if (gtk_widget_get_parent (GTK_WIDGET (popover)) != NULL)
    g_idle_add (unparent_idle, g_object_ref (popover));
}

static void
popup (const Menu *menu, GtkListBoxRow *row, const GdkRectangle *at)
{
  const LoomOp *op = menu->op_of (row);
  g_autoptr (GMenu) model = g_menu_new ();
  g_autoptr (GMenuItem) item = g_menu_item_new (_ ("Documentation"), NULL);
  GtkWidget *popover;

  if (op == NULL)
    return;
  gtk_list_box_select_row (GTK_LIST_BOX (menu->list), row);
  g_menu_append (model, _ ("Add"), "palette.add");
  g_menu_item_set_action_and_target (item, "win.documentation-of", "s", op->name);
  g_menu_append_item (model, item);
  popover = gtk_popover_menu_new_from_model (G_MENU_MODEL (model));
  gtk_popover_set_has_arrow (GTK_POPOVER (popover), FALSE);
  gtk_widget_set_halign (popover, GTK_ALIGN_START);
  gtk_widget_set_parent (popover, menu->palette);
  gtk_popover_set_pointing_to (GTK_POPOVER (popover), at);
  g_signal_connect (popover, "closed", G_CALLBACK (closed_cb), NULL);
  gtk_popover_popup (GTK_POPOVER (popover));
}

static void
pressed_cb (GtkGestureClick *gesture, int n_press, double x, double y, const Menu *menu)
{
  GtkListBoxRow *row = gtk_list_box_get_row_at_y (GTK_LIST_BOX (menu->list), (int)y);
  double px, py;

  if (row == NULL || !gtk_widget_translate_coordinates (menu->list, menu->palette, x, y, &px, &py))
    return;
  popup (menu, row, &(GdkRectangle){ (int)px, (int)py, 1, 1 });
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, const Menu *menu)
{
  GtkWidget *row = gtk_widget_get_focus_child (menu->list);
  gboolean wanted = key == GDK_KEY_Menu || (key == GDK_KEY_F10 && (state & GDK_SHIFT_MASK) != 0);
  graphene_rect_t bounds;

  if (!wanted || !GTK_IS_LIST_BOX_ROW (row) || !gtk_widget_compute_bounds (row, menu->palette, &bounds))
    return FALSE;
  popup (menu, GTK_LIST_BOX_ROW (row),
         &(GdkRectangle){ (int)bounds.origin.x + 12, (int)(bounds.origin.y + bounds.size.height), 1, 1 });
  return TRUE;
}

void
studio_palette_menu_setup (GtkWidget *palette, GtkWidget *list, StudioPaletteOp op_of)
{
  GtkGesture *click = gtk_gesture_click_new ();
  GtkEventController *key = gtk_event_controller_key_new ();
  Menu *menu = g_new (Menu, 1);

  *menu = (Menu){ palette, list, op_of };
  g_object_set_data_full (G_OBJECT (list), "palette-menu", menu, g_free);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (click), GDK_BUTTON_SECONDARY);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), menu);
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_cb), menu);
  gtk_widget_add_controller (list, GTK_EVENT_CONTROLLER (click));
  gtk_widget_add_controller (list, key);
}
