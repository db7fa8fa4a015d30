/* Max and average pooling over windows, with their gradients.
 *
 * The sizes of results are attributes, because the operator resolves ceil mode, and then a window may extend beyond the
 * edge. */
#include "engine/program/prim-window.h"
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

#include <math.h>

static gboolean
check (const LoomPool2dTo *a, guint n_in, guint want, const LoomTensorDesc *in, char **why)
{
  if (!loom_prim_arity (n_in, want, why))
    return FALSE;
  if (in[0].rank != 4 || a->kernel.kernel[0] < 1 || a->kernel.kernel[1] < 1)
    return loom_prim_refuse (why, "needs [N,C,H,W] and a window");
  return TRUE;
}

static LoomTensorDesc
sized (const LoomTensorDesc *like, const LoomPool2dTo *a)
{
  LoomTensorDesc d = *like;

  d.dim[2] = a->size[0];
  d.dim[3] = a->size[1];
  return d;
}

static gboolean
infer_max (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomPool2dTo *a = attrs;

  if (!check (a, n_in, 1, in, why))
    return FALSE;
  out[0] = out[1] = sized (&in[0], a);
  out[1].dtype = a->kernel.kernel[0] * a->kernel.kernel[1] <= 256 ? LOOM_U8 : LOOM_I32;
  *n_out = 2;
  return TRUE;
}

static gboolean
infer_max_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!check (attrs, n_in, 2, in, why))
    return FALSE;
  if (!loom_desc_same_shape (&in[0], &in[1]))
    return loom_prim_refuse (why, "g and indices must have one shape");
  out[0] = sized (&in[0], attrs);
  *n_out = 1;
  return TRUE;
}

static gboolean
infer_one (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!check (attrs, n_in, 1, in, why))
    return FALSE;
  out[0] = sized (&in[0], attrs);
  *n_out = 1;
  return TRUE;
}

/* The attributes of a gradient: the same windows, and the size of the input. */
static LoomPool2dTo
to_input (const LoomGradCall *call)
{
  LoomPool2dTo a = *(const LoomPool2dTo *)call->instr->attrs;
  const LoomTensorDesc *x = value_desc (call->p, call->instr->in[0]);

  a.size[0] = x->dim[2];
  a.size[1] = x->dim[3];
  return a;
}

static gboolean
gradient_max (const LoomGradCall *call)
{
  LoomPool2dTo a = to_input (call);
  LoomValue in[2] = { call->grad[0], call->instr->out[1] };

  if (call->grad[0] != 0)
    call->in_grad[0] = loom_emit (call->p, loom_prim ("max_pool2d_grad"), &a, 2, in, NULL);
  return TRUE;
}

static gboolean
gradient_avg (const LoomGradCall *call)
{
  LoomPool2dTo a = to_input (call);

  call->in_grad[0] = loom_emit (call->p, loom_prim ("avg_pool2d_grad"), &a, 1, &call->grad[0], NULL);
  return TRUE;
}

/* The gradient of average pooling is the transpose of averaging, so its own gradient averages. */
static gboolean
gradient_avg_grad (const LoomGradCall *call)
{
  LoomPool2dTo a = to_input (call);

  call->in_grad[0] = loom_emit (call->p, loom_prim ("avg_pool2d"), &a, 1, &call->grad[0], NULL);
  return TRUE;
}

/* ---- expansions ------------------------------------------------------- */

static LoomWindow
window_of (const LoomPool2dAttrs *a, const gint64 *in, const gint64 *out)
{
  LoomWindow w = { 0 };

  for (int i = 0; i < 2; i++)
    {
      w.kernel[i] = a->kernel[i];
      w.stride[i] = a->stride[i];
      w.dilation[i] = a->dilation[i];
      w.lead[i] = a->pad[i];
      w.in[i] = in[i];
      w.out[i] = out[i];
    }
  loom_window_finish (&w);
  return w;
}

static void
expand_max (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomPool2dTo *a = instr->attrs;
  LoomTensorDesc x = *value_desc (p, in[0]);
  LoomWindow w = window_of (&a->kernel, &x.dim[2], a->size);
  LoomArgReduceAttrs arg = { .largest = TRUE, .axis = 2 };
  gint64 taps = w.kernel[0] * w.kernel[1], dims[5] = { x.dim[0], x.dim[1], 1, a->size[0], a->size[1] };
  gint64 flat[4] = { dims[0], dims[1], dims[3], dims[4] };
  g_autofree LoomValue *part = g_new (LoomValue, taps);
  LoomValue padded = loom_window_pad (p, &w, in[0], -INFINITY), all, indices;

  for (gint64 k = 0; k < taps; k++)
    part[k] = loom_reshape (p, loom_window_read (p, &w, padded, k / w.kernel[1], k % w.kernel[1]), 5, dims);
  all = loom_concat (p, taps, part, 2);
  out[0] = loom_reshape (p, loom_reduce (p, LOOM_REDUCE_MAX, all, 1u << 2, TRUE), 4, flat);
  indices = loom_emit (p, loom_prim ("argreduce"), &arg, 1, &all, NULL);
  out[1] = loom_cast (p, loom_reshape (p, indices, 4, flat), taps <= 256 ? LOOM_U8 : LOOM_I32);
}

static void
expand_max_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomPool2dTo *a = instr->attrs;
  LoomTensorDesc g = *value_desc (p, in[0]), indices = *value_desc (p, in[1]);
  LoomWindow w = window_of (&a->kernel, a->size, &g.dim[2]);
  LoomValue zero = loom_const (p, g.dtype, 0), sum = 0;

  for (gint64 k = 0; k < w.kernel[0] * w.kernel[1]; k++)
    {
      LoomValue hit = loom_binary (p, LOOM_SCALAR_EQ, in[1], loom_const (p, indices.dtype, (double)k));
      LoomValue v = loom_ternary (p, LOOM_SCALAR_SELECT, hit, in[0], zero);

      sum = loom_add_to (p, sum, loom_window_write (p, &w, v, k / w.kernel[1], k % w.kernel[1]));
    }
  out[0] = loom_window_crop (p, &w, sum);
}

/* The divisor of each window, [1,1,P,Q] or a scalar: the sum over the window of a tensor that is 1 at each counted
 * position. */
static LoomValue
window_counts (LoomProgram *p, const LoomPool2dAttrs *a, const LoomWindow *w, LoomDType dtype)
{
  gint64 start[4] = { 0 }, ones[4] = { 1, 1, w->in[0], w->in[1] }, all[4] = { 1, 1, w->padded[0], w->padded[1] };
  LoomValue mask, sum = 0;

  if (a->divisor != 0)
    return loom_const (p, dtype, (double)a->divisor);
  for (int i = 0; i < 2; i++)
    {
      /* Requested padding is counted if count_include_pad; positions beyond it are never counted. */
      if (a->count_include_pad)
        ones[2 + i] = MIN (w->in[i] + 2 * a->pad[i], w->padded[i]);
      else
        start[2 + i] = a->pad[i];
    }
  mask = loom_pad (p, loom_fill (p, dtype, 4, ones, 1), start, NULL, all, 0);
  for (gint64 k = 0; k < w->kernel[0] * w->kernel[1]; k++)
    sum = loom_add_to (p, sum, loom_window_read (p, w, mask, k / w->kernel[1], k % w->kernel[1]));
  return sum;
}

static void
expand_avg (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomPool2dTo *a = instr->attrs;
  LoomTensorDesc x = *value_desc (p, in[0]);
  LoomWindow w = window_of (&a->kernel, &x.dim[2], a->size);
  LoomValue padded = loom_window_pad (p, &w, in[0], 0), sum = 0;

  for (gint64 k = 0; k < w.kernel[0] * w.kernel[1]; k++)
    sum = loom_add_to (p, sum, loom_window_read (p, &w, padded, k / w.kernel[1], k % w.kernel[1]));
  out[0] = loom_binary (p, LOOM_SCALAR_DIV, sum, window_counts (p, &a->kernel, &w, x.dtype));
}

static void
expand_avg_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomPool2dTo *a = instr->attrs;
  LoomTensorDesc g = *value_desc (p, in[0]);
  LoomWindow w = window_of (&a->kernel, a->size, &g.dim[2]);
  LoomValue divided = loom_binary (p, LOOM_SCALAR_DIV, in[0], window_counts (p, &a->kernel, &w, g.dtype)), sum = 0;

  for (gint64 k = 0; k < w.kernel[0] * w.kernel[1]; k++)
    sum = loom_add_to (p, sum, loom_window_write (p, &w, divided, k / w.kernel[1], k % w.kernel[1]));
  out[0] = loom_window_crop (p, &w, sum);
}

/* ---- listings --------------------------------------------------------- */

static double
flops_pool (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  const LoomPool2dAttrs *a = attrs;

  return (double)MIN (loom_desc_count (&in[0]), loom_desc_count (&out[0])) * (double)(a->kernel[0] * a->kernel[1]);
}

static const LoomAttr pool_attrs[] = { LOOM_ATTR_ARRAY ("kernel", INT, LoomPool2dTo, kernel.kernel),
                                       LOOM_ATTR_ARRAY ("stride", INT, LoomPool2dTo, kernel.stride),
                                       LOOM_ATTR_ARRAY ("pad", INT, LoomPool2dTo, kernel.pad),
                                       LOOM_ATTR_ARRAY (NULL, INT, LoomPool2dTo, kernel.dilation),
                                       LOOM_ATTR (NULL, FLAG, LoomPool2dTo, kernel.count_include_pad),
                                       LOOM_ATTR (NULL, INT, LoomPool2dTo, kernel.divisor),
                                       LOOM_ATTR_ARRAY (NULL, INT, LoomPool2dTo, size),
                                       LOOM_ATTR_LAST };

const LoomPrim loom_prim_max_pool2d = { LOOM_PRIM_ROW ("max_pool2d", COMPOSITE, 2),
                                        .separates_positions = loom_positions_by_sample,
                                        .sharding = loom_shard_samples,
                                        .doc = "The largest element of each window, and its position.",
                                        LOOM_PRIM_ATTRS (LoomPool2dTo, pool_attrs),
                                        .infer = infer_max,
                                        .gradient = gradient_max,
                                        .expand = expand_max,
                                        .flops = flops_pool };

const LoomPrim loom_prim_max_pool2d_grad = { LOOM_PRIM_ROW ("max_pool2d_grad", COMPOSITE, 1),
                                             .sharding = loom_shard_samples,
                                             .doc = "Adds each window's gradient to its largest element.",
                                             LOOM_PRIM_ATTRS (LoomPool2dTo, pool_attrs),
                                             .infer = infer_max_grad,
                                             .expand = expand_max_grad,
                                             .flops = flops_pool };

const LoomPrim loom_prim_avg_pool2d = { LOOM_PRIM_ROW ("avg_pool2d", COMPOSITE, 1),
                                        .separates_positions = loom_positions_by_sample,
                                        .sharding = loom_shard_samples,
                                        .doc = "The mean of each window.",
                                        LOOM_PRIM_ATTRS (LoomPool2dTo, pool_attrs),
                                        .infer = infer_one,
                                        .gradient = gradient_avg,
                                        .expand = expand_avg,
                                        .flops = flops_pool };

const LoomPrim loom_prim_avg_pool2d_grad = { LOOM_PRIM_ROW ("avg_pool2d_grad", COMPOSITE, 1),
                                             .sharding = loom_shard_samples,
                                             .doc = "Spreads each window's gradient over its elements.",
                                             LOOM_PRIM_ATTRS (LoomPool2dTo, pool_attrs),
                                             .infer = infer_one,
                                             .gradient = gradient_avg_grad,
                                             .expand = expand_avg_grad,
                                             .flops = flops_pool };
