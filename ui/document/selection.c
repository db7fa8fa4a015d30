/* The selection as a list and a set of the same serials, because the canvas queries every card and wire in each frame.
 */
#include "ui/document/selection.h"

#include <string.h>

struct _Selection
{
  GArray *list;    /* guint64 */
  GHashTable *set; /* the same */
};

Selection *
selection_new (void)
{
  Selection *self = g_new0 (Selection, 1);

  self->list = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->set = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  return self;
}

void
selection_free (Selection *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->list);
  g_hash_table_unref (self->set);
  g_free (self);
}

guint
selection_n (const Selection *self)
{
  return self->list->len;
}

guint64
selection_get (const Selection *self, guint i)
{
  return i < self->list->len ? g_array_index (self->list, guint64, i) : 0;
}

gboolean
selection_has (const Selection *self, guint64 serial)
{
  /* Thousands of cards and wires are asked about while nothing is selected. */
  return self->list->len > 0 && g_hash_table_contains (self->set, &serial);
}

static void
add (Selection *self, guint64 serial)
{
  g_array_append_val (self->list, serial);
  g_hash_table_add (self->set, g_memdup2 (&serial, sizeof serial));
}

gboolean
selection_set (Selection *self, const guint64 *serials, guint n)
{
  if (n == self->list->len && (n == 0 || memcmp (serials, self->list->data, n * sizeof *serials) == 0))
    return FALSE;
  g_array_set_size (self->list, 0);
  g_hash_table_remove_all (self->set);
  for (guint i = 0; i < n; i++)
    add (self, serials[i]);
  return TRUE;
}

gboolean
selection_put (Selection *self, guint64 serial, gboolean selected)
{
  if (selected == selection_has (self, serial))
    return FALSE;
  if (selected)
    {
      add (self, serial);
      return TRUE;
    }
  for (guint i = self->list->len; i-- > 0;)
    if (g_array_index (self->list, guint64, i) == serial)
      g_array_remove_index (self->list, i);
  g_hash_table_remove (self->set, &serial);
  return TRUE;
}

gboolean
selection_prune (Selection *self, const LoomGraph *graph)
{
  gboolean pruned = FALSE;

  for (guint i = self->list->len; i-- > 0;)
    {
      const guint64 serial = g_array_index (self->list, guint64, i);

      if (loom_graph_by_serial (graph, serial) != NULL)
        continue;
      g_array_remove_index (self->list, i);
      g_hash_table_remove (self->set, &serial);
      pruned = TRUE;
    }
  return pruned;
}
