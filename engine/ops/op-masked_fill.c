/* Masked fill, as torch.Tensor.masked_fill. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "A tensor of any shape." },
  { "mask", "True where the value is written, bool; broadcasts to the input." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("value", STRING, "0"), .doc = "The value to write; -inf and inf are allowed." },
  { NULL },
};

static gboolean
read_value (const LoomInfer *ctx, double *value)
{
  const char *text = loom_infer_string (ctx, "value");
  char *end;

  *value = g_ascii_strtod (text, &end);
  return end != text && *end == '\0';
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape;
  double value;

  if (!read_value (ctx, &value))
    loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "value", "“%s” is not a number. Write one as -1.5, inf or -inf.",
                      loom_infer_string (ctx, "value"));
  else if (!loom_dtype_is_float (x->dtype) && value != (double)(gint64)CLAMP (value, -9e15, 9e15))
    loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "value",
                      "A tensor of integers (%s) cannot hold %s. Use an integer, or a cast before it.",
                      loom_dtype_name (x->dtype), loom_infer_string (ctx, "value"));
  else if (loom_op_with_mask (ctx, &shape))
    loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  double value;

  read_value (loom_lower_infer (ctx), &value);
  loom_lower_output (
      ctx, 0, loom_ternary (p, LOOM_SCALAR_SELECT, loom_lower_input (ctx, 1), loom_op_const_like (ctx, x, value), x));
}

static const LoomSample samples[] = {
  { .params = "value=-1.5", .inputs = { "f32:B,5", "bool:B,5" } },
  { .params = "value=0", .inputs = { "f32:B,5", "bool:5" } },
  { .params = "value=2", .inputs = { "f32:1,3", "bool:2,1" } },
  { .params = "value=7", .inputs = { "i64:B", "bool:" } },
  { .params = "value=7", .inputs = { "f32:0", "bool:0" } },
  { NULL },
};

const LoomOp loom_op_masked_fill = {
  .name = "masked_fill",
  .title = "Masked fill",
  .category = LOOM_CATEGORY_LOGIC,
  .icon = "loom-mask-symbolic",
  .doc = "Replaces the elements where a mask is true by a number.",
  .details = "For example, attention scores of masked keys are set to -inf, so their softmax is 0. Replaced elements "
             "get no gradient.",
  .formula = "y = value where mask, else x",
  .reference = "torch.Tensor.masked_fill",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
