/* Studio's own files, written and read without a window: journals of unsaved work, settings, agreements, and runs that
 * were cut off. XDG_STATE_HOME says where they are.
 *
 * studio-state write GRAPH   makes journals of a graph without a file and of GRAPH, and settings
 * studio-state hash GRAPH    prints the hash of its meaning
 * studio-state show GRAPH    prints what Studio reads of them, a line for each thing, and of the newest run of GRAPH */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/document/studio-document.h"
#include "ui/document/studio-journal.h"
#include "ui/run/studio-run.h"
#include "ui/scene/studio-allowed-paths.h"
#include "ui/settings/studio-settings.h"

static const char *const switches[] = { "minimap", "right-angles", "types" };

static void
check (gboolean good, GError *error)
{
  if (good)
    return;
  fprintf (stderr, "studio-state: %s\n", error != NULL ? error->message : "it cannot be done");
  exit (1);
}

/* Every kind of edit; the document then ends as in a crash. */
static void
write_journal (StudioDocument *document)
{
  guint64 first, second;

  studio_document_add_node (document, "linear", 0, 400);
  studio_document_add_node (document, "relu", 300, 400);
  first = studio_document_add_node (document, "flatten", 0, 500);
  second = studio_document_add_node (document, "softmax", 0, 600);
  studio_document_set_attribute (document, first, "start_dim", "2");
  studio_document_set_attribute (document, second, "dim", "-1");
  studio_document_undo (document);
  studio_document_undo (document);
  studio_document_redo (document);
  studio_document_select_only (document, second);
  studio_document_delete_selection (document);
}

static void
write_state (const char *graph)
{
  static const char empty[] = "<graph xmlns=\"" LOOM_GRAPH_NAMESPACE "\" version=\"1\" name=\"new\">\n"
                              "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n</graph>\n";
  char *paths[] = { "/data/a table\n.csv", NULL };

  for (guint i = 0; i < 2; i++)
    {
      StudioDocument *document = studio_document_new ();
      g_autoptr (GError) error = NULL;

      check (studio_document_keep_journal (document, NULL, &error), error);
      check (i == 0 ? studio_document_open_text (document, empty, -1, NULL, &error)
                    : studio_document_open (document, graph, &error),
             error);
      write_journal (document);
      g_object_unref (document);
    }
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    studio_settings_set_boolean (switches[i], i == 1);
  studio_settings_set_string ("shapes", "letters");
  studio_allowed_paths_add (paths);
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* What is recovered of each journal, in the order of their content. */
static void
show_journals (void)
{
  g_autofree char *folder = studio_journal_default_folder (), *apart = g_dir_make_tmp ("gradloom-upgrade-XXXXXX", NULL);
  g_auto (GStrv) orphans = studio_journal_orphans (folder);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; orphans[i] != NULL; i++)
    {
      StudioDocument *document = studio_document_new ();
      g_autoptr (GError) error = NULL;

      check (studio_document_keep_journal (document, apart, &error), error);
      check (studio_document_recover (document, orphans[i], &error), error);
      g_autofree char *text = loom_graph_write (studio_document_get_graph (document), NULL);
      const char *path = studio_document_get_path (document);
      g_autofree char *name = path != NULL ? g_path_get_basename (path) : g_strdup ("none");
      g_ptr_array_add (texts, g_strdup_printf ("journal of file %s, undone by “%s”:\n%s", name,
                                               studio_document_undo_name (document), text));
      studio_document_close (document);
      g_object_unref (document);
    }
  g_ptr_array_sort (texts, compare_texts);
  for (guint i = 0; i < texts->len; i++)
    printf ("%s\n", (char *)texts->pdata[i]);
}

static char *
hash_of (const char *path)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);

  check (graph != NULL, error);
  return loom_graph_hash (graph);
}

/* The run of this graph that was cut off, as the run panel shows it. */
static void
show_run (const char *path)
{
  g_autofree char *hash = hash_of (path);
  g_autoptr (StudioRun) run = studio_run_new ();

  check (studio_run_find_interrupted (run, hash, NULL), NULL);
  const LoomSeries *train = studio_run_get_train (run, -1);
  printf ("run: %s, step %" G_GINT64_FORMAT ", %u points, %u metrics, %u marks, lr %g\n",
          studio_run_state_word (studio_run_get_state (run)), studio_run_get_step (run),
          (guint)loom_series_length (train), studio_run_n_metrics (run), studio_run_get_curves (run)->marks->len,
          studio_run_get_base_lr (run));
}

int
main (int argc, char **argv)
{
  if (argc != 3)
    return 2;
  if (strcmp (argv[1], "write") == 0)
    {
      write_state (argv[2]);
      return 0;
    }
  if (strcmp (argv[1], "hash") == 0)
    {
      g_autofree char *hash = hash_of (argv[2]);

      printf ("%s\n", hash);
      return 0;
    }
  for (guint i = 0; i < G_N_ELEMENTS (switches); i++)
    printf ("setting %s: %s\n", switches[i], studio_settings_get_boolean (switches[i], i != 1) ? "yes" : "no");
  g_autofree char *shapes = studio_settings_dup_string ("shapes");
  printf ("setting shapes: %s\n", shapes);
  printf ("agreed: %s\n", studio_agreed_has ("/data/a table\n.csv") ? "yes" : "no");
  show_journals ();
  show_run (argv[2]);
  return 0;
}
