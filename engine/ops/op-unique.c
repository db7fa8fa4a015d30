/* Unique: the distinct elements of a tensor, sorted. */
#include "engine/ops/op-private.h"

static const LoomPortSpec ports[4][4] = {
  { { "out", "The distinct elements, in ascending order." }, { NULL } },
  { { "out", "The distinct elements, in ascending order." },
    { "inverse", "The index of each element of the input in out, i64, with the shape of the input.",
      LOOM_PORT_OPTIONAL },
    { NULL } },
  { { "out", "The distinct elements, in ascending order." },
    { "counts", "The number of occurrences of each distinct element, i64.", LOOM_PORT_OPTIONAL },
    { NULL } },
  { { "out", "The distinct elements, in ascending order." },
    { "inverse", "The index of each element of the input in out, i64, with the shape of the input.",
      LOOM_PORT_OPTIONAL },
    { "counts", "The number of occurrences of each distinct element, i64.", LOOM_PORT_OPTIONAL },
    { NULL } },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("sorted", BOOL, "true"),
    .doc = "Whether results are sorted. They are always sorted, also if this is false.", .advanced = TRUE },
  { LOOM_PARAM ("return_inverse", BOOL, "false"),
    .doc = "Whether there is a port inverse: the index of each element of the input in out." },
  { LOOM_PARAM ("return_counts", BOOL, "false"),
    .doc = "Whether there is a port counts: the number of occurrences of each distinct element." },
  { NULL },
};

static const LoomPortSpec *
outputs (const LoomInfer *ctx)
{
  return ports[loom_infer_bool (ctx, "return_inverse") + 2 * loom_infer_bool (ctx, "return_counts")];
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape list = { .rank = 1, .dim = { loom_infer_counted_dim (ctx) } };
  guint port = 1;

  loom_infer_output (ctx, 0, x->dtype, &list);
  if (loom_infer_bool (ctx, "return_inverse"))
    loom_infer_output (ctx, port++, LOOM_I64, &x->shape);
  if (loom_infer_bool (ctx, "return_counts"))
    loom_infer_output (ctx, port, LOOM_I64, &list);
}

/* For the last m - 1 of the m sorted elements, whether they differ from the one before: bool. NaN differs from NaN. */
static LoomValue
steps (LoomProgram *p, LoomValue sorted, gint64 m)
{
  gint64 zero = 0, one = 1, n = m - 1;

  return loom_binary (p, LOOM_SCALAR_NE, loom_slice (p, sorted, &one, NULL, &n),
                      loom_slice (p, sorted, &zero, NULL, &n));
}

static LoomValue
count_size (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 m = loom_desc_count (&d);

  if (m < 2)
    return loom_const (p, LOOM_I64, (double)m);
  x = loom_sort (p, loom_reshape (p, x, 1, &m), 0, FALSE, NULL);
  return loom_binary (p, LOOM_SCALAR_ADD, loom_op_count_true (p, steps (p, x, m)), loom_const (p, LOOM_I64, 1));
}

/* After sorting, equal elements are neighbours: the number of changes up to an element is its index among the
 * distinct ones. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_detach (p, loom_lower_input (ctx, 0)), where, sorted, group, ones;
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 m = loom_desc_count (&d), n, one = 1;
  guint port = 1;

  loom_op_output_dims (ctx, 0, &n);
  sorted = loom_sort (p, loom_reshape (p, x, 1, &m), 0, FALSE, &where);
  group = loom_fill (p, LOOM_I64, 1, m > 0 ? &one : &m, 0);
  if (m > 1)
    {
      LoomValue parts[2] = { group, loom_cast (p, steps (p, sorted, m), LOOM_I64) };

      group = loom_cumsum (p, loom_concat (p, 2, parts, 0), 0, FALSE, FALSE);
    }
  loom_lower_output (ctx, 0,
                     loom_scatter (p, loom_fill (p, d.dtype, 1, &n, 0), group, sorted, 0, LOOM_SCATTER_REPLACE));
  if (loom_infer_bool (infer_ctx, "return_inverse"))
    loom_lower_output (
        ctx, port++,
        loom_reshape (p, loom_scatter (p, loom_fill (p, LOOM_I64, 1, &m, 0), where, group, 0, LOOM_SCATTER_REPLACE),
                      d.rank, d.dim));
  if (loom_infer_bool (infer_ctx, "return_counts"))
    {
      ones = loom_fill (p, LOOM_I64, 1, &m, 1);
      loom_lower_output (ctx, port,
                         loom_scatter (p, loom_fill (p, LOOM_I64, 1, &n, 0), group, ones, 0, LOOM_SCATTER_ADD));
    }
}

static const LoomSample samples[] = {
  { .inputs = { "f32:B,3" } },
  { .params = "return_inverse=true", .inputs = { "i64:B,T" }, .range = "class:3" },
  { .params = "return_counts=true", .inputs = { "i64:0" } },
  { .params = "return_inverse=true return_counts=true", .inputs = { "bool:" } },
  { NULL },
};

const LoomOp loom_op_unique = {
  .name = "unique",
  .title = "Unique",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-unique-symbolic",
  .doc = "Returns the distinct elements of a tensor, sorted.",
  .details
  = "The number of distinct elements depends on the data, so the size of the output is a symbol until the graph runs; "
    "the elements are then counted and the following operators planned for that size. Not differentiable.",
  .formula = "y₀ < y₁ < …,  x = y[inverse]",
  .reference = "torch.unique",
  .inputs = loom_op_port_input,
  .outputs = ports[3],
  .dynamic_outputs = outputs,
  .params = params,
  .infer = infer,
  .lower = lower,
  .count_size = count_size,
  .flops = loom_op_input_flops,
  .samples = samples,
};
