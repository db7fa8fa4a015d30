/* `gradloom diff`: graphs that are equal although written differently, graphs that differ, and calls by git. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

static const char base[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                           "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"two moons\">\n"
                           "  <module name=\"block\">\n"
                           "    <arg name=\"width\" type=\"int\" default=\"8\"/>\n"
                           "    <node id=\"x\" op=\"module_input\"/>\n"
                           "    <node id=\"fc\" op=\"linear\" out_features=\"{width}\"/>\n"
                           "    <node id=\"act\" op=\"relu\"/>\n"
                           "    <node id=\"y\" op=\"module_output\"/>\n"
                           "    <wire from=\"x\" to=\"fc\"/>\n"
                           "    <wire from=\"fc\" to=\"act\"/>\n"
                           "    <wire from=\"act\" to=\"y\"/>\n"
                           "  </module>\n"
                           "  <node id=\"data\" op=\"dataset\" source=\"spirals\" noise=\"0.1\"/>\n"
                           "  <node id=\"body\" module=\"block\" repeat=\"2\"/>\n"
                           "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n"
                           "  <node id=\"loss\" op=\"cross_entropy\"/>\n"
                           "  <wire from=\"data.x\" to=\"body\"/>\n"
                           "  <wire from=\"body\" to=\"head\"/>\n"
                           "  <wire from=\"head\" to=\"loss.input\"/>\n"
                           "  <wire from=\"data.y\" to=\"loss.target\"/>\n"
                           "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.001\">\n"
                           "    <metric type=\"accuracy\" input=\"head\" target=\"data.y\"/>\n"
                           "  </train>\n"
                           "  <layout>\n"
                           "    <place node=\"data\" x=\"0\" y=\"0\"/>\n"
                           "  </layout>\n"
                           "</graph>\n";

/* base with `from` replaced by `to`, pair by pair, each of which must be there. */
static void
write_changed (const char *file, const char *const *pairs)
{
  g_autofree char *text = g_strdup (base);

  for (; pairs[0] != NULL; pairs += 2)
    {
      g_auto (GStrv) parts = g_strsplit (text, pairs[0], -1);
      if (parts[1] == NULL)
        g_error ("the graph has no %s", pairs[0]);
      g_free (text);
      text = g_strjoinv (pairs[1], parts);
    }
  cli_write (file, text);
}

typedef struct
{
  const char *pairs[8]; /* pairs of replaced text and replacement; ends with NULL */
  const char *says;     /* the whole output; NULL: empty, and status 0 */
} Case;

static const Case cases[] = {
  /* the same */
  { { "id=\"head\" op=\"linear\"", "id=\"head\" op=\"linear\" bias=\"true\"" }, NULL },
  { { "lr=\"0.001\"", "lr=\"1e-3\" betas=\"0.9,0.9990\" epochs=\"1\" batch_size=\"32\" seed=\"0\" precision=\"f32\"" },
    NULL },
  { { "from=\"body\" to=\"head\"", "from=\"body.y\" to=\"head.input\"" }, NULL },
  { { "from=\"fc\" to=\"act\"", "from=\"fc.out\" to=\"act.input\"" }, NULL },
  { { "from=\"x\" to=\"fc\"", "from=\"x.out\" to=\"fc.input\"", "to=\"y\"", "to=\"y.input\"" }, NULL },
  { { "input=\"head\"", "input=\"head.out\" name=\"accuracy\"", "loss=\"loss\"", "loss=\"loss.out\"" }, NULL },
  { { "module=\"block\" repeat", "module=\"block\" width=\"8\" share=\"false\" frozen=\"false\" repeat" }, NULL },
  { { "{width}", "{ width }" }, NULL },
  { { "noise=\"0.1\"", "noise=\"0.10\" n=\"1000\" seed=\"0\"" }, NULL },
  { { "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n", "", "  <node id=\"loss\"",
      "  <node id=\"head\" op=\"linear\" out_features=\"2\"/>\n  <node id=\"loss\"" },
    NULL },
  { { "    <metric", "    <schedule type=\"constant\" warmup_steps=\"0\"/>\n    <metric" }, NULL },
  { { "x=\"0\" y=\"0\"", "x=\"50\" y=\"0\"", "name=\"two moons\"", "name=\"other\"", "id=\"head\"",
      "id=\"head\" title=\"Kopf\"" },
    NULL },
  /* attributes */
  { { "out_features=\"2\"", "out_features=\"3\"" }, "graph\n  ~ node head (linear): out_features 2 → 3\n" },
  { { "out_features=\"2\"", "out_features=\"2\" bias=\"false\"" },
    "graph\n  ~ node head (linear): bias true (default) → false\n" },
  { { " noise=\"0.1\"", "" }, "graph\n  ~ node data (dataset): noise 0.1 → 0.02 (default)\n" },
  { { "default=\"8\"", "default=\"9\"" }, "module block\n  ~ arg width: default 8 → 9\n" },
  { { "repeat=\"2\"", "repeat=\"3\" width=\"4\"" },
    "graph\n  ~ node body (module block): repeat 2 → 3, width 8 (default) → 4\n" },
  { { "op=\"relu\"", "op=\"gelu\"" }, "module block\n  ~ node act: relu → gelu\n" },
  { { "version=\"1\"", "version=\"1\" strict_devices=\"true\"" },
    "graph\n  ~ graph: strict_devices false (default) → true\n" },
  /* nodes and wires */
  { { "  <wire from=\"body\" to=\"head\"/>", "  <wire from=\"body\" to=\"drop\"/>\n  <wire from=\"drop\" to=\"head\"/>",
      "  <node id=\"loss\"", "  <node id=\"drop\" op=\"dropout\" p=\"0.3\"/>\n  <node id=\"loss\"" },
    "graph\n  + node drop (dropout): p 0.3\n  + wire body → drop\n  ~ wire into head: from body → from drop\n" },
  /* renamed: everywhere, and with a change */
  { { "\"head\"", "\"classes\"" }, "graph\n  > node head → classes (linear)\n" },
  { { "\"head\"", "\"classes\"", "out_features=\"2\"", "out_features=\"5\"" },
    "graph\n  > node head → classes (linear): out_features 2 → 5\n" },
  { { "id=\"fc\"", "id=\"dense\"", "from=\"fc\"", "from=\"dense\"", "to=\"fc\"", "to=\"dense\"" },
    "module block\n  > node fc → dense (linear)\n" },
  { { "id=\"y\" op", "id=\"result\" op", "to=\"y\"", "to=\"result\"", "from=\"body\"", "from=\"body.result\"" },
    "module block\n  > node y → result (module_output)\n" },
  { { "module name=\"block\"", "module name=\"stage\"", "module=\"block\"", "module=\"stage\"" },
    "module stage\n  > module block → stage\n" },
  /* training */
  { { "lr=\"0.001\"", "lr=\"0.01\" weight_decay=\"0.1\"" },
    "train\n  ~ train: lr 0.001 (default) → 0.01, weight_decay 0 (default) → 0.1\n" },
  { { "    <metric", "    <schedule type=\"cosine\"/>\n    <clip max_norm=\"1\"/>\n    <metric", "type=\"accuracy\"",
      "type=\"accuracy\" name=\"right\"" },
    "train\n  + schedule: type cosine\n  + clip: norm 1\n  - metric accuracy: input head, target data.y, type "
    "accuracy\n"
    "  + metric right: input head, target data.y, type accuracy\n" },
  { { "    <metric", "    <group match=\"body\" lr=\"0.1\" frozen=\"false\"/>\n    <metric" },
    "train\n  + group body: lr 0.1\n" },
};

static void
test_cases (void)
{
  cli_write ("a.xml", base);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      write_changed ("b.xml", cases[i].pairs);
      g_auto (CliResult) r = cli ("diff", "a.xml", "b.xml", NULL), back = cli ("diff", "-q", "b.xml", "a.xml", NULL);
      g_test_message ("%s → %s", cases[i].pairs[0], cases[i].pairs[1]);
      g_assert_cmpstr (r.err, ==, "");
      g_assert_cmpstr (r.out, ==, cases[i].says != NULL ? cases[i].says : "");
      g_assert_cmpint (r.status, ==, cases[i].says != NULL ? 1 : 0);
      g_assert_cmpint (back.status, ==, r.status);
      g_assert_cmpstr (back.out, ==, "");
    }
}

/* Two that could be meant are none: nothing is guessed. */
static void
test_ambiguous (void)
{
  static const char *const pairs[]
      = { "    <node id=\"act\" op=\"relu\"/>\n",
          "    <node id=\"one\" op=\"relu\"/>\n    <node id=\"two\" op=\"relu\"/>\n",
          "    <wire from=\"fc\" to=\"act\"/>\n    <wire from=\"act\" to=\"y\"/>\n",
          "    <wire from=\"fc\" to=\"one\"/>\n    <wire from=\"fc\" to=\"two\"/>\n", NULL };

  cli_write ("a.xml", base);
  write_changed ("b.xml", pairs);
  g_auto (CliResult) r = cli ("diff", "a.xml", "b.xml", NULL);
  g_assert_nonnull (strstr (r.out, "- node act (relu)"));
  g_assert_nonnull (strstr (r.out, "+ node one (relu)"));
  g_assert_nonnull (strstr (r.out, "+ node two (relu)"));
}

static void
test_all (void)
{
  static const char *const pairs[] = { "x=\"0\" y=\"0\"",
                                       "x=\"50\" y=\"0\"",
                                       "name=\"two moons\"",
                                       "name=\"other\"",
                                       "id=\"head\"",
                                       "id=\"head\" title=\"Kopf\"",
                                       "  <module name",
                                       "  <doc>New.</doc>\n  <module name",
                                       NULL };

  cli_write ("a.xml", base);
  write_changed ("b.xml", pairs);
  g_auto (CliResult) r = cli ("diff", "--all", "a.xml", "b.xml", NULL);
  g_assert_cmpstr (r.out, ==,
                   "graph\n  ~ graph: name “two moons” → other\n  ~ node head: title (none) → Kopf\n"
                   "  + doc: text New.\n  ~ place data: x 0 → 50\n");
  g_assert_cmpint (r.status, ==, 1);
  cli_expect (0, NULL, "diff", "a.xml", "b.xml");
}

static void
test_json (void)
{
  static const char *const pairs[]
      = { "out_features=\"2\"", "out_features=\"3\"", "\"head\"", "\"classes\"", " noise=\"0.1\"", "", NULL };

  cli_write ("a.xml", base);
  write_changed ("b.xml", pairs);
  g_auto (CliResult) r = cli ("diff", "--json", "a.xml", "b.xml", NULL);
  g_assert_cmpint (r.status, ==, 1);
  g_assert_cmpstr (
      r.out, ==,
      "{\"event\":\"changed\",\"what\":\"node\",\"module\":null,\"name\":\"data\",\"type\":\"dataset\","
      "\"changes\":[{\"attribute\":\"noise\",\"before\":\"0.1\",\"after\":\"0.02\",\"default\":\"after\"}]}\n"
      "{\"event\":\"renamed\",\"what\":\"node\",\"module\":null,\"name\":\"classes\",\"old_name\":\"head\","
      "\"type\":\"linear\",\"changes\":[{\"attribute\":\"out_features\",\"before\":\"2\",\"after\":\"3\"}]}\n"
      "{\"event\":\"total\",\"differences\":2}\n");
  g_auto (GStrv) line = g_strsplit (g_strchomp (r.out), "\n", -1);
  for (guint i = 0; line[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) node = json_from_string (line[i], &error);
      g_assert_no_error (error);
    }
}

/* Every status, and invalid graphs. */
static void
test_trouble (void)
{
  cli_write ("a.xml", base);
  cli_write ("no.xml", "<graph");
  cli_write ("odd.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node/></graph>");
  cli_expect (2, "two graphs", "diff", "a.xml");
  cli_expect (2, "two graphs", "diff", "a.xml", "a.xml", "a.xml");
  cli_expect (2, "nowhere.xml", "diff", "a.xml", "nowhere.xml");
  cli_expect (2, "no.xml", "diff", "no.xml", "a.xml");
  cli_expect (2, "odd.xml", "diff", "a.xml", "odd.xml");
  cli_expect (2, "--color", "diff", "--color", "blue", "a.xml", "a.xml");
  cli_expect (2, "Only one", "diff", "-", "-");
  cli_expect (2, "standard input", "diff", "-", "a.xml"); /* which is empty here */
  cli_expect (1, NULL, "diff", "a.xml", "/dev/null");

  /* Foreign names cannot control the terminal, with colours or without. */
  static const char *const pairs[] = { "id=\"head\"",
                                       "id=\"head\" device=\"\xc2\x9b"
                                       "31m\"",
                                       NULL };
  write_changed ("b.xml", pairs);
  g_auto (CliResult) r = cli ("diff", "a.xml", "b.xml", NULL);
  g_assert_null (strstr (r.out, "\xc2\x9b"));
  g_assert_nonnull (strstr (r.out, "device (none) → \\u009b31m"));
  g_assert_null (strchr (r.out, '\033'));
  g_auto (CliResult) colored = cli ("diff", "--color", "always", "a.xml", "b.xml", NULL);
  g_assert_nonnull (strstr (colored.out, "\033[33m~ node head"));
}

/* The defaults of <train> in diff are those of training. */
static void
test_train_defaults (void)
{
  static const char written[]
      = "lr=\"0.001\" epochs=\"1\" batch_size=\"32\" seed=\"0\" precision=\"f32\" device=\"cpu\" "
        "accumulate=\"1\" drop_last=\"auto\" algorithm=\"auto\"";
  static const char *const pairs[]
      = { "lr=\"0.001\"", written, "    <metric type=\"accuracy\"", "    <metric type=\"f1\" average=\"macro\"", NULL };
  static const char *const bare[] = { "    <metric type=\"accuracy\"", "    <metric type=\"f1\"", NULL };
  LoomTrainSpec *spec[2];
  LoomGraph *graph[2];
  LoomNet *net[2];

  write_changed ("a.xml", bare);
  write_changed ("b.xml", pairs);
  cli_expect (0, NULL, "diff", "a.xml", "b.xml");
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      graph[i] = loom_graph_read_file (i ? "b.xml" : "a.xml", faults, NULL);
      net[i] = loom_net_new (graph[i], NULL, faults);
      spec[i] = loom_train_spec_new (graph[i], net[i], faults);
      g_assert_nonnull (spec[i]);
    }
  const LoomMetricSpec *metric[] = { spec[0]->metrics->pdata[0], spec[1]->metrics->pdata[0] };
  g_assert_cmpint (spec[0]->epochs, ==, spec[1]->epochs);
  g_assert_cmpint (spec[0]->batch_size, ==, spec[1]->batch_size);
  g_assert_cmpuint (spec[0]->seed, ==, spec[1]->seed);
  g_assert_cmpstr (spec[0]->device, ==, spec[1]->device);
  g_assert_cmpint (spec[0]->precision, ==, spec[1]->precision);
  g_assert_cmpint (spec[0]->accumulate, ==, spec[1]->accumulate);
  g_assert_cmpint (spec[0]->drop_last, ==, spec[1]->drop_last);
  g_assert_cmpint (spec[0]->direct, ==, spec[1]->direct);
  g_assert_cmpint (metric[0]->options.average, ==, metric[1]->options.average);
  for (guint i = 0; i < 2; i++)
    {
      loom_train_spec_free (spec[i]);
      loom_net_free (net[i]);
      loom_graph_unref (graph[i]);
    }
}

static void
git (char **out, const char *words)
{
  g_autofree char *line = g_strdup_printf ("git -c user.name=t -c user.email=t@localhost %s", words);
  g_autoptr (GError) error = NULL;
  g_autofree char *errors = NULL;
  int status;

  g_spawn_command_line_sync (line, out, &errors, &status, &error);
  g_assert_no_error (error);
  if (status != 0)
    g_error ("git %s: %s", words, errors);
}

/* The two lines of docs/using-models.md, in a repository with a change, a new file, a renamed and a broken one. */
static void
test_git (void)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);
  g_autofree char *home = g_get_current_dir (), *found = g_find_program_in_path ("git"), *out = NULL;
  g_autofree char *config = g_strdup_printf ("config diff.gradloom.command '%s diff'", program);
  static const char *const pairs[] = { "out_features=\"2\"", "out_features=\"3\"", NULL };
  static const char *const wider[] = { "default=\"8\"", "default=\"9\"", NULL };
  static const char *const places[] = { "x=\"0\"", "x=\"9\"", NULL };

  if (found == NULL)
    {
      g_test_skip ("there is no git here");
      return;
    }
  g_setenv ("HOME", home, TRUE);
  g_setenv ("GIT_CONFIG_NOSYSTEM", "1", TRUE);
  g_assert_cmpint (g_mkdir ("repo", 0777), ==, 0);
  g_assert_cmpint (g_chdir ("repo"), ==, 0);
  git (NULL, "init -q");
  git (NULL, config);
  cli_write (".gitattributes", "*.xml diff=gradloom\n");
  cli_write ("net.xml", base);
  cli_write ("moved.xml", base);
  cli_write ("broken.xml", base);
  cli_write ("old.xml", base);
  git (NULL, "add .");
  git (NULL, "commit -q -m one");
  write_changed ("net.xml", pairs);
  write_changed ("moved.xml", places);
  cli_write ("broken.xml", "<<<<<<< HEAD\n");
  cli_write ("new.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n  <node id=\"x\" op=\"input\" "
                        "shape=\"B,2\"/>\n</graph>\n");
  git (NULL, "mv old.xml other.xml");
  write_changed ("other.xml", wider);
  git (NULL, "add .");
  git (&out, "diff --cached -M");
  g_assert_nonnull (strstr (out, "--- net.xml\n+++ net.xml\ngraph\n  ~ node head (linear): out_features 2 → 3\n"));
  g_assert_nonnull (strstr (out, "+++ moved.xml\n  No computation differs, only layout"));
  g_assert_nonnull (strstr (out, "+++ broken.xml\n  The new version is not a graph"));
  g_assert_nonnull (strstr (out, "--- /dev/null\n+++ new.xml\ngraph\n  + node x (input): shape B,2\n"));
  g_assert_nonnull (strstr (out, "--- old.xml\n+++ other.xml\nmodule block\n  ~ arg width: default 8 → 9\n"));
  g_assert_cmpint (g_chdir (home), ==, 0);
}

/* A loop's body is a module, and a carried value names a node. */
static void
test_loop (void)
{
#define LOOP(state, scan)                                                                                              \
  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"loop\">\n"     \
  "  <module name=\"sum\">\n    <node id=\"x\" op=\"module_input\"/>\n"                                                \
  "    <node id=\"" state "\" op=\"module_input\" shape=\"2\"/>\n    <node id=\"add\" op=\"add\"/>\n"                  \
  "    <node id=\"h1\" op=\"module_output\" carry=\"" state "\"/>\n    <wire from=\"x\" to=\"add.input\"/>\n"          \
  "    <wire from=\"" state "\" to=\"add.other\"/>\n    <wire from=\"add\" to=\"h1\"/>\n  </module>\n"                 \
  "  <node id=\"x\" op=\"input\" shape=\"T,2\"/>\n  <node id=\"s\" op=\"scan\" body=\"sum\"" scan "/>\n"               \
  "  <wire from=\"x\" to=\"s.x\"/>\n</graph>\n"
  static const struct
  {
    const char *other, *says;
  } pairs[] = {
    { LOOP ("h", " axis=\"0\" reverse=\"false\""), "" },
    { LOOP ("h", " reverse=\"true\""), "graph\n  ~ node s (scan): reverse false (default) → true\n" },
    { LOOP ("state", ""), "module sum\n  > node h → state (module_input)\n" },
  };

  cli_write ("a.xml", LOOP ("h", ""));
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      cli_write ("b.xml", pairs[i].other);
      g_auto (CliResult) r = cli ("diff", "a.xml", "b.xml", NULL);
      g_assert_cmpstr (r.out, ==, pairs[i].says);
    }
}

/* Thousands of modules, one within the other, of which each has another name: each is compared with as many as there
 * are of its content. */
#define N_DEEP 4000

static void
write_deep (const char *file, const char *prefix, const char *p)
{
  g_autoptr (GString) text = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"deep\">\n");

  for (int i = 0; i < N_DEEP; i++)
    {
      g_string_append_printf (text,
                              "<module name=\"%s%d\"><node id=\"x\" op=\"module_input\"/><node id=\"d\" "
                              "op=\"dropout\" p=\"%s%d\"/>",
                              prefix, i, p, i);
      if (i + 1 < N_DEEP)
        g_string_append_printf (text, "<node id=\"m\" module=\"%s%d\"/>", prefix, i + 1);
      else
        g_string_append (text, "<node id=\"m\" op=\"relu\"/>");
      g_string_append (text, "<node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"d\"/>"
                             "<wire from=\"d\" to=\"m\"/><wire from=\"m\" to=\"y\"/></module>\n");
    }
  g_string_append_printf (text,
                          "<node id=\"in\" op=\"input\" shape=\"B,8\"/><node id=\"top\" module=\"%s0\"/>"
                          "<wire from=\"in\" to=\"top\"/></graph>",
                          prefix);
  cli_write (file, text->str);
}

static void
test_deep (void)
{
  static const char change[] = "module m17\n  ~ node d (dropout): p 0.117 → 0.217\n";

  write_deep ("a.xml", "m", "0.1");
  write_deep ("b.xml", "m", "0.2");
  write_deep ("c.xml", "n", "0.1");
  g_auto (CliResult) same = cli ("diff", "a.xml", "b.xml", NULL), renamed = cli ("diff", "a.xml", "c.xml", NULL);
  g_assert_cmpint (same.status, ==, 1);
  g_assert_nonnull (strstr (same.out, change));
  g_assert_cmpint (renamed.status, ==, 1);
  g_assert_nonnull (strstr (renamed.out, "  > module m3999 → n3999\n")); /* the others name one of another name */
  g_assert_nonnull (strstr (renamed.out, "  - module m3998\n"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/diff/loop", test_loop);
  g_test_add_func ("/cli/diff/cases", test_cases);
  g_test_add_func ("/cli/diff/ambiguous", test_ambiguous);
  g_test_add_func ("/cli/diff/all", test_all);
  g_test_add_func ("/cli/diff/json", test_json);
  g_test_add_func ("/cli/diff/trouble", test_trouble);
  g_test_add_func ("/cli/diff/train-defaults", test_train_defaults);
  g_test_add_func ("/cli/diff/git", test_git);
  g_test_add_func ("/cli/diff/deep", test_deep);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
