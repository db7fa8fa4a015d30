/* A parameter server (Li et al. 2014): rank 0 has the weights and the states of the optimiser, and computes no
 * gradients. The other ranks train: each takes its part of every batch, pushes the gradients of that part to rank 0,
 * and continues with the weights of the answer.
 *
 * With staleness 0 rank 0 adds up what all have pushed for a step, in the order of ranks, and takes one step from the
 * sum: these are the numbers of synchronous training. With staleness K it takes a step from each push as it comes,
 * whose gradients may be of weights that others have changed since; a rank that is K steps ahead of the slowest one
 * waits for its answer (stale synchronous parallel; Ho et al. 2013). A push is weighted by its share of the batch's
 * samples, so the pushes for one batch together move SGD as far as one synchronous step does.
 *
 * Ranks run freely for a round, at most an epoch long. It ends if rank 0 has something else to do: then each is told
 * the step after which it is over, they leave it with the same weights, and agree on everything else between two steps.
 */
#pragma once

#include "engine/train/step-failure.h"
#include "engine/train/step-plans.h"

G_BEGIN_DECLS

typedef struct _RankServer RankServer;

/* The parts of the run that a server works with, and functions of its owner. */
typedef struct
{
  const TrainData *data;
  StepPlans *plans;
  LearningRates *rates;
  StepLog *log;
  StepFailure *failure;
  /* TRUE if a command waits that ends the run, on any rank. */
  gboolean (*must_end) (gpointer data);
  /* TRUE if rank 0 has something to do between two rounds. */
  gboolean (*is_called) (gpointer data);
  /* A step is over, on rank 0; own: the losses of the ranks that train. */
  void (*served) (double loss, const double *own, gpointer data);
  gpointer owner;
} RankServerOwner;

/* USAGE if there are fewer than two ranks. */
RankServer *rank_server_new (const TrainModel *model, const RankGroup *group, GError **error);
void rank_server_free (RankServer *server);
/* Takes at most `steps` steps of an epoch, and at least one: all ranks call it together and leave it with the same
 * weights. */
gboolean rank_server_round (RankServer *server, const RankServerOwner *owner, gint64 steps, GError **error);
/* Of all rounds so far. */
LoomStaleness rank_server_staleness (const RankServer *server);

G_END_DECLS
