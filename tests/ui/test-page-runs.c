/* What a page shows of a run and its steps, without a page: the runner, settings, listings of steps and of PyTorch. */
#include <adwaita.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "tests/ui/page-frame.h"
#include "ui/listing/studio-pytorch-pane.h"
#include "ui/page/graph-file.h"
#include "ui/page/page-run-views.h"
#include "ui/page/page-tabs.h"
#include "ui/page/run-settings.h"
#include "ui/page/studio-exporter.h"
#include "ui/page/studio-run-windows.h"
#include "ui/page/studio-runner.h"
#include "ui/stepper/studio-step-layer.h"
#include "ui/timeline/studio-step-row.h"
#include "ui/timeline/studio-steps-pane.h"
#include "ui/worker/studio-planner.h"

/* Faults prevent a run and are shown; a sound graph has a run, also if there is no worker. */
static void
test_runner (void)
{
  Frame frame;
  guint started = 0, faulty = 0, resumed = 0;
  frame_begin (&frame, net); /* an input without a wire */
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioRunner *runner = studio_runner_new (frame.document, frame.run, frame.toasts, questions);
  g_signal_connect_swapped (runner, "started", G_CALLBACK (count_cb), &started);
  g_signal_connect_swapped (runner, "faulty", G_CALLBACK (count_cb), &faulty);
  g_signal_connect_swapped (runner, "resumed", G_CALLBACK (count_cb), &resumed);
  studio_runner_train (runner);
  g_assert_cmpuint (faulty, ==, 1);
  g_assert_cmpuint (started, ==, 0);
  g_assert_cmpint (studio_run_get_state (frame.run), ==, STUDIO_RUN_IDLE);
  g_assert_true (graph_file_open_example (frame.document, "lessons/spirals", NULL));
  studio_runner_open (runner);
  /* A run that waits for its first step opens no panel. */
  studio_runner_prepare (runner);
  g_assert_cmpuint (started, ==, 0);
  g_assert_cmpint (studio_run_get_state (frame.run), !=, STUDIO_RUN_IDLE);
  studio_run_reset (frame.run);
  studio_runner_train (runner);
  g_assert_cmpuint (started, ==, 1);
  g_assert_cmpint (studio_run_get_state (frame.run), !=, STUDIO_RUN_IDLE);
  studio_run_reset (frame.run);

  /* Reports of the run: on a card, else in a toast if it is a note. */
  const guint said = frame.said;
  g_signal_emit_by_name (frame.run, "problem", "NOTE", NULL, NULL, "A note.");
  g_assert_cmpuint (frame.said, ==, said + 1);
  release (runner);
  studio_questions_free (questions);
  frame_end (&frame);
}

static void
test_run_settings (void)
{
  Frame frame;
  frame_begin (&frame, CHAIN);
  StudioRunPanel *panel = g_object_ref_sink (studio_run_panel_new (frame.document, frame.run));
  g_assert_cmpstr (run_settings_get_speed (), ==, "watch");
  run_settings_set_speed (frame.run, panel, "full");
  g_assert_cmpfloat (studio_run_get_pace (frame.run), ==, 0);
  run_settings_set_speed (frame.run, panel, "watch");
  g_assert_cmpfloat (studio_run_get_pace (frame.run), ==, 30);
  run_settings_set_device (frame.document, "ref");
  g_assert_cmpstr (run_settings_get_device (frame.document), ==, "ref");

  StudioRunWindows *windows = studio_run_windows_new (frame.document, frame.run, frame.toasts);
  studio_run_windows_show_graph (windows);
  g_assert_cmpuint (frame.said, ==, 1);
  studio_run_windows_show_parameters (windows);
  studio_run_windows_free (windows);
  release (panel);
  frame_end (&frame);
}

/* The number of a step's row among those that are shown; the first of this title. */
static guint
find_step (StudioStepsPane *pane, const char *title)
{
  GListModel *rows = G_LIST_MODEL (studio_steps_pane_get_rows (pane));

  for (guint i = 0; i < g_list_model_get_n_items (rows); i++)
    {
      g_autoptr (StudioStepRow) row = g_list_model_get_item (rows, i);

      if (g_str_equal (row->title, title))
        return i;
    }
  return G_MAXUINT;
}

/* What runs: steps and cards are linked both ways, a moment of the step says what is alive and lights its cards, and
 * recorded times replace estimates. */
static void
test_steps (void)
{
#define STEP(phase, index, node, alive, seconds)                                                                       \
  "{\"event\":\"step\",\"part\":\"step\",\"phase\":\"" phase "\",\"index\":" index ",\"depth\":0,\"node\":\"" node     \
  "\",\"nodes\":[\"" node "\"],\"label\":\"matmul\",\"kernel\":\"own\",\"device\":\"cpu\",\"reads\":[\"f32[8] x\"],"   \
  "\"writes\":[],\"bytes\":1000,\"seconds\":" seconds ",\"seconds_from\":\"estimate\",\"parameters\":100,"             \
  "\"activations\":" alive "}\n"
#define BLOCK(node, owner, bytes, first, last)                                                                         \
  "{\"event\":\"storage\",\"part\":\"step\",\"device\":\"cpu\",\"node\":\"" node "\",\"owner\":\"" owner               \
  "\",\"bytes\":" bytes ",\"first\":" first ",\"last\":" last "}\n"
  static const char lines[] = STEP ("forward", "0", "fc", "0", "0.001") STEP ("forward", "1", "act_one", "400", "0.002")
      STEP ("backward", "2", "fc", "300", "null") BLOCK ("fc", "parameters", "100", "0", "2")
          BLOCK ("act_one", "activations", "300", "1", "2") BLOCK ("fc", "activations", "100", "1", "1");
  g_autoptr (GPtrArray) events = studio_planner_parse_events (lines, strlen (lines));
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (LoomTraceSpan));
  const LoomTraceSpan span = { .end = 3000000, .kind = LOOM_TRACE_COMPUTE, .phase = LOOM_TRACE_BACKWARD };
  g_autoptr (GListStore) rows = studio_step_rows_new (events);
  g_autoptr (LoomTraceTimes) times = NULL;
  g_autoptr (StudioStepRow) row = NULL;
  Frame frame;

  frame_begin (&frame, CHAIN);
  StudioStepsPane *pane = studio_steps_pane_new (frame.document, frame.canvas, frame.run);
  GtkSelectionModel *model = studio_steps_pane_get_rows (pane);
  g_object_ref_sink (pane);
  studio_steps_pane_set_events (pane, events);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (model)), ==, 5); /* with two headings */
  studio_document_select_only (frame.document, document_serial (frame.document, "fc"));
  g_assert_true (gtk_selection_model_is_selected (model, find_step (pane, "0  fc")));
  g_assert_true (gtk_selection_model_is_selected (model, find_step (pane, "2  fc")));
  g_assert_false (gtk_selection_model_is_selected (model, find_step (pane, "1  act_one")));
  gtk_selection_model_select_item (model, find_step (pane, "1  act_one"), TRUE);
  g_assert_true (studio_document_is_selected (frame.document, document_serial (frame.document, "act_one")));
  g_assert_cmpuint (studio_document_n_selected (frame.document), ==, 1);

  /* The peak is marked first by the keys; parameters light no card. */
  const StudioStepMemory *memory = studio_steps_pane_get_memory (pane);
  g_assert_cmpuint (memory->peak, ==, 1);
  g_autoptr (GPtrArray) alive = studio_step_memory_alive (memory, 2);
  g_assert_cmpuint (alive->len, ==, 2);
  g_assert_cmpstr (((StudioStorage *)alive->pdata[0])->node, ==, "act_one");
  g_autofree char *words = studio_step_memory_describe (memory, 1);
  g_assert_cmpstr (words, ==,
                   "Step 1, act_one matmul: 500 B alive. Largest: act_one activations 300 B, fc parameters 100 B, fc "
                   "activations 100 B.");
  g_autofree char *csv = studio_step_memory_to_csv (memory);
  g_assert_nonnull (strstr (csv, "\n1,forward,act_one,matmul,100,0,0,400,0,0\n"));
  g_assert_cmpuint (studio_step_memory_at (memory, 300, 299), ==, 2);
  studio_step_picture_mark (studio_steps_pane_get_picture (pane), 2);
  studio_step_picture_mark (studio_steps_pane_get_picture (pane), G_MAXUINT);
  g_object_unref (pane);

  /* The recorded step has one of the three times. */
  g_assert_cmpint (studio_step_rows_set_times (rows, NULL), ==, STUDIO_STEP_TIMES_ESTIMATED);
  loom_trace_add (spans, &span, "cpu", "matmul", "fc");
  times = loom_trace_times_new (spans, 0);
  g_assert_cmpint (studio_step_rows_set_times (rows, times), ==, STUDIO_STEP_TIMES_RUN);
  row = g_list_model_get_item (G_LIST_MODEL (rows), 4);
  g_assert_cmpstr (row->operations, ==, "matmul · own · 1.0 kB · 3.00 ms");
  g_assert_cmpfloat (loom_trace_times_take (times, LOOM_TRACE_BACKWARD, "matmul", "fc"), <, 0);

  StudioExporter exporter = { .document = frame.document, .toasts = frame.toasts };
  PageTab tab = { .kind = &page_tab_steps,
                  .document = frame.document,
                  .canvas = frame.canvas,
                  .run = frame.run,
                  .panes = frame.panes,
                  .exporter = &exporter };
  page_tab_export_memory (&tab, "svg");
  g_assert_cmpuint (frame.said, ==, 1); /* there is no plan yet */
  page_tab_toggle (&tab);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "steps"));
  page_tab_toggle (&tab);
  g_assert_false (studio_panes_is_page_visible (frame.panes, "steps"));
  frame_end (&frame);
}

/* The graph as a file for PyTorch: lines and cards are linked both ways, also into a module, and an edit writes it
 * again. */
static void
test_pytorch (void)
{
  Frame frame;
  guint line;
  frame_begin (&frame, CHAIN);
  PageTab tab = { .kind = &page_tab_pytorch, .document = frame.document, .canvas = frame.canvas, .panes = frame.panes };
  StudioPytorchPane *pane = studio_pytorch_pane_new (frame.document);
  g_object_ref_sink (pane);
  studio_pytorch_pane_focus (pane);
  line = studio_pytorch_pane_find (pane, "self.fc = nn.Linear(8, 4)");
  g_assert_cmpuint (line, <, studio_pytorch_pane_n_lines (pane));
  g_assert_false (studio_pytorch_pane_is_marked (pane, line));
  studio_document_select_only (frame.document, document_serial (frame.document, "fc"));
  g_assert_true (studio_pytorch_pane_is_marked (pane, line));
  g_assert_false (studio_pytorch_pane_is_marked (pane, studio_pytorch_pane_find (pane, "act_one = ")));
  studio_pytorch_pane_activate (pane, studio_pytorch_pane_find (pane, "act_one = "));
  g_assert_true (studio_document_is_selected (frame.document, document_serial (frame.document, "act_one")));
  g_assert_false (studio_pytorch_pane_is_marked (pane, line));
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "5");
  studio_pytorch_pane_focus (pane);
  g_assert_cmpuint (studio_pytorch_pane_find (pane, "self.fc = nn.Linear(8, 5)"), ==, line);
  /* A line of a module shows its first instance. */
  g_assert_true (graph_file_open_example (frame.document, "models/char-gpt", NULL));
  studio_pytorch_pane_focus (pane);
  studio_pytorch_pane_activate (pane, studio_pytorch_pane_find (pane, "= nn.GELU("));
  g_assert_cmpuint (studio_document_n_selected (frame.document), ==, 1);
  g_assert_cmpuint (studio_document_scope_depth (frame.document), ==, 1);
  /* A graph with a fault has no file. */
  g_assert_true (studio_document_open_text (frame.document, net, -1, NULL, NULL));
  studio_pytorch_pane_focus (pane);
  g_assert_cmpuint (studio_pytorch_pane_n_lines (pane), ==, 0);
  g_object_unref (pane);

  page_tab_toggle (&tab);
  g_assert_true (studio_panes_is_page_visible (frame.panes, "pytorch"));
  page_tab_toggle (&tab);
  g_assert_false (studio_panes_is_page_visible (frame.panes, "pytorch"));
  frame_end (&frame);
}

/* A page that closes after "Go Back", while the run still stops, does not continue it. */
static void
test_go_back_and_close (void)
{
  Frame frame;
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  g_autoptr (StudioRunner) runner = studio_runner_new (frame.document, frame.run, frame.toasts, questions);
  guint said = frame.said;
  studio_run_take_state (frame.run, "running", NULL);
  studio_runner_go_back (runner, 5);
  studio_runner_close (runner);
  g_assert_cmpint (studio_run_get_state (frame.run), ==, STUDIO_RUN_STOPPED);
  g_assert_cmpuint (frame.said, ==, said);
  /* Without closing it goes back, for which there is no checkpoint. */
  studio_run_take_state (frame.run, "running", NULL);
  studio_runner_go_back (runner, 5);
  studio_run_take_state (frame.run, "stopped", NULL);
  g_assert_cmpuint (frame.said, ==, said + 1);
  studio_questions_free (questions);
  frame_end (&frame);
}

static GPtrArray *printed;

static void
print_mark_cb (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect)
{
  if (g_str_equal (what, "chain"))
    g_ptr_array_add (printed, g_strdup (name));
}

/* The ports of a chain of derivatives are marked on the canvas. */
static void
test_chain_marks (void)
{
  g_autoptr (StudioDocument) document = document_load (CHAIN);
  g_autoptr (StudioRun) run = studio_run_new ();
  StudioCanvas *canvas = g_object_ref_sink (studio_canvas_new (document));
  g_autoptr (StudioStepper) stepper = studio_stepper_new (document, canvas, run);
  g_autoptr (StudioBreakpoints) breakpoints = studio_breakpoints_new (document, run);
  g_autoptr (StudioInstant) instant = studio_instant_new (document);
  StudioStepLayer *layer = g_object_ref_sink (studio_step_layer_new (document, canvas, stepper, breakpoints, instant));
  GPtrArray *ports = g_ptr_array_new_with_free_func (g_free);

  studio_document_get_net (document);
  printed = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (ports, g_strdup ("fc"));
  g_ptr_array_add (ports, g_strdup ("act_one"));
  studio_stepper_mark (stepper, ports);
  studio_step_layer_print (layer, print_mark_cb);
  g_assert_cmpuint (printed->len, ==, 2);
  g_assert_cmpstr (printed->pdata[0], ==, "fc");
  g_assert_cmpstr (printed->pdata[1], ==, "act_one");
  studio_stepper_mark (stepper, NULL);
  studio_step_layer_print (layer, print_mark_cb);
  g_assert_cmpuint (printed->len, ==, 2);
  g_ptr_array_unref (printed);
  g_object_unref (layer);
  g_object_unref (canvas);
}

/* Views lie over the canvas, and a breakpoint that was hit is said, until they are closed. */
static void
test_run_views (void)
{
  Frame frame;
  frame_begin (&frame, CHAIN);
  GtkWidget *overlay = g_object_ref_sink (gtk_overlay_new ());
  GtkWidget *box = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 0));
  PageRunViews views = { frame.document, frame.canvas, frame.run, frame.panes, frame.toasts };
  page_run_views_init (&views, GTK_OVERLAY (overlay), GTK_BOX (box));
  g_assert_true (gtk_widget_get_parent (GTK_WIDGET (views.step_layer)) == overlay);
  g_assert_nonnull (gtk_widget_get_first_child (box));
  g_signal_emit_by_name (views.pins, "docked"); /* there is no pin at the side */
  g_assert_null (gtk_widget_get_parent (studio_pins_get_dock (views.pins)));
  g_signal_emit_by_name (views.breakpoints, "hit", "fc", "out", "out is not finite");
  g_assert_cmpuint (frame.said, ==, 1);
  page_run_views_close (&views);
  g_signal_emit_by_name (views.breakpoints, "hit", "act_one", "out", "out is below 0");
  g_assert_cmpuint (frame.said, ==, 1);
  page_run_views_clear (&views);
  g_assert_null (views.pins);
  g_object_unref (box);
  g_object_unref (overlay);
  frame_end (&frame);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  g_test_add_func ("/page/runner", test_runner);
  g_test_add_func ("/page/go-back-and-close", test_go_back_and_close);
  g_test_add_func ("/page/run-views", test_run_views);
  g_test_add_func ("/page/run-settings", test_run_settings);
  g_test_add_func ("/page/pytorch", test_pytorch);
  g_test_add_func ("/page/steps", test_steps);
  g_test_add_func ("/page/chain-marks", test_chain_marks);
  return g_test_run ();
}
