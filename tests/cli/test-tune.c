/* The cost table at the command line: `gradloom bench --tune` writes one, new runs use it, a resumed run keeps its own,
 * and an invalid one causes a note. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"s\">\n"                                                    \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"512\" n_test=\"64\"/>\n"                                    \
  "<node id=\"fc1\" op=\"linear\" out_features=\"33\"/>\n<node id=\"act\" op=\"tanh\"/>\n"                             \
  "<node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"                     \
  "<wire from=\"data.x\" to=\"fc1\"/>\n<wire from=\"fc1\" to=\"act\"/>\n<wire from=\"act\" to=\"fc\"/>\n"              \
  "<wire from=\"fc\" to=\"loss.input\"/>\n<wire from=\"data.y\" to=\"loss.target\"/>\n"                                \
  "<train loss=\"loss\" optimizer=\"adam\" batch_size=\"8\" epochs=\"1\"/>\n</graph>\n"

/* Rewrites the tuned table: everywhere the named algorithm is by far the fastest. Returns how many calls it has. */
static guint
prefer (const char *file, const char *algorithm)
{
  g_autoptr (GKeyFile) measured = g_key_file_new ();
  g_autoptr (LoomCostTable) table = loom_cost_table_new ();
  g_auto (GStrv) groups = NULL;
  g_autofree char *text = NULL, *prefix = g_strconcat (algorithm, " ", NULL);
  guint n = 0;

  g_assert_true (g_key_file_load_from_file (measured, file, G_KEY_FILE_NONE, NULL));
  groups = g_key_file_get_groups (measured, NULL);
  for (guint g = 0; groups[g] != NULL; g++)
    {
      if (!g_str_has_prefix (groups[g], "measured on "))
        continue;
      g_auto (GStrv) calls = g_key_file_get_keys (measured, groups[g], NULL, NULL);
      for (guint c = 0; calls[c] != NULL; c++, n++)
        {
          g_auto (GStrv) options = g_key_file_get_string_list (measured, groups[g], calls[c], NULL, NULL);
          for (guint o = 0; options[o] != NULL; o++)
            {
              *strrchr (options[o], ' ') = 0;
              loom_cost_table_set_measured (table, groups[g] + strlen ("measured on "), calls[c], options[o],
                                            g_str_has_prefix (options[o], prefix) ? 1e-7 : 1e-3);
            }
        }
    }
  text = loom_cost_table_to_text (table, FALSE);
  g_assert_true (g_file_set_contents (file, text, -1, NULL));
  return n;
}

static char *
table_of (const char *file)
{
  g_autoptr (JsonParser) parser = json_parser_new ();

  g_assert_true (json_parser_load_from_file (parser, file, NULL));
  return g_strdup (json_object_get_string_member (json_node_get_object (json_parser_get_root (parser)), "cost_table"));
}

static void
assert_same_file (const char *a, const char *b)
{
  g_autofree char *x = NULL, *y = NULL;
  gsize n, m;

  g_assert_true (g_file_get_contents (a, &x, &n, NULL) && g_file_get_contents (b, &y, &m, NULL));
  g_assert_cmpmem (x, n, y, m);
}

static void
test_tune (void)
{
  g_autofree char *file = loom_cost_table_user_file (), *shipped = NULL, *resumed = NULL, *tuned = NULL;

  cli_write ("g.xml", GRAPH);
  cli_expect (0, NULL, "train", "g.xml", "--epochs", "2", "--out", "whole");
  cli_expect (0, NULL, "train", "g.xml", "--out", "part");
  shipped = table_of ("part/run.json");
  g_assert_cmpuint (strlen (shipped), ==, 16);

  g_auto (CliResult) tune = cli ("bench", "g.xml", "--tune", "--seconds", "0.02", NULL);
  g_assert_cmpint (tune.status, ==, 0);
  g_assert_nonnull (strstr (tune.out, file));
  g_assert_nonnull (strstr (tune.out, "matmul"));
  g_assert_cmpuint (prefer (file, "onednn"), >, 3);

  /* A new run and a listing go by it. */
  g_auto (CliResult) plan = cli ("plan", "g.xml", NULL);
  g_assert_cmpint (plan.status, ==, 0);
  g_assert_cmpstr (plan.err, ==, "");
  g_assert_nonnull (strstr (plan.out, file));
  g_assert_nonnull (strstr (plan.out, "onednn"));
  g_assert_null (strstr (plan.out, "own small product"));
  cli_expect (0, NULL, "train", "g.xml", "--out", "other");
  tuned = table_of ("other/run.json");
  g_assert_cmpstr (tuned, !=, shipped);

  /* A resumed run does not: it continues with the same bits, and records that in its checkpoints. */
  cli_expect (0, NULL, "train", "--resume", "part", "--epochs", "2");
  assert_same_file ("part/weights.safetensors", "whole/weights.safetensors");
  resumed = table_of ("part/checkpoints/128/state.json");
  g_assert_cmpstr (resumed, ==, shipped);
  assert_same_file ("part/checkpoints/128/costs.ini", "whole/checkpoints/128/costs.ini");

  /* Nor do later uses of it: its plan, its evaluation, its predictions. */
  g_auto (CliResult) kept = cli ("plan", "part", NULL);
  g_assert_cmpint (kept.status, ==, 0);
  g_assert_nonnull (strstr (kept.out, "own small product"));
  g_assert_null (strstr (kept.out, "onednn"));

  /* A missing table is reported, because another one applies now; so is a device that has only the name in common. */
  {
    const char *state = "part/checkpoints/128/state.json";
    g_autofree char *text = NULL;

    for (guint step = 64; step <= 128; step += 64)
      {
        g_autofree char *costs = g_strdup_printf ("part/checkpoints/%u/costs.ini", step);
        g_autofree char *away = g_strconcat (costs, ".away", NULL);
        g_assert_cmpint (g_rename (costs, away), ==, 0);
      }
    cli_expect (0, "own (", "train", "--resume", "part", "--epochs", "2");
    for (guint step = 64; step <= 128; step += 64)
      {
        g_autofree char *costs = g_strdup_printf ("part/checkpoints/%u/costs.ini", step);
        g_autofree char *away = g_strconcat (costs, ".away", NULL);
        g_assert_cmpint (g_rename (away, costs), ==, 0);
      }
    g_assert_true (g_file_get_contents (state, &text, NULL, NULL));
    g_auto (GStrv) parts = g_strsplit (text, "oneDNN", 2);
    g_assert_nonnull (parts[1]);
    g_autofree char *other = g_strjoinv ("threeDNN", parts);
    cli_write (state, other);
    cli_expect (0, "threeDNN", "train", "--resume", "part", "--epochs", "2");
    cli_write (state, text);
    g_auto (CliResult) same = cli ("train", "--resume", "part", "--epochs", "2", NULL);
    g_assert_null (strstr (same.err, "warning"));
  }

  /* A damaged table in a checkpoint causes a note, and the run resumes. */
  cli_write ("part/checkpoints/128/costs.ini", "[gradloom costs]\nversion=1\nchecksum=0\n");
  cli_expect (0, "its checksum is wrong", "plan", "part");
  cli_expect (0, "its checksum is wrong", "eval", "part");
  cli_expect (0, "its checksum is wrong", "run", "part", "--out", "fc=scores.npy");
  cli_write ("rows.csv", "x0,x1\n0.5,0.25\n");
  cli_expect (0, "its checksum is wrong", "predict", "part", "rows.csv");
  cli_expect (0, "its checksum is wrong", "train", "--resume", "part", "--epochs", "3");

  cli_write ("config/gradloom/costs.ini", "what is this");
  cli_expect (0, "Gradloom's own table", "plan", "g.xml");
  cli_expect (0, "Gradloom's own table", "train", "g.xml", "--out", "spoilt");
  /* Tuning again writes a whole one. */
  cli_expect (0, "is not a valid cost table", "bench", "g.xml", "--tune", "--seconds", "0.01");
  cli_expect (0, NULL, "plan", "g.xml");

  cli_expect (2, "--executor", "bench", "g.xml", "--tune", "--executor", "eager");
  cli_expect (2, "devices", "bench", "devices", "--tune");
}

/* ---- errors while measuring --------------------------------------------- */

#define IMAGES                                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"i\">\n"                                                    \
  "<node id=\"data\" op=\"dataset\" source=\"random\" n=\"12\" n_test=\"6\" in_features=\"64\" out_features=\"4\"/>\n" \
  "<node id=\"image\" op=\"reshape\" shape=\"B,1,8,8\"/>\n<node id=\"conv\" op=\"conv2d\" out_channels=\"4\" "         \
  "kernel_size=\"3\" bias=\"false\"/>\n<node id=\"pool\" op=\"max_pool2d\" kernel_size=\"3\"/>\n<node id=\"flat\" "    \
  "op=\"flatten\"/>\n<node id=\"fc\" op=\"linear\" out_features=\"4\" bias=\"false\"/>\n<node id=\"loss\" "            \
  "op=\"mse_loss\"/>\n"                                                                                                \
  "<wire from=\"data.x\" to=\"image\"/>\n<wire from=\"image\" to=\"conv\"/>\n<wire from=\"conv\" to=\"pool\"/>\n"      \
  "<wire from=\"pool\" to=\"flat\"/>\n<wire from=\"flat\" to=\"fc\"/>\n<wire from=\"fc\" to=\"loss.input\"/>\n"        \
  "<wire from=\"data.y\" to=\"loss.target\"/>\n<train loss=\"loss\" batch_size=\"4\"/>\n</graph>\n"

static void
assert_measured (const char *primitive, gboolean there)
{
  g_autofree char *file = loom_cost_table_user_file (), *text = NULL, *line = g_strconcat ("\n", primitive, " ", NULL);

  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  if ((strstr (text, line) != NULL) != there)
    g_error ("%s is %smeasured:\n%s", primitive, there ? "not " : "", text);
}

/* A call with an option that cannot be run stays unmeasured, the others are written; measurements before the loss of
 * the device are written, too. The device is one of tests/plan/lean. */
static void
test_failures (void)
{
  g_autofree char *modules = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "tests", "plan", NULL);
  g_autofree char *file = loom_cost_table_user_file ();
  static const char *const failures[] = { "max_pool2d memory other", "max_pool2d unsupported other" };

  g_setenv ("GRADLOOM_MODULES", modules, TRUE);
  cli_write ("images.xml", IMAGES);
  for (guint i = 0; i < G_N_ELEMENTS (failures); i++)
    {
      g_remove (file);
      g_setenv ("LEAN_FAILS", failures[i], TRUE);
      g_auto (CliResult) r = cli ("bench", "images.xml", "--tune", "--device", "cuda:0", "--seconds", "0.01", NULL);
      if (r.status != 0)
        g_error ("%s", r.err);
      g_assert_nonnull (strstr (r.err, "1 kernel could not be measured, and is still chosen by estimates."));
      g_assert_nonnull (strstr (r.err, "the max_pool2d kernel: as requested"));
      assert_measured ("max_pool2d", FALSE);
      assert_measured ("max_pool2d_grad", TRUE);
      assert_measured ("conv2d", TRUE);
    }

  g_remove (file);
  g_setenv ("LEAN_FAILS", "max_pool2d_grad lost other", TRUE);
  cli_expect (3, "max_pool2d_grad", "bench", "images.xml", "--tune", "--device", "cuda:0", "--seconds", "0.01");
  assert_measured ("max_pool2d_grad", FALSE);
  assert_measured ("conv2d", TRUE);
  g_unsetenv ("LEAN_FAILS");
  g_unsetenv ("GRADLOOM_MODULES");
  g_remove (file);
}

static gpointer
tune_graph (gpointer name)
{
  cli_expect (0, NULL, "bench", name, "--tune", "--seconds", "0.01");
  return NULL;
}

/* Two that measure at a time both find their times in the file. */
static void
test_two_at_once (void)
{
  GThread *thread[2];
  const char *const name[] = { "g.xml", "images.xml" };
  g_autofree char *file = loom_cost_table_user_file ();

  g_remove (file);
  cli_write ("g.xml", GRAPH);
  cli_write ("images.xml", IMAGES);
  for (guint i = 0; i < 2; i++)
    thread[i] = g_thread_new (NULL, tune_graph, (gpointer)name[i]);
  for (guint i = 0; i < 2; i++)
    g_thread_join (thread[i]);
  assert_measured ("conv2d", TRUE);
  assert_measured ("matmul f32 8x33,", TRUE);
  cli_expect (0, NULL, "plan", "g.xml");
  g_remove (file);
}

TEST_FILE (argc, argv)
{
  g_autofree char *config = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  config = g_build_filename (g_get_current_dir (), "config", NULL);
  g_setenv ("XDG_CONFIG_HOME", config, TRUE);
  g_test_add_func ("/cli/tune/choices", test_tune);
  g_test_add_func ("/cli/tune/failures", test_failures);
  g_test_add_func ("/cli/tune/two-at-once", test_two_at_once);
  status = g_test_run ();
  cli_leave ();
  return status;
}
