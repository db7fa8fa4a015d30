/* state.json of a checkpoint: the progress between two steps, and all data that is in no slot of the state. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/train/learning-rates.h"

#define RUN_STATE_VERSION 1

/* Identifies the run. */
typedef struct
{
  const TrainModel *model;
  TrainData *data;
  const LearningRates *rates;
  const StepPlan *plan; /* of the full step */
} RunState;

/* (transfer full) DEVICE or OUT_OF_MEMORY if a hyper-parameter cannot be read. */
char *run_state_to_text (const RunState *self, const TrainProgress *progress, gint64 events_length, GError **error);
/* Reads the newest valid checkpoint of the run in a folder: state.json is checked completely before anything changes,
 * then weights and optimiser are loaded. A damaged checkpoint is skipped with a note. If there is none, the run begins
 * again, and progress stays as it is. last: of step `last` or before; 0: any. DATA if none of them is valid. */
gboolean run_state_restore (const RunState *self, const char *folder, gint64 last, TrainProgress *progress,
                            gint64 *events_length, TrainNotes *notes, GError **error);

/* Sets the progress to that of run_state_to_text(), without the state. DATA. */
gboolean run_state_from_text (const RunState *self, const char *text, TrainProgress *progress, GError **error);

/* Loads the nearest valid checkpoint after step `after`, and at or before step `last`, from the checkpoints and the
 * history of the run in a folder, without notes. *found: FALSE if there is none, and then nothing has changed. DATA if
 * none of them is valid.
 */
gboolean run_state_restore_near (const RunState *self, LoomFolder *run, gint64 after, gint64 last,
                                 TrainProgress *progress, gboolean *found, GError **error);
