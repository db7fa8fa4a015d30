/* The document and its files: the journal and what is recovered of it, saving, a run's graph, what a reader drops. */
#include <string.h>

#include "tests/scratch.h"
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

/* Paths of a run's graph.xml start where they did in the graph that was trained: before and after it is saved there,
 * and beside itself once it is saved elsewhere. */
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/document/journal", test_journal);
  g_test_add_func ("/ui/document/save", test_save);
  g_test_add_func ("/ui/document/run-graph", test_run_graph);
  g_test_add_func ("/ui/document/dropped", test_dropped);
  return g_test_run ();
}
