/* Causal attention of a growing sequence with a key-value cache: a warp iterates over the kept keys of one query, and
 * its lanes divide the features of the head. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include "kernels/cuda/cuda-attention.cuh"
#include "kernels/cuda/cuda-divide.cuh"

#define WARPS (CUDA_THREADS / 32)

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  AttentionSizes sizes;
  LongDivisor by_wide, by_queries, by_heads; /* by_wide: the features of a key or a value, whichever has more */
  int parts;                                 /* features in each lane */
} Cached;

/* Loads a lane's features of one row [length]; zeros after its end. */
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

/* Stores a lane's features of one row [length], times factor. */
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

/* The dot product of a row in registers with one in memory; every lane gets it. row [length]. */
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

/* Writes k [N,K,T,E] and v [N,K,T,D] at their positions *position … *position+T-1 into keys [N,K,C,E] and values [N,K,C,D];
 * one thread for each feature of both. */
static __global__ void
__launch_bounds__ (CUDA_THREADS) append_kernel (float *keys, float *values, const float *k, const float *v,
                                              const long long *position, AttentionSizes s, LongDivisor wide, LongDivisor queries,
                                              CudaRaise raise)
{
  const long long at = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x, from = *position;

  if (from < 0 || from + s.queries > s.keys)
    {
      if (at == 0)
        raise_fault (raise, CUDA_FAULT_ROW, from < 0 ? from : from + s.queries - 1, s.keys);
      return;
    }
  if (at >= s.n * s.groups * s.queries * (long long)wide.by)
    return;
  long long row = at;
  const int feature = (int)take_index (&row, wide);
  long long head = row;
  const long long query = take_index (&head, queries), to = head * s.keys + from + query;
  if (feature < s.width)
    keys[to * s.width + feature] = k[row * s.width + feature];
  if (feature < s.depth)
    values[to * s.depth + feature] = v[row * s.depth + feature];
}

/* y [N,H,T,D] = attention of q [N,H,T,E] over keys [N,K,C,E] and values [N,K,C,D], query t over positions 0 … *position+t;
 * one warp for each query. */
template <int PARTS>
__global__ void
__launch_bounds__ (CUDA_THREADS)
    cached_kernel (float *y, const float *q, const float *keys, const float *values, const long long *position, AttentionSizes s,
                   LongDivisor queries, LongDivisor heads)
{
  const long long row = (long long)blockIdx.x * WARPS + threadIdx.x / 32, from = *position;
  float mine[PARTS], sums[PARTS] = { 0 }, value[PARTS], top = -INFINITY, total = 0;

  if (row >= s.n * s.heads * s.queries || from < 0 || from + s.queries > s.keys)
    return;
  long long sample = row;
  const long long query = take_index (&sample, queries), head = take_index (&sample, heads);
  const long long first = (sample * s.groups + (unsigned int)head / s.shared_by) * s.keys;
  take_row<PARTS> (mine, q + row * s.width, s.width);
  for (long long j = 0; j <= from + query; j++)
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
launch_cached (const Cached *self, cudaStream_t stream, void *const *b)
{
  const AttentionSizes &s = self->sizes;
  const unsigned int blocks = blocks_for (s.n * s.heads * s.queries, WARPS);
  const float *q = (const float *)b[0], *keys = (const float *)b[6], *values = (const float *)b[7];
  const long long *position = (const long long *)b[5];

  cached_kernel<PARTS><<<blocks, CUDA_THREADS, 0, stream>>> ((float *)b[8], q, keys, values, position, s,
                                                         self->by_queries, self->by_heads);
}

static LoomStatus
attention_cached_run (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  const Cached *self = (const Cached *)base;
  const AttentionSizes &s = self->sizes;
  const int wide = s.width > s.depth ? s.width : s.depth;
  cudaStream_t handle = cuda_stream (self->device, stream);

  cuda_use (self->device);
  /* At least one thread checks the position. */
  const unsigned int blocks = 1 + blocks_for (s.n * s.groups * s.queries * wide, CUDA_THREADS);
  const float *k = (const float *)b[1], *v = (const float *)b[2];
  const long long *position = (const long long *)b[5];

  append_kernel<<<blocks, CUDA_THREADS, 0, handle>>> ((float *)b[6], (float *)b[7], k, v, position, s, self->by_wide,
                                                     self->by_queries, cuda_raise (self->device, stream, base, NULL));
  if (s.n * s.heads * s.queries == 0 || wide == 0)
    return cuda_launched ("attention_cached", message);
  if (self->parts <= 2)
    launch_cached<2> (self, handle, b);
  else if (self->parts <= 4)
    launch_cached<4> (self, handle, b);
  else
    launch_cached<ATTENTION_WIDTH / 32> (self, handle, b);
  return cuda_launched ("attention_cached", message);
}

LoomStatus
cuda_attention_cached_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomAttentionCachedAttrs *a = (const LoomAttentionCachedAttrs *)spec->attrs;
  const LoomTensorDesc *q = &spec->in[0], *keys = &spec->in[3], *values = &spec->in[4];
  Cached *self;

  if (!cuda_all_plain (spec) || !all_of_dtype (spec->in, 5, LOOM_F32) || !all_of_dtype (spec->out, 3, LOOM_F32)
      || q->dim[3] > ATTENTION_WIDTH || values->dim[3] > ATTENTION_WIDTH)
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Cached> (device, "own attention_cached", attention_cached_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->sizes.n = q->dim[0];
  self->sizes.heads = q->dim[1];
  self->sizes.groups = keys->dim[1];
  self->sizes.shared_by = attention_shared_by (q->dim[1], keys->dim[1]);
  self->sizes.queries = (int)q->dim[2];
  self->sizes.keys = (int)keys->dim[2];
  self->sizes.width = (int)q->dim[3];
  self->sizes.depth = (int)values->dim[3];
  self->sizes.scale = (float)a->scale;
  self->parts = ((self->sizes.width > self->sizes.depth ? self->sizes.width : self->sizes.depth) + 31) / 32;
  self->by_wide = long_divisor_of ((unsigned long long)(q->dim[3] > values->dim[3] ? q->dim[3] : values->dim[3]));
  self->by_queries = long_divisor_of ((unsigned long long)q->dim[2]);
  self->by_heads = long_divisor_of ((unsigned long long)q->dim[1]);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
