/* reduce and argreduce in f32 (and, plainly, i64).
 *
 * The axes are merged, in the order of the input's bytes, into kept and reduced ones. If the innermost axis is reduced,
 * rows are summed; if it is kept, blocks of columns are accumulated in double. A reduction of everything is cut into
 * chunks of fixed size. So the order of the additions depends only on the shape. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-sum.h"

#include <math.h>

#define CHUNK   16384
#define COLUMNS 128

typedef struct
{
  int rank;
  int64_t dim[LOOM_MAX_RANK], x[LOOM_MAX_RANK], y[LOOM_MAX_RANK]; /* strides */
} Axes;

typedef struct
{
  CpuKernel k;
  LoomReduceOp op;
  Axes kept, reduced;
  int64_t n_kept, n_reduced; /* without the innermost axis */
  int64_t inner;             /* length of the innermost axis */
  bool inner_reduced;
  int64_t chunks; /* of a reduction of everything; else 0 */
  double ns;
} Reduce;

typedef struct
{
  const Reduce *self;
  const float *x;  /* any strides: Axes */
  float *y;        /* n_kept elements, or n_kept·inner if the innermost axis is kept */
  double *partial; /* [chunks] */
} Call;

static void
axes_add (Axes *a, int64_t dim, int64_t x, int64_t y)
{
  int last = a->rank - 1;

  if (last >= 0 && a->x[last] == x * dim && a->y[last] == y * dim)
    {
      a->dim[last] *= dim;
      a->x[last] = x;
      a->y[last] = y;
      return;
    }
  a->dim[a->rank] = dim;
  a->x[a->rank] = x;
  a->y[a->rank++] = y;
}

static int64_t
axes_count (const Axes *a)
{
  int64_t n = 1;

  for (int i = 0; i < a->rank; i++)
    n *= a->dim[i];
  return n;
}

/* The offsets of the e-th position for both lists of strides. */
static void
axes_place (const Axes *a, int64_t e, int64_t *x, int64_t *y)
{
  *x = *y = 0;
  for (int i = a->rank - 1; i >= 0; i--)
    {
      int64_t index = e % a->dim[i];

      e /= a->dim[i];
      *x += index * a->x[i];
      *y += index * a->y[i];
    }
}

static double
neutral (LoomReduceOp op)
{
  return op == LOOM_REDUCE_SUM ? 0 : op == LOOM_REDUCE_PROD ? 1 : op == LOOM_REDUCE_MAX ? -INFINITY : INFINITY;
}

static double
combine (LoomReduceOp op, double a, double b)
{
  switch (op)
    {
    case LOOM_REDUCE_SUM:
      return a + b;
    case LOOM_REDUCE_PROD:
      return a * b;
    case LOOM_REDUCE_MAX:
      return a != a ? a : b != b || b > a ? b : a;
    case LOOM_REDUCE_MIN:
      return a != a ? a : b != b || b < a ? b : a;
    }
  return a;
}

/* x [n]. */
static double
reduce_row (LoomReduceOp op, const float *x, int64_t n)
{
  double result = 1;

  if (n == 0)
    return neutral (op);
  switch (op)
    {
    case LOOM_REDUCE_SUM:
      CPU_SUM (result, n, x[i]);
      break;
    case LOOM_REDUCE_PROD:
      for (int64_t i = 0; i < n; i++)
        result *= x[i];
      break;
    case LOOM_REDUCE_MAX:
      return cpu_row_max (x, n);
    case LOOM_REDUCE_MIN:
      return cpu_row_min (x, n);
    }
  return result;
}

/* Results o of [n_kept], each over rows [n_reduced][inner] of x. */
static void
part_rows (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Reduce *self = call->self;

  for (int64_t o = from; o < to; o++)
    {
      int64_t at, y, step, unused;
      double result = neutral (self->op);

      axes_place (&self->kept, o, &at, &y);
      for (int64_t r = 0; r < self->n_reduced; r++)
        {
          axes_place (&self->reduced, r, &step, &unused);
          result = combine (self->op, result, reduce_row (self->op, call->x + at + step, self->inner));
        }
      call->y[y] = (float)result;
    }
}

/* Blocks of COLUMNS columns of [n_kept][inner], each over [n_reduced] rows of x; acc [COLUMNS]. */
static void
part_columns (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Reduce *self = call->self;
  int64_t blocks = (self->inner + COLUMNS - 1) / COLUMNS;

  for (int64_t o = from; o < to; o++)
    {
      int64_t first = o % blocks * COLUMNS, n = self->inner - first < COLUMNS ? self->inner - first : COLUMNS;
      int64_t at, y, step, unused;
      double acc[COLUMNS];

      axes_place (&self->kept, o / blocks, &at, &y);
      for (int64_t j = 0; j < n; j++)
        acc[j] = neutral (self->op);
      for (int64_t r = 0; r < self->n_reduced; r++)
        {
          const float *row;

          axes_place (&self->reduced, r, &step, &unused);
          row = call->x + at + step + first;
          switch (self->op)
            {
            case LOOM_REDUCE_SUM:
              for (int64_t j = 0; j < n; j++)
                acc[j] += (double)row[j];
              break;
            case LOOM_REDUCE_PROD:
              for (int64_t j = 0; j < n; j++)
                acc[j] *= (double)row[j];
              break;
            case LOOM_REDUCE_MAX:
            case LOOM_REDUCE_MIN:
              for (int64_t j = 0; j < n; j++)
                acc[j] = combine (self->op, acc[j], row[j]);
              break;
            }
        }
      for (int64_t j = 0; j < n; j++)
        call->y[y + first + j] = (float)acc[j];
    }
}

/* x [inner] in chunks of CHUNK; partial [chunks]. */
static void
part_chunks (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Reduce *self = call->self;

  for (int64_t c = from; c < to; c++)
    call->partial[c]
        = reduce_row (self->op, call->x + c * CHUNK, self->inner - c * CHUNK < CHUNK ? self->inner - c * CHUNK : CHUNK);
}

static LoomStatus
work_reduce (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Reduce *self = (Reduce *)k;
  Call call = { self, b[0], b[1], b[2] };

  if (self->chunks > 0)
    {
      double result = neutral (self->op);

      cpu_share (k, self->ns, self->chunks, part_chunks, &call);
      for (int64_t c = 0; c < self->chunks; c++)
        result = combine (self->op, result, call.partial[c]);
      *call.y = (float)result;
    }
  else if (self->inner_reduced)
    cpu_share (k, self->ns, self->n_kept, part_rows, &call);
  else
    cpu_share (k, self->ns, self->n_kept * ((self->inner + COLUMNS - 1) / COLUMNS), part_columns, &call);
  return LOOM_STATUS_OK;
}

/* Integers are counts and labels of small size, so one plain loop suffices. */
static LoomStatus
work_reduce_i64 (CpuKernel *k, void *const *b, LoomMessage *message)
{
  const LoomReduceAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 }, index[LOOM_MAX_RANK] = { 0 };
  const int64_t *px = b[0];
  int64_t *py = b[1], start = 0;

  loom_desc_strides (x, sx);
  loom_desc_strides (&k->out[0], sy);
  for (int i = 0; i < x->rank; i++)
    if ((a->axes >> i) & 1)
      sy[i] = 0;
  start = a->op == LOOM_REDUCE_SUM    ? 0
          : a->op == LOOM_REDUCE_PROD ? 1
          : a->op == LOOM_REDUCE_MAX  ? INT64_MIN
                                      : INT64_MAX;
  for (int64_t o = 0; o < loom_desc_count (&k->out[0]); o++)
    py[o] = start;
  for (int64_t e = 0; e < loom_desc_count (x); e++, loom_index_next (x->rank, x->dim, index))
    {
      int64_t v = px[loom_index_offset (x->rank, index, sx)], *to = &py[loom_index_offset (x->rank, index, sy)];

      *to = a->op == LOOM_REDUCE_SUM    ? *to + v
            : a->op == LOOM_REDUCE_PROD ? *to * v
            : a->op == LOOM_REDUCE_MAX  ? (v > *to ? v : *to)
                                        : (v < *to ? v : *to);
    }
  return LOOM_STATUS_OK;
}

static LoomStatus
create_reduce (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
               LoomMessage *message)
{
  static const int nhwc[4] = { 0, 2, 3, 1 };
  const LoomReduceAttrs *a = spec->attrs;
  const LoomTensorDesc *x = &spec->in[0], *y = &spec->out[0];
  bool swap = x->rank == 4 && x->layout == LOOM_LAYOUT_NHWC;
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 };
  int innermost = -1;
  Reduce *self;

  if (x->dtype != y->dtype || (x->dtype != LOOM_F32 && x->dtype != LOOM_I64) || x->rank != y->rank)
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, x->dtype == LOOM_F32 ? work_reduce : work_reduce_i64,
                         message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->op = a->op;
  loom_desc_strides (x, sx);
  loom_desc_strides (y, sy);
  for (int d = 0; d < x->rank; d++)
    {
      int axis = swap ? nhwc[d] : d;
      bool reduced = (a->axes >> axis) & 1;

      if (x->dim[axis] == 1)
        continue;
      axes_add (reduced ? &self->reduced : &self->kept, x->dim[axis], sx[axis], reduced ? 0 : sy[axis]);
      innermost = reduced;
    }
  self->inner = 1;
  self->inner_reduced = innermost != 0;
  if (innermost == 1)
    self->inner = self->reduced.dim[--self->reduced.rank];
  /* Columns are written together, so they must be contiguous in the output too. */
  if (innermost == 0 && self->kept.y[self->kept.rank - 1] == 1)
    self->inner = self->kept.dim[--self->kept.rank];
  else if (innermost == 0)
    self->inner_reduced = true;
  self->n_kept = axes_count (&self->kept);
  self->n_reduced = axes_count (&self->reduced);
  self->ns = (double)loom_desc_count (x) * (self->op == LOOM_REDUCE_SUM ? 0.1 : 0.5);
  if (self->inner_reduced && self->n_kept == 1 && self->n_reduced == 1 && self->inner > CHUNK)
    {
      self->chunks = (self->inner + CHUNK - 1) / CHUNK;
      self->k.base.scratch_bytes = (size_t)self->chunks * sizeof (double);
    }
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

/* ---- argreduce: [outer, n, inner] ------------------------------------- */

typedef struct
{
  CpuKernel k;
  int64_t outer, n, inner;
  bool largest;
} ArgReduce;

#define BETTER(v, best, largest) (!((best) != (best)) && ((v) != (v) || ((largest) ? (v) > (best) : (v) < (best))))

/* b: x [outer,n,inner]; y [outer,inner]. */
static LoomStatus
work_argreduce (CpuKernel *k, void *const *b, LoomMessage *message)
{
  ArgReduce *self = (ArgReduce *)k;
  int64_t *y = b[1];

  for (int64_t o = 0; o < self->outer; o++)
    for (int64_t i = 0; i < self->inner; i++)
      {
        const float *row = (const float *)b[0] + o * self->n * self->inner + i;
        const int64_t *irow = (const int64_t *)b[0] + o * self->n * self->inner + i;
        int64_t best = 0;

        if (k->in[0].dtype == LOOM_F32)
          {
            float value = row[0];

            for (int64_t j = 1; j < self->n; j++)
              if (BETTER (row[j * self->inner], value, self->largest))
                {
                  best = j;
                  value = row[j * self->inner];
                }
          }
        else
          for (int64_t j = 1; j < self->n; j++)
            if (self->largest ? irow[j * self->inner] > irow[best * self->inner]
                              : irow[j * self->inner] < irow[best * self->inner])
              best = j;
        y[o * self->inner + i] = best;
      }
  return LOOM_STATUS_OK;
}

static LoomStatus
create_argreduce (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                  LoomMessage *message)
{
  const LoomArgReduceAttrs *a = spec->attrs;
  const LoomTensorDesc *x = &spec->in[0];
  ArgReduce *self;

  if ((x->dtype != LOOM_F32 && x->dtype != LOOM_I64) || spec->out[0].dtype != LOOM_I64 || a->classes != 0
      || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work_argreduce, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->outer = loom_dim_product (x, 0, a->axis);
  self->n = x->dim[a->axis];
  self->inner = loom_dim_product (x, a->axis + 1, x->rank);
  self->largest = a->largest;
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_reduce) = { "reduce", sizeof (LoomReduceAttrs), create_reduce };
const CpuPrimitive ISA (cpu_argreduce) = { "argreduce", sizeof (LoomArgReduceAttrs), create_argreduce };
