/* User formulas: emits them as primitives, and defines custom_gradient, which replaces the gradient of a value with a
 * formula.
 *
 * custom_gradient returns its first operand, so it costs nothing after differentiation; the other operands are for the
 * rule. The rule emits the backward formula as primitives, which have derivatives in turn. */
#include "engine/program/partition-sharding.h"

gboolean
loom_formula_is_bool (const LoomFormula *formula, guint reg)
{
  const LoomElementwiseStep *step;

  if (reg < formula->n_in)
    return FALSE;
  step = formula->step + (reg - formula->n_in);
  if (step->op >= LOOM_SCALAR_EQ && step->op <= LOOM_SCALAR_GE)
    return TRUE;
  return (step->op == LOOM_SCALAR_MIN || step->op == LOOM_SCALAR_MAX) && loom_formula_is_bool (formula, step->arg[0])
         && loom_formula_is_bool (formula, step->arg[1]);
}

/* Operand i of a step. In arithmetic a comparison counts as 1 or 0, so that two can add up to 2. */
static LoomValue
operand (LoomProgram *p, const LoomFormula *formula, guint k, guint i, LoomDType dtype, const LoomValue *value)
{
  const LoomElementwiseStep *step = formula->step + k;
  gboolean keeps = (step->op == LOOM_SCALAR_SELECT && i == 0) || loom_formula_is_bool (formula, formula->n_in + k);

  return keeps ? value[step->arg[i]] : loom_cast (p, value[step->arg[i]], dtype);
}

void
loom_formula_emit (LoomProgram *p, const LoomFormula *formula, LoomDType dtype, const LoomValue *in, LoomValue *out)
{
  LoomValue value[LOOM_FORMULA_MAX_IN + LOOM_FORMULA_MAX_STEPS];

  g_return_if_fail (formula->n_in <= LOOM_FORMULA_MAX_IN && formula->n_steps <= LOOM_FORMULA_MAX_STEPS);

  memcpy (value, in, formula->n_in * sizeof *in);
  for (guint k = 0; k < formula->n_steps; k++)
    {
      const LoomElementwiseStep *step = formula->step + k;
      LoomValue *to = value + formula->n_in + k;

      int arity = loom_scalar_arity (step->op);
      LoomValue arg[3];

      for (int i = 0; i < arity; i++)
        arg[i] = operand (p, formula, k, (guint)i, dtype, value);
      if (arity == 0)
        *to = loom_const (p, dtype, step->imm);
      else if (arity == 1)
        *to = loom_unary (p, step->op, arg[0]);
      else if (arity == 2)
        *to = loom_binary (p, step->op, arg[0], arg[1]);
      else
        *to = loom_ternary (p, step->op, arg[0], arg[1], arg[2]);
    }
  for (guint k = 0; k < formula->n_out; k++)
    out[k] = value[formula->out[k]];
}

static gboolean
infer_custom_gradient (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                       char **why)
{
  const LoomCustomGradientAttrs *a = attrs;

  if (n_in + 1 != a->backward.n_in || a->n_inputs != a->backward.n_out)
    return loom_prim_refuse (why, "has %u operands, but its formula takes %u", n_in, a->backward.n_in - 1);
  if (!loom_dtype_is_float (in[0].dtype))
    return loom_prim_refuse (why, "needs a float operand");
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

/* The value y in the formula is the result of this primitive, not its first operand, so that a second derivative uses
 * the user's gradient again. */
static gboolean
gradient_custom_gradient (const LoomGradCall *call)
{
  const LoomCustomGradientAttrs *a = call->instr->attrs;
  LoomValue in[LOOM_FORMULA_MAX_IN];
  guint n = call->instr->n_in;

  in[0] = call->grad[0];
  for (guint k = 1; k < n; k++)
    in[k] = call->instr->in[k];
  in[n] = call->instr->out[0];
  loom_formula_emit (call->p, &a->backward, value_desc (call->p, in[n])->dtype, in, call->in_grad + 1);
  return TRUE;
}

static const LoomAttr step_attrs[]
    = { LOOM_ATTR (NULL, SCALAR, LoomElementwiseStep, op), LOOM_ATTR_ARRAY (NULL, INT, LoomElementwiseStep, arg),
        LOOM_ATTR (NULL, NUMBER, LoomElementwiseStep, imm), LOOM_ATTR (NULL, DTYPE, LoomElementwiseStep, round),
        LOOM_ATTR_LAST };
static const LoomAttr custom_gradient_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomCustomGradientAttrs, n_inputs),
        LOOM_ATTR (NULL, INT, LoomCustomGradientAttrs, backward.n_in),
        LOOM_ATTR (NULL, INT, LoomCustomGradientAttrs, backward.n_steps),
        LOOM_ATTR (NULL, INT, LoomCustomGradientAttrs, backward.n_out),
        LOOM_ATTR_ARRAY (NULL, GROUP, LoomCustomGradientAttrs, backward.step,
                         LOOM_ATTR_USED (LoomCustomGradientAttrs, backward.n_steps), .fields = step_attrs),
        LOOM_ATTR_ARRAY (NULL, INT, LoomCustomGradientAttrs, backward.out,
                         LOOM_ATTR_USED (LoomCustomGradientAttrs, backward.n_out)),
        LOOM_ATTR_LAST };

const LoomPrim loom_prim_custom_gradient = { LOOM_PRIM_ROW ("custom_gradient", CORE, 1),
                                             .sharding = loom_shard_same,
                                             .doc = "The first operand, with a gradient by the user's formula.",
                                             LOOM_PRIM_ATTRS (LoomCustomGradientAttrs, custom_gradient_attrs),
                                             .infer = infer_custom_gradient,
                                             .gradient = gradient_custom_gradient,
                                             .view = LOOM_VIEW_ALWAYS };
