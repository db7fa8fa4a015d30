/* What operators with a window that moves over images share: how many windows fit, and pooling as a whole.
 *
 * Poolings differ in a few parameters and in the primitive, which has the operator's name; the rules about padding and
 * the sentences when a window does not fit are the same. */
#include "engine/ops/op-private.h"

const LoomPortSpec loom_op_port_images[] = {
  { "input", "Images [batch, channels, height, width]." },
  { NULL },
};

/* ---- windows ---------------------------------------------------------- */

/* How many windows fit: ⌊(n + pad - dilation·(kernel - 1) - 1)/stride⌋ + 1, or with ⌈⌉ where the last window may
 * hang over but must begin inside the input or its padding at the front. FALSE when no window fits. */
static gboolean
count_windows (LoomDim n, gint64 kernel, gint64 stride, gint64 front, gint64 back, gint64 dilation, gboolean ceil_mode,
               LoomDim *out)
{
  gint64 reach = dilation * (kernel - 1) + 1, room, windows;

  *out = loom_dim_unknown ();
  if (!loom_dim_is_known (n))
    {
      if (stride == 1 && front + back == reach - 1)
        *out = n;
      return TRUE;
    }
  room = n.coef + front + back - reach;
  if (room < 0 && !(ceil_mode && room + stride - 1 >= 0))
    return FALSE;
  windows = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (windows - 1) * stride >= n.coef + front)
    windows--;
  *out = loom_dim (windows);
  return windows > 0;
}

gboolean
loom_op_windows (LoomInfer *ctx, const gint64 kernel[2], const gint64 stride[2], const gint64 pad[4],
                 const gint64 dilation[2], gboolean ceil_mode, const char *hint, LoomShape *shape)
{
  const LoomType *x = loom_infer_input (ctx, 0);

  for (int i = 0; i < 2; i++)
    {
      g_autofree char *text = NULL;

      if (count_windows (x->shape.dim[2 + i], kernel[i], stride[i], pad[2 * i], pad[2 * i + 1], dilation[i], ceil_mode,
                         &shape->dim[2 + i]))
        continue;
      text = loom_shape_to_string (&x->shape);
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "kernel_size",
                        "A window of %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT " does not fit into %s. %s", kernel[0],
                        kernel[1], text, hint);
      return FALSE;
    }
  return TRUE;
}

/* ---- pooling ---------------------------------------------------------- */

LoomPool2dTo
loom_op_pool (const LoomInfer *ctx)
{
  LoomPool2dTo a = { .kernel = { .dilation = { 1, 1 } } };

  loom_infer_ints (ctx, "kernel_size", a.kernel.kernel, 2);
  loom_infer_ints (ctx, loom_infer_is_set (ctx, "stride") ? "stride" : "kernel_size", a.kernel.stride, 2);
  loom_infer_ints (ctx, "padding", a.kernel.pad, 2);
  return a;
}

void
loom_op_infer_pool (LoomInfer *ctx, const LoomPool2dTo *a)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  const gint64 *pad = a->kernel.pad;
  LoomShape shape = x->shape;

  if (!loom_op_images (ctx, "Put a reshape before it.", NULL))
    return;
  for (int i = 0; i < 2; i++)
    {
      if (pad[i] > a->kernel.kernel[i] / 2)
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding",
                            "Padding %" G_GINT64_FORMAT " is more than half of the window's %" G_GINT64_FORMAT
                            ", so some windows would see nothing.",
                            pad[i], (gint64)a->kernel.kernel[i]);
          return;
        }
    }
  if (loom_op_windows (ctx, a->kernel.kernel, a->kernel.stride, (gint64[]){ pad[0], pad[0], pad[1], pad[1] },
                       a->kernel.dilation, loom_infer_bool (ctx, "ceil_mode"),
                       "Use a smaller window or fewer poolings.", &shape))
    loom_infer_output (ctx, 0, x->dtype, &shape);
}

void
loom_op_lower_pool (LoomLower *ctx, LoomPool2dTo a)
{
  const char *prim = loom_infer_op (loom_lower_infer (ctx))->name;
  LoomValue x = loom_lower_input (ctx, 0);
  gint64 dims[LOOM_MAX_RANK];

  loom_op_output_dims (ctx, 0, dims);
  a.size[0] = dims[2];
  a.size[1] = dims[3];
  loom_lower_output (ctx, 0, loom_emit (loom_lower_program (ctx), loom_prim (prim), &a, 1, &x, NULL));
}

double
loom_op_pool_flops (const LoomInfer *ctx)
{
  LoomPool2dTo a = loom_op_pool (ctx);

  return loom_op_output_count (ctx, 0) * (double)(a.kernel.kernel[0] * a.kernel.kernel[1]);
}

char *
loom_op_pool_summary (const LoomInfer *ctx)
{
  LoomPool2dTo a = loom_op_pool (ctx);

  return g_strdup_printf ("%" G_GINT64_FORMAT "×%" G_GINT64_FORMAT " · stride %" G_GINT64_FORMAT,
                          (gint64)a.kernel.kernel[0], (gint64)a.kernel.kernel[1], (gint64)a.kernel.stride[0]);
}
