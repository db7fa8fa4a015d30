#include "ui/canvas/canvas-menu.h"

#include "ui/canvas/annotation-edit.h"
#include "ui/canvas/canvas-clipboard.h"
#include "ui/canvas/canvas-menu-model.h"
#include "ui/canvas/quick-add.h"
#include "ui/canvas/waypoints.h"
#include "ui/document/studio-loops.h"

typedef struct
{
  CanvasBoard *board;
  CanvasMenuTarget target;
} CanvasMenu;

static GQuark
menu_quark (void)
{
  return g_quark_from_static_string ("gradloom-canvas-menu");
}

static CanvasMenu *
menu_of (GtkWidget *widget)
{
  return g_object_get_qdata (G_OBJECT (widget), menu_quark ());
}

/* ---- opening ---------------------------------------------------------------- */

static void
popup (CanvasMenu *self, double sx, double sy)
{
  CanvasBoard *board = self->board;
  g_autoptr (GMenuModel) model = canvas_menu_model_new (board->document, canvas_board_scene (board), &self->target);
  GtkWidget *menu = gtk_popover_menu_new_from_model (model), *focus;

  studio_view_to_canvas (canvas_board_view (board), sx, sy, &self->target.x, &self->target.y);
  gtk_popover_set_has_arrow (GTK_POPOVER (menu), FALSE);
  gtk_popover_set_position (GTK_POPOVER (menu), GTK_POS_BOTTOM);
  gtk_widget_set_halign (menu, GTK_ALIGN_START);
  canvas_popover_take (board->popover, menu);
  canvas_popover_point_at (board->popover, menu, sx, sy);
  gtk_popover_popup (GTK_POPOVER (menu));
  /* A menu that the pointer has opened can be used by the keyboard, too, from its first entry. */
  focus = gtk_root_get_focus (gtk_widget_get_root (board->widget));
  if (focus == NULL || !gtk_widget_is_ancestor (focus, menu))
    gtk_widget_child_focus (menu, GTK_DIR_TAB_FORWARD);
}

/* Makes something the target of the menu, and selects it alone unless it is one of several selected things. */
static void
aim (CanvasMenu *self, const StudioHit *hit)
{
  CanvasBoard *board = self->board;
  StudioScene *scene = canvas_board_scene (board);

  self->target.kind = hit->kind;
  self->target.serial = 0;
  self->target.port = NULL;
  switch (hit->kind)
    {
    case STUDIO_HIT_LINK:
      self->target.serial = scene->link[hit->item].serial;
      break;
    case STUDIO_HIT_ANNOTATION:
      self->target.serial = scene->annotation[hit->item].serial;
      break;
    case STUDIO_HIT_NOTHING:
      studio_document_select_only (self->board->document, 0);
      gtk_widget_grab_focus (board->widget);
      return;
    case STUDIO_HIT_INPUT:
    case STUDIO_HIT_OUTPUT:
      self->target.port = hit->kind == STUDIO_HIT_OUTPUT ? scene->item[hit->item].output[hit->port].name
                                                         : scene->item[hit->item].input[hit->port].name;
      self->target.serial = scene->item[hit->item].serial;
      break;
    case STUDIO_HIT_CARD:
    case STUDIO_HIT_FIX:
      self->target.serial = scene->item[hit->item].serial;
      break;
    }
  if (!studio_document_is_selected (self->board->document, self->target.serial))
    studio_document_select_only (self->board->document, self->target.serial);
  if (canvas_menu_target_item (&self->target, canvas_board_scene (board)) != NULL)
    {
      canvas_cards_set_last_focus (board->cards, self->target.serial);
      gtk_widget_grab_focus (GTK_WIDGET (canvas_cards_find (board->cards, self->target.serial)));
    }
}

/* Opens the menu of what is at this point in pixels. */
static void
open_at (CanvasMenu *self, double sx, double sy)
{
  CanvasBoard *board = self->board;
  StudioHit hit = studio_geometry_hit (canvas_board_scene (board), canvas_board_view (board), sx, sy);

  if (canvas_view_is_presented (board->view))
    return;
  canvas_board_end_gesture (board);
  canvas_tooltip_pause (board->tooltip);
  aim (self, &hit);
  popup (self, sx, sy);
}

/* Opened by the keyboard, it is the menu of what has the focus, below it. */
static void
open_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);
  CanvasBoard *board = self->board;
  const StudioView *view = canvas_board_view (board);
  StudioScene *scene = canvas_board_scene (board);
  guint item = canvas_board_current (board), annotation = canvas_cards_get_current_annotation (board->cards, scene);
  StudioHit hit = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM };
  double x = view->width / 2, y = view->height / 3;

  if (canvas_view_is_presented (board->view))
    return;
  if (annotation != STUDIO_NO_ITEM)
    {
      hit = (StudioHit){ STUDIO_HIT_ANNOTATION, annotation, STUDIO_NO_ITEM };
      studio_view_to_screen (view, scene->annotation[annotation].x, scene->annotation[annotation].y, &x, &y);
    }
  else if (item != STUDIO_NO_ITEM)
    {
      hit = (StudioHit){ STUDIO_HIT_CARD, item, STUDIO_NO_ITEM };
      studio_view_to_screen (view, scene->item[item].x + 24, scene->item[item].y + scene->item[item].height, &x, &y);
    }
  aim (self, &hit);
  popup (self, x, y);
}

static void
pressed_cb (GtkGestureClick *click, int n_press, double x, double y, CanvasMenu *self)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (click));

  /* With Ctrl this button draws the line that cuts. */
  if (state & GDK_CONTROL_MASK)
    return;
  gtk_gesture_set_state (GTK_GESTURE (click), GTK_EVENT_SEQUENCE_CLAIMED);
  open_at (self, x, y);
}

void
canvas_menu_add (CanvasBoard *board)
{
  CanvasMenu *self = g_new0 (CanvasMenu, 1);
  GtkGesture *click = gtk_gesture_click_new ();

  self->board = board;
  g_object_set_qdata_full (G_OBJECT (board->widget), menu_quark (), self, g_free);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (click), GDK_BUTTON_SECONDARY);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (board->widget, GTK_EVENT_CONTROLLER (click));
}

/* ---- entries that depend on the position ------------------------------------- */

static void
add_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);
  double x, y;

  studio_view_to_screen (canvas_board_view (self->board), self->target.x, self->target.y, &x, &y);
  quick_add_open (self->board, "", x, y, NULL);
}

static void
add_after_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);
  const StudioItem *item = canvas_menu_target_item (&self->target, canvas_board_scene (self->board));
  StudioLoose loose = { self->target.serial, TRUE, NULL };
  double x, y;

  if (item == NULL || item->n_outputs == 0)
    return;
  loose.port = self->target.kind == STUDIO_HIT_OUTPUT ? self->target.port : item->output[0].name;
  if (item->flow == STUDIO_FLOW_DOWN)
    studio_view_to_screen (canvas_board_view (self->board), item->x + item->width / 2, item->y + item->height + 64, &x,
                           &y);
  else
    studio_view_to_screen (canvas_board_view (self->board), item->x + item->width + 64, item->y + item->height / 2, &x,
                           &y);
  quick_add_open (self->board, "", x, y, &loose);
}

static void
add_note_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);

  annotation_edit_add_note (self->board, self->target.x, self->target.y);
}

static void
paste_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);

  canvas_clipboard_paste (self->board, self->target.x, self->target.y);
}

static void
disconnect_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);
  StudioScene *scene = canvas_board_scene (self->board);
  const StudioPort *port = canvas_menu_target_port (&self->target, scene);
  g_autoptr (GArray) wires = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint l = port != NULL ? port->link : STUDIO_NO_ITEM; l != STUDIO_NO_ITEM;
       l = self->target.kind == STUDIO_HIT_OUTPUT ? scene->link[l].next_out : scene->link[l].next_in)
    g_array_append_val (wires, scene->link[l].serial);
  studio_document_cut_wires (self->board->document, (const guint64 *)(gpointer)wires->data, wires->len);
}

/* Watches the card, or the card that the wire begins at. */
static void
watch (GtkWidget *widget, const char *action)
{
  CanvasMenu *self = menu_of (widget);
  StudioScene *scene = canvas_board_scene (self->board);
  guint link = studio_scene_find_link (scene, self->target.serial);

  studio_document_select_only (
      self->board->document, link != STUDIO_NO_ITEM ? scene->item[scene->link[link].from].serial : self->target.serial);
  gtk_widget_activate_action (widget, action, NULL);
}

static void
watch_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  watch (widget, "win.watch");
}

static void
watch_gradient_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  watch (widget, "win.watch-gradient");
}

static void
add_point_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);

  waypoints_add (self->board, self->target.serial, self->target.x, self->target.y);
}

static void
remove_points_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  CanvasMenu *self = menu_of (widget);

  studio_document_remove_points (self->board->document, self->target.serial);
}

static void
enter_body_cb (GtkWidget *widget, const char *action, GVariant *body)
{
  CanvasMenu *self = menu_of (widget);

  if (studio_document_enter_body (self->board->document, self->target.serial, g_variant_get_uint32 (body)))
    canvas_board_focus_item (self->board, 0, FALSE);
}

void
canvas_menu_install (GtkWidgetClass *klass)
{
  gtk_widget_class_install_action (klass, "menu.open", NULL, open_cb);
  gtk_widget_class_install_action (klass, "menu.enter-body", "u", enter_body_cb);
  gtk_widget_class_install_action (klass, "menu.add", NULL, add_cb);
  gtk_widget_class_install_action (klass, "menu.add-after", NULL, add_after_cb);
  gtk_widget_class_install_action (klass, "menu.add-note", NULL, add_note_cb);
  gtk_widget_class_install_action (klass, "menu.paste", NULL, paste_cb);
  gtk_widget_class_install_action (klass, "menu.disconnect", NULL, disconnect_cb);
  gtk_widget_class_install_action (klass, "menu.add-point", NULL, add_point_cb);
  gtk_widget_class_install_action (klass, "menu.remove-points", NULL, remove_points_cb);
  gtk_widget_class_install_action (klass, "menu.watch", NULL, watch_cb);
  gtk_widget_class_install_action (klass, "menu.watch-gradient", NULL, watch_gradient_cb);
}
