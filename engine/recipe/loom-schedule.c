/* The schedules: formulas of torch.optim.lr_scheduler in closed form.
 *
 * PyTorch's schedulers multiply the last rate; here each rate is computed from the first, so that a run can be resumed
 * at any step and the user can change the rate at any time. */
#include "engine/recipe/schedule-private.h"

#include <math.h>
#include <string.h>

#define FACTOR_MAX 1e6
#define STEPS_MAX  1e12

/* A number of steps, or the whole run if none is given. */
static double
span (double param, double total)
{
  return isnan (param) ? total : param;
}

static double
cosine (double from, double to, double share)
{
  return to + (from - to) * (1 + cos (G_PI * share)) / 2;
}

/* ---- constant, step, multistep, exponential --------------------------- */

enum
{
  CONSTANT_FACTOR,
  CONSTANT_TOTAL_ITERS
};

/* The first fields of a row: a factor of a rate, from 0 on; a number of steps, from LOW on. */
#define FACTOR(NAME, VALUE)     .name = NAME, .value = VALUE, .maximum = FACTOR_MAX
#define STEPS(NAME, VALUE, LOW) .name = NAME, .value = VALUE, LOOM_RANGE (LOW, STEPS_MAX), .whole = TRUE

static const LoomScheduleParam constant_params[] = {
  [CONSTANT_FACTOR] = { FACTOR ("factor", 1), .doc = "The rate's factor at the beginning." },
  [CONSTANT_TOTAL_ITERS] = { STEPS ("total_iters", 5, 0), .doc = "The number of steps with this factor." },
  { .name = NULL },
};

static double
constant_at (const LoomSchedule *s, double lr, double t, double total)
{
  return t < s->param[CONSTANT_TOTAL_ITERS] ? lr * s->param[CONSTANT_FACTOR] : lr;
}

enum
{
  STEP_SIZE,
  STEP_GAMMA
};

static const LoomScheduleParam step_params[] = {
  [STEP_SIZE] = { STEPS ("step_size", 0, 1), .required = TRUE, .doc = "the number of steps between two reductions" },
  [STEP_GAMMA] = { FACTOR ("gamma", 0.1), .doc = "The factor of each reduction." },
  { .name = NULL },
};

static double
step_at (const LoomSchedule *s, double lr, double t, double total)
{
  return lr * pow (s->param[STEP_GAMMA], floor (t / s->param[STEP_SIZE]));
}

static const LoomScheduleParam multistep_params[] = {
  { FACTOR ("gamma", 0.1), .doc = "The factor of the rate at each milestone." },
  { .name = NULL },
};

static double
multistep_at (const LoomSchedule *s, double lr, double t, double total)
{
  guint passed = 0;

  while (passed < s->n_milestones && (double)s->milestone[passed] <= t)
    passed++;
  return lr * pow (s->param[0], passed);
}

static const LoomScheduleParam exponential_params[] = {
  { FACTOR ("gamma", 0), .required = TRUE, .doc = "the factor of the rate after each step" },
  { .name = NULL },
};

static double
exponential_at (const LoomSchedule *s, double lr, double t, double total)
{
  return lr * pow (s->param[0], t);
}

/* ---- linear, polynomial ----------------------------------------------- */

enum
{
  LINEAR_START_FACTOR,
  LINEAR_END_FACTOR,
  LINEAR_TOTAL_ITERS
};

static const LoomScheduleParam linear_params[] = {
  [LINEAR_START_FACTOR] = { FACTOR ("start_factor", 1), .doc = "The rate's factor at the beginning." },
  [LINEAR_END_FACTOR] = { FACTOR ("end_factor", 0), .doc = "The rate's factor at the end." },
  [LINEAR_TOTAL_ITERS] = { STEPS ("total_iters", NAN, 1),
                           .doc = "The number of steps from start_factor to end_factor (default: the whole run)." },
  { .name = NULL },
};

static double
linear_at (const LoomSchedule *s, double lr, double t, double total)
{
  double share = MIN (t / span (s->param[LINEAR_TOTAL_ITERS], total), 1);
  double start = s->param[LINEAR_START_FACTOR];

  return lr * (start + (s->param[LINEAR_END_FACTOR] - start) * share);
}

enum
{
  POLYNOMIAL_TOTAL_ITERS,
  POLYNOMIAL_POWER
};

static const LoomScheduleParam polynomial_params[] = {
  [POLYNOMIAL_TOTAL_ITERS]
  = { STEPS ("total_iters", NAN, 1), .doc = "The step at which the rate reaches 0 (default: the end of the run)." },
  [POLYNOMIAL_POWER] = { .name = "power", .value = 1, .maximum = 1000, .doc = "The power of the polynomial." },
  { .name = NULL },
};

static double
polynomial_at (const LoomSchedule *s, double lr, double t, double total)
{
  return lr * pow (1 - MIN (t / span (s->param[POLYNOMIAL_TOTAL_ITERS], total), 1), s->param[POLYNOMIAL_POWER]);
}

/* ---- cosine ----------------------------------------------------------- */

enum
{
  COSINE_T_MAX,
  COSINE_ETA_MIN
};

static const LoomScheduleParam cosine_params[] = {
  [COSINE_T_MAX] = { STEPS ("T_max", NAN, 1), .doc = "The number of steps of half a wave (default: the whole run)." },
  [COSINE_ETA_MIN] = { FACTOR ("eta_min", 0), .alias = "min_lr", .doc = "The lowest rate." },
  { .name = NULL },
};

static double
cosine_at (const LoomSchedule *s, double lr, double t, double total)
{
  double length = span (s->param[COSINE_T_MAX], total);

  /* A wave over the whole run ends at its minimum; one with a given period repeats. */
  return cosine (lr, s->param[COSINE_ETA_MIN], isnan (s->param[COSINE_T_MAX]) ? MIN (t / length, 1) : t / length);
}

enum
{
  RESTARTS_T_0,
  RESTARTS_T_MULT,
  RESTARTS_ETA_MIN
};

static const LoomScheduleParam restarts_params[] = {
  [RESTARTS_T_0] = { STEPS ("T_0", 0, 1), .required = TRUE, .doc = "the number of steps before the first restart" },
  [RESTARTS_T_MULT] = { .name = "T_mult",
                        .value = 1,
                        LOOM_RANGE (1, 1e6),
                        .whole = TRUE,
                        .doc = "The length of each period divided by that of the previous one." },
  [RESTARTS_ETA_MIN] = { FACTOR ("eta_min", 0), .doc = "The lowest rate." },
  { .name = NULL },
};

static double
restarts_at (const LoomSchedule *s, double lr, double t, double total)
{
  double length = s->param[RESTARTS_T_0];

  if (s->param[RESTARTS_T_MULT] == 1)
    t = fmod (t, length);
  while (t >= length)
    {
      t -= length;
      length *= s->param[RESTARTS_T_MULT];
    }
  return cosine (lr, s->param[RESTARTS_ETA_MIN], t / length);
}

/* ---- cycles ----------------------------------------------------------- */

static const char *const no_yes[] = { "false", "true", NULL };

enum
{
  ONE_MAX_LR,
  ONE_TOTAL_STEPS,
  ONE_PCT_START,
  ONE_ANNEAL,
  ONE_CYCLE_MOMENTUM,
  ONE_BASE_MOMENTUM,
  ONE_MAX_MOMENTUM,
  ONE_DIV_FACTOR,
  ONE_FINAL_DIV_FACTOR,
  ONE_THREE_PHASE
};

static const char *const anneals[] = { "cos", "linear", NULL };

static const LoomScheduleParam one_params[] = {
  [ONE_MAX_LR] = { FACTOR ("max_lr", NAN), .of_lr = TRUE, .doc = "The highest rate (default: the run's lr)." },
  [ONE_TOTAL_STEPS]
  = { STEPS ("total_steps", NAN, 2), .doc = "The number of steps of the cycle (default: the whole run)." },
  [ONE_PCT_START]
  = { .name = "pct_start", .value = 0.3, .maximum = 1, .doc = "The fraction of the cycle in which the rate rises." },
  [ONE_ANNEAL] = { .name = "anneal_strategy",
                   .value = 0,
                   .choices = anneals,
                   .doc = "The curve of the rate: a cosine or a straight line." },
  [ONE_CYCLE_MOMENTUM] = { .name = "cycle_momentum",
                           .value = 1,
                           .choices = no_yes,
                           .doc = "If true, momentum falls while the rate rises, and rises while it falls." },
  [ONE_BASE_MOMENTUM] = { .name = "base_momentum", .value = 0.85, .maximum = 1, .doc = "Its lowest." },
  [ONE_MAX_MOMENTUM] = { .name = "max_momentum", .value = 0.95, .maximum = 1, .doc = "Its highest." },
  [ONE_DIV_FACTOR]
  = { .name = "div_factor", .value = 25, LOOM_RANGE (1e-6, 1e12), .doc = "max_lr divided by the initial rate." },
  [ONE_FINAL_DIV_FACTOR] = { .name = "final_div_factor",
                             .value = 1e4,
                             LOOM_RANGE (1e-6, 1e12),
                             .doc = "The initial rate divided by the final rate." },
  [ONE_THREE_PHASE] = { .name = "three_phase",
                        .value = 0,
                        .choices = no_yes,
                        .doc = "If true, the rate falls to the initial rate in as many steps as it rose, then to the "
                               "final rate." },
  { .name = NULL },
};

/* The position of t in the cycle: the two corners around it, and the fraction between them. The corners are, in order,
 * beginning, top, the beginning's rate again if there are three phases, and the end. */
static double
one_share (const LoomSchedule *s, double t, double total, guint *corner)
{
  double length = MAX (span (s->param[ONE_TOTAL_STEPS], total), 2), rise = s->param[ONE_PCT_START] * length;
  gboolean three = s->param[ONE_THREE_PHASE] != 0;
  double end[] = { rise - 1, three ? 2 * rise - 2 : length - 1, length - 1 }, from = 0;
  guint n = three ? 3 : 2, i = 0;

  t = MIN (t, length - 1);
  while (i + 1 < n && t > end[i])
    from = end[i++];
  *corner = i;
  return end[i] == from ? 1 : (t - from) / (end[i] - from);
}

static double
one_between (const LoomSchedule *s, double from, double to, double share)
{
  return s->param[ONE_ANNEAL] == 0 ? cosine (from, to, share) : from + (to - from) * share;
}

static double
one_at (const LoomSchedule *s, double lr, double t, double total)
{
  double top = lr * span (s->param[ONE_MAX_LR], 1), first = top / s->param[ONE_DIV_FACTOR];
  double last = first / s->param[ONE_FINAL_DIV_FACTOR];
  gboolean three = s->param[ONE_THREE_PHASE] != 0;
  double corner[] = { first, top, three ? first : last, last };
  guint i;
  double share = one_share (s, t, total, &i);

  return one_between (s, corner[i], corner[i + 1], share);
}

static double
one_momentum (const LoomSchedule *s, double t, double total)
{
  double high = s->param[ONE_MAX_MOMENTUM], corner[] = { high, s->param[ONE_BASE_MOMENTUM], high, high };
  guint i;
  double share = one_share (s, t, total, &i);

  return s->param[ONE_CYCLE_MOMENTUM] != 0 ? one_between (s, corner[i], corner[i + 1], share) : NAN;
}

enum
{
  CYCLIC_BASE_LR,
  CYCLIC_MAX_LR,
  CYCLIC_UP,
  CYCLIC_DOWN,
  CYCLIC_MODE,
  CYCLIC_GAMMA,
  CYCLIC_CYCLE_MOMENTUM,
  CYCLIC_BASE_MOMENTUM,
  CYCLIC_MAX_MOMENTUM
};

static const char *const cyclic_modes[] = { "triangular", "triangular2", "exp_range", NULL };

static const LoomScheduleParam cyclic_params[] = {
  [CYCLIC_BASE_LR] = { FACTOR ("base_lr", NAN), .of_lr = TRUE, .doc = "The lowest rate (default: the run's lr)." },
  [CYCLIC_MAX_LR] = { FACTOR ("max_lr", 0), .of_lr = TRUE, .required = TRUE, .doc = "the highest rate" },
  [CYCLIC_UP] = { STEPS ("step_size_up", 2000, 1), .doc = "The number of steps in which the rate rises." },
  [CYCLIC_DOWN]
  = { STEPS ("step_size_down", NAN, 1), .doc = "The number of steps in which the rate falls (default: step_size_up)." },
  [CYCLIC_MODE] = { .name = "mode",
                    .value = 0,
                    .choices = cyclic_modes,
                    .doc = "The amplitude of later cycles: constant, halved each time, or multiplied by gamma at each "
                           "step." },
  [CYCLIC_GAMMA] = { FACTOR ("gamma", 1), .doc = "The factor of the amplitude at each step, with mode exp_range." },
  [CYCLIC_CYCLE_MOMENTUM] = { .name = "cycle_momentum",
                              .value = 1,
                              .choices = no_yes,
                              .doc = "If true, momentum falls while the rate rises, and rises while it falls." },
  [CYCLIC_BASE_MOMENTUM] = { .name = "base_momentum", .value = 0.8, .maximum = 1, .doc = "Its lowest." },
  [CYCLIC_MAX_MOMENTUM] = { .name = "max_momentum", .value = 0.9, .maximum = 1, .doc = "Its highest." },
  { .name = NULL },
};

/* The fraction of the rise from base to top. */
static double
cyclic_height (const LoomSchedule *s, double t)
{
  double up = s->param[CYCLIC_UP], down = span (s->param[CYCLIC_DOWN], up), ratio = up / (up + down);
  double cycle = floor (1 + t / (up + down)), x = 1 + t / (up + down) - cycle;
  double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
  double shrink[] = { 1, pow (2, 1 - cycle), pow (s->param[CYCLIC_GAMMA], t) };

  return height * shrink[(int)s->param[CYCLIC_MODE]];
}

static double
cyclic_at (const LoomSchedule *s, double lr, double t, double total)
{
  double base = lr * span (s->param[CYCLIC_BASE_LR], 1), top = lr * s->param[CYCLIC_MAX_LR];

  return base + (top - base) * cyclic_height (s, t);
}

static double
cyclic_momentum (const LoomSchedule *s, double t, double total)
{
  double low = s->param[CYCLIC_BASE_MOMENTUM], high = s->param[CYCLIC_MAX_MOMENTUM];

  return s->param[CYCLIC_CYCLE_MOMENTUM] != 0 ? high - (high - low) * cyclic_height (s, t) : NAN;
}

/* ---- plateau ---------------------------------------------------------- */

enum
{
  PLATEAU_MODE,
  PLATEAU_FACTOR,
  PLATEAU_PATIENCE,
  PLATEAU_THRESHOLD,
  PLATEAU_THRESHOLD_MODE,
  PLATEAU_COOLDOWN,
  PLATEAU_MIN_LR,
  PLATEAU_EPS
};

static const char *const plateau_modes[] = { "min", "max", NULL };
static const char *const threshold_modes[] = { "rel", "abs", NULL };

static const LoomScheduleParam plateau_params[] = {
  [PLATEAU_MODE] = { .name = "mode",
                     .value = 0,
                     .choices = plateau_modes,
                     .doc = "Whether a lower (min) or a higher (max) value is better." },
  [PLATEAU_FACTOR]
  = { .name = "factor", .value = 0.1, .maximum = 1, .doc = "The factor of the rate at each reduction." },
  [PLATEAU_PATIENCE] = { .name = "patience",
                         .value = 10,
                         .maximum = 1e9,
                         .whole = TRUE,
                         .doc = "The number of epochs without a better loss before a reduction." },
  [PLATEAU_THRESHOLD] = { FACTOR ("threshold", 1e-4), .doc = "The least improvement that counts as a better loss." },
  [PLATEAU_THRESHOLD_MODE] = { .name = "threshold_mode",
                               .value = 0,
                               .choices = threshold_modes,
                               .doc = "Whether the threshold is relative to the best loss or an absolute difference." },
  [PLATEAU_COOLDOWN] = { .name = "cooldown",
                         .value = 0,
                         .maximum = 1e9,
                         .whole = TRUE,
                         .doc = "The number of epochs after a reduction that are not counted." },
  [PLATEAU_MIN_LR] = { FACTOR ("min_lr", 0), .doc = "The lowest rate." },
  [PLATEAU_EPS] = { .name = "eps",
                    .value = 1e-8,
                    .maximum = 1,
                    .doc = "The least change of the rate; smaller reductions are not made." },
  { .name = NULL },
};

static double
plateau_after (const LoomSchedule *s, const LoomPlateau *seen, double lr)
{
  for (gint64 i = 0; i < seen->reductions; i++)
    {
      double lower = MAX (lr * s->param[PLATEAU_FACTOR], s->param[PLATEAU_MIN_LR]);

      if (!(lr - lower > s->param[PLATEAU_EPS]))
        break;
      lr = lower;
    }
  return lr;
}

static gboolean
plateau_is_better (const LoomSchedule *s, double best, double loss)
{
  double threshold = s->param[PLATEAU_THRESHOLD];
  double sign = s->param[PLATEAU_MODE] == 0 ? -1 : 1;

  if (isnan (best))
    return !isnan (loss);
  if (s->param[PLATEAU_THRESHOLD_MODE] == 0)
    return sign * (loss - best * (1 + sign * threshold)) > 0;
  return sign * (loss - best) > threshold;
}

gboolean
loom_schedule_observe (const LoomSchedule *s, LoomPlateau *seen, double loss)
{
  if (s->klass == NULL || !s->klass->watches_loss)
    return FALSE;
  if (plateau_is_better (s, seen->best, loss))
    {
      seen->best = loss;
      seen->bad = 0;
    }
  else
    seen->bad++;
  if (seen->cooldown > 0)
    {
      seen->cooldown--;
      seen->bad = 0;
    }
  if ((double)seen->bad <= s->param[PLATEAU_PATIENCE])
    return FALSE;
  seen->reductions++;
  seen->cooldown = (gint64)s->param[PLATEAU_COOLDOWN];
  seen->bad = 0;
  return TRUE;
}

/* ---- the table -------------------------------------------------------- */

static const LoomScheduleClass table[] = {
  { .name = "constant",
    .doc = "Multiplies the rate by a factor until total_iters, then keeps it.",
    .reference = "ConstantLR",
    .param = constant_params,
    .multiplies = TRUE,
    .at = constant_at },
  { .name = "step",
    .doc = "Multiplies the rate by gamma every step_size steps.",
    .reference = "StepLR",
    .param = step_params,
    .multiplies = TRUE,
    .at = step_at },
  { .name = "multistep",
    .doc = "Multiplies the rate by gamma at each milestone.",
    .reference = "MultiStepLR",
    .param = multistep_params,
    .has_milestones = TRUE,
    .multiplies = TRUE,
    .at = multistep_at },
  { .name = "exponential",
    .doc = "Multiplies the rate by gamma after each step.",
    .reference = "ExponentialLR",
    .param = exponential_params,
    .multiplies = TRUE,
    .at = exponential_at },
  { .name = "linear",
    .doc = "Changes the rate's factor linearly from start_factor to end_factor.",
    .reference = "LinearLR",
    .param = linear_params,
    .multiplies = TRUE,
    .at = linear_at },
  { .name = "polynomial",
    .doc = "Decays the rate to 0 along a polynomial.",
    .reference = "PolynomialLR",
    .param = polynomial_params,
    .multiplies = TRUE,
    .at = polynomial_at },
  { .name = "cosine",
    .doc = "Decays the rate to eta_min along half a cosine wave.",
    .reference = "CosineAnnealingLR",
    .param = cosine_params,
    .multiplies = TRUE,
    .at = cosine_at },
  { .name = "cosine_warm_restarts",
    .doc = "Decays the rate along half a cosine wave, and restarts it from the highest rate.",
    .reference = "CosineAnnealingWarmRestarts",
    .param = restarts_params,
    .at = restarts_at },
  { .name = "one_cycle",
    .doc = "Raises the rate to max_lr, then lowers it far below the initial rate.",
    .reference = "OneCycleLR",
    .param = one_params,
    .at = one_at,
    .momentum = one_momentum },
  { .name = "cyclic",
    .doc = "Moves the rate between base_lr and max_lr in cycles.",
    .reference = "CyclicLR",
    .param = cyclic_params,
    .at = cyclic_at,
    .momentum = cyclic_momentum },
  { .name = "plateau",
    .doc = "Lowers the rate when the loss stops improving.",
    .reference = "ReduceLROnPlateau",
    .param = plateau_params,
    .watches_loss = TRUE,
    .after = plateau_after },
};

const LoomScheduleClass *const *
loom_schedules (void)
{
  static const LoomScheduleClass *const composed[] = { SCHEDULE_COMPOSED };
  static const LoomScheduleClass *all[G_N_ELEMENTS (table) + G_N_ELEMENTS (composed) + 1];
  static gsize ready;

  if (g_once_init_enter (&ready))
    {
      for (guint i = 0; i < G_N_ELEMENTS (table); i++)
        all[i] = &table[i];
      for (guint i = 0; i < G_N_ELEMENTS (composed); i++)
        all[G_N_ELEMENTS (table) + i] = composed[i];
      g_once_init_leave (&ready, 1);
    }
  return all;
}

const LoomScheduleClass *
loom_schedule (const char *name)
{
  for (const LoomScheduleClass *const *each = loom_schedules (); *each != NULL; each++)
    {
      if (strcmp ((*each)->name, name) == 0)
        return *each;
    }
  return NULL;
}

/* Position and length in the formula's unit, steps or epochs. */
static void
place (const LoomSchedule *s, gint64 step, gint64 total_steps, double *t, double *total)
{
  gint64 epoch = MAX (s->steps_per_epoch, 1);

  if (s->by_epoch)
    {
      *t = (double)(step / epoch);
      *total = (double)MAX ((total_steps + epoch - 1) / epoch, 1);
    }
  else
    {
      *t = (double)MAX (step - s->warmup_steps, 0);
      *total = (double)MAX (total_steps - s->warmup_steps, 1);
    }
}

double
loom_schedule_factor (const LoomSchedule *s, const LoomPlateau *seen, double lr, gint64 step, gint64 total_steps)
{
  double t, total;

  place (s, step, total_steps, &t, &total);
  if (s->klass != NULL)
    lr = s->klass->watches_loss ? s->klass->after (s, seen, lr) : s->klass->at (s, lr, t, total);
  return step < s->warmup_steps ? lr * (double)(step + 1) / (double)s->warmup_steps : lr;
}

const char *
loom_schedule_formula (const LoomSchedule *s, gint64 step, gint64 total_steps)
{
  double t, total;

  place (s, step, total_steps, &t, &total);
  return s->klass != NULL && s->klass->formula != NULL ? s->klass->formula (s, t, total) : NULL;
}

double
loom_schedule_momentum (const LoomSchedule *s, gint64 step, gint64 total_steps)
{
  double t, total;

  place (s, step, total_steps, &t, &total);
  return s->klass != NULL && s->klass->momentum != NULL ? s->klass->momentum (s, t, total) : NAN;
}

void
loom_schedule_clear (LoomSchedule *s)
{
  for (guint i = 0; i < s->n_parts; i++)
    loom_schedule_clear (&s->part[i]);
  s->n_parts = 0;
  g_clear_pointer (&s->part, g_free);
  g_clear_pointer (&s->milestone, g_free);
  g_clear_pointer (&s->text, g_free);
  g_clear_pointer (&s->formula, g_free);
}
