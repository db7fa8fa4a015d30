/* Clamp: limits values to a range. */
#include "engine/ops/op-private.h"

#include <math.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("min", FLOAT, ""), .doc = "The lower bound; if not set, there is none." },
  { LOOM_PARAM ("max", FLOAT, ""), .doc = "The upper bound; if not set, there is none." },
  { NULL },
};

static gboolean
is_fraction (const LoomInfer *ctx, const char *name)
{
  return loom_infer_is_set (ctx, name) && loom_infer_float (ctx, name) != floor (loom_infer_float (ctx, name));
}

static void
infer (LoomInfer *ctx)
{
  if (!loom_infer_is_set (ctx, "min") && !loom_infer_is_set (ctx, "max"))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "min", "clamp needs a bound: give min, max or both.");
      return;
    }
  /* A bound with a fraction turns integers into floats. */
  if (is_fraction (ctx, "min") || is_fraction (ctx, "max"))
    loom_op_infer_float (ctx);
  else
    loom_op_infer_same (ctx);
}

/* The upper bound is applied last, so it wins if min is above max. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *bounds = loom_lower_infer (ctx);
  LoomValue y = loom_op_operand (ctx, 0);

  if (loom_infer_is_set (bounds, "min"))
    y = loom_op_clamp_to (ctx, y, loom_infer_float (bounds, "min"), LOOM_SCALAR_GT, LOOM_SCALAR_MAX);
  if (loom_infer_is_set (bounds, "max"))
    y = loom_op_clamp_to (ctx, y, loom_infer_float (bounds, "max"), LOOM_SCALAR_LT, LOOM_SCALAR_MIN);
  loom_lower_output (ctx, 0, y);
}

static const LoomSample samples[] = {
  { .params = "min=-0.5 max=0.5", .inputs = { "f32:B,6" } },
  { .params = "min=0.1", .inputs = { "f32:B,3" } },
  { .params = "max=0.2", .inputs = { "f32:" } },
  { .params = "min=1 max=-1", .inputs = { "f32:4" } },
  { .params = "min=0", .inputs = { "f32:0" } },
  { .params = "min=1 max=3", .inputs = { "i64:B" }, .range = "class:5" },
  { .params = "min=0.5 max=3", .inputs = { "i64:B" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_clamp = {
  .name = "clamp",
  .title = "Clamp",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-clamp-symbolic",
  .synonyms = "clip limit",
  .doc = "Limits each element to the range from min to max.",
  .details = "For example, it keeps the argument of a logarithm above zero. Elements that are not strictly inside the "
             "bounds get no gradient. Also called clip.",
  .formula = "y = min(max(x, min), max)",
  .reference = "torch.clamp",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
