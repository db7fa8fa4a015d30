/* Cross-entropy of class logits, and its gradient.
 *
 * Logits are seen as [outer,C,inner]. If inner is 1, a row of C is read once, 16 bytes at a time, by a warp if C is at
 * most 1,024 and by a block otherwise, with the maximum and the sum of exponentials updated together (cuda-rows.cuh);
 * two passes would read it twice. The gradient reads and writes each element once, the least possible, without a
 * division per element. If inner is above 1, a thread has one position of [outer,inner] and iterates over its classes,
 * so that neighbouring threads read neighbours.
 *
 * A row may be longer than the number of classes (LoomCrossEntropyAttrs.classes): in kernels `length` is the length of
 * a row, and `dim` the number of classes. Logits may be of 16 bits and are computed with as f32; the gradient of f32
 * logits may be of 16 bits, too, for products that read it. Both have the bits of separate conversions, which would
 * read and write everything once more. Losses and their sums are f32. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-rows.cuh"

#define CHUNK 4096 /* elements of a row's gradient that one block computes */

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  long long rows, dim, length, inner;
  LongDivisor by_inner;
  LoomDType from, to; /* the logits' and the gradient's */
  long long ignore_index;
} Entropy;

/* Writes loss and lse of one row of logits x, which are `apart` elements from one another. A row of only -∞ has no
 * softmax and results in NaN, as in PyTorch. */
template <typename T>
__device__ static inline void
finish_row (float *loss, float *lse, const T *x, MaxSum all, long long wanted, long long dim, long long apart,
          long long ignore_index, CudaRaise raise)
{
  const float log_sum = all.most == -INFINITY ? NAN : logf (all.sum);

  *lse = all.most + log_sum;
  if (wanted == ignore_index)
    *loss = 0;
  else if (wanted < 0 || wanted >= dim)
    {
      *loss = NAN;
      raise_fault (raise, CUDA_FAULT_CLASS, wanted, dim);
    }
  else
    *loss = log_sum - (load (x[wanted * apart]) - all.most);
}

/* loss, lse and target are [rows], x is [rows,length]; THREADS threads, a warp or a whole block, for each row. */
template <int THREADS, typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    rows_kernel (float *loss, float *lse, const T *x, const long long *target, long long rows, long long dim,
                 long long length, long long ignore_index, CudaRaise raise)
{
  const long long row = row_of<THREADS> ();

  if (row >= rows)
    return;
  const T *from = x + row * length;
  const MaxSum share = max_sum_of_row<THREADS, PACK<T>> (from, row * length, dim, 1);
  if (first_of<THREADS> () == 0)
    finish_row (loss + row, lse + row, from, share, target[row], dim, 1, ignore_index, raise);
}

/* loss, lse and target are [outer,inner], x is [outer,length,inner], inner above 1; one thread for each position of
 * [outer,inner], numbered by `row`. */
template <typename T>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    positions_kernel (float *loss, float *lse, const T *x, const long long *target, long long rows, long long dim,
                   long long length, LongDivisor by_inner, long long ignore_index, CudaRaise raise)
{
  const long long row = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  MaxSum share = { -INFINITY, 0 };

  if (row >= rows)
    return;
  long long outer = row;
  const long long inner = (long long)by_inner.by, place = take_index (&outer, by_inner);
  const T *from = x + outer * length * inner + place;
  for (long long c = 0; c < dim; c++)
    {
      const float part[1] = { load (from[c * inner]) };

      share.take<1> (part);
    }
  finish_row (loss + row, lse + row, from, share, target[row], dim, inner, ignore_index, raise);
}

/* The gradient of a row: each element is (exp (x - lse) - [it is the target])·g. */
typedef struct
{
  long long wanted;
  float lse, g;
  bool counts, faulty;
} RowGrad;

__device__ static inline RowGrad
row_grad_of (long long wanted, float lse, float g, long long dim, long long ignore_index)
{
  return { wanted, lse, g, wanted != ignore_index, wanted != ignore_index && (wanted < 0 || wanted >= dim) };
}

__device__ static inline float
row_grad_at (const RowGrad &s, float x, long long c)
{
  if (s.faulty)
    return NAN;
  return s.counts ? (expf (x - s.lse) - (c == s.wanted ? 1.0f : 0.0f)) * s.g : 0.0f;
}

/* x and dx are [rows,length], target, lse and g [rows]; a row is cut into `pieces` of `piece` elements, one for THREADS
 * threads. */
template <int THREADS, typename To, typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    rows_grad_kernel (To *dx, const T *x, const long long *target, const float *lse, const float *g, long long rows,
                      long long dim, long long length, unsigned int pieces, long long piece, long long ignore_index,
                      CudaRaise raise)
{
  const unsigned int group = (unsigned int)row_of<THREADS> (), part = group % pieces;
  const long long row = group / pieces, low = part * piece;
  const int first = first_of<THREADS> ();

  if (row >= rows)
    return;
  const RowGrad row_grad = row_grad_of (target[row], lse[row], g[row], dim, ignore_index);
  const T *from = x + row * length;
  To *to = dx + row * length;
  if (row_grad.faulty && part == 0 && first == 0)
    raise_fault (raise, CUDA_FAULT_CLASS, row_grad.wanted, dim);
  walk_row<THREADS, PACK<To>> (row * length + low, dim - low < piece ? dim - low : piece, 1, [&] (auto many, long long i) {
    constexpr int N = decltype (many)::value;
    float at[N];

    load_pack<N> (at, from + low + i);
    for (int k = 0; k < N; k++)
      at[k] = row_grad_at (row_grad, at[k], low + i + k);
    store_pack<N> (to + low + i, at);
  });
  for (long long i = dim + first; part == pieces - 1 && i < length; i += THREADS)
    store (to + i, 0.0f);
}

/* x and dx are [outer,length,inner], target, lse and g [outer,inner]; one thread for each position of [outer,inner]. */
template <typename To, typename T>
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    positions_grad_kernel (To *dx, const T *x, const long long *target, const float *lse, const float *g, long long rows,
                        long long dim, long long length, LongDivisor by_inner, long long ignore_index, CudaRaise raise)
{
  const long long row = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (row >= rows)
    return;
  long long outer = row;
  const long long inner = (long long)by_inner.by, place = take_index (&outer, by_inner);
  const RowGrad row_grad = row_grad_of (target[row], lse[row], g[row], dim, ignore_index);
  const long long first = outer * length * inner + place;
  if (row_grad.faulty)
    raise_fault (raise, CUDA_FAULT_CLASS, row_grad.wanted, dim);
  for (long long c = 0; c < dim; c++)
    store (dx + first + c * inner, row_grad_at (row_grad, load (x[first + c * inner]), c));
  for (long long c = dim; c < length; c++)
    store (dx + first + c * inner, 0.0f);
}

/* ---- host --------------------------------------------------------------------------- */

template <typename T>
static void
launch (const Entropy *self, cudaStream_t stream, void *const *buffers, CudaRaise raise)
{
  const T *x = (const T *)buffers[0];
  const long long *target = (const long long *)buffers[1];
  float *loss = (float *)buffers[2], *lse = (float *)buffers[3];

  if (self->inner > 1)
    positions_kernel<<<blocks_for (self->rows, CUDA_THREADS), CUDA_THREADS, 0, stream>>> (
        loss, lse, x, target, self->rows, self->dim, self->length, self->by_inner, self->ignore_index, raise);
  else if (self->dim <= WARP_LIMIT)
    rows_kernel<32><<<blocks_for (self->rows, CUDA_THREADS / 32), CUDA_THREADS, 0, stream>>> (
        loss, lse, x, target, self->rows, self->dim, self->length, self->ignore_index, raise);
  else
    rows_kernel<CUDA_THREADS><<<(unsigned int)self->rows, CUDA_THREADS, 0, stream>>> (
        loss, lse, x, target, self->rows, self->dim, self->length, self->ignore_index, raise);
}

static LoomStatus
cross_entropy_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Entropy *self = (Entropy *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const CudaRaise raise = cuda_raise (self->device, stream, base, NULL);

  if (self->rows == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_float (self->from, [&] (auto logit) { launch<decltype (logit)> (self, handle, buffers, raise); });
  return cuda_launched ("cross_entropy", message);
}

template <typename To, typename T>
static void
launch_grad (const Entropy *self, cudaStream_t stream, void *const *buffers, CudaRaise raise)
{
  const T *x = (const T *)buffers[0];
  const float *lse = (const float *)buffers[2], *g = (const float *)buffers[3];
  const long long *target = (const long long *)buffers[1];
  To *dx = (To *)buffers[4];
  const unsigned int pieces = blocks_for (self->dim, CHUNK);

  if (self->inner > 1)
    positions_grad_kernel<<<blocks_for (self->rows, CUDA_THREADS), CUDA_THREADS, 0, stream>>> (
        dx, x, target, lse, g, self->rows, self->dim, self->length, self->by_inner, self->ignore_index, raise);
  else if (self->dim <= WARP_LIMIT)
    rows_grad_kernel<32><<<blocks_for (self->rows, CUDA_THREADS / 32), CUDA_THREADS, 0, stream>>> (
        dx, x, target, lse, g, self->rows, self->dim, self->length, 1, WARP_LIMIT, self->ignore_index, raise);
  else
    rows_grad_kernel<CUDA_THREADS><<<(unsigned int)self->rows * pieces, CUDA_THREADS, 0, stream>>> (
        dx, x, target, lse, g, self->rows, self->dim, self->length, pieces, CHUNK, self->ignore_index, raise);
}

static LoomStatus
cross_entropy_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Entropy *self = (Entropy *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const CudaRaise raise = cuda_raise (self->device, stream, base, NULL);

  if (self->rows * self->dim == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  with_float (self->to, [&] (auto row_grad) {
    using To = decltype (row_grad);

    if (self->from == self->to)
      launch_grad<To, To> (self, handle, buffers, raise);
    else
      launch_grad<To, float> (self, handle, buffers, raise);
  });
  return cuda_launched ("cross_entropy_grad", message);
}

static bool
is_float (LoomDType dtype)
{
  return dtype == LOOM_F32 || dtype == LOOM_BF16 || dtype == LOOM_F16;
}

/* Logits of any float type; their gradient has the same type, or any float type if they are f32. */
static LoomStatus
entropy_new (LoomDevice *device, const LoomKernelSpec *spec, const char *name,
             LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), bool grad,
             LoomKernel **kernel, LoomMessage *message)
{
  const LoomCrossEntropyAttrs *attrs = (const LoomCrossEntropyAttrs *)spec->attrs;
  const LoomTensorDesc *x = &spec->in[0];
  const LoomDType to = spec->out[0].dtype;
  Entropy *self;

  if (!cuda_all_plain (spec) || !is_float (x->dtype) || spec->in[1].dtype != LOOM_I64
      || !all_of_dtype (spec->in + 2, spec->n_in - 2, LOOM_F32)
      || (grad ? !is_float (to) || (x->dtype != LOOM_F32 && x->dtype != to) : !all_of_dtype (spec->out, spec->n_out, LOOM_F32)))
    return LOOM_STATUS_UNSUPPORTED;
  if (x->rank < 2)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s names an axis that its operand lacks", spec->primitive);
  self = kernel_struct<Entropy> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->length = x->dim[1];
  self->dim = attrs->classes != 0 ? attrs->classes : self->length;
  self->from = x->dtype;
  self->to = to;
  self->inner = cuda_extent (x, 2, x->rank);
  self->by_inner = long_divisor_of ((unsigned long long)self->inner);
  self->rows = x->dim[0] * self->inner;
  self->ignore_index = attrs->ignore_index;
  /* dlogits may have the address of the logits: each element depends on its own only. */
  self->base.inplace[0] = grad && to == x->dtype ? 1 : 0;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_cross_entropy_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return entropy_new (device, spec, "own cross_entropy", cross_entropy_run, false, kernel, message);
}

LoomStatus
cuda_cross_entropy_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return entropy_new (device, spec, "own cross_entropy_grad", cross_entropy_grad_run, true, kernel, message);
}
