/* The terms of a loss, and what each of them is a mean over.
 *
 * A loss that is a mean over its samples is put together from those of several batches by the sizes of the batches. A
 * mean over targets that count (cross_entropy's ignore_index, weights of classes, a mask) is not: the batches differ in
 * what they count, and one may count nothing. So what is summed and what is counted are kept apart until all batches
 * of the step, or of the evaluation, are there. */
#pragma once

#include "engine/program/loom-program.h"

G_BEGIN_DECLS

typedef struct
{
  LoomValue sum;   /* rank 0, of the loss's type; where count is 0, a mean over the batch's samples */
  LoomValue count; /* rank 0: what the sum is divided by, which depends on no trainable weight; 0: the samples */
} LoomLossTerm;

/* An array of LoomLossTerm, no two with the same count, which are appended to the program: the loss is the sum of
 * sum / count over all of them. NULL where the loss is a mean over samples alone. */
GArray *loom_loss_terms_new (LoomProgram *p, LoomValue loss);

G_END_DECLS
