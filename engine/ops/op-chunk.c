/* Chunk: splits a tensor into a number of chunks along a dimension. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("chunks", INT, "2"), LOOM_RANGE (1, LOOM_OP_MAX_OUTPUTS),
    .doc = "The number of chunks; the last one may be smaller." },
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The dimension to split along." },
  { NULL },
};

static const LoomPortSpec *
outputs (const LoomInfer *ctx)
{
  return loom_op_numbered_ports ((guint)loom_infer_int (ctx, "chunks"));
}

/* All chunks have the size of the first, rounded up, so 5 in 4 chunks would be 2, 2 and 1: three, as in PyTorch. */
static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 n = loom_infer_int (ctx, "chunks"), part = 0;
  LoomShape shape = x->shape;
  LoomDim size, each = loom_dim_unknown ();
  int axis;

  if (!loom_op_split_axis (ctx, &axis))
    return;
  size = shape.dim[axis];
  if (loom_dim_is_known (size))
    {
      gint64 makes;

      part = (size.coef + n - 1) / n;
      makes = part > 0 ? (size.coef - 1) / part + 1 : n;
      if (makes != n)
        {
          g_autofree char *right = g_strdup_printf ("%" G_GINT64_FORMAT, makes);
          LoomFault *fault = loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "chunks",
                                               "A dimension of size %" PRId64 " cut into %" PRId64
                                               " chunks makes only %s: each is %" PRId64 " long.",
                                               size.coef, n, right, part);

          loom_fault_set_fix (fault, "chunks", right, "Set it to %s.", right);
          return;
        }
    }
  else
    loom_dim_div (size, loom_dim (n), &each);
  for (guint i = 0; i < n; i++)
    {
      shape.dim[axis] = each;
      if (loom_dim_is_known (size))
        shape.dim[axis] = loom_dim (i < n - 1 ? part : size.coef - part * (n - 1));
      loom_infer_output (ctx, i, x->dtype, &shape);
    }
}

static const LoomSample samples[] = {
  { .params = "dim=1", .inputs = { "f32:B,4" } },
  { .params = "chunks=3 dim=-1", .inputs = { "f32:2,8" } },
  { .params = "chunks=1", .inputs = { "f32:3" } },
  { .inputs = { "f32:B,2" } },
  { .inputs = { "f32:0,2" } },
  { NULL },
};

const LoomOp loom_op_chunk = {
  .name = "chunk",
  .title = "Chunk",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-split-symbolic",
  .doc = "Splits a tensor into a number of equal chunks along a dimension.",
  .details = "Unlike split, it takes the number of chunks instead of their size. For example, two halves of the "
             "channels make a gated unit.",
  .formula = "y₀, y₁, … = [y₀ | y₁ | …] = x",
  .reference = "torch.chunk",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_parts,
  .dynamic_outputs = outputs,
  .params = params,
  .infer = infer,
  .lower = loom_op_lower_split,
  .flops = loom_op_no_flops,
  .samples = samples,
};
