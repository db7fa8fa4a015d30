/* Pins as widgets: words, cursor, files, sizes and menu; and the values that they request from a worker. */
#include <adwaita.h>
#include <signal.h>
#include <string.h>

#include "gradloom-resources.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "tests/ui/pin-sample.h"
#include "ui/pins/pin.h"
#include "ui/pins/studio-pin-view.h"

/* The widget: words for a screen reader, the cursor, and files of each kind. */
static void
check_view (const StudioPinKind *kind, const char *folder)
{
  static const gint64 dims[] = { 2, 3, 4 };
  static const char *const suffixes[] = { "svg", "png", "csv" };
  StudioPinView *view = g_object_ref_sink (studio_pin_view_new (kind));
  gpointer last = view;
  g_autoptr (GError) error = NULL;

  g_object_add_weak_pointer (G_OBJECT (view), &last);
  g_assert_true (gtk_test_accessible_has_property (GTK_ACCESSIBLE (view), GTK_ACCESSIBLE_PROPERTY_LABEL));
  g_assert_null (studio_pin_view_get_value (view));
  g_assert_false (studio_pin_view_move_cursor (view, 1, 0));
  g_assert_false (studio_pin_view_export (view, "nothing.svg", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  studio_pin_view_take (view, pin_sample_new (840, 3, dims));
  g_assert_cmpint (studio_pin_view_get_value (view)->step, ==, 840);
  g_assert_cmpstr (studio_pin_view_get_caption (view), ==, "block.1.conv · channel 2 of 3 · step 840");
  gtk_test_accessible_assert_property (view, GTK_ACCESSIBLE_PROPERTY_LABEL, studio_pin_view_get_caption (view));
  /* The surface has cells of the task, which is not there. */
  if (kind->cell_at != NULL && kind->n_cells == NULL)
    {
      g_assert_true (studio_pin_view_move_cursor (view, 1, 0));
      g_assert_nonnull (studio_pin_view_get_cell_words (view));
    }
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++)
    {
      g_autofree char *name = g_strdup_printf ("%s.%s", kind->name, suffixes[i]);
      g_autofree char *path = g_build_filename (folder, name, NULL), *text = NULL;
      gsize length;

      g_clear_error (&error);
      g_assert_true (studio_pin_view_export (view, path, &error));
      g_assert_true (g_file_get_contents (path, &text, &length, NULL));
      g_assert_cmpuint (length, >, 10);
      g_remove (path);
    }
  studio_pin_view_clear (view, "block.1.conv", "No such port.");
  g_assert_null (studio_pin_view_get_value (view));
  g_object_unref (view);
  g_assert_null (last);
}

static void
test_views (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-pins-XXXXXX", NULL);

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    check_view (studio_pin_kind (i), folder);
  remove_tree (folder);
}

static int
height_of (StudioPinView *view, double text_scale)
{
  int height;

  studio_pin_view_set_text_scale (view, text_scale);
  gtk_widget_measure (GTK_WIDGET (view), GTK_ORIENTATION_VERTICAL, 162, NULL, &height, NULL, NULL);
  return height;
}

/* With large text a pin is higher by the lines of text in it, so that its picture stays as it is; the caption of a low
 * one has two lines if it does not fit into one. */
static void
test_height (void)
{
  static const gint64 dims[] = { 2, 3, 4 };

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    {
      const StudioPinKind *kind = studio_pin_kind (i);
      StudioPinView *view = g_object_ref_sink (studio_pin_view_new (kind));

      studio_pin_view_set_size (view, 176, 120);
      g_assert_cmpint (height_of (view, 2) - height_of (view, 1), ==, (int)(2 * 15 + 13 * kind->lines));
      studio_pin_view_set_size (view, 176, 90);
      studio_pin_view_take (view, pin_sample_new (840, 3, dims));
      g_assert_cmpint (height_of (view, 2) - height_of (view, 1), ==, (int)(3 * 15 + 13 * kind->lines));
      g_object_unref (view);
    }
}

/* Earlier steps belong to the kind that remembered them. */
static void
test_change_of_kind (void)
{
  StudioPinView *view = g_object_ref_sink (studio_pin_view_new (studio_pin_kind_find ("scalar")));

  for (gint64 step = 1; step <= 9; step++)
    studio_pin_view_take (view, pin_sample_new (step, 0, NULL));
  for (int i = 0; i < 9; i++)
    g_assert_true (studio_pin_view_move_cursor (view, 1, 0));
  g_assert_false (studio_pin_view_move_cursor (view, 1, 0));
  g_assert_nonnull (strstr (studio_pin_view_get_cell_words (view), "step 9"));
  studio_pin_view_set_kind (view, studio_pin_kind_find ("heatmap"));
  g_assert_null (studio_pin_view_get_value (view));
  g_assert_null (studio_pin_view_get_cell_words (view));
  g_object_unref (view);
}

/* The pointer stays at a place, where the next value has another cell: that of the chosen head. */
static void
test_pointer_stays (void)
{
  static const gint64 dims[] = { 2, 5, 5 };
  StudioPinView *view = studio_pin_view_new (studio_pin_kind_find ("attention"));
  GtkWidget *window = gtk_window_new ();
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (view));
  PinValue *other = pin_sample_new (841, 3, dims);

  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (view));
  gtk_window_present (GTK_WINDOW (window));
  while (gtk_widget_get_width (GTK_WIDGET (view)) < 200)
    g_main_context_iteration (NULL, TRUE);
  studio_pin_view_take (view, pin_sample_new (840, 3, dims));
  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_EVENT_CONTROLLER_MOTION (controller))
        g_signal_emit_by_name (controller, "motion", 120., 170.);
    }
  g_assert_true (g_str_has_prefix (studio_pin_view_get_cell_words (view), "sample 1, "));
  other->index[0] = 1;
  studio_pin_view_take (view, other);
  g_assert_true (g_str_has_prefix (studio_pin_view_get_cell_words (view), "sample 2, "));
  /* A cell that keys have chosen stays. */
  g_assert_true (studio_pin_view_move_cursor (view, -1, 0));
  studio_pin_view_take (view, pin_sample_new (842, 3, dims));
  g_assert_true (g_str_has_prefix (studio_pin_view_get_cell_words (view), "sample 2, "));
  gtk_window_destroy (GTK_WINDOW (window));
}

#define WATCHED                                                                                                        \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"shapes\" "              \
  "target_type=\"class\" shapes=\"1\" size=\"16\"/><node id=\"conv\" op=\"conv2d\" out_channels=\"4\" "                \
  "kernel_size=\"3\"/><node id=\"flat\" op=\"flatten\"/><node id=\"out\" op=\"linear\" out_features=\"12\"/>"          \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"conv\"/><wire from=\"conv\" to=\"flat\"/>"       \
  "<wire from=\"flat\" to=\"out\"/><wire from=\"out\" to=\"loss.input\"/><wire from=\"data.y\" "                       \
  "to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"8\" epochs=\"2\" "              \
  "seed=\"1\"/><view><pin tensor=\"conv\" kind=\"heatmap\"/></view></graph>"

static void
placed_cb (Pin *pin, gpointer data)
{
}

static void
saved_cb (Pin *pin, const char *suffix, gpointer data)
{
}

/* A worker that waits after its first step. */
static StudioRun *
new_paused_run (StudioDocument *document)
{
  g_autofree char *xml = loom_graph_write (studio_document_get_graph (document), NULL);
  StudioRun *run = studio_run_new ();
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;

  options.paused = TRUE;
  studio_document_mark_run (document);
  studio_run_start (run, xml, NULL, "pins", &options);
  studio_run_step (run);
  while (studio_run_get_state (run) != STUDIO_RUN_PAUSED || studio_run_get_step (run) < 1)
    {
      g_assert_true (studio_run_is_live (run));
      g_main_context_iteration (NULL, TRUE);
    }
  return run;
}

/* Waits for the value of a channel; each value that is shown until then is the one of its own channel. */
static float
wait_for_channel (StudioPinView *view, gint64 channel, const float *known)
{
  for (;;)
    {
      const PinValue *value = studio_pin_view_get_value (view);

      if (known != NULL && value != NULL)
        g_assert_cmpfloat (value->values[0], ==, known[value->index[1]]);
      if (value != NULL && value->index[1] == channel)
        return value->values[0];
      g_main_context_iteration (NULL, TRUE);
    }
}

/* The reply to an earlier choice is not shown as the present one. */
static void
test_late_reply (void)
{
  g_autoptr (StudioDocument) document = document_load (WATCHED);
  g_autoptr (StudioRun) run = new_paused_run (document);
  LoomElement *view = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_VIEW);
  const PinOwner owner = { document, run, NULL, placed_cb, saved_cb, NULL };
  Pin *pin = pin_new (&owner, loom_element_child (view, 0));
  GtkWidget *window = gtk_window_new (), *widget = GTK_WIDGET (pin_get_view (pin));
  const GPid worker = (GPid)g_ascii_strtoll (studio_run_get_worker_pid (run), NULL, 10);
  float known[4];

  gtk_window_set_child (GTK_WINDOW (window), pin_get_frame (pin));
  /* A hidden pin requests nothing: its value comes after the window. */
  pin_pull (pin);
  g_assert_null (studio_pin_view_get_value (pin_get_view (pin)));
  gtk_window_present (GTK_WINDOW (window));
  known[0] = wait_for_channel (pin_get_view (pin), 0, NULL);
  for (gint64 channel = 1; channel < 4; channel++)
    {
      gtk_widget_activate_action (widget, "pin.step", "(ii)", 0, 1);
      known[channel] = wait_for_channel (pin_get_view (pin), channel, NULL);
      g_assert_cmpfloat (known[channel], !=, known[channel - 1]);
    }
  kill (worker, SIGSTOP);
  gtk_widget_activate_action (widget, "pin.step", "(ii)", 0, -1);
  gtk_widget_activate_action (widget, "pin.step", "(ii)", 0, -1);
  kill (worker, SIGCONT);
  wait_for_channel (pin_get_view (pin), 1, known);
  pin_detach (pin);
  gtk_window_destroy (GTK_WINDOW (window));
  pin_unref (pin);
  studio_run_close (run);
  while (studio_worker_n_exiting () > 0)
    g_main_context_iteration (NULL, TRUE);
}

static gboolean
has_label (GMenuModel *menu, const char *label)
{
  for (int i = 0; i < g_menu_model_get_n_items (menu); i++)
    {
      g_autoptr (GMenuLinkIter) links = g_menu_model_iterate_item_links (menu, i);
      g_autofree char *text = NULL;

      if (g_menu_model_get_item_attribute (menu, i, G_MENU_ATTRIBUTE_LABEL, "s", &text) && g_str_equal (text, label))
        return TRUE;
      while (g_menu_link_iter_next (links))
        {
          g_autoptr (GMenuModel) inner = g_menu_link_iter_get_value (links);

          if (has_label (inner, label))
            return TRUE;
        }
    }
  return FALSE;
}

/* Its menu names tensors with all their signs, and sets the colours in the file; tools are apart from the legend. */
static void
test_menu (void)
{
  g_autoptr (StudioDocument) document = document_load (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" shape=\"B,8\"/>"
      "<node id=\"to_hidden_size\" op=\"linear\" out_features=\"4\"/><wire from=\"x\" to=\"to_hidden_size\"/>"
      "<view><pin tensor=\"to_hidden_size\" kind=\"heatmap\"/></view></graph>");
  g_autoptr (StudioRun) run = studio_run_new ();
  LoomElement *element = loom_element_child (
      loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_VIEW), 0);
  const PinOwner owner = { document, run, NULL, placed_cb, saved_cb, NULL };
  Pin *pin = pin_new (&owner, element);
  GtkWidget *window = gtk_window_new (), *frame = pin_get_frame (pin);
  g_autoptr (GPtrArray) buttons = g_ptr_array_new ();

  gtk_window_set_child (GTK_WINDOW (window), frame);
  gtk_window_present (GTK_WINDOW (window));
  find_widgets (frame, GTK_TYPE_MENU_BUTTON, buttons);
  g_assert_cmpuint (buttons->len, ==, 2);
  GtkMenuButton *button = buttons->pdata[1];
  gtk_menu_button_popup (button);
  g_assert_true (has_label (gtk_menu_button_get_menu_model (button), "to__hidden__size"));
  g_assert_true (has_label (gtk_menu_button_get_menu_model (button), "gradient of to__hidden__size.weight"));
  gtk_menu_button_popdown (button);
  g_assert_cmpint (gtk_widget_get_valign (gtk_widget_get_parent (GTK_WIDGET (button))), ==, GTK_ALIGN_START);
  for (guint i = 0; i < PIN_N_SCALES; i++)
    {
      const char *word = pin_scale_word ((PinScale)((i + 1) % PIN_N_SCALES));

      gtk_widget_activate_action (GTK_WIDGET (pin_get_view (pin)), "pin.colors", "s", word);
      g_assert_cmpstr (loom_element_get (element, PIN_COLORS), ==, g_str_equal (word, "linear") ? NULL : word);
      g_assert_cmpint (pin_scale_find (loom_element_get (element, PIN_COLORS)), ==, (i + 1) % PIN_N_SCALES);
    }
  pin_detach (pin);
  gtk_window_destroy (GTK_WINDOW (window));
  pin_unref (pin);
}

/* Values and gradients are of a fixed batch, as the caption says; a weight is of no sample. */
static void
test_fixed_samples (void)
{
  static const struct
  {
    const char *tensor, *kind, *where;
  } cases[] = { { "conv", "heatmap", "channel 1 of 4 · sample 1 of 32 fixed samples" },
                { "out", "heatmap", "of 32 fixed samples" },
                { "loss", "scalar", "of 32 fixed samples" },
                { "grad:out.weight", "heatmap", "of 32 fixed samples" },
                { "out.weight", "heatmap", "" } };
  g_autoptr (StudioDocument) document = document_load (WATCHED);
  g_autoptr (StudioRun) run = new_paused_run (document);
  LoomElement *view = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_VIEW);
  const PinOwner owner = { document, run, NULL, placed_cb, saved_cb, NULL };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GtkWidget *window = gtk_window_new ();
      g_autofree char *part = g_strdup_printf (" · %s · step 1", cases[i].where);

      studio_document_begin (document, "Watch");
      studio_document_edit (document, loom_edit_set (loom_element_child (view, 0), "tensor", cases[i].tensor));
      studio_document_edit (document, loom_edit_set (loom_element_child (view, 0), "kind", cases[i].kind));
      studio_document_end (document);
      Pin *pin = pin_new (&owner, loom_element_child (view, 0));
      gtk_window_set_child (GTK_WINDOW (window), pin_get_frame (pin));
      gtk_window_present (GTK_WINDOW (window));
      while (
          studio_pin_view_get_value (pin_get_view (pin)) == NULL
          || (cases[i].where[0] != '\0' && strstr (studio_pin_view_get_caption (pin_get_view (pin)), "fixed") == NULL))
        g_main_context_iteration (NULL, TRUE);
      g_test_message ("%s", studio_pin_view_get_caption (pin_get_view (pin)));
      if (cases[i].where[0] != '\0')
        g_assert_true (g_str_has_suffix (studio_pin_view_get_caption (pin_get_view (pin)), part));
      else
        g_assert_null (strstr (studio_pin_view_get_caption (pin_get_view (pin)), "sample"));
      pin_detach (pin);
      gtk_window_destroy (GTK_WINDOW (window));
      pin_unref (pin);
    }
  studio_run_close (run);
  while (studio_worker_n_exiting () > 0)
    g_main_context_iteration (NULL, TRUE);
}

TEST_FILE (argc, argv)
{
  g_autofree char *worker = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);

  g_setenv ("GRADLOOM_WORKER", worker, TRUE);
  g_setenv ("GTK_A11Y", "test", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  g_test_add_func ("/pins/views", test_views);
  g_test_add_func ("/pins/height", test_height);
  g_test_add_func ("/pins/change-of-kind", test_change_of_kind);
  g_test_add_func ("/pins/late-reply", test_late_reply);
  g_test_add_func ("/pins/pointer-stays", test_pointer_stays);
  g_test_add_func ("/pins/menu", test_menu);
  g_test_add_func ("/pins/fixed-samples", test_fixed_samples);
  return g_test_run ();
}
