/* Dropout within attention: which shares of a block of queries and keys are dropped. Both passes draw the numbers, so
 * that nothing is kept between them. Included where QUERIES, KEYS and the panels of a block have been defined. */
#ifndef LOOM_CPU_ATTENTION_DROP_H
#define LOOM_CPU_ATTENTION_DROP_H

#include "kernels/cpu/cpu-philox.h"

#include <string.h>

/* Words of a block: queries' first and last ones lie within four, and the last call draws as many as it can. */
#define WORDS (QUERIES * (KEYS + 4) + CPU_PHILOX_NUMBERS)

typedef struct
{
  float left;    /* what shares that are left are times; 1: none is dropped */
  int32_t below; /* 24 bits of a number below this drop a share */
  uint64_t stream, seed, step;
  const int64_t *place; /* [N,H] */
} Dropout;

/* A random number for each query and key of a block. */
typedef struct
{
  uint32_t *word;      /* [WORDS]; NULL: nothing is dropped */
  int64_t at[QUERIES]; /* where that of a query's first key is */
} Drawn;

/* Draws for `rows` queries and n keys, of which row r sees the first seen + r if it is causal, else all. The number of
 * the first query's first key is `first`, that of the next query's `keys` after it. What stands in place of numbers
 * for keys that are not seen is any word: their shares are 0. */
static inline void
draw (const Dropout *dropout, int64_t first, int64_t keys, int64_t rows, int64_t n, bool causal, int64_t seen,
      Drawn *drawn)
{
  uint64_t block[WORDS / 4];
  int64_t count = 0;

  for (int64_t r = 0; r < rows; r++, first += keys)
    {
      const int64_t wanted = causal && seen + r < n ? seen + r : n, begin = first / 4;
      const int64_t blocks = wanted > 0 ? (first + wanted + 3) / 4 - begin : 0;

      drawn->at[r] = 4 * count + first % 4;
      for (int64_t i = 0; i < blocks; i++)
        block[count + i] = (uint64_t)(begin + i);
      count += blocks;
    }
  memset (block + count, 0, CPU_PHILOX_BLOCKS * sizeof *block);
  for (int64_t at = 0; at < count; at += CPU_PHILOX_BLOCKS)
    cpu_philox (dropout->seed, dropout->stream, dropout->step, block + at, drawn->word + 4 * at);
}

/* Puts 0 in place of what is dropped of x [PANELS][QUERIES][PANEL], of n keys, and enlarges the rest. The products are
 * rounded, as those of dropout that stands alone: within another loop the compiler would contract them with its sums.
 */
static inline void
drop (const Dropout *dropout, const Drawn *drawn, int64_t rows, int64_t n, float *x)
{
  const int32_t below = dropout->below;
  const float left = dropout->left;

  if (drawn->word == NULL)
    return;
  for (int64_t at = 0; at < n; at += PANEL, x += TILE)
    for (int64_t r = 0; r < rows; r++)
      {
        const uint32_t *word = drawn->word + drawn->at[r] + at;

        for (int l = 0; l < PANEL; l++)
          x[r * PANEL + l] *= (int32_t)(word[l] >> 8) < below ? 0 : left;
      }
}

#endif
