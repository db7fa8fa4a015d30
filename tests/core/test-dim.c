/* Symbolic dimensions: arithmetic, binding, broadcasting, text. */
#include "engine/core/loom-dim.h"
#include "tests/test-program.h"

static LoomShape
parse (const char *text)
{
  LoomShape s;

  g_assert_true (loom_shape_parse (text, &s));
  return s;
}

static LoomDim
parse_dim (const char *text)
{
  return parse (text).dim[0];
}

static void
assert_dim (LoomDim d, const char *expected)
{
  LoomShape s = { .rank = 1, .dim = { d } };
  g_autofree char *text = loom_shape_to_attribute (&s);

  g_assert_cmpstr (text, ==, expected);
}

static void
test_arithmetic (void)
{
  LoomDim q;

  assert_dim (loom_dim_mul (parse_dim ("2T"), parse_dim ("3B")), "6BT");
  assert_dim (loom_dim_mul (parse_dim ("ABC"), parse_dim ("D")), "?");
  assert_dim (loom_dim_mul (loom_dim (G_MAXINT64), loom_dim (2)), "?");
  assert_dim (loom_dim_mul (loom_dim_unknown (), loom_dim (0)), "0");
  assert_dim (loom_dim_mul (loom_dim_unknown (), loom_dim (3)), "?");
  g_assert_true (loom_dim_div (parse_dim ("6BT"), parse_dim ("2T"), &q));
  assert_dim (q, "3B");
  g_assert_true (loom_dim_div (parse_dim ("BBT"), parse_dim ("BT"), &q));
  assert_dim (q, "B");
  g_assert_false (loom_dim_div (parse_dim ("6B"), parse_dim ("T"), &q));
  g_assert_false (loom_dim_div (parse_dim ("6B"), loom_dim (4), &q));
  g_assert_false (loom_dim_div (loom_dim (6), loom_dim (0), &q));
  assert_dim (loom_dim_add (loom_dim (3), -1), "2");
  assert_dim (loom_dim_add (loom_dim (3), -4), "?");
  assert_dim (loom_dim_add (parse_dim ("B"), 0), "B");
  assert_dim (loom_dim_add (parse_dim ("B"), 1), "?");
  assert_dim (loom_dim_sum (parse_dim ("2B"), parse_dim ("B")), "3B");
  assert_dim (loom_dim_sum (parse_dim ("B"), loom_dim (1)), "?");
  g_assert_true (loom_dim_equal (parse_dim ("TB"), parse_dim ("BT")));
  g_assert_false (loom_dim_equal (loom_dim_unknown (), loom_dim_unknown ()));
  g_assert_true (loom_dim_compatible (loom_dim_unknown (), parse_dim ("B")));
  g_assert_false (loom_dim_compatible (loom_dim (4), parse_dim ("B")));
}

static void
test_binding (void)
{
  LoomBinding binding = { { 0 } };
  LoomShape s = parse ("2BT,B,5"), bound;
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  binding.value['B' - 'A'] = 4;
  g_assert_cmpint (loom_dim_value (s.dim[0], &binding), ==, -1);
  assert_dim (loom_dim_bind (s.dim[0], &binding), "8T");
  binding.value['T' - 'A'] = 3;
  g_assert_cmpint (loom_dim_value (s.dim[0], &binding), ==, 24);
  bound = loom_shape_bind (&s, &binding);
  g_assert_true (loom_shape_is_concrete (&bound));
  loom_shape_get (&bound, dims);
  g_assert_cmpint (dims[0], ==, 24);
  g_assert_cmpint (dims[1], ==, 4);
  g_assert_cmpint (dims[2], ==, 5);
  assert_dim (loom_shape_count (&s), "10BBT");
}

static void
assert_broadcast (const char *a, const char *b, const char *expected)
{
  LoomShape sa = parse (a), sb = parse (b), out;
  g_autofree char *text = NULL;

  if (!loom_shape_broadcast (&sa, &sb, &out))
    {
      g_assert_cmpstr (NULL, ==, expected);
      return;
    }
  text = loom_shape_to_attribute (&out);
  g_assert_cmpstr (text, ==, expected);
}

static void
test_broadcast (void)
{
  LoomShape a = parse ("1,7"), b = parse ("3,7"), out;

  assert_broadcast ("B,3,1", "4", "B,3,4");
  assert_broadcast ("", "2,3", "2,3");
  assert_broadcast ("B,1", "1,5", "B,5");
  assert_broadcast ("3", "4", NULL);
  assert_broadcast ("B", "4", NULL);
  assert_broadcast ("0", "1", "0");
  a.dim[0] = loom_dim_unknown ();
  g_assert_true (loom_shape_broadcast (&a, &b, &out));
  assert_dim (out.dim[0], "3");
  b.dim[0] = loom_dim (1);
  g_assert_true (loom_shape_broadcast (&a, &b, &out));
  assert_dim (out.dim[0], "?");
}

static void
test_text (void)
{
  const char *bad[]
      = { ",", "1,", "-1", "b", "1 2", "B2", "ABCD", "99999999999999999999", "1,2,3,4,5,6,7,8,9", "?", " " };
  LoomShape s = parse ("2TB, 1,28"), scalar = parse ("");
  g_autofree char *people = loom_shape_to_string (&s);
  g_autofree char *file = loom_shape_to_attribute (&s);
  g_autofree char *nothing = loom_shape_to_string (&scalar);
  LoomShape made = loom_shape (2, (const gint64[]){ 3, 4 }), parsed = parse ("3,4");

  g_assert_cmpstr (people, ==, "2·B·T × 1 × 28");
  g_assert_cmpstr (file, ==, "2BT,1,28");
  g_assert_cmpstr (nothing, ==, "scalar");
  g_assert_true (loom_shape_equal (&made, &parsed));
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_test_message ("\"%s\"", bad[i]);
      g_assert_false (loom_shape_parse (bad[i], &s));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dim/arithmetic", test_arithmetic);
  g_test_add_func ("/dim/binding", test_binding);
  g_test_add_func ("/dim/broadcast", test_broadcast);
  g_test_add_func ("/dim/text", test_text);
  return g_test_run ();
}
