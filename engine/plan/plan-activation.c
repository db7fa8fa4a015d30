/* Finds activations that programs spell out in several instructions, of whose values nothing else is read: SiLU,
 * x·σ(x), and hard swish, x·min (max (x + 3, 0), 6)/6. As one operation they can be fused into the convolution before
 * them. In training the gradient reads the values, and the instructions stay.
 *
 * Only for f32 and f64: in 16 bits each instruction rounds its result. */
#include "engine/plan/plan-pattern.h"

/* The operand x of op (x, c), if that is what the instruction computes of a number c; else 0. */
static guint
operand_with (const PlanNode *instr, LoomScalarOp op, double c)
{
  const PlanStep *constant, *step;

  if (instr == NULL || instr->steps == NULL || instr->steps->len != 2)
    return 0;
  constant = node_step (instr, 0);
  step = node_step (instr, 1);
  return constant->op == LOOM_SCALAR_CONST && constant->imm == c && step->op == op && step->arg[1] == constant->result
                 && step->arg[0] != constant->result
             ? step->arg[0]
             : 0;
}

static const PlanNode *
producer_of (PlanGraph *g, guint v)
{
  return v != 0 ? graph_value (g, v)->producer : NULL;
}

/* Makes the root an activation of x, if only the root reads the value `joint` that the other instruction makes. */
static gboolean
become_activation (PlanRewrite *r, LoomScalarOp op, guint x, guint joint)
{
  const guint y = node_out (r->root, 0);
  const PlanStep step = { .op = op, .arg = { x }, .result = y };
  const LoomTensorDesc *from = &graph_value (r->g, x)->desc, *to = &graph_value (r->g, y)->desc;

  if (graph_only_reader (r->g, joint, FALSE) != r->root || r->root->pass != r->other->pass
      || r->root->chunk != r->other->chunk || from->dtype != to->dtype || !plan_same_dims (from, to)
      || (to->dtype != LOOM_F32 && to->dtype != LOOM_F64))
    return FALSE;
  g_array_set_size (r->steps, 0);
  g_array_append_val (r->steps, step);
  g_array_set_size (r->in, 0);
  rewrite_add_in (r, x);
  g_string_assign (r->label, loom_scalar_name (op));
  return TRUE;
}

/* x·σ(x); the other instruction is the sigmoid. */
static gboolean
find_silu (PlanRewrite *r)
{
  const guint x = node_step (r->other, 0)->arg[0], sigmoid = node_out (r->other, 0);
  const PlanStep *product = node_step (r->root, 0);

  return ((product->arg[0] == x && product->arg[1] == sigmoid) || (product->arg[0] == sigmoid && product->arg[1] == x))
         && become_activation (r, LOOM_SCALAR_SILU, x, sigmoid);
}

/* x·min (max (x + 3, 0), 6)/6; the other instruction is the product. */
static gboolean
find_hardswish (PlanRewrite *r)
{
  PlanGraph *g = r->g;
  const guint product = node_out (r->other, 0);
  const guint x = node_step (r->other, 0)->arg[0], gate = node_step (r->other, 0)->arg[1];
  const guint above = operand_with (producer_of (g, gate), LOOM_SCALAR_MIN, 6),
              sum = operand_with (producer_of (g, above), LOOM_SCALAR_MAX, 0);

  return operand_with (r->root, LOOM_SCALAR_DIV, 6) == product
         && operand_with (producer_of (g, sum), LOOM_SCALAR_ADD, 3) == x
         && graph_only_reader (g, gate, FALSE) == r->other && become_activation (r, LOOM_SCALAR_HARDSWISH, x, product);
}

const PlanPattern patterns_of_activations[] = {
  { .root = PATTERN_STEP (LOOM_SCALAR_MUL),
    .other = PATTERN_STEP (LOOM_SCALAR_SIGMOID),
    .find = pattern_producer,
    .last = PATTERN_EACH,
    .flags = PATTERN_MOVES_OTHER,
    .rewrite = find_silu },
  { .other = PATTERN_STEP (LOOM_SCALAR_MUL),
    .find = pattern_producer,
    .last = PATTERN_EACH,
    .flags = PATTERN_MOVES_OTHER,
    .rewrite = find_hardswish },
  { .rewrite = NULL },
};
