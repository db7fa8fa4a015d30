/* `gradloom generate`: it writes what a net finds likely, as far as it is told to, and the same for one seed. */
#include "tests/cli/cli.h"

#include <json-glib/json-glib.h>
#include <string.h>

/* A text that goes round: after a, b; after b, c; after c, a or, less often, a line's end. */
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
  /* The likeliest goes round for ever. */
  expect_text ("abcabcabcab\n",
               cli ("generate", "round", "--prompt", "ab", "--temperature", "0", "--tokens", "9", NULL));
  expect_text ("bcabca\n", cli ("generate", "round", "--prompt", "b", "--top-k", "1", "--tokens", "5", NULL));
  expect_text ("ab\n", cli ("generate", "round", "--prompt", "a", "--temperature", "0", "--stop", "ca", NULL));
  /* Without a prompt it begins behind a line's end. */
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
  /* A line ends after one c in four: about 16 times in 200 letters, and never where it is cold. */
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

static void
test_refused (void)
{
  g_autofree char *spirals = cli_example ("lessons/spirals.xml");

  cli_expect (1, "“--prompt” has the character “d”", "generate", "round", "--prompt", "d");
  cli_expect (2, "--prompt takes a text that is not empty", "generate", "round", "--prompt", "");
  cli_expect (2, "--temperature takes a number that is not negative, not “-1”", "generate", "round", "--temperature",
              "-1");
  cli_expect (2, "--tokens takes a positive number", "generate", "round", "--tokens", "0");
  cli_expect (2, "--stop takes a text that is not empty", "generate", "round", "--stop", "");
  cli_expect (2, "is a graph, which has no numbers", "generate", "round.xml");
  cli_expect (2, "It takes one RUN folder", "generate");
  cli_expect (0, NULL, "train", spirals, "--steps", "1", "--out", "spirals");
  cli_expect (1, "The net reads no text", "generate", "spirals");
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  train_round ();
  g_test_add_func ("/generate/text", test_text);
  g_test_add_func ("/generate/draws", test_draws);
  g_test_add_func ("/generate/json", test_json);
  g_test_add_func ("/generate/refused", test_refused);
  status = g_test_run ();
  cli_leave ();
  return status;
}
