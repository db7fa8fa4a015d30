/* Records that a run reports: steps, evaluations, the best epoch, initial weights, memory and staleness. */
#pragma once

#include "engine/core/loom-json.h"

/* The parts of a step's time: means over the steps that were measured since the run began, in seconds. */
typedef struct
{
  gint64 steps; /* number of measured steps; 0: unknown */
  double data;  /* waiting for the batch */
  double compute;
  double rest;   /* rates, metrics, events, checkpoints */
  guint threads; /* that prepare batches in advance; 0: each is read when it is needed */
} LoomTrainerWaits;

typedef struct
{
  gint64 step, epoch; /* finished steps; epoch from 1 */
  gint64 steps_per_epoch, total_steps;
  gboolean ends_epoch;  /* steps_per_epoch may differ between epochs */
  gboolean is_recorded; /* events.jsonl has the step, of a long run every nth; likewise without a folder */
  double loss;          /* of this step's batch */
  double epoch_loss;    /* sample-weighted mean of this epoch so far */
  gint64 recent_steps;  /* number of steps, up to this one, of recent_loss and metrics: see loom_train_recent_steps() */
  double recent_loss;   /* their sample-weighted mean */
  double lr, grad_norm;
  double items_per_second, eta_seconds; /* 0 while unknown */
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
  const double *metric;            /* of a matrix, the fraction on its diagonal */
  const LoomTrainerMatrix *matrix; /* one for each metric */
} LoomTrainerEval;

/* The gradients that were pushed to a parameter server. The staleness of a gradient is the number of updates between
 * reading the weights for it and applying it. */
typedef struct
{
  gint64 pushes, sum, most; /* 0 pushes: there was no server */
} LoomStaleness;

/* The best epoch, by <train>'s monitor. */
typedef struct
{
  double best;       /* NaN before the first */
  gint64 best_epoch; /* from 1 */
  gint64 epochs_since_best;
  gboolean patience_exhausted; /* <train>'s patience is exhausted: the run has ended */
} LoomTrainerWatch;

/* The initial weights that a run loaded from a file. */
typedef struct
{
  char *name;
  char *here, *there; /* shapes, NULL if missing; for a mismatch possibly types, too */
} LoomTransferItem;

typedef struct
{
  char *file;
  GPtrArray *loaded, *missing, *unused, *mismatched; /* LoomTransferItem */
} LoomTransfer;

typedef struct
{
  gint64 step, epoch; /* finished steps; epoch from 1 */
  double seconds;     /* during which the run was paused */
  gboolean is_past;   /* of weights: an earlier step is shown (loom_trainer_travel()) */
} LoomTrainerMoment;

/* The bytes that the driver of a device reports as in use by all processes. It is queried before the run allocates
 * memory, after each plan, and once a second during training. */
typedef struct
{
  guint64 total;       /* total size */
  guint64 used;        /* at the last query */
  guint64 peak;        /* maximum so far, including the use before the run */
  guint64 before;      /* before the run allocated memory */
  guint64 first, last; /* the peak when the first step, and the last one, had finished; 0: not yet */
  gint64 asked;        /* time of the query, in µs of the monotonic clock */
} LoomTrainerDeviceMemory;

/* Adds the members "file", "loaded", "missing", "unused" and "mismatched" to the current object. */
void loom_transfer_add_json (const LoomTransfer *transfer, LoomJson *json);
/* Adds metric i under its name: a number, null, or rows of numbers in brackets. */
void loom_trainer_eval_add_json (const LoomTrainerEval *eval, guint i, LoomJson *json);
