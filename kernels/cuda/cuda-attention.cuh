/* What the kernels of attention share. Each works on tiles of the scores and never has all of them in memory (Dao,
 * "FlashAttention-2", 2023): a block has 64 queries of one head, or 64 keys, walks over the others a tile at a time,
 * and nobody else adds to its results. Scores are in powers of two, which the GPU raises fastest. */
#ifndef LOOM_CUDA_ATTENTION_CUH
#define LOOM_CUDA_ATTENTION_CUH

#include <math.h>

#include "kernels/attention.h"
#include "kernels/cuda/cuda-mma.cuh"
#include "kernels/philox.h"

#define ATTENTION_ROWS    64 /* queries or keys of a block */
#define ATTENTION_THREADS 128
#define ATTENTION_WIDTH   256 /* the most features of a head */
#define LOG2_E            1.4426950408889634f
#define LN_2              0.6931471805599453f

/* q [N,H,T,E], k [N,K,S,E], v [N,K,S,D], mask [N or 1, H or 1, T or 1, S]; rows as they lie. */
typedef struct
{
  LoomAttentionRows q, k, v, y, g, dq, dk, dv;
  long long n, heads, groups; /* N, H, K */
  unsigned int shared_by;     /* heads of queries that have the same head of keys */
  int queries, keys;          /* T, S */
  int width, depth;           /* E, D */
  float scale, scale_2;       /* of scores as they are, and in powers of two */
  bool causal, has_mask, mask_is_bool;
  bool aligned;             /* every row of every operand begins at a multiple of 16 bytes */
  long long mask_stride[3]; /* of sample, head and query; 0 where one mask serves all */
  /* Dropout: what kept shares are times, below which 24 bits one is dropped, and where the numbers of
   * seed, step and heads [N,H] lie; no place: nothing is dropped. */
  float left;
  unsigned int below;
  unsigned long long stream;
  const long long *seed, *step, *place;
} AttentionSizes;

/* A head of queries. */
typedef struct
{
  long long sample, head, group;
  long long place;   /* among all heads of all samples here */
  long long queries; /* its first row of lse */
  long long mask;    /* its first element */
} AttentionHead;

__device__ static inline AttentionHead
attention_head (const AttentionSizes &s, long long sample, long long head)
{
  AttentionHead at;

  at.sample = sample;
  at.head = head;
  at.group = (unsigned int)head / s.shared_by;
  at.place = sample * s.heads + head;
  at.queries = at.place * s.queries;
  at.mask = sample * s.mask_stride[0] + head * s.mask_stride[1];
  return at;
}

/* Head number i of all heads of all samples, of which there are fewer than blocks of a launch, 2³¹. */
__device__ static inline AttentionHead
attention_head_of (const AttentionSizes &s, unsigned int i)
{
  return attention_head (s, i / (unsigned int)s.heads, i % (unsigned int)s.heads);
}

/* Where the first row of a head lies, and of the head of keys that it reads. */
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

/* Where there are no keys' heads there is nothing to divide. */
static inline unsigned int
attention_shared_by (int64_t heads, int64_t groups)
{
  return groups > 0 && heads > groups ? (unsigned int)(heads / groups) : 1;
}

/* What a mask of floats of type M, or of bools, adds to the score at this place, in powers of two. */
template <typename M>
__device__ static inline float
mask_adds (const AttentionSizes &s, const void *mask, long long at)
{
  if (s.mask_is_bool)
    return ((const unsigned char *)mask)[at] ? 0.0f : -INFINITY;
  return load (((const M *)mask)[at]) * LOG2_E;
}

/* Log Σ exp as what is taken off a score in powers of two; 0 for -∞, of a query that keeps no key. */
__device__ static inline float
score_base (float lse)
{
  return lse == -INFINITY ? 0.0f : lse * LOG2_E;
}

/* Keys before this one are kept by a query, as far as the mask does not say otherwise. */
__device__ static inline int
keys_kept (const AttentionSizes &s, int query)
{
  return s.causal && query < s.keys ? query + 1 : s.keys;
}

/* How many keys the queries before `end` may look at. */
__device__ static inline int
keys_before (const AttentionSizes &s, int end)
{
  return s.causal && end < s.keys ? end : s.keys;
}

/* Which shares dropout keeps, by numbers that stand beside each other as far as their keys do: four of them are a block
 * of Philox. */
struct AttentionKept
{
  unsigned long long seed, stream, step, block;
  unsigned int below;
  float left;
  bool drops;
  uint32_t word[4];

  __device__ inline AttentionKept (const AttentionSizes &s)
      : seed (0), stream (s.stream), step (0), block (~0ull), below (s.below), left (s.left), drops (s.place != NULL), word ()
  {
    if (drops)
      {
        seed = (unsigned long long)*s.seed;
        step = (unsigned long long)*s.step;
      }
  }

  /* The number of a head's first query and key. */
  __device__ static inline unsigned long long
  first (const AttentionSizes &s, const AttentionHead &head)
  {
    return s.place != NULL ? (unsigned long long)s.place[head.place] * s.queries * s.keys : 0;
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

/* Drops shares as tensor cores leave them, 16 rows and COLUMNS columns of a warp: low and high are the numbers of this
 * lane's first column in its two rows. */
template <int COLUMNS>
__device__ static inline void
keep_shares (float shares[][4], const AttentionSizes &s, unsigned long long low, unsigned long long high)
{
  AttentionKept kept (s);

  UNROLL
  for (int n = 0; n < COLUMNS / 8; n++)
    {
      UNROLL
      for (int i = 0; i < 4; i++)
        shares[n][i] *= kept.factor ((i < 2 ? low : high) + n * 8 + i % 2);
    }
}

/* What a call reads and writes: q, k, v and [mask] always; y and lse forward, else g, lse, delta, dq, dk and dv. */
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
/* For 16-bit floats of this type and so many features; NULL where the device does not have them. */
AttentionLaunch cuda_attention_half (LoomDevice *device, LoomDType dtype, int features, bool gradient);

#endif
