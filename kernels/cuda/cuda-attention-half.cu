/* Attention and its gradient of 16-bit floats on tensor cores.
 *
 * A warp has 16 of its block's 64 rows. A tile of scores is the result of one product and, after the softmax, the left
 * operand of the next, with the same elements in the same lanes, so it never leaves the registers. The gradient of keys
 * and values is computed with keys as rows, so that this holds there, too. While one tile is computed, the next one is
 * loaded to shared memory. Softmax weights and gradients of scores are rounded to the operands' type before they are
 * multiplied. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include "kernels/cuda/cuda-attention-half.cuh"

/* y [N,H,T,D] and lse [N,H,T] from q [N,H,T,E], k [N,K,S,E], v [N,K,S,D] and mask [N or 1,H or 1,T or 1,S]; one block
 * for 64 queries of a head, the last queries, which have the most keys, first. */
template <typename T, int WIDTH>
__global__ void
__launch_bounds__ (ATTENTION_THREADS, WIDTH <= 64 ? 3 : 2)
    half_forward_kernel (T *y, float *lse, const T *q, const T *k, const T *v, const void *mask, AttentionSizes s)
{
#ifdef HAVE_BODIES
  typedef Plan<WIDTH> P;
  const int tiles = (s.queries + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
  const int first = (tiles - 1 - (int)(blockIdx.x % tiles)) * ATTENTION_ROWS;
  const AttentionHead head = attention_head_of (s, blockIdx.x / tiles);
  const int steps = (keys_before (s, first + ATTENTION_ROWS) + P::STREAM - 1) / P::STREAM;
  const int lane = threadIdx.x % 32, row = first + threadIdx.x / 32 * 16 + lane / 4;
  extern __shared__ uint4 tiles_memory[];
  unsigned short *own = (unsigned short *)tiles_memory, *passing = own + P::OWN;
  unsigned short *mine = own + threadIdx.x / 32 * 16 * P::STRIDE;
  const float factor = s.has_mask ? 1.0f : s.scale_2; /* add_mask() scales if there is a mask */
  float sums[WIDTH / 8][4], share[P::STREAM / 8][4], top[2] = { -INFINITY, -INFINITY }, total[2] = { 0, 0 };
  Rows<WIDTH, (WIDTH <= 128)> rows;
  int kept[2]; /* number of kept keys of both rows, counted from this lane's first column */

  UNROLL
  for (int n = 0; n < WIDTH / 8; n++)
    {
      UNROLL
      for (int i = 0; i < 4; i++)
        sums[n][i] = 0;
    }
  UNROLL
  for (int half = 0; half < 2; half++)
    kept[half] = keys_kept (s, row + half * 8) - lane % 4 * 2;
  load_rows<WIDTH, ATTENTION_ROWS> (own, q + attention_rows (s.q, head), s.q.row, first, s.queries, s.width, s.aligned);
  if (steps > 0)
    {
      load_rows<WIDTH, P::STREAM> (passing, k + attention_keys (s.k, head), s.k.row, 0, s.keys, s.width, s.aligned);
      load_rows<WIDTH, P::STREAM> (passing + P::TILE, v + attention_keys (s.v, head), s.v.row, 0, s.keys, s.depth, s.aligned);
    }
  copies_end ();
  for (int step = 0; step < steps; step++)
    {
      const unsigned short *tile = passing + step % 2 * 2 * P::TILE;
      const int key = step * P::STREAM;

      copies_wait<0> ();
      __syncthreads ();
      if (step + 1 < steps)
        {
          unsigned short *next = passing + (step + 1) % 2 * 2 * P::TILE;

          load_rows<WIDTH, P::STREAM> (next, k + attention_keys (s.k, head), s.k.row, key + P::STREAM, s.keys, s.width, s.aligned);
          load_rows<WIDTH, P::STREAM> (next + P::TILE, v + attention_keys (s.v, head), s.v.row, key + P::STREAM, s.keys, s.depth, s.aligned);
          copies_end ();
        }
      if (step == 0)
        rows.begin (mine);
      multiply_rows<T, WIDTH, P::STREAM> (share, rows, tile);
      if (s.has_mask)
        add_mask<T, P::STREAM> (share, s, mask, head.mask + key + lane % 4 * 2, row, s.queries, s.mask_stride[2], 1,
                                s.keys - key - lane % 4 * 2);
      UNROLL
      for (int n = 0; n < P::STREAM / 8; n++)
        {
          UNROLL
          for (int i = 0; i < 4; i++)
            share[n][i] = n * 8 + i % 2 < kept[i / 2] - key ? share[n][i] * factor : -INFINITY;
        }
      UNROLL
      for (int half = 0; half < 2; half++)
        {
          float most = top[half], fade, base;

          UNROLL
          for (int n = 0; n < P::STREAM / 8; n++)
            most = fmaxf (most, fmaxf (share[n][2 * half], share[n][2 * half + 1]));
          most = join_row<Largest> (most);
          base = most == -INFINITY ? 0.0f : most;
          fade = exp2f (top[half] - base);
          top[half] = most;
          total[half] *= fade;
          UNROLL
          for (int n = 0; n < P::STREAM / 8; n++)
            {
              share[n][2 * half] = exp2f (share[n][2 * half] - base);
              share[n][2 * half + 1] = exp2f (share[n][2 * half + 1] - base);
              total[half] += share[n][2 * half] + share[n][2 * half + 1];
            }
          UNROLL
          for (int n = 0; n < WIDTH / 8; n++)
            {
              sums[n][2 * half] *= fade;
              sums[n][2 * half + 1] *= fade;
            }
        }
      if (s.head_index != NULL)
        {
          const unsigned long long number = AttentionKept::first (s, head) + key + lane % 4 * 2;

          drop_weights<P::STREAM> (share, s, number + (unsigned long long)row * s.keys,
                                  number + (unsigned long long)(row + 8) * s.keys);
        }
      add_weighted<T, WIDTH, WIDTH> (sums, share, tile + P::TILE);
    }
  finish (steps);
  UNROLL
  for (int half = 0; half < 2; half++)
    {
      total[half] = join_row<Sum> (total[half]);
      if (lane % 4 == 0 && row + half * 8 < s.queries)
        lse[head.queries + row + half * 8] = (top[half] == -INFINITY ? 0.0f : top[half] * LN_2) + logf (total[half]);
      total[half] = total[half] == 0 ? 0.0f : 1.0f / total[half];
    }
  put_rows<T, WIDTH, WIDTH> (y + attention_rows (s.y, head) + (row - lane / 4) * s.y.row, s.y.row, mine, sums, total[0], total[1],
                             s.queries - (row - lane / 4), s.depth, 0, s.aligned);
#endif
}

/* dq [N,H,T,E] = scale·Σ dS·k over the keys; one block for 64 queries of a head and OUT columns from blockIdx.y·OUT on.
 * g [N,H,T,D], q [N,H,T,E], k [N,K,S,E], v [N,K,S,D], lse and delta [N,H,T]. */
template <typename T, int WIDTH>
__global__ void
__launch_bounds__ (ATTENTION_THREADS, 2)
    half_queries_kernel (T *dq, const T *g, const T *q, const T *k, const T *v, const float *lse, const float *delta,
                         const void *mask, AttentionSizes s)
{
#ifdef HAVE_BODIES
  typedef Plan<WIDTH> P;
  const int tiles = (s.queries + ATTENTION_ROWS - 1) / ATTENTION_ROWS, from = blockIdx.y * P::OUT;
  const int first = (tiles - 1 - (int)(blockIdx.x % tiles)) * ATTENTION_ROWS;
  const AttentionHead head = attention_head_of (s, blockIdx.x / tiles);
  const int steps = (keys_before (s, first + ATTENTION_ROWS) + P::STREAM - 1) / P::STREAM;
  const int lane = threadIdx.x % 32, row = first + threadIdx.x / 32 * 16 + lane / 4;
  extern __shared__ uint4 tiles_memory[];
  unsigned short *own = (unsigned short *)tiles_memory, *passing = own + 2 * P::OWN;
  unsigned short *mine = own + threadIdx.x / 32 * 16 * P::STRIDE;
  const float factor = s.has_mask ? 1.0f : s.scale_2; /* add_mask() scales if there is a mask */
  float sums[P::OUT / 8][4], share[P::STREAM / 8][4], d_scores[P::STREAM / 8][4], base[2], away[2];
  Rows<WIDTH, (WIDTH <= 64)> queries, gradients;
  int kept[2]; /* number of kept keys of both rows, counted from this lane's first column */

  UNROLL
  for (int n = 0; n < P::OUT / 8; n++)
    {
      UNROLL
      for (int i = 0; i < 4; i++)
        sums[n][i] = 0;
    }
  UNROLL
  for (int half = 0; half < 2; half++)
    kept[half] = keys_kept (s, row + half * 8) - lane % 4 * 2;
  load_rows<WIDTH, ATTENTION_ROWS> (own, q + attention_rows (s.q, head), s.q.row, first, s.queries, s.width, s.aligned);
  load_rows<WIDTH, ATTENTION_ROWS> (own + P::OWN, g + attention_rows (s.g, head), s.g.row, first, s.queries, s.depth, s.aligned);
  if (steps > 0)
    {
      load_rows<WIDTH, P::STREAM> (passing, k + attention_keys (s.k, head), s.k.row, 0, s.keys, s.width, s.aligned);
      load_rows<WIDTH, P::STREAM> (passing + P::TILE, v + attention_keys (s.v, head), s.v.row, 0, s.keys, s.depth, s.aligned);
    }
  copies_end ();
  UNROLL
  for (int half = 0; half < 2; half++)
    {
      const bool there = row + half * 8 < s.queries;

      base[half] = there ? score_base (lse[head.queries + row + half * 8]) : 0.0f;
      away[half] = there ? delta[head.queries + row + half * 8] : 0.0f;
    }
  for (int step = 0; step < steps; step++)
    {
      const unsigned short *tile = passing + step % 2 * 2 * P::TILE;
      const int key = step * P::STREAM;

      copies_wait<0> ();
      __syncthreads ();
      if (step + 1 < steps)
        {
          unsigned short *next = passing + (step + 1) % 2 * 2 * P::TILE;

          load_rows<WIDTH, P::STREAM> (next, k + attention_keys (s.k, head), s.k.row, key + P::STREAM, s.keys, s.width, s.aligned);
          load_rows<WIDTH, P::STREAM> (next + P::TILE, v + attention_keys (s.v, head), s.v.row, key + P::STREAM, s.keys, s.depth, s.aligned);
          copies_end ();
        }
      if (step == 0)
        {
          queries.begin (mine);
          gradients.begin (mine + P::OWN);
        }
      multiply_rows<T, WIDTH, P::STREAM> (share, queries, tile);
      if (s.has_mask)
        add_mask<T, P::STREAM> (share, s, mask, head.mask + key + lane % 4 * 2, row, s.queries, s.mask_stride[2], 1,
                                s.keys - key - lane % 4 * 2);
      multiply_rows<T, WIDTH, P::STREAM> (d_scores, gradients, tile + P::TILE);
      if (s.head_index != NULL)
        {
          const unsigned long long number = AttentionKept::first (s, head) + key + lane % 4 * 2;

          drop_weights<P::STREAM> (d_scores, s, number + (unsigned long long)row * s.keys,
                                  number + (unsigned long long)(row + 8) * s.keys);
        }
      UNROLL
      for (int n = 0; n < P::STREAM / 8; n++)
        {
          UNROLL
          for (int i = 0; i < 4; i++)
            {
              const float score = n * 8 + i % 2 < kept[i / 2] - key ? share[n][i] * factor : -INFINITY;

              d_scores[n][i] = exp2f (score - base[i / 2]) * (d_scores[n][i] - away[i / 2]);
            }
        }
      add_weighted<T, WIDTH, P::OUT> (sums, d_scores, tile + from);
    }
  finish (steps);
  put_rows<T, WIDTH, P::OUT> (dq + attention_rows (s.dq, head) + (row - lane / 4) * s.dq.row, s.dq.row, mine, sums, s.scale, s.scale,
                              s.queries - (row - lane / 4), s.width, from, s.aligned);
#endif
}

/* dk [N,K,S,E] = scale·Σ dSᵀ·q and dv [N,K,S,D] = Σ Pᵀ·g over the queries of all heads that share the keys; one block
 * for 64 keys and OUT columns of both from blockIdx.y·OUT on. Operands as in half_queries_kernel(). */
template <typename T, int WIDTH>
__global__ void
__launch_bounds__ (ATTENTION_THREADS, 2)
    half_keys_kernel (T *dk, T *dv, const T *g, const T *q, const T *k, const T *v, const float *lse,
                      const float *delta, const void *mask, AttentionSizes s)
{
#ifdef HAVE_BODIES
  typedef Plan<WIDTH> P;
  const int tiles = (s.keys + ATTENTION_ROWS - 1) / ATTENTION_ROWS, from = blockIdx.y * P::OUT;
  const int first = (int)(blockIdx.x % tiles) * ATTENTION_ROWS, shared_by = (int)s.shared_by;
  const long long sample = blockIdx.x / tiles / (unsigned int)s.groups, group = blockIdx.x / tiles % (unsigned int)s.groups;
  const int lane = threadIdx.x % 32, row = first + threadIdx.x / 32 * 16 + lane / 4;
  /* Number of tiles of queries that attend to these keys, in each head. */
  const int begin = s.causal ? first / P::STREAM : 0, end = (s.queries + P::STREAM - 1) / P::STREAM;
  const int each = end > begin ? end - begin : 0, steps = each * shared_by;
  extern __shared__ uint4 tiles_memory[];
  unsigned short *own = (unsigned short *)tiles_memory, *passing = own + 2 * P::OWN;
  unsigned short *mine = own + threadIdx.x / 32 * 16 * P::STRIDE;
  const float factor = s.has_mask ? 1.0f : s.scale_2; /* add_mask() scales if there is a mask */
  float *numbers = (float *)(passing + 4 * P::TILE); /* lse and delta of a tile's queries: [2][STREAM] */
  float key_sums[P::OUT / 8][4], value_sums[P::OUT / 8][4], share[P::STREAM / 8][4], d_scores[P::STREAM / 8][4];
  Rows<WIDTH, (WIDTH <= 64)> key_rows, value_rows;
  /* Number of queries before the key of either row, counted from this lane's first column. */
  const int skipped[2] = { (s.causal ? row : 0) - lane % 4 * 2, (s.causal ? row + 8 : 0) - lane % 4 * 2 };

  auto keys_begin = [&] (const LoomAttentionRows &rows) { return rows.start + sample * rows.sample + group * rows.head; };
  auto load_step = [&] (int step) {
    const AttentionHead head = attention_head (s, sample, group * shared_by + step / each);
    const int query = (begin + step % each) * P::STREAM;
    unsigned short *tile = passing + step % 2 * 2 * P::TILE;

    load_rows<WIDTH, P::STREAM> (tile, q + attention_rows (s.q, head), s.q.row, query, s.queries, s.width, s.aligned);
    load_rows<WIDTH, P::STREAM> (tile + P::TILE, g + attention_rows (s.g, head), s.g.row, query, s.queries, s.depth, s.aligned);
    if (threadIdx.x < 2 * P::STREAM)
      {
        const int at = query + (int)threadIdx.x % P::STREAM;
        const float *of = (threadIdx.x < P::STREAM ? lse : delta) + head.queries;

        copy_4 (numbers + step % 2 * 2 * P::STREAM + threadIdx.x, at < s.queries ? of + at : of, at < s.queries);
      }
  };

  UNROLL
  for (int n = 0; n < P::OUT / 8; n++)
    {
      UNROLL
      for (int i = 0; i < 4; i++)
        key_sums[n][i] = value_sums[n][i] = 0;
    }
  load_rows<WIDTH, ATTENTION_ROWS> (own, k + keys_begin (s.k), s.k.row, first, s.keys, s.width, s.aligned);
  load_rows<WIDTH, ATTENTION_ROWS> (own + P::OWN, v + keys_begin (s.v), s.v.row, first, s.keys, s.depth, s.aligned);
  if (steps > 0)
    load_step (0);
  copies_end ();
  for (int step = 0; step < steps; step++)
    {
      const unsigned short *tile = passing + step % 2 * 2 * P::TILE;
      const float *bases = numbers + step % 2 * 2 * P::STREAM + lane % 4 * 2, *aways = bases + P::STREAM;
      const int query = (begin + step % each) * P::STREAM;
      const AttentionHead head = attention_head (s, sample, group * shared_by + step / each);
      const unsigned long long number
          = AttentionKept::first (s, head) + (unsigned long long)(query + lane % 4 * 2) * s.keys + row;
      AttentionKept kept (s);

      copies_wait<0> ();
      __syncthreads ();
      if (step + 1 < steps)
        {
          load_step (step + 1);
          copies_end ();
        }
      if (step == 0)
        {
          key_rows.begin (mine);
          value_rows.begin (mine + P::OWN);
        }
      multiply_rows<T, WIDTH, P::STREAM> (share, key_rows, tile);
      if (s.has_mask)
        add_mask<T, P::STREAM> (share, s, mask, head.mask + (query + lane % 4 * 2) * s.mask_stride[2], row, s.keys, 1,
                                s.mask_stride[2], s.queries - query - lane % 4 * 2);
      multiply_rows<T, WIDTH, P::STREAM> (d_scores, value_rows, tile + P::TILE);
      UNROLL
      for (int n = 0; n < P::STREAM / 8; n++)
        {
          UNROLL
          for (int i = 0; i < 4; i++)
            {
              const float score = n * 8 + i % 2 >= skipped[i / 2] - query ? share[n][i] * factor : -INFINITY;

              const float keep
                  = s.head_index != NULL ? kept.factor (number + (unsigned long long)(n * 8 + i % 2) * s.keys + i / 2 * 8) : 1.0f;

              share[n][i] = exp2f (score - score_base (bases[n * 8 + i % 2]));
              d_scores[n][i] = share[n][i] * (d_scores[n][i] * keep - aways[n * 8 + i % 2]);
              share[n][i] *= keep;
            }
        }
      add_weighted<T, WIDTH, P::OUT> (value_sums, share, tile + P::TILE + from);
      add_weighted<T, WIDTH, P::OUT> (key_sums, d_scores, tile + from);
    }
  finish (steps);
  put_rows<T, WIDTH, P::OUT> (dk + keys_begin (s.dk) + (row - lane / 4) * s.dk.row, s.dk.row, mine, key_sums, s.scale, s.scale,
                              s.keys - (row - lane / 4), s.width, from, s.aligned);
  put_rows<T, WIDTH, P::OUT> (dv + keys_begin (s.dv) + (row - lane / 4) * s.dv.row, s.dv.row, mine + P::OWN, value_sums, 1, 1,
                              s.keys - (row - lane / 4), s.depth, from, s.aligned);
#endif
}

/* ---- host --------------------------------------------------------------------------- */

template <typename T, int WIDTH>
static void
launch_forward (const AttentionSizes *sizes, cudaStream_t stream, const AttentionBuffers *b)
{
  const AttentionSizes &s = *sizes;
  const unsigned int blocks = (unsigned int)(s.n * s.heads) * blocks_for (s.queries, ATTENTION_ROWS);
  const T *q = (const T *)b->q, *k = (const T *)b->k, *v = (const T *)b->v;

  if (blocks > 0)
    half_forward_kernel<T, WIDTH><<<blocks, ATTENTION_THREADS, Plan<WIDTH>::FORWARD_BYTES, stream>>> (
        (T *)b->y, b->lse, q, k, v, b->mask, s);
}

template <typename T, int WIDTH>
static void
launch_backward (const AttentionSizes *sizes, cudaStream_t stream, const AttentionBuffers *b)
{
  const AttentionSizes &s = *sizes;
  const unsigned int queries = (unsigned int)(s.n * s.heads) * blocks_for (s.queries, ATTENTION_ROWS);
  const unsigned int keys = (unsigned int)(s.n * s.groups) * blocks_for (s.keys, ATTENTION_ROWS);
  const unsigned int width = blocks_for (s.width, Plan<WIDTH>::OUT), depth = blocks_for (s.depth, Plan<WIDTH>::OUT);
  const T *g = (const T *)b->g, *q = (const T *)b->q, *k = (const T *)b->k, *v = (const T *)b->v;

  if (queries > 0 && width > 0)
    half_queries_kernel<T, WIDTH>
        <<<dim3 (queries, width), ATTENTION_THREADS, Plan<WIDTH>::QUERIES_BYTES, stream>>> ((T *)b->dq, g, q, k, v, b->lse,
                                                                                           b->delta, b->mask, s);
  if (keys > 0 && (width > 0 || depth > 0))
    half_keys_kernel<T, WIDTH>
        <<<dim3 (keys, width > depth ? width : depth), ATTENTION_THREADS, Plan<WIDTH>::KEYS_BYTES, stream>>> (
            (T *)b->dk, (T *)b->dv, g, q, k, v, b->lse, b->delta, b->mask, s);
}

/* NULL if the device has too little shared memory. */
template <typename T, int WIDTH>
static AttentionLaunch
prepare (bool gradient)
{
  const cudaFuncAttribute what = cudaFuncAttributeMaxDynamicSharedMemorySize;
  cudaError_t error;

  if (gradient)
    {
      error = cudaFuncSetAttribute (half_queries_kernel<T, WIDTH>, what, Plan<WIDTH>::QUERIES_BYTES);
      if (error == cudaSuccess)
        error = cudaFuncSetAttribute (half_keys_kernel<T, WIDTH>, what, Plan<WIDTH>::KEYS_BYTES);
    }
  else
    error = cudaFuncSetAttribute (half_forward_kernel<T, WIDTH>, what, Plan<WIDTH>::FORWARD_BYTES);
  if (error == cudaSuccess)
    return gradient ? launch_backward<T, WIDTH> : launch_forward<T, WIDTH>;
  cudaGetLastError ();
  return NULL;
}

template <typename T>
static AttentionLaunch
prepare_type (int features, bool gradient)
{
  return features <= 64 ? prepare<T, 64> (gradient) : features <= 128 ? prepare<T, 128> (gradient) : prepare<T, 256> (gradient);
}

/* Compiled with the same options as the kernels above. */
__global__ static void
probe_kernel (void)
{
}

/* Whether the kernels that this device runs have bodies: the driver of a newer GPU compiles a module again that was
 * compiled for older GPUs only, and the kernels stay without bodies. */
static bool
has_bodies (void)
{
  cudaFuncAttributes attributes;

  if (cudaFuncGetAttributes (&attributes, (const void *)probe_kernel) == cudaSuccess)
    return attributes.ptxVersion >= 80;
  cudaGetLastError ();
  return false;
}

AttentionLaunch
cuda_attention_half (LoomDevice *device, LoomDType dtype, int features, bool gradient)
{
  if (device->architecture < 80 || !has_bodies ())
    return NULL;
  return dtype == LOOM_BF16 ? prepare_type<Bf16> (features, gradient) : prepare_type<F16> (features, gradient);
}
