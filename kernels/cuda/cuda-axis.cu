/* gather, scatter and cumsum along an axis.
 *
 * All are deterministic without atomics: a scatter or cumsum assigns each lane (all elements that differ only along the
 * axis) to one thread, which processes it in order. */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

/* The shape of the index (or of x), and the strides by which its elements address the other tensor. */
typedef struct
{
  int rank, axis;
  LongDivisor dim[LOOM_MAX_RANK], by_n, by_inner;
  long long stride[LOOM_MAX_RANK];
  long long outer, n, inner, limit, step;
} AxisIndex;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  AxisIndex places;
  long long bytes; /* of the base of a scatter */
  LoomDType dtype;
  size_t element;
  bool narrow, exclusive, reverse;
  LoomScatterMode mode;
} AxisKernel;

/* Offset in the tensor of the lane through (outer o, inner j). */
__device__ static long long
lane_start (const AxisIndex &p, long long o, long long j)
{
  long long at = 0;

  for (int d = p.rank - 1; d > p.axis; d--)
    at += take_index (&j, p.dim[d]) * p.stride[d];
  for (int d = p.axis - 1; d >= 0; d--)
    at += take_index (&o, p.dim[d]) * p.stride[d];
  return at;
}

/* y and index [outer,n,inner], x is addressed through p's strides; one thread for each element of y. */
template <typename T, typename I>
__global__ void
__launch_bounds__ (CUDA_THREADS) gather_kernel (T *y, const T *x, const I *index, AxisIndex p, CudaRaise raise)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (at >= p.outer * p.n * p.inner)
    return;
  const long long i = index[at];
  if (i < 0 || i >= p.limit)
    {
      y[at] = 0;
      raise_fault (raise, CUDA_FAULT_INDEX, i, p.limit);
    }
  else
    {
      long long o = at;
      const long long j = take_index (&o, p.by_inner);

      take_index (&o, p.by_n);
      y[at] = x[lane_start (p, o, j) + i * p.step];
    }
}

template <LoomScatterMode MODE, typename T>
__device__ static T
combine (T old, T fresh)
{
  if (MODE == LOOM_SCATTER_ADD)
    return old + fresh;
  if (MODE == LOOM_SCATTER_MUL)
    return old * fresh;
  if (MODE == LOOM_SCATTER_MAX)
    return fresh > old || fresh != fresh ? fresh : old;
  if (MODE == LOOM_SCATTER_MIN)
    return fresh < old || fresh != fresh ? fresh : old;
  return fresh;
}

/* src and index [outer,n,inner], y is addressed through p's strides; one thread for each lane (outer, inner). */
template <LoomScatterMode MODE, typename T, typename I>
__global__ void
__launch_bounds__ (CUDA_THREADS) scatter_kernel (T *y, const T *src, const I *index, AxisIndex p, CudaRaise raise)
{
  const long long lane = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (lane >= p.outer * p.inner)
    return;
  long long o = lane;
  const long long j = take_index (&o, p.by_inner), start = lane_start (p, o, j);
  for (long long i = 0; i < p.n; i++)
    {
      const long long e = (o * p.n + i) * p.inner + j, to = index[e];

      if (to < 0 || to >= p.limit)
        raise_fault (raise, CUDA_FAULT_INDEX, to, p.limit);
      else
        y[start + to * p.step] = combine<MODE, T> (y[start + to * p.step], src[e]);
    }
}

/* x and y [outer,n,inner], summed along n in the type S; one thread for each lane (outer, inner). */
template <typename T, typename S>
__global__ void
__launch_bounds__ (CUDA_THREADS) cumsum_kernel (T *y, const T *x, AxisIndex p, bool exclusive, bool reverse)
{
  const long long lane = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  S sum = 0;

  if (lane >= p.outer * p.inner)
    return;
  long long o = lane;
  const long long j = take_index (&o, p.by_inner);
  for (long long k = 0; k < p.n; k++)
    {
      const long long i = reverse ? p.n - 1 - k : k;
      const long long at = (o * p.n + i) * p.inner + j;
      const S before = sum;

      sum += x[at];
      y[at] = (T)(exclusive ? before : sum);
    }
}

/* ---- host ------------------------------------------------------------------------------ */

template <typename T>
static void
launch_gather (const AxisKernel *self, LoomStream *stream, void *const *b)
{
  const unsigned int blocks = blocks_for (self->places.outer * self->places.n * self->places.inner, CUDA_THREADS);
  const CudaRaise raise = cuda_raise (self->device, stream, &self->base, NULL);
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->narrow)
    gather_kernel<T, int><<<blocks, CUDA_THREADS, 0, handle>>> (
        (T *)b[2], (const T *)b[0], (const int *)b[1], self->places, raise);
  else
    gather_kernel<T, long long><<<blocks, CUDA_THREADS, 0, handle>>> (
        (T *)b[2], (const T *)b[0], (const long long *)b[1], self->places, raise);
}

static LoomStatus
gather_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  AxisKernel *self = (AxisKernel *)base;

  if (self->places.outer * self->places.n * self->places.inner == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_element (self->element, [&] (auto bits) { launch_gather<decltype (bits)> (self, stream, buffers); });
  return cuda_launched ("gather", message);
}

template <LoomScatterMode MODE, typename T>
static void
launch_scatter (const AxisKernel *self, LoomStream *stream, void *const *b)
{
  const unsigned int blocks = blocks_for (self->places.outer * self->places.inner, CUDA_THREADS);
  const CudaRaise raise = cuda_raise (self->device, stream, &self->base, NULL);
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->narrow)
    scatter_kernel<MODE, T, int><<<blocks, CUDA_THREADS, 0, handle>>> (
        (T *)b[3], (const T *)b[2], (const int *)b[1], self->places, raise);
  else
    scatter_kernel<MODE, T, long long><<<blocks, CUDA_THREADS, 0, handle>>> (
        (T *)b[3], (const T *)b[2], (const long long *)b[1], self->places, raise);
}

template <typename T>
static void
launch_combine (const AxisKernel *self, LoomStream *stream, void *const *b)
{
  if (self->mode == LOOM_SCATTER_ADD)
    launch_scatter<LOOM_SCATTER_ADD, T> (self, stream, b);
  else if (self->mode == LOOM_SCATTER_MUL)
    launch_scatter<LOOM_SCATTER_MUL, T> (self, stream, b);
  else if (self->mode == LOOM_SCATTER_MAX)
    launch_scatter<LOOM_SCATTER_MAX, T> (self, stream, b);
  else
    launch_scatter<LOOM_SCATTER_MIN, T> (self, stream, b);
}

static LoomStatus
scatter_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  AxisKernel *self = (AxisKernel *)base;
  LoomStatus status = LOOM_STATUS_OK;

  cuda_use (self->device);
  if (buffers[3] != buffers[0] && self->bytes > 0)
    status = cuda_check (cudaMemcpyAsync (buffers[3], buffers[0], (size_t)self->bytes, cudaMemcpyDeviceToDevice,
                                          cuda_stream (self->device, stream)),
                         "copying the base of a scatter", message);
  if (status != LOOM_STATUS_OK)
    return status;
  if (self->places.outer * self->places.n * self->places.inner == 0)
    return LOOM_STATUS_OK;
  if (self->mode == LOOM_SCATTER_REPLACE && self->element == 1)
    launch_scatter<LOOM_SCATTER_REPLACE, unsigned char> (self, stream, buffers);
  else if (self->mode == LOOM_SCATTER_REPLACE && self->element == 2)
    launch_scatter<LOOM_SCATTER_REPLACE, unsigned short> (self, stream, buffers);
  else if (self->mode == LOOM_SCATTER_REPLACE && self->element == 4)
    launch_scatter<LOOM_SCATTER_REPLACE, unsigned int> (self, stream, buffers);
  else if (self->mode == LOOM_SCATTER_REPLACE)
    launch_scatter<LOOM_SCATTER_REPLACE, unsigned long long> (self, stream, buffers);
  else if (self->dtype == LOOM_F32)
    launch_combine<float> (self, stream, buffers);
  else if (self->dtype == LOOM_I64)
    launch_combine<long long> (self, stream, buffers);
  else
    launch_combine<int> (self, stream, buffers);
  return cuda_launched ("scatter", message);
}

template <typename T, typename S>
static void
launch_cumsum (const AxisKernel *self, cudaStream_t stream, void *const *b)
{
  const unsigned int blocks = blocks_for (self->places.outer * self->places.inner, CUDA_THREADS);

  cumsum_kernel<T, S><<<blocks, CUDA_THREADS, 0, stream>>> ((T *)b[1], (const T *)b[0], self->places, self->exclusive,
                                                            self->reverse);
}

static LoomStatus
cumsum_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  AxisKernel *self = (AxisKernel *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->places.outer * self->places.n * self->places.inner == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_F32)
    launch_cumsum<float, double> (self, handle, buffers);
  else if (self->dtype == LOOM_I64)
    launch_cumsum<long long, long long> (self, handle, buffers);
  else
    launch_cumsum<int, long long> (self, handle, buffers);
  return cuda_launched ("cumsum", message);
}

/* index has the shape that is iterated over; x is the tensor that it addresses. */
static AxisKernel *
axis_kernel_new (LoomDevice *device, const LoomTensorDesc *index, const LoomTensorDesc *x, int axis, const char *name,
           LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), LoomMessage *message)
{
  AxisKernel *self = kernel_struct<AxisKernel> (device, name, run, message);
  long long stride = 1;

  if (self == NULL)
    return NULL;
  self->places.rank = index->rank;
  self->places.axis = axis;
  for (int d = index->rank - 1; d >= 0; d--)
    {
      self->places.dim[d] = long_divisor_of ((unsigned long long)index->dim[d]);
      self->places.stride[d] = stride;
      stride *= x->dim[d];
    }
  self->places.outer = cuda_extent (index, 0, axis);
  self->places.n = index->dim[axis];
  self->places.inner = cuda_extent (index, axis + 1, index->rank);
  self->places.by_n = long_divisor_of ((unsigned long long)self->places.n);
  self->places.by_inner = long_divisor_of ((unsigned long long)self->places.inner);
  self->places.limit = x->dim[axis];
  self->places.step = self->places.stride[axis];
  self->dtype = x->dtype;
  self->element = loom_dtype_size (x->dtype);
  self->bytes = (long long)loom_desc_bytes (x);
  return self;
}

static bool
is_index (const LoomTensorDesc *d)
{
  return d->dtype == LOOM_I64 || d->dtype == LOOM_I32;
}

LoomStatus
cuda_gather_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomGatherAttrs *attrs = (const LoomGatherAttrs *)spec->attrs;
  AxisKernel *self;

  if (!cuda_all_plain (spec) || !is_index (&spec->in[1]) || spec->in[0].dtype != spec->out[0].dtype)
    return LOOM_STATUS_UNSUPPORTED;
  self = axis_kernel_new (device, &spec->in[1], &spec->in[0], attrs->axis, "own gather", gather_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->narrow = spec->in[1].dtype == LOOM_I32;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_scatter_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomScatterAttrs *attrs = (const LoomScatterAttrs *)spec->attrs;
  const LoomDType dtype = spec->out[0].dtype;
  AxisKernel *self;

  if (!cuda_all_plain (spec) || !is_index (&spec->in[1]) || spec->in[0].dtype != dtype || spec->in[2].dtype != dtype
      || (attrs->mode != LOOM_SCATTER_REPLACE && dtype != LOOM_F32 && dtype != LOOM_I64 && dtype != LOOM_I32))
    return LOOM_STATUS_UNSUPPORTED;
  self = axis_kernel_new (device, &spec->in[1], &spec->out[0], attrs->axis, "own scatter", scatter_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->narrow = spec->in[1].dtype == LOOM_I32;
  self->mode = attrs->mode;
  self->base.inplace[0] = 1;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_cumsum_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomCumsumAttrs *attrs = (const LoomCumsumAttrs *)spec->attrs;
  const LoomDType dtype = spec->out[0].dtype;
  AxisKernel *self;

  if (!cuda_all_plain (spec) || spec->in[0].dtype != dtype
      || (dtype != LOOM_F32 && dtype != LOOM_I64 && dtype != LOOM_I32))
    return LOOM_STATUS_UNSUPPORTED;
  self = axis_kernel_new (device, &spec->in[0], &spec->in[0], attrs->axis, "own cumsum", cumsum_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->exclusive = attrs->exclusive;
  self->reverse = attrs->reverse;
  self->base.inplace[0] = 1;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
