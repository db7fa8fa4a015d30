/* Imports signal processing: windows, which are constants, since their size is known; and Fourier transforms, as
 * products with matrices of cosines and sines. */
#include "engine/onnx/onnx-constant.h"

#include <math.h>
#include <string.h>

/* a₀ + a₁ cos φ + a₂ cos 2φ with φ = 2πn / N; symmetric ones divide by N - 1. */
static void
window (OnnxCtx *c, double a0, double a1, double a2)
{
  const LoomTensor *t = onnx_const (c, 0, "size");
  gint64 n = t != NULL && t->count == 1 ? onnx_tensor_int (t, 0) : 0;

  if (n < 1 || n > 1 << 20)
    {
      onnx_fail (c, "its size is not valid.");
      return;
    }
  LoomDType dtype = LOOM_F32;
  int type = (int)onnx_attr_int (c, "output_datatype", 1);
  if (!onnx_wire_dtype (type, &dtype) || !loom_dtype_is_float (dtype))
    onnx_fail (c, "its output type is %s, but windows must be floats.", onnx_type_name (type));
  LoomTensor *y = onnx_tensor_new (c, LOOM_F32, 1, &n);
  if (y == NULL)
    return;
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

/* ONNX's reference uses 25/46, Hamming's own number, instead of 0.54. */
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

/* ---- Fourier transforms ----------------------------------------------- */

/* cos or sin of 2π i k / n, [rows, columns] with row i and column k, as a constant of the graph. With halves, a row
 * counts twice if it also represents its mirror image. */
static const OnnxWire *
wave (OnnxCtx *c, gboolean sine, gint64 rows, gint64 columns, gint64 n, double factor, gboolean halves)
{
  g_autoptr (LoomTensor) t = NULL;

  if (c->failed || rows > 4096 || columns > 4096 || n < 1)
    {
      onnx_fail (c, "its length is not valid.");
      return onnx_constant (c, 0, LOOM_F32);
    }
  t = onnx_tensor_new (c, LOOM_F32, 2, (gint64[]){ rows, columns });
  for (gint64 i = 0; t != NULL && i < rows; i++)
    for (gint64 k = 0; k < columns; k++)
      {
        double phase = 2 * G_PI * (double)(i * k % n) / (double)n, times = halves && i > 0 && 2 * i != n ? 2 : 1;
        loom_tensor_set (t, i * columns + k, times * factor * (sine ? sin (phase) : cos (phase)));
      }
  return onnx_tensor_wire (c, t, sine ? "sines" : "cosines", FALSE);
}

/* Transforms the last dimension of re + i im (im may be NULL) by two matrix products for each part; the two parts of
 * the result are joined in a new last dimension. */
static const OnnxWire *
transform (OnnxCtx *c, const OnnxWire *re, const OnnxWire *im, gint64 n, gint64 bins, gboolean inverse)
{
  gint64 length = onnx_dim (c, re, re->type.shape.rank - 1);
  double factor = inverse ? 1.0 / (double)n : 1;
  const OnnxWire *cosines = wave (c, FALSE, MIN (length, n), bins, n, factor, FALSE);
  const OnnxWire *sines = wave (c, TRUE, MIN (length, n), bins, n, inverse ? -factor : factor, FALSE);

  if (length > n)
    {
      re = onnx_slice (c, re, re->type.shape.rank - 1, 0, n, 1);
      im = im != NULL ? onnx_slice (c, im, im->type.shape.rank - 1, 0, n, 1) : NULL;
    }
  /* e^(-iφ) = cos φ - i sin φ */
  const OnnxWire *real = onnx_binary (c, "matmul", re, cosines);
  const OnnxWire *imaginary = onnx_unary (c, "neg", onnx_binary (c, "matmul", re, sines));
  if (im != NULL)
    {
      real = onnx_binary (c, "add", real, onnx_binary (c, "matmul", im, sines));
      imaginary = onnx_binary (c, "add", imaginary, onnx_binary (c, "matmul", im, cosines));
    }
  return onnx_emit (c, "stack", ONNX_IN (real, imaginary), "dim", "-1", NULL);
}

/* The n real numbers, [.., 1], whose transform begins with re + i im and continues with the mirror image of that. */
static const OnnxWire *
real_inverse (OnnxCtx *c, const OnnxWire *re, const OnnxWire *im, gint64 n)
{
  int last = re->type.shape.rank - 1;
  gint64 length = onnx_dim (c, re, last), bins = MIN (length, n / 2 + 1);
  const OnnxWire *y;

  if (length > bins)
    {
      re = onnx_slice (c, re, last, 0, bins, 1);
      im = im != NULL ? onnx_slice (c, im, last, 0, bins, 1) : NULL;
    }
  y = onnx_binary (c, "matmul", re, wave (c, FALSE, bins, n, n, 1.0 / (double)n, TRUE));
  if (im != NULL)
    y = onnx_binary (c, "sub", y, onnx_binary (c, "matmul", im, wave (c, TRUE, bins, n, n, 1.0 / (double)n, TRUE)));
  return onnx_unsqueeze (c, y, -1);
}

/* A real number is [.., 1], a complex one [.., 2]. */
static const OnnxWire *
part_of (OnnxCtx *c, const OnnxWire *x, gint64 which)
{
  LoomShape shape = x->type.shape;

  shape.rank = MAX (shape.rank - 1, 0);
  return onnx_reshape (c, onnx_slice (c, x, shape.rank, which, which + 1, 1), &shape);
}

static void
map_dft (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *re, *im, *y;
  int rank = x->type.shape.rank - 1;
  const LoomTensor *t = onnx_has (c, 1) ? onnx_const (c, 1, "dft_length") : NULL;
  const LoomTensor *a = onnx_has (c, 2) ? onnx_const (c, 2, "axis") : NULL;
  gint64 axis
      = a != NULL && a->count == 1 ? onnx_tensor_int (a, 0) : onnx_attr_int (c, "axis", onnx_opset (c) < 20 ? 1 : -2);
  gint64 order[LOOM_SHAPE_MAX_RANK];

  if (c->failed || rank < 2)
    {
      onnx_fail (c, "its input needs three dimensions: batch, signal, and real and imaginary parts.");
      return;
    }
  int at = onnx_axis (c, axis < 0 ? axis + rank + 1 : axis, rank);
  gboolean inverse = onnx_attr_int (c, "inverse", 0) != 0, onesided = onnx_attr_int (c, "onesided", 0) != 0;
  gint64 n = onnx_dim (c, x, at);
  if (t != NULL && t->count == 1)
    n = onnx_tensor_int (t, 0);
  else if (onesided && inverse)
    n = 2 * (n - 1);
  for (int i = 0; i < rank; i++)
    order[i] = i == at ? rank - 1 : i == rank - 1 ? at : i;
  re = onnx_permute (c, part_of (c, x, 0), order);
  im = onnx_dim (c, x, rank) > 1 ? onnx_permute (c, part_of (c, x, 1), order) : NULL;
  if (onesided && inverse)
    y = real_inverse (c, re, im, n);
  else
    y = transform (c, re, im, n, onesided ? n / 2 + 1 : n, inverse);
  order[rank] = rank;
  onnx_out (c, 0, onnx_permute (c, y, order));
}

/* Frames are cut out by a constant index, multiplied by the window and transformed. */
static void
map_stft (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *re, *im;
  const LoomTensor *step_t = onnx_const (c, 1, "frame_step");
  const LoomTensor *length_t = onnx_has (c, 3) ? onnx_const (c, 3, "frame_length") : NULL;
  gint64 step = step_t != NULL && step_t->count == 1 ? onnx_tensor_int (step_t, 0) : 0;
  gint64 length = length_t != NULL && length_t->count == 1 ? onnx_tensor_int (length_t, 0)
                  : onnx_has (c, 2)                        ? onnx_dim (c, onnx_in (c, 2), 0)
                                                           : 0;
  gint64 signal = onnx_dim (c, x, 1);

  if (c->failed || step < 1 || length < 1 || length > signal || signal > 1 << 24)
    {
      onnx_fail (c, "its frames do not fit the signal.");
      return;
    }
  gint64 frames = (signal - length) / step + 1, count = frames * length;
  g_autoptr (LoomTensor) index = count <= 1 << 24 ? loom_tensor_new (LOOM_I64, 1, &count, NULL) : NULL;
  if (index == NULL)
    {
      onnx_fail (c, "it has too many frames.");
      return;
    }
  for (gint64 i = 0; i < count; i++)
    ((gint64 *)index->data)[i] = i / length * step + i % length;
  LoomShape shape = loom_shape (3, (gint64[]){ 1, frames, length });
  shape.dim[0] = x->type.shape.dim[0];
  const OnnxWire *places = onnx_tensor_wire (c, index, "frames", FALSE), *part[2] = { NULL };
  for (int i = 0; i < MIN (x->type.shape.rank < 3 ? 1 : onnx_dim (c, x, 2), 2); i++)
    {
      re = x->type.shape.rank < 3 ? x : part_of (c, x, i);
      re = onnx_emit (c, "index_select", ONNX_IN (re, places), "dim", "1", NULL);
      part[i] = onnx_reshape (c, re, &shape);
      if (onnx_has (c, 2))
        part[i] = onnx_binary (c, "mul", part[i], onnx_in (c, 2));
    }
  re = part[0];
  im = part[1];
  onnx_out (c, 0, transform (c, re, im, length, onnx_attr_int (c, "onesided", 1) ? length / 2 + 1 : length, FALSE));
}

const OnnxMap onnx_map_signal[] = {
  { "HannWindow", "constant", map_hann },
  { "HammingWindow", "constant", map_hamming },
  { "BlackmanWindow", "constant", map_blackman },
  { "DFT", "matmul", map_dft },
  { "STFT", "matmul", map_stft },
  { NULL },
};
