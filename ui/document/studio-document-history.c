/* The history of a document as a list: its log, and the entry that is saved in the file. */
#include "ui/document/studio-document-history.h"

#include <glib/gi18n.h>

#include "ui/document/studio-document-private.h"

guint
studio_document_n_history (StudioDocument *self)
{
  return 1 + undo_log_n_done (self->log) + undo_log_n_undone (self->log);
}

guint
studio_document_history_position (StudioDocument *self)
{
  return undo_log_n_done (self->log);
}

StudioHistoryEntry
studio_document_history_entry (StudioDocument *self, guint position)
{
  const UndoLogEntry entry = undo_log_entry (self->log, position);
  return (StudioHistoryEntry){ entry.name, entry.time,
                               entry.step == self->saved_step && (position > 0 || self->path != NULL) };
}

LoomGraph *
studio_document_graph_at (StudioDocument *self, guint position)
{
  return undo_log_graph_at (self->log, self->graph, position);
}

guint
studio_document_begin_history (StudioDocument *self, const char *path)
{
  g_autofree char *file = path != NULL ? g_path_get_basename (path) : NULL;
  g_autofree char *name = file != NULL ? g_strdup_printf (_ ("Open %s"), file) : g_strdup (_ ("Begin"));
  self->saved_step = 0;
  selection_history_clear (self->selected_then);
  return undo_log_reset (self->log, name);
}
