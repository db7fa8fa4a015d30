/* Batch normalisation with the ReLU behind it, forward and backward.
 *
 * A ReLU's gradient wants to know where the ReLU was open, which the normalisation can tell anew from its own input and
 * statistics, and those are kept anyway. So the pair becomes one pass each way, and its result need not outlive the
 * forward pass for the ReLU's sake (the idea of Rota Bulò et al. 2018, with the kept and the recomputed tensor
 * exchanged). */
#include "engine/plan/plan-private.h"

#include <string.h>

static gboolean
is_relu_step (const WorkInstr *instr, LoomScalarOp op, guint n_args)
{
  return instr->steps != NULL && instr->steps->len == 1 && g_array_index (instr->steps, WorkStep, 0).op == op
         && loom_scalar_arity (op) == (int)n_args;
}

/* The only living instruction that reads v, with v neither an output nor a state's next value; NULL otherwise. */
static WorkInstr *
only_reader (Work *w, guint v)
{
  const WorkValue *value = work_value (w, v);
  WorkInstr *found = NULL;

  if (value->n_uses != 1 || value->is_output || value->commit >= 0)
    return NULL;
  for (guint i = 0; i < w->instrs->len && found == NULL; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      for (guint k = 0; k < instr->in->len && !instr->dead && found == NULL; k++)
        if (work_in (instr, k) == v)
          found = instr;
    }
  return found;
}

/* The gradient of a normalisation takes the ReLU's cotangent itself. relu_grad(g, y) must be read by it alone. */
static void
open_gradients (Work *w, const WorkInstr *norm, guint y)
{
  const LoomNormAttrs *attrs = norm->attrs;

  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *gate = work_instr (w, i), *grad;
      const WorkStep *step;
      guint bias;

      if (gate->dead || !is_relu_step (gate, LOOM_SCALAR_RELU_GRAD, 2))
        continue;
      step = &g_array_index (gate->steps, WorkStep, 0);
      if (step->arg[1] != y || work_value (w, step->arg[0])->is_uniform)
        continue;
      grad = only_reader (w, work_out (gate, 0));
      if (grad == NULL || strcmp (grad->primitive, "batch_norm_grad") != 0 || work_in (grad, 0) != work_out (gate, 0)
          || work_in (grad, 1) != work_in (norm, 0) || work_in (grad, 2) != work_out (norm, 1)
          || ((LoomNormAttrs *)grad->attrs)->act != LOOM_SCALAR_ID
          || memcmp (work_value (w, step->arg[0])->desc.dim, work_value (w, y)->desc.dim,
                     (gsize)work_value (w, y)->desc.rank * sizeof (gint64))
                 != 0)
        continue;
      ((LoomNormAttrs *)grad->attrs)->act = LOOM_SCALAR_RELU;
      g_array_index (grad->in, guint, 0) = step->arg[0];
      if (attrs->affine)
        {
          bias = work_in (norm, 2);
          if (grad->in->len > 5)
            g_array_set_size (grad->in, 5);
          g_array_append_val (grad->in, bias);
        }
      g_string_append (grad->label, "+relu");
      gate->dead = TRUE;
    }
}

static void
fuse_relu (Work *w, WorkInstr *norm)
{
  LoomNormAttrs *attrs = norm->attrs;
  WorkInstr *relu = only_reader (w, work_out (norm, 0));
  guint y;

  if (relu == NULL || !is_relu_step (relu, LOOM_SCALAR_RELU, 1) || relu->device_name != norm->device_name)
    return;
  y = work_out (relu, 0);
  if (work_value (w, y)->desc.dtype != work_value (w, work_out (norm, 0))->desc.dtype)
    return;
  attrs->act = LOOM_SCALAR_RELU;
  g_array_index (norm->out, guint, 0) = y;
  for (guint i = 0; i < w->instrs->len; i++)
    if (work_instr (w, i) == norm)
      work_value (w, y)->producer = (int)i;
  relu->dead = TRUE;
  g_string_append (norm->label, "+relu");
  open_gradients (w, norm, y);
}

void
work_fuse_norms (Work *w)
{
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (!instr->dead && strcmp (instr->primitive, "batch_norm") == 0)
        fuse_relu (w, instr);
    }
}
