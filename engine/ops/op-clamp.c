/* Clamp: values held between two bounds. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { .name = "min", .type = LOOM_PARAM_FLOAT, .def = "", .doc = "Anything smaller becomes this." },
  { .name = "max", .type = LOOM_PARAM_FLOAT, .def = "", .doc = "Anything larger becomes this." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  if (!loom_infer_is_set (ctx, "min") && !loom_infer_is_set (ctx, "max"))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "min", "clamp needs a bound: give min, max or both.");
      return;
    }
  loom_op_infer_same (ctx);
}

/* Selections and not max(min(x)): at a bound itself the slope is 1, and NaN stays NaN, as in PyTorch. The upper bound
 * is applied last, so it wins where the bounds are crossed. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue y = loom_lower_input (ctx, 0);

  if (loom_infer_is_set (infer_ctx, "min"))
    {
      LoomValue low = loom_op_const_like (ctx, y, loom_infer_float (infer_ctx, "min"));

      y = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_LT, y, low), low, y);
    }
  if (loom_infer_is_set (infer_ctx, "max"))
    {
      LoomValue high = loom_op_const_like (ctx, y, loom_infer_float (infer_ctx, "max"));

      y = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GT, y, high), high, y);
    }
  loom_lower_output (ctx, 0, y);
}

static const LoomSample samples[] = {
  { .params = "min=-0.5 max=0.5", .inputs = { "f32:B,6" } },
  { .params = "min=0.1", .inputs = { "f32:B,3" } },
  { .params = "max=0.2", .inputs = { "f32:" } },
  { .params = "min=1 max=-1", .inputs = { "f32:4" } },
  { .params = "min=0", .inputs = { "f32:0" } },
  { NULL },
};

const LoomOp loom_op_clamp = {
  .name = "clamp",
  .title = "Clamp",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-clamp-symbolic",
  .doc = "Holds every element between a lower and an upper bound.",
  .details = "Keeps numbers out of places where the next step would fail, the logarithm of zero for instance. Elements "
             "outside the bounds get no gradient.",
  .formula = "y = min(max(x, min), max)",
  .reference = "torch.clamp",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
