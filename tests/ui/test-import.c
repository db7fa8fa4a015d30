/* Models of other programs that are dropped on the window: the question before, the files, and what is said. */
#include <adwaita.h>
#include <glib/gstdio.h>

#include "ui/shell/studio-toasts.h"
#include "tests/test-program.h"
#include "tests/ui/start-test.h"

static AdwMessageDialog *
find_question (void)
{
  GListModel *windows = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++)
    {
      g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);

      if (ADW_IS_MESSAGE_DIALOG (window) && gtk_widget_get_mapped (window))
        return ADW_MESSAGE_DIALOG (window);
    }
  return NULL;
}

/* Answers the question before an import, which names the file of the weights and its size. */
static void
answer_import (const char *response, const char *weights)
{
  AdwMessageDialog *dialog;

  WAIT_FOR (find_question () != NULL);
  dialog = find_question ();
  g_assert_nonnull (strstr (adw_message_dialog_get_body (dialog), weights));
  g_assert_nonnull (strstr (adw_message_dialog_get_body (dialog), "B."));
  adw_message_dialog_response (dialog, response);
  gtk_window_destroy (GTK_WINDOW (dialog)); /* a button does that */
  WAIT_FOR (find_question () == NULL);
}

/* *toast is that of the import of the model with this name, and becomes NULL as soon as nothing more is done for it. */
static void
follow_import (StudioWindow *window, const char *name, AdwToast **toast)
{
  g_autofree char *words = g_strdup_printf ("Reading “%s”", name);
  GtkWidget *widget = find_label (GTK_WIDGET (window), words, FALSE);

  while (strcmp (G_OBJECT_TYPE_NAME (widget), "AdwToastWidget") != 0)
    widget = gtk_widget_get_parent (widget);
  g_object_get (widget, "toast", toast, NULL);
  g_object_add_weak_pointer (G_OBJECT (*toast), (gpointer *)toast);
  g_object_unref (*toast);
}

/* A model becomes two files next to it, and a second import two others; an invalid model leaves no files. */
static void
test_model (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autofree char *from = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports", "mlp-script",
                                            "model.onnx", NULL);
  g_autofree char *graph = g_build_filename (folder, "mlp.xml", NULL);
  g_autofree char *weights = g_build_filename (folder, "mlp.safetensors", NULL);
  g_autofree char *second = g_build_filename (folder, "mlp-2.xml", NULL), *text = NULL;
  g_autoptr (GFile) model = NULL, bad = write_file ("bad.onnx", "this is no model");
  AdwToast *toast;
  gsize length;

  g_assert_true (g_file_get_contents (from, &text, &length, NULL));
  model = write_file ("mlp.onnx", "");
  g_assert_true (g_file_set_contents (g_file_peek_path (model), text, (gssize)length, NULL));
  gtk_window_present (GTK_WINDOW (window));
  /* It is asked first: Cancel writes nothing. */
  g_assert_true (drop (window, model));
  follow_import (window, "mlp.onnx", &toast);
  answer_import ("cancel", "mlp.safetensors");
  WAIT_FOR (toast == NULL);
  g_assert_false (g_file_test (graph, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (weights, G_FILE_TEST_EXISTS));
  g_assert_true (studio_document_is_empty (studio_window_get_document (window)));
  g_assert_true (drop (window, bad));
  WAIT_FOR (find_words (GTK_WIDGET (window), "“bad.onnx” cannot be opened") != NULL);
  g_assert_true (studio_document_is_empty (studio_window_get_document (window)));
  g_assert_true (drop (window, model));
  answer_import ("import", "mlp.safetensors");
  WAIT_FOR (!studio_document_is_empty (studio_window_get_document (window)));
  g_assert_cmpstr (studio_document_get_path (studio_window_get_document (window)), ==, graph);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
  g_assert_cmpuint (loom_faults_length (studio_document_get_faults (studio_window_get_document (window))), ==, 0);
  /* Training will begin from them. */
  g_assert_cmpstr (train_attribute (window, "weights"), ==, "mlp.safetensors");
  g_assert_true (drop (window, model));
  answer_import ("import", "mlp-2.safetensors");
  WAIT_FOR (studio_window_n_pages (window) == 2);
  g_assert_true (g_file_test (second, G_FILE_TEST_EXISTS));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* A fixed batch is opened unless the question's check box is cleared. */
static void
test_batch (void)
{
  g_autofree char *from = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "ui", "fixed-batch.onnx", NULL);
  g_autofree char *text = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (from, &text, &length, NULL));
  for (guint keeps = 0; keeps < 2; keeps++)
    {
      StudioWindow *window = studio_window_new (application);
      g_autofree char *name = g_strdup_printf ("batch-%u.onnx", keeps);
      g_autoptr (GFile) model = write_file (name, "");
      AdwMessageDialog *dialog;
      GtkCheckButton *check;

      g_assert_true (g_file_set_contents (g_file_peek_path (model), text, (gssize)length, NULL));
      gtk_window_present (GTK_WINDOW (window));
      g_assert_true (drop (window, model));
      WAIT_FOR (find_question () != NULL);
      dialog = find_question ();
      check = GTK_CHECK_BUTTON (adw_message_dialog_get_extra_child (dialog));
      g_assert_nonnull (strstr (gtk_check_button_get_label (check), "not just 2"));
      gtk_check_button_set_active (check, keeps == 0);
      adw_message_dialog_response (dialog, "import");
      gtk_window_destroy (GTK_WINDOW (dialog));
      WAIT_FOR (!studio_document_is_empty (studio_window_get_document (window)));
      const LoomElement *root = loom_graph_root (studio_document_get_graph (studio_window_get_document (window)));
      g_assert_cmpstr (loom_element_get (loom_scope_find_node (root, "x"), "shape"), ==, keeps == 0 ? "B,3" : "2,3");
      gtk_window_destroy (GTK_WINDOW (window));
    }
}

/* A question that is destroyed without a response ends its import, whose toast nothing else keeps. */
static void
test_unanswered (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autofree char *from = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports", "mlp-script",
                                            "model.onnx", NULL);
  g_autoptr (GFile) model = g_file_new_for_path (from);
  AdwToast *toast;

  gtk_window_present (GTK_WINDOW (window));
  g_assert_true (drop (window, model));
  follow_import (window, "model.onnx", &toast);
  WAIT_FOR (find_question () != NULL);
  g_assert_nonnull (toast);
  gtk_window_destroy (GTK_WINDOW (find_question ()));
  WAIT_FOR (toast == NULL);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* A model that computes with a size of its input asks for it, and is imported with the number that was typed. */
static void
test_open_size (void)
{
  StudioWindow *window = studio_window_new (application);
  g_autofree char *from
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "ui", "open-sequence.onnx", NULL);
  g_autofree char *text = NULL, *xml = NULL;
  g_autoptr (GFile) model = write_file ("sequence.onnx", "");
  AdwMessageDialog *question;
  gsize length;

  g_assert_true (g_file_get_contents (from, &text, &length, NULL));
  g_assert_true (g_file_set_contents (g_file_peek_path (model), text, (gssize)length, NULL));
  gtk_window_present (GTK_WINDOW (window));
  g_assert_true (drop (window, model));
  WAIT_FOR (find_question () != NULL);
  question = find_question ();
  g_assert_nonnull (strstr (adw_message_dialog_get_body (question), "ends at a dynamic size"));
  gtk_editable_set_text (GTK_EDITABLE (gtk_widget_get_first_child (adw_message_dialog_get_extra_child (question))),
                         "5");
  adw_message_dialog_response (question, "import");
  gtk_window_destroy (GTK_WINDOW (question));
  g_assert_null (find_question ()); /* the next one may have its address */
  WAIT_FOR (find_question () != NULL);
  answer_import ("import", "sequence.safetensors");
  WAIT_FOR (!studio_document_is_empty (studio_window_get_document (window)));
  xml = loom_graph_write (studio_document_get_graph (studio_window_get_document (window)), NULL);
  g_assert_nonnull (strstr (xml, "shape=\"2,5\""));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* Batch norm that an exporter may have folded into convolutions is said with the graph that the model becomes. */
static void
test_folded (void)
{
  StudioWindow *window = studio_window_new (application);
  /* The model, and the file of its weights, which it names. */
  static const char *const from[] = { "model.onnx", "model.onnx.data" }, *const to[]
                                                                         = { "folded.onnx", "model.onnx.data" };
  g_autoptr (GFile) model = write_file (to[0], "");

  for (guint i = 0; i < G_N_ELEMENTS (from); i++)
    {
      g_autofree char *source = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "onnx", "exports",
                                                  "super-resolution-dynamo", from[i], NULL);
      g_autofree char *target = g_build_filename (folder, to[i], NULL), *text = NULL;
      gsize length;

      g_assert_true (g_file_get_contents (source, &text, &length, NULL));
      g_assert_true (g_file_set_contents (target, text, (gssize)length, NULL));
    }
  gtk_window_present (GTK_WINDOW (window));
  g_assert_true (drop (window, model));
  answer_import ("import", "folded.safetensors");
  WAIT_FOR (find_words (GTK_WIDGET (window), "The model was imported as folded.xml") != NULL);
  g_assert_nonnull (find_words (GTK_WIDGET (window), "no batch norm follows"));
  g_assert_nonnull (find_words (GTK_WIDGET (window), "torch.onnx.export"));
  gtk_window_destroy (GTK_WINDOW (window));
}

TEST_FILE (argc, argv)
{
  start_test_init (&argc, &argv, "org.gradloom.TestImport");
  g_test_add_func ("/import/model", test_model);
  g_test_add_func ("/import/batch", test_batch);
  g_test_add_func ("/import/unanswered", test_unanswered);
  g_test_add_func ("/import/folded", test_folded);
  g_test_add_func ("/import/open-size", test_open_size);
  return g_test_run ();
}
