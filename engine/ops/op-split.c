/* Split: divides a dimension into parts of a given size, or of given sizes.
 *
 * If only the size of a part is given, the shape determines the number of parts. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("split_size", INT, ""), LOOM_RANGE (1, 9e15),
    .doc = "The size of each part; the last one may be smaller." },
  { LOOM_PARAM ("parts", INT, ""), LOOM_RANGE (1, LOOM_OP_MAX_OUTPUTS),
    .doc = "The number of parts of that size; if not set, it is inferred from the shape." },
  { LOOM_PARAM ("sections", INTS, ""), LOOM_RANGE (0, 9e15),
    .doc = "The size of each part, in place of split_size: “2,3,1”." },
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The dimension to split along." },
  { NULL },
};

static const LoomPortSpec *
outputs (const LoomInfer *ctx)
{
  gint64 sizes[LOOM_OP_MAX_OUTPUTS];

  return loom_op_numbered_ports (loom_infer_is_set (ctx, "sections")
                                     ? loom_infer_ints (ctx, "sections", sizes, LOOM_OP_MAX_OUTPUTS)
                                 : loom_infer_is_set (ctx, "parts") ? (guint)loom_infer_int (ctx, "parts")
                                                                    : LOOM_OP_MAX_OUTPUTS);
}

static void
infer_sections (LoomInfer *ctx, LoomShape shape, LoomDType dtype, int axis)
{
  gint64 sizes[LOOM_OP_MAX_OUTPUTS], sum = 0;
  guint n = loom_infer_ints (ctx, "sections", sizes, LOOM_OP_MAX_OUTPUTS);
  LoomDim size = shape.dim[axis];

  if (n > LOOM_OP_MAX_OUTPUTS)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "sections", "%u parts are too many; split makes at most %d.", n,
                        LOOM_OP_MAX_OUTPUTS);
      return;
    }
  for (guint i = 0; i < n; i++)
    {
      sum += sizes[i];
      shape.dim[axis] = loom_dim (sizes[i]);
      loom_infer_output (ctx, i, dtype, &shape);
    }
  if (loom_dim_is_known (size) && size.coef != sum)
    loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "sections",
                      "The parts are %" PRId64 " long together, but dimension %d has the size %" PRId64 ".", sum, axis,
                      size.coef);
}

static void
infer_sizes (LoomInfer *ctx, LoomShape shape, LoomDType dtype, int axis)
{
  gint64 part = loom_infer_int (ctx, "split_size"), n = 0;
  LoomDim size = shape.dim[axis];

  if (loom_infer_is_set (ctx, "parts"))
    n = loom_infer_int (ctx, "parts");
  else if (!loom_op_count_outputs (
               ctx, axis, loom_dim_is_known (size) ? loom_dim (MAX ((size.coef - 1) / part + 1, 1)) : size, &n))
    return;
  if (loom_dim_is_known (size) && MAX ((size.coef - 1) / part + 1, 1) != n)
    {
      g_autofree char *right = g_strdup_printf ("%" G_GINT64_FORMAT, MAX ((size.coef - 1) / part + 1, 1));
      LoomFault *fault = loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "parts",
                                           "A dimension of size %" PRId64 " in parts of %" PRId64
                                           " makes %s of them, not %" PRId64 ".",
                                           size.coef, part, right, n);

      loom_fault_set_fix (fault, "parts", right, "Set it to %s.", right);
      return;
    }
  for (guint i = 0; i < n; i++)
    {
      shape.dim[axis] = loom_dim (part);
      if (i == n - 1)
        shape.dim[axis] = loom_dim_is_known (size) ? loom_dim (size.coef - part * (n - 1)) : loom_dim_unknown ();
      loom_infer_output (ctx, i, dtype, &shape);
    }
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  int axis;

  if (loom_infer_is_set (ctx, "sections") == loom_infer_is_set (ctx, "split_size"))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "split_size",
                        "split needs either the size of its parts (split_size) or the size of each (sections).");
      return;
    }
  if (!loom_op_split_axis (ctx, &axis))
    return;
  if (loom_infer_is_set (ctx, "sections"))
    infer_sections (ctx, x->shape, x->dtype, axis);
  else
    infer_sizes (ctx, x->shape, x->dtype, axis);
}

static const LoomSample samples[] = {
  { .params = "split_size=2 dim=1", .inputs = { "f32:B,4" } },
  { .params = "split_size=2 parts=3 dim=-1", .inputs = { "f32:2,5" } },
  { .params = "sections=1,0,3", .inputs = { "f32:4,2" } },
  { .params = "split_size=9 parts=1", .inputs = { "f32:4,2" } },
  { .params = "sections=1,2", .inputs = { "i64:3" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_split = {
  .name = "split",
  .title = "Split",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-split-symbolic",
  .doc = "Splits a tensor into parts along a dimension.",
  .details = "The inverse of concat. For example, one large projection becomes queries, keys and values. Each part is "
             "an output, numbered from 0.",
  .formula = "y₀, y₁, … = [y₀ | y₁ | …] = x",
  .reference = "torch.split",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_parts,
  .dynamic_outputs = outputs,
  .counts_outputs = "parts",
  .params = params,
  .infer = infer,
  .lower = loom_op_lower_split,
  .flops = loom_op_no_flops,
  .samples = samples,
};
