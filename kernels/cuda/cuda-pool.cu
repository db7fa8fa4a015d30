/* Pooling over windows of [N,C,H,W], each operand and result in a layout of its own, f32 or 16-bit floats that are
 * summed in f32.
 *
 * Every kernel gathers: a thread computes one element of the result and visits its windows (or the positions of its
 * window) in a fixed order. So the gradients of overlapping windows need no atomics. Neighbouring threads write
 * neighbouring elements. */
#include <math.h>

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

/* Strides of a rank 4 tensor along N, C, H, W. */
typedef struct
{
  int stride[4];
} Strides;

/* Sizes of the result, from the fastest axis on, and the numbers of those axes among N, C, H, W. */
typedef struct
{
  int axis[3];
  unsigned int count;
  Divisor size[3];
} Order;

/* x [n,c,h,w], y [n,c,p,q]; element counts are below 2³¹. */
typedef struct
{
  int kernel[2], stride[2], pad[2], dilation[2];
  int h, w, p, q;
  bool count_include_pad;
  float divisor; /* 0: the window's size */
  Divisor by_stride[2], by_dilation[2];
  Strides x, y, indices;
  Order order; /* of the result */
} Window;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Window window;
  LoomDType dtype;
  bool wide; /* indices are i32, else u8 */
} Pool;

/* The index of this thread's element in [n,c,rows,columns], and in `from` its image and channel; false after the last
 * element. */
__device__ static bool
locate (const Window &window, int at[4], int from[4])
{
  unsigned int rest = blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (rest >= window.order.count)
    return false;
  for (int i = 0; i < 3; i++)
    {
      const unsigned int above = divide (rest, window.order.size[i]);
      const int place = (int)(rest - above * window.order.size[i].by);

      /* Registers have no addresses, so the axis is searched for. */
      for (int axis = 1; axis < 4; axis++)
        if (window.order.axis[i] == axis)
          at[axis] = place;
      rest = above;
    }
  from[0] = at[0] = (int)rest;
  from[1] = at[1];
  return true;
}

/* The offset of element at [4] of a tensor [N,C,H,W]. */
__device__ static int
place (const Strides &strides, const int at[4])
{
  return at[0] * strides.stride[0] + at[1] * strides.stride[1] + at[2] * strides.stride[2] + at[3] * strides.stride[3];
}

/* x [N,C,H,W]; y and indices [N,C,P,Q]; one thread for each element of y, over its window's kernel[0]×kernel[1]
 * positions. */
template <typename T, typename W>
__global__ void
__launch_bounds__ (CUDA_THREADS) max_pool_kernel (T *y, W *indices, const T *__restrict__ x, Window window)
{
  int at[4], from[4], winner = -1;
  float best = -INFINITY;

  if (!locate (window, at, from))
    return;
  for (int r = 0; r < window.kernel[0]; r++)
    {
      from[2] = at[2] * window.stride[0] - window.pad[0] + r * window.dilation[0];
      if (from[2] < 0 || from[2] >= window.h)
        continue;
      for (int s = 0; s < window.kernel[1]; s++)
        {
          from[3] = at[3] * window.stride[1] - window.pad[1] + s * window.dilation[1];
          if (from[3] < 0 || from[3] >= window.w)
            continue;
          const float value = load (x[place (window.x, from)]);
          /* The last NaN of a window wins, as in PyTorch. */
          if (winner < 0 || value > best || value != value)
            {
              best = value;
              winner = r * window.kernel[1] + s;
            }
        }
    }
  store (&y[place (window.y, at)], best);
  indices[place (window.indices, at)] = (W)(winner < 0 ? 0 : winner);
}

/* The windows along an axis (0: rows) that cover a position: first … last, of `count`. */
typedef struct
{
  int first, last;
} Span;

__device__ static Span
covering (const Window &window, int axis, int at, int count)
{
  const int shifted = at + window.pad[axis], reach = shifted - (window.kernel[axis] - 1) * window.dilation[axis];
  Span span;

  span.first = reach <= 0 ? 0 : (int)divide (reach + window.stride[axis] - 1, window.by_stride[axis]);
  span.last = (int)divide (shifted, window.by_stride[axis]);
  span.last = span.last < count ? span.last : count - 1;
  return span;
}

/* The tap of the window at `from` that reads `at`, or -1. */
__device__ static int
tap (const Window &window, int axis, int at, int from)
{
  const int distance = at + window.pad[axis] - from * window.stride[axis];
  const int taps = (int)divide (distance, window.by_dilation[axis]);

  return taps * window.dilation[axis] == distance ? taps : -1;
}

/* dx [N,C,H,W]; g and indices [N,C,P,Q]; one thread for each element of dx, over the windows that cover it. */
template <typename T, typename W>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    max_pool_grad_kernel (T *dx, const T *__restrict__ g, const W *__restrict__ indices, Window window)
{
  int at[4], from[4];
  float sum = 0;

  if (!locate (window, at, from))
    return;
  const Span rows = covering (window, 0, at[2], window.p), columns = covering (window, 1, at[3], window.q);

  for (from[2] = rows.first; from[2] <= rows.last; from[2]++)
    {
      const int r = tap (window, 0, at[2], from[2]);

      for (from[3] = columns.first; from[3] <= columns.last && r >= 0; from[3]++)
        {
          const int s = tap (window, 1, at[3], from[3]);

          if (s >= 0 && (int)indices[place (window.indices, from)] == r * window.kernel[1] + s)
            sum += load (g[place (window.y, from)]);
        }
    }
  store (&dx[place (window.x, at)], sum);
}

/* The divisor of an average, by PyTorch's rule: padding counts up to its edge if at all, positions beyond it never. */
__device__ static float
divisor (const Window &window, int p, int q)
{
  int top = p * window.stride[0] - window.pad[0], left = q * window.stride[1] - window.pad[1];
  int bottom = top + window.kernel[0], right = left + window.kernel[1];

  if (window.divisor != 0)
    return window.divisor;
  if (window.count_include_pad)
    {
      bottom = bottom < window.h + window.pad[0] ? bottom : window.h + window.pad[0];
      right = right < window.w + window.pad[1] ? right : window.w + window.pad[1];
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

/* x [N,C,H,W], y [N,C,P,Q]; one thread for each element of y, over its window's positions. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) avg_pool_kernel (T *y, const T *__restrict__ x, Window window)
{
  int at[4], from[4];
  float sum = 0;

  if (!locate (window, at, from))
    return;
  for (int r = 0; r < window.kernel[0]; r++)
    for (int s = 0; s < window.kernel[1]; s++)
      {
        from[2] = at[2] * window.stride[0] - window.pad[0] + r;
        from[3] = at[3] * window.stride[1] - window.pad[1] + s;
        if (from[2] >= 0 && from[2] < window.h && from[3] >= 0 && from[3] < window.w)
          sum += load (x[place (window.x, from)]);
      }
  store (&y[place (window.y, at)], sum / divisor (window, at[2], at[3]));
}

/* dx [N,C,H,W], g [N,C,P,Q]; one thread for each element of dx, over the windows that cover it. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) avg_pool_grad_kernel (T *dx, const T *__restrict__ g, Window window)
{
  int at[4], from[4];
  float sum = 0;

  if (!locate (window, at, from))
    return;
  const Span rows = covering (window, 0, at[2], window.p), columns = covering (window, 1, at[3], window.q);

  for (from[2] = rows.first; from[2] <= rows.last; from[2]++)
    for (from[3] = columns.first; from[3] <= columns.last; from[3]++)
      sum += load (g[place (window.y, from)]) / divisor (window, from[2], from[3]);
  store (&dx[place (window.x, at)], sum);
}

/* ---- host ---------------------------------------------------------------------------------- */

typedef struct
{
  unsigned int blocks;
  cudaStream_t stream;
} Launch;

/* One thread for each element of the result; false if it is empty. */
static bool
prepare (const Pool *self, LoomStream *stream, Launch *launch)
{
  if (self->window.order.count == 0)
    return false;
  cuda_use (self->device);
  launch->blocks = blocks_for (self->window.order.count, CUDA_THREADS);
  launch->stream = cuda_stream (self->device, stream);
  return true;
}

static LoomStatus
max_pool_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Pool *self = (const Pool *)base;
  Launch to;

  if (!prepare (self, stream, &to))
    return LOOM_STATUS_OK;
  with_float (self->dtype, [&] (auto element) {
    typedef decltype (element) T;
    const T *x = (const T *)buffers[0];
    T *y = (T *)buffers[1];

    /* clang-format off */
    if (self->wide)
      max_pool_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (y, (int *)buffers[2], x, self->window);
    else
      max_pool_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (y, (unsigned char *)buffers[2], x, self->window);
    /* clang-format on */
  });
  return cuda_launched ("max_pool2d", message);
}

static LoomStatus
max_pool_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Pool *self = (const Pool *)base;
  Launch to;

  if (!prepare (self, stream, &to))
    return LOOM_STATUS_OK;
  with_float (self->dtype, [&] (auto element) {
    typedef decltype (element) T;
    const T *g = (const T *)buffers[0];
    const int *wide = (const int *)buffers[1];
    const unsigned char *narrow = (const unsigned char *)buffers[1];
    T *dx = (T *)buffers[2];

    /* clang-format off */
    if (self->wide)
      max_pool_grad_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (dx, g, wide, self->window);
    else
      max_pool_grad_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (dx, g, narrow, self->window);
    /* clang-format on */
  });
  return cuda_launched ("max_pool2d_grad", message);
}

static LoomStatus
avg_pool_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Pool *self = (const Pool *)base;
  Launch to;

  if (!prepare (self, stream, &to))
    return LOOM_STATUS_OK;
  with_float (self->dtype, [&] (auto element) {
    typedef decltype (element) T;
    const T *x = (const T *)buffers[0];
    T *y = (T *)buffers[1];

    /* clang-format off */
    avg_pool_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (y, x, self->window);
    /* clang-format on */
  });
  return cuda_launched ("avg_pool2d", message);
}

static LoomStatus
avg_pool_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Pool *self = (const Pool *)base;
  Launch to;

  if (!prepare (self, stream, &to))
    return LOOM_STATUS_OK;
  with_float (self->dtype, [&] (auto element) {
    typedef decltype (element) T;
    const T *g = (const T *)buffers[0];
    T *dx = (T *)buffers[1];

    /* clang-format off */
    avg_pool_grad_kernel<<<to.blocks, CUDA_THREADS, 0, to.stream>>> (dx, g, self->window);
    /* clang-format on */
  });
  return cuda_launched ("avg_pool2d_grad", message);
}

static Strides
strides_of (const LoomTensorDesc *desc)
{
  int64_t all[LOOM_MAX_RANK];
  Strides strides;

  cuda_strides (desc, all);
  for (int i = 0; i < 4; i++)
    strides.stride[i] = (int)all[i];
  return strides;
}

static Order
order_of (const LoomTensorDesc *desc)
{
  static const int plain[3] = { 3, 2, 1 }, nhwc[3] = { 1, 3, 2 };
  Order order;

  order.count = (unsigned int)loom_desc_count (desc);
  for (int i = 0; i < 3; i++)
    {
      order.axis[i] = (desc->layout == LOOM_LAYOUT_NHWC ? nhwc : plain)[i];
      order.size[i] = divisor_of ((unsigned long long)desc->dim[order.axis[i]]);
    }
  return order;
}

/* indices is NULL for averages; written is x or y. */
static LoomStatus
pool_new (LoomDevice *device, const LoomKernelSpec *spec, const LoomTensorDesc *x, const LoomTensorDesc *y,
          const LoomTensorDesc *indices, const LoomTensorDesc *written, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), LoomKernel **kernel,
          LoomMessage *message)
{
  const LoomPool2dAttrs *attrs = (const LoomPool2dAttrs *)spec->attrs;
  Pool *self;

  if ((x->dtype != LOOM_F32 && x->dtype != LOOM_BF16 && x->dtype != LOOM_F16) || y->dtype != x->dtype
      || (indices != NULL && indices->dtype != LOOM_U8 && indices->dtype != LOOM_I32))
    return LOOM_STATUS_UNSUPPORTED;
  if (x->rank != 4 || y->rank != 4 || x->dim[0] != y->dim[0] || x->dim[1] != y->dim[1]
      || (indices != NULL && !cuda_same_shape (indices, y)))
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s needs operands of rank 4 that agree in N and C",
                      spec->primitive);
  if (loom_desc_count (x) > INT32_MAX || loom_desc_count (y) > INT32_MAX)
    return cuda_fail (message, LOOM_STATUS_UNSUPPORTED, "%s has 2³¹ elements or more; use a smaller batch",
                      spec->primitive);
  self = kernel_struct<Pool> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < 2; i++)
    {
      self->window.kernel[i] = (int)attrs->kernel[i];
      self->window.stride[i] = (int)attrs->stride[i];
      self->window.pad[i] = (int)attrs->pad[i];
      self->window.dilation[i] = indices != NULL ? (int)attrs->dilation[i] : 1;
      self->window.by_stride[i] = divisor_of ((unsigned long long)attrs->stride[i]);
      self->window.by_dilation[i] = divisor_of ((unsigned long long)self->window.dilation[i]);
    }
  self->window.count_include_pad = attrs->count_include_pad;
  self->window.divisor = (float)attrs->divisor;
  self->window.h = (int)x->dim[2];
  self->window.w = (int)x->dim[3];
  self->window.p = (int)y->dim[2];
  self->window.q = (int)y->dim[3];
  self->window.x = strides_of (x);
  self->window.y = strides_of (y);
  self->window.order = order_of (written);
  self->dtype = x->dtype;
  if (indices != NULL)
    {
      self->window.indices = strides_of (indices);
      self->wide = indices->dtype == LOOM_I32;
    }
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_max_pool2d_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->in[0], &spec->out[0], &spec->out[1], &spec->out[0], "own max_pool2d",
                   max_pool_run, kernel, message);
}

LoomStatus
cuda_max_pool2d_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->out[0], &spec->in[0], &spec->in[1], &spec->out[0], "own max_pool2d_grad",
                   max_pool_grad_run, kernel, message);
}

LoomStatus
cuda_avg_pool2d_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->in[0], &spec->out[0], NULL, &spec->out[0], "own avg_pool2d", avg_pool_run,
                   kernel, message);
}

LoomStatus
cuda_avg_pool2d_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return pool_new (device, spec, &spec->out[0], &spec->in[0], NULL, &spec->out[0], "own avg_pool2d_grad",
                   avg_pool_grad_run, kernel, message);
}
