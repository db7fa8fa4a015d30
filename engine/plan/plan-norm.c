/* Fuses normalisation with the instructions after it, forward and backward: a ReLU, or the sum at the end of a residual
 * block, y = relu(norm(x) + r).
 *
 * The gradient of a ReLU needs to know where the ReLU was active. The gradient of the normalisation can recompute this
 * from its own input and statistics, which are kept anyway. So the pair becomes one kernel in each direction, and the
 * ReLU's result need not outlive the forward pass (the idea of Rota Bulò et al. 2018, with the kept and the recomputed
 * tensor exchanged).
 *
 * After a residual sum y is kept anyway, because the next block reads it, and y shows where the ReLU was active. The
 * part of y's cotangent that passes the ReLU is also r's gradient, which the gradient of the normalisation writes. */
#include "engine/plan/plan-pattern.h"
#include "kernels/norm.h"

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

  return b->act == LOOM_SCALAR_ID && a->affine == b->affine && a->eps == b->eps
         && grad->device_name == norm->device_name && node_in (grad, 1) == node_in (norm, 0)
         && node_in (grad, 2) == node_out (norm, 1) && node_in (grad, 3) == node_out (norm, 2)
         && (!a->affine || node_in (grad, 4) == node_in (norm, 1));
}

/* ---- forward ----------------------------------------------------------- */

/* Fuses the addition of another value to the first result: at the end of a residual block, or around a layer norm. The
 * value must be available at the call. */
static gboolean
fuse_sum (PlanRewrite *r)
{
  const guint v = node_out (r->root, 0), y = node_out (r->other, 0);
  const PlanStep *step = node_step (r->other, 0);
  const guint summand = step->arg[0] == v ? step->arg[1] : step->arg[0];

  if (r->in->len > n_unfused_operands (r->root) || summand == v || !has_same_type (r->g, summand, v)
      || !has_same_type (r->g, y, v) || !graph_is_ready (r->g, summand, r->root))
    return FALSE;
  rewrite_add_in (r, summand);
  rewrite_set_out (r, 0, y);
  g_string_append (r->label, "+add");
  return TRUE;
}

/* In a transformer block the gradient of a layer norm is added to the gradient of the path around it. Its kernel adds
 * that in f32 and writes the sum of both. */
static gboolean
fuse_gradient_sum (PlanRewrite *r)
{
  return graph_value (r->g, node_out (r->root, 0))->desc.dtype == LOOM_F32 && fuse_sum (r);
}

static gboolean
fuse_relu (PlanRewrite *r)
{
  LoomNormAttrs *attrs = r->attrs;
  const guint y = node_out (r->other, 0);

  if (!has_same_type (r->g, y, node_out (r->root, 0)))
    return FALSE;
  attrs->act = LOOM_SCALAR_RELU;
  rewrite_set_out (r, 0, y);
  g_string_append (r->label, "+relu");
  return TRUE;
}

/* ---- backward ---------------------------------------------------------- */

/* TRUE if v is element-wise work with one reader, which fusion will join. */
static gboolean
will_fuse (PlanGraph *g, guint v)
{
  const PlanNode *producer = graph_value (g, v)->producer;

  return producer != NULL && producer->steps != NULL && graph_only_reader (g, v, FALSE) != NULL;
}

/* Finds the two summands of dy, of the path through the next block and the path around it, if only `gate` reads dy and
 * element-wise fusion would not join a summand with the sum; FALSE if dy is no such sum. */
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

/* Makes the gradient take the cotangent of a ReLU after a residual sum. dr = relu_grad(dy, y) has further readers, so
 * the call also writes dr, at dr's position. The call reads dy twice, so if dy is a sum, it computes dy on its first
 * pass. */
static gboolean
fuse_residual_gate (PlanRewrite *r, guint dy, guint y)
{
  const guint dr = node_out (r->other, 0);
  guint of[2];
  gboolean two = is_sum (r->g, dy, r->other, of);

  if (graph_value (r->g, dr)->is_output || graph_value (r->g, dr)->commit >= 0 || (!two && will_fuse (r->g, dy)))
    return FALSE;
  rewrite_set_in (r, 0, two ? of[0] : dy);
  rewrite_add_in (r, y);
  if (two)
    rewrite_add_in (r, of[1]);
  rewrite_set_out (r, r->out->len, dr);
  for (guint k = 0; k < r->in->len; k++)
    if (!graph_is_ready (r->g, rewrite_in (r, k), r->other))
      return FALSE;
  g_string_append (r->label, two ? "+relu+add" : "+relu");
  return TRUE;
}

/* Makes the gradient of a normalisation with a fused ReLU take the ReLU's cotangent: dy of relu_grad(dy, y), which must
 * have no other reader unless there is a residual sum. */
static gboolean
fuse_gate (PlanRewrite *r)
{
  LoomNormAttrs *attrs = r->attrs;
  const guint dy = node_step (r->other, 0)->arg[0], y = node_step (r->other, 0)->arg[1];
  const PlanNode *norm = graph_value (r->g, y)->producer;

  if (norm == NULL || !node_is (norm, "batch_norm") || ((const LoomNormAttrs *)norm->attrs)->act != LOOM_SCALAR_RELU
      || !is_gradient_of (r->root, norm) || !has_same_type (r->g, dy, node_out (r->other, 0)))
    return FALSE;
  attrs->act = LOOM_SCALAR_RELU;
  if (node_norm_residual (norm) != 0)
    return fuse_residual_gate (r, dy, y);
  if (graph_only_reader (r->g, node_out (r->other, 0), FALSE) != r->root)
    return FALSE;
  rewrite_set_in (r, 0, dy);
  if (attrs->affine)
    rewrite_add_in (r, node_in (norm, 2));
  g_string_append (r->label, "+relu");
  return TRUE;
}

/* A call that writes dr moves to dr's position. */
static void
move_to_gate (PlanRewrite *r)
{
  if (node_out (r->root, r->root->out->len - 1) == node_out (r->other, 0))
    graph_move (r->g, r->root, r->other);
}

const PlanPattern patterns_of_norms[] = {
  { .root = PATTERN_CALL ("batch_norm", "batch_norm_apply"),
    .other = PATTERN_STEP (LOOM_SCALAR_ADD),
    .find = pattern_reader,
    .rewrite = fuse_sum },
  { .root = PATTERN_CALL ("batch_norm", "batch_norm_apply"),
    .other = PATTERN_STEP (LOOM_SCALAR_RELU),
    .find = pattern_reader,
    .rewrite = fuse_relu },
  { .root = PATTERN_CALL ("batch_norm_grad"),
    .other = PATTERN_STEP (LOOM_SCALAR_RELU_GRAD),
    .find = pattern_producer,
    .rewrite = fuse_gate,
    .applied = move_to_gate },
  { .root = PATTERN_CALL ("layer_norm_grad"),
    .other = PATTERN_STEP (LOOM_SCALAR_ADD),
    .find = pattern_reader,
    .rewrite = fuse_gradient_sum },
  { .rewrite = NULL },
};
