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

/* Whether grad is the gradient of this very normalisation, with nothing fused into it yet. */
static gboolean
is_gradient_of (const WorkInstr *grad, const WorkInstr *norm)
{
  const LoomNormAttrs *a = norm->attrs, *b = grad->attrs;

  return strcmp (grad->primitive, "batch_norm_grad") == 0 && b->act == LOOM_SCALAR_ID && a->affine == b->affine
         && a->eps == b->eps && grad->device_name == norm->device_name && work_in (grad, 1) == work_in (norm, 0)
         && work_in (grad, 2) == work_out (norm, 1) && work_in (grad, 3) == work_out (norm, 2)
         && (!a->affine || work_in (grad, 4) == work_in (norm, 1));
}

/* The gradient of a normalisation takes the ReLU's cotangent itself. relu_grad(g, y) must be read by it alone, and g be
 * what it would have made of it when the ReLU is open everywhere: as large, and of the same type. */
static void
open_gradients (Work *w, const WorkReaders *readers, const WorkInstr *norm, guint y)
{
  const LoomNormAttrs *attrs = norm->attrs;

  for (guint r = readers->start[y]; r < readers->start[y + 1]; r++)
    {
      WorkInstr *gate = work_instr (w, readers->instr[r]), *grad;
      const WorkStep *step;
      const WorkValue *g;
      const LoomTensorDesc *d;

      if (gate->dead || !is_relu_step (gate, LOOM_SCALAR_RELU_GRAD, 2))
        continue;
      step = &g_array_index (gate->steps, WorkStep, 0);
      g = work_value (w, step->arg[0]);
      d = &work_value (w, work_out (gate, 0))->desc;
      if (step->arg[1] != y || g->is_uniform || g->desc.dtype != d->dtype || g->desc.rank != d->rank
          || memcmp (g->desc.dim, d->dim, (gsize)d->rank * sizeof d->dim[0]) != 0)
        continue;
      grad = work_only_reader (w, readers, work_out (gate, 0), FALSE, NULL);
      if (grad == NULL || work_in (grad, 0) != work_out (gate, 0) || !is_gradient_of (grad, norm))
        continue;
      ((LoomNormAttrs *)grad->attrs)->act = LOOM_SCALAR_RELU;
      g_array_index (grad->in, guint, 0) = step->arg[0];
      if (attrs->affine)
        {
          guint bias = work_in (norm, 2);

          g_array_set_size (grad->in, 5);
          g_array_append_val (grad->in, bias);
        }
      g_string_append (grad->label, "+relu");
      gate->dead = TRUE;
    }
}

static void
fuse_relu (Work *w, const WorkReaders *readers, guint index)
{
  WorkInstr *norm = work_instr (w, index);
  LoomNormAttrs *attrs = norm->attrs;
  WorkInstr *relu = work_only_reader (w, readers, work_out (norm, 0), FALSE, NULL);
  guint y;

  if (relu == NULL || !is_relu_step (relu, LOOM_SCALAR_RELU, 1) || relu->device_name != norm->device_name)
    return;
  y = work_out (relu, 0);
  if (work_value (w, y)->desc.dtype != work_value (w, work_out (norm, 0))->desc.dtype)
    return;
  attrs->act = LOOM_SCALAR_RELU;
  g_array_index (norm->out, guint, 0) = y;
  work_value (w, y)->producer = (int)index;
  relu->dead = TRUE;
  g_string_append (norm->label, "+relu");
  open_gradients (w, readers, norm, y);
}

void
work_fuse_norms (Work *w, const WorkReaders *readers)
{
  for (guint i = 0; i < w->instrs->len; i++)
    if (!work_instr (w, i)->dead && strcmp (work_instr (w, i)->primitive, "batch_norm") == 0)
      fuse_relu (w, readers, i);
}
