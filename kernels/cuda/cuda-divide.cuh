/* Division by a number that is known when a kernel is made, by a multiplication (Granlund and Montgomery, "Division by
 * Invariant Integers using Multiplication", 1994): a 32-bit division takes a GPU some twenty instructions, a 64-bit one
 * about a hundred. */
#ifndef LOOM_CUDA_DIVIDE_CUH
#define LOOM_CUDA_DIVIDE_CUH

typedef struct
{
  unsigned int by, magic, shift;
} Divisor;

/* by: below 2³¹; 0 is taken for 1, which divides nothing. */
static inline Divisor
divisor_of (unsigned long long by)
{
  Divisor d = { by > 0 ? (unsigned int)by : 1, 0, 0 };

  while (d.shift < 32 && (1ull << d.shift) < d.by)
    d.shift++;
  d.magic = (unsigned int)(((1ull << 32) * ((1ull << d.shift) - d.by)) / d.by + 1);
  return d;
}

/* n / d.by, rounded down, for n below 2³¹. */
__device__ static inline unsigned int
divide (unsigned int n, Divisor d)
{
  return ((unsigned int)(((unsigned long long)n * d.magic) >> 32) + n) >> d.shift;
}

#endif
