/* The history of a run in its folder: packed states, by which it goes back to any of its steps.
 *
 * history.h chooses the steps. A state is packed against an earlier one, its base (state-pack.h), and takes the fewer
 * bytes the closer that is. Every 32nd state is packed alone; the others form a binary tree: the base of the nth is the
 * one whose number is n without its lowest bit. So most bases are one or two states away, and no state needs more than
 * five others. An extra state is the base of no other one, and neither is the first. Space is made before a state is
 * written, so that the folder is within its budget at any moment. */
#pragma once

#include "engine/train/history.h"
#include "engine/train/run-folder.h"
#include "engine/train/run-state.h"
#include "engine/train/train-notes.h"

/* A state that others are packed against. */
typedef struct
{
  gint64 step;
  guint number;     /* in its tree */
  GPtrArray *value; /* LoomTensor by slot */
} StateBase;

#define HISTORY_LEVELS 5 /* of a tree */

typedef struct
{
  RunState run;
  RunFolder *folder;
  const RankGroup *group;
  TrainNotes *notes;

  History history;                /* the caller sets its budget */
  StateBase base[HISTORY_LEVELS]; /* of the tree, that are in memory: each is packed against the one before it */
  guint n_bases;
  guint number; /* of the next state in the tree */
  gboolean is_described;
} FolderHistory;

void folder_history_init (FolderHistory *self);
void folder_history_clear (FolderHistory *self);
/* Call when a run begins, after `step` steps: history of later steps is removed, and that of this one is written. An
 * error ends the history, and not the run; so does one of the next function. */
void folder_history_begin (FolderHistory *self, const TrainProgress *progress);
/* Writes the state between two steps, if it is wanted. */
void folder_history_write (FolderHistory *self, const TrainProgress *progress);
