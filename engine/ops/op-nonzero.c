/* Nonzero: the coordinates of all elements that are not 0. */
#include "engine/ops/op-private.h"

static const LoomPortSpec outputs[] = {
  { "out", "The coordinates of each element that is not 0, i64 [n, dimensions]." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape
      = { .rank = 2, .dim = { loom_infer_counted_dim (ctx), loom_dim (loom_infer_input (ctx, 0)->shape.rank) } };

  loom_infer_output (ctx, 0, LOOM_I64, &shape);
}

static LoomValue
count_size (LoomLower *ctx)
{
  return loom_op_count_true (loom_lower_program (ctx), loom_lower_input (ctx, 0));
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), places, column[LOOM_MAX_RANK];
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 dims[LOOM_MAX_RANK], inner = 1;
  int rank = loom_op_output_dims (ctx, 0, dims);

  if (d.rank == 0 || dims[0] == 0)
    {
      loom_lower_output (ctx, 0, loom_fill (p, LOOM_I64, rank, dims, 0));
      return;
    }
  places = loom_reshape (p, loom_op_true_places (p, x, dims[0]), 2, (gint64[]){ dims[0], 1 });
  for (int i = d.rank - 1; i >= 0; i--)
    {
      column[i] = loom_binary (p, LOOM_SCALAR_DIV_FLOOR, places, loom_const (p, LOOM_I64, (double)inner));
      column[i] = loom_binary (p, LOOM_SCALAR_MOD, column[i], loom_const (p, LOOM_I64, (double)d.dim[i]));
      inner *= d.dim[i];
    }
  loom_lower_output (ctx, 0, d.rank == 1 ? column[0] : loom_concat (p, (guint)d.rank, column, 1));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" } },
  { .inputs = { "bool:5" } },
  { .inputs = { "i64:2,0" } },
  { NULL },
};

const LoomOp loom_op_nonzero = {
  .name = "nonzero",
  .title = "Nonzero",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-mask-symbolic",
  .doc = "Returns the coordinates of all elements that are true or not 0.",
  .details
  = "The number of elements depends on the data, so the first size of the output is a symbol until the graph runs; the "
    "elements are then counted and the following operators planned for that size. Not differentiable.",
  .formula = "y = the coordinates of every x ≠ 0, one row each",
  .reference = "torch.nonzero",
  .inputs = loom_op_port_input,
  .outputs = outputs,
  .infer = infer,
  .lower = lower,
  .count_size = count_size,
  .flops = loom_op_input_flops,
  .samples = samples,
};
