/* Gradient statistics and the steps of SGD and Adam; cuda-steps.cu has the other optimisers'.
 *
 * A step updates all parameters in one launch, block i takes chunk i (cuda-multi.cuh). Rates and the step number are read
 * from device memory, so that a recorded graph stays valid when they change. */
#include <math.h>

#include "kernels/cuda/cuda-multi.cuh"

/* ---- gradient statistics --------------------------------------------------------------------- */

/* parts is (chunks, 2): the sum of squares and 1 where all were finite. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) stats_kernel (double *parts, const Chunk *chunks)
{
  const Chunk chunk = chunks[blockIdx.x];
  double sum = 0, finite = 1;

  for (int i = threadIdx.x; i < chunk.count; i += CUDA_THREADS)
    {
      const double g = chunk.at[0][i];

      sum += g * g;
      if (!isfinite (g))
        finite = 0;
    }
  sum = block_join<Sum, CUDA_THREADS> (sum);
  finite = block_join<Smallest, CUDA_THREADS> (finite);
  if (threadIdx.x == 0)
    {
      parts[blockIdx.x * 2] = sum;
      parts[blockIdx.x * 2 + 1] = finite;
    }
}

__global__ static void
__launch_bounds__ (CUDA_THREADS) stats_join_kernel (float *sumsq, float *finite, const double *parts, int n)
{
  double sum = 0, all = 1;

  for (int i = threadIdx.x; i < n; i += CUDA_THREADS)
    {
      sum += parts[i * 2];
      all = parts[i * 2 + 1] < all ? parts[i * 2 + 1] : all;
    }
  sum = block_join<Sum, CUDA_THREADS> (sum);
  all = block_join<Smallest, CUDA_THREADS> (all);
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
  stats_join_kernel<<<1, CUDA_THREADS, 0, handle>>> (sumsq, finite, parts, self->n_chunks);
  return cuda_launched ("grad_stats", message);
}

/* Neighbours are not joined here: the sum's order must not depend on addresses. */
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

/* ---- sgd ------------------------------------------------------------------------------------- */

typedef struct
{
  const float *lr, *momentum, *dampening, *weight_decay, *grad_scale, *finite;
  const long long *step;
} SgdRates;

__global__ static void
__launch_bounds__ (CUDA_THREADS)
    sgd_kernel (const Chunk *chunks, SgdRates rates, bool has_momentum, bool nesterov, bool maximize)
{
  const Chunk chunk = chunks[blockIdx.x];
  const float lr = *rates.lr, decay = *rates.weight_decay, momentum = *rates.momentum;
  const float keep = 1.0f - *rates.dampening, scale = maximize ? -*rates.grad_scale : *rates.grad_scale;
  const bool first = *rates.step == 1;

  if (*rates.finite == 0)
    return;
  for (int i = threadIdx.x; i < chunk.count; i += CUDA_THREADS)
    {
      const float p = chunk.at[0][i];
      float g = chunk.at[1][i] * scale + decay * p;

      if (has_momentum)
        {
          const float buffer = first ? g : momentum * chunk.at[2][i] + keep * g;

          chunk.at[2][i] = buffer;
          g = nesterov ? g + momentum * buffer : buffer;
        }
      chunk.at[0][i] = p - lr * g;
    }
}

static LoomStatus
sgd_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;
  void *const *scalar = buffers + self->n * self->lists;
  const SgdRates rates
      = { (const float *)scalar[0], (const float *)scalar[1], (const float *)scalar[2],    (const float *)scalar[3],
          (const float *)scalar[4], (const float *)scalar[5], (const long long *)scalar[6] };

  if (self->n_chunks == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  sgd_kernel<<<self->n_chunks, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      self->chunks, rates, self->has_momentum, self->nesterov, self->maximize);
  return cuda_launched ("sgd_step", message);
}

/* The seven scalars after the lists: six of f32, then the step. */
static bool
scalars_fit (const LoomKernelSpec *spec, int first)
{
  return spec->n_in == first + 7 && all_of_dtype (spec->in + first, 6, LOOM_F32)
         && spec->in[first + 6].dtype == LOOM_I64;
}

LoomStatus
cuda_sgd_step_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomSgdAttrs *attrs = (const LoomSgdAttrs *)spec->attrs;
  const int lists = attrs->momentum ? 3 : 2;
  Multi *self = NULL;
  LoomStatus status;

  if (!scalars_fit (spec, attrs->n * lists))
    return LOOM_STATUS_UNSUPPORTED;
  status = multi_new (device, spec, attrs->n, lists, "own multi-tensor sgd", sgd_run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->join_neighbours = true;
  self->has_momentum = attrs->momentum;
  self->nesterov = attrs->nesterov;
  self->maximize = attrs->maximize;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

/* ---- adam ------------------------------------------------------------------------------------- */

typedef struct
{
  const float *lr, *beta1, *beta2, *eps, *weight_decay, *grad_scale, *finite;
  const long long *step;
} AdamRates;

/* Kingma and Ba 2015; decoupled decay after Loshchilov and Hutter 2019. */
__global__ static void
__launch_bounds__ (CUDA_THREADS)
    adam_kernel (const Chunk *chunks, AdamRates rates, bool decoupled, bool amsgrad, bool maximize)
{
  __shared__ float step_size, root_of_bias;
  const Chunk chunk = chunks[blockIdx.x];
  const float lr = *rates.lr, beta1 = *rates.beta1, beta2 = *rates.beta2, eps = *rates.eps;
  const float decay = *rates.weight_decay, scale = maximize ? -*rates.grad_scale : *rates.grad_scale;

  if (*rates.finite == 0)
    return;
  /* In f64: 1 - beta2^step loses its digits in f32 at the first steps. */
  if (threadIdx.x == 0)
    {
      const double step = (double)*rates.step;

      step_size = (float)(lr / (1.0 - pow ((double)beta1, step)));
      root_of_bias = (float)sqrt (1.0 - pow ((double)beta2, step));
    }
  __syncthreads ();
  for (int i = threadIdx.x; i < chunk.count; i += CUDA_THREADS)
    {
      float p = chunk.at[0][i], g = chunk.at[1][i] * scale;

      if (decoupled)
        p *= 1.0f - lr * decay;
      else
        g += decay * p;
      const float m = chunk.at[2][i] + (g - chunk.at[2][i]) * (1.0f - beta1);
      const float v = beta2 * chunk.at[3][i] + (1.0f - beta2) * g * g;
      float most = v;

      chunk.at[2][i] = m;
      chunk.at[3][i] = v;
      if (amsgrad)
        {
          most = Largest::join (chunk.at[4][i], v);
          chunk.at[4][i] = most;
        }
      chunk.at[0][i] = p - step_size * (m / (sqrtf (most) / root_of_bias + eps));
    }
}

static LoomStatus
adam_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;
  void *const *scalar = buffers + self->n * self->lists;
  const AdamRates rates
      = { (const float *)scalar[0], (const float *)scalar[1], (const float *)scalar[2], (const float *)scalar[3],
          (const float *)scalar[4], (const float *)scalar[5], (const float *)scalar[6], (const long long *)scalar[7] };

  if (self->n_chunks == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  adam_kernel<<<self->n_chunks, CUDA_THREADS, 0, cuda_stream (self->device, stream)>>> (
      self->chunks, rates, self->decoupled, self->amsgrad, self->maximize);
  return cuda_launched ("adam_step", message);
}

LoomStatus
cuda_adam_step_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomAdamAttrs *attrs = (const LoomAdamAttrs *)spec->attrs;
  const int lists = attrs->amsgrad ? 5 : 4, scalars = attrs->n * lists;
  Multi *self = NULL;
  LoomStatus status;

  if (spec->n_in != scalars + 8 || !all_of_dtype (spec->in + scalars, 7, LOOM_F32)
      || spec->in[scalars + 7].dtype != LOOM_I64)
    return LOOM_STATUS_UNSUPPORTED;
  status = multi_new (device, spec, attrs->n, lists, "own multi-tensor adam", adam_run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->join_neighbours = true;
  self->decoupled = attrs->decoupled;
  self->amsgrad = attrs->amsgrad;
  self->maximize = attrs->maximize;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
