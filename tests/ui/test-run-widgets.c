/* Widgets of a run: its banners, gauge of memory, devices and ranks, timeline, and texts that grow. */
#include <adwaita.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "ui/run/studio-memory-gauge.h"
#include "ui/run/studio-rank-count.h"
#include "ui/run/studio-run-banners.h"
#include "ui/run/studio-run-panel.h"
#include "ui/timeline/studio-timeline.h"
#include "ui/training/studio-training-settings.h"
#include "tests/test-program.h"
#include "tests/ui/sample-document.h"
#include "tests/ui/settle.h"

static gboolean
is_shown (GtkWidget *bars, const char *name)
{
  return gtk_widget_get_visible (GTK_WIDGET (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, name)));
}

/* The gauge of memory: a level for each part of what there is, and a run's own bytes while it trains. */
static void
test_gauge (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (StudioMemoryForecast) forecast = studio_memory_forecast_new (document, run);
  StudioMemoryGauge *gauge = g_object_ref_sink (g_object_new (STUDIO_TYPE_MEMORY_GAUGE, NULL));
  GVariantBuilder bytes;

  g_assert_cmpint (studio_memory_level (0, 8e9), ==, STUDIO_MEMORY_UNKNOWN);
  g_assert_cmpint (studio_memory_level (7.7e6, 0), ==, STUDIO_MEMORY_UNKNOWN);
  g_assert_cmpint (studio_memory_level (7.7e6, 23e9), ==, STUDIO_MEMORY_FITS);
  g_assert_cmpint (studio_memory_level (20e9, 23e9), ==, STUDIO_MEMORY_SCARCE);
  g_assert_cmpint (studio_memory_level (24e9, 23e9), ==, STUDIO_MEMORY_EXCEEDED);
  studio_memory_gauge_show (gauge, forecast, run);
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (gauge)));
  g_assert_null (studio_memory_gauge_get_words (gauge));

  g_variant_builder_init (&bytes, G_VARIANT_TYPE ("a{st}"));
  g_variant_builder_add (&bytes, "{st}", "parameters", (guint64)7000000);
  g_variant_builder_add (&bytes, "{st}", "workspace", (guint64)700000);
  g_variant_builder_add (&bytes, "{st}", "total", (guint64)8000000);
  studio_run_take_state (run, "running", NULL);
  studio_run_take_memory (run, "cuda:0", g_variant_builder_end (&bytes));
  studio_memory_gauge_show (gauge, forecast, run);
  g_assert_true (gtk_widget_get_visible (GTK_WIDGET (gauge)));
  g_assert_cmpstr (studio_memory_gauge_get_words (gauge), ==, "Memory: 7.7 MB of 8.0 MB. It fits, but little is left.");
  g_assert_true (gtk_widget_has_css_class (GTK_WIDGET (gauge), "memory-scarce"));
  g_object_unref (gauge);
}

/* How a run ended is read to the end of its sentence, and each end has its buttons. */
static void
test_bars (void)
{
  static const char sentence[]
      = "The numbers of step 3 (epoch 1) are no longer finite. It first appeared at node fc3 (matmul, forward pass), "
        "as "
        "infinity. The weights are as before that step; a smaller learning rate, gradient clipping or scaled inputs "
        "usually help.";
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (StudioMemoryForecast) forecast = studio_memory_forecast_new (document, run);
  GtkWidget *bars = g_object_ref_sink (GTK_WIDGET (studio_run_banners_new (document, run, forecast)));
  GtkWidget *notice = GTK_WIDGET (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, "end_notice"));
  GtkLabel *label = GTK_LABEL (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, "end_label"));
  studio_run_take_hyper (run, "lr", 0.02);
  studio_run_take_problem (run, "NAN", "fc3", "", sentence);
  studio_run_take_state (run, "failed", sentence);
  g_assert_cmpstr (gtk_label_get_label (label), ==, sentence);
  g_assert_true (gtk_label_get_wrap (label));
  g_assert_cmpint (gtk_label_get_ellipsize (label), ==, PANGO_ELLIPSIZE_NONE);
  g_assert_cmpint (gtk_label_get_lines (label), ==, -1);
  g_assert_true (gtk_widget_has_css_class (notice, "bad"));
  g_assert_true (is_shown (bars, "slower_button"));
  GtkButton *slower = GTK_BUTTON (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, "slower_button"));
  g_assert_cmpstr (gtk_button_get_label (slower), ==, "Start Again at Learning Rate _0.002");
  studio_run_take_state (run, "preparing", NULL);
  g_assert_false (gtk_widget_get_sensitive (notice));
  /* Continue would meet the same picture again. */
  studio_run_take_state (run, "failed",
                         "a.png is not readable. Set broken=\"skip\" to leave out pictures that are not readable.");
  g_assert_true (is_shown (bars, "skip_button") && !is_shown (bars, "continue_button"));
  studio_run_take_state (run, "preparing", NULL);
  g_assert_false (gtk_widget_get_sensitive (notice));
  studio_run_take_checkpoint (run, 40, "40");
  studio_run_take_state (run, "stopped", NULL);
  g_assert_cmpstr (gtk_label_get_label (label), ==, "Stopped at step 40. Training can continue from there.");
  g_assert_false (gtk_widget_has_css_class (notice, "bad"));
  g_assert_false (is_shown (bars, "slower_button"));
  g_assert_true (is_shown (bars, "continue_button"));
  /* Another number of ranks is a change, also to a run that can be resumed; a comparison of graphs does not show it. */
  g_assert_false (is_shown (bars, "restart_button"));
  studio_run_set_ranks (run, 2);
  g_assert_true (is_shown (bars, "end_version"));
  g_assert_true (is_shown (bars, "restart_button"));
  g_assert_true (is_shown (bars, "continue_button"));
  studio_run_take_state (run, "running", NULL);
  GtkLabel *version = GTK_LABEL (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, "version_label"));
  g_assert_cmpstr (gtk_label_get_label (version), ==, "Training an earlier version · 1 change");
  g_assert_true (is_shown (bars, "end_version"));
  g_assert_false (is_shown (bars, "version_show"));
  /* Until they are equal. */
  studio_run_take_state (run, "done", NULL);
  studio_run_take_end (run, NULL);
  g_assert_true (is_shown (bars, "end_version"));
  studio_run_set_ranks (run, 1);
  g_assert_false (is_shown (bars, "end_version"));

  /* Of memory: one figure of each, and a button that sets a batch that fits. */
  studio_run_take_state (run, "running", NULL);
  studio_run_take_state (
      run, "failed",
      "It would not fit. The run needs 58.0 GB on cpu: 58.0 GB for activations; 23.4 GB are available. "
      "A batch of 400 fits.");
  g_assert_cmpstr (gtk_label_get_label (label), ==, "58.0 GB planned, 23.4 GB there. A batch of 400 fits.");
  g_assert_true (is_shown (bars, "batch_button"));
  GtkButton *batch = GTK_BUTTON (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, "batch_button"));
  g_assert_cmpstr (gtk_button_get_label (batch), ==, "Use _Batch 400");
  g_assert_cmpstr (gtk_actionable_get_action_name (GTK_ACTIONABLE (batch)), ==, "win.use-batch");
  studio_run_take_state (run, "running", NULL);
  studio_run_take_state (run, "failed", sentence);
  g_assert_false (is_shown (bars, "batch_button"));
  g_object_unref (bars);
}

/* The number of ranks is chosen with the other settings of training, before a run and between runs. */
static void
test_ranks_field (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *settings = g_object_ref_sink (GTK_WIDGET (studio_training_settings_new (document)));
  GtkWidget *field = studio_rank_count_spin_new (document, run);

  studio_training_settings_set_ranks (STUDIO_TRAINING_SETTINGS (settings), field);
  g_assert_true (gtk_widget_is_ancestor (field, settings));
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (field), 4);
  g_assert_cmpint (studio_run_get_ranks (run), ==, 4);
  studio_run_set_ranks (run, 2);
  g_assert_cmpint (gtk_spin_button_get_value_as_int (GTK_SPIN_BUTTON (field)), ==, 2);
  /* Other rows that come and go leave it where it is. */
  studio_training_set (document, "optimizer", "sgd");
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_true (gtk_widget_is_ancestor (field, settings));
  g_assert_cmpint (studio_run_get_ranks (run), ==, 2);
  g_object_unref (settings);
}

/* The reference device is explained where a device is chosen. */
static void
test_reference_device (void)
{
  static const char *const devices[] = { "cpu", "ref", NULL };
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *panel = g_object_ref_sink (GTK_WIDGET (studio_run_panel_new (document, run)));
  GtkWidget *drop = GTK_WIDGET (gtk_widget_get_template_child (panel, STUDIO_TYPE_RUN_PANEL, "device_drop"));

  studio_run_panel_set_devices (STUDIO_RUN_PANEL (panel), devices);
  g_assert_nonnull (strstr (gtk_widget_get_tooltip_text (drop), "“ref” stands for the reference"));
  g_object_unref (panel);
}

static void
described_cb (StudioTimeline *timeline, const char *text, char **said)
{
  g_free (*said);
  *said = g_strdup (text);
}

/* A step of one rank that computes from its beginning to its end. */
static void
set_step (StudioTimeline *timeline, const char *node, gint64 end)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, TRUE, sizeof (LoomTraceSpan));
  LoomTraceSpan span = { .end = end, .kind = LOOM_TRACE_COMPUTE };
  loom_trace_add (spans, &span, "cpu", "matmul", node);
  studio_timeline_set_spans (timeline, spans);
}

/* A still pointer shows the span under it for each new step. */
static void
test_timeline (void)
{
  GtkWidget *window = gtk_window_new ();
  StudioTimeline *timeline = g_object_new (STUDIO_TYPE_TIMELINE, NULL);
  g_autofree char *said = NULL;
  set_step (timeline, "fc", 2000000);
  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (timeline));
  gtk_window_set_default_size (GTK_WINDOW (window), 600, 100);
  gtk_window_present (GTK_WINDOW (window));
  while (gtk_widget_get_width (GTK_WIDGET (timeline)) == 0)
    g_main_context_iteration (NULL, TRUE);
  g_signal_connect (timeline, "described", G_CALLBACK (described_cb), &said);
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (timeline));
  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GObject) controller = g_list_model_get_item (controllers, i);
      if (GTK_IS_EVENT_CONTROLLER_MOTION (controller))
        g_signal_emit_by_name (controller, "motion", gtk_widget_get_width (GTK_WIDGET (timeline)) - 20.0, 35.0);
    }
  g_assert_cmpstr (said, ==, "fc · matmul · 2.00 ms · rank 0, computes");
  set_step (timeline, "fc", 4000000);
  g_assert_cmpstr (said, ==, "fc · matmul · 4.00 ms · rank 0, computes");
  set_step (timeline, "loss", 3000000);
  g_assert_cmpstr (said, ==, "loss · matmul · 3.00 ms · rank 0, computes");
  /* A box that is chosen by keys is read aloud, and after Escape the step alone. */
  static const guint keys[] = { GDK_KEY_Right, GDK_KEY_Escape };
  for (guint k = 0; k < G_N_ELEMENTS (keys); k++)
    {
      g_autofree char *step = studio_timeline_summary (timeline);
      g_autofree char *all = g_strconcat (k == 0 ? "loss · matmul · 3.00 ms · rank 0, computes. " : "", step, NULL);

      for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
        {
          g_autoptr (GObject) controller = g_list_model_get_item (controllers, i);
          gboolean handled;
          if (GTK_IS_EVENT_CONTROLLER_KEY (controller))
            g_signal_emit_by_name (controller, "key-pressed", keys[k], 0, 0, &handled);
        }
      gtk_test_accessible_assert_property (GTK_ACCESSIBLE (timeline), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, all);
    }
  gtk_window_destroy (GTK_WINDOW (window));
}

static int
least_height (GtkWidget *widget)
{
  int height;
  gtk_widget_measure (widget, GTK_ORIENTATION_VERTICAL, -1, &height, NULL, NULL, NULL);
  return height;
}

static GtkWidget *
panel_part (GtkWidget *panel, const char *name)
{
  return GTK_WIDGET (gtk_widget_get_template_child (panel, STUDIO_TYPE_RUN_PANEL, name));
}

/* The tooltip of the speed is asked for, because one that is set four times a second is never shown. */
static void
test_speed_tooltip (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *panel = g_object_ref_sink (GTK_WIDGET (studio_run_panel_new (document, run)));
  GtkWidget *label = GTK_WIDGET (gtk_widget_get_template_child (panel, STUDIO_TYPE_RUN_PANEL, "speed_label"));
  g_autoptr (GtkTooltip) tooltip = g_object_new (GTK_TYPE_TOOLTIP, NULL);
  gboolean shows = TRUE;

  g_signal_emit_by_name (label, "query-tooltip", 1, 1, FALSE, tooltip, &shows);
  g_assert_false (shows);
  studio_run_take_waits (run, 0.001, 0.002, 0.001, 0);
  studio_run_take_state (run, "running", NULL);
  g_signal_emit_by_name (label, "query-tooltip", 1, 1, FALSE, tooltip, &shows);
  g_assert_true (shows);
  g_assert_null (gtk_widget_get_tooltip_text (label));
  /* The macro takes its arguments for a format. */
  g_assert_null (gtk_test_accessible_check_property (GTK_ACCESSIBLE (label), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                                     "A step takes 4 ms and waits:\n1 ms, 25 %, for its data\n"
                                                     "2 ms, 50 %, for the computation\n1 ms, 25 %, for the rest\n"
                                                     "Batches are read on demand."));
  g_object_unref (panel);
}

/* All that is written grows with the user's text, labels of the style sheet and what is drawn alike. */
static void
test_text_grows (void)
{
  GtkSettings *settings = gtk_settings_get_default ();
  g_autoptr (GtkCssProvider) style = gtk_css_provider_new ();
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *window = gtk_window_new (), *panel = GTK_WIDGET (studio_run_panel_new (document, run));
  GtkWidget *chart = GTK_WIDGET (studio_run_panel_get_chart (STUDIO_RUN_PANEL (panel), FALSE));
  int dpi, before[3], after[3];
  gtk_css_provider_load_from_resource (style, "/org/gradloom/Studio/style.css");
  gtk_style_context_add_provider_for_display (gdk_display_get_default (), GTK_STYLE_PROVIDER (style),
                                              GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
  gtk_window_set_child (GTK_WINDOW (window), panel);
  gtk_window_present (GTK_WINDOW (window));
  g_object_get (settings, "gtk-xft-dpi", &dpi, NULL);
  for (int large = 0; large < 2; large++)
    {
      int *height = large ? after : before;
      g_object_set (settings, "gtk-xft-dpi", (large ? 2 : 1) * 96 * 1024, NULL);
      /* Styles are applied with the next frame. */
      settle (0);
      height[0] = least_height (panel_part (panel, "state_label"));
      height[1] = least_height (panel_part (panel, "body"));
      height[2] = least_height (chart);
    }
  for (int i = 0; i < 3; i++)
    {
      g_test_message ("%d: %d, %d", i, before[i], after[i]);
      g_assert_cmpint (after[i] * 10, >=, before[i] * 17);
    }
  gtk_window_destroy (GTK_WINDOW (window));
  g_object_set (settings, "gtk-xft-dpi", dpi, NULL);
  gtk_style_context_remove_provider_for_display (gdk_display_get_default (), GTK_STYLE_PROVIDER (style));
}

/* What is no rate is shown as such, and does not stay when the field is left. */
static void
test_rate_field (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *window = gtk_window_new (), *panel = GTK_WIDGET (studio_run_panel_new (document, run));
  GtkWidget *entry = panel_part (panel, "lr_entry");
  g_autofree char *before = g_strdup (gtk_editable_get_text (GTK_EDITABLE (entry)));

  gtk_window_set_child (GTK_WINDOW (window), panel);
  gtk_window_present (GTK_WINDOW (window));
  settle (0);
  gtk_widget_grab_focus (entry);
  gtk_editable_set_text (GTK_EDITABLE (entry), "abc");
  g_signal_emit_by_name (entry, "activate");
  g_assert_true (gtk_widget_has_css_class (entry, "error"));
  gtk_widget_grab_focus (panel_part (panel, "epochs_spin"));
  settle (0);
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, before);
  g_assert_false (gtk_widget_has_css_class (entry, "error"));
  gtk_window_destroy (GTK_WINDOW (window));
}

TEST_FILE (argc, argv)
{
  g_autofree char *home = g_dir_make_tmp ("gradloom-window-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", home, TRUE);
  g_setenv ("XDG_DATA_HOME", home, TRUE);
  g_setenv ("GTK_A11Y", "test", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  g_test_add_func ("/run-widgets/speed-tooltip", test_speed_tooltip);
  g_test_add_func ("/run-widgets/bars", test_bars);
  g_test_add_func ("/run-widgets/gauge", test_gauge);
  g_test_add_func ("/run-widgets/ranks-field", test_ranks_field);
  g_test_add_func ("/run-widgets/reference-device", test_reference_device);
  g_test_add_func ("/run-widgets/timeline", test_timeline);
  g_test_add_func ("/run-widgets/text-grows", test_text_grows);
  g_test_add_func ("/run-widgets/rate-field", test_rate_field);
  return g_test_run ();
}
