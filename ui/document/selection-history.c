/* Arrays of serials by the ids of steps. */
#include "ui/document/selection-history.h"

struct _SelectionHistory
{
  GHashTable *by_step; /* guint64 → GArray of guint64 */
  GArray *begun;       /* of the open transaction; NULL: none */
};

static void
array_free (gpointer array)
{
  g_array_unref (array);
}

static GArray *
copy_of (const Selection *selection)
{
  GArray *serials = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; i < selection_n (selection); i++)
    {
      const guint64 serial = selection_get (selection, i);

      g_array_append_val (serials, serial);
    }
  return serials;
}

SelectionHistory *
selection_history_new (void)
{
  SelectionHistory *self = g_new0 (SelectionHistory, 1);

  self->by_step = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, array_free);
  return self;
}

void
selection_history_free (SelectionHistory *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->by_step);
  g_clear_pointer (&self->begun, g_array_unref);
  g_free (self);
}

void
selection_history_clear (SelectionHistory *self)
{
  g_hash_table_remove_all (self->by_step);
}

static void
put (SelectionHistory *self, guint64 step, GArray *serials)
{
  g_hash_table_replace (self->by_step, g_memdup2 (&step, sizeof step), serials);
}

void
selection_history_begin (SelectionHistory *self, const Selection *selection)
{
  g_clear_pointer (&self->begun, g_array_unref);
  self->begun = copy_of (selection);
}

void
selection_history_end (SelectionHistory *self, guint64 step)
{
  if (self->begun != NULL && !g_hash_table_contains (self->by_step, &step))
    put (self, step, g_steal_pointer (&self->begun));
}

void
selection_history_fold (SelectionHistory *self, guint64 gone)
{
  g_hash_table_remove (self->by_step, &gone);
}

const GArray *
selection_history_get (const SelectionHistory *self, guint64 step)
{
  return g_hash_table_lookup (self->by_step, &step);
}

void
selection_history_cross (SelectionHistory *self, guint64 step, const Selection *selection)
{
  put (self, step, copy_of (selection));
}
