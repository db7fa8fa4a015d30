/* Writes checkpoints: one folder each, complete or absent. run-state.h reads them.
 *
 * A checkpoint is written under another name, every file synchronised to the disk, and renamed, so that no two steps
 * can mix and a run killed at any moment finds the previous one. Besides the tensors of the state, resuming needs
 * state.json: the progress, the sums of the current epoch, and the length of events.jsonl, so that later events are cut
 * off and written again with the same numbers. */
#pragma once

#include "engine/train/run-folder.h"
#include "engine/train/run-state.h"

/* Times in µs. */
typedef struct
{
  RunState run;
  RunFolder *folder;
  const RankGroup *group;
  gboolean keeps; /* this rank or another writes the run */
  gint64 interval;
  void (*written) (gint64 step, const char *path, gpointer data); /* may be NULL */
  gpointer written_data;

  gboolean is_due;      /* one is to be written before the next step; set on rank 0 */
  gint64 last, cost;    /* when the last one was written, and the total time of writing */
  gint64 saved_step;    /* of the newest; 0: none */
  gint64 before_change; /* the newest when a number was changed during the run, which is kept; 0: none */
} Checkpoints;

/* Writes a checkpoint of the state between two steps. Ranks with shards of the state call it together. */
gboolean checkpoints_write (Checkpoints *self, const TrainProgress *progress, GError **error);
/* Writes the weights, or their moving averages if there are any, to a file in the run's folder, if there is one. */
gboolean checkpoints_write_weights (Checkpoints *self, const char *name, GError **error);
/* Removes the checkpoints of later steps of a run, which computes them again. IO. */
gboolean checkpoints_remove_after (const char *run, gint64 step, GError **error);
/* TRUE if this rank writes checkpoints or has shards for them. */
gboolean checkpoints_takes_part (const Checkpoints *self);
/* Call after a step at this time; returns is_due. */
gboolean checkpoints_note_time (Checkpoints *self, gint64 now);
/* TRUE if an epoch ends with a checkpoint: the first epochs do; later checkpoints may take at most a tenth of the time,
 * so that short epochs do not spend it on them. elapsed: since the run began. */
gboolean checkpoints_fit_epoch (const Checkpoints *self, gint64 elapsed);
