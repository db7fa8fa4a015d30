/* What a run reports: records of steps, evaluations, the best epoch, initial weights, memory and staleness. */
#pragma once

#include "engine/core/loom-json.h"

G_BEGIN_DECLS

/* Where the time of a step goes: means over the steps that were measured since the run began, in seconds. */
typedef struct
{
  gint64 steps; /* that were measured; 0: nothing is known yet */
  double data;  /* until the batch is there */
  double compute;
  double rest;   /* rates, metrics, events, checkpoints */
  guint threads; /* that prepare batches ahead; 0: each is read when it is needed */
} LoomTrainerWaits;

typedef struct
{
  gint64 step, epoch; /* finished steps; epoch from 1 */
  gint64 steps_per_epoch, total_steps;
  double loss;         /* of this step's batch */
  double epoch_loss;   /* sample-weighted mean of this epoch so far */
  gint64 recent_steps; /* up to this one, that recent_loss and metrics are of: see loom_train_recent_steps() */
  double recent_loss;  /* their sample-weighted mean */
  double lr, grad_norm;
  double items_per_second, eta_seconds; /* 0 as long as they are unknown */
  guint n_metrics;
  const char *const *metric_name;
  const double *metric; /* of the last recent_steps */
} LoomTrainerStep;

/* n × n numbers in rows; n is 0 if a metric is a number alone. */
typedef struct
{
  guint n;
  const double *value;
} LoomTrainerMatrix;

typedef struct
{
  const char *split; /* "val" or "test" */
  gint64 step, epoch;
  double loss;
  guint n_metrics;
  const char *const *metric_name;
  const double *metric;            /* of a matrix, its diagonal's share */
  const LoomTrainerMatrix *matrix; /* one for each metric */
} LoomTrainerEval;

/* The gradients that were pushed to a parameter server. The staleness of a gradient is the number of updates between
 * the weights that it was computed with and its own update. */
typedef struct
{
  gint64 pushes, sum, most; /* 0 pushes: there was no server */
} LoomStaleness;

/* Which epoch was best, by <train>'s monitor. */
typedef struct
{
  double best;       /* NaN before the first */
  gint64 best_epoch; /* from 1 */
  gint64 epochs_since_best;
  gboolean patience_exhausted; /* as many as <train> has patience for: the run has ended */
} LoomTrainerWatch;

/* The weights that a run took from the file that it began from. */
typedef struct
{
  char *name;
  char *here, *there; /* shapes, NULL if it is missing; of a mismatch may be types, too */
} LoomTransferItem;

typedef struct
{
  char *file;
  GPtrArray *loaded, *missing, *unused, *mismatched; /* LoomTransferItem */
} LoomTransfer;

typedef struct
{
  gint64 step, epoch; /* finished steps; epoch from 1 */
  double seconds;     /* for which the run stood still */
} LoomTrainerMoment;

/* What the driver of a device reports as in use by all processes: bytes. It is queried before anything of the run is
 * there, after each plan, and once a second while it trains. */
typedef struct
{
  guint64 total;       /* how much there is */
  guint64 used;        /* at the last query */
  guint64 peak;        /* the most so far, what there was before the run included */
  guint64 before;      /* before anything of the run was there */
  guint64 first, last; /* the peak when the first step, and the last one, was over; 0: it is not */
  gint64 asked;        /* when, in µs of the monotonic clock */
} LoomTrainerDeviceMemory;

/* Adds the members "file", "loaded", "missing", "unused" and "mismatched" to the object that is being written. */
void loom_transfer_add_json (const LoomTransfer *transfer, LoomJson *json);
/* Adds metric i under its name: a number, null, or rows of numbers in brackets. */
void loom_trainer_eval_add_json (const LoomTrainerEval *eval, guint i, LoomJson *json);

G_END_DECLS
