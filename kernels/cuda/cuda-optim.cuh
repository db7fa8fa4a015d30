/* The formulas of kernels/optim.h for kernels over chunks (cuda-multi.cuh). */
#ifndef LOOM_CUDA_OPTIM_CUH
#define LOOM_CUDA_OPTIM_CUH

#include <math.h>

#include "kernels/cuda/cuda-multi.cuh"

#define LOOM_OPTIM_FN __device__ static inline __attribute__ ((unused))
#include "kernels/optim.h"

#define T        float
#define FN(name) name##_f
#define sqrt_f   sqrtf
#include "kernels/optim-formulas.h"
#undef T
#undef FN

#endif
