/* Blocks of Philox side by side, each step for all of them: what the compiler makes vectors of. */
#ifndef LOOM_CPU_PHILOX_H
#define LOOM_CPU_PHILOX_H

#include "kernels/philox.h"

#define CPU_PHILOX_LANES 16

/* word[i][l]: word i of block first + l. */
static inline void
cpu_philox (uint64_t seed, uint64_t stream, uint64_t step, uint64_t first, uint32_t word[4][CPU_PHILOX_LANES])
{
  for (int l = 0; l < CPU_PHILOX_LANES; l++)
    {
      uint32_t of[4];

      loom_philox (seed, stream, step, first + (uint64_t)l, of);
      for (int i = 0; i < 4; i++)
        word[i][l] = of[i];
    }
}

#endif
