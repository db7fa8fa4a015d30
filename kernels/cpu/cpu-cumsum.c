/* cumsum: running sums along an axis.
 *
 * Sums are carried in f64, as in PyTorch, so that a long row does not drift. If the axis is not the last one,
 * neighbouring columns are summed together, with sixteen accumulators in vectors. If it is, four rows are interleaved,
 * because each sum depends on the one before it. Threads share columns and never divide a row, so the bits do not
 * depend on the number of threads. */
#include "kernels/cpu/cpu.h"

#define COLUMNS 16
#define ROWS    4

typedef struct
{
  CpuKernel k;
  int64_t n, inner, blocks; /* blocks of columns in one row */
  bool exclusive, reverse;
  double ns;
  void (*part) (void *context, int64_t from, int64_t to);
} Cumsum;

typedef struct
{
  const Cumsum *self;
  const void *x; /* [outer, n, inner] */
  void *y;       /* as x */
} Call;

/* m rows of n elements with stride n, from their first to their last element or back. */
#define SUM_ROWS(T, SUM)                                                                                               \
  static inline                                                                                                        \
      __attribute__ ((always_inline)) void rows_##T (const T *x, T *y, int64_t n, int m, bool exclusive, bool reverse) \
  {                                                                                                                    \
    SUM sum[ROWS] = { 0 };                                                                                             \
                                                                                                                       \
    for (int64_t k = 0; k < n; k++)                                                                                    \
      for (int r = 0; r < m; r++)                                                                                      \
        {                                                                                                              \
          int64_t at = r * n + (reverse ? n - 1 - k : k);                                                              \
          SUM before = sum[r];                                                                                         \
                                                                                                                       \
          sum[r] += x[at];                                                                                             \
          y[at] = (T)(exclusive ? before : sum[r]);                                                                    \
        }                                                                                                              \
  }

SUM_ROWS (float, double)
SUM_ROWS (int64_t, int64_t)
SUM_ROWS (int32_t, int64_t)

#define CUMSUM(T, SUM)                                                                                                 \
  static void cumsum_##T (void *context, int64_t from, int64_t to)                                                     \
  {                                                                                                                    \
    const Call *call = context;                                                                                        \
    const Cumsum *self = call->self;                                                                                   \
    int64_t n = self->n, inner = self->inner, step = self->reverse ? -inner : inner;                                   \
                                                                                                                       \
    if (inner == 1)                                                                                                    \
      {                                                                                                                \
        for (; from + ROWS <= to; from += ROWS)                                                                        \
          rows_##T ((const T *)call->x + from * n, (T *)call->y + from * n, n, ROWS, self->exclusive, self->reverse);  \
        for (; from < to; from++)                                                                                      \
          rows_##T ((const T *)call->x + from * n, (T *)call->y + from * n, n, 1, self->exclusive, self->reverse);     \
        return;                                                                                                        \
      }                                                                                                                \
    for (int64_t b = from; b < to; b++)                                                                                \
      {                                                                                                                \
        int64_t first = b % self->blocks * COLUMNS, wide = inner - first < COLUMNS ? inner - first : COLUMNS;          \
        int64_t start = b / self->blocks * n * inner + first + (self->reverse ? (n - 1) * inner : 0);                  \
        const T *x = (const T *)call->x + start;                                                                       \
        T *y = (T *)call->y + start;                                                                                   \
        SUM sum[COLUMNS] = { 0 };                                                                                      \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++, x += step, y += step)                                                          \
          for (int64_t j = 0; j < wide; j++)                                                                           \
            {                                                                                                          \
              SUM before = sum[j];                                                                                     \
                                                                                                                       \
              sum[j] += x[j];                                                                                          \
              y[j] = (T)(self->exclusive ? before : sum[j]);                                                           \
            }                                                                                                          \
      }                                                                                                                \
  }

CUMSUM (float, double)
CUMSUM (int64_t, int64_t)
CUMSUM (int32_t, int64_t)

static LoomStatus
work_cumsum (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Cumsum *self = (Cumsum *)k;
  Call call = { self, b[0], b[1] };
  int64_t rows = self->n * self->inner > 0 ? loom_desc_count (&k->in[0]) / (self->n * self->inner) : 0;

  cpu_share (k, self->ns, rows * self->blocks, self->part, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomCumsumAttrs *attrs = spec->attrs;
  const LoomTensorDesc *x = &spec->in[0];
  Cumsum *self;

  if (!cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || x->dtype != spec->out[0].dtype
      || (x->dtype != LOOM_F32 && x->dtype != LOOM_I64 && x->dtype != LOOM_I32))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work_cumsum, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->n = x->dim[attrs->axis];
  self->inner = loom_dim_product (x, attrs->axis + 1, x->rank);
  self->blocks = (self->inner + COLUMNS - 1) / COLUMNS;
  self->exclusive = attrs->exclusive;
  self->reverse = attrs->reverse;
  self->part = x->dtype == LOOM_F32 ? cumsum_float : x->dtype == LOOM_I64 ? cumsum_int64_t : cumsum_int32_t;
  self->ns = (double)loom_desc_count (x);
  self->k.base.inplace[0] = 1;
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_cumsum) = { "cumsum", sizeof (LoomCumsumAttrs), create };
