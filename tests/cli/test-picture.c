/* Drawings of graphs without a display, and texts for graphviz. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <gio/gio.h>
#include <string.h>

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
expect_start (const char *name, const char *start)
{
  gsize length;
  g_autofree char *text = read_file (name, &length);

  g_assert_cmpuint (length, >, 500);
  g_assert_cmpmem (text, strlen (start), start, strlen (start));
}

/* Every example, in every form. */
static void
test_examples (void)
{
  static const char *const folders[] = { "lessons", "models" };

  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = cli_example (folders[f]);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char *name;

      while ((name = g_dir_read_name (dir)))
        {
          g_autofree char *path = g_build_filename (folder, name, NULL);
          if (!g_str_has_suffix (name, ".xml"))
            continue;
          cli_expect (0, NULL, "export", path, "--to", "svg", "-o", "g.svg");
          cli_expect (0, NULL, "export", path, "--to", "pdf", "-o", "g.pdf");
          cli_expect (0, NULL, "export", path, "--to", "png", "-o", "g.png");
          cli_expect (0, NULL, "export", path, "--to", "dot", "-o", "g.dot");
          expect_start ("g.svg", "<?xml");
          expect_start ("g.pdf", "%PDF");
          expect_start ("g.png", "\x89PNG");
          g_autofree char *dot = read_file ("g.dot", NULL);
          g_assert_true (g_str_has_prefix (dot, "digraph \""));
          g_assert_true (g_str_has_suffix (dot, "}\n"));
        }
    }
}

/* The memory along a step, in every form. */
static void
test_steps (void)
{
  g_autofree char *path = cli_example ("lessons/spirals.xml");

  cli_expect (0, NULL, "plan", path, "--steps", "--picture", "m.svg");
  cli_expect (0, NULL, "plan", path, "--steps", "--picture", "m.png");
  cli_expect (0, NULL, "plan", path, "--steps", "--picture", "m.csv");
  expect_start ("m.svg", "<?xml");
  expect_start ("m.png", "\x89PNG");
  expect_start ("m.csv", "step,phase,node,operations,parameters,gradients,optimizer,activations,workspace,data\n");
  cli_expect (2, "m.txt", "plan", path, "--steps", "--picture", "m.txt");
}

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"a &quot;b&quot;\">\n<module name=\"m\">\n"                 \
  "<node id=\"in\" op=\"module_input\"/>\n<node id=\"act\" op=\"relu\"/>\n<node id=\"out\" op=\"module_output\"/>\n"   \
  "<wire from=\"in\" to=\"act\"/>\n<wire from=\"act\" to=\"out\"/>\n</module>\n"                                       \
  "<node id=\"x\" op=\"input\" shape=\"B,3\"/>\n<node id=\"two\" module=\"m\" repeat=\"2\"/>\n"                        \
  "<wire from=\"x\" to=\"two\"/>\n</graph>\n"

/* Modules are clusters and copies are clusters in them; wires have shapes; quotes are escaped. */
static void
test_dot (void)
{
  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "export", "g.xml", "--to", "dot", "--force");
  g_autofree char *dot = read_file ("g.dot", NULL);
  static const char *const parts[]
      = { "digraph \"a \\\"b\\\"\"", "subgraph \"cluster.two\" {", "subgraph \"cluster.two.1\" {",
          "\"two.0.act\" -> \"two.1.act\" [label=\"B × 3\"]", "label=\"act\\nrelu" };
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (dot, parts[i]) == NULL)
      g_error ("“%s” is not in:\n%s", parts[i], dot);
  g_auto (CliResult) out = cli ("export", "g.xml", "--to", "dot", "-o", "-", NULL);
  g_assert_cmpstr (out.out, ==, dot);
  guint open = 0, close = 0;
  for (const char *c = dot; *c; c++)
    {
      open += *c == '{';
      close += *c == '}';
    }
  g_assert_cmpuint (open, ==, close);
}

/* The same bytes twice; other ones for another style, for no background, and for the inside of a module. */
static void
test_choices (void)
{
  static const char *const words[][3]
      = { { "a.svg" }, { "b.svg" }, { "c.svg", "--dark" }, { "d.svg", "--transparent" } };
  char *text[5];
  gsize length[5];

  cli_write ("g.xml", GRAPH);
  for (guint i = 0; i < 4; i++)
    {
      cli_expect (0, NULL, "export", "g.xml", "--to", "svg", "-o", words[i][0], words[i][1]);
      text[i] = read_file (words[i][0], &length[i]);
    }
  cli_expect (0, NULL, "export", "g.xml", "--to", "svg", "-o", "e.svg", "--module", "m");
  text[4] = read_file ("e.svg", &length[4]);
  g_assert_cmpmem (text[0], length[0], text[1], length[1]);
  for (guint i = 2; i < 5; i++)
    g_assert_true (length[i] != length[0] || memcmp (text[i], text[0], length[0]) != 0);
  for (guint i = 0; i < 5; i++)
    g_free (text[i]);
}

static void
test_refused (void)
{
  cli_write ("g.xml", GRAPH);
  cli_write ("none.xml", "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"none\">\n</graph>\n");
  cli_expect (2, "ends in .svg", "export", "g.xml", "--to", "svg", "-o", "g.png");
  cli_expect (2, "ends in .onnx", "export", "g.xml", "--to", "onnx", "-o", "g.xml.bak");
  cli_expect (2, "ends in .dot", "export", "g.xml", "--to", "dot", "-o", "notes.txt");
  cli_expect (2, "no module “n”", "export", "g.xml", "--to", "svg", "--module", "n", "--force");
  cli_expect (2, "--weights cannot be combined with --to svg", "export", "g.xml", "--to", "svg", "--weights",
              "w.safetensors");
  cli_expect (2, "--dark cannot be combined with --to dot", "export", "g.xml", "--to", "dot", "--dark");
  cli_expect (2, "--module cannot be combined with --to onnx", "export", "g.xml", "--to", "onnx", "--module", "m");
  cli_expect (1, "nothing to draw", "export", "none.xml", "--to", "png");
  cli_write ("mine.svg", "mine");
  cli_write ("mine.xml", GRAPH);
  cli_expect (2, "“mine.svg” exists already. Name another file with -o, or use --force.", "export", "mine.xml", "--to",
              "svg");
  cli_expect (0, NULL, "export", "mine.xml", "--to", "svg", "--force");
  cli_expect (5, "nowhere", "export", "g.xml", "--to", "svg", "-o", "nowhere/g.svg");
  cli_expect (5, "nowhere", "export", "g.xml", "--to", "dot", "-o", "nowhere/g.dot");
}

/* Each start would link the libraries that draw, which takes as long as all the rest of it. */
static void
test_links (void)
{
  static const char *const programs[] = { "gradloom", "gradloom-picture" };

  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    {
      gsize length;
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", programs[i], NULL);
      g_autofree char *bytes = read_file (path, &length);
      gboolean draws = memmem (bytes, length, "libpangocairo-1.0.so", 20) != NULL;

      g_assert_true (draws == (i == 1));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_unsetenv ("DISPLAY");
  g_unsetenv ("WAYLAND_DISPLAY");
  g_test_add_func ("/cli/picture/examples", test_examples);
  g_test_add_func ("/cli/picture/steps", test_steps);
  g_test_add_func ("/cli/picture/dot", test_dot);
  g_test_add_func ("/cli/picture/choices", test_choices);
  g_test_add_func ("/cli/picture/refused", test_refused);
  g_test_add_func ("/cli/picture/links", test_links);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
