/* JSON as it is written: commas, escapes, and numbers that every reader takes. */
#include "engine/core/loom-json.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

static void
test_nesting (void)
{
  g_autofree char *text = NULL;
  LoomJson *json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "event", "node");
  loom_json_begin_array (json, "outputs");
  loom_json_begin_object (json, NULL);
  loom_json_end_object (json);
  loom_json_begin_object (json, NULL);
  loom_json_bool (json, "weight", TRUE);
  loom_json_null (json, "doc");
  loom_json_end_object (json);
  loom_json_end_array (json);
  loom_json_ints (json, "shape", 2, (const gint64[]){ 3, -4 });
  loom_json_ints (json, "none", 0, NULL);
  loom_json_string (json, "missing", NULL);
  loom_json_end_object (json);
  text = loom_json_take (json);
  g_assert_cmpstr (text, ==,
                   "{\"event\":\"node\",\"outputs\":[{},{\"weight\":true,\"doc\":null}],\"shape\":[3,-4],\"none\":[],"
                   "\"missing\":null}");
}

/* A string that ends in a bracket is a value like any other. */
static void
test_strings (void)
{
  g_autoptr (LoomJson) json = loom_json_new (), number = loom_json_new ();

  loom_json_begin_array (json, NULL);
  loom_json_string (json, NULL, "a [");
  loom_json_string (json, NULL, "\"\\/\n\t\x01 ×");
  loom_json_string (json, NULL, "");
  loom_json_end_array (json);
  g_assert_cmpstr (loom_json_text (json), ==, "[\"a [\",\"\\\"\\\\/\\n\\u0009\\u0001 ×\",\"\"]");
  loom_json_int (number, NULL, G_MININT64);
  g_assert_cmpstr (loom_json_text (number), ==, "-9223372036854775808");
}

/* Of f64 every digit, of f32 nine, and no more than it takes. */
static void
test_exact (void)
{
  static const struct
  {
    double value;
    const char *text;
  } cases[] = { { 0.1f, "0.100000001" },
                { 0.7, "0.7" },
                { 1.0 / 3, "0.3333333333333333" },
                { 0.1 + 0.2, "0.30000000000000004" },
                { 2.0000000001, "2.0000000001" },
                { 1e300, "1e+300" },
                { -0.0, "-0" },
                { NAN, "null" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomJson) json = loom_json_new ();

      loom_json_exact (json, NULL, cases[i].value);
      g_assert_cmpstr (loom_json_text (json), ==, cases[i].text);
    }
}

/* JSON-GLib's parser would return half of a surrogate pair as three bytes that are not UTF-8. */
static void
test_surrogates (void)
{
  static const char *const right[]
      = { "\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE00\\\"\"", "\"\\\\ud83d\"", "\"\\u00e9\"", "\"\\" },
      *const wrong[] = { "\"\\ud83d\"", "\"\\ude00\"", "\"\\uDFFF\\ud83d\"", "\"\\ud83dx\\ude00\"", "[\"\\ud83d" };

  for (guint i = 0; i < G_N_ELEMENTS (right); i++)
    g_assert_true (loom_json_is_within (right[i], strlen (right[i]), 3));
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    g_assert_false (loom_json_is_within (wrong[i], strlen (wrong[i]), 3));
}

static void
test_numbers (void)
{
  static const struct
  {
    double value;
    const char *text;
  } cases[] = { { 0, "0" },      { 1e-8, "1e-08" },    { 1e30, "1e+30" },     { 0.1f, "0.100000001" }, { -2.5, "-2.5" },
                { NAN, "null" }, { INFINITY, "null" }, { -INFINITY, "null" }, { 61706, "61706" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomJson) json = loom_json_new ();

      loom_json_number (json, NULL, cases[i].value);
      g_assert_cmpstr (loom_json_text (json), ==, cases[i].text);
    }
  g_autoptr (LoomJson) json = loom_json_new ();
  loom_json_begin_array (json, NULL);
  loom_json_number_digits (json, NULL, 0.1, 15);
  loom_json_fixed (json, NULL, 1.5, 6);
  loom_json_fixed (json, NULL, G_MAXDOUBLE, 0);
  loom_json_end_array (json);
  g_assert_true (g_str_has_prefix (loom_json_text (json), "[0.1,1.500000,17976931348623157"));
  g_assert_cmpuint (strlen (loom_json_text (json)), ==, strlen ("[0.1,1.500000,]") + 309);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json/nesting", test_nesting);
  g_test_add_func ("/json/strings", test_strings);
  g_test_add_func ("/json/surrogates", test_surrogates);
  g_test_add_func ("/json/numbers", test_numbers);
  g_test_add_func ("/json/exact", test_exact);
  return g_test_run ();
}
