/* The samples of a run's evaluations, kept in its folder next to the counts of loom-evaluation-history.h, so that a
 * cell of an earlier confusion matrix shows its samples.
 *
 * A file evaluated/SPLIT-STEP.safetensors has one tensor, "samples", f64 [n,5]: index, target, predicted, probability,
 * loss. */
#pragma once

#include "engine/infer/loom-evaluation.h"

#define LOOM_RUN_EVALUATED "evaluated"
/* Samples of more than 16 MB are not kept, and of all evaluations the newest 64 MB. */
#define LOOM_EVALUATED_MOST_BYTES     16000000
#define LOOM_EVALUATED_MOST_ALL_BYTES 64000000

/* Keeps the samples of an evaluation of classes, unless they are too many. Removes files of the earliest steps if there
 * are too many bytes. Errors: IO. */
gboolean
loom_evaluation_samples_add (const char *folder, const LoomEvaluation *evaluation, gint64 step, GError **error);
/* An evaluation that has samples alone. Errors: IO if there are none of this step; DATA if the file is damaged. */
LoomEvaluation *loom_evaluation_samples_read (const char *folder, LoomSplit split, gint64 step, GError **error);
