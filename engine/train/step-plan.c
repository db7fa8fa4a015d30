/* One step made ready to run. */
#include "engine/train/step-plan.h"

#include "engine/core/loom-error.h"
#include "engine/program/loom-partition.h"
#include "engine/train/step-division.h"

const void *
step_input_data (const StepInput *input, const LoomTensor *tensor)
{
  if (input->wide == NULL)
    return tensor->data;
  for (gint64 i = 0; i < tensor->count; i++)
    ((double *)input->wide->data)[i] = ((const float *)tensor->data)[i];
  return input->wide->data;
}

StepInput *
step_inputs_new (const TrainData *data, LoomProgram *program, guint *n, GError **error)
{
  const guint n_ports = loom_dataset_info (data->dataset)->n_ports;
  g_autofree StepInput *input = NULL;

  *n = loom_program_n_inputs (program);
  input = g_new0 (StepInput, MAX (*n, 1));
  for (guint i = 0; i < *n; i++)
    {
      const char *name = loom_program_get_input (program, i)->name;
      guint port = 0;

      while (port < n_ports && g_strcmp0 (data->port_name[port], name) != 0)
        port++;
      if (port == n_ports)
        {
          g_set_error (
              error, LOOM_ERROR, LOOM_ERROR_PORT,
              "The loss needs “%s”, which no data set provides. Wire a dataset node to it, or make it a parameter or "
              "a constant.",
              name);
          return NULL;
        }
      input[i] = (StepInput){ .input = i, .port = port };
    }
  return g_steal_pointer (&input);
}

static gboolean
add_wide_inputs (StepPlan *plan, GError **error)
{
  LoomProgram *p = plan->step->program;

  for (guint i = 0; i < plan->n_inputs; i++)
    {
      const LoomTensorDesc *desc = &loom_value_info (p, loom_program_get_input (p, plan->input[i].input)->value)->desc;
      gint64 count = loom_desc_count (desc);

      if (desc->dtype != LOOM_F64)
        continue;
      plan->input[i].wide = loom_tensor_new (LOOM_F64, 1, &count, error);
      if (plan->input[i].wide == NULL)
        return FALSE;
    }
  return TRUE;
}

void
step_plan_free (StepPlan *plan)
{
  if (plan == NULL)
    return;
  for (guint i = 0; i < plan->n_inputs; i++)
    g_clear_pointer (&plan->input[i].wide, loom_tensor_unref);
  loom_exec_free (plan->exec);
  loom_step_free (plan->step);
  g_free (plan->term_sum);
  g_free (plan->term_count);
  g_free (plan->metric);
  g_free (plan->input);
  g_free (plan);
}

static guint
find_output (LoomExec *exec, const char *name)
{
  int i = loom_exec_find_output (exec, name);

  g_assert (i >= 0);
  return (guint)i;
}

static void
find_outputs (StepPlan *plan, const LoomTrainSpec *spec, gboolean training)
{
  const LoomStep *step = plan->step;

  plan->loss = find_output (plan->exec, "loss");
  plan->own_loss = plan->reports_own ? loom_exec_find_output (plan->exec, LOOM_PARTITION_LOCAL) : -1;
  if (training)
    {
      plan->finite = find_output (plan->exec, "finite");
      plan->grad_norm = find_output (plan->exec, "grad_norm");
    }
  plan->term_sum = g_new0 (guint, MAX (1, step->n_terms));
  plan->term_count = g_new0 (guint, MAX (1, step->n_terms));
  for (guint i = 0; i < step->n_terms; i++)
    {
      g_autofree char *sum = g_strdup_printf (LOOM_STEP_SUM "%u", i);
      g_autofree char *count = g_strdup_printf (LOOM_STEP_COUNT "%u", i);

      plan->term_sum[i] = find_output (plan->exec, sum);
      plan->term_count[i] = step->is_counted[i] ? find_output (plan->exec, count) : 0;
    }
  plan->metric = g_new0 (guint, MAX (1, step->n_metrics));
  for (guint i = 0; i < step->n_metrics; i++)
    {
      const LoomMetricSpec *metric = spec->metrics->pdata[i];
      g_autofree char *name = g_strdup_printf ("metric.%s", metric->name);

      plan->metric[i] = find_output (plan->exec, name);
    }
}

LoomExec *
step_plan_exec (LoomProgram *program, const TrainModel *model, const RankGroup *group, GError **error)
{
  LoomPlanOptions options = { .device = model->device,
                              .mesh = group != NULL ? rank_group_mesh (group) : NULL,
                              .strict_devices = loom_graph_strict_devices (model->graph) };
  LoomPlan *plan = loom_plan_new (program, model->devices, &options, error);

  g_autoptr (LoomExec) exec = plan != NULL ? loom_exec_new (plan, model->state, error) : NULL;

  if (exec != NULL && model->eager && !loom_exec_walk (exec, model->devices, error))
    return NULL;
  return g_steal_pointer (&exec);
}

StepPlan *
step_plan_new (LoomStep *step, const TrainModel *model, const TrainData *data, const RankGroup *group,
               gboolean training, gboolean averaged, GError **error)
{
  g_autoptr (StepPlan) plan = g_new0 (StepPlan, 1);

  plan->step = step;
  plan->averaged = averaged;
  plan->reports_own = step->reports_own;
  if (averaged)
    train_model_use_averages (model, step->program);
  if (group != NULL && !step_divide (step, model, group, error))
    return NULL;
  plan->exec = step_plan_exec (step->program, model, group, error);
  if (plan->exec == NULL)
    return NULL;
  plan->input = step_inputs_new (data, step->program, &plan->n_inputs, error);
  if (plan->input == NULL || !add_wide_inputs (plan, error))
    return NULL;
  find_outputs (plan, model->spec, training);
  return g_steal_pointer (&plan);
}

void
step_plan_feed (StepPlan *plan, const LoomBatch *batch)
{
  for (guint i = 0; i < plan->n_inputs; i++)
    loom_exec_feed (plan->exec, plan->input[i].input,
                    step_input_data (&plan->input[i], batch->tensors[plan->input[i].port]));
}
