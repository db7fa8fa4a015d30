/* Gather by coordinates: elements or slices of a tensor. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "The tensor to gather from." },
  { "indices", "The coordinates along the last dimension, i64; negative ones count from the end." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("batch_dims", INT, "0"), LOOM_RANGE (0, 7),
    .doc = "The number of leading batch dimensions that input and indices share." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  const LoomShape *index = &loom_infer_input (ctx, 1)->shape;
  int batch = (int)loom_infer_int (ctx, "batch_dims"), depth;
  LoomShape shape = *index;

  if (!loom_op_infer_coordinates (ctx, batch, &depth))
    return;
  shape.rank--;
  for (int i = batch + depth; i < x->shape.rank; i++)
    {
      if (shape.rank == LOOM_SHAPE_MAX_RANK)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "indices", "The result would have more than eight dimensions.");
          return;
        }
      shape.dim[shape.rank++] = x->shape.dim[i];
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[2], x = loom_lower_input (ctx, 0);
  int batch = (int)loom_infer_int (loom_lower_infer (ctx), "batch_dims");
  gint64 dims[LOOM_MAX_RANK], table[2];
  int rank = loom_op_output_dims (ctx, 0, dims);

  in[1] = loom_op_coordinates (p, x, loom_lower_input (ctx, 1), batch, table);
  in[0] = loom_reshape (p, x, 2, table);
  loom_lower_output (ctx, 0, loom_reshape (p, loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL), rank, dims));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:4,3", "i64:B,2" }, .range = "class:3" },
  { .inputs = { "f32:4,3,2", "i64:B,5,1" }, .range = "class:4" },
  { .params = "batch_dims=1", .inputs = { "f32:B,3,2", "i64:B,5,1" }, .range = "class:3" },
  { .params = "batch_dims=1", .inputs = { "f32:2,3,3", "i64:2,2" }, .range = "class:3" },
  { .inputs = { "f32:4", "i64:0,1" }, .range = "class:4" },
  { NULL },
};

const LoomOp loom_op_gather_nd = {
  .name = "gather_nd",
  .title = "Gather by coordinates",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-gather-symbolic",
  .doc = "Gathers elements or slices of a tensor by their coordinates.",
  .details = "Each vector along the last dimension of indices is a coordinate: with as many numbers as the input has "
             "dimensions it selects an element, with fewer a slice. The output of nonzero can be used as indices.",
  .formula = "y[i, …] = x[indices[i, 0], indices[i, 1], …]",
  .reference = "ONNX GatherND",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
