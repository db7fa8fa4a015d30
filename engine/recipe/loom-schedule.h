/* Schedules of the learning rate: pure functions of the step, after torch.optim.lr_scheduler.
 *
 * Each is one entry of a table (loom-schedule.c): its parameters and its formula. The rate is computed for every step
 * without state; only "plateau" has state, the losses so far, in a struct of its own that checkpoints store. */
#pragma once

#include <math.h>

#include "engine/program/loom-prim.h"

#define LOOM_SCHEDULE_PARAMS 12

typedef struct
{
  const char *name, *alias; /* alias: a name used by early versions of the format; NULL */
  double value;             /* default; NaN: computed by the formula */
  double minimum, maximum;
  gboolean whole, required;
  gboolean of_lr;             /* a learning rate, stored as a multiple of the run's */
  const char *const *choices; /* the value is the index of a word in this list; NULL: a number */
  const char *doc;
} LoomScheduleParam;

/* The state of "plateau" in a run, stored with the run's progress. */
typedef struct
{
  double best; /* NaN before the first loss */
  gint64 bad, cooldown, reductions;
} LoomPlateau;

#define LOOM_PLATEAU_INIT                                                                                              \
  {                                                                                                                    \
    .best = NAN                                                                                                        \
  }

typedef struct _LoomScheduleClass LoomScheduleClass;

typedef struct _LoomSchedule LoomSchedule;

struct _LoomSchedule
{
  const LoomScheduleClass *klass; /* NULL: constant */
  gint64 warmup_steps;
  gboolean by_epoch;      /* the formula counts epochs, not steps */
  gint64 steps_per_epoch; /* set when the data is known; 0 counts as 1 */
  double param[LOOM_SCHEDULE_PARAMS];
  gint64 *milestone; /* owned, ascending */
  guint n_milestones;
  LoomSchedule *part; /* owned; the schedules inside a sequential or chained one */
  guint n_parts;
  /* of "lambda": the text, and the same over LOOM_SCHEDULE_NAMES; owned */
  char *text;
  LoomFormula *formula;
};

/* The names that a formula may use, in this order. */
#define LOOM_SCHEDULE_NAMES "step", "epoch", "steps", "epochs"

struct _LoomScheduleClass
{
  const char *name, *doc, *reference;
  const LoomScheduleParam *param; /* ends with name NULL */
  gboolean has_milestones;        /* the attribute milestones="30,80" */
  gboolean has_parts;             /* has <schedule> inside */
  gboolean has_formula;           /* the attribute formula */
  gboolean multiplies;            /* the rate is lr times a factor, so it can be part of a chained schedule */
  gboolean watches_loss;          /* plateau: always counts epochs */
  /* The rate at position t of `total`, from 0; lr is the rate of <train> or a group. NULL if watches_loss, */
  double (*at) (const LoomSchedule *s, double lr, double t, double total);
  /* The rate from the state of "plateau". */
  double (*after) (const LoomSchedule *s, const LoomPlateau *seen, double lr);
  /* The momentum (beta1 of Adam and its variants) at the same position; NaN: unchanged. NULL: never changed. */
  double (*momentum) (const LoomSchedule *s, double t, double total);
  /* The text of the formula that the rate there comes from; NULL: none. */
  const char *(*formula) (const LoomSchedule *s, double t, double total);
};

const LoomScheduleClass *const *loom_schedules (void); /* NULL-terminated */
const LoomScheduleClass *loom_schedule (const char *name);

/* The learning rate of step `step` (from 0) of total_steps, with the state of "plateau". The first
 * warmup_steps rates are multiplied by (step + 1) / warmup_steps; a formula over steps begins after them and has the
 * rest, one over epochs counts from the beginning. */
double
loom_schedule_factor (const LoomSchedule *s, const LoomPlateau *seen, double lr, gint64 step, gint64 total_steps);
/* The text of the formula that the rate of that step comes from; NULL: none. */
const char *loom_schedule_formula (const LoomSchedule *s, gint64 step, gint64 total_steps);
/* The momentum of that step; NaN: unchanged. */
double loom_schedule_momentum (const LoomSchedule *s, gint64 step, gint64 total_steps);
/* Passes an epoch's loss to "plateau"; TRUE if the rate decreases. Other schedules ignore it. */
gboolean loom_schedule_observe (const LoomSchedule *s, LoomPlateau *seen, double loss);
void loom_schedule_clear (LoomSchedule *s);
