/* Implements page-commands.h. */
#include "ui/page/page-commands.h"

#include <glib/gi18n.h>

#include "ui/page/run-settings.h"
#include "ui/page/studio-comparing.h"
#include "ui/page/studio-disk-bar.h"
#include "ui/page/studio-evaluate-tab.h"
#include "ui/page/studio-exporter.h"
#include "ui/page/studio-history-tab.h"
#include "ui/page/studio-layer-commands.h"
#include "ui/page/studio-lesson-tab.h"
#include "ui/page/studio-navigation.h"
#include "ui/page/studio-presentation.h"
#include "ui/page/studio-run-windows.h"
#include "ui/page/studio-runner.h"
#include "ui/page/studio-saver.h"
#include "ui/page/studio-slides-tab.h"
#include "ui/page/studio-start-cover.h"
#include "ui/page/studio-status-line.h"
#include "ui/page/studio-task-tab.h"

/* ---- commands of the canvas that work wherever the focus is ----------------------------------- */

/* Menus are not in the canvas, and reach its commands through the window. */
static void
activate (StudioCanvas *canvas, const char *name)
{
  gtk_widget_activate_action (GTK_WIDGET (canvas), name, NULL);
}

static void
zoom_in (StudioCanvas *canvas)
{
  activate (canvas, "canvas.zoom-in");
}

static void
zoom_out (StudioCanvas *canvas)
{
  activate (canvas, "canvas.zoom-out");
}

static void
zoom_normal (StudioCanvas *canvas)
{
  activate (canvas, "canvas.zoom-normal");
}

static void
zoom_to_selection (StudioCanvas *canvas)
{
  activate (canvas, "canvas.zoom-to-selection");
}

static void
arrange (StudioCanvas *canvas)
{
  activate (canvas, "canvas.auto-layout");
}

/* ---- tables --------------------------------------------------------------------------------- */

static const StudioCommandRow commands[] = {
  { "start-empty",
    NULL,
    PAGE_COVER,
    G_CALLBACK (studio_start_cover_dismiss),
    N_ ("File"),
    N_ ("Start With an Empty Graph"),
    { NULL },
    NULL },
  { "save",
    NULL,
    PAGE_SAVER,
    G_CALLBACK (studio_saver_save),
    N_ ("File"),
    N_ ("_Save"),
    { "<Control>s" },
    "write file" },
  { "save-as",
    NULL,
    PAGE_SAVER,
    G_CALLBACK (studio_saver_save_as),
    N_ ("File"),
    N_ ("Save _As…"),
    { "<Control><Shift>s" },
    "write file copy" },
  { "export-map",
    NULL,
    PAGE_EXPORTER,
    G_CALLBACK (studio_exporter_write_map),
    N_ ("File"),
    N_ ("Save the Pinned _Map as SVG"),
    { "<Control><Shift>e" },
    "export picture heat attention" },
  { "export-task",
    NULL,
    PAGE_EXPORTER,
    G_CALLBACK (studio_exporter_write_task),
    N_ ("File"),
    N_ ("Save the Picture of the Task as SVG"),
    { NULL },
    "export picture points surface line images" },
  { "export-chart", "s", PAGE_EXPORTER, G_CALLBACK (studio_exporter_write_chart), NULL, NULL, { NULL }, NULL },
  { "reload",
    NULL,
    PAGE_SAVER,
    G_CALLBACK (studio_saver_reload),
    N_ ("File"),
    N_ ("Reload the File"),
    { NULL },
    "disk revert" },
  { "dismiss-disk",
    NULL,
    PAGE_DISK_BAR,
    G_CALLBACK (studio_disk_bar_dismiss),
    N_ ("File"),
    N_ ("Dismiss the Notice About the File"),
    { NULL },
    "disk" },
  { "undo",
    NULL,
    PAGE_DOCUMENT,
    G_CALLBACK (studio_document_undo),
    N_ ("Edit"),
    N_ ("_Undo"),
    { "<Control>z" },
    "back revert" },
  { "redo",
    NULL,
    PAGE_DOCUMENT,
    G_CALLBACK (studio_document_redo),
    N_ ("Edit"),
    N_ ("_Redo"),
    { "<Control><Shift>z", "<Control>y" },
    "again forward" },
  { "history",
    NULL,
    PAGE_HISTORY,
    G_CALLBACK (studio_history_tab_toggle),
    N_ ("View"),
    N_ ("_History of the Graph"),
    { "<Control><Shift>h" },
    "undo redo steps versions back jump" },
  { "compare",
    NULL,
    PAGE_COMPARING,
    G_CALLBACK (studio_comparing_choose),
    "View",
    N_ ("_Compare With…"),
    { "<Control><Shift>d" },
    "diff difference changes versions" },
  { "compare-saved",
    NULL,
    PAGE_COMPARING,
    G_CALLBACK (studio_comparing_with_saved),
    "View",
    N_ ("Compare With the Saved Version"),
    { NULL },
    "diff difference changes" },
  { "compare-run",
    NULL,
    PAGE_COMPARING,
    G_CALLBACK (studio_comparing_with_run),
    "View",
    N_ ("Compare With the Trained Version"),
    { NULL },
    "diff run version changes" },
  { "end-comparison",
    NULL,
    PAGE_COMPARING,
    G_CALLBACK (studio_comparing_end),
    "View",
    N_ ("End the Comparison"),
    { NULL },
    "diff close" },
  { "task",
    NULL,
    PAGE_TASK,
    G_CALLBACK (studio_task_tab_toggle),
    N_ ("View"),
    N_ ("_Picture of the Task"),
    { "<Control><Shift>i" },
    "points surface line images predictions data decision" },
  { "evaluate",
    NULL,
    PAGE_EVALUATE,
    G_CALLBACK (studio_evaluate_tab_toggle),
    N_ ("View"),
    N_ ("_Evaluate"),
    { "<Control>e" },
    "confusion matrix mistakes accuracy classes calibration residuals test" },
  { "own-input",
    NULL,
    PAGE_EVALUATE,
    G_CALLBACK (studio_evaluate_tab_show_own),
    "View",
    N_ ("Predict Your Own Input"),
    { NULL },
    "draw digit picture sentence point predict try" },
  { "generate",
    NULL,
    PAGE_EVALUATE,
    G_CALLBACK (studio_evaluate_tab_show_generate),
    "View",
    N_ ("Generate Text"),
    { NULL },
    "prompt temperature language model continue" },
  { "samples",
    NULL,
    PAGE_EVALUATE,
    G_CALLBACK (studio_evaluate_tab_show_data),
    "View",
    N_ ("Samples of the Data"),
    { NULL },
    "data set viewer augmentation normalisation split" },
  { "train",
    NULL,
    PAGE_RUNNER,
    G_CALLBACK (studio_runner_train),
    N_ ("Training"),
    N_ ("_Train, Pause or Resume"),
    { "<Control>Return", "<Control>KP_Enter" },
    "run start fit learn resume" },
  { "step",
    NULL,
    PAGE_RUNNER,
    G_CALLBACK (studio_runner_step),
    N_ ("Training"),
    N_ ("Train One _Batch"),
    { "<Control><Shift>Return" },
    "step single" },
  { "stop",
    NULL,
    PAGE_RUN,
    G_CALLBACK (studio_run_stop),
    N_ ("Training"),
    N_ ("S_top Training"),
    { "<Control><Shift>period", "<Control>greater" },
    "end cancel" },
  { "restart",
    NULL,
    PAGE_RUNNER,
    G_CALLBACK (studio_runner_restart),
    N_ ("Training"),
    N_ ("_Restart Training"),
    { NULL },
    "begin again" },
  { "continue",
    NULL,
    PAGE_RUNNER,
    G_CALLBACK (studio_runner_continue),
    N_ ("Training"),
    N_ ("_Continue Training"),
    { NULL },
    "checkpoint resume" },
  { "continue-slower",
    NULL,
    PAGE_RUNNER,
    G_CALLBACK (studio_runner_continue_slower),
    N_ ("Training"),
    N_ ("Continue at a Tenth of the Learning Rate"),
    { NULL },
    "checkpoint resume slower" },
  { "show-run",
    NULL,
    PAGE_WINDOWS,
    G_CALLBACK (studio_run_windows_show_graph),
    N_ ("Training"),
    N_ ("Show the Trained Version"),
    { NULL },
    "run version" },
  { "timeline",
    NULL,
    PAGE_WINDOWS,
    G_CALLBACK (studio_run_windows_show_timeline),
    N_ ("Training"),
    N_ ("T_imeline of a Step"),
    { "<Control><Shift>t" },
    "lanes trace ranks devices exchange wait profile" },
  { "parameters",
    NULL,
    PAGE_WINDOWS,
    G_CALLBACK (studio_run_windows_show_parameters),
    N_ ("Training"),
    N_ ("Table of _Parameters"),
    { "<Control><Shift>b" },
    "weights shape dtype bytes device before after move to table" },
  { "memory",
    NULL,
    PAGE_WINDOWS,
    G_CALLBACK (studio_run_windows_show_memory),
    N_ ("Training"),
    N_ ("_Memory by Node"),
    { "<Control><Shift>y" },
    "bytes gpu owner planned measured driver peak" },
  /* A list of devices marks the one of the state. */
  { "device", "s", PAGE_DOCUMENT, G_CALLBACK (run_settings_set_device), NULL, NULL, { NULL }, NULL, "" },
  { "use-batch", "s", PAGE_RUNNER, G_CALLBACK (studio_runner_use_batch), NULL, NULL, { NULL }, NULL },
  { "learning-rate",
    NULL,
    PAGE_PRESENTATION,
    G_CALLBACK (studio_presentation_ask_learning_rate),
    N_ ("Training"),
    N_ ("Change the Learning Rate"),
    { "<Control><Shift>r" },
    "lr hyper" },
  { "watch",
    NULL,
    PAGE_LAYER,
    G_CALLBACK (studio_layer_commands_watch),
    N_ ("Training"),
    N_ ("_Watch the Selected Layer"),
    { "<Control><Shift>w" },
    "pin output map show" },
  { "watch-gradient",
    NULL,
    PAGE_LAYER,
    G_CALLBACK (studio_layer_commands_watch_gradient),
    N_ ("Training"),
    N_ ("Watch the _Gradient of the Selected Layer"),
    { "<Control><Alt>w" },
    "pin backward derivative" },
  { "documentation",
    NULL,
    PAGE_LAYER,
    G_CALLBACK (studio_layer_commands_show_documentation),
    N_ ("Go"),
    N_ ("_Documentation of the Layer"),
    { "<Shift>F1" },
    "help formula" },
  { "insert-example-of",
    "s",
    PAGE_LAYER,
    G_CALLBACK (studio_layer_commands_insert_example_of),
    NULL,
    NULL,
    { NULL },
    NULL },
  { "show-slides",
    NULL,
    PAGE_SLIDES,
    G_CALLBACK (studio_slides_tab_show),
    N_ ("View"),
    N_ ("Show the _Views of a Lecture"),
    { NULL },
    "slides path" },
  { "add-slide",
    NULL,
    PAGE_SLIDES,
    G_CALLBACK (studio_slides_tab_add),
    N_ ("View"),
    N_ ("_Add the Current View"),
    { NULL },
    "slide lecture path" },
  { "next-slide",
    NULL,
    PAGE_PRESENTATION,
    G_CALLBACK (studio_presentation_next_view),
    N_ ("View"),
    N_ ("Next View of the Lecture"),
    { NULL },
    "slide page down" },
  { "previous-slide",
    NULL,
    PAGE_PRESENTATION,
    G_CALLBACK (studio_presentation_previous_view),
    N_ ("View"),
    N_ ("Previous View of the Lecture"),
    { NULL },
    "slide page up" },
  { "spotlight",
    NULL,
    PAGE_PRESENTATION,
    G_CALLBACK (studio_presentation_toggle_spotlight),
    N_ ("View"),
    N_ ("_Spotlight"),
    { NULL },
    "light dim lecture" },
  { "pen",
    NULL,
    PAGE_PRESENTATION,
    G_CALLBACK (studio_presentation_toggle_pen),
    N_ ("View"),
    N_ ("_Draw Over the Canvas"),
    { NULL },
    "pen ink stylus annotate" },
  { "eraser",
    NULL,
    PAGE_PRESENTATION,
    G_CALLBACK (studio_presentation_toggle_eraser),
    N_ ("View"),
    N_ ("_Erase the Drawing"),
    { NULL },
    "rubber pen" },
  { "clear-drawing",
    NULL,
    PAGE_PRESENTATION,
    G_CALLBACK (studio_presentation_clear_drawing),
    N_ ("View"),
    N_ ("_Clear the Drawing"),
    { NULL },
    "pen ink wipe" },
  { "write-lesson",
    NULL,
    PAGE_LESSON,
    G_CALLBACK (studio_lesson_tab_write),
    N_ ("Edit"),
    N_ ("_Write a Lesson"),
    { NULL },
    "teach page goal markdown" },
  { "find",
    NULL,
    PAGE_NAVIGATION,
    G_CALLBACK (studio_navigation_find),
    N_ ("Edit"),
    N_ ("_Find a Layer"),
    { "<Control>f" },
    "search outline" },
  { "arrange", NULL, PAGE_CANVAS, G_CALLBACK (arrange), NULL, NULL, { NULL }, NULL },
  { "show-faults",
    NULL,
    PAGE_STATUS,
    G_CALLBACK (studio_status_line_show_faults),
    N_ ("Go"),
    N_ ("List All Faults"),
    { NULL },
    "errors problems hints" },
  { "reveal", "s", PAGE_CANVAS, G_CALLBACK (studio_canvas_focus_path), NULL, NULL, { NULL }, NULL },
  { "next-pane",
    NULL,
    PAGE_NAVIGATION,
    G_CALLBACK (studio_navigation_next_pane),
    N_ ("Go"),
    N_ ("Next Pane"),
    { "F6" },
    "focus" },
  { "previous-pane",
    NULL,
    PAGE_NAVIGATION,
    G_CALLBACK (studio_navigation_previous_pane),
    N_ ("Go"),
    N_ ("Previous Pane"),
    { "<Shift>F6" },
    "focus" },
  { "zoom-to-fit",
    NULL,
    PAGE_CANVAS,
    G_CALLBACK (studio_canvas_zoom_to_fit),
    N_ ("View"),
    N_ ("Zoom to _Fit"),
    { "<Control>9" },
    "everything all view frame" },
  { "zoom-to-selection",
    NULL,
    PAGE_CANVAS,
    G_CALLBACK (zoom_to_selection),
    N_ ("View"),
    N_ ("Zoom to the _Selection"),
    { "<Control>8" },
    "frame selected fit" },
  { "zoom-normal",
    NULL,
    PAGE_CANVAS,
    G_CALLBACK (zoom_normal),
    N_ ("View"),
    N_ ("Zoom to _100 %"),
    { "<Control>0" },
    "normal actual size" },
  { "zoom-in",
    NULL,
    PAGE_CANVAS,
    G_CALLBACK (zoom_in),
    N_ ("View"),
    N_ ("Zoom _In"),
    { "<Control>plus", "<Control>equal" },
    "larger" },
  { "zoom-out",
    NULL,
    PAGE_CANVAS,
    G_CALLBACK (zoom_out),
    N_ ("View"),
    N_ ("Zoom _Out"),
    { "<Control>minus" },
    "smaller" },
  { "canvas", "s", PAGE_CANVAS, G_CALLBACK (activate), NULL, NULL, { NULL }, NULL },
};

static StudioCommand
get_command (guint i)
{
  return studio_command_row_get (&commands[i]);
}

/* A command with a fixed parameter, or a state. */
static const StudioCommand more[] = {
  { "win.export-chart::loss.svg", N_ ("File"), N_ ("Save the Loss Chart as SVG"), "export picture curve", { NULL } },
  { "win.export-chart::loss.csv", N_ ("File"), N_ ("Save the Loss Chart as CSV"), "export table numbers", { NULL } },
  { "win.export-chart::metric.svg",
    N_ ("File"),
    N_ ("Save the Metric Chart as SVG"),
    "export picture curve",
    { NULL } },
  { "win.export-chart::metric.csv",
    N_ ("File"),
    N_ ("Save the Metric Chart as CSV"),
    "export table numbers",
    { NULL } },
  { "win.left-pane", N_ ("View"), N_ ("_Layers and Outline"), "left pane palette fold side bar", { "F9" } },
  { "win.right-pane",
    N_ ("View"),
    N_ ("_Parameters and Training"),
    "right pane inspector fold side bar",
    { "<Shift>F9" } },
  { "win.run-panel", N_ ("View"), N_ ("_Curves of the Run"), "training panel fold charts", { "<Control>F9" } },
  { "canvas.show-cost", N_ ("View"), N_ ("Show Costs on Cards"), "flops parameters bar", { "<Control><Shift>c" } },
  { "win.minimap", N_ ("View"), N_ ("_Minimap"), "overview map", { NULL } },
  { "win.wires::curved", N_ ("View"), N_ ("C_urved Wires"), "lines links edges splines bezier", { NULL } },
  { "win.wires::right-angles",
    N_ ("View"),
    N_ ("_Right Angles"),
    "wires lines links edges orthogonal straight",
    { NULL } },
  { "win.shapes::sizes", N_ ("View"), N_ ("Shapes as _Sizes"), "dimensions wires tensors batch", { NULL } },
  { "win.shapes::names",
    N_ ("View"),
    N_ ("Shapes With _Names"),
    "dimensions axes wires tensors channels height width",
    { NULL } },
  { "win.shapes::numbers",
    N_ ("View"),
    N_ ("Shapes of _One Batch"),
    "dimensions wires tensors numbers size",
    { NULL } },
  { "win.types", N_ ("View"), N_ ("_Legend of Types"), "dtype float integer colours patterns wires", { NULL } },
  { "win.cost::none", N_ ("View"), N_ ("No Costs on _Cards"), "hide", { NULL } },
  { "win.cost::parameters", N_ ("View"), N_ ("_Parameters on Cards"), "cost weights bar", { NULL } },
  { "win.cost::operations", N_ ("View"), N_ ("Op_erations on Cards"), "cost flops bar", { NULL } },
  { "win.cost::activations", N_ ("View"), N_ ("_Activations on Cards"), "cost memory bytes bar", { NULL } },
  { "win.cost::time", N_ ("View"), N_ ("Measured _Time on Cards"), "cost seconds speed bar profile", { NULL } },
  { "win.speed::watch", N_ ("Training"), N_ ("_Stretch Short Runs to 30 Seconds"), "slow watch speed", { NULL } },
  { "win.speed::full", N_ ("Training"), N_ ("Train at Full Sp_eed"), "fast", { NULL } },
};

static StudioCommand
get_more (guint i)
{
  return more[i];
}

/* ---- the canvas --------------------------------------------------------------------------------- */

static StudioCommand
get_of_canvas (guint i)
{
  StudioCanvasCommand c = studio_canvas_get_command (i);
  return (StudioCommand){ .action = c.name, .group = c.group, .title = c.title, .keys = { c.key } };
}

static gboolean
canvas_can (GtkWidget *canvas, const char *action)
{
  return studio_canvas_can (STUDIO_CANVAS (canvas), action);
}

/* ---- lists ---------------------------------------------------------------------------------- */

void
page_commands_add (void)
{
  static const StudioCommandTable table = { G_N_ELEMENTS (commands), get_command, NULL },
                                  more_table = { G_N_ELEMENTS (more), get_more, NULL };
  static StudioCommandTable of_canvas = { 0, get_of_canvas, canvas_can };
  of_canvas.n = studio_canvas_n_commands ();
  studio_commands_add (STUDIO_COMMANDS_OF_PAGE, &table);
  studio_commands_add (STUDIO_COMMANDS_OF_CANVAS, &of_canvas);
  studio_commands_add (STUDIO_COMMANDS_MORE_OF_PAGE, &more_table);
}

void
page_commands_install (GActionMap *map, const StudioCommandTarget *target)
{
  studio_command_rows_install (commands, G_N_ELEMENTS (commands), map, target);
}
