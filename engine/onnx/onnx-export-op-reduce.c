/* Exports reductions along dimensions; ONNX has an operator for each, which also removes the dimensions. logsumexp is
 * exported by its lowering: OpenVINO 2026.4 reduces along all dimensions if ReduceLogSumExp has axes as an attribute,
 * as in operator set 17. */
#include "engine/onnx/onnx-export-private.h"

/* Axes are an input of ReduceSum since opset 13, of the others since 18; without axes all are reduced. */
static gboolean
write_reduce (OnnxWrite *w)
{
  static const char *const ops[][2] = { { "sum", "ReduceSum" },
                                        { "mean", "ReduceMean" },
                                        { "amax", "ReduceMax" },
                                        { "amin", "ReduceMin" },
                                        { "prod", "ReduceProd" } };
  const LoomType *x = onnx_write_type (w, 0);
  gint64 axes[LOOM_SHAPE_MAX_RANK];
  guint n = loom_infer_ints (w->infer, "dim", axes, G_N_ELEMENTS (axes)), k = 0;
  OnnxOutNode *node;

  if (x->dtype != LOOM_F32 || w->node->output[0].dtype != LOOM_F32 || x->shape.rank == 0)
    return FALSE;
  /* Results for no elements differ between runtimes. */
  for (int i = 0; i < x->shape.rank; i++)
    if (loom_dim_is_known (x->shape.dim[i]) && x->shape.dim[i].coef == 0)
      return FALSE;
  while (!g_str_equal (ops[k][0], w->node->op->name))
    k++;
  if (k == 0)
    node = onnx_add_node (w->all, ops[k][1],
                          ONNX_VARS (onnx_write_in (w, 0), n > 0 ? onnx_ints_var (w->all, n, axes) : NULL));
  else
    {
      node = onnx_add_node (w->all, ops[k][1], ONNX_VARS (onnx_write_in (w, 0)));
      if (n > 0)
        onnx_node_set_ints (w->all, node, "axes", n, axes);
    }
  onnx_node_set_int (w->all, node, "keepdims", loom_infer_bool (w->infer, "keepdim"));
  onnx_write_out (w, 0, onnx_node_result (w->all, node, 0));
  return TRUE;
}

const OnnxWriter onnx_write_reduce[] = {
  { "sum", write_reduce },  { "mean", write_reduce }, { "amax", write_reduce },
  { "amin", write_reduce }, { "prod", write_reduce }, { NULL },
};
