/* Softmax, log-softmax and their gradients.
 *
 * All see their tensors as [outer,C,inner] and assign one row, C elements with stride `inner`, to a warp if C is at
 * most 1,024 and to a block otherwise (cuda-rows.cuh). If inner is 1 they read and write 16 bytes at a time. A row is
 * read twice, for its maximum and its sum together, and to write the result; the second time from cache. Rows of 16-bit
 * floats are read and written as they are, and computed with in f32. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-rows.cuh"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  long long rows, dim;
  LongDivisor by_inner;
  LoomDType dtype;
  bool log;
} Rows;

/* x and y [outer,C,inner], rows = outer·inner rows of dim = C elements. A row of only -∞ has no softmax: -∞ - -∞ is
 * NaN, as in PyTorch. */
template <typename T, int THREADS, int V>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    softmax_kernel (T *y, const T *x, long long rows, long long dim, LongDivisor by_inner, bool log)
{
  const long long row = row_of<THREADS> ();

  if (row >= rows)
    return;
  long long outer = row;
  const long long inner = (long long)by_inner.by, place = take_index (&outer, by_inner);
  const long long base = outer * dim * inner + place;
  const MaxSum share = max_sum_of_row<THREADS, V> (x + base, base, dim, inner);
  const float log_sum = logf (share.sum), scale = 1 / share.sum;
  walk_row<THREADS, V> (base, dim, inner, [&] (auto many, long long i) {
    constexpr int N = decltype (many)::value;
    float part[N];

    load_pack<N> (part, x + base + i);
    for (int k = 0; k < N; k++)
      {
        const float shifted = part[k] - share.most;

        part[k] = log ? shifted - log_sum : expf (shifted) * scale;
      }
    store_pack<N> (y + base + i, part);
  });
}

/* g, y and dx [outer,C,inner]. softmax: dx = (g - Σ g·y)·y; log-softmax: dx = g - exp(y)·Σ g. */
template <typename T, int THREADS, int V>
__global__ void
__launch_bounds__ (CUDA_THREADS) softmax_grad_kernel (T *dx, const T *g, const T *y, long long rows, long long dim,
                                                      LongDivisor by_inner, bool log)
{
  const long long row = row_of<THREADS> ();
  float sum = 0;

  if (row >= rows)
    return;
  long long outer = row;
  const long long inner = (long long)by_inner.by, place = take_index (&outer, by_inner);
  const long long base = outer * dim * inner + place;
  walk_row<THREADS, V> (base, dim, inner, [&] (auto many, long long i) {
    constexpr int N = decltype (many)::value;
    float of_g[N], of_y[N];

    load_pack<N> (of_g, g + base + i);
    if (!log)
      load_pack<N> (of_y, y + base + i);
    for (int k = 0; k < N; k++)
      sum += log ? of_g[k] : of_g[k] * of_y[k];
  });
  sum = block_join<Sum, THREADS> (sum);
  walk_row<THREADS, V> (base, dim, inner, [&] (auto many, long long i) {
    constexpr int N = decltype (many)::value;
    float of_g[N], of_y[N];

    load_pack<N> (of_g, g + base + i);
    load_pack<N> (of_y, y + base + i);
    for (int k = 0; k < N; k++)
      of_g[k] = log ? of_g[k] - expf (of_y[k]) * sum : (of_g[k] - sum) * of_y[k];
    store_pack<N> (dx + base + i, of_g);
  });
}

/* ---- host --------------------------------------------------------------------------- */

/* Calls f with an element, the number of threads of a row and of elements that each takes at a time. */
template <typename F>
static void
with_row (const Rows *self, F f)
{
  with_float (self->dtype, [&] (auto element) {
    using Warp = std::integral_constant<int, 32>;
    using Block = std::integral_constant<int, CUDA_THREADS>;
    using Packs = std::integral_constant<int, PACK<decltype (element)>>;
    using Single = std::integral_constant<int, 1>;

    if (self->dim <= WARP_LIMIT && self->by_inner.by == 1)
      f (element, Warp (), Packs ());
    else if (self->dim <= WARP_LIMIT)
      f (element, Warp (), Single ());
    else if (self->by_inner.by == 1)
      f (element, Block (), Packs ());
    else
      f (element, Block (), Single ());
  });
}

static LoomStatus
softmax_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Rows *self = (Rows *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->rows == 0 || self->dim == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_row (self, [&] (auto element, auto threads, auto pack) {
    using T = decltype (element);
    constexpr int THREADS = decltype (threads)::value;

    softmax_kernel<T, THREADS, decltype (pack)::value><<<blocks_for (self->rows, CUDA_THREADS / THREADS), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[1], (const T *)buffers[0], self->rows, self->dim, self->by_inner, self->log);
  });
  return cuda_launched ("softmax", message);
}

static LoomStatus
softmax_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Rows *self = (Rows *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->rows == 0 || self->dim == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_row (self, [&] (auto element, auto threads, auto pack) {
    using T = decltype (element);
    constexpr int THREADS = decltype (threads)::value;

    softmax_grad_kernel<T, THREADS, decltype (pack)::value><<<blocks_for (self->rows, CUDA_THREADS / THREADS), CUDA_THREADS, 0, handle>>> (
        (T *)buffers[2], (const T *)buffers[0], (const T *)buffers[1], self->rows, self->dim, self->by_inner, self->log);
  });
  return cuda_launched ("softmax_grad", message);
}

/* A kernel over [outer,C,inner] of the first operand, C being its axis `axis`. */
static LoomStatus
rows_new (LoomDevice *device, const LoomKernelSpec *spec, int axis, const char *name,
          LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Rows **out,
          LoomMessage *message)
{
  const LoomTensorDesc *x = &spec->in[0];
  Rows *self;

  if (!cuda_all_plain (spec) || (x->dtype != LOOM_F32 && x->dtype != LOOM_BF16 && x->dtype != LOOM_F16)
      || !all_of_dtype (spec->in, spec->n_in, x->dtype) || !all_of_dtype (spec->out, spec->n_out, x->dtype))
    return LOOM_STATUS_UNSUPPORTED;
  if (axis < 0 || axis >= x->rank)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s names an axis that its operand lacks", spec->primitive);
  self = kernel_struct<Rows> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = x->dtype;
  self->dim = x->dim[axis];
  self->by_inner = long_divisor_of ((unsigned long long)cuda_extent (x, axis + 1, x->rank));
  self->rows = cuda_extent (x, 0, axis) * cuda_extent (x, axis + 1, x->rank);
  *out = self;
  return LOOM_STATUS_OK;
}

static LoomStatus
any_softmax_new (LoomDevice *device, const LoomKernelSpec *spec, const char *name,
                 LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), uint32_t inplace,
                 LoomKernel **kernel, LoomMessage *message)
{
  const LoomSoftmaxAttrs *attrs = (const LoomSoftmaxAttrs *)spec->attrs;
  Rows *self = NULL;
  LoomStatus status;

  /* A scalar has no axis for a softmax. */
  if (spec->in[0].rank == 0)
    return LOOM_STATUS_UNSUPPORTED;
  status = rows_new (device, spec, attrs->axis, name, run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->log = attrs->log;
  self->base.inplace[0] = inplace;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

/* Each element is last read by the thread that writes it, and by others only before a join; so both kernels may work in
 * place. */
LoomStatus
cuda_softmax_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return any_softmax_new (device, spec, "own softmax", softmax_run, 1, kernel, message);
}

LoomStatus
cuda_softmax_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  if (spec->n_in != 2)
    return LOOM_STATUS_UNSUPPORTED;
  return any_softmax_new (device, spec, "own softmax_grad", softmax_grad_run, 3, kernel, message);
}
