/* Exports pooling: sliding windows, and adaptive pooling. */
#include "engine/onnx/onnx-export-private.h"

#include <string.h>

static gboolean
has_param (OnnxWrite *w, const char *name)
{
  for (const LoomParamSpec *spec = w->node->op->params; spec != NULL && spec->name != NULL; spec++)
    if (g_str_equal (spec->name, name))
      return TRUE;
  return FALSE;
}

typedef struct
{
  guint n; /* number of dimensions */
  gint64 kernel[3], stride[3], padding[3];
} Window;

static Window
window_of (OnnxWrite *w)
{
  Window window = { .n = (guint)onnx_write_type (w, 0)->shape.rank - 2 };

  loom_infer_ints (w->infer, "kernel_size", window.kernel, 3);
  loom_infer_ints (w->infer, "padding", window.padding, 3);
  if (loom_infer_is_set (w->infer, "stride"))
    loom_infer_ints (w->infer, "stride", window.stride, 3);
  else
    memcpy (window.stride, window.kernel, sizeof window.kernel);
  return window;
}

/* before, after: rows of padding, by dimension. */
static OnnxOutNode *
window_node (OnnxWrite *w, const char *op, OnnxVar *x, const Window *window, const gint64 *before, const gint64 *after)
{
  OnnxOutNode *node = onnx_add_node (w->all, op, ONNX_VARS (x));
  gint64 pads[6];

  memcpy (pads, before, window->n * sizeof *pads);
  memcpy (pads + window->n, after, window->n * sizeof *pads);
  onnx_node_set_ints (w->all, node, "kernel_shape", window->n, window->kernel);
  onnx_node_set_ints (w->all, node, "strides", window->n, window->stride);
  onnx_node_set_ints (w->all, node, "pads", 2 * window->n, pads);
  return node;
}

static OnnxOutNode *
pool_node (OnnxWrite *w, const char *op)
{
  const Window window = window_of (w);
  OnnxOutNode *node = window_node (w, op, onnx_write_in (w, 0), &window, window.padding, window.padding);

  onnx_node_set_int (w->all, node, "ceil_mode", loom_infer_bool (w->infer, "ceil_mode"));
  return node;
}

/* In ONNX indices of maxima refer to the whole tensor, here to their channel: the remainder of the division by the
 * channel's size. */
static OnnxVar *
in_channel (OnnxWrite *w, OnnxVar *index)
{
  const LoomShape *shape = &onnx_write_type (w, 0)->shape;
  OnnxVar *x = onnx_write_in (w, 0), *size;
  OnnxOutNode *dims = onnx_add_node (w->all, "Shape", ONNX_VARS (x)), *product;

  onnx_node_set_int (w->all, dims, "start", 2);
  product = onnx_add_node (w->all, "ReduceProd", ONNX_VARS (onnx_node_result (w->all, dims, 0)));
  onnx_node_set_int (w->all, product, "keepdims", 0);
  size = onnx_node_result (w->all, product, 0);
  LoomDim places = loom_dim (1);
  for (int i = 2; i < shape->rank; i++)
    places = loom_dim_mul (places, shape->dim[i]);
  if (loom_dim_is_known (places))
    size = onnx_number_var (w->all, LOOM_I64, (double)places.coef);
  return onnx_call (w->all, "Mod", ONNX_VARS (index, size));
}

static gboolean
write_max_pool (OnnxWrite *w)
{
  gint64 dilation[3];
  guint n = (guint)onnx_write_type (w, 0)->shape.rank - 2;

  OnnxOutNode *node = pool_node (w, "MaxPool");
  if (has_param (w, "dilation"))
    {
      loom_infer_ints (w->infer, "dilation", dilation, 3);
      onnx_node_set_ints (w->all, node, "dilations", n, dilation);
    }
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  if (w->node->n_outputs > 1 && w->all->wanted[w->index][1])
    onnx_write_out (w, 1, in_channel (w, onnx_node_result (w->all, node, 1)));
  return TRUE;
}

/* With ceil_mode the last window may extend beyond the padding. Positions there do not count, but OpenVINO 2026.4
 * counts them if padding counts. So padding becomes zeros of the operand, and the rest becomes padding that does not
 * count. FALSE if no window extends so far, or if sizes are not known. */
static gboolean
write_ceil_avg_pool (OnnxWrite *w)
{
  const LoomShape *from = &onnx_write_type (w, 0)->shape, *to = &w->node->output[0].shape;
  const Window window = window_of (w);
  static const gint64 none[3] = { 0 };
  gint64 beyond[3], pads[10] = { 0 };
  gboolean reaches = FALSE, pad = FALSE;

  for (guint i = 0; i < window.n; i++)
    {
      const gint64 rows = loom_dim_value (from->dim[i + 2], NULL), windows = loom_dim_value (to->dim[i + 2], NULL);

      if (rows < 0 || windows < 0)
        return FALSE;
      beyond[i] = MAX (0, (windows - 1) * window.stride[i] + window.kernel[i] - rows - 2 * window.padding[i]);
      pads[2 + i] = pads[window.n + 4 + i] = window.padding[i];
      reaches = reaches || beyond[i] > 0;
      pad = pad || window.padding[i] > 0;
    }
  if (!reaches || !pad || !loom_infer_bool (w->infer, "count_include_pad"))
    return FALSE;
  OnnxVar *x
      = onnx_call (w->all, "Pad", ONNX_VARS (onnx_write_in (w, 0), onnx_ints_var (w->all, 2 * (window.n + 2), pads)));
  onnx_write_out (w, 0, onnx_node_result (w->all, window_node (w, "AveragePool", x, &window, none, beyond), 0));
  return TRUE;
}

static gboolean
write_avg_pool (OnnxWrite *w)
{
  if (has_param (w, "divisor_override") && loom_infer_is_set (w->infer, "divisor_override"))
    return FALSE;
  if (write_ceil_avg_pool (w))
    return TRUE;
  OnnxOutNode *node = pool_node (w, "AveragePool");
  onnx_node_set_int (w->all, node, "count_include_pad", loom_infer_bool (w->infer, "count_include_pad"));
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  return TRUE;
}

static gboolean
write_adaptive (OnnxWrite *w, const char *op)
{
  gint64 size[3];
  guint n = (guint)onnx_write_type (w, 0)->shape.rank - 2;

  loom_infer_ints (w->infer, "output_size", size, 3);
  for (guint i = 0; i < n; i++)
    if (size[i] != 1)
      return FALSE;
  onnx_write_out (w, 0, onnx_call (w->all, op, ONNX_VARS (onnx_write_in (w, 0))));
  return TRUE;
}

static gboolean
write_adaptive_avg (OnnxWrite *w)
{
  return write_adaptive (w, "GlobalAveragePool");
}

static gboolean
write_adaptive_max (OnnxWrite *w)
{
  return write_adaptive (w, "GlobalMaxPool");
}

const OnnxWriter onnx_write_pool[] = {
  { "max_pool1d", write_max_pool },
  { "max_pool2d", write_max_pool },
  { "max_pool3d", write_max_pool },
  { "avg_pool1d", write_avg_pool },
  { "avg_pool2d", write_avg_pool },
  { "avg_pool3d", write_avg_pool },
  { "adaptive_avg_pool1d", write_adaptive_avg },
  { "adaptive_avg_pool2d", write_adaptive_avg },
  { "adaptive_max_pool1d", write_adaptive_max },
  { "adaptive_max_pool2d", write_adaptive_max },
  { NULL },
};
