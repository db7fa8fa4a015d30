/* How long each node takes, measured: what a view shows as a node's share of a step.
 *
 * The loss and the gradients of all weights are computed by the eager walk, a primitive at a time, and each primitive's
 * time goes to its node. The training step itself fuses nodes, so it takes less than the sum, and nobody can say which
 * part of a fused kernel is whose. The walk reads the state and commits nothing. */
#include "engine/train/trainer-private.h"
#include "engine/run/loom-eager.h"

#include <string.h>

#define WALKS 3 /* the first one warms caches up */

typedef struct
{
  const LoomNet *net;
  double *seconds; /* of each node, in this walk */
  double sum;
  gint64 last;
} Watch;

static gboolean
visit (const LoomInstr *instr, guint index, LoomTensor *const *results, gpointer data)
{
  Watch *watch = data;
  gint64 now = g_get_monotonic_time ();
  int node = instr->origin != NULL ? loom_net_find (watch->net, instr->origin) : -1;
  double seconds = (double)(now - watch->last) / G_USEC_PER_SEC;

  if (node >= 0)
    watch->seconds[node] += seconds;
  watch->sum += seconds;
  watch->last = now;
  return TRUE;
}

/* The gradients of the weights that the loss depends on become outputs, so that the backward pass is part of the
 * program. */
static gboolean
add_gradients (LoomProgram *p, const LoomNet *net, LoomValue loss, GError **error)
{
  guint n = loom_net_n_weights (net), used = 0;
  g_autofree LoomValue *wrt = g_new0 (LoomValue, n + 1), *grad = g_new0 (LoomValue, n + 1);

  for (guint i = 0; i < n; i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      int slot = weight->is_buffer || weight->frozen ? -1 : loom_program_find_slot (p, weight->name);

      if (slot >= 0)
        wrt[used++] = loom_program_read (p, slot);
    }
  if (used == 0)
    return TRUE;
  if (!loom_differentiate (p, loss, 0, used, wrt, grad, error))
    return FALSE;
  for (guint i = 0; i < used; i++)
    if (grad[i] != 0)
      {
        g_autofree char *name = g_strdup_printf ("gradient %u", i);
        loom_program_output (p, name, grad[i]);
      }
  return TRUE;
}

static LoomProgram *
build_program (LoomTrainer *t, const LoomNet *net, GError **error)
{
  LoomNetSource wanted = t->spec->loss;
  LoomValue loss = 0;
  LoomLowerOptions options = { .float_dtype = t->spec->precision == LOOM_F64 ? LOOM_F64 : LOOM_F32,
                               .n_wanted = 1,
                               .wanted = &wanted,
                               .seed = t->spec->seed,
                               .direct = t->spec->direct,
                               .tf32 = t->spec->tf32 };
  g_autoptr (LoomProgram) p = loom_lower (net, &options, &loss, error);

  if (!p)
    return NULL;
  loom_program_output (p, "loss", loss);
  return add_gradients (p, net, loss, error) ? g_steal_pointer (&p) : NULL;
}

LoomTensor *
trainer_measure_times (LoomTrainer *t, const LoomNet *net, const GPtrArray *sample, GError **error)
{
  gint64 n = loom_net_n_nodes (net);
  g_autoptr (LoomProgram) program = build_program (t, net, error);
  g_autofree TrainerFeed *feed = NULL;
  g_autofree double *seconds = g_new0 (double, n + 1);
  g_autoptr (LoomEager) eager = NULL;
  LoomTensor *times;
  guint n_feeds;
  double least = G_MAXDOUBLE;

  if (!program || !trainer_plan_feeds (t, program, &n_feeds, &feed, error))
    return NULL;
  eager = loom_eager_new (program, t->state, t->devices, t->device, error);
  times = eager != NULL ? loom_tensor_new (LOOM_F32, 1, &n, error) : NULL;
  if (times == NULL)
    return NULL;
  for (guint i = 0; i < n_feeds; i++)
    loom_eager_feed (eager, feed[i].input, ((LoomTensor *)sample->pdata[feed[i].port])->data);
  for (guint walk = 0; walk < WALKS; walk++)
    {
      Watch watch = { .net = net, .seconds = seconds, .last = g_get_monotonic_time () };

      memset (seconds, 0, (gsize)n * sizeof *seconds);
      if (!loom_eager_run (eager, FALSE, visit, &watch, error))
        {
          loom_tensor_unref (times);
          return NULL;
        }
      /* The walk that was disturbed least. */
      if (walk == 0 || watch.sum >= least)
        continue;
      least = watch.sum;
      for (gint64 i = 0; i < n; i++)
        loom_tensor_set (times, i, seconds[i]);
    }
  return times;
}
