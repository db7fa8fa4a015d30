/* Exports operators that permute, slice and count, if ONNX's own operator is more readable than the lowering. */
#include "engine/onnx/onnx-export-private.h"

#include <string.h>

#define CALL(op, ...) onnx_call (w->all, op, ONNX_VARS (__VA_ARGS__))

/* Flatten, which makes two dimensions, if these are the requested ones. */
static gboolean
write_flatten (OnnxWrite *w)
{
  gint64 end = onnx_write_int (w, "end_dim");
  int rank = onnx_write_type (w, 0)->shape.rank;

  if (onnx_write_int (w, "start_dim") != 1 || (end != -1 && end != rank - 1) || rank < 2)
    return FALSE;
  onnx_write_out (w, 0, CALL ("Flatten", onnx_write_in (w, 0)));
  return TRUE;
}

static gboolean
write_einsum (OnnxWrite *w)
{
  guint n = w->node->n_inputs;
  g_autofree OnnxVar **in = g_new0 (OnnxVar *, n + 1);

  for (guint i = 0; i < n; i++)
    {
      /* ONNX refuses dots that stand for different numbers of dimensions in two operands. */
      if (onnx_write_type (w, i)->dtype != LOOM_F32 || strchr (loom_infer_string (w->infer, "equation"), '.') != NULL)
        return FALSE;
      in[i] = onnx_write_in (w, i);
    }
  OnnxOutNode *node = onnx_add_node (w->all, "Einsum", n, in);
  onnx_node_set_string (w->all, node, "equation", loom_infer_string (w->infer, "equation"));
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  return TRUE;
}

/* ---- sizes that depend on data -------------------------------------------- */

/* A row of coordinates for each element; ONNX has a column. */
static gboolean
write_nonzero (OnnxWrite *w)
{
  if (onnx_write_type (w, 0)->shape.rank == 0)
    return FALSE;
  onnx_write_out (w, 0, onnx_transpose (w->all, CALL ("NonZero", onnx_write_in (w, 0)), 2, (gint64[]){ 1, 0 }));
  return TRUE;
}

/* The result is a list of elements; the mask and the tensor broadcast. */
static gboolean
write_masked_select (OnnxWrite *w)
{
  OnnxVar *x = onnx_write_in (w, 0), *mask = onnx_write_in (w, 1);
  OnnxVar *line = onnx_ints_var (w->all, 1, (gint64[]){ -1 });
  const LoomShape *a = &onnx_write_type (w, 0)->shape, *b = &onnx_write_type (w, 1)->shape;

  if (!loom_shape_equal (a, b))
    {
      OnnxVar *shape_x = CALL ("Shape", x), *shape_mask = CALL ("Shape", mask);
      x = CALL ("Expand", x, shape_mask);
      mask = CALL ("Expand", mask, shape_x);
    }
  OnnxVar *place = CALL ("NonZero", CALL ("Reshape", mask, line));
  place = onnx_with_axes (w->all, "Squeeze", place, 1, (gint64[]){ 0 });
  onnx_write_out (w, 0, CALL ("Gather", CALL ("Reshape", x, line), place));
  return TRUE;
}

static gboolean
write_unique (OnnxWrite *w)
{
  LoomDType dtype = onnx_write_type (w, 0)->dtype;
  LoomDType type = dtype == LOOM_F64 ? LOOM_F64 : loom_dtype_is_float (dtype) ? LOOM_F32 : LOOM_I64;
  OnnxVar *x = onnx_write_in (w, 0);
  OnnxOutNode *node = onnx_add_node (w->all, "Unique", ONNX_VARS (onnx_to_type (w->all, x, dtype, type)));
  guint port = 1;

  onnx_node_set_int (w->all, node, "sorted", 1);
  onnx_write_out (w, 0, onnx_to_type (w->all, onnx_node_result (w->all, node, 0), type, dtype));
  if (loom_infer_bool (w->infer, "return_inverse"))
    onnx_write_out (w, port++, CALL ("Reshape", onnx_node_result (w->all, node, 2), CALL ("Shape", x)));
  if (loom_infer_bool (w->infer, "return_counts"))
    onnx_write_out (w, port, onnx_node_result (w->all, node, 3));
  return TRUE;
}

/* A table is an initialiser. */
static gboolean
write_constant (OnnxWrite *w)
{
  const LoomType *type = &w->node->output[0];
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  if (!loom_shape_is_concrete (&type->shape) || loom_infer_is_set (w->infer, "data"))
    return FALSE;
  loom_shape_get (&type->shape, dims);
  g_autoptr (LoomTensor) t = loom_tensor_new (type->dtype, type->shape.rank, dims, NULL);
  guint n = loom_infer_floats (w->infer, "value", NULL, 0);
  g_autofree double *values = g_new (double, n + 1);
  loom_infer_floats (w->infer, "value", values, n);
  for (gint64 i = 0; t && i < t->count; i++)
    loom_tensor_set (t, i, values[n == 1 ? 0 : i]);
  onnx_write_out (w, 0, t ? onnx_tensor_var (w->all, t, w->node->path) : NULL);
  return t != NULL;
}

const OnnxWriter onnx_write_shape[] = {
  { "flatten", write_flatten },
  { "einsum", write_einsum },
  { "constant", write_constant },
  { "nonzero", write_nonzero },
  { "masked_select", write_masked_select },
  { "unique", write_unique },
  { NULL },
};
