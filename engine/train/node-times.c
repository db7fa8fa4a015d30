/* The seconds that each node takes, measured. */
#include "engine/train/node-times.h"

#include "engine/core/loom-os.h"
#include "engine/run/loom-eager.h"
#include "engine/train/loom-step.h"
#include "engine/train/step-plan.h"

#include <string.h>

#define WALKS 3 /* the first one warms the caches */

/* The gradients of the weights become outputs, so that the backward pass is part of the program. */
static gboolean
add_gradients (LoomProgram *p, const LoomTrainSpec *spec, LoomValue loss, GError **error)
{
  g_autoptr (GArray) slots = NULL, grads = NULL;

  if (!loom_step_parameter_gradients (p, loss, 0, spec, &slots, &grads, error))
    return FALSE;
  for (guint i = 0; i < grads->len; i++)
    if (g_array_index (grads, LoomValue, i) != 0)
      {
        g_autofree char *name = g_strdup_printf ("gradient %u", i);
        loom_program_output (p, name, g_array_index (grads, LoomValue, i));
      }
  return TRUE;
}

static LoomProgram *
build_program (const TrainModel *model, const LoomNet *net, GError **error)
{
  LoomNetSource wanted = model->spec->loss;
  LoomValue loss = 0;
  LoomLowerOptions options = train_model_lower_options (model, 1, &wanted);
  g_autoptr (LoomProgram) p = loom_lower (net, &options, &loss, error);

  if (p == NULL)
    return NULL;
  loom_program_output (p, "loss", loss);
  return add_gradients (p, model->spec, loss, error) ? g_steal_pointer (&p) : NULL;
}

/* The node of each instruction, or -1. (transfer full) */
static int *
nodes_of (const LoomProgram *program, const LoomNet *net)
{
  guint n = loom_program_n_instrs (program);
  int *node = g_new (int, n + 1);

  for (guint i = 0; i < n; i++)
    {
      const char *origin = loom_program_instr (program, i)->origin;
      node[i] = origin != NULL ? loom_net_find (net, origin) : -1;
    }
  return node;
}

/* Runs all n instructions once, and measures each and the total. The state is read before the clock starts, and no
 * value is copied from its device, so a node's time is that of its kernels only. */
static gboolean
walk (LoomEager *eager, guint n, const int *node, double *seconds, double *sum, GError **error)
{
  gint64 last, now;

  if (!loom_eager_begin (eager, error))
    return FALSE;
  *sum = 0;
  last = loom_monotonic ();
  for (guint i = 0; i < n; i++, last = now)
    {
      if (!loom_eager_step (eager, error))
        return FALSE;
      now = loom_monotonic ();
      *sum += (double)(now - last) / G_USEC_PER_SEC;
      if (node[i] >= 0)
        seconds[node[i]] += (double)(now - last) / G_USEC_PER_SEC;
    }
  return TRUE;
}

/* Uses the run with the smallest total. */
static gboolean
measure (LoomEager *eager, guint n, const int *node, LoomTensor *times, GError **error)
{
  g_autofree double *seconds = g_new (double, times->count + 1);
  double sum, least = G_MAXDOUBLE;

  for (guint i = 0; i < WALKS; i++)
    {
      memset (seconds, 0, (gsize)times->count * sizeof *seconds);
      if (!walk (eager, n, node, seconds, &sum, error))
        return FALSE;
      if (i == 0 || sum >= least)
        continue;
      least = sum;
      for (gint64 k = 0; k < times->count; k++)
        loom_tensor_set (times, k, seconds[k]);
    }
  return TRUE;
}

LoomTensor *
node_times_measure (const TrainModel *model, const TrainData *data, WatchedState *watched, const LoomNet *net,
                    const GPtrArray *sample, GError **error)
{
  gint64 n = loom_net_n_nodes (net);
  g_autoptr (LoomProgram) program = build_program (model, net, error);
  g_autofree StepInput *input = NULL;
  g_autofree int *node = NULL;
  g_autoptr (LoomEager) eager = NULL;
  g_autoptr (LoomTensor) times = NULL;
  LoomState *state;
  guint n_inputs;

  if (program == NULL)
    return NULL;
  input = step_inputs_new (data, program, &n_inputs, error);
  state = input != NULL ? watched_state_get (watched, &watched->now, error) : NULL;
  eager = state != NULL ? loom_eager_new (program, state, model->devices, model->device, error) : NULL;
  if (eager == NULL || !watched_state_fill (watched, &watched->now, error))
    return NULL;
  times = loom_tensor_new (LOOM_F32, 1, &n, error);
  if (times == NULL)
    return NULL;
  for (guint i = 0; i < n_inputs; i++)
    loom_eager_feed (eager, input[i].input, ((LoomTensor *)sample->pdata[input[i].port])->data);
  node = nodes_of (program, net);
  return measure (eager, loom_program_n_instrs (program), node, times, error) ? g_steal_pointer (&times) : NULL;
}
