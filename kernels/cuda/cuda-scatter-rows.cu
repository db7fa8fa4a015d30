/* The gradient of an embedding: adds the rows of g to the rows of a table that an index selects.
 *
 * (row, position) pairs are sorted by row (cuda-sort.cuh), so that all pairs of a table row are adjacent, in the order
 * of positions: a segment. The sorted list is cut into chunks of one length, each processed by threads that have a few
 * columns each. A segment within a chunk is written to the table; partial segments at the ends of a chunk are stored,
 * and another launch adds these parts in the order of chunks. So a row that is selected ten thousand times takes no
 * longer than ten thousand different ones, all sums have one order, which follows from the shapes and the index alone,
 * and g is read once. Other rows are set to zero first.
 *
 * This takes four launches or more. For few indices and a small table one launch suffices, in which each thread has a
 * few columns of a row of the table and compares that row with all indices. A GPU does some 10¹³ of these comparisons a
 * second, and the saved launches take some 15 µs. */
#include "kernels/cuda/cuda-sort.cuh"

#define FEW         512       /* indices that a thread compares at most, one after the other */
#define COMPARISONS (1 << 26) /* comparisons of all threads at most */
#define LEAST_CHUNK 32
#define AHEAD       4         /* rows of g that are loaded before the first is added */

/* The kernels' parameters; packs: groups of columns in a row, one for each thread. */
typedef struct
{
  long long table_rows, width;
  int n, chunk, chunks; /* numbers of indices, of indices in a chunk, of chunks */
  LongDivisor packs;
} Rows;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Rows of;
  SortShape shape;
  LoomDType dtype;
  size_t area, bytes; /* of an area of pairs, of the table */
  bool narrow, few;   /* indices are i32; all are compared */
} Scatter;

/* Indices as sort keys. Invalid ones sort after all others and are not added to any row. */
template <typename I>
struct RowKeys
{
  const I *index;
  long long table_rows;
  CudaRaise raise;

  __device__ unsigned int
  key (long long, int place) const
  {
    const long long row = index[place];

    if (row >= 0 && row < table_rows)
      return (unsigned int)row;
    raise_fault (raise, CUDA_FAULT_ROW, row, table_rows);
    return (unsigned int)table_rows;
  }
};

template <int V>
__device__ static void
add (float sum[V], const float value[V])
{
  for (int v = 0; v < V; v++)
    sum[v] += value[v];
}

/* table [table_rows,width], index [n], g [n,width]; one thread for V columns of a row of the table. */
template <typename T, int V, typename I>
__global__ void
__launch_bounds__ (CUDA_THREADS) few_kernel (T *table, const I *index, const T *g, Rows of, CudaRaise raise)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  float sum[V] = {}, value[V];

  if (at < of.n && (index[at] < 0 || index[at] >= of.table_rows))
    raise_fault (raise, CUDA_FAULT_ROW, index[at], of.table_rows);
  if (at >= of.table_rows * (long long)of.packs.by)
    return;
  long long row = at;
  const long long column = take_index (&row, of.packs) * V;
  for (int i = 0; i < of.n; i++)
    if (index[i] == row)
      {
        load_pack<V> (value, g + i * of.width + column);
        add<V> (sum, value);
      }
  store_pack<V> (table + row * of.width + column, sum);
}

/* sorted has the n pairs, g [n,width], table [table_rows,width], part [chunks,2,width]: the sum of a chunk's first
 * segment if it began in an earlier chunk, and of its last one if it continues in the next. One thread for V columns of
 * a chunk. */
template <typename T, int V>
__global__ void
__launch_bounds__ (CUDA_THREADS) segments_kernel (T *table, float *part, SortPairs<unsigned int> sorted, const T *g,
                                                  Rows of)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (at >= of.chunks * (long long)of.packs.by)
    return;
  long long chunk = at;
  const long long column = take_index (&chunk, of.packs) * V;
  const int begin = (int)chunk * of.chunk, end = of.n - begin < of.chunk ? of.n : begin + of.chunk;
  const unsigned int *row_of = sorted.key_of;
  bool began_before = chunk > 0 && row_of[begin - 1] == row_of[begin];
  float sum[V] = {};

  for (int i = begin; i < end; i += AHEAD)
    {
      float value[AHEAD][V];

#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (i + k < end)
          load_pack<V> (value[k], g + sorted.place_of[i + k] * of.width + column);
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (i + k < end)
          {
            const unsigned int row = row_of[i + k];
            const bool last = i + k + 1 == of.n || row_of[i + k + 1] != row;

            add<V> (sum, value[k]);
            if (!last && i + k + 1 < end)
              continue;
            if (began_before)
              store_pack<V> (part + 2 * chunk * of.width + column, sum);
            else if (!last)
              store_pack<V> (part + (2 * chunk + 1) * of.width + column, sum);
            else if (row < of.table_rows)
              store_pack<V> (table + row * of.width + column, sum);
            for (int v = 0; v < V; v++)
              sum[v] = 0;
            began_before = false;
          }
    }
}

/* Adds the parts of the segment that begins in a chunk and continues after it, in order: part [chunks,2,width], table
 * [table_rows,width]; one thread for V columns of it. */
template <typename T, int V>
__global__ void
__launch_bounds__ (CUDA_THREADS) join_kernel (T *table, const float *part, SortPairs<unsigned int> sorted, Rows of)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (at >= (of.chunks - 1) * (long long)of.packs.by)
    return;
  long long chunk = at;
  const long long column = take_index (&chunk, of.packs) * V;
  const unsigned int *row_of = sorted.key_of;
  const int begin = (int)chunk * of.chunk, next = begin + of.chunk;
  const unsigned int row = row_of[next - 1];

  if (row >= of.table_rows || row_of[next] != row || (chunk > 0 && row_of[begin - 1] == row))
    return;
  /* Finds the first chunk that begins with another row. */
  int low = (int)chunk + 1, high = of.chunks;
  while (low < high)
    {
      const int middle = low + (high - low) / 2;

      if (row_of[middle * of.chunk] == row)
        low = middle + 1;
      else
        high = middle;
    }
  float sum[V];
  load_pack<V> (sum, part + (2 * chunk + 1) * of.width + column);
#pragma unroll 8
  for (int c = (int)chunk + 1; c < high; c++)
    {
      float value[V];

      load_pack<V> (value, part + 2 * (long long)c * of.width + column);
      add<V> (sum, value);
    }
  store_pack<V> (table + row * of.width + column, sum);
}

/* ---- host ------------------------------------------------------------------------------ */

template <typename T, int V, typename I>
static LoomStatus
launch (const Scatter *self, LoomStream *stream, void *const *b, LoomMessage *message)
{
  const CudaRaise raise = cuda_raise (self->device, stream, &self->base, NULL);
  cudaStream_t handle = cuda_stream (self->device, stream);
  const I *index = (const I *)b[0];
  const T *g = (const T *)b[1];
  T *table = (T *)b[2];
  Rows of = self->of;

  of.packs = long_divisor_of ((unsigned long long)of.width / V);
  const long long packs = of.width / V;
  if (self->few)
    {
      const long long threads = of.table_rows * packs < of.n ? of.n : of.table_rows * packs;

      few_kernel<T, V, I><<<blocks_for (threads, CUDA_THREADS), CUDA_THREADS, 0, handle>>> (table, index, g, of, raise);
      return cuda_launched ("scatter_add_rows", message);
    }
  const LoomStatus status = cuda_check (cudaMemsetAsync (table, 0, self->bytes, handle),
                                        "clearing a table of rows", message);
  if (status != LOOM_STATUS_OK)
    return status;
  const SortPairs<unsigned int> pairs = sort_area<unsigned int> (&self->shape, b[3]),
                                sorted = sort_area<unsigned int> (&self->shape, (char *)b[3] + self->area);
  float *part = (float *)((char *)b[3] + 2 * self->area);
  const RowKeys<I> keys = { index, of.table_rows, raise };
  sort_launch<unsigned int> (handle, &self->shape, keys, sorted, pairs, sorted);
  segments_kernel<T, V><<<blocks_for (of.chunks * packs, CUDA_THREADS), CUDA_THREADS, 0, handle>>> (
      table, part, sorted, g, of);
  if (of.chunks > 1)
    join_kernel<T, V><<<blocks_for ((of.chunks - 1) * packs, CUDA_THREADS), CUDA_THREADS, 0, handle>>> (
        table, part, sorted, of);
  return cuda_launched ("scatter_add_rows", message);
}

/* V columns for each thread if row length and addresses allow that. */
template <typename T, int V>
static LoomStatus
launch_packed (const Scatter *self, LoomStream *stream, void *const *b, LoomMessage *message)
{
  const bool packed = self->of.width % V == 0 && (uintptr_t)b[1] % (V * sizeof (T)) == 0
                      && (uintptr_t)b[2] % (V * sizeof (T)) == 0;

  if (self->narrow)
    return packed ? launch<T, V, int> (self, stream, b, message) : launch<T, 1, int> (self, stream, b, message);
  return packed ? launch<T, V, long long> (self, stream, b, message) : launch<T, 1, long long> (self, stream, b, message);
}

static LoomStatus
scatter_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Scatter *self = (Scatter *)base;

  if (self->bytes == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_F32)
    return launch_packed<float, 4> (self, stream, buffers, message);
  if (self->dtype == LOOM_BF16)
    return launch_packed<Bf16, 8> (self, stream, buffers, message);
  return launch_packed<F16, 8> (self, stream, buffers, message);
}

LoomStatus
cuda_scatter_add_rows_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomTensorDesc *index = &spec->in[0], *table = &spec->out[0];
  const long long n = loom_desc_count (index);
  Scatter *self;

  if (!cuda_all_plain (spec) || (index->dtype != LOOM_I64 && index->dtype != LOOM_I32)
      || table->dtype != spec->in[1].dtype || !loom_dtype_is_float (table->dtype) || table->dtype == LOOM_F64
      || n > SORT_MOST)
    return LOOM_STATUS_UNSUPPORTED;
  if (table->rank < 1)
    return cuda_fail (message, LOOM_STATUS_INVALID, "a table of rows needs at least one axis");
  if (table->dim[0] > SORT_MOST)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Scatter> (device, "own scatter_add_rows", scatter_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = table->dtype;
  self->bytes = loom_desc_bytes (table);
  self->narrow = index->dtype == LOOM_I32;
  self->of.table_rows = table->dim[0];
  self->of.width = cuda_extent (table, 1, table->rank);
  self->of.n = (int)n;
  /* Many chunks to use the GPU, yet few enough for a short join: a thread may have to add all of them. */
  self->of.chunk = LEAST_CHUNK;
  while (8ll * self->of.chunk * self->of.chunk < n)
    self->of.chunk *= 2;
  self->of.chunks = (int)((n + self->of.chunk - 1) / self->of.chunk);
  self->shape = sort_shape_of (1, n, false);
  self->area = sort_area_bytes<unsigned int> (&self->shape);
  self->few = n <= FEW && n * self->of.table_rows <= COMPARISONS / (1 + self->of.width / 4);
  if (!self->few)
    self->base.scratch_bytes = 2 * self->area + 2 * (size_t)self->of.chunks * (size_t)self->of.width * sizeof (float);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
