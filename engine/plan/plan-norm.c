/* Batch normalisation with the ReLU behind it, forward and backward.
 *
 * A ReLU's gradient wants to know where the ReLU was active, which the normalisation can compute anew from its own
 * input and statistics, and those are kept anyway. So the pair becomes one pass each way, and its result need not
 * outlive the forward pass for the ReLU's sake (the idea of Rota Bulò et al. 2018, with the kept and the recomputed
 * tensor exchanged). */
#include "engine/plan/plan-private.h"

/* TRUE if grad is the gradient of this very normalisation, with nothing fused into it yet. */
static gboolean
is_gradient_of (const WorkInstr *grad, const WorkInstr *norm)
{
  const LoomNormAttrs *a = norm->attrs, *b = grad->attrs;

  return work_is (grad, "batch_norm_grad") && b->act == LOOM_SCALAR_ID && a->affine == b->affine && a->eps == b->eps
         && grad->device_name == norm->device_name && work_in (grad, 1) == work_in (norm, 0)
         && work_in (grad, 2) == work_out (norm, 1) && work_in (grad, 3) == work_out (norm, 2)
         && (!a->affine || work_in (grad, 4) == work_in (norm, 1));
}

/* TRUE if the device has the normalisation, or its gradient, with a ReLU: operand or result 0 becomes v, and a gradient
 * reads the bias behind all else (0: there is none). */
static gboolean
has_with_relu (Work *w, const WorkInstr *instr, gboolean gradient, guint v, guint bias)
{
  LoomNormAttrs *attrs = instr->attrs;
  guint in[6], out[3], n_in = MIN (instr->in->len, gradient ? 5 : 6);
  gboolean has;

  for (guint k = 0; k < n_in; k++)
    in[k] = gradient && k == 0 ? v : work_in (instr, k);
  if (bias != 0)
    in[n_in++] = bias;
  for (guint o = 0; o < instr->out->len; o++)
    out[o] = !gradient && o == 0 ? v : work_out (instr, o);
  attrs->act = LOOM_SCALAR_RELU;
  has = work_has_kernel (w, instr, n_in, in, instr->out->len, out);
  attrs->act = LOOM_SCALAR_ID;
  return has;
}

/* The gradient of a normalisation takes the ReLU's cotangent itself. relu_grad(g, y) must be read by it alone, and g be
 * what it would have made of it when the ReLU is open everywhere: as large, and of the same type. */
static void
open_gradient (Work *w, const WorkInstr *norm, guint y, WorkInstr *gate)
{
  const LoomNormAttrs *attrs = norm->attrs;
  const WorkStep *step;
  const WorkValue *g;
  const LoomTensorDesc *d;
  WorkInstr *grad;
  guint cotangent;

  if (!work_is_step (gate, LOOM_SCALAR_RELU_GRAD))
    return;
  step = work_step (gate, 0);
  cotangent = step->arg[0];
  g = work_value (w, cotangent);
  d = &work_value (w, work_out (gate, 0))->desc;
  if (step->arg[1] != y || g->is_uniform || g->desc.dtype != d->dtype || !work_same_dims (&g->desc, d))
    return;
  grad = work_only_reader (w, work_out (gate, 0), FALSE);
  if (grad == NULL || work_in (grad, 0) != work_out (gate, 0) || !is_gradient_of (grad, norm)
      || !has_with_relu (w, grad, TRUE, cotangent, attrs->affine ? work_in (norm, 2) : 0))
    return;
  ((LoomNormAttrs *)grad->attrs)->act = LOOM_SCALAR_RELU;
  work_set_in (w, grad, 0, cotangent);
  if (attrs->affine)
    {
      while (grad->in->len > 5)
        work_drop_in (w, grad, 5);
      work_add_in (w, grad, work_in (norm, 2));
    }
  g_string_append (grad->label, "+relu");
  work_erase (w, gate);
}

static void
fuse_relu (Work *w, WorkInstr *norm)
{
  LoomNormAttrs *attrs = norm->attrs;
  WorkInstr *relu = work_only_reader (w, work_out (norm, 0), FALSE);
  guint y;

  if (relu == NULL || !work_is_step (relu, LOOM_SCALAR_RELU) || relu->device_name != norm->device_name)
    return;
  y = work_out (relu, 0);
  if (work_value (w, y)->desc.dtype != work_value (w, work_out (norm, 0))->desc.dtype
      || !has_with_relu (w, norm, FALSE, y, 0))
    return;
  attrs->act = LOOM_SCALAR_RELU;
  work_set_out (w, norm, 0, y);
  work_erase (w, relu);
  g_string_append (norm->label, "+relu");
  for (WorkUse *use = work_value (w, y)->first_use, *next; use != NULL; use = next)
    {
      next = use->next;
      if (use->instr != NULL)
        open_gradient (w, norm, y, use->instr);
    }
}

void
work_fuse_norms (Work *w)
{
  for (WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
    if (work_is (instr, "batch_norm"))
      fuse_relu (w, instr);
}
