/* The message of rank 0 to the other ranks between two steps. */
#include "engine/train/agreement.h"

#define NAME_BYTES 240

typedef struct
{
  AgreedStep step;
  gint32 more; /* another message follows */
  gint32 together;
  double value;
  char name[NAME_BYTES]; /* "": no value */
} Word;

void
agreement_clear (Agreement *self)
{
  g_clear_pointer (&self->values, g_array_unref);
}

void
agreement_note_value (Agreement *self, const char *name, double value, gboolean together)
{
  Word word = { .value = value, .together = together };

  if (self->group->comm == NULL || !rank_group_is_first (self->group))
    return;
  if (self->values == NULL)
    self->values = g_array_new (FALSE, FALSE, sizeof (Word));
  g_strlcpy (word.name, name, sizeof word.name);
  g_array_append_val (self->values, word);
}

gboolean
agreement_has_values (const Agreement *self)
{
  return self->values != NULL && self->values->len > 0;
}

gboolean
agreement_pass_on (Agreement *self, AgreedStep *step,
                   gboolean (*set) (const char *name, double value, gpointer data, GError **error), gpointer data,
                   GError **error)
{
  Word word = { 0 };

  do
    {
      if (rank_group_is_first (self->group))
        {
          const guint waiting = self->values != NULL ? self->values->len : 0;

          word = waiting > 0 ? g_array_index (self->values, Word, 0) : (Word){ 0 };
          if (waiting > 0)
            g_array_remove_index (self->values, 0);
          word.step = *step;
          word.more = waiting > 1;
        }
      if (!rank_group_broadcast (self->group, &word, sizeof word, error))
        return FALSE;
      if ((word.together || !rank_group_is_first (self->group)) && word.name[0] != '\0'
          && !set (word.name, word.value, data, error))
        return FALSE;
    }
  while (word.more);
  *step = word.step;
  return TRUE;
}
