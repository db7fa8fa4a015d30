/* The history as a list: two stacks of steps, read as one. */
#include "ui/document/studio-document-history.h"

#include <glib/gi18n.h>

#include "ui/document/studio-document-private.h"

/* The step that leads to this entry. */
static StudioStep *
step_at (StudioDocument *self, guint position)
{
  guint done = self->undo->len;

  return position <= done ? g_ptr_array_index (self->undo, position - 1)
                          : g_ptr_array_index (self->redo, self->redo->len - (position - done));
}

guint
studio_document_n_history (StudioDocument *self)
{
  return 1 + self->undo->len + self->redo->len;
}

guint
studio_document_history_position (StudioDocument *self)
{
  return self->undo->len;
}

guint64
studio_document_last_step (StudioDocument *self)
{
  return self->undo->len > 0 ? step_at (self, self->undo->len)->id : 0;
}

StudioHistoryEntry
studio_document_history_entry (StudioDocument *self, guint position)
{
  const StudioStep *step;

  g_return_val_if_fail (position < studio_document_n_history (self), (StudioHistoryEntry){ 0 });
  if (position == 0)
    return (StudioHistoryEntry){ self->begun_with, self->begun, self->saved_step == 0 && self->path != NULL };
  step = step_at (self, position);
  return (StudioHistoryEntry){ step->name, step->made, step->id == self->saved_step };
}

LoomGraph *
studio_document_graph_at (StudioDocument *self, guint position)
{
  LoomGraph *graph = loom_graph_copy (self->graph);
  gboolean back = position < self->undo->len;

  g_return_val_if_fail (position < studio_document_n_history (self), graph);
  for (guint at = self->undo->len; at != position; at += back ? -1 : 1)
    {
      const StudioStep *step = step_at (self, back ? at : at + 1);

      for (guint i = step->inverses->len; i-- > 0;)
        loom_edit_free (loom_graph_apply (graph, loom_edit_copy (step->inverses->pdata[i])));
    }
  return graph;
}

guint
studio_document_begin_history (StudioDocument *self, const char *path)
{
  guint before = studio_document_n_history (self);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;

  g_ptr_array_set_size (self->undo, 0);
  g_ptr_array_set_size (self->redo, 0);
  studio_document_end_merge (self);
  g_free (self->begun_with);
  self->begun_with = name != NULL ? g_strdup_printf (_ ("Open %s"), name) : g_strdup (_ ("Begin"));
  self->begun = g_get_real_time ();
  self->saved_step = 0;
  return before;
}
