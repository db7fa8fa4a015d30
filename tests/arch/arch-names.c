/* Operators and primitives are known by what their rows say, not by their names. */
#include <string.h>

#include "tests/arch/arch-files.h"

/* The names of all operators, by the rows of engine/ops/op-*.c: a set of char *. (transfer full) */
static GHashTable *
find_operators (const char *root)
{
  static const char *const suffixes[] = { ".c", NULL };
  g_autofree char *folder = g_build_filename (root, "engine", "ops", NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GRegex) row = g_regex_new ("^const LoomOp loom_op_(\\w+) =", G_REGEX_MULTILINE, 0, NULL);
  GHashTable *operators = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  arch_collect (folder, files, suffixes);
  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = NULL;
      g_autoptr (GMatchInfo) match = NULL;

      g_assert_true (g_file_get_contents (files->pdata[i], &text, NULL, NULL));
      for (g_regex_match (row, text, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
        g_hash_table_add (operators, g_match_info_fetch (match, 1));
    }
  g_assert_cmpuint (g_hash_table_size (operators), >, 200);
  return operators;
}

/* An operator is loom_op_NAME, a const LoomOp. A function of that name in a shared file would link only until somebody
 * adds the operator, so the names of operators and of functions must not meet. */
static void
test_operator_names (void)
{
  static const char *const suffixes[] = { ".c", ".h", NULL };
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT"), *folder = g_build_filename (root, "engine", NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) operators = find_operators (root);
  g_autoptr (GRegex) function = g_regex_new ("\\bloom_op_([a-z0-9_]+) \\(", 0, 0, NULL);
  guint wrong = 0, functions = 0;

  arch_collect (folder, files, suffixes);
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = g_ptr_array_index (files, i);
      g_autofree char *text = NULL;
      g_autoptr (GMatchInfo) match = NULL;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      for (g_regex_match (function, text, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
        {
          g_autofree char *name = g_match_info_fetch (match, 1);

          functions++;
          if (g_hash_table_contains (operators, name))
            {
              g_test_message ("%s has a function loom_op_%s; that is the name of an operator", path + strlen (root) + 1,
                              name);
              wrong++;
            }
        }
    }
  g_assert_cmpuint (functions, >, 50);
  g_assert_cmpuint (wrong, ==, 0);
}

/* Studio and the programs learn from LoomOp what an operator is: they name none. The words that are listed here name
 * ports, schedules, settings, parts of a data set, functions of typed values and signals too. */
static void
test_operators_by_name (void)
{
  static const char *const suffixes[] = { ".c", ".h", NULL };
  static const char *const folders[] = { "ui", "app" };
  static const char *const words[]
      = { "input", "output",    "constant",  "shape", "norm",    "all",  "any",    "dot",      "full",
          "sum",   "threshold", "parameter", "split", "min",     "max",  "sqrt",   "floor",    "ceil",
          "round", "mean",      "linear",    "log",   "scatter", "fold", "unbind", "gradient", NULL };
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) operators = find_operators (root);
  guint wrong = 0;

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *folder = g_build_filename (root, folders[i], NULL);

      arch_collect (folder, files, suffixes);
    }
  g_assert_cmpuint (files->len, >, 100);
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = g_ptr_array_index (files, i);
      g_autofree char *text = NULL;
      GHashTableIter iter;
      const char *name;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      g_hash_table_iter_init (&iter, operators);
      while (g_hash_table_iter_next (&iter, (gpointer *)&name, NULL))
        {
          g_autofree char *literal = g_strdup_printf ("\"%s\"", name), *pattern = NULL;

          if (g_strv_contains (words, name) || strstr (text, literal) == NULL)
            continue;
          /* Members of --json may be called as operators are; a comparison means one. */
          pattern = g_strdup_printf ("(cmp0?|str_equal|loom_op|contains) \\([^;]*%s", literal);
          if (g_str_has_prefix (path + strlen (root) + 1, "app/") && !g_regex_match_simple (pattern, text, 0, 0))
            continue;
          g_test_message ("%s names the operator %s: ask its LoomOp (role, category, flags)", path + strlen (root) + 1,
                          name);
          wrong++;
        }
    }
  g_assert_cmpuint (wrong, ==, 0);
}

/* A primitive says itself what passes need to know of it (LoomPrim). So no code between a program and the kernels
 * compares a primitive's name or address, or compares the bytes of attributes; a planner's pass whose pattern is a
 * certain primitive names it through node_is() or PATTERN_CALL(), and only those that are listed here do. */
static void
test_primitives_by_name (void)
{
  static const char *const suffixes[] = { ".c", ".h", NULL };
  static const char *const folders[]
      = { "engine/plan", "engine/program", "engine/run", "engine/infer", "engine/train" };
  static const char *const pattern_passes[] = { "plan-transpose.c",
                                                "plan-class-axis.c",
                                                "plan-concat.c",
                                                "plan-clamp.c",
                                                "plan-epilogue.c",
                                                "plan-norm.c",
                                                "plan-conv-pool.c",
                                                "plan-sink-relu.c",
                                                "plan-cast.c",
                                                "plan-rematerialise.c",
                                                "plan-sgd-undo.c",
                                                "plan-graph.c",
                                                "plan-private.h",
                                                "plan-bias-gradient.c",
                                                "plan-head-chunks.c",
                                                "plan-pad-logits.c",
                                                "plan-view-slices.c",
                                                "plan-bundle.c",
                                                "plan-mask.c",
                                                "plan-attention.c",
                                                "plan-copies.c",
                                                "plan-linear-cross-entropy.c",
                                                "plan-derivative-epilogue.c",
                                                NULL };
  static const char *const by_name
      = "(str\\w*cmp0?|g_str_\\w+|strstr) \\([^;]*\\b(prim(itive)?(\\)|,)|prim->name|->primitive\\b|node_kernel)";
  static const char *const by_address = "[!=]= loom_prim \\(|loom_prim \\([^()]*\\) [!=]=|->prim [!=]= &";
  static const char *const by_bytes = "memcmp \\([^;]*attrs";
  /* The factory of the kernels of collectives. */
  static const char *const by_table[] = { "plan-collective.c", NULL };
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT");
  g_autoptr (GRegex) names = g_regex_new (by_name, 0, 0, NULL);
  g_autoptr (GRegex) addresses = g_regex_new (by_address, 0, 0, NULL);
  g_autoptr (GRegex) bytes = g_regex_new (by_bytes, 0, 0, NULL);
  guint wrong = 0, patterns = 0;

  g_assert_true (g_regex_match (names, "if (strcmp (instr->primitive, \"fill\") == 0)", 0, NULL));
  g_assert_true (g_regex_match (names, "g_str_equal (policies[i].prim, prim->name)", 0, NULL));
  g_assert_true (g_regex_match (addresses, "instr->prim == loom_prim (\"fill\")", 0, NULL));
  g_assert_true (g_regex_match (bytes, "memcmp (a->attrs, b->attrs, a->attrs_size) == 0", 0, NULL));
  for (guint f = 0; f < G_N_ELEMENTS (folders); f++)
    {
      g_autofree char *folder = g_build_filename (root, folders[f], NULL);
      g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);

      arch_collect (folder, files, suffixes);
      g_assert_cmpuint (files->len, >, 4);
      for (guint i = 0; i < files->len; i++)
        {
          const char *path = g_ptr_array_index (files, i);
          g_autofree char *text = NULL, *name = g_path_get_basename (path);
          gboolean names_primitive, by_pattern = g_strv_contains (pattern_passes, name);

          g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
          names_primitive = strstr (text, "node_is (") != NULL || strstr (text, "PATTERN_CALL (") != NULL;
          patterns += names_primitive && by_pattern;
          /* node_is() itself compares the name. */
          if (g_strv_contains (by_table, name))
            continue;
          if ((names_primitive && !by_pattern) || g_regex_match (addresses, text, 0, NULL)
              || g_regex_match (bytes, text, 0, NULL)
              || (!g_str_equal (name, "plan-graph.c") && g_regex_match (names, text, 0, NULL)))
            {
              g_test_message ("%s tells a primitive by its name, address or bytes: ask what it says itself (LoomPrim)",
                              path + strlen (root) + 1);
              wrong++;
            }
        }
    }
  g_assert_cmpuint (patterns, ==, g_strv_length ((char **)pattern_passes));
  g_assert_cmpuint (wrong, ==, 0);
}

void
arch_add_names (void)
{
  g_test_add_func ("/arch/operator-names", test_operator_names);
  g_test_add_func ("/arch/operators-by-name", test_operators_by_name);
  g_test_add_func ("/arch/primitives-by-name", test_primitives_by_name);
}
