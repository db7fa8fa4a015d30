/* Output of `gradloom train` and `eval`: lines of events, and the bar of a terminal. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <json-glib/json-glib.h>
#include <pty.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"s\">\n"                                                    \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"4096\" n_test=\"64\"/>\n"                                   \
  "<node id=\"fc1\" op=\"linear\" out_features=\"256\"/>\n<node id=\"act\" op=\"tanh\"/>\n"                            \
  "<node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"                     \
  "<wire from=\"data.x\" to=\"fc1\"/>\n<wire from=\"fc1\" to=\"act\"/>\n<wire from=\"act\" to=\"fc\"/>\n"              \
  "<wire from=\"fc\" to=\"loss.input\"/>\n<wire from=\"data.y\" to=\"loss.target\"/>\n"                                \
  "<train loss=\"loss\" optimizer=\"adam\" batch_size=\"8\" epochs=\"1\">\n"                                           \
  "<metric type=\"accuracy\" input=\"fc\" target=\"data.y\"/>\n</train>\n</graph>\n"

static double
member (const char *line, const char *name)
{
  g_autoptr (JsonParser) parser = json_parser_new ();

  g_assert_true (json_parser_load_from_data (parser, line, -1, NULL));
  JsonObject *object = json_node_get_object (json_parser_get_root (parser));
  g_assert_true (json_object_has_member (object, name));
  return json_object_get_null_member (object, name) ? -1 : json_object_get_double_member (object, name);
}

/* Time never runs back, and the rate is a number once it has been measured. */
static void
test_json (void)
{
  cli_write ("g.xml", GRAPH);
  CliResult r = cli ("train", "g.xml", "--epochs", "2", "--json", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (r.out), "\n", -1);
  double time = 0, rate = -1;
  for (guint i = 0; lines[i] != NULL; i++)
    {
      double now = member (lines[i], "time");
      g_assert_cmpfloat (now, >=, time);
      time = now;
      if (strstr (lines[i], "\"event\":\"step\"") != NULL)
        rate = MAX (rate, member (lines[i], "items_per_second"));
    }
  g_assert_cmpfloat (rate, >, 0);
  cli_clear (&r);
}

/* Weights contain the number of steps after which they were saved; files of other programs do not. */
static void
test_eval_step (void)
{
  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--out", "run");
  CliResult r = cli ("eval", "run", "--json", NULL);
  g_assert_cmpfloat (member (r.out, "step"), ==, 512);
  cli_clear (&r);
  cli_expect (0, NULL, "run", "g.xml", "--save-weights", "plain.safetensors");
  r = cli ("eval", "g.xml", "--weights", "plain.safetensors", "--json", NULL);
  g_assert_cmpfloat (member (r.out, "step"), ==, -1);
  cli_clear (&r);
}

static void
test_no_epochs (void)
{
  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "0", "--out", "begun");
  g_assert_true (g_file_test ("begun/weights.safetensors", G_FILE_TEST_EXISTS));
  cli_expect (2, "gradloom eval begun", "train", "--resume", "begun", "--epochs", "0");
  cli_expect (2, "takes 0 or a positive number", "train", "g.xml", "--epochs", "-1");
  CliResult r = cli ("eval", "begun", "--json", NULL);
  g_assert_cmpfloat (member (r.out, "step"), ==, 0);
  cli_clear (&r);
}

/* One value per channel cannot be trained: every command that trains reports it, and those that evaluate continue. */
static void
test_one_value (void)
{
  g_auto (GStrv) act = g_strsplit (GRAPH, "op=\"tanh\"", 2);
  g_autofree char *with_norm = g_strjoinv ("op=\"batch_norm1d\"", act);
  g_auto (GStrv) size = g_strsplit (with_norm, "batch_size=\"8\"", 2);
  g_autofree char *single = g_strjoinv ("batch_size=\"1\"", size);
  g_auto (GStrv) samples = g_strsplit (with_norm, "n=\"4096\"", 2);
  g_autofree char *odd = g_strjoinv ("n=\"33\"", samples);
  const char *why = "act (batch_norm1d) cannot take 1 × 256, which has one value per channel";

  cli_write ("g.xml", single);
  cli_expect (1, why, "check", "g.xml");
  cli_expect (1, why, "train", "g.xml");
  cli_expect (1, why, "run", "g.xml", "--mode", "train", "--out", "loss=l.npy");
  cli_expect (0, NULL, "run", "g.xml", "--out", "loss=l.npy");
  cli_expect (0, NULL, "eval", "g.xml");
  cli_expect (0, NULL, "check", "g.xml", "--batch-size", "2");
  cli_write ("g.xml", odd);
  cli_expect (0, "drops the last", "train", "g.xml");
  cli_expect (0, NULL, "check", "g.xml");
}

/* The output that a terminal of n columns receives. */
static char *
on_terminal (int columns)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  struct winsize size = { 24, (unsigned short)columns, 0, 0 };
  GString *text = g_string_new (NULL);
  char buffer[4096];
  int fd, status;
  ssize_t n;
  pid_t child = forkpty (&fd, NULL, NULL, &size);

  if (child == 0)
    {
      execl (program, program, "train", "g.xml", "--epochs", "400", NULL);
      _exit (127);
    }
  while ((n = read (fd, buffer, sizeof buffer)) > 0)
    g_string_append_len (text, buffer, n);
  close (fd);
  waitpid (child, &status, 0);
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  return g_string_free (text, FALSE);
}

/* The bar and the remaining time fit into 80 and 40 columns, and the terminal breaks no line. */
static void
test_bar (void)
{
  static const int widths[] = { 80, 40, 200 };

  cli_write ("g.xml", GRAPH);
  for (guint i = 0; i < G_N_ELEMENTS (widths); i++)
    {
      g_autofree char *text = on_terminal (widths[i]);
      g_auto (GStrv) parts = g_strsplit_set (text, "\r\n", -1);
      guint bars = 0;

      for (guint k = 0; parts[k] != NULL; k++)
        {
          if (!g_str_has_prefix (parts[k], "\033[K") || strstr (parts[k], "─") == NULL)
            continue;
          bars++;
          g_assert_cmpint (g_utf8_strlen (parts[k] + strlen ("\033[K"), -1), <, widths[i]);
          g_assert_nonnull (strstr (parts[k], " %"));
          g_assert_true (widths[i] < 80 || strstr (parts[k], " left") != NULL || strstr (parts[k], "items/s") == NULL);
        }
      g_assert_cmpuint (bars, >, 0);
      g_assert_true (widths[i] < 80 || strstr (text, " left") != NULL);
    }
}

#define SAVED(accumulate)                                                                                              \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"saved\">"                                                  \
  "<node id=\"data\" op=\"dataset\" source=\"npy\" x=\"x.npy\" y=\"y.npy\" test_x=\"x.npy\" test_y=\"t.npy\"/>"        \
  "<node id=\"fc\" op=\"linear\" out_features=\"3\"/><node id=\"norm\" op=\"batch_norm1d\"/>"                          \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"norm\"/>"           \
  "<wire from=\"norm\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                  \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"4\" epochs=\"1\" " accumulate                      \
  "><metric type=\"accuracy\" input=\"norm\" target=\"data.y\"/></train></graph>"

#define SAMPLES 24

/* Labels, one of which is out of range. */
static void
save_labels (const char *name, int wrong)
{
  const gint64 n = SAMPLES;
  double labels[SAMPLES];

  for (int i = 0; i < SAMPLES; i++)
    labels[i] = i == wrong ? 7 : i % 3;
  cli_save (name, LOOM_I64, 1, &n, labels);
}

/* A run whose evaluation or step fails keeps the earlier steps: repaired and resumed, it has the same final bytes as
 * one that never failed. */
static void
test_failure_is_saved (void)
{
  static const char *const graphs[] = { SAVED (""), SAVED ("accumulate=\"3\"") };
  const gint64 dims[] = { SAMPLES, 2 };
  double values[2 * SAMPLES];

  for (int i = 0; i < 2 * SAMPLES; i++)
    values[i] = sin (i);
  cli_save ("x.npy", LOOM_F32, 2, dims, values);
  for (guint g = 0; g < G_N_ELEMENTS (graphs); g++)
    {
      cli_write ("saved.xml", graphs[g]);
      save_labels ("y.npy", -1);
      save_labels ("t.npy", -1);
      cli_expect (0, NULL, "train", "saved.xml", "--out", "whole");
      for (int wrong = -1; wrong < SAMPLES; wrong += 3)
        {
          const char *const files[] = { "weights.safetensors", "events.jsonl",
                                        g == 0 ? "checkpoints/6/state.json" : "checkpoints/2/state.json" };

          save_labels (wrong < 0 ? "t.npy" : "y.npy", wrong < 0 ? 5 : wrong);
          g_auto (CliResult) failed = cli ("train", "saved.xml", "--out", "failed", NULL);
          g_assert_cmpint (failed.status, ==, 1);
          if (wrong < 0)
            g_assert_nonnull (strstr (failed.err, "Evaluation after step "));
          /* A first step that fails leaves nothing to save. */
          g_assert_nonnull (strstr (failed.err, strstr (failed.err, "Step 1 ") == NULL
                                                    ? " Continue with: gradloom train --resume failed\n"
                                                    : "begin again with: gradloom train --resume failed\n"));
          save_labels ("y.npy", -1);
          save_labels ("t.npy", -1);
          if (strstr (failed.err, "Step 1 ") == NULL)
            g_assert_true (g_file_test ("failed/weights.safetensors", G_FILE_TEST_EXISTS));
          cli_expect (0, NULL, "train", "--resume", "failed");
          for (guint k = 0; k < G_N_ELEMENTS (files); k++)
            {
              g_autofree char *a = g_build_filename ("whole", files[k], NULL), *b = NULL, *x = NULL, *y = NULL;
              gsize n, m;

              b = g_build_filename ("failed", files[k], NULL);
              g_assert_true (g_file_get_contents (a, &x, &n, NULL) && g_file_get_contents (b, &y, &m, NULL));
              g_assert_cmpmem (x, n, y, m);
            }
          cli_remove ("failed");
        }
      cli_remove ("whole");
    }
}

/* Data with a NaN fail when they are read; after a repair, the run resumes from there. */
static void
test_nan_data (void)
{
  const gint64 dims[] = { SAMPLES, 2 };
  double values[2 * SAMPLES];
  gboolean later = FALSE;

  cli_write ("saved.xml", SAVED (""));
  save_labels ("y.npy", -1);
  save_labels ("t.npy", -1);
  for (int wrong = 0; wrong < SAMPLES && !later; wrong++)
    {
      for (int i = 0; i < 2 * SAMPLES; i++)
        values[i] = i == 2 * wrong ? NAN : sin (i);
      cli_save ("x.npy", LOOM_F32, 2, dims, values);
      cli_remove ("failed");
      g_auto (CliResult) r = cli ("train", "saved.xml", "--out", "failed", NULL);
      g_assert_cmpint (r.status, ==, 4);
      g_assert_nonnull (strstr (r.err, "The data contain a value that is not finite"));
      later = strstr (r.err, "step 1 ") == NULL;
      g_assert_nonnull (strstr (r.err, later ? "Continue with: gradloom train --resume failed\n"
                                             : "begin again with: gradloom train --resume failed\n"));
    }
  g_assert_true (later);
  g_assert_true (g_file_test ("failed/weights.safetensors", G_FILE_TEST_EXISTS));
  for (int i = 0; i < 2 * SAMPLES; i++)
    values[i] = sin (i);
  cli_save ("x.npy", LOOM_F32, 2, dims, values);
  cli_expect (0, NULL, "train", "--resume", "failed");
}

/* Diverged weights are not saved, because the next step would overflow at any learning rate. An older checkpoint is
 * kept, if there is one. */
static void
test_diverged (void)
{
  g_autofree char *path = cli_example ("lessons/linear-regression.xml");

  cli_expect (4, "No step is saved yet; begin again with: gradloom train --resume wild --lr 100\n", "train", path,
              "--lr", "1000", "--out", "wild");
  cli_expect (0, NULL, "train", "--resume", "wild", "--lr", "0.01", "--epochs", "1");
  cli_expect (4, "Continue from step 7 with: gradloom train --resume wild --lr 100\n", "train", "--resume", "wild",
              "--lr", "1000", "--epochs", "9");
  cli_expect (0, NULL, "train", "--resume", "wild", "--lr", "0.01");
}

/* At the end, for a program and for a reader; the run is the same. */
static void
test_health (void)
{
  cli_write ("g.xml", GRAPH);
  g_auto (CliResult) plain = cli ("train", "g.xml", "--steps", "5", "--out", "plain", NULL);
  g_auto (CliResult) r = cli ("train", "g.xml", "--steps", "5", "--out", "watched", "--json", "--health", NULL);
  const char *line = strstr (r.out, "{\"event\":\"health\",\"step\":5,\"node\":\"fc1\",\"verdict\":\"well\"");
  g_assert_cmpint (plain.status, ==, 0);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (line);
  g_autofree char *own = g_strndup (line, strcspn (line, "\n"));
  g_assert_cmpfloat (member (own, "weight"), >, 0);
  g_assert_cmpfloat (member (own, "gradient"), >, 0);
  g_assert_cmpfloat (member (own, "update"), >, 0);
  g_assert_nonnull (strstr (r.out, "\"node\":\"act\",\"verdict\":\"well\",\"saturated\":"));
  g_autofree char *a = NULL, *b = NULL;
  gsize n, m;
  g_assert_true (g_file_get_contents ("plain/weights.safetensors", &a, &n, NULL));
  g_assert_true (g_file_get_contents ("watched/weights.safetensors", &b, &m, NULL));
  g_assert_cmpmem (a, n, b, m);
  g_auto (CliResult) text = cli ("train", "g.xml", "--steps", "2", "--health", NULL);
  g_assert_nonnull (strstr (text.out, "|g|/|w|"));
  g_assert_nonnull (strstr (text.out, " % saturated\n"));
}

/* A formula whose rate cannot be used ends the run with its own sentence, and keeps the steps before. */
static void
test_formula (void)
{
  static const struct
  {
    const char *formula, *wanted;
  } cases[] = {
    { "sqrt(5 - step)", "Step 7 (epoch 1): the formula “sqrt(5 - step)” of the schedule makes the learning rate "
                        "undefined, but it must be "
                        "a number from 0 to 1000000." },
    { "1 / (5 - step)",
      "Step 6 (epoch 1): the formula “1 / (5 - step)” of the schedule makes the learning rate infinite" },
    { "1 - step", "Step 3 (epoch 1): the formula “1 - step” of the schedule makes the learning rate -0.001" },
    { "10**(2 * step)",
      "Step 6 (epoch 1): the formula “10**(2 * step)” of the schedule makes the learning rate 1e+07" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *schedule
          = g_strdup_printf ("<schedule type=\"lambda\" formula=\"%s\"/>\n<metric ", cases[i].formula);
      g_auto (GStrv) parts = g_strsplit (GRAPH, "<metric ", 2);
      g_autofree char *graph = g_strjoinv (schedule, parts);
      g_autofree char *folder = g_strdup_printf ("formula%u", i);

      cli_write ("formula.xml", graph);
      cli_expect (4, cases[i].wanted, "train", "formula.xml", "--out", folder);
      g_autofree char *state = g_strdup_printf ("%s/checkpoints/%d/state.json", folder, cases[i].wanted[5] - '1');
      g_assert_true (g_file_test (state, G_FILE_TEST_EXISTS));
    }
}

/* A negative gain has no distribution; the sentence has the attribute once. */
static void
test_gain (void)
{
  static const char *const functions[] = { "xavier_uniform", "xavier_normal" };

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      g_auto (GStrv) parts = g_strsplit (GRAPH, "out_features=\"2\"", 2);
      g_autofree char *attributes = g_strdup_printf ("out_features=\"2\" weight_init=\"%s(gain=-1)\"", functions[i]);
      g_autofree char *graph = g_strjoinv (attributes, parts);
      g_autofree char *wanted = g_strdup_printf (
          "node fc, weight_init: gain of %s is “-1”; it must be a number from 0 to 1e+30.", functions[i]);

      cli_write ("gain.xml", graph);
      cli_expect (1, wanted, "train", "gain.xml");
    }
  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--steps", "1", "--set", "fc.weight_init=orthogonal(gain=-1)");
}

/* A run cannot end before what it has done: the resume is refused, and the folder stays as it was. */
static void
test_fewer (void)
{
  static const char *const files[] = { "fewer/graph.xml", "fewer/events.jsonl", "fewer/run.json" };
  char *before[G_N_ELEMENTS (files)] = { NULL };
  gsize length[G_N_ELEMENTS (files)];

  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "2", "--batch-size", "512", "--steps", "12", "--out", "fewer");
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    if (g_file_test (files[i], G_FILE_TEST_EXISTS))
      g_assert_true (g_file_get_contents (files[i], &before[i], &length[i], NULL));
  g_assert_nonnull (before[0]);
  cli_expect (2, "has already begun epoch 2, so it cannot end after 1: use --epochs with at least 2.", "train",
              "--resume", "fewer", "--epochs", "1");
  cli_expect (2, "has already taken 12 steps, so it cannot end after 11: use --steps with at least 12.", "train",
              "--resume", "fewer", "--steps", "11");
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *after = NULL;
      gsize n;

      if (before[i] == NULL)
        continue;
      g_assert_true (g_file_get_contents (files[i], &after, &n, NULL));
      g_assert_cmpmem (before[i], length[i], after, n);
      g_free (before[i]);
    }
  cli_expect (0, NULL, "train", "--resume", "fewer", "--steps", "12");
  cli_expect (0, NULL, "train", "--resume", "fewer", "--epochs", "2");
}

/* A run that ends after n steps has a checkpoint there and resumes to the same end; at the end of an epoch it is
 * evaluated as well. */
static void
test_steps (void)
{
  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--out", "unbroken");
  g_auto (CliResult) r = cli ("train", "g.xml", "--steps", "5", "--out", "few", "--json", "--waits", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "{\"event\":\"done\",\"step\":5,"));
  g_assert_nonnull (strstr (r.out, "{\"event\":\"waits\",\"steps\":"));
  g_assert_null (strstr (r.out, "\"event\":\"eval\""));
  g_assert_true (g_file_test ("few/checkpoints/5/state.json", G_FILE_TEST_EXISTS));
  g_auto (CliResult) more = cli ("train", "--resume", "few", "--steps", "7", "--waits", "--num-workers", "3", NULL);
  g_assert_cmpint (more.status, ==, 0);
  g_assert_nonnull (strstr (more.out, "stalls of a step (mean of "));
  g_assert_nonnull (strstr (more.out, "(prepared ahead by 3 threads)"));
  g_assert_nonnull (strstr (more.out, "ended after step 7, the limit of --steps, train loss "));
  g_assert_nonnull (strstr (more.out, "; resume with: gradloom train --resume few\n"));
  cli_expect (2, "--num-workers takes 0 to 8, not 9.", "train", "g.xml", "--num-workers", "9");
  /* Figures are of a tenth of the epoch, which has 512 steps, and of 50 at most. */
  g_auto (CliResult) rest = cli ("train", "--resume", "few", NULL);
  g_assert_cmpint (rest.status, ==, 0);
  g_assert_nonnull (strstr (rest.out, "  (last 50 steps)\n"));
  g_autofree char *a = NULL, *b = NULL;
  gsize n, m;
  g_assert_true (g_file_get_contents ("unbroken/weights.safetensors", &a, &n, NULL));
  g_assert_true (g_file_get_contents ("few/weights.safetensors", &b, &m, NULL));
  g_assert_cmpmem (a, n, b, m);
  g_auto (CliResult) epoch = cli ("train", "g.xml", "--steps", "512", "--epochs", "2", "--json", NULL);
  g_assert_nonnull (strstr (epoch.out, "\"event\":\"eval\""));
  g_assert_nonnull (strstr (epoch.out, "{\"event\":\"done\",\"step\":512,"));
  cli_expect (2, "--steps takes a positive number", "train", "g.xml", "--steps", "0");
}

/* The eager executor computes the losses of the plan up to the order of sums, and refuses what it cannot do. */
static void
test_eager (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");
  g_auto (CliResult) plan = cli ("train", path, "--epochs", "1", "--json", NULL);
  g_auto (CliResult) eager = cli ("train", path, "--epochs", "1", "--executor", "eager", "--json", NULL);
  const char *a = g_strrstr (plan.out, "\"loss\":"), *b = g_strrstr (eager.out, "\"loss\":");

  g_assert_cmpint (plan.status, ==, 0);
  g_assert_cmpint (eager.status, ==, 0);
  g_assert_true (a != NULL && b != NULL);
  g_assert_cmpfloat_with_epsilon (g_ascii_strtod (a + 7, NULL), g_ascii_strtod (b + 7, NULL), 1e-4);
  cli_expect (2, "plan or eager", "train", path, "--executor", "graph");
  cli_expect (2, "on one rank", "train", path, "--executor", "eager", "--ranks", "2");
  cli_expect (2, "without a trace", "train", path, "--executor", "eager", "--trace", "t.json");
}

/* The gradients that are drawn as nodes are those of the backward pass: both runs have the same losses. */
static void
test_by_hand (void)
{
  g_autofree char *hand = cli_example ("lessons/backward-by-hand.xml");
  g_autofree char *other = cli_example ("lessons/two-layer-relu.xml");
  g_auto (CliResult) a = cli ("train", hand, "--epochs", "20", NULL), b = cli ("train", other, "--epochs", "20", NULL);
  const char *p = g_strrstr (a.out, "train loss"), *q = g_strrstr (b.out, "train loss");

  g_assert_true (p != NULL && q != NULL);
  g_assert_cmpfloat_with_epsilon (g_ascii_strtod (p + 10, NULL), g_ascii_strtod (q + 10, NULL), 0.01);
}

/* Without changes a repetition is the run itself, up to its newest checkpoint. */
static void
test_replay (void)
{
  g_autofree char *a = NULL, *b = NULL, *graph = NULL;
  gsize n, m;

  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--steps", "9", "--lr", "0.1", "--set", "fc1.out_features=16", "--out",
              "nine");
  g_assert_true (g_file_get_contents ("nine/graph.xml", &graph, NULL, NULL));
  g_assert_nonnull (strstr (graph, " lr=\"0.1\""));
  cli_expect (0, NULL, "train", "--replay", "nine", "--out", "nine again");
  g_assert_true (g_file_get_contents ("nine/events.jsonl", &a, &n, NULL));
  g_assert_true (g_file_get_contents ("nine again/events.jsonl", &b, &m, NULL));
  g_assert_cmpmem (a, n, b, m);
  cli_expect (2, "--replay repeats a run with its own graph", "train", "--replay", "nine", "--lr", "1");
  cli_expect (2, "--replay repeats a run with its own graph", "train", "g.xml", "--replay", "nine");
  cli_expect (1, "There is no run", "train", "--replay", ".");
}

/* The state after a step is that of a run that ended there, and a branch from it goes on as the run did. */
static void
test_step (void)
{
  g_autofree char *a = NULL, *b = NULL;
  gsize n, m;

  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--steps", "7", "--out", "seven");
  cli_expect (0, NULL, "train", "g.xml", "--steps", "20", "--out", "twenty");
  g_auto (CliResult) there = cli ("eval", "twenty", "--step", "7", "--json", NULL);
  g_auto (CliResult) seven = cli ("eval", "seven", "--json", NULL);
  g_assert_cmpint (there.status, ==, 0);
  g_assert_cmpfloat (member (there.out, "step"), ==, 7);
  g_assert_cmpfloat (member (there.out, "loss"), ==, member (seven.out, "loss"));
  cli_expect (0, NULL, "train", "--branch", "twenty", "--step", "7", "--steps", "20", "--out", "branch");
  g_assert_true (g_file_get_contents ("twenty/weights.safetensors", &a, &n, NULL));
  g_assert_true (g_file_get_contents ("branch/weights.safetensors", &b, &m, NULL));
  g_assert_cmpmem (a, n, b, m);
  cli_expect (0, NULL, "train", "--resume", "branch", "--steps", "21");
  cli_expect (2, "has the steps 0 to 20", "eval", "twenty", "--step", "21");
  cli_expect (2, "--branch RUN --step N --out DIR", "train", "--branch", "twenty", "--out", "other");
  cli_expect (2, "add --branch", "train", "g.xml", "--step", "3");
  cli_expect (1, "There is no run", "eval", ".", "--step", "3");
  cli_expect (0, NULL, "train", "g.xml", "--steps", "3", "--history", "0", "--out", "no history");
  g_assert_true (g_file_test ("twenty/history/0/state.json", G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test ("no history/history", G_FILE_TEST_EXISTS));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/train/json", test_json);
  g_test_add_func ("/cli/train/eval-step", test_eval_step);
  g_test_add_func ("/cli/train/no-epochs", test_no_epochs);
  g_test_add_func ("/cli/train/one-value", test_one_value);
  g_test_add_func ("/cli/train/bar", test_bar);
  g_test_add_func ("/cli/train/health", test_health);
  g_test_add_func ("/cli/train/steps", test_steps);
  g_test_add_func ("/cli/train/formula", test_formula);
  g_test_add_func ("/cli/train/gain", test_gain);
  g_test_add_func ("/cli/train/fewer", test_fewer);
  g_test_add_func ("/cli/train/eager", test_eager);
  g_test_add_func ("/cli/train/by-hand", test_by_hand);
  g_test_add_func ("/cli/train/replay", test_replay);
  g_test_add_func ("/cli/train/step", test_step);
  g_test_add_func ("/cli/train/failure-is-saved", test_failure_is_saved);
  g_test_add_func ("/cli/train/nan-data", test_nan_data);
  g_test_add_func ("/cli/train/diverged", test_diverged);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
