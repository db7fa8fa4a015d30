/* Attribution of faults: to the file, with its name and line, or to the option that has set the value. */
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

/* Every command names file, line and node in the same way. */
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
      if (r.status != 1 || strstr (r.err, cases[i].says) == NULL)
        g_error ("%s %s: status %d: %s", cases[i].option, cases[i].value, r.status, r.err);
    }
  cli_expect (1, "--set fc.out_features=-2: out_features is -2; it must be at least 1. Set it to 1.\n--lr: lr is 1e+30",
              "train", "g.xml", "--set", "fc.out_features=-2", "--lr", "1e30");
  cli_expect (1, "With --set fc.out_features=2 --batch-size 2: g.xml", "train", "g.xml", "--set", "fc.out_features=2",
              "--batch-size", "2");
  /* A fault in the file is attributed to the file. */
  cli_write ("g.xml", GRAPH ("-1", ""));
  cli_expect (1, "train: g.xml: line 3: node fc", "train", "g.xml", "--lr", "0.5");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/options/file", test_file);
  g_test_add_func ("/cli/options/option", test_option);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
