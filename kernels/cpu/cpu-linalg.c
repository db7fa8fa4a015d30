/* cholesky, triangular_solve, solve, det, cofactor: threads share the matrices of a batch, and each computes whole
 * matrices (kernels/linalg.inc.h). */
#include "kernels/cpu/cpu.h"

#include <math.h>

#define T        float
#define FN(name) one_##name
#include "kernels/linalg.inc.h"

typedef struct
{
  CpuKernel k;
  int64_t n, m, count; /* matrices [count,n,n], right sides [count,n,m] */
  double ns;
  CpuPart part;
} Linalg;

typedef struct
{
  const Linalg *self;
  void *const *b;  /* shapes of operands: see each part */
  int64_t *failed; /* the first matrix without a solution; the number of matrices if there is none */
} Call;

/* Threads process their matrices in ascending order, so the smallest of their first failures is the first of the
 * batch. */
static void
fail (const Call *call, int64_t q)
{
  int64_t known = __atomic_load_n (call->failed, __ATOMIC_RELAXED);

  while (q < known && !__atomic_compare_exchange_n (call->failed, &known, q, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

/* b: a [count,n,n]; l [count,n,n]. */
static void
part_cholesky (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t n = call->self->n;

  for (int64_t q = from; q < to; q++)
    if (!one_cholesky (n, (const float *)call->b[0] + q * n * n, (float *)call->b[1] + q * n * n))
      {
        fail (call, q);
        return;
      }
}

/* b: a [count,n,n], right sides [count,n,m]; x [count,n,m]. */
static void
part_triangular (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const LoomTriangularSolveAttrs *at = call->self->k.attrs;
  int64_t n = call->self->n, m = call->self->m;

  for (int64_t q = from; q < to; q++)
    one_triangular (n, m, (const float *)call->b[0] + q * n * n, at->upper, at->transpose, at->unitriangular,
                    (const float *)call->b[1] + q * n * m, (float *)call->b[2] + q * n * m);
}

/* b: a [count,n,n], right sides [count,n,m]; x [count,n,m], lu [count,n,n], perm [count,n]. */
static void
part_solve (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const LoomSolveAttrs *at = call->self->k.attrs;
  int64_t n = call->self->n, m = call->self->m;

  for (int64_t q = from; q < to; q++)
    if (!one_solve (n, m, (const float *)call->b[0] + q * n * n, at->transpose, (const float *)call->b[1] + q * n * m,
                    (float *)call->b[2] + q * n * m, (float *)call->b[3] + q * n * n, (int64_t *)call->b[4] + q * n))
      {
        fail (call, q);
        return;
      }
}

/* b: a [count,n,n]; det [count], lu [count,n,n]. */
static void
part_det (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t n = call->self->n;

  for (int64_t q = from; q < to; q++)
    ((float *)call->b[1])[q] = one_det (n, (const float *)call->b[0] + q * n * n, (float *)call->b[2] + q * n * n);
}

/* b: a [count,n,n]; c [count,n,n], lu [count,n,n], rows and columns [count,n]. */
static void
part_cofactor (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t n = call->self->n;

  for (int64_t q = from; q < to; q++)
    one_cofactor (n, (const float *)call->b[0] + q * n * n, (float *)call->b[1] + q * n * n,
                  (float *)call->b[2] + q * n * n, (int64_t *)call->b[3] + q * n, (int64_t *)call->b[4] + q * n);
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  const Linalg *self = (const Linalg *)k;
  int64_t failed = self->count;
  Call call = { self, b, &failed };

  cpu_share (k, self->ns, self->count, self->part, &call);
  if (failed == self->count)
    return LOOM_STATUS_OK;
  return self->part == part_cholesky ? loom_not_positive (message, &k->in[0], failed)
                                     : loom_singular (message, &k->in[0], failed);
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuPart part, CpuKernel **kernel,
        LoomMessage *message)
{
  Linalg *self;

  if (!cpu_all_f32 (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->n = loom_matrix_rows (&spec->in[0]);
  self->m = spec->n_in > 1 ? loom_matrix_columns (&spec->in[1]) : 0;
  self->count = loom_matrix_count (&spec->in[0]);
  self->ns = (double)self->count * (double)self->n * (double)self->n * (double)(self->n + self->m);
  self->part = part;
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

#define CREATE(name)                                                                                                   \
  static LoomStatus create_##name (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,                  \
                                   CpuKernel **kernel, LoomMessage *message)                                           \
  {                                                                                                                    \
    return create (device, spec, attrs_size, part_##name, kernel, message);                                            \
  }

CREATE (cholesky)
CREATE (triangular)
CREATE (solve)
CREATE (det)
CREATE (cofactor)

const CpuPrimitive ISA (cpu_cholesky) = { "cholesky", 0, create_cholesky };
const CpuPrimitive ISA (cpu_triangular_solve)
    = { "triangular_solve", sizeof (LoomTriangularSolveAttrs), create_triangular };
const CpuPrimitive ISA (cpu_solve) = { "solve", sizeof (LoomSolveAttrs), create_solve };
const CpuPrimitive ISA (cpu_det) = { "det", 0, create_det };
const CpuPrimitive ISA (cpu_cofactor) = { "cofactor", 0, create_cofactor };
