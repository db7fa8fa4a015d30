/* The document and its files: the journal and recovery, saving, a run's graph, and what a reader ignores. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/core/loom-os.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/ui/document-chain.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-journal.h"

static void
test_journal (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-journal-XXXXXX", NULL), *lost = NULL, *found = NULL, *base = NULL;
  g_autoptr (StudioDocument) document = document_load (chain), next = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) orphans = NULL;
  g_autofree char *torn = NULL;
  FILE *file;

  base = document_text (document);
  g_assert_true (studio_document_keep_journal (document, folder, &error));
  for (guint i = 0; i < 80; i++)
    document_random_edit (document, rand);
  studio_document_undo (document);
  studio_document_undo (document);
  studio_document_redo (document);
  lost = document_text (document);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 0); /* its writer lives */
  g_clear_object (&document);                        /* without closing: a crash */

  g_strfreev (orphans);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 1);
  /* The crash tore the last transaction, and its last line. */
  file = fopen (orphans[0], "a");
  fputs ("e a whole line without an end\ne half an ed", file);
  fclose (file);

  next = studio_document_new ();
  g_assert_true (studio_document_keep_journal (next, folder, &error));
  g_assert_true (studio_document_recover (next, orphans[0], &error));
  g_assert_no_error (error);
  found = document_text (next);
  g_assert_cmpstr (found, ==, lost);
  g_assert_cmpstr (studio_document_undo_name (next), ==, "Recover unsaved work");
  g_assert_true (studio_document_undo (next));
  g_free (found);
  found = document_text (next);
  g_assert_cmpstr (found, ==, base);
  studio_document_redo (next);
  g_assert_false (g_file_test (orphans[0], G_FILE_TEST_EXISTS)); /* the new journal took it over */
  studio_document_close (next);
  g_strfreev (orphans);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 0);

  torn = g_build_filename (folder, "9.journal", NULL);
  g_assert_true (g_file_set_contents (torn, "gradloom-journal 1\npath -\nbase 999\nshort", -1, NULL));
  g_assert_null (studio_journal_read (torn, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_PARSE);
  g_clear_error (&error);
  remove_tree (folder);
}

/* An operating system in which a call fails once. */
static struct
{
  LoomOs os;
  gboolean opens, writes;
  gint synchronises; /* of the journal's thread */
} failing;

static int
fail_open (int folder, const char *path, int flags, mode_t mode)
{
  if (!failing.opens || !(flags & O_CREAT))
    return loom_os_real.open (folder, path, flags, mode);
  errno = EACCES;
  return -1;
}

static gssize
fail_write (int fd, const void *from, gsize n)
{
  if (!failing.writes)
    return loom_os_real.write (fd, from, n);
  failing.writes = FALSE;
  errno = ENOSPC;
  return -1;
}

static int
fail_sync (int fd, gboolean only_data)
{
  if (!g_atomic_int_compare_and_exchange (&failing.synchronises, TRUE, FALSE))
    return loom_os_real.sync (fd, only_data);
  errno = EIO;
  return -1;
}

static void
begin_failing (void)
{
  failing.os = loom_os_real;
  failing.os.open = fail_open;
  failing.os.write = fail_write;
  failing.os.sync = fail_sync;
  loom_os = &failing.os;
}

static void
failed_cb (const char *why, gpointer data)
{
  char **into = data;

  g_assert_null (*into);
  *into = g_strdup (why);
}

static void
document_failed_cb (StudioDocument *document, const char *sentence, gpointer data)
{
  failed_cb (sentence, data);
}

/* Work that is not safe is reported once, also if the failure is that of the journal's own thread; and what was lost
 * then does not count as synchronised later. */
static void
test_journal_failed (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-journal-XXXXXX", NULL), *why = NULL;
  g_autoptr (GError) error = NULL;
  StudioJournal *journal = studio_journal_new (folder, NULL, "base", 4, &error);

  g_assert_no_error (error);
  begin_failing ();
  failing.synchronises = TRUE;
  studio_journal_set_failed_func (journal, failed_cb, &why);
  studio_journal_append (journal, "edit");
  studio_journal_commit (journal, "Edit");
  while (why == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpstr (why, ==, g_strerror (EIO));
  g_assert_false (studio_journal_sync (journal));
  studio_journal_remove (journal);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (StudioDocument) document = document_load (chain);
      g_autofree char *sentence = NULL;

      g_signal_connect (document, "journal-failed", G_CALLBACK (document_failed_cb), &sentence);
      g_assert_true (studio_document_keep_journal (document, folder, &error));
      failing.opens = i == 0;
      if (i == 1)
        studio_document_add_node (document, "relu", 0, 300); /* the journal exists */
      failing.writes = i == 1;
      studio_document_add_node (document, "relu", 0, 400);
      studio_document_add_node (document, "relu", 0, 500);
      g_assert_nonnull (sentence);
      g_assert_nonnull (strstr (sentence, g_strerror (i == 0 ? EACCES : ENOSPC)));
      studio_document_close (document);
    }
  loom_os = &loom_os_real;
  remove_tree (folder);
}

static void
test_save (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-save-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "net.xml", NULL), *title = NULL;
  g_autoptr (StudioDocument) document = document_load (chain), again = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) orphans = NULL;

  g_assert_true (studio_document_keep_journal (document, folder, &error));
  studio_document_add_node (document, "relu", 0, 300);
  g_assert_true (studio_document_is_edited (document));
  g_assert_true (studio_document_save (document, path, &error));
  g_assert_false (studio_document_is_edited (document));
  studio_document_undo (document);
  g_assert_true (studio_document_is_edited (document));
  studio_document_redo (document);
  g_assert_false (studio_document_is_edited (document)); /* the same content, not the same count */
  g_assert_true (studio_document_save (document, NULL, &error));
  g_clear_object (&document);
  orphans = studio_journal_orphans (folder);
  g_assert_cmpuint (g_strv_length (orphans), ==, 0); /* nothing was lost with it */
  again = studio_document_new ();
  g_assert_true (studio_document_open (again, path, &error));
  g_assert_cmpuint (document_serial (again, "relu"), !=, 0);
  title = studio_document_dup_title (again);
  g_assert_cmpstr (title, ==, "chain");
  g_assert_false (studio_document_open (again, "/nowhere/at/all.xml", &error));
  g_assert_nonnull (error);
  g_assert_cmpuint (document_serial (again, "relu"), !=, 0); /* what was open stays */
  remove_tree (folder);
}

/* Relative paths in a run's graph.xml are resolved in the folder of the trained graph, before and after saving there;
 * after saving elsewhere, in its own folder. */
static void
test_run_graph (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-run-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "graph.xml", NULL);
  g_autofree char *other = g_build_filename (folder, "other.xml", NULL);
  g_autofree char *settings = g_build_filename (folder, "run.json", NULL);
  g_autoptr (StudioDocument) document = document_load (chain), run = studio_document_new ();
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_save (document, path, &error));
  g_assert_true (g_file_set_contents (settings, "{\"data_folder\":\"/where/data/lie\"}", -1, &error));
  g_assert_true (studio_document_open (run, path, &error));
  g_assert_cmpstr (loom_graph_get_folder (studio_document_get_graph (run)), ==, "/where/data/lie");
  studio_document_add_node (run, "relu", 0, 300);
  g_assert_true (studio_document_save (run, NULL, &error));
  g_assert_cmpstr (loom_graph_get_folder (studio_document_get_graph (run)), ==, "/where/data/lie");
  g_assert_true (studio_document_save (run, other, &error));
  g_assert_cmpstr (loom_graph_get_folder (studio_document_get_graph (run)), ==, folder);
  remove_tree (folder);
}

/* Elements that the reader refused are counted until they are lost, or safe in another file. */
static void
test_dropped (void)
{
  static const char broken[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                               "  <node id=\"x\" op=\"input\" shape=\"B,8\" odd=\"1\"/>\n"
                               "  <nod id=\"y\" op=\"relu\"><doc>inside</doc></nod>\n"
                               "  <node op=\"relu\"/>\n"
                               "  stray\n"
                               "</graph>\n";
  g_autofree char *folder = g_dir_make_tmp ("gradloom-dropped-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "net.xml", NULL),
                  *copy = g_build_filename (folder, "copy.xml", NULL);
  g_autofree char *text = NULL;
  g_autoptr (StudioDocument) document = document_load (chain);
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 0);
  g_assert_true (g_file_set_contents (path, broken, -1, &error));
  g_assert_true (studio_document_open (document, path, &error));
  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 3);
  studio_document_add_node (document, "relu", 0, 300);
  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 3);
  g_assert_true (studio_document_save (document, copy, &error));
  g_assert_cmpuint (studio_document_dropped_parts (document), ==, 0);
  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  g_assert_cmpstr (text, ==, broken);
  remove_tree (folder);
}

/* The graph of a table in the document's file; the error of its data set, or NULL. */
static const LoomFault *
data_fault (StudioDocument *document)
{
  LoomFaults *faults = studio_document_get_faults (document);

  g_assert_cmpuint (loom_faults_count (faults), <=, 1);
  return loom_faults_count (faults) > 0 ? loom_faults_get (faults, 0) : NULL;
}

static gboolean
is_described (StudioDocument *document)
{
  return loom_net_node (studio_document_get_net (document), 0)->typed;
}

/* A graph that is opened reads nothing outside its folder, not even the first line of a table, before the user has
 * agreed; a link out of the folder is outside as well, and the file that comes with the graph is not. */
static void
test_outside (void)
{
  static const char *const names[] = { "../far.csv", "link.csv", "near.csv" };
  g_autofree char *root = g_dir_make_tmp ("gradloom-outside-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename (root, "graph", NULL), *far = g_build_filename (root, "far.csv", NULL),
                  *link = g_build_filename (folder, "link.csv", NULL),
                  *near = g_build_filename (folder, "near.csv", NULL), *other = g_build_filename (root, "o.csv", NULL);

  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (far, "a,b,y\n1,2,3\n", -1, NULL));
  g_assert_true (g_file_set_contents (near, "a,y\n1,2\n", -1, NULL));
  g_assert_true (g_file_set_contents (other, "a,b,c,y\n1,2,3,4\n", -1, NULL));
  g_assert_cmpint (symlink ("../o.csv", link), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *text
          = g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" "
                             "source=\"csv\" path=\"%s\" target=\"y\" target_type=\"float\"/></graph>",
                             names[i]);
      g_autofree char *path = g_build_filename (folder, "g.xml", NULL);
      g_autoptr (StudioDocument) document = studio_document_new (), again = studio_document_new ();
      g_autoptr (GError) error = NULL;

      g_assert_true (g_file_set_contents (path, text, -1, NULL));
      g_assert_true (studio_document_open (document, path, &error));
      g_assert_no_error (error);
      if (i < 2)
        {
          g_auto (GStrv) paths = studio_document_outside (document);

          g_assert_cmpuint (g_strv_length (paths), ==, 1);
          g_assert_cmpstr (paths[0], ==, i == 0 ? far : other);
          g_assert_false (is_described (document));
          g_assert_nonnull (data_fault (document));
          g_assert_cmpint (data_fault (document)->code, ==, LOOM_ERROR_OUTSIDE);
          g_assert_nonnull (strstr (data_fault (document)->message,
                                    "is outside this graph's folder and is read only after you agree."));
          g_assert_null (studio_document_dup_text_for_process (document, &error));
          g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUTSIDE);
          g_clear_error (&error);
          studio_document_agree (document);
        }
      g_autofree char *given = studio_document_dup_text_for_process (document, &error);
      g_assert_no_error (error);
      g_assert_nonnull (strstr (given, names[i]));
      g_assert_null (data_fault (document));
      g_assert_true (is_described (document));
      const LoomType *x = &loom_net_node (studio_document_get_net (document), 0)->output[0];
      g_assert_cmpint (loom_dim_value (x->shape.dim[1], NULL), ==, i == 0 ? 2 : i == 1 ? 3 : 1);
      /* It is agreed to for the next time, and only this. */
      g_assert_true (studio_document_open (again, path, &error));
      g_assert_true (is_described (again));
    }
  remove_tree (root);
}

/* The paths of a graph that was begun here were chosen here, and stay agreed to when it is saved. */
static void
test_own_paths (void)
{
  g_autofree char *root = g_dir_make_tmp ("gradloom-own-XXXXXX", NULL);
  g_autofree char *folder = g_build_filename (root, "graph", NULL), *table = g_build_filename (root, "t.csv", NULL),
                  *path = g_build_filename (folder, "g.xml", NULL), *text = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (table, "a,y\n1,2\n", -1, NULL));
  text = g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" "
                          "source=\"csv\" path=\"%s\" target=\"y\" target_type=\"float\"/></graph>",
                          table);
  g_autoptr (StudioDocument) document = document_load (text);
  g_assert_true (is_described (document));
  g_assert_true (studio_document_save (document, path, &error));
  studio_document_add_node (document, "relu", 0, 300);
  g_assert_true (is_described (document));
  remove_tree (root);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/ui/document/journal", test_journal);
  g_test_add_func ("/ui/document/journal/failed", test_journal_failed);
  g_test_add_func ("/ui/document/save", test_save);
  g_test_add_func ("/ui/document/run-graph", test_run_graph);
  g_test_add_func ("/ui/document/dropped", test_dropped);
  g_test_add_func ("/ui/document/outside", test_outside);
  g_test_add_func ("/ui/document/own-paths", test_own_paths);
  return g_test_run ();
}
