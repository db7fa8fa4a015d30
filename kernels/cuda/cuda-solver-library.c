/* cuSOLVER and cuBLAS, opened when linear algebra first wants them. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda-solver.h"

typedef struct
{
  const char *name;
  size_t at;
} Function;

static const Function blas_functions[] = {
  { "cublasCreate_v2", offsetof (CudaSolver, blas_create) },
  { "cublasDestroy_v2", offsetof (CudaSolver, blas_destroy) },
  { "cublasSetStream_v2", offsetof (CudaSolver, blas_set_stream) },
  { "cublasStrsm_v2", offsetof (CudaSolver, trsm) },
};

static const Function solver_functions[] = {
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

/* Of the version whose header this was compiled with. */
static bool
open_library (const char *name, int version, const Function *functions, size_t n)
{
  char file[64];
  void *library;

  snprintf (file, sizeof file, "lib%s.so.%d", name, version);
  library = dlopen (file, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library != NULL && i < n; i++)
    {
      void *function = dlsym (library, functions[i].name);

      if (function == NULL)
        return false;
      memcpy ((char *)&found + functions[i].at, &function, sizeof function);
    }
  return library != NULL;
}

static void
open_libraries (void)
{
  is_there = open_library ("cublas", CUBLAS_VER_MAJOR, blas_functions, sizeof blas_functions / sizeof *blas_functions)
             && open_library ("cusolver", CUSOLVER_VER_MAJOR, solver_functions,
                              sizeof solver_functions / sizeof *solver_functions);
}

const CudaSolver *
cuda_solver (void)
{
  pthread_once (&once, open_libraries);
  return is_there ? &found : NULL;
}
