/* Shares the code of operators along dimensions: reductions such as sum and mean, and softmax with its logarithm.
 *
 * The files of the operators add the result type of integers, the division of a mean, the logarithm. */
#include "engine/ops/op-private.h"

/* ---- reductions ------------------------------------------------------- */

const LoomParamSpec loom_op_param_reduced[] = {
  { LOOM_OP_DIMS ("dim"), .def = "", .doc = "The dimensions to reduce; if empty, all of them." },
  { LOOM_PARAM ("keepdim", BOOL, "false"), .doc = "Whether the result keeps the reduced dimensions with size 1." },
  { NULL },
};

const LoomSample loom_op_samples_reduced[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "dim=1", .inputs = { "f32:B,3,4" } },
  { .params = "dim=0,-1 keepdim=true", .inputs = { "f32:B,3,4" } },
  { .params = "dim=-2 keepdim=true", .inputs = { "f32:2,1,4" } },
  { .inputs = { "f32:" } },
  { .params = "dim=1", .inputs = { "f32:0,3" } },
  { NULL },
};

static void
infer_reduced (LoomInfer *ctx, LoomDType whole)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape;
  guint32 axes;

  if (!loom_op_axes (ctx, "dim", x->shape.rank, &axes))
    return;
  shape = loom_op_reduced_shape (&x->shape, axes, loom_infer_bool (ctx, "keepdim"));
  loom_infer_output (ctx, 0, loom_dtype_is_float (x->dtype) ? x->dtype : whole, &shape);
}

void
loom_op_infer_reduced (LoomInfer *ctx)
{
  infer_reduced (ctx, LOOM_F32);
}

void
loom_op_infer_reduced_whole (LoomInfer *ctx)
{
  infer_reduced (ctx, LOOM_I64);
}

LoomValue
loom_op_reduce (LoomLower *ctx, LoomReduceOp op, LoomValue x)
{
  const LoomInfer *infer = loom_lower_infer (ctx);

  return loom_reduce (loom_lower_program (ctx), op, x, loom_op_axes_of (infer, "dim", loom_op_desc (ctx, x).rank),
                      loom_infer_bool (infer, "keepdim"));
}

LoomValue
loom_op_sums (LoomLower *ctx, double *count)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (infer, 0)->dtype);
  LoomValue x = loom_cast (p, loom_lower_input (ctx, 0), dtype);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  guint32 axes = loom_op_axes_of (infer, "dim", d.rank);

  *count = 1;
  for (int i = 0; i < d.rank; i++)
    *count *= axes >> i & 1 ? (double)d.dim[i] : 1;
  return loom_reduce (p, LOOM_REDUCE_SUM, x, axes, loom_infer_bool (infer, "keepdim"));
}

/* ---- spread ----------------------------------------------------------- */

const LoomParamSpec loom_op_param_variance[] = {
  { LOOM_OP_DIMS ("dim"), .def = "", .doc = "The dimensions to reduce; if empty, all of them." },
  { LOOM_PARAM ("correction", FLOAT, "1"),
    .doc = "Subtracted from the number of elements in the divisor: 1 (Bessel’s correction) estimates the variance of a "
           "population from a sample, 0 computes the variance of the elements themselves." },
  { LOOM_PARAM ("keepdim", BOOL, "false"), .doc = "Whether the result keeps the reduced dimensions with size 1." },
  { NULL },
};

const LoomSample loom_op_samples_variance[] = {
  { .inputs = { "f32:B,3,4" } },
  { .params = "dim=1", .inputs = { "f32:B,3,4" } },
  { .params = "dim=0,-1 keepdim=true correction=0", .inputs = { "f32:B,3,4" } },
  { .params = "dim=-1 correction=1.5", .inputs = { "f32:2,5" } },
  { .params = "dim=1", .inputs = { "f32:0,3" } },
  { NULL },
};

/* Computed in two passes: differences from the mean keep the digits that a difference of squares would lose. */
LoomValue
loom_op_variance (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_op_operand (ctx, 0), mean, squares;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  guint32 axes = loom_op_axes_of (loom_lower_infer (ctx), "dim", d.rank);
  double count = 1;

  for (int i = 0; i < d.rank; i++)
    count *= axes >> i & 1 ? (double)d.dim[i] : 1;
  mean = loom_binary (p, LOOM_SCALAR_DIV, loom_reduce (p, LOOM_REDUCE_SUM, x, axes, TRUE),
                      loom_op_const_like (ctx, x, count));
  squares = loom_unary (p, LOOM_SCALAR_SQUARE, loom_binary (p, LOOM_SCALAR_SUB, x, mean));
  count = MAX (count - loom_infer_float (loom_lower_infer (ctx), "correction"), 0);
  return loom_binary (p, LOOM_SCALAR_DIV, loom_op_reduce (ctx, LOOM_REDUCE_SUM, squares),
                      loom_op_const_like (ctx, x, count));
}

LoomValue
loom_op_root (LoomProgram *p, LoomValue s)
{
  LoomDType dtype = loom_value_info (p, s)->desc.dtype;
  LoomValue zero = loom_const (p, dtype, 0), flat = loom_binary (p, LOOM_SCALAR_EQ, s, zero);
  LoomValue safe = loom_ternary (p, LOOM_SCALAR_SELECT, flat, loom_const (p, dtype, 1), s);

  return loom_ternary (p, LOOM_SCALAR_SELECT, flat, zero, loom_unary (p, LOOM_SCALAR_SQRT, safe));
}

/* ---- any and all ------------------------------------------------------ */

const LoomSample loom_op_samples_tested_along[] = {
  { .inputs = { "bool:B,3,4" } },
  { .params = "dim=1", .inputs = { "i64:B,3,4" }, .range = "class:2" },
  { .params = "dim=0,-1 keepdim=true", .inputs = { "bool:B,3,4" } },
  { .inputs = { "f32:" } },
  { .params = "dim=1", .inputs = { "f32:0,3" } },
  { .params = "dim=0", .inputs = { "bool:0,3" } },
  { NULL },
};

void
loom_op_infer_tested_along (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape;
  guint32 axes;

  if (!loom_op_axes (ctx, "dim", x->shape.rank, &axes))
    return;
  shape = loom_op_reduced_shape (&x->shape, axes, loom_infer_bool (ctx, "keepdim"));
  loom_infer_output (ctx, 0, LOOM_BOOL, &shape);
}

void
loom_op_lower_tested_along (LoomLower *ctx, LoomScalarOp test_op)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), hits;

  hits = loom_binary (p, test_op, x, loom_op_const_like (ctx, x, 0));
  hits = loom_op_reduce (ctx, LOOM_REDUCE_SUM, loom_cast (p, hits, LOOM_I64));
  loom_lower_output (ctx, 0, loom_binary (p, test_op, hits, loom_const (p, LOOM_I64, 0)));
}

/* ---- softmax ---------------------------------------------------------- */

const LoomSample loom_op_samples_softmax[] = {
  { .inputs = { "f32:B,5" } },
  { .params = "dim=1", .inputs = { "f32:B,3,4" } },
  { .params = "dim=0", .inputs = { "f32:3,2" } },
  { .params = "dim=-1", .inputs = { "f32:2,1" } },
  { .inputs = { "f32:0,3" } },
  { .inputs = { "f32:" } },
  { NULL },
};

void
loom_op_infer_softmax (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (loom_op_needs_float (ctx, 0, "input", NULL)
      && loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), x->shape.rank, &axis))
    loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

static void
lower_softmax (LoomLower *ctx, LoomValue x, gboolean log)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), MAX (d.rank, 1));
  LoomSoftmaxAttrs attrs = { .axis = axis, .log = log };
  LoomValue row = d.rank > 0 ? x : loom_reshape (p, x, 1, (gint64[]){ 1 }), y;

  y = loom_emit (p, loom_prim ("softmax"), &attrs, 1, &row, NULL);
  loom_lower_output (ctx, 0, loom_reshape (p, y, d.rank, d.dim));
}

void
loom_op_lower_softmax (LoomLower *ctx, gboolean log)
{
  lower_softmax (ctx, loom_lower_input (ctx, 0), log);
}

void
loom_op_lower_softmin (LoomLower *ctx)
{
  lower_softmax (ctx, loom_unary (loom_lower_program (ctx), LOOM_SCALAR_NEG, loom_lower_input (ctx, 0)), FALSE);
}

double
loom_op_softmax_flops (const LoomInfer *ctx)
{
  return 5 * loom_op_output_count (ctx, 0);
}
