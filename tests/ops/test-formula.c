/* Formulas: errors of wrong ones, the inputs they define, and that no text does harm. */
#include "engine/graph/loom-graph.h"
#include "engine/net/loom-net.h"
#include "tests/test-program.h"

#include <string.h>

/* A graph of one formula; its faults as text. */
static char *
faults_of (const char *op, const char *parameter, const char *formula, guint *n_inputs)
{
  g_autofree char *escaped = g_markup_escape_text (formula, -1);
  g_autofree char *xml = g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"f\">"
                                          "<node id=\"n\" op=\"%s\" %s=\"%s\"/></graph>",
                                          op, parameter, escaped);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "f", faults, NULL);

  *n_inputs = 0;
  if (graph != NULL)
    {
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

      if (loom_net_n_nodes (net) > 0)
        *n_inputs = loom_net_node (net, 0)->n_inputs;
    }
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *one = loom_fault_to_string (loom_faults_get (faults, i));

      g_string_append_printf (text, "%s\n", one);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
test_faults (void)
{
  static const struct
  {
    const char *formula, *says;
  } wrong[] = {
    { "sigmod(1)", "Did you mean “sigmoid”?" },
    { "1 +", "ends where a number" },
    { "(1", "lacks a “)”" },
    { "2 ^ 3", "Write “**”." },
    { "1 < 2 < 3", "write “a < b and b < c”" },
    { "1 if 2", "without “else”" },
    { "where(1, 2)", "takes a condition" },
    { "exp(1, 2)", "it takes 1" },
    { "1 $ 2", "has “$”" },
    { "max(1)", "compares two or more" },
    { "if", "has the word “if”" },
    { "1e999 * 2", "“1e999”, which is too large" },
    { "x * foo(", "there is no such function" }, /* and not that x has no wire */
    { "x + 1e400", "infinity is written “inf”" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      guint n;
      g_autofree char *text = faults_of ("expression", "formula", wrong[i].formula, &n);

      g_test_message ("%s: %s", wrong[i].formula, text);
      g_assert_nonnull (strstr (text, wrong[i].says));
      g_assert_nonnull (strstr (text, "‸"));
      g_assert_nonnull (strstr (text, ", at position "));
    }
}

/* A formula's fault is the only one: its inputs are unknown until it is fixed. */
static void
test_first (void)
{
  guint n;
  g_autofree char *wrong = faults_of ("expression", "formula", "x * foo(", &n);
  g_autofree char *unwired = faults_of ("expression", "formula", "x * y", &n);
  g_autofree char *forward = faults_of ("custom_function", "forward", "y = grad * x", &n);
  g_autofree char *backward = faults_of ("custom_function", "backward", "x = grad *", &n);

  g_assert_null (strstr (wrong, "is not wired"));
  g_assert_nonnull (strstr (unwired, "“y” is not wired"));
  g_assert_true (strstr (forward, "exists only in the backward formulas") != NULL
                 && strstr (forward, "is not wired") == NULL);
  g_assert_nonnull (strstr (backward, "ends where"));
}

static void
test_inputs (void)
{
  static const struct
  {
    const char *op, *parameter, *formula;
    guint n;
  } cases[] = {
    { "expression", "formula", "x * sigmoid(beta * x) + pi", 2 }, { "expression", "formula", "2 * e", 0 },
    { "expression", "formula", "a if b else c and not d", 4 },    { "expression", "formula", "x +", 1 },
    { "custom_function", "forward", "t = a * b; y = t + c", 3 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint n;
      g_autofree char *text = faults_of (cases[i].op, cases[i].parameter, cases[i].formula, &n);

      g_assert_cmpuint (n, ==, cases[i].n);
    }
}

/* Random words of the language, and nesting without end. */
static void
test_random (void)
{
  static const char *const words[]
      = { "x",   "y", "(",   ")",   "+", "-", "**",    "%", "<", "==", "if", "else",  "and", "not", "exp",
          "max", ",", "1.5", "1e9", ";", "=", "where", " ", "é", "…",  "\"", "clamp", "//",  "^",   "." };
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);

  for (guint i = 0; i < 3000; i++)
    {
      g_autoptr (GString) s = g_string_new (NULL);
      guint length = (guint)g_rand_int_range (rand, 0, 40), n;
      g_autofree char *a = NULL, *b = NULL;

      for (guint k = 0; k < length; k++)
        g_string_append (s, words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))]);
      a = faults_of ("expression", "formula", s->str, &n);
      b = faults_of ("custom_function", i & 1 ? "forward" : "backward", s->str, &n);
    }
  for (guint i = 0; i < 3; i++)
    {
      static const char *const deep[] = { "(", "-", "exp(" };
      g_autoptr (GString) s = g_string_new (NULL);
      guint n;
      g_autofree char *text = NULL;

      for (guint k = 0; k < 300; k++)
        g_string_append (s, deep[i]);
      text = faults_of ("expression", "formula", s->str, &n);
      g_assert_nonnull (strstr (text, "nested"));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/formula/faults", test_faults);
  g_test_add_func ("/ops/formula/first", test_first);
  g_test_add_func ("/ops/formula/inputs", test_inputs);
  g_test_add_func ("/ops/formula/random", test_random);
  return g_test_run ();
}
