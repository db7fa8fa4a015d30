/* Philox 4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
 *
 * A random number is a pure function of (seed, stream, step, element), so
 * dropout does not depend on device, threads or ranks, and a resumed run draws
 * what the uninterrupted one would have drawn. Usable from C and CUDA C. */
#ifndef LOOM_PHILOX_H
#define LOOM_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define LOOM_PHILOX_FN static __host__ __device__ inline
#else
#define LOOM_PHILOX_FN static inline
#endif

/* Four 32-bit words for counter block `block` of (key, stream, step). The counter is (block low, block high, step low,
 * step high ⊕ stream low), the key is (seed ⊕ stream high, seed high ⊕ stream low). */
LOOM_PHILOX_FN void
loom_philox (uint64_t seed, uint64_t stream, uint64_t step, uint64_t block, uint32_t out[4])
{
  uint32_t c0 = (uint32_t) block, c1 = (uint32_t) (block >> 32);
  uint32_t c2 = (uint32_t) step, c3 = (uint32_t) (step >> 32) ^ (uint32_t) stream;
  uint32_t k0 = (uint32_t) seed ^ (uint32_t) (stream >> 32);
  uint32_t k1 = (uint32_t) (seed >> 32) ^ (uint32_t) stream;

  for (int round = 0; round < 10; round++)
    {
      uint64_t p0 = (uint64_t) 0xD2511F53u * c0;
      uint64_t p1 = (uint64_t) 0xCD9E8D57u * c2;
      uint32_t n0 = (uint32_t) (p1 >> 32) ^ c1 ^ k0;
      uint32_t n2 = (uint32_t) (p0 >> 32) ^ c3 ^ k1;

      c1 = (uint32_t) p1;
      c3 = (uint32_t) p0;
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/* Element i of a uniform tensor is word i % 4 of block i / 4. Element i of a normal
 * tensor comes from the same words by Box and Muller: of words (u, v) = (0, 1) or
 * (2, 3), sqrt(-2 ln(1 - u)) times cos(2πv) for even i and sin(2πv) for odd i; kernels/draw.h computes it in f32. */

/* Element i of a tensor of integers: the words 2·(i % 2) and 2·(i % 2) + 1 of block i / 2, as 63 bits. Remainders by
 * the small n in use are then even enough: n / 2⁶³ of them come once too often. */
LOOM_PHILOX_FN int64_t
loom_philox_int (uint32_t low, uint32_t high)
{
  return (int64_t)(((uint64_t)high << 32 | low) >> 1);
}

/* A uniform number between 0 and 1, never either; the negative of its logarithm is an exponential random number. */
LOOM_PHILOX_FN double
loom_philox_open (uint32_t word)
{
  return ((double)word + 0.5) * (1.0 / 4294967296.0);
}

/* The bound of the 24 bits of uniform numbers below p. p is a float if the numbers are compared as floats. */
LOOM_PHILOX_FN uint32_t
loom_philox_below (double p)
{
  double bits = p * 16777216.0;
  uint32_t whole = bits > 0 ? (uint32_t)bits : 0;

  return whole < bits ? whole + 1 : whole;
}

/* 24 random bits as a float in [0, 1): exact in f32, hence equal everywhere. */
LOOM_PHILOX_FN float
loom_philox_uniform (uint32_t word)
{
  return (float) (word >> 8) * (1.0f / 16777216.0f);
}

#endif
