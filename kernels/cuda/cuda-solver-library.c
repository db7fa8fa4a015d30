/* Opens cuSOLVER and cuBLAS when linear algebra first needs them. */
#include <stdio.h>

#include "kernels/cuda/cuda-library.h"
#include "kernels/cuda/cuda-solver.h"

static const CudaFunction blas_functions[] = {
  { "cublasCreate_v2", offsetof (CudaSolver, blas_create) },
  { "cublasDestroy_v2", offsetof (CudaSolver, blas_destroy) },
  { "cublasSetStream_v2", offsetof (CudaSolver, blas_set_stream) },
  { "cublasStrsm_v2", offsetof (CudaSolver, trsm) },
};

static const CudaFunction solver_functions[] = {
  { "cusolverDnCreate", offsetof (CudaSolver, create) },
  { "cusolverDnDestroy", offsetof (CudaSolver, destroy) },
  { "cusolverDnSetStream", offsetof (CudaSolver, set_stream) },
  { "cusolverDnSpotrf_bufferSize", offsetof (CudaSolver, potrf_size) },
  { "cusolverDnSpotrf", offsetof (CudaSolver, potrf) },
  { "cusolverDnSgetrf_bufferSize", offsetof (CudaSolver, getrf_size) },
  { "cusolverDnSgetrf", offsetof (CudaSolver, getrf) },
  { "cusolverDnSgetrs", offsetof (CudaSolver, getrs) },
};

static CudaSolver found;
static bool is_there;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
open_libraries (void)
{
  char blas[32], solver[32];

  /* The versions whose headers this was compiled with. */
  snprintf (blas, sizeof blas, "libcublas.so.%d", CUBLAS_VER_MAJOR);
  snprintf (solver, sizeof solver, "libcusolver.so.%d", CUSOLVER_VER_MAJOR);
  is_there = cuda_library_open (blas, CUDA_FUNCTIONS (blas_functions), &found) == NULL
             && cuda_library_open (solver, CUDA_FUNCTIONS (solver_functions), &found) == NULL;
}

const CudaSolver *
cuda_solver (void)
{
  pthread_once (&once, open_libraries);
  return is_there ? &found : NULL;
}
