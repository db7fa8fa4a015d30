/* Trace: the sum of the diagonal. */
#include "engine/ops/op-private.h"

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = loom_shape_scalar ();

  if (loom_op_rank (ctx, 0, "input", 2, 2, "a matrix", "For several matrices use diagonal and sum."))
    loom_infer_output (ctx, 0, loom_dtype_is_float (x->dtype) ? x->dtype : LOOM_I64, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  LoomValue x = loom_op_diagonal_of (p, loom_lower_input (ctx, 0), 0);

  loom_lower_output (ctx, 0, loom_sum_all (p, loom_cast (p, x, dtype)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,3" } },
  { .inputs = { "f32:2,4" } },
  { .inputs = { "i64:B,3" }, .range = "class:5" },
  { .inputs = { "f32:1,1" } },
  { NULL },
};

const LoomOp loom_op_trace = {
  .name = "trace",
  .title = "Trace",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-eye-symbolic",
  .doc = "Computes the sum of the diagonal of a matrix.",
  .details = "It is equal to the sum of the eigenvalues; of a covariance matrix it is the total variance.",
  .formula = "y = Σᵢ xᵢᵢ",
  .reference = "torch.trace",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
