/* Implements page-commands.h. */
#include "ui/page/page-commands.h"

#include <glib/gi18n.h>

#include "ui/page/page-tabs.h"
#include "ui/page/run-settings.h"
#include "ui/page/studio-comparing.h"
#include "ui/page/studio-disk-bar.h"
#include "ui/page/studio-proposal-bar.h"
#include "ui/page/studio-recording-bar.h"
#include "ui/page/studio-evaluate-tab.h"
#include "ui/page/studio-exporter.h"
#include "ui/page/studio-exporting.h"
#include "ui/page/studio-health-line.h"
#include "ui/page/studio-layer-commands.h"
#include "ui/page/studio-lesson-tab.h"
#include "ui/page/studio-navigation.h"
#include "ui/page/studio-presentation.h"
#include "ui/page/studio-run-windows.h"
#include "ui/page/studio-runs-tab.h"
#include "ui/page/studio-runner.h"
#include "ui/page/studio-saver.h"
#include "ui/page/studio-slides-tab.h"
#include "ui/page/studio-start-cover.h"
#include "ui/page/studio-status-line.h"
#include "ui/page/studio-task-tab.h"
#include "ui/page/studio-timeline-dock.h"
#include "ui/stepper/studio-stepper.h"

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
  STUDIO_COMMAND ("start-empty", PAGE_COVER, studio_start_cover_dismiss, N_ ("File"), N_ ("Start With an Empty Graph"),
                  NULL, NULL),
  STUDIO_COMMAND ("save", PAGE_SAVER, studio_saver_save, N_ ("File"), N_ ("_Save"), "write file", "<Control>s"),
  STUDIO_COMMAND ("save-as", PAGE_SAVER, studio_saver_save_as, N_ ("File"), N_ ("Save _As…"), "write file copy",
                  "<Control><Shift>s"),
  STUDIO_COMMAND ("export", PAGE_EXPORTING, studio_exporting_open, N_ ("File"), N_ ("E_xport…"),
                  "picture svg pdf png onnx pytorch safetensors report html weights save", "<Control><Shift>o"),
  STUDIO_COMMAND ("export-map", PAGE_EXPORTER, studio_exporter_write_map, N_ ("File"),
                  N_ ("Save the Pinned _Map as SVG"), "export picture heat attention", "<Control><Shift>e"),
  STUDIO_COMMAND ("export-task", PAGE_EXPORTER, studio_exporter_write_task, N_ ("File"),
                  N_ ("Save the Picture of the Task as SVG"), "export picture points surface line images", NULL),
  { "export-chart", "s", PAGE_EXPORTER, G_CALLBACK (studio_exporter_write_chart), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("reload", PAGE_SAVER, studio_saver_reload, N_ ("File"), N_ ("Reload the File"), "disk revert", NULL),
  STUDIO_COMMAND ("dismiss-disk", PAGE_DISK_BAR, studio_disk_bar_dismiss, N_ ("File"),
                  N_ ("Dismiss the Notice About the File"), "disk", NULL),
  STUDIO_COMMAND ("show-proposal", PAGE_PROPOSAL_BAR, studio_proposal_bar_show, N_ ("File"),
                  N_ ("Show the Proposal of an Agent"), "mcp agent suggestion changes", NULL),
  STUDIO_COMMAND ("accept-proposal", PAGE_PROPOSAL_BAR, studio_proposal_bar_accept, N_ ("File"),
                  N_ ("Accept the Proposal"), "mcp agent suggestion changes", NULL),
  STUDIO_COMMAND ("refuse-proposal", PAGE_PROPOSAL_BAR, studio_proposal_bar_refuse, N_ ("File"),
                  N_ ("Refuse the Proposal"), "mcp agent suggestion changes", NULL),
  STUDIO_COMMAND ("record", PAGE_RECORDING, studio_recording_bar_toggle, N_ ("File"),
                  N_ ("Record the Session, or Stop"), "replay captions screencast lecture video", NULL),
  STUDIO_COMMAND ("undo", PAGE_DOCUMENT, studio_document_undo, N_ ("Edit"), N_ ("_Undo"), "back revert", "<Control>z"),
  STUDIO_COMMAND ("redo", PAGE_DOCUMENT, studio_document_redo, N_ ("Edit"), N_ ("_Redo"), "again forward",
                  "<Control><Shift>z", "<Control>y"),
  STUDIO_COMMAND ("history", PAGE_HISTORY, page_tab_toggle, N_ ("View"), N_ ("_History of the Graph"),
                  "undo redo steps versions back jump", "<Control><Shift>h"),
  STUDIO_COMMAND ("runs", PAGE_RUNS, studio_runs_tab_toggle, N_ ("View"), N_ ("R_uns"),
                  "runs list compare overlay sweep queue notes star table pareto", "<Control><Shift>j"),
  STUDIO_COMMAND ("pytorch", PAGE_PYTORCH, page_tab_toggle, N_ ("View"), N_ ("The Graph in Py_Torch"),
                  "python code torch listing export module", "<Control><Shift>k"),
  STUDIO_COMMAND ("steps", PAGE_STEPS, page_tab_toggle, N_ ("View"), N_ ("_What Runs"),
                  "plan steps kernels fused instructions memory along peak buffers times", "<Control><Shift>x"),
  STUDIO_COMMAND ("check-gradients", PAGE_GRADIENTS, page_tab_check_gradients, N_ ("View"), N_ ("Check _Gradients"),
                  "gradcheck finite differences numeric derivative backward selection", "<Control><Shift>f"),
  { "export-memory", "s", PAGE_STEPS, G_CALLBACK (page_tab_export_memory), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("compare", PAGE_COMPARING, studio_comparing_choose, "View", N_ ("_Compare With…"),
                  "diff difference changes versions", "<Control><Shift>d"),
  STUDIO_COMMAND ("compare-saved", PAGE_COMPARING, studio_comparing_with_saved, "View",
                  N_ ("Compare With the Saved Version"), "diff difference changes", NULL),
  STUDIO_COMMAND ("compare-run", PAGE_COMPARING, studio_comparing_with_run, "View",
                  N_ ("Compare With the Trained Version"), "diff run version changes", NULL),
  STUDIO_COMMAND ("end-comparison", PAGE_COMPARING, studio_comparing_end, "View", N_ ("End the Comparison"),
                  "diff close", NULL),
  STUDIO_COMMAND ("task", PAGE_TASK, studio_task_tab_toggle, N_ ("View"), N_ ("_Picture of the Task"),
                  "points surface line images predictions data decision", "<Control><Shift>i"),
  STUDIO_COMMAND ("evaluate", PAGE_EVALUATE, studio_evaluate_tab_toggle, N_ ("View"), N_ ("_Evaluate"),
                  "confusion matrix mistakes accuracy classes calibration residuals test", "<Control>e"),
  STUDIO_COMMAND ("own-input", PAGE_EVALUATE, studio_evaluate_tab_show_own, "View", N_ ("Predict Your Own Input"),
                  "draw digit picture sentence point predict try", NULL),
  STUDIO_COMMAND ("generate", PAGE_EVALUATE, studio_evaluate_tab_show_generate, "View", N_ ("Generate Text"),
                  "prompt temperature language model continue", NULL),
  STUDIO_COMMAND ("samples", PAGE_EVALUATE, studio_evaluate_tab_show_data, "View", N_ ("Samples of the Data"),
                  "data set viewer augmentation normalisation split", NULL),
  STUDIO_COMMAND ("train", PAGE_RUNNER, studio_runner_train, N_ ("Training"), N_ ("_Train, Pause or Resume"),
                  "run start fit learn resume", "<Control>Return", "<Control>KP_Enter"),
  STUDIO_COMMAND ("step", PAGE_RUNNER, studio_runner_step, N_ ("Training"), N_ ("Train One _Batch"), "step single",
                  "<Control><Shift>Return"),
  STUDIO_COMMAND ("stop", PAGE_RUN, studio_run_stop, N_ ("Training"), N_ ("S_top Training"), "end cancel",
                  "<Control><Shift>period", "<Control>greater"),
  STUDIO_COMMAND ("restart", PAGE_RUNNER, studio_runner_restart, N_ ("Training"), N_ ("_Restart Training"),
                  "begin again", NULL),
  STUDIO_COMMAND ("attach", PAGE_RUNNER, studio_runner_attach, N_ ("Training"), N_ ("_Attach the Run Without a Window"),
                  "background detach", NULL),
  { "attach-here", "s", PAGE_RUNNER, G_CALLBACK (studio_runner_attach_to), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("continue", PAGE_RUNNER, studio_runner_continue, N_ ("Training"), N_ ("_Continue Training"),
                  "checkpoint resume", NULL),
  STUDIO_COMMAND ("continue-slower", PAGE_RUNNER, studio_runner_continue_slower, N_ ("Training"),
                  N_ ("Continue at a Tenth of the Learning Rate"), "checkpoint resume slower", NULL),
  STUDIO_COMMAND ("go-back", PAGE_HEALTH, studio_health_line_go_back, N_ ("Training"),
                  N_ ("Go Back to When the Net Was Healthy"), "checkpoint undo earlier step health", NULL),
  STUDIO_COMMAND ("show-run", PAGE_WINDOWS, studio_run_windows_show_graph, N_ ("Training"),
                  N_ ("Show the Trained Version"), "run version", NULL),
  STUDIO_COMMAND ("timeline", PAGE_WINDOWS, studio_run_windows_show_timeline, N_ ("Training"),
                  N_ ("T_imeline of a Step"), "lanes trace ranks devices exchange wait profile", "<Control><Shift>t"),
  STUDIO_COMMAND ("devices", PAGE_WINDOWS, studio_run_windows_show_devices, N_ ("Training"), N_ ("_Devices and Ranks…"),
                  "device ranks stages pipeline shards hosts forecast simulate speed memory parallel",
                  "<Control><Shift>v"),
  STUDIO_COMMAND ("dock-timeline", PAGE_DOCK, studio_timeline_dock_toggle, N_ ("Training"),
                  N_ ("Timeline Below the Canvas"), "lanes trace ranks devices live dock bottom profile", "F8"),
  STUDIO_COMMAND ("parameters", PAGE_WINDOWS, studio_run_windows_show_parameters, N_ ("Training"),
                  N_ ("Table of _Parameters"), "weights shape dtype bytes device before after move to table",
                  "<Control><Shift>b"),
  STUDIO_COMMAND ("memory", PAGE_WINDOWS, studio_run_windows_show_memory, N_ ("Training"), N_ ("_Memory by Node"),
                  "bytes gpu owner planned measured driver peak", "<Control><Shift>y"),
  /* A list of devices marks the one of the state. */
  { "device", "s", PAGE_DOCUMENT, G_CALLBACK (run_settings_set_device), NULL, NULL, { NULL }, NULL, "" },
  { "use-batch", "s", PAGE_RUNNER, G_CALLBACK (studio_runner_use_batch), NULL, NULL, { NULL }, NULL },
  { "skip-broken", NULL, PAGE_RUNNER, G_CALLBACK (studio_runner_skip_broken), NULL, NULL, { NULL }, NULL },
  { "use-strategy", "s", PAGE_RUNNER, G_CALLBACK (studio_runner_use_strategy), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("learning-rate", PAGE_PRESENTATION, studio_presentation_ask_learning_rate, N_ ("Training"),
                  N_ ("Change the Learning Rate"), "lr hyper", "<Control><Shift>r"),
  STUDIO_COMMAND ("watch", PAGE_LAYER, studio_layer_commands_watch, N_ ("Training"), N_ ("_Watch the Selected Layer"),
                  "pin output map show", "<Control><Shift>w"),
  STUDIO_COMMAND ("watch-gradient", PAGE_LAYER, studio_layer_commands_watch_gradient, N_ ("Training"),
                  N_ ("Watch the _Gradient of the Selected Layer"), "pin backward derivative", "<Control><Alt>w"),
  STUDIO_COMMAND ("step-next", PAGE_STEPPER, studio_stepper_next, N_ ("Training"), N_ ("_Next Layer of the Step"),
                  "debug forward backward node walk", "<Control><Alt>Right"),
  STUDIO_COMMAND ("step-back", PAGE_STEPPER, studio_stepper_back, N_ ("Training"), N_ ("_Back by One Layer"),
                  "debug undo node walk", "<Control><Alt>Left"),
  STUDIO_COMMAND ("step-into", PAGE_STEPPER, studio_stepper_into, N_ ("Training"), N_ ("_Into the Module or Iteration"),
                  "debug loop time scan", "<Control><Alt>Down"),
  STUDIO_COMMAND ("step-out", PAGE_STEPPER, studio_stepper_out, N_ ("Training"), N_ ("_Out of the Module or Loop"),
                  "debug loop time scan", "<Control><Alt>Up"),
  STUDIO_COMMAND ("step-forward", PAGE_STEPPER, studio_stepper_forward, N_ ("Training"),
                  N_ ("To the End of the _Forward Pass"), "debug values loss", NULL),
  STUDIO_COMMAND ("step-backward", PAGE_STEPPER, studio_stepper_backward, N_ ("Training"),
                  N_ ("To the End of the Back_ward Pass"), "debug gradients", NULL),
  STUDIO_COMMAND ("step-update", PAGE_STEPPER, studio_stepper_update, N_ ("Training"),
                  N_ ("_Update the Weights, and Take the Next Step Apart"), "debug optimizer", NULL),
  STUDIO_COMMAND ("step-here", PAGE_STEPPER, studio_stepper_go_to_selected, N_ ("Training"),
                  N_ ("_Run to the Selected Layer"), "debug here cursor", "<Control>F10"),
  STUDIO_COMMAND ("step-end", PAGE_STEPPER, studio_stepper_end, N_ ("Training"), N_ ("_Close the Step"), "debug leave",
                  NULL),
  STUDIO_COMMAND ("derivatives", PAGE_LAYER, studio_layer_commands_derivatives, N_ ("Training"),
                  N_ ("_Derivatives of a Number of the Selected Layer…"), "chain rule gradient backward",
                  "<Control><Alt>d"),
  STUDIO_COMMAND ("breakpoint", PAGE_LAYER, studio_layer_commands_break, N_ ("Training"),
                  N_ ("Brea_kpoint at the Selected Layer…"), "debug stop nan gradient dead", "<Control>F8"),
  STUDIO_COMMAND ("queue-run", PAGE_RUNS, studio_runs_tab_queue, N_ ("Training"), N_ ("Add the Graph to the _Queue"),
                  "runs later wait next", "<Control><Alt>q"),
  STUDIO_COMMAND ("start-queue", PAGE_RUNS, studio_runs_tab_start, N_ ("Training"), N_ ("Start the Queue"),
                  "runs next wait", NULL),
  STUDIO_COMMAND ("documentation", PAGE_LAYER, studio_layer_commands_show_documentation, N_ ("Go"),
                  N_ ("_Documentation of the Layer"), "help formula", "<Shift>F1"),
  { "insert-example-of",
    "s",
    PAGE_LAYER,
    G_CALLBACK (studio_layer_commands_insert_example_of),
    NULL,
    NULL,
    { NULL },
    NULL },
  STUDIO_COMMAND ("show-slides", PAGE_SLIDES, studio_slides_tab_show, N_ ("View"), N_ ("Show the _Views of a Lecture"),
                  "slides path", NULL),
  STUDIO_COMMAND ("add-slide", PAGE_SLIDES, studio_slides_tab_add, N_ ("View"), N_ ("_Add the Current View"),
                  "slide lecture path", NULL),
  STUDIO_COMMAND ("next-slide", PAGE_PRESENTATION, studio_presentation_next_view, N_ ("View"),
                  N_ ("Next View of the Lecture"), "slide page down", NULL),
  STUDIO_COMMAND ("previous-slide", PAGE_PRESENTATION, studio_presentation_previous_view, N_ ("View"),
                  N_ ("Previous View of the Lecture"), "slide page up", NULL),
  STUDIO_COMMAND ("spotlight", PAGE_PRESENTATION, studio_presentation_toggle_spotlight, N_ ("View"), N_ ("_Spotlight"),
                  "light dim lecture", NULL),
  STUDIO_COMMAND ("pen", PAGE_PRESENTATION, studio_presentation_toggle_pen, N_ ("View"), N_ ("_Draw Over the Canvas"),
                  "pen ink stylus annotate", NULL),
  STUDIO_COMMAND ("eraser", PAGE_PRESENTATION, studio_presentation_toggle_eraser, N_ ("View"),
                  N_ ("_Erase the Drawing"), "rubber pen", NULL),
  STUDIO_COMMAND ("clear-drawing", PAGE_PRESENTATION, studio_presentation_clear_drawing, N_ ("View"),
                  N_ ("_Clear the Drawing"), "pen ink wipe", NULL),
  STUDIO_COMMAND ("write-lesson", PAGE_LESSON, studio_lesson_tab_write, N_ ("Edit"), N_ ("_Write a Lesson"),
                  "teach page goal markdown", NULL),
  STUDIO_COMMAND ("find", PAGE_NAVIGATION, studio_navigation_find, N_ ("Edit"), N_ ("_Find a Layer"), "search outline",
                  "<Control>f"),
  { "arrange", NULL, PAGE_CANVAS, G_CALLBACK (arrange), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("show-faults", PAGE_STATUS, studio_status_line_show_faults, N_ ("Go"), N_ ("List All Faults"),
                  "errors problems hints", NULL),
  { "reveal", "s", PAGE_CANVAS, G_CALLBACK (studio_canvas_focus_path), NULL, NULL, { NULL }, NULL },
  STUDIO_COMMAND ("next-pane", PAGE_NAVIGATION, studio_navigation_next_pane, N_ ("Go"), N_ ("Next Pane"), "focus",
                  "F6"),
  STUDIO_COMMAND ("previous-pane", PAGE_NAVIGATION, studio_navigation_previous_pane, N_ ("Go"), N_ ("Previous Pane"),
                  "focus", "<Shift>F6"),
  STUDIO_COMMAND ("zoom-to-fit", PAGE_CANVAS, studio_canvas_zoom_to_fit, N_ ("View"), N_ ("Zoom to _Fit"),
                  "everything all view frame", "<Control>9"),
  STUDIO_COMMAND ("zoom-to-selection", PAGE_CANVAS, zoom_to_selection, N_ ("View"), N_ ("Zoom to the _Selection"),
                  "frame selected fit", "<Control>8"),
  STUDIO_COMMAND ("zoom-normal", PAGE_CANVAS, zoom_normal, N_ ("View"), N_ ("Zoom to _100 %"), "normal actual size",
                  "<Control>0"),
  STUDIO_COMMAND ("zoom-in", PAGE_CANVAS, zoom_in, N_ ("View"), N_ ("Zoom _In"), "larger", "<Control>plus",
                  "<Control>equal"),
  STUDIO_COMMAND ("zoom-out", PAGE_CANVAS, zoom_out, N_ ("View"), N_ ("Zoom _Out"), "smaller", "<Control>minus"),
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
  { "win.health",
    N_ ("View"),
    N_ ("_Health of the Net"),
    "gradient dead saturated vanishing exploding norm",
    { "F7" } },
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
