/* Reports of runs, weights as a file, and the options of `gradloom export` by the table of formats. */
#include "tests/cli/cli.h"
#include "tests/event-lines.h"
#include "tests/test-program.h"

#include "engine/interop/loom-export-format.h"

#include <glib/gstdio.h>
#include <string.h>

#define CLASSES                                                                                                        \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"two &lt;b&gt;classes&lt;/b&gt;\">\n"                       \
  "  <node id=\"data\" op=\"dataset\" source=\"xor\"/>\n"                                                              \
  "  <node id=\"hidden\" op=\"linear\" out_features=\"3\"/>\n"                                                         \
  "  <node id=\"act\" op=\"tanh\"/>\n"                                                                                 \
  "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"                                                             \
  "  <node id=\"loss\" op=\"cross_entropy\"/>\n"                                                                       \
  "  <wire from=\"data.x\" to=\"hidden\"/>\n"                                                                          \
  "  <wire from=\"hidden\" to=\"act\"/>\n"                                                                             \
  "  <wire from=\"act\" to=\"fc\"/>\n"                                                                                 \
  "  <wire from=\"fc\" to=\"loss.input\"/>\n"                                                                          \
  "  <wire from=\"data.y\" to=\"loss.target\"/>\n"                                                                     \
  "  <train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" epochs=\"3\" batch_size=\"16\" seed=\"7\">\n"                 \
  "    <metric type=\"accuracy\" input=\"fc\" target=\"data.y\"/>\n"                                                   \
  "  </train>\n"                                                                                                       \
  "</graph>\n"

static char *
read_file (const char *name, gsize *length)
{
  g_autoptr (GError) error = NULL;
  char *text;

  g_file_get_contents (name, &text, length, &error);
  g_assert_no_error (error);
  return text;
}

static void
expect_parts (const char *text, const char *const *parts)
{
  for (guint i = 0; parts[i] != NULL; i++)
    if (strstr (text, parts[i]) == NULL)
      g_error ("“%s” is not in:\n%.4000s", parts[i], text);
}

/* Every section of a classifier; texts of strangers are escaped; the same bytes twice; nothing would be loaded. */
static void
test_classes (void)
{
  static const char *const parts[] = { "<h1>&lt;script&gt;mine&lt;/script&gt;</h1>",
                                       "a &amp; b",
                                       "two &lt;b&gt;classes&lt;/b&gt;",
                                       "<h2>Result</h2>",
                                       "<h2>Graph</h2>",
                                       "<h2>Settings</h2>",
                                       "<h2>Data</h2>",
                                       "<h2>Curves</h2>",
                                       "<h2>Predictions</h2>",
                                       "<h2>Changes While Training</h2>",
                                       "<h2>Machine</h2>",
                                       "<h2>To Repeat It</h2>",
                                       "source=xor",
                                       ">adam</td>",
                                       "gradloom train --replay run --out run-again",
                                       "Confusion matrix of 2 classes",
                                       "default-src 'none'",
                                       "alt=\"loss: ",
                                       ">Seed</th><td>7<",
                                       "<td>lr</td><td class=\"n\">",
                                       NULL };
  gsize n, n_again;

  cli_write ("g.xml", CLASSES);
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "2", "--out", "run");
  cli_expect (0, NULL, "train", "--resume", "run", "--epochs", "3", "--lr", "0.02");
  cli_expect (0, NULL, "runs", "run", "--name", "<script>mine</script>", "--note", "a & b");
  cli_expect (0, NULL, "export", "run", "--to", "report", "-o", "a.html");
  cli_expect (0, NULL, "export", "run", "--to", "report", "-o", "b.html");
  g_autofree char *a = read_file ("a.html", &n), *b = read_file ("b.html", &n_again);
  g_assert_cmpmem (a, n, b, n_again);
  expect_parts (a, parts);
  g_assert_null (strstr (a, "<script"));
  g_assert_null (strstr (a, "http:"));
  g_assert_null (strstr (a, "https:"));
  g_assert_null (strstr (a, "<h2>Attention"));

  cli_expect (0, NULL, "export", "run", "--to", "report", "-o", "a.pdf");
  cli_expect (0, NULL, "export", "run", "--to", "report", "-o", "b.pdf");
  g_autofree char *c = read_file ("a.pdf", &n), *d = read_file ("b.pdf", &n_again);
  g_assert_cmpmem (c, n, d, n_again);
  g_assert_true (g_str_has_prefix (c, "%PDF"));
}

/* The time of the last step is in UTC, wherever the report is written. */
static void
test_zone (void)
{
  gsize n, n_again;

  cli_write ("g.xml", CLASSES);
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1", "--out", "zone");
  for (int pdf = 0; pdf < 2; pdf++)
    {
      const char *name = pdf ? "zone.pdf" : "zone.html";

      g_setenv ("TZ", "Pacific/Kiritimati", TRUE);
      cli_expect (0, NULL, "export", "zone", "--to", "report", "-o", name);
      g_autofree char *east = read_file (name, &n);
      g_setenv ("TZ", "Pacific/Pago_Pago", TRUE);
      cli_expect (0, NULL, "export", "zone", "--to", "report", "-o", name);
      g_autofree char *west = read_file (name, &n_again);
      g_unsetenv ("TZ");
      g_assert_cmpmem (east, n, west, n_again);
    }
}

/* A folder with a name that is no UTF-8, whose events a stranger wrote. */
static void
test_foreign (void)
{
  static const char folder[] = "f\xff'o", again[] = "\"$(printf 'f\\377\\047o')\"";
  g_autofree char *escaped = g_markup_escape_text (again, -1);
  const char *parts[] = { escaped, "f\357\277\275", NULL };

  cli_write ("g.xml", CLASSES);
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "1", "--out", folder);
  for (guint32 seed = 0; seed < 3; seed++)
    {
      g_autofree char *lines = event_lines_new (seed, 300), *events = g_build_filename (folder, "events.jsonl", NULL);

      cli_write (events, lines);
      cli_expect (0, NULL, "export", folder, "--to", "report", "-o", "foreign.html");
      g_autofree char *text = read_file ("foreign.html", NULL);
      g_assert_true (g_utf8_validate (text, -1, NULL));
      expect_parts (text, parts);
    }
  g_auto (CliResult) pdf = cli ("export", folder, "--to", "report", "-o", "foreign.pdf", NULL);
  g_assert_cmpint (pdf.status, ==, 0);
  g_assert_null (strstr (pdf.err, "WARNING"));
}

/* The command of a run of several ranks finds data next to the trained graph, and has no words of the run's file. */
static void
test_ranks (void)
{
  static const char *const parts[]
      = { "gradloom train ranks/graph.xml --ranks 2 --device cpu --threads 1 --out ", NULL };
  g_autofree char *json = NULL;

  g_mkdir ("elsewhere", 0777);
  cli_write ("elsewhere/rows.csv", "x,y\n0,1\n1,0\n2,1\n3,0\n4,1\n5,0\n");
  cli_write ("elsewhere/g.xml",
             "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"csv\" "
             "path=\"rows.csv\" target=\"y\"/><node id=\"fc\" op=\"linear\" out_features=\"2\"/>"
             "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"fc\"/>"
             "<wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
             "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"1\" batch_size=\"2\"/></graph>");
  cli_expect (0, NULL, "train", "elsewhere/g.xml", "--threads", "1", "--out", "ranks");
  json = read_file ("ranks/run.json", NULL);
  g_autoptr (GRegex) ranks = g_regex_new ("(\"ranks\"\\s*:\\s*)1", 0, 0, NULL);
  g_autofree char *two = g_regex_replace (ranks, json, -1, 0, "\\g<1>2", 0, NULL);
  cli_write ("ranks/run.json", two);
  cli_expect (0, NULL, "export", "ranks", "--to", "report", "-o", "ranks.html");
  g_autofree char *text = read_file ("ranks.html", NULL);
  expect_parts (text, parts);
  cli_expect (0, NULL, "train", "ranks/graph.xml", "--device", "cpu", "--out", "ranks-again");
  g_autoptr (GRegex) device = g_regex_new ("(\"device\"\\s*:\\s*\")cpu", 0, 0, NULL);
  g_autofree char *bad = g_regex_replace (device, two, -1, 0, "\\g<1>cpu; echo pwned", 0, NULL);
  cli_write ("ranks/run.json", bad);
  cli_expect (1, "“cpu; echo pwned”, is not a device", "export", "ranks", "--to", "report", "-o", "pwned.html");
}

static void
test_attention (void)
{
  static const char *const parts[] = { "<h2>Attention</h2>", "alt=\"Attention weights of attention", NULL };
  g_autofree char *graph = cli_example ("lessons/self-attention.xml");

  cli_expect (0, NULL, "train", graph, "--epochs", "1", "--out", "attention");
  cli_expect (0, NULL, "export", "attention", "--to", "report");
  g_autofree char *text = read_file ("attention.html", NULL);
  expect_parts (text, parts);
}

/* A run that failed before its first checkpoint has a report, which says so. */
static void
test_failed (void)
{
  static const char *const parts[]
      = { " with NaN: The numbers of step ", "no longer finite",
          "The predictions were not evaluated: ", "was not evaluated while it trained", NULL };
  g_autofree char *graph = cli_example ("lessons/linear-regression.xml");

  cli_expect (4, "no longer finite", "train", graph, "--lr", "1000000", "--out", "nan");
  cli_expect (0, NULL, "export", "nan", "--to", "report", "-o", "nan.html");
  cli_expect (0, NULL, "export", "nan", "--to", "report", "-o", "nan.pdf");
  g_autofree char *text = read_file ("nan.html", NULL);
  expect_parts (text, parts);
}

static void
test_refused (void)
{
  cli_write ("g.xml", CLASSES);
  cli_expect (2, "takes the folder of a run", "export", "g.xml", "--to", "report", "-o", "g.html");
  cli_expect (0, NULL, "train", "g.xml", "--out", "refused");
  cli_expect (2, "ends in .html or .pdf", "export", "refused", "--to", "report", "-o", "run.txt");
  cli_expect (2, "--dark cannot be combined with --to report", "export", "refused", "--to", "report", "--dark");
  cli_expect (5, "nowhere", "export", "refused", "--to", "report", "-o", "nowhere/run.pdf");
  g_assert_false (g_file_test ("run.pdf", G_FILE_TEST_EXISTS));
  cli_write ("refused/graph.xml", "<graph");
  cli_expect (1, NULL, "export", "refused", "--to", "report", "-o", "damaged.html");
  g_assert_false (g_file_test ("damaged.html", G_FILE_TEST_EXISTS));
  g_mkdir ("empty", 0777);
  cli_expect (1, NULL, "export", "empty", "--to", "report", "-o", "empty.html");
}

/* The file has the run's weights, and --json reports progress and the file. */
static void
test_weights (void)
{
  cli_write ("g.xml", CLASSES);
  cli_expect (0, NULL, "train", "g.xml", "--out", "weighed");
  g_auto (CliResult) r = cli ("export", "weighed", "--to", "safetensors", "-o", "w.safetensors", "--json", NULL);
  g_assert_cmpint (r.status, ==, 0);
  g_assert_nonnull (strstr (r.out, "{\"event\":\"progress\",\"done\":"));
  g_assert_nonnull (strstr (r.out, "{\"event\":\"wrote\",\"file\":\"w.safetensors\"}"));
  g_autoptr (LoomTensor) a = cli_weight ("w.safetensors", "fc.weight");
  g_autoptr (LoomTensor) b = cli_weight ("weighed/weights.safetensors", "fc.weight");
  g_assert_cmpmem (a->data, 6 * sizeof (float), b->data, 6 * sizeof (float));
  cli_expect (2, "has no weights", "export", "g.xml", "--to", "safetensors");
  g_auto (CliResult) report = cli ("export", "weighed", "--to", "report", "-o", "r.html", "--json", NULL);
  g_assert_nonnull (strstr (report.out, "{\"event\":\"progress\",\"done\":0.99}"));
  g_assert_nonnull (strstr (report.out, "{\"event\":\"wrote\",\"file\":\"r.html\"}"));
}

static guint
png_width (const char *name)
{
  gsize n;
  g_autofree char *text = read_file (name, &n);
  guint32 width;

  g_assert_cmpuint (n, >, 24);
  memcpy (&width, text + 16, sizeof width);
  return GUINT32_FROM_BE (width);
}

#define FAR_APART                                                                                                      \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"input\" shape=\"2\"/><node id=\"b\" "         \
  "op=\"relu\"/>"                                                                                                      \
  "<wire from=\"a\" to=\"b\"/><layout><place node=\"a\" x=\"0\" y=\"0\"/><place node=\"b\" x=\"40000\" "               \
  "y=\"0\"/></layout></graph>"

/* A selection is smaller than the whole, and the scale is that of the pixels; without one, a large
 * picture is drawn smaller. */
static void
test_parts (void)
{
  cli_write ("g.xml", CLASSES);
  cli_expect (0, NULL, "export", "g.xml", "--to", "png", "-o", "all.png");
  cli_expect (0, NULL, "export", "g.xml", "--to", "png", "-o", "one.png", "--scale", "1");
  cli_expect (0, NULL, "export", "g.xml", "--to", "png", "-o", "two.png", "--select", "fc", "--select", "loss");
  g_assert_cmpuint (png_width ("all.png"), ==, 2 * png_width ("one.png"));
  g_assert_cmpuint (png_width ("two.png"), <, png_width ("all.png") * 3 / 4);
  cli_expect (2, "no such node", "export", "g.xml", "--to", "png", "-o", "no.png", "--select", "none");
  cli_expect (2, "--scale takes", "export", "g.xml", "--to", "png", "-o", "no.png", "--scale", "-1");
  cli_expect (2, "at most 32767", "export", "g.xml", "--to", "png", "-o", "no.png", "--scale", "100");
  cli_expect (2, "--pixels takes", "export", "g.xml", "--to", "png", "-o", "no.png", "--pixels", "-1");
  cli_expect (2, "exclude each other", "export", "g.xml", "--to", "png", "-o", "no.png", "--pixels", "9", "--scale",
              "1");
  g_assert_false (g_file_test ("no.png", G_FILE_TEST_EXISTS));
  cli_write ("far.xml", FAR_APART);
  cli_expect (0, NULL, "export", "far.xml", "--to", "png", "-o", "far.png");
  g_assert_cmpuint (png_width ("far.png"), ==, 32767);
  cli_expect (0, NULL, "export", "far.xml", "--to", "png", "-o", "small.png", "--pixels", "128");
  g_assert_cmpuint (png_width ("small.png"), ==, 128);
}

/* Each format of the table is a target, and refuses the options that it does not have. */
static void
test_table (void)
{
  static const char *const words[LOOM_EXPORT_N_OPTIONS]
      = { "--module=m",      "--dark",      "--transparent", "--scale=1",    "--select=act", "--weights=w",
          "--partial",       "--seed=1",    "--input=act",   "--output=act", "--size=B=1",   "--raw",
          "--external-data", "--adapter=a", "--pixels=9",    "--answers",    "--slides" };
  const LoomExportFormat *format;

  cli_write ("g.xml", CLASSES);
  for (guint i = 0; (format = loom_export_format (i)) != NULL; i++)
    {
      g_assert_true (loom_export_format_find (format->name) == format);
      g_assert_nonnull (format->suffix[0]);
      for (guint k = 0; k < LOOM_EXPORT_N_OPTIONS; k++)
        {
          g_autofree char *option = g_strdup_printf ("--%s", loom_export_option_name (k));

          g_assert_true (g_str_has_prefix (words[k], option));
          if (format->options & (1u << k))
            continue;
          g_auto (CliResult) r = cli ("export", "g.xml", "--to", format->name, words[k], NULL);
          g_assert_cmpint (r.status, ==, 2);
          g_assert_nonnull (strstr (r.err, "cannot be combined"));
        }
    }
}

#define LESSON                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"a &lt;i&gt; lesson\">\n"                                   \
  "  <module name=\"m\"><node id=\"in\" op=\"module_input\"/><node id=\"act\" op=\"relu\"/>\n"                         \
  "    <node id=\"out\" op=\"module_output\"/><wire from=\"in\" to=\"act\"/><wire from=\"act\" "                       \
  "to=\"out\"/></module>\n"                                                                                            \
  "  <node id=\"x\" op=\"input\" shape=\"B,3\"/>\n"                                                                    \
  "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"                                                             \
  "  <node id=\"two\" module=\"m\" repeat=\"2\"/>\n"                                                                   \
  "  <wire from=\"x\" to=\"fc\"/>\n  <wire from=\"fc\" to=\"two\"/>\n"                                                 \
  "  <lesson title=\"Counting\">\n"                                                                                    \
  "    <page title=\"Weights\" spotlight=\"fc\" goal=\"answer 6\" hint=\"`fc` has 3 × 2.\">How *many*?\n\n"           \
  "1. one\n2. &lt;b&gt;two\n\n```\ncode &lt; 1\n```\n</page>\n"                                                        \
  "    <page title=\"Open\" goal=\"answer, no tanh\">Why?</page>\n  </lesson>\n"                                       \
  "  <view><slide title=\"Inside\" scope=\"two.1\" spotlight=\"act\">A **note**.</slide></view>\n"                     \
  "</graph>\n"

/* The learner's copy has lines instead of answers and hints; texts of strangers are escaped; the same bytes twice. */
static void
test_handout (void)
{
  static const char *const learner[] = { "<h1>Counting</h1>",
                                         "a &lt;i&gt; lesson",
                                         "<p>How <i>many</i>?</p>",
                                         "<p>1. one</p>",
                                         "<p>2. &lt;b&gt;two</p>",
                                         "<pre>code &lt; 1</pre>",
                                         "y = x Wᵀ + b",
                                         "☐ the question is answered",
                                         "class=\"rules\"",
                                         "alt=\"The graph in “Weights”",
                                         "<h2>2. Open</h2>",
                                         NULL };
  static const char *const teacher[]
      = { "<pre>Answer: 6</pre>", "<i>Hint:</i> <tt>fc</tt> has 3 × 2.", "an open question", "teacher’s copy", NULL };
  static const char *const slides[]
      = { "<h1>a &lt;i&gt; lesson</h1>", "1. Inside", "A <b>note</b>.", "y = max(x, 0)", NULL };
  gsize n, n_again;

  cli_write ("lesson.xml", LESSON);
  cli_expect (0, NULL, "export", "lesson.xml", "--to", "handout", "-o", "h.html");
  g_autofree char *html = read_file ("h.html", NULL);
  expect_parts (html, learner);
  g_assert_null (strstr (html, "Answer: 6"));
  g_assert_null (strstr (html, "Hint"));
  cli_expect (0, NULL, "export", "lesson.xml", "--to", "handout", "--answers", "-o", "t.html");
  g_autofree char *key = read_file ("t.html", NULL);
  expect_parts (key, teacher);
  g_assert_null (strstr (key, "class=\"rules\""));
  cli_expect (0, NULL, "export", "lesson.xml", "--to", "handout", "--slides", "-o", "s.html");
  g_autofree char *views = read_file ("s.html", NULL);
  expect_parts (views, slides);
  g_assert_null (strstr (views, "Counting"));

  cli_expect (0, NULL, "export", "lesson.xml", "--to", "handout", "-o", "h.pdf");
  cli_expect (0, NULL, "export", "lesson.xml", "--to", "handout", "-o", "again.pdf");
  g_autofree char *a = read_file ("h.pdf", &n), *b = read_file ("again.pdf", &n_again);
  g_assert_cmpmem (a, n, b, n_again);
  g_assert_true (g_str_has_prefix (a, "%PDF"));
  cli_write ("g.xml", CLASSES);
  cli_expect (1, "no lesson and no views", "export", "g.xml", "--to", "handout", "-o", "no.pdf");
  cli_expect (1, "no views", "export", "g.xml", "--to", "handout", "--slides", "-o", "no.pdf");
  cli_write ("bad.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><lesson title=\"t\"><page goal=\"maybe\"/>"
                        "</lesson></graph>");
  cli_expect (1, "maybe", "export", "bad.xml", "--to", "handout", "-o", "no.pdf");
  g_assert_false (g_file_test ("no.pdf", G_FILE_TEST_EXISTS));
}

/* A built-in lesson is printed in the user's language, its own texts and those of the page; the teacher's copy has no
 * lines. */
static void
test_handout_in_german (void)
{
  static const char *const parts[] = { "<html lang=\"de\">",
                                       "<h1>Wozu eine Aktivierung nötig ist</h1>",
                                       "2. Ohne Aktivierung",
                                       "☐ der Graph hat kein relu",
                                       "<i>Tipp:</i>",
                                       "für Lehrende, mit Antworten",
                                       NULL };
  g_autofree char *lesson = cli_example ("lessons/spirals.xml");

  g_setenv ("LANGUAGE", "de", TRUE);
  cli_expect (0, NULL, "export", lesson, "--to", "handout", "--answers", "-o", "de.html");
  g_unsetenv ("LANGUAGE");
  g_autofree char *html = read_file ("de.html", NULL);
  expect_parts (html, parts);
  g_assert_null (strstr (html, "class=\"rules\""));
}

/* Every example with a lesson or views. */
static void
test_handouts (void)
{
  g_autofree char *folder = cli_example ("lessons");
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  guint n = 0;

  while ((name = g_dir_read_name (dir)))
    {
      g_autofree char *path = g_build_filename (folder, name, NULL), *text = read_file (path, NULL);

      if (strstr (text, "<lesson") == NULL && strstr (text, "<slide") == NULL)
        continue;
      cli_expect (0, NULL, "export", path, "--to", "handout", "-o", "example.pdf");
      n++;
    }
  g_assert_cmpuint (n, >, 10);
}

/* A text is scored at each of its positions, white space has signs, and mistakes of many classes are a table. */
static void
test_text (void)
{
  static const char xml[]
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"text\">"
        "<node id=\"data\" op=\"dataset\" source=\"text\" path=\"text.txt\" context=\"8\" val_fraction=\"0.5\"/>"
        "<node id=\"embed\" op=\"embedding\" embedding_dim=\"8\" num_embeddings=\"28\"/>"
        "<node id=\"fc\" op=\"linear\" out_features=\"28\"/>"
        "<node id=\"rows\" op=\"flatten\" start_dim=\"0\" end_dim=\"1\"/>"
        "<node id=\"targets\" op=\"flatten\" start_dim=\"0\" end_dim=\"1\"/><node id=\"loss\" op=\"cross_entropy\"/>"
        "<wire from=\"data.x\" to=\"embed\"/><wire from=\"embed\" to=\"fc\"/><wire from=\"fc\" to=\"rows\"/>"
        "<wire from=\"rows\" to=\"loss.input\"/><wire from=\"data.y\" to=\"targets\"/>"
        "<wire from=\"targets\" to=\"loss.target\"/>"
        "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"4\" epochs=\"1\" seed=\"1\">"
        "<metric type=\"accuracy\" input=\"rows\" target=\"targets\"/></train></graph>";
  static const char *const parts[]
      = { "<th scope=\"row\">Positions</th>", "The most frequent mistakes:", "<td>␣</td>", NULL };
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *html = NULL, *accuracy = NULL, *shown = NULL;
  g_auto (CliResult) eval = { 0 };
  double value;

  for (int i = 0; i < 20; i++)
    g_string_append (text, "the quick brown fox jumps over the lazy dog\n");
  cli_write ("text.txt", text->str);
  cli_write ("text.xml", xml);
  cli_expect (0, NULL, "train", "text.xml", "--out", "text");
  cli_expect (0, NULL, "export", "text", "--to", "report", "-o", "text.html");
  html = read_file ("text.html", NULL);
  expect_parts (html, parts);
  /* The accuracy is that of the metric, which counts every position. */
  eval = cli ("eval", "text", "--json", NULL);
  accuracy = strstr (eval.out, "\"accuracy\":");
  g_assert_nonnull (accuracy);
  value = g_ascii_strtod (g_steal_pointer (&accuracy) + strlen ("\"accuracy\":"), NULL);
  shown = g_strdup_printf ("<th scope=\"row\">Accuracy</th><td>%.1f %%</td>", 100 * value);
  if (strstr (html, shown) == NULL)
    g_error ("“%s” is not in the report", shown);
}

/* A regression has the measures of scikit-learn. */
static void
test_values (void)
{
  static const char *const parts[] = { "<th scope=\"row\">Mean squared error</th>",
                                       "<th scope=\"row\">Mean absolute error</th>", "<th scope=\"row\">R²", NULL };
  g_autofree char *html = NULL;

  cli_write ("values.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" "
                           "source=\"linear\"/><node id=\"fc\" op=\"linear\" out_features=\"1\"/>"
                           "<node id=\"loss\" op=\"mse_loss\"/><wire from=\"data.x\" to=\"fc\"/>"
                           "<wire from=\"fc\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
                           "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" epochs=\"1\"/></graph>");
  cli_expect (0, NULL, "train", "values.xml", "--out", "values");
  cli_expect (0, NULL, "export", "values", "--to", "report", "-o", "values.html");
  html = read_file ("values.html", NULL);
  expect_parts (html, parts);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_unsetenv ("DISPLAY");
  g_unsetenv ("WAYLAND_DISPLAY");
  g_test_add_func ("/report/classes", test_classes);
  g_test_add_func ("/report/zone", test_zone);
  g_test_add_func ("/report/text", test_text);
  g_test_add_func ("/report/values", test_values);
  g_test_add_func ("/report/foreign", test_foreign);
  g_test_add_func ("/report/ranks", test_ranks);
  g_test_add_func ("/report/attention", test_attention);
  g_test_add_func ("/report/failed", test_failed);
  g_test_add_func ("/report/refused", test_refused);
  g_test_add_func ("/report/weights", test_weights);
  g_test_add_func ("/report/parts", test_parts);
  g_test_add_func ("/report/table", test_table);
  g_test_add_func ("/report/handout", test_handout);
  g_test_add_func ("/report/handout-in-german", test_handout_in_german);
  g_test_add_func ("/report/handouts", test_handouts);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
