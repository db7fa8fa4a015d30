/* Runs in the background: train --detach, attach and its ends, and what runs says of them. */
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/infer/loom-run-socket.h"
#include "tests/cli/cli.h"
#include "tests/test-program.h"

static const char graph[]
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"background\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\"/><node id=\"fc\" op=\"linear\" out_features=\"2\"/>"
      "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"64\" epochs=\"3\" seed=\"1\"/></graph>";

/* Waits until the process of a run that has ended has removed its socket. */
static void
wait_until_gone (const char *run)
{
  for (;;)
    {
      g_auto (CliResult) r = cli ("attach", run, NULL);

      g_assert_cmpint (r.status, !=, 0);
      if (strstr (r.err, "No run goes on in") != NULL)
        return;
      g_assert_nonnull (strstr (r.err, "has just ended"));
    }
}

static void
test_stop (void)
{
  g_auto (CliResult) begun = { 0 }, listed = { 0 }, stopped = { 0 }, resumed = { 0 };

  begun = cli ("train", "g.xml", "--epochs", "1000000", "--lr", "0.02", "--out", "long run", "--detach", NULL);
  if (begun.status != 0)
    g_error ("status %d: %s", begun.status, begun.err);
  g_assert_nonnull (strstr (begun.out, "gradloom attach 'long run'"));
  listed = cli ("runs", ".", NULL);
  g_assert_nonnull (strstr (listed.out, "training in the background"));
  /* It has the folder for itself. */
  cli_expect (5, "Another process is training", "train", "--resume", "long run");
  stopped = cli ("attach", "long run", "--stop", NULL);
  g_assert_cmpint (stopped.status, ==, 0);
  g_assert_nonnull (strstr (stopped.out, "stopped; resume with: gradloom train --resume 'long run'"));
  wait_until_gone ("long run");
  g_assert_true (g_file_test ("long run/weights.safetensors", G_FILE_TEST_EXISTS));
  resumed = cli ("runs", ".", "--json", NULL);
  g_assert_nonnull (strstr (resumed.out, "\"training\":false,\"attachable\":false"));
}

/* Waits until the process has ended, by its lock on the run. */
static void
wait_for_end (const char *run)
{
  for (;;)
    {
      g_auto (CliResult) r = cli ("runs", run, "--json", NULL);

      g_assert_cmpint (r.status, ==, 0);
      if (strstr (r.out, "\"training\":false") != NULL)
        return;
      g_usleep (20000);
    }
}

/* With the bits of a run in the foreground, by way of all options that a worker is given. */
static void
test_same_bits (void)
{
  g_autofree char *a = NULL, *b = NULL;
  gsize n_a, n_b;

  cli_expect (0, NULL, "train", "g.xml", "--epochs", "4", "--seed", "7", "--lr", "0.03", "--set", "fc.bias=false",
              "--out", "after", "--batch-size", "32", "--detach");
  wait_for_end ("after");
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "4", "--seed", "7", "--lr", "0.03", "--set", "fc.bias=false",
              "--out", "before", "--batch-size", "32");
  g_assert_true (g_file_get_contents ("after/weights.safetensors", &a, &n_a, NULL));
  g_assert_true (g_file_get_contents ("before/weights.safetensors", &b, &n_b, NULL));
  g_assert_cmpmem (a, n_a, b, n_b);
  g_clear_pointer (&a, g_free);
  g_clear_pointer (&b, g_free);
  g_assert_true (g_file_get_contents ("after/events.jsonl", &a, &n_a, NULL));
  g_assert_true (g_file_get_contents ("before/events.jsonl", &b, &n_b, NULL));
  g_assert_cmpstr (a, ==, b);
}

static void
test_events (void)
{
  g_auto (CliResult) all = { 0 };
  g_auto (GStrv) lines = NULL;

  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1000000", "--out", "events", "--detach");
  all = cli ("attach", "events", "--json", "--stop", NULL);
  g_assert_cmpint (all.status, ==, 0);
  lines = g_strsplit (g_strchomp (all.out), "\n", -1);
  g_assert_nonnull (strstr (lines[0], "{\"event\":\"step\",\"step\":"));
  g_assert_null (strstr (all.out, "Ctrl-C"));
}

/* The process that trains in a folder. */
static int
pid_of (const char *run)
{
  g_autoptr (GError) error = NULL;
  int pid = 0, fd = loom_run_socket_connect (run, &pid, &error);

  g_assert_no_error (error);
  close (fd);
  g_assert_cmpint (pid, >, 1);
  return pid;
}

/* The folder of a run has another name than when it began. */
static void
test_renamed (void)
{
  g_auto (CliResult) stopped = { 0 }, listed = { 0 };

  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1000000", "--out", "old", "--detach");
  g_assert_cmpint (rename ("old", "new"), ==, 0);
  listed = cli ("runs", "new", NULL);
  g_assert_nonnull (strstr (listed.out, "training in the background"));
  stopped = cli ("attach", "new", "--stop", NULL);
  g_assert_cmpstr (stopped.err, ==, "");
  g_assert_cmpint (stopped.status, ==, 0);
  wait_for_end ("new");
  g_assert_false (g_file_test ("old", G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test ("new/weights.safetensors", G_FILE_TEST_EXISTS));
  cli_expect (1, "No run goes on in new. It was stopped after ", "attach", "new");
}

/* A killed process is no stop of the user. */
static void
test_killed (void)
{
  g_auto (CliResult) listed = { 0 }, json = { 0 };

  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1000000", "--out", "killed", "--detach");
  g_assert_cmpint (kill (pid_of ("killed"), SIGKILL), ==, 0);
  wait_for_end ("killed");
  cli_expect (1, "Its process was killed after ", "attach", "killed");
  listed = cli ("runs", "killed", NULL);
  g_assert_nonnull (strstr (listed.out, "killed  "));
  json = cli ("runs", "killed", "--json", NULL);
  g_assert_nonnull (strstr (json.out, "\"end\":\"killed\""));
}

/* A limit of the size of files, which the next file exceeds, is like a full disk: the reason is written into a line
 * that is there already. */
static void
test_full_disk (void)
{
  static const struct rlimit small = { 4096, 4096 };
  g_auto (CliResult) listed = { 0 }, attached = { 0 };
  g_auto (GStrv) lines = NULL;

  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1000000", "--history", "0", "--out", "full", "--detach");
  g_assert_cmpint (prlimit (pid_of ("full"), RLIMIT_FSIZE, &small, NULL), ==, 0);
  wait_for_end ("full");
  attached = cli ("attach", "full", NULL);
  g_assert_cmpint (attached.status, ==, 1);
  g_assert_nonnull (strstr (attached.err, "It failed after "));
  listed = cli ("runs", "full", NULL);
  lines = g_strsplit (g_strstrip (listed.out), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 3);
  g_assert_nonnull (strstr (lines[1], "failed  "));
  g_assert_nonnull (strstr (attached.err, g_strstrip (lines[2])));
}

/* One sentence each, without a terminal. */
static void
test_ended (void)
{
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1", "--out", "done");
  cli_expect (1, "No run goes on in done. It is done, after 16 steps.", "attach", "done");
  cli_expect (1, "No run goes on in done. It is done, after 16 steps.", "attach", "done", "--json", "--stop");
  g_mkdir_with_parents ("bare", 0755);
  g_assert_cmpint (rename ("done/graph.xml", "bare/graph.xml"), ==, 0);
  g_assert_cmpint (rename ("done/run.json", "bare/run.json"), ==, 0);
  cli_expect (1, "No run goes on in bare. It has no step yet.", "attach", "bare");
  cli_expect (1, "it has no graph.xml", "attach", "done");
}

static void
test_refused (void)
{
  cli_expect (2, "Add --out DIR", "train", "g.xml", "--detach");
  cli_expect (2, "cannot be combined with --hosts", "train", "g.xml", "--out", "x", "--detach", "--json");
  cli_expect (2, "It takes one RUN", "attach");
  cli_expect (1, "No run goes on in nowhere", "attach", "nowhere");
  cli_write ("bad.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"liner\"/></graph>");
  cli_expect (1, "liner", "train", "bad.xml", "--out", "x", "--detach");
  cli_write ("nodata.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" "
                           "source=\"csv\" path=\"none.csv\" target=\"y\"/><node id=\"fc\" op=\"linear\" "
                           "out_features=\"1\"/><node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"fc\"/>"
                           "<wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
                           "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"1\"/></graph>");
  cli_expect (1, "none.csv", "train", "nodata.xml", "--out", "x", "--detach");
  g_assert_false (g_file_test ("x/graph.xml", G_FILE_TEST_EXISTS));
}

/* The folder of sockets is not this user's own: the run ends with a checkpoint, and the command says why. */
static void
test_not_kept (void)
{
  g_assert_cmpint (g_chmod ("state/gradloom/live", 0755), ==, 0);
  cli_expect (5, "it cannot go on in the background: The folder", "train", "g.xml", "--epochs", "1000000", "--out",
              "stays", "--detach");
  wait_for_end ("stays");
  g_assert_true (g_file_test ("stays/weights.safetensors", G_FILE_TEST_EXISTS));
  g_assert_cmpint (g_chmod ("state/gradloom/live", 0700), ==, 0);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_autofree char *state = g_canonicalize_filename ("state", NULL);
  g_setenv ("XDG_STATE_HOME", state, TRUE);
  cli_write ("g.xml", graph);
  g_test_add_func ("/attach/stop", test_stop);
  g_test_add_func ("/attach/same-bits", test_same_bits);
  g_test_add_func ("/attach/events", test_events);
  g_test_add_func ("/attach/renamed", test_renamed);
  g_test_add_func ("/attach/killed", test_killed);
  g_test_add_func ("/attach/full-disk", test_full_disk);
  g_test_add_func ("/attach/ended", test_ended);
  g_test_add_func ("/attach/refused", test_refused);
  g_test_add_func ("/attach/not-kept", test_not_kept);
  status = g_test_run ();
  cli_leave ();
  return status;
}
