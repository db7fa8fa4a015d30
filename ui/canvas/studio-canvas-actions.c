/* The canvas's commands as class actions, with their keys: one table. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/document/studio-loops.h"
#include "ui/canvas/studio-canvas-private.h"
#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-arrange.h"

typedef void (*Command) (StudioCanvas *self);

static void
zoom_by (StudioCanvas *self, double factor)
{
  studio_canvas_zoom_at (self, self->view.zoom * factor, self->view.width / 2, self->view.height / 2);
}

static void
zoom_in (StudioCanvas *self)
{
  zoom_by (self, 1.25);
}

static void
zoom_out (StudioCanvas *self)
{
  zoom_by (self, 0.8);
}

static void
zoom_normal (StudioCanvas *self)
{
  studio_canvas_zoom_at (self, 1, self->view.width / 2, self->view.height / 2);
}

static void
undo (StudioCanvas *self)
{
  studio_document_undo (self->document);
}

static void
redo (StudioCanvas *self)
{
  studio_document_redo (self->document);
}

static void delete (StudioCanvas *self)
{
  if (!studio_canvas_remove_point (self))
    studio_document_delete_selection (self->document);
}

static void
copy (StudioCanvas *self)
{
  g_autofree char *text = studio_clipboard_copy (self->document);

  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), text);
}

static void
cut (StudioCanvas *self)
{
  copy (self);
  studio_document_dissolve_selection (self->document);
}

/* The keyboard goes on with what just came. */
static void
focus_selected (StudioCanvas *self)
{
  guint item = studio_scene_find (studio_canvas_scene (self), studio_document_get_selected (self->document, 0));

  if (item != STUDIO_NO_ITEM)
    studio_canvas_focus_item (self, item, FALSE);
}

static void
pasted_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioCanvas) self = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = gdk_clipboard_read_text_finish (GDK_CLIPBOARD (source), result, &error);

  if (self->document == NULL)
    return;
  if (text == NULL || text[0] != '<')
    studio_canvas_say (self, _ ("There are no nodes on the clipboard."));
  else if (!studio_clipboard_paste (self->document, text, self->paste_x, self->paste_y, &error))
    studio_canvas_say (self, error->message);
  else
    focus_selected (self);
}

void
studio_canvas_paste_at (StudioCanvas *self, double x, double y)
{
  self->paste_x = x;
  self->paste_y = y;
  gdk_clipboard_read_text_async (gtk_widget_get_clipboard (GTK_WIDGET (self)), NULL, pasted_cb, g_object_ref (self));
}

static void
paste (StudioCanvas *self)
{
  studio_canvas_paste_at (self, NAN, NAN);
}

static void
select_all (StudioCanvas *self)
{
  studio_document_select_all (self->document);
}

static void
select_none (StudioCanvas *self)
{
  studio_document_select_only (self->document, 0);
}

static void
duplicate (StudioCanvas *self)
{
  studio_document_duplicate (self->document);
  focus_selected (self);
}

static void
arrange (StudioCanvas *self, StudioLayoutDirection direction)
{
  GArray *before = studio_canvas_note_places (self);

  /* A part is arranged where one looks at it. */
  if (studio_document_arrange (self->document, self->view.width, self->view.height, direction))
    studio_canvas_zoom_to_fit (self);
  studio_canvas_glide (self, before);
}

static void
auto_layout (StudioCanvas *self)
{
  arrange (self, STUDIO_LAYOUT_AUTOMATIC);
}

static void
arrange_right (StudioCanvas *self)
{
  arrange (self, STUDIO_LAYOUT_RIGHT);
}

static void
arrange_down (StudioCanvas *self)
{
  arrange (self, STUDIO_LAYOUT_DOWN);
}

static void
align (StudioCanvas *self, StudioAlign how)
{
  GArray *before = studio_canvas_note_places (self);

  studio_document_align (self->document, how);
  studio_canvas_glide (self, before);
}

#define ALIGN(name, how)                                                                                               \
  static void name (StudioCanvas *self)                                                                                \
  {                                                                                                                    \
    align (self, how);                                                                                                 \
  }
ALIGN (align_left, STUDIO_ALIGN_LEFT)
ALIGN (align_centre, STUDIO_ALIGN_CENTRE)
ALIGN (align_right, STUDIO_ALIGN_RIGHT)
ALIGN (align_top, STUDIO_ALIGN_TOP)
ALIGN (align_middle, STUDIO_ALIGN_MIDDLE)
ALIGN (align_bottom, STUDIO_ALIGN_BOTTOM)
ALIGN (distribute_horizontally, STUDIO_DISTRIBUTE_HORIZONTALLY)
ALIGN (distribute_vertically, STUDIO_DISTRIBUTE_VERTICALLY)

static void
connect_wire (StudioCanvas *self)
{
  guint item = studio_canvas_current (self);

  if (item != STUDIO_NO_ITEM)
    studio_connect_popup (self, item);
}

static void
quick_add (StudioCanvas *self)
{
  double x, y;

  studio_canvas_where_to_add (self, &x, &y);
  studio_quick_add_popup (self, "", x, y, NULL);
}

static void
fix (StudioCanvas *self)
{
  guint item = studio_canvas_current (self);

  if (item != STUDIO_NO_ITEM)
    studio_canvas_fix (self, studio_canvas_scene (self)->item[item].serial);
}

static void
enter (StudioCanvas *self)
{
  guint item = studio_canvas_current (self);

  if (item != STUDIO_NO_ITEM && studio_document_enter (self->document, studio_canvas_scene (self)->item[item].serial))
    studio_canvas_focus_item (self, 0, FALSE);
}

static void
group (StudioCanvas *self)
{
  g_autoptr (GError) error = NULL;

  if (studio_document_group_selection (self->document, NULL, &error))
    focus_selected (self);
  else
    studio_canvas_say (self, error->message);
}

static void
ungroup (StudioCanvas *self)
{
  g_autoptr (GError) error = NULL;

  if (studio_document_ungroup_selection (self->document, &error))
    focus_selected (self);
  else
    studio_canvas_say (self, error->message);
}

static void
loop (StudioCanvas *self)
{
  if (!studio_document_loop_selection (self->document))
    studio_canvas_say (self, _ ("Select a module first. It then runs on each step of a sequence."));
}

static void
choose (StudioCanvas *self)
{
  if (!studio_document_run_selection (self->document, LOOM_LOOP_SWITCH))
    studio_canvas_say (self,
                       _ ("Select a module first. It becomes one of several, and an index selects the one that runs."));
}

static void
recurse (StudioCanvas *self)
{
  if (!studio_document_run_selection (self->document, LOOM_LOOP_TREE))
    studio_canvas_say (self,
                       _ ("Select a module first. It then runs on each node of a tree, from the leaves to the root."));
}

static void
mute (StudioCanvas *self)
{
  if (!studio_document_mute_selection (self->document))
    studio_canvas_say (self, _ ("Select the layers to leave out first."));
}

/* A frame that became a card, or was one, keeps the keyboard. */
static void
follow_frame (StudioCanvas *self, guint64 serial, gboolean was_open)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint item = studio_scene_find (scene, serial), annotation = studio_scene_find_annotation (scene, serial);

  if (was_open && item != STUDIO_NO_ITEM)
    studio_canvas_focus_item (self, item, TRUE);
  else if (!was_open && annotation != STUDIO_NO_ITEM)
    studio_canvas_focus_annotation (self, annotation);
}

static void
fold (StudioCanvas *self)
{
  GArray *before = studio_canvas_note_places (self);
  guint64 one = studio_document_n_selected (self->document) == 1 ? studio_document_get_selected (self->document, 0) : 0;
  gboolean was = studio_scene_find_annotation (studio_canvas_scene (self), one) != STUDIO_NO_ITEM;

  if (!studio_document_fold_selection (self->document))
    studio_canvas_say (self,
                       was ? _ ("The frame has no card to collapse.") : _ ("Select the cards to collapse first."));
  studio_canvas_glide (self, before);
  follow_frame (self, one, was);
}

void
studio_canvas_open_frame (StudioCanvas *self, guint item)
{
  studio_document_select_only (self->document, studio_canvas_scene (self)->item[item].serial);
  fold (self);
}

static void
leave (StudioCanvas *self)
{
  studio_document_leave (self->document);
  focus_selected (self);
}

static void
make_unique (StudioCanvas *self)
{
  studio_document_make_unique (self->document);
}

static void
inspect (StudioCanvas *self)
{
  guint item = studio_canvas_current (self), annotation = studio_canvas_current_annotation (self);

  if (annotation != STUDIO_NO_ITEM)
    {
      studio_annotation_edit (self, annotation);
      return;
    }
  if (item == STUDIO_NO_ITEM)
    return;
  studio_document_select_only (self->document, studio_canvas_scene (self)->item[item].serial);
  g_signal_emit (self, studio_canvas_signals[STUDIO_CANVAS_INSPECT], 0);
}

static void
step_order (StudioCanvas *self, int by)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint item = studio_canvas_current (self), annotation = studio_canvas_current_annotation (self);
  guint n = scene->n_items + scene->n_annotations;

  /* Cards first, then frames and notes. */
  if (n == 0)
    return;
  if (annotation != STUDIO_NO_ITEM)
    item = scene->n_items + annotation;
  if (item == STUDIO_NO_ITEM)
    item = by > 0 ? n - 1 : 0;
  item = (item + n + by) % n;
  if (item < scene->n_items)
    studio_canvas_focus_item (self, item, TRUE);
  else
    studio_canvas_focus_annotation (self, item - scene->n_items);
}

static void
next (StudioCanvas *self)
{
  step_order (self, 1);
}

static void
previous (StudioCanvas *self)
{
  step_order (self, -1);
}

static void
first (StudioCanvas *self)
{
  if (studio_canvas_scene (self)->n_items > 0)
    studio_canvas_focus_item (self, 0, TRUE);
}

static void
last (StudioCanvas *self)
{
  guint n = studio_canvas_scene (self)->n_items;

  if (n > 0)
    studio_canvas_focus_item (self, n - 1, TRUE);
}

static void
move_by (StudioCanvas *self, double dx, double dy)
{
  guint n = studio_document_n_selected (self->document), item = studio_canvas_current (self);
  g_autofree guint64 *serials = g_new (guint64, n + 1);

  if (studio_canvas_move_point_by (self, dx, dy))
    return;
  for (guint i = 0; i < n; i++)
    serials[i] = studio_document_get_selected (self->document, i);
  if (n == 0 && item != STUDIO_NO_ITEM)
    serials[n++] = studio_canvas_scene (self)->item[item].serial;
  studio_document_move (self->document, serials, n, dx, dy);
}

static void
add_note (StudioCanvas *self)
{
  double x, y;

  studio_canvas_get_centre (self, &x, &y);
  studio_canvas_add_note (self, x - STUDIO_NOTE_WIDTH / 2, y);
}

static void
move_left (StudioCanvas *self)
{
  move_by (self, -STUDIO_GRID, 0);
}

static void
move_right (StudioCanvas *self)
{
  move_by (self, STUDIO_GRID, 0);
}

static void
move_up (StudioCanvas *self)
{
  move_by (self, 0, -STUDIO_GRID);
}

static void
move_down (StudioCanvas *self)
{
  move_by (self, 0, STUDIO_GRID);
}

static const struct
{
  const char *name;
  Command command;
  guint key, key2;
  GdkModifierType mods;
  const char *group, *title; /* as lists of actions and shortcuts show it; NULL where the window has one of its own */
} commands[] = {
  { "canvas.zoom-in", zoom_in, GDK_KEY_plus, GDK_KEY_equal, GDK_CONTROL_MASK, NULL, NULL },
  { "canvas.zoom-out", zoom_out, GDK_KEY_minus, GDK_KEY_KP_Subtract, GDK_CONTROL_MASK, NULL, NULL },
  { "canvas.zoom-normal", zoom_normal, GDK_KEY_0, GDK_KEY_KP_0, GDK_CONTROL_MASK, NULL, NULL },
  { "canvas.zoom-to-fit", studio_canvas_zoom_to_fit, GDK_KEY_9, GDK_KEY_KP_9, GDK_CONTROL_MASK, NULL, NULL },
  { "canvas.zoom-to-selection", studio_canvas_zoom_to_selection, GDK_KEY_8, GDK_KEY_KP_8, GDK_CONTROL_MASK, NULL,
    NULL },
  { "canvas.undo", undo, GDK_KEY_z, 0, GDK_CONTROL_MASK, NULL, NULL },
  { "canvas.redo", redo, GDK_KEY_z, 0, GDK_CONTROL_MASK | GDK_SHIFT_MASK, NULL, NULL },
  { "canvas.cut", cut, GDK_KEY_x, 0, GDK_CONTROL_MASK, N_ ("Edit"), N_ ("Cut and Reconnect Neighbours") },
  { "canvas.copy", copy, GDK_KEY_c, 0, GDK_CONTROL_MASK, N_ ("Edit"), N_ ("Copy") },
  { "canvas.paste", paste, GDK_KEY_v, 0, GDK_CONTROL_MASK, N_ ("Edit"), N_ ("Paste") },
  { "canvas.delete", delete, GDK_KEY_Delete, GDK_KEY_BackSpace, 0, N_ ("Edit"), N_ ("Delete") },
  { "canvas.select-all", select_all, GDK_KEY_a, 0, GDK_CONTROL_MASK, N_ ("Edit"), N_ ("Select All") },
  { "canvas.select-none", select_none, GDK_KEY_a, 0, GDK_CONTROL_MASK | GDK_SHIFT_MASK, N_ ("Edit"),
    N_ ("Select None") },
  { "canvas.duplicate", duplicate, GDK_KEY_d, 0, GDK_CONTROL_MASK, N_ ("Edit"), N_ ("Duplicate") },
  { "canvas.auto-layout", auto_layout, GDK_KEY_l, 0, GDK_CONTROL_MASK | GDK_SHIFT_MASK, N_ ("Arrange"),
    N_ ("Arrange the Graph or the Selection") },
  { "canvas.arrange-down", arrange_down, 0, 0, 0, N_ ("Arrange"), N_ ("Arrange Top to Bottom") },
  { "canvas.arrange-right", arrange_right, 0, 0, 0, N_ ("Arrange"), N_ ("Arrange Left to Right") },
  { "canvas.align-left", align_left, 0, 0, 0, N_ ("Arrange"), N_ ("Align Left Edges") },
  { "canvas.align-centre", align_centre, 0, 0, 0, N_ ("Arrange"), N_ ("Align Centres") },
  { "canvas.align-right", align_right, 0, 0, 0, N_ ("Arrange"), N_ ("Align Right Edges") },
  { "canvas.align-top", align_top, 0, 0, 0, N_ ("Arrange"), N_ ("Align Top Edges") },
  { "canvas.align-middle", align_middle, 0, 0, 0, N_ ("Arrange"), N_ ("Align Middles") },
  { "canvas.align-bottom", align_bottom, 0, 0, 0, N_ ("Arrange"), N_ ("Align Bottom Edges") },
  { "canvas.distribute-horizontally", distribute_horizontally, 0, 0, 0, N_ ("Arrange"),
    N_ ("Distribute Horizontally") },
  { "canvas.distribute-vertically", distribute_vertically, 0, 0, 0, N_ ("Arrange"), N_ ("Distribute Vertically") },
  { "canvas.menu", studio_canvas_menu, GDK_KEY_Menu, 0, 0, N_ ("Edit"), N_ ("Open the Context Menu") },
  { "canvas.connect", connect_wire, GDK_KEY_l, 0, GDK_CONTROL_MASK, N_ ("Add"), N_ ("Connect the Card to Another") },
  { "canvas.quick-add", quick_add, GDK_KEY_a, 0, GDK_SHIFT_MASK, N_ ("Add"), N_ ("Add a Layer") },
  { "canvas.fix", fix, GDK_KEY_period, 0, GDK_CONTROL_MASK, N_ ("Edit"),
    N_ ("Apply the Quick Fix of the Selected Card") },
  { "canvas.enter", enter, GDK_KEY_Down, 0, GDK_CONTROL_MASK, N_ ("Go"), N_ ("Enter the Module") },
  { "canvas.leave", leave, GDK_KEY_Up, 0, GDK_CONTROL_MASK, N_ ("Go"), N_ ("Leave the Module") },
  { "canvas.make-unique", make_unique, 0, 0, 0, N_ ("Edit"), N_ ("Make This Module Unique") },
  { "canvas.inspect", inspect, GDK_KEY_Return, GDK_KEY_KP_Enter, 0, N_ ("Go"), N_ ("Go to the Parameters") },
  { "canvas.next", next, GDK_KEY_Right, 0, GDK_CONTROL_MASK, N_ ("Go"), N_ ("Next Card") },
  { "canvas.previous", previous, GDK_KEY_Left, 0, GDK_CONTROL_MASK, N_ ("Go"), N_ ("Previous Card") },
  { "canvas.first", first, GDK_KEY_Home, GDK_KEY_KP_Home, 0, N_ ("Go"), N_ ("First Card") },
  { "canvas.last", last, GDK_KEY_End, GDK_KEY_KP_End, 0, N_ ("Go"), N_ ("Last Card") },
  { "canvas.group", group, GDK_KEY_g, 0, GDK_CONTROL_MASK, N_ ("Edit"), N_ ("Group Into a Module") },
  { "canvas.ungroup", ungroup, GDK_KEY_g, 0, GDK_CONTROL_MASK | GDK_SHIFT_MASK, N_ ("Edit"),
    N_ ("Ungroup the Module") },
  { "canvas.loop", loop, 0, 0, 0, N_ ("Edit"), N_ ("Run the Module Over a Sequence, or Once") },
  { "canvas.choose", choose, 0, 0, 0, N_ ("Edit"), N_ ("Choose Among Modules, or Run One") },
  { "canvas.recurse", recurse, 0, 0, 0, N_ ("Edit"), N_ ("Run the Module Along Trees, or Once") },
  { "canvas.add-from-library", studio_canvas_add_from_library, 0, 0, 0, N_ ("Add"),
    N_ ("Add a Module From the Library") },
  { "canvas.save-to-library", studio_canvas_save_to_library, 0, 0, 0, N_ ("Edit"),
    N_ ("Save the Module to My Library") },
  { "canvas.mute", mute, GDK_KEY_m, 0, GDK_CONTROL_MASK | GDK_SHIFT_MASK, N_ ("Edit"),
    N_ ("Mute or Unmute the Layers") },
  { "canvas.fold", fold, GDK_KEY_h, 0, GDK_ALT_MASK, N_ ("Edit"), N_ ("Collapse or Expand the Cards") },
  { "canvas.swap", studio_swap_popup, GDK_KEY_s, 0, GDK_ALT_MASK, N_ ("Edit"), N_ ("Swap the Layer for Another") },
  { "canvas.add-frame", studio_canvas_add_frame, GDK_KEY_j, 0, GDK_CONTROL_MASK, N_ ("Add"),
    N_ ("Add a Frame Around the Selection") },
  { "canvas.add-point", studio_canvas_add_point, 0, 0, 0, N_ ("Add"), N_ ("Add a Reroute Point to the Wire") },
  { "canvas.add-note", add_note, GDK_KEY_m, 0, GDK_CONTROL_MASK, N_ ("Add"), N_ ("Add a Note") },
  { "canvas.move-left", move_left, 0, 0, 0, N_ ("Arrange"), N_ ("Move Left") },
  { "canvas.move-right", move_right, 0, 0, 0, N_ ("Arrange"), N_ ("Move Right") },
  { "canvas.move-up", move_up, 0, 0, 0, N_ ("Arrange"), N_ ("Move Up") },
  { "canvas.move-down", move_down, 0, 0, 0, N_ ("Arrange"), N_ ("Move Down") },
};

static void
activate_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  /* A command in the middle of a drag ends the drag without effect. */
  studio_canvas_end_gesture (self);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].name, name) == 0)
      {
        commands[i].command (self);
        return;
      }
}

guint
studio_canvas_n_commands (void)
{
  return G_N_ELEMENTS (commands);
}

StudioCanvasCommand
studio_canvas_get_command (guint i)
{
  g_return_val_if_fail (i < G_N_ELEMENTS (commands), (StudioCanvasCommand){ 0 });
  return (StudioCanvasCommand){ .name = commands[i].name,
                                .group = commands[i].group,
                                .title = commands[i].title,
                                .key = commands[i].key,
                                .mods = commands[i].mods };
}

gboolean
studio_canvas_can (StudioCanvas *self, const char *name)
{
  return !g_hash_table_contains (self->disabled, name);
}

static void
focus_node_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  studio_canvas_focus_path (STUDIO_CANVAS (widget), g_variant_get_string (parameter, NULL));
}

void
studio_canvas_class_init_actions (GtkWidgetClass *klass)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      gtk_widget_class_install_action (klass, commands[i].name, NULL, activate_cb);
      if (commands[i].key != 0)
        gtk_widget_class_add_binding_action (klass, commands[i].key, commands[i].mods, commands[i].name, NULL);
      if (commands[i].key2 != 0)
        gtk_widget_class_add_binding_action (klass, commands[i].key2, commands[i].mods, commands[i].name, NULL);
    }
  gtk_widget_class_add_binding_action (klass, GDK_KEY_F10, GDK_SHIFT_MASK, "canvas.menu", NULL);
  gtk_widget_class_add_binding_action (klass, GDK_KEY_y, GDK_CONTROL_MASK, "canvas.redo", NULL);
  gtk_widget_class_add_binding_action (klass, GDK_KEY_Insert, 0, "canvas.quick-add", NULL);
  gtk_widget_class_add_binding_action (klass, GDK_KEY_KP_Insert, 0, "canvas.quick-add", NULL);
  gtk_widget_class_install_property_action (klass, "canvas.show-cost", "show-cost");
  gtk_widget_class_add_binding_action (klass, GDK_KEY_c, GDK_CONTROL_MASK | GDK_SHIFT_MASK, "canvas.show-cost", NULL);
  gtk_widget_class_install_action (klass, "node.focus", "s", focus_node_cb);
}

/* Whether an action is enabled cannot be asked of GTK, so that is noted here. */
static void
enable (StudioCanvas *self, const char *name, gboolean enabled)
{
  if (enabled)
    g_hash_table_remove (self->disabled, name);
  else
    g_hash_table_add (self->disabled, (gpointer)name);
  gtk_widget_action_set_enabled (GTK_WIDGET (self), name, enabled);
}

void
studio_canvas_update_actions (StudioCanvas *self)
{
  guint n = studio_document_n_selected (self->document);
  gboolean any = n > 0;
  guint depth = studio_document_scope_depth (self->document);

  enable (self, "canvas.undo", studio_document_undo_name (self->document) != NULL);
  enable (self, "canvas.redo", studio_document_redo_name (self->document) != NULL);
  enable (self, "canvas.delete", any);
  enable (self, "canvas.cut", any);
  enable (self, "canvas.copy", any);
  enable (self, "canvas.duplicate", any);
  enable (self, "canvas.group", any);
  enable (self, "canvas.mute", any);
  enable (self, "canvas.fold", any);
  enable (self, "canvas.ungroup", any);
  enable (self, "canvas.loop", any);
  enable (self, "canvas.choose", any);
  enable (self, "canvas.recurse", any);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (g_str_has_prefix (commands[i].name, "canvas.align-"))
      enable (self, commands[i].name, n > 1);
    else if (g_str_has_prefix (commands[i].name, "canvas.distribute-"))
      enable (self, commands[i].name, n > 2);
  enable (self, "canvas.leave", depth > 0);
  enable (self, "canvas.make-unique", depth > 0);
}
