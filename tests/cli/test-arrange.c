/* `gradloom arrange` from outside: only <layout> changes, whatever program wrote the file, and arranging twice changes
 * nothing. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <string.h>

/* Written by hand: other blanks, comments everywhere, a foreign element called layout, markup within a comment. */
static const char before[] = "<?xml version='1.0'?>\n"
                             "<!-- a comment with <layout> in it -->\n"
                             "<graph   xmlns=\"urn:gradloom:graph\" version=\"1\"\n"
                             "        xmlns:o=\"urn:other\">\n"
                             "\t<module name=\"m\">\n"
                             "\t\t<node id=\"x\" op=\"module_input\"/><node op='relu' id='act'/>\n"
                             "\t\t<node id=\"y\" op=\"module_output\"/>\n"
                             "\t\t<wire from=\"x\" to=\"act\"/><wire from=\"act\" to=\"y\"/>\n"
                             "\t</module>\n"
                             "\t<node id=\"in\" op=\"input\" shape=\"B,4\" title=\"a > b\"/>\n"
                             "\t<node id=\"one\" module=\"m\"/>\n"
                             "\t<!-- between: <view> </graph> > -->\n"
                             "\t<wire from=\"in\" to=\"one\"/>\n"
                             "\t<o:layout kept='as it is'/>\n";
static const char after[] = "\t<view>  <pin tensor='one'/> </view>\n"
                            "</graph><!-- the end -->\n";

static char *
read_text (const char *name)
{
  g_autoptr (GError) error = NULL;
  char *text;

  g_file_get_contents (name, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

/* The text without its layouts, which must not change. */
static char *
without_layouts (const char *text)
{
  g_autoptr (GRegex) regex = g_regex_new ("[ \t]*<layout>.*?</layout>\n?", G_REGEX_DOTALL, 0, NULL);

  return g_regex_replace_literal (regex, text, -1, 0, "", 0, NULL);
}

static guint
count (const char *text, const char *part)
{
  guint n = 0;

  for (const char *at = text; (at = strstr (at, part)) != NULL; at++)
    n++;
  return n;
}

static void
check_kept (const char *old)
{
  g_autofree char *first = NULL, *second = NULL, *a = NULL, *b = NULL;

  cli_write ("g.xml", old);
  cli_expect (0, NULL, "arrange", "g.xml");
  first = read_text ("g.xml");
  a = without_layouts (old + strlen ("<?xml version='1.0'?>\n<!-- a comment with <layout> in it -->\n"));
  b = without_layouts (first + strlen ("<?xml version='1.0'?>\n<!-- a comment with <layout> in it -->\n"));
  g_assert_cmpstr (a, ==, b);
  g_assert_cmpuint (count (first, "<place "), ==, 5);
  g_assert_cmpuint (count (first, "</layout>"), ==, 2);
  cli_expect (0, NULL, "check", "g.xml");
  cli_expect (0, NULL, "arrange", "g.xml");
  second = read_text ("g.xml");
  g_assert_cmpstr (first, ==, second);
}

static void
test_keeps (void)
{
  g_autofree char *none = g_strconcat (before, after, NULL);
  g_autofree char *old = g_strconcat (before,
                                      "  <layout><!-- kept --><place node=\"in\" x=\"7\" y=\"7\"/>\n"
                                      "  <place node='one' x='900' y='12'/></layout>\n",
                                      after, NULL);
  g_autofree char *text = NULL;

  check_kept (none);
  check_kept (old);
  text = read_text ("g.xml");
  g_assert_nonnull (strstr (text, "<!-- kept -->"));
  g_assert_null (strstr (text, "\"900\""));
}

static void
test_examples (void)
{
  static const char *const folders[] = { "lessons", "models" };

  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = cli_example (folders[f]);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char *name;

      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *path = g_build_filename (folder, name, NULL), *first = NULL, *second = NULL;

          if (!g_str_has_suffix (name, ".xml"))
            continue;
          cli_expect (0, NULL, "arrange", path, "-o", "first.xml");
          cli_expect (0, NULL, "arrange", "first.xml", "-o", "second.xml");
          first = read_text ("first.xml");
          second = read_text ("second.xml");
          g_assert_cmpstr (first, ==, second);
        }
    }
}

/* The direction is written down, kept, and replaced by another. */
static void
test_direction (void)
{
  g_autofree char *old = g_strconcat (before, after, NULL), *first = NULL, *second = NULL, *third = NULL;

  cli_write ("g.xml", old);
  cli_expect (0, NULL, "arrange", "g.xml", "--direction", "down");
  first = read_text ("g.xml");
  g_assert_cmpuint (count (first, "<layout direction=\"down\">"), ==, 2);
  cli_expect (0, NULL, "check", "g.xml");
  cli_expect (0, NULL, "arrange", "g.xml");
  second = read_text ("g.xml");
  g_assert_cmpstr (first, ==, second);
  cli_expect (0, NULL, "arrange", "g.xml", "--direction", "right");
  third = read_text ("g.xml");
  g_assert_cmpuint (count (third, "<layout direction=\"right\">"), ==, 2);
  cli_expect (2, "not “up”", "arrange", "g.xml", "--direction", "up");
}

/* An element of another namespace does not belong to the graph, whatever its name, and keeps its content. */
static void
test_foreign (void)
{
  static const char foreign[] = "\t<layout xmlns = 'urn:other' a=\"xmlns='urn:gradloom:graph'\"><view/><layout/>"
                                "<place node='x'/></layout>\n";
  g_autofree char *old = g_strconcat (before, foreign, after, NULL), *text = NULL;

  cli_write ("g.xml", old);
  cli_expect (0, NULL, "arrange", "g.xml");
  text = read_text ("g.xml");
  g_assert_cmpuint (count (text, foreign), ==, 1);
  g_assert_cmpuint (count (text, "<layout>"), ==, 2 + 1); /* and the comment */
  cli_expect (0, NULL, "check", "g.xml");
}

/* Nested modules are visited once each: two uses per level would otherwise be 2^30 visits. */
static void
test_deep (void)
{
  GString *s = g_string_new ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n");
  gint64 start = g_get_monotonic_time ();

  for (guint i = 0; i <= 30; i++)
    {
      g_string_append_printf (s, "<module name=\"m%u\"><node id=\"x\" op=\"module_input\"/>", i);
      if (i > 0)
        g_string_append_printf (s, "<node id=\"a\" module=\"m%u\"/><node id=\"b\" module=\"m%u\"/>", i - 1, i - 1);
      g_string_append (s, "</module>\n");
    }
  g_string_append (s, "<module name=\"unused\"><node id=\"x\" op=\"module_input\"/></module>\n</graph>\n");
  cli_write ("deep.xml", s->str);
  cli_expect (0, NULL, "arrange", "deep.xml");
  g_test_message ("%.1f s", (g_get_monotonic_time () - start) / 1e6);
  g_string_free (s, TRUE);
}

static void
test_words (void)
{
  cli_write ("g.xml", before);
  cli_expect (2, "GRAPH files", "arrange");
  cli_expect (2, "one GRAPH", "arrange", "g.xml", "g.xml", "-o", "x.xml");
  cli_expect (2, "not “10x”", "arrange", "g.xml", "--size", "10x");
  cli_expect (2, "not “10x10”", "arrange", "g.xml", "--size", "10x10");
  cli_expect (1, "nowhere.xml", "arrange", "nowhere.xml");
  cli_expect (1, "g.xml", "arrange", "g.xml"); /* it is not closed */
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/arrange/keeps", test_keeps);
  g_test_add_func ("/cli/arrange/examples", test_examples);
  g_test_add_func ("/cli/arrange/direction", test_direction);
  g_test_add_func ("/cli/arrange/foreign", test_foreign);
  g_test_add_func ("/cli/arrange/deep", test_deep);
  g_test_add_func ("/cli/arrange/words", test_words);
  status = g_test_run ();
  cli_leave ();
  return status;
}
