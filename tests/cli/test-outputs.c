/* Training and its output: signals, full disks, closed pipes, numbers and settings that change. */
#include <json-glib/json-glib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/cli/cli-runs.h"
#include "tests/cli/cli.h"
#include "tests/test-program.h"

/* Events without the members that differ between runs with the same numbers. */
static char *
without_times (const char *lines)
{
  g_autoptr (GRegex) time = g_regex_new (",\"(time|items_per_second)\":[^,}]*", 0, 0, NULL);
  return g_regex_replace_literal (time, lines, -1, 0, "", 0, NULL);
}

static void
test_train (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) a = cli ("train", path, "--epochs", "3", "--json", "--out", "run1", NULL);
  g_assert_cmpint (a.status, ==, 0);
  g_assert_cmpuint (count_events (a.out, "step"), ==, 48);
  g_assert_cmpuint (count_events (a.out, "eval"), ==, 3);
  g_assert_cmpuint (count_events (a.out, "done"), ==, 1);
  g_assert_cmpstr (a.err, ==, ""); /* no progress bar without a terminal, and nothing else either */
  g_assert_true (g_file_test ("run1/weights.safetensors", G_FILE_TEST_EXISTS));

  /* The run's own graph contains all options: it repeats the curve exactly. */
  g_auto (CliResult) b = cli ("train", "run1/graph.xml", "--json", NULL);
  g_autofree char *curve_a = without_times (a.out), *curve_b = without_times (b.out);
  g_assert_cmpstr (curve_a, ==, curve_b);
  cli_expect (2, "already holds a run", "train", path, "--out", "run1");

  g_auto (CliResult) text = cli ("train", path, "--epochs", "2", "--set", "hidden.out_features=8", NULL);
  g_assert_cmpint (text.status, ==, 0);
  g_assert_nonnull (strstr (text.out, "test"));
  g_assert_nonnull (strstr (text.out, "accuracy"));
  g_auto (CliResult) eval = cli ("eval", "run1", "--json", NULL);
  g_assert_cmpuint (count_events (eval.out, "eval"), ==, 1);
  /* The trained weights are those that are evaluated. */
  const char *line = strstr (a.out, "\"step\":48,\"loss\"") != NULL
                         ? strstr (a.out, "\"event\":\"eval\",\"split\":\"test\",\"step\":48")
                         : NULL;
  g_assert_nonnull (line);
  g_autofree char *metrics = g_strndup (strstr (line, "\"metrics\""),
                                        strchr (strstr (line, "\"metrics\""), '}') - strstr (line, "\"metrics\""));
  g_assert_nonnull (strstr (eval.out, metrics));
  cli_expect (1, NULL, "eval", path, "--weights", "nowhere.safetensors");
  cli_expect (3, "cuda", "train", path, "--device", "cuda:99");
  g_autofree char *line_graph = cli_example ("lessons/linear-regression.xml");
  cli_expect (4, "no longer finite", "train", line_graph, "--lr", "1000");
  cli_expect (4, "--resume wild --lr 100", "train", line_graph, "--lr", "1000", "--out", "wild");
  cli_expect (1, "no checkpoint yet", "eval", "wild");
  cli_expect (1, "neither a run nor a graph", "eval", "nowhere");
  cli_expect (3, "The device cpu cannot compute", "train", path, "--precision", "f16", "--device", "cpu");
  cli_expect (3, "use bf16 instead. Another device may support it.", "train", path, "--precision", "f16", "--device",
              "cpu");
  cli_expect (5, "the folder /proc/none: ", "train", path, "--out", "/proc/none");
  cli_expect (2, "--match: no weight's path", "train", path, "--weights", "nowhere.st", "--match", "blck*");
  cli_expect (2, "“lr”", "train", path, "--set", "train.learning_rate=1");
}

static int
interrupt (int number)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_autofree char *out = g_strdup_printf ("signal-%d", number);
  const char *argv[] = { program, "train", path, "--epochs", "1000000", "--json", "--out", out, NULL };
  g_autofree char *checkpoint = g_build_filename (out, "checkpoints", "16", NULL);
  GPid pid;
  int status;

  g_assert_true (g_spawn_async (NULL, (char **)argv, NULL,
                                G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL | G_SPAWN_DO_NOT_REAP_CHILD,
                                NULL, NULL, &pid, NULL));
  for (int i = 0; i < 60000 && !g_file_test (checkpoint, G_FILE_TEST_EXISTS); i++)
    g_usleep (10000);
  kill (pid, number);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_autofree char *weights = g_build_filename (out, "weights.safetensors", NULL);
  g_assert_true (g_file_test (weights, G_FILE_TEST_EXISTS));
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
test_signals (void)
{
  g_assert_cmpint (interrupt (SIGINT), ==, 130);
  g_assert_cmpint (interrupt (SIGTERM), ==, 143);
}

static void
test_full_disk (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  /* Room for the graph, none for the run: files may grow to one kilobyte in the child. */
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *script = g_strdup_printf (
      "trap '' XFSZ; ulimit -f 8; exec '%s' train '%s' --set hidden.out_features=4096 --epochs 2 --out full", program,
      path);
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  g_autofree char *err = NULL;
  int status;

  g_assert_true (
      g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &err, &status, NULL));
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 5);
  /* Whole or not at all. */
  g_assert_false (g_file_test ("full/weights.safetensors", G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test ("full/checkpoints/16", G_FILE_TEST_EXISTS));
}

/* A given number is never treated as missing. */
static void
test_numbers (void)
{
  static const char *const wrong[][4] = {
    { "train", "--seed", "-5", "takes 0 or a positive number" },
    { "train", "--epochs", "-2", "--epochs takes 0 or a positive number" },
    { "train", "--batch-size", "0", "positive" },
    { "train", "--threads", "0", "--threads takes a positive" },
    { "train", "--checkpoint-seconds", "0", "positive" },
    { "eval", "--threads", "-1", "positive" },
    { "check", "--batch-size", "0", "positive" },
    { "bench", "--windows", "0", "positive" },
    { "plan", "--batch-size", "0", "positive" },
    { "run", "--seed", "-1", "takes 0 or a positive number" },
  };
  g_autofree char *path = cli_example ("lessons/linear-regression.xml");

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    cli_expect (2, wrong[i][3], wrong[i][0], path, wrong[i][1], wrong[i][2]);
  cli_expect (2, "--grads F.safetensors", "run", path, "--grad", "loss");
}

static void
test_lost_output (void)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *path = cli_example ("lessons/linear-regression.xml");
  static const struct
  {
    const char *words, *to;
    int status;
  } cases[] = {
    { "check '%s'", ">/dev/full", 5 },
    { "check '%s' --json", ">/dev/full", 5 },
    { "program '%s'", ">/dev/full", 5 },
    { "train '%s' --help", ">/dev/full", 5 },
    /* It would take days; the first line that is lost ends it. */
    { "train '%s' --json --epochs 10000000", ">/dev/full", 5 },
    { "check nowhere.xml # '%s'", "\n", 1 },
    { "ops --markdown # '%s'", "\n", 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *words = g_strdup_printf (cases[i].words, path);
      g_autofree char *script = g_strdup_printf ("'%s' %s %s", program, words, cases[i].to);
      const char *argv[] = { "/bin/sh", "-c", script, NULL };
      g_autofree char *err = NULL;
      int status;

      g_assert_true (
          g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &err, &status, NULL));
      g_assert_true (WIFEXITED (status));
      g_assert_cmpint (WEXITSTATUS (status), ==, cases[i].status);
      g_assert_true ((cases[i].status == 5) == (strstr (err, "Standard output could not be written") != NULL));
    }
  /* It is no error if the reader has closed the pipe. */
  g_autofree char *script = g_strdup_printf ("trap '' PIPE; '%s' check '%s' | true", program, path);
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  g_autofree char *err = NULL;
  g_assert_true (
      g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &err, NULL, NULL));
  g_assert_cmpstr (err, ==, "");
}

/* Both halves of a step that accumulates are listed, and timed. */
static void
test_two_halves (void)
{
  write_course ("halves.xml", "scores", 1, "");
  g_auto (CliResult) program = cli ("program", "halves.xml", NULL);
  g_auto (CliResult) plan = cli ("plan", "halves.xml", NULL);
  g_auto (CliResult) bench = cli ("bench", "halves.xml", "--windows", "1", "--seconds", "0.01", NULL);
  const char *between = strstr (program.out, "that <train> accumulates");
  g_assert_nonnull (between);
  g_assert_nonnull (strstr (between, "sgd_step"));
  g_assert_true (strstr (program.out, "sgd_step") > between);
  g_assert_nonnull (strstr (plan.out, "that <train> accumulates"));
  g_assert_cmpint (bench.status, ==, 0);
}

/* Parameters with shape and device, of which a node's follow its device. */
static void
test_parameters (void)
{
  cli_write ("two.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                        "<node id=\"x\" op=\"input\" shape=\"B,3\"/>\n"
                        "<node id=\"a\" op=\"linear\" out_features=\"5\"/>\n"
                        "<node id=\"b\" op=\"linear\" out_features=\"2\" bias=\"false\" device=\"cpu:1\"/>\n"
                        "<wire from=\"x\" to=\"a\"/>\n<wire from=\"a\" to=\"b\"/>\n</graph>\n");
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_auto (CliResult) here = cli ("plan", "two.xml", "--parameters", NULL);
  g_auto (CliResult) moved = cli ("plan", "two.xml", "--parameters", "--json", "--device", "cpu:1", NULL);
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
  g_assert_cmpint (here.status, ==, 0);
  g_assert_nonnull (strstr (here.out, "a.weight   5×3             f32    cpu"));
  g_assert_nonnull (strstr (here.out, "b.weight   2×5             f32    cpu:1"));
  g_assert_nonnull (strstr (here.out, "2 on cpu, "));
  g_assert_nonnull (strstr (here.out, "1 on cpu:1, "));
  g_assert_nonnull (strstr (moved.out, "\"name\":\"a.weight\",\"dtype\":\"f32\",\"shape\":[5,3],\"trainable\":true,"
                                       "\"device\":\"cpu:1\""));
  g_assert_null (strstr (moved.out, "\"cpu\""));
  cli_expect (2, "Use one of them", "plan", "two.xml", "--parameters", "--passes");
}

/* Metrics with matrices, early stopping, and the saved best and average weights. */
static void
test_course (void)
{
  write_course ("course.xml", "scores", 90, "");
  g_auto (CliResult) run = cli ("train", "course.xml", "--json", "--out", "course", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_autoptr (GPtrArray) evals = events_of (run.out, "eval"), stops = events_of (run.out, "early_stop");
  g_assert_cmpuint (evals->len, <, 90);
  g_assert_cmpuint (stops->len, ==, 1);
  JsonObject *stop = stops->pdata[0], *last = evals->pdata[evals->len - 1];
  gint64 best = json_object_get_int_member (stop, "best_epoch");
  g_assert_cmpint (best + 2, ==, evals->len);
  g_assert_cmpfloat (json_object_get_double_member (stop, "best"), ==,
                     json_object_get_double_member (evals->pdata[best - 1], "loss"));
  g_assert_cmpstr (json_object_get_string_member (stop, "monitor"), ==, "loss");

  JsonArray *matrix
      = json_object_get_array_member (json_object_get_object_member (last, "metrics"), "confusion_matrix");
  gint64 sum = 0;
  g_assert_cmpuint (json_array_get_length (matrix), ==, 2);
  for (guint i = 0; i < 4; i++)
    sum += json_array_get_int_element (json_array_get_array_element (matrix, i / 2), i % 2);
  g_assert_cmpint (sum, ==, 500);
  g_autofree char *events = read_events ("course");
  g_autoptr (GPtrArray) kept = events_of (events, "early_stop"), kept_evals = events_of (events, "eval");
  g_assert_cmpuint (kept->len, ==, 1);
  g_assert_cmpuint (kept_evals->len, ==, evals->len);

  /* eval takes the averages, which validation saw; the best weights are a file of their own. */
  g_auto (CliResult) eval = cli ("eval", "course", "--json", NULL);
  g_autoptr (GPtrArray) again = events_of (eval.out, "eval");
  g_assert_cmpfloat (json_object_get_double_member (again->pdata[0], "loss"), ==,
                     json_object_get_double_member (last, "loss"));
  g_auto (CliResult) best_eval = cli ("eval", "course", "--weights", "course/weights-best.safetensors", "--json", NULL);
  g_autoptr (GPtrArray) best_again = events_of (best_eval.out, "eval");
  g_assert_cmpfloat (json_object_get_double_member (best_again->pdata[0], "loss"), ==,
                     json_object_get_double_member (stop, "best"));
  g_auto (CliResult) text = cli ("eval", "course", NULL);
  g_assert_nonnull (strstr (text.out, "confusion_matrix (a row for each class"));
  g_assert_nonnull (strstr (text.out, "  f1 0."));

  g_auto (CliResult) over = cli ("train", "--resume", "course", NULL);
  g_assert_nonnull (strstr (over.out, "stopped early"));
  write_course ("course.xml", "scores", 90, "");
  g_auto (CliResult) early_run = cli ("train", "course.xml", NULL);
  g_assert_nonnull (strstr (early_run.out, "stopped early: 2 epochs without a better loss than"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/train", test_train);
  g_test_add_func ("/cli/signals", test_signals);
  g_test_add_func ("/cli/full-disk", test_full_disk);
  g_test_add_func ("/cli/numbers", test_numbers);
  g_test_add_func ("/cli/lost-output", test_lost_output);
  g_test_add_func ("/cli/course", test_course);
  g_test_add_func ("/cli/two-halves", test_two_halves);
  g_test_add_func ("/cli/parameters", test_parameters);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
