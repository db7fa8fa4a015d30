/* The scalar slots that a schedule sets before each step. */
#include "engine/train/learning-rates.h"

#include "engine/core/loom-refuse.h"

#include <math.h>

/* As of lr in <train>. */
#define MOST_RATE 1e6

double
learning_rates_of_spec (const LoomTrainSpec *spec)
{
  for (guint i = 0; spec->optimizer->hyper[i].name != NULL; i++)
    if (g_str_equal (spec->optimizer->hyper[i].name, "lr"))
      return spec->hyper[i];
  return 0;
}

/* A schedule's length, which more epochs change. */
static gint64
total_of (const LearningRates *self, const TrainProgress *progress)
{
  return self->steps_per_epoch * progress->epochs;
}

void
learning_rates_init (LearningRates *self, const TrainModel *model, gint64 steps_per_epoch, TrainProgress *progress)
{
  static const char *const momenta[] = { "momentum", "beta1" };
  const LoomTrainSpec *spec = model->spec;
  const int lr = loom_optimizer_find (spec->optimizer, "lr");

  *self = (LearningRates){ .model = model,
                           .steps_per_epoch = steps_per_epoch,
                           .lr = NAN,
                           .lr_slot = loom_state_find (model->state, "lr"),
                           .momentum = NAN,
                           .momentum_slot = -1 };
  self->group = g_new0 (GroupRate, spec->groups->len + 1);
  progress->epochs = spec->epochs;
  progress->division = (EpochDivision){ .batch_size = spec->batch_size };
  progress->base_lr = learning_rates_of_spec (spec);
  progress->group_lr = g_new0 (double, spec->groups->len + 1);
  for (guint i = 0; i < spec->groups->len; i++)
    {
      const LoomTrainGroup *group = spec->groups->pdata[i];
      GroupRate *rate = &self->group[self->n_groups];

      if (lr < 0 || !(group->own & ((guint64)1 << lr)))
        continue;
      rate->slot_name = g_strconcat (group->prefix, "lr", NULL);
      rate->slot = loom_state_find (model->state, rate->slot_name);
      rate->now = NAN;
      progress->group_lr[self->n_groups++] = group->hyper[lr];
    }
  for (guint i = 0; i < G_N_ELEMENTS (momenta) && self->momentum_slot < 0; i++)
    self->momentum_slot = loom_state_find (model->state, momenta[i]);
}

void
learning_rates_clear (LearningRates *self)
{
  for (guint i = 0; i < self->n_groups; i++)
    g_free (self->group[i].slot_name);
  g_clear_pointer (&self->group, g_free);
  self->n_groups = 0;
}

/* The step of the schedule: with another batch size it continues by samples, and its length in samples stays. */
static gint64
scheduled_step (const LearningRates *self, const TrainProgress *progress, gint64 step)
{
  const LoomTrainSpec *spec = self->model->spec;
  const gint64 batch = progress->batch + step - progress->step, each = spec->batch_size * spec->accumulate;

  return progress->epoch * self->steps_per_epoch
         + epoch_division_sample (&progress->division, batch, spec->accumulate) / MAX (each, 1);
}

void
learning_rates_set (LearningRates *self, const TrainProgress *progress, gint64 step_of_run)
{
  const LoomTrainSpec *spec = self->model->spec;
  const gint64 step = scheduled_step (self, progress, step_of_run);
  const LoomSchedule *schedule = &spec->schedule;
  LoomState *state = self->model->state;
  const gint64 total = total_of (self, progress);
  const double lr = loom_schedule_factor (schedule, &progress->plateau, progress->base_lr, step, total);
  const double momentum = loom_schedule_momentum (schedule, step, total);

  if (lr != self->lr)
    {
      if (self->lr_slot >= 0)
        loom_state_put_scalar_at (state, (guint)self->lr_slot, lr);
      self->lr = lr;
    }
  for (guint i = 0; i < self->n_groups; i++)
    {
      GroupRate *rate = &self->group[i];
      const double now = loom_schedule_factor (schedule, &progress->plateau, progress->group_lr[i], step, total);

      if (now != rate->now && rate->slot >= 0)
        loom_state_put_scalar_at (state, (guint)rate->slot, now);
      rate->now = now;
    }
  for (guint i = 0; i < spec->scheduled->len; i++)
    {
      const LoomScheduled *scheduled = spec->scheduled->pdata[i];
      const int slot = loom_state_find (state, scheduled->slot);

      if (slot >= 0)
        loom_state_put_scalar_at (state, (guint)slot, loom_scheduled_at (scheduled, step, total));
    }
  if (!isnan (momentum) && momentum != self->momentum && self->momentum_slot >= 0)
    {
      loom_state_put_scalar_at (state, (guint)self->momentum_slot, momentum);
      self->momentum = momentum;
    }
}

static gboolean
check_rate (const LearningRates *self, const TrainProgress *progress, double base, gint64 step_of_run, GError **error)
{
  const LoomSchedule *schedule = &self->model->spec->schedule;
  const gint64 step = scheduled_step (self, progress, step_of_run), total = total_of (self, progress);
  const double lr = loom_schedule_factor (schedule, &progress->plateau, base, step, total);
  const char *formula;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (lr >= 0 && lr <= MOST_RATE)
    return TRUE;
  formula = loom_schedule_formula (schedule, step, total);
  if (formula == NULL)
    return TRUE;
  /* As a run's other failures of its numbers, which all ranks report together. */
  return loom_refuse (
      error, LOOM_ERROR_NAN,
      "Step %" G_GINT64_FORMAT " (epoch %" G_GINT64_FORMAT
      "): the formula “%s” of the schedule makes the learning rate %s, but it must be a number from 0 to "
      "1000000. Correct the formula; its “step” is counted from 0.",
      step_of_run + 1, progress->epoch + 1, formula,
      isnan (lr)   ? "undefined"
      : isinf (lr) ? "infinite"
                   : g_ascii_formatd (number, sizeof number, "%.6g", lr));
}

gboolean
learning_rates_check (const LearningRates *self, const TrainProgress *progress, gint64 step_of_run, GError **error)
{
  if (!check_rate (self, progress, progress->base_lr, step_of_run, error))
    return FALSE;
  for (guint i = 0; i < self->n_groups; i++)
    if (!check_rate (self, progress, progress->group_lr[i], step_of_run, error))
      return FALSE;
  return TRUE;
}

void
learning_rates_forget (LearningRates *self)
{
  self->lr = self->momentum = NAN;
  for (guint i = 0; i < self->n_groups; i++)
    self->group[i].now = NAN;
}

gboolean
learning_rates_change (LearningRates *self, TrainProgress *progress, const char *name, double value)
{
  if (g_str_equal (name, "lr"))
    {
      progress->base_lr = value;
      self->lr = NAN;
      return TRUE;
    }
  if (g_str_equal (name, LEARNING_RATES_EPOCHS))
    {
      progress->epochs = (gint64)CLAMP (value, 0, G_MAXINT);
      return TRUE;
    }
  for (guint i = 0; i < self->n_groups; i++)
    if (g_str_equal (self->group[i].slot_name, name))
      {
        progress->group_lr[i] = value;
        self->group[i].now = NAN;
        return TRUE;
      }
  return FALSE;
}

gboolean
learning_rates_schedules (const LearningRates *self, const char *name)
{
  for (guint i = 0; i < self->model->spec->scheduled->len; i++)
    if (g_str_equal (((const LoomScheduled *)self->model->spec->scheduled->pdata[i])->slot, name))
      return TRUE;
  return FALSE;
}
