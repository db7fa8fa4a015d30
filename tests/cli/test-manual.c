/* The manual page and the completions have every command and every option that --help has, and shells can read them. */
#include "tests/cli/cli.h"
#include "tests/test-program.h"

#include <string.h>

/* The part of a text that begins with the one mark and ends before the other. */
static char *
part_of (const char *text, const char *begin, const char *end)
{
  const char *from = strstr (text, begin), *to = from != NULL ? strstr (from + strlen (begin), end) : NULL;

  g_assert_nonnull (from);
  return to != NULL ? g_strndup (from, to - from) : g_strdup (from);
}

/* The commands of --help, and the words of theirs that begin with two hyphens. */
static void
test_everything (void)
{
  static const char *const kinds[] = { "man", "bash", "zsh", "fish", "markdown" };
  g_auto (CliResult) help = cli ("--help", NULL);
  g_autoptr (GRegex) command_line = g_regex_new ("^  ([a-z]+) +\\S", G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GRegex) option = g_regex_new ("^  (?:-[a-z], )?--([a-z0-9-]+)", G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  guint n_commands = 0, n_options = 0;
  CliResult texts[G_N_ELEMENTS (kinds)];

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      texts[k] = cli ("help", kinds[k], NULL);
      g_assert_cmpint (texts[k].status, ==, 0);
      g_assert_cmpstr (texts[k].err, ==, "");
    }
  for (g_regex_match (command_line, help.out, 0, &match); g_match_info_matches (match); g_match_info_next (match, NULL))
    {
      g_autofree char *name = g_match_info_fetch (match, 1), *heading = g_strdup_printf (".SS gradloom %s ", name);
      g_autofree char *title = g_strdup_printf ("\n## gradloom %s\n", name);
      g_auto (CliResult) own = cli (name, "--help", NULL);
      g_autoptr (GMatchInfo) each = NULL;

      n_commands++;
      g_autofree char *mark = g_strdup_printf ("    %s)\n", name), *man = part_of (texts[0].out, heading, "\n.SS ");
      g_autofree char *bash = part_of (texts[1].out, mark, "'\n"), *zsh = part_of (texts[2].out, mark, ";;");
      g_autofree char *page = part_of (texts[4].out, title, "\n## ");
      for (g_regex_match (option, own.out, 0, &each); g_match_info_matches (each); g_match_info_next (each, NULL))
        {
          g_autofree char *word = g_match_info_fetch (each, 1);
          g_auto (GStrv) parts = g_strsplit (word, "-", -1);
          g_autofree char *roff = g_strjoinv ("\\-", parts), *in_man = g_strdup_printf ("\\fB\\-\\-%s\\fR", roff);
          g_autofree char *in_shell = g_strdup_printf ("--%s", word);
          g_autofree char *in_fish = g_strdup_printf ("from %s' -l %s ", name, word);

          if (g_str_equal (word, "help"))
            continue;
          n_options++;
          if (strstr (man, in_man) == NULL || strstr (bash, in_shell) == NULL || strstr (zsh, in_shell) == NULL
              || strstr (page, in_shell) == NULL || strstr (texts[3].out, in_fish) == NULL)
            g_error ("gradloom %s --%s is missing in the manual or a completion", name, word);
        }
    }
  g_assert_cmpuint (n_commands, >=, 14);
  g_assert_cmpuint (n_options, >=, 60);
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    cli_clear (&texts[k]);
}

static char *
spawn (const char *const *argv, int *status)
{
  g_autoptr (GError) error = NULL;
  char *out = NULL, *err = NULL;

  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, status, &error);
  g_assert_no_error (error);
  char *both = g_strconcat (out, err, NULL);
  g_free (out);
  g_free (err);
  return both;
}

/* bash itself completes these words: the last one is at the cursor. */
static char *
complete (const char *words)
{
  g_autofree char *script
      = g_strdup_printf (". ./bash; COMP_WORDS=(%s); [[ '%s' == *' ' ]] && COMP_WORDS+=(''); "
                         "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gradloom; echo \"${COMPREPLY[@]}\"",
                         words, words);
  const char *argv[] = { "bash", "--norc", "-c", script, NULL };
  int status;

  return g_strchomp (spawn (argv, &status));
}

static void
test_bash (void)
{
  static const struct
  {
    const char *words, *expected;
  } cases[] = { { "gradloom trai", "train" },
                { "gradloom train --ep", "--epochs=" },
                { "gradloom diff --q", "--quiet" },
                { "gradloom eval --weights = f.safe", "f.safetensors" },
                { "gradloom train --seed = ", "" },
                { "gradloom check f.safe", "f.safetensors" },
                { "gradloom ops cross_e", "cross_entropy" } };
  g_autofree char *found = g_find_program_in_path ("bash");
  g_auto (CliResult) text = cli ("help", "bash", NULL);

  if (found == NULL)
    {
      g_test_skip ("there is no bash here");
      return;
    }
  cli_write ("bash", text.out);
  cli_write ("f.safetensors", "");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *given = complete (cases[i].words);
      g_test_message ("%s", cases[i].words);
      g_assert_cmpstr (given, ==, cases[i].expected);
    }
}

/* The programs that read these files accept them, if they are installed. */
static void
test_readers (void)
{
  static const struct
  {
    const char *kind, *argv[8];
  } readers[] = { { "man", { "groff", "-man", "-Tutf8", "-ww", "-K", "utf8", "man", NULL } },
                  { "bash", { "bash", "-n", "bash", NULL } },
                  { "zsh", { "zsh", "-n", "zsh", NULL } },
                  { "fish", { "fish", "-n", "fish", NULL } } };

  for (guint i = 0; i < G_N_ELEMENTS (readers); i++)
    {
      g_auto (CliResult) text = cli ("help", readers[i].kind, NULL);
      g_autofree char *program = g_find_program_in_path (readers[i].argv[0]), *said = NULL;
      int status;

      cli_write (readers[i].kind, text.out);
      if (program == NULL)
        {
          g_test_message ("not read, since there is no %s here: %s", readers[i].argv[0], readers[i].kind);
          continue;
        }
      said = spawn (readers[i].argv, &status);
      g_assert_cmpint (status, ==, 0);
      if (i == 0)
        {
          g_assert_null (strstr (said, "warning"));
          g_assert_nonnull (strstr (said, "git config diff.gradloom.command 'gradloom diff'"));
        }
      else
        g_assert_cmpstr (said, ==, "");
    }
}

/* Every graph that docs/file-format.md shows is one. */
static void
test_format (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "docs", "file-format.md", NULL);
  g_autofree char *text = NULL;
  guint n = 0;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) parts = g_strsplit (text, "```", -1);
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  for (guint i = 1; parts[i] != NULL && parts[i + 1] != NULL; i += 2)
    if (g_str_has_prefix (parts[i], "xml\n<?xml"))
      {
        cli_write ("shown.xml", parts[i] + 4);
        cli_expect (0, NULL, "check", "shown.xml");
        n++;
      }
  g_assert_cmpuint (n, >=, 2);
  /* The last graph is the worked example, with the documented use of --set and weights' names. */
  cli_expect (0, NULL, "train", "shown.xml", "--epochs", "1", "--out", "shown");
  g_autoptr (LoomTensor) weight = cli_weight ("shown/weights.safetensors", "body.2.fc.weight");
  g_assert_nonnull (weight);
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
  cli_expect (0, NULL, "train", "shown.xml", "--set", "body.device=cpu", "--set", "train.lr=0.003", "--set",
              "body.drop=0.3", "--set", "stage.act.op=relu", "--epochs", "1", "--out", "set");
  g_auto (CliResult) difference = cli ("diff", "shown", "set", NULL);
  g_assert_cmpstr (difference.out, ==,
                   "module stage\n  ~ node act: gelu → relu\n"
                   "graph\n  ~ node body (module stage): device cpu:1 → cpu, drop 0.1 (default) → 0.3\n"
                   "train\n  ~ train: lr 0.01 → 0.003\n");
}

/* The reference of the file format has every parameter of every schedule, and every optimiser, metric and reserved
 * attribute. */
static void
test_attributes (void)
{
  g_auto (CliResult) page = cli ("help", "format", NULL), manual = cli ("help", "markdown", NULL);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_free);

  g_assert_cmpint (page.status, ==, 0);
  for (const LoomScheduleClass *const *each = loom_schedules (); *each != NULL; each++)
    for (const LoomScheduleParam *p = (*each)->param; p->name != NULL; p++)
      g_ptr_array_add (rows, g_strdup_printf ("\n| `%s` | `%s` | ", (*each)->name, p->name));
  for (const LoomOptimizer *const *each = loom_optimizers (); *each != NULL; each++)
    g_ptr_array_add (rows, g_strdup_printf ("\n| `%s` |", (*each)->name));
  for (const LoomMetric *const *each = loom_metrics (); *each != NULL; each++)
    g_ptr_array_add (rows, g_strdup_printf ("\n| `%s` | ", (*each)->name));
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    g_ptr_array_add (rows, g_strdup_printf ("\n| `%s` | ", r->spec.name));
  g_assert_cmpuint (rows->len, >=, 60);
  for (guint i = 0; i < rows->len; i++)
    if (strstr (page.out, rows->pdata[i]) == NULL || strstr (manual.out, rows->pdata[i]) == NULL)
      g_error ("the reference of the file format has no row %s", (char *)rows->pdata[i] + 1);
  for (const LoomEnv *e = loom_env_table (); e->name != NULL; e++)
    {
      g_autofree char *row = g_strdup_printf ("\n| `%s` | ", e->name);

      g_assert_nonnull (strstr (manual.out, row));
    }
}

static void
test_words (void)
{
  g_auto (CliResult) bare = cli ("help", NULL), option = cli ("--help", NULL);

  g_assert_cmpstr (bare.out, ==, option.out);
  cli_expect (2, "man, markdown, format, json", "help", "tcsh");
  g_auto (CliResult) command = cli ("help", "train", NULL), own = cli ("train", "--help", NULL);
  g_assert_cmpstr (command.out, ==, own.out);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  cli_enter ();
  g_test_add_func ("/cli/manual/everything", test_everything);
  g_test_add_func ("/cli/manual/bash", test_bash);
  g_test_add_func ("/cli/manual/readers", test_readers);
  g_test_add_func ("/cli/manual/format", test_format);
  g_test_add_func ("/cli/manual/attributes", test_attributes);
  g_test_add_func ("/cli/manual/words", test_words);
  int status = g_test_run ();
  cli_leave ();
  return status;
}
