/* Every environment variable that a source reads is documented. */
#include <string.h>

#include "tests/arch/arch-files.h"

/* What texts say of the environment. */
typedef struct
{
  GHashTable *literals; /* names of variables in quotes that are known by their beginning, or the argument of a call */
  GHashTable *macros;   /* names that are macros in the calls */
  GHashTable *others;   /* calls with another expression, and other ways to reach the environment */
} Environment;

static void
environment_init (Environment *e)
{
  e->literals = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  e->macros = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  e->others = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

static void
environment_clear (Environment *e)
{
  g_hash_table_unref (e->literals);
  g_hash_table_unref (e->macros);
  g_hash_table_unref (e->others);
}

static void
add_call (Environment *e, const char *arguments)
{
  const char *comma = strrchr (arguments, ',');
  g_autofree char *last = g_strstrip (g_strdup (comma != NULL ? comma + 1 : arguments));

  if (last[0] == '\0' || g_regex_match_simple ("^(const )?(char \\*|void)", last, 0, 0))
    return; /* a comment, or a declaration */
  if (g_regex_match_simple ("^\"\\w+\"$", last, 0, 0))
    g_hash_table_add (e->literals, g_strndup (last + 1, strlen (last) - 2));
  else if (g_regex_match_simple ("^[A-Z][A-Z0-9_]*$", last, 0, 0))
    g_hash_table_add (e->macros, g_steal_pointer (&last));
  else
    g_hash_table_add (e->others, g_steal_pointer (&last));
}

/* Any function whose name ends with getenv, with or without a blank; loom_env(); names of variables that stand in
 * tables; and the environment as a whole. */
static void
environment_read (Environment *e, const char *text)
{
  g_autoptr (GRegex) call = g_regex_new ("\\b(?:\\w*getenv|loom_env)\\s*\\(([^()]*)\\)", 0, 0, NULL);
  g_autoptr (GRegex) name = g_regex_new (
      "\"((?:GRADLOOM|OMPI|PRTE|I_MPI|PMIX?|PALS|SLURM|PBS|LSB|PE|LOADL|WORLD)_\\w+|RANK)\"", 0, 0, NULL);
  g_autoptr (GRegex) whole = g_regex_new (
      "\\bg_listenv\\b|\\bg_get_environ\\b|\\benvp\\b|\\benviron\\s*\\[|\\*\\*environ\\b|/environ\"", 0, 0, NULL);
  g_autoptr (GMatchInfo) a = NULL, b = NULL, c = NULL;

  for (g_regex_match (call, text, 0, &a); g_match_info_matches (a); g_match_info_next (a, NULL))
    {
      g_autofree char *arguments = g_match_info_fetch (a, 1);

      add_call (e, arguments);
    }
  for (g_regex_match (name, text, 0, &b); g_match_info_matches (b); g_match_info_next (b, NULL))
    g_hash_table_add (e->literals, g_match_info_fetch (b, 1));
  for (g_regex_match (whole, text, 0, &c); g_match_info_matches (c); g_match_info_next (c, NULL))
    g_hash_table_add (e->others, g_match_info_fetch (c, 0));
}

/* Every spelling is seen. */
static void
test_environment_spellings (void)
{
  static const char *const text
      = "getenv(\"A\") g_getenv (\"B\"), secure_getenv ( \"C\" ), g_environ_getenv (e, \"D\"),\n"
        "loom_env (\"E\"), std::getenv (\"F\"), table = { \"GRADLOOM_G\" }; g_getenv (LOOM_NAME);\n"
        "getenv (names[i]); g_listenv (); environ[0]; “/proc/self/environ\"; by getenv()";
  static const char *const literals[] = { "A", "B", "C", "D", "E", "F", "GRADLOOM_G" };
  static const char *const others[] = { "names[i]", "g_listenv", "environ[", "/environ\"" };
  Environment e;

  environment_init (&e);
  environment_read (&e, text);
  for (guint i = 0; i < G_N_ELEMENTS (literals); i++)
    g_assert_true (g_hash_table_contains (e.literals, literals[i]));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    g_assert_true (g_hash_table_contains (e.others, others[i]));
  g_assert_true (g_hash_table_contains (e.macros, "LOOM_NAME"));
  g_assert_cmpuint (g_hash_table_size (e.literals) + g_hash_table_size (e.macros) + g_hash_table_size (e.others), ==,
                    G_N_ELEMENTS (literals) + 1 + G_N_ELEMENTS (others));
  environment_clear (&e);
}

/* The variable that a macro of these files stands for. (transfer full) */
static char *
find_macro (GPtrArray *files, const char *macro)
{
  g_autofree char *pattern = g_strdup_printf ("#\\s*define\\s+%s\\s+\"(\\w+)\"", macro);
  g_autoptr (GRegex) define = g_regex_new (pattern, 0, 0, NULL);

  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *text = NULL;
      g_autoptr (GMatchInfo) match = NULL;

      g_assert_true (g_file_get_contents (files->pdata[i], &text, NULL, NULL));
      if (g_regex_match (define, text, 0, &match))
        return g_match_info_fetch (match, 1);
    }
  return NULL;
}

/* Every variable that a source names, however it reads it, is in docs/environment.md; Gradloom's own are in the table
 * of engine/core/loom-env.c as well, and each entry of the table is read. */
static void
test_environment (void)
{
  static const char *const suffixes[] = { ".c", ".h", ".cu", ".cuh", NULL };
  static const char *const folders[] = { "kernels", "engine", "ui", "app" };
  /* Calls in functions that are handed the name, from tables whose names are found by their beginning. */
  static const struct
  {
    const char *file, *expression;
  } known[] = {
    { "engine/core/loom-env.c", "name" },        { "engine/dist/loom-launcher.c", "name" },
    { "engine/dist/loom-dist.c", "jobs[i]" },    { "engine/dist/loom-dist.c", "list" },
    { "engine/dist/loom-dist.c", "/environ\"" }, { "engine/dist/loom-dist.c", "g_get_environ" },
  };
  g_autofree char *root = arch_root ("GRADLOOM_SOURCE_ROOT"), *table = NULL, *page = NULL;
  g_autofree char *table_file = g_build_filename (root, "engine", "core", "loom-env.c", NULL);
  g_autofree char *page_file = g_build_filename (root, "docs", "environment.md", NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GRegex) entry = g_regex_new ("\\.name = \"(\\w+)\"", 0, 0, NULL);
  g_autoptr (GMatchInfo) row = NULL;
  guint wrong = 0, n_known = 0;

  g_assert_true (g_file_get_contents (table_file, &table, NULL, NULL));
  g_assert_true (g_file_get_contents (page_file, &page, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *folder = g_build_filename (root, folders[i], NULL);

      arch_collect (folder, files, suffixes);
    }
  for (guint i = 0; i < files->len; i++)
    {
      const char *path = files->pdata[i], *relative = path + strlen (root) + 1;
      g_autofree char *text = NULL;
      Environment e;
      GHashTableIter iter;
      gpointer key;

      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      environment_init (&e);
      environment_read (&e, text);
      for (g_hash_table_iter_init (&iter, e.macros); g_hash_table_iter_next (&iter, &key, NULL);)
        {
          char *variable = find_macro (files, key);

          if (variable == NULL)
            g_error ("%s reads the variable %s, which is no macro with a text", relative, (char *)key);
          g_hash_table_add (e.literals, variable);
        }
      for (g_hash_table_iter_init (&iter, e.others); g_hash_table_iter_next (&iter, &key, NULL);)
        {
          gboolean is_known = FALSE;

          for (guint k = 0; k < G_N_ELEMENTS (known); k++)
            is_known |= g_str_equal (known[k].file, relative) && g_str_equal (known[k].expression, key);
          n_known += is_known;
          if (is_known)
            continue;
          g_test_message ("%s reads the environment by “%s”: name the variable in the call", relative, (char *)key);
          wrong++;
        }
      for (g_hash_table_iter_init (&iter, e.literals); g_hash_table_iter_next (&iter, &key, NULL);)
        {
          g_autofree char *words = g_strdup_printf ("`%s`", (char *)key),
                          *literal = g_strdup_printf ("\"%s\"", (char *)key);

          if (!g_str_equal (path, table_file))
            g_hash_table_add (found, g_strdup (key));
          if (strstr (page, words) != NULL && (!g_str_has_prefix (key, "GRADLOOM_") || strstr (table, literal) != NULL))
            continue;
          g_test_message ("%s names %s, which is missing in docs/environment.md or engine/core/loom-env.c", relative,
                          (char *)key);
          wrong++;
        }
      environment_clear (&e);
    }
  for (g_regex_match (entry, table, 0, &row); g_match_info_matches (row); g_match_info_next (row, NULL))
    {
      g_autofree char *variable = g_match_info_fetch (row, 1);

      if (g_hash_table_contains (found, variable))
        continue;
      g_test_message ("Nothing reads %s of engine/core/loom-env.c", variable);
      wrong++;
    }
  g_assert_cmpuint (g_hash_table_size (found), >=, 30);
  g_assert_cmpuint (n_known, ==, G_N_ELEMENTS (known));
  g_assert_cmpuint (wrong, ==, 0);
}

void
arch_add_environment (void)
{
  g_test_add_func ("/arch/environment", test_environment);
  g_test_add_func ("/arch/environment-spellings", test_environment_spellings);
}
