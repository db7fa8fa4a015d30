/* Writes checkpoints: one folder each, whole or absent. run-state.h reads them.
 *
 * A checkpoint is written under another name, every file forced to the disk, and renamed, so that no two steps can mix
 * and a run killed at any moment finds the one before. What resuming needs in addition to the state's tensors is in
 * state.json: the progress, the sums of the running epoch, and the length of events.jsonl, so that the events after it
 * are cut away and written again with the same numbers. */
#pragma once

#include "engine/train/run-folder.h"
#include "engine/train/run-state.h"

G_BEGIN_DECLS

/* Times in µs. */
typedef struct
{
  RunState run;
  RunFolder *folder;
  const RankGroup *group;
  gboolean keeps; /* the run is written, by this rank or another */
  gint64 interval;
  void (*written) (gint64 step, const char *path, gpointer data); /* may be NULL */
  gpointer written_data;

  gboolean is_due;   /* one is to be written before the next step; of ranks, on rank 0 */
  gint64 last, cost; /* when the last one was written, and the time that all took */
  gint64 saved_step; /* of the newest; 0 if there is none */
} Checkpoints;

/* Writes one for the state between two steps. Ranks with parts of the state call it together. */
gboolean checkpoints_write (Checkpoints *self, const TrainProgress *progress, GError **error);
/* The weights, or their moving averages if there are some, as a file of the run's folder, if it has one. */
gboolean checkpoints_write_weights (Checkpoints *self, const char *name, GError **error);
/* TRUE if a checkpoint is written by this rank, or with parts of the state that it has. */
gboolean checkpoints_takes_part (const Checkpoints *self);
/* A step is over at this time; returns is_due. */
gboolean checkpoints_note_time (Checkpoints *self, gint64 now);
/* The first epochs may end with a checkpoint each. Then a tenth of the time may be spent on them at most, so that
 * epochs of a few milliseconds do not spend theirs on it. elapsed: since the run began. */
gboolean checkpoints_fit_epoch (const Checkpoints *self, gint64 elapsed);

G_END_DECLS
