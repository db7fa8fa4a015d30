/* Every command of a page, by name: menu, key, button and test run the same code. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/window/studio-page-private.h"

static void
start_empty_cb (StudioPage *self, GVariant *parameter)
{
  self->start_empty = TRUE;
  studio_page_update_layout (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
undo_cb (StudioPage *self, GVariant *parameter)
{
  studio_document_undo (self->document);
}

static void
redo_cb (StudioPage *self, GVariant *parameter)
{
  studio_document_redo (self->document);
}

static void
continue_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_continue (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
continue_slower_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_continue_slower (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->canvas));
}

static void
stop_cb (StudioPage *self, GVariant *parameter)
{
  studio_run_stop (self->run);
}

static void
write_lesson_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_write_lesson (self);
}

static void
find_cb (StudioPage *self, GVariant *parameter)
{
  if (self->presenting)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.present", NULL);
  studio_panes_show_page (self->panes, "outline");
  studio_outline_focus_search (self->outline);
}

static void
watch (StudioPage *self, gboolean gradient)
{
  g_autofree char *path = studio_page_dup_selected_path (self);
  if (path != NULL)
    studio_pins_toggle (self->pins, path, gradient);
  else
    studio_page_toast (self, _ ("Select one layer first: its output is what will be watched."));
}

static void
watch_cb (StudioPage *self, GVariant *parameter)
{
  watch (self, FALSE);
}

static void
watch_gradient_cb (StudioPage *self, GVariant *parameter)
{
  watch (self, TRUE);
}

static void
insert_example_of_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_insert_example_of (self, g_variant_get_string (parameter, NULL));
}

static void
reveal_cb (StudioPage *self, GVariant *parameter)
{
  studio_canvas_focus_path (self->canvas, g_variant_get_string (parameter, NULL));
}

static void
device_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_set_device (self, g_variant_get_string (parameter, NULL));
}

static void
export_chart_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_export_chart (self, g_variant_get_string (parameter, NULL));
}

static gboolean
visible_pane (StudioPage *self, int i, GtkWidget **pane)
{
  GtkWidget *const panes[] = { studio_panes_get_pane (self->panes, STUDIO_PANE_START), GTK_WIDGET (self->canvas),
                               studio_panes_get_pane (self->panes, STUDIO_PANE_END), GTK_WIDGET (self->run_panel) };
  *pane = panes[i];
  return gtk_widget_get_mapped (*pane);
}

static void
move_pane (StudioPage *self, int by)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL, *pane;
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
next_pane_cb (StudioPage *self, GVariant *parameter)
{
  move_pane (self, 1);
}

static void
previous_pane_cb (StudioPage *self, GVariant *parameter)
{
  move_pane (self, -1);
}

/* Commands of the canvas that work wherever the focus is: named here, done there. */
static void
canvas_cb (StudioPage *self, const char *name)
{
  gtk_widget_activate_action (GTK_WIDGET (self->canvas), name, NULL);
}

static void
zoom_to_fit_cb (StudioPage *self, GVariant *parameter)
{
  studio_canvas_zoom_to_fit (self->canvas);
}

static void
zoom_in_cb (StudioPage *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-in");
}

static void
zoom_out_cb (StudioPage *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-out");
}

static void
zoom_normal_cb (StudioPage *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-normal");
}

static void
zoom_to_selection_cb (StudioPage *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.zoom-to-selection");
}

static void
arrange_cb (StudioPage *self, GVariant *parameter)
{
  canvas_cb (self, "canvas.auto-layout");
}

/* Menus are not in the canvas, and reach its commands through the window. */
static void
canvas_action_cb (StudioPage *self, GVariant *parameter)
{
  canvas_cb (self, g_variant_get_string (parameter, NULL));
}

static void
next_slide_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_walk_slides (self, 1);
}

static void
previous_slide_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_walk_slides (self, -1);
}

#define PLAIN(function)                                                                                                \
  static void function##_cb (StudioPage *self, GVariant *parameter)                                                    \
  {                                                                                                                    \
    studio_page_##function (self);                                                                                     \
  }
PLAIN (show_documentation)
PLAIN (save)
PLAIN (save_as)
PLAIN (train)
PLAIN (step)
PLAIN (restart)
PLAIN (show_run)
PLAIN (export_map)
PLAIN (reload)
PLAIN (dismiss_disk)
PLAIN (show_faults)
PLAIN (toggle_history)
PLAIN (compare)
PLAIN (compare_saved)
PLAIN (compare_run)
PLAIN (end_comparison)
PLAIN (toggle_task)
PLAIN (export_task)
PLAIN (ask_learning_rate)
PLAIN (add_slide)
PLAIN (show_slides)
PLAIN (toggle_spotlight)
PLAIN (toggle_pen)
PLAIN (toggle_eraser)
PLAIN (clear_drawing)
#undef PLAIN

/* One row a command: what runs it, and how lists of actions, menus and the window of shortcuts show it. What has no
 * title is not offered by itself: it wants a parameter, or is for tests. */
static const struct
{
  const char *name;
  const char *parameter;
  void (*run) (StudioPage *self, GVariant *parameter);
  const char *group, *title;
  const char *keys[STUDIO_COMMAND_KEYS];
  const char *words; /* what else somebody may call it */
} commands[] = {
  { "start-empty", NULL, start_empty_cb, N_ ("File"), N_ ("Begin with an empty graph"), { NULL }, NULL },
  { "save", NULL, save_cb, N_ ("File"), N_ ("_Save"), { "<Control>s" }, "write file" },
  { "save-as", NULL, save_as_cb, N_ ("File"), N_ ("Save _as…"), { "<Control><Shift>s" }, "write file copy" },
  { "export-map",
    NULL,
    export_map_cb,
    N_ ("File"),
    N_ ("Save the pinned _map as SVG"),
    { "<Control><Shift>e" },
    "export picture heat attention" },
  { "export-task",
    NULL,
    export_task_cb,
    N_ ("File"),
    N_ ("Save the picture of the task as SVG"),
    { NULL },
    "export picture points surface line images" },
  { "export-chart", "s", export_chart_cb, NULL, NULL, { NULL }, NULL },
  { "reload", NULL, reload_cb, N_ ("File"), N_ ("Reload the file"), { NULL }, "disk revert" },
  { "dismiss-disk", NULL, dismiss_disk_cb, N_ ("File"), N_ ("Dismiss the notice about the file"), { NULL }, "disk" },
  { "undo", NULL, undo_cb, N_ ("Edit"), N_ ("_Undo"), { "<Control>z" }, "back revert" },
  { "redo", NULL, redo_cb, N_ ("Edit"), N_ ("_Redo"), { "<Control><Shift>z", "<Control>y" }, "again forward" },
  { "history",
    NULL,
    toggle_history_cb,
    N_ ("View"),
    N_ ("_History of the graph"),
    { "<Control><Shift>h" },
    "undo redo steps versions back jump" },
  { "compare",
    NULL,
    compare_cb,
    "View",
    N_ ("_Compare with…"),
    { "<Control><Shift>d" },
    "diff difference changes versions" },
  { "compare-saved",
    NULL,
    compare_saved_cb,
    "View",
    N_ ("Compare with what was saved"),
    { NULL },
    "diff difference changes" },
  { "compare-run",
    NULL,
    compare_run_cb,
    "View",
    N_ ("Compare with what is trained"),
    { NULL },
    "diff run version changes" },
  { "end-comparison", NULL, end_comparison_cb, "View", N_ ("End the comparison"), { NULL }, "diff close" },
  { "task",
    NULL,
    toggle_task_cb,
    N_ ("View"),
    N_ ("_Picture of the task"),
    { "<Control><Shift>i" },
    "points surface line images predictions data decision" },
  { "train",
    NULL,
    train_cb,
    N_ ("Training"),
    N_ ("_Train, pause or go on"),
    { "<Control>Return", "<Control>KP_Enter" },
    "run start fit learn resume" },
  { "step", NULL, step_cb, N_ ("Training"), N_ ("Train one _batch"), { "<Control><Shift>Return" }, "step single" },
  { "stop",
    NULL,
    stop_cb,
    N_ ("Training"),
    N_ ("S_top training"),
    { "<Control><Shift>period", "<Control>greater" },
    "end cancel" },
  { "restart", NULL, restart_cb, N_ ("Training"), N_ ("_Restart training"), { NULL }, "begin again" },
  { "continue", NULL, continue_cb, N_ ("Training"), N_ ("_Continue training"), { NULL }, "checkpoint resume" },
  { "continue-slower",
    NULL,
    continue_slower_cb,
    N_ ("Training"),
    N_ ("Continue at a tenth of the learning rate"),
    { NULL },
    "checkpoint resume slower" },
  { "show-run", NULL, show_run_cb, N_ ("Training"), N_ ("Show the graph as it is trained"), { NULL }, "run version" },
  { "device", "s", device_cb, NULL, NULL, { NULL }, NULL },
  { "learning-rate",
    NULL,
    ask_learning_rate_cb,
    N_ ("Training"),
    N_ ("Change the learning rate"),
    { "<Control><Shift>r" },
    "lr hyper" },
  { "watch",
    NULL,
    watch_cb,
    N_ ("Training"),
    N_ ("_Watch the selected layer"),
    { "<Control><Shift>w" },
    "pin output map show" },
  { "watch-gradient",
    NULL,
    watch_gradient_cb,
    N_ ("Training"),
    N_ ("Watch the _gradient of the selected layer"),
    { "<Control><Alt>w" },
    "pin backward derivative" },
  { "documentation",
    NULL,
    show_documentation_cb,
    N_ ("Go"),
    N_ ("_Documentation of the layer"),
    { "<Shift>F1" },
    "help formula" },
  { "insert-example-of", "s", insert_example_of_cb, NULL, NULL, { NULL }, NULL },
  { "show-slides", NULL, show_slides_cb, N_ ("View"), N_ ("Show the _views of a lecture"), { NULL }, "slides path" },
  { "add-slide", NULL, add_slide_cb, N_ ("View"), N_ ("_Add a view of what is seen"), { NULL }, "slide lecture path" },
  { "next-slide", NULL, next_slide_cb, N_ ("View"), N_ ("Next view of the lecture"), { NULL }, "slide page down" },
  { "previous-slide",
    NULL,
    previous_slide_cb,
    N_ ("View"),
    N_ ("Previous view of the lecture"),
    { NULL },
    "slide page up" },
  { "spotlight",
    NULL,
    toggle_spotlight_cb,
    N_ ("View"),
    N_ ("The pointer as a _spotlight"),
    { NULL },
    "light dim lecture" },
  { "pen", NULL, toggle_pen_cb, N_ ("View"), N_ ("_Draw over the canvas"), { NULL }, "pen ink stylus annotate" },
  { "eraser", NULL, toggle_eraser_cb, N_ ("View"), N_ ("_Erase what was drawn"), { NULL }, "rubber pen" },
  { "clear-drawing", NULL, clear_drawing_cb, N_ ("View"), N_ ("_Clear what was drawn"), { NULL }, "pen ink wipe" },
  { "write-lesson", NULL, write_lesson_cb, N_ ("Edit"), N_ ("_Write a lesson"), { NULL }, "teach page goal markdown" },
  { "find", NULL, find_cb, N_ ("Edit"), N_ ("_Find a layer"), { "<Control>f" }, "search outline" },
  { "arrange", NULL, arrange_cb, NULL, NULL, { NULL }, NULL },
  { "show-faults", NULL, show_faults_cb, N_ ("Go"), N_ ("List all faults"), { NULL }, "errors problems hints" },
  { "reveal", "s", reveal_cb, NULL, NULL, { NULL }, NULL },
  { "next-pane", NULL, next_pane_cb, N_ ("Go"), N_ ("Next pane"), { "F6" }, "focus" },
  { "previous-pane", NULL, previous_pane_cb, N_ ("Go"), N_ ("Previous pane"), { "<Shift>F6" }, "focus" },
  { "zoom-to-fit",
    NULL,
    zoom_to_fit_cb,
    N_ ("View"),
    N_ ("Zoom to _fit"),
    { "<Control>9" },
    "everything all view frame" },
  { "zoom-to-selection",
    NULL,
    zoom_to_selection_cb,
    N_ ("View"),
    N_ ("Zoom to the _selection"),
    { "<Control>8" },
    "frame selected fit" },
  { "zoom-normal", NULL, zoom_normal_cb, N_ ("View"), N_ ("Zoom to _100 %"), { "<Control>0" }, "normal actual size" },
  { "zoom-in", NULL, zoom_in_cb, N_ ("View"), N_ ("Zoom _in"), { "<Control>plus", "<Control>equal" }, "larger" },
  { "zoom-out", NULL, zoom_out_cb, N_ ("View"), N_ ("Zoom _out"), { "<Control>minus" }, "smaller" },
  { "canvas", "s", canvas_action_cb, NULL, NULL, { NULL }, NULL },
};

guint
studio_page_n_commands (void)
{
  return G_N_ELEMENTS (commands);
}

StudioCommand
studio_page_get_command (guint i)
{
  return studio_command_new (commands[i].name, commands[i].group, commands[i].title, commands[i].words,
                             commands[i].keys);
}

static void
activate_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  StudioPage *self = data;
  const char *name = g_action_get_name (G_ACTION (action));
  /* Typed text counts: a key presses no button, and leaves the field where the focus is. */
  if (!g_str_equal (name, "dump-geometry"))
    studio_inspector_settle (self->inspector);
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
  studio_page_set_speed (data, speed);
}

static void
install_speed (StudioPage *self)
{
  const GActionEntry entry = { .name = "speed", .parameter_type = "s", .state = "'watch'", .change_state = speed_cb };
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &entry, 1, self);
  g_action_group_change_action_state (G_ACTION_GROUP (self->actions), "speed",
                                      g_variant_new_string (studio_page_get_speed ()));
}

void
studio_page_install_actions (StudioPage *self)
{
  self->actions = g_simple_action_group_new ();
  install_speed (self);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      const GActionEntry entry
          = { .name = commands[i].name, .activate = activate_cb, .parameter_type = commands[i].parameter };
      g_action_map_add_action_entries (G_ACTION_MAP (self->actions), &entry, 1, self);
    }
}

/* A window may hold an action for longer than there is a page. */
void
studio_page_dispose_actions (StudioPage *self)
{
  g_auto (GStrv) names = self->actions != NULL ? g_action_group_list_actions (G_ACTION_GROUP (self->actions)) : NULL;
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    g_signal_handlers_disconnect_by_data (g_action_map_lookup_action (G_ACTION_MAP (self->actions), names[i]), self);
  g_clear_object (&self->actions);
}

GActionGroup *
studio_page_get_actions (StudioPage *self)
{
  return G_ACTION_GROUP (self->actions);
}

GSimpleAction *
studio_page_get_action (StudioPage *self, const char *name)
{
  return G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self->actions), name));
}

static void
enable (StudioPage *self, const char *name, gboolean enabled)
{
  g_simple_action_set_enabled (studio_page_get_action (self, name), enabled);
}

void
studio_page_update_actions (StudioPage *self)
{
  enable (self, "undo", studio_document_undo_name (self->document) != NULL);
  enable (self, "redo", studio_document_redo_name (self->document) != NULL);
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
  enable (self, "compare-run", state != STUDIO_RUN_IDLE);
  enable (self, "compare-saved", studio_document_get_path (self->document) != NULL);
  enable (self, "end-comparison", studio_page_is_comparing (self));
  enable (self, "zoom-to-selection", studio_document_n_selected (self->document) > 0);
  enable (self, "start-empty", empty && !self->start_empty);
  /* Escape puts the pen away while one presents: elsewhere it would lie over the cards for good. */
  enable (self, "spotlight", self->presenting);
  enable (self, "pen", self->presenting);
  enable (self, "eraser", self->presenting);
  enable (self, "clear-drawing", self->presenting);
  gboolean on_disk = gtk_revealer_get_reveal_child (GTK_REVEALER (self->disk_bar));
  enable (self, "reload", on_disk);
  enable (self, "dismiss-disk", on_disk);
  studio_page_changed (self);
}
