/* The batch size of a run, which may change between two of its steps; see the header. */
#include "engine/train/batch-size.h"

#include "engine/core/loom-refuse.h"

#include <math.h>

static gboolean
refuse (GError **error, const char *why)
{
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_USAGE, why);
  return FALSE;
}

gboolean
batch_size_can_change (const BatchSize *self, GError **error)
{
  if (self->model->spec->dataset_node < 0)
    return refuse (error, "This run reads no data set, so that it has no batch size to change.");
  if (self->model->spec->stateful)
    return refuse (error,
                   "A layer has stateful=\"true\" and continues from the state of the previous batch, so that the "
                   "batch size cannot change during training.");
  if (self->group->has_server)
    return refuse (error, "With strategy=\"server\" the batch size cannot change during training.");
  return TRUE;
}

gboolean
batch_size_check (const BatchSize *self, double value, GError **error)
{
  const gint64 most = self->data->n_samples / *self->ranks;

  if (!batch_size_can_change (self, error))
    return FALSE;
  if (isfinite (value) && value >= 1 && value <= (double)most && value == floor (value))
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_USAGE,
                      "The batch size must be a whole number from 1 to %" G_GINT64_FORMAT
                      ", the number of training samples%s, not %.15g.",
                      most, *self->ranks > 1 ? " of a rank" : "", value);
}

gint64
batch_size_now (const BatchSize *self)
{
  return self->progress->division.batch_size / *self->ranks;
}

/* All ranks change it, or none. */
static gboolean
agree (const BatchSize *self, gboolean own, GError **error)
{
  const gint64 failed = !own;
  gint64 any = failed;

  if (self->group->comm == NULL)
    return own;
  if (own ? !rank_group_max (self->group, &failed, &any, 1, error)
          : !rank_group_max (self->group, &failed, &any, 1, NULL))
    return FALSE;
  return any == 0
         || (own ? refuse (error, "The batch size cannot change: another rank has no plan for a step of this size.")
                 : FALSE);
}

static void
start (BatchSize *self)
{
  const TrainProgress *progress = self->progress;

  batch_queue_drop (self->batches);
  loom_loader_reset (self->data->loader);
  if (progress->batch < self->data->steps_per_epoch && progress->epoch < self->model->spec->epochs)
    loom_loader_start (self->data->loader, progress->epoch, progress->batch * self->model->spec->accumulate);
}

gboolean
batch_size_begin_epoch (BatchSize *self, GError **error)
{
  if (!train_data_divide (self->data, self->model, &self->progress->division, self->progress->epoch, error))
    return FALSE;
  start (self);
  return TRUE;
}

gboolean
batch_size_change (BatchSize *self, double value, GError **error)
{
  TrainProgress *progress = self->progress;
  const EpochDivision before = progress->division;
  const gint64 read = epoch_division_sample (&before, progress->batch, self->model->spec->accumulate);
  EpochDivision division = before;

  if (!batch_size_check (self, value, error))
    return FALSE;
  division.batch_size = (gint64)value * *self->ranks;
  if (division.batch_size == before.batch_size)
    return TRUE;
  division.batch = progress->batch;
  division.sample = MIN (read, self->data->n_samples);
  progress->division = division;
  if (agree (self,
             train_data_check_division (self->data, self->model, &division, error)
                 && step_plans_get (self->plans, division.batch_size, TRUE, error) != NULL
                 && train_data_divide (self->data, self->model, &division, progress->epoch, error),
             error))
    {
      start (self);
      return TRUE;
    }
  /* The loader has had this size before, so that it allocates nothing. */
  progress->division = before;
  train_data_divide (self->data, self->model, &before, progress->epoch, NULL);
  start (self);
  return FALSE;
}
