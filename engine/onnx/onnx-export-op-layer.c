/* Exports layers with weights. Their names and layouts are PyTorch's, which are also ONNX's for these layers. */
#include "engine/onnx/onnx-export-private.h"

#define CALL(op, ...) onnx_call (w->all, op, ONNX_VARS (__VA_ARGS__))

static gboolean
write_linear (OnnxWrite *w)
{
  /* `gradloom export` adds factors to the weights before; others are lowered. */
  if (onnx_write_weight (w, LOOM_LORA_A) != NULL)
    return FALSE;
  int rank = onnx_write_type (w, 0)->shape.rank;
  gboolean turned = g_str_equal (loom_infer_string (w->infer, "weight_layout"), "out_in");
  OnnxVar *x = onnx_write_in (w, 0), *weight = onnx_write_weight (w, "weight"), *bias = onnx_write_weight (w, "bias");

  if (rank == 2)
    {
      OnnxOutNode *node = onnx_add_node (w->all, "Gemm", ONNX_VARS (x, weight, bias));
      onnx_node_set_int (w->all, node, "transB", turned ? 1 : 0);
      onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
      return TRUE;
    }
  OnnxVar *y = CALL ("MatMul", x, turned ? onnx_transpose (w->all, weight, 2, (gint64[]){ 1, 0 }) : weight);
  onnx_write_out (w, 0, bias != NULL ? CALL ("Add", y, bias) : y);
  return TRUE;
}

/* The number of dimensions of the window: those of the input after batch and channels. */
static guint
space_of (OnnxWrite *w)
{
  return (guint)onnx_write_type (w, 0)->shape.rank - 2;
}

static void
set_windows (OnnxWrite *w, OnnxOutNode *node)
{
  gint64 values[3];
  guint n = space_of (w);

  loom_infer_ints (w->infer, "kernel_size", values, 3);
  onnx_node_set_ints (w->all, node, "kernel_shape", n, values);
  loom_infer_ints (w->infer, "stride", values, 3);
  onnx_node_set_ints (w->all, node, "strides", n, values);
  loom_infer_ints (w->infer, "dilation", values, 3);
  onnx_node_set_ints (w->all, node, "dilations", n, values);
  onnx_node_set_int (w->all, node, "group", onnx_write_int (w, "groups"));
}

/* "1", "1,2", "same" or "valid", which inference has checked. For “same”, an odd padding is at the end. */
static void
set_padding (OnnxWrite *w, OnnxOutNode *node)
{
  const char *text = loom_infer_string (w->infer, "padding");
  guint n = space_of (w);
  gint64 pads[6] = { 0 }, kernel[3], dilation[3];

  loom_infer_ints (w->infer, "kernel_size", kernel, 3);
  loom_infer_ints (w->infer, "dilation", dilation, 3);
  g_auto (GStrv) part = g_strsplit (text, ",", 3);
  guint n_parts = g_strv_length (part);
  for (guint i = 0; i < n && !g_str_equal (text, "valid"); i++)
    {
      gint64 total = dilation[i] * (kernel[i] - 1);
      gboolean same = g_str_equal (text, "same");
      pads[i] = same ? total / 2 : g_ascii_strtoll (part[i < n_parts ? i : 0], NULL, 10);
      pads[n + i] = same ? total - total / 2 : pads[i];
    }
  onnx_node_set_ints (w->all, node, "pads", 2 * n, pads);
}

static gboolean
write_conv (OnnxWrite *w)
{
  if (!g_str_equal (loom_infer_string (w->infer, "padding_mode"), "zeros"))
    return FALSE;
  OnnxOutNode *node = onnx_add_node (
      w->all, "Conv", ONNX_VARS (onnx_write_in (w, 0), onnx_write_weight (w, "weight"), onnx_write_weight (w, "bias")));
  set_windows (w, node);
  set_padding (w, node);
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  return TRUE;
}

/* output_padding removes less from the end. Positions beyond the padding contain only the bias, so zeros are appended
 * and the bias is added last. ONNX's own attribute must be smaller than the stride. */
static gboolean
write_conv_transpose (OnnxWrite *w)
{
  OnnxVar *x = onnx_write_in (w, 0), *weight = onnx_write_weight (w, "weight"), *bias = onnx_write_weight (w, "bias");
  gint64 pads[6], extra[3], append[2 * LOOM_SHAPE_MAX_RANK] = { 0 }, axes[3] = { 1, 2, 3 };
  guint n = space_of (w);
  gboolean beyond = FALSE;

  loom_infer_ints (w->infer, "padding", pads, 3);
  loom_infer_ints (w->infer, "output_padding", extra, 3);
  for (guint i = 0; i < n; i++)
    {
      pads[n + i] = pads[i] - MIN (extra[i], pads[i]);
      append[n + 2 + 2 + i] = extra[i] - MIN (extra[i], pads[i]);
      beyond = beyond || extra[i] > pads[i];
    }
  OnnxOutNode *node = onnx_add_node (w->all, "ConvTranspose", ONNX_VARS (x, weight, beyond ? NULL : bias));
  set_windows (w, node);
  onnx_node_set_ints (w->all, node, "pads", 2 * n, pads);
  OnnxVar *y = onnx_node_result (w->all, node, 0);
  if (beyond)
    y = CALL ("Pad", y, onnx_ints_var (w->all, 2 * (n + 2), append));
  if (beyond && bias != NULL)
    y = CALL ("Add", y, onnx_with_axes (w->all, "Unsqueeze", bias, n, axes));
  onnx_write_out (w, 0, y);
  return TRUE;
}

/* One number for each channel, if the layer has no weights of its own. */
static OnnxVar *
filled (OnnxWrite *w, gint64 channels, double value)
{
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, 1, &channels, NULL);
  g_autofree char *name = g_strdup_printf ("%s/constant", w->node->path);

  for (gint64 i = 0; i < channels; i++)
    loom_tensor_set (t, i, value);
  return onnx_tensor_var (w->all, t, name);
}

static gboolean
write_batch_norm (OnnxWrite *w)
{
  LoomDim channels = onnx_write_type (w, 0)->shape.dim[1];
  OnnxVar *mean = onnx_write_weight (w, "running_mean"), *weight = onnx_write_weight (w, "weight");

  /* Without running statistics a batch norm uses those of the batch, which ONNX has in training only. */
  if (mean == NULL || !loom_dim_is_known (channels))
    return FALSE;
  OnnxOutNode *node
      = onnx_add_node (w->all, "BatchNormalization",
                       ONNX_VARS (onnx_write_in (w, 0), weight != NULL ? weight : filled (w, channels.coef, 1),
                                  weight != NULL ? onnx_write_weight (w, "bias") : filled (w, channels.coef, 0), mean,
                                  onnx_write_weight (w, "running_var")));
  onnx_node_set_float (w->all, node, "epsilon", onnx_write_float (w, "eps"));
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  return TRUE;
}

static gboolean
write_embedding (OnnxWrite *w)
{
  OnnxVar *index = onnx_to_type (w->all, onnx_write_in (w, 0), onnx_write_type (w, 0)->dtype, LOOM_I64);

  onnx_write_out (w, 0, CALL ("Gather", onnx_write_weight (w, "weight"), index));
  return TRUE;
}

static gboolean
write_prelu (OnnxWrite *w)
{
  const LoomShape *shape = &onnx_write_type (w, 0)->shape;
  OnnxVar *slope = onnx_write_weight (w, "weight");
  gint64 axes[LOOM_SHAPE_MAX_RANK];

  /* A slope for each channel is broadcast over the dimensions after the channels. */
  for (int i = 0; i + 2 < shape->rank; i++)
    axes[i] = i + 1;
  if (onnx_write_int (w, "num_parameters") > 1 && shape->rank > 2)
    slope = onnx_with_axes (w->all, "Unsqueeze", slope, (guint)shape->rank - 2, axes);
  if (shape->rank == 0)
    slope = onnx_with_axes (w->all, "Squeeze", slope, 1, (gint64[]){ 0 });
  onnx_write_out (w, 0, CALL ("PRelu", onnx_write_in (w, 0), slope));
  return TRUE;
}

const OnnxWriter onnx_write_layer[] = {
  { "linear", write_linear },
  { "conv1d", write_conv },
  { "conv2d", write_conv },
  { "conv3d", write_conv },
  { "conv_transpose1d", write_conv_transpose },
  { "conv_transpose2d", write_conv_transpose },
  { "conv_transpose3d", write_conv_transpose },
  { "batch_norm1d", write_batch_norm },
  { "batch_norm2d", write_batch_norm },
  { "batch_norm3d", write_batch_norm },
  { "embedding", write_embedding },
  { "prelu", write_prelu },
  { NULL },
};
