/* The fingerprint of a run: hashes of the properties that must be equal on all its ranks. */
#pragma once

#include "engine/train/progress.h"
#include "engine/train/train-data.h"

#define LOOM_TRAINER_N_PARTS 10
extern const char *const loom_trainer_parts[LOOM_TRAINER_N_PARTS]; /* names of the properties, for errors */
/* is_traced: the caller asks for the trace of a step. is_kept: the run has a folder. */
void run_fingerprint (const TrainModel *model, const TrainData *data, const TrainProgress *progress, gboolean is_traced,
                      gboolean is_kept, guint64 part[LOOM_TRAINER_N_PARTS]);
