/* Unbind: one output for each index of a dimension. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomPortSpec usual[] = {
  { "0", "The slice at index 0." },
  { "1", "The slice at index 1." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("parts", INT, ""), LOOM_RANGE (1, LOOM_OP_MAX_OUTPUTS),
    .doc = "The size of the dimension and number of outputs; if not set, it is inferred from the shape." },
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The dimension to remove." },
  { NULL },
};

static const LoomPortSpec *
outputs (const LoomInfer *ctx)
{
  return loom_op_numbered_ports (loom_infer_is_set (ctx, "parts") ? (guint)loom_infer_int (ctx, "parts")
                                                                  : LOOM_OP_MAX_OUTPUTS);
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 n = loom_infer_is_set (ctx, "parts") ? loom_infer_int (ctx, "parts") : 0;
  LoomShape shape;
  LoomDim size;
  int axis;

  if (!loom_op_split_axis (ctx, &axis))
    return;
  size = x->shape.dim[axis];
  if (n == 0)
    {
      if (!loom_op_count_outputs (ctx, axis, size, &n))
        return;
    }
  else if (loom_dim_is_known (size) && size.coef != n)
    {
      g_autofree char *right = g_strdup_printf ("%" G_GINT64_FORMAT, size.coef);
      LoomFault *fault = loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "parts",
                                           "Dimension %d has the size %s, so there are %s outputs, not %" PRId64 ".",
                                           axis, right, right, n);

      loom_fault_set_fix (fault, "parts", right, "Set it to %s.", right);
      return;
    }
  shape = loom_op_reduced_shape (&x->shape, 1u << axis, FALSE);
  for (guint i = 0; i < n; i++)
    loom_infer_output (ctx, i, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  int axis = loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), loom_op_desc (ctx, x).rank);

  for (guint i = 0; loom_infer_get_output (infer_ctx, i) != NULL; i++)
    loom_op_output_reshaped (ctx, i, loom_op_slice_axis (p, x, axis, i, 1, 1));
}

static const LoomSample samples[] = {
  { .params = "parts=3 dim=1", .inputs = { "f32:B,3,2" } },
  { .inputs = { "f32:2" } },
  { .params = "parts=1 dim=-1", .inputs = { "f32:B,1" } },
  { NULL },
};

const LoomOp loom_op_unbind = {
  .name = "unbind",
  .title = "Unbind",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-split-symbolic",
  .doc = "Removes a dimension and returns one output for each of its indices.",
  .details
  = "The inverse of stack. For example, an image with three channels becomes three images without a channel dimension.",
  .formula = "yᵢ = x[…, i, …]",
  .reference = "torch.unbind",
  .inputs = loom_op_port_input,
  .outputs = usual,
  .dynamic_outputs = outputs,
  .counts_outputs = "parts",
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
