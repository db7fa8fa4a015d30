/* Pooling, in ONNX: windows that move, and as many windows as are asked for. */
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

static OnnxOutNode *
pool_node (OnnxWrite *w, const char *op)
{
  OnnxOutNode *node = onnx_add_node (w->all, op, ONNX_VARS (onnx_write_in (w, 0)));
  guint n = (guint)onnx_write_type (w, 0)->shape.rank - 2;
  gint64 values[6], kernel[3];

  loom_infer_ints (w->infer, "kernel_size", kernel, 3);
  onnx_node_set_ints (w->all, node, "kernel_shape", n, kernel);
  if (loom_infer_is_set (w->infer, "stride"))
    loom_infer_ints (w->infer, "stride", values, 3);
  else
    memcpy (values, kernel, sizeof kernel);
  onnx_node_set_ints (w->all, node, "strides", n, values);
  loom_infer_ints (w->infer, "padding", values, 3);
  memmove (values + n, values, n * sizeof *values);
  onnx_node_set_ints (w->all, node, "pads", 2 * n, values);
  onnx_node_set_int (w->all, node, "ceil_mode", loom_infer_bool (w->infer, "ceil_mode"));
  return node;
}

/* Winners are counted in the whole tensor there and in their channel here: what is left of them after whole channels.
 */
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

static gboolean
write_avg_pool (OnnxWrite *w)
{
  if (has_param (w, "divisor_override") && loom_infer_is_set (w->infer, "divisor_override"))
    return FALSE;
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
