/* Every command of the window, by name: menu, key, button and test run the same code. */
#include <math.h>
#include <string.h>

#include "ui/window/studio-help.h"
#include "ui/window/studio-window-private.h"

static void
new_then (StudioWindow *self, gpointer data)
{
  studio_window_new_file (self);
}

static void
example_then (StudioWindow *self, gpointer data)
{
  studio_window_open_example (self, data);
}

static void
new_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_guard (self, FALSE, new_then, NULL, NULL);
}

static void
open_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_choose_file (self);
}

static void
open_recent_cb (StudioWindow *self, GVariant *parameter)
{
  g_autoptr (GFile) file = g_file_new_for_uri (g_variant_get_string (parameter, NULL));
  studio_window_open_asking (self, file);
}

static void
example_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_guard (self, FALSE, example_then, g_variant_dup_string (parameter, NULL), g_free);
}

static void
start_empty_cb (StudioWindow *self, GVariant *parameter)
{
  self->start_empty = TRUE;
  studio_window_update_layout (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
undo_cb (StudioWindow *self, GVariant *parameter)
{
  studio_document_undo (self->document);
}

static void
redo_cb (StudioWindow *self, GVariant *parameter)
{
  studio_document_redo (self->document);
}

static void
continue_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_continue (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
continue_slower_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_continue_slower (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
stop_cb (StudioWindow *self, GVariant *parameter)
{
  studio_run_stop (self->run);
}

static void
write_lesson_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_write_lesson (self);
}

static void
find_cb (StudioWindow *self, GVariant *parameter)
{
  if (self->presenting)
    studio_window_set_presenting (self, FALSE);
  studio_panes_show_page (self->panes, "outline");
  studio_outline_focus_search (self->outline);
}

static void
watch (StudioWindow *self, gboolean gradient)
{
  g_autofree char *path = studio_window_dup_selected_path (self);
  if (path != NULL)
    studio_pins_toggle (self->pins, path, gradient);
  else
    studio_window_toast (self, "Select one layer first: its output is what will be watched.");
}

static void
watch_cb (StudioWindow *self, GVariant *parameter)
{
  watch (self, FALSE);
}

static void
watch_gradient_cb (StudioWindow *self, GVariant *parameter)
{
  watch (self, TRUE);
}

static void
documentation_cb (StudioWindow *self, GVariant *parameter)
{
  if (!studio_inspector_show_documentation (self->inspector))
    studio_window_toast (self, "Select one layer first: its documentation stands among its parameters.");
}

static void
present_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_set_presenting (self, !self->presenting);
}

static void
reveal_cb (StudioWindow *self, GVariant *parameter)
{
  studio_canvas_focus_path (self->canvas, g_variant_get_string (parameter, NULL));
}

static void
device_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_set_device (self, g_variant_get_string (parameter, NULL));
}

static void
export_chart_cb (StudioWindow *self, GVariant *parameter)
{
  studio_window_export_chart (self, g_variant_get_string (parameter, NULL));
}

static gboolean
visible_pane (StudioWindow *self, int i, GtkWidget **pane)
{
  GtkWidget *const panes[] = { studio_panes_get_pane (self->panes, STUDIO_PANE_START), GTK_WIDGET (self->canvas),
                               studio_panes_get_pane (self->panes, STUDIO_PANE_END), GTK_WIDGET (self->run_panel) };
  *pane = panes[i];
  return gtk_widget_get_mapped (*pane);
}

static void
move_pane (StudioWindow *self, int by)
{
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (self)), *pane;
  int at = 1;
  for (int i = 0; i < 4; i++)
    if (visible_pane (self, i, &pane) && focus != NULL && (focus == pane || gtk_widget_is_ancestor (focus, pane)))
      at = i;
  for (int k = 1; k <= 4; k++)
    {
      int i = ((at + by * k) % 4 + 4) % 4;
      if (!visible_pane (self, i, &pane))
        continue;
      if (pane == studio_panes_get_pane (self->panes, STUDIO_PANE_END)
          && g_strcmp0 (studio_panes_get_page (self->panes, STUDIO_PANE_END), "inspector") == 0
          && studio_document_n_selected (self->document) > 0)
        studio_inspector_focus (self->inspector);
      else if (!gtk_widget_child_focus (pane, GTK_DIR_TAB_FORWARD))
        continue;
      return;
    }
}

static void
next_pane_cb (StudioWindow *self, GVariant *parameter)
{
  move_pane (self, 1);
}

static void
previous_pane_cb (StudioWindow *self, GVariant *parameter)
{
  move_pane (self, -1);
}

/* Commands of the canvas that work wherever the focus is: named here, done there. */
static void
canvas_cb (StudioWindow *self, const char *name)
{
  gtk_widget_activate_action (GTK_WIDGET (self->canvas), name, NULL);
}

static void
zoom_to_fit_cb (StudioWindow *self, GVariant *parameter)
{
  studio_canvas_zoom_to_fit (self->canvas);
}

static void
zoom_in_cb (StudioWindow *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-in");
}

static void
zoom_out_cb (StudioWindow *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-out");
}

static void
zoom_normal_cb (StudioWindow *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-normal");
}

static void
zoom_to_selection_cb (StudioWindow *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-to-selection");
}

static void
arrange_cb (StudioWindow *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.auto-layout");
}

/* Menus are not in the canvas, and reach its commands through the window. */
static void
canvas_action_cb (StudioWindow *self, GVariant *parameter)
{
  canvas_cb (self, g_variant_get_string (parameter, NULL));
}

static void
help_cb (StudioWindow *self, GVariant *parameter)
{
  studio_help_present (GTK_WINDOW (self), &self->help, NULL);
}

static void
keys_cb (StudioWindow *self, GVariant *parameter)
{
  studio_help_present (GTK_WINDOW (self), &self->help, STUDIO_HELP_KEYS);
}

static void
show_actions_cb (StudioWindow *self, GVariant *parameter)
{
  studio_action_list_open (self->action_list);
}

#define PLAIN(function)                                                                                                \
  static void function##_cb (StudioWindow *self, GVariant *parameter)                                                  \
  {                                                                                                                    \
    studio_window_##function (self);                                                                                   \
  }
PLAIN (save)
PLAIN (save_as)
PLAIN (train)
PLAIN (step)
PLAIN (restart)
PLAIN (show_run)
PLAIN (export_map)
PLAIN (recover)
PLAIN (reload)
PLAIN (dismiss_disk)
PLAIN (discard_recovery)
PLAIN (show_faults)
PLAIN (toggle_history)
PLAIN (ask_learning_rate)
PLAIN (dump_geometry)
#undef PLAIN

/* One row a command: what runs it, and how lists of actions, menus and the window of shortcuts show it. What has no
 * title is not offered by itself: it wants a parameter, or is for tests. */
static const struct
{
  const char *name;
  const char *parameter;
  void (*run) (StudioWindow *self, GVariant *parameter);
  const char *group, *title;
  const char *keys[STUDIO_COMMAND_KEYS];
  const char *words; /* what else somebody may call it */
} commands[] = {
  { "new", NULL, new_cb, "File", "_New graph", { "<Control>n" }, "create empty" },
  { "open", NULL, open_cb, "File", "_Open a graph", { "<Control>o" }, "load file" },
  { "open-recent", "s", open_recent_cb, NULL, NULL, { NULL }, NULL },
  { "example", "s", example_cb, NULL, NULL, { NULL }, NULL },
  { "start-empty", NULL, start_empty_cb, "File", "Begin with an empty graph", { NULL }, NULL },
  { "save", NULL, save_cb, "File", "_Save", { "<Control>s" }, "write file" },
  { "save-as", NULL, save_as_cb, "File", "Save _as…", { "<Control><Shift>s" }, "write file copy" },
  { "export-map",
    NULL,
    export_map_cb,
    "File",
    "Save the pinned _map as SVG",
    { "<Control><Shift>e" },
    "export picture heat attention" },
  { "export-chart", "s", export_chart_cb, NULL, NULL, { NULL }, NULL },
  { "recover", NULL, recover_cb, "File", "Recover what was not saved", { NULL }, "crash journal" },
  { "discard-recovery", NULL, discard_recovery_cb, "File", "Discard what was not saved", { NULL }, "crash journal" },
  { "reload", NULL, reload_cb, "File", "Reload the file", { NULL }, "disk revert" },
  { "dismiss-disk", NULL, dismiss_disk_cb, "File", "Dismiss the notice about the file", { NULL }, "disk" },
  { "undo", NULL, undo_cb, "Edit", "_Undo", { "<Control>z" }, "back revert" },
  { "redo", NULL, redo_cb, "Edit", "_Redo", { "<Control><Shift>z", "<Control>y" }, "again forward" },
  { "history",
    NULL,
    toggle_history_cb,
    "View",
    "_History of the graph",
    { "<Control><Shift>h" },
    "undo redo steps versions back jump" },
  { "train",
    NULL,
    train_cb,
    "Training",
    "_Train, pause or go on",
    { "<Control>Return", "<Control>KP_Enter" },
    "run start fit learn resume" },
  { "step", NULL, step_cb, "Training", "Train one _batch", { "<Control><Shift>Return" }, "step single" },
  { "stop",
    NULL,
    stop_cb,
    "Training",
    "S_top training",
    { "<Control><Shift>period", "<Control>greater" },
    "end cancel" },
  { "restart", NULL, restart_cb, "Training", "_Restart training", { NULL }, "begin again" },
  { "continue", NULL, continue_cb, "Training", "_Continue training", { NULL }, "checkpoint resume" },
  { "continue-slower",
    NULL,
    continue_slower_cb,
    "Training",
    "Continue at a tenth of the learning rate",
    { NULL },
    "checkpoint resume slower" },
  { "show-run", NULL, show_run_cb, "Training", "Show the graph as it is trained", { NULL }, "run version" },
  { "device", "s", device_cb, NULL, NULL, { NULL }, NULL },
  { "learning-rate",
    NULL,
    ask_learning_rate_cb,
    "Training",
    "Change the learning rate",
    { "<Control><Shift>r" },
    "lr hyper" },
  { "watch", NULL, watch_cb, "Training", "_Watch the selected layer", { "<Control><Shift>w" }, "pin output map show" },
  { "watch-gradient",
    NULL,
    watch_gradient_cb,
    "Training",
    "Watch the _gradient of the selected layer",
    { "<Control><Alt>w" },
    "pin backward derivative" },
  { "documentation", NULL, documentation_cb, "Go", "_Documentation of the layer", { "<Shift>F1" }, "help formula" },
  { "write-lesson", NULL, write_lesson_cb, "Edit", "_Write a lesson", { NULL }, "teach page goal markdown" },
  { "find", NULL, find_cb, "Edit", "_Find a layer", { "<Control>f" }, "search outline" },
  { "arrange", NULL, arrange_cb, NULL, NULL, { NULL }, NULL },
  { "show-faults", NULL, show_faults_cb, "Go", "List all faults", { NULL }, "errors problems hints" },
  { "reveal", "s", reveal_cb, NULL, NULL, { NULL }, NULL },
  { "next-pane", NULL, next_pane_cb, "Go", "Next pane", { "F6" }, "focus" },
  { "previous-pane", NULL, previous_pane_cb, "Go", "Previous pane", { "<Shift>F6" }, "focus" },
  { "present", NULL, present_cb, "View", "_Present", { "F11" }, "presentation fullscreen projector lecture" },
  { "zoom-to-fit", NULL, zoom_to_fit_cb, "View", "Zoom to _fit", { "<Control>9" }, "everything all view frame" },
  { "zoom-to-selection",
    NULL,
    zoom_to_selection_cb,
    "View",
    "Zoom to the _selection",
    { "<Control>8" },
    "frame selected fit" },
  { "zoom-normal", NULL, zoom_normal_cb, "View", "Zoom to _100 %", { "<Control>0" }, "normal actual size" },
  { "zoom-in", NULL, zoom_in_cb, "View", "Zoom _in", { "<Control>plus", "<Control>equal" }, "larger" },
  { "zoom-out", NULL, zoom_out_cb, "View", "Zoom _out", { "<Control>minus" }, "smaller" },
  { "actions", NULL, show_actions_cb, "Help", "_All actions", { "<Control><Shift>p" }, "palette commands search" },
  { "help", NULL, help_cb, "Help", "_Help", { "F1" }, "manual documentation guide" },
  { "keys", NULL, keys_cb, "Help", "_Keyboard shortcuts", { "<Control>question" }, "keys" },
  { "canvas", "s", canvas_action_cb, NULL, NULL, { NULL }, NULL },
  { "dump-geometry", NULL, dump_geometry_cb, NULL, NULL, { "<Control><Alt><Shift>d" }, NULL },
};

guint
studio_window_n_commands (void)
{
  return G_N_ELEMENTS (commands);
}

StudioCommand
studio_window_get_command (guint i)
{
  StudioCommand command = { .group = commands[i].group, .title = commands[i].title, .words = commands[i].words };
  g_autofree char *action = g_strconcat ("win.", commands[i].name, NULL);
  command.action = g_intern_string (action);
  memcpy (command.keys, commands[i].keys, sizeof command.keys);
  return command;
}

static void
activate_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  StudioWindow *self = data;
  const char *name = g_action_get_name (G_ACTION (action));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (commands[i].name, name))
      commands[i].run (self, parameter);
}

static void
speed_cb (GSimpleAction *action, GVariant *state, gpointer data)
{
  const char *speed = g_variant_get_string (state, NULL);
  if (!g_str_equal (speed, "watch") && !g_str_equal (speed, "full"))
    return;
  g_simple_action_set_state (action, state);
  studio_window_set_speed (data, speed);
}

static void
install_speed (StudioWindow *self)
{
  const GActionEntry entry = { .name = "speed", .parameter_type = "s", .state = "'watch'", .change_state = speed_cb };
  g_action_map_add_action_entries (G_ACTION_MAP (self), &entry, 1, self);
  g_action_group_change_action_state (G_ACTION_GROUP (self), "speed",
                                      g_variant_new_string (studio_window_get_speed ()));
}

void
studio_window_install_actions (StudioWindow *self)
{
  install_speed (self);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      const GActionEntry entry
          = { .name = commands[i].name, .activate = activate_cb, .parameter_type = commands[i].parameter };
      g_action_map_add_action_entries (G_ACTION_MAP (self), &entry, 1, self);
    }
}

static void
enable (StudioWindow *self, const char *name, gboolean enabled)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), name);
  g_simple_action_set_enabled (G_SIMPLE_ACTION (action), enabled);
}

void
studio_window_update_actions (StudioWindow *self)
{
  const char *undo = studio_document_undo_name (self->document), *redo = studio_document_redo_name (self->document);
  enable (self, "undo", undo != NULL);
  enable (self, "redo", redo != NULL);
  g_autofree char *undo_text
      = undo != NULL ? g_strdup_printf ("Undo “%s” (Ctrl+Z)", undo) : g_strdup ("Nothing to undo");
  g_autofree char *redo_text
      = redo != NULL ? g_strdup_printf ("Redo “%s” (Ctrl+Shift+Z)", redo) : g_strdup ("Nothing to redo");
  gtk_widget_set_tooltip_text (self->undo_button, undo_text);
  gtk_widget_set_tooltip_text (self->redo_button, redo_text);
  gboolean empty = studio_document_is_empty (self->document);
  gboolean live = studio_run_is_live (self->run);
  enable (self, "train", !empty || live);
  enable (self, "step", !empty || live);
  enable (self, "stop", live);
  enable (self, "restart", !empty && studio_run_get_state (self->run) != STUDIO_RUN_IDLE);
  StudioRunState state = studio_run_get_state (self->run);
  gboolean ended = state == STUDIO_RUN_LOST || state == STUDIO_RUN_FAILED || state == STUDIO_RUN_STOPPED;
  enable (self, "continue", ended);
  enable (self, "continue-slower", ended && isfinite (studio_run_get_base_lr (self->run)));
  enable (self, "show-run", state != STUDIO_RUN_IDLE);
  enable (self, "zoom-to-selection", studio_document_n_selected (self->document) > 0);
  enable (self, "start-empty", empty && !self->start_empty);
  gboolean recoverable = gtk_revealer_get_reveal_child (GTK_REVEALER (self->recover_bar));
  enable (self, "recover", recoverable);
  enable (self, "discard-recovery", recoverable);
  gboolean on_disk = gtk_revealer_get_reveal_child (GTK_REVEALER (self->disk_bar));
  enable (self, "reload", on_disk);
  enable (self, "dismiss-disk", on_disk);
}
