/* Cross product of vectors with three elements. */
#include "engine/ops/family-linalg.h"

static const LoomPortSpec inputs[] = {
  { "input", "Vectors with three elements along dim." },
  { "other", "The other vectors; broadcasts with the first." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_OP_DIM ("dim"), .def = "-1", .doc = "The dimension of the vectors, of size 3." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);
  LoomShape shape;
  int axis;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "vectors", "Use mul for numbers."))
    return;
  if (a->shape.rank != b->shape.rank || !loom_shape_broadcast (&a->shape, &b->shape, &shape))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "other",
                        "%s and %s do not broadcast: they need the same number of dimensions, each of equal size or 1.",
                        sa, sb);
      return;
    }
  if (!loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), shape.rank, &axis))
    return;
  if (!loom_dim_compatible (a->shape.dim[axis], loom_dim (3))
      || !loom_dim_compatible (b->shape.dim[axis], loom_dim (3)))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dim",
                        "Vectors need three elements along dimension %d, but got %s and %s.", axis, sa, sb);
      return;
    }
  loom_infer_output (ctx, 0, loom_op_promote (a->dtype, b->dtype), &shape);
}

/* The elements of each vector rotated by `by`: (x, y, z) → (y, z, x) for 1. */
static LoomValue
turned (LoomProgram *p, LoomValue v, int axis, int by)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 start[LOOM_MAX_RANK] = { 0 };
  LoomValue parts[2];

  start[axis] = by;
  d.dim[axis] = 3 - by;
  parts[0] = loom_slice (p, v, start, NULL, d.dim);
  start[axis] = 0;
  d.dim[axis] = by;
  parts[1] = loom_slice (p, v, start, NULL, d.dim);
  return loom_concat (p, 2, parts, axis);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue a = loom_op_operand (ctx, 0), b = loom_op_operand (ctx, 1), left, right;
  int axis = loom_op_axis_of (loom_infer_int (loom_lower_infer (ctx), "dim"), loom_op_desc (ctx, a).rank);

  left = loom_binary (p, LOOM_SCALAR_MUL, turned (p, a, axis, 1), turned (p, b, axis, 2));
  right = loom_binary (p, LOOM_SCALAR_MUL, turned (p, a, axis, 2), turned (p, b, axis, 1));
  loom_lower_output (ctx, 0, loom_binary (p, LOOM_SCALAR_SUB, left, right));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3", "f32:B,3" } },
  { .inputs = { "f32:3", "f32:3" } },
  { .params = "dim=0", .inputs = { "f32:3,B", "f32:3,1" } },
  { .inputs = { "f32:0,3", "f32:1,3" } },
  { NULL },
};

const LoomOp loom_op_cross = {
  .name = "cross",
  .title = "Cross product",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-matmul-symbolic",
  .doc = "Computes the cross product of vectors with three elements.",
  .details = "The result is orthogonal to both vectors (right-hand rule), and its length is the area of the "
             "parallelogram that they span.",
  .formula = "y = a × b",
  .reference = "torch.linalg.cross",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
