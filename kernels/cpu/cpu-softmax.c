/* softmax, cross-entropy and their gradients in own loops over [outer, n, inner].
 *
 * If the classes are contiguous (inner = 1), a row is vectorised along itself; otherwise blocks of neighbouring rows
 * are, one class after another. The second form is also used for short rows (a classifier's logits): a block of them is
 * transposed into a local buffer, so that the vectors run over the batch. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-math.h"
#include "kernels/cpu/cpu-sum.h"

#define BLOCK     64
#define SHORT_ROW 64 /* rows up to this long are transposed */

typedef struct
{
  CpuKernel k;
  int64_t outer, n, inner, blocks;
  bool log, transposed;
  int64_t ignore_index;
  double ns;
} Rows;

typedef struct
{
  const Rows *self;
  const float *x,
      *g; /* [outer, n, inner]; a gradient of softmax has y in place of x, one of cross-entropy g [outer, inner] */
  const float *lse_in;   /* [outer, inner] log Σ exp, of cross-entropy's gradient */
  const int64_t *target; /* [outer, inner] */
  float *y, *lse;        /* [outer, n, inner], or losses [outer, inner]; [outer, inner] */
} Call;

/* One row of softmax or log_softmax: x and y [n]; y may be x. Returns log Σ exp; writes nothing when y is NULL. */
static float
softmax_row (const float *x, float *y, int64_t n, bool log)
{
  float max = cpu_row_max (x, n), sum, rest;
  double total;

  if (max == -INFINITY)
    max = 0; /* all are -inf: the sum is 0, its logarithm -inf */
  if (y == NULL || log)
    CPU_SUM (total, n, cpu_exp (x[i] - max));
  else
    {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++)
        y[i] = cpu_exp (x[i] - max);
      CPU_SUM (total, n, y[i]);
    }
  sum = (float)total;
  /* The logarithm is subtracted from x - max, because it would lose accuracy if it were added to a large maximum. */
  rest = cpu_log (sum);
  if (y == NULL)
    return max + rest;
  if (log)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      y[i] = (x[i] - max) - rest;
  else
    {
      float scale = 1.0f / sum;

      for (int64_t i = 0; i < n; i++)
        y[i] *= scale;
    }
  return max + rest;
}

/* Up to BLOCK neighbouring rows with class stride `inner`: x [n, rows]; max [rows]: the largest of each; rest [rows]:
 * log Σ exp minus max. */
static void
block_lse (const float *x, int64_t n, int64_t inner, int64_t rows, float *max, float *rest)
{
  double sum[BLOCK] = { 0 };

  for (int64_t i = 0; i < rows; i++)
    max[i] = x[i];
  for (int64_t j = 1; j < n; j++)
    for (int64_t i = 0; i < rows; i++)
      {
        float v = x[j * inner + i];

        max[i] = ((v > max[i]) | (v != v)) ? v : max[i];
      }
  for (int64_t i = 0; i < rows; i++)
    max[i] = max[i] == -INFINITY ? 0 : max[i];
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < rows; i++)
      sum[i] += (double)cpu_exp (x[j * inner + i] - max[i]);
  for (int64_t i = 0; i < rows; i++)
    rest[i] = cpu_log ((float)sum[i]);
}

/* from [rows, n]; to [n, BLOCK], of which the first `rows` columns are written. */
static void
transpose (float *to, const float *from, int64_t rows, int64_t n)
{
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++)
      to[j * BLOCK + i] = from[i * n + j];
}

/* from [n, BLOCK], of which the first `rows` columns are read; to [rows, n]. */
static void
transpose_back (float *to, const float *from, int64_t rows, int64_t n)
{
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < n; j++)
      to[i * n + j] = from[j * BLOCK + i];
}

/* Calls BODY with x_at (offset of class 0 of the first row), row (its number) and rows. */
#define FOR_BLOCKS(self, from, to, ...)                                                                                \
  for (int64_t block_ = (from); block_ < (to); block_++)                                                               \
    {                                                                                                                  \
      int64_t outer_ = block_ / (self)->blocks, inner_ = block_ % (self)->blocks * BLOCK;                              \
      int64_t x_at = outer_ * (self)->n * (self)->inner + inner_ * ((self)->transposed ? (self)->n : 1);               \
      int64_t row = outer_ * (self)->inner + inner_;                                                                   \
      int64_t rows = (self)->inner - inner_ < BLOCK ? (self)->inner - inner_ : BLOCK;                                  \
      (void)row, (void)rows;                                                                                           \
      __VA_ARGS__                                                                                                      \
    }

static void
part_softmax_long (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;

  FOR_BLOCKS (self, from, to, softmax_row (call->x + x_at, call->y + x_at, self->n, self->log);)
}

static void
part_softmax (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, apart = self->transposed ? BLOCK : self->inner;
  float local[SHORT_ROW * BLOCK];

  FOR_BLOCKS (self, from, to, {
    float max[BLOCK], rest[BLOCK];
    const float *x = self->transposed ? local : call->x + x_at;
    float *y = self->transposed ? local : call->y + x_at;

    if (self->transposed)
      transpose (local, call->x + x_at, rows, n);
    block_lse (x, n, apart, rows, max, rest);
    for (int64_t j = 0; j < n; j++)
      _Pragma ("GCC ivdep") for (int64_t i = 0; i < rows; i++)
      {
        float v = (x[j * apart + i] - max[i]) - rest[i];

        y[j * apart + i] = self->log ? v : cpu_exp (v);
      }
    if (self->transposed)
      transpose_back (call->y + x_at, local, rows, n);
  })
}

static void
part_softmax_grad_long (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n;

  FOR_BLOCKS (self, from, to, {
    const float *g = call->g + x_at;
    const float *y = call->x + x_at;
    float *dx = call->y + x_at;
    double total;
    float shift;

    if (self->log)
      CPU_SUM (total, n, g[i]);
    else
      CPU_SUM (total, n, g[i] * y[i]);
    shift = (float)total;
    _Pragma ("GCC ivdep") for (int64_t i = 0; i < n; i++) dx[i]
        = self->log ? g[i] - cpu_exp (y[i]) * shift : y[i] * (g[i] - shift);
  })
}

static void
part_softmax_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, apart = self->transposed ? BLOCK : self->inner;
  float local_g[SHORT_ROW * BLOCK], local_y[SHORT_ROW * BLOCK];

  FOR_BLOCKS (self, from, to, {
    const float *g = self->transposed ? local_g : call->g + x_at;
    const float *y = self->transposed ? local_y : call->x + x_at;
    float *dx = self->transposed ? local_g : call->y + x_at;
    double sum[BLOCK] = { 0 };

    if (self->transposed)
      {
        transpose (local_g, call->g + x_at, rows, n);
        transpose (local_y, call->x + x_at, rows, n);
      }
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < rows; i++)
        sum[i] += (double)(self->log ? g[j * apart + i] : g[j * apart + i] * y[j * apart + i]);
    for (int64_t j = 0; j < n; j++)
      _Pragma ("GCC ivdep") for (int64_t i = 0; i < rows; i++)
      {
        int64_t e = j * apart + i;

        dx[e] = self->log ? g[e] - cpu_exp (y[e]) * (float)sum[i] : y[e] * (g[e] - (float)sum[i]);
      }
    if (self->transposed)
      transpose_back (call->y + x_at, local_g, rows, n);
  })
}

static void
part_entropy (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, apart = self->transposed ? BLOCK : self->inner;
  bool one = self->inner == 1;
  float local[SHORT_ROW * BLOCK];

  FOR_BLOCKS (self, from, to, {
    float max[BLOCK];
    float *lse = call->lse + row;
    const float *x = self->transposed ? local : call->x + x_at;

    if (self->transposed)
      transpose (local, call->x + x_at, rows, n);
    if (one)
      lse[0] = softmax_row (x, NULL, n, false);
    else
      {
        block_lse (x, n, apart, rows, max, lse);
        for (int64_t i = 0; i < rows; i++)
          lse[i] += max[i];
      }
    for (int64_t i = 0; i < rows; i++)
      {
        int64_t t = call->target[row + i];

        call->y[row + i] = t == self->ignore_index ? 0 : lse[i] - x[t * apart + i];
      }
  })
}

static void
part_entropy_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, apart = self->transposed ? BLOCK : self->inner;
  float local[SHORT_ROW * BLOCK];

  FOR_BLOCKS (self, from, to, {
    const float *x = self->transposed ? local : call->x + x_at;
    const float *lse = call->lse_in + row;
    float *dx = self->transposed ? local : call->y + x_at;
    float g[BLOCK] = { 0 }, of_target[BLOCK] = { 0 }; /* the target's logit, which dx may overwrite */

    if (self->transposed)
      transpose (local, call->x + x_at, rows, n);
    for (int64_t i = 0; i < rows; i++)
      if (call->target[row + i] != self->ignore_index)
        {
          g[i] = call->g[row + i];
          of_target[i] = x[call->target[row + i] * apart + i];
        }
    if (self->inner == 1)
      {
        float scale = g[0];
        float shift = lse[0];

        _Pragma ("GCC ivdep") for (int64_t i = 0; i < n; i++) dx[i] = cpu_exp (x[i] - shift) * scale;
      }
    else
      for (int64_t j = 0; j < n; j++)
        _Pragma ("GCC ivdep") for (int64_t i = 0; i < rows; i++) dx[j * apart + i]
            = cpu_exp (x[j * apart + i] - lse[i]) * g[i];
    for (int64_t i = 0; i < rows; i++)
      {
        int64_t t = call->target[row + i];

        if (t != self->ignore_index)
          dx[t * apart + i] = (cpu_exp (of_target[i] - lse[i]) - 1.0f) * g[i];
        else /* for all logits, including NaN */
          for (int64_t j = 0; j < n; j++)
            dx[j * apart + i] = 0;
      }
    if (self->transposed)
      transpose_back (call->y + x_at, local, rows, n);
  })
}

static LoomStatus
check_targets (const Rows *self, const int64_t *target, LoomMessage *message)
{
  for (int64_t i = 0; i < self->outer * self->inner; i++)
    if ((uint64_t)target[i] >= (uint64_t)self->n && target[i] != self->ignore_index)
      return cpu_index_fault (message, "the target class", target[i], self->n);
  return LOOM_STATUS_OK;
}

static LoomStatus
share (Rows *self, CpuPart part, Call *call)
{
  call->self = self;
  cpu_share (&self->k, self->ns, self->outer * self->blocks, part, call);
  return LOOM_STATUS_OK;
}

static LoomStatus
work_softmax (CpuKernel *k, void *const *b, LoomMessage *message)
{
  return share ((Rows *)k, ((Rows *)k)->inner == 1 ? part_softmax_long : part_softmax, &(Call){ .x = b[0], .y = b[1] });
}

static LoomStatus
work_softmax_grad (CpuKernel *k, void *const *b, LoomMessage *message)
{
  return share ((Rows *)k, ((Rows *)k)->inner == 1 ? part_softmax_grad_long : part_softmax_grad,
                &(Call){ .g = b[0], .x = b[1], .y = b[2] });
}

static LoomStatus
work_entropy (CpuKernel *k, void *const *b, LoomMessage *message)
{
  LoomStatus status = check_targets ((Rows *)k, b[1], message);

  if (status != LOOM_STATUS_OK)
    return status;
  return share ((Rows *)k, part_entropy, &(Call){ .x = b[0], .target = b[1], .y = b[2], .lse = b[3] });
}

static LoomStatus
work_entropy_grad (CpuKernel *k, void *const *b, LoomMessage *message)
{
  LoomStatus status = check_targets ((Rows *)k, b[1], message);

  if (status != LOOM_STATUS_OK)
    return status;
  return share ((Rows *)k, part_entropy_grad,
                &(Call){ .x = b[0], .target = b[1], .lse_in = b[2], .g = b[3], .y = b[4] });
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, int axis, CpuWork work, CpuKernel **kernel,
        LoomMessage *message)
{
  const LoomTensorDesc *x = &spec->in[0];
  Rows *self;

  if (!cpu_all_f32 (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || x->rank <= axis)
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->outer = loom_dim_product (x, 0, axis);
  self->n = x->dim[axis];
  self->inner = loom_dim_product (x, axis + 1, x->rank);
  self->transposed = self->inner == 1 && self->n <= SHORT_ROW && self->outer > 1;
  if (self->transposed)
    {
      self->inner = self->outer;
      self->outer = 1;
    }
  self->blocks = (self->inner + BLOCK - 1) / BLOCK;
  if (self->n == 0)
    self->outer = 0;
  self->ns = 0.7 * (double)loom_desc_count (x);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

static LoomStatus
create_softmax (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                LoomMessage *message)
{
  const LoomSoftmaxAttrs *a = spec->attrs;
  bool grad = spec->n_in == 2;
  LoomStatus status
      = create (device, spec, attrs_size, a->axis, grad ? work_softmax_grad : work_softmax, kernel, message);

  if (status == LOOM_STATUS_OK)
    {
      ((Rows *)*kernel)->log = a->log;
      (*kernel)->base.inplace[0] = grad ? 3 : 1;
    }
  return status;
}

static LoomStatus
create_entropy (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                LoomMessage *message)
{
  const LoomCrossEntropyAttrs *a = spec->attrs;
  bool grad = spec->n_in == 4;
  LoomStatus status = LOOM_STATUS_UNSUPPORTED;

  if (spec->in[1].dtype == LOOM_I64 && a->classes == 0)
    status = create (device, spec, attrs_size, 1, grad ? work_entropy_grad : work_entropy, kernel, message);
  if (status != LOOM_STATUS_OK)
    return status;
  ((Rows *)*kernel)->ignore_index = a->ignore_index;
  /* dlogits may have the memory of the logits: a row, or block of rows, is read before it is written. */
  if (grad)
    (*kernel)->base.inplace[0] = 1;
  return status;
}

const CpuPrimitive ISA (cpu_softmax) = { "softmax", sizeof (LoomSoftmaxAttrs), create_softmax };
const CpuPrimitive ISA (cpu_softmax_grad) = { "softmax_grad", sizeof (LoomSoftmaxAttrs), create_softmax };
const CpuPrimitive ISA (cpu_cross_entropy) = { "cross_entropy", sizeof (LoomCrossEntropyAttrs), create_entropy };
const CpuPrimitive ISA (cpu_cross_entropy_grad)
    = { "cross_entropy_grad", sizeof (LoomCrossEntropyAttrs), create_entropy };
