/* The history of a run in its folder: packed states, by which it goes back to any of its steps.
 *
 * history.h chooses the steps. A state is packed against the latest base (state-pack.h), which is packed alone; every
 * 16th state is the next base, so that none depends on more than one other. Space is made before a state is written, so
 * that the folder is within its budget at any moment. */
#pragma once

#include "engine/train/history.h"
#include "engine/train/run-folder.h"
#include "engine/train/run-state.h"
#include "engine/train/train-notes.h"

G_BEGIN_DECLS

/* A state that others are packed against. */
typedef struct
{
  gint64 step;      /* -1: none */
  GPtrArray *value; /* LoomTensor by slot */
} StateBase;

typedef struct
{
  RunState run;
  RunFolder *folder;
  const RankGroup *group;
  TrainNotes *notes;

  History history; /* the caller sets its budget */
  StateBase base;  /* the latest one */
  StateBase read;  /* the last one that was read for a state with another base */
  guint n_packed;  /* against the latest one */
  gboolean is_described;
} FolderHistory;

void folder_history_init (FolderHistory *self);
void folder_history_clear (FolderHistory *self);
/* Call when a run begins, after `step` steps: history of later steps is removed, and that of this one is written. An
 * error ends the history, and not the run; so does one of the next function. */
void folder_history_begin (FolderHistory *self, const TrainProgress *progress);
/* Writes the state between two steps, if it is wanted. */
void folder_history_write (FolderHistory *self, const TrainProgress *progress);
/* The base after a step, of the history in the run's folder; NULL: it cannot be read. */
const StateBase *folder_history_find_base (FolderHistory *self, gint64 step);

G_END_DECLS
