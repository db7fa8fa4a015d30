/* Division by a number known when a kernel is made, as a multiplication (Granlund and Montgomery, "Division by
 * Invariant Integers using Multiplication", 1994): a 32-bit division takes a GPU some twenty instructions, a 64-bit one
 * about a hundred. */
#ifndef LOOM_CUDA_DIVIDE_CUH
#define LOOM_CUDA_DIVIDE_CUH

typedef struct
{
  unsigned int by, magic, shift;
} Divisor;

/* by: below 2³¹; 0 counts as 1, since nothing is divided then. */
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

/* The same for 64-bit numbers; the upper half of the product takes a GPU about ten instructions. */
typedef struct
{
  unsigned long long by, magic;
  unsigned int shift;
} LongDivisor;

/* by: below 2⁶³; 0 counts as 1. */
static inline LongDivisor
long_divisor_of (unsigned long long by)
{
  LongDivisor d = { by > 0 ? by : 1, 0, 0 };

  while (d.shift < 63 && (1ull << d.shift) < d.by)
    d.shift++;
  d.magic = (unsigned long long)(((unsigned __int128)((1ull << d.shift) - d.by) << 64) / d.by + 1);
  return d;
}

/* n / d.by, rounded down, for n below 2⁶³. */
__device__ static inline unsigned long long
divide (unsigned long long n, const LongDivisor &d)
{
  return ((unsigned long long)(((unsigned __int128)n * d.magic) >> 64) + n) >> d.shift;
}

/* Splits off the last index of a position: returns *place % d.by and leaves *place / d.by. */
__device__ static inline long long
take_index (long long *place, const LongDivisor &d)
{
  const long long above = (long long)divide ((unsigned long long)*place, d), index = *place - above * (long long)d.by;

  *place = above;
  return index;
}

#endif
