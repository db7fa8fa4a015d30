/* Dropout of attention weights, by blocks of queries and keys. The forward and the backward pass draw the same numbers,
 * so no mask is kept between them. Included after QUERIES, KEYS and the panels of a block are defined. */
#ifndef LOOM_CPU_ATTENTION_DROP_H
#define LOOM_CPU_ATTENTION_DROP_H

#include "kernels/cpu/cpu-philox.h"

#include <string.h>

/* Words of a block: a query's first and last words may be part of a group of four, and the last call draws a full
 * vector. */
#define WORDS (QUERIES * (KEYS + 4) + CPU_PHILOX_NUMBERS)

typedef struct
{
  float left;    /* the factor of kept weights; 1: no dropout */
  int32_t below; /* a number whose upper 24 bits are below this drops a weight */
  uint64_t stream, seed, step;
  const int64_t *head_index; /* [N,H] */
} Dropout;

/* A random number for each query and key of a block. */
typedef struct
{
  uint32_t *word;      /* [WORDS]; NULL: nothing is dropped */
  int64_t at[QUERIES]; /* by query: the index of the word of its first key */
} Drawn;

/* Draws for `rows` queries and n keys. If it is causal, row r attends to the first seen + r keys, else to all. The
 * number of the first query's first key is `first`, that of the next query's is `keys` larger. Words of masked keys are
 * arbitrary, because their weights are 0. */
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

/* Sets the dropped elements of x [PANELS][QUERIES][PANEL], of n keys, to 0, and scales the others. The products are
 * rounded as in the separate dropout kernel; in another loop the compiler would contract them with its sums. */
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
