/* The schedules that are made of others, and those of a formula: torch.optim.lr_scheduler's SequentialLR,
 * ChainedScheduler and LambdaLR as functions of the step.
 *
 * A chained schedule is the product of its parts' factors. PyTorch multiplies the last rate at each step, which gives
 * the same product as long as each part only multiplies, so other parts are refused (recipe-schedule.c). */
#include "engine/recipe/schedule-private.h"

static const LoomScheduleParam none[] = { { .name = NULL } };

/* ---- sequential ------------------------------------------------------------- */

/* The part at position t, with the beginning of its span and the length. */
static LoomSchedule
part_at (const LoomSchedule *s, double t, double total, double *begin, double *length)
{
  guint i = 0;
  LoomSchedule part;

  while (i < s->n_milestones && (double)s->milestone[i] <= t)
    i++;
  *begin = i > 0 ? (double)s->milestone[i - 1] : 0;
  *length = MAX ((i < s->n_milestones ? (double)s->milestone[i] : total) - *begin, 1);
  part = s->part[MIN (i, s->n_parts - 1)];
  part.by_epoch = s->by_epoch;
  part.steps_per_epoch = s->steps_per_epoch;
  return part;
}

static double
sequential_at (const LoomSchedule *s, double lr, double t, double total)
{
  double begin, length;
  const LoomSchedule part = part_at (s, t, total, &begin, &length);

  return part.klass->at (&part, lr, t - begin, length);
}

static double
sequential_momentum (const LoomSchedule *s, double t, double total)
{
  double begin, length;
  const LoomSchedule part = part_at (s, t, total, &begin, &length);

  return part.klass->momentum != NULL ? part.klass->momentum (&part, t - begin, length) : NAN;
}

static const char *
sequential_formula (const LoomSchedule *s, double t, double total)
{
  double begin, length;
  const LoomSchedule part = part_at (s, t, total, &begin, &length);

  return part.klass->formula != NULL ? part.klass->formula (&part, t - begin, length) : NULL;
}

const LoomScheduleClass schedule_sequential = {
  .name = "sequential",
  .doc = "Runs the schedules inside one after another, from milestone to milestone; each counts from its own start.",
  .reference = "SequentialLR",
  .param = none,
  .has_milestones = TRUE,
  .has_parts = TRUE,
  .at = sequential_at,
  .momentum = sequential_momentum,
  .formula = sequential_formula,
};

/* ---- chained ---------------------------------------------------------------- */

static double
chained_at (const LoomSchedule *s, double lr, double t, double total)
{
  for (guint i = 0; i < s->n_parts; i++)
    lr = s->part[i].klass->at (&s->part[i], lr, t, total);
  return lr;
}

const LoomScheduleClass schedule_chained = {
  .name = "chained",
  .doc = "Multiplies the factors of the schedules inside.",
  .reference = "ChainedScheduler",
  .param = none,
  .has_parts = TRUE,
  .multiplies = TRUE,
  .at = chained_at,
};

/* ---- lambda ----------------------------------------------------------------- */

static double
lambda_at (const LoomSchedule *s, double lr, double t, double total)
{
  const double each = (double)MAX (s->steps_per_epoch, 1);
  const double in[] = { s->by_epoch ? t * each : t, s->by_epoch ? t : floor (t / each),
                        s->by_epoch ? total * each : total, s->by_epoch ? total : ceil (total / each) };

  return lr * loom_formula_value (s->formula, in);
}

static const char *
lambda_formula (const LoomSchedule *s, double t, double total)
{
  return s->text;
}

const LoomScheduleClass schedule_lambda = {
  .name = "lambda",
  .doc = "Multiplies the rate by a formula over step, epoch, steps and epochs (the run's length), such as "
         "min((step + 1) / 100, 1).",
  .reference = "LambdaLR",
  .param = none,
  .has_formula = TRUE,
  .at = lambda_at,
  .formula = lambda_formula,
};
