/* Several blocks of Philox at once, in the widest vectors of the instruction set. */
#ifndef LOOM_CPU_PHILOX_H
#define LOOM_CPU_PHILOX_H

#include "kernels/philox.h"

#ifdef __AVX2__

#include <immintrin.h>

#ifdef __AVX512F__
#define CPU_PHILOX_WIDE 8
#else
#define CPU_PHILOX_WIDE 4
#endif
#define CPU_PHILOX_VECTORS 2 /* computed at once, since a product takes several cycles */
#define CPU_PHILOX_BLOCKS  (CPU_PHILOX_VECTORS * CPU_PHILOX_WIDE)

/* A word of each block in the lower half of its element; the upper half is ignored. */
typedef uint64_t CpuPhiloxWords __attribute__ ((vector_size (8 * CPU_PHILOX_WIDE)));

/* The 64-bit products of the lower halves: one instruction, which compilers do not find, since a product of 64-bit
 * elements needs three. */
static inline __attribute__ ((always_inline)) CpuPhiloxWords
cpu_philox_times (CpuPhiloxWords a, CpuPhiloxWords b)
{
#ifdef __AVX512F__
  return (CpuPhiloxWords)_mm512_mul_epu32 ((__m512i)a, (__m512i)b);
#else
  return (CpuPhiloxWords)_mm256_mul_epu32 ((__m256i)a, (__m256i)b);
#endif
}

/* loom_philox() of each block [CPU_PHILOX_BLOCKS]: word [CPU_PHILOX_BLOCKS][4]. */
static inline __attribute__ ((always_inline)) void
cpu_philox (uint64_t seed, uint64_t stream, uint64_t step, const uint64_t *block, uint32_t *word)
{
  const CpuPhiloxWords zero = { 0 }, m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
  CpuPhiloxWords c0[CPU_PHILOX_VECTORS], c1[CPU_PHILOX_VECTORS], c2[CPU_PHILOX_VECTORS], c3[CPU_PHILOX_VECTORS];
  CpuPhiloxWords k0 = zero + (seed ^ stream >> 32), k1 = zero + (seed >> 32 ^ stream);

  for (int v = 0; v < CPU_PHILOX_VECTORS; v++)
    {
      __builtin_memcpy (&c0[v], block + v * CPU_PHILOX_WIDE, sizeof c0[v]);
      c1[v] = c0[v] >> 32;
      c2[v] = zero + step;
      c3[v] = zero + (step >> 32 ^ stream);
    }
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (int v = 0; v < CPU_PHILOX_VECTORS; v++)
      {
        const CpuPhiloxWords p0 = cpu_philox_times (c0[v], m0), p1 = cpu_philox_times (c2[v], m1);

        c0[v] = p1 >> 32 ^ c1[v] ^ k0;
        c2[v] = p0 >> 32 ^ c3[v] ^ k1;
        c1[v] = p1;
        c3[v] = p0;
      }
  for (int v = 0; v < CPU_PHILOX_VECTORS; v++)
    {
      const CpuPhiloxWords first = (c0[v] & 0xFFFFFFFFu) | c1[v] << 32, second = (c2[v] & 0xFFFFFFFFu) | c3[v] << 32;
      uint64_t pairs[2 * CPU_PHILOX_WIDE];

      for (int l = 0; l < CPU_PHILOX_WIDE; l++)
        {
          pairs[2 * l] = first[l];
          pairs[2 * l + 1] = second[l];
        }
      __builtin_memcpy (word + v * 4 * CPU_PHILOX_WIDE, pairs, sizeof pairs);
    }
}

#else

#define CPU_PHILOX_BLOCKS 16

/* As above; the compiler makes vectors of it. */
static inline void
cpu_philox (uint64_t seed, uint64_t stream, uint64_t step, const uint64_t *block, uint32_t *word)
{
  for (int l = 0; l < CPU_PHILOX_BLOCKS; l++)
    loom_philox (seed, stream, step, block[l], word + 4 * l);
}

#endif

#define CPU_PHILOX_NUMBERS (4 * CPU_PHILOX_BLOCKS)

#endif
