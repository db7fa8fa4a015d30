/* A stable merge sort of rows: pairs of an unsigned key and its original index, smallest key first.
 *
 * A block sorts a tile in shared memory: each thread sorts a few pairs in its registers, then runs are merged pairwise.
 * Rows that are longer than a tile are merged further, with one launch for each doubling of the runs, and one block for
 * each tile of the result. A thread finds the begin of its part in both runs by bisection ("merge path": Green, McColl
 * and Bader, "GPU Merge Path: A GPU Merging Algorithm", 2012), so all parts have the same size for any keys. A bitonic
 * network has four times as many barriers, and a radix sort needs three launches for each digit. The order of pairs
 * follows from the keys alone.
 *
 * The caller passes a source of keys, `K key (row, place)`, and a destination of results, `void put (row, at, key,
 * place)`. */
#ifndef LOOM_CUDA_SORT_CUH
#define LOOM_CUDA_SORT_CUH

#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"

/* An odd number of pairs for each thread: threads that access the same one of their pairs then use different banks. */
#define SORT_LEVELS  9
#define SORT_THREADS (1 << SORT_LEVELS)
#define SORT_ITEMS   7
#define SORT_TILE    (SORT_THREADS * SORT_ITEMS)
#define SORT_MOST    0x70000000 /* pairs in a row, which are counted in 32 bits */

typedef struct
{
  long long rows;
  int n, tiles; /* numbers of pairs and tiles of a row */
  int level;    /* a row, or a tile of one, is sorted by 1 << level threads of a block */
  bool across;  /* neighbouring rows are adjacent in memory, instead of the pairs of a row */
  Divisor by_tiles, by_group;
} SortShape;

/* Pairs between two launches; key and place are [rows,n]. */
template <typename K>
struct SortPairs
{
  K *key_of;
  int *place_of;
  long long n;

  __device__ void
  put (long long row, int at, K key, int place) const
  {
    key_of[row * n + at] = key;
    place_of[row * n + at] = place;
  }
};

/* ---- on the device ------------------------------------------------------------ */

/* The number of elements of a [na] among the first `diagonal` elements of a and b [nb] merged, both sorted; of equal
 * keys those of a come first. */
template <typename K>
__device__ static int
merge_path (const K *a, int na, const K *b, int nb, int diagonal)
{
  int low = diagonal > nb ? diagonal - nb : 0, high = diagonal < na ? diagonal : na;

  while (low < high)
    {
      const int middle = low + (high - low) / 2;

      if (a[middle] <= b[diagonal - 1 - middle])
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* The thread's pairs, from `diagonal` on, of the merge of [0, na) and [na, na + nb) of keys and places. */
template <typename K>
__device__ static void
merge_items (K key[SORT_ITEMS], int place[SORT_ITEMS], const K *keys, const int *places, int na, int nb, int diagonal)
{
  int a = merge_path (keys, na, keys + na, nb, diagonal), b = na + diagonal - a;

  for (int i = 0; i < SORT_ITEMS; i++)
    {
      const bool first = b >= na + nb || (a < na && keys[a] <= keys[b]);
      const int from = first ? a : b;

      key[i] = keys[from];
      place[i] = places[from];
      a += first;
      b += !first;
    }
}

/* Odd-even transposition sort: neighbours are swapped if the first is larger, which is stable. */
template <typename K>
__device__ static void
sort_items (K key[SORT_ITEMS], int place[SORT_ITEMS])
{
#pragma unroll
  for (int round = 0; round < SORT_ITEMS; round++)
#pragma unroll
    for (int i = round % 2; i + 1 < SORT_ITEMS; i += 2)
      {
        const K low = key[i], high = key[i + 1];
        const int before = place[i], after = place[i + 1];
        const bool swap = high < low;

        key[i] = swap ? high : low;
        key[i + 1] = swap ? low : high;
        place[i] = swap ? after : before;
        place[i + 1] = swap ? before : after;
      }
}

/* Stores the thread's pairs in its part of the tile. */
template <typename K>
__device__ static void
keep_items (K *keys, int *places, const K key[SORT_ITEMS], const int place[SORT_ITEMS])
{
  for (int i = 0; i < SORT_ITEMS; i++)
    {
      keys[threadIdx.x * SORT_ITEMS + i] = key[i];
      places[threadIdx.x * SORT_ITEMS + i] = place[i];
    }
}

/* The row and index of element e of the block's tile, in the order in which memory is accessed. */
struct SortSlot
{
  long long row;
  int slot, at; /* index in the tile, index in the row */
  bool there;

  __device__ SortSlot (int e, const SortShape &shape)
  {
    const int groups = SORT_THREADS >> shape.level, size = SORT_ITEMS << shape.level;
    const int group = shape.across ? e & (groups - 1) : (int)divide ((unsigned int)e, shape.by_group);

    at = shape.across ? e >> (SORT_LEVELS - shape.level) : e - group * size;
    slot = group * size + at;
    row = (long long)blockIdx.x * groups + group;
    if (shape.tiles > 1)
      {
        row = divide (blockIdx.x, shape.by_tiles);
        at += (int)(blockIdx.x - row * shape.tiles) * SORT_TILE;
      }
    there = at < shape.n && row < shape.rows;
  }
};

/* Sorts rows [rows,n] of at most a tile, several in a block if they fit, or a tile of a longer row. Missing pairs have
 * the largest key and are last, where a stable sort leaves them. */
template <typename K, typename From, typename To>
__global__ void
__launch_bounds__ (SORT_THREADS) sort_tiles_kernel (From from, To to, SortShape shape)
{
  __shared__ K keys[SORT_TILE];
  __shared__ int places[SORT_TILE];
  const int me = threadIdx.x;
  K key[SORT_ITEMS];
  int place[SORT_ITEMS];

  for (int e = me; e < SORT_TILE; e += SORT_THREADS)
    {
      const SortSlot of (e, shape);

      keys[of.slot] = of.there ? from.key (of.row, of.at) : (K)~(K)0;
      places[of.slot] = of.at;
    }
  __syncthreads ();
  for (int i = 0; i < SORT_ITEMS; i++)
    {
      key[i] = keys[me * SORT_ITEMS + i];
      place[i] = places[me * SORT_ITEMS + i];
    }
  sort_items (key, place);
  /* Runs of `run` threads become runs of twice as many. */
  for (int run = 1; run < 1 << shape.level; run *= 2)
    {
      const int first = me & ~(2 * run - 1), start = first * SORT_ITEMS;

      keep_items (keys, places, key, place);
      __syncthreads ();
      merge_items (key, place, keys + start, places + start, run * SORT_ITEMS, run * SORT_ITEMS,
                   (me - first) * SORT_ITEMS);
      __syncthreads ();
    }
  keep_items (keys, places, key, place);
  __syncthreads ();
  for (int e = me; e < SORT_TILE; e += SORT_THREADS)
    {
      const SortSlot of (e, shape);

      if (of.there)
        to.put (of.row, of.at, keys[of.slot], places[of.slot]);
    }
}

/* The begin of a tile of a row, or the row's end. */
__device__ static inline int
tile_start (unsigned int tile, const SortShape &shape)
{
  const long long start = (long long)tile * SORT_TILE;

  return start < shape.n ? (int)start : shape.n;
}

/* Merges runs of `run` tiles of the rows from [rows,n] pairwise; one block for each tile of the result. */
template <typename K, typename To>
__global__ void
__launch_bounds__ (SORT_THREADS) sort_merge_kernel (SortPairs<K> from, To to, SortShape shape, unsigned int run)
{
  __shared__ K keys[SORT_TILE];
  __shared__ int places[SORT_TILE];
  __shared__ int of_a[2];
  const int me = threadIdx.x;
  const long long row = divide (blockIdx.x, shape.by_tiles);
  const unsigned int tile = (unsigned int)(blockIdx.x - row * shape.tiles), pair = tile & ~(2 * run - 1);
  const K *key_of = from.key_of + row * shape.n;
  const int *place_of = from.place_of + row * shape.n;
  /* Positions in the row: the result's tile, run a up to `middle`, run b up to `stop`. */
  const int begin = tile_start (tile, shape), end = tile_start (tile + 1, shape), count = end - begin;
  const int start = tile_start (pair, shape);
  const int middle = tile_start (pair + run, shape), stop = tile_start (pair + 2 * run, shape);
  K key[SORT_ITEMS];
  int place[SORT_ITEMS];

  if (me == 0 || me == 32)
    of_a[me / 32] = merge_path (key_of + start, middle - start, key_of + middle, stop - middle,
                                (me == 0 ? begin : end) - start);
  __syncthreads ();
  const int a = start + of_a[0], na = of_a[1] - of_a[0], b = middle + (begin - a);

  for (int e = me; e < SORT_TILE; e += SORT_THREADS)
    {
      const int at = e < na ? a + e : b + (e - na);

      keys[e] = e < count ? key_of[at] : (K)~(K)0;
      places[e] = e < count ? place_of[at] : 0;
    }
  __syncthreads ();
  merge_items (key, place, keys, places, na, SORT_TILE - na, me * SORT_ITEMS);
  __syncthreads ();
  keep_items (keys, places, key, place);
  __syncthreads ();
  for (int e = me; e < count; e += SORT_THREADS)
    to.put (row, begin + e, keys[e], places[e]);
}

/* ---- on the host ---------------------------------------------------------------- */

/* across: neighbouring rows are adjacent in memory. n: at most SORT_MOST. */
static inline SortShape
sort_shape_of (long long rows, long long n, bool across)
{
  SortShape s = {};

  s.rows = rows;
  s.n = (int)n;
  s.tiles = (int)((n + SORT_TILE - 1) / SORT_TILE);
  while (SORT_ITEMS << s.level < n && SORT_ITEMS << s.level < SORT_TILE)
    s.level++;
  s.across = across;
  s.by_tiles = divisor_of ((unsigned long long)s.tiles);
  s.by_group = divisor_of ((unsigned long long)SORT_ITEMS << s.level);
  return s;
}

/* Number of launches after the first. */
static inline int
sort_merges (const SortShape *shape)
{
  int merges = 0;

  while (1ll << merges < shape->tiles)
    merges++;
  return merges;
}

/* Bytes of one area of pairs, a multiple of 64. */
template <typename K>
static size_t
sort_area_bytes (const SortShape *shape)
{
  return ((size_t)shape->rows * (size_t)shape->n * (sizeof (K) + sizeof (int)) + 63) & ~(size_t)63;
}

template <typename K>
static SortPairs<K>
sort_area (const SortShape *shape, void *at)
{
  K *key_of = (K *)at;

  return { key_of, at != NULL ? (int *)(key_of + shape->rows * shape->n) : NULL, shape->n };
}

/* Areas hold the pairs between launches: a if there are two launches, b if there are more. The last launch may write to
 * b. */
template <typename K, typename From, typename To>
static void
sort_launch (cudaStream_t stream, const SortShape *shape, const From &from, const To &to, SortPairs<K> a,
             SortPairs<K> b)
{
  typedef SortPairs<K> Pairs;
  const int merges = sort_merges (shape);
  const Pairs area[2] = { a, b };
  const unsigned int blocks = shape->tiles > 1 ? (unsigned int)(shape->rows * shape->tiles)
                                               : blocks_for (shape->rows, SORT_THREADS >> shape->level);

  if (merges == 0)
    {
      sort_tiles_kernel<K, From, To><<<blocks, SORT_THREADS, 0, stream>>> (from, to, *shape);
      return;
    }
  sort_tiles_kernel<K, From, Pairs><<<blocks, SORT_THREADS, 0, stream>>> (from, area[(merges - 1) % 2], *shape);
  for (int m = 0; m < merges - 1; m++)
    sort_merge_kernel<K, Pairs><<<blocks, SORT_THREADS, 0, stream>>> (
        area[(merges - 1 - m) % 2], area[(merges - 2 - m) % 2], *shape, 1u << m);
  sort_merge_kernel<K, To><<<blocks, SORT_THREADS, 0, stream>>> (a, to, *shape, 1u << (merges - 1));
}

#endif
