/* An own input that cannot be read, or is taken back, leaves no prediction of the input before it. The worker predicts.
 */
#include <adwaita.h>
#include <string.h>

#include "gradloom-resources.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/ui/find-widgets.h"
#include "ui/evaluate/studio-own-input.h"
#include "ui/task/studio-task-view.h"

/* A graph whose data set has these attributes, with the nodes that end at `loss`. */
#define GRAPH(DATA, NODES)                                                                                             \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" " DATA "/>" NODES                \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" "            \
  "optimizer=\"sgd\" lr=\"0.01\" batch_size=\"8\" epochs=\"2\" seed=\"1\"/></graph>"

typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioEvaluation *model;
  GtkWidget *window, *own;
} Fixture;

#define WAIT_FOR(condition)                                                                                            \
  while (!(condition))                                                                                                 \
  g_main_context_iteration (NULL, TRUE)

/* The worker waits after its first step, so that predictions do not change by themselves. Paths are relative to the
 * folder, which may be NULL. */
static Fixture
fixture_new (const char *graph, const char *folder)
{
  Fixture f = { studio_document_new (), studio_run_new (), NULL, gtk_window_new (), NULL };
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_open_text (f.document, graph, -1, folder, &error));

  options.paused = TRUE;
  studio_document_mark_run (f.document);
  studio_run_start (f.run, graph, folder, "own", &options);
  studio_run_step (f.run);
  while (studio_run_get_state (f.run) != STUDIO_RUN_PAUSED || studio_run_get_step (f.run) < 1)
    {
      g_assert_true (studio_run_is_live (f.run));
      g_main_context_iteration (NULL, TRUE);
    }
  f.model = studio_evaluation_new (f.document, f.run);
  f.own = studio_own_input_new (f.model);
  gtk_window_set_child (GTK_WINDOW (f.window), f.own);
  gtk_window_present (GTK_WINDOW (f.window));
  return f;
}

static void
fixture_clear (Fixture *f)
{
  gtk_window_destroy (GTK_WINDOW (f->window));
  studio_run_close (f->run);
  while (studio_worker_n_exiting () > 0)
    g_main_context_iteration (NULL, TRUE);
  g_object_unref (f->model);
  g_object_unref (f->run);
  g_object_unref (f->document);
}

static const char *
answer (const Fixture *f)
{
  return studio_own_input_get_answer (STUDIO_OWN_INPUT (f->own));
}

/* Whether a visible label below the widget contains this text. */
static gboolean
shows (GtkWidget *widget, const char *text)
{
  g_autoptr (GPtrArray) labels = g_ptr_array_new ();

  find_widgets (widget, GTK_TYPE_LABEL, labels);
  for (guint i = 0; i < labels->len; i++)
    if (gtk_widget_get_mapped (labels->pdata[i]) && strstr (gtk_label_get_text (labels->pdata[i]), text) != NULL)
      return TRUE;
  return FALSE;
}

/* Drops a file on the widget. */
static void
drop (const Fixture *f, GFile *file)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (f->own);
  g_auto (GValue) value = G_VALUE_INIT;
  gboolean taken = FALSE;

  g_value_init (&value, G_TYPE_FILE);
  g_value_set_object (&value, file);
  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_DROP_TARGET (controller))
        g_signal_emit_by_name (controller, "drop", &value, 0.0, 0.0, &taken);
    }
  g_assert_true (taken);
}

/* A point of the plane is predicted; a dropped file of words is no point, and then the message is alone. */
static void
test_file (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-own-XXXXXX", NULL),
                  *path = g_build_filename (folder, "words.csv", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);
  Fixture f = fixture_new (GRAPH ("source=\"spirals\"",
                                  "<node id=\"out\" op=\"linear\" out_features=\"2\"/><wire from=\"data.x\" "
                                  "to=\"out\"/><wire from=\"out\" to=\"loss.input\"/>"),
                           NULL);

  g_assert_true (g_file_set_contents (path, "no,numbers\n", -1, NULL));
  WAIT_FOR (answer (&f) != NULL);
  g_autofree char *before = g_strdup (answer (&f));
  g_assert_true (shows (f.own, before));
  drop (&f, file);
  WAIT_FOR (shows (f.own, "words.csv"));
  g_assert_null (answer (&f));
  g_assert_false (shows (f.own, before));
  g_assert_false (shows (f.own, "%"));
  fixture_clear (&f);
  remove_tree (folder);
}

/* A text is predicted; one with an unknown letter, one that is too short and an empty one are not. */
static void
test_text (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-own-XXXXXX", NULL),
                  *path = g_build_filename (folder, "lines.txt", NULL);
  g_autoptr (GString) lines = g_string_new (NULL);

  for (guint i = 0; i < 40; i++)
    g_string_append (lines, "the border closes around each spiral\n");
  g_assert_true (g_file_set_contents (path, lines->str, -1, NULL));
  Fixture f = fixture_new (
      GRAPH ("source=\"text\" path=\"lines.txt\" context=\"8\"",
             "<node id=\"embed\" op=\"embedding\" num_embeddings=\"17\" embedding_dim=\"4\"/><node id=\"out\" "
             "op=\"linear\" out_features=\"17\"/><node id=\"scores\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/>"
             "<wire from=\"data.x\" to=\"embed\"/><wire from=\"embed\" to=\"out\"/><wire from=\"out\" "
             "to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"),
      folder);
  GtkWidget *entry = NULL;

  WAIT_FOR ((entry = find_widget (f.own, GTK_TYPE_ENTRY)) != NULL && gtk_widget_get_mapped (entry));
  gtk_editable_set_text (GTK_EDITABLE (entry), "the bord");
  WAIT_FOR (answer (&f) != NULL);
  g_autofree char *before = g_strdup (answer (&f));
  g_assert_true (shows (f.own, before));
  gtk_editable_set_text (GTK_EDITABLE (entry), "the €");
  WAIT_FOR (shows (f.own, "€"));
  g_assert_null (answer (&f));
  g_assert_false (shows (f.own, before));
  gtk_editable_set_text (GTK_EDITABLE (entry), "the");
  WAIT_FOR (shows (f.own, "3 of the 8 tokens"));
  g_assert_null (answer (&f));
  gtk_editable_set_text (GTK_EDITABLE (entry), "the bord");
  WAIT_FOR (answer (&f) != NULL);
  gtk_editable_set_text (GTK_EDITABLE (entry), "");
  g_assert_null (answer (&f));
  g_assert_false (shows (f.own, before));
  fixture_clear (&f);
  remove_tree (folder);
}

TEST_FILE (argc, argv)
{
  g_autofree char *worker = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);

  g_setenv ("GRADLOOM_WORKER", worker, TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  g_test_add_func ("/own-input/file", test_file);
  g_test_add_func ("/own-input/text", test_text);
  return g_test_run ();
}
