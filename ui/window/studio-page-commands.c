/* The table of a page's commands: what each does, and how menus, keys and lists of actions show it. */
#include <glib/gi18n.h>

#include "ui/training/studio-training-settings.h"
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
    studio_page_toast (self, _ ("Select a layer first to watch its output."));
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
use_batch_cb (StudioPage *self, GVariant *parameter)
{
  studio_training_set (self->document, "batch_size", g_variant_get_string (parameter, NULL));
  studio_page_restart (self);
}

static void
export_chart_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_export_chart (self, g_variant_get_string (parameter, NULL));
}

static void
next_pane_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_move_pane (self, 1);
}

static void
previous_pane_cb (StudioPage *self, GVariant *parameter)
{
  studio_page_move_pane (self, -1);
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
PLAIN (show_timeline)
PLAIN (show_parameters)
PLAIN (show_memory)
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

/* One row a command. */
static const StudioPageCommand commands[] = {
  { "start-empty", NULL, start_empty_cb, N_ ("File"), N_ ("Start With an Empty Graph"), { NULL }, NULL },
  { "save", NULL, save_cb, N_ ("File"), N_ ("_Save"), { "<Control>s" }, "write file" },
  { "save-as", NULL, save_as_cb, N_ ("File"), N_ ("Save _As…"), { "<Control><Shift>s" }, "write file copy" },
  { "export-map",
    NULL,
    export_map_cb,
    N_ ("File"),
    N_ ("Save the Pinned _Map as SVG"),
    { "<Control><Shift>e" },
    "export picture heat attention" },
  { "export-task",
    NULL,
    export_task_cb,
    N_ ("File"),
    N_ ("Save the Picture of the Task as SVG"),
    { NULL },
    "export picture points surface line images" },
  { "export-chart", "s", export_chart_cb, NULL, NULL, { NULL }, NULL },
  { "reload", NULL, reload_cb, N_ ("File"), N_ ("Reload the File"), { NULL }, "disk revert" },
  { "dismiss-disk", NULL, dismiss_disk_cb, N_ ("File"), N_ ("Dismiss the Notice About the File"), { NULL }, "disk" },
  { "undo", NULL, undo_cb, N_ ("Edit"), N_ ("_Undo"), { "<Control>z" }, "back revert" },
  { "redo", NULL, redo_cb, N_ ("Edit"), N_ ("_Redo"), { "<Control><Shift>z", "<Control>y" }, "again forward" },
  { "history",
    NULL,
    toggle_history_cb,
    N_ ("View"),
    N_ ("_History of the Graph"),
    { "<Control><Shift>h" },
    "undo redo steps versions back jump" },
  { "compare",
    NULL,
    compare_cb,
    "View",
    N_ ("_Compare With…"),
    { "<Control><Shift>d" },
    "diff difference changes versions" },
  { "compare-saved",
    NULL,
    compare_saved_cb,
    "View",
    N_ ("Compare With the Saved Version"),
    { NULL },
    "diff difference changes" },
  { "compare-run",
    NULL,
    compare_run_cb,
    "View",
    N_ ("Compare With the Trained Version"),
    { NULL },
    "diff run version changes" },
  { "end-comparison", NULL, end_comparison_cb, "View", N_ ("End the Comparison"), { NULL }, "diff close" },
  { "task",
    NULL,
    toggle_task_cb,
    N_ ("View"),
    N_ ("_Picture of the Task"),
    { "<Control><Shift>i" },
    "points surface line images predictions data decision" },
  { "train",
    NULL,
    train_cb,
    N_ ("Training"),
    N_ ("_Train, Pause or Resume"),
    { "<Control>Return", "<Control>KP_Enter" },
    "run start fit learn resume" },
  { "step", NULL, step_cb, N_ ("Training"), N_ ("Train One _Batch"), { "<Control><Shift>Return" }, "step single" },
  { "stop",
    NULL,
    stop_cb,
    N_ ("Training"),
    N_ ("S_top Training"),
    { "<Control><Shift>period", "<Control>greater" },
    "end cancel" },
  { "restart", NULL, restart_cb, N_ ("Training"), N_ ("_Restart Training"), { NULL }, "begin again" },
  { "continue", NULL, continue_cb, N_ ("Training"), N_ ("_Continue Training"), { NULL }, "checkpoint resume" },
  { "continue-slower",
    NULL,
    continue_slower_cb,
    N_ ("Training"),
    N_ ("Continue at a Tenth of the Learning Rate"),
    { NULL },
    "checkpoint resume slower" },
  { "show-run", NULL, show_run_cb, N_ ("Training"), N_ ("Show the Trained Version"), { NULL }, "run version" },
  { "timeline",
    NULL,
    show_timeline_cb,
    N_ ("Training"),
    N_ ("T_imeline of a Step"),
    { "<Control><Shift>t" },
    "lanes trace ranks devices exchange wait profile" },
  { "parameters",
    NULL,
    show_parameters_cb,
    N_ ("Training"),
    N_ ("Table of _Parameters"),
    { "<Control><Shift>b" },
    "weights shape dtype bytes device before after move to table" },
  { "memory",
    NULL,
    show_memory_cb,
    N_ ("Training"),
    N_ ("_Memory by Node"),
    { "<Control><Shift>y" },
    "bytes gpu owner planned measured driver peak" },
  { "device", "s", device_cb, NULL, NULL, { NULL }, NULL },
  { "use-batch", "s", use_batch_cb, NULL, NULL, { NULL }, NULL },
  { "learning-rate",
    NULL,
    ask_learning_rate_cb,
    N_ ("Training"),
    N_ ("Change the Learning Rate"),
    { "<Control><Shift>r" },
    "lr hyper" },
  { "watch",
    NULL,
    watch_cb,
    N_ ("Training"),
    N_ ("_Watch the Selected Layer"),
    { "<Control><Shift>w" },
    "pin output map show" },
  { "watch-gradient",
    NULL,
    watch_gradient_cb,
    N_ ("Training"),
    N_ ("Watch the _Gradient of the Selected Layer"),
    { "<Control><Alt>w" },
    "pin backward derivative" },
  { "documentation",
    NULL,
    show_documentation_cb,
    N_ ("Go"),
    N_ ("_Documentation of the Layer"),
    { "<Shift>F1" },
    "help formula" },
  { "insert-example-of", "s", insert_example_of_cb, NULL, NULL, { NULL }, NULL },
  { "show-slides", NULL, show_slides_cb, N_ ("View"), N_ ("Show the _Views of a Lecture"), { NULL }, "slides path" },
  { "add-slide", NULL, add_slide_cb, N_ ("View"), N_ ("_Add the Current View"), { NULL }, "slide lecture path" },
  { "next-slide", NULL, next_slide_cb, N_ ("View"), N_ ("Next View of the Lecture"), { NULL }, "slide page down" },
  { "previous-slide",
    NULL,
    previous_slide_cb,
    N_ ("View"),
    N_ ("Previous View of the Lecture"),
    { NULL },
    "slide page up" },
  { "spotlight", NULL, toggle_spotlight_cb, N_ ("View"), N_ ("_Spotlight"), { NULL }, "light dim lecture" },
  { "pen", NULL, toggle_pen_cb, N_ ("View"), N_ ("_Draw Over the Canvas"), { NULL }, "pen ink stylus annotate" },
  { "eraser", NULL, toggle_eraser_cb, N_ ("View"), N_ ("_Erase the Drawing"), { NULL }, "rubber pen" },
  { "clear-drawing", NULL, clear_drawing_cb, N_ ("View"), N_ ("_Clear the Drawing"), { NULL }, "pen ink wipe" },
  { "write-lesson", NULL, write_lesson_cb, N_ ("Edit"), N_ ("_Write a Lesson"), { NULL }, "teach page goal markdown" },
  { "find", NULL, find_cb, N_ ("Edit"), N_ ("_Find a Layer"), { "<Control>f" }, "search outline" },
  { "arrange", NULL, arrange_cb, NULL, NULL, { NULL }, NULL },
  { "show-faults", NULL, show_faults_cb, N_ ("Go"), N_ ("List All Faults"), { NULL }, "errors problems hints" },
  { "reveal", "s", reveal_cb, NULL, NULL, { NULL }, NULL },
  { "next-pane", NULL, next_pane_cb, N_ ("Go"), N_ ("Next Pane"), { "F6" }, "focus" },
  { "previous-pane", NULL, previous_pane_cb, N_ ("Go"), N_ ("Previous Pane"), { "<Shift>F6" }, "focus" },
  { "zoom-to-fit",
    NULL,
    zoom_to_fit_cb,
    N_ ("View"),
    N_ ("Zoom to _Fit"),
    { "<Control>9" },
    "everything all view frame" },
  { "zoom-to-selection",
    NULL,
    zoom_to_selection_cb,
    N_ ("View"),
    N_ ("Zoom to the _Selection"),
    { "<Control>8" },
    "frame selected fit" },
  { "zoom-normal", NULL, zoom_normal_cb, N_ ("View"), N_ ("Zoom to _100 %"), { "<Control>0" }, "normal actual size" },
  { "zoom-in", NULL, zoom_in_cb, N_ ("View"), N_ ("Zoom _In"), { "<Control>plus", "<Control>equal" }, "larger" },
  { "zoom-out", NULL, zoom_out_cb, N_ ("View"), N_ ("Zoom _Out"), { "<Control>minus" }, "smaller" },
  { "canvas", "s", canvas_action_cb, NULL, NULL, { NULL }, NULL },
};

const StudioPageCommand *
studio_page_find_command (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (g_str_equal (commands[i].name, name))
      return &commands[i];
  return NULL;
}

const StudioPageCommand *
studio_page_get_commands (guint *n)
{
  *n = G_N_ELEMENTS (commands);
  return commands;
}

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
