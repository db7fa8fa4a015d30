/* Imports ONNX's two losses, which are PyTorch's with the same attributes. */
#include "engine/onnx/onnx-private.h"

static const OnnxWire *
loss (OnnxCtx *c, const char *op)
{
  const OnnxWire *weight = onnx_has (c, 2) ? onnx_in (c, 2) : NULL;

  return onnx_emit (c, op, ONNX_IN (onnx_in (c, 0), onnx_cast (c, onnx_in (c, 1), LOOM_I64), weight), "reduction",
                    onnx_attr_word (c, "reduction", "mean", "sum", "none"), "ignore_index",
                    onnx_has_attr (c, "ignore_index")
                        ? onnx_text (c, "%" G_GINT64_FORMAT, onnx_attr_int (c, "ignore_index", 0))
                        : NULL,
                    NULL);
}

static void
map_nll (OnnxCtx *c)
{
  onnx_out (c, 0, loss (c, "nll_loss"));
}

static void
map_cross_entropy (OnnxCtx *c)
{
  onnx_out (c, 0, loss (c, "cross_entropy"));
  if (onnx_has_output (c, 1))
    onnx_out (c, 1, onnx_emit (c, "log_softmax", ONNX_IN (onnx_in (c, 0)), "dim", "1", NULL));
}

const OnnxMap onnx_map_loss[] = {
  { "NegativeLogLikelihoodLoss", "nll_loss", map_nll },
  { "SoftmaxCrossEntropyLoss", "cross_entropy", map_cross_entropy },
  { NULL },
};
