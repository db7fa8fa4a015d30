/* ONNX's windows of signal processing: a cosine series over a size that is known, so they are constants. */
#include "engine/interop/onnx/onnx-private.h"

#include <math.h>
#include <string.h>

/* a₀ + a₁ cos φ + a₂ cos 2φ with φ = 2πn / N; symmetric ones divide by N - 1. */
static void
window (OnnxCtx *c, double a0, double a1, double a2)
{
  const LoomTensor *t = onnx_const (c, 0, "size");
  gint64 n = t && t->count == 1 ? onnx_tensor_int (t, 0) : 0;

  if (n < 1 || n > 1 << 20)
    {
      onnx_fail (c, "its size is impossible.");
      return;
    }
  LoomTensor *y = loom_tensor_new (LOOM_F32, 1, &n, NULL);
  double length = (double)(onnx_attr_int (c, "periodic", 1) || n == 1 ? n : n - 1);
  for (gint64 i = 0; i < n; i++)
    {
      double phase = 2 * G_PI * (double)i / length;
      loom_tensor_set (y, i, a0 + a1 * cos (phase) + a2 * cos (2 * phase));
    }
  onnx_out_tensor (c, 0, y);
}

static void
map_hann (OnnxCtx *c)
{
  window (c, 0.5, -0.5, 0);
}

/* ONNX's reference takes 25/46, Hamming's own number, not 0.54. */
static void
map_hamming (OnnxCtx *c)
{
  window (c, 25.0 / 46.0, -21.0 / 46.0, 0);
}

static void
map_blackman (OnnxCtx *c)
{
  window (c, 0.42, -0.5, 0.08);
}

const OnnxMap onnx_map_signal[] = {
  { "HannWindow", "constant", map_hann },
  { "HammingWindow", "constant", map_hamming },
  { "BlackmanWindow", "constant", map_blackman },
  { NULL },
};
