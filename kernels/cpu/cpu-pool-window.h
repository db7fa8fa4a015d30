/* The maximum of a window of 2x2 in registers, for convolutions with a pooling (kernels/conv-pooled.h). */
#pragma once

#ifdef __AVX512F__

#include <immintrin.h>
#include <stdint.h>

/* tap: four pixels of 16 channels, row by row. Writes their maximum, or relu of it, to y, and which of them it is to
 * indices: of equal values the first, and NaN wins over all. */
static inline __attribute__ ((always_inline)) void
cpu_pool_window (const __m512 tap[4], _Bool relu, float *y, uint8_t *indices)
{
  const __mmask16 nan
      = _mm512_cmp_ps_mask (tap[0], tap[1], _CMP_UNORD_Q) | _mm512_cmp_ps_mask (tap[2], tap[3], _CMP_UNORD_Q);
  __m512 best = tap[0];
  __m512i winner = _mm512_setzero_si512 ();

  for (int t = 1; t < 4; t++)
    {
      __mmask16 wins = _mm512_cmp_ps_mask (tap[t], best, _CMP_GT_OQ);

      if (__builtin_expect (nan != 0, 0))
        wins |= _mm512_cmp_ps_mask (tap[t], tap[t], _CMP_UNORD_Q);
      best = _mm512_mask_mov_ps (best, wins, tap[t]);
      winner = _mm512_mask_mov_epi32 (winner, wins, _mm512_set1_epi32 (t));
    }
  if (relu)
    best = _mm512_maskz_mov_ps (_mm512_cmp_ps_mask (best, _mm512_setzero_ps (), _CMP_NLE_UQ), best);
  _mm512_storeu_ps (y, best);
  _mm_storeu_si128 ((__m128i *)indices, _mm512_cvtepi32_epi8 (winner));
}

#endif
