/* Fuses normalisation with the instructions after it, forward and backward: a ReLU, or the sum at the end of a residual
 * block, y = relu(norm(x) + r).
 *
 * The gradient of a ReLU needs to know where the ReLU was active. The gradient of the normalisation can recompute this
 * from its own input and statistics, which are kept anyway. So the pair becomes one kernel in each direction, and the
 * ReLU's result need not outlive the forward pass (the idea of Rota Bulò et al. 2018, with the kept and the recomputed
 * tensor exchanged).
 *
 * After a residual sum y is kept anyway, because the next block reads it, and y shows where the ReLU was active. y's
 * cotangent is usually a sum of two: of the path through the next block and the path around it. The part of the sum
 * that passes the ReLU is also r's gradient, so the gradient of the normalisation, which reads it twice, computes the
 * sum on its first pass and writes r's gradient.
 *
 * In a transformer block the gradient of a layer norm is added to the gradient of the path around it. The gradient's
 * kernel adds it in f32 and writes the sum of both. */
#include "engine/plan/plan-private.h"
#include "kernels/norm.h"

static gboolean
is_norm (const PlanNode *instr)
{
  return node_is (instr, "batch_norm") || node_is (instr, "batch_norm_apply");
}

/* The number of operands of the call if nothing is fused into it. */
static guint
n_unfused_operands (const PlanNode *instr)
{
  return (guint)loom_norm_operands (instr->prim->name, ((const LoomNormAttrs *)instr->attrs)->affine);
}

guint
node_norm_residual (const PlanNode *norm)
{
  guint own = n_unfused_operands (norm);

  return norm->in->len > own ? node_in (norm, own) : 0;
}

/* TRUE if v has the size and type of `like`. */
static gboolean
has_same_type (PlanGraph *g, guint v, guint like)
{
  const PlanValue *a = graph_value (g, v), *b = graph_value (g, like);

  return !a->is_uniform && a->desc.dtype == b->desc.dtype && plan_same_dims (&a->desc, &b->desc);
}

/* TRUE if grad is the gradient of exactly this normalisation, with nothing fused into it yet. */
static gboolean
is_gradient_of (const PlanNode *grad, const PlanNode *norm)
{
  const LoomNormAttrs *a = norm->attrs, *b = grad->attrs;

  return node_is (grad, "batch_norm_grad") && b->act == LOOM_SCALAR_ID && a->affine == b->affine && a->eps == b->eps
         && grad->device_name == norm->device_name && node_in (grad, 1) == node_in (norm, 0)
         && node_in (grad, 2) == node_out (norm, 1) && node_in (grad, 3) == node_out (norm, 2)
         && (!a->affine || node_in (grad, 4) == node_in (norm, 1));
}

/* TRUE if the device has the call with these attributes, operands and results. */
static gboolean
has_fused_kernel (PlanGraph *g, const PlanNode *instr, LoomNormAttrs with, const GArray *in, const GArray *out)
{
  LoomNormAttrs *attrs = instr->attrs, before = *attrs;
  gboolean has;

  *attrs = with;
  has = graph_has_kernel (g, instr, in->len, (const guint *)(const void *)in->data, out->len,
                          (const guint *)(const void *)out->data);
  *attrs = before;
  return has;
}

/* Changes the attributes, operands and results of the call, and erases `gone`, which it replaces; FALSE if the device
 * has no such kernel. */
static gboolean
join (PlanGraph *g, PlanNode *instr, LoomNormAttrs with, const GArray *in, const GArray *out, PlanNode *gone,
      const char *label)
{
  if (!has_fused_kernel (g, instr, with, in, out))
    return FALSE;
  *(LoomNormAttrs *)instr->attrs = with;
  graph_erase (g, gone);
  while (instr->in->len > in->len)
    graph_drop_in (g, instr, instr->in->len - 1);
  for (guint k = 0; k < in->len; k++)
    if (k < instr->in->len)
      graph_set_in (g, instr, k, g_array_index (in, guint, k));
    else
      graph_add_in (g, instr, g_array_index (in, guint, k));
  for (guint o = 0; o < out->len; o++)
    if (o == instr->out->len)
      graph_add_out (g, instr, g_array_index (out, guint, o));
    else if (node_out (instr, o) != g_array_index (out, guint, o))
      graph_set_out (g, instr, o, g_array_index (out, guint, o));
  g_string_append (instr->label, label);
  return TRUE;
}

/* Its first n operands. */
static GArray *
operands (const PlanNode *instr, guint n)
{
  GArray *in = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint k = 0; k < n; k++)
    {
      guint v = node_in (instr, k);

      g_array_append_val (in, v);
    }
  return in;
}

/* The results of a call, with v (if not 0) in place of the first. */
static GArray *
results (const PlanNode *instr, guint v)
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
fuse_relu_gradient (PlanGraph *g, const PlanNode *norm, guint y, PlanNode *gate)
{
  PlanNode *grad = graph_only_reader (g, node_out (gate, 0), FALSE);
  guint dy = node_step (gate, 0)->arg[0];
  g_autoptr (GArray) in = NULL, out = NULL;
  LoomNormAttrs with;

  if (grad == NULL || node_in (grad, 0) != node_out (gate, 0) || !is_gradient_of (grad, norm))
    return;
  in = operands (grad, n_unfused_operands (grad));
  out = results (grad, 0);
  g_array_index (in, guint, 0) = dy;
  with = *(const LoomNormAttrs *)grad->attrs;
  with.act = LOOM_SCALAR_RELU;
  if (with.affine)
    {
      guint bias = node_in (norm, 2);

      g_array_append_val (in, bias);
    }
  join (g, grad, with, in, out, gate, "+relu");
}

/* TRUE if v is element-wise work with one reader, which fusion will join. */
static gboolean
will_fuse (PlanGraph *g, guint v)
{
  const PlanNode *producer = graph_value (g, v)->producer;

  return producer != NULL && producer->steps != NULL && graph_only_reader (g, v, FALSE) != NULL;
}

/* Finds the two summands of dy if only `gate` reads dy and element-wise fusion would not join a summand with the sum;
 * FALSE if dy is no such sum. */
static gboolean
is_sum (PlanGraph *g, guint dy, const PlanNode *gate, guint of[2])
{
  const PlanNode *sum = graph_value (g, dy)->producer;

  if (sum == NULL || !node_is_step (sum, LOOM_SCALAR_ADD) || sum->device_name != gate->device_name
      || graph_only_reader (g, dy, FALSE) != gate)
    return FALSE;
  for (int k = 0; k < 2; k++)
    of[k] = node_step (sum, 0)->arg[k];
  return of[0] != of[1] && has_same_type (g, of[0], dy) && has_same_type (g, of[1], dy) && !will_fuse (g, of[0])
         && !will_fuse (g, of[1]);
}

/* Makes the gradient of a normalisation take the cotangent of a ReLU after a residual sum. dr = relu_grad(dy, y) has
 * further readers, so the call also writes dr, at dr's position. */
static void
fuse_residual_gradient (PlanGraph *g, const PlanNode *norm, guint y, PlanNode *gate)
{
  guint dy = node_step (gate, 0)->arg[0], dr = node_out (gate, 0), of[2];
  g_autoptr (GArray) in = NULL, out = NULL;
  PlanNode *grad = NULL;
  gboolean two = is_sum (g, dy, gate, of);
  LoomNormAttrs with;

  for (const PlanUse *use = graph_value (g, dr)->first_use; use != NULL && grad == NULL; use = use->next)
    if (use->instr != NULL && use->at == 0 && is_gradient_of (use->instr, norm))
      grad = use->instr;
  if (grad == NULL || graph_value (g, dr)->is_output || graph_value (g, dr)->commit >= 0 || (!two && will_fuse (g, dy)))
    return;
  in = operands (grad, n_unfused_operands (grad));
  out = results (grad, 0);
  g_array_index (in, guint, 0) = two ? of[0] : dy;
  g_array_append_val (in, y);
  if (two)
    g_array_append_val (in, of[1]);
  g_array_append_val (out, dr);
  for (guint k = 0; k < in->len; k++)
    if (!graph_is_ready (g, g_array_index (in, guint, k), gate))
      return;
  with = *(const LoomNormAttrs *)grad->attrs;
  with.act = LOOM_SCALAR_RELU;
  if (join (g, grad, with, in, out, gate, two ? "+relu+add" : "+relu"))
    graph_move (g, grad, gate);
}

/* ---- forward ----------------------------------------------------------- */

/* Fuses the addition of another value to the first result: at the end of a residual block, or around a layer norm. The
 * value must be available at the call. */
static void
fuse_sum (PlanGraph *g, PlanNode *call)
{
  const guint v = node_out (call, 0);
  PlanNode *sum = graph_only_reader (g, v, FALSE);
  g_autoptr (GArray) in = NULL, out = NULL;
  const PlanStep *step;
  guint r, y;

  if (sum == NULL || !node_is_step (sum, LOOM_SCALAR_ADD) || sum->device_name != call->device_name)
    return;
  step = node_step (sum, 0);
  r = step->arg[0] == v ? step->arg[1] : step->arg[0];
  y = node_out (sum, 0);
  if (r == v || !has_same_type (g, r, v) || !has_same_type (g, y, v) || !graph_is_ready (g, r, call))
    return;
  in = operands (call, n_unfused_operands (call));
  out = results (call, y);
  g_array_append_val (in, r);
  join (g, call, *(const LoomNormAttrs *)call->attrs, in, out, sum, "+add");
}

static void
fuse_relu (PlanGraph *g, PlanNode *norm)
{
  PlanNode *relu = graph_only_reader (g, node_out (norm, 0), FALSE);
  LoomNormAttrs with = *(const LoomNormAttrs *)norm->attrs;
  g_autoptr (GArray) in = NULL, out = NULL;
  guint r = node_norm_residual (norm), y;

  if (relu == NULL || !node_is_step (relu, LOOM_SCALAR_RELU) || relu->device_name != norm->device_name)
    return;
  y = node_out (relu, 0);
  in = operands (norm, n_unfused_operands (norm) + (r != 0));
  out = results (norm, y);
  with.act = LOOM_SCALAR_RELU;
  if (!has_same_type (g, y, node_out (norm, 0)) || !join (g, norm, with, in, out, relu, "+relu")
      || !node_is (norm, "batch_norm"))
    return;
  for (PlanUse *use = graph_value (g, y)->first_use, *next; use != NULL; use = next)
    {
      PlanNode *gate = use->instr;

      next = use->next;
      if (gate == NULL || !node_is_step (gate, LOOM_SCALAR_RELU_GRAD) || node_step (gate, 0)->arg[1] != y
          || !has_same_type (g, node_step (gate, 0)->arg[0], node_out (gate, 0)))
        continue;
      if (r != 0)
        fuse_residual_gradient (g, norm, y, gate);
      else
        fuse_relu_gradient (g, norm, y, gate);
    }
}

void
pass_fuse_norms (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (is_norm (instr))
      {
        fuse_sum (g, instr);
        fuse_relu (g, instr);
      }
    else if (node_is (instr, "layer_norm_grad") && graph_value (g, node_out (instr, 0))->desc.dtype == LOOM_F32)
      fuse_sum (g, instr);
}
