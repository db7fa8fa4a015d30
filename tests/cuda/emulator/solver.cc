/* cuSOLVER's dense factorisations and cuBLAS's triangular solution, as kernels/cuda calls them.
 *
 * Matrices are column major; pivots count from 1; `info` is the first column without a pivot, from 1 on, and later
 * columns are computed all the same, as in LAPACK. cuSOLVER waits for the GPU within its calls, so they break a
 * capture. Sums run in f32, in order. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <utility>

#include "kernels/cuda/cuda-solver.h"
#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"

#define WORK 64 /* elements for each column, all unused */

struct cusolverDnContext
{
  cudaStream_t stream;
};

struct cublasContext
{
  cudaStream_t stream;
};

namespace emulated
{
namespace
{
/* Checks that `elements` floats are in one piece of the GPU's memory. */
void
check_memory (const char *name, const void *at, size_t elements)
{
  if (!device_sees (at, elements * sizeof (float)))
    found ("%s was given %p, where there are not %zu elements of the GPU's memory", name, at, elements);
}

void
spoil (float *work, int size)
{
  memset (work, 0xff, (size_t)size * sizeof *work);
}

/* The upper factor of the upper triangle: a = uᵀ u. */
int
potrf_loops (int n, float *a, int64_t ld)
{
  for (int j = 0; j < n; j++)
    {
      for (int i = 0; i <= j; i++)
        {
          float sum = a[i + j * ld];

          for (int k = 0; k < i; k++)
            sum -= a[k + i * ld] * a[k + j * ld];
          if (i == j && !(sum > 0))
            return j + 1;
          a[i + j * ld] = i == j ? sqrtf (sum) : sum / a[i + i * ld];
        }
    }
  return 0;
}

int
getrf_loops (int n, float *a, int64_t ld, int *pivots)
{
  int info = 0;

  for (int k = 0; k < n; k++)
    {
      int best = k;

      for (int i = k + 1; i < n; i++)
        if (fabsf (a[i + k * ld]) > fabsf (a[best + k * ld]))
          best = i;
      pivots[k] = best + 1;
      if (a[best + k * ld] == 0)
        {
          info = info == 0 ? k + 1 : info;
          continue;
        }
      for (int j = 0; best != k && j < n; j++)
        std::swap (a[k + j * ld], a[best + j * ld]);
      for (int i = k + 1; i < n; i++)
        {
          a[i + k * ld] /= a[k + k * ld];
          for (int j = k + 1; j < n; j++)
            a[i + j * ld] -= a[i + k * ld] * a[k + j * ld];
        }
    }
  return info;
}

void
getrs_loops (int n, int columns, const float *a, int64_t lda, const int *pivots, float *b, int64_t ldb)
{
  for (int c = 0; c < columns; c++)
    {
      float *x = b + c * ldb;

      for (int i = 0; i < n; i++)
        std::swap (x[i], x[pivots[i] - 1]);
      for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
          x[i] -= a[i + k * lda] * x[k];
      for (int i = n - 1; i >= 0; i--)
        {
          for (int k = i + 1; k < n; k++)
            x[i] -= a[i + k * lda] * x[k];
          x[i] /= a[i + i * lda];
        }
    }
}

/* x·op (a) = b, a [n,n], b and x [m,n]. */
void
trsm_loops (bool upper, bool transpose, bool unit, int m, int n, const float *a, int64_t lda, float *b, int64_t ldb)
{
  const bool from_left = upper != transpose; /* op (a) is upper: column 0 of x depends on no other */

  for (int s = 0; s < n; s++)
    {
      const int j = from_left ? s : n - 1 - s;

      for (int i = 0; i < m; i++)
        {
          float sum = b[i + j * ldb];

          for (int k = from_left ? 0 : j + 1; k < (from_left ? j : n); k++)
            sum -= b[i + k * ldb] * (transpose ? a[j + k * lda] : a[k + j * lda]);
          b[i + j * ldb] = unit ? sum : sum / a[j + j * lda];
        }
    }
}

/* ---- the functions -------------------------------------------------------------------------------- */

cublasStatus_t
blas_create (cublasHandle_t *handle)
{
  if (standing () != cudaSuccess || forbidden ())
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext{ NULL };
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
blas_destroy (cublasHandle_t handle)
{
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
blas_set_stream (cublasHandle_t handle, cudaStream_t stream)
{
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
trsm (cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag,
      int m, int n, const float *alpha, const float *a, int lda, float *b, int ldb)
{
  if (side != CUBLAS_SIDE_RIGHT || *alpha != 1)
    {
      lacks ("a triangular solution from the left, or scaled");
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  if (m < 0 || n < 0 || lda < n || ldb < m)
    return CUBLAS_STATUS_INVALID_VALUE;
  check_memory ("cublasStrsm", a, (size_t)lda * (size_t)n);
  check_memory ("cublasStrsm", b, (size_t)ldb * (size_t)n);
  return enqueue (handle->stream,
                  { "cublasStrsm",
                    [=] {
                      trsm_loops (uplo == CUBLAS_FILL_MODE_UPPER, trans != CUBLAS_OP_N, diag == CUBLAS_DIAG_UNIT, m, n,
                                  a, lda, b, ldb);
                    },
                    { a, b } })
                 == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

cusolverStatus_t
create (cusolverDnHandle_t *handle)
{
  if (standing () != cudaSuccess || forbidden ())
    return CUSOLVER_STATUS_NOT_INITIALIZED;
  *handle = new cusolverDnContext{ NULL };
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t
destroy (cusolverDnHandle_t handle)
{
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t
set_stream (cusolverDnHandle_t handle, cudaStream_t stream)
{
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t
potrf_size (cusolverDnHandle_t, cublasFillMode_t, int n, float *, int lda, int *work)
{
  *work = WORK * n;
  return n < 0 || lda < n ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t
getrf_size (cusolverDnHandle_t, int m, int n, float *, int lda, int *work)
{
  *work = WORK * n;
  return m < 0 || n < 0 || lda < m ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
}

template <typename F>
cusolverStatus_t
put (cusolverDnHandle_t handle, const char *name, F run, std::vector<const void *> uses)
{
  if (forbidden ())
    return CUSOLVER_STATUS_INTERNAL_ERROR;
  return enqueue (handle->stream, { name, run, uses }) == cudaSuccess ? CUSOLVER_STATUS_SUCCESS
                                                                      : CUSOLVER_STATUS_EXECUTION_FAILED;
}

cusolverStatus_t
potrf (cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, float *a, int lda, float *work, int size, int *info)
{
  if (uplo != CUBLAS_FILL_MODE_UPPER)
    {
      lacks ("the lower factor by columns");
      return CUSOLVER_STATUS_NOT_SUPPORTED;
    }
  if (n < 0 || lda < n || size < WORK * n)
    return CUSOLVER_STATUS_INVALID_VALUE;
  check_memory ("cusolverDnSpotrf", a, (size_t)lda * (size_t)n);
  check_memory ("cusolverDnSpotrf", work, (size_t)size);
  check_memory ("cusolverDnSpotrf", info, 1);
  return put (
      handle, "cusolverDnSpotrf",
      [=] {
        spoil (work, size);
        *info = potrf_loops (n, a, lda);
      },
      { a, work, info });
}

cusolverStatus_t
getrf (cusolverDnHandle_t handle, int m, int n, float *a, int lda, float *work, int *pivots, int *info)
{
  if (m != n)
    {
      lacks ("factors of a matrix that is not square");
      return CUSOLVER_STATUS_NOT_SUPPORTED;
    }
  if (n < 0 || lda < n)
    return CUSOLVER_STATUS_INVALID_VALUE;
  check_memory ("cusolverDnSgetrf", a, (size_t)lda * (size_t)n);
  check_memory ("cusolverDnSgetrf", work, (size_t)WORK * (size_t)n);
  check_memory ("cusolverDnSgetrf", pivots, (size_t)n);
  check_memory ("cusolverDnSgetrf", info, 1);
  return put (
      handle, "cusolverDnSgetrf",
      [=] {
        spoil (work, WORK * n);
        *info = getrf_loops (n, a, lda, pivots);
      },
      { a, work, pivots, info });
}

cusolverStatus_t
getrs (cusolverDnHandle_t handle, cublasOperation_t trans, int n, int columns, const float *a, int lda,
       const int *pivots, float *b, int ldb, int *info)
{
  if (trans != CUBLAS_OP_N)
    {
      lacks ("a solution with the transpose");
      return CUSOLVER_STATUS_NOT_SUPPORTED;
    }
  if (n < 0 || columns < 0 || lda < n || ldb < n)
    return CUSOLVER_STATUS_INVALID_VALUE;
  check_memory ("cusolverDnSgetrs", a, (size_t)lda * (size_t)n);
  check_memory ("cusolverDnSgetrs", b, (size_t)ldb * (size_t)columns);
  check_memory ("cusolverDnSgetrs", pivots, (size_t)n);
  check_memory ("cusolverDnSgetrs", info, 1);
  return put (
      handle, "cusolverDnSgetrs",
      [=] {
        getrs_loops (n, columns, a, lda, pivots, b, ldb);
        *info = 0;
      },
      { a, pivots, b, info });
}

const CudaSolver functions = {
  .blas_create = blas_create,
  .blas_destroy = blas_destroy,
  .blas_set_stream = blas_set_stream,
  .trsm = trsm,
  .create = create,
  .destroy = destroy,
  .set_stream = set_stream,
  .potrf_size = potrf_size,
  .potrf = potrf,
  .getrf_size = getrf_size,
  .getrf = getrf,
  .getrs = getrs,
};
}
}

/* Replaces cuda-solver-library.c. GRADLOOM_EMULATOR_FAIL=solver-missing:1 makes the libraries absent. */
extern "C" const CudaSolver *
cuda_solver (void)
{
  static const bool missing = emulated::fails ("solver-missing");

  return missing ? NULL : &emulated::functions;
}
