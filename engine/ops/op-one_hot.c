/* One-hot: a vector of zeros with a single 1 for each index. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[]
    = { { "input", "Class indices from 0 to num_classes - 1, of any shape." }, { NULL } };

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("num_classes", INT, "10"), LOOM_RANGE (1, 1e9), .unit = "classes",
    .doc = "The number of classes: the size of the last dimension of the output." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_input (ctx, 0)->shape;

  if (!loom_op_needs_int (ctx, 0, "input")
      || !loom_op_rank (ctx, 0, "input", 0, LOOM_SHAPE_MAX_RANK - 1, "at most seven dimensions",
                        "Put a reshape before it."))
    return;
  shape.dim[shape.rank++] = loom_dim (loom_infer_int (ctx, "num_classes"));
  loom_infer_output (ctx, 0, LOOM_I64, &shape);
}

/* Implemented as a scatter, not a comparison, because a scatter refuses an index out of range. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomValue zeros = loom_fill (p, LOOM_I64, rank, dims, 0);

  d.dim[d.rank] = 1;
  x = loom_reshape (p, x, rank, d.dim);
  loom_lower_output (
      ctx, 0, loom_scatter (p, zeros, x, loom_fill (p, LOOM_I64, rank, d.dim, 1), rank - 1, LOOM_SCATTER_REPLACE));
}

static const LoomSample samples[] = {
  { .params = "num_classes=5", .inputs = { "i64:B" }, .range = "class:5" },
  { .params = "num_classes=3", .inputs = { "i64:B,T" }, .range = "class:3" },
  { .params = "num_classes=1", .inputs = { "i64:" }, .range = "class:1" },
  { .params = "num_classes=4", .inputs = { "i64:0" }, .range = "class:4" },
  { NULL },
};

const LoomOp loom_op_one_hot = {
  .name = "one_hot",
  .title = "One-hot",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-one-hot-symbolic",
  .synonyms = "onehot categorical",
  .doc = "Encodes each class index as a vector of zeros with a single 1.",
  .details = "Class 2 of 5 becomes 0 0 1 0 0. The output [ …, num_classes] has integers, as in PyTorch; cast it to a "
             "float type to compare it with probabilities.",
  .formula = "y[…, c] = 1 if x[…] = c, else 0",
  .reference = "torch.nn.functional.one_hot",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
