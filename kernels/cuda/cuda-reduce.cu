/* Reductions over any set of axes, and the index of the largest element.
 *
 * The input's axes are split into those kept and those reduced; a result is then an offset plus an iteration over the
 * reduced axes. Floats are accumulated in f64, because memory limits these kernels, not arithmetic. If few results read
 * many elements, the iteration is cut into chunks for separate blocks, and a second kernel joins the chunks in order:
 * the cut depends on the shape alone, so the bits do not depend on the run. 16-bit floats are read as they are if their
 * sum is wanted in f32.
 *
 * If neighbours in memory can be read in whole words of 16 bytes, a thread reads such a word (V elements); that also
 * follows from the shape. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include <limits.h>

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-rows.cuh"

typedef struct
{
  int rank;
  bool small; /* element numbers are below 2³¹, so they are divided by `by` */
  long long dim[LOOM_MAX_RANK], stride[LOOM_MAX_RANK];
  Divisor by[LOOM_MAX_RANK];
  LongDivisor long_by[LOOM_MAX_RANK]; /* if they are not */
} Axes;

typedef struct
{
  Axes kept, reduced;
  long long outputs, reads; /* number of results, and of elements that each reads */
  int chunks;
  LongDivisor by_chunks;
} Shape;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  LoomDType dtype;
  LoomReduceOp op;
  Shape shape;
  bool columns; /* neighbouring results read neighbouring elements */
  bool warps;   /* results read so few elements that one warp suffices for each */
  bool packs;   /* MANY<T> elements at a time */
} Reduce;

#define SERIAL_READS 16
#define WARP_READS   1024
#define COLUMNS      32
#define LANES        8

__device__ static long long
place (const Axes &axes, long long i)
{
  long long offset = 0;

  if (axes.small)
    {
      unsigned int rest = (unsigned int)i;

      for (int d = axes.rank - 1; d > 0; d--)
        {
          const unsigned int above = divide (rest, axes.by[d]);

          offset += (long long)(rest - above * axes.by[d].by) * axes.stride[d];
          rest = above;
        }
      return axes.rank > 0 ? offset + rest * axes.stride[0] : 0;
    }
  for (int d = axes.rank - 1; d >= 0; d--)
    offset += take_index (&i, axes.long_by[d]) * axes.stride[d];
  return offset;
}

/* An element in the type of its sum. */
template <typename A, typename T>
__device__ static A
take (T x)
{
  return (A)x;
}

template <typename A>
__device__ static A
take (F16 x)
{
  return load (x);
}

template <typename A>
__device__ static A
take (Bf16 x)
{
  return load (x);
}

/* Elements read at a time: f64 and i64, which are rare, one by one. */
template <typename T>
constexpr int MANY = sizeof (T) < 8 ? PACK<T> : 1;

/* V neighbours in the type of their sum. */
template <typename A, int V, typename T>
__device__ static void
take_pack (A to[V], const T *from)
{
  Pack<T, V> pack;

  pack.read (from);
  for (int v = 0; v < V; v++)
    to[v] = take<A> (pack.at[v]);
}

/* The destination of a pass: chunks for another pass, or the result. It is tested for each result, because separate
 * kernels would double their number and the compile time. */
template <typename A, typename O>
struct Target
{
  void *at;
  bool is_chunks;

  __device__ inline void
  put (long long i, A value) const
  {
    if (is_chunks)
      ((A *)at)[i] = value;
    else
      ((O *)at)[i] = (O)value;
  }
};

/* The first of n pieces of a chunk. */
__device__ static long long
chunk_begin (const Shape &shape, long long n, int chunk)
{
  return (long long)divide ((unsigned long long)n * chunk, shape.by_chunks);
}

/* x [outputs,reads] by the strides of shape.kept and shape.reduced, out [chunks,outputs]. THREADS threads, a warp or
 * the whole block, for each result and chunk; each takes V reads at a time, and the last chunk takes the remaining
 * reads. */
template <typename Op, typename T, typename A, typename O, int THREADS, int V>
__global__ void
__launch_bounds__ (CUDA_THREADS) rows_kernel (Target<A, O> out, const T *__restrict__ x, Shape shape, A neutral)
{
  const long long result = row_of<THREADS> (), packs = shape.reads / V, end = chunk_begin (shape, packs, blockIdx.y + 1);
  A value = neutral;

  if (result >= shape.outputs)
    return;
  const long long base = place (shape.kept, result);
#pragma unroll 4
  for (long long r = chunk_begin (shape, packs, blockIdx.y) + first_of<THREADS> (); r < end; r += THREADS)
    {
      A part[V];

      take_pack<A, V> (part, x + base + place (shape.reduced, r * V));
      for (int v = 0; v < V; v++)
        value = Op::join (value, part[v]);
    }
  if (V > 1 && blockIdx.y == shape.chunks - 1)
    for (long long r = packs * V + first_of<THREADS> (); r < shape.reads; r += THREADS)
      value = Op::join (value, take<A> (x[base + place (shape.reduced, r)]));
  value = block_join<Op, THREADS> (value);
  if (first_of<THREADS> () == 0)
    out.put (blockIdx.y * shape.outputs + result, value);
}

/* x and out as above. One block for COLUMNS·V neighbouring results of one chunk; LANES threads divide the reads of
 * each. */
template <typename Op, typename T, typename A, typename O, int V>
__global__ void
__launch_bounds__ (COLUMNS *LANES) columns_kernel (Target<A, O> out, const T *__restrict__ x, Shape shape, A neutral)
{
  __shared__ A shares[LANES][COLUMNS * V];
  const int column = threadIdx.x % COLUMNS * V, lane = threadIdx.x / COLUMNS;
  const long long result = (long long)blockIdx.x * COLUMNS * V + column;
  const long long end = chunk_begin (shape, shape.reads, blockIdx.y + 1);
  A value[V];

  for (int v = 0; v < V; v++)
    value[v] = neutral;
  if (result < shape.outputs)
    {
      const long long base = place (shape.kept, result);

#pragma unroll 4
      for (long long r = chunk_begin (shape, shape.reads, blockIdx.y) + lane; r < end; r += LANES)
        {
          A part[V];

          take_pack<A, V> (part, x + base + place (shape.reduced, r));
          for (int v = 0; v < V; v++)
            value[v] = Op::join (value[v], part[v]);
        }
    }
  for (int v = 0; v < V; v++)
    shares[lane][column + v] = value[v];
  __syncthreads ();
  if (lane != 0 || result >= shape.outputs)
    return;
  for (int v = 0; v < V; v++)
    {
      for (int i = 1; i < LANES; i++)
        value[v] = Op::join (value[v], shares[i][column + v]);
      out.put (blockIdx.y * shape.outputs + result + v, value[v]);
    }
}

/* x as above, y [outputs]; one thread for each result, if it reads at most SERIAL_READS elements. */
template <typename Op, typename T, typename A, typename O>
__global__ void
__launch_bounds__ (CUDA_THREADS) serial_kernel (O *y, const T *x, Shape shape, A neutral)
{
  const long long result = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  A value = neutral;

  if (result >= shape.outputs)
    return;
  const long long base = place (shape.kept, result);
  for (long long r = 0; r < shape.reads; r++)
    value = Op::join (value, take<A> (x[base + place (shape.reduced, r)]));
  y[result] = (O)value;
}

/* y [outputs] from chunks [n,outputs]. One block for COLUMNS results, whose chunks LANES threads divide; each joins its
 * own in order, and their values are joined in order. */
template <typename Op, typename A, typename O>
__global__ void
__launch_bounds__ (COLUMNS *LANES) join_kernel (O *y, const A *__restrict__ chunks, long long outputs, int n, A neutral)
{
  __shared__ A shares[LANES][COLUMNS];
  const int column = threadIdx.x % COLUMNS, lane = threadIdx.x / COLUMNS;
  const long long i = (long long)blockIdx.x * COLUMNS + column;
  A value = neutral;

#pragma unroll 4
  for (int k = lane; k < n && i < outputs; k += LANES)
    value = Op::join (value, chunks[k * outputs + i]);
  shares[lane][column] = value;
  __syncthreads ();
  if (lane != 0 || i >= outputs)
    return;
  for (int k = 1; k < LANES; k++)
    value = Op::join (value, shares[k][column]);
  y[i] = (O)value;
}

template <typename Op, typename T, typename A, typename O, int V>
static void
launch_passes (const Reduce *self, cudaStream_t stream, void *const *buffers, A neutral)
{
  const Shape &shape = self->shape;
  const T *x = (const T *)buffers[0];
  const Target<A, O> out = { buffers[shape.chunks > 1 ? 2 : 1], shape.chunks > 1 };
  const dim3 grid (self->columns ? blocks_for (shape.outputs, COLUMNS * V)
                                 : blocks_for (shape.outputs, self->warps ? CUDA_THREADS / 32 : 1),
                   shape.chunks);

  if (self->columns)
    columns_kernel<Op, T, A, O, V><<<grid, COLUMNS * LANES, 0, stream>>> (out, x, shape, neutral);
  else if (self->warps)
    rows_kernel<Op, T, A, O, 32, V><<<grid, CUDA_THREADS, 0, stream>>> (out, x, shape, neutral);
  else
    rows_kernel<Op, T, A, O, CUDA_THREADS, V><<<grid, CUDA_THREADS, 0, stream>>> (out, x, shape, neutral);
  if (shape.chunks > 1)
    join_kernel<Op, A, O><<<blocks_for (shape.outputs, COLUMNS), COLUMNS * LANES, 0, stream>>> (
        (O *)buffers[1], (const A *)buffers[2], shape.outputs, shape.chunks, neutral);
}

template <typename Op, typename T, typename A, typename O>
static void
launch_reduce (const Reduce *self, cudaStream_t stream, void *const *buffers, A neutral)
{
  const Shape &shape = self->shape;

  if (shape.reads <= SERIAL_READS)
    serial_kernel<Op, T, A, O><<<blocks_for (shape.outputs, CUDA_THREADS), CUDA_THREADS, 0, stream>>> (
        (O *)buffers[1], (const T *)buffers[0], shape, neutral);
  else if (self->packs)
    launch_passes<Op, T, A, O, MANY<T>> (self, stream, buffers, neutral);
  else
    launch_passes<Op, T, A, O, 1> (self, stream, buffers, neutral);
}

template <typename T, typename A>
static void
launch_op (const Reduce *self, cudaStream_t stream, void *const *buffers, A lowest, A highest)
{
  if (self->op == LOOM_REDUCE_SUM)
    launch_reduce<Sum, T, A, T> (self, stream, buffers, 0);
  else if (self->op == LOOM_REDUCE_PROD)
    launch_reduce<Product, T, A, T> (self, stream, buffers, 1);
  else if (self->op == LOOM_REDUCE_MAX)
    launch_reduce<Largest, T, A, T> (self, stream, buffers, lowest);
  else
    launch_reduce<Smallest, T, A, T> (self, stream, buffers, highest);
}

static LoomStatus
reduce_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Reduce *self = (Reduce *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->shape.outputs == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_F32)
    launch_op<float, double> (self, handle, buffers, -INFINITY, INFINITY);
  else if (self->dtype == LOOM_F64)
    launch_op<double, double> (self, handle, buffers, -INFINITY, INFINITY);
  else if (self->dtype == LOOM_BF16)
    launch_reduce<Sum, Bf16, double, float> (self, handle, buffers, 0);
  else if (self->dtype == LOOM_F16)
    launch_reduce<Sum, F16, double, float> (self, handle, buffers, 0);
  else
    launch_op<long long, long long> (self, handle, buffers, LLONG_MIN, LLONG_MAX);
  return cuda_launched ("reduce", message);
}

/* Appends an axis, merging it with the one before if their strides allow that. */
static void
add_axis (Axes *axes, int64_t dim, int64_t stride)
{
  const int last = axes->rank - 1;

  if (dim == 1)
    return;
  if (axes->rank > 0 && axes->stride[last] == stride * dim)
    {
      axes->dim[last] *= dim;
      axes->stride[last] = stride;
      return;
    }
  axes->dim[axes->rank] = dim;
  axes->stride[axes->rank] = stride;
  axes->rank++;
}

/* count: the number of elements over all axes. */
static void
set_divisors (Axes *axes, long long count)
{
  axes->small = count <= INT_MAX;
  for (int d = 0; d < axes->rank; d++)
    if (axes->small)
      axes->by[d] = divisor_of ((unsigned long long)axes->dim[d]);
    else
      axes->long_by[d] = long_divisor_of ((unsigned long long)axes->dim[d]);
}

/* TRUE if V neighbours along the last axis of `along` are adjacent in memory, at a multiple of V elements, for every
 * index of the other axes. With a single axis the last pack may be shorter. */
static bool
has_packs (const Axes *along, const Axes *across, int v)
{
  const int last = along->rank - 1;

  if (v == 1 || last < 0 || along->stride[last] != 1
      || (along->dim[last] % v != 0 && (last > 0 || across->rank > 0)))
    return false;
  for (int d = 0; d < last; d++)
    if (along->stride[d] % v != 0)
      return false;
  for (int d = 0; d < across->rank; d++)
    if (across->stride[d] % v != 0)
      return false;
  return true;
}

static bool
takes_types (LoomReduceOp op, LoomDType from, LoomDType to)
{
  if (from == LOOM_BF16 || from == LOOM_F16)
    return op == LOOM_REDUCE_SUM && to == LOOM_F32;
  return from == to && (from == LOOM_F32 || from == LOOM_F64 || from == LOOM_I64);
}

LoomStatus
cuda_reduce_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomReduceAttrs *attrs = (const LoomReduceAttrs *)spec->attrs;
  const LoomTensorDesc *x = &spec->in[0];
  static const int nhwc[4] = { 0, 2, 3, 1 };
  int64_t strides[LOOM_MAX_RANK], blocks, wanted, least;
  int many;
  Reduce *self;

  if (!takes_types (attrs->op, x->dtype, spec->out[0].dtype))
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Reduce> (device, "own reduce", reduce_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = x->dtype;
  self->op = attrs->op;
  self->shape.outputs = self->shape.reads = 1;
  cuda_strides (x, strides);
  /* Results are numbered by address, so the axes are taken in the order of the result's bytes. */
  for (int k = 0; k < x->rank; k++)
    {
      const int i = spec->out[0].layout == LOOM_LAYOUT_NHWC && x->rank == 4 ? nhwc[k] : k;
      const bool reduced = attrs->axes >> i & 1;

      add_axis (reduced ? &self->shape.reduced : &self->shape.kept, x->dim[i], strides[i]);
      *(reduced ? &self->shape.reads : &self->shape.outputs) *= x->dim[i];
    }
  if (self->shape.outputs > INT_MAX)
    {
      free (self);
      return LOOM_STATUS_UNSUPPORTED;
    }
  set_divisors (&self->shape.kept, self->shape.outputs);
  set_divisors (&self->shape.reduced, self->shape.reads);
  self->columns
      = self->shape.kept.rank > 0 && self->shape.kept.stride[self->shape.kept.rank - 1] == 1 && self->shape.outputs > 1;
  many = x->dtype == LOOM_F32 ? MANY<float> : loom_dtype_size (x->dtype) == 2 ? MANY<Bf16> : 1;
  self->packs = self->columns ? self->shape.outputs >= COLUMNS * many && has_packs (&self->shape.kept, &self->shape.reduced, many)
                              : has_packs (&self->shape.reduced, &self->shape.kept, many);
  if (!self->packs)
    many = 1;
  /* About eight blocks for each processor of a large GPU, each thread with at least four reads; constants instead of
   * this GPU's size, so that every GPU gives the same bits. */
  self->warps = self->shape.reads <= WARP_READS;
  blocks = self->columns ? (self->shape.outputs + COLUMNS * many - 1) / (COLUMNS * many) : self->shape.outputs;
  least = 4 * (self->columns ? LANES : CUDA_THREADS * many);
  wanted = blocks > 0 && blocks < 1024 ? 1024 / blocks : 1;
  if (wanted > self->shape.reads / least)
    wanted = self->shape.reads / least;
  self->shape.chunks = wanted > 1 ? (int)wanted : 1;
  self->shape.by_chunks = long_divisor_of ((unsigned long long)self->shape.chunks);
  if (self->shape.chunks > 1)
    self->base.scratch_bytes = (size_t)self->shape.outputs * self->shape.chunks * sizeof (double);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_channel_sum_new (LoomDevice *device, const LoomTensorDesc *g, LoomKernel **kernel, LoomMessage *message)
{
  const LoomReduceAttrs attrs = { LOOM_REDUCE_SUM, 1 << 0 | 1 << 2 | 1 << 3 };
  LoomTensorDesc sum = *g;
  const LoomKernelSpec spec = { "reduce", &attrs, 1, 1, g, &sum };

  sum.dim[0] = sum.dim[2] = sum.dim[3] = 1;
  return cuda_reduce_new (device, &spec, kernel, message);
}

/* ---- argreduce ------------------------------------------------------------------------ */

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  LoomDType dtype;
  bool largest;
  long long outer, dim, inner;
  long long length; /* of the axis, of which the first dim elements count */
  LongDivisor by_inner;
} ArgReduce;

/* TRUE if (a, at i) precedes (b, at j): NaN first, then the better value, then the lower index. */
template <typename T>
__device__ static bool
before (T a, long long i, T b, long long j, bool largest)
{
  const bool a_nan = a != a, b_nan = b != b;

  if (i < 0 || j < 0)
    return j < 0 && i >= 0;
  if (a_nan || b_nan)
    return a_nan && b_nan ? i < j : a_nan;
  if (a == b)
    return i < j;
  return largest ? a > b : a < b;
}

/* x [outer,length,inner], of whose axis dim elements count, y [outer,inner]; one warp for each result, compared in type
 * A. V is 1 if inner is not 1. */
template <typename T, typename A, int V>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    argreduce_kernel (long long *y, const T *x, long long outputs, long long dim, long long length,
                      LongDivisor by_inner, bool largest)
{
  const long long result = row_of<32> ();
  long long best_at = -1;
  A best = 0;

  if (result >= outputs)
    return;
  long long outer = result;
  const long long inner = (long long)by_inner.by, place = take_index (&outer, by_inner);
  const long long begin = outer * length * inner + place;
  walk_row<32, V> (begin, dim, 1, [&] (auto many, long long i) {
    constexpr int N = decltype (many)::value;
    A part[N];

    take_pack<A, N> (part, x + begin + i * inner);
    for (int k = 0; k < N; k++)
      if (before (part[k], i + k, best, best_at, largest))
        {
          best = part[k];
          best_at = i + k;
        }
  });
  for (int offset = 16; offset > 0; offset /= 2)
    {
      const A other = __shfl_xor_sync (0xffffffffu, best, offset);
      const long long other_at = __shfl_xor_sync (0xffffffffu, best_at, offset);

      if (before (other, other_at, best, best_at, largest))
        {
          best = other;
          best_at = other_at;
        }
    }
  if (threadIdx.x % 32 == 0)
    y[result] = best_at;
}

template <typename T, typename A, int V = MANY<T>>
static void
launch_argreduce (const ArgReduce *self, cudaStream_t stream, void *const *buffers)
{
  const long long outputs = self->outer * self->inner;
  const unsigned int blocks = blocks_for (outputs, CUDA_THREADS / 32);
  long long *y = (long long *)buffers[1];
  const T *x = (const T *)buffers[0];

  if (self->inner == 1)
    argreduce_kernel<T, A, V><<<blocks, CUDA_THREADS, 0, stream>>> (y, x, outputs, self->dim, self->length,
                                                                    self->by_inner, self->largest);
  else
    argreduce_kernel<T, A, 1><<<blocks, CUDA_THREADS, 0, stream>>> (y, x, outputs, self->dim, self->length,
                                                                    self->by_inner, self->largest);
}

static LoomStatus
argreduce_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  ArgReduce *self = (ArgReduce *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->outer * self->inner == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_F64)
    launch_argreduce<double, double> (self, handle, buffers);
  else if (self->dtype == LOOM_I64)
    launch_argreduce<long long, long long> (self, handle, buffers);
  else
    with_float (self->dtype, [&] (auto element) { launch_argreduce<decltype (element), float> (self, handle, buffers); });
  return cuda_launched ("argreduce", message);
}

LoomStatus
cuda_argreduce_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomArgReduceAttrs *attrs = (const LoomArgReduceAttrs *)spec->attrs;
  const LoomTensorDesc *x = &spec->in[0];
  ArgReduce *self;

  if (!cuda_all_plain (spec) || spec->out[0].dtype != LOOM_I64
      || (!loom_dtype_is_float (x->dtype) && x->dtype != LOOM_I64))
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<ArgReduce> (device, "own argreduce", argreduce_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = x->dtype;
  self->largest = attrs->largest;
  self->outer = cuda_extent (x, 0, attrs->axis);
  self->length = x->dim[attrs->axis];
  self->dim = attrs->classes != 0 ? attrs->classes : self->length;
  self->inner = cuda_extent (x, attrs->axis + 1, x->rank);
  self->by_inner = long_divisor_of ((unsigned long long)self->inner);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
