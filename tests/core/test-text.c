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

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/shell-word", test_shell_word);
  g_test_add_func ("/text/csv", test_csv);
  return g_test_run ();
}
