/* Answers for samples of the asker's own while a run goes on: what a picture of the task is made of.
 *
 * As for snapshots, a plan of its own computes the answering port in evaluation mode over the run's state, so that
 * nothing is committed and no random number is drawn. It is kept for the number of samples that was asked for last,
 * because a picture asks for the same number again and again. Where <train> keeps moving averages of the weights,
 * they answer, as they do in evaluations and in `gradloom predict`. */
#include "engine/infer/loom-answer-port.h"
#include "engine/infer/loom-answer.h"
#include "engine/train/trainer-private.h"

struct _TrainerAnswers
{
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
forget_plan (TrainerAnswers *self)
{
  g_clear_pointer (&self->exec, loom_exec_free);
  g_clear_pointer (&self->net, loom_net_free);
  self->n = 0;
}

void
trainer_answers_free (TrainerAnswers *self)
{
  if (self == NULL)
    return;
  forget_plan (self);
  g_free (self->name);
  g_free (self);
}

/* Whether samples are pieces of a text, by the class of their source. */
static gboolean
is_text (const LoomTrainer *t, guint node)
{
  const char *source = loom_element_get (loom_net_node (t->net, node)->element, "source");
  const LoomDatasetClass *klass = source != NULL ? loom_dataset_class (source) : NULL;

  return klass != NULL && loom_dataset_class_is_text (klass);
}

static TrainerAnswers *
get_answers (LoomTrainer *t, GError **error)
{
  LoomNetSource output, input;

  if (t->answers != NULL)
    return t->answers;
  if (!loom_answer_find_output (t->net, t->spec, NULL, &output, error)
      || !loom_answer_find_input (t->net, &output, &input, NULL, error))
    return NULL;
  t->answers = g_new0 (TrainerAnswers, 1);
  t->answers->output = output;
  t->answers->input = input;
  t->answers->kind = loom_train_output_kind (t->spec, t->net, &output);
  t->answers->name = loom_net_port_name (t->net, output.node, output.output);
  t->answers->text = is_text (t, input.node);
  return t->answers;
}

static gboolean
prepare (LoomTrainer *t, TrainerAnswers *self, gint64 n, GError **error)
{
  const gboolean averaged = trainer_has_averages (t) && (t->seen.value == NULL || t->seen.step > 0);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomPlanOptions plan_options = { .device = t->device, .strict_devices = loom_graph_strict_devices (t->graph) };
  LoomLowerOptions options = { .float_dtype = t->spec->precision == LOOM_F64 ? LOOM_F64 : LOOM_F32,
                               .n_wanted = 1,
                               .wanted = &self->output,
                               .seed = t->spec->seed,
                               .direct = t->spec->direct,
                               .tf32 = t->spec->tf32 };
  LoomBinding binding = { 0 };
  LoomValue value;

  if (self->exec != NULL && self->n == n && self->averaged == averaged)
    return TRUE;
  LoomState *state = trainer_seen_state (t, &t->seen, error);
  if (state == NULL)
    return FALSE;
  forget_plan (self);
  binding.value['B' - 'A'] = n;
  self->net = loom_net_new (t->graph, &binding, faults);
  g_autoptr (LoomProgram) lowered
      = loom_faults_to_error (faults, NULL, error) ? loom_lower (self->net, &options, &value, error) : NULL;
  if (lowered == NULL)
    return FALSE;
  g_autoptr (LoomProgram) program = loom_program_hoist (lowered, 1, &value);
  loom_program_output (program, "answer", value);
  if (averaged)
    trainer_use_averages (t, program);
  LoomPlan *plan = loom_plan_new (program, t->devices, &plan_options, error);
  self->exec = plan != NULL ? loom_exec_new (plan, state, error) : NULL;
  self->n = n;
  self->averaged = averaged;
  if (self->exec != NULL && trainer_seen_fill (t, &t->seen, error))
    return TRUE;
  forget_plan (self);
  return FALSE;
}

/* The samples in the input's type, or a SHAPE error. */
static LoomTensor *
fit_samples (const LoomTrainer *t, const TrainerAnswers *self, const LoomTensor *samples, GError **error)
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
      samples, t->spec->precision == LOOM_F64 && type->dtype == LOOM_F32 ? LOOM_F64 : type->dtype, FALSE, error);
}

static LoomTensor *
run (LoomTrainer *t, const LoomTensor *samples, GError **error)
{
  TrainerAnswers *self = get_answers (t, error);

  if (self == NULL || !prepare (t, self, samples->rank > 0 ? samples->dim[0] : 1, error))
    return NULL;
  g_autoptr (LoomTensor) fitted = fit_samples (t, self, samples, error);
  if (fitted == NULL)
    return NULL;
  for (guint i = 0; i < loom_program_n_inputs (loom_plan_program (loom_exec_plan (self->exec))); i++)
    loom_exec_feed (self->exec, i, fitted->data);
  trainer_seen_scalars (t, &t->seen);
  return loom_exec_run (self->exec, error) ? loom_exec_output (self->exec, 0, error) : NULL;
}

void
trainer_predict_answer (LoomTrainer *t, TrainerRequest *request)
{
  const gint64 begin = g_get_monotonic_time ();

  request->result = run (t, request->samples, &request->error);
  request->step = trainer_seen_step (t, &t->seen, request);
  request->epoch = CLAMP (trainer_seen_epoch (t) + 1, 1, t->spec->epochs);
  request->seconds = (double)(g_get_monotonic_time () - begin) / G_USEC_PER_SEC;
}

GPtrArray *
loom_trainer_predict (LoomTrainer *t, const LoomTensor *samples, LoomTrainerMoment *moment, GError **error)
{
  TrainerRequest request = { .samples = samples };
  g_autoptr (LoomTensor) result = trainer_ask (t, &request, error);

  if (moment != NULL)
    *moment = (LoomTrainerMoment){ request.step, request.epoch, request.seconds };
  /* Found by the request, and the same for the trainer's whole life. */
  return result ? loom_answers_new (result, t->answers->name, t->answers->kind, t->answers->text,
                                     (guint)samples->dim[0], error)
                : NULL;
}
