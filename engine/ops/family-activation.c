/* Emits the formulas that several activations share.
 *
 * A piecewise formula computes both branches and selects one. The branch that is not selected must stay finite,
 * because its gradient is 0 times its derivative: arguments that would overflow are replaced before the function. */
#include "engine/ops/op-private.h"

const LoomParamSpec loom_op_param_alpha[] = {
  { LOOM_PARAM ("alpha", FLOAT, "1"), .doc = "The limit for large negative inputs is −alpha." },
  { NULL },
};

void
loom_op_lower_elu (LoomLower *ctx, double down, double up, double rate)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), zero = loom_op_const_like (ctx, x, 0);
  LoomValue above = loom_binary (p, LOOM_SCALAR_GT, x, zero), right = x;
  LoomValue left = loom_ternary (p, LOOM_SCALAR_SELECT, above, zero, x);

  if (rate != 1)
    left = loom_binary (p, LOOM_SCALAR_MUL, left, loom_op_const_like (ctx, x, rate));
  left = loom_unary (p, LOOM_SCALAR_EXPM1, left);
  if (down != 1)
    left = loom_binary (p, LOOM_SCALAR_MUL, left, loom_op_const_like (ctx, x, down));
  if (up != 1)
    right = loom_binary (p, LOOM_SCALAR_MUL, x, loom_op_const_like (ctx, x, up));
  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_SELECT, above, right, left));
}

LoomValue
loom_op_emit_softplus (LoomProgram *p, LoomValue x, double beta, double threshold)
{
  LoomDType dtype = loom_value_info (p, x)->desc.dtype;
  LoomValue scale = loom_const (p, dtype, beta);
  LoomValue z = beta == 1 ? x : loom_binary (p, LOOM_SCALAR_MUL, x, scale);
  LoomValue straight = loom_binary (p, LOOM_SCALAR_GT, z, loom_const (p, dtype, threshold)), bent;

  z = loom_ternary (p, LOOM_SCALAR_SELECT, straight, loom_const (p, dtype, 0), z);
  bent = loom_unary (p, LOOM_SCALAR_LOG1P, loom_unary (p, LOOM_SCALAR_EXP, z));
  if (beta != 1)
    bent = loom_binary (p, LOOM_SCALAR_DIV, bent, scale);
  return loom_ternary (p, LOOM_SCALAR_SELECT, straight, x, bent);
}

double
loom_op_smooth_flops (const LoomInfer *ctx)
{
  return 5 * loom_op_output_count (ctx, 0);
}
