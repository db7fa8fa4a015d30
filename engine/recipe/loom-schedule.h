/* Schedules of the learning rate: pure functions of the step, after torch.optim.lr_scheduler.
 *
 * One entry of a table each (loom-schedule.c): its parameters and its formula. A run asks for the rate of every step,
 * so nothing is kept between steps; only "plateau" remembers losses, in a struct of its own that checkpoints hold. */
#pragma once

#include <glib.h>
#include <math.h>

G_BEGIN_DECLS

#define LOOM_SCHEDULE_PARAMS 12

typedef struct
{
  const char *name, *alias; /* alias: a name that earlier files have; NULL */
  double value;             /* default; NaN: what the formula says of it */
  double minimum, maximum;
  gboolean whole, required;
  gboolean of_lr;           /* a learning rate, kept as a multiple of the run's */
  const char *const *choices; /* the value is the place of a word in this list; NULL: a number */
  const char *doc;
} LoomScheduleParam;

/* Observations of "plateau" about a run: they belong to the run's place, not to the schedule. */
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

typedef struct
{
  const LoomScheduleClass *klass; /* NULL: constant */
  gint64 warmup_steps;
  gboolean by_epoch;      /* the formula counts epochs, not steps */
  gint64 steps_per_epoch; /* set where the data is known; 0 counts as 1 */
  double param[LOOM_SCHEDULE_PARAMS];
  gint64 *milestone; /* owned, ascending */
  guint n_milestones;
} LoomSchedule;

struct _LoomScheduleClass
{
  const char *name, *doc, *reference;
  const LoomScheduleParam *param; /* ends with name NULL */
  gboolean has_milestones;        /* the attribute milestones="30,80" */
  gboolean watches_loss;          /* plateau: counts epochs always */
  /* The rate at place t of `total`, from 0; lr is the rate that <train> or a group gives. NULL of a class that watches
   * the loss, */
  double (*at) (const LoomSchedule *s, double lr, double t, double total);
  /* which has a rate after what it has seen instead. */
  double (*after) (const LoomSchedule *s, const LoomPlateau *seen, double lr);
  /* Momentum (beta1 of Adam and its variants) at the same step; NaN: unchanged. NULL: never changed. */
  double (*momentum) (const LoomSchedule *s, double t, double total);
};

const LoomScheduleClass *const *loom_schedules (void); /* NULL-terminated */
const LoomScheduleClass *loom_schedule (const char *name);

/* The learning rate of step `step` (from 0) of total_steps, after what has been seen of the loss. The first
 * warmup_steps rates are multiplied by (step + 1) / warmup_steps; a formula over steps begins after them and has the
 * rest, one over epochs counts from the beginning. */
double
loom_schedule_factor (const LoomSchedule *s, const LoomPlateau *seen, double lr, gint64 step, gint64 total_steps);
/* The momentum of that step, NaN where the schedule leaves it alone. */
double loom_schedule_momentum (const LoomSchedule *s, gint64 step, gint64 total_steps);
/* Tells "plateau" an epoch's loss; TRUE when the rate falls. Others do nothing. */
gboolean loom_schedule_observe (const LoomSchedule *s, LoomPlateau *seen, double loss);
void loom_schedule_clear (LoomSchedule *s);

G_END_DECLS
