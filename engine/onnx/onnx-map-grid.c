/* Imports operators that place pixels by position: GridSample, AffineGrid and Col2Im. */
#include "engine/onnx/onnx-private.h"

void
onnx_map_grid_sample (OnnxCtx *c)
{
  const OnnxWire *image = onnx_in (c, 0), *grid = onnx_in (c, 1);
  const char *mode = onnx_opset (c) < 20 ? onnx_attr_word (c, "mode", "bilinear", "nearest", "bicubic")
                                         : onnx_attr_word (c, "mode", "linear", "nearest", "cubic");
  const char *padding = onnx_attr_word (c, "padding_mode", "zeros", "border", "reflection");

  if (!c->failed && (image->type.shape.rank < 4 || image->type.shape.rank > 5))
    onnx_fail (c, "only images [batch, channels, height, width] and volumes are supported.");
  if (c->failed)
    return;
  if (g_str_equal (mode, "linear"))
    mode = "bilinear";
  if (g_str_equal (mode, "cubic"))
    mode = "bicubic";
  onnx_out (c, 0,
            onnx_emit (c, "grid_sample", ONNX_IN (image, grid), "mode", g_str_equal (mode, "bilinear") ? NULL : mode,
                       "padding_mode", g_str_equal (padding, "zeros") ? NULL : padding, "align_corners",
                       onnx_attr_int (c, "align_corners", 0) != 0 ? "true" : NULL, NULL));
}

/* The integers of a constant input, at most `most`; 0 after a failure. */
static int
constant_ints (OnnxCtx *c, guint i, const char *what, gint64 *values, int most)
{
  const LoomTensor *t = c->failed ? NULL : onnx_const (c, i, what);

  if (t == NULL)
    return 0;
  if (t->count > most)
    {
      onnx_fail (c, "its %s has %d numbers; at most %d are supported.", what, (int)t->count, most);
      return 0;
    }
  for (int k = 0; k < (int)t->count; k++)
    values[k] = onnx_tensor_int (t, k);
  return (int)t->count;
}

void
onnx_map_affine_grid (OnnxCtx *c)
{
  const OnnxWire *theta = onnx_in (c, 0);
  gint64 size[5];
  int n = constant_ints (c, 1, "size", size, 5);

  if (!c->failed && n != 4 && n != 5)
    onnx_fail (c, "its size is that of images or volumes, 4 or 5 numbers.");
  if (c->failed)
    return;
  onnx_out (c, 0,
            onnx_emit (c, "affine_grid", ONNX_IN (theta), "size", onnx_list (c, (guint)n - 2, size + 2),
                       "align_corners", onnx_attr_int (c, "align_corners", 0) != 0 ? "true" : NULL, NULL));
}

/* Pads may differ on each side, so the image is folded with its border, which is then cut off. */
void
onnx_map_col2im (OnnxCtx *c)
{
  const OnnxWire *y = onnx_in (c, 0);
  gint64 image[2], block[2], pads[4] = { 0 }, stride[2] = { 1, 1 }, dilation[2] = { 1, 1 }, whole[2];
  int n = constant_ints (c, 1, "image_shape", image, 2), k = constant_ints (c, 2, "block_shape", block, 2);

  if (!c->failed && (n != 2 || k != 2))
    onnx_fail (c, "only images are supported: image_shape and block_shape have two numbers each.");
  if (c->failed)
    return;
  onnx_attr_ints (c, "pads", pads, 4);
  onnx_attr_ints (c, "strides", stride, 2);
  onnx_attr_ints (c, "dilations", dilation, 2);
  for (int i = 0; i < 2; i++)
    {
      whole[i] = image[i] + pads[i] + pads[i + 2];
      if (image[i] < 1 || block[i] < 1 || pads[i] < 0 || pads[i + 2] < 0 || stride[i] < 1 || dilation[i] < 1
          || MAX (whole[i], MAX (block[i], MAX (stride[i], dilation[i]))) > 1000000)
        {
          onnx_fail (c, "the sizes of its window are not valid.");
          return;
        }
    }
  y = onnx_emit (c, "fold", ONNX_IN (y), "output_size", onnx_list (c, 2, whole), "kernel_size", onnx_list (c, 2, block),
                 "stride", onnx_list (c, 2, stride), "dilation", onnx_list (c, 2, dilation), NULL);
  for (int i = 0; i < 2 && !c->failed; i++)
    if (whole[i] != image[i])
      y = onnx_slice (c, y, 2 + i, pads[i], pads[i] + image[i], 1);
  onnx_out (c, 0, y);
}
