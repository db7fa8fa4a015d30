/* gather_rows: rows of a table by index. */
/* clang-format would split the brackets of launches. */
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
  bool narrow; /* indices are i32, else i64 */
} Table;

/* y [indices,width] = rows index [indices] of table [table_rows,width]; one thread for each element of y. */
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

LoomStatus
cuda_gather_rows_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomTensorDesc *table = &spec->in[0], *index = &spec->in[1];
  Table *self;

  if (table->dtype != spec->out[0].dtype || !cuda_all_plain (spec)
      || (index->dtype != LOOM_I64 && index->dtype != LOOM_I32))
    return LOOM_STATUS_UNSUPPORTED;
  if (table->rank < 1)
    return cuda_fail (message, LOOM_STATUS_INVALID, "a table of rows needs at least one axis");
  self = kernel_struct<Table> (device, "own gather_rows", gather_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->table_rows = table->dim[0];
  self->width = cuda_extent (table, 1, table->rank);
  self->by_width = long_divisor_of ((unsigned long long)self->width);
  self->indices = loom_desc_count (index);
  self->element = loom_dtype_size (table->dtype);
  self->narrow = index->dtype == LOOM_I32;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
