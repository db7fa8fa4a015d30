/* cuSOLVER's and cuBLAS's functions that linear algebra calls, found at run time: without large matrices neither
 * library is needed. Their headers come with the toolkit. */
#ifndef LOOM_CUDA_SOLVER_H
#define LOOM_CUDA_SOLVER_H

#include <cublas_v2.h>
#include <cusolverDn.h>

#include "kernels/cuda/cuda-internal.h"

#ifdef __cplusplus
extern "C"
{
#endif

  typedef struct
  {
    cublasStatus_t (*blas_create) (cublasHandle_t *);
    cublasStatus_t (*blas_destroy) (cublasHandle_t);
    cublasStatus_t (*blas_set_stream) (cublasHandle_t, cudaStream_t);
    cublasStatus_t (*trsm) (cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t,
                            int m, int n, const float *alpha, const float *a, int lda, float *b, int ldb);
    cusolverStatus_t (*create) (cusolverDnHandle_t *);
    cusolverStatus_t (*destroy) (cusolverDnHandle_t);
    cusolverStatus_t (*set_stream) (cusolverDnHandle_t, cudaStream_t);
    cusolverStatus_t (*potrf_size) (cusolverDnHandle_t, cublasFillMode_t, int n, float *a, int lda, int *work);
    cusolverStatus_t (*potrf) (cusolverDnHandle_t, cublasFillMode_t, int n, float *a, int lda, float *work, int size,
                               int *info);
    cusolverStatus_t (*getrf_size) (cusolverDnHandle_t, int m, int n, float *a, int lda, int *work);
    cusolverStatus_t (*getrf) (cusolverDnHandle_t, int m, int n, float *a, int lda, float *work, int *pivots,
                               int *info);
    cusolverStatus_t (*getrs) (cusolverDnHandle_t, cublasOperation_t, int n, int columns, const float *a, int lda,
                               const int *pivots, float *b, int ldb, int *info);
  } CudaSolver;

  /* NULL if a library, or one of its functions, is missing. Looked up once in a process. */
  const CudaSolver *cuda_solver (void);

  /* ---- own kernels before and after the libraries' (cuda-linalg.cu) ---- */

  /* l = (a + aᵀ)/2, both [n,n]. */
  void cuda_solver_symmetrise (cudaStream_t stream, float *l, const float *a, int64_t n);
  /* After potrf: clears l [n,n] right of the diagonal, and raises the fault of matrix q if *info reports one. */
  void cuda_solver_end_cholesky (cudaStream_t stream, float *l, const float *a, int64_t n, int64_t q, const int *info,
                                 CudaRaise raise);
  /* After getrf and getrs: perm [n] from the pivots [n], and the fault; x has `count` elements. */
  void cuda_solver_end_solve (cudaStream_t stream, float *x, int64_t count, int64_t *perm, const int *pivots,
                              const float *a, int64_t n, int64_t q, const int *info, CudaRaise raise);
  /* After getrf: d = the product of the diagonal of lu [n,n], with the pivots' sign. */
  void cuda_solver_end_det (cudaStream_t stream, float *d, const float *lu, const int *pivots, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
