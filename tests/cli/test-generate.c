/* `gradloom generate`: it writes likely text, follows its options, and writes the same for one seed. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <json-glib/json-glib.h>
#include <string.h>

/* A cyclic text: after a, b; after b, c; after c, a or, less often, the end of a line. */
static void
train_round (void)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (int i = 0; i < 200; i++)
    g_string_append (text, i % 4 == 3 ? "abc\n" : "abc");
  cli_write ("round.txt", text->str);
  cli_write ("round.xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                          "  <node id=\"data\" op=\"dataset\" source=\"text\" path=\"round.txt\" context=\"4\"/>\n"
                          "  <node id=\"letters\" op=\"embedding\" num_embeddings=\"4\" embedding_dim=\"8\"/>\n"
                          "  <node id=\"head\" op=\"linear\" out_features=\"4\"/>\n"
                          "  <node id=\"scores\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/>\n"
                          "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                          "  <wire from=\"data.x\" to=\"letters\"/>\n"
                          "  <wire from=\"letters\" to=\"head\"/>\n"
                          "  <wire from=\"head\" to=\"scores\"/>\n"
                          "  <wire from=\"scores\" to=\"loss.input\"/>\n"
                          "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                          "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.05\" epochs=\"20\" batch_size=\"16\" "
                          "seed=\"1\"/>\n"
                          "</graph>\n");
  cli_expect (0, NULL, "train", "round.xml", "--out", "round");
}

static void
expect_text (const char *want, CliResult result)
{
  g_auto (CliResult) r = result;

  g_assert_cmpstr (r.err, ==, "");
  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpstr (r.out, ==, want);
}

static void
test_text (void)
{
  /* The likeliest tokens repeat forever. */
  expect_text ("abcabcabcab\n",
               cli ("generate", "round", "--prompt", "ab", "--temperature", "0", "--tokens", "9", NULL));
  expect_text ("bcabca\n", cli ("generate", "round", "--prompt", "b", "--top-k", "1", "--tokens", "5", NULL));
  expect_text ("ab\n", cli ("generate", "round", "--prompt", "a", "--temperature", "0", "--stop", "ca", NULL));
  /* Without a prompt it begins after the end of a line. */
  expect_text ("abc\n", cli ("generate", "round", "--temperature", "0", "--tokens", "3", NULL));
}

static void
test_draws (void)
{
  g_auto (CliResult) one = cli ("generate", "round", "--prompt", "a", "--seed", "3", NULL);
  g_auto (CliResult) again = cli ("generate", "round", "--prompt", "a", "--seed", "3", NULL);
  g_auto (CliResult) other = cli ("generate", "round", "--prompt", "a", "--seed", "4", NULL);
  g_auto (CliResult) cold = cli ("generate", "round", "--prompt", "a", "--temperature", "0.05", NULL);
  int ends = 0;

  g_assert_cmpstr (one.out, ==, again.out);
  g_assert_cmpstr (one.out, !=, other.out);
  /* A line ends after one c in four: about 16 times in 200 letters, and never at low temperature. */
  for (const char *c = one.out; *c != '\0'; c++)
    ends += *c == '\n';
  g_assert_cmpint (ends, >, 4);
  g_assert_cmpint (ends, <, 40);
  g_assert_true (strchr (cold.out, '\n') == cold.out + strlen (cold.out) - 1);
}

static void
test_json (void)
{
  g_auto (CliResult) r
      = cli ("generate", "round", "--prompt", "a", "--temperature", "0", "--tokens", "4", "--json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *event;

  g_assert_cmpint (r.status, ==, 0);
  g_assert_true (json_parser_load_from_data (parser, r.out, -1, NULL));
  event = json_node_get_object (json_parser_get_root (parser));
  g_assert_cmpstr (json_object_get_string_member (event, "event"), ==, "generation");
  g_assert_cmpstr (json_object_get_string_member (event, "prompt"), ==, "a");
  g_assert_cmpstr (json_object_get_string_member (event, "text"), ==, "bcab");
  g_assert_cmpint (json_object_get_int_member (event, "tokens"), ==, 4);
  g_assert_cmpfloat (json_object_get_double_member (event, "seconds"), >, 0);
}

/* ---- the cache of earlier positions ---------------------------------------------------- */

#define CELL                                                                                                           \
  "<module name=\"cell\"><node id=\"x\" op=\"module_input\"/><node id=\"h\" op=\"module_input\" shape=\"B,8\"/>"       \
  "<node id=\"rec\" op=\"linear\" out_features=\"8\"/><node id=\"sum\" op=\"add\"/><node id=\"act\" op=\"tanh\"/>"     \
  "<node id=\"y\" op=\"module_output\"/><node id=\"h1\" op=\"module_output\" carry=\"h\"/>"                            \
  "<wire from=\"h\" to=\"rec\"/><wire from=\"x\" to=\"sum.input\"/><wire from=\"rec\" to=\"sum.other\"/>"              \
  "<wire from=\"sum\" to=\"act\"/><wire from=\"act\" to=\"y\"/><wire from=\"act\" to=\"h1\"/></module>"

/* Nodes between the letters [B, T, 8] and the head; `last` is the port that the head reads. */
static const struct
{
  const char *name, *module, *nodes, *wires, *last;
  const char *mixes; /* the node that keeps it from keeping anything; NULL: none does */
} nets[] = {
  { "attention", "",
    "<node id=\"places\" op=\"positional_encoding\" kind=\"learned\" max_len=\"6\"/><node id=\"mid\" "
    "op=\"multihead_attention\" num_heads=\"2\" batch_first=\"true\" is_causal=\"true\" dropout=\"0.1\"/><node "
    "id=\"sum\" "
    "op=\"add\"/><node id=\"norm\" op=\"layer_norm\"/>",
    "<wire from=\"letters\" to=\"places\"/><wire from=\"places\" to=\"mid.query\"/><wire from=\"mid\" "
    "to=\"sum.input\"/><wire from=\"places\" to=\"sum.other\"/><wire from=\"sum\" to=\"norm\"/>",
    "norm", NULL },
  { "waves", "",
    "<node id=\"places\" op=\"positional_encoding\"/><node id=\"one\" op=\"multihead_attention\" num_heads=\"2\" "
    "batch_first=\"true\" is_causal=\"true\"/><node id=\"act\" op=\"gelu\"/><node id=\"two\" "
    "op=\"multihead_attention\" "
    "num_heads=\"4\" batch_first=\"true\" is_causal=\"true\"/>",
    "<wire from=\"letters\" to=\"places\"/><wire from=\"places\" to=\"one.query\"/><wire from=\"one\" "
    "to=\"act\"/><wire "
    "from=\"act\" to=\"two.query\"/>",
    "two", NULL },
  { "rotary", "",
    "<node id=\"q\" op=\"positional_encoding\" kind=\"rotary\"/><node id=\"k\" op=\"positional_encoding\" "
    "kind=\"rotary\"/><node id=\"mid\" op=\"scaled_dot_product_attention\" is_causal=\"true\"/>",
    "<wire from=\"letters\" to=\"q\"/><wire from=\"letters\" to=\"k\"/><wire from=\"q\" to=\"mid.query\"/><wire "
    "from=\"k\" "
    "to=\"mid.key\"/><wire from=\"letters\" to=\"mid.value\"/>",
    "mid", NULL },
  { "lstm", "", "<node id=\"mid\" op=\"lstm\" hidden_size=\"8\" num_layers=\"2\" batch_first=\"true\"/>",
    "<wire from=\"letters\" to=\"mid\"/>", "mid.output", NULL },
  { "gru", "", "<node id=\"mid\" op=\"gru\" hidden_size=\"8\" batch_first=\"true\" stateful=\"true\"/>",
    "<wire from=\"letters\" to=\"mid\"/>", "mid.output", NULL },
  { "scan", CELL, "<node id=\"mid\" op=\"scan\" body=\"cell\" axis=\"1\"/>", "<wire from=\"letters\" to=\"mid.x\"/>",
    "mid.y", NULL },
  { "ahead", "", "<node id=\"mid\" op=\"multihead_attention\" num_heads=\"2\" batch_first=\"true\"/>",
    "<wire from=\"letters\" to=\"mid.query\"/>", "mid", "mid" },
  { "both", "", "<node id=\"mid\" op=\"gru\" hidden_size=\"4\" batch_first=\"true\" bidirectional=\"true\"/>",
    "<wire from=\"letters\" to=\"mid\"/>", "mid.output", "mid" },
  { "window", "",
    "<node id=\"turn\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"conv\" op=\"conv1d\" out_channels=\"8\" "
    "kernel_size=\"3\" padding=\"1\"/><node id=\"back\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/>",
    "<wire from=\"letters\" to=\"turn\"/><wire from=\"turn\" to=\"conv\"/><wire from=\"conv\" to=\"back\"/>", "back",
    "conv" },
};

/* With random weights, which repeat no text, and for more tokens than the context: the same tokens with and without the
 * cache, sampled and not. */
static void
test_kept (gconstpointer data)
{
  gsize i = GPOINTER_TO_SIZE (data);
  g_autofree char *file = g_strdup_printf ("%s.xml", nets[i].name);
  g_autofree char *xml = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">%s<node id=\"data\" op=\"dataset\" source=\"text\" "
      "path=\"round.txt\" context=\"6\"/><node id=\"letters\" op=\"embedding\" num_embeddings=\"4\" "
      "embedding_dim=\"8\"/>%s<node id=\"head\" op=\"linear\" out_features=\"4\"/><node id=\"scores\" op=\"transpose\" "
      "dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"letters\"/>%s<wire "
      "from=\"%s\" to=\"head\"/><wire from=\"head\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/><wire "
      "from=\"data.y\" to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0\" epochs=\"1\" "
      "batch_size=\"4\" "
      "seed=\"%d\"/></graph>",
      nets[i].module, nets[i].nodes, nets[i].wires, nets[i].last, (int)i + 2);

  cli_write (file, xml);
  cli_expect (0, NULL, "train", file, "--steps", "1", "--out", nets[i].name);
  for (int cold = 0; cold < 2; cold++)
    {
      const char *temperature = cold ? "0" : "1";
      g_auto (CliResult) kept = cli ("generate", nets[i].name, "--prompt", "abca", "--tokens", "25", "--seed", "5",
                                     "--temperature", temperature, NULL);
      g_auto (CliResult) whole = cli ("generate", nets[i].name, "--prompt", "abca", "--tokens", "25", "--seed", "5",
                                      "--temperature", temperature, "--no-cache", NULL);
      g_autofree char *named = nets[i].mixes != NULL ? g_strdup_printf ("“%s” (", nets[i].mixes) : NULL;

      g_assert_cmpint (kept.status, ==, 0);
      g_assert_cmpstr (kept.out, ==, whole.out);
      g_assert_cmpstr (whole.err, ==, "");
      if (named == NULL)
        g_assert_cmpstr (kept.err, ==, "");
      else if (strstr (kept.err, "The whole context is computed again") == NULL || strstr (kept.err, named) == NULL)
        g_error ("%s: “%s” does not name %s", nets[i].name, kept.err, named);
    }
}

/* The head has more logits than there are letters, as if its vocabulary was padded. */
static void
test_padded (void)
{
  g_autofree char *text = NULL;
  g_autoptr (GString) xml = NULL;

  g_assert_true (g_file_get_contents ("round.xml", &text, NULL, NULL));
  xml = g_string_new (text);
  g_string_replace (xml, "out_features=\"4\"", "out_features=\"9\"", 0);
  cli_write ("padded.xml", xml->str);
  cli_expect (0, NULL, "train", "padded.xml", "--steps", "1", "--out", "padded");
  g_auto (CliResult) r = cli ("generate", "padded", "--prompt", "a", "--temperature", "9", "--tokens", "50", NULL);
  g_assert_cmpstr (r.err, ==, "");
  g_assert_cmpint (r.status, ==, 0);
  g_assert_cmpuint (strlen (r.out), ==, 52);
  g_assert_cmpuint (strspn (r.out, "abc\n"), ==, 52);
}

static void
test_refused (void)
{
  g_autofree char *spirals = cli_example ("lessons/spirals.xml");

  cli_expect (1, "“--prompt” has the character “d”", "generate", "round", "--prompt", "d");
  cli_expect (2, "--prompt takes a text that is not empty", "generate", "round", "--prompt", "");
  cli_expect (2, "--temperature takes 0 or a positive number, not “-1”", "generate", "round", "--temperature", "-1");
  cli_expect (2, "--tokens takes a positive number", "generate", "round", "--tokens", "0");
  cli_expect (2, "--stop takes a text that is not empty", "generate", "round", "--stop", "");
  cli_expect (2, "is a graph without trained weights", "generate", "round.xml");
  cli_expect (2, "It takes one RUN folder", "generate");
  cli_expect (0, NULL, "train", spirals, "--steps", "1", "--out", "spirals");
  cli_expect (1, "The net does not read text", "generate", "spirals");
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  train_round ();
  g_test_add_func ("/generate/text", test_text);
  g_test_add_func ("/generate/draws", test_draws);
  g_test_add_func ("/generate/json", test_json);
  g_test_add_func ("/generate/padded", test_padded);
  g_test_add_func ("/generate/refused", test_refused);
  for (gsize i = 0; i < G_N_ELEMENTS (nets); i++)
    {
      g_autofree char *path = g_strconcat ("/generate/kept/", nets[i].name, NULL);

      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_kept);
    }
  status = g_test_run ();
  cli_leave ();
  return status;
}
