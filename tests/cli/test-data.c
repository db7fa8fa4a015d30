/* Data sets on the command line: misspelt options and invalid files are reported at the right place. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <string.h>
#include <sys/resource.h>

#define HEAD "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"data\">\n"
#define TAIL "</graph>\n"
#define LAYERS                                                                                                         \
  "<node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"                     \
  "<wire from=\"data.x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"loss.input\"/>\n"                                         \
  "<wire from=\"data.y\" to=\"loss.target\"/>\n"                                                                       \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"8\" epochs=\"1\"/>\n"

/* Every command that reads a graph refuses an option that the source does not have. */
static void
test_misspelt (void)
{
  static const char *const commands[] = { "check", "train", "plan", "program", "bench" };

  cli_write ("g.xml", HEAD "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"32\" nosie=\"5\"/>\n" LAYERS TAIL);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    cli_expect (1, "“nosie”. Did you mean “noise”?", commands[i], "g.xml");
  cli_expect (1, "“nosie”. Did you mean “noise”?", "run", "g.xml", "--out", "fc=o.npy");
  cli_write ("g.xml", HEAD "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"32\"/>\n" LAYERS TAIL);
  cli_expect (0, NULL, "check", "g.xml");
  cli_expect (2, "“turnz”. Did you mean “turns”?", "train", "g.xml", "--set", "data.turnz=1");
}

/* An option may be an expression over the arguments of its module, for training as for checks. */
static void
test_expression (void)
{
  cli_write ("g.xml", HEAD "<module name=\"points\">\n<arg name=\"count\" type=\"int\"/>\n"
                           "<node id=\"source\" op=\"dataset\" source=\"spirals\" n=\"{count * 8}\" n_test=\"8\"/>\n"
                           "<node id=\"x\" op=\"module_output\"/>\n<node id=\"y\" op=\"module_output\"/>\n"
                           "<wire from=\"source.x\" to=\"x\"/>\n<wire from=\"source.y\" to=\"y\"/>\n</module>\n"
                           "<node id=\"data\" module=\"points\" count=\"3\"/>\n" LAYERS TAIL);
  cli_expect (0, NULL, "check", "g.xml");
  g_auto (CliResult) trained = cli ("train", "g.xml", "--json", "--out", "modular", NULL);

  g_assert_cmpint (trained.status, ==, 0);
  /* 24 samples are three batches of eight. */
  g_assert_nonnull (strstr (trained.out, "{\"event\":\"done\",\"step\":3"));
}

/* The fault of the data is reported, and not its consequences. */
static void
test_run_error (void)
{
  cli_write ("g.xml", HEAD "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"t.csv\" target=\"y\"/>\n"
                           "<node id=\"other\" op=\"input\" shape=\"2\"/>\n<node id=\"r\" op=\"relu\"/>\n"
                           "<wire from=\"other\" to=\"r\"/>\n" LAYERS TAIL);
  cli_write ("t.csv", "a,b,y\n1,2,0\n1,oops,1\n");
  cli_save ("other.npy", LOOM_F32, 1, (const gint64[]){ 2 }, (const double[]){ 1, 2 });
  cli_expect (1, "Node data: “./t.csv” line 3, column “b”: “oops” is not a number.", "run", "g.xml", "--out",
              "fc=o.npy");
  /* Requests for something else do not need it. */
  cli_expect (0, NULL, "run", "g.xml", "--in", "other=other.npy", "--out", "r=o.npy");
  cli_write ("t.csv", "a,b,y\n");
  cli_expect (1, "Node data: ", "run", "g.xml", "--out", "fc=o.npy");
}

/* Numbers and quotes that cannot be meant. */
static void
test_wrong_values (void)
{
  cli_write ("g.xml",
             HEAD "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"t.csv\" target=\"y\"/>\n" LAYERS TAIL);
  cli_write ("t.csv", "a,b,y\n1,\"2\"3,0\n");
  cli_expect (1, "line 2: something follows the closing quote", "run", "g.xml", "--out", "fc=o.npy");
  cli_write ("t.csv", "a,b,y\n1,\"2\" ,0\n\"3\",4,1\n");
  cli_expect (0, NULL, "run", "g.xml", "--out", "fc=o.npy");

  cli_write ("r.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"2\"/>\n<node id=\"r\" op=\"relu\"/>\n"
                           "<wire from=\"x\" to=\"r\"/>\n" TAIL);
  cli_save ("x.npy", LOOM_F64, 1, (const gint64[]){ 2 }, (const double[]){ 1, 1e300 });
  cli_expect (1, "1e+300", "run", "r.xml", "--in", "x=x.npy", "--out", "r=o.npy");
  cli_expect (0, NULL, "run", "r.xml", "--in", "x=x.npy", "--out", "r=o.npy", "--dtype", "f64");
  cli_expect (2, "name the same file", "run", "r.xml", "--in", "x=x.npy", "--out", "r=o.npy", "--out", "x=./o.npy");
}

/* A dimension is an integer times symbols. */
static void
test_shapes (void)
{
  cli_write ("p.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,T*3, 2*T*C\"/>\n" TAIL);
  g_auto (CliResult) product = cli ("check", "p.xml", "--json", NULL);
  g_assert_nonnull (strstr (product.out, "\"shape\":\"B,3T,2CT\""));
  cli_write ("p.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"b,3\"/>\n" TAIL);
  cli_expect (1, "capital letters: “B,3”", "check", "p.xml");
  cli_write ("p.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"1,1,1,1,1,1,1,1,1\"/>\n" TAIL);
  cli_expect (1, "It has 9 dimensions; a tensor has 8 at most.", "check", "p.xml");
  cli_write ("p.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"B,T*\"/>\n" TAIL);
  cli_expect (1, "not a shape", "check", "p.xml");
}

/* Only a few names of another network's file are listed, without control characters, and then the number of the rest.
 */
static void
test_unknown_names (void)
{
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, 1, (const gint64[]){ 1 }, NULL);

  for (guint i = 0; i < 50; i++)
    {
      g_autofree char *name = g_strdup_printf ("\033[2J%u", i);
      g_ptr_array_add (tensors, loom_named_tensor_new (name, t));
    }
  g_assert_true (loom_safetensors_save ("other.st", tensors, NULL, NULL));
  cli_write ("w.xml", HEAD "<node id=\"x\" op=\"input\" shape=\"2\"/>\n" TAIL);
  cli_save ("w.npy", LOOM_F32, 1, (const gint64[]){ 2 }, (const double[]){ 1, 2 });
  g_auto (CliResult) r = cli ("run", "w.xml", "--in", "x=w.npy", "--out", "x=v.npy", "--weights", "other.st", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.err, "it has 40 more"));
  g_assert_null (strchr (r.err, '\033'));
}

/* A file that may not grow is an error with a sentence, and no silent end by a signal. */
static void
test_file_limit (void)
{
  struct rlimit before, small;

  cli_write ("s.xml", HEAD "<node id=\"data\" op=\"dataset\" source=\"random\"/>\n" TAIL);
  getrlimit (RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 4096;
  setrlimit (RLIMIT_FSIZE, &small);
  g_auto (CliResult) r = cli ("run", "s.xml", "--out", "data.x=big.npy", NULL);
  setrlimit (RLIMIT_FSIZE, &before);
  g_assert_cmpint (r.status, ==, 5);
  g_assert_nonnull (strstr (r.err, "ulimit -f"));
  g_assert_false (g_file_test ("big.npy", G_FILE_TEST_EXISTS));
}

/* Each source's options are listed with their documentation. */
static void
test_reference (void)
{
  g_auto (CliResult) help = cli ("ops", "dataset", NULL), markdown = cli ("ops", "--markdown", NULL),
                     json = cli ("ops", "--json", NULL);
  const CliResult *texts[] = { &help, &markdown, &json };

  for (guint t = 0; t < G_N_ELEMENTS (texts); t++)
    for (const LoomDatasetClass *const *klass = loom_dataset_classes (); *klass != NULL; klass++)
      for (const LoomDatasetParam *param = loom_dataset_class_params (*klass); param->name != NULL; param++)
        {
          g_autofree char *doc = t == 2 ? g_strescape (param->doc, NULL) : NULL;

          /* JSON escapes only quotes; sentences with other characters are compared in both texts. */
          if (t < 2 || g_str_is_ascii (param->doc))
            g_assert_nonnull (strstr (texts[t]->out, doc != NULL ? doc : param->doc));
        }
}

/* A source that cannot be described is one fault: its wires and metrics cause no others. */
static void
test_only_cause (void)
{
  static const char *const sources[] = { "npy\" x=\"here.npy\" y=\"missing.npy", "npy\" x=\"missing.npy\" y=\"here.npy",
                                         "csv\" path=\"missing.csv\" target=\"y", "sprials" };
  static const char *const commands[] = { "check", "train", "plan" };

  cli_save ("here.npy", LOOM_F32, 2, (const gint64[]){ 2, 1 }, (const double[]){ 1, 2 });
  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      g_autofree char *text = g_strdup_printf (
          HEAD "<node id=\"data\" op=\"dataset\" source=\"%s\"/>\n<node id=\"fc\" op=\"linear\" "
               "out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n<wire from=\"data.x\" to=\"fc\"/>\n"
               "<wire from=\"fc\" to=\"loss.input\"/>\n<wire from=\"data.y\" to=\"loss.target\"/>\n"
               "<train loss=\"loss\" optimizer=\"sgd\">\n<metric type=\"accuracy\" input=\"fc\" target=\"data.y\"/>\n"
               "</train>\n" TAIL,
          sources[i]);
      cli_write ("g.xml", text);
      for (guint c = 0; c < G_N_ELEMENTS (commands); c++)
        {
          g_auto (CliResult) r = cli (commands[c], "g.xml", NULL);
          const char *first = strstr (r.err, "g.xml: line 2: node data, source: ");

          g_assert_cmpint (r.status, ==, 1);
          if (first == NULL || strstr (first + strlen ("g.xml: line "), "line ") != NULL
              || strstr (r.err, "has no output") != NULL)
            g_error ("%s, %s: %s", sources[i], commands[c], r.err);
        }
    }
}

/* Labels that are no integers from 0 are numbered by the data set; a sentence names them as the file does. */
static void
test_classes (void)
{
  const char *says
      = "g.xml: line 3: node fc, out_features: The target of loss has 4 classes (-1, 0, 1, 2), but this node outputs "
        "only 2 logits for each sample. Set out_features to 4.";

  cli_write ("g.xml",
             HEAD "<node id=\"data\" op=\"dataset\" source=\"csv\" path=\"t.csv\" target=\"y\"/>\n" LAYERS TAIL);
  cli_write ("t.csv", "a,b,y\n1,2,-1\n1,3,2\n1,4,0\n2,2,1\n");
  cli_expect (1, says, "check", "g.xml");
  cli_expect (1, says, "train", "g.xml");
  cli_expect (0, NULL, "train", "g.xml", "--set", "fc.out_features=4");
  cli_write ("t.csv", "a,b,y\n1,2,-1\n1,3,2\n1,4,2\n2,2,-1\n");
  cli_expect (0, NULL, "check", "g.xml");
  cli_expect (0, NULL, "train", "g.xml");
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/data/misspelt", test_misspelt);
  g_test_add_func ("/data/expression", test_expression);
  g_test_add_func ("/data/only-cause", test_only_cause);
  g_test_add_func ("/data/classes", test_classes);
  g_test_add_func ("/data/run-error", test_run_error);
  g_test_add_func ("/data/wrong-values", test_wrong_values);
  g_test_add_func ("/data/shapes", test_shapes);
  g_test_add_func ("/data/file-limit", test_file_limit);
  g_test_add_func ("/data/unknown-names", test_unknown_names);
  g_test_add_func ("/data/reference", test_reference);
  status = g_test_run ();
  cli_leave ();
  return status;
}
