/* Sums, maxima and exponentials along a row of floats, in a fixed order.
 *
 * LANES partial results are interleaved, as in vector units, but explicitly, so that the source and not the compiler
 * determines the order of the additions. Blocks of them are added in double. */
#ifndef LOOM_CPU_SUM_H
#define LOOM_CPU_SUM_H

#include <stdint.h>

#define LANES     32
#define SUM_BLOCK 1024

/* Σ x[i], or Σ f(i) for any expression over i. */
#define CPU_SUM(result, n, expression)                                                                                 \
  do                                                                                                                   \
    {                                                                                                                  \
      double total_ = 0;                                                                                               \
      int64_t n_ = (n), i_ = 0;                                                                                        \
      while (n_ - i_ >= LANES)                                                                                         \
        {                                                                                                              \
          int64_t end_ = n_ - i_ < SUM_BLOCK ? n_ - (n_ - i_) % LANES : i_ + SUM_BLOCK;                                \
          float lane_[LANES] = { 0 };                                                                                  \
          for (; i_ < end_; i_ += LANES)                                                                               \
            for (int l_ = 0; l_ < LANES; l_++)                                                                         \
              {                                                                                                        \
                int64_t i = i_ + l_;                                                                                   \
                lane_[l_] += (expression);                                                                             \
              }                                                                                                        \
          for (int l_ = 0; l_ < LANES; l_++)                                                                           \
            total_ += (double)lane_[l_];                                                                               \
        }                                                                                                              \
      for (; i_ < n_; i_++)                                                                                            \
        {                                                                                                              \
          int64_t i = i_;                                                                                              \
          total_ += (double)(expression);                                                                              \
        }                                                                                                              \
      (result) = total_;                                                                                               \
    }                                                                                                                  \
  while (0)

/* The largest (smallest) of n ≥ 1 floats x [n]; NaN wins. MORE: > or <. */
#define ROW_EXTREME(name, MORE)                                                                                        \
  static inline float name (const float *x, int64_t n)                                                                 \
  {                                                                                                                    \
    float best = x[0];                                                                                                 \
    int64_t i = 0;                                                                                                     \
                                                                                                                       \
    if (n >= LANES)                                                                                                    \
      {                                                                                                                \
        float lane[LANES];                                                                                             \
                                                                                                                       \
        for (int l = 0; l < LANES; l++)                                                                                \
          lane[l] = x[l];                                                                                              \
        for (i = LANES; i + LANES <= n; i += LANES)                                                                    \
          for (int l = 0; l < LANES; l++)                                                                              \
            {                                                                                                          \
              float v = x[i + l];                                                                                      \
                                                                                                                       \
              lane[l] = ((v MORE lane[l]) | (v != v)) ? v : lane[l];                                                   \
            }                                                                                                          \
        for (int l = 0; l < LANES; l++)                                                                                \
          best = lane[l] MORE best || lane[l] != lane[l] ? lane[l] : best;                                             \
      }                                                                                                                \
    for (; i < n; i++)                                                                                                 \
      best = x[i] MORE best || x[i] != x[i] ? x[i] : best;                                                             \
    return best;                                                                                                       \
  }

/* clang-format off */
ROW_EXTREME (cpu_row_max, >)
ROW_EXTREME (cpu_row_min, <)
/* clang-format on */

#endif
