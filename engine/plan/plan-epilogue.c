/* Fuses the bias and the activation after a product or a convolution, and a residual sum after a convolution, into its
 * epilogue.
 *
 * The time of a small network's step is proportional to the number of kernels, that of a large one to the memory
 * traffic of element-wise kernels; fusion reduces both. It runs after differentiation, so a value that the backward
 * pass reads has a second reader and is not fused away. */
#include "engine/plan/plan-pattern.h"

/* TRUE if v holds one number per output column (of a product) or channel (of a convolution): n elements on the given
 * axis counted from the end, 1 elsewhere. */
static gboolean
is_bias_shape (const LoomTensorDesc *d, gint64 n, int axis_from_end)
{
  if (d->rank <= axis_from_end)
    return FALSE;
  for (int i = 0; i < d->rank; i++)
    if (d->dim[i] != (i == d->rank - 1 - axis_from_end ? n : 1))
      return FALSE;
  return TRUE;
}

/* After a 16-bit float only activations that commute with rounding are fused, so that a product has the same bits with
 * its activation and without: the backward pass may recompute it without. SiLU and hard swish of a product, in the
 * gated layers of language models, are better computed in one pass with the gate. */
static gboolean
is_epilogue_activation (LoomScalarOp op, LoomDType dtype, gboolean of_product)
{
  if (dtype == LOOM_BF16 || dtype == LOOM_F16)
    return op == LOOM_SCALAR_RELU;
  if (op == LOOM_SCALAR_SILU || op == LOOM_SCALAR_HARDSWISH)
    return !of_product;
  return op == LOOM_SCALAR_RELU || op == LOOM_SCALAR_SIGMOID || op == LOOM_SCALAR_TANH || op == LOOM_SCALAR_GELU
         || op == LOOM_SCALAR_GELU_TANH;
}

/* v as a vector of n numbers, the shape in which kernels take a bias. */
static guint
as_vector (PlanGraph *g, guint v, gint64 n)
{
  LoomTensorDesc vector = { .dtype = graph_value (g, v)->desc.dtype, .rank = 1, .dim = { n } };
  guint flat;

  if (graph_value (g, v)->desc.rank == 1)
    return v;
  flat = graph_new_value (g, &vector, graph_value (g, v));
  graph_set_alias (g, flat, v);
  return flat;
}

/* The operand that the step adds to v, as a bias of n numbers on an axis counted from the end; 0: none. */
static guint
bias_of (const PlanRewrite *r, const PlanStep *step, gint64 n, int channels)
{
  PlanGraph *g = r->g;
  const guint v = node_out (r->root, 0);
  guint other;

  if (step->op != LOOM_SCALAR_ADD || (graph_root (g, step->arg[0]) != v && graph_root (g, step->arg[1]) != v))
    return 0;
  other = graph_root (g, step->arg[0]) == v ? step->arg[1] : step->arg[0];
  if (graph_value (g, other)->is_uniform || graph_value (g, other)->desc.dtype != graph_value (g, v)->desc.dtype
      || !is_bias_shape (&graph_value (g, other)->desc, n, channels) || !graph_is_ready (g, other, r->root))
    return 0;
  return as_vector (g, other, n);
}

/* TRUE if a product's rows have been reshaped, which changes neither columns nor bytes. */
static gboolean
is_rows_of (const LoomTensorDesc *made, const LoomTensorDesc *d)
{
  return made->rank > 0 && made->dim[made->rank - 1] == d->dim[d->rank - 1]
         && loom_desc_count (made) == loom_desc_count (d);
}

/* Fuses a bias or an activation, unless there is an activation already. channels: the axis of the bias, counted from
 * the end; if it is 0, the reader may read the result in another shape. */
static gboolean
fuse_epilogue (PlanRewrite *r, int channels, bool *has_bias, LoomScalarOp *act)
{
  const guint v = node_out (r->root, 0), result = node_out (r->other, 0);
  const LoomTensorDesc *d = &graph_value (r->g, v)->desc, *made = &graph_value (r->g, result)->desc;
  const gboolean is_same = plan_same_dims (made, d);
  const PlanStep *step = node_step (r->other, 0);

  if (*act != LOOM_SCALAR_ID || made->dtype != d->dtype || (!is_same && (channels != 0 || !is_rows_of (made, d))))
    return FALSE;
  if (loom_scalar_arity (step->op) == 1 && graph_root (r->g, step->arg[0]) == v
      && is_epilogue_activation (step->op, d->dtype, channels == 0))
    *act = step->op;
  else
    {
      /* This may make a value, which moves the descriptions of all. */
      const guint bias = *has_bias ? 0 : bias_of (r, step, d->dim[d->rank - 1 - channels], channels);

      if (bias == 0)
        return FALSE;
      *has_bias = true;
      rewrite_set_in (r, 2, bias);
    }
  rewrite_set_out (r, 0, is_same ? result : graph_value_like (r->g, v));
  g_string_append_printf (r->label, "+%s", r->other->label->str);
  return TRUE;
}

/* A result in another shape becomes a view of the product's. */
static void
view_result (PlanRewrite *r)
{
  const guint result = node_out (r->other, 0), made = node_out (r->root, 0);

  if (result != made)
    graph_set_alias (r->g, result, made);
}

static gboolean
fuse_into_product (PlanRewrite *r)
{
  LoomMatmulAttrs *attrs = r->attrs;

  return fuse_epilogue (r, 0, &attrs->has_bias, &attrs->act);
}

static gboolean
fuse_into_convolution (PlanRewrite *r)
{
  LoomConv2dAttrs *attrs = r->attrs;

  return fuse_epilogue (r, 2, &attrs->has_bias, &attrs->act);
}

/* Fuses the addition of an image that is available at the convolution, as at the end of a residual block; an activation
 * may follow. 16-bit floats would be rounded once less. */
static gboolean
fuse_residual (PlanRewrite *r)
{
  const guint v = node_out (r->root, 0), y = node_out (r->other, 0);
  const PlanStep *step = node_step (r->other, 0);
  const guint residual = step->arg[0] == v ? step->arg[1] : step->arg[0];
  const LoomTensorDesc *d = &graph_value (r->g, v)->desc;
  const guint same[] = { residual, y };

  if (((const LoomConv2dAttrs *)r->attrs)->act != LOOM_SCALAR_ID || r->in->len > LOOM_CONV_RESIDUAL || r->out->len > 1
      || residual == v || graph_value (r->g, residual)->is_uniform || (d->dtype != LOOM_F32 && d->dtype != LOOM_F64)
      || !graph_is_ready (r->g, residual, r->root))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (same); i++)
    if (graph_value (r->g, same[i])->desc.dtype != d->dtype || !plan_same_dims (&graph_value (r->g, same[i])->desc, d))
      return FALSE;
  rewrite_set_in (r, LOOM_CONV_RESIDUAL, residual);
  rewrite_set_out (r, 0, y);
  g_string_append_printf (r->label, "+%s", r->other->label->str);
  return TRUE;
}

const PlanPattern patterns_of_epilogues[] = {
  { .root = PATTERN_CALL ("matmul"),
    .other.steps = PATTERN_ONE_STEP,
    .find = pattern_reader_of_bytes,
    .rewrite = fuse_into_product,
    .applied = view_result },
  { .root = PATTERN_CALL ("conv2d"),
    .other.steps = PATTERN_ONE_STEP,
    .find = pattern_reader_of_bytes,
    .rewrite = fuse_into_convolution },
  { .root = PATTERN_CALL ("conv2d"),
    .other = PATTERN_STEP (LOOM_SCALAR_ADD),
    .find = pattern_reader,
    .rewrite = fuse_residual },
  { .root = PATTERN_CALL ("conv2d"),
    .other.steps = PATTERN_ONE_STEP,
    .find = pattern_reader_of_bytes,
    .rewrite = fuse_into_convolution },
  { .rewrite = NULL },
};
