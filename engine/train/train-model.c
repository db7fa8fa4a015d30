/* The graph, data and device of a run; see the header. */
#include "engine/train/train-model.h"

#include "engine/train/loom-step.h"

void
train_model_clear (TrainModel *model)
{
  g_clear_pointer (&model->state, loom_state_unref);
  g_clear_pointer (&model->devices, loom_devices_unref);
  g_clear_pointer (&model->spec, loom_train_spec_free);
  g_clear_pointer (&model->net, loom_net_free);
  g_clear_pointer (&model->graph, loom_graph_unref);
  g_clear_pointer (&model->device, g_free);
  g_clear_pointer (&model->data_folder, g_free);
}

gboolean
train_model_has_averages (const TrainModel *model, gboolean *has, GError **error)
{
  double step = 0;

  if (model->spec->ema > 0 && !loom_state_get_scalar (model->state, "step", &step, error))
    return FALSE;
  *has = step > 0;
  return TRUE;
}

static gboolean
has_slot (gpointer state, const char *slot)
{
  return loom_state_find (state, slot) >= 0;
}

void
train_model_use_averages (const TrainModel *model, LoomProgram *program)
{
  loom_step_use_averages (program, has_slot, model->state);
}

LoomLowerOptions
train_model_lower_options (const TrainModel *model, guint n, const LoomNetSource *wanted)
{
  return (LoomLowerOptions){ .float_dtype = model->spec->precision == LOOM_F64 ? LOOM_F64 : LOOM_F32,
                             .n_wanted = n,
                             .wanted = wanted,
                             .seed = model->spec->seed,
                             .direct = model->spec->direct,
                             .tf32 = model->spec->tf32 };
}
