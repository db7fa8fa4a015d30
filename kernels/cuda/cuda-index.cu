/* Rows of a table by index, and the sum of rows back into a table.
 *
 * The sum is deterministic without sorting: each block owns a few rows of the table, walks the whole list of indices in
 * order, 256 at a time, picks those that are its own and adds their gradients. Every element is added to by one thread, in
 * the order of the list. The walk reads (rows / rows per block)·indices words, nearly all from the cache. */
/* clang-format takes the brackets of launches apart. */
/* clang-format off */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  long long table_rows, width, indices; /* width: elements of a row */
  LongDivisor by_width;
  size_t element;
  int rows_per_block;
  bool narrow; /* indices as i32 */
} Table;

/* y is (indices, width), table (table_rows, width), index (indices); a thread an element of y. */
template <typename T, typename I>
__global__ void
__launch_bounds__ (CUDA_THREADS) gather_kernel (T *y, const T *table, const I *index, long long indices,
                                                LongDivisor width, long long table_rows, CudaRaise raise)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (at >= indices * (long long)width.by)
    return;
  long long which = at;
  const long long column = take_index (&which, width), row = index[which];
  if (row < 0 || row >= table_rows)
    {
      y[at] = 0;
      raise_fault (raise, CUDA_FAULT_ROW, row, table_rows);
    }
  else
    y[at] = table[row * (long long)width.by + column];
}

/* Which lanes of the warp have it, a bit each. */
__device__ static unsigned int
lanes_with (bool it)
{
  unsigned int lanes = it ? 1u << threadIdx.x % 32 : 0;

  for (int offset = 16; offset > 0; offset /= 2)
    lanes |= __shfl_xor_sync (0xffffffffu, lanes, offset);
  return lanes;
}

/* Bits that are set (Warren, "Hacker's Delight", 2002, section 5-1). */
__device__ static int
count_bits (unsigned int x)
{
  x -= x >> 1 & 0x55555555u;
  x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
  return (int)((((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
}

/* table is (table_rows, width), index (indices), g (indices, width). A block has rows_per_block rows and CUDA_THREADS
 * columns of the table; a thread adds to one column of those rows. */
template <typename I>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    scatter_kernel (float *table, const I *index, const float *g, long long indices, long long width,
                    long long table_rows, int rows_per_block, CudaRaise raise)
{
  __shared__ long long row_of[CUDA_THREADS];
  __shared__ int place_of[CUDA_THREADS], counts[CUDA_THREADS / 32];
  const long long first = (long long)blockIdx.x * rows_per_block,
                  column = (long long)blockIdx.y * CUDA_THREADS + threadIdx.x;
  const long long end = first + rows_per_block < table_rows ? first + rows_per_block : table_rows;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sum = 0; /* of the only row */

  for (long long row = first; row < end && column < width; row++)
    table[row * width + column] = 0;
  for (long long base = 0; base < indices; base += CUDA_THREADS)
    {
      const bool there = base + threadIdx.x < indices;
      const long long row = there ? index[base + threadIdx.x] : -1;
      const bool mine = row >= first && row < end;
      const unsigned int lanes = lanes_with (mine);
      int before = 0, all = 0;

      if (there && (row < 0 || row >= table_rows))
        raise_fault (raise, CUDA_FAULT_ROW, row, table_rows);
      if (lane == 0)
        counts[warp] = count_bits (lanes);
      __syncthreads ();
      for (int w = 0; w < CUDA_THREADS / 32; w++)
        {
          before += w < warp ? counts[w] : 0;
          all += counts[w];
        }
      if (mine)
        {
          const int at = before + count_bits (lanes & ((1u << lane) - 1));

          row_of[at] = row;
          place_of[at] = threadIdx.x;
        }
      __syncthreads ();
      for (int k = 0; k < all && column < width; k++)
        {
          const float value = g[(base + place_of[k]) * width + column];

          if (rows_per_block == 1)
            sum += value;
          else
            table[row_of[k] * width + column] += value;
        }
      __syncthreads ();
    }
  if (rows_per_block == 1 && column < width)
    table[first * width + column] = sum;
}

/* ---- host ------------------------------------------------------------------------------ */

template <typename T>
static void
launch_gather (const Table *self, LoomStream *stream, void *const *buffers)
{
  const CudaRaise raise = cuda_raise (self->device, stream, &self->base, NULL);
  cudaStream_t handle = cuda_stream (self->device, stream);
  const unsigned int blocks = blocks_for (self->indices * self->width, CUDA_THREADS);

  if (self->narrow)
    gather_kernel<T, int><<<blocks, CUDA_THREADS, 0, handle>>> (
        (T *)buffers[2], (const T *)buffers[0], (const int *)buffers[1], self->indices, self->by_width,
        self->table_rows, raise);
  else
    gather_kernel<T, long long><<<blocks, CUDA_THREADS, 0, handle>>> ((T *)buffers[2], (const T *)buffers[0],
                                                                        (const long long *)buffers[1], self->indices,
                                                                        self->by_width, self->table_rows, raise);
}

static LoomStatus
gather_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Table *self = (Table *)base;

  if (self->indices * self->width == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_element (self->element, [&] (auto bits) { launch_gather<decltype (bits)> (self, stream, buffers); });
  return cuda_launched ("gather_rows", message);
}

template <typename I>
static void
launch_scatter (const Table *self, LoomStream *stream, void *const *buffers)
{
  const dim3 grid (blocks_for (self->table_rows, self->rows_per_block), blocks_for (self->width, CUDA_THREADS));

  scatter_kernel<I><<<grid, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      (float *)buffers[2], (const I *)buffers[0], (const float *)buffers[1], self->indices, self->width,
      self->table_rows, self->rows_per_block, cuda_raise (self->device, stream, &self->base, NULL));
}

static LoomStatus
scatter_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Table *self = (Table *)base;

  if (self->table_rows * self->width == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->narrow)
    launch_scatter<int> (self, stream, buffers);
  else
    launch_scatter<long long> (self, stream, buffers);
  return cuda_launched ("scatter_add_rows", message);
}

static LoomStatus
table_new (LoomDevice *device, const LoomKernelSpec *spec, const LoomTensorDesc *table, const LoomTensorDesc *index,
           const char *name, LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *),
           LoomKernel **kernel, LoomMessage *message)
{
  Table *self;

  if (!cuda_all_plain (spec) || (index->dtype != LOOM_I64 && index->dtype != LOOM_I32))
    return LOOM_STATUS_UNSUPPORTED;
  if (table->rank < 1)
    return cuda_fail (message, LOOM_STATUS_INVALID, "a table of rows needs at least one axis");
  self = kernel_struct<Table> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->table_rows = table->dim[0];
  self->width = cuda_extent (table, 1, table->rank);
  self->by_width = long_divisor_of ((unsigned long long)self->width);
  self->indices = loom_desc_count (index);
  self->element = loom_dtype_size (table->dtype);
  self->narrow = index->dtype == LOOM_I32;
  /* Enough blocks for a large GPU, yet no more walks over the list than needed. */
  self->rows_per_block = (int)(self->table_rows / 512 < 1    ? 1
                               : self->table_rows / 512 > 64 ? 64
                                                             : self->table_rows / 512);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_gather_rows_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  if (spec->in[0].dtype != spec->out[0].dtype)
    return LOOM_STATUS_UNSUPPORTED;
  return table_new (device, spec, &spec->in[0], &spec->in[1], "own gather_rows", gather_run, kernel, message);
}

LoomStatus
cuda_scatter_add_rows_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  if (spec->out[0].dtype != LOOM_F32 || spec->in[1].dtype != LOOM_F32)
    return LOOM_STATUS_UNSUPPORTED;
  return table_new (device, spec, &spec->out[0], &spec->in[0], "own scatter_add_rows", scatter_run, kernel, message);
}
