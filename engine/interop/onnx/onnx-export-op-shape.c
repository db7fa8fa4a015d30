/* Operators that move, cut and count, in ONNX, where its own operator says more than the lowering does. */
#include "engine/interop/onnx/onnx-export-private.h"

#define CALL(op, ...) onnx_call (w->all, op, ONNX_VARS (__VA_ARGS__))

/* Flatten, which makes two dimensions, where that is what is asked for. */
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
      if (onnx_write_type (w, i)->dtype != LOOM_F32)
        return FALSE;
      in[i] = onnx_write_in (w, i);
    }
  OnnxPut *put = onnx_put (w->all, "Einsum", n, in);
  onnx_put_string (w->all, put, "equation", loom_infer_string (w->infer, "equation"));
  onnx_write_out (w, 0, onnx_put_out (w->all, put, 0));
  return TRUE;
}

const OnnxWriter onnx_write_shape[] = {
  { "flatten", write_flatten },
  { "einsum", write_einsum },
  { NULL },
};
