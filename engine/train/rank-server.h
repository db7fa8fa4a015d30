/* A parameter server (Li et al. 2014): rank 0 has the weights and the states of the optimiser, and computes no
 * gradients. The other ranks are workers: each takes its shard of every batch, pushes the gradients to rank 0, and
 * continues with the weights of the answer.
 *
 * With staleness 0 rank 0 sums the pushes of all workers for a step, in the order of ranks, and takes one step from the
 * sum, which is synchronous training. With staleness K it takes a step from each push as it arrives, whose gradients
 * may belong to weights that others have changed since; a worker that is K steps ahead of the slowest one waits for its
 * answer (stale synchronous parallel; Ho et al. 2013). A push is weighted by its share of the batch's samples, so the
 * pushes for one batch together move SGD as far as one synchronous step does.
 *
 * Workers run freely for a round, at most an epoch long. A round ends when rank 0 has other work: then each worker
 * receives the step after which it is over, all leave it with the same weights, and agree on everything else between
 * two steps. */
#pragma once

#include "engine/train/step-failure.h"
#include "engine/train/step-plans.h"

typedef struct _RankServer RankServer;

/* The parts of the run that a server uses, and functions of its owner. */
typedef struct
{
  const TrainData *data;
  StepPlans *plans;
  LearningRates *rates;
  StepLog *log;
  StepFailure *failure;
  /* TRUE if a waiting command ends the run, on any rank. */
  gboolean (*must_end) (gpointer data);
  /* TRUE if rank 0 has work between two rounds. */
  gboolean (*is_called) (gpointer data);
  /* Called after a step, on rank 0; own: the losses of the workers. */
  void (*served) (double loss, const double *own, gpointer data);
  gpointer owner;
} RankServerOwner;

/* USAGE if there are fewer than two ranks. */
RankServer *rank_server_new (const TrainModel *model, const RankGroup *group, GError **error);
void rank_server_free (RankServer *server);
/* Takes at least one and at most `steps` steps of an epoch: all ranks call it together and return with the same
 * weights. */
gboolean rank_server_round (RankServer *server, const RankServerOwner *owner, gint64 steps, GError **error);
/* Of all rounds so far. */
LoomStaleness rank_server_staleness (const RankServer *server);
