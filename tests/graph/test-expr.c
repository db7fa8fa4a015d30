/* Expressions: values, kinds of numbers, and every way to be wrong. */
#include "engine/core/loom-error.h"
#include "engine/graph/loom-expr.h"
#include "tests/test-program.h"

static gboolean
lookup (const char *name, LoomNumber *value, gpointer data)
{
  if (g_str_equal (name, "n"))
    *value = (LoomNumber){ .is_int = TRUE, .i = 7 };
  else if (g_str_equal (name, "x"))
    *value = (LoomNumber){ .d = 0.5 };
  else
    return FALSE;
  return TRUE;
}

static void
test_values (void)
{
  static const struct
  {
    const char *text;
    gboolean is_int;
    double value;
  } cases[] = {
    { "{1 + 2 * 3}", TRUE, 7 },
    { "{(1+2)*3}", TRUE, 9 },
    { "{n // 2}", TRUE, 3 },
    { "{-n // 2}", TRUE, -4 },
    { "{-n % 3}", TRUE, 2 },
    { "{n % -3}", TRUE, -2 },
    { "{n / 2}", FALSE, 3.5 },
    { "{6 / 2}", FALSE, 3 },
    { "{x * 4}", FALSE, 2 },
    { "{min(n, 3, 5)}", TRUE, 3 },
    { "{max(x, 0.25) + 1}", FALSE, 1.5 },
    { "{- - 3}", TRUE, 3 },
    { "{1e3}", FALSE, 1000 },
    { "{.5}", FALSE, 0.5 },
    { "{7.5 // 2}", FALSE, 3 },
    { "{-7.5 % 2}", FALSE, 0.5 },
    { "{ 10-2-3 }", TRUE, 5 },
    { "{64 // 4 // 2}", TRUE, 8 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      LoomNumber n;

      g_assert_true (loom_expr_is (cases[i].text));
      loom_expr_eval (cases[i].text, lookup, NULL, &n, &error);
      g_assert_no_error (error);
      g_assert_cmpint (n.is_int, ==, cases[i].is_int);
      g_assert_cmpfloat (n.is_int ? (double)n.i : n.d, ==, cases[i].value);
    }
}

static void
test_faults (void)
{
  static const struct
  {
    const char *text, *says;
  } cases[] = {
    { "{}", "*missing*" },
    { "{1 +}", "*missing*" },
    { "{1 / 0}", "*zero*" },
    { "{1 // 0}", "*zero*" },
    { "{1 % 0.0}", "*zero*" },
    { "{m}", "*“m”*" },
    { "{1 2}", "*position 3*" },
    { "{(1}", "*“)”*" },
    { "{min(1, 2}", "*“)”*" },
    { "{1 $ 2}", "*“$”*" },
    { "{1e999}", "*overflow*" },
    { "{9223372036854775807 + 1}", "*overflow*" },
    { "{99999999999999999999}", "*overflow*" },
    { "{3037000500 * 3037000500}", "*overflow*" },
    { "{1e200 * 1e200}", "*overflow*" },
    { "{*}", "*“*”*" },
    { "{\xC3\xA9}", "*“\xC3\xA9”*" },
    { "{0x10}", "*position 2*" },
    { "{min}", "*“min”*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      LoomNumber n;

      g_assert_false (loom_expr_eval (cases[i].text, lookup, NULL, &n, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
      if (!g_pattern_match_simple (cases[i].says, error->message))
        g_error ("“%s” does not match “%s”", error->message, cases[i].says);
    }
}

static void
test_nesting (void)
{
  g_autoptr (GString) text = g_string_new ("{");
  g_autoptr (GError) error = NULL;
  LoomNumber n;

  for (int i = 0; i < 100000; i++)
    g_string_append_c (text, i % 2 ? '-' : '(');
  g_string_append_c (text, '}');
  g_assert_false (loom_expr_eval (text->str, NULL, NULL, &n, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/expr/values", test_values);
  g_test_add_func ("/expr/faults", test_faults);
  g_test_add_func ("/expr/nesting", test_nesting);
  return g_test_run ();
}
