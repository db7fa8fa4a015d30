#include "ui/canvas/canvas-commands.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/canvas/annotation-edit.h"
#include "ui/canvas/canvas-board.h"
#include "ui/canvas/canvas-clipboard.h"
#include "ui/canvas/canvas-fix.h"
#include "ui/canvas/connect-chooser.h"
#include "ui/canvas/library-chooser.h"
#include "ui/canvas/quick-add.h"
#include "ui/canvas/swap-chooser.h"
#include "ui/canvas/waypoints.h"
#include "ui/document/studio-document-arrange.h"
#include "ui/document/studio-edit-command.h"

#define CANVAS_KEYS 4

typedef void (*Command) (CanvasBoard *board);

static void
zoom_to (CanvasBoard *board, double zoom)
{
  canvas_view_zoom_at (board->view, zoom, canvas_board_view (board)->width / 2, canvas_board_view (board)->height / 2);
}

static void
zoom_by (CanvasBoard *board, double factor)
{
  zoom_to (board, canvas_board_view (board)->zoom * factor);
}

static void
zoom_in (CanvasBoard *board)
{
  zoom_by (board, 1.25);
}

static void
zoom_out (CanvasBoard *board)
{
  zoom_by (board, 0.8);
}

static void
zoom_normal (CanvasBoard *board)
{
  zoom_to (board, 1);
}

static void delete (CanvasBoard *board)
{
  if (!waypoints_remove (board))
    studio_document_delete_selection (board->document);
}

static void
cut (CanvasBoard *board)
{
  canvas_clipboard_copy (board);
  studio_document_dissolve_selection (board->document);
}

static void
paste (CanvasBoard *board)
{
  canvas_clipboard_paste (board, NAN, NAN);
}

static void
arrange (CanvasBoard *board, StudioLayoutDirection direction)
{
  GArray *before = canvas_glide_note (board->glide);

  /* A selection is arranged where it is visible. */
  if (studio_document_arrange (board->document, canvas_board_view (board)->width, canvas_board_view (board)->height,
                               direction))
    canvas_board_fit_readable (board);
  canvas_glide_start (board->glide, before);
}

static void
auto_layout (CanvasBoard *board)
{
  arrange (board, STUDIO_LAYOUT_AUTOMATIC);
}

static void
arrange_right (CanvasBoard *board)
{
  arrange (board, STUDIO_LAYOUT_RIGHT);
}

static void
arrange_down (CanvasBoard *board)
{
  arrange (board, STUDIO_LAYOUT_DOWN);
}

static void
connect_wire (CanvasBoard *board)
{
  guint item = canvas_board_current (board);

  if (item != STUDIO_NO_ITEM)
    connect_chooser_open (board, item);
}

static void
quick_add (CanvasBoard *board)
{
  double x, y;

  canvas_board_where_to_add (board, &x, &y);
  quick_add_open (board, "", x, y, NULL);
}

static void
fix (CanvasBoard *board)
{
  guint item = canvas_board_current (board);

  if (item != STUDIO_NO_ITEM)
    canvas_fix_apply_first (board, canvas_board_scene (board)->item[item].serial);
}

static void
enter (CanvasBoard *board)
{
  guint item = canvas_board_current (board);

  if (item != STUDIO_NO_ITEM && studio_document_enter (board->document, canvas_board_scene (board)->item[item].serial))
    canvas_board_focus_item (board, 0, FALSE);
}

static void
run_edit (CanvasBoard *board, const StudioEditCommand *command)
{
  GArray *before = (command->flags & STUDIO_EDIT_COMMAND_MOVES) ? canvas_glide_note (board->glide) : NULL;
  g_autoptr (GError) error = NULL;

  if (!command->run (board->document, &error))
    canvas_board_say (board, error->message);
  else if (command->flags & STUDIO_EDIT_COMMAND_SELECTS)
    canvas_board_focus_selected (board);
  if (before != NULL)
    canvas_glide_start (board->glide, before);
}

/* A frame that became a card, or was one, keeps the keyboard. */
static void
follow_frame (CanvasBoard *board, guint64 serial, gboolean was_open)
{
  StudioScene *scene = canvas_board_scene (board);
  guint item = studio_scene_find (scene, serial), annotation = studio_scene_find_annotation (scene, serial);

  if (was_open && item != STUDIO_NO_ITEM)
    canvas_board_focus_item (board, item, TRUE);
  else if (!was_open && annotation != STUDIO_NO_ITEM)
    canvas_board_focus_annotation (board, annotation);
}

static void
fold (CanvasBoard *board)
{
  guint64 one
      = studio_document_n_selected (board->document) == 1 ? studio_document_get_selected (board->document, 0) : 0;
  gboolean was = studio_scene_find_annotation (canvas_board_scene (board), one) != STUDIO_NO_ITEM;

  run_edit (board, studio_edit_command_find ("fold"));
  follow_frame (board, one, was);
}

static void
inspect (CanvasBoard *board)
{
  guint item = canvas_board_current (board),
        annotation = canvas_cards_get_current_annotation (board->cards, canvas_board_scene (board));

  if (annotation != STUDIO_NO_ITEM)
    {
      annotation_edit_open (board, annotation);
      return;
    }
  if (item == STUDIO_NO_ITEM)
    return;
  studio_document_select_only (board->document, canvas_board_scene (board)->item[item].serial);
  board->owner.inspect (board->owner.data);
}

static void
step_order (CanvasBoard *board, int by)
{
  StudioScene *scene = canvas_board_scene (board);
  guint item = canvas_board_current (board),
        annotation = canvas_cards_get_current_annotation (board->cards, canvas_board_scene (board));
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
    canvas_board_focus_item (board, item, TRUE);
  else
    canvas_board_focus_annotation (board, item - scene->n_items);
}

static void
next (CanvasBoard *board)
{
  step_order (board, 1);
}

static void
previous (CanvasBoard *board)
{
  step_order (board, -1);
}

static void
first (CanvasBoard *board)
{
  if (canvas_board_scene (board)->n_items > 0)
    canvas_board_focus_item (board, 0, TRUE);
}

static void
last (CanvasBoard *board)
{
  guint n = canvas_board_scene (board)->n_items;

  if (n > 0)
    canvas_board_focus_item (board, n - 1, TRUE);
}

static void
move_by (CanvasBoard *board, double dx, double dy)
{
  guint n = studio_document_n_selected (board->document), item = canvas_board_current (board);
  g_autofree guint64 *serials = g_new (guint64, n + 1);

  if (waypoints_move (board, dx, dy))
    return;
  for (guint i = 0; i < n; i++)
    serials[i] = studio_document_get_selected (board->document, i);
  if (n == 0 && item != STUDIO_NO_ITEM)
    serials[n++] = canvas_board_scene (board)->item[item].serial;
  studio_document_move (board->document, serials, n, dx, dy);
}

static void
add_note (CanvasBoard *board)
{
  double x, y;

  canvas_view_get_center (board->view, &x, &y);
  annotation_edit_add_note (board, x - STUDIO_NOTE_WIDTH / 2, y);
}

static void
move_left (CanvasBoard *board)
{
  move_by (board, -STUDIO_GRID, 0);
}

static void
move_right (CanvasBoard *board)
{
  move_by (board, STUDIO_GRID, 0);
}

static void
move_up (CanvasBoard *board)
{
  move_by (board, 0, -STUDIO_GRID);
}

static void
move_down (CanvasBoard *board)
{
  move_by (board, 0, STUDIO_GRID);
}

static void
open_menu (CanvasBoard *board)
{
  gtk_widget_activate_action (board->widget, "menu.open", NULL);
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
  { "canvas.zoom-to-fit", canvas_board_fit, NULL, { "<Control>9", "<Control>KP_9" }, NULL, NULL },
  { "canvas.zoom-to-selection", canvas_board_fit_selection, NULL, { "<Control>8", "<Control>KP_8" }, NULL, NULL },
  { "canvas.cut",
    cut,
    studio_edit_command_has_selection,
    { "<Control>x" },
    N_ ("Edit"),
    N_ ("Cut and Reconnect Neighbours") },
  { "canvas.copy",
    canvas_clipboard_copy,
    studio_edit_command_has_selection,
    { "<Control>c" },
    N_ ("Edit"),
    N_ ("Copy") },
  { "canvas.paste", paste, NULL, { "<Control>v" }, N_ ("Edit"), N_ ("Paste") },
  { "canvas.auto-layout",
    auto_layout,
    NULL,
    { "<Control><Shift>l" },
    N_ ("Arrange"),
    N_ ("Arrange the Graph or the Selection") },
  { "canvas.arrange-down", arrange_down, NULL, { NULL }, N_ ("Arrange"), N_ ("Arrange Top to Bottom") },
  { "canvas.arrange-right", arrange_right, NULL, { NULL }, N_ ("Arrange"), N_ ("Arrange Left to Right") },
  { "canvas.menu", open_menu, NULL, { "Menu", "<Shift>F10" }, N_ ("Edit"), N_ ("Open the Context Menu") },
  { "canvas.connect", connect_wire, NULL, { "<Control>l" }, N_ ("Add"), N_ ("Connect the Card to Another") },
  { "canvas.quick-add", quick_add, NULL, { "<Shift>a", "Insert", "KP_Insert" }, N_ ("Add"), N_ ("Add a Layer") },
  { "canvas.fix", fix, NULL, { "<Control>period" }, N_ ("Edit"), N_ ("Apply the Quick Fix of the Selected Card") },
  { "canvas.enter", enter, NULL, { "<Control>Down" }, N_ ("Go"), N_ ("Enter the Module") },
  { "canvas.inspect", inspect, NULL, { "Return", "KP_Enter" }, N_ ("Go"), N_ ("Go to the Parameters") },
  { "canvas.next", next, NULL, { "<Control>Right" }, N_ ("Go"), N_ ("Next Card") },
  { "canvas.previous", previous, NULL, { "<Control>Left" }, N_ ("Go"), N_ ("Previous Card") },
  { "canvas.first", first, NULL, { "Home", "KP_Home" }, N_ ("Go"), N_ ("First Card") },
  { "canvas.last", last, NULL, { "End", "KP_End" }, N_ ("Go"), N_ ("Last Card") },
  { "canvas.add-from-library", library_chooser_open, NULL, { NULL }, N_ ("Add"), N_ ("Add a Module From the Library") },
  { "canvas.save-to-library", library_chooser_save, NULL, { NULL }, N_ ("Edit"), N_ ("Save the Module to My Library") },
  { "canvas.swap", swap_chooser_open, NULL, { "<Alt>s" }, N_ ("Edit"), N_ ("Swap the Layer for Another") },
  { "canvas.add-frame",
    annotation_edit_add_frame,
    NULL,
    { "<Control>j" },
    N_ ("Add"),
    N_ ("Add a Frame Around the Selection") },
  { "canvas.add-point", waypoints_add_in_middle, NULL, { NULL }, N_ ("Add"), N_ ("Add a Reroute Point to the Wire") },
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
  CanvasBoard *board = canvas_board_of (widget);

  /* A command in the middle of a drag ends the drag without effect. */
  canvas_board_end_gesture (board);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].name, name) == 0)
      {
        commands[i].run (board);
        return;
      }
  for (guint i = 0; i < G_N_ELEMENTS (extended); i++)
    if (strcmp (extended[i].id, edit_id (name)) == 0)
      {
        extended[i].run (board);
        return;
      }
  run_edit (board, studio_edit_command_find (edit_id (name)));
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

static void
focus_node_cb (GtkWidget *widget, const char *name, GVariant *parameter)
{
  canvas_board_focus_path (canvas_board_of (widget), g_variant_get_string (parameter, NULL));
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
canvas_commands_install (GtkWidgetClass *klass)
{
  const StudioEditCommand *edit;

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    install_action (klass, commands[i].name, commands[i].keys, CANVAS_KEYS);
  for (guint i = 0; (edit = studio_edit_command_get (i)) != NULL; i++)
    install_action (klass, edit_action (edit), edit->keys, STUDIO_EDIT_COMMAND_KEYS);
  gtk_widget_class_install_action (klass, "node.focus", "s", focus_node_cb);
}

/* ---- which are possible ------------------------------------------------------ */

struct _CanvasCommands
{
  GtkWidget *widget;
  StudioDocument *document;
  GHashTable *disabled; /* names; GTK has no query for whether an action of a class is enabled */
};

CanvasCommands *
canvas_commands_new (GtkWidget *widget, StudioDocument *document)
{
  CanvasCommands *self = g_new0 (CanvasCommands, 1);

  self->widget = widget;
  self->document = document;
  self->disabled = g_hash_table_new (g_str_hash, g_str_equal);
  return self;
}

void
canvas_commands_free (CanvasCommands *self)
{
  g_hash_table_unref (self->disabled);
  g_free (self);
}

gboolean
canvas_commands_can (const CanvasCommands *self, const char *name)
{
  return !g_hash_table_contains (self->disabled, name);
}

static void
enable (CanvasCommands *self, const char *name, gboolean enabled)
{
  if (enabled == canvas_commands_can (self, name))
    return;
  if (enabled)
    g_hash_table_remove (self->disabled, name);
  else
    g_hash_table_add (self->disabled, (gpointer)name);
  gtk_widget_action_set_enabled (self->widget, name, enabled);
}

void
canvas_commands_update (CanvasCommands *self)
{
  const StudioEditCommand *edit;

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (commands[i].is_possible != NULL)
      enable (self, commands[i].name, commands[i].is_possible (self->document));
  for (guint i = 0; (edit = studio_edit_command_get (i)) != NULL; i++)
    enable (self, edit_action (edit), studio_edit_command_is_possible (edit, self->document));
}
