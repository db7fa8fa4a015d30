/* Wrong options, of all commands: status 2, whereas a wrong file has 1. Attribution of faults: to the file, with its
 * name and line, or to the option that has set the value. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <string.h>

#define GRAPH(fc, train)                                                                                               \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"options\">\n"                                              \
  "<node id=\"data\" op=\"dataset\" source=\"linear\"/>\n"                                                             \
  "<node id=\"fc\" op=\"linear\" out_features=\"" fc "\"/>\n<node id=\"loss\" op=\"mse_loss\"/>\n"                     \
  "<wire from=\"data.x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"loss.input\"/>\n"                                         \
  "<wire from=\"data.y\" to=\"loss.target\"/>\n"                                                                       \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"4\" epochs=\"1\"" train ">\n"                       \
  "<metric type=\"mae\" input=\"fc\" target=\"data.y\"/>\n</train>\n</graph>\n"

/* Every command names file, line and node in the same form. */
static void
test_file (void)
{
  static const char *const commands[] = { "check", "train", "eval", "plan", "program", "bench" };
  const char *says = "g.xml: line 3: node fc, out_features: out_features is -1";

  cli_write ("g.xml", GRAPH ("-1", ""));
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    cli_expect (1, says, commands[i], "g.xml");
  cli_expect (1, says, "run", "g.xml", "--out", "loss=x.npy");
  cli_expect (1, says, "export", "g.xml", "--to", "onnx", "-o", "x.onnx");
  /* Options that only training reads. */
  cli_write ("g.xml", GRAPH ("1", " patience=\"-3\""));
  cli_expect (1, "g.xml: line 8: patience: <train>: patience is -3", "train", "g.xml");
  cli_write ("g.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"none\"/>\n");
  cli_expect (1, "train: g.xml: The graph has no <train> element", "train", "g.xml");
  /* A run's own graph. */
  cli_write ("g.xml", GRAPH ("1", ""));
  cli_expect (0, NULL, "train", "g.xml", "--out", "run");
  cli_write ("run/graph.xml", GRAPH ("-1", ""));
  cli_expect (1, "run/graph.xml: line 3: node fc", "train", "--resume", "run");
  cli_expect (1, "run/graph.xml: line 3: node fc", "check", "run");
}

static void
test_option (void)
{
  static const struct
  {
    const char *option, *value, *says;
  } cases[] = {
    { "--lr", "1e30", "train: --lr: lr is 1e+30; it must be from 0 to 1000000. Set it to its default" },
    { "--epochs", "99999999999", "train: --epochs: epochs is 99999999999; it must be from" },
    { "--precision", "f64",
      "train: --precision: precision=\"f64\" needs the device “ref”, but the device is “cpu”. Use --device ref.\n" },
    { "--precision", "f13", "train: --precision: precision is “f13”" },
    { "--set", "train.lr=1e30", "train: --set train.lr=1e30: lr is 1e30; it must be" },
    { "--set", "fc.out_features=-2", "train: --set fc.out_features=-2: out_features is -2; it must be at least 1" },
    { "--set", "fc.out_feature=2", "train: --set fc.out_feature=2: A linear node has no parameter “out_feature”" },
    /* The fault is elsewhere, but the graph alone has none. */
    { "--set", "fc.out_features=2",
      "train: With --set fc.out_features=2: g.xml: line 9: input: <metric>: Metric “mae”" },
    { "--match", "bl*", "--match selects weights of a file" },
  };

  cli_write ("g.xml", GRAPH ("1", ""));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_auto (CliResult) r = cli ("train", "g.xml", cases[i].option, cases[i].value, NULL);
      if (r.status != 2 || strstr (r.err, cases[i].says) == NULL)
        g_error ("%s %s: status %d: %s", cases[i].option, cases[i].value, r.status, r.err);
    }
  cli_expect (2, "--set fc.out_features=-2: out_features is -2; it must be at least 1. Set it to 1.\n--lr: lr is 1e+30",
              "train", "g.xml", "--set", "fc.out_features=-2", "--lr", "1e30");
  cli_expect (2, "With --set fc.out_features=2 --batch-size 2: g.xml", "train", "g.xml", "--set", "fc.out_features=2",
              "--batch-size", "2");
  /* A fault in the file is attributed to the file. */
  cli_write ("g.xml", GRAPH ("-1", ""));
  cli_expect (1, "train: g.xml: line 3: node fc", "train", "g.xml", "--lr", "0.5");
}

/* Calls func with each command that `gradloom --help` lists, and the text of its own help. */
static guint
for_each_command (void (*func) (const char *command, const char *help))
{
  g_auto (CliResult) r = cli ("--help", NULL);
  g_auto (GStrv) line = g_strsplit (r.out, "\n", -1);
  guint n = 0;

  g_assert_cmpint (r.status, ==, 0);
  for (guint i = 0; line[i] != NULL; i++)
    {
      g_auto (GStrv) word = g_strsplit (line[i], " ", -1);
      g_auto (CliResult) help = { 0 };

      /* "  train     train the graph" */
      if (g_strv_length (word) < 4 || *word[0] != '\0' || *word[1] != '\0' || *word[2] == '\0')
        continue;
      help = cli (word[2], "--help", NULL);
      g_assert_cmpint (help.status, ==, 0);
      func (word[2], help.out);
      n++;
    }
  return n;
}

static void
expect_usage (const char *command, const char *option, const char *says)
{
  g_auto (CliResult) r = cli (command, option, NULL);

  if (r.status != 2 || strstr (r.err, says) == NULL)
    g_error ("gradloom %s %s: status %d: %s%s", command, option, r.status, r.out, r.err);
}

static guint n_switches, n_numbers;

static void
misuse (const char *command, const char *help)
{
  g_auto (GStrv) line = g_strsplit (help, "\n", -1);

  expect_usage (command, "--no-such-option", "no-such-option");
  for (guint i = 0; line[i] != NULL; i++)
    {
      const char *text = g_strchug (line[i]), *at = strstr (text, "--");
      const gsize length = at != NULL ? strcspn (at, " =") : 0;
      g_autofree char *option = at != NULL ? g_strndup (at, length) : NULL, *wrong = NULL;

      /* "  -h, --help    Show this help" and "  --json    Print …", but "  --out=RUN    Its folder" has a value. */
      if (at == NULL || length < 3 || (at != text && !g_str_has_prefix (text, "-h, "))
          || strchr (" =", at[length]) == NULL || at[length] == '\0' || (at[length] == ' ' && at[length + 1] != ' '))
        continue;
      wrong = g_strconcat (option, "=no", NULL);
      if (at[length] == ' ')
        {
          expect_usage (command, wrong, "takes no value");
          n_switches++;
        }
      else if (g_str_has_prefix (at + length, "=N "))
        {
          expect_usage (command, wrong, "");
          n_numbers++;
        }
    }
}

/* Each switch with a value, and each invalid number. */
static void
test_usage (void)
{
  g_assert_cmpuint (for_each_command (misuse), >=, 20);
  g_assert_cmpuint (n_switches, >, 60);
  g_assert_cmpuint (n_numbers, >, 30);
}

/* A value that looks like a switch with a value is a value. */
static void
test_value (void)
{
  cli_write ("g.xml", GRAPH ("1", ""));
  cli_expect (0, NULL, "train", "g.xml", "--out", "--json=no");
  g_assert_true (g_file_test ("--json=no", G_FILE_TEST_IS_DIR));
  cli_expect (2, "--json takes no value", "train", "g.xml", "--out=run", "--json=no");
}

static void
test_wrong_values (void)
{
  static const char *const wrong[][4] = {
    { "plan", "--precision", "f13", "With --precision f13: g.xml: line 8" },
    { "program", "--precision", "f13", "With --precision f13: g.xml: line 8" },
    { "bench", "--precision", "f13", "With --precision f13: g.xml: line 8" },
    { "train", "--precision", "f13", "--precision: precision is “f13”" },
    { "plan", "--precision", "f64", "needs the device “ref”" },
    { "plan", "--strategy", "zero2", "Set their number with --ranks" },
    { "plan", "--strategy", "zero9", "--strategy is" },
    { "program", "--strategy", "zero2", "Set their number with --ranks" },
    { "plan", "--device", "gpu9", "--device" },
    { "plan", "--check", "--passes", "cannot be combined" },
    { "run", "--out", "nothing=n.npy", "no node or port “nothing”" },
    { "predict", "--output", "nothing", "" },
    { "export", "--to", "nothing", "nothing" },
    { "train", "--strategy", "zero9", "--strategy is" },
    { "simulate", "--precision", "f13", "" },
    { "simulate", "--card", "nothing", "nothing" },
  };

  cli_write ("g.xml", GRAPH ("1", ""));
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    cli_expect (2, wrong[i][3], wrong[i][0], "g.xml", wrong[i][1], wrong[i][2]);
  /* The file's own fault is reported with any options. */
  cli_write ("g.xml", GRAPH ("-1", ""));
  cli_expect (1, "plan: g.xml: line 3", "plan", "g.xml", "--precision", "bf16");
  cli_expect (1, "bench: g.xml: line 3", "bench", "g.xml", "--precision", "bf16");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/options/usage", test_usage);
  g_test_add_func ("/cli/options/value", test_value);
  g_test_add_func ("/cli/options/wrong-values", test_wrong_values);
  g_test_add_func ("/cli/options/file", test_file);
  g_test_add_func ("/cli/options/option", test_option);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
