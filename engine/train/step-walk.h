/* The next step of a run, walked node by node by the eager executor, without an effect on the run.
 *
 * A walk computes the program of the step that training takes next: on its batch, with its random numbers and rates,
 * and with the state before it. It commits nothing and leaves the batch where it is, so that the run has the same bits
 * with and without it. The executor copies the state and the batch when a walk begins: a walk stays what it is while
 * the run continues. It keeps every value of the step that it has computed.
 *
 * Ranks may have only parts of the weights (ZeRO-3, split products, pipelines). A walk with `watched` then computes the
 * undivided program over the weights that all ranks have gathered for observers, on rank 0. */
#pragma once

#include "engine/run/loom-stepper.h"
#include "engine/train/training-loop.h"
#include "engine/train/watched-state.h"

typedef struct
{
  const TrainModel *model;
  const RankGroup *group;
  TrainingLoop *loop;
  WatchedState *watched; /* of the gathered weights; NULL: a walk needs whole weights on its rank */
  /* (optional) The rank whose samples a walk that begins is of; -1: the run has one rank. */
  int (*find_rank) (gpointer data);
  gpointer data;
  int rank; /* whose samples are walked, with gradients of these alone; -1: of this rank, or the only one */

  LoomStep *plan;       /* of the last batch size; NULL: none */
  LoomStepper *stepper; /* of that plan; NULL: none */
  LoomState *gathered;  /* of the stepper, if the state is divided among the ranks; else NULL */
  gboolean is_begun;
  gint64 step; /* the number of the walked step, from 1 */
} StepWalk;

/* The caller sets the fields before `plan`. TRUE if the state, and so that of the optimizer, is divided among the ranks.
 */
gboolean step_walk_is_divided (const StepWalk *self);
/* Ends the walk, and frees its memory. */
void step_walk_clear (StepWalk *self);
/* Begins a walk of the next step, before its first node. Errors: USAGE if it cannot begin, those of reading the
 * batch and of the eager executor. */
gboolean step_walk_begin (StepWalk *self, GError **error);
/* The value at a port, or its gradient; NULL without error: it is not known. A gradient is that of the loss, without
 * the factor by which 16-bit training scales it; its values are multiplied by *scale. (transfer full) */
LoomTensor *step_walk_port (StepWalk *self, const char *port, double *scale, GError **error);
