/* Transactions, and the steps that they become: the undo log of a graph, without a document.
 *
 * Undo keeps inverse edits instead of copies of the graph, so a step costs what it changed. Undone steps are on a
 * second stack; both together are the history, whose entry 0 is the graph as it was opened and entry i the graph after
 * the i-th step. The owner applies edits. */
#pragma once

#include "engine/loom.h"

/* Applies an edit (transfer full) to the graph and returns its inverse (transfer full). */
typedef LoomEdit *(*UndoLogApply) (LoomEdit *edit, gpointer data);

typedef struct _UndoLog UndoLog;

UndoLog *undo_log_new (UndoLogApply apply, gpointer data);
void undo_log_free (UndoLog *self);
/* Clears the log for a graph that was just opened; name: of entry 0. Returns the former number of entries. */
guint undo_log_reset (UndoLog *self, const char *begun_with);

/* ---- transactions ---------------------------------------------------------- */

/* Transactions nest; the outermost one names the step. */
void undo_log_begin (UndoLog *self, const char *name);
/* Only inside a transaction. */
void undo_log_edit (UndoLog *self, LoomEdit *edit);
guint undo_log_depth (const UndoLog *self);
/* The open transaction is merged with the last step if both have this key and merging was not ended in between. A pause
 * does not end a visit. Only inside a transaction. */
void undo_log_merge (UndoLog *self, const char *key, gboolean is_visit);
/* Ends merging: no later transaction is merged with the last step. */
void undo_log_end_merge (UndoLog *self);

/* The changes at the end of the outermost transaction. */
typedef struct
{
  guint64 step;             /* its id, or that of the step that it was merged with; 0: no edits */
  guint position;           /* of the new entry */
  guint n_removed, n_added; /* numbers of entries there, as in GListModel's "items-changed" */
} UndoLogChange;

/* FALSE if an outer transaction is still open. */
gboolean undo_log_end (UndoLog *self, UndoLogChange *change);
/* Reverts all edits of the open transaction, at any depth, and ends it. */
void undo_log_cancel (UndoLog *self);
/* The name of the open transaction or, after undo_log_end(), of the last step; valid until it changes. */
const char *undo_log_name (const UndoLog *self);

/* ---- undo ------------------------------------------------------------------ */

/* Undoes the last step, or redoes the last one that was undone. Returns its id; 0: there is none, or a transaction is
 * open. */
guint64 undo_log_undo (UndoLog *self);
guint64 undo_log_redo (UndoLog *self);
const char *undo_log_undo_name (const UndoLog *self); /* NULL: nothing to undo */
const char *undo_log_redo_name (const UndoLog *self);
/* Merges all steps after the first n into one with the name of the first of them. Calls `folded` with the id of each
 * removed step and of the one that stays. FALSE: there is at most one. */
typedef void (*UndoLogFolded) (guint64 gone, guint64 into, gpointer data);
gboolean undo_log_fold (UndoLog *self, guint n, UndoLogFolded folded, gpointer data);

/* ---- history --------------------------------------------------------------- */

guint undo_log_n_done (const UndoLog *self); /* steps that can be undone */
guint undo_log_n_undone (const UndoLog *self);
/* The id of the n-th step that can be undone. */
guint64 undo_log_step (const UndoLog *self, guint n);
guint64 undo_log_last_step (const UndoLog *self); /* 0: none */

typedef struct
{
  guint64 step;     /* 0: of entry 0 */
  const char *name; /* valid until the next change */
  gint64 time;      /* microseconds since 1970 */
} UndoLogEntry;

/* position < 1 + done + undone. */
UndoLogEntry undo_log_entry (const UndoLog *self, guint position);
/* A copy of the current graph, transformed to the state at that entry (transfer full). */
LoomGraph *undo_log_graph_at (const UndoLog *self, const LoomGraph *graph, guint position);
