/* Pooling over windows of [N, C, H, W], each operand and result in a layout of its own.
 *
 * Every kernel gathers: a thread computes one element of what is written and visits the windows (or the places of its
 * window) that concern it in a fixed order. So the gradients of overlapping windows need no atomics. */
#include <math.h>

#include "kernels/cuda/cuda-kernels.cuh"

/* Strides of a rank 4 tensor along N, C, H, W. */
typedef struct
{
  long long stride[4];
} Strides;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  LoomPool2dAttrs attrs;
  long long n, c, h, w, p, q; /* x is [n,c,h,w], y [n,c,p,q] */
  Strides x, y, indices;
  bool wide; /* places as i32 */
} Pool;

/* The part of Pool that a kernel needs, without host pointers. */
typedef struct
{
  LoomPool2dAttrs attrs;
  long long n, c, h, w, p, q;
  Strides x, y, indices;
} Window;

/* Where this thread's element stands in [n, c, rows, columns], and in `from` the image and channel of what concerns it;
 * false behind the last element. */
__device__ static bool
locate (const Window &window, long long rows, long long columns, long long at[4], long long from[4])
{
  const long long i = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (i >= window.n * window.c * rows * columns)
    return false;
  at[3] = i % columns;
  at[2] = i / columns % rows;
  from[1] = at[1] = i / columns / rows % window.c;
  from[0] = at[0] = i / columns / rows / window.c;
  return true;
}

__device__ static long long
place (const Strides &strides, const long long at[4])
{
  return at[0] * strides.stride[0] + at[1] * strides.stride[1] + at[2] * strides.stride[2] + at[3] * strides.stride[3];
}

/* x [N,C,H,W]; y and where [N,C,P,Q]; a thread an element of y, over its window's kernel[0]×kernel[1] places. */
template <typename W>
__global__ void
__launch_bounds__ (CUDA_THREADS) max_pool_kernel (float *y, W *indices, const float *x, Window window)
{
  const LoomPool2dAttrs &a = window.attrs;
  long long at[4], from[4];
  float best = -INFINITY;
  int winner = -1;

  if (!locate (window, window.p, window.q, at, from))
    return;
  for (int r = 0; r < a.kernel[0]; r++)
    for (int s = 0; s < a.kernel[1]; s++)
      {
        from[2] = at[2] * a.stride[0] - a.pad[0] + r * a.dilation[0];
        from[3] = at[3] * a.stride[1] - a.pad[1] + s * a.dilation[1];
        if (from[2] < 0 || from[2] >= window.h || from[3] < 0 || from[3] >= window.w)
          continue;
        const float value = x[place (window.x, from)];
        /* The last NaN of a window wins, as in PyTorch. */
        if (winner < 0 || value > best || value != value)
          {
            best = value;
            winner = r * (int)a.kernel[1] + s;
          }
      }
  y[place (window.y, at)] = best;
  indices[place (window.indices, at)] = (W)(winner < 0 ? 0 : winner);
}

/* The output row whose window has input row `row` at its place r, or -1. */
__device__ static long long
covering (long long row, int r, long long stride, long long pad, long long dilation, long long rows)
{
  const long long shifted = row + pad - r * dilation;

  if (shifted < 0 || shifted % stride != 0 || shifted / stride >= rows)
    return -1;
  return shifted / stride;
}

/* dx [N,C,H,W]; g and indices [N,C,P,Q]; a thread an element of dx, over the windows that cover it. */
template <typename W>
__global__ void
__launch_bounds__ (CUDA_THREADS) max_pool_grad_kernel (float *dx, const float *g, const W *indices, Window window)
{
  const LoomPool2dAttrs &a = window.attrs;
  long long at[4], from[4];
  float sum = 0;

  if (!locate (window, window.h, window.w, at, from))
    return;
  for (int r = 0; r < a.kernel[0]; r++)
    {
      from[2] = covering (at[2], r, a.stride[0], a.pad[0], a.dilation[0], window.p);
      for (int s = 0; s < a.kernel[1] && from[2] >= 0; s++)
        {
          from[3] = covering (at[3], s, a.stride[1], a.pad[1], a.dilation[1], window.q);
          if (from[3] >= 0 && (int)indices[place (window.indices, from)] == r * (int)a.kernel[1] + s)
            sum += g[place (window.y, from)];
        }
    }
  dx[place (window.x, at)] = sum;
}

/* The divisor of an average, by PyTorch's rule: padding counts up to its edge if at all,
 * what hangs over beyond it never. */
__device__ static float
divisor (const Window &window, long long p, long long q)
{
  const LoomPool2dAttrs &a = window.attrs;
  long long top = p * a.stride[0] - a.pad[0], left = q * a.stride[1] - a.pad[1];
  long long bottom = top + a.kernel[0], right = left + a.kernel[1];

  if (a.divisor != 0)
    return (float)a.divisor;
  if (a.count_include_pad)
    {
      bottom = bottom < window.h + a.pad[0] ? bottom : window.h + a.pad[0];
      right = right < window.w + a.pad[1] ? right : window.w + a.pad[1];
    }
  else
    {
      bottom = bottom < window.h ? bottom : window.h;
      right = right < window.w ? right : window.w;
      top = top > 0 ? top : 0;
      left = left > 0 ? left : 0;
    }
  return (float)((bottom - top) * (right - left));
}

/* x [N,C,H,W], y [N,C,P,Q]; a thread an element of y, over its window's places. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) avg_pool_kernel (float *y, const float *x, Window window)
{
  const LoomPool2dAttrs &a = window.attrs;
  long long at[4], from[4];
  float sum = 0;

  if (!locate (window, window.p, window.q, at, from))
    return;
  for (int r = 0; r < a.kernel[0]; r++)
    for (int s = 0; s < a.kernel[1]; s++)
      {
        from[2] = at[2] * a.stride[0] - a.pad[0] + r;
        from[3] = at[3] * a.stride[1] - a.pad[1] + s;
        if (from[2] >= 0 && from[2] < window.h && from[3] >= 0 && from[3] < window.w)
          sum += x[place (window.x, from)];
      }
  y[place (window.y, at)] = sum / divisor (window, at[2], at[3]);
}

/* dx [N,C,H,W], g [N,C,P,Q]; a thread an element of dx, over the windows that cover it. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) avg_pool_grad_kernel (float *dx, const float *g, Window window)
{
  const LoomPool2dAttrs &a = window.attrs;
  long long at[4], from[4];
  float sum = 0;

  if (!locate (window, window.h, window.w, at, from))
    return;
  for (int r = 0; r < a.kernel[0]; r++)
    {
      from[2] = covering (at[2], r, a.stride[0], a.pad[0], 1, window.p);
      for (int s = 0; s < a.kernel[1] && from[2] >= 0; s++)
        {
          from[3] = covering (at[3], s, a.stride[1], a.pad[1], 1, window.q);
          if (from[3] >= 0)
            sum += g[place (window.y, from)] / divisor (window, from[2], from[3]);
        }
    }
  dx[place (window.x, at)] = sum;
}

/* ---- host ---------------------------------------------------------------------------------- */

typedef struct
{
  unsigned int blocks;
  cudaStream_t stream;
  Window window;
} Launch;

/* A thread for each element of y, or of dx where back is true; false when there is none to compute. */
static bool
prepare (const Pool *self, LoomStream *stream, bool back, Launch *launch)
{
  const long long count = self->n * self->c * (back ? self->h * self->w : self->p * self->q);

  if (count == 0)
    return false;
  cuda_use (self->device);
  launch->blocks = blocks_for (count, CUDA_THREADS);
  launch->stream = cuda_stream (self->device, stream);
  launch->window = { self->attrs, self->n, self->c, self->h, self->w, self->p, self->q, self->x, self->y, self->indices };
  return true;
}

static LoomStatus
max_pool_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Pool *self = (const Pool *)base;
  const float *x = (const float *)buffers[0];
  float *y = (float *)buffers[1];
  Launch to;

  if (!prepare (self, stream, false, &to))
    return LOOM_STATUS_OK;
  if (self->wide)
    max_pool_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (y, (int *)buffers[2], x, to.window);
  else
    max_pool_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (y, (unsigned char *)buffers[2], x, to.window);
  return cuda_launched ("max_pool2d", message);
}

static LoomStatus
max_pool_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Pool *self = (const Pool *)base;
  const float *g = (const float *)buffers[0];
  const void *indices = buffers[1];
  float *dx = (float *)buffers[2];
  Launch to;

  if (!prepare (self, stream, true, &to))
    return LOOM_STATUS_OK;
  if (self->wide)
    max_pool_grad_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (dx, g, (const int *)indices, to.window);
  else
    max_pool_grad_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (dx, g, (const unsigned char *)indices, to.window);
  return cuda_launched ("max_pool2d_grad", message);
}

static LoomStatus
avg_pool_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Launch to;

  if (!prepare ((const Pool *)base, stream, false, &to))
    return LOOM_STATUS_OK;
  avg_pool_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> ((float *)buffers[1], (const float *)buffers[0],
                                                              to.window);
  return cuda_launched ("avg_pool2d", message);
}

static LoomStatus
avg_pool_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Launch to;

  if (!prepare ((const Pool *)base, stream, true, &to))
    return LOOM_STATUS_OK;
  avg_pool_grad_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> ((float *)buffers[1], (const float *)buffers[0],
                                                                   to.window);
  return cuda_launched ("avg_pool2d_grad", message);
}

static Strides
strides_of (const LoomTensorDesc *desc)
{
  int64_t all[LOOM_MAX_RANK];
  Strides strides;

  cuda_strides (desc, all);
  for (int i = 0; i < 4; i++)
    strides.stride[i] = all[i];
  return strides;
}

/* where is NULL for averages. */
static LoomStatus
pool_new (LoomDevice *device, const LoomKernelSpec *spec, const LoomTensorDesc *x, const LoomTensorDesc *y,
          const LoomTensorDesc *indices, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), LoomKernel **kernel,
          LoomMessage *message)
{
  Pool *self;

  if (x->dtype != LOOM_F32 || y->dtype != LOOM_F32
      || (indices != NULL && indices->dtype != LOOM_U8 && indices->dtype != LOOM_I32))
    return LOOM_STATUS_UNSUPPORTED;
  if (x->rank != 4 || y->rank != 4 || x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1]
      || (indices != NULL && !cuda_same_shape (indices, y)))
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s needs operands of rank 4 that agree in N and C",
                      spec->primitive);
  self = kernel_struct<Pool> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->attrs = *(const LoomPool2dAttrs *)spec->attrs;
  self->n = x->dim[0];
  self->c = x->dim[1];
  self->h = x->dim[2];
  self->w = x->dim[3];
  self->p = y->dim[2];
  self->q = y->dim[3];
  self->x = strides_of (x);
  self->y = strides_of (y);
  if (indices != NULL)
    {
      self->indices = strides_of (indices);
      self->wide = indices->dtype == LOOM_I32;
    }
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_max_pool2d_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->in[0], &spec->out[0], &spec->out[1], "own max_pool2d", max_pool_run, kernel,
                   message);
}

LoomStatus
cuda_max_pool2d_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->out[0], &spec->in[0], &spec->in[1], "own max_pool2d_grad", max_pool_grad_run,
                   kernel, message);
}

LoomStatus
cuda_avg_pool2d_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->in[0], &spec->out[0], NULL, "own avg_pool2d", avg_pool_run, kernel, message);
}

LoomStatus
cuda_avg_pool2d_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->out[0], &spec->in[0], NULL, "own avg_pool2d_grad", avg_pool_grad_run, kernel,
                   message);
}
