/* Random numbers, gradient statistics and the optimisers' steps.
 *
 * A step updates all parameters in one launch: bind() writes a table of chunks, each at
 * most CHUNK elements of one tensor, and block i takes chunk i. Tensors that lie side by
 * side in every list are joined first. Rates and the step number are read from device
 * memory, so that a recorded graph stays valid when they change. */
#include <math.h>

#include "kernels/cuda/cuda-kernels.cuh"
#include "kernels/philox.h"

#define CHUNK 8192
#define LISTS 5 /* p, g, m, v, vmax */

/* ---- random ----------------------------------------------------------------------------- */

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  LoomDType dtype;
  long long count;
  unsigned long long stream;
  LoomRandomKind kind;
} Random;

/* One thread a block of four numbers. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) random_kernel (T *y, const long long *seed, const long long *step, long long count,
                                                unsigned long long stream, LoomRandomKind kind)
{
  const long long block = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  uint32_t word[4];

  if (block * 4 >= count)
    return;
  loom_philox ((uint64_t)*seed, stream, (uint64_t)*step, (uint64_t)block, word);
  for (int i = 0; i < 4 && block * 4 + i < count; i++)
    {
      if (kind == LOOM_RANDOM_NORMAL)
        {
          const T u = loom_philox_uniform (word[i & 2]), v = loom_philox_uniform (word[(i & 2) + 1]);
          const T radius = sqrt ((T)-2 * log ((T)1 - u));

          y[block * 4 + i] = radius * (i % 2 == 0 ? cospi ((T)2 * v) : sinpi ((T)2 * v));
        }
      else if (kind == LOOM_RANDOM_EXPONENTIAL)
        y[block * 4 + i] = (T)-log (loom_philox_open (word[i]));
      else
        y[block * 4 + i] = loom_philox_uniform (word[i]);
    }
}

/* One thread a block of two whole numbers. */
__global__ static void
__launch_bounds__ (CUDA_THREADS) whole_kernel (long long *y, const long long *seed, const long long *step,
                                               long long count, unsigned long long stream)
{
  const long long block = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;
  uint32_t word[4];

  if (block * 2 >= count)
    return;
  loom_philox ((uint64_t)*seed, stream, (uint64_t)*step, (uint64_t)block, word);
  y[block * 2] = loom_philox_whole (word[0], word[1]);
  if (block * 2 + 1 < count)
    y[block * 2 + 1] = loom_philox_whole (word[2], word[3]);
}

static LoomStatus
random_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Random *self = (Random *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  const long long *seed = (const long long *)buffers[0], *step = (const long long *)buffers[1];
  const unsigned int blocks = blocks_for (self->count, CUDA_THREADS * 4);

  if (self->count == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->dtype == LOOM_I64)
    whole_kernel<<<blocks_for (self->count, CUDA_THREADS * 2), CUDA_THREADS, 0, handle>>> (
        (long long *)buffers[2], seed, step, self->count, self->stream);
  else if (self->dtype == LOOM_F32)
    random_kernel<float><<<blocks, CUDA_THREADS, 0, handle>>> ((float *)buffers[2], seed, step, self->count,
                                                                 self->stream, self->kind);
  else
    random_kernel<double><<<blocks, CUDA_THREADS, 0, handle>>> ((double *)buffers[2], seed, step, self->count,
                                                                  self->stream, self->kind);
  return cuda_launched ("random", message);
}

LoomStatus
cuda_random_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomRandomAttrs *attrs = (const LoomRandomAttrs *)spec->attrs;
  Random *self;

  if (!cuda_all_plain (spec) || !all_of_dtype (spec->in, spec->n_in, LOOM_I64)
      || (spec->out[0].dtype != LOOM_F32 && spec->out[0].dtype != LOOM_F64 && spec->out[0].dtype != LOOM_I64))
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Random> (device, "own philox", random_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->dtype = spec->out[0].dtype;
  self->count = loom_desc_count (&spec->out[0]);
  self->stream = attrs->stream;
  self->kind = attrs->kind;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

/* ---- tables of chunks ---------------------------------------------------------------------- */

typedef struct
{
  float *at[LISTS];
  long long count;
} Chunk;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  int n, lists, n_in, n_chunks;
  bool has_momentum, nesterov, decoupled, amsgrad, maximize;
  bool join_neighbours;
  Chunk *chunks;     /* on the device */
  Chunk *staging;    /* the same on the host */
  long long count[]; /* of each tensor */
} Multi;

static void
multi_free (LoomKernel *base)
{
  Multi *self = (Multi *)base;

  cuda_use (self->device);
  if (self->chunks != NULL)
    cudaFree (self->chunks);
  free (self->staging);
  free (self);
}

static LoomStatus
multi_bind (LoomKernel *base, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;
  LoomStatus status;
  int used = 0;

  for (int t = 0; t < self->n;)
    {
      long long count = self->count[t];
      int next = t + 1;

      for (; self->join_neighbours && next < self->n; next++)
        {
          bool adjacent = true;

          for (int k = 0; k < self->lists && adjacent; k++)
            adjacent = (float *)buffers[k * self->n + t] + count == (float *)buffers[k * self->n + next];
          if (!adjacent)
            break;
          count += self->count[next];
        }
      for (long long begin = 0; begin < count; begin += CHUNK)
        {
          Chunk *chunk = &self->staging[used++];

          for (int k = 0; k < self->lists; k++)
            chunk->at[k] = (float *)buffers[k * self->n + t] + begin;
          chunk->count = count - begin < CHUNK ? count - begin : CHUNK;
        }
      t = next;
    }
  self->n_chunks = used;
  if (used == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  /* A step that still reads the old table is let finish. The new one goes by a stream of
   * ours and is waited for, since streams here do not wait for the default one. */
  status = cuda_check (cudaDeviceSynchronize (), "waiting for the CUDA device", message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = cuda_check (cudaMemcpyAsync (self->chunks, self->staging, used * sizeof (Chunk), cudaMemcpyHostToDevice,
                                        self->device->stream),
                       "telling the CUDA device where the parameters are", message);
  if (status != LOOM_STATUS_OK)
    return status;
  return cuda_check (cudaStreamSynchronize (self->device->stream), "telling the CUDA device where the parameters are",
                     message);
}

/* The lists come first among the inputs, each of length n. */
static LoomStatus
multi_new (LoomDevice *device, const LoomKernelSpec *spec, int n, int lists, const char *name,
           LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Multi **out,
           LoomMessage *message)
{
  int64_t chunks = 0;
  Multi *self;

  if (!cuda_all_plain (spec))
    return LOOM_STATUS_UNSUPPORTED;
  if (n < 0 || spec->n_in < n * lists)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s has fewer operands than its lists need", spec->primitive);
  if (!all_of_dtype (spec->in, n * lists, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  self = (Multi *)calloc (1, sizeof (Multi) + n * sizeof (long long));
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base.run = run;
  self->base.bind = multi_bind;
  self->base.free = multi_free;
  self->base.name = name;
  self->device = device;
  self->n = n;
  self->lists = lists;
  self->n_in = spec->n_in;
  for (int t = 0; t < n; t++)
    {
      self->count[t] = loom_desc_count (&spec->in[t]);
      chunks += (self->count[t] + CHUNK - 1) / CHUNK;
      for (int k = 1; k < lists; k++)
        if (loom_desc_count (&spec->in[k * n + t]) != self->count[t])
          {
            multi_free (&self->base);
            return cuda_fail (message, LOOM_STATUS_INVALID, "%s has operands of different shapes", spec->primitive);
          }
    }
  self->staging = (Chunk *)calloc (chunks != 0 ? chunks : 1, sizeof (Chunk));
  self->chunks = (Chunk *)cuda_table_new (device, chunks * sizeof (Chunk), message);
  self->n_chunks = (int)chunks;
  if (self->staging == NULL || self->chunks == NULL)
    {
      multi_free (&self->base);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  *out = self;
  return LOOM_STATUS_OK;
}

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
