/* The terms of a loss, and the count over which each of them is a mean.
 *
 * If a loss is a mean over samples, the losses of several batches are averaged with the batch sizes as weights. For a
 * mean over counted targets (cross_entropy's ignore_index, class weights, a mask) that is wrong: batches have different
 * counts, possibly 0. So sums and counts are kept separately until all batches of the step, or of the evaluation, are
 * complete. */
#pragma once

#include "engine/program/loom-program.h"

typedef struct
{
  LoomValue sum;   /* rank 0, of the loss's type; if count is 0, a mean over the batch's samples */
  LoomValue count; /* rank 0: the divisor of the sum, which depends on no trainable weight; 0: the number of samples */
} LoomLossTerm;

/* Appends the terms to the program: an array of LoomLossTerm with different counts; the loss is the sum of sum / count
 * over all of them. NULL if the loss is a mean over samples. (transfer full) */
GArray *loom_loss_terms_new (LoomProgram *p, LoomValue loss);
