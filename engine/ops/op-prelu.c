/* PReLU: a leaky ReLU with a learnable slope (He et al. 2015). */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomPortSpec inputs[] = {
  { "input", "A tensor of any shape; the channels are its second dimension." },
  { "weight", "Ties the slopes to another tensor [num_parameters].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("num_parameters", INT, "1"), LOOM_RANGE (1, 1e9),
    .doc = "1 for a single slope, or the number of channels." },
  { LOOM_PARAM ("init", FLOAT, "0.25"), .doc = "The initial slope." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 n = loom_infer_int (ctx, "num_parameters");

  if (!loom_op_needs_float (ctx, 0, "input", "multiplies by weights"))
    return;
  if (n > 1 && (x->shape.rank < 2 || !loom_dim_compatible (x->shape.dim[1], loom_dim (n))))
    {
      g_autofree char *text = loom_shape_to_string (&x->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "num_parameters",
                        "num_parameters is %" PRId64
                        ", so the second dimension must have that size, but got %s. 1 fits every shape.",
                        n, text);
      return;
    }
  loom_infer_weight (ctx,
                     &(LoomWeightSpec){ .name = "weight",
                                        .shape = loom_shape (1, (gint64[]){ n }),
                                        .init = { .kind = LOOM_INIT_CONSTANT, .a = loom_infer_float (ctx, "init") },
                                        .dtype = LOOM_F32 });
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), w = loom_lower_weight (ctx, "weight"), above;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 dims[LOOM_MAX_RANK];

  /* The channels are the second dimension; a single slope broadcasts. */
  for (int i = 0; i < d.rank; i++)
    dims[i] = i == 1 ? loom_infer_int (loom_lower_infer (ctx), "num_parameters") : 1;
  w = loom_reshape (p, w, d.rank < 2 ? 0 : d.rank, dims);
  above = loom_binary (p, LOOM_SCALAR_GT, x, loom_op_const_like (ctx, x, 0));
  loom_lower_output (ctx, 0, loom_ternary (p, LOOM_SCALAR_SELECT, above, x, loom_binary (p, LOOM_SCALAR_MUL, x, w)));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "away0" },
  { .params = "num_parameters=3 init=0.5", .inputs = { "f32:B,3,2,2" }, .range = "away0" },
  { .params = "num_parameters=3", .inputs = { "f32:B,3", "f32:3" }, .range = "away0" },
  { .inputs = { "f32:" }, .range = "away0" },
  { .inputs = { "f32:5" }, .range = "away0" },
  { .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_prelu = {
  .name = "prelu",
  .title = "PReLU",
  .category = LOOM_CATEGORY_ACTIVATIONS,
  .icon = "loom-leaky-relu-symbolic",
  .doc = "Applies a leaky ReLU with a learnable slope.",
  .details = "It has one slope, or one for each channel. Weight decay would move the slope towards 0, a plain ReLU, so "
             "it is usually not applied to it.",
  .formula = "y = x for x > 0, else w · x",
  .reference = "torch.nn.PReLU",
  .source = "He, Zhang, Ren and Sun, “Delving Deep into Rectifiers”, ICCV 2015, arXiv:1502.01852",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
