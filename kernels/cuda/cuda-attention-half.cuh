/* Device functions for attention on tensor cores: load tiles to shared memory, multiply them, and store rows of sums.
 */
/* clang-format off */
#ifndef LOOM_CUDA_ATTENTION_HALF_CUH
#define LOOM_CUDA_ATTENTION_HALF_CUH

#include "kernels/cuda/cuda-attention.cuh"

/* Code for older GPUs has no tensor cores for these products, never runs (see has_bodies()) and would be long. */
#if !defined __CUDA_ARCH__ || defined LOOM_TENSOR_CORES
#define HAVE_BODIES
#endif

/* Sizes that follow from the features of a head, padded to WIDTH with zeros. A row of shared memory is 16 bytes longer,
 * so that eight rows are in different banks. */
template <int WIDTH>
struct Plan
{
  enum
  {
    STRIDE = WIDTH + 8,
    STREAM = WIDTH <= 64 ? 64 : WIDTH <= 128 ? 32 : 16, /* rows of a streamed tile */
    OUT = WIDTH < 128 ? WIDTH : 128,                    /* columns of a gradient that one block computes */
    OWN = ATTENTION_ROWS * STRIDE,                      /* elements of a block's own rows */
    TILE = STREAM * STRIDE,                             /* elements of a streamed tile; there are two of each */
    FORWARD_BYTES = 2 * (OWN + 4 * TILE),
    QUERIES_BYTES = 2 * (2 * OWN + 4 * TILE),
    KEYS_BYTES = 2 * (2 * OWN + 4 * TILE) + 4 * 4 * STREAM
  };
};

/* The block's threads load rows first … first+ROWS-1 of matrix [count,length], whose rows are `down` elements apart, to
 * shared memory `to` [ROWS][STRIDE]; zeros after its ends. */
template <int WIDTH, int ROWS>
__device__ static inline void
load_rows (unsigned short *to, const void *matrix, long long down, int first, int count, int length, bool aligned)
{
  const unsigned short *from = (const unsigned short *)matrix;
  const int pieces = WIDTH / 8;

  if (!aligned)
    {
      for (int i = threadIdx.x; i < ROWS * WIDTH; i += ATTENTION_THREADS)
        {
          const int row = i / WIDTH, column = i % WIDTH;
          const bool there = first + row < count && column < length;

          to[row * Plan<WIDTH>::STRIDE + column] = there ? from[(first + row) * down + column] : 0;
        }
      return;
    }
  UNROLL
  for (int i = 0; i < ROWS * pieces / ATTENTION_THREADS; i++)
    {
      const int at = i * ATTENTION_THREADS + threadIdx.x, row = at / pieces, column = at % pieces * 8;
      const bool there = first + row < count && column < length;

      copy_16 (to + row * Plan<WIDTH>::STRIDE + column, there ? from + (first + row) * down + column : from,
               there);
    }
}

/* A block without steps has not waited for its own rows yet, whose memory the results pass through. */
[[maybe_unused]] __device__ static inline void
finish (int steps)
{
  copies_wait<0> ();
  if (steps == 0)
    __syncthreads ();
}

/* 16 rows of shared memory [16][STRIDE] as the left operand of products, in registers if they fit (KEPT). */
template <int WIDTH, bool KEPT>
struct Rows
{
  const unsigned short *at;
  unsigned kept[KEPT ? WIDTH / 16 : 1][4];

  __device__ inline void
  begin (const unsigned short *rows)
  {
    at = rows;
    if (KEPT)
      {
        UNROLL
        for (int i = 0; i < WIDTH / 16; i++)
          load_a (kept[KEPT ? i : 0], at + i * 16, Plan<WIDTH>::STRIDE);
      }
  }

  __device__ inline void
  part (unsigned words[4], int i) const
  {
    if (!KEPT)
      load_a (words, at + i * 16, Plan<WIDTH>::STRIDE);
    else
      {
        UNROLL
        for (int k = 0; k < 4; k++)
          words[k] = kept[KEPT ? i : 0][k];
      }
  }
};

/* sums [16×COLUMNS] = rows [16×WIDTH]·othersᵀ, others [COLUMNS×WIDTH]. */
template <typename T, int WIDTH, int COLUMNS, bool KEPT>
__device__ static inline void
multiply_rows (float sums[][4], const Rows<WIDTH, KEPT> &rows, const unsigned short *others)
{
  const int stride = Plan<WIDTH>::STRIDE;

  UNROLL
  for (int n = 0; n < COLUMNS / 8; n++)
    {
      UNROLL
      for (int i = 0; i < 4; i++)
        sums[n][i] = 0;
    }
  UNROLL
  for (int i = 0; i < WIDTH / 16; i++)
    {
      unsigned a[4], b[4];

      rows.part (a, i);
      UNROLL
      for (int n = 0; n < COLUMNS / 16; n++)
        {
          load_b_transposed (b, others + n * 16 * stride + i * 16, stride);
          multiply_two<T> (sums + 2 * n, a, b);
        }
    }
}

/* sums [16×OUT] += weights [16×STREAM]·matrix [STREAM×OUT]; weights are the softmax weights. */
template <typename T, int WIDTH, int OUT>
__device__ static inline void
add_weighted (float sums[][4], const float weights[][4], const unsigned short *matrix)
{
  const int stride = Plan<WIDTH>::STRIDE;

  UNROLL
  for (int i = 0; i < Plan<WIDTH>::STREAM / 16; i++)
    {
      const float *left = weights[2 * i], *right = weights[2 * i + 1];
      const unsigned a[4] = { pack (T (), left[0], left[1]), pack (T (), left[2], left[3]),
                              pack (T (), right[0], right[1]), pack (T (), right[2], right[3]) };
      unsigned b[4];

      UNROLL
      for (int n = 0; n < OUT / 16; n++)
        {
          load_b (b, matrix + i * 16 * stride + n * 16, stride);
          multiply_two<T> (sums + 2 * n, a, b);
        }
    }
}

/* Stores columns from … from+OUT-1 of the warp's 16 rows, through shared memory of this warp, so that memory is written
 * in whole pieces of 16 bytes. `to` is the first row, of which `rows` exist, `down` elements apart; low and high are
 * factors of rows below 8 and from 8 on. */
template <typename T, int WIDTH, int OUT>
__device__ static inline void
put_rows (T *to, long long down, unsigned short *through, const float sums[][4], float low, float high, int rows,
          int length, int from, bool aligned)
{
  const int lane = threadIdx.x % 32, stride = Plan<WIDTH>::STRIDE, pieces = OUT / 8;
  unsigned short *mine = through + lane / 4 * stride + lane % 4 * 2;

  __syncwarp ();
  UNROLL
  for (int n = 0; n < OUT / 8; n++)
    {
      *(unsigned *)(mine + n * 8) = pack (T (), sums[n][0] * low, sums[n][1] * low);
      *(unsigned *)(mine + 8 * stride + n * 8) = pack (T (), sums[n][2] * high, sums[n][3] * high);
    }
  __syncwarp ();
  if (aligned)
    {
      for (int i = lane; i < 16 * pieces; i += 32)
        {
          const int row = i / pieces, column = i % pieces * 8;

          if (row < rows && from + column < length)
            *(uint4 *)(to + row * down + from + column) = *(const uint4 *)(through + row * stride + column);
        }
      return;
    }
  for (int i = lane; i < 16 * OUT; i += 32)
    {
      const int row = i / OUT, column = i % OUT;

      if (row < rows && from + column < length)
        to[row * down + from + column].bits = through[row * stride + column];
    }
}

/* Turns products [16×COLUMNS] into logits in powers of two. `at` is the mask's element of row 0 and this lane's first
 * column; its rows and columns are `down` and `across` elements apart. `rows`, counted from 0, and `columns`, counted
 * from this lane's first, exist. */
template <typename T, int COLUMNS>
__device__ static inline void
add_mask (float products[][4], const AttentionSizes &s, const void *mask, long long at, int row, int rows, long long down,
          long long across, int columns)
{
  UNROLL
  for (int half = 0; half < 2; half++)
    {
      const long long from = at + (row + half * 8) * down;

      UNROLL
      for (int n = 0; n < COLUMNS / 8; n++)
        {
          UNROLL
          for (int i = 0; i < 2; i++)
            {
              const bool there = row + half * 8 < rows && n * 8 + i < columns;

              products[n][half * 2 + i] *= s.scale_2;
              products[n][half * 2 + i] += there ? mask_adds<T> (s, mask, from + (n * 8 + i) * across) : 0.0f;
            }
        }
    }
}

/* The sum or the maximum of a row that four lanes hold. */
template <typename Op>
__device__ static inline float
join_row (float x)
{
  x = Op::join (x, __shfl_xor_sync (0xffffffffu, x, 1));
  return Op::join (x, __shfl_xor_sync (0xffffffffu, x, 2));
}

#endif
