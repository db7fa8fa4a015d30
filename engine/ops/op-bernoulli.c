/* Bernoulli: random zeros and ones, as torch.bernoulli. */
#include "engine/ops/family-random.h"

static const LoomPortSpec inputs[] = {
  { "input", "The probability of a 1 for each element.", LOOM_PORT_OPTIONAL },
  { "like", "A tensor that sets the shape; its values are not used.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("p", FLOAT, "0.5"), LOOM_RANGE (0, 1),
    .doc = "The probability of a 1 if none is wired; may be changed while training runs.", .hyper = TRUE },
  LOOM_OP_PARAM_DRAWN_SHAPE,
  { LOOM_PARAM ("dtype", DTYPE, ""),
    .doc = "The type of the elements; if not set, that of the wired probabilities, else f32. Use bool for masks.",
    .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *input = loom_infer_input (ctx, 0), *like = loom_infer_input (ctx, 1);
  const LoomType *from = input != NULL ? input : like;
  LoomShape shape = from != NULL ? from->shape : loom_infer_shape (ctx, "shape");
  LoomDType dtype = from != NULL && loom_dtype_is_float (from->dtype) ? from->dtype : LOOM_F32;

  if ((input != NULL) + (like != NULL) + loom_infer_is_set (ctx, "shape") > 1)
    {
      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "shape",
          "The shape comes from the probabilities, from “like”, or from the attribute shape; use only one of them.");
      return;
    }
  if (input != NULL && !loom_op_needs_float (ctx, 0, "input", "takes probabilities"))
    return;
  loom_infer_output (ctx, 0, loom_infer_is_set (ctx, "dtype") ? loom_infer_dtype (ctx, "dtype") : dtype, &shape);
}

/* A NaN probability gives NaN, so that training reports its origin; a type without NaN refuses it here. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue u = loom_op_draw (ctx, LOOM_RANDOM_UNIFORM), input = loom_lower_input (ctx, 0), y, outside;
  gboolean real = loom_dtype_is_float (loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);

  if (input == 0)
    {
      loom_op_put_drawn (ctx, loom_binary (p, LOOM_SCALAR_LT, u, loom_lower_hyper (ctx, "p")));
      return;
    }
  input = loom_cast (p, input, loom_op_desc (ctx, u).dtype);
  outside = loom_binary (p, LOOM_SCALAR_OR, loom_binary (p, LOOM_SCALAR_LT, input, loom_op_const_like (ctx, input, 0)),
                         loom_binary (p, LOOM_SCALAR_GT, input, loom_op_const_like (ctx, input, 1)));
  if (!real)
    outside = loom_binary (p, LOOM_SCALAR_OR, outside, loom_unary (p, LOOM_SCALAR_ISNAN, input));
  input = loom_require (p, input, loom_unary (p, LOOM_SCALAR_NOT, outside), "a probability is not between 0 and 1");
  y = loom_binary (p, LOOM_SCALAR_LT, u, input);
  if (real)
    y = loom_ternary (p, LOOM_SCALAR_SELECT, loom_unary (p, LOOM_SCALAR_ISNAN, input), loom_detach (p, input),
                      loom_cast (p, y, loom_op_desc (ctx, input).dtype));
  loom_op_put_drawn (ctx, y);
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" }, .range = "probability" },
  { .params = "p=0.25", .inputs = { "", "f32:B,3" } },
  { .params = "p=0.75 shape=B,3 dtype=bool" },
  { .params = "dtype=i64", .inputs = { "f32:4" }, .range = "probability" },
  { .params = "shape=0,2" },
  { NULL },
};

const LoomOp loom_op_bernoulli = {
  .name = "bernoulli",
  .title = "Bernoulli",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-bernoulli-symbolic",
  .doc = "Draws 1 with the given probability and 0 otherwise, independently for each element.",
  .details = "With dtype bool it makes random masks for where and masked_fill, as for a masked autoencoder. No "
             "gradient flows to the probabilities. New values are drawn at each step, in evaluation too (unlike "
             "dropout). A probability outside 0 … 1 is an error that reports its index.",
  .formula = "y = 1 with probability p, else 0",
  .reference = "torch.bernoulli",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
