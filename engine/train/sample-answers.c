/* The net's current predictions for given samples. */
#include "engine/train/sample-answers.h"

#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-answer-port.h"
#include "engine/interop/loom-safetensors.h"

struct _SampleAnswers
{
  const TrainModel *model;
  WatchedState *watched;
  GArray *inputs; /* LoomNetSource: first that of the samples */
  LoomNetSource output;
  LoomOutputKind kind;
  char *name;    /* of the output */
  gboolean text; /* samples are pieces of a text */
  /* of the last plan */
  gint64 n;
  gboolean averaged;
  LoomNet *net;
  LoomExec *exec;
};

static void
forget_plan (SampleAnswers *self)
{
  g_clear_pointer (&self->exec, loom_exec_free);
  g_clear_pointer (&self->net, loom_net_free);
  self->n = 0;
}

void
sample_answers_free (SampleAnswers *self)
{
  if (self == NULL)
    return;
  forget_plan (self);
  g_array_unref (self->inputs);
  g_free (self->name);
  g_free (self);
}

/* TRUE if samples are pieces of a text, by the class of their source. */
static gboolean
is_text (const TrainModel *model, guint node)
{
  const char *source = loom_element_get (loom_net_node (model->net, node)->element, "source");
  const LoomDatasetClass *klass = source != NULL ? loom_dataset_class (source) : NULL;

  return klass != NULL && loom_dataset_class_is_text (klass);
}

/* The first port of a data set is that of the samples, also if another is read before it. */
static void
begin_with_samples (GArray *inputs)
{
  LoomNetSource *all = (LoomNetSource *)inputs->data;

  for (guint i = 1; i < inputs->len && all[0].output != 0; i++)
    if (all[i].node == all[0].node && all[i].output == 0)
      {
        const LoomNetSource first = all[0];

        all[0] = all[i];
        all[i] = first;
      }
}

SampleAnswers *
sample_answers_new (const TrainModel *model, WatchedState *watched, GError **error)
{
  g_autoptr (GArray) inputs = NULL;
  LoomNetSource output, input;
  SampleAnswers *self;

  if (!loom_answer_find_output (model->net, model->spec, NULL, &output, error))
    return NULL;
  inputs = loom_answer_list_inputs (model->net, &output);
  /* For its error. */
  if (inputs->len == 0 && !loom_answer_find_input (model->net, &output, &input, NULL, error))
    return NULL;
  begin_with_samples (inputs);
  self = g_new0 (SampleAnswers, 1);
  self->model = model;
  self->watched = watched;
  self->output = output;
  self->inputs = g_steal_pointer (&inputs);
  self->kind = loom_train_output_kind (model->spec, model->net, &output);
  self->name = loom_net_port_name (model->net, output.node, output.output);
  self->text = is_text (model, g_array_index (self->inputs, LoomNetSource, 0).node);
  return self;
}

static LoomProgram *
build_program (SampleAnswers *self, gint64 n, gboolean averaged, GError **error)
{
  LoomLowerOptions options = train_model_lower_options (self->model, 1, &self->output);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };
  LoomProgram *program;
  LoomValue value;

  binding.value['B' - 'A'] = n;
  self->net = loom_net_bind (self->model->net, self->model->graph, &binding, faults);
  g_autoptr (LoomProgram) lowered
      = loom_faults_to_error (faults, NULL, error) ? loom_lower (self->net, &options, &value, error) : NULL;
  if (lowered == NULL)
    return NULL;
  program = loom_program_hoist (lowered, 1, &value);
  loom_program_output (program, "answer", value);
  if (averaged)
    train_model_use_averages (self->model, program);
  return program;
}

static gboolean
prepare (SampleAnswers *self, gint64 n, GError **error)
{
  const TrainModel *model = self->model;
  StateCopy *copy = &self->watched->now;
  gboolean averaged;
  LoomPlanOptions options = { .device = model->device, .strict_devices = loom_graph_strict_devices (model->graph) };

  if (!train_model_has_averages (model, &averaged, error))
    return FALSE;
  averaged = averaged && (copy->value == NULL || copy->step > 0);
  if (self->exec != NULL && self->n == n && self->averaged == averaged)
    return TRUE;
  LoomState *state = watched_state_get (self->watched, copy, error);
  if (state == NULL)
    return FALSE;
  forget_plan (self);
  g_autoptr (LoomProgram) program = build_program (self, n, averaged, error);
  LoomPlan *plan = program != NULL ? loom_plan_new (program, model->devices, &options, error) : NULL;
  self->exec = plan != NULL ? loom_exec_new (plan, state, error) : NULL;
  self->n = n;
  self->averaged = averaged;
  if (self->exec != NULL && watched_state_fill (self->watched, copy, error))
    return TRUE;
  forget_plan (self);
  return FALSE;
}

/* Converts the samples to the type of the input; SHAPE if they do not match. */
static LoomTensor *
fit_samples (const SampleAnswers *self, const LoomNetSource *input, const LoomTensor *samples, GError **error)
{
  const LoomType *type = &loom_net_node (self->net, input->node)->output[input->output];
  gboolean same = samples->rank == type->shape.rank;

  for (int i = 0; same && i < samples->rank; i++)
    same = loom_dim_value (type->shape.dim[i], NULL) == samples->dim[i];
  if (!same)
    {
      g_autofree char *wanted = loom_shape_to_string (&type->shape);
      LoomShape given = loom_tensor_shape (samples);
      g_autofree char *have = loom_shape_to_string (&given);
      return loom_refuse_null (error, LOOM_ERROR_SHAPE, "The samples are %s, but the graph reads %s.", have, wanted);
    }
  return loom_tensor_convert (
      samples, self->model->spec->precision == LOOM_F64 && type->dtype == LOOM_F32 ? LOOM_F64 : type->dtype, FALSE,
      error);
}

static const LoomTensor *
find_other (const GPtrArray *others, const char *name)
{
  for (guint i = 0; others != NULL && i < others->len; i++)
    if (g_str_equal (((const LoomNamedTensor *)others->pdata[i])->name, name))
      return ((const LoomNamedTensor *)others->pdata[i])->tensor;
  return NULL;
}

/* Adds the value of each input to `fitted`, and feeds it to the inputs of the program with its name. */
static gboolean
feed (SampleAnswers *self, const LoomTensor *samples, const GPtrArray *others, GPtrArray *fitted, GError **error)
{
  const LoomProgram *program = loom_plan_program (loom_exec_plan (self->exec));

  for (guint i = 0; i < self->inputs->len; i++)
    {
      const LoomNetSource *input = &g_array_index (self->inputs, LoomNetSource, i);
      g_autofree char *name = loom_net_port_name (self->net, input->node, input->output);
      const LoomTensor *given = i == 0 ? samples : find_other (others, name);
      LoomTensor *t;

      if (given == NULL)
        return loom_refuse (error, LOOM_ERROR_USAGE, "“%s” depends on “%s” too, of which there are no values.",
                            self->name, name);
      t = fit_samples (self, input, given, error);
      if (t == NULL)
        return FALSE;
      g_ptr_array_add (fitted, t);
      for (guint k = 0; k < loom_program_n_inputs (program); k++)
        if (g_str_equal (loom_program_get_input (program, k)->name, name))
          loom_exec_feed (self->exec, k, t->data);
    }
  return TRUE;
}

LoomTensor *
sample_answers_compute (SampleAnswers *self, const LoomTensor *samples, const GPtrArray *others, GError **error)
{
  g_autoptr (GPtrArray) fitted = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  if (!prepare (self, samples->rank > 0 ? samples->dim[0] : 1, error) || !feed (self, samples, others, fitted, error))
    return NULL;
  return watched_state_fill_scalars (self->watched, &self->watched->now, error) && loom_exec_run (self->exec, error)
             ? loom_exec_output (self->exec, 0, error)
             : NULL;
}

GPtrArray *
sample_answers_list (const SampleAnswers *self, const LoomTensor *values, guint n, GError **error)
{
  return loom_answers_new (values, self->name, self->kind, self->text, n, error);
}
