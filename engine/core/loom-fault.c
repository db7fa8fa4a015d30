/* The list of faults, their wording, and the nearest word for "did you mean". */
#include "engine/core/loom-fault.h"

#include <string.h>

static void
fault_free (gpointer data)
{
  LoomFault *fault = data;

  g_free (fault->node);
  g_free (fault->port);
  g_free (fault->message);
  g_free (fault->fix);
  g_free (fault->fix_attribute);
  g_free (fault->fix_value);
  g_free (fault);
}

LoomFaults *
loom_faults_new (void)
{
  LoomFaults *faults = g_new0 (LoomFaults, 1);

  faults->items = g_ptr_array_new_with_free_func (fault_free);
  return faults;
}

void
loom_faults_free (LoomFaults *faults)
{
  if (faults == NULL)
    return;
  g_ptr_array_unref (faults->items);
  g_free (faults);
}

LoomFault *
loom_faults_add (LoomFaults *faults, LoomErrorCode code, int line, const char *node, const char *port,
                 const char *format, ...)
{
  LoomFault *fault;
  va_list args;

  g_return_val_if_fail (faults != NULL && format != NULL, NULL);

  fault = g_new0 (LoomFault, 1);
  fault->code = code;
  fault->line = line;
  fault->node = g_strdup (node);
  fault->port = g_strdup (port);
  va_start (args, format);
  fault->message = g_strdup_vprintf (format, args);
  va_end (args);
  g_ptr_array_add (faults->items, fault);
  return fault;
}

void
loom_fault_set_fix (LoomFault *fault, const char *attribute, const char *value, const char *format, ...)
{
  va_list args;

  g_return_if_fail (fault != NULL && format != NULL);

  g_free (fault->fix);
  va_start (args, format);
  fault->fix = g_strdup_vprintf (format, args);
  va_end (args);
  g_free (fault->fix_attribute);
  fault->fix_attribute = g_strdup (attribute);
  g_free (fault->fix_value);
  fault->fix_value = g_strdup (value);
}

guint
loom_faults_count (const LoomFaults *faults)
{
  guint n = 0;

  for (guint i = 0; i < faults->items->len; i++)
    n += !loom_faults_get (faults, i)->is_warning;
  return n;
}

guint
loom_faults_length (const LoomFaults *faults)
{
  return faults->items->len;
}

const LoomFault *
loom_faults_get (const LoomFaults *faults, guint i)
{
  g_return_val_if_fail (i < faults->items->len, NULL);

  return g_ptr_array_index (faults->items, i);
}

char *
loom_fault_to_string (const LoomFault *fault)
{
  GString *text = g_string_new (NULL);

  if (fault->line > 0)
    g_string_append_printf (text, "line %d: ", fault->line);
  if (fault->is_warning)
    g_string_append (text, "warning: ");
  if (fault->node != NULL)
    g_string_append_printf (text, "node %s", fault->node);
  if (fault->port != NULL)
    g_string_append_printf (text, "%s%s", fault->node != NULL ? ", " : "", fault->port);
  if (fault->node != NULL || fault->port != NULL)
    g_string_append (text, ": ");
  g_string_append (text, fault->message);
  if (fault->fix != NULL)
    g_string_append_printf (text, " %s", fault->fix);
  return g_string_free (text, FALSE);
}

gboolean
loom_faults_to_error (const LoomFaults *faults, const char *file, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const LoomFault *first = NULL;

  for (guint i = 0; i < faults->items->len; i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      g_autofree char *sentence = NULL;

      if (fault->is_warning)
        continue;
      if (first == NULL)
        first = fault;
      else
        g_string_append_c (text, '\n');
      sentence = loom_fault_to_string (fault);
      if (file != NULL)
        g_string_append_printf (text, "%s: ", file);
      g_string_append (text, sentence);
    }
  if (first == NULL)
    return TRUE;
  g_set_error_literal (error, LOOM_ERROR, first->code, text->str);
  return FALSE;
}

#define LONGEST_WORD 63

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b,
 * letter case aside (restricted Damerau-Levenshtein distance). */
static guint
edit_distance (const char *a, gsize na, const char *b, gsize nb)
{
  guint row[3][LONGEST_WORD + 1];
  guint *before = row[0], *above = row[1], *now = row[2];

  for (gsize j = 0; j <= nb; j++)
    now[j] = j;
  for (gsize i = 1; i <= na; i++)
    {
      guint *spare = before;

      before = above;
      above = now;
      now = spare;
      now[0] = i;
      for (gsize j = 1; j <= nb; j++)
        {
          char ca = g_ascii_tolower (a[i - 1]), cb = g_ascii_tolower (b[j - 1]);
          guint best = above[j - 1] + (ca != cb);

          best = MIN (best, MIN (above[j], now[j - 1]) + 1);
          if (i > 1 && j > 1 && ca == g_ascii_tolower (b[j - 2]) && cb == g_ascii_tolower (a[i - 2]))
            best = MIN (best, before[j - 2] + 1);
          now[j] = best;
        }
    }
  return now[nb];
}

const char *
loom_nearest (const char *word, const char *const *candidates)
{
  const char *nearest = NULL;
  gsize length;
  guint limit;

  g_return_val_if_fail (word != NULL && candidates != NULL, NULL);

  length = strlen (word);
  if (length > LONGEST_WORD)
    return NULL;
  /* A third of the word may be wrong; beyond that a suggestion only confuses. */
  limit = MIN ((length + 2) / 3, MAX (length, 1) - 1);
  for (gsize i = 0; candidates[i] != NULL; i++)
    {
      gsize n = strlen (candidates[i]);
      guint distance;

      if (n > LONGEST_WORD)
        continue;
      distance = edit_distance (word, length, candidates[i], n);
      /* Only a strictly better one displaces, so ties go to the first listed. */
      if (nearest == NULL ? distance <= limit : distance < limit)
        {
          nearest = candidates[i];
          limit = distance;
        }
    }
  return nearest;
}
