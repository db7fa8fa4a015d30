/* Numbers the labels of classes, in the order of the numbers or of the alphabet. */
#include "engine/data/loom-labels.h"

#include <string.h>

#include "engine/data/loom-dataset.h"

static gboolean
is_integer (const char *text)
{
  return g_ascii_string_to_signed (text, 10, -G_MAXINT32, G_MAXINT32, NULL, NULL);
}

/* Whole numbers by value, then other texts in alphabetical order. */
static int
compare_labels (gconstpointer a, gconstpointer b)
{
  const char *x = *(char *const *)a, *y = *(char *const *)b;

  if (is_integer (x) != is_integer (y))
    return is_integer (x) ? -1 : 1;
  if (is_integer (x))
    {
      const gint64 m = g_ascii_strtoll (x, NULL, 10), n = g_ascii_strtoll (y, NULL, 10);

      if (m != n)
        return m < n ? -1 : 1;
    }
  return strcmp (x, y);
}

/* The texts that occur among the labels, in order. (transfer full) */
static GPtrArray *
distinct_labels (const GPtrArray *labels)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < labels->len; i++)
    if (g_hash_table_add (seen, labels->pdata[i]))
      g_ptr_array_add (names, g_strdup (labels->pdata[i]));
  g_ptr_array_sort (names, compare_labels);
  return names;
}

/* TRUE if labels are used as class numbers: integers from 0 on. Large numbers are codes if most smaller numbers do not
 * occur, because most outputs of a net would have no sample. */
static gboolean
are_numbers (const GPtrArray *names)
{
  const char *last = names->pdata[names->len - 1];

  for (guint i = 0; i < names->len; i++)
    if (!g_ascii_string_to_signed (names->pdata[i], 10, 0, G_MAXINT32, NULL, NULL))
      return FALSE;
  return g_ascii_strtoll (last, NULL, 10) < loom_dataset_most_classes (names->len);
}

char **
loom_labels_number (const GPtrArray *labels, gint64 *numbers, gint64 *n_classes)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) names = distinct_labels (labels);
  const gboolean keeps = are_numbers (names);

  for (guint i = 0; i < names->len; i++)
    g_hash_table_insert (places, names->pdata[i],
                         GUINT_TO_POINTER (keeps ? (guint)g_ascii_strtoull (names->pdata[i], NULL, 10) : i));
  for (guint i = 0; i < labels->len; i++)
    numbers[i] = GPOINTER_TO_UINT (g_hash_table_lookup (places, labels->pdata[i]));
  *n_classes = keeps ? g_ascii_strtoll (names->pdata[names->len - 1], NULL, 10) + 1 : names->len;
  if (keeps)
    return NULL;
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}
