/* The list of runs, read from folders without blocking, and the queue. No process, no display. */
#include "ui/runs/studio-run-queue.h"
#include "ui/runs/studio-runs.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <string.h>

static char *scratch;

static char *
path_of (const char *name)
{
  return g_build_filename (scratch, name, NULL);
}

static void
write_file (const char *run, const char *name, const char *text)
{
  g_autofree char *folder = path_of (run), *path = g_build_filename (folder, name, NULL);

  g_assert_cmpint (g_mkdir_with_parents (folder, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"%s\">\n<node id=\"x\" op=\"input\" shape=\"B,4\"/>\n"      \
  "<node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n<wire from=\"x\" to=\"fc\"/>\n"                                 \
  "<train loss=\"fc\" optimizer=\"sgd\" lr=\"%s\" epochs=\"1\"/>\n</graph>\n"

static void
write_loss (const char *run, double loss)
{
  g_autofree char *events
      = g_strdup_printf ("{\"event\":\"step\",\"step\":1,\"epoch\":1,\"loss\":%g,\"lr\":1}\n", loss);

  write_file (run, "events.jsonl", events);
}

static void
write_run (const char *run, const char *title, const char *lr, double loss)
{
  g_autofree char *graph = g_strdup_printf (GRAPH, title, lr);

  write_loss (run, loss);
  write_file (run, "graph.xml", graph);
  write_file (run, "run.json", "{\"version\":1,\"device\":\"cpu\",\"threads\":1,\"data_folder\":null}");
}

/* Reads until nothing is left to read; the call that began it has returned before. */
static void
settle (StudioRuns *runs)
{
  while (studio_runs_is_reading (runs))
    g_main_context_iteration (NULL, TRUE);
}

static guint
count (StudioRuns *runs)
{
  return g_list_model_get_n_items (G_LIST_MODEL (runs));
}

static StudioRunEntry *
find (StudioRuns *runs, const char *run)
{
  g_autofree char *folder = path_of (run);
  StudioRunEntry *entry = studio_runs_find (runs, folder);

  g_assert_nonnull (entry);
  return entry;
}

static void
count_cb (guint *n)
{
  (*n)++;
}

static StudioRuns *
new_runs (void)
{
  g_autofree char *kept = path_of ("kept"), *folder = path_of ("other");
  StudioRuns *runs = studio_runs_new ();

  studio_runs_set_graph (runs, kept, folder, "small");
  g_assert_true (studio_runs_is_reading (runs));
  g_assert_cmpuint (count (runs), ==, 0);
  settle (runs);
  return runs;
}

static void
make_runs (void)
{
  write_run ("kept/a", "small", "0.1", 2);
  write_run ("kept/b", "small", "0.5", 1);
  write_run ("kept/other", "large", "0.1", 1);
  write_run ("other/c", "small", "0.1", 1);
  write_run ("other/sweep/0001", "anything", "0.1", 1);
  write_file ("other/broken", "run.json", "{}");
}

/* Runs next to the graph are all listed, and of those that Studio keeps the graph's. A damaged one has a sentence. */
static void
test_list (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  g_autofree char *words = NULL, *spoken = NULL, *other = path_of ("kept/other");

  g_assert_cmpuint (count (runs), ==, 5);
  g_assert_null (studio_runs_find (runs, other));
  words = studio_run_entry_dup_change (find (runs, "other/broken"));
  g_assert_nonnull (strstr (words, "it has no graph.xml"));
  spoken = studio_run_entry_dup_spoken (find (runs, "kept/b"));
  g_assert_nonnull (strstr (spoken, "loss 1"));
}

/* Only what has changed is read again, in the same object. */
static void
test_refresh (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  StudioRunEntry *a = find (runs, "kept/a"), *b = find (runs, "kept/b");
  const LoomRunSummary *same = studio_run_entry_get (b);
  guint changes = 0;

  g_signal_connect_swapped (runs, "items-changed", G_CALLBACK (count_cb), &changes);
  write_file ("kept/a", "notes.json", "{\"name\":\"first\"}");
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_true (find (runs, "kept/a") == a);
  g_assert_cmpstr (loom_run_summary_name (studio_run_entry_get (a)), ==, "first");
  g_assert_true (studio_run_entry_get (b) == same);
  g_assert_cmpuint (changes, ==, 0);
  write_run ("kept/new", "small", "0.7", 3);
  studio_runs_refresh (runs);
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (count (runs), ==, 6);
  g_assert_cmpuint (changes, ==, 1);
}

static void
test_choose (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  guint changes = 0;

  g_signal_connect_swapped (runs, "chosen-changed", G_CALLBACK (count_cb), &changes);
  studio_runs_choose (runs, find (runs, "kept/a"), TRUE);
  studio_runs_choose (runs, find (runs, "kept/b"), TRUE);
  studio_runs_choose (runs, find (runs, "other/broken"), TRUE);
  g_assert_cmpint (studio_run_entry_get_colour (find (runs, "kept/a")), ==, 1);
  g_assert_cmpint (studio_run_entry_get_colour (find (runs, "kept/b")), ==, 2);
  studio_runs_choose (runs, find (runs, "kept/a"), FALSE);
  studio_runs_choose (runs, find (runs, "other/c"), TRUE);
  g_assert_cmpint (studio_run_entry_get_colour (find (runs, "other/c")), ==, 1);
  g_autoptr (GPtrArray) chosen = studio_runs_dup_chosen (runs, TRUE);
  g_assert_cmpuint (chosen->len, ==, 2);
  g_assert_cmpuint (changes, ==, 4);
  g_assert_cmpuint (loom_series_length (studio_run_entry_get_series (chosen->pdata[0])), ==, 1);
}

/* A reading that finds nothing new in the charts leaves them alone. */
static void
test_charts (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  guint changes = 0;

  studio_runs_choose (runs, find (runs, "kept/b"), TRUE);
  g_signal_connect_swapped (runs, "chosen-changed", G_CALLBACK (count_cb), &changes);
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (changes, ==, 0);
  write_file ("kept/a", "notes.json", "{\"name\":\"one\"}");
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (changes, ==, 0);
  write_loss ("kept/b", 0.25);
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (changes, ==, 1);
  studio_runs_choose (runs, find (runs, "kept/b"), FALSE);
  write_file ("kept/a", "notes.json", "{\"name\":\"another\"}");
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (changes, ==, 3); /* without a choice all runs are in the charts */
  write_loss ("kept/b", 1);
}

/* The evaluations of a run are a second curve, which a switch hides. */
static void
test_validation (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  LoomSeries *series;
  guint changes = 0;
  double x, y;

  write_file ("kept/b", "events.jsonl",
              "{\"event\":\"step\",\"step\":1,\"epoch\":1,\"loss\":2,\"lr\":1}\n"
              "{\"event\":\"eval\",\"split\":\"test\",\"step\":1,\"loss\":7}\n"
              "{\"event\":\"eval\",\"split\":\"val\",\"step\":1,\"loss\":3}\n"
              "{\"event\":\"step\",\"step\":2,\"epoch\":2,\"loss\":1,\"lr\":1}\n"
              "{\"event\":\"eval\",\"split\":\"val\",\"step\":2,\"loss\":2.5}\n");
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (loom_series_length (studio_run_entry_get_validation (find (runs, "kept/a"))), ==, 0);
  series = studio_run_entry_get_validation (find (runs, "kept/b"));
  g_assert_cmpuint (loom_series_length (series), ==, 2);
  loom_series_get (series, 0, &x, &y);
  g_assert_cmpfloat (x, ==, 1);
  g_assert_cmpfloat (y, ==, 3);
  g_signal_connect_swapped (runs, "chosen-changed", G_CALLBACK (count_cb), &changes);
  g_assert_true (studio_runs_get_validation (runs));
  studio_runs_set_validation (runs, TRUE);
  g_assert_cmpuint (changes, ==, 0);
  studio_runs_set_validation (runs, FALSE);
  g_assert_cmpuint (changes, ==, 1);
  g_assert_false (studio_runs_get_validation (runs));
  write_loss ("kept/b", 1);
}

static void
test_notes (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  StudioRunEntry *c = find (runs, "other/c");
  LoomRunNotes notes = { .name = (char *)"baseline", .note = (char *)"why", .star = TRUE };

  g_assert_true (studio_runs_write_notes (runs, c, &notes, NULL));
  g_assert_cmpstr (loom_run_summary_name (studio_run_entry_get (c)), ==, "baseline");
  g_autofree char *spoken = studio_run_entry_dup_spoken (c);
  g_assert_true (g_str_has_prefix (spoken, "baseline, starred"));
  g_assert_true (g_str_has_suffix (spoken, "why"));
  settle (runs);
}

/* A run that is to be deleted is not in the list, also when it is read again, until that is undone. */
static void
test_hide (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  g_autofree char *folder = path_of ("kept/a");
  const guint n = count (runs);

  studio_runs_choose (runs, find (runs, "kept/a"), TRUE);
  studio_runs_hide (runs, folder, TRUE);
  g_assert_cmpuint (count (runs), ==, n - 1);
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (count (runs), ==, n - 1);
  studio_runs_hide (runs, folder, FALSE);
  settle (runs);
  g_assert_cmpuint (count (runs), ==, n);
}

static void
test_only (void)
{
  g_autoptr (StudioRuns) runs = new_runs ();
  g_autofree char *sweep = path_of ("other/sweep"), *nowhere = path_of ("nowhere");

  studio_runs_set_only (runs, sweep);
  settle (runs);
  g_assert_cmpuint (count (runs), ==, 1);
  studio_runs_set_only (runs, nowhere);
  settle (runs);
  g_assert_cmpuint (count (runs), ==, 0);
  g_assert_nonnull (strstr (studio_runs_get_problem (runs), "nowhere"));
  studio_runs_set_only (runs, NULL);
  settle (runs);
  g_assert_cmpuint (count (runs), >, 1);
  g_assert_null (studio_runs_get_problem (runs));
}

static void
note_first_cb (StudioRuns *runs, guint *n)
{
  *n = *n == 0 ? count (runs) : *n;
}

/* A long list is added in several turns, and is complete in the end; another reading meanwhile does no harm. */
static void
test_long (void)
{
  g_autoptr (StudioRuns) runs = studio_runs_new ();
  g_autofree char *many = path_of ("many");
  guint turns = 0, at_read = 0, at_charts = 0;

  for (int i = 0; i < 100; i++)
    {
      g_autofree char *run = g_strdup_printf ("many/%04d", i);

      write_run (run, "small", "0.1", i);
    }
  g_signal_connect_swapped (runs, "items-changed", G_CALLBACK (count_cb), &turns);
  g_signal_connect (runs, "read", G_CALLBACK (note_first_cb), &at_read);
  g_signal_connect (runs, "chosen-changed", G_CALLBACK (note_first_cb), &at_charts);
  studio_runs_set_only (runs, many);
  while (count (runs) == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (count (runs), <, 100);
  settle (runs);
  g_assert_cmpuint (count (runs), ==, 100);
  g_assert_cmpuint (turns, >, 3);
  g_assert_cmpuint (at_read, ==, 100);
  g_assert_cmpuint (at_charts, ==, 100);
  studio_runs_refresh (runs);
  settle (runs);
  g_assert_cmpuint (count (runs), ==, 100);
}

/* ---- queue ------------------------------------------------------------------------------- */

static void
test_queue (void)
{
  g_autofree char *text = g_strdup_printf (GRAPH, "small", "0.1");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "test", faults, NULL);
  g_autoptr (StudioRunQueue) queue = studio_run_queue_new (NULL);
  const char *const values[] = { "0.01", "1", NULL };
  guint changes = 0;

  g_signal_connect_swapped (queue, "changed", G_CALLBACK (count_cb), &changes);
  studio_run_queue_add (queue, graph, "net", NULL, NULL);
  studio_run_queue_add_sweep (queue, graph, "net", 0, "lr", values);
  g_assert_cmpuint (studio_run_queue_n (queue), ==, 3);
  g_assert_cmpuint (changes, ==, 2);
  g_assert_cmpstr (studio_run_queue_get (queue, 1)->name, ==, "lr 0.01");
  g_assert_cmpstr (studio_run_queue_get (queue, 1)->sweep, ==, "lr 0.01, 1");
  g_assert_nonnull (strstr (studio_run_queue_get (queue, 2)->xml, "lr=\"1\""));
  /* The graph itself is unchanged. */
  g_assert_nonnull (strstr (studio_run_queue_get (queue, 0)->xml, "lr=\"0.1\""));
  studio_run_queue_remove (queue, 1);
  g_autoptr (LoomQueuedRun) first = studio_run_queue_take (queue);
  g_assert_null (first->name);
  studio_run_queue_put_back (queue, g_steal_pointer (&first));
  g_assert_null (studio_run_queue_get (queue, 0)->name);
  first = studio_run_queue_take (queue);
  g_autoptr (LoomQueuedRun) second = studio_run_queue_take (queue);
  g_assert_cmpstr (second->name, ==, "lr 1");
  g_assert_null (studio_run_queue_take (queue));
  /* A node's number. */
  studio_run_queue_add_sweep (queue, graph, "net",
                              loom_element_serial (loom_element_child (loom_graph_root (graph), 0)), "n", values);
  g_autofree char *name
      = g_strdup_printf ("%s.n 1", loom_element_get (loom_element_child (loom_graph_root (graph), 0), "id"));
  g_assert_cmpstr (studio_run_queue_get (queue, 1)->name, ==, name);
  g_assert_nonnull (strstr (studio_run_queue_get (queue, 0)->xml, "n=\"0.01\""));
}

/* A queue that ends leaves its runs to the next one of the same document; each is taken once. */
static void
test_queue_on_disk (void)
{
  g_autofree char *top = g_dir_make_tmp ("queue-XXXXXX", NULL), *folder = g_build_filename (top, "queue", NULL);
  g_autofree char *text = g_strdup_printf (GRAPH, "small", "0.1");
  g_autofree char *damaged = NULL, *name = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "test", faults, NULL);
  StudioRunQueue *gone = studio_run_queue_new (folder);
  g_autoptr (StudioRunQueue) queue = studio_run_queue_new (folder), twin = studio_run_queue_new (folder);
  g_autoptr (StudioRunQueue) other = studio_run_queue_new (folder);
  const char *const values[] = { "0.01", "1", NULL };

  studio_run_queue_set_document (gone, "/graphs/small.xml");
  studio_run_queue_add_sweep (gone, graph, "net", 0, "lr", values);
  studio_run_queue_add (gone, graph, "net", "third", NULL);
  g_assert_cmpuint (studio_run_queue_n_unsaved (gone), ==, 0);
  name = g_strdup_printf ("%016" G_GINT64_FORMAT ".json", studio_run_queue_get (gone, 0)->number);
  damaged = g_build_filename (folder, name, NULL);
  g_object_unref (gone);
  g_assert_true (g_file_set_contents (damaged, "{\"version\":1", -1, NULL));
  studio_run_queue_set_document (other, "/graphs/other.xml");
  g_assert_cmpuint (studio_run_queue_n (other), ==, 0);
  studio_run_queue_set_document (queue, "/graphs/small.xml");
  studio_run_queue_set_document (queue, "/graphs/small.xml");
  studio_run_queue_set_document (twin, "/graphs/small.xml");
  g_assert_cmpuint (studio_run_queue_n (queue), ==, 2);
  g_autoptr (LoomQueuedRun) first = studio_run_queue_take (queue);
  g_assert_cmpstr (first->name, ==, "lr 1");
  g_assert_cmpstr (first->sweep, ==, "lr 0.01, 1");
  g_assert_nonnull (strstr (first->xml, "lr=\"1\""));
  /* The other queue lists both, and gets the second. */
  g_autoptr (LoomQueuedRun) second = studio_run_queue_take (twin);
  g_assert_cmpstr (second->name, ==, "third");
  g_assert_null (studio_run_queue_take (queue));
  /* One that could not be trained waits again. */
  studio_run_queue_put_back (queue, g_steal_pointer (&first));
  first = studio_run_queue_take (queue);
  g_assert_cmpstr (first->name, ==, "lr 1");
  remove_tree (top);
}

/* Another program adds a run, takes one, and each open queue of the document shows it. */
static void
test_queue_watched (void)
{
  g_autofree char *top = g_dir_make_tmp ("queue-XXXXXX", NULL), *folder = g_build_filename (top, "queue", NULL);
  g_autofree char *text = g_strdup_printf (GRAPH, "small", "0.1");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "test", faults, NULL);
  g_autoptr (StudioRunQueue) queue = NULL;
  LoomQueuedRun *runs[] = { g_new0 (LoomQueuedRun, 1), g_new0 (LoomQueuedRun, 1) };
  const char *const values[] = { "0.01", "1", NULL };
  guint changes = 0;

  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  queue = studio_run_queue_new (folder);
  studio_run_queue_set_document (queue, "/graphs/small.xml");
  studio_run_queue_add (queue, graph, "net", "own", NULL);
  g_signal_connect_swapped (queue, "changed", G_CALLBACK (count_cb), &changes);
  for (guint i = 0; i < 2; i++)
    {
      runs[i]->document = g_strdup ("/graphs/small.xml");
      runs[i]->title = g_strdup ("net");
      runs[i]->xml = loom_graph_write (graph, NULL);
      runs[i]->name = g_strdup (values[i]);
      g_assert_true (loom_run_queue_add (folder, runs[i], NULL));
    }
  while (studio_run_queue_n (queue) < 3)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpstr (studio_run_queue_get (queue, 0)->name, ==, "own");
  g_assert_cmpstr (studio_run_queue_get (queue, 2)->name, ==, "1");
  g_assert_true (loom_run_queue_remove (folder, runs[0]));
  while (studio_run_queue_n (queue) > 2)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpstr (studio_run_queue_get (queue, 1)->name, ==, "1");
  g_assert_cmpuint (changes, >=, 2);
  for (guint i = 0; i < 2; i++)
    loom_queued_run_free (runs[i]);
  remove_tree (top);
}

/* Untitled documents share no queue: their runs get files with the path. */
static void
test_queue_untitled (void)
{
  g_autofree char *top = g_dir_make_tmp ("queue-XXXXXX", NULL), *folder = g_build_filename (top, "queue", NULL);
  g_autofree char *text = g_strdup_printf (GRAPH, "small", "0.1");
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "test", faults, NULL);
  g_autoptr (StudioRunQueue) queue = studio_run_queue_new (folder), untitled = studio_run_queue_new (folder),
                             next = studio_run_queue_new (folder);

  studio_run_queue_set_document (queue, NULL);
  studio_run_queue_add (queue, graph, "net", "first", NULL);
  studio_run_queue_add (queue, graph, "net", "second", NULL);
  g_assert_cmpuint (studio_run_queue_n_unsaved (queue), ==, 2);
  g_assert_false (g_file_test (folder, G_FILE_TEST_EXISTS));
  studio_run_queue_set_document (untitled, NULL);
  g_assert_cmpuint (studio_run_queue_n (untitled), ==, 0);
  g_autoptr (LoomQueuedRun) first = studio_run_queue_take (queue);
  studio_run_queue_set_document (queue, "/graphs/small.xml");
  /* One that waits again is of the new path, too. */
  studio_run_queue_put_back (queue, g_steal_pointer (&first));
  g_assert_cmpuint (studio_run_queue_n (queue), ==, 2);
  g_assert_cmpuint (studio_run_queue_n_unsaved (queue), ==, 0);
  studio_run_queue_set_document (untitled, NULL);
  g_assert_cmpuint (studio_run_queue_n (untitled), ==, 0);
  studio_run_queue_set_document (next, "/graphs/small.xml");
  g_assert_cmpuint (studio_run_queue_n (next), ==, 2);
  remove_tree (top);
}

/* Rows and their spoken text mark a run that did not end as planned, and the details give the reason. */
static void
test_ends (void)
{
  static const struct
  {
    const char *session, *result, *reason;
  } cases[] = {
    { "{\"state\":\"failed\",\"begun\":1,\"ended\":2,\"step\":1,\"epoch\":1,\"loss\":0.5,\"nan_step\":2,"
      "\"message\":\"No longer finite.\"}\n",
      "NaN at step 2", "No longer finite." },
    { "{\"state\":\"failed\",\"begun\":1,\"ended\":2,\"step\":1,\"epoch\":1,\"loss\":0.5,"
      "\"message\":\"The disk is full.\"}\n",
      "failed", "The disk is full." },
    { "{\"state\":\"training\",\"begun\":1,\"ended\":2,\"step\":1,\"epoch\":1,\"loss\":0.5}\n", "killed",
      "The process of the run was killed after step 1." },
    { "{\"state\":\"done\",\"begun\":1,\"ended\":2,\"step\":1,\"epoch\":1,\"loss\":0.5}\n", "1.0 s", NULL },
  };
  g_autofree char *graph = g_strdup_printf (GRAPH, "ends", "0.1"), *folder = path_of ("ends/run");

  write_file ("ends/run", "run.json", "{\"version\":1,\"device\":\"cpu\",\"threads\":1,\"data_folder\":null}");
  write_file ("ends/run", "graph.xml", graph);
  write_loss ("ends/run", 0.5);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      write_file ("ends/run", "sessions.jsonl", cases[i].session);
      g_autoptr (LoomRunSummary) run = loom_run_summary_new (folder, 10);
      g_autoptr (StudioRunEntry) entry = studio_run_entry_new (run, NULL);
      g_autofree char *result = studio_run_entry_dup_result (entry), *spoken = studio_run_entry_dup_spoken (entry);
      g_autofree char *reason = studio_run_entry_dup_reason (entry);

      g_assert_nonnull (strstr (result, cases[i].result));
      g_assert_true (cases[i].reason == NULL || strstr (spoken, cases[i].result) != NULL);
      g_assert_cmpstr (reason, ==, cases[i].reason);
    }
}

/* A run that trains and waits is paused, which only its window knows. */
static void
test_paused (void)
{
  g_autofree char *graph = g_strdup_printf (GRAPH, "paused", "0.1"), *folder = path_of ("paused/run");

  write_file ("paused/run", "run.json", "{\"version\":1,\"device\":\"cpu\",\"threads\":1,\"data_folder\":null}");
  write_file ("paused/run", "graph.xml", graph);
  write_loss ("paused/run", 0.5);
  g_autoptr (LoomRunSummary) run = loom_run_summary_new (folder, 10);
  run->log.is_training = TRUE;
  g_autoptr (StudioRunEntry) entry = studio_run_entry_new (run, NULL);

  for (int paused = 1; paused >= 0; paused--)
    {
      studio_run_entry_set_paused (entry, paused);
      g_autofree char *result = studio_run_entry_dup_result (entry), *spoken = studio_run_entry_dup_spoken (entry);
      g_assert_nonnull (strstr (result, paused ? "· paused" : "· training"));
      g_assert_nonnull (strstr (spoken, paused ? ", paused" : ", training"));
    }
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  scratch = g_dir_make_tmp ("gradloom-runs-XXXXXX", NULL);
  make_runs ();
  g_test_add_func ("/runs/list", test_list);
  g_test_add_func ("/runs/refresh", test_refresh);
  g_test_add_func ("/runs/choose", test_choose);
  g_test_add_func ("/runs/ends", test_ends);
  g_test_add_func ("/runs/paused", test_paused);
  g_test_add_func ("/runs/charts", test_charts);
  g_test_add_func ("/runs/validation", test_validation);
  g_test_add_func ("/runs/notes", test_notes);
  g_test_add_func ("/runs/hide", test_hide);
  g_test_add_func ("/runs/only", test_only);
  g_test_add_func ("/runs/long", test_long);
  g_test_add_func ("/runs/queue", test_queue);
  g_test_add_func ("/runs/queue-on-disk", test_queue_on_disk);
  g_test_add_func ("/runs/queue-untitled", test_queue_untitled);
  g_test_add_func ("/runs/queue-watched", test_queue_watched);
  status = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  return status;
}
