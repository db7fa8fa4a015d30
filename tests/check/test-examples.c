/* `gradloom plan` on every example, in several types of numbers, in training and evaluation, and divided among ranks:
 * with --check, or without it under GRADLOOM_CHECK=1, which evaluates nothing (check-meaning does, in small batches).
 * The plans of all other tests are checked as they are made (tests/check-every-plan.c). */
#include <gio/gio.h>
#include <string.h>

#include "tests/test-program.h"

static const char *const folders[] = { "lessons", "models", "library" };

/* The words after the graph, the folder to which they apply (NULL: all), and the least number of graphs that can be
 * planned so: few name weights to split. */
static const struct
{
  const char *name, *words, *folder;
  guint least;
} ways[] = {
  { "training", "", NULL, 70 },
  { "bf16", "--precision bf16", "models", 25 },
  { "f64", "--precision f64 --device ref", "lessons", 30 },
  { "evaluation", "--eval", "lessons", 30 },
  { "no-fusion", "--no-fusion", "lessons", 30 },
  { "data", "--check --ranks 2 --strategy data", "lessons", 25 },
  { "zero2", "--check --ranks 2 --strategy zero2", "lessons", 25 },
  { "zero3", "--check --ranks 4 --strategy zero3", "lessons", 25 },
  { "tensor", "--check --ranks 2 --strategy tensor", "lessons", 1 },
  { "pipeline", "--check --ranks 2 --strategy 1f1b", "lessons", 20 },
};

/* Status 0, or another one with a sentence that the graph cannot be planned in this way; never a refuted plan. listing:
 * receives what is printed, or NULL. */
static gboolean
check_listing (const char *path, const char *words, char **listing)
{
  g_autofree char *program = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL),
                  *line = g_strdup_printf ("%s plan %s %s", program, path, words), *out = NULL, *err = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  g_assert_true (g_spawn_command_line_sync (line, &out, &err, &status, &error));
  g_assert_no_error (error);
  if (strstr (out, "check:") != NULL || strstr (err, "check:") != NULL
      || !g_spawn_check_wait_status (status, NULL) == (out[0] != '\0') || strstr (err, "CRITICAL") != NULL)
    g_error ("%s: %s%s", line, out, err);
  if (listing != NULL)
    *listing = g_steal_pointer (&out);
  return status == 0;
}

static gboolean
check (const char *path, const char *words)
{
  return check_listing (path, words, NULL);
}

static void
test_way (gconstpointer data)
{
  const guint way = GPOINTER_TO_UINT (data);
  guint n = 0, accepted = 0;

  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", folders[f], NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char *name;

      if (ways[way].folder != NULL && strcmp (ways[way].folder, folders[f]) != 0)
        continue;
      g_assert_nonnull (dir);
      while ((name = g_dir_read_name (dir)) != NULL)
        if (g_str_has_suffix (name, ".xml"))
          {
            g_autofree char *path = g_build_filename (folder, name, NULL);

            accepted += check (path, ways[way].words);
            n++;
          }
    }
  g_test_message ("%u of %u graphs", accepted, n);
  g_assert_cmpuint (accepted, >=, ways[way].least);
}

/* Two steps of SGD with an undo log, and exchanges that overlap the computation: all of them are over before the first
 * step, since one that failed between the two would leave half of the weights changed. */
static void
test_two_groups (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "two-groups.xml", NULL);

  g_setenv ("GRADLOOM_COMM_LANE", "1", TRUE);
  g_assert_true (check (path, "--check --ranks 3 --strategy data"));
  g_unsetenv ("GRADLOOM_COMM_LANE");
}

/* The loss, in the second stage, reads the first stage's result in f16 and in f32: the sum of both cotangents is of the
 * first stage, which has the conversion. Otherwise each stage would wait for the other. */
static void
test_two_types (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "two-types.xml", NULL);

  g_assert_true (check (path, "--check --ranks 2"));
}

/* The positions of the largest elements, which a loop keeps for its gradient, are inside the image at each step. */
static void
test_pool_in_loop (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "pool-in-loop.xml", NULL);

  g_assert_true (check (path, "--check"));
}

/* A branch keeps its activation for the gradient in plain layout, also if the convolution makes it in NHWC. */
static void
test_conv_in_branch (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "conv-in-branch.xml", NULL);

  g_assert_true (check (path, "--check"));
}

/* The x and the mean of one sample are the same number, so no operand that moves shows what rounding the mean changes.
 */
static void
test_one_sample_norm (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "one-sample-norm.xml", NULL);

  g_assert_true (check (path, "--check --ranks 2"));
}

/* In a loop, dropout of attention reads the position of its numbers, which is never negative. */
static void
test_dropout_in_loop (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "dropout-in-loop.xml", NULL);

  g_assert_true (check (path, "--check"));
}

/* The gradient of y in x·y is x, and that of mean (x²) is x too: an update must not read a shard that it overwrites. */
static void
test_shard_gradient (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "shard-gradient.xml", NULL);

  g_assert_true (check (path, "--check --ranks 2"));
}

/* The gradients that a rank accumulates are those of its parts of split weights, in each term of a loss. */
static void
test_terms (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "terms.xml", NULL);
  g_autofree char *listing = NULL;

  g_assert_true (check (path, "--check --ranks 2"));
  g_assert_true (check_listing (path, "--ranks 2", &listing));
  g_assert_nonnull (strstr (listing, "f32[4×2] optimizer.accumulate.#1.hidden.weight"));
  g_assert_null (strstr (listing, "all_gather"));
}

/* A loop reads the order of a tree's nodes, which is computed once before it: groups and links as they may be. */
static void
test_tree_in_loop (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "tree-in-loop.xml", NULL);

  g_assert_true (check (path, "--check"));
}

/* oneDNN's gradient of a strided convolution in bf16 reads columns after the image, where the checker writes NaN. */
static void
test_one_column (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "one-column.xml", NULL);

  g_assert_true (check (path, "--check"));
}

/* The first stage draws the mask again that the second has drawn, for a gradient that it computes. */
static void
test_dropout_in_pipeline (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "check", "dropout-in-pipeline.xml", NULL);

  g_assert_true (check (path, "--check --ranks 2"));
}

/* A recursion amplifies roundings, also with operands of few values. */
static void
test_recursion (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", "models", "tree-recursion.xml", NULL);

  g_assert_true (check (path, "--batch-size 2 --check"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("GRADLOOM_CPU_DEVICES", "4", TRUE);
  g_setenv ("GRADLOOM_CHECK", "1", TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autofree char *path = g_strconcat ("/check/examples/", ways[i].name, NULL);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_way);
    }
  g_test_add_func ("/check/examples/two-groups", test_two_groups);
  g_test_add_func ("/check/examples/two-types", test_two_types);
  g_test_add_func ("/check/examples/pool-in-loop", test_pool_in_loop);
  g_test_add_func ("/check/examples/conv-in-branch", test_conv_in_branch);
  g_test_add_func ("/check/examples/one-column", test_one_column);
  g_test_add_func ("/check/examples/one-sample-norm", test_one_sample_norm);
  g_test_add_func ("/check/examples/tree-in-loop", test_tree_in_loop);
  g_test_add_func ("/check/examples/terms", test_terms);
  g_test_add_func ("/check/examples/shard-gradient", test_shard_gradient);
  g_test_add_func ("/check/examples/dropout-in-loop", test_dropout_in_loop);
  g_test_add_func ("/check/examples/dropout-in-pipeline", test_dropout_in_pipeline);
  g_test_add_func ("/check/examples/recursion", test_recursion);
  return g_test_run ();
}
