/* Text of other programs: words of a shell and cells of a table. */
#include "engine/core/loom-text.h"
#include "tests/test-program.h"

static void
test_shell_word (void)
{
  static const char *const cases[][2] = {
    { "runs/one-2.b", "runs/one-2.b" },
    { "", "''" },
    { "a b", "'a b'" },
    { "x;reboot", "'x;reboot'" },
    { "$(id)", "'$(id)'" },
    { "it's", "'it'\\''s'" },
    { "a\033[2J", "\"$(printf 'a\\033\\1332J')\"" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *word = loom_text_shell_word (cases[i][0]);

      g_assert_cmpstr (word, ==, cases[i][1]);
    }
}

static void
test_csv (void)
{
  static const char *const cases[][2] = {
    { "loss", "loss" },      { "", "" },
    { "a,b", "\"a,b\"" },    { "say \"so\"", "\"say \"\"so\"\"\"" },
    { "-3.5e4", "-3.5e4" },  { "+1", "+1" },
    { "-", "\"'-\"" },       { "=HYPERLINK(1)", "\"'=HYPERLINK(1)\"" },
    { "@sum", "\"'@sum\"" }, { "-2+3", "\"'-2+3\"" },
    { "\t=1", "\"'\t=1\"" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GString) cell = g_string_new (NULL);

      loom_text_append_csv (cell, cases[i][0]);
      g_assert_cmpstr (cell->str, ==, cases[i][1]);
    }
}

static void
test_decimal (void)
{
  static const struct
  {
    double value;
    const char *text;
  } cases[] = {
    { 0.1, "0.1" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { 1e-4, "0.0001" },
    { 3, "3" },
    { 1e22, "1e+22" },
    { -0.02, "-0.02" },
    { 1. / 3, "0.3333333333333333" },
    { 100, "100" },
    { 5e-324, "4.94065645841247e-324" },
  };
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  GRand *random = g_rand_new_with_seed (1);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpstr (loom_text_decimal (cases[i].value, text), ==, cases[i].text);
  for (guint i = 0; i < 1000; i++)
    {
      const double value = g_rand_double_range (random, -1, 1) * (i % 2 ? 1e-9 : 1e9);

      g_assert_true (g_ascii_strtod (loom_text_decimal (value, text), NULL) == value);
    }
  g_rand_free (random);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/shell-word", test_shell_word);
  g_test_add_func ("/text/csv", test_csv);
  g_test_add_func ("/text/decimal", test_decimal);
  return g_test_run ();
}
