/* Shared by the files of `gradloom simulate`: the work of a step, the machine, and the predicted times. */
#pragma once

#include "app/lab/bench-private.h"
#include "app/shared/cards.h"

/* One node: seconds for the batch of one replica. */
typedef struct
{
  char *name;
  double forward, backward;
  double parameters; /* bytes of its gradients, which ranks exchange */
  double activation; /* bytes of its result, for the whole batch */
} SimulateLayer;

typedef struct
{
  GArray *layers; /* SimulateLayer, in the order of the forward pass */
  double update;  /* seconds, of all parameters */
  double samples; /* of one replica, per step */
  guint scalars;  /* exchanges of single numbers between replicas per step: loss, its count, metrics */
  double memory[LOOM_N_OWNERS];
  LoomParallel parallel; /* the graph's; its pointers are NULL */
} SimulateWork;

void simulate_work_init (SimulateWork *work);
void simulate_work_clear (SimulateWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (SimulateWork, simulate_work_clear)
/* Stores the layer in work; copies the name. */
SimulateLayer *simulate_work_add (SimulateWork *work, const char *name);

/* ---- machines (simulate-machine.c) ------------------------------------------- */

typedef struct
{
  const char *name, *title;
  double latency; /* seconds per message */
  double rate;    /* bytes per second in one direction that transfers reach */
  const char *source;
} SimulateLink;

/* The fractions of a peak that kernels reach, the same for all cards, and their sources. */
#define SIMULATE_PRODUCTS 0.66
#define SIMULATE_TRAFFIC  0.83
#define SIMULATE_LAUNCH   5e-6

/* NULL if the name is unknown; *names is then a list for a message (transfer full). */
const SimulateLink *simulate_find_link (const char *name, char **names);
/* The seconds of a kernel. */
double simulate_card_seconds (const Card *card, gboolean is_product, LoomDType precision, gboolean tf32, double flops,
                              double bytes);
/* Prints every constant with its source. */
void simulate_print_constants (void);

/* ---- the model (simulate-model.c) -------------------------------------------- */

typedef struct
{
  SimulateLink inside, between; /* within a machine, a link per GPU; between machines, a link per machine */
  int per_machine;
  int zero; /* 0: nothing is sharded; 1, 2, 3: the stages of ZeRO */
  int tensor, pipeline, microbatches;
  gboolean one_f_one_b; /* 1F1B; else GPipe */
  gboolean overlap;     /* communicate during the backward pass */
  double bucket;        /* bytes */
} SimulateSetup;

typedef struct
{
  int gpus, replicas;
  double step;     /* seconds */
  double exchange; /* seconds in which a GPU communicates, and those of them in which it does not compute */
  double exposed;
  double bubble; /* fraction of the pipeline's time in which its stages are idle */
  double samples_per_second, efficiency;
  double memory; /* bytes a GPU */
} SimulateResult;

/* Predicts the time of one step on n GPUs. spans (LoomTraceSpan, may be NULL) receives the lanes of one replica. */
SimulateResult simulate_step (const SimulateWork *work, const SimulateSetup *setup, int gpus, GArray *spans);

/* ---- graphs (simulate-graph.c) ----------------------------------------------- */

/* Determines the work of a step from its kernels. simulate_measure() measures them here with o->threads threads per
 * rank while the other ranks compute too, so that they share caches, memory and processors; a step takes as long as the
 * slowest rank's. simulate_by_card() predicts them from a card's peaks. call: with several ranks, the seconds of an
 * exchange of one number after such a step. */
gboolean
simulate_measure (const char *path, const BenchOptions *o, int ranks, SimulateWork *work, double *call, GError **error);
gboolean
simulate_by_card (const char *path, const BenchOptions *o, const Card *card, SimulateWork *work, GError **error);
typedef struct
{
  double seconds;       /* per step, the median */
  double planned, held; /* bytes of the rank with most memory: planned, and allocated at the end */
} RankFigures;

/* Runs the step with threads of this process as ranks, and measures it. */
gboolean simulate_run_ranks (const char *path, const BenchOptions *o, int ranks, RankFigures *figures, GError **error);
/* Measures the cost of an exchange between n threads of this process, two or more. */
gboolean simulate_link_here (int ranks, SimulateLink *link, GError **error);

/* ---- published figures (simulate-published.c) -------------------------------- */

void simulate_published (gboolean as_json);
