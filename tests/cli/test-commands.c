/* Every command: on every example, without arguments, and with invalid ones. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static const char *const examples[]
    = { "lessons/xyz-sum.xml",    "lessons/linear-regression.xml", "lessons/two-layer-relu.xml",
        "lessons/spirals.xml",    "lessons/self-attention.xml",    "lessons/transfer-learning.xml",
        "models/fashion-mlp.xml", "models/fashion-lenet.xml" };

static void
test_examples (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autofree char *path = cli_example (examples[i]);
      g_auto (CliResult) check = cli ("check", path, NULL);
      g_auto (CliResult) program = cli ("program", path, NULL);
      g_auto (CliResult) plan = cli ("plan", path, NULL);
      g_assert_cmpstr (check.err, ==, "");
      g_assert_cmpint (check.status, ==, 0);
      g_assert_nonnull (strstr (check.out, "total"));
      g_assert_cmpint (program.status, ==, 0);
      g_assert_nonnull (strstr (program.out, "backward"));
      g_assert_cmpint (plan.status, ==, 0);
      g_assert_nonnull (strstr (plan.out, "arena"));
    }
}

/* Every line of --json is an object with an event. Returns how many have this one. */
static guint
count_events (const char *text, const char *event)
{
  g_auto (GStrv) line = g_strsplit (text, "\n", -1);
  guint n = 0;

  for (guint i = 0; line[i] != NULL; i++)
    {
      if (!line[i][0])
        continue;
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = json_from_string (line[i], &error);
      g_assert_no_error (error);
      g_assert_true (JSON_NODE_HOLDS_OBJECT (node));
      n += g_strcmp0 (json_object_get_string_member (json_node_get_object (node), "event"), event) == 0;
    }
  return n;
}

static void
test_check_json (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) r = cli ("check", "--json", path, NULL);
  g_assert_cmpuint (count_events (r.out, "node"), ==, 6);
  g_assert_cmpuint (count_events (r.out, "total"), ==, 1);

  cli_write ("bad.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n<node id=\"a\" op=\"liner\"/>\n"
                        "<node id=\"b\" op=\"relu\"/>\n</graph>\n");
  g_auto (CliResult) bad = cli ("check", "--json", "bad.xml", NULL);
  g_assert_cmpint (bad.status, ==, 1);
  g_assert_cmpuint (count_events (bad.out, "fault"), ==, 2); /* all at once, not the first alone */
  g_auto (CliResult) text = cli ("check", "bad.xml", NULL);
  g_assert_cmpint (text.status, ==, 1);
  g_assert_nonnull (strstr (text.err, "bad.xml: line 2"));
  g_assert_nonnull (strstr (text.err, "linear"));
}

static void
test_words (void)
{
  static const char *const commands[]
      = { "check",   "train",  "eval",   "run",    "program", "plan",    "bench",   "ops",
          "devices", "worker", "import", "export", "diff",    "predict", "arrange", "transfer" };

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      g_auto (CliResult) help = cli (commands[i], "--help", NULL);
      g_assert_cmpint (help.status, ==, 0);
      g_assert_nonnull (strstr (help.out, commands[i]));
      cli_expect (2, commands[i], commands[i], "--no-such-option");
    }
  cli_expect (2, "ends in .py", "export", "x.xml", "--to", "pytorch", "-o", "x.txt");
  cli_expect (2, "Did you mean “train”", "trian");
  cli_expect (2, "GRAPH is missing", "train");
  cli_expect (2, "one GRAPH", "check");
  cli_expect (2, "--resume", "train", "--resume", "a", "b");
  cli_expect (2, "--ranks", "train", "--ranks", "-4", "x.xml");
  cli_expect (2, "--lr", "train", "--lr", "fast", "x.xml");
  cli_expect (1, "nowhere.xml", "train", "nowhere.xml");
  cli_expect (1, "nowhere.xml", "check", "nowhere.xml");
  cli_expect (1, NULL, "train", "--resume", "nowhere");
  cli_expect (2, "plan, eager", "bench", "x.xml", "--executor", "lazy");
  g_auto (CliResult) version = cli ("--version", NULL);
  g_assert_true (g_str_has_prefix (version.out, "gradloom "));
}

static void
test_ops (void)
{
  g_auto (CliResult) list = cli ("ops", NULL);
  g_assert_nonnull (strstr (list.out, "cross_entropy"));
  g_auto (CliResult) one = cli ("ops", "linear", NULL);
  g_assert_nonnull (strstr (one.out, "out_features"));
  cli_expect (1, "Did you mean “linear”", "ops", "linea");
  cli_expect (1, "“reparametrisation”. Mentioned in: normal.", "ops", "reparametrisation");
  /* A module of the library is described, and its example is a graph. */
  g_auto (CliResult) module = cli ("ops", "transformer", NULL), shown = cli ("ops", "transformer", "--example", NULL);
  g_assert_nonnull (strstr (module.out, "a module of the library"));
  g_assert_nonnull (strstr (module.out, "  heads          int, default 4"));
  g_assert_true (g_file_set_contents ("transformer.xml", shown.out, -1, NULL));
  g_auto (CliResult) checked = cli ("check", "transformer.xml", NULL);
  g_assert_cmpint (checked.status, ==, 0);
  g_auto (CliResult) expression = cli ("ops", "expression", NULL);
  g_assert_true (strstr (expression.out, "hardsigmoid") != NULL && strstr (expression.out, "logaddexp") != NULL);
  g_auto (CliResult) schema = cli ("ops", "--schema", NULL);
  g_assert_nonnull (strstr (schema.out, "relaxng"));
  g_auto (CliResult) json = cli ("ops", "--json", NULL);
  g_auto (GStrv) line = g_strsplit (json.out, "\n", -1);
  for (guint i = 0; line[i] != NULL; i++)
    {
      g_autoptr (JsonNode) node = line[i][0] ? json_from_string (line[i], NULL) : NULL;
      g_assert_true (!line[i][0] || JSON_NODE_HOLDS_OBJECT (node));
    }
  g_auto (CliResult) markdown = cli ("ops", "--markdown", NULL);
  g_assert_nonnull (strstr (markdown.out, "linear"));
}

/* A plan for a card that is not here has its device's name, and a verdict on its memory. */
static void
test_plan_card (void)
{
  g_autofree char *path = cli_example ("models/fashion-lenet.xml");
  g_auto (CliResult) table = cli ("plan", path, "--card", "h100", "--parameters", NULL),
                     small = cli ("plan", path, "--card", "h100", "--memory", NULL),
                     large = cli ("plan", path, "--card", "k80", "--batch-size", "1000000", NULL);

  g_assert_cmpint (table.status, ==, 0);
  g_assert_nonnull (strstr (table.out, "cuda:0"));
  g_assert_null (strstr (table.out, " cpu"));
  g_assert_nonnull (strstr (small.out, "of the 80.0 GB of the H100 SXM5.\n"));
  g_assert_nonnull (strstr (large.out, "has 12.0 GB. A batch of "));
  /* Without <train> the batch size is that of the command line. */
  cli_write ("alone.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" "
                          "shape=\"B,1000\"/><node id=\"y\" op=\"relu\"/><wire from=\"x\" to=\"y\"/></graph>");
  g_auto (CliResult) alone = cli ("plan", "alone.xml", "--card", "k80", "--batch-size", "4000000", NULL);
  g_assert_nonnull (strstr (alone.out, "has 12.0 GB. A batch of "));
  cli_expect (2, "--card knows k80, p100", "plan", path, "--card", "k90");
  cli_expect (2, "Leave out --device", "plan", path, "--card", "h100", "--device", "cpu");
}

/* A number in a table's row, between two blanks or commas: a cell, without the text after it. */
static char **
find_row (const char *text, const char *name)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *line = lines[i] + strspn (lines[i], " *");
      gsize n = strlen (name);

      if (strncmp (line, name, n) == 0 && (strncmp (line + n, "  ", 2) == 0 || line[n] == ','))
        {
          g_autoptr (GRegex) gap = g_regex_new ("  +|, ", 0, 0, NULL);
          g_autoptr (GRegex) end = g_regex_new (" (in \\d+|a step:)$", 0, 0, NULL);
          char **cells = g_regex_split (gap, line, 0);

          for (guint k = 0; cells[k] != NULL; k++)
            {
              char *cut = g_regex_replace_literal (end, cells[k], -1, 0, "", 0, NULL);

              g_free (cells[k]);
              cells[k] = cut;
            }
          return cells;
        }
    }
  g_error ("no row “%s” in: %s", name, text);
}

/* The sentence with cells inserted for {2}; for {2m} and {2M} in millions, with and without a decimal. */
static char *
fill_in (const char *sentence, char **cells)
{
  GString *text = g_string_new (NULL);

  for (const char *s = sentence; *s != '\0'; s++)
    if (*s != '{')
      g_string_append_c (text, *s);
    else
      {
        const char *cell = cells[s[1] - '0'];
        g_auto (GStrv) digits = g_strsplit (cell, ",", -1);
        g_autofree char *plain = g_strjoinv ("", digits);

        if (s[2] == '}')
          g_string_append (text, cell);
        else
          g_string_append_printf (text, "%.*f", s[2] == 'm', g_ascii_strtod (plain, NULL) / 1e6);
        s = strchr (s, '}');
      }
  return g_string_free (text, FALSE);
}

/* Figures in the examples' docs are those that the program prints. Only figures that do not depend on kernels are
 * tested. */
static void
test_figures (void)
{
  static const struct
  {
    const char *file, *words[4], *row, *says;
  } figures[] = {
    { "lessons/toy-model.xml", { "check" }, "total", "{2} weights, few enough" },
    { "lessons/newton.xml", { "check" }, "total", "Here {2} weights have a Hessian of {2} × {2}" },
    { "lessons/data-parallel.xml", { "check" }, "copies between devices", "9 copies, {1}:" },
    { "lessons/sharded.xml", { "check" }, "total", "network of {2} weights" },
    { "lessons/sharded.xml", { "plan", "--ranks", "4" }, "data", "`data` {1} of weights and {3} of averages" },
    { "lessons/sharded.xml", { "plan", "--ranks", "4" }, "zero1", "`zero1` {1} and {3}" },
    { "lessons/sharded.xml", { "plan", "--ranks", "4" }, "zero2", "`zero2` {1} and {3}" },
    { "lessons/sharded.xml", { "plan", "--ranks", "4" }, "zero3", "`zero3` {1} and {3}" },
    { "lessons/sharded.xml", { "plan", "--ranks", "4" }, "data", "sends {8} in a step with the first three" },
    { "lessons/sharded.xml", { "plan", "--ranks", "4" }, "zero2", "sends {8} in a step with the first three" },
    { "lessons/sharded.xml", { "plan", "--ranks", "4" }, "zero3", "and {8}, half as much again" },
    { "lessons/mesh.xml", { "plan", "--ranks", "8" }, "1f1b 0", "{1} in stage 0" },
    { "lessons/mesh.xml", { "plan", "--ranks", "8" }, "1f1b 1", "and {1} in stage 1" },
    { "lessons/mesh.xml", { "plan", "--ranks", "8" }, "1f1b 0", "sends in a step: {8} and" },
    { "lessons/mesh.xml", { "plan", "--ranks", "8" }, "1f1b 1", "and {8}; and a bubble" },
    { "models/alexnet.xml", { "check" }, "total", "of {2m} million parameters" },
    { "models/alexnet-two-devices.xml", { "check" }, "total", "The {2m} million weights" },
    { "models/alexnet-two-devices.xml", { "check" }, "copies between devices", "a step copies {1}, which" },
    { "models/alexnet-two-devices.xml", { "check" }, "data.x", "to the second device ({2})" },
    { "models/alexnet-two-devices.xml",
      { "check" },
      "conv1_2_bottom.pool2  cpu:1 → cpu",
      "`conv2` {2} in each direction" },
    { "models/alexnet-two-devices.xml", { "check" }, "conv3_5_bottom.flatten  cpu:1 → cpu", "`conv5` {2}" },
    { "models/alexnet-two-devices.xml", { "check" }, "fc6_bottom.drop  cpu:1 → cpu", "`fc6` {2}" },
    { "models/alexnet-two-devices.xml", { "check" }, "fc7_bottom.drop  cpu:1 → cpu", "`fc7` {2}" },
    { "models/cifar-cnn.xml", { "check" }, "total", "It has {2} parameters" },
    { "models/cifar-cnn.xml", { "check" }, "conv1", "{4} of its parameters are in `conv1`" },
    { "models/gpt2.xml", { "check" }, "total", "GPT-2 with {2M} million weights" },
    { "models/gpt2.xml", { "check" }, "cpu", "({7} for 4 samples of 1,024 tokens" },
    { "models/resnet18.xml", { "check" }, "total", "{2m} million parameters" },
    { "models/resnet50.xml", { "check" }, "total", "{2m} million parameters" },
    { "models/vgg16.xml", { "check" }, "total", "of the {2M} million parameters" },
  };

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (figures); i++)
    {
      g_autofree char *path = cli_example (figures[i].file), *graph = NULL, *said = NULL;
      g_auto (CliResult) r = cli (figures[i].words[0], path, figures[i].words[1], figures[i].words[2], NULL);
      g_auto (GStrv) cells = find_row (r.out, figures[i].row);

      g_assert_true (g_file_get_contents (path, &graph, NULL, NULL));
      said = fill_in (figures[i].says, cells);
      if (strstr (graph, said) == NULL)
        g_error ("%s does not say “%s”", figures[i].file, said);
    }
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
}

static void
test_devices (void)
{
  g_auto (CliResult) text = cli ("devices", NULL);
  g_assert_cmpint (text.status, ==, 0);
  g_assert_nonnull (strstr (text.out, "cpu"));
  g_assert_nonnull (strstr (text.out, "ref"));
  g_auto (CliResult) json = cli ("devices", "--json", NULL);
  g_assert_cmpuint (count_events (json.out, "device"), >=, 2);
}

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

static void
test_sentences (void)
{
  g_autofree char *line = cli_example ("lessons/linear-regression.xml"), *spirals = cli_example ("lessons/spirals.xml");

  cli_expect (0, NULL, "train", line, "--epochs", "1", "--out", "complete");
  g_auto (CliResult) again = cli ("train", "--resume", "complete", NULL);
  g_assert_cmpint (again.status, ==, 0);
  g_assert_nonnull (strstr (again.out, "This run is complete (7 steps, 1 epoch). Use --epochs M to continue."));

  /* The remedy that is named is one. */
  cli_expect (1, "--partial", "eval", spirals, "--weights", "complete/weights.safetensors");
  cli_expect (0, "warning", "eval", spirals, "--weights", "complete/weights.safetensors", "--partial");

  cli_write ("complete/run.json", "{");
  cli_expect (1, "complete/run.json", "train", "--resume", "complete");

  cli_write ("huge.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"huge\">\n"
                         "<node id=\"x\" op=\"input\" shape=\"B,1000000\"/>\n"
                         "<node id=\"fc\" op=\"linear\" out_features=\"1000000\" bias=\"false\"/>\n"
                         "<wire from=\"x\" to=\"fc\"/>\n</graph>\n");
  cli_expect (0, "this machine has", "check", "huge.xml");
  g_auto (CliResult) small = cli ("check", line, NULL);
  g_assert_cmpstr (small.err, ==, "");
}

static void
test_bench (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml"), *no_train = cli_example ("lessons/xyz-sum.xml");
  static const char *const executors[] = { "plan", "eager" };

  for (guint i = 0; i < 2; i++)
    {
      g_auto (CliResult) r
          = cli ("bench", path, "--windows", "2", "--seconds", "0.02", "--json", "--executor", executors[i], NULL);
      g_assert_cmpint (r.status, ==, 0);
      g_assert_cmpuint (count_events (r.out, "bench"), ==, 1);
      g_assert_nonnull (strstr (r.out, "\"steps_per_second\":"));
    }
  g_auto (CliResult) table = cli ("bench", path, "--windows", "1", "--seconds", "0.01", "--device", "cpu,ref",
                                  "--executor", "plan,eager", "--batch-size", "64,4,2", NULL);
  g_auto (CliResult) objects
      = cli ("bench", path, "--windows", "1", "--seconds", "0.01", "--batch-size", "4, 2", "--json", NULL);
  g_auto (GStrv) lines = g_strsplit (table.out, "\n", -1);
  g_assert_cmpint (table.status, ==, 0);
  g_assert_cmpuint (g_strv_length (lines), ==, 2 + 2 * 2 * 3 + 1);
  g_assert_true (g_str_has_prefix (lines[2], "cpu       plan          64 "));
  g_assert_true (g_str_has_prefix (lines[4], "cpu       plan           2 "));
  g_assert_true (g_str_has_prefix (lines[13], "ref       eager          2 "));
  g_assert_cmpuint (count_events (objects.out, "bench"), ==, 2);
  g_assert_nonnull (strstr (objects.out, "\"device\":\"cpu\",\"executor\":\"plan\",\"batch_size\":2,"));
  cli_expect (2, "--batch-size takes a positive number", "bench", path, "--batch-size", "64,0");
  cli_expect (2, "Name one device", "bench", "devices", "--device", "cpu,ref");
  cli_expect (1, "plan, batch size 5000: The data set has no full batch of 5000 samples", "bench", path, "--windows",
              "1", "--seconds", "0.01", "--batch-size", "4,5000");
  g_auto (CliResult) machine = cli ("bench", "machine", "--windows", "1", "--seconds", "0.01", NULL);
  g_assert_cmpint (machine.status, ==, 0);
  g_assert_nonnull (strstr (machine.out, "16: PCI Express 3"));
  g_assert_nonnull (strstr (machine.out, "19.5 TFLOP/s   20: rounded"));
  g_auto (CliResult) devices = cli ("bench", "devices", "--device", "ref", "--windows", "1", "--seconds", "0.01", NULL);
  g_assert_cmpint (devices.status, ==, 0);
  g_assert_nonnull (strstr (devices.out, "GFLOP/s"));
  /* A step and a kernel's launch separately, each with its name. */
  g_assert_nonnull (strstr (devices.out, "a step (a + b)"));
  g_assert_true (g_regex_match_simple ("consecutive launches +1000 +[0-9.]+ µs", devices.out, 0, 0));
  g_assert_true (g_regex_match_simple ("launch and wait +1 +[0-9.]+ µs", devices.out, 0, 0));
  cli_expect (1, "neither a loss nor one output node", "bench", no_train);
  /* Of a model without a loss predictions are timed, for any batch, and of other open sizes a number is required. */
#define MODEL(shape)                                                                                                   \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                                                       \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"                                                               \
  "  <node id=\"x\" op=\"input\" shape=\"" shape "\"/><node id=\"fc\" op=\"linear\" out_features=\"3\"/>\n"            \
  "  <node id=\"y\" op=\"output\"/><wire from=\"x\" to=\"fc\"/><wire from=\"fc\" to=\"y\"/>\n"                         \
  "</graph>\n"
  cli_write ("model.xml", MODEL ("B,T,4"));
  cli_expect (1, "The size T is open", "bench", "model.xml");
  cli_write ("fixed.xml", MODEL ("B,5,4"));
  g_auto (CliResult) forward = cli ("bench", "fixed.xml", "--windows", "1", "--seconds", "0.01", "--batch-size", "1,8",
                                    "--executor", "plan,eager", "--json", NULL);
  g_assert_cmpint (forward.status, ==, 0);
  g_assert_cmpuint (count_events (forward.out, "bench"), ==, 4);
  g_assert_nonnull (strstr (forward.out, "\"batch_size\":8"));
  g_assert_nonnull (strstr (forward.out, "\"loss\":null"));
}

/* A figure for each task, number of samples and way of training; the ways differ. */
static void
test_transfer_table (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  cli_expect (0, NULL, "train", path, "--epochs", "2", "--out", "donor");
  g_auto (CliResult) r = cli ("transfer", path, path, "--weights", "donor/weights.safetensors", "--head", "scores",
                              "--last", "hidden", "--steps", "6", "--samples", "20,all", NULL);
  g_auto (CliResult) json = cli ("transfer", path, "--weights", "donor/weights.safetensors", "--head", "scores",
                                 "--steps", "6", "--samples", "20", "--json", NULL);
  g_auto (GStrv) line = g_strsplit (r.out, "\n", -1);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpuint (g_strv_length (line), ==, 2 + 4 + 1);
  g_assert_nonnull (strstr (line[1], "scratch      head      last       all"));
  g_assert_cmpstr (line[2], ==, line[4]);
  g_assert_cmpstr (line[3], ==, line[5]);
  g_assert_cmpstr (line[2], !=, line[3]);
  g_assert_true (g_str_has_suffix (line[2], "accuracy"));
  g_assert_cmpint (json.status, ==, 0);
  g_assert_cmpuint (count_events (json.out, "transfer"), ==, 3);
  g_autofree char *head = g_strdup (strstr (json.out, "\"trained\":\"head\"")), *all = NULL;
  g_assert_nonnull (head);
  all = g_strdup (strstr (head, "\"trained\":\"all\""));
  g_assert_nonnull (all);
  *strstr (strstr (head, "\"loss\":"), ",\"metric") = '\0';
  *strstr (strstr (all, "\"loss\":"), ",\"metric") = '\0';
  g_assert_cmpstr (strstr (head, "\"loss\":"), !=, strstr (all, "\"loss\":"));
  cli_expect (2, "has no node “nix” for --head", "transfer", path, "--weights", "donor/weights.safetensors", "--head",
              "nix");
  cli_expect (1, "There is no file “nowhere.st”", "transfer", path, "--weights", "nowhere.st", "--head", "scores");
  cli_expect (2, "It needs --head", "transfer", path, "--weights", "nowhere.st");
  cli_expect (2, "--samples takes numbers", "transfer", path, "--weights", "nowhere.st", "--head", "scores",
              "--samples", "few");
}

#define COURSE                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"                                                               \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"200\"/>\n"                                                  \
  "<node id=\"hidden\" op=\"linear\" out_features=\"8\"/><node id=\"act\" op=\"tanh\"/>\n"                             \
  "<node id=\"%s\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>\n"                       \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"%s\"/>\n"            \
  "<wire from=\"%s\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>\n"                                  \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"1\" momentum=\"0.9\" batch_size=\"16\" accumulate=\"2\" "               \
  "epochs=\"%d\" seed=\"1\" ema=\"0.9\" patience=\"2\">%s\n"                                                           \
  "<metric type=\"confusion_matrix\" input=\"%s\" target=\"data.y\"/>"                                                 \
  "<metric type=\"f1\" average=\"binary\" input=\"%s\" target=\"data.y\"/></train>\n</graph>\n"

static void
write_course (const char *name, const char *head, int epochs, const char *inner)
{
  g_autofree char *text = g_strdup_printf (COURSE, head, head, head, epochs, inner, head, head);

  cli_write (name, text);
}

/* The events of one kind, as objects; the caller owns the list. */
static GPtrArray *
events_of (const char *text, const char *event)
{
  g_auto (GStrv) line = g_strsplit (text, "\n", -1);
  GPtrArray *found = g_ptr_array_new_with_free_func ((GDestroyNotify)json_object_unref);

  for (guint i = 0; line[i] != NULL; i++)
    {
      g_autoptr (JsonNode) node = line[i][0] ? json_from_string (line[i], NULL) : NULL;
      if (node && g_strcmp0 (json_object_get_string_member (json_node_get_object (node), "event"), event) == 0)
        g_ptr_array_add (found, json_object_ref (json_node_get_object (node)));
    }
  return found;
}

static char *
read_events (const char *run)
{
  g_autofree char *path = g_build_filename (run, "events.jsonl", NULL);
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
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

/* The memory of nodes sums to the memory of the plan, owner by owner, also for one rank's shard. Optimiser states
 * belong to the parameter's node, and a graph may come from standard input. */
static void
test_memory (void)
{
  static const char *const owner[] = { "parameters", "gradients", "optimizer", "activations", "workspace", "data" };
  static const char *const ranks[] = { "1", "2" };

  g_autofree char *path = cli_example ("lessons/spirals.xml");

  for (guint r = 0; r < G_N_ELEMENTS (ranks); r++)
    {
      g_auto (CliResult) nodes
          = cli ("plan", path, "--memory", "--json", "--strategy", "zero3", "--ranks", ranks[r], "--rank", "0", NULL);
      g_auto (CliResult) plan
          = cli ("plan", path, "--json", "--strategy", "zero3", "--ranks", ranks[r], "--rank", "0", NULL);
      g_autoptr (GPtrArray) rows = events_of (nodes.out, "node"), memory = events_of (plan.out, "memory");

      g_assert_cmpint (nodes.status, ==, 0);
      g_assert_cmpuint (rows->len, >=, 3);
      for (guint o = 0; o < G_N_ELEMENTS (owner); o++)
        {
          gint64 sum = 0;

          for (guint i = 0; i < rows->len; i++)
            sum += json_object_get_int_member (rows->pdata[i], owner[o]);
          g_assert_cmpint (sum, ==, json_object_get_int_member (memory->pdata[0], owner[o]));
        }
    }
  g_auto (CliResult) text = cli ("plan", path, "--memory", NULL);
  g_autofree char *call
      = g_strdup_printf ("'%s/app/gradloom' plan - --memory < '%s'", g_getenv ("GRADLOOM_BUILD_ROOT"), path);
  g_autofree char *out = NULL;
  const char *const shell[] = { "/bin/sh", "-c", call, NULL };
  g_assert_true (g_spawn_sync (NULL, (char **)shell, NULL, 0, NULL, NULL, &out, NULL, NULL, NULL));
  g_assert_cmpint (text.status, ==, 0);
  g_assert_nonnull (strstr (text.out, "hidden"));
  g_assert_cmpstr (out, ==, text.out);
  cli_expect (2, "Save it in a file", "sweep", "-", "--seeds", "1,2");
  cli_expect (2, "Save it in a file", "train", "-", "--ranks", "2");
}

/* What runs: every step by phase, with the memory that is alive; the largest is the plan's, at which the listed blocks
 * add up. A run's recorded step has the times. */
static void
test_plan_steps (void)
{
  static const char *const owner[] = { "parameters", "gradients", "optimizer", "activations", "workspace", "data" };
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) listed = cli ("plan", path, "--steps", "--json", NULL), plan = cli ("plan", path, "--json", NULL);
  g_auto (CliResult) text = cli ("plan", path, "--steps", NULL), run = { 0 };
  g_autoptr (GPtrArray) steps = events_of (listed.out, "step"), blocks = events_of (listed.out, "storage");
  g_autoptr (GPtrArray) memory = events_of (plan.out, "memory"), timed = NULL;
  gint64 most = 0, sum = 0, at = 0;
  guint phases = 0;

  g_assert_cmpint (listed.status, ==, 0);
  for (guint i = 0; i < steps->len; i++)
    {
      gint64 alive = 0;

      g_assert_cmpint (json_object_get_int_member (steps->pdata[i], "index"), ==, i);
      phases += i == 0
                || !g_str_equal (json_object_get_string_member (steps->pdata[i], "phase"),
                                 json_object_get_string_member (steps->pdata[i - 1], "phase"));
      for (guint o = 0; o < G_N_ELEMENTS (owner); o++)
        alive += json_object_get_int_member (steps->pdata[i], owner[o]);
      at = alive > most ? (gint64)i : at;
      most = MAX (most, alive);
    }
  g_assert_cmpuint (phases, >=, 3);
  g_assert_cmpint (most, ==, json_object_get_int_member (memory->pdata[0], "total"));
  for (guint i = 0; i < blocks->len; i++)
    if (json_object_get_int_member (blocks->pdata[i], "first") <= at
        && json_object_get_int_member (blocks->pdata[i], "last") >= at)
      sum += json_object_get_int_member (blocks->pdata[i], "bytes");
  g_assert_cmpint (sum, ==, most);
  g_assert_nonnull (strstr (listed.out, "\"seconds_from\":\"estimate\""));
  g_assert_null (strstr (listed.out, "\"seconds_from\":\"run\""));
  g_assert_nonnull (strstr (text.out, "\nbackward: "));
  g_assert_nonnull (strstr (text.out, "\nmost memory on cpu: "));

  run = cli ("train", path, "--epochs", "1", "--out", "steps-run", "--trace", "steps.json", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_assert_cmpint (rename ("steps.json", "steps-run/trace.json"), ==, 0);
  cli_clear (&listed);
  listed = cli ("plan", "steps-run", "--steps", "--json", NULL);
  timed = events_of (listed.out, "step");
  for (guint i = 0; i < timed->len; i++)
    if (!g_str_equal (json_object_get_string_member (timed->pdata[i], "phase"), "setup"))
      g_assert_cmpstr (json_object_get_string_member (timed->pdata[i], "seconds_from"), ==, "run");
  cli_expect (2, "cannot be combined", "plan", path, "--steps", "--memory");
  cli_expect (2, "or add --steps", "plan", path, "--picture", "x.svg");
}

/* Steps of the optimizer that are fused, such as the factor of clipping, read constants that nodes read, too. */
static void
test_plan_steps_of_update (void)
{
  static const char *const names[] = { "lessons/optimisers.xml", "lessons/hinge-classifier.xml" };
  gboolean any = FALSE;

  for (guint e = 0; e < G_N_ELEMENTS (names); e++)
    {
      g_autofree char *path = cli_example (names[e]);
      g_auto (CliResult) listed = cli ("plan", path, "--steps", "--json", NULL);
      g_autoptr (GPtrArray) steps = events_of (listed.out, "step");

      for (guint i = 0; i < steps->len; i++)
        if (g_str_equal (json_object_get_string_member (steps->pdata[i], "phase"), "update"))
          {
            any = TRUE;
            g_assert_cmpuint (json_array_get_length (json_object_get_array_member (steps->pdata[i], "nodes")), ==, 0);
            g_assert_false (json_object_get_null_member (steps->pdata[i], "purpose"));
          }
    }
  g_assert_true (any);
}

/* Whether a run fits, before it is started: what it needs, and the largest batch. */
static void
test_plan_fits (void)
{
  static const char large[]
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" "
        "n=\"400000\"/><node id=\"hidden\" op=\"linear\" out_features=\"900000\"/><node id=\"act\" op=\"tanh\"/>"
        "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
        "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>"
        "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
        "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"400000\" epochs=\"1\"/></graph>";
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) small = cli ("plan", path, "--fits", "--json", NULL), sentence = { 0 }, other = { 0 };

  g_assert_cmpint (small.status, ==, 0);
  g_assert_nonnull (strstr (small.out, "{\"event\":\"fits\",\"device\":\"cpu\",\"needed\":"));
  g_assert_nonnull (strstr (small.out, "\"available\":"));
  cli_write ("large.xml", large);
  sentence = cli ("plan", "large.xml", "--fits", NULL);
  g_assert_cmpint (sentence.status, ==, 0);
  g_assert_nonnull (strstr (sentence.out, "The run needs "));
  g_assert_nonnull (strstr (sentence.out, " are available. A batch of "));
  g_assert_nonnull (strstr (small.out, "\"ranks\":1,\"rank\":0,"));
  other = cli ("plan", path, "--fits", "--json", "--available", "1000", NULL);
  g_assert_nonnull (strstr (other.out, "\"available\":1000,\"batch_size\":64,\"largest_batch\":0,"));
  cli_expect (2, "--available takes a number of bytes, with --fits.", "plan", path, "--available", "1000");
  cli_expect (2, "--fits is about a whole run on this machine.", "plan", path, "--fits", "--ranks", "2", "--rank", "1");
}

/* Ranks of this machine: of copies of the net, of a pipeline with stages of different sizes, and of a server. */
static void
test_plan_fits_ranks (void)
{
  static const char *const strategies[] = { "data", "zero3", "pipeline", "server" };
  g_autofree char *path = cli_example ("models/char-gpt.xml");
  g_auto (CliResult) one = cli ("plan", path, "--fits", "--json", NULL), refused = { 0 }, sentence = { 0 };
  g_autoptr (GPtrArray) single = events_of (one.out, "fits");
  const gint64 needed = json_object_get_int_member (single->pdata[0], "needed");

  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    {
      g_auto (CliResult) result
          = cli ("plan", path, "--fits", "--json", "--ranks", "3", "--strategy", strategies[s], NULL);
      g_autoptr (GPtrArray) events = events_of (result.out, "fits");
      JsonObject *event;
      gint64 all, most;

      g_assert_cmpint (events->len, ==, 1);
      event = events->pdata[0];
      all = json_object_get_int_member (event, "needed");
      most = json_object_get_int_member (event, "rank_needed");
      g_assert_cmpint (json_object_get_int_member (event, "ranks"), ==, 3);
      g_assert_cmpint (json_object_get_int_member (event, "rank"), <, 3);
      g_assert_cmpint (all, >, most);
      g_assert_cmpint (all, <=, 3 * most);
      if (s == 0)
        g_assert_cmpint (all, >=, 3 * needed);
      else
        g_assert_cmpint (all, <, 3 * needed);
    }
  sentence = cli ("plan", path, "--fits", "--ranks", "3", NULL);
  g_assert_nonnull (strstr (sentence.out, " on cpu, rank 0 of 3 needs the most, "));
  refused = cli ("plan", path, "--fits", "--ranks", "5", "--strategy", "tensor", NULL);
  g_assert_cmpint (refused.status, !=, 0);
}

/* A parameter server has the update alone; the ranks that it serves gather gradients, of a batch of their own. */
static void
test_server (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) plan = cli ("plan", path, "--ranks", "3", "--strategy", "server", NULL);
  const char *server = strstr (plan.out, "on rank 0, which trains on no samples");
  g_assert_cmpint (plan.status, ==, 0);
  g_assert_nonnull (server);
  g_assert_nonnull (strstr (server, "adam_step"));
  g_assert_null (strstr (plan.out, "all_reduce"));
  g_assert_true (strstr (plan.out, "adam_step") > server);
  g_assert_nonnull (strstr (plan.out, "* served"));
  cli_expect (0, NULL, "plan", path, "--ranks", "3", "--strategy", "server", "--eval", "--parameters");
}

/* Stages by cost, as many as in the file or by --ranks: each node is in one, and none is empty. */
static void
test_stages (void)
{
  static const struct
  {
    const char *path, *ranks;
    guint n;
  } all[] = { { "lessons/pipeline.xml", "1", 4 }, { "lessons/spirals.xml", "2", 2 } };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      g_autofree char *path = cli_example (all[i].path);
      g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_auto (CliResult) plan = cli ("plan", path, "--stages", "--json", "--ranks", all[i].ranks, NULL);
      g_autoptr (GPtrArray) stages = events_of (plan.out, "stage");

      g_assert_cmpuint (stages->len, ==, all[i].n);
      for (guint s = 0; s < stages->len; s++)
        {
          JsonArray *paths = json_object_get_array_member (stages->pdata[s], "paths");

          g_assert_cmpuint (json_array_get_length (paths), >, 0);
          for (guint k = 0; k < json_array_get_length (paths); k++)
            g_assert_true (g_hash_table_add (seen, g_strdup (json_array_get_string_element (paths, k))));
        }
      g_assert_true (g_hash_table_contains (seen, "loss"));
    }
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  cli_expect (2, "no pipeline stages", "plan", path, "--stages");
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

static void
test_transfer (void)
{
  write_course ("giver.xml", "scores", 2, "");
  cli_expect (0, NULL, "train", "giver.xml", "--out", "giver");
  g_autoptr (LoomTensor) given = cli_weight ("giver/weights.safetensors", "hidden.weight");

  /* A new head, and features that stay as they were. */
  write_course ("heir.xml", "head", 2, "<group match=\"hidden\" frozen=\"true\"/>");
  g_auto (CliResult) json
      = cli ("train", "heir.xml", "--weights", "giver/weights.safetensors", "--json", "--out", "heir", NULL);
  g_assert_cmpint (json.status, ==, 0);
  g_autoptr (GPtrArray) early_run = events_of (json.out, "weights");
  g_assert_cmpuint (early_run->len, ==, 1);
  JsonObject *t = early_run->pdata[0];
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (t, "loaded")), ==, 2);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (t, "missing")), ==, 2);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (t, "unused")), ==, 2);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (t, "mismatched")), ==, 0);
  g_autofree char *events = read_events ("heir");
  g_autoptr (GPtrArray) kept = events_of (events, "weights");
  g_assert_cmpuint (kept->len, ==, 1);
  g_autoptr (LoomTensor) now = cli_weight ("heir/weights.safetensors", "hidden.weight");
  g_assert_cmpmem (given->data, given->bytes, now->data, now->bytes);

  g_auto (CliResult) text
      = cli ("train", "heir.xml", "--weights", "giver/weights.safetensors", "--match", "hidden.w*", NULL);
  g_assert_cmpint (text.status, ==, 0);
  g_assert_nonnull (strstr (text.err, "1 loaded, 0 missing, 3 unused, 0 mismatched"));
  g_assert_nonnull (strstr (text.err, "loaded: hidden.weight 8 × 2"));

  /* As attributes, relative to the graph; --set changes shapes, and the list reports it. */
  g_auto (CliResult) set = cli ("train", "giver.xml", "--set", "train.weights=giver/weights.safetensors", "--set",
                                "scores.out_features=3", "--set", "train.monitor=loss", NULL);
  g_assert_cmpint (set.status, ==, 2); /* three classes have no binary F1 */
  g_assert_nonnull (strstr (set.err, "needs two classes"));
  g_auto (CliResult) wide = cli ("train", "giver.xml", "--set", "train.weights=giver/weights.safetensors", "--set",
                                 "hidden.out_features=9", NULL);
  g_assert_nonnull (strstr (wide.err, "mismatched, initialised: hidden.weight is 9 × 2 here, 8 × 2 in the file"));
  cli_expect (1, "the graph has head.weight", "train", "heir.xml", "--weights", "giver/weights.safetensors", "--match",
              "head");
  cli_expect (2, "Name one with --weights", "train", "heir.xml", "--match", "head");
  cli_expect (2, "--weights", "train", "--resume", "heir", "--weights", "giver/weights.safetensors");

  /* A run resumes, and is evaluated, without its file of initial weights. */
  g_assert_cmpint (g_remove ("giver/weights.safetensors"), ==, 0);
  cli_expect (0, NULL, "train", "--resume", "heir", "--epochs", "3");
  cli_expect (0, NULL, "eval", "heir");
  cli_expect (1, "initial weights", "train", "heir.xml", "--weights", "giver/weights.safetensors");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/examples", test_examples);
  g_test_add_func ("/cli/check-json", test_check_json);
  g_test_add_func ("/cli/words", test_words);
  g_test_add_func ("/cli/plan-card", test_plan_card);
  g_test_add_func ("/cli/ops", test_ops);
  g_test_add_func ("/cli/figures", test_figures);
  g_test_add_func ("/cli/devices", test_devices);
  g_test_add_func ("/cli/train", test_train);
  g_test_add_func ("/cli/signals", test_signals);
  g_test_add_func ("/cli/full-disk", test_full_disk);
  g_test_add_func ("/cli/numbers", test_numbers);
  g_test_add_func ("/cli/lost-output", test_lost_output);
  g_test_add_func ("/cli/sentences", test_sentences);
  g_test_add_func ("/cli/course", test_course);
  g_test_add_func ("/cli/two-halves", test_two_halves);
  g_test_add_func ("/cli/parameters", test_parameters);
  g_test_add_func ("/cli/memory", test_memory);
  g_test_add_func ("/cli/plan/steps", test_plan_steps);
  g_test_add_func ("/cli/plan/steps-of-update", test_plan_steps_of_update);
  g_test_add_func ("/cli/plan/fits", test_plan_fits);
  g_test_add_func ("/cli/plan/fits-ranks", test_plan_fits_ranks);
  g_test_add_func ("/cli/server", test_server);
  g_test_add_func ("/cli/stages", test_stages);
  g_test_add_func ("/cli/bench", test_bench);
  g_test_add_func ("/cli/transfer-table", test_transfer_table);
  g_test_add_func ("/cli/transfer", test_transfer);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
