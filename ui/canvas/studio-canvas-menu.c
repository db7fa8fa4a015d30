/* Context menus of cards, ports, wires, frames and the canvas: on the secondary button, the Menu key and Shift+F10.
 *
 * A menu says with words what keys do without: its entries are the canvas's actions, and those that need to know where
 * one has pressed (the port, the place) are actions of their own, "menu.", which read it from the canvas. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/document/studio-loops.h"
#include "ui/canvas/studio-canvas-private.h"

/* ---- what an entry is offered for ------------------------------------------ */

static const StudioItem *
menu_item (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint i = studio_scene_find (scene, self->menu.serial);

  return i != STUDIO_NO_ITEM ? &scene->item[i] : NULL;
}

static const StudioPort *
menu_port (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);
  gboolean is_output = self->menu.kind == STUDIO_HIT_OUTPUT;
  guint p = item != NULL && self->menu.port != NULL ? studio_item_find_port (item, is_output, self->menu.port)
                                                    : STUDIO_NO_ITEM;

  return p == STUDIO_NO_ITEM ? NULL : is_output ? &item->output[p] : &item->input[p];
}

static gboolean
is_module (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->is_module;
}

static gboolean
is_plain_module (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->is_module && item->op == NULL;
}

static gboolean
is_loop (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->is_module && item->op != NULL;
}

static const LoomElement *
menu_node (StudioCanvas *self)
{
  return menu_item (self) != NULL && !menu_item (self)->is_frame
             ? loom_graph_by_serial (studio_document_get_graph (self->document), self->menu.serial)
             : NULL;
}

static gboolean
has_bodies (StudioCanvas *self)
{
  const LoomElement *node = menu_node (self);

  return node != NULL && loom_node_n_modules (node) > 1;
}

/* The modules of which a switch runs one, by their numbers. */
static GMenuModel *
fill_bodies (StudioCanvas *self)
{
  const LoomElement *node = menu_node (self);
  GMenu *menu = g_menu_new ();

  for (guint k = 0; k < loom_node_n_modules (node); k++)
    {
      g_autofree char *label = g_strdup_printf ("%u  %s", k, loom_node_nth_module (node, k));
      g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

      g_menu_item_set_action_and_target (item, "menu.enter-body", "u", k);
      g_menu_append_item (menu, item);
    }
  return G_MENU_MODEL (menu);
}

static gboolean
is_layer (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && !item->is_module && !item->is_frame;
}

static gboolean
is_frame (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint i = studio_scene_find_annotation (scene, self->menu.serial);

  return i != STUDIO_NO_ITEM && !scene->annotation[i].is_note;
}

static gboolean
is_muted (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->muted;
}

static gboolean
is_heard (StudioCanvas *self)
{
  return !is_muted (self);
}

static gboolean
is_folded (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->folded;
}

static gboolean
is_open (StudioCanvas *self)
{
  return !is_folded (self);
}

static gboolean
has_output (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->n_outputs > 0;
}

static gboolean
has_fix (StudioCanvas *self)
{
  const StudioItem *item = menu_item (self);

  return item != NULL && item->fix != NULL;
}

static gboolean
is_wired (StudioCanvas *self)
{
  const StudioPort *port = menu_port (self);

  return port != NULL && port->n_links > 0;
}

static gboolean
is_output (StudioCanvas *self)
{
  return self->menu.kind == STUDIO_HIT_OUTPUT;
}

static gboolean
has_points (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint link = studio_scene_find_link (scene, self->menu.serial);

  return link != STUDIO_NO_ITEM && scene->link[link].n_points > 0;
}

static gboolean
is_inside (StudioCanvas *self)
{
  return studio_document_scope_depth (self->document) > 0;
}

static gboolean
are_several (StudioCanvas *self)
{
  return studio_document_n_selected (self->document) > 1;
}

static gboolean
runs_down (StudioCanvas *self)
{
  return studio_canvas_scene (self)->flow == STUDIO_FLOW_DOWN;
}

static gboolean
runs_right (StudioCanvas *self)
{
  return !runs_down (self);
}

typedef struct _Entry Entry;
struct _Entry
{
  const char *label, *action, *accel;
  gboolean (*when) (StudioCanvas *self);
  const Entry *inner;                       /* of a submenu, which has no action */
  GMenuModel *(*fill) (StudioCanvas *self); /* of one whose entries the card decides */
};

#define SECTION "" /* in place of a label: a line between what stands above and below */

static const Entry align_entries[] = {
  { N_ ("Left Edges"), "canvas.align-left" },
  { N_ ("Centres"), "canvas.align-centre" },
  { N_ ("Right Edges"), "canvas.align-right" },
  { SECTION },
  { N_ ("Top Edges"), "canvas.align-top" },
  { N_ ("Middles"), "canvas.align-middle" },
  { N_ ("Bottom Edges"), "canvas.align-bottom" },
  { SECTION },
  { N_ ("Distribute Horizontally"), "canvas.distribute-horizontally" },
  { N_ ("Distribute Vertically"), "canvas.distribute-vertically" },
  { NULL },
};

static const Entry card_entries[] = {
  { N_ ("Parameters"), "canvas.inspect", "Return" },
  { N_ ("Enter Module"), "canvas.enter", "Tab", is_module },
  { .label = N_ ("Enter One of Several"), .when = has_bodies, .fill = fill_bodies },
  { N_ ("Apply Quick Fix"), "canvas.fix", "<Control>period", has_fix },
  { SECTION },
  { N_ ("Add After…"), "menu.add-behind", NULL, has_output },
  { N_ ("Connect…"), "canvas.connect", "<Control>l" },
  { N_ ("Watch Output"), "menu.watch", "<Control><Shift>w", has_output },
  { N_ ("Watch Gradient"), "menu.watch-gradient", "<Control><Alt>w", has_output },
  { SECTION },
  { N_ ("Cut and Reconnect"), "canvas.cut", "<Control>x" },
  { N_ ("Copy"), "canvas.copy", "<Control>c" },
  { N_ ("Duplicate"), "canvas.duplicate", "<Control>d" },
  { N_ ("Delete"), "canvas.delete", "Delete" },
  { SECTION },
  { N_ ("Mute"), "canvas.mute", "<Control><Shift>m", is_heard },
  { N_ ("Unmute"), "canvas.mute", "<Control><Shift>m", is_muted },
  { N_ ("Collapse"), "canvas.fold", "<Alt>h", is_open },
  { N_ ("Expand"), "canvas.fold", "<Alt>h", is_folded },
  { N_ ("Swap For…"), "canvas.swap", "<Alt>s", is_layer },
  { SECTION },
  { N_ ("Group Into a Module"), "canvas.group", "<Control>g" },
  { N_ ("Ungroup"), "canvas.ungroup", "<Control><Shift>g", is_plain_module },
  { N_ ("Run Over a Sequence"), "canvas.loop", NULL, is_plain_module },
  { N_ ("Run Along Trees"), "canvas.trees", NULL, is_plain_module },
  { N_ ("Choose Among Modules"), "canvas.choose", NULL, is_plain_module },
  { N_ ("Run Once"), "canvas.loop", NULL, is_loop },
  { N_ ("Save to My Library"), "canvas.save-to-library", NULL, is_module },
  { N_ ("Arrange Selection"), "canvas.auto-layout", "<Control><Shift>l", are_several },
  { N_ ("Align"), NULL, NULL, are_several, align_entries },
  { N_ ("Frame"), "canvas.add-frame", "<Control>j" },
  { SECTION },
  { N_ ("Documentation"), "win.documentation", "<Shift>F1" },
  { NULL },
};

static const Entry port_entries[] = {
  { N_ ("Connect…"), "canvas.connect", "<Control>l" },
  { N_ ("Add After…"), "menu.add-behind", NULL, is_output },
  { N_ ("Watch"), "menu.watch", "<Control><Shift>w", is_output },
  { SECTION },
  { N_ ("Disconnect"), "menu.disconnect", NULL, is_wired },
  { NULL },
};

static const Entry wire_entries[] = {
  { N_ ("Insert Layer…"), "menu.add", "Insert" },
  { N_ ("Watch"), "menu.watch", NULL },
  { N_ ("Watch Gradient"), "menu.watch-gradient", NULL },
  { SECTION },
  { N_ ("Add Reroute Point"), "menu.add-point", NULL },
  { N_ ("Remove Reroute Points"), "menu.remove-points", NULL, has_points },
  { SECTION },
  { N_ ("Cut Wire"), "canvas.delete", "Delete" },
  { NULL },
};

static const Entry annotation_entries[] = {
  { N_ ("Edit Text"), "canvas.inspect", "Return" },
  { N_ ("Collapse to a Card"), "canvas.fold", "<Alt>h", is_frame },
  { SECTION },
  { N_ ("Delete"), "canvas.delete", "Delete" },
  { NULL },
};

/* A frame that is collapsed. */
static const Entry frame_entries[] = {
  { N_ ("Title"), "canvas.inspect", "Return" },
  { N_ ("Expand"), "canvas.fold", "<Alt>h" },
  { SECTION },
  { N_ ("Cut and Reconnect"), "canvas.cut", "<Control>x" },
  { N_ ("Copy"), "canvas.copy", "<Control>c" },
  { N_ ("Duplicate"), "canvas.duplicate", "<Control>d" },
  { N_ ("Delete"), "canvas.delete", "Delete" },
  { SECTION },
  { N_ ("Mute or Unmute Its Layers"), "canvas.mute", "<Control><Shift>m" },
  { N_ ("Group Into a Module"), "canvas.group", "<Control>g" },
  { N_ ("Arrange Selection"), "canvas.auto-layout", "<Control><Shift>l", are_several },
  { N_ ("Align"), NULL, NULL, are_several, align_entries },
  { NULL },
};

static const Entry canvas_entries[] = {
  { N_ ("Add Layer…"), "menu.add", "Insert" },
  { N_ ("Add From Library…"), "canvas.add-from-library", NULL },
  { N_ ("Add Note"), "menu.add-note", "<Control>m" },
  { N_ ("Add Frame"), "canvas.add-frame", "<Control>j" },
  { SECTION },
  { N_ ("Paste"), "menu.paste", "<Control>v" },
  { N_ ("Select All"), "canvas.select-all", "<Control>a" },
  { SECTION },
  { N_ ("Arrange"), "canvas.auto-layout", "<Control><Shift>l" },
  { N_ ("Arrange Top to Bottom"), "canvas.arrange-down", NULL, runs_right },
  { N_ ("Arrange Left to Right"), "canvas.arrange-right", NULL, runs_down },
  { N_ ("Fit Everything"), "canvas.zoom-to-fit", "<Control>9" },
  { N_ ("Leave Module"), "canvas.leave", "<Control>Up", is_inside },
  { NULL },
};

static const Entry *
entries_for (StudioCanvas *self)
{
  if (menu_item (self) != NULL && menu_item (self)->is_frame)
    return frame_entries;
  switch (self->menu.kind)
    {
    case STUDIO_HIT_CARD:
    case STUDIO_HIT_FIX:
      return card_entries;
    case STUDIO_HIT_INPUT:
    case STUDIO_HIT_OUTPUT:
      return port_entries;
    case STUDIO_HIT_LINK:
      return wire_entries;
    case STUDIO_HIT_ANNOTATION:
      return annotation_entries;
    case STUDIO_HIT_NOTHING:
      break;
    }
  return canvas_entries;
}

static void
append_section (GMenu *menu, GMenu *section)
{
  if (g_menu_model_get_n_items (G_MENU_MODEL (section)) > 0)
    g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
  g_object_unref (section);
}

static GMenuModel *
new_model (StudioCanvas *self, const Entry *entries)
{
  GMenu *menu = g_menu_new (), *section = g_menu_new ();

  for (const Entry *e = entries; e->label != NULL; e++)
    {
      g_autoptr (GMenuItem) item = NULL;

      if (e->action == NULL && e->inner == NULL && e->fill == NULL)
        {
          append_section (menu, section);
          section = g_menu_new ();
          continue;
        }
      if (e->when != NULL && !e->when (self))
        continue;
      item = g_menu_item_new (_ (e->label), e->action);
      if (e->inner != NULL || e->fill != NULL)
        {
          g_autoptr (GMenuModel) inner = e->fill != NULL ? e->fill (self) : new_model (self, e->inner);

          g_menu_item_set_submenu (item, inner);
        }
      if (e->accel != NULL)
        g_menu_item_set_attribute (item, "accel", "s", e->accel);
      g_menu_append_item (section, item);
    }
  append_section (menu, section);
  return G_MENU_MODEL (menu);
}

/* ---- opening ---------------------------------------------------------------- */

static gboolean
unparent_idle (gpointer data)
{
  gtk_widget_unparent (data);
  g_object_unref (data);
  return G_SOURCE_REMOVE;
}

static void
closed_cb (GtkPopover *popover, StudioCanvas *self)
{
  if (self->popover == GTK_WIDGET (popover))
    self->popover = NULL;
  if (gtk_widget_get_parent (GTK_WIDGET (popover)) != NULL)
    g_idle_add (unparent_idle, g_object_ref (popover));
}

static void
popup (StudioCanvas *self, double sx, double sy)
{
  g_autoptr (GMenuModel) model = new_model (self, entries_for (self));
  GtkWidget *menu = gtk_popover_menu_new_from_model (model);
  GdkRectangle at = { (int)CLAMP (sx, 0, self->view.width), (int)CLAMP (sy, 0, self->view.height), 1, 1 };

  if (self->popover != NULL)
    gtk_popover_popdown (GTK_POPOVER (self->popover));
  studio_view_to_canvas (&self->view, sx, sy, &self->menu.x, &self->menu.y);
  gtk_popover_set_has_arrow (GTK_POPOVER (menu), FALSE);
  gtk_popover_set_position (GTK_POPOVER (menu), GTK_POS_BOTTOM);
  gtk_widget_set_halign (menu, GTK_ALIGN_START);
  gtk_widget_set_parent (menu, GTK_WIDGET (self));
  gtk_popover_set_pointing_to (GTK_POPOVER (menu), &at);
  g_signal_connect (menu, "closed", G_CALLBACK (closed_cb), self);
  self->popover = menu;
  gtk_popover_popup (GTK_POPOVER (menu));
  /* Opened by the pointer it goes on by the keyboard as well, from its first entry. */
  {
    GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self)));

    if (focus == NULL || !gtk_widget_is_ancestor (focus, menu))
      gtk_widget_child_focus (menu, GTK_DIR_TAB_FORWARD);
  }
}

/* Points the menu at a thing, which is then what is selected, unless it is one of several that are. */
static void
aim (StudioCanvas *self, const StudioHit *hit)
{
  StudioScene *scene = studio_canvas_scene (self);

  self->menu.kind = hit->kind;
  self->menu.serial = 0;
  self->menu.port = NULL;
  switch (hit->kind)
    {
    case STUDIO_HIT_LINK:
      self->menu.serial = scene->link[hit->item].serial;
      break;
    case STUDIO_HIT_ANNOTATION:
      self->menu.serial = scene->annotation[hit->item].serial;
      break;
    case STUDIO_HIT_NOTHING:
      studio_document_select_only (self->document, 0);
      gtk_widget_grab_focus (GTK_WIDGET (self));
      return;
    case STUDIO_HIT_INPUT:
    case STUDIO_HIT_OUTPUT:
      self->menu.port = hit->kind == STUDIO_HIT_OUTPUT ? scene->item[hit->item].output[hit->port].name
                                                       : scene->item[hit->item].input[hit->port].name;
      self->menu.serial = scene->item[hit->item].serial;
      break;
    case STUDIO_HIT_CARD:
    case STUDIO_HIT_FIX:
      self->menu.serial = scene->item[hit->item].serial;
      break;
    }
  if (!studio_document_is_selected (self->document, self->menu.serial))
    studio_document_select_only (self->document, self->menu.serial);
  if (menu_item (self) != NULL)
    {
      self->last_focus = self->menu.serial;
      gtk_widget_grab_focus (GTK_WIDGET (studio_canvas_node (self, self->menu.serial)));
    }
}

/* The context menu of what is at this point in pixels. */
static void
menu_at (StudioCanvas *self, double sx, double sy)
{
  StudioHit hit = studio_geometry_hit (studio_canvas_scene (self), &self->view, sx, sy);

  if (self->presentation)
    return;
  studio_canvas_end_gesture (self);
  studio_canvas_quiet (self);
  aim (self, &hit);
  popup (self, sx, sy);
}

/* By the keyboard it is the menu of what has the focus, under it. */
void
studio_canvas_menu (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint item = studio_canvas_current (self), annotation = studio_canvas_current_annotation (self);
  StudioHit hit = { STUDIO_HIT_NOTHING, STUDIO_NO_ITEM, STUDIO_NO_ITEM };
  double x = self->view.width / 2, y = self->view.height / 3;

  if (self->presentation)
    return;
  if (annotation != STUDIO_NO_ITEM)
    {
      hit = (StudioHit){ STUDIO_HIT_ANNOTATION, annotation, STUDIO_NO_ITEM };
      studio_view_to_screen (&self->view, scene->annotation[annotation].x, scene->annotation[annotation].y, &x, &y);
    }
  else if (item != STUDIO_NO_ITEM)
    {
      hit = (StudioHit){ STUDIO_HIT_CARD, item, STUDIO_NO_ITEM };
      studio_view_to_screen (&self->view, scene->item[item].x + 24, scene->item[item].y + scene->item[item].height, &x,
                             &y);
    }
  aim (self, &hit);
  popup (self, x, y);
}

static void
pressed_cb (GtkGestureClick *click, int n_press, double x, double y, StudioCanvas *self)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (click));

  /* With Ctrl this button draws the line that cuts. */
  if (state & GDK_CONTROL_MASK)
    return;
  gtk_gesture_set_state (GTK_GESTURE (click), GTK_EVENT_SEQUENCE_CLAIMED);
  menu_at (self, x, y);
}

void
studio_canvas_init_menu (StudioCanvas *self)
{
  GtkGesture *click = gtk_gesture_click_new ();

  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (click), GDK_BUTTON_SECONDARY);
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
}

/* ---- entries that need to know where ------------------------------------------ */

static void
add_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  double x, y;

  studio_view_to_screen (&self->view, self->menu.x, self->menu.y, &x, &y);
  studio_quick_add_popup (self, "", x, y, NULL);
}

static void
add_behind_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  const StudioItem *item = menu_item (self);
  StudioLoose loose = { self->menu.serial, TRUE, NULL };
  double x, y;

  if (item == NULL || item->n_outputs == 0)
    return;
  loose.port = self->menu.kind == STUDIO_HIT_OUTPUT ? self->menu.port : item->output[0].name;
  if (item->flow == STUDIO_FLOW_DOWN)
    studio_view_to_screen (&self->view, item->x + item->width / 2, item->y + item->height + 64, &x, &y);
  else
    studio_view_to_screen (&self->view, item->x + item->width + 64, item->y + item->height / 2, &x, &y);
  studio_quick_add_popup (self, "", x, y, &loose);
}

static void
add_note_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  studio_canvas_add_note (self, self->menu.x, self->menu.y);
}

static void
paste_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  studio_canvas_paste_at (self, self->menu.x, self->menu.y);
}

static void
disconnect_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioScene *scene = studio_canvas_scene (self);
  const StudioPort *port = menu_port (self);
  g_autoptr (GArray) wires = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint l = port != NULL ? port->link : STUDIO_NO_ITEM; l != STUDIO_NO_ITEM;
       l = self->menu.kind == STUDIO_HIT_OUTPUT ? scene->link[l].next_out : scene->link[l].next_in)
    g_array_append_val (wires, scene->link[l].serial);
  studio_document_cut_wires (self->document, (const guint64 *)(gpointer)wires->data, wires->len);
}

/* A card's value is watched; for a wire, that of the card where it begins. */
static void
watch (GtkWidget *widget, const char *action)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioScene *scene = studio_canvas_scene (self);
  guint link = studio_scene_find_link (scene, self->menu.serial);

  studio_document_select_only (self->document,
                               link != STUDIO_NO_ITEM ? scene->item[scene->link[link].from].serial : self->menu.serial);
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
  StudioCanvas *self = STUDIO_CANVAS (widget);

  studio_canvas_add_point_at (self, self->menu.serial, self->menu.x, self->menu.y);
}

static void
remove_points_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  studio_document_remove_points (self->document, self->menu.serial);
}

static void
enter_body_cb (GtkWidget *widget, const char *action, GVariant *body)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  if (studio_document_enter_body (self->document, self->menu.serial, g_variant_get_uint32 (body)))
    studio_canvas_focus_item (self, 0, FALSE);
}

void
studio_canvas_class_init_menu (GtkWidgetClass *klass)
{
  gtk_widget_class_install_action (klass, "menu.enter-body", "u", enter_body_cb);
  gtk_widget_class_install_action (klass, "menu.add", NULL, add_cb);
  gtk_widget_class_install_action (klass, "menu.add-behind", NULL, add_behind_cb);
  gtk_widget_class_install_action (klass, "menu.add-note", NULL, add_note_cb);
  gtk_widget_class_install_action (klass, "menu.paste", NULL, paste_cb);
  gtk_widget_class_install_action (klass, "menu.disconnect", NULL, disconnect_cb);
  gtk_widget_class_install_action (klass, "menu.add-point", NULL, add_point_cb);
  gtk_widget_class_install_action (klass, "menu.remove-points", NULL, remove_points_cb);
  gtk_widget_class_install_action (klass, "menu.watch", NULL, watch_cb);
  gtk_widget_class_install_action (klass, "menu.watch-gradient", NULL, watch_gradient_cb);
}
