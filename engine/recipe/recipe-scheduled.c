/* Values that change during training: nodes op="scheduled". The three schedules are those of Bengio, Vinyals, Jaitly
 * and Shazeer 2015, section 2.4. */
#include "engine/recipe/recipe-private.h"

#include <math.h>

static void
scheduled_free (gpointer data)
{
  LoomScheduled *s = data;

  g_free (s->slot);
  g_free (s);
}

GPtrArray *
recipe_scheduled (const LoomNet *net)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (scheduled_free);
  const LoomOp *op = loom_op ("scheduled");

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const LoomInfer *infer = loom_net_infer (net, i);
      LoomScheduled *s;
      const char *kind;

      if (node->op != op || !node->typed)
        continue;
      s = g_new0 (LoomScheduled, 1);
      kind = loom_infer_string (infer, "kind");
      s->slot = g_strconcat (node->path, ".", LOOM_SCHEDULED, NULL);
      s->kind = g_str_equal (kind, "linear")        ? LOOM_SCHEDULED_LINEAR
                : g_str_equal (kind, "exponential") ? LOOM_SCHEDULED_EXPONENTIAL
                                                    : LOOM_SCHEDULED_INVERSE_SIGMOID;
      s->start = loom_infer_float (infer, "start");
      s->end = loom_infer_float (infer, "end");
      s->steps = loom_infer_int (infer, "steps");
      s->k = loom_infer_is_set (infer, "k") ? loom_infer_float (infer, "k") : 1;
      g_ptr_array_add (all, s);
    }
  return all;
}

double
loom_scheduled_at (const LoomScheduled *s, gint64 step, gint64 total_steps)
{
  double i = (double)step, steps = (double)(s->steps > 0 ? s->steps : total_steps), left;

  if (s->kind == LOOM_SCHEDULED_LINEAR)
    left = steps > 0 ? MAX (1 - i / steps, 0) : 0;
  else if (s->kind == LOOM_SCHEDULED_EXPONENTIAL)
    left = pow (s->k, i);
  else
    left = s->k / (s->k + exp (i / s->k)); /* 0 where the exponential is infinite */
  return s->end + (s->start - s->end) * left;
}
