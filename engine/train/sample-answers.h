/* The net's current predictions for given samples, during a run, for pictures of the task.
 *
 * As for snapshots, a separate plan computes the prediction's port in evaluation mode over the run's state, so that
 * nothing is committed and no random number is drawn. It is cached for the last number of samples, because a picture
 * requests the same number repeatedly. If <train> keeps moving averages of the weights, they are used, as in
 * evaluations and in `gradloom predict`. */
#pragma once

#include "engine/infer/loom-answer.h"
#include "engine/train/watched-state.h"

typedef struct _SampleAnswers SampleAnswers;

/* PORT if the prediction's port is ambiguous, USAGE if it depends on no data. */
SampleAnswers *sample_answers_new (const TrainModel *model, WatchedState *watched, GError **error);
void sample_answers_free (SampleAnswers *self);
/* The values of the prediction's port for samples f32 [n, …] of the input's shape; SHAPE for others. others: if the
 * prediction depends on more ports, LoomNamedTensor f32 [n, …] by the port's name ("data.length"), else NULL; USAGE if
 * one is missing. (transfer full) */
LoomTensor *
sample_answers_compute (SampleAnswers *self, const LoomTensor *samples, const GPtrArray *others, GError **error);
/* A LoomAnswer for each of n samples, from such values. (transfer full) */
GPtrArray *sample_answers_list (const SampleAnswers *self, const LoomTensor *values, guint n, GError **error);
