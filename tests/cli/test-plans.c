/* What `gradloom plan` and `gradloom bench` say of memory, steps and transfers. */
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "tests/cli/cli-runs.h"
#include "tests/cli/cli.h"
#include "tests/test-program.h"

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
  cli_expect (1, "has no weights in “ema”", "transfer", path, "--weights", "donor/weights.safetensors#ema", "--head",
              "scores");
  cli_expect (1, "There is no file “nowhere.st”", "transfer", path, "--weights", "nowhere.st", "--head", "scores");
  cli_expect (2, "It needs --head", "transfer", path, "--weights", "nowhere.st");
  cli_expect (2, "--samples takes numbers", "transfer", path, "--weights", "nowhere.st", "--head", "scores",
              "--samples", "few");
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
  g_test_add_func ("/cli/plan-card", test_plan_card);
  g_test_add_func ("/cli/memory", test_memory);
  g_test_add_func ("/cli/plan/steps", test_plan_steps);
  g_test_add_func ("/cli/plan/steps-of-update", test_plan_steps_of_update);
  g_test_add_func ("/cli/plan/fits", test_plan_fits);
  g_test_add_func ("/cli/plan/fits-ranks", test_plan_fits_ranks);
  g_test_add_func ("/cli/bench", test_bench);
  g_test_add_func ("/cli/transfer-table", test_transfer_table);
  g_test_add_func ("/cli/transfer", test_transfer);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
