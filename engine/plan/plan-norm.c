/* Fuses normalisation with the instructions after it, forward and backward: a ReLU, or the sum at the end of a residual
 * block, y = relu(norm(x) + r).
 *
 * A ReLU's gradient needs to know where the ReLU was active, which the normalisation can recompute from its own input
 * and statistics, which are kept anyway. So the pair becomes one pass in each direction, and the ReLU's result need not
 * outlive the forward pass (the idea of Rota Bulò et al. 2018, with the kept and the recomputed tensor exchanged).
 *
 * After a sum the next block keeps y, which tells the gradient where the ReLU was active. y's cotangent is usually a
 * sum itself, of the paths through and around the next block. The part that passes the ReLU is r's gradient, so the
 * normalisation's gradient, which reads it twice, computes and writes it on its first pass.
 *
 * In a transformer block the gradient of a layer norm is added to that of the path around it. The gradient's kernel
 * adds it in f32 and writes the sum of both. */
#include "engine/plan/plan-private.h"
#include "kernels/norm.h"

static gboolean
is_norm (const WorkInstr *instr)
{
  return work_is (instr, "batch_norm") || work_is (instr, "batch_norm_apply");
}

/* The number of operands of the call with nothing fused. */
static guint
n_own (const WorkInstr *instr)
{
  return (guint)loom_norm_operands (instr->prim->name, ((const LoomNormAttrs *)instr->attrs)->affine);
}

guint
work_norm_residual (const WorkInstr *norm)
{
  guint own = n_own (norm);

  return norm->in->len > own ? work_in (norm, own) : 0;
}

/* TRUE if v has like's size and type, so that it can replace it. */
static gboolean
is_alike (Work *g, guint v, guint like)
{
  const WorkValue *a = work_value (g, v), *b = work_value (g, like);

  return !a->is_uniform && a->desc.dtype == b->desc.dtype && work_same_dims (&a->desc, &b->desc);
}

/* TRUE if grad is the gradient of exactly this normalisation, with nothing fused into it yet. */
static gboolean
is_gradient_of (const WorkInstr *grad, const WorkInstr *norm)
{
  const LoomNormAttrs *a = norm->attrs, *b = grad->attrs;

  return work_is (grad, "batch_norm_grad") && b->act == LOOM_SCALAR_ID && a->affine == b->affine && a->eps == b->eps
         && grad->device_name == norm->device_name && work_in (grad, 1) == work_in (norm, 0)
         && work_in (grad, 2) == work_out (norm, 1) && work_in (grad, 3) == work_out (norm, 2)
         && (!a->affine || work_in (grad, 4) == work_in (norm, 1));
}

/* TRUE if the device has the call with these attributes, operands and results. */
static gboolean
has_joined (Work *g, const WorkInstr *instr, LoomNormAttrs with, const GArray *in, const GArray *out)
{
  LoomNormAttrs *attrs = instr->attrs, before = *attrs;
  gboolean has;

  *attrs = with;
  has = work_has_kernel (g, instr, in->len, (const guint *)(const void *)in->data, out->len,
                         (const guint *)(const void *)out->data);
  *attrs = before;
  return has;
}

/* Gives the call these attributes, operands and results; FALSE if the device has no such kernel. */
static gboolean
join (Work *g, WorkInstr *instr, LoomNormAttrs with, const GArray *in, const GArray *out, WorkInstr *gone,
      const char *label)
{
  if (!has_joined (g, instr, with, in, out))
    return FALSE;
  *(LoomNormAttrs *)instr->attrs = with;
  work_erase (g, gone);
  while (instr->in->len > in->len)
    work_drop_in (g, instr, instr->in->len - 1);
  for (guint k = 0; k < in->len; k++)
    if (k < instr->in->len)
      work_set_in (g, instr, k, g_array_index (in, guint, k));
    else
      work_add_in (g, instr, g_array_index (in, guint, k));
  for (guint o = 0; o < out->len; o++)
    if (o == instr->out->len)
      work_add_out (g, instr, g_array_index (out, guint, o));
    else if (work_out (instr, o) != g_array_index (out, guint, o))
      work_set_out (g, instr, o, g_array_index (out, guint, o));
  g_string_append (instr->label, label);
  return TRUE;
}

/* Its first n operands. */
static GArray *
operands (const WorkInstr *instr, guint n)
{
  GArray *in = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint k = 0; k < n; k++)
    {
      guint v = work_in (instr, k);

      g_array_append_val (in, v);
    }
  return in;
}

/* Its results, with v (if not 0) instead of the first. */
static GArray *
results (const WorkInstr *instr, guint v)
{
  GArray *out = g_array_new (FALSE, FALSE, sizeof (guint));

  g_array_append_vals (out, instr->out->data, instr->out->len);
  if (v != 0)
    g_array_index (out, guint, 0) = v;
  return out;
}

/* ---- backward ---------------------------------------------------------- */

/* Makes the gradient of a normalisation take the ReLU's cotangent. relu_grad(g, y) must have no other reader, and g
 * must have its size and type. */
static void
open_gradient (Work *g, const WorkInstr *norm, guint y, WorkInstr *gate)
{
  WorkInstr *grad = work_only_reader (g, work_out (gate, 0), FALSE);
  guint dy = work_step (gate, 0)->arg[0];
  g_autoptr (GArray) in = NULL, out = NULL;
  LoomNormAttrs with;

  if (grad == NULL || work_in (grad, 0) != work_out (gate, 0) || !is_gradient_of (grad, norm))
    return;
  in = operands (grad, n_own (grad));
  out = results (grad, 0);
  g_array_index (in, guint, 0) = dy;
  with = *(const LoomNormAttrs *)grad->attrs;
  with.act = LOOM_SCALAR_RELU;
  if (with.affine)
    {
      guint bias = work_in (norm, 2);

      g_array_append_val (in, bias);
    }
  join (g, grad, with, in, out, gate, "+relu");
}

/* TRUE if v is element-wise work with one reader, which fusion will join. */
static gboolean
will_fuse (Work *g, guint v)
{
  const WorkInstr *producer = work_value (g, v)->producer;

  return producer != NULL && producer->steps != NULL && work_only_reader (g, v, FALSE) != NULL;
}

/* The two summands of g, if nothing else reads g and neither summand would be fused into the sum; FALSE if g is no such
 * sum. */
static gboolean
is_sum (Work *g, guint dy, const WorkInstr *gate, guint of[2])
{
  const WorkInstr *sum = work_value (g, dy)->producer;

  if (sum == NULL || !work_is_step (sum, LOOM_SCALAR_ADD) || sum->device_name != gate->device_name
      || work_only_reader (g, dy, FALSE) != gate)
    return FALSE;
  for (int k = 0; k < 2; k++)
    of[k] = work_step (sum, 0)->arg[k];
  return of[0] != of[1] && is_alike (g, of[0], dy) && is_alike (g, of[1], dy) && !will_fuse (g, of[0])
         && !will_fuse (g, of[1]);
}

/* Does the same after a residual sum, where dr = relu_grad(g, y) has further readers. The gradient moves to the
 * position at which dr was made. */
static void
open_residual_gradient (Work *g, const WorkInstr *norm, guint y, WorkInstr *gate)
{
  guint dy = work_step (gate, 0)->arg[0], dr = work_out (gate, 0), of[2];
  g_autoptr (GArray) in = NULL, out = NULL;
  WorkInstr *grad = NULL;
  gboolean two = is_sum (g, dy, gate, of);
  LoomNormAttrs with;

  for (const WorkUse *use = work_value (g, dr)->first_use; use != NULL && grad == NULL; use = use->next)
    if (use->instr != NULL && use->at == 0 && is_gradient_of (use->instr, norm))
      grad = use->instr;
  if (grad == NULL || work_value (g, dr)->is_output || work_value (g, dr)->commit >= 0 || (!two && will_fuse (g, dy)))
    return;
  in = operands (grad, n_own (grad));
  out = results (grad, 0);
  g_array_index (in, guint, 0) = two ? of[0] : dy;
  g_array_append_val (in, y);
  if (two)
    g_array_append_val (in, of[1]);
  g_array_append_val (out, dr);
  for (guint k = 0; k < in->len; k++)
    if (!work_is_ready (g, g_array_index (in, guint, k), gate))
      return;
  with = *(const LoomNormAttrs *)grad->attrs;
  with.act = LOOM_SCALAR_RELU;
  if (join (g, grad, with, in, out, gate, two ? "+relu+add" : "+relu"))
    work_move (g, grad, gate);
}

/* ---- forward ----------------------------------------------------------- */

/* Fuses a summand of the first result, of a residual block or around a layer norm, which must be available at the
 * call. */
static void
fuse_sum (Work *g, WorkInstr *call)
{
  const guint v = work_out (call, 0);
  WorkInstr *sum = work_only_reader (g, v, FALSE);
  g_autoptr (GArray) in = NULL, out = NULL;
  const WorkStep *step;
  guint r, y;

  if (sum == NULL || !work_is_step (sum, LOOM_SCALAR_ADD) || sum->device_name != call->device_name)
    return;
  step = work_step (sum, 0);
  r = step->arg[0] == v ? step->arg[1] : step->arg[0];
  y = work_out (sum, 0);
  if (r == v || !is_alike (g, r, v) || !is_alike (g, y, v) || !work_is_ready (g, r, call))
    return;
  in = operands (call, n_own (call));
  out = results (call, y);
  g_array_append_val (in, r);
  join (g, call, *(const LoomNormAttrs *)call->attrs, in, out, sum, "+add");
}

static void
fuse_relu (Work *g, WorkInstr *norm)
{
  WorkInstr *relu = work_only_reader (g, work_out (norm, 0), FALSE);
  LoomNormAttrs with = *(const LoomNormAttrs *)norm->attrs;
  g_autoptr (GArray) in = NULL, out = NULL;
  guint r = work_norm_residual (norm), y;

  if (relu == NULL || !work_is_step (relu, LOOM_SCALAR_RELU) || relu->device_name != norm->device_name)
    return;
  y = work_out (relu, 0);
  in = operands (norm, n_own (norm) + (r != 0));
  out = results (norm, y);
  with.act = LOOM_SCALAR_RELU;
  if (!is_alike (g, y, work_out (norm, 0)) || !join (g, norm, with, in, out, relu, "+relu")
      || !work_is (norm, "batch_norm"))
    return;
  for (WorkUse *use = work_value (g, y)->first_use, *next; use != NULL; use = next)
    {
      WorkInstr *gate = use->instr;

      next = use->next;
      if (gate == NULL || !work_is_step (gate, LOOM_SCALAR_RELU_GRAD) || work_step (gate, 0)->arg[1] != y
          || !is_alike (g, work_step (gate, 0)->arg[0], work_out (gate, 0)))
        continue;
      if (r != 0)
        open_residual_gradient (g, norm, y, gate);
      else
        open_gradient (g, norm, y, gate);
    }
}

void
work_fuse_norms (Work *g)
{
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    if (is_norm (instr))
      {
        fuse_sum (g, instr);
        fuse_relu (g, instr);
      }
    else if (work_is (instr, "layer_norm_grad") && work_value (g, work_out (instr, 0))->desc.dtype == LOOM_F32)
      fuse_sum (g, instr);
}
