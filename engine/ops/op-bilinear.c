/* Bilinear layer, as torch.nn.Bilinear. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input1", "The first input [ …, in1_features]." },
  { "input2", "The second input [ …, in2_features], with the same leading dimensions." },
  { "weight", "Ties the weights to another tensor [out_features, in1_features, in2_features].", LOOM_PORT_WEIGHT },
  { "bias", "Ties the bias to another tensor [out_features].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("out_features", INT, "16"), LOOM_RANGE (1, 1e9), .unit = "features",
    .doc = "The size of the last dimension of the output." },
  { LOOM_PARAM ("bias", BOOL, "true"), .doc = "Whether a learnable bias is added." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  gint64 first, second, out = loom_infer_int (ctx, "out_features");
  LoomShape shape = a->shape, other = b->shape;
  LoomInit init;

  if (!loom_op_rank (ctx, 0, "input1", 1, LOOM_SHAPE_MAX_RANK, "features in a last dimension",
                     "Put a reshape before it.")
      || !loom_op_rank (ctx, 1, "input2", 1, LOOM_SHAPE_MAX_RANK, "features in a last dimension",
                        "Put a reshape before it.")
      || !loom_op_needs_weight_type (ctx, 0, "input1") || !loom_op_needs_weight_type (ctx, 1, "input2")
      || !loom_op_plain_dim (ctx, shape.dim[shape.rank - 1], "each input feature", &first)
      || !loom_op_plain_dim (ctx, other.dim[other.rank - 1], "each input feature", &second))
    return;
  other.dim[other.rank - 1] = shape.dim[shape.rank - 1];
  if (!loom_shape_compatible (&shape, &other))
    {
      g_autofree char *one = loom_shape_to_string (&a->shape), *two = loom_shape_to_string (&b->shape);

      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "input2",
          "bilinear pairs its inputs row by row, so all dimensions but the last must be equal, but got %s and %s.", one,
          two);
      return;
    }
  init = loom_init_fan_in (first);
  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "weight",
                                             .shape = loom_shape (3, (gint64[]){ out, first, second }),
                                             .init = init,
                                             .dtype = LOOM_F32 });
  if (loom_infer_bool (ctx, "bias"))
    loom_infer_weight (
        ctx, &(LoomWeightSpec){
                 .name = "bias", .shape = loom_shape (1, (gint64[]){ out }), .init = init, .dtype = LOOM_F32 });
  shape.dim[shape.rank - 1] = loom_dim (out);
  loom_infer_output (ctx, 0, a->dtype, &shape);
}

/* The products of all pairs, [rows, in1·in2], are the features of a linear layer. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue a = loom_lower_input (ctx, 0), b = loom_lower_input (ctx, 1), bias = loom_lower_weight (ctx, "bias");
  LoomMatmulAttrs attrs = { .trans_b = true, .has_bias = bias != 0, .act = LOOM_SCALAR_ID };
  LoomTensorDesc da = loom_op_desc (ctx, a), db = loom_op_desc (ctx, b);
  gint64 first = da.dim[da.rank - 1], second = db.dim[db.rank - 1], rows = 1, dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomValue in[3] = { 0, loom_lower_weight (ctx, "weight"), bias };

  for (int i = 0; i + 1 < rank; i++)
    rows *= dims[i];
  in[0] = loom_binary (p, LOOM_SCALAR_MUL, loom_reshape (p, a, 3, (gint64[]){ rows, first, 1 }),
                       loom_reshape (p, b, 3, (gint64[]){ rows, 1, second }));
  in[0] = loom_reshape (p, in[0], 2, (gint64[]){ rows, first * second });
  in[1] = loom_reshape (p, in[1], 2, (gint64[]){ dims[rank - 1], first * second });
  loom_lower_output (ctx, 0, loom_reshape (p, loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, NULL), rank, dims));
}

static double
flops (const LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);

  return 2 * loom_op_output_count (ctx, 0) * (double)a->shape.dim[a->shape.rank - 1].coef
         * (double)b->shape.dim[b->shape.rank - 1].coef;
}

static const LoomSample samples[] = {
  { .params = "out_features=3", .inputs = { "f32:B,2", "f32:B,4" } },
  { .params = "out_features=2 bias=false", .inputs = { "f32:B,T,3", "f32:B,T,1" } },
  { .params = "out_features=2", .inputs = { "f32:3", "f32:2" } },
  { .params = "out_features=2", .inputs = { "f32:0,3", "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_bilinear = {
  .name = "bilinear",
  .title = "Bilinear",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-bilinear-symbolic",
  .doc = "Applies a learnable bilinear map to two inputs.",
  .details = "Each output feature is a weighted sum over all products of a feature of the first input with a feature "
             "of the second, for example a score of how well a question and an answer match.",
  .formula = "yₒ = x₁ᵀ Wₒ x₂ + bₒ",
  .reference = "torch.nn.Bilinear",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
