/* Forecasts whether a run fits into memory; see the header. */
#include "engine/train/loom-forecast.h"

#include "engine/train/memory-budget.h"
#include "engine/train/read-model.h"

typedef struct
{
  TrainModel model;
  RankGroup group;
  TrainData data;
  TrainNotes notes;
} Parts;

static void
parts_clear (Parts *parts)
{
  train_data_clear (&parts->data);
  train_model_clear (&parts->model);
  rank_group_close (&parts->group);
  train_notes_clear (&parts->notes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Parts, parts_clear)

/* As for a run, but without a plan. */
static gboolean
open_parts (Parts *self, const LoomGraph *graph, const LoomTrainerOptions *options, GError **error)
{
  TrainModel *model = &self->model;

  model->threads = options->threads;
  if (!read_model_graph (model, graph, options, &self->notes, error)
      || !rank_group_open (&self->group, NULL, model->spec, TRUE, &self->notes, error))
    return FALSE;
  model->device = g_strdup (options->device != NULL ? options->device : model->spec->device);
  if (!train_data_open (&self->data, model, &self->group, options->samples, &self->notes, error))
    return FALSE;
  model->spec->schedule.steps_per_epoch = self->data.steps_per_epoch;
  if (!read_model_device (model, options, &self->notes, error))
    return FALSE;
  model->state = loom_state_new (model->devices, model->device, model->spec->seed);
  return TRUE;
}

gboolean
loom_forecast (const LoomGraph *graph, const LoomTrainerOptions *options, LoomForecast *forecast, GError **error)
{
  g_auto (Parts) parts = { 0 };
  const MemoryBudget budget = { &parts.model, &parts.data, &parts.group, 1 };
  MemoryForecast found;

  *forecast = (LoomForecast){ NULL };
  if (!open_parts (&parts, graph, options, error)
      || !memory_budget_forecast (&budget, parts.model.spec->batch_size, &found, error))
    return FALSE;
  *forecast = (LoomForecast){ found.names, found.needed, found.available, parts.model.spec->batch_size, found.largest };
  return TRUE;
}

void
loom_forecast_clear (LoomForecast *forecast)
{
  g_clear_pointer (&forecast->devices, g_free);
}
