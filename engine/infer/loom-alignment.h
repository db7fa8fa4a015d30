/* The labels that a net trained with ctc_loss has found, by greedy decoding. */
#pragma once

#include "engine/infer/loom-answer.h"

/* Returns a LoomAnswer for each of n samples, with a position for each label, of which there may be none. Of the
 * likeliest class of each step, repetitions are one label, and blanks are none (Graves et al. 2006, section 3.2, best
 * path). A label's probabilities are those of its likeliest step. t: logarithms of probabilities [steps, n, classes].
 * SHAPE if it has another form. */
GPtrArray *loom_answers_new_aligned (const LoomTensor *t, const char *name, gint64 blank, guint n, GError **error);
