/* The net's present answers for samples of the caller's own, while a run continues: what a picture of the task is made
 * of.
 *
 * As for snapshots, a plan of its own computes the answering port in evaluation mode over the run's state, so that
 * nothing is committed and no random number is drawn. It is kept for the last number of samples, because a picture
 * requests the same number again and again. If <train> keeps moving averages of the weights, they are used, as in
 * evaluations and in `gradloom predict`. */
#pragma once

#include "engine/infer/loom-answer.h"
#include "engine/train/watched-state.h"

G_BEGIN_DECLS

typedef struct _SampleAnswers SampleAnswers;

/* PORT if it is not clear which port answers, or what it depends on. */
SampleAnswers *sample_answers_new (const TrainModel *model, WatchedState *watched, GError **error);
void sample_answers_free (SampleAnswers *self);
/* The values of the answering port for samples f32 [n, …] of the input's shape; SHAPE for others. (transfer full) */
LoomTensor *sample_answers_compute (SampleAnswers *self, const LoomTensor *samples, GError **error);
/* LoomAnswer for each of n samples, of such values. (transfer full) */
GPtrArray *sample_answers_list (const SampleAnswers *self, const LoomTensor *values, guint n, GError **error);

G_END_DECLS
