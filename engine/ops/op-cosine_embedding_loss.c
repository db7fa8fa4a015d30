/* Cosine embedding loss, as torch.nn.functional.cosine_embedding_loss. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input1", "The first vectors [batch, features], or one [features]." },
  { "input2", "The second vectors, with the shape of the first." },
  { "target", "1 for similar pairs, −1 for dissimilar ones [batch].", LOOM_PORT_TARGET },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_REDUCTION,
  { LOOM_PARAM ("margin", FLOAT, "0"), .doc = "The cosine similarity up to which dissimilar pairs have no loss." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *t = loom_infer_input (ctx, 2);
  LoomDType dtype;
  LoomShape shape;

  if (!loom_op_rank (ctx, 0, "input1", 1, 2, "vectors [batch, features], or one", "Put a flatten before it.")
      || !loom_op_infer_compared (ctx, 2, &dtype, &shape))
    return;
  shape = loom_op_reduced_shape (&shape, 1u << (shape.rank - 1), FALSE);
  if (!loom_shape_compatible (&shape, &t->shape))
    {
      g_autofree char *sx = loom_shape_to_string (&x->shape), *st = loom_shape_to_string (&t->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "target", "Vectors %s need one target each, 1 or −1, but got %s.", sx,
                        st);
      return;
    }
  loom_op_infer_loss (ctx, dtype, &shape);
}

/* Σ a·b over the features. */
static LoomValue
product (LoomProgram *p, LoomValue a, LoomValue b)
{
  LoomValue y = loom_binary (p, LOOM_SCALAR_MUL, a, b);

  return loom_reduce (p, LOOM_REDUCE_SUM, y, 1u << (loom_value_info (p, y)->desc.rank - 1), FALSE);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_loss_input (ctx, 0), y = loom_op_loss_input (ctx, 1), t = loom_op_loss_input (ctx, 2);
  LoomValue eps = loom_op_const_like (ctx, x, 1e-12), zero = loom_op_const_like (ctx, x, 0), one, cosine, near, far;

  /* Squared norms are kept away from 0 as in PyTorch. */
  cosine = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_ADD, product (p, x, x), eps),
                        loom_binary (p, LOOM_SCALAR_ADD, product (p, y, y), eps));
  cosine = loom_binary (p, LOOM_SCALAR_DIV, product (p, x, y), loom_unary (p, LOOM_SCALAR_SQRT, cosine));
  one = loom_op_const_like (ctx, x, 1);
  near = loom_binary (p, LOOM_SCALAR_SUB, one, cosine);
  far = loom_op_const_like (ctx, x, loom_infer_float (loom_lower_infer (ctx), "margin"));
  far = loom_op_at_least_zero (p, loom_binary (p, LOOM_SCALAR_SUB, cosine, far));
  near = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_EQ, t, one), near, zero);
  one = loom_op_const_like (ctx, x, -1);
  far = loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_EQ, t, one), far, zero);
  loom_op_output_loss (ctx, loom_binary (p, LOOM_SCALAR_ADD, near, far));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3", "i64:B" }, .range = "class:2" },
  { .params = "margin=0.2 reduction=none", .inputs = { "f32:B,3", "f32:B,3", "i64:B" }, .range = "class:2" },
  { .params = "reduction=sum", .inputs = { "f32:3", "f32:3", "i64:" }, .range = "class:2" },
  { NULL },
};

const LoomOp loom_op_cosine_embedding_loss = {
  .name = "cosine_embedding_loss",
  .title = "Cosine embedding loss",
  .category = LOOM_CATEGORY_LOSS,
  .icon = "loom-cosine-symbolic",
  .doc = "Computes a loss of the cosine similarity of similar and dissimilar pairs of vectors.",
  .details = "For a target of 1 the loss is 1 minus the cosine similarity; for −1 it is the amount by which the cosine "
             "similarity exceeds the margin.",
  .formula = "L = mean (1 − cos where t = 1, max(0, cos − m) where t = −1)",
  .reference = "torch.nn.CosineEmbeddingLoss",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
