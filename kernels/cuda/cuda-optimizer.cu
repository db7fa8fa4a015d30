/* Gradient statistics and the steps of SGD and Adam, SGD's also with an undo log; cuda-steps.cu has the other
 * optimisers'.
 *
 * A step updates all parameters in one launch, block i takes chunk i (cuda-multi.cuh). Rates and the step number are read
 * from device memory, so that a recorded graph stays valid when they change. */
#include "kernels/cuda/cuda-optim.cuh"

/* ---- gradient statistics --------------------------------------------------------------------- */

#define JOINERS 512

/* Adds the squares of g [4], and clears *finite if one of g is not finite. */
__device__ static inline void
add_squares (const float g[4], double *sum, double *finite)
{
#pragma unroll
  for (int k = 0; k < 4; k++)
    {
      *sum += (double)g[k] * g[k];
      if (!isfinite (g[k]))
        *finite = 0;
    }
}

/* Stores a block's sums in parts [chunks,2]: the sum, and 1 if all elements are finite, else 0. */
__device__ static inline void
put_part (double *parts, double sum, double finite)
{
  sum = block_join<Sum, CUDA_THREADS> (sum);
  finite = block_join<Smallest, CUDA_THREADS> (finite);
  if (threadIdx.x == 0)
    {
      parts[blockIdx.x * 2] = sum;
      parts[blockIdx.x * 2 + 1] = finite;
    }
}

/* parts [chunks,2] as stored by put_part(), chunks [n_chunks] with the list of gradients; one block for each chunk. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) stats_kernel (double *parts, const Chunk *chunks)
{
  const Chunk chunk = chunks[blockIdx.x];
  const int count = (int)chunk.count;
  const bool aligned = chunk_is_aligned (chunk, 1);
  double sum = 0, finite = 1;

#pragma unroll 2
  for (int i = 4 * threadIdx.x; i < count; i += 4 * CUDA_THREADS)
    {
      float g[4];

      take_four (g, chunk.at[0] + i, count - i, aligned);
      add_squares (g, &sum, &finite);
    }
  put_part (parts, sum, finite);
}

/* parts [n,2], sumsq and finite are scalars; one block, whose threads add in a fixed order. */
__global__ static void
__launch_bounds__ (JOINERS) stats_join_kernel (float *sumsq, float *finite, const double *__restrict__ parts, int n)
{
  double sum = 0, all = 1;

#pragma unroll 4
  for (int i = threadIdx.x; i < n; i += JOINERS)
    {
      sum += parts[i * 2];
      all = parts[i * 2 + 1] < all ? parts[i * 2 + 1] : all;
    }
  sum = block_join<Sum, JOINERS> (sum);
  all = block_join<Smallest, JOINERS> (all);
  if (threadIdx.x == 0)
    {
      *sumsq = (float)sum;
      *finite = (float)all;
    }
}

static LoomStatus
grad_stats_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  float *sumsq = (float *)buffers[self->n_in], *finite = (float *)buffers[self->n_in + 1];
  double *parts = (double *)buffers[self->n_in + 2];

  cuda_use (self->device);
  if (self->n_chunks > 0)
    stats_kernel<<<self->n_chunks, CUDA_THREADS, 0, handle>>> (parts, self->chunks);
  stats_join_kernel<<<1, JOINERS, 0, handle>>> (sumsq, finite, parts, self->n_chunks);
  return cuda_launched ("grad_stats", message);
}

/* Adjacent tensors are not joined here: the order of the sum must not depend on addresses. */
LoomStatus
cuda_grad_stats_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Multi *self = NULL;
  LoomStatus status;

  if (spec->n_out != 2 || !all_of_dtype (spec->out, 2, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  status = multi_new (device, spec, spec->n_in, 1, "own grad_stats", grad_stats_run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->base.scratch_bytes = (size_t)(self->n_chunks != 0 ? self->n_chunks : 1) * 2 * sizeof (double);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

/* ---- sgd and adam ------------------------------------------------------------------------------ */

/* The addresses of a step's scalars in device memory: its own, grad_scale, finite, step. */
#define MAX_SCALARS 8

typedef struct
{
  void *at[MAX_SCALARS];
} Scalars;

static Scalars
scalars_of (const Multi *self, void *const *buffers)
{
  const int first = self->n * self->lists;
  Scalars scalars = { { NULL } };

  for (int i = 0; i < self->n_in - first; i++)
    scalars.at[i] = buffers[first + i];
  return scalars;
}

__device__ static void
rates_of (const LoomSgdAttrs *attrs, const double *hyper, double step, LoomStepRates *rates)
{
  loom_rates_sgd (attrs, hyper, step, rates);
}

__device__ static void
rates_of (const LoomAdamAttrs *attrs, const double *hyper, double step, LoomStepRates *rates)
{
  loom_rates_adam (attrs, hyper, step, rates);
}

/* Reads a step's N scalars and its number for all threads of a block; false if finite is 0 and the step must do
 * nothing. */
template <int N, typename Attrs>
__device__ static bool
begin_step (const Scalars &scalars, const Attrs &attrs, Common_f *common, double *step)
{
  LoomStepRates rates;
  double hyper[N];

  if (!read_scalars_f (scalars.at, N, attrs.maximize, hyper, &rates, step))
    return false;
  if (threadIdx.x == 0)
    {
      rates_of (&attrs, hyper, *step, &rates);
      *common = common_of_f (&rates);
    }
  __syncthreads ();
  return true;
}

/* One block for each chunk; its lists are p, g and with momentum the buffer, each [chunk.count]. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) sgd_kernel (const Chunk *chunks, Scalars scalars, LoomSgdAttrs attrs)
{
  __shared__ Common_f common;
  const Chunk chunk = chunks[blockIdx.x];
  double step;

  if (!begin_step<4> (scalars, attrs, &common, &step))
    return;
  /* The buffer may hold NaN before the first step. */
  const bool keeps = attrs.momentum && step != 1;
  const int count = (int)chunk.count;
  const bool aligned = chunk_is_aligned (chunk, attrs.momentum ? 3 : 2);
  for (int i = 4 * threadIdx.x; i < count; i += 4 * CUDA_THREADS)
    {
      const int left = count - i;
      float p[4], g[4], buffer[4] = { 0 };

      take_four (p, chunk.at[0] + i, left, aligned);
      take_four (g, chunk.at[1] + i, left, aligned);
      if (keeps)
        take_four (buffer, chunk.at[2] + i, left, aligned);
#pragma unroll
      for (int k = 0; k < 4; k++)
        {
          if (attrs.momentum)
            p[k] = sgd_momentum_f (p[k], g[k] * common.scale + common.decay * p[k], &buffer[k], common.c);
          else
            p[k] = sgd_f (p[k], g[k], common.scale, common.decay, common.c[0]);
        }
      put_four (chunk.at[0] + i, p, left, aligned);
      if (attrs.momentum)
        put_four (chunk.at[2] + i, buffer, left, aligned);
    }
}

/* One block for each chunk; its lists are p, g, m, v and with amsgrad vmax, each [chunk.count]. Kingma and Ba 2015;
 * decoupled decay after Loshchilov and Hutter 2019. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) adam_kernel (const Chunk *chunks, Scalars scalars, LoomAdamAttrs attrs)
{
  __shared__ Common_f common;
  const Chunk chunk = chunks[blockIdx.x];
  double step;

  if (!begin_step<5> (scalars, attrs, &common, &step))
    return;
  const int count = (int)chunk.count;
  const bool aligned = chunk_is_aligned (chunk, attrs.amsgrad ? 5 : 4);
  for (int i = 4 * threadIdx.x; i < count; i += 4 * CUDA_THREADS)
    {
      const int left = count - i;
      float p[4], g[4], mean[4], square[4], most[4] = { 0 };

      take_four (p, chunk.at[0] + i, left, aligned);
      take_four (g, chunk.at[1] + i, left, aligned);
      take_four (mean, chunk.at[2] + i, left, aligned);
      take_four (square, chunk.at[3] + i, left, aligned);
      if (attrs.amsgrad)
        take_four (most, chunk.at[4] + i, left, aligned);
#pragma unroll
      for (int k = 0; k < 4; k++)
        {
          float second = adam_moments_f (g[k] * common.scale + common.decay * p[k], &mean[k], &square[k], common.c);

          if (attrs.amsgrad)
            most[k] = second = Largest::join (most[k], second);
          p[k] = adam_f (p[k] * common.shrink, mean[k], second, common.c);
        }
      put_four (chunk.at[2] + i, mean, left, aligned);
      put_four (chunk.at[3] + i, square, left, aligned);
      if (attrs.amsgrad)
        put_four (chunk.at[4] + i, most, left, aligned);
      put_four (chunk.at[0] + i, p, left, aligned);
    }
}

static LoomStatus
sgd_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;

  if (self->n_chunks == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  sgd_kernel<<<self->n_chunks, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      self->chunks, scalars_of (self, buffers), self->sgd);
  return cuda_launched ("sgd_step", message);
}

static LoomStatus
adam_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;

  if (self->n_chunks == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  adam_kernel<<<self->n_chunks, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      self->chunks, scalars_of (self, buffers), self->adam);
  return cuda_launched ("adam_step", message);
}

/* The operands are n lists of tensors, then n_hyper scalars, grad_scale and finite, which are f32, and the step. */
static LoomStatus
optimizer_new (LoomDevice *device, const LoomKernelSpec *spec, int n, int lists, int n_hyper, const char *name,
               LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Multi **out,
               LoomMessage *message)
{
  const int first = n * lists;
  LoomStatus status;

  if (spec->n_in != first + n_hyper + 3 || !all_of_dtype (spec->in + first, n_hyper + 2, LOOM_F32)
      || spec->in[first + n_hyper + 2].dtype != LOOM_I64)
    return LOOM_STATUS_UNSUPPORTED;
  status = multi_new (device, spec, n, lists, name, run, out, message);
  if (status == LOOM_STATUS_OK)
    (*out)->join_neighbours = true;
  return status;
}

LoomStatus
cuda_sgd_step_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomSgdAttrs *attrs = (const LoomSgdAttrs *)spec->attrs;
  Multi *self = NULL;
  LoomStatus status = optimizer_new (device, spec, attrs->n, attrs->momentum ? 3 : 2, 4, "own multi-tensor sgd",
                                     sgd_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  self->sgd = *attrs;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_adam_step_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomAdamAttrs *attrs = (const LoomAdamAttrs *)spec->attrs;
  Multi *self = NULL;
  LoomStatus status = optimizer_new (device, spec, attrs->n, attrs->amsgrad ? 5 : 4, 5, "own multi-tensor adam",
                                     adam_run, &self, message);

  if (status != LOOM_STATUS_OK)
    return status;
  self->adam = *attrs;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

/* ---- sgd with an undo log ----------------------------------------------------------------------- */

/* One block for each chunk, whose lists are p and g, each [chunk.count]; writes the new p over p, the old one over g,
 * and the squares of g to parts [chunks,2], as stats_kernel() does. */
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    logged_kernel (double *parts, const Chunk *chunks, const float *lr, const float *decay, const float *grad_scale, bool maximize)
{
  const Chunk chunk = chunks[blockIdx.x];
  const int count = (int)chunk.count;
  const bool aligned = chunk_is_aligned (chunk, 2);
  const float rate = *lr, shrink = *decay, scale = maximize ? -*grad_scale : *grad_scale;
  double sum = 0, finite = 1;

  for (int i = 4 * threadIdx.x; i < count; i += 4 * CUDA_THREADS)
    {
      const int left = count - i;
      float p[4], g[4], next[4];

      take_four (p, chunk.at[0] + i, left, aligned);
      take_four (g, chunk.at[1] + i, left, aligned);
      add_squares (g, &sum, &finite);
#pragma unroll
      for (int k = 0; k < 4; k++)
        next[k] = sgd_f (p[k], g[k], scale, shrink, rate);
      put_four (chunk.at[0] + i, next, left, aligned);
      put_four (chunk.at[1] + i, p, left, aligned);
    }
  put_part (parts, sum, finite);
}

/* One block for each chunk, whose lists are p and the old p, each [chunk.count]. A raised flag closes update_gate also
 * for steps that were queued before the host has read the fault, so such a step is undone, too. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) undo_kernel (const Chunk *chunks, const float *finite, CudaRaise raise)
{
  if (*finite != 0 && raise.flag->raised == 0 && !has_joined_fault (raise))
    return;
  const Chunk chunk = chunks[blockIdx.x];
  const int count = (int)chunk.count;
  const bool aligned = chunk_is_aligned (chunk, 2);
  for (int i = 4 * threadIdx.x; i < count; i += 4 * CUDA_THREADS)
    {
      float p[4];

      take_four (p, chunk.at[1] + i, count - i, aligned);
      put_four (chunk.at[0] + i, p, count - i, aligned);
    }
}

static LoomStatus
logged_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  void *const *scalar = buffers + 2 * self->n, *const *stats = buffers + self->n_in + 2 * self->n;
  double *parts = (double *)stats[2];

  cuda_use (self->device);
  if (self->n_chunks > 0)
    logged_kernel<<<self->n_chunks, CUDA_THREADS, 0, handle>>> (parts, self->chunks, (const float *)scalar[0], (const float *)scalar[1],
                                                                (const float *)scalar[2], self->sgd.maximize);
  stats_join_kernel<<<1, JOINERS, 0, handle>>> ((float *)stats[0], (float *)stats[1], parts, self->n_chunks);
  return cuda_launched ("sgd_step_logged", message);
}

static LoomStatus
undo_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;

  if (self->n_chunks == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  undo_kernel<<<self->n_chunks, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      self->chunks, (const float *)buffers[2 * self->n], cuda_raise (self->device, stream, base, NULL));
  return cuda_launched ("undo_step", message);
}

/* Adjacent tensors are not joined here either, as in grad_stats. */
LoomStatus
cuda_sgd_step_logged_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomSgdLoggedAttrs *attrs = (const LoomSgdLoggedAttrs *)spec->attrs;
  Multi *self = NULL;
  LoomStatus status;

  if (spec->n_in != 2 * attrs->n + 3 || spec->n_out != 2 * attrs->n + 2 || !all_of_dtype (spec->in, spec->n_in, LOOM_F32)
      || !all_of_dtype (spec->out, spec->n_out, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  status = multi_new (device, spec, attrs->n, 2, "own multi-tensor sgd, logged", logged_run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->sgd.maximize = attrs->maximize;
  self->base.scratch_bytes = (size_t)(self->n_chunks != 0 ? self->n_chunks : 1) * 2 * sizeof (double);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_undo_step_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomUndoAttrs *attrs = (const LoomUndoAttrs *)spec->attrs;
  Multi *self = NULL;
  LoomStatus status;

  if (spec->n_in != 2 * attrs->n + 1 || !all_of_dtype (spec->in, spec->n_in, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  status = multi_new (device, spec, attrs->n, 2, "own multi-tensor undo", undo_run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->join_neighbours = true;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
