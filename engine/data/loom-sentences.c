/* Sentences from files, for data sets of sentences in two languages: each line is cut into tokens and encoded by the
 * names of the classes, which may be those of a training run. */
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-vocabulary.h"

/* One line, which is not empty; it is not ended by 0. */
static gboolean
add_line (const LoomDataset *self, const LoomVocabulary *vocabulary, const char *name, const char *line, gsize length,
          gint64 row, GPtrArray *items, GError **error)
{
  const gint64 most = loom_dim_value (self->info.port[0].type.shape.dim[1], NULL);
  g_autofree char *text = self->lower_case ? g_utf8_strdown (line, (gssize)length) : g_strndup (line, length);
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree char *unknown = loom_vocabulary_encode (vocabulary, text, strlen (text), ids, NULL);
  gint64 n = ids->len;
  LoomTensor *t;

  if (unknown != NULL)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” line %" G_GINT64_FORMAT
                        " has “%s”, which does not occur in the training data of the net.",
                        name, row, unknown);
  if (n > most)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” line %" G_GINT64_FORMAT " has %" G_GINT64_FORMAT
                        " tokens, but the net reads at most %" G_GINT64_FORMAT ".",
                        name, row, n, most);
  if (n == 0)
    return TRUE;
  t = loom_tensor_new (LOOM_I64, 1, &n, error);
  if (t == NULL)
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    ((gint64 *)t->data)[i] = g_array_index (ids, guint32, i);
  loom_sample_item_add (items, t, row);
  return TRUE;
}

const char *
loom_dataset_answer_separator (const LoomDataset *self)
{
  const char *separator = self->answer_separator != NULL ? self->answer_separator : self->separator;

  return separator != NULL ? separator : "";
}

gboolean
loom_sentences_parse (const LoomDataset *self, const char *name, char *text, gsize length, GPtrArray *items,
                      GError **error)
{
  const LoomTextUnit unit = self->separator != NULL && *self->separator != '\0' ? LOOM_TEXT_WORD : LOOM_TEXT_CHARACTER;
  g_autoptr (LoomVocabulary) vocabulary = loom_vocabulary_new_named (unit, (const char *const *)self->class_names);
  const char *end = text + length;
  gint64 row = 0;

  for (const char *line = text; line < end;)
    {
      const char *stop = memchr (line, '\n', (gsize)(end - line));
      gsize n;

      stop = stop != NULL ? stop : end;
      n = (gsize)(stop - line);
      while (n > 0 && line[n - 1] == '\r')
        n--;
      if (!add_line (self, vocabulary, name, line, n, ++row, items, error))
        return FALSE;
      line = stop + 1;
    }
  return TRUE;
}
