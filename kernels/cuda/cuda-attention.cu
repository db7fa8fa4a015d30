/* Scaled dot-product attention and its gradient without a matrix of all scores (Dao et al., "FlashAttention", 2022): a
 * warp walks over the keys of one query, or over the queries of one key, and its lanes share the head's features.
 *
 * A score is worked out where it is needed, once forward and twice backward. No two warps add to one place. */
#include <math.h>

#include "kernels/cuda/cuda-kernels.cuh"

#define WARPS (CUDA_THREADS / 32)
#define MOST  256 /* features of a head: 8 in each lane */

/* q [N,H,T,E], k [N,K,S,E], v [N,K,S,D], mask [N or 1, H or 1, T or 1, S]. */
typedef struct
{
  long long n, heads, groups, queries, keys; /* N, H, K, T, S */
  int width, depth;                          /* E, D */
  float scale;
  bool causal, has_mask, mask_is_bool;
  long long mask_stride[3]; /* of sample, head and query; 0 where one mask serves all */
} Sizes;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  Sizes sizes;
  int parts; /* features in each lane */
} Attention;

/* A lane's share of the features of one row of `length`; zeros behind its end. */
template <int PARTS>
__device__ static void
take_row (float part[PARTS], const float *row, int length)
{
  for (int i = 0; i < PARTS; i++)
    {
      const int at = i * 32 + threadIdx.x % 32;

      part[i] = at < length ? row[at] : 0.0f;
    }
}

template <int PARTS>
__device__ static void
put_row (float *row, const float part[PARTS], int length, float factor)
{
  for (int i = 0; i < PARTS; i++)
    {
      const int at = i * 32 + threadIdx.x % 32;

      if (at < length)
        row[at] = part[i] * factor;
    }
}

/* The product of a row in shares with one in memory; every lane gets it. */
template <int PARTS>
__device__ static float
dot (const float part[PARTS], const float *row, int length)
{
  float other[PARTS], sum = 0;

  take_row<PARTS> (other, row, length);
  for (int i = 0; i < PARTS; i++)
    sum += part[i] * other[i];
  return block_join<Sum, 32> (sum);
}

/* What the mask adds to the score of a key for a query: -∞ where it is not kept. */
__device__ static float
masked (const Sizes &s, const void *mask, long long sample, long long head, long long query, long long key)
{
  if (s.causal && key > query)
    return -INFINITY;
  if (!s.has_mask)
    return 0;
  const long long at = sample * s.mask_stride[0] + head * s.mask_stride[1] + query * s.mask_stride[2] + key;
  if (s.mask_is_bool)
    return ((const unsigned char *)mask)[at] ? 0.0f : -INFINITY;
  return ((const float *)mask)[at];
}

/* y [N,H,T,D] and lse [N,H,T]; a warp a query. */
template <int PARTS>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    attention_kernel (float *y, float *lse, const float *q, const float *k, const float *v, const void *mask, Sizes s)
{
  const long long row = (long long)blockIdx.x * WARPS + threadIdx.x / 32;
  float mine[PARTS], sums[PARTS] = { 0 }, value[PARTS], top = -INFINITY, total = 0;

  if (row >= s.n * s.heads * s.queries)
    return;
  const long long query = row % s.queries, head = row / s.queries % s.heads, sample = row / s.queries / s.heads;
  const long long first = (sample * s.groups + head / (s.heads / s.groups)) * s.keys;
  const long long limit = s.causal && query + 1 < s.keys ? query + 1 : s.keys;
  take_row<PARTS> (mine, q + row * s.width, s.width);
  for (long long j = 0; j < limit; j++)
    {
      const float extra = masked (s, mask, sample, head, query, j);
      if (extra == -INFINITY)
        continue;
      const float score = dot<PARTS> (mine, k + (first + j) * s.width, s.width) * s.scale + extra;
      const float most = Largest::join (top, score);
      const float base = most == -INFINITY ? 0.0f : most, fade = expf (top - base), share = expf (score - base);

      take_row<PARTS> (value, v + (first + j) * s.depth, s.depth);
      for (int i = 0; i < PARTS; i++)
        sums[i] = sums[i] * fade + share * value[i];
      total = total * fade + share;
      top = most;
    }
  put_row<PARTS> (y + row * s.depth, sums, s.depth, total == 0 ? 0.0f : 1.0f / total);
  if (threadIdx.x % 32 == 0)
    lse[row] = (top == -INFINITY ? 0.0f : top) + logf (total);
}

/* dq [N,H,T,E] = scale·Σ dS·k; a warp a query. g [N,H,T,D], lse and delta [N,H,T]. */
template <int PARTS>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    attention_queries_kernel (float *dq, const float *g, const float *q, const float *k, const float *v,
                              const float *lse, const float *delta, const void *mask, Sizes s)
{
  const long long row = (long long)blockIdx.x * WARPS + threadIdx.x / 32;
  float mine[PARTS], gradient[PARTS], other[PARTS], sums[PARTS] = { 0 };

  if (row >= s.n * s.heads * s.queries)
    return;
  const long long query = row % s.queries, head = row / s.queries % s.heads, sample = row / s.queries / s.heads;
  const long long first = (sample * s.groups + head / (s.heads / s.groups)) * s.keys;
  const long long limit = s.causal && query + 1 < s.keys ? query + 1 : s.keys;
  const float base = lse[row] == -INFINITY ? 0.0f : lse[row], away = delta[row];
  take_row<PARTS> (mine, q + row * s.width, s.width);
  take_row<PARTS> (gradient, g + row * s.depth, s.depth);
  for (long long j = 0; j < limit; j++)
    {
      const float extra = masked (s, mask, sample, head, query, j);
      if (extra == -INFINITY)
        continue;
      const float share = expf (dot<PARTS> (mine, k + (first + j) * s.width, s.width) * s.scale + extra - base);
      const float ds = share * (dot<PARTS> (gradient, v + (first + j) * s.depth, s.depth) - away);

      take_row<PARTS> (other, k + (first + j) * s.width, s.width);
      for (int i = 0; i < PARTS; i++)
        sums[i] += ds * other[i];
    }
  put_row<PARTS> (dq + row * s.width, sums, s.width, s.scale);
}

/* dk [N,K,S,E] = scale·Σ dS·q and dv [N,K,S,D] = Σ P·g over the queries of all heads that share the key; a warp a key.
 */
template <int PARTS>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    attention_keys_kernel (float *dk, float *dv, const float *g, const float *q, const float *k, const float *v,
                           const float *lse, const float *delta, const void *mask, Sizes s)
{
  const long long row = (long long)blockIdx.x * WARPS + threadIdx.x / 32, share_count = s.heads / s.groups;
  float mine[PARTS], value[PARTS], query_row[PARTS], gradient[PARTS], sums[PARTS] = { 0 }, value_sums[PARTS] = { 0 };

  if (row >= s.n * s.groups * s.keys)
    return;
  const long long key = row % s.keys, group = row / s.keys % s.groups, sample = row / s.keys / s.groups;
  take_row<PARTS> (mine, k + row * s.width, s.width);
  take_row<PARTS> (value, v + row * s.depth, s.depth);
  for (long long head = group * share_count; head < (group + 1) * share_count; head++)
    for (long long i = s.causal ? key : 0; i < s.queries; i++)
      {
        const long long at = (sample * s.heads + head) * s.queries + i;
        const float extra = masked (s, mask, sample, head, i, key);
        if (extra == -INFINITY)
          continue;
        const float base = lse[at] == -INFINITY ? 0.0f : lse[at];
        const float share = expf (dot<PARTS> (mine, q + at * s.width, s.width) * s.scale + extra - base);
        const float ds = share * (dot<PARTS> (value, g + at * s.depth, s.depth) - delta[at]);

        take_row<PARTS> (query_row, q + at * s.width, s.width);
        take_row<PARTS> (gradient, g + at * s.depth, s.depth);
        for (int c = 0; c < PARTS; c++)
          {
            sums[c] += ds * query_row[c];
            value_sums[c] += share * gradient[c];
          }
      }
  put_row<PARTS> (dk + row * s.width, sums, s.width, s.scale);
  put_row<PARTS> (dv + row * s.depth, value_sums, s.depth, 1.0f);
}

/* k [N,K,T,E] and v [N,K,T,D] put at their places in keys [N,K,C,E] and values [N,K,C,D]; a thread a feature of both.
 */
static __global__ void
__launch_bounds__ (CUDA_THREADS) keep_kernel (float *keys, float *values, const float *k, const float *v,
                                              const long long *place, Sizes s, CudaRaise raise)
{
  const int wide = s.width > s.depth ? s.width : s.depth;
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x, from = *place;

  if (from < 0 || from + s.queries > s.keys)
    {
      if (at == 0)
        raise_fault (raise, CUDA_FAULT_ROW, from < 0 ? from : from + s.queries - 1, s.keys);
      return;
    }
  if (at >= s.n * s.groups * s.queries * wide)
    return;
  const long long row = at / wide, to = row / s.queries * s.keys + from + row % s.queries;
  const int feature = (int)(at % wide);
  if (feature < s.width)
    keys[to * s.width + feature] = k[row * s.width + feature];
  if (feature < s.depth)
    values[to * s.depth + feature] = v[row * s.depth + feature];
}

/* y [N,H,T,D] of the queries from *place on, over the keys before and at each; a warp a query. */
template <int PARTS>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    cached_kernel (float *y, const float *q, const float *keys, const float *values, const long long *place, Sizes s)
{
  const long long row = (long long)blockIdx.x * WARPS + threadIdx.x / 32, from = *place;
  float mine[PARTS], sums[PARTS] = { 0 }, value[PARTS], top = -INFINITY, total = 0;

  if (row >= s.n * s.heads * s.queries || from < 0 || from + s.queries > s.keys)
    return;
  const long long head = row / s.queries % s.heads, sample = row / s.queries / s.heads;
  const long long first = (sample * s.groups + head / (s.heads / s.groups)) * s.keys;
  take_row<PARTS> (mine, q + row * s.width, s.width);
  for (long long j = 0; j <= from + row % s.queries; j++)
    {
      const float score = dot<PARTS> (mine, keys + (first + j) * s.width, s.width) * s.scale;
      const float most = Largest::join (top, score), fade = expf (top - most), share = expf (score - most);

      take_row<PARTS> (value, values + (first + j) * s.depth, s.depth);
      for (int i = 0; i < PARTS; i++)
        sums[i] = sums[i] * fade + share * value[i];
      total = total * fade + share;
      top = most;
    }
  put_row<PARTS> (y + row * s.depth, sums, s.depth, 1.0f / total);
}

/* ---- host --------------------------------------------------------------------------- */

template <int PARTS>
static void
launch_forward (const Attention *self, cudaStream_t stream, void *const *b)
{
  const Sizes &s = self->sizes;
  const unsigned int blocks = blocks_for (s.n * s.heads * s.queries, WARPS);
  const float *q = (const float *)b[0], *k = (const float *)b[1], *v = (const float *)b[2];
  void *const *out = b + (s.has_mask ? 4 : 3);

  attention_kernel<PARTS><<<blocks, CUDA_THREADS, 0, stream>>> ((float *)out[0], (float *)out[1], q, k, v,
                                                                s.has_mask ? b[3] : NULL, s);
}

template <int PARTS>
static void
launch_backward (const Attention *self, cudaStream_t stream, void *const *b)
{
  const Sizes &s = self->sizes;
  const unsigned int queries = blocks_for (s.n * s.heads * s.queries, WARPS);
  const unsigned int keys = blocks_for (s.n * s.groups * s.keys, WARPS);
  const float *g = (const float *)b[0], *q = (const float *)b[1], *k = (const float *)b[2], *v = (const float *)b[3];
  const float *lse = (const float *)b[4], *delta = (const float *)b[5];
  const void *mask = s.has_mask ? b[6] : NULL;
  void *const *out = b + (s.has_mask ? 7 : 6);

  if (queries > 0)
    attention_queries_kernel<PARTS>
        <<<queries, CUDA_THREADS, 0, stream>>> ((float *)out[0], g, q, k, v, lse, delta, mask, s);
  if (keys > 0)
    attention_keys_kernel<PARTS>
        <<<keys, CUDA_THREADS, 0, stream>>> ((float *)out[1], (float *)out[2], g, q, k, v, lse, delta, mask, s);
}

static LoomStatus
attention_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Attention *self = (const Attention *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  if (self->sizes.n * self->sizes.heads * self->sizes.queries == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->parts <= 2)
    launch_forward<2> (self, handle, buffers);
  else if (self->parts <= 4)
    launch_forward<4> (self, handle, buffers);
  else
    launch_forward<MOST / 32> (self, handle, buffers);
  return cuda_launched ("attention", message);
}

static LoomStatus
attention_grad_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Attention *self = (const Attention *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);

  cuda_use (self->device);
  if (self->parts <= 2)
    launch_backward<2> (self, handle, buffers);
  else if (self->parts <= 4)
    launch_backward<4> (self, handle, buffers);
  else
    launch_backward<MOST / 32> (self, handle, buffers);
  return cuda_launched ("attention_grad", message);
}

template <int PARTS>
static void
launch_cached (const Attention *self, cudaStream_t stream, void *const *b)
{
  const Sizes &s = self->sizes;
  const unsigned int blocks = blocks_for (s.n * s.heads * s.queries, WARPS);
  const float *q = (const float *)b[0], *keys = (const float *)b[6], *values = (const float *)b[7];
  const long long *place = (const long long *)b[5];

  cached_kernel<PARTS><<<blocks, CUDA_THREADS, 0, stream>>> ((float *)b[8], q, keys, values, place, s);
}

static LoomStatus
attention_cached_run (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  const Attention *self = (const Attention *)base;
  const Sizes &s = self->sizes;
  const int wide = s.width > s.depth ? s.width : s.depth;
  cudaStream_t handle = cuda_stream (self->device, stream);

  cuda_use (self->device);
  /* One thread at least looks at the place. */
  const unsigned int blocks = 1 + blocks_for (s.n * s.groups * s.queries * wide, CUDA_THREADS);
  const float *k = (const float *)b[1], *v = (const float *)b[2];
  const long long *place = (const long long *)b[5];

  keep_kernel<<<blocks, CUDA_THREADS, 0, handle>>> ((float *)b[6], (float *)b[7], k, v, place, s,
                                                     cuda_raise (self->device, stream, base, NULL));
  if (s.n * s.heads * s.queries == 0 || wide == 0)
    return cuda_launched ("attention_cached", message);
  if (self->parts <= 2)
    launch_cached<2> (self, handle, b);
  else if (self->parts <= 4)
    launch_cached<4> (self, handle, b);
  else
    launch_cached<MOST / 32> (self, handle, b);
  return cuda_launched ("attention_cached", message);
}

/* q, k and v stand at `at`, the mask at `mask_at` where there is one. */
static LoomStatus
any_attention_new (LoomDevice *device, const LoomKernelSpec *spec, int at, int mask_at, const char *name,
                   LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), LoomKernel **kernel,
                   LoomMessage *message)
{
  const LoomAttentionAttrs *a = (const LoomAttentionAttrs *)spec->attrs;
  const LoomTensorDesc *q = &spec->in[at], *k = &spec->in[at + 1], *v = &spec->in[at + 2];
  Attention *self;
  int most;

  if (!cuda_all_plain (spec) || !all_of_dtype (spec->in, mask_at, LOOM_F32)
      || !all_of_dtype (spec->out, spec->n_out, LOOM_F32) || q->dim[3] > MOST || v->dim[3] > MOST)
    return LOOM_STATUS_UNSUPPORTED;
  if (a->has_mask && spec->in[mask_at].dtype != LOOM_F32 && spec->in[mask_at].dtype != LOOM_BOOL)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Attention> (device, name, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->sizes.n = q->dim[0];
  self->sizes.heads = q->dim[1];
  self->sizes.groups = k->dim[1];
  self->sizes.queries = q->dim[2];
  self->sizes.keys = k->dim[2];
  self->sizes.width = (int)q->dim[3];
  self->sizes.depth = (int)v->dim[3];
  self->sizes.scale = (float)a->scale;
  self->sizes.causal = a->causal;
  self->sizes.has_mask = a->has_mask;
  if (a->has_mask)
    {
      const LoomTensorDesc *mask = &spec->in[mask_at];
      long long stride = k->dim[2];

      self->sizes.mask_is_bool = mask->dtype == LOOM_BOOL;
      for (int i = 2; i >= 0; i--)
        {
          self->sizes.mask_stride[i] = mask->dim[i] > 1 ? stride : 0;
          stride *= mask->dim[i];
        }
    }
  most = self->sizes.width > self->sizes.depth ? self->sizes.width : self->sizes.depth;
  self->parts = (most + 31) / 32;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_attention_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return any_attention_new (device, spec, 0, 3, "own attention", attention_run, kernel, message);
}

LoomStatus
cuda_attention_grad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  return any_attention_new (device, spec, 1, 6, "own attention_grad", attention_grad_run, kernel, message);
}

LoomStatus
cuda_attention_cached_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomAttentionCachedAttrs *a = (const LoomAttentionCachedAttrs *)spec->attrs;
  const LoomTensorDesc *q = &spec->in[0], *keys = &spec->in[3], *values = &spec->in[4];
  Attention *self;

  if (!cuda_all_plain (spec) || !all_of_dtype (spec->in, 5, LOOM_F32) || !all_of_dtype (spec->out, 3, LOOM_F32)
      || q->dim[3] > MOST || values->dim[3] > MOST)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Attention> (device, "own attention_cached", attention_cached_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->sizes.n = q->dim[0];
  self->sizes.heads = q->dim[1];
  self->sizes.groups = keys->dim[1];
  self->sizes.queries = q->dim[2];
  self->sizes.keys = keys->dim[2];
  self->sizes.width = (int)q->dim[3];
  self->sizes.depth = (int)values->dim[3];
  self->sizes.scale = (float)a->scale;
  self->parts = ((self->sizes.width > self->sizes.depth ? self->sizes.width : self->sizes.depth) + 31) / 32;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
