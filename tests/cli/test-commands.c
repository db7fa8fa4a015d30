/* Every command: on every example, without arguments, and with invalid ones. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "tests/cli/cli-runs.h"
#include "tests/cli/cli.h"
#include "tests/test-program.h"

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

/* Faults are in the user's language for people, in English for programs. */
static void
test_language (void)
{
  cli_write ("unwired.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"r\" op=\"relu\"/></graph>");
  g_setenv ("LANGUAGE", "de", TRUE);
  g_auto (CliResult) people = cli ("check", "unwired.xml", NULL),
                     programs = cli ("check", "--json", "unwired.xml", NULL);
  g_unsetenv ("LANGUAGE");
  g_assert_nonnull (strstr (people.err, "Der Eingang „input“ ist nicht verbunden."));
  g_assert_nonnull (strstr (programs.out, "The input “input” is not wired."));
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
  cli_expect (1, "complete/run.json is damaged, 1:", "eval", "complete");

  cli_write ("huge.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"huge\">\n"
                         "<node id=\"x\" op=\"input\" shape=\"B,1000000\"/>\n"
                         "<node id=\"fc\" op=\"linear\" out_features=\"1000000\" bias=\"false\"/>\n"
                         "<wire from=\"x\" to=\"fc\"/>\n</graph>\n");
  cli_expect (0, "this machine has", "check", "huge.xml");
  g_auto (CliResult) small = cli ("check", line, NULL);
  g_assert_cmpstr (small.err, ==, "");
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

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/examples", test_examples);
  g_test_add_func ("/cli/check-json", test_check_json);
  g_test_add_func ("/cli/language", test_language);
  g_test_add_func ("/cli/words", test_words);
  g_test_add_func ("/cli/ops", test_ops);
  g_test_add_func ("/cli/figures", test_figures);
  g_test_add_func ("/cli/devices", test_devices);
  g_test_add_func ("/cli/sentences", test_sentences);
  g_test_add_func ("/cli/server", test_server);
  g_test_add_func ("/cli/stages", test_stages);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
