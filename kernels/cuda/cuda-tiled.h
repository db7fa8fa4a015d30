/* Products as a first lecture on GPUs writes them (cuda-tiled.cu). */
#ifndef LOOM_CUDA_TILED_H
#define LOOM_CUDA_TILED_H

#include "kernels/cuda/cuda-internal.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define CUDA_NAIVE "own-naive" /* a thread an element, its operands from memory */
#define CUDA_TILED "own-tiled" /* tiles of both operands in shared memory */

  bool cuda_is_lesson (const char *algorithm);
  /* Of plain f32 matrices without bias and activation; spec->algorithm says which. */
  LoomStatus cuda_lesson_matmul_new (LoomDevice *, const LoomKernelSpec *, LoomKernel **, LoomMessage *);

#ifdef __cplusplus
}
#endif

#endif
