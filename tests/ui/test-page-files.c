/* A page's files and questions, each made without a page. */
#include <adwaita.h>
#include <glib/gstdio.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-graphs.h"
#include "tests/ui/document-test.h"
#include "tests/ui/page-frame.h"
#include "ui/page/graph-file.h"
#include "ui/page/open-documents.h"
#include "ui/page/page-content.h"
#include "ui/page/studio-disk-bar.h"
#include "ui/page/studio-guard.h"
#include "ui/stepper/studio-step-layer.h"

static char *folder;

static char *
write_chain (const char *name)
{
  char *path = g_build_filename (folder, name, NULL);
  g_assert_true (g_file_set_contents (path, CHAIN, -1, NULL));
  return path;
}

/* A file that cannot be read is explained, without its path at the beginning. */
static void
test_graph_file (void)
{
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GFile) missing = g_file_new_build_filename (folder, "no-such.xml", NULL);
  g_autoptr (GError) error = NULL;
  g_assert_false (graph_file_open (document, missing, &error));
  g_assert_nonnull (strstr (error->message, "Use Open to find it."));
  g_assert_true (g_unichar_isupper (g_utf8_get_char (error->message)));
  g_clear_error (&error);
  g_assert_true (graph_file_open_example (document, "lessons/spirals", &error));
  g_assert_false (studio_document_is_empty (document));
}

static void
test_open_documents (void)
{
  g_autofree char *path = write_chain ("opened.xml"), *link = g_build_filename (folder, "link.xml", NULL);
  g_autoptr (StudioDocument) document = studio_document_new ();
  g_autoptr (GFile) file = g_file_new_for_path (link);
  g_assert_true (studio_document_open (document, path, NULL));
  g_assert_cmpint (symlink (path, link), ==, 0);
  g_assert_null (open_documents_find (file));
  open_documents_add (document, NULL);
  g_assert_true (open_documents_find (file) == document);
  open_documents_remove (document);
  g_assert_null (open_documents_find (file));
}

static void
opened_cb (gpointer data)
{
  ++*(guint *)data;
}

/* Another graph is announced, and nothing of a run or a recording of the earlier one is left; a text that is no graph
 * changes nothing. */
static void
test_content (void)
{
  static const char text[] = CHAIN, broken[] = "<graph";
  g_autoptr (GError) error = NULL;
  guint opened = 0;
  Frame frame;
  frame_begin (&frame, GRAPH (""));
  GtkWidget *paned = g_object_ref_sink (gtk_paned_new (GTK_ORIENTATION_VERTICAL));
  GtkWidget *stage = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 0));
  StudioPalette *palette = g_object_ref_sink (studio_palette_new (frame.document, frame.canvas));
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioStartCover cover = { frame.document, frame.canvas, g_object_ref_sink (studio_start_page_new ()), TRUE };
  PageContent content = { .document = frame.document,
                          .run = frame.run,
                          .recording_bar = g_object_ref_sink (g_object_new (STUDIO_TYPE_RECORDING_BAR, NULL)),
                          .panel_split = studio_panel_split_new (GTK_PANED (paned), gtk_label_new ("panel")),
                          .runner = studio_runner_new (frame.document, frame.run, frame.toasts, questions),
                          .fitter = canvas_fitter_new (frame.canvas, NULL, NULL),
                          .cover = &cover,
                          .lesson_tab = studio_lesson_tab_new (frame.document, frame.run, frame.canvas, palette,
                                                               frame.panes, frame.toasts),
                          .task_tab = studio_task_tab_new (frame.document, frame.run, frame.canvas, frame.panes, stage),
                          .opened = opened_cb,
                          .data = &opened };
  studio_recording_bar_set (content.recording_bar, frame.document, frame.run);
  studio_run_set_ranks (frame.run, 3);
  studio_panel_split_show (content.panel_split);
  g_assert_true (page_content_open_text (&content, text, -1, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (opened, ==, 1);
  g_assert_false (studio_document_is_empty (frame.document));
  g_assert_false (studio_panel_split_is_available (content.panel_split));
  g_assert_cmpint (studio_run_get_ranks (frame.run), ==, 1); /* the graph needs no more */
  g_assert_false (page_content_open_text (&content, broken, -1, &error));
  g_assert_nonnull (error);
  g_assert_cmpuint (opened, ==, 1);
  g_assert_false (studio_document_is_empty (frame.document));
  page_content_reset (&content);
  g_assert_cmpuint (opened, ==, 2);
  g_assert_true (studio_document_is_empty (frame.document));
  g_assert_false (cover.is_dismissed);
  studio_runner_close (content.runner);
  canvas_fitter_free (content.fitter);
  release (content.runner);
  release (content.panel_split);
  g_object_unref (content.task_tab);
  g_object_unref (content.lesson_tab);
  g_object_unref (content.recording_bar);
  studio_start_cover_clear (&cover);
  g_object_unref (cover.page);
  studio_questions_free (questions);
  g_object_unref (palette);
  g_object_unref (stage);
  g_object_unref (paned);
  frame_end (&frame);
}

static void
then_cb (gpointer owner, gpointer data)
{
  ((int *)data)[0]++;
}

static void
otherwise_cb (gpointer owner, gpointer data)
{
  ((int *)data)[1]++;
}

static StudioAfter *
after_new (Frame *frame, int *calls)
{
  return studio_after_new (frame->document, then_cb, otherwise_cb, calls);
}

/* A save takes typed text first; what waits for it follows the save only; a file of another document is refused. */
static void
test_saver (void)
{
  Frame frame;
  g_autofree char *path = write_chain ("saved.xml");
  int calls[2] = { 0 };
  guint commits = 0;
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioSaver *saver = studio_saver_new (frame.document, frame.toasts, questions);
  g_signal_connect_swapped (saver, "commit", G_CALLBACK (count_cb), &commits);
  g_assert_true (studio_document_open (frame.document, path, NULL));
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "5");

  studio_saver_save (saver);
  g_assert_cmpuint (commits, ==, 1);
  while (studio_document_is_edited (frame.document))
    g_main_context_iteration (NULL, TRUE);
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "6");
  studio_saver_save_before (saver, after_new (&frame, calls));
  while (calls[0] + calls[1] == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (calls[0], ==, 1);
  g_assert_cmpint (calls[1], ==, 0);

  g_autoptr (StudioDocument) other = studio_document_new ();
  g_assert_true (studio_document_open (other, path, NULL));
  open_documents_add (other, NULL);
  const guint said = frame.said;
  studio_saver_save_before (saver, after_new (&frame, calls));
  g_assert_cmpuint (frame.said, ==, said + 1);
  g_assert_cmpint (calls[1], ==, 1);
  open_documents_remove (other);

  /* Another program has written the file. */
  g_assert_true (g_file_set_contents (path, GRAPH (""), -1, NULL));
  studio_document_set_attribute (frame.document, document_serial (frame.document, "fc"), "out_features", "7");
  studio_saver_save_before (saver, after_new (&frame, calls));
  g_assert_true (studio_questions_is_asking (questions));
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (studio_questions_get (questions)), "reload");
  g_assert_cmpint (calls[1], ==, 2);
  g_assert_true (studio_document_is_empty (frame.document));
  gtk_window_destroy (studio_questions_get (questions));
  settle ();
  release (saver);
  studio_questions_free (questions);
  frame_end (&frame);
}

/* Nothing is asked without a loss; one question at a time; the response decides. */
static void
test_guard (void)
{
  Frame frame;
  int calls[2] = { 0 };
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioSaver *saver = studio_saver_new (frame.document, frame.toasts, questions);
  StudioGuard *guard = studio_guard_new (frame.document, frame.run, saver, questions);
  g_assert_false (studio_guard_would_lose (guard));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  g_assert_cmpint (calls[0], ==, 1);

  studio_document_add_node (frame.document, "relu", 0, 300);
  g_assert_true (studio_guard_would_lose (guard));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  g_assert_true (studio_questions_is_asking (questions));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  g_assert_cmpint (calls[1], ==, 1);
  adw_message_dialog_response (ADW_MESSAGE_DIALOG (studio_questions_get (questions)), "discard");
  g_assert_cmpint (calls[0], ==, 2);
  gtk_window_destroy (studio_questions_get (questions));
  settle ();
  g_assert_false (studio_questions_is_asking (questions));

  studio_run_take_state (frame.run, "running", NULL);
  g_autofree char *sentence = studio_guard_dup_run_sentence (guard);
  g_assert_nonnull (strstr (sentence, "is being prepared for training"));
  studio_run_reset (frame.run);
  release (guard);
  release (saver);
  studio_questions_free (questions);
  frame_end (&frame);
}

/* Runs that wait are a loss, too. */
static void
test_guard_queue (void)
{
  Frame frame;
  int calls[2] = { 0 };
  frame_begin (&frame, CHAIN);
  StudioQuestions *questions = studio_questions_new (frame.toasts);
  StudioSaver *saver = studio_saver_new (frame.document, frame.toasts, questions);
  StudioGuard *guard = studio_guard_new (frame.document, frame.run, saver, questions);
  g_autoptr (StudioRunQueue) queue = studio_run_queue_new (NULL);

  studio_guard_set_queue (guard, queue);
  g_assert_false (studio_guard_would_lose (guard));
  studio_run_queue_add (queue, studio_document_get_graph (frame.document), "chain", NULL, NULL);
  g_assert_true (studio_guard_would_lose (guard));
  studio_guard_ask_to_leave (guard, after_new (&frame, calls));
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (studio_questions_get (questions));
  g_assert_cmpstr (adw_message_dialog_get_body (dialog), ==, "1 run in the queue will be lost.");
  adw_message_dialog_response (dialog, "stop");
  g_assert_cmpint (calls[0], ==, 1);
  gtk_window_destroy (GTK_WINDOW (dialog));
  settle ();
  release (guard);
  release (saver);
  studio_questions_free (questions);
  frame_end (&frame);
}

static void
test_disk_bar (void)
{
  Frame frame;
  g_autofree char *path = write_chain ("watched.xml");
  guint notified = 0;
  frame_begin (&frame, CHAIN);
  StudioDiskBar *bar = g_object_new (STUDIO_TYPE_DISK_BAR, NULL);
  g_object_ref_sink (bar);
  g_assert_true (studio_document_open (frame.document, path, NULL));
  studio_disk_bar_set_document (bar, frame.document);
  g_signal_connect_swapped (bar, "notify::shown", G_CALLBACK (count_cb), &notified);
  g_assert_false (studio_disk_bar_is_shown (bar));
  g_assert_true (g_file_set_contents (path, GRAPH (""), -1, NULL));
  g_assert_cmpint (studio_document_check_disk (frame.document), ==, STUDIO_DISK_CHANGED);
  settle ();
  g_assert_true (studio_disk_bar_is_shown (bar));
  g_assert_cmpuint (notified, ==, 1);
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (studio_document_check_disk (frame.document), ==, STUDIO_DISK_GONE);
  settle ();
  g_assert_true (studio_disk_bar_is_shown (bar));
  release (bar);
  frame_end (&frame);
}

TEST_FILE (argc, argv)
{
  g_autoptr (GError) error = NULL;
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  folder = g_dir_make_tmp ("gradloom-page-XXXXXX", &error);
  g_assert_no_error (error);
  g_test_add_func ("/page/graph-file", test_graph_file);
  g_test_add_func ("/page/open-documents", test_open_documents);
  g_test_add_func ("/page/content", test_content);
  g_test_add_func ("/page/saver", test_saver);
  g_test_add_func ("/page/guard", test_guard);
  g_test_add_func ("/page/guard-queue", test_guard_queue);
  g_test_add_func ("/page/disk-bar", test_disk_bar);
  return g_test_run ();
}
