/* Exports operators that resize images or normalise across channels. */
#include "engine/onnx/onnx-export-private.h"

#include <string.h>

/* The modes of PyTorch with ONNX's names. */
static const struct
{
  const char *ours, *mode, *coordinates, *nearest;
} modes[] = {
  { "nearest", "nearest", "asymmetric", "floor" }, { "nearest-exact", "nearest", "half_pixel", "round_prefer_ceil" },
  { "linear", "linear", "half_pixel", NULL },      { "bilinear", "linear", "half_pixel", NULL },
  { "trilinear", "linear", "half_pixel", NULL },   { "bicubic", "cubic", "half_pixel", NULL },
};

/* Sizes [N, C, given…]; the first two are looked up in the model if they are dynamic. */
static OnnxVar *
sizes_var (OnnxWrite *w, guint n)
{
  const LoomShape *shape = &onnx_write_type (w, 0)->shape;
  gint64 given[LOOM_SHAPE_MAX_RANK];
  guint count = loom_infer_ints (w->infer, "size", given, G_N_ELEMENTS (given));
  OnnxSize sizes[LOOM_SHAPE_MAX_RANK];

  for (guint i = 0; i < n + 2; i++)
    sizes[i]
        = i < 2 ? onnx_size_dim (shape->dim[i]) : (OnnxSize){ .known = TRUE, .add = given[count == 1 ? 0 : i - 2] };
  return onnx_sizes_var (w->all, n + 2, sizes);
}

static OnnxVar *
scales_var (OnnxWrite *w, guint n)
{
  gint64 count = n + 2;
  double given[LOOM_SHAPE_MAX_RANK];
  guint n_given = loom_infer_floats (w->infer, "scale_factor", given, G_N_ELEMENTS (given));
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F32, 1, &count, NULL);
  g_autofree char *name = g_strdup_printf ("%s/scales", w->node->path);

  for (guint i = 0; i < n + 2; i++)
    loom_tensor_set (t, i, i < 2 ? 1 : given[n_given == 1 ? 0 : i - 2]);
  return onnx_tensor_var (w->all, t, name);
}

/* With "nearest" a rounding error may change the pixel, so only whole factors are exported. Interpolated values change
 * smoothly. */
static gboolean
is_whole (OnnxWrite *w, guint n)
{
  const LoomShape *from = &onnx_write_type (w, 0)->shape, *to = &w->node->output[0].shape;
  double factor[LOOM_SHAPE_MAX_RANK];
  guint count = loom_infer_is_set (w->infer, "scale_factor")
                    ? loom_infer_floats (w->infer, "scale_factor", factor, G_N_ELEMENTS (factor))
                    : 0;

  for (guint i = 0; i < n; i++)
    {
      LoomDim a = from->dim[2 + i], b = to->dim[2 + i];
      double by = count > 0 ? factor[count == 1 ? 0 : i] : 0;
      if (count > 0 ? by != (double)(gint64)by : !loom_dim_is_known (a) || a.coef == 0 || b.coef % a.coef != 0)
        return FALSE;
    }
  return TRUE;
}

static gboolean
write_upsample (OnnxWrite *w)
{
  const LoomShape *shape = &onnx_write_type (w, 0)->shape;
  const char *mode = loom_infer_string (w->infer, "mode");
  gboolean by_size = loom_infer_is_set (w->infer, "size"), corners = loom_infer_bool (w->infer, "align_corners");
  guint n = (guint)shape->rank - 2, k = 0;
  OnnxVar *sizes = NULL;

  while (!g_str_equal (modes[k].ours, mode))
    k++;
  for (int i = 0; i < shape->rank; i++)
    if (loom_dim_is_known (shape->dim[i]) && shape->dim[i].coef == 0)
      return FALSE;
  if ((modes[k].nearest != NULL && !is_whole (w, n)) || (by_size && (sizes = sizes_var (w, n)) == NULL))
    return FALSE;
  OnnxOutNode *node = onnx_add_node (w->all, "Resize",
                                     ONNX_VARS (onnx_write_in (w, 0), NULL, by_size ? NULL : scales_var (w, n), sizes));
  onnx_node_set_string (w->all, node, "mode", modes[k].mode);
  onnx_node_set_string (w->all, node, "coordinate_transformation_mode",
                        corners ? "align_corners" : modes[k].coordinates);
  if (modes[k].nearest != NULL)
    onnx_node_set_string (w->all, node, "nearest_mode", modes[k].nearest);
  if (g_str_equal (mode, "bicubic"))
    onnx_node_set_float (w->all, node, "cubic_coeff_a", -0.75);
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  return TRUE;
}

/* An even number of neighbours is asymmetric in the other direction in ONNX, and ONNX accepts only images. */
static gboolean
write_local_response_norm (OnnxWrite *w)
{
  if (onnx_write_type (w, 0)->shape.rank != 4 || onnx_write_int (w, "size") % 2 == 0)
    return FALSE;
  OnnxOutNode *node = onnx_add_node (w->all, "LRN", ONNX_VARS (onnx_write_in (w, 0)));
  onnx_node_set_int (w->all, node, "size", onnx_write_int (w, "size"));
  onnx_node_set_float (w->all, node, "alpha", onnx_write_float (w, "alpha"));
  onnx_node_set_float (w->all, node, "beta", onnx_write_float (w, "beta"));
  onnx_node_set_float (w->all, node, "bias", onnx_write_float (w, "k"));
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  return TRUE;
}

const OnnxWriter onnx_write_image[] = {
  { "upsample", write_upsample },
  { "local_response_norm", write_local_response_norm },
  { NULL },
};
