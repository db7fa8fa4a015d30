/* Two-dimensional convolution and its two gradients, as composites. Their expansions are matrix products over the
 * elements of windows, with columns [N, groups, C/groups·R·S, P·Q] in all three. */
#include "engine/program/prim-window.h"
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

static gboolean
infer_conv2d (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomConv2dAttrs *a = attrs;
  const LoomTensorDesc *x = &in[0], *w = &in[1];

  if (!loom_prim_arity (n_in, 3, why))
    return FALSE;
  if (x->rank != 4 || w->rank != 4 || x->dtype != w->dtype || !loom_dtype_is_float (x->dtype))
    return loom_prim_refuse (why, "needs x [N,C,H,W] and w [K,C/groups,R,S] of one float type");
  if (a->groups < 1 || x->dim[1] != w->dim[1] * a->groups || w->dim[0] % a->groups != 0)
    return loom_prim_refuse (why, "channels and groups do not match");
  if (a->has_bias != !desc_is_absent (&in[2]) || (a->has_bias && (in[2].rank != 1 || in[2].dim[0] != w->dim[0])))
    return loom_prim_refuse (why, "the bias must have one element a channel");
  out[0] = *x;
  out[0].dim[1] = w->dim[0];
  for (int i = 0; i < 2; i++)
    {
      gint64 room = x->dim[2 + i] + a->pad[2 * i] + a->pad[2 * i + 1] - a->dilation[i] * (w->dim[2 + i] - 1) - 1;

      if (room < 0)
        return loom_prim_refuse (why, "the kernel is larger than the padded input");
      out[0].dim[2 + i] = (room / a->stride[i] + 1) / (a->pooled ? 2 : 1);
    }
  *n_out = 1;
  if (a->pooled)
    {
      out[1] = out[0];
      out[1].dtype = LOOM_U8;
      *n_out = 2;
    }
  return TRUE;
}

/* g [N,K,P,Q], w, with a pooling indices → dx [N,C,H,W] */
static gboolean
infer_input_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  const LoomConv2dTo *a = attrs;

  if (!loom_prim_arity (n_in, a->kernel.pooled ? 3 : 2, why))
    return FALSE;
  if (in[0].rank != 4 || in[1].rank != 4 || in[0].dim[1] != in[1].dim[0])
    return loom_prim_refuse (why, "the shapes of g and w do not match");
  out[0] = in[0];
  out[0].dim[1] = in[1].dim[1] * a->kernel.groups;
  out[0].dim[2] = a->size[0];
  out[0].dim[3] = a->size[1];
  *n_out = 1;
  return TRUE;
}

/* g [N,K,P,Q], x [N,C,H,W], with a pooling indices → dw [K,C/groups,R,S], dbias [K] */
static gboolean
infer_weight_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                   char **why)
{
  const LoomConv2dTo *a = attrs;

  if (!loom_prim_arity (n_in, a->kernel.pooled ? 3 : 2, why))
    return FALSE;
  if (in[0].rank != 4 || in[1].rank != 4 || in[0].dim[0] != in[1].dim[0])
    return loom_prim_refuse (why, "the shapes of g and x do not match");
  out[0] = in[0];
  out[0].dim[0] = in[0].dim[1];
  out[0].dim[1] = in[1].dim[1] / a->kernel.groups;
  out[0].dim[2] = a->size[0];
  out[0].dim[3] = a->size[1];
  if (a->kernel.has_bias)
    out[1] = loom_desc_make (in[0].dtype, 1, &in[0].dim[1]);
  *n_out = a->kernel.has_bias ? 2 : 1;
  return TRUE;
}

static gboolean
gradient_conv2d (const LoomGradCall *call)
{
  const LoomInstr *instr = call->instr;
  LoomProgram *p = call->p;
  LoomConv2dTo attrs = *(const LoomConv2dTo *)instr->attrs;
  const LoomTensorDesc *x = value_desc (p, instr->in[0]), *w = value_desc (p, instr->in[1]);
  gboolean bias = attrs.kernel.has_bias && call->needed[2];
  LoomValue g = call->grad[0], out[2];

  /* Only the planner fuses an activation, after differentiation. */
  if (attrs.kernel.act != LOOM_SCALAR_ID)
    return FALSE;
  /* The weight's gradient comes first: after it x is often unused, and x's gradient can take its memory. */
  if (call->needed[1])
    {
      LoomValue in[2] = { g, instr->in[0] };

      attrs.kernel.has_bias = bias;
      attrs.size[0] = w->dim[2];
      attrs.size[1] = w->dim[3];
      call->in_grad[1] = loom_emit (p, loom_prim ("conv2d_weight_grad"), &attrs, 2, in, out);
      if (bias)
        call->in_grad[2] = out[1];
    }
  else if (bias)
    call->in_grad[2] = loom_reduce (p, LOOM_REDUCE_SUM, g, 1u << 0 | 1u << 2 | 1u << 3, FALSE);
  if (call->needed[0])
    {
      LoomValue in[2] = { g, instr->in[1] };

      attrs.kernel.has_bias = FALSE;
      attrs.size[0] = x->dim[2];
      attrs.size[1] = x->dim[3];
      call->in_grad[0] = loom_emit (p, loom_prim ("conv2d_input_grad"), &attrs, 2, in, NULL);
    }
  return TRUE;
}

/* dx = A(w)ᵀ·g is linear in both. Its gradient with respect to g is the convolution itself; its gradient with respect
 * to w is the weight gradient with g and dx's cotangent in place of g and x. */
static gboolean
gradient_input_grad (const LoomGradCall *call)
{
  const LoomInstr *instr = call->instr;
  LoomProgram *p = call->p;
  LoomConv2dTo attrs = *(const LoomConv2dTo *)instr->attrs;
  const LoomTensorDesc *w = value_desc (p, instr->in[1]);

  if (call->needed[0])
    {
      LoomValue in[3] = { call->grad[0], instr->in[1], 0 };

      call->in_grad[0] = loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL);
    }
  if (call->needed[1])
    {
      LoomValue in[2] = { instr->in[0], call->grad[0] };

      attrs.size[0] = w->dim[2];
      attrs.size[1] = w->dim[3];
      call->in_grad[1] = loom_emit (p, loom_prim ("conv2d_weight_grad"), &attrs, 2, in, NULL);
    }
  return TRUE;
}

/* dw and dbias are linear in g, and dw in x. The gradient of g is a convolution of x with their cotangents, the
 * gradient of x an input gradient with dw's cotangent as the weight. */
static gboolean
gradient_weight_grad (const LoomGradCall *call)
{
  const LoomInstr *instr = call->instr;
  LoomProgram *p = call->p;
  LoomConv2dTo attrs = *(const LoomConv2dTo *)instr->attrs;
  LoomTensorDesc g = *value_desc (p, instr->in[0]), x = *value_desc (p, instr->in[1]);
  LoomValue to_bias = attrs.kernel.has_bias ? call->grad[1] : 0;

  attrs.kernel.has_bias = to_bias != 0 && call->grad[0] != 0;
  if (call->needed[0] && call->grad[0] != 0)
    {
      LoomValue in[3] = { instr->in[1], call->grad[0], to_bias };

      call->in_grad[0] = loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL);
    }
  else if (call->needed[0])
    call->in_grad[0] = loom_expand_to (p, loom_reshape (p, to_bias, 4, (gint64[]){ 1, g.dim[1], 1, 1 }), 4, g.dim);
  if (call->needed[1] && call->grad[0] != 0)
    {
      LoomValue in[2] = { instr->in[0], call->grad[0] };

      attrs.kernel.has_bias = FALSE;
      attrs.size[0] = x.dim[2];
      attrs.size[1] = x.dim[3];
      call->in_grad[1] = loom_emit (p, loom_prim ("conv2d_input_grad"), &attrs, 2, in, NULL);
    }
  return TRUE;
}

/* ---- expansions ------------------------------------------------------- */

static LoomWindow
window_of (const LoomConv2dAttrs *a, const gint64 *kernel, const gint64 *in, const gint64 *out)
{
  LoomWindow w = { 0 };

  for (int i = 0; i < 2; i++)
    {
      w.kernel[i] = kernel[i];
      w.stride[i] = a->stride[i];
      w.dilation[i] = a->dilation[i];
      w.lead[i] = a->pad[2 * i];
      w.in[i] = in[i];
      w.out[i] = out[i];
    }
  loom_window_finish (&w);
  return w;
}

/* x → [N, groups, C/groups·R·S, P·Q] */
static LoomValue
columns (LoomProgram *p, const LoomWindow *w, gint64 groups, LoomValue x)
{
  LoomTensorDesc d = *value_desc (p, x);
  gint64 taps = w->kernel[0] * w->kernel[1], n = d.dim[0], c = d.dim[1] / groups, area = w->out[0] * w->out[1];
  g_autofree LoomValue *part = g_new (LoomValue, taps);
  LoomValue padded = loom_window_pad (p, w, x, 0);

  for (gint64 k = 0; k < taps; k++)
    {
      LoomValue v = loom_window_read (p, w, padded, k / w->kernel[1], k % w->kernel[1]);

      part[k] = loom_reshape (p, v, 5, (gint64[]){ n, groups, c, 1, area });
    }
  return loom_reshape (p, loom_concat (p, taps, part, 3), 4, (gint64[]){ n, groups, c * taps, area });
}

/* [K, C/groups, R, S] → [groups, K/groups, C/groups·R·S] */
static LoomValue
weight_matrix (LoomProgram *p, gint64 groups, LoomValue w)
{
  LoomTensorDesc d = *value_desc (p, w);

  return loom_reshape (p, w, 3, (gint64[]){ groups, d.dim[0] / groups, d.dim[1] * d.dim[2] * d.dim[3] });
}

/* [N, K, P, Q] → [N, groups, K/groups, P·Q] */
static LoomValue
result_matrix (LoomProgram *p, gint64 groups, LoomValue g)
{
  LoomTensorDesc d = *value_desc (p, g);

  return loom_reshape (p, g, 4, (gint64[]){ d.dim[0], groups, d.dim[1] / groups, d.dim[2] * d.dim[3] });
}

static void
expand_conv2d (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomConv2dAttrs *a = instr->attrs;
  LoomTensorDesc x = *value_desc (p, in[0]), w = *value_desc (p, in[1]), y;
  LoomTensorDesc operands[3] = { x, w, { .dtype = LOOM_N_DTYPES } };
  g_autofree char *why = NULL;
  guint n_out;
  LoomWindow window;

  if (a->has_bias)
    operands[2] = *value_desc (p, in[2]);
  infer_conv2d (a, 3, operands, &y, &n_out, &why);
  window = window_of (a, &w.dim[2], &x.dim[2], &y.dim[2]);
  out[0] = loom_matmul (p, weight_matrix (p, a->groups, in[1]), columns (p, &window, a->groups, in[0]), FALSE, FALSE);
  out[0] = loom_reshape (p, out[0], 4, y.dim);
  if (a->has_bias)
    out[0] = loom_binary (p, LOOM_SCALAR_ADD, out[0], loom_reshape (p, in[2], 3, (gint64[]){ w.dim[0], 1, 1 }));
  if (a->act != LOOM_SCALAR_ID)
    out[0] = loom_unary (p, a->act, out[0]);
}

static void
expand_input_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomConv2dTo *a = instr->attrs;
  LoomTensorDesc g = *value_desc (p, in[0]), w = *value_desc (p, in[1]);
  LoomWindow window = window_of (&a->kernel, &w.dim[2], a->size, &g.dim[2]);
  gint64 groups = a->kernel.groups, taps = w.dim[2] * w.dim[3], n = g.dim[0], c = w.dim[1];
  gint64 area = g.dim[2] * g.dim[3];
  LoomValue cols, sum = 0;

  cols = loom_matmul (p, weight_matrix (p, groups, in[1]), result_matrix (p, groups, in[0]), TRUE, FALSE);
  cols = loom_reshape (p, cols, 5, (gint64[]){ n, groups, c, taps, area });
  for (gint64 k = 0; k < taps; k++)
    {
      LoomValue v = loom_slice (p, cols, (gint64[]){ 0, 0, 0, k, 0 }, NULL, (gint64[]){ n, groups, c, 1, area });

      v = loom_reshape (p, v, 4, (gint64[]){ n, groups * c, g.dim[2], g.dim[3] });
      sum = loom_add_to (p, sum, loom_window_write (p, &window, v, k / w.dim[3], k % w.dim[3]));
    }
  out[0] = loom_window_crop (p, &window, sum);
}

static void
expand_weight_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomConv2dTo *a = instr->attrs;
  LoomTensorDesc g = *value_desc (p, in[0]), x = *value_desc (p, in[1]);
  LoomWindow window = window_of (&a->kernel, a->size, &x.dim[2], &g.dim[2]);
  gint64 groups = a->kernel.groups;
  LoomValue dw = loom_matmul (p, result_matrix (p, groups, in[0]), columns (p, &window, groups, in[1]), FALSE, TRUE);

  dw = loom_reduce (p, LOOM_REDUCE_SUM, dw, 1u << 0, FALSE);
  out[0] = loom_reshape (p, dw, 4, (gint64[]){ g.dim[1], x.dim[1] / groups, a->size[0], a->size[1] });
  if (a->kernel.has_bias)
    out[1] = loom_reduce (p, LOOM_REDUCE_SUM, in[0], 1u << 0 | 1u << 2 | 1u << 3, FALSE);
}

/* ---- listings --------------------------------------------------------- */

/* Two operations for each element of the convolution, input channel of its group and kernel offset. With a pooling
 * (kernels/conv-pooled.h) it has four times the elements of the result. */
static double
pooled_from (const LoomConv2dTo *attrs)
{
  return attrs->kernel.pooled ? 4 : 1;
}

static double
flops_conv2d (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 2.0 * pooled_from (attrs) * (double)loom_desc_count (&out[0])
         * (double)(in[1].dim[1] * in[1].dim[2] * in[1].dim[3]);
}

static double
flops_input_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 2.0 * pooled_from (attrs) * (double)loom_desc_count (&in[0])
         * (double)(in[1].dim[1] * in[1].dim[2] * in[1].dim[3]);
}

static double
flops_weight_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 2.0 * pooled_from (attrs) * (double)loom_desc_count (&in[0])
         * (double)(out[0].dim[1] * out[0].dim[2] * out[0].dim[3]);
}

static const char *const algorithm_words[] = { NULL, "direct", NULL };
static const LoomAttr conv2d_attrs[]
    = { LOOM_ATTR_ARRAY ("stride", INT, LoomConv2dTo, kernel.stride),
        LOOM_ATTR_ARRAY ("pad", INT, LoomConv2dTo, kernel.pad),
        LOOM_ATTR_ARRAY ("dilation", INT, LoomConv2dTo, kernel.dilation, LOOM_ATTR_UNLESS (1)),
        LOOM_ATTR ("groups", INT, LoomConv2dTo, kernel.groups, LOOM_ATTR_UNLESS (1)),
        LOOM_ATTR (NULL, FLAG, LoomConv2dTo, kernel.has_bias),
        LOOM_ATTR ("act", SCALAR, LoomConv2dTo, kernel.act),
        LOOM_ATTR ("algorithm", WORD, LoomConv2dTo, kernel.algorithm, LOOM_ATTR_WORDS (algorithm_words)),
        LOOM_ATTR ("pooled", FLAG, LoomConv2dTo, kernel.pooled),
        LOOM_ATTR_ARRAY (NULL, INT, LoomConv2dTo, size),
        LOOM_ATTR_LAST };

/* The images of all iterations are one batch. */
static gboolean
over_iterations_conv2d (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                        const gboolean *is_stack, const LoomValue *value, LoomValue *all)
{
  LoomValue operand[3] = { 0, value[1], value[2] }, y;
  gint64 runs, n = in[0].dim[0];
  const LoomTensorDesc *d;

  if (is_stack[1] || is_stack[2])
    return FALSE;
  if (p == NULL)
    return TRUE;
  runs = value_desc (p, value[0])->dim[0];
  operand[0] = loom_reshape (p, value[0], 4, (gint64[]){ runs * n, in[0].dim[1], in[0].dim[2], in[0].dim[3] });
  y = loom_emit (p, loom_prim ("conv2d"), attrs, 3, operand, NULL);
  d = value_desc (p, y);
  *all = loom_reshape (p, y, 5, (gint64[]){ runs, n, d->dim[1], d->dim[2], d->dim[3] });
  return TRUE;
}

const LoomPrim loom_prim_conv2d = { LOOM_PRIM_ROW ("conv2d", COMPOSITE, 1),
                                    .separates_positions = loom_positions_by_sample,
                                    .sharding = loom_shard_conv,
                                    .doc = "Cross-correlation of images with kernels, with an optional bias.",
                                    .flags = LOOM_PRIM_PRODUCT,
                                    LOOM_PRIM_ATTRS (LoomConv2dTo, conv2d_attrs),
                                    .infer = infer_conv2d,
                                    .gradient = gradient_conv2d,
                                    .expand = expand_conv2d,
                                    .flops = flops_conv2d,
                                    .precision = LOOM_PRECISION_LOW,
                                    .over_iterations = over_iterations_conv2d };

const LoomPrim loom_prim_conv2d_input_grad = { LOOM_PRIM_ROW ("conv2d_input_grad", COMPOSITE, 1),
                                               .sharding = loom_shard_conv,
                                               .doc = "The gradient of a convolution's input.",
                                               .flags = LOOM_PRIM_PRODUCT,
                                               LOOM_PRIM_ATTRS (LoomConv2dTo, conv2d_attrs),
                                               .infer = infer_input_grad,
                                               .gradient = gradient_input_grad,
                                               .expand = expand_input_grad,
                                               .flops = flops_input_grad,
                                               .precision = LOOM_PRECISION_LOW };

const LoomPrim loom_prim_conv2d_weight_grad = { LOOM_PRIM_ROW ("conv2d_weight_grad", COMPOSITE, 2),
                                                .sharding = loom_shard_conv_weight_grad,
                                                .doc = "The gradients of a convolution's kernel and bias.",
                                                .flags = LOOM_PRIM_PRODUCT,
                                                LOOM_PRIM_ATTRS (LoomConv2dTo, conv2d_attrs),
                                                .infer = infer_weight_grad,
                                                .gradient = gradient_weight_grad,
                                                .expand = expand_weight_grad,
                                                .flops = flops_weight_grad };
