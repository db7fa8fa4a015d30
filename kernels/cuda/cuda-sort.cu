/* sort along an axis, stable, with the original indices of the elements.
 *
 * Every element is mapped to an unsigned number of the same order, and pairs of number and index are sorted
 * (cuda-sort.cuh). Elements are fetched by index at the end, since zeros of both signs have one number, and all NaN. */
#include "kernels/cuda/cuda-sort.cuh"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  SortShape shape;
  LongDivisor by_inner;
  size_t area; /* bytes of pairs between launches; 0 if there is only one launch */
  LoomDType dtype;
  bool descending;
} Sort;

/* An unsigned number of the same order: a float's bits with the negative ones inverted, both zeros equal and every NaN
 * the largest; an integer with its sign bit flipped. */
__device__ static unsigned int
order_of (float x)
{
  const unsigned int bits = loom_float_bits (x == 0 ? 0.0f : x);

  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return 0xffffffffu;
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ static unsigned int
order_of (F16 x)
{
  return order_of (load (x));
}

__device__ static unsigned int
order_of (Bf16 x)
{
  return order_of (load (x));
}

__device__ static unsigned int
order_of (int x)
{
  return (unsigned int)x ^ 0x80000000u;
}

__device__ static unsigned int
order_of (unsigned char x)
{
  return x;
}

__device__ static unsigned long long
order_of (long long x)
{
  return (unsigned long long)x ^ 0x8000000000000000ull;
}

/* The offset of row `row` of the tensor [outer,n,inner]; its elements are inner apart. */
__device__ static long long
row_start (long long row, long long n, const LongDivisor &inner)
{
  const long long j = take_index (&row, inner);

  return row * n * (long long)inner.by + j;
}

/* The elements of x as keys. */
template <typename T, typename K>
struct Elements
{
  const T *x;
  long long n;
  LongDivisor inner;
  K flip; /* all bits set in a descending sort */

  __device__ K
  key (long long row, int place) const
  {
    return order_of (x[row_start (row, n, inner) + place * (long long)inner.by]) ^ flip;
  }
};

/* The results: elements of x, whose bits are copied, and their indices. */
template <typename T>
struct Sorted
{
  T *y;
  long long *indices;
  const T *x;
  long long n;
  LongDivisor inner;

  template <typename K>
  __device__ void
  put (long long row, int at, K, int place) const
  {
    const long long start = row_start (row, n, inner), step = (long long)inner.by;

    y[start + at * step] = x[start + place * step];
    indices[start + at * step] = place;
  }
};

/* ---- host ------------------------------------------------------------------------------ */

/* T: the type of the elements, K: of their keys, B: of their bits. */
template <typename T, typename K, typename B>
static void
launch (const Sort *self, cudaStream_t stream, void *const *b)
{
  const long long n = self->shape.n;
  const Elements<T, K> from = { (const T *)b[0], n, self->by_inner, self->descending ? (K)~(K)0 : (K)0 };
  const Sorted<B> to = { (B *)b[1], (long long *)b[2], (const B *)b[0], n, self->by_inner };

  sort_launch<K> (stream, &self->shape, from, to, sort_area<K> (&self->shape, b[3]),
                  sort_area<K> (&self->shape, (char *)b[3] + self->area));
}

static LoomStatus
sort_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Sort *self = (Sort *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->shape.rows * self->shape.n == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_F32)
    launch<float, unsigned int, unsigned int> (self, handle, buffers);
  else if (self->dtype == LOOM_F16)
    launch<F16, unsigned int, unsigned short> (self, handle, buffers);
  else if (self->dtype == LOOM_BF16)
    launch<Bf16, unsigned int, unsigned short> (self, handle, buffers);
  else if (self->dtype == LOOM_I64)
    launch<long long, unsigned long long, unsigned long long> (self, handle, buffers);
  else if (self->dtype == LOOM_I32)
    launch<int, unsigned int, unsigned int> (self, handle, buffers);
  else
    launch<unsigned char, unsigned int, unsigned char> (self, handle, buffers);
  return cuda_launched ("sort", message);
}

LoomStatus
cuda_sort_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomSortAttrs *attrs = (const LoomSortAttrs *)spec->attrs;
  const LoomTensorDesc *x = &spec->in[0];
  const long long n = x->dim[attrs->axis], inner = cuda_extent (x, attrs->axis + 1, x->rank);
  Sort *self;

  if (!cuda_all_plain (spec) || x->dtype != spec->out[0].dtype || spec->out[1].dtype != LOOM_I64
      || x->dtype == LOOM_F64 || n > SORT_MOST)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Sort> (device, "own merge sort", sort_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->shape = sort_shape_of (cuda_extent (x, 0, attrs->axis) * inner, n, inner > 1);
  self->by_inner = long_divisor_of ((unsigned long long)inner);
  self->dtype = x->dtype;
  self->descending = attrs->descending;
  if (sort_merges (&self->shape) > 0)
    self->area = x->dtype == LOOM_I64 ? sort_area_bytes<unsigned long long> (&self->shape)
                                      : sort_area_bytes<unsigned int> (&self->shape);
  self->base.scratch_bytes = self->area * (sort_merges (&self->shape) > 1 ? 2 : 1);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
