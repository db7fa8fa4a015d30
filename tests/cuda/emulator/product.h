/* The matrix product that cuBLASLt's and cuDNN's stand-ins share. */
#ifndef EMULATOR_PRODUCT_H
#define EMULATOR_PRODUCT_H

#include <stdint.h>
#include <vector>

namespace emulated
{
/* y (m×n) = Σ_l a (l, i)·b (l, j), all column major: a is k runs of m values at i, b is read
 * through strides. Every element is summed in the order of l. */
template <typename A>
void
product (int64_t m, int64_t n, int64_t k, const std::vector<A> &a, const std::vector<A> &b, std::vector<A> &y)
{
  y.assign ((size_t)(m * n), 0);
  for (int64_t j = 0; j < n; j++)
    for (int64_t l = 0; l < k; l++)
      {
        const A *from = &a[(size_t)(l * m)], factor = b[(size_t)(l * n + j)];
        A *to = &y[(size_t)(j * m)];

        for (int64_t i = 0; i < m; i++)
          to[i] += from[i] * factor;
      }
}
}

#endif
