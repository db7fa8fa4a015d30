/* cholesky, triangular_solve, solve, det and cofactor: one thread for each matrix, by the loops of
 * kernels/linalg.inc.h.
 *
 * That is fast for batches of small matrices and slow for a single large one, which cuSOLVER and cuBLAS compute
 * (cuda-solver.c) with the kernels at the end of this file around them. */
#include <math.h>

#include "kernels/cuda/cuda-kernels.cuh"
#ifdef LOOM_HAVE_CUSOLVER
#include "kernels/cuda/cuda-solver.h"
#endif
#include "kernels/shape.h"

#define LOOM_LINALG_FN __device__ static
#define T              float
#define FN(name)       one_##name
#include "kernels/linalg.inc.h"
#undef T
#undef FN

#define LINALG_THREADS 64

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  int64_t n, m, count; /* matrices n×n, right sides of m columns, their count */
  LoomTriangularSolveAttrs triangular;
  LoomSolveAttrs solve;
  struct CudaRequirement requirement; /* the fault if there is no solution */
} Linalg;

/* The fields of Linalg that a thread needs. */
typedef struct
{
  int64_t n, m, count;
  LoomTriangularSolveAttrs triangular;
  LoomSolveAttrs solve;
  CudaRaise raise;
} Batch;

/* The matrix of this thread in the batch; false after the last one. */
__device__ static bool
find_matrix (const Batch &batch, int64_t *q)
{
  *q = (int64_t)blockIdx.x * LINALG_THREADS + threadIdx.x;
  return *q < batch.count;
}

/* l = the lower factor of a, both [count,n,n]; here and below one thread for each matrix of the batch. */
__global__ static void
__launch_bounds__ (LINALG_THREADS) cholesky_kernel (float *l, const float *a, Batch batch)
{
  const int64_t size = batch.n * batch.n;
  int64_t q;

  if (find_matrix (batch, &q) && !one_cholesky (batch.n, a + q * size, l + q * size))
    raise_fault (batch.raise, CUDA_FAULT_REQUIREMENT, q, 0);
}

/* a [count,n,n], b and x [count,n,m]. */
__global__ static void
__launch_bounds__ (LINALG_THREADS) triangular_kernel (float *x, const float *a, const float *b, Batch batch)
{
  const int64_t size = batch.n * batch.n, side = batch.n * batch.m;
  const LoomTriangularSolveAttrs &attrs = batch.triangular;
  int64_t q;

  if (find_matrix (batch, &q))
    one_triangular (batch.n, batch.m, a + q * size, attrs.upper, attrs.transpose, attrs.unitriangular, b + q * side,
                    x + q * side);
}

/* a and lu [count,n,n], b and x [count,n,m], perm [count,n]. */
__global__ static void
__launch_bounds__ (LINALG_THREADS)
    solve_kernel (float *x, float *lu, int64_t *perm, const float *a, const float *b, Batch batch)
{
  const int64_t size = batch.n * batch.n, side = batch.n * batch.m;
  int64_t q;

  if (find_matrix (batch, &q)
      && !one_solve (batch.n, batch.m, a + q * size, batch.solve.transpose, b + q * side, x + q * side, lu + q * size,
                     perm + q * batch.n))
    raise_fault (batch.raise, CUDA_FAULT_REQUIREMENT, q, 0);
}

/* a and lu [count,n,n], d [count]. */
__global__ static void
__launch_bounds__ (LINALG_THREADS) det_kernel (float *d, float *lu, const float *a, Batch batch)
{
  const int64_t size = batch.n * batch.n;
  int64_t q;

  if (find_matrix (batch, &q))
    d[q] = one_det (batch.n, a + q * size, lu + q * size);
}

/* a, c and lu [count,n,n], rows and columns [count,n]. */
__global__ static void
__launch_bounds__ (LINALG_THREADS)
    cofactor_kernel (float *c, float *lu, int64_t *rows, int64_t *columns, const float *a, Batch batch)
{
  const int64_t size = batch.n * batch.n;
  int64_t q;

  if (find_matrix (batch, &q))
    one_cofactor (batch.n, a + q * size, c + q * size, lu + q * size, rows + q * batch.n, columns + q * batch.n);
}

/* ---- host ------------------------------------------------------------------------------ */

typedef void (*Launch) (unsigned int blocks, cudaStream_t stream, void *const *b, const Batch &batch);

static void
launch_cholesky (unsigned int blocks, cudaStream_t stream, void *const *b, const Batch &batch)
{
  cholesky_kernel<<<blocks, LINALG_THREADS, 0, stream>>> ((float *)b[1], (const float *)b[0], batch);
}

static void
launch_triangular (unsigned int blocks, cudaStream_t stream, void *const *b, const Batch &batch)
{
  triangular_kernel<<<blocks, LINALG_THREADS, 0, stream>>> ((float *)b[2], (const float *)b[0], (const float *)b[1],
                                                              batch);
}

static void
launch_solve (unsigned int blocks, cudaStream_t stream, void *const *b, const Batch &batch)
{
  solve_kernel<<<blocks, LINALG_THREADS, 0, stream>>> ((float *)b[2], (float *)b[3], (int64_t *)b[4],
                                                         (const float *)b[0], (const float *)b[1], batch);
}

static void
launch_det (unsigned int blocks, cudaStream_t stream, void *const *b, const Batch &batch)
{
  det_kernel<<<blocks, LINALG_THREADS, 0, stream>>> ((float *)b[1], (float *)b[2], (const float *)b[0], batch);
}

static void
launch_cofactor (unsigned int blocks, cudaStream_t stream, void *const *b, const Batch &batch)
{
  cofactor_kernel<<<blocks, LINALG_THREADS, 0, stream>>> ((float *)b[1], (float *)b[2], (int64_t *)b[3],
                                                            (int64_t *)b[4], (const float *)b[0], batch);
}

template <Launch LAUNCH>
static LoomStatus
linalg_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Linalg *self = (Linalg *)base;
  const Batch batch = { self->n,          self->m,     self->count,
                        self->triangular, self->solve, cuda_raise (self->device, stream, base, &self->requirement) };

  if (self->count == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  LAUNCH (blocks_for (self->count, LINALG_THREADS), cuda_stream (self->device, stream), buffers, batch);
  return cuda_launched (self->base.name, message);
}

template <Launch LAUNCH>
static LoomStatus
linalg_new (LoomDevice *device, const LoomKernelSpec *spec, const char *name,
            LoomStatus (*tell) (LoomMessage *, const LoomTensorDesc *, int64_t), Linalg **out, LoomKernel **kernel,
            LoomMessage *message)
{
  const LoomTensorDesc *a = &spec->in[0];
  Linalg *self;

  if (!cuda_all_plain (spec) || a->rank < 2 || a->dtype != LOOM_F32 || spec->out[0].dtype != LOOM_F32
      || !all_of_dtype (spec->in, spec->n_in, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  self = kernel_struct<Linalg> (device, name, linalg_run<LAUNCH>, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->n = loom_matrix_rows (a);
  self->m = spec->n_in > 1 ? loom_matrix_columns (&spec->in[1]) : 0;
  self->count = loom_matrix_count (a);
  self->requirement.ok = *a;
  self->requirement.tell = tell;
  *out = self;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_cholesky_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Linalg *self;

  return linalg_new<launch_cholesky> (device, spec, "own cholesky", loom_not_positive, &self, kernel, message);
}

LoomStatus
cuda_triangular_solve_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Linalg *self;
  LoomStatus status
      = linalg_new<launch_triangular> (device, spec, "own triangular_solve", NULL, &self, kernel, message);

  if (status == LOOM_STATUS_OK)
    self->triangular = *(const LoomTriangularSolveAttrs *)spec->attrs;
  return status;
}

LoomStatus
cuda_solve_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Linalg *self;
  LoomStatus status = linalg_new<launch_solve> (device, spec, "own solve", loom_singular, &self, kernel, message);

  if (status == LOOM_STATUS_OK)
    self->solve = *(const LoomSolveAttrs *)spec->attrs;
  return status;
}

LoomStatus
cuda_det_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Linalg *self;

  return linalg_new<launch_det> (device, spec, "own det", NULL, &self, kernel, message);
}

LoomStatus
cuda_cofactor_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Linalg *self;

  return linalg_new<launch_cofactor> (device, spec, "own cofactor", NULL, &self, kernel, message);
}

/* ---- around cuSOLVER ------------------------------------------------------------------- */

#ifdef LOOM_HAVE_CUSOLVER

#define AROUND_THREADS 256

/* l = (a + aᵀ)/2, both [n,n]; one thread for each element. */
__global__ static void
__launch_bounds__ (AROUND_THREADS) symmetrise_kernel (float *l, const float *a, long long n)
{
  const long long i = blockIdx.y, j = (long long)blockIdx.x * AROUND_THREADS + threadIdx.x;

  if (j < n)
    l[i * n + j] = (float)(0.5 * ((double)a[i * n + j] + (double)a[j * n + i]));
}

/* Whether one of a [count] is NaN, for all threads of the block; *room is shared. */
__device__ static bool
has_nan (const float *a, long long count, int *room)
{
  if (threadIdx.x == 0)
    *room = 0;
  __syncthreads ();
  for (long long i = threadIdx.x; i < count; i += AROUND_THREADS)
    if (isnan (a[i]))
      atomicCAS (room, 0, 1);
  __syncthreads ();
  return *room != 0;
}

/* One block. If the library found no result, x [count] becomes NaN if the matrix a [n,n] contains NaN, else the fault
 * is raised. */
__device__ static void
check_result (float *x, long long count, const float *a, long long n, long long q, CudaRaise raise)
{
  __shared__ int room;

  if (!has_nan (a, n * n, &room))
    {
      if (threadIdx.x == 0)
        raise_fault (raise, CUDA_FAULT_REQUIREMENT, q, 0);
      return;
    }
  for (long long i = threadIdx.x; i < count; i += AROUND_THREADS)
    x[i] = NAN;
}

/* Checks the factor l [n,n] of a [n,n]; one block. */
__global__ static void
__launch_bounds__ (AROUND_THREADS)
    check_result_kernel (float *l, const float *a, long long n, long long q, const int *info, CudaRaise raise)
{
  if (*info != 0)
    check_result (l, n * n, a, n, q, raise);
}

/* Clears l [n,n] right of the diagonal; one thread for each element. */
__global__ static void
__launch_bounds__ (AROUND_THREADS) clear_kernel (float *l, long long n)
{
  const long long i = blockIdx.y, j = (long long)blockIdx.x * AROUND_THREADS + threadIdx.x;

  if (j > i && j < n)
    l[i * n + j] = 0;
}

/* Checks x [count] and turns pivots [n] into the permutation perm [n]; one block. */
__global__ static void
__launch_bounds__ (AROUND_THREADS)
    end_solve_kernel (float *x, long long count, int64_t *perm, const int *pivots, const float *a, long long n,
                      long long q, const int *info, CudaRaise raise)
{
  if (*info != 0)
    check_result (x, count, a, n, q, raise);
  for (long long i = threadIdx.x; i < n; i += AROUND_THREADS)
    perm[i] = i;
  __syncthreads ();
  /* Swaps apply in order, each to the result of those before. */
  for (long long i = 0; threadIdx.x == 0 && i < n; i++)
    {
      const long long k = pivots[i] - 1;
      const int64_t t = perm[i];

      perm[i] = perm[k];
      perm[k] = t;
    }
}

/* d = the determinant from lu [n,n] and pivots [n]; one thread, in the order of the own kernel. */
__global__ static void
end_det_kernel (float *d, const float *lu, const int *pivots, long long n)
{
  double product = 1;

  for (long long i = 0; i < n; i++)
    product *= pivots[i] == i + 1 ? lu[i * n + i] : -(double)lu[i * n + i];
  *d = (float)product;
}

extern "C" void
cuda_solver_symmetrise (cudaStream_t stream, float *l, const float *a, int64_t n)
{
  const dim3 grid (blocks_for (n, AROUND_THREADS), (unsigned int)n);

  symmetrise_kernel<<<grid, AROUND_THREADS, 0, stream>>> (l, a, n);
}

extern "C" void
cuda_solver_end_cholesky (cudaStream_t stream, float *l, const float *a, int64_t n, int64_t q, const int *info,
                          CudaRaise raise)
{
  const dim3 grid (blocks_for (n, AROUND_THREADS), (unsigned int)n);

  check_result_kernel<<<1, AROUND_THREADS, 0, stream>>> (l, a, n, q, info, raise);
  clear_kernel<<<grid, AROUND_THREADS, 0, stream>>> (l, n);
}

extern "C" void
cuda_solver_end_solve (cudaStream_t stream, float *x, int64_t count, int64_t *perm, const int *pivots, const float *a,
                       int64_t n, int64_t q, const int *info, CudaRaise raise)
{
  end_solve_kernel<<<1, AROUND_THREADS, 0, stream>>> (x, count, perm, pivots, a, n, q, info, raise);
}

extern "C" void
cuda_solver_end_det (cudaStream_t stream, float *d, const float *lu, const int *pivots, int64_t n)
{
  end_det_kernel<<<1, 1, 0, stream>>> (d, lu, pivots, n);
}

#endif
