/* Attention and its gradient of f32, by 128 threads, each of which has 8 rows and 4 columns of a tile of 64×64 scores.
 *
 * Features pass through shared memory in pieces, so that heads of all sizes have the same kernels. Columns of results
 * beyond those of one block belong to another block, which computes the scores again. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include "kernels/cuda/cuda-attention.cuh"

#define ROWS   ATTENTION_ROWS
#define PIECE  32         /* features */
#define STRIDE (ROWS + 4) /* of rows in shared memory */

/* A thread's position in a tile: 8 rows from `down` on, 4 columns from `across` on. Sixteen adjacent lanes have the
 * same rows. */
struct Place
{
  int down, across;
  __device__ inline Place () : down (threadIdx.x / 16 * 8), across (threadIdx.x % 16 * 4)
  {
  }
};

/* Shared memory of a block: two pieces of 64 rows by feature, [2][PIECE][STRIDE], or 64 rows of 64 columns. */
typedef float4 Tiles[2 * PIECE * STRIDE / 4];
/* Operand that one product leaves for the next, by column and row: [ROWS][STRIDE]. */
typedef float4 Weights[ROWS * STRIDE / 4];

/* sums [8][4] += left [8]·right [4], an outer product. */
__device__ static inline void
add_product (float sums[8][4], const float *left, const float *right)
{
  const float4 low = *(const float4 *)left, high = *(const float4 *)(left + 4), other = *(const float4 *)right;
  const float a[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
  const float b[4] = { other.x, other.y, other.z, other.w };

  UNROLL
  for (int i = 0; i < 8; i++)
    {
      UNROLL
      for (int j = 0; j < 4; j++)
        sums[i][j] += a[i] * b[j];
    }
}

__device__ static inline void
clear (float sums[8][4])
{
  UNROLL
  for (int i = 0; i < 8; i++)
    {
      UNROLL
      for (int j = 0; j < 4; j++)
        sums[i][j] = 0;
    }
}

/* sums [64×64, 8×4 a thread] = rows·columnsᵀ, rows [n_rows,width], columns [n_columns,width]; their rows are `down` and
 * `across` elements apart, and rows that do not exist count as zeros. */
__device__ static void
multiply_rows (float sums[8][4], const float *rows, long long down, int n_rows, const float *columns, long long across,
               int n_columns, int width, float *tiles_memory)
{
  const Place place;
  const int feature = threadIdx.x % 8, from = threadIdx.x / 8;
  float *other = tiles_memory + PIECE * STRIDE;

  clear (sums);
  for (int begin = 0; begin < width; begin += PIECE)
    {
      __syncthreads ();
      UNROLL_BY (2)
      for (int i = 0; i < ROWS / 16; i++)
        {
          UNROLL
          for (int k = 0; k < PIECE / 8; k++)
            {
              const int row = from + 16 * i, at = feature + 8 * k;
              const bool there = begin + at < width;

              tiles_memory[at * STRIDE + row] = there && row < n_rows ? rows[row * down + begin + at] : 0.0f;
              other[at * STRIDE + row] = there && row < n_columns ? columns[row * across + begin + at] : 0.0f;
            }
        }
      __syncthreads ();
      UNROLL_BY (8)
      for (int k = 0; k < PIECE; k++)
        add_product (sums, tiles_memory + k * STRIDE + place.down, other + k * STRIDE + place.across);
    }
}

/* Turns products into logits in powers of two. `at` is the mask's element of the tile's first row and column; its rows
 * and columns are `down` and `across` elements apart, and `rows` and `columns` of them exist. */
__device__ static inline void
add_mask (float products[8][4], const AttentionSizes &s, const void *mask, long long at, int rows, long long down,
          int columns, long long across)
{
  const Place place;

  UNROLL
  for (int i = 0; i < 8; i++)
    {
      UNROLL
      for (int j = 0; j < 4; j++)
        {
          const int row = place.down + i, column = place.across + j;
          const bool there = row < rows && column < columns;

          products[i][j] *= s.scale_2;
          products[i][j] += there ? mask_adds<float> (s, mask, at + row * down + column * across) : 0.0f;
        }
    }
}

/* Stores the tile of 64×64 to weights [ROWS][STRIDE], by column and row. */
__device__ static void
store_weights (float *weights, const float tile[8][4])
{
  const Place place;

  __syncthreads ();
  UNROLL
  for (int j = 0; j < 4; j++)
    {
      float *to = weights + (place.across + j) * STRIDE + place.down;

      *(float4 *)to = float4{ tile[0][j], tile[1][j], tile[2][j], tile[3][j] };
      *(float4 *)(to + 4) = float4{ tile[4][j], tile[5][j], tile[6][j], tile[7][j] };
    }
}

/* sums += weights [64×64] (softmax weights)·matrix [rows,length], whose rows are `down` elements apart: 64·OUTS columns
 * from `from` on. */
template <int OUTS>
__device__ static void
add_weighted (float sums[OUTS][8][4], const float *weights, const float *matrix, long long down, int rows, int length, int from,
            float *tiles_memory)
{
  const Place place;

  UNROLL
  for (int o = 0; o < OUTS; o++)
    {
      const int begin = from + o * ROWS;

      __syncthreads ();
      UNROLL_BY (8)
      for (int i = 0; i < ROWS * ROWS / ATTENTION_THREADS; i++)
        {
          const int at = i * ATTENTION_THREADS + threadIdx.x, row = at / ROWS, column = at % ROWS;
          const bool there = row < rows && begin + column < length;

          tiles_memory[row * STRIDE + column] = there ? matrix[row * down + begin + column] : 0.0f;
        }
      __syncthreads ();
      UNROLL_BY (8)
      for (int k = 0; k < ROWS; k++)
        add_product (sums[o], weights + k * STRIDE + place.down, tiles_memory + k * STRIDE + place.across);
    }
}

/* Stores 64 columns from `from` on of a block's rows to `to` [rows,length], whose rows are `down` elements apart. */
__device__ static inline void
put_rows (float *to, long long down, const float sums[8][4], const float factor[8], int rows, int length, int from)
{
  const Place place;

  UNROLL
  for (int i = 0; i < 8; i++)
    {
      UNROLL
      for (int j = 0; j < 4; j++)
        if (place.down + i < rows && from + place.across + j < length)
          to[(place.down + i) * down + from + place.across + j] = sums[i][j] * factor[i];
    }
}

/* The sum or the maximum of a row that sixteen lanes hold. */
template <typename Op>
__device__ static inline float
join_row (float x)
{
  return shuffle_join<Op, 8, 1> (x);
}

/* y [N,H,T,D] and lse [N,H,T] from q [N,H,T,E], k [N,K,S,E], v [N,K,S,D] and mask [N or 1,H or 1,T or 1,S]; one block
 * for 64 queries of a head, the last queries, which have the most keys, first, and 64·OUTS columns. */
template <int OUTS>
__global__ void
__launch_bounds__ (ATTENTION_THREADS, 2) forward_kernel (float *y, float *lse, const float *q, const float *k,
                                                      const float *v, const void *mask, AttentionSizes s)
{
  __shared__ Tiles tiles_memory4;
  __shared__ Weights weights4;
  float *tiles_memory = (float *)tiles_memory4, *weights = (float *)weights4;
  const Place place;
  const float factor = s.has_mask ? 1.0f : s.scale_2; /* add_mask() scales if there is a mask */
  const int tiles = (s.queries + ROWS - 1) / ROWS, first = (tiles - 1 - (int)(blockIdx.x % tiles)) * ROWS;
  const AttentionHead head = attention_head_of (s, blockIdx.x / tiles);
  const int limit = keys_before (s, first + ROWS), from = blockIdx.y * ROWS * OUTS;
  const float *queries = q + attention_rows (s.q, head);
  const float *keys = k + attention_keys (s.k, head), *values = v + attention_keys (s.v, head);
  float sums[OUTS][8][4], share[8][4], top[8], total[8];
  AttentionKept weights_kept (s);
  const unsigned long long number = AttentionKept::first (s, head);

  UNROLL
  for (int o = 0; o < OUTS; o++)
    clear (sums[o]);
  UNROLL
  for (int i = 0; i < 8; i++)
    {
      top[i] = -INFINITY;
      total[i] = 0;
    }
  for (int key = 0; key < limit; key += ROWS)
    {
      multiply_rows (share, queries + first * s.q.row, s.q.row, s.queries - first, keys + key * s.k.row, s.k.row,
                     s.keys - key, s.width, tiles_memory);
      if (s.has_mask)
        add_mask (share, s, mask, head.mask + first * s.mask_stride[2] + key, s.queries - first, s.mask_stride[2],
                  s.keys - key, 1);
      UNROLL
      for (int i = 0; i < 8; i++)
        {
          const int kept = keys_kept (s, first + place.down + i) - place.across;
          float most = top[i], fade, base;

          UNROLL
          for (int j = 0; j < 4; j++)
            {
              share[i][j] = j < kept - key ? share[i][j] * factor : -INFINITY;
              most = fmaxf (most, share[i][j]);
            }
          most = join_row<Largest> (most);
          base = most == -INFINITY ? 0.0f : most;
          fade = exp2f (top[i] - base);
          top[i] = most;
          total[i] *= fade;
          UNROLL
          for (int j = 0; j < 4; j++)
            {
              share[i][j] = exp2f (share[i][j] - base);
              total[i] += share[i][j];
              share[i][j] *= weights_kept.factor (number + (unsigned long long)(first + place.down + i) * s.keys + key + place.across + j);
              UNROLL
              for (int o = 0; o < OUTS; o++)
                sums[o][i][j] *= fade;
            }
        }
      store_weights (weights, share);
      add_weighted<OUTS> (sums, weights, values + key * s.v.row, s.v.row, s.keys - key, s.depth, from, tiles_memory);
    }
  UNROLL
  for (int i = 0; i < 8; i++)
    {
      total[i] = join_row<Sum> (total[i]);
      if (place.across == 0 && blockIdx.y == 0 && first + place.down + i < s.queries)
        lse[head.queries + first + place.down + i] = (top[i] == -INFINITY ? 0.0f : top[i] * LN_2) + logf (total[i]);
      total[i] = total[i] == 0 ? 0.0f : 1.0f / total[i];
    }
  UNROLL
  for (int o = 0; o < OUTS; o++)
    put_rows (y + attention_rows (s.y, head) + first * s.y.row, s.y.row, sums[o], total, s.queries - first, s.depth, from + o * ROWS);
}

/* dq [N,H,T,E] = scale·Σ dS·k over the keys; one block for 64 queries of a head and 64·OUTS columns. g [N,H,T,D], q
 * [N,H,T,E], k [N,K,S,E], v [N,K,S,D], lse and delta [N,H,T]. */
template <int OUTS>
__global__ void
__launch_bounds__ (ATTENTION_THREADS, 2)
    queries_kernel (float *dq, const float *g, const float *q, const float *k, const float *v, const float *lse,
                    const float *delta, const void *mask, AttentionSizes s)
{
  __shared__ Tiles tiles_memory4;
  __shared__ Weights weights4;
  float *tiles_memory = (float *)tiles_memory4, *weights = (float *)weights4;
  const Place place;
  const float factor = s.has_mask ? 1.0f : s.scale_2; /* add_mask() scales if there is a mask */
  const int tiles = (s.queries + ROWS - 1) / ROWS, first = (tiles - 1 - (int)(blockIdx.x % tiles)) * ROWS;
  const AttentionHead head = attention_head_of (s, blockIdx.x / tiles);
  const int limit = keys_before (s, first + ROWS), from = blockIdx.y * ROWS * OUTS;
  const float *queries = q + attention_rows (s.q, head), *gradients = g + attention_rows (s.g, head);
  const float *keys = k + attention_keys (s.k, head), *values = v + attention_keys (s.v, head);
  float sums[OUTS][8][4], share[8][4], d_scores[8][4], base[8], away[8], scale[8];
  AttentionKept weights_kept (s);
  const unsigned long long number = AttentionKept::first (s, head);

  UNROLL
  for (int o = 0; o < OUTS; o++)
    clear (sums[o]);
  UNROLL
  for (int i = 0; i < 8; i++)
    {
      const bool there = first + place.down + i < s.queries;

      base[i] = there ? score_base (lse[head.queries + first + place.down + i]) : 0.0f;
      away[i] = there ? delta[head.queries + first + place.down + i] : 0.0f;
      scale[i] = s.scale;
    }
  for (int key = 0; key < limit; key += ROWS)
    {
      multiply_rows (share, queries + first * s.q.row, s.q.row, s.queries - first, keys + key * s.k.row, s.k.row,
                     s.keys - key, s.width, tiles_memory);
      multiply_rows (d_scores, gradients + first * s.g.row, s.g.row, s.queries - first, values + key * s.v.row, s.v.row,
                     s.keys - key, s.depth, tiles_memory);
      if (s.has_mask)
        add_mask (share, s, mask, head.mask + first * s.mask_stride[2] + key, s.queries - first, s.mask_stride[2],
                  s.keys - key, 1);
      UNROLL
      for (int i = 0; i < 8; i++)
        {
          const int kept = keys_kept (s, first + place.down + i) - place.across;

          UNROLL
          for (int j = 0; j < 4; j++)
            {
              const float score = j < kept - key ? share[i][j] * factor : -INFINITY;

              d_scores[i][j] *= weights_kept.factor (number + (unsigned long long)(first + place.down + i) * s.keys + key + place.across + j);
              d_scores[i][j] = exp2f (score - base[i]) * (d_scores[i][j] - away[i]);
            }
        }
      store_weights (weights, d_scores);
      add_weighted<OUTS> (sums, weights, keys + key * s.k.row, s.k.row, s.keys - key, s.width, from, tiles_memory);
    }
  UNROLL
  for (int o = 0; o < OUTS; o++)
    put_rows (dq + attention_rows (s.dq, head) + first * s.dq.row, s.dq.row, sums[o], scale, s.queries - first, s.width, from + o * ROWS);
}

/* dk [N,K,S,E] = scale·Σ dSᵀ·q and dv [N,K,S,D] = Σ Pᵀ·g over the queries of all heads that share the keys; one block
 * for 64 keys, the rows of its tiles, and 64 columns of both. Operands as in queries_kernel(). */
static __global__ void
__launch_bounds__ (ATTENTION_THREADS, 2)
    keys_kernel (float *dk, float *dv, const float *g, const float *q, const float *k, const float *v, const float *lse,
                 const float *delta, const void *mask, AttentionSizes s)
{
  __shared__ Tiles tiles_memory4;
  __shared__ Weights weights4;
  float *tiles_memory = (float *)tiles_memory4, *weights = (float *)weights4;
  const Place place;
  const float factor = s.has_mask ? 1.0f : s.scale_2; /* add_mask() scales if there is a mask */
  const int tiles = (s.keys + ROWS - 1) / ROWS, first = (int)(blockIdx.x % tiles) * ROWS, from = blockIdx.y * ROWS;
  const long long sample = blockIdx.x / tiles / (unsigned int)s.groups, group = blockIdx.x / tiles % (unsigned int)s.groups;
  const long long shared_by = s.shared_by;
  auto keys_begin = [&] (const LoomAttentionRows &rows) {
    return rows.start + sample * rows.sample + group * rows.head + first * rows.row;
  };
  float key_sums[1][8][4], value_sums[1][8][4], share[8][4], d_scores[8][4], scale[8], one[8];
  AttentionKept weights_kept (s);

  clear (key_sums[0]);
  clear (value_sums[0]);
  UNROLL
  for (int i = 0; i < 8; i++)
    {
      scale[i] = s.scale;
      one[i] = 1;
    }
  for (long long h = group * shared_by; h < (group + 1) * shared_by; h++)
    for (int query = s.causal ? first : 0; query < s.queries; query += ROWS)
      {
        const AttentionHead head = attention_head (s, sample, h);
        const float *queries = q + attention_rows (s.q, head) + query * s.q.row;
        const float *gradients = g + attention_rows (s.g, head) + query * s.g.row;
        const int left = s.queries - query;
        const unsigned long long number = AttentionKept::first (s, head);

        multiply_rows (share, k + keys_begin (s.k), s.k.row, s.keys - first, queries, s.q.row, left, s.width, tiles_memory);
        multiply_rows (d_scores, v + keys_begin (s.v), s.v.row, s.keys - first, gradients, s.g.row, left, s.depth, tiles_memory);
        if (s.has_mask)
          add_mask (share, s, mask, head.mask + query * s.mask_stride[2] + first, s.keys - first, 1, left,
                    s.mask_stride[2]);
        UNROLL
        for (int j = 0; j < 4; j++)
          {
            const bool there = place.across + j < left;
            const float base = there ? score_base (lse[head.queries + query + place.across + j]) : 0.0f;
            const float away = there ? delta[head.queries + query + place.across + j] : 0.0f;

            UNROLL
            for (int i = 0; i < 8; i++)
              {
                const bool keeps = !s.causal || query + place.across + j >= first + place.down + i;
                const float score = keeps ? share[i][j] * factor : -INFINITY;

                const float keep = weights_kept.factor (number + (unsigned long long)(query + place.across + j) * s.keys + first + place.down + i);

                share[i][j] = exp2f (score - base);
                d_scores[i][j] = share[i][j] * (d_scores[i][j] * keep - away);
                share[i][j] *= keep;
              }
          }
        store_weights (weights, share);
        add_weighted<1> (value_sums, weights, gradients, s.g.row, left, s.depth, from, tiles_memory);
        store_weights (weights, d_scores);
        add_weighted<1> (key_sums, weights, queries, s.q.row, left, s.width, from, tiles_memory);
      }
  put_rows (dk + keys_begin (s.dk), s.dk.row, key_sums[0], scale, s.keys - first, s.width, from);
  put_rows (dv + keys_begin (s.dv), s.dv.row, value_sums[0], one, s.keys - first, s.depth, from);
}

/* ---- host --------------------------------------------------------------------------- */

static void
launch_forward (const AttentionSizes *sizes, cudaStream_t stream, const AttentionBuffers *b)
{
  const AttentionSizes &s = *sizes;
  const unsigned int blocks = (unsigned int)(s.n * s.heads) * blocks_for (s.queries, ROWS);
  const float *q = (const float *)b->q, *k = (const float *)b->k, *v = (const float *)b->v;
  float *y = (float *)b->y;

  if (blocks == 0) /* no queries: CUDA refuses an empty grid */
    return;
  if (s.depth <= ROWS)
    forward_kernel<1><<<blocks, ATTENTION_THREADS, 0, stream>>> (y, b->lse, q, k, v, b->mask, s);
  else
    forward_kernel<2><<<dim3 (blocks, blocks_for (s.depth, 2 * ROWS)), ATTENTION_THREADS, 0, stream>>> (y, b->lse, q, k, v,
                                                                                                        b->mask, s);
}

static void
launch_backward (const AttentionSizes *sizes, cudaStream_t stream, const AttentionBuffers *b)
{
  const AttentionSizes &s = *sizes;
  const unsigned int queries = (unsigned int)(s.n * s.heads) * blocks_for (s.queries, ROWS);
  const unsigned int keys = (unsigned int)(s.n * s.groups) * blocks_for (s.keys, ROWS);
  const unsigned int columns = blocks_for (s.width > s.depth ? s.width : s.depth, ROWS);
  const float *g = (const float *)b->g, *q = (const float *)b->q, *k = (const float *)b->k, *v = (const float *)b->v;
  float *dq = (float *)b->dq, *dk = (float *)b->dk, *dv = (float *)b->dv;

  if (queries > 0 && s.width > 0 && s.width <= ROWS)
    queries_kernel<1><<<queries, ATTENTION_THREADS, 0, stream>>> (dq, g, q, k, v, b->lse, b->delta, b->mask, s);
  else if (queries > 0 && s.width > 0)
    queries_kernel<2><<<dim3 (queries, blocks_for (s.width, 2 * ROWS)), ATTENTION_THREADS, 0, stream>>> (
        dq, g, q, k, v, b->lse, b->delta, b->mask, s);
  if (keys > 0 && columns > 0)
    keys_kernel<<<dim3 (keys, columns), ATTENTION_THREADS, 0, stream>>> (dk, dv, g, q, k, v, b->lse, b->delta, b->mask, s);
}

AttentionLaunch
cuda_attention_single (bool gradient)
{
  return gradient ? launch_backward : launch_forward;
}
