/* Matrix products as in an introduction to GPU programming (cuda-tiled.cu). */
#ifndef LOOM_CUDA_TILED_H
#define LOOM_CUDA_TILED_H

#include "kernels/cuda/cuda-internal.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define CUDA_NAIVE "own-naive" /* one thread for each element, operands from memory */
#define CUDA_TILED "own-tiled" /* tiles of both operands in shared memory */

  bool cuda_is_lesson (const char *algorithm);
  /* For plain f32 matrices without bias and activation; spec->algorithm selects the kernel. */
  LoomStatus cuda_lesson_matmul_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);

#ifdef __cplusplus
}
#endif

#endif
