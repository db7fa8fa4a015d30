/* Roll: shifts elements circularly. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("shifts", INTS, "1"),
    .doc = "The number of elements to shift by, for each dimension; negative numbers shift towards the beginning." },
  { LOOM_OP_DIMS ("dims"), .def = "", .doc = "The dimensions to roll; if not set, the flattened tensor is rolled." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  gint64 unused[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  guint n = loom_infer_ints (ctx, "shifts", unused, LOOM_MAX_RANK);
  guint n_dims = loom_infer_is_set (ctx, "dims") ? loom_infer_ints (ctx, "dims", dims, LOOM_MAX_RANK) : 1;
  int axis;

  if (n != n_dims || n > LOOM_MAX_RANK)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "shifts", "shifts has %u numbers for %u dimensions.", n, n_dims);
      return;
    }
  for (guint i = 0; loom_infer_is_set (ctx, "dims") && i < n_dims; i++)
    {
      if (!loom_op_axis (ctx, "dims", dims[i], loom_infer_input (ctx, 0)->shape.rank, &axis))
        return;
    }
  loom_op_infer_same (ctx);
}

static LoomValue
roll (LoomProgram *p, LoomValue x, int axis, gint64 n, gint64 shift)
{
  LoomValue part[2];
  gint64 head;

  if (n == 0 || shift % n == 0)
    return x;
  /* The elements that leave at the end are concatenated before the others. */
  head = n - (shift % n + n) % n;
  part[0] = loom_op_slice_axis (p, x, axis, head, n - head, 1);
  part[1] = loom_op_slice_axis (p, x, axis, 0, head, 1);
  return loom_concat (p, 2, part, axis);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 shifts[LOOM_MAX_RANK], dims[LOOM_MAX_RANK], count = loom_desc_count (&d);
  guint n = loom_infer_ints (infer_ctx, "shifts", shifts, LOOM_MAX_RANK);

  if (!loom_infer_is_set (infer_ctx, "dims"))
    {
      loom_op_output_reshaped (ctx, 0, roll (p, loom_reshape (p, x, 1, &count), 0, count, shifts[0]));
      return;
    }
  loom_infer_ints (infer_ctx, "dims", dims, LOOM_MAX_RANK);
  for (guint i = 0; d.rank > 0 && i < n; i++)
    {
      int axis = loom_op_axis_of (dims[i], d.rank);

      x = roll (p, x, axis, d.dim[axis], shifts[i]);
    }
  loom_lower_output (ctx, 0, x);
}

static const LoomSample samples[] = {
  { .params = "shifts=1 dims=1", .inputs = { "f32:B,3,2" } },
  { .params = "shifts=-1,5 dims=0,-1", .inputs = { "f32:2,3,4" } },
  { .params = "shifts=2", .inputs = { "f32:2,3" } },
  { .params = "shifts=1 dims=0", .inputs = { "f32:0,3" } },
  { .params = "shifts=3 dims=0", .inputs = { "f32:3" } },
  { NULL },
};

const LoomOp loom_op_roll = {
  .name = "roll",
  .title = "Roll",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-flip-symbolic",
  .doc = "Shifts elements along a dimension, circularly.",
  .details = "Elements that leave at one end enter at the other. For example, shifted windows in vision transformers.",
  .formula = "yᵢ = xⱼ, j = (i − s) mod n",
  .reference = "torch.roll",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
