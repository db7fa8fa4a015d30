/* The net's current predictions for given samples. */
#include "engine/train/sample-answers.h"

#include "engine/core/loom-error.h"
#include "engine/infer/loom-answer-port.h"

struct _SampleAnswers
{
  const TrainModel *model;
  WatchedState *watched;
  LoomNetSource input, output;
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

SampleAnswers *
sample_answers_new (const TrainModel *model, WatchedState *watched, GError **error)
{
  SampleAnswers *self;
  LoomNetSource output, input;

  if (!loom_answer_find_output (model->net, model->spec, NULL, &output, error)
      || !loom_answer_find_input (model->net, &output, &input, NULL, error))
    return NULL;
  self = g_new0 (SampleAnswers, 1);
  self->model = model;
  self->watched = watched;
  self->output = output;
  self->input = input;
  self->kind = loom_train_output_kind (model->spec, model->net, &output);
  self->name = loom_net_port_name (model->net, output.node, output.output);
  self->text = is_text (model, input.node);
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
  const gboolean averaged = train_model_has_averages (model) && (copy->value == NULL || copy->step > 0);
  LoomPlanOptions options = { .device = model->device, .strict_devices = loom_graph_strict_devices (model->graph) };

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

/* Converts the samples to the input's type; SHAPE if they do not match. */
static LoomTensor *
fit_samples (const SampleAnswers *self, const LoomTensor *samples, GError **error)
{
  const LoomType *type = &loom_net_node (self->net, self->input.node)->output[self->input.output];
  gboolean same = samples->rank == type->shape.rank;

  for (int i = 0; same && i < samples->rank; i++)
    same = loom_dim_value (type->shape.dim[i], NULL) == samples->dim[i];
  if (!same)
    {
      g_autofree char *wanted = loom_shape_to_string (&type->shape);
      LoomShape given = loom_tensor_shape (samples);
      g_autofree char *have = loom_shape_to_string (&given);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "The samples are %s, but the graph reads %s.", have, wanted);
      return NULL;
    }
  return loom_tensor_convert (
      samples, self->model->spec->precision == LOOM_F64 && type->dtype == LOOM_F32 ? LOOM_F64 : type->dtype, FALSE,
      error);
}

LoomTensor *
sample_answers_compute (SampleAnswers *self, const LoomTensor *samples, GError **error)
{
  if (!prepare (self, samples->rank > 0 ? samples->dim[0] : 1, error))
    return NULL;
  g_autoptr (LoomTensor) fitted = fit_samples (self, samples, error);
  if (fitted == NULL)
    return NULL;
  for (guint i = 0; i < loom_program_n_inputs (loom_plan_program (loom_exec_plan (self->exec))); i++)
    loom_exec_feed (self->exec, i, fitted->data);
  watched_state_fill_scalars (self->watched, &self->watched->now);
  return loom_exec_run (self->exec, error) ? loom_exec_output (self->exec, 0, error) : NULL;
}

GPtrArray *
sample_answers_list (const SampleAnswers *self, const LoomTensor *values, guint n, GError **error)
{
  return loom_answers_new (values, self->name, self->kind, self->text, n, error);
}
