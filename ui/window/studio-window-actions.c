/* Every command of the window, by name: menu, key, button and test run the same code. */
#include <math.h>

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
find_cb (StudioWindow *self, GVariant *parameter)
{
  if (self->presenting)
    studio_window_set_presenting (self, FALSE);
  studio_panes_show_page (self->panes, "outline");
  studio_outline_focus_search (self->outline);
}

static void
watch_cb (StudioWindow *self, GVariant *parameter)
{
  g_autofree char *path = studio_window_dup_selected_path (self);
  if (path != NULL)
    studio_pins_toggle (self->pins, path);
  else
    studio_window_toast (self, "Select one layer first: its output is what will be watched.");
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
arrange_cb (StudioWindow *self, GVariant *parameter)
{
  studio_document_auto_layout (self->document);
  studio_canvas_zoom_to_fit (self->canvas);
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
PLAIN (ask_learning_rate)
PLAIN (dump_geometry)
#undef PLAIN

static const struct
{
  const char *name;
  const char *parameter;
  void (*run) (StudioWindow *self, GVariant *parameter);
} commands[] = {
  { "new", NULL, new_cb },
  { "open", NULL, open_cb },
  { "open-recent", "s", open_recent_cb },
  { "example", "s", example_cb },
  { "start-empty", NULL, start_empty_cb },
  { "save", NULL, save_cb },
  { "save-as", NULL, save_as_cb },
  { "export-map", NULL, export_map_cb },
  { "export-chart", "s", export_chart_cb },
  { "recover", NULL, recover_cb },
  { "discard-recovery", NULL, discard_recovery_cb },
  { "reload", NULL, reload_cb },
  { "dismiss-disk", NULL, dismiss_disk_cb },
  { "undo", NULL, undo_cb },
  { "redo", NULL, redo_cb },
  { "train", NULL, train_cb },
  { "step", NULL, step_cb },
  { "stop", NULL, stop_cb },
  { "restart", NULL, restart_cb },
  { "continue", NULL, continue_cb },
  { "continue-slower", NULL, continue_slower_cb },
  { "show-run", NULL, show_run_cb },
  { "device", "s", device_cb },
  { "learning-rate", NULL, ask_learning_rate_cb },
  { "watch", NULL, watch_cb },
  { "find", NULL, find_cb },
  { "arrange", NULL, arrange_cb },
  { "show-faults", NULL, show_faults_cb },
  { "reveal", "s", reveal_cb },
  { "next-pane", NULL, next_pane_cb },
  { "previous-pane", NULL, previous_pane_cb },
  { "present", NULL, present_cb },
  { "zoom-to-fit", NULL, zoom_to_fit_cb },
  { "zoom-normal", NULL, zoom_normal_cb },
  { "zoom-in", NULL, zoom_in_cb },
  { "zoom-out", NULL, zoom_out_cb },
  { "dump-geometry", NULL, dump_geometry_cb },
};

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
}
