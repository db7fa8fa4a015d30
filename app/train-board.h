/* Writes a run's events for TensorBoard while `gradloom train` trains: what is written when.
 *
 * Scalars are written as they are reported; histograms and pictures are snapshots between two steps, about 50 in a run,
 * because each costs a pass over a small batch. */
#pragma once

#include "app/shared/command.h"

typedef struct _TrainBoard TrainBoard;

#define TRAIN_BOARD_FOLDER "tensorboard"

/* path: of the folder, or NULL for one in the run's folder, run. Writes the graph. Errors: IO. */
TrainBoard *train_board_new (LoomTrainer *trainer, const char *path, const char *run, GError **error);
void train_board_free (TrainBoard *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TrainBoard, train_board_free)

/* In the observer of a run, on its thread. After the first error nothing more is written. self may be NULL. */
void train_board_step (TrainBoard *self, const LoomTrainerStep *step);
void train_board_eval (TrainBoard *self, const LoomTrainerEval *eval);
/* Writes the snapshot of the last step and returns the first error, which did not end the run; FALSE then. */
gboolean train_board_end (TrainBoard *self, GError **error);
