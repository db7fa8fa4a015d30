/* The calls of batch normalisation: selects the kernels of cuda-batch-norm.cuh and their blocks. */
#include <limits.h>
#include <string.h>

#include "kernels/cuda/cuda-batch-norm.cuh"
#include "kernels/norm.h"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Batch batch;
  LoomDType dtype; /* of the images */
  bool nhwc, affine, relu, residual;
  bool two; /* gradient with a residual: g is the sum of two operands */
  double eps;
} Norm;

/* The number of elements that a thread takes at once: of NHWC as many channels. */
static int
elements_at_once (const Norm *self)
{
  if (!self->nhwc)
    return self->batch.space % 4 == 0 ? 4 : 1;
  return self->batch.channels % 32 != 0 ? 1 : self->batch.channels % 64 != 0 ? 2 : 4;
}

static dim3
grid_of (const Norm *self)
{
  const Batch &b = self->batch;

  return dim3 (self->nhwc ? blocks_for (b.channels, COLUMNS * elements_at_once (self)) : b.channels, b.chunks);
}

template <bool NHWC, int V>
struct Shape
{
  static constexpr bool nhwc = NHWC;
  static constexpr int at_once = V;
};

/* Calls f with an element of the image's type and the Walk of its layout. */
template <typename F>
static void
with_image (const Norm *self, F f)
{
  with_float (self->dtype, [&] (auto element) {
    if (!self->nhwc && elements_at_once (self) == 1)
      f (element, Shape<false, 1> ());
    else if (!self->nhwc)
      f (element, Shape<false, 4> ());
    else if (elements_at_once (self) == 1)
      f (element, Shape<true, 1> ());
    else if (elements_at_once (self) == 2)
      f (element, Shape<true, 2> ());
    else
      f (element, Shape<true, 4> ());
  });
}

static void
join (const Norm *self, Pair *parts, cudaStream_t stream)
{
  if (self->nhwc)
    batch_norm_join_kernel<<<blocks_for (self->batch.channels, COLUMNS), CUDA_THREADS, 0, stream>>> (parts, self->batch);
}

static LoomStatus
batch_norm_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const int out = (self->affine ? 3 : 1) + self->residual;
  const float *weight = self->affine ? (const float *)buffers[1] : NULL;
  const float *bias = self->affine ? (const float *)buffers[2] : NULL;
  const void *r = self->residual ? buffers[out - 1] : NULL;
  Pair *parts = (Pair *)buffers[out + 3];

  if (self->batch.channels == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  /* clang-format off */
  with_image (self, [&] (auto element, auto shape) {
    using T = decltype (element);

    batch_norm_parts_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (parts, (const T *)buffers[0],
                                                                                      self->batch);
    join (self, parts, handle);
    batch_norm_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[out], (float *)buffers[out + 1], (float *)buffers[out + 2], parts, (const T *)buffers[0], weight, bias,
        (const T *)r, self->batch, self->eps, self->relu);
  });
  /* clang-format on */
  return cuda_launched ("batch_norm", message);
}

static LoomStatus
batch_norm_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const int more = loom_norm_operands ("batch_norm_grad", self->affine); /* the operand number of bias, or of y and h */
  const int out = self->residual ? more + 1 + self->two : more + (self->affine && self->relu);
  const int dr_index = out + (self->affine ? 3 : 1);
  const float *mean = (const float *)buffers[2], *var = (const float *)buffers[3];
  const float *weight = self->affine ? (const float *)buffers[4] : NULL;
  const float *bias = self->affine && self->relu && !self->residual ? (const float *)buffers[more] : NULL;
  float *dweight = self->affine ? (float *)buffers[out + 1] : NULL, *dbias = self->affine ? (float *)buffers[out + 2] : NULL;
  Pair *parts = (Pair *)buffers[dr_index + self->residual];

  if (self->batch.channels == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  /* clang-format off */
  with_image (self, [&] (auto element, auto shape) {
    using T = decltype (element);
    const T *g = (const T *)buffers[0], *x = (const T *)buffers[1];
    const bool gated = self->relu && !self->residual; /* with a residual, the gated gradient is stored in dr and read again */

    if (self->residual)
      {
        T *dr = (T *)buffers[dr_index];
        const T *h = self->two ? (const T *)buffers[more + 1] : NULL;

        batch_norm_residual_parts_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
            parts, dr, g, h, (const T *)buffers[more], x, mean, var, self->batch, self->eps);
        g = dr;
      }
    else
      batch_norm_grad_parts_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
          parts, g, x, mean, var, weight, bias, self->batch, self->eps, gated);
    join (self, parts, handle);
    batch_norm_grad_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[out], dweight, dbias, parts, g, x, mean, var, weight, bias, self->batch, self->eps, gated);
  });
  /* clang-format on */
  return cuda_launched ("batch_norm_grad", message);
}

static LoomStatus
batch_norm_apply_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Norm *self = (Norm *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const int out = (self->affine ? 5 : 3) + self->residual;
  const float *weight = self->affine ? (const float *)buffers[3] : NULL;
  const float *bias = self->affine ? (const float *)buffers[4] : NULL;
  const void *r = self->residual ? buffers[out - 1] : NULL;

  if (self->batch.channels == 0 || self->batch.elements == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  /* clang-format off */
  with_image (self, [&] (auto element, auto shape) {
    using T = decltype (element);

    batch_norm_apply_kernel<T, decltype (shape)::nhwc, decltype (shape)::at_once><<<grid_of (self), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[out], (const T *)buffers[0], (const float *)buffers[1], (const float *)buffers[2], weight, bias,
        (const T *)r, self->batch, self->eps, self->relu);
  });
  /* clang-format on */
  return cuda_launched ("batch_norm_apply", message);
}

/* The number of chunks of a channel: about eight blocks for each processor of a large GPU, in NHWC four, a constant so
 * that every GPU gives the same bits; a chunk has at least 2,048 elements or, in NHWC, 64 rows. */
static int
chunks_of (const Norm *self)
{
  const Batch &b = self->batch;
  const long long blocks = self->nhwc ? blocks_for (b.channels, COLUMNS * elements_at_once (self)) : b.channels;
  const long long most = self->nhwc ? 512 : 1024;
  long long chunks = blocks > 0 && blocks < most ? most / blocks : 1;

  if (chunks > b.elements / (self->nhwc ? 64 : 2048))
    chunks = b.elements / (self->nhwc ? 64 : 2048);
  return chunks > 1 ? (int)chunks : 1;
}

/* Images (x, and operands of its shape) are of one type and layout, all else is f32. */
static bool
takes (const LoomKernelSpec *spec, const LoomTensorDesc *x)
{
  const int n = spec->n_in + spec->n_out;

  if (x->rank < 2 || (x->dtype != LOOM_F32 && x->dtype != LOOM_BF16 && x->dtype != LOOM_F16))
    return false;
  for (int i = 0; i < n; i++)
    {
      const LoomTensorDesc *d = i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in];

      if (d->rank == 1 ? d->dtype != LOOM_F32 : d->dtype != x->dtype || d->layout != x->layout || !cuda_same_shape (x, d))
        return false;
    }
  return true;
}

/* x: operand number `image`; more: operands in addition to the call's own and a residual. */
static LoomStatus
norm_new (LoomDevice *device, const LoomKernelSpec *spec, int image, int more, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), LoomKernel **kernel,
          LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  const LoomTensorDesc *x = &spec->in[image];
  const bool residual = loom_norm_has_residual (spec->primitive, attrs->affine, spec->n_in, spec->n_out);
  const int n_in = loom_norm_operands (spec->primitive, attrs->affine) + residual + more;
  const int n_out = loom_norm_results (spec->primitive, attrs->affine) + (residual && image == 1);
  Norm *self;

  if (spec->n_in != n_in || spec->n_out != n_out)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s has %d operands and %d results instead of %d and %d",
                      spec->primitive, spec->n_in, spec->n_out, n_in, n_out);
  if (!takes (spec, x) || loom_desc_count (x) / (x->dim[1] > 0 ? x->dim[1] : 1) > INT_MAX)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Norm> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = x->dtype;
  self->nhwc = x->layout == LOOM_LAYOUT_NHWC && x->rank == 4;
  self->affine = attrs->affine;
  self->relu = attrs->act == LOOM_SCALAR_RELU;
  self->residual = residual;
  self->eps = attrs->eps;
  self->batch.channels = (unsigned int)x->dim[1];
  self->batch.space = (unsigned int)cuda_extent (x, 2, x->rank);
  self->batch.elements = (unsigned int)(x->dim[0] * self->batch.space);
  self->batch.by_space = divisor_of (self->batch.space);
  self->batch.chunks = chunks_of (self);
  self->batch.by_chunks = long_divisor_of ((unsigned long long)self->batch.chunks);
  self->base.scratch_bytes = strcmp (spec->primitive, "batch_norm_apply") == 0
                                 ? 0
                                 : (size_t)(self->batch.chunks + 1) * self->batch.channels * sizeof (Pair);
  self->base.inplace[0] = (1u << (image + 1)) - 1;
  if (residual && image == 0)
    self->base.inplace[0] |= 1u << (n_in - 1);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_batch_norm_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return norm_new (device, spec, 0, 0, "own batch_norm", batch_norm_run, kernel, message);
}

LoomStatus
cuda_batch_norm_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomNormAttrs *attrs = (const LoomNormAttrs *)spec->attrs;
  const int own = loom_norm_operands (spec->primitive, attrs->affine);
  const bool residual = loom_norm_has_residual (spec->primitive, attrs->affine, spec->n_in, spec->n_out);
  const bool two = residual && spec->n_in == own + 2;
  LoomStatus status = norm_new (device, spec, 1, residual ? two : attrs->affine && attrs->act == LOOM_SCALAR_RELU,
                                "own batch_norm_grad", batch_norm_grad_run, kernel, message);

  if (status != LOOM_STATUS_OK || !residual)
    return status;
  ((Norm *)*kernel)->two = two;
  /* g, h and y are read before dx is written, and not after. */
  (*kernel)->inplace[spec->n_out - 1] = 1u | ((two ? 3u : 1u) << own);
  (*kernel)->inplace[0] |= (two ? 3u : 1u) << own;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_batch_norm_apply_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return norm_new (device, spec, 0, 0, "own batch_norm_apply", batch_norm_apply_run, kernel, message);
}
