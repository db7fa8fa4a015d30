/* The canvas's commands as class actions, with their keys: a table of those of the view, and those of the document. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/canvas/studio-canvas-private.h"
#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-arrange.h"
#include "ui/document/studio-edit-command.h"

#define CANVAS_KEYS 4

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

/* The keyboard continues with what was just made. */
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
arrange (StudioCanvas *self, StudioLayoutDirection direction)
{
  GArray *before = studio_canvas_note_places (self);

  /* A part is arranged where one looks at it. */
  if (studio_document_arrange (self->document, self->view.width, self->view.height, direction))
    studio_canvas_fit_readable (self);
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
run_edit (StudioCanvas *self, const StudioEditCommand *command)
{
  GArray *before = (command->flags & STUDIO_EDIT_COMMAND_MOVES) ? studio_canvas_note_places (self) : NULL;
  g_autoptr (GError) error = NULL;

  if (!command->run (self->document, &error))
    studio_canvas_say (self, error->message);
  else if (command->flags & STUDIO_EDIT_COMMAND_SELECTS)
    focus_selected (self);
  if (before != NULL)
    studio_canvas_glide (self, before);
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
  guint64 one = studio_document_n_selected (self->document) == 1 ? studio_document_get_selected (self->document, 0) : 0;
  gboolean was = studio_scene_find_annotation (studio_canvas_scene (self), one) != STUDIO_NO_ITEM;

  run_edit (self, studio_edit_command_find ("fold"));
  follow_frame (self, one, was);
}

void
studio_canvas_open_frame (StudioCanvas *self, guint item)
{
  studio_document_select_only (self->document, studio_canvas_scene (self)->item[item].serial);
  fold (self);
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

/* Commands of the view. Keys are accelerators of GTK; group and title are as lists of commands show them, NULL if the
 * window has a command of its own for it. */
static const struct
{
  const char *name;
  Command run;
  gboolean (*is_possible) (StudioDocument *document); /* NULL: always */
  const char *keys[CANVAS_KEYS];
  const char *group, *title;
} commands[] = {
  { "canvas.zoom-in", zoom_in, NULL, { "<Control>plus", "<Control>equal" }, NULL, NULL },
  { "canvas.zoom-out", zoom_out, NULL, { "<Control>minus", "<Control>KP_Subtract" }, NULL, NULL },
  { "canvas.zoom-normal", zoom_normal, NULL, { "<Control>0", "<Control>KP_0" }, NULL, NULL },
  { "canvas.zoom-to-fit", studio_canvas_zoom_to_fit, NULL, { "<Control>9", "<Control>KP_9" }, NULL, NULL },
  { "canvas.zoom-to-selection", studio_canvas_zoom_to_selection, NULL, { "<Control>8", "<Control>KP_8" }, NULL, NULL },
  { "canvas.cut",
    cut,
    studio_edit_command_has_selection,
    { "<Control>x" },
    N_ ("Edit"),
    N_ ("Cut and Reconnect Neighbours") },
  { "canvas.copy", copy, studio_edit_command_has_selection, { "<Control>c" }, N_ ("Edit"), N_ ("Copy") },
  { "canvas.paste", paste, NULL, { "<Control>v" }, N_ ("Edit"), N_ ("Paste") },
  { "canvas.auto-layout",
    auto_layout,
    NULL,
    { "<Control><Shift>l" },
    N_ ("Arrange"),
    N_ ("Arrange the Graph or the Selection") },
  { "canvas.arrange-down", arrange_down, NULL, { NULL }, N_ ("Arrange"), N_ ("Arrange Top to Bottom") },
  { "canvas.arrange-right", arrange_right, NULL, { NULL }, N_ ("Arrange"), N_ ("Arrange Left to Right") },
  { "canvas.menu", studio_canvas_menu, NULL, { "Menu", "<Shift>F10" }, N_ ("Edit"), N_ ("Open the Context Menu") },
  { "canvas.connect", connect_wire, NULL, { "<Control>l" }, N_ ("Add"), N_ ("Connect the Card to Another") },
  { "canvas.quick-add", quick_add, NULL, { "<Shift>a", "Insert", "KP_Insert" }, N_ ("Add"), N_ ("Add a Layer") },
  { "canvas.fix", fix, NULL, { "<Control>period" }, N_ ("Edit"), N_ ("Apply the Quick Fix of the Selected Card") },
  { "canvas.enter", enter, NULL, { "<Control>Down" }, N_ ("Go"), N_ ("Enter the Module") },
  { "canvas.inspect", inspect, NULL, { "Return", "KP_Enter" }, N_ ("Go"), N_ ("Go to the Parameters") },
  { "canvas.next", next, NULL, { "<Control>Right" }, N_ ("Go"), N_ ("Next Card") },
  { "canvas.previous", previous, NULL, { "<Control>Left" }, N_ ("Go"), N_ ("Previous Card") },
  { "canvas.first", first, NULL, { "Home", "KP_Home" }, N_ ("Go"), N_ ("First Card") },
  { "canvas.last", last, NULL, { "End", "KP_End" }, N_ ("Go"), N_ ("Last Card") },
  { "canvas.add-from-library",
    studio_canvas_add_from_library,
    NULL,
    { NULL },
    N_ ("Add"),
    N_ ("Add a Module From the Library") },
  { "canvas.save-to-library",
    studio_canvas_save_to_library,
    NULL,
    { NULL },
    N_ ("Edit"),
    N_ ("Save the Module to My Library") },
  { "canvas.swap", studio_swap_popup, NULL, { "<Alt>s" }, N_ ("Edit"), N_ ("Swap the Layer for Another") },
  { "canvas.add-frame",
    studio_canvas_add_frame,
    NULL,
    { "<Control>j" },
    N_ ("Add"),
    N_ ("Add a Frame Around the Selection") },
  { "canvas.add-point", studio_canvas_add_point, NULL, { NULL }, N_ ("Add"), N_ ("Add a Reroute Point to the Wire") },
  { "canvas.add-note", add_note, NULL, { "<Control>m" }, N_ ("Add"), N_ ("Add a Note") },
  { "canvas.move-left", move_left, NULL, { NULL }, N_ ("Arrange"), N_ ("Move Left") },
  { "canvas.move-right", move_right, NULL, { NULL }, N_ ("Arrange"), N_ ("Move Right") },
  { "canvas.move-up", move_up, NULL, { NULL }, N_ ("Arrange"), N_ ("Move Up") },
  { "canvas.move-down", move_down, NULL, { NULL }, N_ ("Arrange"), N_ ("Move Down") },
};

/* Commands of the document to which the canvas adds something. */
static const struct
{
  const char *id;
  Command run;
} extended[] = {
  { "delete", delete },
  { "fold", fold },
};

/* The id of a command of the document: the name of its action without "canvas.". */
static const char *
edit_id (const char *name)
{
  return name + strlen ("canvas.");
}

static void
activate_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);

  /* A command in the middle of a drag ends the drag without effect. */
  studio_canvas_end_gesture (self);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].name, name) == 0)
      {
        commands[i].run (self);
        return;
      }
  for (guint i = 0; i < G_N_ELEMENTS (extended); i++)
    if (strcmp (extended[i].id, edit_id (name)) == 0)
      {
        extended[i].run (self);
        return;
      }
  run_edit (self, studio_edit_command_find (edit_id (name)));
}

guint
studio_canvas_n_commands (void)
{
  return G_N_ELEMENTS (commands) + studio_edit_command_n ();
}

/* The name of the class action of a command of the document. */
static const char *
edit_action (const StudioEditCommand *command)
{
  g_autofree char *name = g_strconcat ("canvas.", command->id, NULL);

  return g_intern_string (name);
}

StudioCanvasCommand
studio_canvas_get_command (guint i)
{
  const StudioEditCommand *edit;

  if (i < G_N_ELEMENTS (commands))
    return (StudioCanvasCommand){
      .name = commands[i].name, .group = commands[i].group, .title = commands[i].title, .key = commands[i].keys[0]
    };
  edit = studio_edit_command_get (i - G_N_ELEMENTS (commands));
  g_return_val_if_fail (edit != NULL, (StudioCanvasCommand){ 0 });
  return (StudioCanvasCommand){
    .name = edit_action (edit), .group = edit->group, .title = edit->title, .key = edit->keys[0]
  };
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

static void
install_action (GtkWidgetClass *klass, const char *name, const char *const *keys, guint n)
{
  gtk_widget_class_install_action (klass, name, NULL, activate_cb);
  for (guint i = 0; i < n && keys[i] != NULL; i++)
    {
      guint key;
      GdkModifierType mods;

      if (!gtk_accelerator_parse (keys[i], &key, &mods))
        g_assert_not_reached ();
      gtk_widget_class_add_binding_action (klass, key, mods, name, NULL);
    }
}

void
studio_canvas_class_init_actions (GtkWidgetClass *klass)
{
  const StudioEditCommand *edit;

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    install_action (klass, commands[i].name, commands[i].keys, CANVAS_KEYS);
  for (guint i = 0; (edit = studio_edit_command_get (i)) != NULL; i++)
    install_action (klass, edit_action (edit), edit->keys, STUDIO_EDIT_COMMAND_KEYS);
  gtk_widget_class_install_property_action (klass, "canvas.show-cost", "show-cost");
  gtk_widget_class_add_binding_action (klass, GDK_KEY_c, GDK_CONTROL_MASK | GDK_SHIFT_MASK, "canvas.show-cost", NULL);
  gtk_widget_class_install_action (klass, "node.focus", "s", focus_node_cb);
}

/* GTK has no query for whether an action of a class is enabled, so the disabled ones are noted here. */
static void
enable (StudioCanvas *self, const char *name, gboolean enabled)
{
  if (enabled == !g_hash_table_contains (self->disabled, name))
    return;
  if (enabled)
    g_hash_table_remove (self->disabled, name);
  else
    g_hash_table_add (self->disabled, (gpointer)name);
  gtk_widget_action_set_enabled (GTK_WIDGET (self), name, enabled);
}

void
studio_canvas_update_actions (StudioCanvas *self)
{
  const StudioEditCommand *edit;

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (commands[i].is_possible != NULL)
      enable (self, commands[i].name, commands[i].is_possible (self->document));
  for (guint i = 0; (edit = studio_edit_command_get (i)) != NULL; i++)
    enable (self, edit_action (edit), studio_edit_command_is_possible (edit, self->document));
}
