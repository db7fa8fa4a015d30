/* Types and device functions of the attention kernels. A kernel works on tiles of the scores and never has all of them
 * in memory (Dao, "FlashAttention-2", 2023): a block has 64 queries of one head, or 64 keys, iterates over the others
 * tile by tile, and no other block adds to its results. Scores are in powers of two, the GPU's fastest exponential. */
#ifndef LOOM_CUDA_ATTENTION_CUH
#define LOOM_CUDA_ATTENTION_CUH

#include <math.h>

#include "kernels/attention.h"
#include "kernels/cuda/cuda-mma.cuh"
#include "kernels/philox.h"

#define ATTENTION_ROWS    64 /* queries or keys of a block */
#define ATTENTION_THREADS 128
#define ATTENTION_WIDTH   256 /* the most features in a head */
#define LOG2_E            1.4426950408889634f
#define LN_2              0.6931471805599453f

/* q [N,H,T,E], k [N,K,S,E], v [N,K,S,D], mask [N or 1, H or 1, T or 1, S]; the strides of rows are those of
 * LoomAttentionRows. */
typedef struct
{
  LoomAttentionRows q, k, v, y, g, dq, dk, dv;
  long long n, heads, groups; /* N, H, K */
  unsigned int shared_by;     /* heads of queries that share a head of keys: H/K */
  int queries, keys;          /* T, S */
  int width, depth;           /* E, D */
  float scale, scale_2;       /* factors of logits: unchanged, and in powers of two */
  bool causal, has_mask, mask_is_bool;
  bool aligned;             /* every row of every operand begins at a multiple of 16 bytes */
  long long mask_stride[3]; /* of sample, head and query; 0 if the mask broadcasts */
  /* Dropout: the factor of kept weights, the bound of 24 bits below which one is dropped, and the addresses of seed,
   * step and the indices of heads [N,H]; head_index is NULL without dropout. */
  float left;
  unsigned int below;
  unsigned long long stream;
  const long long *seed, *step, *head_index;
} AttentionSizes;

/* A head of queries. */
typedef struct
{
  long long sample, head, group;
  long long number;  /* the head's number among all heads of all samples in this call */
  long long queries; /* offset of its first query in lse */
  long long mask;    /* offset of its first element */
} AttentionHead;

__device__ static inline AttentionHead
attention_head (const AttentionSizes &s, long long sample, long long head)
{
  AttentionHead at;

  at.sample = sample;
  at.head = head;
  at.group = (unsigned int)head / s.shared_by;
  at.number = sample * s.heads + head;
  at.queries = at.number * s.queries;
  at.mask = sample * s.mask_stride[0] + head * s.mask_stride[1];
  return at;
}

/* Head number i of all heads of all samples, which are fewer than the blocks of a launch, 2³¹. */
__device__ static inline AttentionHead
attention_head_of (const AttentionSizes &s, unsigned int i)
{
  return attention_head (s, i / (unsigned int)s.heads, i % (unsigned int)s.heads);
}

/* The offset of the first row of a head, and of that of the head of keys that it reads. */
__device__ static inline long long
attention_rows (const LoomAttentionRows &rows, const AttentionHead &at)
{
  return rows.start + at.sample * rows.sample + at.head * rows.head;
}

__device__ static inline long long
attention_keys (const LoomAttentionRows &rows, const AttentionHead &at)
{
  return rows.start + at.sample * rows.sample + at.group * rows.head;
}

/* H/K; 1 without heads of keys. */
static inline unsigned int
attention_shared_by (int64_t heads, int64_t groups)
{
  return groups > 0 && heads > groups ? (unsigned int)(heads / groups) : 1;
}

/* The value that a mask of floats of type M, or of bools, adds to the logit of its element `at`, in powers of two. */
template <typename M>
__device__ static inline float
mask_adds (const AttentionSizes &s, const void *mask, long long at)
{
  if (s.mask_is_bool)
    return ((const unsigned char *)mask)[at] ? 0.0f : -INFINITY;
  return load (((const M *)mask)[at]) * LOG2_E;
}

/* Log Σ exp in powers of two, which is subtracted from a score; 0 for -∞, of a query that keeps no key. */
__device__ static inline float
score_base (float lse)
{
  return lse == -INFINITY ? 0.0f : lse * LOG2_E;
}

/* The number of keys that a query keeps, before the mask. */
__device__ static inline int
keys_kept (const AttentionSizes &s, int query)
{
  return s.causal && query < s.keys ? query + 1 : s.keys;
}

/* The number of keys that the queries before `end` may attend to. */
__device__ static inline int
keys_before (const AttentionSizes &s, int end)
{
  return s.causal && end < s.keys ? end : s.keys;
}

/* Decides which weights dropout keeps, by random numbers whose index grows with the key: four of them are a block of
 * Philox. */
struct AttentionKept
{
  unsigned long long seed, stream, step, block;
  unsigned int below;
  float left;
  bool drops;
  uint32_t word[4];

  __device__ inline AttentionKept (const AttentionSizes &s)
      : seed (0), stream (s.stream), step (0), block (~0ull), below (s.below), left (s.left), drops (s.head_index != NULL), word ()
  {
    if (drops)
      {
        seed = (unsigned long long)*s.seed;
        step = (unsigned long long)*s.step;
      }
  }

  /* The index of the random number of a head's first query and key. */
  __device__ static inline unsigned long long
  first (const AttentionSizes &s, const AttentionHead &head)
  {
    return s.head_index != NULL ? (unsigned long long)s.head_index[head.number] * s.queries * s.keys : 0;
  }

  __device__ inline float
  factor (unsigned long long number)
  {
    const unsigned int i = (unsigned int)number & 3;

    if (!drops)
      return 1.0f;
    if (number >> 2 != block)
      {
        block = number >> 2;
        loom_philox (seed, stream, step, block, word);
      }
    return ((i < 2 ? (i == 0 ? word[0] : word[1]) : (i == 2 ? word[2] : word[3])) >> 8) < below ? 0.0f : left;
  }
};

/* Drops weights in the layout of tensor cores, 16 rows and COLUMNS columns of a warp: low and high are the random
 * numbers' indices of this lane's first column in its two rows. */
template <int COLUMNS>
__device__ static inline void
drop_weights (float weights[][4], const AttentionSizes &s, unsigned long long low, unsigned long long high)
{
  AttentionKept kept (s);

  UNROLL
  for (int n = 0; n < COLUMNS / 8; n++)
    {
      UNROLL
      for (int i = 0; i < 4; i++)
        weights[n][i] *= kept.factor ((i < 2 ? low : high) + n * 8 + i % 2);
    }
}

/* The buffers of a call: q, k, v and [mask] always; y and lse forward, else g, lse, delta, dq, dk and dv. */
typedef struct
{
  const void *q, *k, *v, *mask, *g;
  const float *delta;
  float *lse;
  void *y, *dq, *dk, *dv;
} AttentionBuffers;

typedef void (*AttentionLaunch) (const AttentionSizes *sizes, cudaStream_t stream, const AttentionBuffers *buffers);

/* For f32. */
AttentionLaunch cuda_attention_single (bool gradient);
/* For 16-bit floats of this type and number of features; NULL if the device cannot run it. */
AttentionLaunch cuda_attention_half (LoomDevice *device, LoomDType dtype, int features, bool gradient);

#endif
