/* Products of small matrices by the 32 lanes of a warp on tensor cores, and loads of their operands: PTX's
 * mma.m16n8k16, ldmatrix and cp.async (NVIDIA, "Parallel Thread Execution ISA", sections on fragments of m16n8k16).
 *
 * Operands are 16-bit floats, two in a word, the one of the lower index in the lower half; sums are f32. Lane l has r =
 * l / 4 and c = 2·(l mod 4), and of
 *   a [16×16]  the words a[r][c…], a[r+8][c…], a[r][c+8…], a[r+8][c+8…],
 *   b [16×8]   the words of b[c…][r] and b[c+8…][r],
 *   sums [16×8] the elements [r][c], [r][c+1], [r+8][c], [r+8][c+1].
 * Code that is not compiled for a GPU of capability 8.0 or later does the same by shuffles and plain loads. The
 * emulated GPU runs the loads, and has products of its own, which its tests compare with the shuffles bit by bit. */
#ifndef LOOM_CUDA_MMA_CUH
#define LOOM_CUDA_MMA_CUH

#include "kernels/cuda/cuda-kernels.cuh"

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
#define LOOM_TENSOR_CORES
#endif

/* Loops over registers must be unrolled, since registers have no addresses. */
#ifdef __CUDACC__
#define LOOM_PRAGMA(text) _Pragma (#text)
#define UNROLL            LOOM_PRAGMA (unroll)
#define UNROLL_BY(times)  LOOM_PRAGMA (unroll times)
#else
#define UNROLL
#define UNROLL_BY(times)
#endif

/* ---- words of two 16-bit floats ------------------------------------------------- */

__device__ static inline unsigned
pack (Bf16, float low, float high)
{
#ifdef LOOM_TENSOR_CORES
  unsigned word;

  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return loom_bf16_from_float (low) | (unsigned)loom_bf16_from_float (high) << 16;
#endif
}

__device__ static inline unsigned
pack (F16, float low, float high)
{
#ifdef LOOM_TENSOR_CORES
  unsigned word;

  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return loom_f16_from_float (low) | (unsigned)loom_f16_from_float (high) << 16;
#endif
}

/* ---- products ----------------------------------------------------------------- */

#ifdef LOOM_TENSOR_CORES
#define LOOM_MMA(type)                                                                                                 \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "            \
      "{%0,%1,%2,%3};"                                                                                                 \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                                     \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/* sums [16×8] += a [16×16]·b [16×8], in the fragments described above. */
__device__ static inline void
multiply (Bf16, float sums[4], const unsigned a[4], const unsigned b[2])
{
  LOOM_MMA ("bf16");
}

__device__ static inline void
multiply (F16, float sums[4], const unsigned a[4], const unsigned b[2])
{
  LOOM_MMA ("f16");
}

#undef LOOM_MMA
#else
template <typename T>
__device__ static inline float
half_of (unsigned word, int which)
{
  const T x = { (unsigned short)(word >> 16 * which) };

  return load (x);
}

template <typename T>
__device__ static inline void
multiply_by_shuffles (float sums[4], const unsigned a[4], const unsigned b[2])
{
  const int lane = threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 2 * 4; /* the first lanes of each */
  const unsigned long long first = a[0] | (unsigned long long)a[1] << 32,
                           second = a[2] | (unsigned long long)a[3] << 32;
  const unsigned long long other = b[0] | (unsigned long long)b[1] << 32;

  for (int i = 0; i < 4; i++)
    {
      const unsigned long long side[2]
          = { __shfl_sync (0xffffffffu, first, row + i), __shfl_sync (0xffffffffu, second, row + i) };
      const unsigned long long columns[2]
          = { __shfl_sync (0xffffffffu, other, column + i), __shfl_sync (0xffffffffu, other, column + 4 + i) };

      for (int half = 0; half < 2; half++)
        for (int k = 0; k < 2; k++)
          for (int at = 0; at < 4; at++)
            sums[at] += half_of<T> ((unsigned)(side[half] >> 32 * (at / 2)), k)
                        * half_of<T> ((unsigned)(columns[at % 2] >> 32 * half), k);
    }
}

template <typename T>
__device__ static inline void
multiply (T, float sums[4], const unsigned a[4], const unsigned b[2])
{
#ifdef EMULATED_TENSOR_CORES
  float left[8], right[4];

  for (int i = 0; i < 8; i++)
    left[i] = half_of<T> (a[i / 2], i % 2);
  for (int i = 0; i < 4; i++)
    right[i] = half_of<T> (b[i / 2], i % 2);
  EMULATED_TENSOR_CORES (sums, left, right);
#else
  multiply_by_shuffles<T> (sums, a, b);
#endif
}
#endif

/* sums[i] += a·b for two neighbours: b[0…1] and b[2…3], as loaded by load_b_transposed() and load_b(). */
template <typename T>
__device__ static inline void
multiply_two (float sums[2][4], const unsigned a[4], const unsigned b[4])
{
  multiply (T (), sums[0], a, b);
  multiply (T (), sums[1], a, b + 2);
}

/* ---- operands from shared memory -------------------------------------------------- */

/* Loads four 8×8 matrices whose rows begin at each lane's `at`: eight lanes for each matrix. Rows must begin at
 * multiples of 16 bytes. */
#ifdef LOOM_TENSOR_CORES
#define LOOM_LDMATRIX(how)                                                                                             \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0,%1,%2,%3}, [%4];"                                  \
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])                                        \
               : "r"((unsigned)__cvta_generic_to_shared (at)))
#else
__device__ static inline unsigned
word_at (const unsigned short *at, int apart)
{
  return at[0] | (unsigned)at[apart] << 16;
}
#endif

/* a [16×16]: rows from `at` on, `stride` elements apart. */
__device__ static inline void
load_a (unsigned words[4], const unsigned short *at, int stride)
{
  const int lane = threadIdx.x % 32;

#ifdef LOOM_TENSOR_CORES
  at += lane % 16 * stride + lane / 16 * 8;
  LOOM_LDMATRIX ("");
#else
  at += lane / 4 * stride + lane % 4 * 2;
  for (int i = 0; i < 4; i++)
    words[i] = word_at (at + i % 2 * 8 * stride + i / 2 * 8, 1);
#endif
}

/* b [16×8] of two products, transposed: b[k][n] = at[n·stride + k], n < 16. */
__device__ static inline void
load_b_transposed (unsigned words[4], const unsigned short *at, int stride)
{
  const int lane = threadIdx.x % 32;

#ifdef LOOM_TENSOR_CORES
  at += (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8;
  LOOM_LDMATRIX ("");
#else
  at += lane / 4 * stride + lane % 4 * 2;
  for (int i = 0; i < 4; i++)
    words[i] = word_at (at + i / 2 * 8 * stride + i % 2 * 8, 1);
#endif
}

/* b [16×8] of two products: b[k][n] = at[k·stride + n], n < 16. */
__device__ static inline void
load_b (unsigned words[4], const unsigned short *at, int stride)
{
  const int lane = threadIdx.x % 32;

#ifdef LOOM_TENSOR_CORES
  at += lane % 16 * stride + lane / 16 * 8;
  LOOM_LDMATRIX (".trans");
#else
  at += lane % 4 * 2 * stride + lane / 4;
  for (int i = 0; i < 4; i++)
    words[i] = word_at (at + i % 2 * 8 * stride + i / 2 * 8, stride);
#endif
}

#undef LOOM_LDMATRIX

/* ---- asynchronous copies into shared memory ------------------------------------------- */

/* Copies 16 bytes, or zeros if not `there`; from must be a readable address in any case. */
__device__ static inline void
copy_16 (void *to, const void *from, bool there)
{
#ifdef LOOM_TENSOR_CORES
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"((unsigned)__cvta_generic_to_shared (to)), "l"(__cvta_generic_to_global (from)), "r"(there ? 16 : 0)
               : "memory");
#else
  *(uint4 *)to = there ? *(const uint4 *)from : uint4{ 0, 0, 0, 0 };
#endif
}

/* 4 bytes in the same way. */
__device__ static inline void
copy_4 (void *to, const void *from, bool there)
{
#ifdef LOOM_TENSOR_CORES
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :
               : "r"((unsigned)__cvta_generic_to_shared (to)), "l"(__cvta_generic_to_global (from)), "r"(there ? 4 : 0)
               : "memory");
#else
  *(unsigned *)to = there ? *(const unsigned *)from : 0u;
#endif
}

/* Ends a group of copies. */
__device__ static inline void
copies_end (void)
{
#ifdef LOOM_TENSOR_CORES
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}

/* Waits for this thread's copies, except the newest AHEAD groups. */
template <int AHEAD>
__device__ static inline void
copies_wait (void)
{
#ifdef LOOM_TENSOR_CORES
  asm volatile("cp.async.wait_group %0;" : : "n"(AHEAD) : "memory");
#endif
}

#endif
