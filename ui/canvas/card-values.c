#include "ui/canvas/card-values.h"

struct _CardValues
{
  GHashTable *texts;    /* path → text */
  GHashTable *words;    /* path → words for screen readers */
  GHashTable *progress; /* path → double * */
};

CardValues *
card_values_new (void)
{
  CardValues *self = g_new0 (CardValues, 1);

  self->texts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->words = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->progress = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return self;
}

void
card_values_free (CardValues *self)
{
  g_hash_table_unref (self->texts);
  g_hash_table_unref (self->words);
  g_hash_table_unref (self->progress);
  g_free (self);
}

static gboolean
set (GHashTable *table, const char *path, const char *text)
{
  if (g_strcmp0 (g_hash_table_lookup (table, path), text) == 0)
    return FALSE;
  if (text != NULL)
    g_hash_table_replace (table, g_strdup (path), g_strdup (text));
  else
    g_hash_table_remove (table, path);
  return TRUE;
}

gboolean
card_values_are_empty (const CardValues *self)
{
  return g_hash_table_size (self->texts) == 0 && g_hash_table_size (self->words) == 0;
}

gboolean
card_values_set_text (CardValues *self, const char *path, const char *text)
{
  return set (self->texts, path, text);
}

gboolean
card_values_set_words (CardValues *self, const char *path, const char *words)
{
  return set (self->words, path, words);
}

gboolean
card_values_set_progress (CardValues *self, const char *path, double fraction)
{
  double shown = MIN (fraction, 1);

  if (fraction < 0)
    return g_hash_table_remove (self->progress, path);
  g_hash_table_replace (self->progress, g_strdup (path), g_memdup2 (&shown, sizeof shown));
  return TRUE;
}

const char *
card_values_get_text (const CardValues *self, const char *path)
{
  return g_hash_table_size (self->texts) > 0 ? g_hash_table_lookup (self->texts, path) : NULL;
}

const char *
card_values_get_words (const CardValues *self, const char *path)
{
  return g_hash_table_size (self->words) > 0 ? g_hash_table_lookup (self->words, path) : NULL;
}

const double *
card_values_get_progress (const CardValues *self, const char *path)
{
  return g_hash_table_lookup (self->progress, path);
}
