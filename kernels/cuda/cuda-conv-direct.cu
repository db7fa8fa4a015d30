/* Convolution and its gradients as plain sums, one thread for each element of the result, f32, images in any layout.
 *
 * They do what cuDNN declines (empty tensors, operands in one layout and the result in the other) and all convolutions
 * if the module is built without cuDNN. Every sum has one order, so two runs agree to the bit; the taps of a filter are
 * summed in f32, channels in f64, since there may be thousands. */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

/* x [n,c,h,w], filters [k,channels,r,s], y [n,k,p,q]; channels and filters are those of one group. The offset of an
 * element of x is the sum of its indices times at_x, in y that times at_y; filters are plain. */
typedef struct
{
  long long n, c, h, w, k, r, s, p, q, channels, filters;
  long long stride[2], top, left, dilation[2];
  long long at_x[4], at_y[4];
  LongDivisor result[3]; /* the last three axes of the kernel's result */
  LongDivisor by_channels, by_filters, by_stride[2];
} Geometry;

/* Splits the number of an element of the result into its first index, which is returned, and the others, index[]. */
__device__ static long long
take_apart (const Geometry &of, long long at, long long index[3])
{
  for (int i = 2; i >= 0; i--)
    index[i] = take_index (&at, of.result[i]);
  return at;
}

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Geometry geometry;
  bool has_bias;
  LoomKernel *tail; /* forward: the activation; weight gradient: the sum for dbias */
} Direct;

/* The offset of element (a, b, c, d) by the strides at [4]. */
__device__ static long long
place (const long long at[4], long long a, long long b, long long c, long long d)
{
  return a * at[0] + b * at[1] + c * at[2] + d * at[3];
}

/* y [n,k,p,q] = Σ over (c,r,s) of x [n,c,h,w]·filters [k,c,r,s] + bias [k], or NULL; one thread for each element of y.
 */
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    forward_kernel (float *y, const float *x, const float *filters, const float *bias, Geometry of)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (at >= of.n * of.k * of.p * of.q)
    return;
  long long index[3];
  const long long n = take_apart (of, at, index), k = index[0], p = index[1], q = index[2];
  const long long first = (long long)divide ((unsigned long long)k, of.by_filters) * of.channels;
  double sum = 0;

  for (long long c = 0; c < of.channels; c++)
    {
      float part = 0;

      for (long long r = 0; r < of.r; r++)
        for (long long s = 0; s < of.s; s++)
          {
            const long long h = p * of.stride[0] - of.top + r * of.dilation[0];
            const long long w = q * of.stride[1] - of.left + s * of.dilation[1];

            if (h >= 0 && h < of.h && w >= 0 && w < of.w)
              part += x[place (of.at_x, n, first + c, h, w)] * filters[((k * of.channels + c) * of.r + r) * of.s + s];
          }
      sum += part;
    }
  y[place (of.at_y, n, k, p, q)] = (float)(bias != NULL ? sum + bias[k] : sum);
}

/* dx [n,c,h,w] = Σ over (k,r,s) of g [n,k,p,q]·filters [k,c,r,s] for the (p,q) that read (h,w) at (r,s); one thread for
 * each element of dx. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) input_grad_kernel (float *dx, const float *g, const float *filters, Geometry of)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (at >= of.n * of.c * of.h * of.w)
    return;
  long long index[3];
  const long long n = take_apart (of, at, index), c = index[0], h = index[1], w = index[2];
  long long group = c;
  const long long channel = take_index (&group, of.by_channels), first = group * of.filters;
  double sum = 0;

  for (long long k = first; k < first + of.filters; k++)
    {
      float part = 0;

      for (long long r = 0; r < of.r; r++)
        for (long long s = 0; s < of.s; s++)
          {
            const long long down = h + of.top - r * of.dilation[0], across = w + of.left - s * of.dilation[1];
            long long p = down, q = across;

            if (down >= 0 && across >= 0 && take_index (&p, of.by_stride[0]) == 0
                && take_index (&q, of.by_stride[1]) == 0 && p < of.p && q < of.q)
              part += g[place (of.at_y, n, k, p, q)] * filters[((k * of.channels + channel) * of.r + r) * of.s + s];
          }
      sum += part;
    }
  dx[place (of.at_x, n, c, h, w)] = (float)sum;
}

/* dw [k,c,r,s] = Σ over (n,p,q) of g [n,k,p,q]·x [n,c,h,w], in f64 since the sum runs over the batch; one thread for
 * each element of dw. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) weight_grad_kernel (float *dw, const float *g, const float *x, Geometry of)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (at >= of.k * of.channels * of.r * of.s)
    return;
  long long index[3];
  const long long k = take_apart (of, at, index), c = index[0], r = index[1], s = index[2];
  const long long channel = (long long)divide ((unsigned long long)k, of.by_filters) * of.channels + c;
  double sum = 0;

  for (long long n = 0; n < of.n; n++)
    for (long long p = 0; p < of.p; p++)
      for (long long q = 0; q < of.q; q++)
        {
          const long long h = p * of.stride[0] - of.top + r * of.dilation[0];
          const long long w = q * of.stride[1] - of.left + s * of.dilation[1];

          if (h >= 0 && h < of.h && w >= 0 && w < of.w)
            sum += (double)g[place (of.at_y, n, k, p, q)] * x[place (of.at_x, n, channel, h, w)];
        }
  dw[at] = (float)sum;
}

/* ---- host ------------------------------------------------------------------------------ */

static LoomStatus
forward_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Direct *self = (Direct *)base;
  const Geometry &of = self->geometry;
  void *const y = buffers[self->has_bias ? 3 : 2], *const tail[] = { y, y };
  LoomStatus status;

  if (of.n * of.k * of.p * of.q == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  forward_kernel<<<blocks_for (of.n * of.k * of.p * of.q, CUDA_THREADS), CUDA_THREADS, 0,
                   cuda_stream (self->device, stream)>>> ((float *)y, (const float *)buffers[0],
                                                            (const float *)buffers[1],
                                                            self->has_bias ? (const float *)buffers[2] : NULL, of);
  status = cuda_launched ("a convolution", message);
  return status == LOOM_STATUS_OK && self->tail != NULL ? self->tail->run (self->tail, stream, tail, message) : status;
}

static LoomStatus
input_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Direct *self = (Direct *)base;
  const Geometry &of = self->geometry;

  if (of.n * of.c * of.h * of.w == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  input_grad_kernel<<<blocks_for (of.n * of.c * of.h * of.w, CUDA_THREADS), CUDA_THREADS, 0,
                      cuda_stream (self->device, stream)>>> ((float *)buffers[2], (const float *)buffers[0],
                                                               (const float *)buffers[1], of);
  return cuda_launched ("a convolution's input gradient", message);
}

static LoomStatus
weight_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Direct *self = (Direct *)base;
  const Geometry &of = self->geometry;
  const long long count = of.k * of.channels * of.r * of.s;
  LoomStatus status = LOOM_STATUS_OK;

  cuda_use (self->device);
  if (count != 0)
    {
      weight_grad_kernel<<<blocks_for (count, CUDA_THREADS), CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
          (float *)buffers[2], (const float *)buffers[0], (const float *)buffers[1], of);
      status = cuda_launched ("a convolution's weight gradient", message);
    }
  if (status == LOOM_STATUS_OK && self->tail != NULL)
    {
      void *const sum[] = { buffers[0], buffers[3], self->tail->scratch_bytes != 0 ? buffers[4] : NULL };

      status = self->tail->run (self->tail, stream, sum, message);
    }
  return status;
}

static void
direct_free (LoomKernel *base)
{
  Direct *self = (Direct *)base;

  if (self->tail != NULL)
    self->tail->free (self->tail);
  free (self);
}

/* Images may have any layout, the filter and its gradient are plain; no residual is added. */
bool
cuda_direct_takes (const LoomKernelSpec *spec)
{
  const LoomTensorDesc *w = strcmp (spec->primitive, "conv2d_weight_grad") == 0 ? &spec->out[0] : &spec->in[1];

  return spec->n_in <= LOOM_CONV_RESIDUAL && all_of_dtype (spec->in, spec->n_in, LOOM_F32)
         && all_of_dtype (spec->out, spec->n_out, LOOM_F32) && w->layout == LOOM_LAYOUT_PLAIN;
}

static LoomStatus
direct_new (LoomDevice *device, const LoomKernelSpec *spec, const LoomTensorDesc *x, const LoomTensorDesc *w,
            const LoomTensorDesc *y, const LoomTensorDesc *result, const char *name,
            LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Direct **out,
            LoomMessage *message)
{
  const LoomConv2dAttrs *attrs = (const LoomConv2dAttrs *)spec->attrs;
  int64_t at_x[LOOM_MAX_RANK], at_y[LOOM_MAX_RANK];
  Direct *self;

  if (!cuda_direct_takes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  if (x->rank != 4 || w->rank != 4 || y->rank != 4 || attrs->groups < 1)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s needs operands of rank 4", spec->primitive);
  self = kernel_struct<Direct> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->base.free = direct_free;
  self->has_bias = attrs->has_bias;
  self->geometry = { x->dim[0],
                     x->dim[1],
                     x->dim[2],
                     x->dim[3],
                     y->dim[1],
                     w->dim[2],
                     w->dim[3],
                     y->dim[2],
                     y->dim[3],
                     w->dim[1],
                     y->dim[1] / attrs->groups,
                     { attrs->stride[0], attrs->stride[1] },
                     attrs->pad[0],
                     attrs->pad[2],
                     { attrs->dilation[0], attrs->dilation[1] } };
  cuda_strides (x, at_x);
  cuda_strides (y, at_y);
  for (int i = 0; i < 4; i++)
    {
      self->geometry.at_x[i] = at_x[i];
      self->geometry.at_y[i] = at_y[i];
    }
  for (int i = 0; i < 3; i++)
    self->geometry.result[i] = long_divisor_of ((unsigned long long)result->dim[i + 1]);
  for (int i = 0; i < 2; i++)
    self->geometry.by_stride[i] = long_divisor_of ((unsigned long long)attrs->stride[i]);
  self->geometry.by_channels = long_divisor_of ((unsigned long long)self->geometry.channels);
  self->geometry.by_filters = long_divisor_of ((unsigned long long)self->geometry.filters);
  *out = self;
  return LOOM_STATUS_OK;
}

static LoomStatus
finish (Direct *self, LoomStatus status, LoomKernel **kernel)
{
  if (status != LOOM_STATUS_OK)
    {
      direct_free (&self->base);
      return status;
    }
  self->base.scratch_bytes = self->tail != NULL ? self->tail->scratch_bytes : 0;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_direct_conv2d_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomConv2dAttrs *attrs = (const LoomConv2dAttrs *)spec->attrs;
  Direct *self = NULL;
  LoomStatus status = direct_new (device, spec, &spec->in[0], &spec->in[1], &spec->out[0], &spec->out[0],
                                  "own direct convolution", forward_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  return finish (self, cuda_tail_new (device, &spec->out[0], NULL, attrs->act, &self->tail, message), kernel);
}

LoomStatus
cuda_direct_input_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Direct *self = NULL;
  LoomStatus status = direct_new (device, spec, &spec->out[0], &spec->in[1], &spec->in[0], &spec->out[0],
                                  "own direct input gradient", input_grad_run, &self, message);

  return status != LOOM_STATUS_OK ? status : finish (self, LOOM_STATUS_OK, kernel);
}

LoomStatus
cuda_direct_weight_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Direct *self = NULL;
  LoomStatus status = direct_new (device, spec, &spec->in[1], &spec->out[0], &spec->in[0], &spec->out[0],
                                  "own direct weight gradient", weight_grad_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  return finish (self,
                 self->has_bias ? cuda_channel_sum_new (device, &spec->in[0], &self->tail, message) : LOOM_STATUS_OK,
                 kernel);
}
