/* The history of a document: steps done since it was opened, and undone steps that can be redone.
 *
 * Entry 0 is the graph as it was opened, entry i the graph after the i-th step. One of them is current; later ones were
 * undone. Signal "history-changed" reports new entries, "changed" that another entry may be current. */
#pragma once

#include "ui/document/studio-document.h"

typedef struct
{
  const char *name;  /* "Set out_features of fc"; valid until the next "history-changed" */
  gint64 time;       /* microseconds since 1970 */
  gboolean is_saved; /* the file was last written with this content */
} StudioHistoryEntry;

/* The number of steps, done and undone, plus 1. */
guint studio_document_n_history (StudioDocument *self);
/* The current entry: the number of steps that can be undone. */
guint studio_document_history_position (StudioDocument *self);
/* Describes the entry at position, which must exist. */
StudioHistoryEntry studio_document_history_entry (StudioDocument *self, guint position);
/* Undoes or redoes until the entry is current, and emits signals once. FALSE if it is current already, does not exist,
 * or a transaction is open. */
gboolean studio_document_jump (StudioDocument *self, guint position);
/* A copy of the graph at that entry (transfer full), to which the steps in between were applied. */
LoomGraph *studio_document_graph_at (StudioDocument *self, guint position);

/* Resets the history for a graph that was opened from path, or created (NULL). Returns the former number of entries;
 * the caller emits "history-changed" when the whole document belongs to the new graph. */
guint studio_document_begin_history (StudioDocument *self, const char *path);
