/* The document's file when other programs change it: what is detected, what is not a change, what can be undone, and
 * the warning if another Studio has it open. */
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/document/studio-document.h"
#include "ui/document/studio-file-lock.h"
#include "ui/document/studio-journal.h"
#include "tests/test-program.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph xmlns=\"urn:gradloom:graph\" version=\"1\""
static const char ours[] = HEAD " name=\"Ours\">\n  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n</graph>\n";
static const char theirs[]
    = HEAD ">\n  <doc>Theirs.</doc>\n  <node id=\"a\" op=\"relu\"/>\n  <node id=\"b\" op=\"relu\"/>\n"
           "  <wire from=\"a\" to=\"b\"/>\n</graph>\n";

typedef struct
{
  char *folder, *path, *journals;
  StudioDocument *document;
} Fixture;

static void
put (const char *path, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

static void
open_document (Fixture *f)
{
  g_autoptr (GError) error = NULL;
  f->document = studio_document_new ();
  g_assert_true (studio_document_keep_journal (f->document, f->journals, &error));
  g_assert_true (studio_document_open (f->document, f->path, &error));
  g_assert_no_error (error);
}

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  f->folder = g_dir_make_tmp ("gradloom-disk-XXXXXX", &error);
  g_assert_no_error (error);
  f->path = g_build_filename (f->folder, "graph.xml", NULL);
  f->journals = g_build_filename (f->folder, "journals", NULL);
  put (f->path, ours);
  open_document (f);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  if (f->document != NULL)
    studio_document_close (f->document);
  g_clear_object (&f->document);
  g_autoptr (GDir) dir = g_dir_open (f->journals, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (f->journals, name, NULL);
      g_unlink (file);
    }
  g_rmdir (f->journals);
  g_unlink (f->path);
  g_assert_cmpint (g_rmdir (f->folder), ==, 0);
  g_free (f->folder);
  g_free (f->path);
  g_free (f->journals);
}

static void
set_features (StudioDocument *document, const char *value)
{
  LoomElement *fc = loom_scope_find_node (loom_graph_root (studio_document_get_graph (document)), "fc");
  studio_document_begin (document, "Change");
  studio_document_edit (document, loom_edit_set (fc, "out_features", value));
  studio_document_end (document);
}

static void
test_states (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_SAME);
  put (f->path, ours); /* another inode and time, the same content */
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_SAME);
  put (f->path, theirs);
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_CHANGED);
  g_assert_false (studio_document_is_edited (f->document));
  put (f->path, ours);
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_SAME);
  g_unlink (f->path);
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_GONE);
  /* A graph whose file is gone is not saved. */
  g_assert_true (studio_document_is_edited (f->document));
  g_assert_true (studio_document_save (f->document, NULL, &error));
  g_assert_cmpint (studio_document_get_disk (f->document), ==, STUDIO_DISK_SAME);
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_SAME);
  g_assert_false (studio_document_is_edited (f->document));
}

static void
count_cb (StudioDocument *document, int *n)
{
  (*n)++;
}

/* The news comes by itself. */
static void
test_monitor (Fixture *f, gconstpointer data)
{
  int n = 0;
  g_signal_connect (f->document, "file-changed", G_CALLBACK (count_cb), &n);
  put (f->path, theirs);
  while (studio_document_get_disk (f->document) != STUDIO_DISK_CHANGED)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpint (n, >, 0);
  g_unlink (f->path);
  while (studio_document_get_disk (f->document) != STUDIO_DISK_GONE)
    g_main_context_iteration (NULL, TRUE);
}

static void
test_reload (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  set_features (f->document, "3");
  g_autofree char *edited = loom_graph_write (studio_document_get_graph (f->document), NULL);
  put (f->path, theirs);
  g_assert_true (studio_document_reload (f->document, &error));
  g_autofree char *shown = loom_graph_write (studio_document_get_graph (f->document), NULL);
  g_assert_cmpstr (shown, ==, theirs);
  g_assert_false (studio_document_is_edited (f->document));
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_SAME);
  g_assert_cmpuint (loom_faults_length (studio_document_get_faults (f->document)), >,
                    0); /* of theirs: a has no input */
  g_assert_true (studio_document_undo (f->document));
  g_autofree char *back = loom_graph_write (studio_document_get_graph (f->document), NULL);
  g_assert_cmpstr (back, ==, edited);
  g_assert_true (studio_document_is_edited (f->document));
  g_assert_true (studio_document_redo (f->document));
  g_assert_false (studio_document_is_edited (f->document));

  put (f->path, "no graph");
  g_assert_false (studio_document_reload (f->document, &error));
  g_assert_nonnull (error);
  g_autofree char *kept = loom_graph_write (studio_document_get_graph (f->document), NULL);
  g_assert_cmpstr (kept, ==, theirs);
}

/* A reload is recorded in the journal like any step, and later steps are recovered on top of it. */
static void
test_reload_journal (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  set_features (f->document, "3");
  put (f->path, theirs);
  g_assert_true (studio_document_reload (f->document, &error));
  studio_document_begin (f->document, "Rename");
  studio_document_edit (f->document, loom_edit_set (loom_graph_root (studio_document_get_graph (f->document)), "name",
                                                    "After the reload"));
  studio_document_end (f->document);
  g_autofree char *last = loom_graph_write (studio_document_get_graph (f->document), NULL);
  g_clear_object (&f->document); /* as a crash would */
  g_auto (GStrv) orphans = studio_journal_orphans (f->journals);
  g_assert_cmpuint (g_strv_length (orphans), ==, 1);
  f->document = studio_document_new ();
  g_assert_true (studio_document_recover (f->document, orphans[0], &error));
  g_assert_no_error (error);
  g_autofree char *again = loom_graph_write (studio_document_get_graph (f->document), NULL);
  g_assert_cmpstr (again, ==, last);
  g_unlink (orphans[0]);
}

/* The journal records the file's state, so a change made after Studio died is detected, and only then. */
static void
test_recovered (Fixture *f, gconstpointer data)
{
  const gboolean saved = g_strcmp0 (data, "saved") == 0;
  g_autoptr (GError) error = NULL;
  for (int round = 0; round < 2; round++)
    {
      gboolean changed = round == 1;
      set_features (f->document, round == 0 ? "3" : "30");
      if (saved)
        g_assert_true (studio_document_save (f->document, NULL, &error));
      set_features (f->document, round == 0 ? "4" : "40");
      g_clear_object (&f->document);
      if (changed)
        put (f->path, theirs);
      g_auto (GStrv) orphans = studio_journal_orphans (f->journals);
      g_assert_cmpuint (g_strv_length (orphans), ==, 1);
      f->document = studio_document_new ();
      g_assert_true (studio_document_recover (f->document, orphans[0], &error));
      g_assert_cmpint (studio_document_get_disk (f->document), ==, changed ? STUDIO_DISK_CHANGED : STUDIO_DISK_SAME);
      g_unlink (orphans[0]);
      g_clear_object (&f->document);
      if (!changed)
        open_document (f);
    }
}

/* A second crash after a recovery: the file holds what was saved before the first one. */
static void
test_recovered_twice (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  set_features (f->document, "3");
  g_assert_true (studio_document_save (f->document, NULL, &error));
  set_features (f->document, "4");
  for (int crash = 0; crash < 3; crash++)
    {
      g_clear_object (&f->document);
      g_auto (GStrv) orphans = studio_journal_orphans (f->journals);
      g_assert_cmpuint (g_strv_length (orphans), ==, 1);
      f->document = studio_document_new ();
      g_assert_true (studio_document_keep_journal (f->document, f->journals, &error));
      g_assert_true (studio_document_recover (f->document, orphans[0], &error));
      g_assert_cmpint (studio_document_get_disk (f->document), ==, STUDIO_DISK_SAME);
    }
  /* Nor is a change by others forgotten. */
  put (f->path, theirs);
  g_assert_cmpint (studio_document_check_disk (f->document), ==, STUDIO_DISK_CHANGED);
  g_clear_object (&f->document);
  g_auto (GStrv) orphans = studio_journal_orphans (f->journals);
  f->document = studio_document_new ();
  g_assert_true (studio_document_recover (f->document, orphans[0], &error));
  g_assert_cmpint (studio_document_get_disk (f->document), ==, STUDIO_DISK_CHANGED);
  g_unlink (orphans[0]);
}

/* Observers may query everything in the document when they are notified of a cleared history. */
static void
history_cb (StudioDocument *document, guint position, guint removed, guint added, Fixture *f)
{
  g_autofree char *text = loom_graph_write (studio_document_get_graph (document), NULL);
  StudioScene *scene = studio_document_get_scene (document);

  g_assert_cmpuint (position, ==, 0);
  g_assert_cmpuint (studio_document_n_selected (document), ==, 0);
  g_assert_false (studio_document_is_edited (document));
  g_assert_cmpstr (text, ==, theirs);
  for (guint i = 0; i < scene->n_items; i++)
    g_assert_nonnull (loom_graph_by_serial (studio_document_get_graph (document), scene->item[i].serial));
}

static void
test_history (Fixture *f, gconstpointer data)
{
  g_autofree char *other = g_build_filename (f->folder, "other.xml", NULL);
  g_autoptr (GError) error = NULL;

  put (other, theirs);
  set_features (f->document, "3");
  studio_document_select_all (f->document);
  g_assert_cmpuint (studio_document_get_scene (f->document)->n_items, >, 0);
  g_signal_connect (f->document, "history-changed", G_CALLBACK (history_cb), f);
  g_assert_true (studio_document_open (f->document, other, &error));
  g_signal_handlers_disconnect_by_data (f->document, f);
  g_unlink (other);
}

static void
test_two (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *link = g_build_filename (f->folder, "link.xml", NULL);
  g_assert_cmpint (symlink ("graph.xml", link), ==, 0);
  g_assert_null (studio_document_get_holder (f->document));
  StudioDocument *second = studio_document_new ();
  g_assert_true (studio_document_open (second, link, &error));
  g_assert_nonnull (studio_document_get_holder (second));
  g_assert_true (g_str_has_prefix (studio_document_get_holder (second), "process "));
  g_clear_object (&second);
  g_assert_null (studio_document_get_holder (f->document));
  second = studio_document_new ();
  g_assert_true (studio_document_open (second, link, &error));
  g_assert_nonnull (studio_document_get_holder (second));
  studio_document_close (f->document);
  g_clear_object (&f->document);
  g_assert_cmpint (studio_document_check_disk (second), ==, STUDIO_DISK_SAME);
  g_assert_null (studio_document_get_holder (second)); /* it has the file alone now */
  g_clear_object (&second);
  g_unlink (link);
}

/* A process that dies lets go of its lock. */
static void
test_dead_holder (Fixture *f, gconstpointer data)
{
  g_autofree char *holder = NULL, *locks = g_build_filename (f->folder, "locks", NULL);
  int pipes[2];
  char c;
  g_assert_cmpint (pipe (pipes), ==, 0);
  pid_t child = fork ();
  if (child == 0)
    {
      StudioFileLock *lock = studio_file_lock_new (locks, f->path, &holder);
      if (write (pipes[1], lock != NULL ? "y" : "n", 1) != 1)
        _exit (1);
      pause ();
      _exit (0);
    }
  g_assert_cmpint (read (pipes[0], &c, 1), ==, 1);
  g_assert_cmpint (c, ==, 'y');
  g_assert_null (studio_file_lock_new (locks, f->path, &holder));
  g_autofree char *expected = g_strdup_printf ("process %d", (int)child);
  g_assert_cmpstr (holder, ==, expected);
  g_clear_pointer (&holder, g_free);
  kill (child, SIGKILL);
  g_assert_cmpint (waitpid (child, NULL, 0), ==, child);
  StudioFileLock *lock = studio_file_lock_new (locks, f->path, &holder);
  g_assert_nonnull (lock);
  g_assert_null (holder);
  studio_file_lock_free (lock);
  g_assert_cmpint (g_rmdir (locks), ==, 0); /* no file is left */
  close (pipes[0]);
  close (pipes[1]);
}

static void
saved_cb (GObject *source, GAsyncResult *result, gpointer kept)
{
  *(GAsyncResult **)kept = g_object_ref (result);
}

/* Saving to a slow disk, here a pipe without a reader, does not block; later changes are not saved and the document
 * stays edited. */
static void
test_slow (Fixture *f, gconstpointer data)
{
  g_autofree char *pipe = g_build_filename (f->folder, "pipe.xml", NULL), *text = NULL;
  g_autoptr (GAsyncResult) done = NULL;
  g_autoptr (GError) error = NULL;
  char got[4096] = "";
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  studio_document_save_async (f->document, pipe, saved_cb, &done);
  g_assert_true (studio_document_is_saving (f->document));
  text = loom_graph_write (studio_document_get_graph (f->document), NULL);
  studio_document_begin (f->document, "Change");
  studio_document_edit (
      f->document, loom_edit_set (loom_element_child (loom_graph_root (studio_document_get_graph (f->document)), 0),
                                  "out_features", "3"));
  studio_document_end (f->document);
  for (int i = 0; i < 20; i++, g_usleep (1000))
    g_main_context_iteration (NULL, FALSE);
  g_assert_null (done);
  FILE *reader = fopen (pipe, "r");
  g_assert_nonnull (reader);
  g_assert_cmpuint (fread (got, 1, sizeof got - 1, reader), ==, strlen (text));
  fclose (reader);
  while (done == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_true (studio_document_save_finish (f->document, done, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (got, ==, text);
  g_assert_false (studio_document_is_saving (f->document));
  g_assert_true (studio_document_is_edited (f->document));
  studio_document_undo (f->document);
  g_assert_false (studio_document_is_edited (f->document));
  g_unlink (pipe);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
#define ADD(name, function, data) g_test_add ("/disk/" name, Fixture, data, set_up, function, tear_down)
  ADD ("states", test_states, NULL);
  ADD ("monitor", test_monitor, NULL);
  ADD ("reload", test_reload, NULL);
  ADD ("reload-journal", test_reload_journal, NULL);
  ADD ("recovered", test_recovered, NULL);
  ADD ("recovered-saved", test_recovered, "saved");
  ADD ("recovered-twice", test_recovered_twice, NULL);
  ADD ("history", test_history, NULL);
  ADD ("two", test_two, NULL);
  ADD ("slow", test_slow, NULL);
  ADD ("dead-holder", test_dead_holder, NULL);
#undef ADD
  return g_test_run ();
}
