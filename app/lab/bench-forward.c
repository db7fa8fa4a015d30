/* Prepares the prediction of a graph without a loss, such as an imported model, to be timed instead of a training step.
 *
 * Nothing is learnt, so the numbers are arbitrary: normal ones of a fixed seed, and zeros for indices, which are valid
 * in every table. The step has no metrics, and its only output is the prediction. */
#include "app/lab/bench-private.h"

#include <math.h>
#include <string.h>


gboolean
bench_has_loss (const LoomGraph *graph)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  return train != NULL && loom_element_get (train, "loss") != NULL;
}

/* The net for this batch; other open sizes need a number. */
static LoomNet *
bind (LoomNet *net, const LoomGraph *graph, gint64 batch, GError **error)
{
  g_autofree char *symbols = loom_net_symbols (net);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { { 0 } };
  LoomNet *bound;

  for (const char *s = symbols; *s != '\0'; s++)
    if (*s != 'B')
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                     "The size %c is open. Set a number in the shapes of the graph's inputs.", *s);
        return NULL;
      }
  binding.value['B' - 'A'] = batch;
  bound = loom_net_bind (net, graph, &binding, faults);
  if (loom_faults_to_error (faults, NULL, error))
    return bound;
  loom_net_free (bound);
  return NULL;
}

static GPtrArray *
make_inputs (const LoomProgram *p, GError **error)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GRand) random = g_rand_new_with_seed (0);

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomTensorDesc *desc = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
      LoomTensor *t = loom_tensor_new (desc->dtype, desc->rank, desc->dim, error);

      if (t == NULL)
        return NULL;
      g_ptr_array_add (inputs, t);
      memset (t->data, 0, t->bytes);
      for (gint64 k = 0; loom_dtype_is_float (desc->dtype) && k < t->count; k++)
        loom_tensor_set (t, k, sqrt (-2 * log (1 - g_rand_double (random))) * cos (2 * G_PI * g_rand_double (random)));
    }
  return g_steal_pointer (&inputs);
}

gboolean
bench_prepare_forward (Bench *b, const LoomGraph *graph, const BenchOptions *o, double *ready_ms, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  const char *device = o->device != NULL ? o->device : "cpu";
  const gint64 start = loom_monotonic ();
  LoomNetSource output;
  LoomValue value;
  LoomLowerOptions options = { .float_dtype = g_strcmp0 (o->precision, "f64") == 0 ? LOOM_F64 : LOOM_F32,
                               .n_wanted = 1,
                               .wanted = &output,
                               .tf32 = o->tf32 };
  GPtrArray *inputs;

  b->forward = TRUE;
  b->net = loom_net_new (graph, NULL, faults);
  if (!loom_faults_to_error (faults, NULL, error))
    return FALSE;
  if (!loom_answer_find_output (b->net, NULL, NULL, &output, NULL))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "The graph has neither a loss nor one output node, so it has no step and no prediction to measure.");
      return FALSE;
    }
  b->step = g_new0 (LoomStep, 1);
  b->step->batch = o->batch_size > 0 ? o->batch_size : 1;
  b->step->net = bind (b->net, graph, b->step->batch, error);
  g_autoptr (LoomProgram) lowered = b->step->net != NULL ? loom_lower (b->step->net, &options, &value, error) : NULL;
  if (lowered == NULL)
    return FALSE;
  b->step->program = loom_program_hoist (lowered, 1, &value);
  loom_program_output (b->step->program, "answer", value);
  if (!bench_make_executor (b, graph, device, 0, o, error))
    return FALSE;
  bench_note_ready (b, start, ready_ms);
  inputs = make_inputs (b->step->program, error);
  if (inputs == NULL)
    return FALSE;
  b->batch = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  g_ptr_array_add (b->batch, inputs);
  return TRUE;
}
