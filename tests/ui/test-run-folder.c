/* The folder of a run and the program of its worker: what is found there, restored, refused or left. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/loom.h"
#include "ui/run/run-costs.h"
#include "ui/run/run-folder.h"
#include "ui/run/studio-run-private.h"
#include "ui/worker/studio-worker-errors.h"
#include "ui/worker/studio-worker.h"
#include "tests/event-lines.h"
#include "tests/test-program.h"
#include "tests/ui/feed-run.h"

static void
test_folder (void)
{
  g_autofree char *folder = run_folder_new ("LeNet on Fashion-MNIST / ../x");
  g_autofree char *leaf = g_path_get_basename (folder);
  g_assert_true (g_str_has_prefix (leaf, "lenet-on-fashion-mnist-x-"));
  g_autofree char *nameless = run_folder_new ("…");
  g_autofree char *nameless_leaf = g_path_get_basename (nameless);
  g_assert_true (g_str_has_prefix (nameless_leaf, "run-"));
  /* A branch of a run that was attached has its parent's name once, and a time of its own. */
  g_autofree char *like = run_folder_new_like ("/runs/net-2-20260131-154210-3"),
                  *like_leaf = g_path_get_basename (like);
  g_assert_true (g_regex_match_simple ("^net-2-[0-9]{8}-[0-9]{6}$", like_leaf, 0, 0));
}

/* The trainer accepts no folder that already has a run, so without a checkpoint the run starts over in a new folder. */
static void
test_start_again (void)
{
  g_setenv ("GRADLOOM_WORKER", "/nothing-here/gradloom", TRUE);
  g_autoptr (StudioRun) run = studio_run_new ();
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;
  studio_run_start (run, "<graph/>", NULL, "again", &options);
  g_autofree char *first = g_strdup (studio_run_get_folder (run));
  studio_run_remember (run, "hash");
  feed (run, 1, 5, 1);
  studio_run_take_end (run, "The worker was ended by signal 9 (Killed).");

  studio_run_continue (run, &options);
  g_autofree char *second = g_strdup (studio_run_get_folder (run));
  g_assert_cmpstr (second, !=, first);
  g_assert_true (g_file_test (second, G_FILE_TEST_IS_DIR));
  g_assert_true (studio_run_is_live (run));
  g_assert_cmpuint (loom_series_length (studio_run_get_train (run, -1)), ==, 0);
  g_assert_cmpuint (loom_series_length (studio_run_get_previous (run, -1)), ==, 5);
  g_autofree char *left = g_build_filename (first, "studio-unfinished", NULL);
  g_autofree char *note = g_build_filename (second, "studio-unfinished", NULL);
  g_assert_false (g_file_test (left, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (note, G_FILE_TEST_EXISTS));

  /* With a checkpoint it resumes there. */
  feed (run, 1, 40, 1);
  studio_run_take_checkpoint (run, 30, "30");
  studio_run_take_end (run, "The worker was ended by signal 9 (Killed).");
  studio_run_continue (run, &options);
  g_assert_cmpstr (studio_run_get_folder (run), ==, second);
  g_assert_cmpuint (loom_series_length (studio_run_get_train (run, -1)), ==, 40);
  while (studio_run_is_live (run))
    g_main_context_iteration (NULL, TRUE);
  g_unlink (note);
  g_rmdir (first);
  g_rmdir (second);
}

static void
write_file (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL), *parent = g_path_get_dirname (path);
  g_autoptr (GError) error = NULL;
  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
}

static gboolean
busy_cb (gpointer data)
{
  return g_get_monotonic_time () < *(gint64 *)data;
}

static void
spawned_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (StudioWorker) worker = studio_worker_spawn_finish (result, data);
  g_assert_null (worker);
}

/* What the worker has said is read even if Studio is busy until long after the worker's end. */
static void
test_late_reason (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-late-XXXXXX", NULL);
  g_autofree char *program = g_build_filename (folder, "worker", NULL);
  const gint64 until = g_get_monotonic_time () + 2 * G_USEC_PER_SEC;
  g_autoptr (GError) error = NULL;

  write_file (folder, "worker", "#!/bin/sh\necho first >&2\necho out of memory >&2\nexit 3\n");
  g_assert_cmpint (g_chmod (program, 0700), ==, 0);
  g_setenv ("GRADLOOM_WORKER", program, TRUE);
  g_idle_add_full (G_PRIORITY_DEFAULT, busy_cb, (gpointer)&until, NULL);
  studio_worker_spawn_async (0, 1, NULL, spawned_cb, &error);
  while (error == NULL || g_get_monotonic_time () < until)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpstr (error->message, ==, "The worker ended before it was ready. Its last message: out of memory");
  g_unsetenv ("GRADLOOM_WORKER");
  g_unlink (program);
  g_rmdir (folder);
}

/* Restores a run of an earlier Studio up to its checkpoint, with its learning rate and a message about its end. A live
 * trainer holds the lock on its events. */
static void
test_history (void)
{
  g_autofree char *folder = run_folder_new ("history"), *events = g_build_filename (folder, "events.jsonl", NULL);
  g_autoptr (GString) text = g_string_new (NULL);
  for (int step = 1; step <= 20000; step++)
    {
      g_string_append_printf (text, "{\"event\":\"step\",\"step\":%d,\"epoch\":1,\"loss\":0.5,\"lr\":0.25}\n", step);
      if (step == 100)
        g_string_append (text, "{\"event\":\"hyper\",\"step\":100,\"name\":\"lr\",\"value\":0.25}\n"
                               "{\"event\":\"eval\",\"split\":\"val\",\"step\":100,\"epoch\":1,\"loss\":0.6,"
                               "\"metrics\":{\"accuracy\":0.8,\"confusion\":[[1]]}}\n");
    }
  g_string_append (text, "{\"event\":\"step\",\"st"); /* cut off by a crash */
  write_file (folder, "events.jsonl", text->str);
  write_file (folder, "graph.xml", "<graph/>");
  write_file (folder, "checkpoints/10000/state.json", "{\"hyper\":{\"base_lr\":0.25}}");
  write_file (folder, "studio-unfinished", "history-hash");
  for (int wanted = 0; wanted < 2; wanted++)
    {
      g_autoptr (StudioRun) run = studio_run_new ();
      g_assert_false (studio_run_find_interrupted (run, "another-hash", NULL));
      gint64 begin = g_get_monotonic_time ();
      g_assert_true (studio_run_find_interrupted (run, "history-hash", NULL));
      g_test_message ("20,000 events read in %.0f ms", (double)(g_get_monotonic_time () - begin) / 1000);
      g_assert_cmpuint (loom_series_length (studio_run_get_train (run, -1)), ==, 10000);
      g_assert_cmpuint (loom_series_length (studio_run_get_validation (run, -1)), ==, 1);
      g_assert_cmpuint (studio_run_n_metrics (run), ==, 1);
      g_assert_cmpstr (studio_run_get_metric_name (run, 0), ==, "accuracy");
      g_assert_cmpuint (studio_run_get_curves (run)->marks->len, ==, 1);
      g_assert_cmpint (studio_run_get_step (run), ==, 10000);
      g_assert_cmpfloat (studio_run_get_base_lr (run), ==, 0.25);
      g_assert_true (studio_run_can_resume (run));
      g_assert_cmpint (studio_run_get_state (run), ==, wanted ? STUDIO_RUN_STOPPED : STUDIO_RUN_LOST);
      g_assert_true ((strstr (studio_run_get_message (run), "ended early") == NULL) == wanted);
      write_file (folder, "studio-unfinished", "history-hash\nstopped\n");
    }
  int fd = open (events, O_RDWR | O_CLOEXEC);
  g_assert_cmpint (flock (fd, LOCK_EX), ==, 0);
  g_autoptr (StudioRun) run = studio_run_new ();
  g_assert_false (studio_run_find_interrupted (run, "history-hash", NULL));
  g_assert_true (studio_run_is_elsewhere ("history-hash"));
  close (fd);
  g_assert_false (studio_run_is_elsewhere ("history-hash"));
}

/* Events that a stranger wrote are left out. */
static void
test_foreign_events (void)
{
  g_autofree char *folder = run_folder_new ("foreign");

  write_file (folder, "graph.xml", "<graph/>");
  write_file (folder, "checkpoints/9/state.json", "{\"hyper\":{\"base_lr\":[]}}");
  write_file (folder, "studio-unfinished", "foreign-hash");
  for (guint32 seed = 0; seed < 3; seed++)
    {
      g_autoptr (StudioRun) run = studio_run_new ();
      g_autofree char *lines = event_lines_new (seed, 300);

      write_file (folder, "events.jsonl", lines);
      g_assert_true (studio_run_find_interrupted (run, "foreign-hash", NULL));
      g_assert_cmpint (studio_run_get_step (run), ==, 9);
      g_assert_cmpuint (loom_series_length (studio_run_get_train (run, -1)), >, 0);
    }
}

/* What a program in this folder takes for the worker's, or why it takes none. */
static char *
found_by (const char *program)
{
  const char *argv[] = { program, "--find-program", NULL };
  g_auto (GStrv) env = g_environ_unsetenv (g_get_environ (), "GRADLOOM_WORKER");
  g_autoptr (GError) error = NULL;
  char *out = NULL;

  g_assert_true (g_spawn_sync (NULL, (char **)argv, env, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL, NULL, &error));
  g_assert_no_error (error);
  return out;
}

/* A worker program that other users can change is reported, and no other program is used instead. */
static void
test_foreign_program (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL), *build = g_path_get_dirname (self);
  g_autofree char *folder = g_build_filename (build, "find-XXXXXX", NULL);
  g_assert_nonnull (g_mkdtemp (folder));
  g_autofree char *own = g_build_filename (folder, "own", NULL), *worker = g_build_filename (folder, "gradloom", NULL);

  g_assert_cmpint (link (self, own), ==, 0);
  write_file (folder, "gradloom", "#!/bin/sh\n");
  g_assert_cmpint (g_chmod (worker, 0755), ==, 0);
  g_autofree char *found = found_by (own);
  g_assert_cmpstr (found, ==, worker);
  g_assert_cmpint (g_chmod (worker, 0777), ==, 0);
  g_autofree char *refused = found_by (own);
  g_assert_nonnull (strstr (refused, "was not started because other"));
  g_assert_nonnull (strstr (refused, worker));
  g_remove (worker);
  g_remove (own);
  g_rmdir (folder);
}

static int
print_program (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *program = studio_worker_find_program (&error);

  printf ("%s", program != NULL ? program : error->message);
  return 0;
}

/* Views by their names, ports as they are, and the share of the time; damaged lines say nothing. */
static void
test_costs (void)
{
  static const char text[] = "{\"view\":\"predict\",\"requests\":1200,\"seconds\":1.5}\n"
                             "{\"view\":\"conv1\",\"requests\":2,\"seconds\":0.5}\n";
  g_autofree char *words = run_costs_describe (text, strlen (text), 98),
                  *some = run_costs_describe (text, strlen (text), 0);

  g_assert_cmpstr (words, ==,
                   "Watching took 2.000 s, all steps 98.00 s:\npicture of the task, own input: 1.250 ms, 1,200 times\n"
                   "conv1: 250.0 ms, 2 times");
  g_assert_true (g_str_has_prefix (some, "Watching took 2.000 s:\n"));
  g_assert_null (run_costs_describe (text, strlen (text) - 1, 98));
  g_assert_null (run_costs_describe ("{}\n", 3, 98));
  g_assert_null (run_costs_describe ("[1]\n", 4, 98));
  g_assert_null (run_costs_describe ("", 0, 98));
}

TEST_FILE (argc, argv)
{
  if (argc == 2 && g_str_equal (argv[1], "--find-program"))
    return print_program ();
  g_autofree char *home = g_dir_make_tmp ("gradloom-run-XXXXXX", NULL);
  g_setenv ("XDG_STATE_HOME", home, TRUE); /* before GLib reads it for the first time */
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run-folder/folder", test_folder);
  g_test_add_func ("/run-folder/start-again", test_start_again);
  g_test_add_func ("/run-folder/late-reason", test_late_reason);
  g_test_add_func ("/run-folder/history", test_history);
  g_test_add_func ("/run-folder/foreign-events", test_foreign_events);
  g_test_add_func ("/run-folder/costs", test_costs);
  g_test_add_func ("/run-folder/foreign-program", test_foreign_program);
  return g_test_run ();
}
