/* Max: the largest element, of all or along a dimension with its position. */
#include "engine/ops/op-private.h"

static const LoomPortSpec one[] = { { "out", "The largest element." }, { NULL } };
static const LoomPortSpec two[] = {
  { "out", "The largest elements." },
  { "indices", "Where each of them was.", LOOM_PORT_OPTIONAL },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "dim",
    .type = LOOM_PARAM_INT,
    .def = "",
    .minimum = -8,
    .maximum = 7,
    .doc = "The dimension that is searched; left out, the whole tensor." },
  { .name = "keepdim", .type = LOOM_PARAM_BOOL, .def = "false", .doc = "Leaves a size of 1 where the dimension was." },
  { NULL },
};

static const LoomPortSpec *
outputs (const LoomInfer *ctx)
{
  return loom_infer_is_set (ctx, "dim") ? two : one;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gboolean along = loom_infer_is_set (ctx, "dim");
  LoomShape shape;
  guint32 axes = (1u << x->shape.rank) - 1;
  int axis;

  if (along)
    {
      if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
        return;
      axes &= 1u << axis;
    }
  for (int i = 0; i < x->shape.rank; i++)
    {
      if ((axes >> i & 1) && loom_dim_is_known (x->shape.dim[i]) && x->shape.dim[i].coef == 0)
        {
          g_autofree char *text = loom_shape_to_string (&x->shape);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "input", "There is no largest of no elements; here comes %s.", text);
          return;
        }
    }
  shape = loom_op_reduced_shape (&x->shape, axes, along && loom_infer_bool (ctx, "keepdim"));
  loom_infer_output (ctx, 0, x->dtype, &shape);
  if (along)
    loom_infer_output (ctx, 1, LOOM_I64, &shape);
}

/* Along a dimension the gradient goes to the position that was found and not to all equals, so the value is taken by
 * position: a selection that sums to one element. */
static void
lower_along (LoomLower *ctx, LoomValue x, int axis)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  LoomArgReduceAttrs arg = { .largest = true, .axis = axis };
  LoomIotaTo count = { .kernel = { .axis = axis, .step = 1 }, .dtype = LOOM_I64, .to.rank = d.rank };
  LoomValue where = loom_emit (p, loom_prim ("argreduce"), &arg, 1, &x, NULL), hit, y;
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  for (int i = 0; i < d.rank; i++)
    count.to.dim[i] = i == axis ? d.dim[i] : 1;
  hit = loom_binary (p, LOOM_SCALAR_EQ, loom_emit (p, loom_prim ("iota"), &count, 0, NULL, NULL), where);
  y = loom_ternary (p, LOOM_SCALAR_SELECT, hit, x, loom_op_const_like (ctx, x, 0));
  y = loom_reduce (p, LOOM_REDUCE_SUM, y, 1u << axis, TRUE);
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
  loom_lower_output (ctx, 1, loom_reshape (p, where, rank, dims));
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  int rank = loom_op_desc (ctx, x).rank;

  if (!loom_infer_is_set (infer_ctx, "dim"))
    loom_lower_output (ctx, 0, loom_reduce (p, LOOM_REDUCE_MAX, x, (1u << rank) - 1, FALSE));
  else if (rank == 0)
    {
      loom_lower_output (ctx, 0, x);
      loom_lower_output (ctx, 1, loom_const (p, LOOM_I64, 0));
    }
  else
    lower_along (ctx, x, loom_op_axis_of (loom_infer_int (infer_ctx, "dim"), rank));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3,4" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "f32:B,3,4" }, .range = "distinct" },
  { .params = "dim=-1 keepdim=true", .inputs = { "f32:B,3" }, .range = "distinct" },
  { .params = "dim=0", .inputs = { "f32:1" }, .range = "distinct" },
  { .params = "dim=1", .inputs = { "f32:0,3" }, .range = "distinct" },
  { .inputs = { "f32:" }, .range = "distinct" },
  { NULL },
};

const LoomOp loom_op_max = {
  .name = "max",
  .title = "Maximum",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-max-symbolic",
  .doc = "Finds the largest element, of all or along a dimension.",
  .details
  = "With a dimension it also says where the largest stands: along the classes of a classifier that position is "
    "the answer. The gradient goes to the winner alone; over a whole tensor equal winners share it.",
  .formula = "y = max x",
  .reference = "torch.max",
  .inputs = loom_op_port_input,
  .outputs = two,
  .dynamic_outputs = outputs,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_input_flops,
  .samples = samples,
};
