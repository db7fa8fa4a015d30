/* cholesky, solve and det by cuSOLVER, triangular_solve by cuBLAS, one matrix of the batch after the other.
 *
 * The libraries' matrices are column major. A symmetric matrix is the same either way, and its upper factor by columns
 * is the lower one by rows; a triangular solution from the right is one from the left by rows; other matrices are
 * transposed before and after the call, so that the factors are those of kernels/linalg.inc.h.
 *
 * cuSOLVER waits for the device within its calls, so a step that uses it is launched kernel by kernel instead of being
 * recorded in a graph. The own kernels (cuda-linalg.cu) take one thread for each matrix and compute batches of small
 * ones at once. Without a table of costs, a call of the library is assumed to take a tenth of a millisecond, and an
 * operation of a thread 10 ns. */
#include "kernels/cuda/cuda-solver.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/shape.h"

#define CALL_SECONDS      1e-4
#define OPERATION_SECONDS 1e-8
#define LARGEST           32768 /* rows whose square is an int */

/* The handles of a stream. */
typedef struct
{
  cusolverDnHandle_t solver;
  cublasHandle_t blas;
} Handles;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  const CudaSolver *library;
  int n, m, work; /* matrices n×n, right sides of m columns, elements of cuSOLVER's workspace */
  int64_t count;
  LoomTriangularSolveAttrs triangular;
  bool transpose;
  LoomKernel *transpose_matrix, *turn_side, *turn_back; /* transpose [n,n], [n,m] to [m,n] and back; NULL: not needed */
  size_t side, pivots, info, room;          /* offsets in the scratch, after a matrix */
  struct CudaRequirement requirement;
} Solver;

/* ---- handles ----------------------------------------------------------------------------------- */

static LoomStatus
check (cusolverStatus_t result, const char *what, LoomMessage *message)
{
  char text[32];

  if (result == CUSOLVER_STATUS_SUCCESS)
    return LOOM_STATUS_OK;
  snprintf (text, sizeof text, "cuSOLVER's status %d", (int)result);
  return cuda_library_check (cuda_status_of_solver ((int)result), what, text, message);
}

static LoomStatus
check_blas (cublasStatus_t result, const char *what, LoomMessage *message)
{
  char text[32];

  if (result == CUBLAS_STATUS_SUCCESS)
    return LOOM_STATUS_OK;
  snprintf (text, sizeof text, "cuBLAS's status %d", (int)result);
  return cuda_library_check (cuda_status_of_blas ((int)result), what, text, message);
}

void
cuda_solver_close (void *at)
{
  Handles *handles = at;

  if (handles == NULL)
    return;
  if (handles->solver != NULL)
    cuda_solver ()->destroy (handles->solver);
  if (handles->blas != NULL)
    cuda_solver ()->blas_destroy (handles->blas);
  free (handles);
}

static LoomStatus
handles_new (cudaStream_t stream, Handles **to, LoomMessage *message)
{
  const CudaSolver *library = cuda_solver ();
  Handles *handles = calloc (1, sizeof *handles);
  LoomStatus status;

  if (handles == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a handle of cuSOLVER");
  status = check (library->create (&handles->solver), "opening cuSOLVER", message);
  if (status == LOOM_STATUS_OK)
    status = check_blas (library->blas_create (&handles->blas), "opening cuBLAS", message);
  if (status == LOOM_STATUS_OK)
    status = check (library->set_stream (handles->solver, stream), "setting cuSOLVER's stream", message);
  if (status == LOOM_STATUS_OK)
    status = check_blas (library->blas_set_stream (handles->blas, stream), "setting cuBLAS's stream", message);
  if (status == LOOM_STATUS_OK)
    *to = handles;
  else
    cuda_solver_close (handles);
  return status;
}

/* The handles are made by the stream's first call, which is never recorded. */
static LoomStatus
handles_on (LoomDevice *device, LoomStream *stream, Handles **to, LoomMessage *message)
{
  LoomStream *of = stream != NULL ? stream : device->stream;
  LoomStatus status = LOOM_STATUS_OK;

  cuda_use (device);
  if (of->solver == NULL)
    {
      status = handles_new (of->handle, to, message);
      if (status == LOOM_STATUS_OK)
        of->solver = *to;
    }
  *to = of->solver;
  return status;
}

/* ---- a batch ------------------------------------------------------------------------------------ */

static LoomStatus
transpose_matrix (LoomKernel *kernel, LoomStream *stream, const void *from, void *to, LoomMessage *message)
{
  void *const buffers[] = { (void *)from, to, NULL };

  return kernel->run (kernel, stream, buffers, message);
}

/* Makes the kernel that transposes [rows,columns]. */
static LoomStatus
transpose_new (LoomDevice *device, int64_t rows, int64_t columns, LoomKernel **kernel, LoomMessage *message)
{
  const LoomTensorDesc from = { .dtype = LOOM_F32, .rank = 2, .dim = { rows, columns } };
  const LoomTensorDesc to = { .dtype = LOOM_F32, .rank = 2, .dim = { columns, rows } };
  const LoomPermuteAttrs attrs = { .perm = { 1, 0 } };
  const LoomKernelSpec spec
      = { .primitive = "permute", .attrs = &attrs, .n_in = 1, .n_out = 1, .in = &from, .out = &to };

  return cuda_permute_new (device, &spec, kernel, message);
}

static LoomStatus
run_cholesky (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  Solver *self = (Solver *)base;
  const CudaRaise raise = cuda_raise (self->device, stream, base, &self->requirement);
  const int64_t size = (int64_t)self->n * self->n;
  cudaStream_t on = cuda_stream (self->device, stream);
  char *scratch = b[2];
  int *info = (int *)(scratch + self->info);
  Handles *handles;
  LoomStatus status = handles_on (self->device, stream, &handles, message);

  for (int64_t q = 0; q < self->count && status == LOOM_STATUS_OK; q++)
    {
      const float *a = (const float *)b[0] + q * size;
      float *l = (float *)b[1] + q * size;

      cuda_solver_symmetrise (on, l, a, self->n);
      status = check (self->library->potrf (handles->solver, CUBLAS_FILL_MODE_UPPER, self->n, l, self->n,
                                            (float *)(scratch + self->room), self->work, info),
                      base->name, message);
      cuda_solver_end_cholesky (on, l, a, self->n, q, info, raise);
      if (status == LOOM_STATUS_OK)
        status = cuda_launched (base->name, message);
    }
  return status;
}

/* Factors a [n,n], or its transpose, by columns at the beginning of the scratch, and writes the factors to lu [n,n]. */
static LoomStatus
factor (Solver *self, LoomStream *stream, Handles *handles, char *scratch, const float *a, float *lu,
        LoomMessage *message)
{
  const size_t bytes = (size_t)self->n * self->n * sizeof *a;
  float *matrix = (float *)scratch;
  LoomStatus status;

  if (self->transpose)
    status
        = cuda_check (cudaMemcpyAsync (matrix, a, bytes, cudaMemcpyDeviceToDevice, cuda_stream (self->device, stream)),
                      self->base.name, message);
  else
    status = transpose_matrix (self->transpose_matrix, stream, a, matrix, message);
  if (status == LOOM_STATUS_OK)
    status = check (self->library->getrf (handles->solver, self->n, self->n, matrix, self->n,
                                          (float *)(scratch + self->room), (int *)(scratch + self->pivots),
                                          (int *)(scratch + self->info)),
                    self->base.name, message);
  if (status == LOOM_STATUS_OK)
    status = transpose_matrix (self->transpose_matrix, stream, matrix, lu, message);
  return status;
}

static LoomStatus
run_solve (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  Solver *self = (Solver *)base;
  const CudaRaise raise = cuda_raise (self->device, stream, base, &self->requirement);
  const int64_t size = (int64_t)self->n * self->n, side = (int64_t)self->n * self->m;
  char *scratch = b[5];
  int *pivots = (int *)(scratch + self->pivots), *info = (int *)(scratch + self->info);
  float *columns = (float *)(scratch + self->side);
  Handles *handles;
  LoomStatus status = handles_on (self->device, stream, &handles, message);

  for (int64_t q = 0; q < self->count && status == LOOM_STATUS_OK; q++)
    {
      const float *a = (const float *)b[0] + q * size;
      float *x = (float *)b[2] + q * side;

      status = factor (self, stream, handles, scratch, a, (float *)b[3] + q * size, message);
      if (status == LOOM_STATUS_OK)
        status = transpose_matrix (self->turn_side, stream, (const float *)b[1] + q * side, columns, message);
      /* Its own status about arguments is stored after that of the factorisation. */
      if (status == LOOM_STATUS_OK)
        status = check (self->library->getrs (handles->solver, CUBLAS_OP_N, self->n, self->m, (float *)scratch, self->n,
                                              pivots, columns, self->n, info + 1),
                        base->name, message);
      if (status == LOOM_STATUS_OK)
        status = transpose_matrix (self->turn_back, stream, columns, x, message);
      if (status == LOOM_STATUS_OK)
        {
          cuda_solver_end_solve (cuda_stream (self->device, stream), x, side, (int64_t *)b[4] + q * self->n, pivots, a,
                                 self->n, q, info, raise);
          status = cuda_launched (base->name, message);
        }
    }
  return status;
}

static LoomStatus
run_det (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  Solver *self = (Solver *)base;
  const int64_t size = (int64_t)self->n * self->n;
  char *scratch = b[3];
  Handles *handles;
  LoomStatus status = handles_on (self->device, stream, &handles, message);

  for (int64_t q = 0; q < self->count && status == LOOM_STATUS_OK; q++)
    {
      float *lu = (float *)b[2] + q * size;

      status = factor (self, stream, handles, scratch, (const float *)b[0] + q * size, lu, message);
      if (status != LOOM_STATUS_OK)
        break;
      cuda_solver_end_det (cuda_stream (self->device, stream), (float *)b[1] + q, lu, (int *)(scratch + self->pivots),
                           self->n);
      status = cuda_launched (base->name, message);
    }
  return status;
}

/* op (a)·x = b by rows is xᵀ·op (a)ᵀ = bᵀ by columns, where a is read as aᵀ. */
static LoomStatus
run_triangular (LoomKernel *base, LoomStream *stream, void *const *b, LoomMessage *message)
{
  Solver *self = (Solver *)base;
  const LoomTriangularSolveAttrs *a = &self->triangular;
  const int64_t size = (int64_t)self->n * self->n, side = (int64_t)self->n * self->m;
  const float one = 1;
  Handles *handles;
  LoomStatus status = handles_on (self->device, stream, &handles, message);

  if (status == LOOM_STATUS_OK)
    status = cuda_check (cudaMemcpyAsync (b[2], b[1], (size_t)(self->count * side) * sizeof (float),
                                          cudaMemcpyDeviceToDevice, cuda_stream (self->device, stream)),
                         base->name, message);
  for (int64_t q = 0; q < self->count && status == LOOM_STATUS_OK; q++)
    status = check_blas (
        self->library->trsm (
            handles->blas, CUBLAS_SIDE_RIGHT, a->upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
            a->transpose ? CUBLAS_OP_T : CUBLAS_OP_N, a->unitriangular ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT,
            self->m, self->n, &one, (const float *)b[0] + q * size, self->n, (float *)b[2] + q * side, self->m),
        base->name, message);
  return status;
}

/* ---- the four primitives ------------------------------------------------------------------------- */

typedef struct
{
  const char *primitive, *algorithm, *name;
  LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *);
  CudaConstructor own;
  LoomStatus (*tell) (LoomMessage *, const LoomTensorDesc *, int64_t);
  double operations, by_column; /* operations of a thread: factors of n³ and of n²·m */
  bool factors, has_side;
} Entry;

static const Entry entries[] = {
  { "cholesky", "cusolver", "cusolver potrf", run_cholesky, cuda_cholesky_new, loom_not_positive, 1.0 / 3, 0, false,
    false },
  { "solve", "cusolver", "cusolver getrf", run_solve, cuda_solve_new, loom_singular, 2.0 / 3, 2, true, true },
  { "det", "cusolver", "cusolver getrf", run_det, cuda_det_new, NULL, 2.0 / 3, 0, true, false },
  { "triangular_solve", "cublas", "cublas trsm", run_triangular, cuda_triangular_solve_new, NULL, 0, 1, false, true },
};

static const Entry *
entry_of (const LoomKernelSpec *spec)
{
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
    if (strcmp (entries[i].primitive, spec->primitive) == 0)
      return &entries[i];
  return NULL;
}

static bool
takes (const LoomKernelSpec *spec)
{
  const LoomTensorDesc *a = &spec->in[0];

  if (!cuda_all_plain (spec) || a->rank < 2 || loom_desc_count (a) == 0 || loom_matrix_rows (a) > LARGEST)
    return false;
  for (int i = 0; i < spec->n_in; i++)
    if (spec->in[i].dtype != LOOM_F32)
      return false;
  return spec->n_in < 2 || (loom_desc_count (&spec->in[1]) > 0 && loom_matrix_columns (&spec->in[1]) <= INT_MAX);
}

static bool
is_faster (const Entry *entry, const LoomKernelSpec *spec)
{
  const double n = (double)loom_matrix_rows (&spec->in[0]);
  const double m = entry->has_side ? (double)loom_matrix_columns (&spec->in[1]) : 0;

  return (double)loom_matrix_count (&spec->in[0]) * CALL_SECONDS
         < (entry->operations * n + entry->by_column * m) * n * n * OPERATION_SECONDS;
}

LoomStatus
cuda_linalg_algorithms (LoomDevice *device, const LoomKernelSpec *spec, CudaAlgorithm *algorithms, int max, int *n,
                        LoomMessage *message)
{
  const Entry *entry = entry_of (spec);
  bool library = takes (spec) && cuda_solver () != NULL, first = library && is_faster (entry, spec);

  *n = 0;
  if (first && *n < max)
    algorithms[(*n)++] = (CudaAlgorithm){ entry->algorithm, 0 };
  if (*n < max)
    algorithms[(*n)++] = (CudaAlgorithm){ "own", 0 };
  if (library && !first && *n < max)
    algorithms[(*n)++] = (CudaAlgorithm){ entry->algorithm, 0 };
  return LOOM_STATUS_OK;
}

static void
solver_free (LoomKernel *base)
{
  Solver *self = (Solver *)base;
  LoomKernel *const kernels[] = { self->transpose_matrix, self->turn_side, self->turn_back };

  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i] != NULL)
      kernels[i]->free (kernels[i]);
  free (self);
}

/* Queries cuSOLVER's workspace by a handle of the device. */
static LoomStatus
query_workspace (Solver *self, const Entry *entry, LoomMessage *message)
{
  LoomDevice *device = self->device;
  Handles *handles = NULL;
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&device->lock);
  if (device->solver == NULL)
    {
      status = handles_new (device->stream->handle, &handles, message);
      if (status == LOOM_STATUS_OK)
        device->solver = handles;
    }
  handles = device->solver;
  if (status == LOOM_STATUS_OK && entry->factors)
    status = check (self->library->getrf_size (handles->solver, self->n, self->n, NULL, self->n, &self->work),
                    entry->name, message);
  else if (status == LOOM_STATUS_OK)
    status = check (
        self->library->potrf_size (handles->solver, CUBLAS_FILL_MODE_UPPER, self->n, NULL, self->n, &self->work),
        entry->name, message);
  pthread_mutex_unlock (&device->lock);
  return status;
}

static size_t
place (Solver *self, size_t elements, size_t size)
{
  size_t at = self->base.scratch_bytes;

  self->base.scratch_bytes += (elements * size + 255) / 256 * 256;
  return at;
}

static LoomStatus
place_scratch (Solver *self, const Entry *entry, LoomMessage *message)
{
  const size_t n = (size_t)self->n, m = (size_t)self->m;
  LoomStatus status = query_workspace (self, entry, message);

  if (entry->factors)
    place (self, n * n, sizeof (float));
  self->side = place (self, n * m, sizeof (float));
  self->pivots = place (self, n, sizeof (int));
  self->info = place (self, 2, sizeof (int));
  self->room = place (self, (size_t)self->work, sizeof (float));
  if (status == LOOM_STATUS_OK && entry->factors)
    status = transpose_new (self->device, self->n, self->n, &self->transpose_matrix, message);
  if (status == LOOM_STATUS_OK && entry->has_side)
    status = transpose_new (self->device, self->n, self->m, &self->turn_side, message);
  if (status == LOOM_STATUS_OK && entry->has_side)
    status = transpose_new (self->device, self->m, self->n, &self->turn_back, message);
  return status;
}

LoomStatus
cuda_linalg_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const Entry *entry = entry_of (spec);
  bool is_triangular = entry->run == run_triangular;
  LoomStatus status = LOOM_STATUS_OK;
  Solver *self;

  if (spec->algorithm == NULL || strcmp (spec->algorithm, "own") == 0)
    return entry->own (device, spec, kernel, message);
  if (strcmp (spec->algorithm, entry->algorithm) != 0 || !takes (spec) || cuda_solver () == NULL)
    return LOOM_STATUS_UNSUPPORTED;
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base.run = entry->run;
  self->base.free = solver_free;
  self->base.name = entry->name;
  self->base.is_launched_alone = !is_triangular;
  self->device = device;
  self->library = cuda_solver ();
  self->n = (int)loom_matrix_rows (&spec->in[0]);
  self->m = entry->has_side ? (int)loom_matrix_columns (&spec->in[1]) : 0;
  self->count = loom_matrix_count (&spec->in[0]);
  self->requirement.ok = spec->in[0];
  self->requirement.tell = entry->tell;
  if (is_triangular)
    self->triangular = *(const LoomTriangularSolveAttrs *)spec->attrs;
  else
    status = place_scratch (self, entry, message);
  if (entry->run == run_solve)
    self->transpose = ((const LoomSolveAttrs *)spec->attrs)->transpose;
  if (status == LOOM_STATUS_OK)
    *kernel = &self->base;
  else
    solver_free (&self->base);
  return status;
}
