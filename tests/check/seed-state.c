/* What is known of a range of seeds; see the header. */
#include "tests/check/seed-state.h"

#include <string.h>

void
check_pieces_read (char *const *word, CheckPieces *pieces)
{
  guint64 *const number[]
      = { &pieces->all, &pieces->by_rule, &pieces->evaluated, &pieces->too_large, &pieces->unchecked };

  for (guint i = 0; i < G_N_ELEMENTS (number) && word[i] != NULL; i++)
    *number[i] += g_ascii_strtoull (word[i], NULL, 10);
}

static void
wrong_free (gpointer data)
{
  WrongSeed *wrong = data;

  g_free (wrong->rule);
  g_free (wrong->text);
  g_free (wrong);
}

void
seed_state_init (SeedState *self, guint64 first)
{
  *self = (SeedState){ .first = first,
                       .next = first,
                       .wrong = g_ptr_array_new_with_free_func (wrong_free),
                       .operators = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
}

void
seed_state_clear (SeedState *self)
{
  g_clear_pointer (&self->wrong, g_ptr_array_unref);
  g_clear_pointer (&self->operators, g_hash_table_unref);
}

void
seed_state_count_operator (SeedState *self, const char *name, guint n)
{
  n += GPOINTER_TO_UINT (g_hash_table_lookup (self->operators, name));
  g_hash_table_insert (self->operators, g_strdup (name), GUINT_TO_POINTER (n));
}

void
seed_state_add_wrong (SeedState *self, guint64 seed, const char *rule, const char *text)
{
  WrongSeed *wrong = g_new0 (WrongSeed, 1);

  wrong->seed = (guint32)seed;
  wrong->rule = g_strdup (rule);
  wrong->text = g_strdup (text);
  g_ptr_array_add (self->wrong, wrong);
}

gboolean
seed_state_read (SeedState *self, const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  guint64 first = G_MAXUINT64;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return TRUE;
  if (!g_file_get_contents (path, &text, NULL, error))
    return FALSE;
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_auto (GStrv) word = g_strsplit (lines[i], " ", 4);
      const guint n = g_strv_length (word);
      const guint64 number = n > 1 ? g_ascii_strtoull (word[1], NULL, 10) : 0;

      if (n == 2 && strcmp (word[0], "first") == 0)
        first = number;
      else if (n == 2 && strcmp (word[0], "next") == 0)
        self->next = number;
      else if (n == 2 && strcmp (word[0], "graphs") == 0)
        self->n_graphs = number;
      else if (n == 2 && strcmp (word[0], "refused") == 0)
        self->n_refused = number;
      else if (n == 2 && strcmp (word[0], "plans") == 0)
        self->n_plans = number;
      else if (n == 4 && strcmp (word[0], "pieces") == 0)
        {
          g_auto (GStrv) numbers = g_strsplit (lines[i] + strlen ("pieces "), " ", -1);

          check_pieces_read (numbers, &self->pieces);
        }
      else if (n == 4 && strcmp (word[0], "wrong") == 0)
        seed_state_add_wrong (self, number, word[2], word[3]);
      else if (n == 3 && strcmp (word[0], "operator") == 0)
        seed_state_count_operator (self, word[2], (guint)number);
    }
  if (first == self->first)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
               "%s is the state of other seeds: it begins at %" G_GUINT64_FORMAT ". Remove it or name another file.",
               path, first);
  return FALSE;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (a, b);
}

gboolean
seed_state_write (const SeedState *self, const char *path, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GList) names = g_list_sort (g_hash_table_get_keys (self->operators), compare_names);

  g_string_append_printf (text,
                          "first %" G_GUINT64_FORMAT "\nnext %" G_GUINT64_FORMAT "\ngraphs %" G_GUINT64_FORMAT
                          "\nrefused %" G_GUINT64_FORMAT "\nplans %" G_GUINT64_FORMAT "\npieces " PIECES "\n",
                          self->first, self->next, self->n_graphs, self->n_refused, self->n_plans,
                          PIECES_OF (self->pieces));
  for (guint i = 0; i < self->wrong->len; i++)
    {
      const WrongSeed *wrong = g_ptr_array_index (self->wrong, i);

      g_string_append_printf (text, "wrong %u %s %s\n", wrong->seed, wrong->rule, wrong->text);
    }
  for (GList *at = names; at != NULL; at = at->next)
    g_string_append_printf (text, "operator %u %s\n",
                            GPOINTER_TO_UINT (g_hash_table_lookup (self->operators, at->data)), (char *)at->data);
  return g_file_set_contents (path, text->str, (gssize)text->len, error);
}

void
seed_state_add (SeedState *self, const SeedState *more)
{
  GHashTableIter iter;
  gpointer name, n;

  self->next = more->next;
  self->n_graphs += more->n_graphs;
  self->n_refused += more->n_refused;
  self->n_plans += more->n_plans;
  check_pieces_add (&self->pieces, &more->pieces);
  for (guint i = 0; i < more->wrong->len; i++)
    {
      const WrongSeed *wrong = g_ptr_array_index (more->wrong, i);

      seed_state_add_wrong (self, wrong->seed, wrong->rule, wrong->text);
    }
  g_hash_table_iter_init (&iter, more->operators);
  while (g_hash_table_iter_next (&iter, &name, &n))
    seed_state_count_operator (self, name, GPOINTER_TO_UINT (n));
}
