/* Rows of a matrix, each processed by a warp or a block, 16 bytes at a time.
 *
 * A row may begin anywhere and have any length. It is cut at multiples of V elements, counted from the matrix's first
 * element, into a head, packs and a rest. A matrix begins at a multiple of 64 bytes (kernels/backend.h), so a pack is
 * one access, and the cut, like the order of sums, follows from the shape alone. */
#ifndef LOOM_CUDA_ROWS_CUH
#define LOOM_CUDA_ROWS_CUH

#include <math.h>
#include <type_traits>

#include "kernels/cuda/cuda-kernels.cuh"

#define WARP_LIMIT 1024 /* elements of a row that a warp processes; a longer row is processed by a block */

/* The row of this thread's group of THREADS threads, 32 or a whole block. Only whole groups may leave early, so that
 * joins have all their threads. */
template <int THREADS>
__device__ static inline long long
row_of (void)
{
  return (long long)blockIdx.x * (CUDA_THREADS / THREADS) + threadIdx.x / THREADS;
}

template <int THREADS>
__device__ static inline int
first_of (void)
{
  return threadIdx.x % THREADS;
}

/* Calls f (N, i) for the N elements from index i of a row on, N being V or 1 as a type; `begin` is the row's offset in
 * its matrix, n its number of elements. They are `apart` elements from one another if V is 1, else adjacent. A thread
 * gets the same elements in the same order each time. */
template <int THREADS, int V, typename F>
__device__ static inline void
walk_row (long long begin, long long n, long long apart, F f)
{
  if (V == 1)
    {
      for (long long i = first_of<THREADS> (); i < n; i += THREADS)
        f (std::integral_constant<int, 1> (), i * apart);
      return;
    }
  const long long ahead = -begin & (V - 1), head = ahead < n ? ahead : n, end = head + (n - head) / V * V;

  for (long long i = first_of<THREADS> (); i < head; i += THREADS)
    f (std::integral_constant<int, 1> (), i);
  for (long long i = head + V * first_of<THREADS> (); i < end; i += V * THREADS)
    f (std::integral_constant<int, V> (), i);
  for (long long i = end + first_of<THREADS> (); i < n; i += THREADS)
    f (std::integral_constant<int, 1> (), i);
}

/* The maximum of some elements, and Σ exp of their differences to it (Milakov and Gimelshein, "Online normalizer
 * calculation for softmax", 2018): a row is read once for both. */
struct MaxSum
{
  float most, sum;

  template <int N>
  __device__ inline void
  take (const float x[N])
  {
    float top = most;

    for (int i = 0; i < N; i++)
      top = Largest::join (top, x[i]);
    /* -∞ - -∞ would be NaN. */
    const float base = top == -INFINITY ? 0.0f : top;
    sum *= expf (most - base);
    for (int i = 0; i < N; i++)
      sum += expf (x[i] - base);
    most = top;
  }
};

/* Joins the shares of THREADS threads. */
template <int THREADS>
__device__ static inline MaxSum
join_max_sums (MaxSum mine)
{
  const float most = block_join<Largest, THREADS> (mine.most), base = most == -INFINITY ? 0.0f : most;

  return { most, block_join<Sum, THREADS> (mine.sum * expf (mine.most - base)) };
}

/* The maximum and sum of the n elements of row x, as iterated by walk_row(). */
template <int THREADS, int V, typename T>
__device__ static inline MaxSum
max_sum_of_row (const T *x, long long begin, long long n, long long apart)
{
  MaxSum share = { -INFINITY, 0 };

  walk_row<THREADS, V> (begin, n, apart, [&] (auto many, long long i) {
    constexpr int N = decltype (many)::value;
    float part[N];

    load_pack<N> (part, x + i);
    share.take<N> (part);
  });
  return join_max_sums<THREADS> (share);
}

#endif
