/* The window and its widgets on a virtual display: every type can be created, has an accessible label, and is freed
 * without leaking signal handlers. */
#include <adwaita.h>
#include <glib/gstdio.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "ui/charts/heat-map-labels.h"
#include "ui/charts/studio-chart.h"
#include "ui/charts/studio-memory-bar.h"
#include "ui/charts/studio-scalar-pin.h"
#include "ui/run/studio-run-banners.h"
#include "ui/run/studio-run-panel.h"
#include "ui/inspector/studio-formula-field.h"
#include "ui/document/studio-search.h"
#include "ui/start/studio-start-page.h"
#include "ui/training/studio-training-private.h"
#include "ui/training/studio-training-settings.h"
#include "ui/window/studio-window.h"
#include "tests/test-program.h"
#include "tests/ui/find-widgets.h"
#include "tests/ui/sample-document.h"
#include "tests/ui/settle.h"

static void
sink_and_drop (gpointer widget)
{
  g_object_add_weak_pointer (widget, &widget);
  g_object_unref (g_object_ref_sink (widget));
  g_assert_null (widget);
}

static void
test_chart (void)
{
  StudioChart *chart = g_object_ref_sink (studio_chart_new ("loss"));
  g_autoptr (LoomSeries) series = loom_series_new (LOOM_SERIES_MOST);
  loom_series_append (series, 840, 0.412);
  studio_plot_add_curve (studio_chart_get_plot (chart), "train", STUDIO_PLOT_CURVE_TRAIN, series);
  studio_chart_update (chart);
  gtk_test_accessible_assert_property (chart, GTK_ACCESSIBLE_PROPERTY_LABEL, "loss chart");
  gtk_test_accessible_assert_property (chart, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, "loss: train 0.412 at step 840");
  g_assert_true (gtk_widget_get_focusable (GTK_WIDGET (chart)));
  g_object_unref (chart);
}

static void
test_small_widgets (void)
{
  StudioMemoryBar *bar = g_object_ref_sink (studio_memory_bar_new ());
  const char *const owners[] = { "parameters", "activations" };
  const guint64 bytes[] = { 1000, 3000 };
  studio_memory_bar_set (bar, "cpu", 2, owners, bytes);
  g_assert_cmpuint (studio_memory_bar_get_total (bar), ==, 4000);
  gtk_test_accessible_assert_property (bar, GTK_ACCESSIBLE_PROPERTY_LABEL, "memory of cpu: 4.0 kB");
  studio_memory_bar_set_driver (
      bar, &(StudioDriverMemory){ .used = 9000, .total = 64000, .peak = 9500, .before = 5000, .first = 9000 });
  g_assert_cmpstr (gtk_widget_get_tooltip_text (GTK_WIDGET (bar)), ==,
                   "parameters 1.0 kB, activations 3.0 kB\n"
                   "Driver: 9.0 kB in use now.\nIn use before the run: 5.0 kB.\n"
                   "Peak through the first step: 9.0 kB.\nPeak so far: 9.5 kB.");
  /* Of several ranks it is one's, which has more than its part. */
  studio_memory_bar_set_ranks (bar, 4);
  g_assert_nonnull (strstr (gtk_widget_get_tooltip_text (GTK_WIDGET (bar)), "\nRank 0 also computes the views"));
  g_object_unref (bar);
  StudioScalarPin *pin = g_object_ref_sink (studio_scalar_pin_new ("loss"));
  studio_scalar_pin_set (pin, "0.412", NULL);
  gtk_test_accessible_assert_property (pin, GTK_ACCESSIBLE_PROPERTY_LABEL, "loss 0.412");
  g_object_unref (pin);
  sink_and_drop (studio_start_page_new ());
}

/* Training settings and the run panel change the same element through the document, and undo takes it back. */
static void
test_settings (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (GError) error = NULL;
  GtkWidget *settings = GTK_WIDGET (studio_training_settings_new (document));
  g_object_ref_sink (settings);
  GtkWidget *panel = g_object_ref_sink (GTK_WIDGET (studio_run_panel_new (document, run)));
  g_assert_true (studio_training_ensure (document, &error));
  LoomElement *train = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_TRAIN);
  g_assert_cmpstr (loom_element_get (train, "loss"), ==, "loss");
  LoomElement *metric = loom_element_find (train, LOOM_TAG_METRIC);
  g_assert_nonnull (metric);
  g_assert_cmpstr (loom_element_get (metric, "input"), ==, "fc");
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  studio_training_set (document, "lr", "0.5");
  g_assert_cmpstr (loom_element_get (train, "lr"), ==, "0.5");
  while (g_main_context_iteration (NULL, FALSE))
    ;
  studio_document_undo (document);
  train = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_TRAIN);
  g_assert_cmpstr (loom_element_get (train, "lr"), ==, "0.001");
  g_object_unref (panel);
  g_object_unref (settings);
}

/* The learning-rate entry shows the rate of the run; without a run, the rate that the next one starts with. */
static void
test_rate_field (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  g_autoptr (GError) error = NULL;
  g_assert_true (studio_training_ensure (document, &error));
  studio_training_set (document, "lr", "0.01");
  GtkWidget *panel = g_object_ref_sink (GTK_WIDGET (studio_run_panel_new (document, run)));
  GtkEditable *field = GTK_EDITABLE (gtk_widget_get_template_child (panel, STUDIO_TYPE_RUN_PANEL, "lr_entry"));
  g_assert_cmpstr (gtk_editable_get_text (field), ==, "0.01");
  studio_run_take_state (run, "running", NULL);
  studio_run_take_hyper (run, "lr", 0.01);
  gtk_editable_set_text (field, "5e-1"); /* typed, obeyed */
  studio_run_take_hyper (run, "lr", 0.5);
  g_assert_cmpstr (gtk_editable_get_text (field), ==, "5e-1");
  /* The panel says which of the two visible rates applies. */
  GtkLabel *label = GTK_LABEL (gtk_widget_get_template_child (panel, STUDIO_TYPE_RUN_PANEL, "lr_label"));
  g_assert_cmpstr (gtk_label_get_label (label), ==, "Learning rate of this run");
  g_assert_nonnull (strstr (gtk_widget_get_tooltip_text (GTK_WIDGET (field)), "the graph’s rate, 0.01."));
  /* The worker dies, something makes the document speak, and the checkpoint is gone on with. */
  studio_run_take_end (run, "The worker was killed.");
  studio_training_set (document, "epochs", "7");
  g_assert_cmpstr (gtk_editable_get_text (field), ==, "0.01");
  studio_run_take_state (run, "preparing", NULL);
  studio_run_take_hyper (run, "lr", 0.5);
  studio_run_take_state (run, "running", NULL);
  g_assert_cmpfloat (g_ascii_strtod (gtk_editable_get_text (field), NULL), ==, 0.5);
  studio_run_take_state (run, "done", NULL);
  g_assert_cmpstr (gtk_editable_get_text (field), ==, "0.01");
  g_assert_cmpstr (gtk_label_get_label (label), ==, "Learning rate");
  g_object_unref (panel);
}

/* The failure of a run is shown on its card until another run begins or the card is changed. */
static void
test_run_fault (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  studio_document_mark_run (document);
  studio_document_set_run_fault (document, "NAN", "fc", "", "The numbers are no longer finite.");
  LoomFaults *faults = studio_document_get_faults (document);
  g_assert_cmpuint (loom_faults_count (faults), ==, 1);
  g_assert_cmpstr (loom_faults_get (faults, 0)->node, ==, "fc");
  g_assert_cmpint (loom_faults_get (faults, 0)->code, ==, LOOM_ERROR_NAN);
  g_assert_false (studio_document_is_edited (document));
  studio_document_set_run_fault (document, NULL, NULL, NULL, NULL);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  studio_document_set_run_fault (document, "NAN", "fc", "", "The numbers are no longer finite.");
  LoomElement *fc = loom_element_child (loom_graph_root (studio_document_get_graph (document)), 1);
  g_assert_cmpstr (loom_element_get (fc, "id"), ==, "fc");
  studio_document_begin (document, "Change");
  studio_document_edit (document, loom_edit_set (fc, "out_features", "3"));
  studio_document_end (document);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
}

/* Words that people type, and the operator that must come first. */
static void
test_search (void)
{
  static const struct
  {
    const char *typed, *first;
  } cases[] = {
    { "hinge", "multi_margin_loss" },
    { "svm", "multi_margin_loss" },
    { "batchnorm", "batch_norm2d" },
    { "bn", "batch_norm2d" },
    { "batch_norm1d", "batch_norm1d" },
    { "softmax", "softmax" },
    { "conv", "conv2d" },
    { "conv transpose", "conv_transpose1d" },
    { "conv_transpose2d", "conv_transpose2d" },
    { "ConvTranspose2d", "conv_transpose2d" },
    { "dense", "linear" },
    { "fully connected", "linear" },
    { "swish", "silu" },
    { "+", "add" },
    { "*", "mul" },
    { "max", "max_pool2d" },
    { "cross", "cross_entropy" },
    { "cross product", "cross" },
    { "cr", "cross_entropy" },
    { "fl", "flatten" },
    { "li", "linear" },
    { "re", "relu" },
    { "relu", "relu" },
    { "ReLU6", "relu6" },
    { "bce", "binary_cross_entropy_with_logits" },
    { "formula", "expression" },
    { "autograd function", "custom_function" },
    { "cat", "concat" },
    { "einstein", "einsum" },
    { "global average", "adaptive_avg_pool2d" },
    { "top", "topk" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *best = NULL;
      guint most = 0;
      for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
        {
          StudioSearchKey *key = studio_search_key_new (*op);
          guint rank = (*op)->category != LOOM_CATEGORY_HIDDEN ? studio_search_rank (key, cases[i].typed) : 0;
          if (rank > most)
            {
              most = rank;
              best = (*op)->name;
            }
          studio_search_key_free (key);
        }
      g_test_message ("%s", cases[i].typed);
      g_assert_cmpstr (best, ==, cases[i].first);
    }
  /* Names, titles and PyTorch's names all find their operator, and nonsense finds nothing. */
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      StudioSearchKey *key = studio_search_key_new (*op);
      g_assert_cmpuint (studio_search_rank (key, (*op)->name), >=, 16);
      g_assert_cmpuint (studio_search_rank (key, (*op)->title), >=, 16);
      g_assert_cmpuint (studio_search_rank (key, "qzx"), ==, 0);
      /* Its doc has the word "sign", but three letters search names only. */
      if (g_str_equal ((*op)->name, "remainder"))
        g_assert_cmpuint (studio_search_rank (key, "sig"), ==, 0);
      g_assert_cmpuint (studio_search_rank (key, ""), >, 0);
      studio_search_key_free (key);
    }
}

/* The fault of <train>: none, or the sentence that the settings show. */
static void
expect_train (StudioDocument *document, const char *what, const char *said)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomTrainSpec *spec
      = loom_train_spec_new (studio_document_get_graph (document), studio_document_get_net (document), faults);
  g_test_message ("%s: %s", what, loom_faults_length (faults) > 0 ? loom_faults_get (faults, 0)->message : "good");
  g_assert_true ((spec != NULL) == (said == NULL));
  if (said != NULL)
    g_assert_nonnull (strstr (loom_faults_get (faults, 0)->message, said));
  g_clear_pointer (&spec, loom_train_spec_free);
}

/* Every optimiser and schedule can be selected, and attributes of the previous one cause no fault. */
static void
test_choices (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  GtkWidget *settings = g_object_ref_sink (GTK_WIDGET (studio_training_settings_new (document)));
  g_assert_true (studio_training_ensure (document, NULL));
  studio_training_set (document, "betas", "0.8,0.99");
  for (const LoomOptimizer *const *o = loom_optimizers (); *o != NULL; o++)
    {
      if ((*o)->takes_no_gradients) /* needs a graph that assigns */
        continue;
      studio_training_set_optimizer (document, (*o)->name);
      while (g_main_context_iteration (NULL, FALSE))
        ;
      expect_train (document, (*o)->name, NULL);
    }
  studio_training_set_optimizer (document, "sgd");
  g_assert_null (loom_element_get (studio_training_element (document), "betas"));
  studio_training_set (document, "lr", "0.001");
  studio_training_set (document, "epochs", "many");
  while (g_main_context_iteration (NULL, FALSE))
    ;
  expect_train (document, "epochs", "many");
  g_assert_true (gtk_widget_get_visible (STUDIO_TRAINING_SETTINGS (settings)->fault));
  studio_document_undo (document);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_assert_false (gtk_widget_get_visible (STUDIO_TRAINING_SETTINGS (settings)->fault));
  for (const LoomScheduleClass *const *s = loom_schedules (); *s != NULL; s++)
    {
      studio_training_set_schedule (document, (*s)->name);
      while (g_main_context_iteration (NULL, FALSE))
        ;
      expect_train (document, (*s)->name, NULL);
    }
  studio_training_set_in (document, LOOM_TAG_CLIP, "norm", "1");
  g_assert_nonnull (loom_element_find (studio_training_element (document), LOOM_TAG_CLIP));
  studio_training_set_in (document, LOOM_TAG_CLIP, "norm", "0");
  g_assert_null (loom_element_find (studio_training_element (document), LOOM_TAG_CLIP));
  g_object_unref (settings);
}

/* The lists: a group and a metric are added, changed, taken away and brought back by undo. */
static void
test_lists (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  GtkWidget *settings = g_object_ref_sink (GTK_WIDGET (studio_training_settings_new (document)));
  LoomElement *group, *train;
  g_assert_true (studio_training_add_group (document));
  train = studio_training_element (document);
  group = loom_element_find (train, LOOM_TAG_GROUP);
  g_assert_cmpstr (loom_element_get (group, "match"), ==, "fc");
  studio_training_set_at (document, loom_element_serial (group), "lr", "0.5");
  g_assert_true (studio_training_add_metric (document));
  while (g_main_context_iteration (NULL, FALSE))
    ;
  expect_train (document, "a group and a metric", NULL);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  /* A method that takes no rates for groups: what was set goes, the group stays. */
  studio_training_set_optimizer (document, "lbfgs");
  g_assert_null (loom_element_get (loom_element_find (studio_training_element (document), LOOM_TAG_GROUP), "lr"));
  expect_train (document, "lbfgs with a group", NULL);
  studio_document_undo (document);
  group = loom_element_find (studio_training_element (document), LOOM_TAG_GROUP);
  studio_training_remove (document, loom_element_serial (group));
  g_assert_null (loom_element_find (studio_training_element (document), LOOM_TAG_GROUP));
  studio_document_undo (document);
  group = loom_element_find (studio_training_element (document), LOOM_TAG_GROUP);
  g_assert_cmpstr (loom_element_get (group, "lr"), ==, "0.5");
  while (g_main_context_iteration (NULL, FALSE))
    ;
  g_object_unref (settings);
}

static void
test_formula_field (void)
{
  StudioFormulaField *field = g_object_ref_sink (studio_formula_field_new ("Forward", TRUE));
  g_autofree char *text = NULL;
  studio_formula_field_set_text (field, "s = exp(x); y = s * x");
  text = studio_formula_field_dup_text (field);
  g_assert_cmpstr (text, ==, "s = exp(x); y = s * x");
  studio_formula_field_mark (field, 4);
  g_assert_true (gtk_widget_has_css_class (GTK_WIDGET (field), "error"));
  studio_formula_field_mark (field, 1000);
  studio_formula_field_mark (field, -1);
  g_assert_false (gtk_widget_has_css_class (GTK_WIDGET (field), "error"));
  g_assert_cmpint (studio_formula_fault_position ("The formula ends early at position 12, after the caret: “x‸”."), ==,
                   11);
  g_assert_cmpint (studio_formula_fault_position ("Two shapes do not fit."), ==, -1);
  g_object_unref (field);
}

static int
least_width (GtkWidget *widget)
{
  int width;
  gtk_widget_measure (widget, GTK_ORIENTATION_HORIZONTAL, -1, &width, NULL, NULL, NULL);
  return width;
}

/* With text twice as large the panel may not widen the window beyond what header and panes need, or its close button
 * leaves a small screen. */
static void
test_large_text (void)
{
  GtkSettings *settings = gtk_settings_get_default ();
  int dpi;
  g_object_get (settings, "gtk-xft-dpi", &dpi, NULL);
  g_object_set (settings, "gtk-xft-dpi", 2 * 96 * 1024, NULL);
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *window = gtk_window_new (), *panel = GTK_WIDGET (studio_run_panel_new (document, run));
  gtk_window_set_child (GTK_WINDOW (window), panel);
  gtk_window_present (GTK_WINDOW (window));
  studio_run_take_state (run, "running", NULL);
  g_assert_cmpint (least_width (panel), <=, 640);
  g_autoptr (StudioMemoryForecast) forecast = studio_memory_forecast_new (document, run);
  GtkWidget *bars = g_object_ref_sink (GTK_WIDGET (studio_run_banners_new (document, run, forecast)));
  studio_run_take_end (run, "The worker was killed while it computed a step of the training, for reasons of its own.");
  g_assert_cmpint (least_width (panel), <=, 640);
  g_assert_cmpint (least_width (bars), <=, 640);
  /* The bar of an earlier step has one row, so that it leaves the canvas and the panes visible. */
  GtkRevealer *bar = GTK_REVEALER (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, "time_bar"));
  GtkWidget *now = GTK_WIDGET (gtk_widget_get_template_child (bars, STUDIO_TYPE_RUN_BANNERS, "now_button"));
  int button, row;
  studio_run_banners_set_narrow (STUDIO_RUN_BANNERS (bars), TRUE);
  gtk_widget_measure (now, GTK_ORIENTATION_VERTICAL, 600, NULL, &button, NULL, NULL);
  gtk_widget_measure (gtk_revealer_get_child (bar), GTK_ORIENTATION_VERTICAL, 1280, NULL, &row, NULL, NULL);
  g_assert_cmpint (row, <, 2 * button);
  gtk_window_destroy (GTK_WINDOW (window));
  g_object_unref (bars);
  g_object_set (settings, "gtk-xft-dpi", dpi, NULL);
}

/* In a narrow window the settings are in a popover, which Enter in the learning rate closes. */
static void
test_rate_popover (void)
{
  g_autoptr (StudioDocument) document = sample_document ();
  g_autoptr (StudioRun) run = studio_run_new ();
  GtkWidget *window = gtk_window_new ();
  StudioRunPanel *panel = studio_run_panel_new (document, run);
  GtkWidget *popover, *entry;

  gtk_window_set_default_size (GTK_WINDOW (window), 640, 300);
  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (panel));
  gtk_window_present (GTK_WINDOW (window));
  entry = GTK_WIDGET (gtk_widget_get_template_child (GTK_WIDGET (panel), STUDIO_TYPE_RUN_PANEL, "lr_entry"));
  popover = GTK_WIDGET (gtk_widget_get_template_child (GTK_WIDGET (panel), STUDIO_TYPE_RUN_PANEL, "settings_popover"));
  while (!gtk_widget_is_ancestor (entry, popover))
    g_main_context_iteration (NULL, TRUE);
  studio_run_panel_focus_learning_rate (panel);
  g_assert_true (gtk_widget_get_visible (popover));
  gtk_editable_set_text (GTK_EDITABLE (entry), "0.5");
  g_signal_emit_by_name (entry, "activate");
  g_assert_false (gtk_widget_get_visible (popover));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* Without a loss there is a sentence, and no <train>. */
static void
test_nothing_to_train (void)
{
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GError) error = NULL;
  g_assert_false (studio_training_ensure (document, &error));
  g_assert_nonnull (strstr (error->message, "cross_entropy"));
  g_assert_null (studio_document_undo_name (document));
}

/* Every operator's icon is in the resources; a missing one shows as a broken picture. */
static void
test_icons (void)
{
  GtkIconTheme *theme = gtk_icon_theme_get_for_display (gdk_display_get_default ());
  gtk_icon_theme_add_resource_path (theme, "/org/gradloom/Studio/icons");
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    if ((*op)->category != LOOM_CATEGORY_HIDDEN && !gtk_icon_theme_has_icon (theme, (*op)->icon))
      g_error ("no icon %s for %s", (*op)->icon, (*op)->name);
}

static GtkWidget *
find_label (GtkWidget *widget, const char *text)
{
  GtkWidget *found = NULL;
  if (GTK_IS_LABEL (widget) && strstr (gtk_label_get_text (GTK_LABEL (widget)), text) != NULL)
    return widget;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find_label (child, text);
  return found;
}

/* The reason why a file cannot be opened is shown completely, with line and remedy, and the window is unchanged. */
static void
open_bad_file (StudioWindow *window, const char *path, const char *why)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *text = g_strdup_printf ("“%s” cannot be opened\n%s", name, why);
  StudioPage *page = studio_window_get_page (window);
  guint n = studio_window_n_pages (window);
  studio_window_open_file (window, file);
  g_assert_true (studio_window_get_page (window) == page);
  g_assert_cmpuint (studio_window_n_pages (window), ==, n);
  GtkWidget *label = find_label (GTK_WIDGET (page), "cannot be opened");
  g_assert_nonnull (label);
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (label)), ==, text);
  adw_toast_overlay_add_toast (ADW_TOAST_OVERLAY (gtk_widget_get_ancestor (label, ADW_TYPE_TOAST_OVERLAY)),
                               adw_toast_new (""));
}

static void
open_bad_files (StudioWindow *window)
{
  g_autofree char *bad
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests/recipe/bad/not-well-formed.xml", NULL);
  open_bad_file (window, bad,
                 "Line 4: <node>, which begins in line 3, is not closed before </graph>: write </node> first, or end "
                 "it with />.");
  /* Two sentences, of which the system's own has no full stop. */
  g_autoptr (GFile) folder = g_file_new_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", NULL);
  g_autoptr (GError) error = NULL;
  g_assert_false (studio_page_open_file (studio_window_get_page (window), folder, &error));
  g_assert_true (g_str_has_suffix (error->message, ". It is a folder. Use Open to choose a graph in it."));
}

static gboolean
has_right_angles (StudioWindow *window)
{
  return studio_canvas_get_right_angles (studio_window_get_canvas (window));
}

/* Wires run as they were chosen to: in the next version of the graph, too, and in a window that is opened later. */
static void
wires_as_chosen (StudioWindow *window, AdwApplication *application)
{
  StudioWindow *other;

  g_assert_false (has_right_angles (window));
  g_action_group_activate_action (G_ACTION_GROUP (window), "wires", g_variant_new_string ("right-angles"));
  g_assert_true (has_right_angles (window));
  studio_document_add_node (studio_window_get_document (window), "relu", 0, 0);
  g_assert_true (has_right_angles (window));
  other = studio_window_new (application);
  g_action_group_activate_action (G_ACTION_GROUP (other), "example", g_variant_new_string ("lessons/spirals"));
  g_assert_true (has_right_angles (other));
  gtk_window_destroy (GTK_WINDOW (other));
  g_action_group_activate_action (G_ACTION_GROUP (window), "wires", g_variant_new_string ("curved"));
  g_assert_false (has_right_angles (window));
}

/* Without a name, what takes the focus is read aloud as its type, such as "GtkToggleButton". */
static gboolean
has_name (GtkWidget *widget)
{
  GtkAccessible *accessible = GTK_ACCESSIBLE (widget);
  const char *tooltip = gtk_widget_get_tooltip_text (widget);

  return gtk_test_accessible_has_property (accessible, GTK_ACCESSIBLE_PROPERTY_LABEL)
         || gtk_test_accessible_has_relation (accessible, GTK_ACCESSIBLE_RELATION_LABELLED_BY)
         || (tooltip != NULL && *tooltip != '\0')
         /* Newer GTK names a menu button instead of the button in it. */
         || (GTK_IS_MENU_BUTTON (gtk_widget_get_parent (widget)) && has_name (gtk_widget_get_parent (widget)));
}

/* Lists are read by their rows, rows by their labels, the text in an entry with the entry, tabs by libadwaita, and the
 * buttons of a spin button by newer GTK. */
static gboolean
is_read_by_content (GtkWidget *widget)
{
  return GTK_IS_TEXT (widget) || GTK_IS_SCROLLED_WINDOW (widget) || GTK_IS_LIST_BASE (widget)
         || GTK_IS_SPIN_BUTTON (gtk_widget_get_parent (widget)) || GTK_IS_LIST_BOX (widget)
         || GTK_IS_LIST_BOX_ROW (widget) || g_str_equal (G_OBJECT_TYPE_NAME (widget), "GtkListItemWidget")
         || g_str_equal (G_OBJECT_TYPE_NAME (widget), "AdwGizmo");
}

/* Now, or in a popover that is closed. */
static gboolean
takes_focus (GtkWidget *widget)
{
  GtkWidget *revealer = gtk_widget_get_ancestor (widget, GTK_TYPE_REVEALER);

  if (!gtk_widget_get_focusable (widget)
      || (revealer != NULL && !gtk_revealer_get_reveal_child (GTK_REVEALER (revealer))))
    return FALSE;
  for (GtkWidget *w = widget; w != NULL && !GTK_IS_POPOVER (w); w = gtk_widget_get_parent (w))
    if (!gtk_widget_get_visible (w))
      return FALSE;
  return TRUE;
}

static void
expect_names (GtkWidget *top)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  find_widgets (top, GTK_TYPE_WIDGET, all);
  for (guint i = 0; i < all->len; i++)
    {
      GtkWidget *widget = all->pdata[i];

      if (takes_focus (widget) && !is_read_by_content (widget) && !has_name (widget))
        g_error ("a %s in a %s has no name", G_OBJECT_TYPE_NAME (widget),
                 G_OBJECT_TYPE_NAME (gtk_widget_get_parent (widget)));
    }
}

static void
activate_cb (GtkApplication *application, int *commands)
{
  StudioWindow *window = studio_window_new (ADW_APPLICATION (application));
  gtk_window_present (GTK_WINDOW (window));
  g_auto (GStrv) names = g_action_group_list_actions (G_ACTION_GROUP (window));
  *commands = (int)g_strv_length (names);
  open_bad_files (window);
  g_action_group_activate_action (G_ACTION_GROUP (window), "example", g_variant_new_string ("lessons/spirals"));
  g_assert_false (studio_document_is_empty (studio_window_get_document (window)));
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (studio_window_get_document (window))), ==, 0);
  while (g_main_context_iteration (NULL, FALSE))
    ;
  expect_names (GTK_WIDGET (window));
  /* A lesson is stretched unless one wants it fast; a window that is opened later begins as this one was set. */
  StudioRun *run = studio_window_get_run (window);
  g_assert_cmpfloat (studio_run_get_pace (run), ==, 30);
  g_action_group_activate_action (G_ACTION_GROUP (window), "speed", g_variant_new_string ("full"));
  g_assert_cmpfloat (studio_run_get_pace (run), ==, 0);
  StudioWindow *other = studio_window_new (ADW_APPLICATION (application));
  g_assert_cmpfloat (studio_run_get_pace (studio_window_get_run (other)), ==, 0);
  gtk_window_destroy (GTK_WINDOW (other));
  g_action_group_activate_action (G_ACTION_GROUP (window), "speed", g_variant_new_string ("walking"));
  g_assert_cmpfloat (studio_run_get_pace (run), ==, 0);
  g_action_group_activate_action (G_ACTION_GROUP (window), "speed", g_variant_new_string ("watch"));
  g_assert_cmpfloat (studio_run_get_pace (run), ==, 30);
  wires_as_chosen (window, ADW_APPLICATION (application));
  for (int on = 0; on < 2; on++)
    {
      g_action_group_activate_action (G_ACTION_GROUP (window), "present", NULL);
      while (g_main_context_iteration (NULL, FALSE))
        ;
    }
  gtk_window_destroy (GTK_WINDOW (window));
}

static void
test_window (void)
{
  int commands = 0;
  g_autoptr (AdwApplication) application = adw_application_new ("org.gradloom.Test", G_APPLICATION_NON_UNIQUE);
  g_signal_connect (application, "activate", G_CALLBACK (activate_cb), &commands);
  g_assert_cmpint (g_application_run (G_APPLICATION (application), 0, NULL), ==, 0);
  g_assert_cmpint (commands, >, 25);
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
  g_test_add_func ("/window/chart", test_chart);
  g_test_add_func ("/window/small-widgets", test_small_widgets);
  g_test_add_func ("/window/settings", test_settings);
  g_test_add_func ("/window/rate-field", test_rate_field);
  g_test_add_func ("/window/run-fault", test_run_fault);
  g_test_add_func ("/window/nothing-to-train", test_nothing_to_train);
  g_test_add_func ("/window/search", test_search);
  g_test_add_func ("/window/choices", test_choices);
  g_test_add_func ("/window/lists", test_lists);
  g_test_add_func ("/window/formula-field", test_formula_field);
  g_test_add_func ("/window/large-text", test_large_text);
  g_test_add_func ("/window/rate-popover", test_rate_popover);
  g_test_add_func ("/window/icons", test_icons);
  g_test_add_func ("/window/window", test_window);
  return g_test_run ();
}
