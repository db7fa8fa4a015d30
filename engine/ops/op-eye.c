/* Eye: identity matrix, as torch.eye. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("n", INT, "3"), LOOM_RANGE (0, 100000000), .doc = "The number of rows." },
  { LOOM_PARAM ("m", INT, ""), LOOM_RANGE (0, 100000000), .doc = "The number of columns; if not set, that of rows." },
  { LOOM_PARAM ("dtype", DTYPE, "f32"), .doc = "The type of the elements.", .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  gint64 n = loom_infer_int (ctx, "n");
  LoomShape shape = loom_shape (2, (gint64[]){ n, loom_infer_is_set (ctx, "m") ? loom_infer_int (ctx, "m") : n });

  loom_infer_output (ctx, 0, loom_infer_dtype (ctx, "dtype"), &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  gint64 dims[LOOM_MAX_RANK];

  loom_op_output_dims (ctx, 0, dims);
  loom_lower_output (ctx, 0,
                     loom_cast (p, loom_op_band (p, dims[0], dims[1], 0, LOOM_SCALAR_EQ),
                                loom_op_dtype (ctx, loom_infer_dtype (loom_lower_infer (ctx), "dtype"))));
}

static const LoomSample samples[] = {
  { .params = "n=3" }, { .params = "n=2 m=4 dtype=i64" }, { .params = "n=4 m=1" }, { .params = "n=0" }, { NULL },
};

const LoomOp loom_op_eye = {
  .name = "eye",
  .title = "Identity matrix",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-eye-symbolic",
  .synonyms = "identity matrix",
  .doc = "Returns a matrix with ones on the diagonal and zeros elsewhere.",
  .details = "The product with an identity matrix changes nothing. Its rows are the one-hot vectors of the classes.",
  .formula = "yᵢⱼ = 1 where i = j, else 0",
  .reference = "torch.eye",
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
