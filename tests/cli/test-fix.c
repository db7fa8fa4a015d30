/* `gradloom check --fix`: the fixes of Studio's buttons on files. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <string.h>

#define WORDS                                                                                                          \
  "<node id=\"x\" op=\"input\" shape=\"B,T\"/><node id=\"words\" op=\"embedding\" num_embeddings=\"9\" "               \
  "embedding_dim=\"4\"/><wire from=\"x\" to=\"words\"/>"
#define WINDOW                                                                                                         \
  "<node id=\"x\" op=\"input\" shape=\"B,1,3,3\"/><node id=\"conv\" op=\"conv2d\" out_channels=\"4\" "                 \
  "kernel_size=\"5\"/>"                                                                                                \
  "<wire from=\"x\" to=\"conv\"/>"

typedef struct
{
  const char *name, *body, *word; /* --fix or --fix=N */
  const char *says;               /* the whole output */
  const char *written;            /* in the fixed file */
} Case;

static const Case cases[] = {
  { "insert", WORDS, "--fix", "words: Insert cast (f32 B × T → cast → i64 B × T)\n",
    "<wire from=\"x\" to=\"cast\"/>\n  <wire from=\"cast\" to=\"words\"/>" },
  { "set", WINDOW, "--fix=2", "conv: Set padding to 1 (padding 0 → 1 results in B × 4 × 1 × 1)\n", "padding=\"1\"" },
  { "connect",
    "<node id=\"data\" op=\"dataset\" source=\"spirals\"/><node id=\"fc\" op=\"linear\" out_features=\"2\"/>"
    "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"fc\"/><wire from=\"fc\" to=\"loss.input\"/>",
    "--fix", "loss: Connect to data.y (data.y B → target)\n", "<wire from=\"data.y\" to=\"loss.target\"/>" },
  { "cut",
    "<node id=\"x\" op=\"input\" shape=\"B,4\"/><node id=\"y\" op=\"input\" shape=\"B,4\"/><node id=\"act\" "
    "op=\"relu\"/>"
    "<wire from=\"x\" to=\"act\"/><wire from=\"y\" to=\"act\"/>",
    "--fix=1", "act: Remove the wire from y (y → act)\n", "<wire from=\"x\" to=\"act\"/>\n</graph>" },
  { "own",
    "<node id=\"x\" op=\"input\" shape=\"B,4\"/><node id=\"fc\" op=\"linear\" out_feature=\"2\"/>"
    "<wire from=\"x\" to=\"fc\"/>",
    "--fix", "fc: Rename out_feature to out_features\n", "out_features=\"2\"" },
  { "inside",
    "<module name=\"block\"><node id=\"x\" op=\"module_input\"/><node id=\"words\" op=\"embedding\" "
    "num_embeddings=\"9\" "
    "embedding_dim=\"4\"/><node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"words\"/>"
    "<wire from=\"words\" to=\"y\"/></module><node id=\"x\" op=\"input\" shape=\"B,T\"/><node id=\"a\" "
    "module=\"block\"/>"
    "<node id=\"b\" module=\"block\"/><wire from=\"x\" to=\"a\"/><wire from=\"x\" to=\"b\"/>",
    "--fix", "a.words: Insert cast (f32 B × T → cast → i64 B × T)\n",
    "    <wire from=\"x\" to=\"cast\"/>\n    <wire from=\"cast\" to=\"words\"/>" },
};

static char *
graph_of (const char *body)
{
  return g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">%s</graph>", body);
}

/* The fixed file has no fault, and the graph's own file does not change. */
static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autofree char *graph = graph_of (c->body), *written = NULL, *kept = NULL;

  cli_write ("graph.xml", graph);
  {
    g_auto (CliResult) result = cli ("check", c->word, "graph.xml", "-o", "fixed.xml", NULL);

    if (result.status != 0)
      g_test_message ("%s%s", result.out, result.err);
    g_assert_cmpstr (result.out, ==, c->says);
    g_assert_cmpint (result.status, ==, 0);
  }
  g_assert_true (g_file_get_contents ("fixed.xml", &written, NULL, NULL));
  if (strstr (written, c->written) == NULL)
    g_error ("%s is not in %s", c->written, written);
  g_assert_true (g_file_get_contents ("graph.xml", &kept, NULL, NULL));
  g_assert_cmpstr (kept, ==, graph);
  cli_expect (0, NULL, "check", "fixed.xml");
}

/* Without -o nothing is written, and a second fault is found after the first is fixed. */
static void
test_prints (void)
{
  g_autofree char *graph = graph_of (WORDS "<node id=\"data\" op=\"dataset\" source=\"spirals\"/>"
                                           "<node id=\"loss\" op=\"cross_entropy\"/>"
                                           "<node id=\"fd\" op=\"linear\" out_features=\"2\"/>"
                                           "<wire from=\"data.x\" to=\"fd\"/><wire from=\"fd\" to=\"loss.input\"/>");
  g_autofree char *kept = NULL;

  cli_write ("graph.xml", graph);
  g_auto (CliResult) result = cli ("check", "--fix", "graph.xml", NULL);
  g_assert_nonnull (strstr (result.out, "words: Insert cast"));
  g_assert_nonnull (strstr (result.out, "loss: Connect to data.y"));
  g_assert_cmpint (result.status, ==, 0);
  g_assert_true (g_file_get_contents ("graph.xml", &kept, NULL, NULL));
  g_assert_cmpstr (kept, ==, graph);
}

/* Of several fixes the user chooses one; nothing is written before. */
static void
test_several (void)
{
  g_autofree char *graph = graph_of (WINDOW);

  cli_write ("graph.xml", graph);
  cli_remove ("several.xml");
  cli_expect (1, "\n  1  Set kernel_size to 3 ", "check", "--fix", "graph.xml", "-o", "several.xml");
  cli_expect (1, "choose with --fix=N", "check", "--fix=9", "graph.xml", "-o", "several.xml");
  g_assert_false (g_file_test ("several.xml", G_FILE_TEST_EXISTS));
  cli_expect (2, "--fix takes the number of a fix", "check", "--fix=-2", "graph.xml");
  cli_expect (2, "--fix goes with -o and --json alone", "check", "--fix", "graph.xml", "--gradcheck");
  cli_expect (2, "-o is the file of --fix", "check", "graph.xml", "-o", "several.xml");
}

/* A value that only the user knows remains a fault. */
static void
test_remains (void)
{
  g_autofree char *graph = graph_of ("<node id=\"x\" op=\"input\" shape=\"B,4\"/><node id=\"fc\" op=\"linear\"/>"
                                     "<wire from=\"x\" to=\"fc\"/>");

  cli_write ("graph.xml", graph);
  cli_expect (1, "node fc, out_features", "check", "--fix", "graph.xml");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("/cli/fix/", cases[i].name, NULL);
      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/cli/fix/prints", test_prints);
  g_test_add_func ("/cli/fix/several", test_several);
  g_test_add_func ("/cli/fix/remains", test_remains);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
