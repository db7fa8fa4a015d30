/* The history of a document: what was done since it was opened, and what was undone and may come back.
 *
 * Entry 0 is the graph as it was opened, entry i what it was after the i-th step. One of them is present; those behind
 * it were undone. Signal "history-changed" tells which entries are new, "changed" that another may be present. */
#pragma once

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

typedef struct
{
  const char *name;  /* "Set out_features of fc"; valid until the next "history-changed" */
  gint64 time;       /* microseconds since 1970 */
  gboolean is_saved; /* the file was last written with this content */
} StudioHistoryEntry;

/* One more than there are steps, done and undone. */
guint studio_document_n_history (StudioDocument *self);
/* The present entry: how many steps can be undone. */
guint studio_document_history_position (StudioDocument *self);
/* Of the entry at position, which must be there. */
StudioHistoryEntry studio_document_history_entry (StudioDocument *self, guint position);
/* Undoes or redoes until the entry is present, and tells once. FALSE where it is already, where there is none, or
 * within a transaction. */
gboolean studio_document_jump (StudioDocument *self, guint position);
/* The graph as it is, was or would be at that entry (transfer full): a copy, on which the steps between are tried. */
LoomGraph *studio_document_graph_at (StudioDocument *self, guint position);

/* Begins anew for a graph that was opened from path, or made (NULL). Returns how many entries there were; who calls it
 * tells of that ("history-changed") when all of the document is of the new graph. */
guint studio_document_begin_history (StudioDocument *self, const char *path);

G_END_DECLS
