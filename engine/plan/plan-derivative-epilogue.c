/* Fuses the derivative of an activation into the epilogue of the product that computes the cotangent: dY·Wᵀ times the
 * derivative is one product if the device has it (kernels/product.h). The derivative's operand is kept for the backward
 * pass anyway, and the unmultiplied cotangent is not written.
 *
 * This runs after element-wise fusion, when a derivative of 16-bit floats is one instruction with its conversions. */
#include "engine/plan/plan-pattern.h"

/* The step that makes v if its operation is `op`, else NULL. */
static const PlanStep *
step_of (const PlanNode *instr, guint v, LoomScalarOp op)
{
  for (guint s = 0; s < instr->steps->len; s++)
    if (node_step (instr, s)->result == v && node_step (instr, s)->kind == PLAN_STEP_SCALAR)
      return node_step (instr, s)->op == op ? node_step (instr, s) : NULL;
  return NULL;
}

/* The operand that v is, or that v is a conversion to f32 of; 0: neither. */
static guint
operand_of (const PlanNode *instr, guint v)
{
  const PlanStep *widened = step_of (instr, v, LOOM_SCALAR_ID);

  v = widened != NULL ? widened->arg[0] : v;
  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) == v)
      return v;
  return 0;
}

/* The step that makes the instruction's result, or the step before it if that one only converts to the result's
 * type. */
static const PlanStep *
last_step (const PlanNode *instr)
{
  const PlanStep *last = node_step (instr, instr->steps->len - 1);

  for (guint s = 0; last->op == LOOM_SCALAR_ID && s + 1 < instr->steps->len; s++)
    if (node_step (instr, s)->result == last->arg[0])
      return node_step (instr, s);
  return last;
}

/* The activation's derivative by which the instruction multiplies an operand, if it does nothing else: returns the
 * operation and the operands dy and z (the operand of the derivative). LOOM_SCALAR_ID: it does something else. */
static LoomScalarOp
derivative_of (const PlanNode *instr, guint *dy, guint *z)
{
  const PlanStep *last = last_step (instr);

  if (instr->in->len != 2 || last->kind != PLAN_STEP_SCALAR)
    return LOOM_SCALAR_ID;
  *dy = operand_of (instr, last->arg[0]);
  *z = node_in (instr, node_in (instr, 0) == *dy ? 1 : 0);
  if (*dy == 0 || operand_of (instr, last->arg[1]) != *z)
    return LOOM_SCALAR_ID;
  return last->op == LOOM_SCALAR_RELU_GRAD || last->op == LOOM_SCALAR_GELU_TANH_GRAD ? last->op : LOOM_SCALAR_ID;
}

/* A view of z with v's shape. */
static guint
view_as (PlanGraph *g, guint z, guint v)
{
  guint view;

  if (plan_same_dims (&graph_value (g, z)->desc, &graph_value (g, v)->desc))
    return z;
  view = graph_new_value (g, &graph_value (g, v)->desc, graph_value (g, z));
  graph_set_alias (g, view, z);
  return view;
}

static gboolean
has_same_type (PlanGraph *g, guint a, guint b)
{
  const LoomTensorDesc *x = &graph_value (g, a)->desc, *y = &graph_value (g, b)->desc;

  return x->dtype == y->dtype && plan_same_dims (x, y);
}

static gboolean
fuse_derivative (PlanRewrite *r)
{
  PlanGraph *g = r->g;
  LoomMatmulAttrs *attrs = r->attrs;
  const PlanNode *product = r->root, *next = r->other;
  guint y = node_out (product, 0), dx = node_out (next, 0), dy, z;

  if (attrs->has_bias || attrs->act != LOOM_SCALAR_ID || attrs->derivative != LOOM_SCALAR_ID || product->out->len != 1
      || next->out->len != 1 || next->pass != product->pass || next->chunk != product->chunk)
    return FALSE;
  attrs->derivative = derivative_of (next, &dy, &z);
  if (attrs->derivative == LOOM_SCALAR_ID || graph_root (g, dy) != graph_root (g, y)
      || graph_root (g, z) == graph_root (g, y) || !has_same_type (g, dy, dx) || !has_same_type (g, z, dx)
      || graph_value (g, dx)->desc.dtype != graph_value (g, y)->desc.dtype || !graph_is_ready (g, z, product))
    return FALSE;
  rewrite_set_in (r, 2, view_as (g, z, y));
  g_string_append_printf (r->label, "+derivative(%s)", loom_scalar_name (attrs->derivative));
  return TRUE;
}

/* The fused product gets a new value, because y denotes the program's product without the derivative. */
static void
renumber (PlanRewrite *r)
{
  PlanGraph *g = r->g;
  const guint y = node_out (r->root, 0), made = graph_value_like (g, y);

  graph_set_out (g, r->root, 0, made);
  graph_set_alias (g, node_out (r->other, 0), made);
}

/* The product's result is read in another shape too. */
const PlanPattern patterns_of_derivatives[] = {
  { .root = PATTERN_CALL ("matmul"), .find = pattern_reader_of_bytes, .rewrite = fuse_derivative, .applied = renumber },
  { .rewrite = NULL },
};
