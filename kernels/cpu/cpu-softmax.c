/* softmax, cross-entropy and their gradients in own loops over [outer, n, inner].
 *
 * Where the classes lie side by side (inner = 1) a row is vectorised along itself;
 * otherwise blocks of neighbouring rows are, one class after the other. The second
 * form is the general one with blocks of 1. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-math.h"
#include "kernels/cpu/cpu-sum.h"

#define BLOCK 64

typedef struct
{
  CpuKernel k;
  int64_t outer, n, inner, blocks;
  bool log;
  int64_t ignore_index;
  double ns;
} Rows;

typedef struct
{
  const Rows *self;
  const float *x, *g, *lse_in;
  const int64_t *target;
  float *y, *lse;
} Call;

/* One row of softmax or log_softmax; y may be x. Returns log Σ exp; writes nothing
 * when y is NULL. */
static float
softmax_row (const float *x, float *y, int64_t n, bool log)
{
  float max = cpu_row_max (x, n), sum, lse;
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
  lse = max + cpu_log (sum);
  if (y == NULL)
    return lse;
  if (log)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      y[i] = x[i] - lse;
  else
    {
      float scale = 1.0f / sum;

      for (int64_t i = 0; i < n; i++)
        y[i] *= scale;
    }
  return lse;
}

/* Up to BLOCK neighbouring rows, classes `inner` apart: lse of each. */
static void
block_lse (const float *x, int64_t n, int64_t inner, int64_t rows, float *max, float *lse)
{
  double sum[BLOCK] = { 0 };

  for (int64_t i = 0; i < rows; i++)
    max[i] = x[i];
  for (int64_t j = 1; j < n; j++)
    for (int64_t i = 0; i < rows; i++)
      {
        float v = x[j * inner + i];

        max[i] = (v > max[i]) | (v != v) ? v : max[i];
      }
  for (int64_t i = 0; i < rows; i++)
    max[i] = max[i] == -INFINITY ? 0 : max[i];
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < rows; i++)
      sum[i] += (double)cpu_exp (x[j * inner + i] - max[i]);
  for (int64_t i = 0; i < rows; i++)
    lse[i] = max[i] + cpu_log ((float)sum[i]);
}

/* Calls BODY with x_at (offset of class 0 of the first row), row (its number) and rows. */
#define FOR_BLOCKS(self, from, to, ...)                                                                                \
  for (int64_t block_ = (from); block_ < (to); block_++)                                                               \
    {                                                                                                                  \
      int64_t outer_ = block_ / (self)->blocks, inner_ = block_ % (self)->blocks * BLOCK;                              \
      int64_t x_at = outer_ * (self)->n * (self)->inner + inner_, row = outer_ * (self)->inner + inner_;               \
      int64_t rows = (self)->inner - inner_ < BLOCK ? (self)->inner - inner_ : BLOCK;                                  \
      (void)row;                                                                                                       \
      __VA_ARGS__                                                                                                      \
    }

static void
part_softmax (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, inner = self->inner;

  FOR_BLOCKS (self, from, to, {
    float max[BLOCK], lse[BLOCK];

    if (inner == 1)
      {
        softmax_row (call->x + x_at, call->y + x_at, n, self->log);
        continue;
      }
    block_lse (call->x + x_at, n, inner, rows, max, lse);
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < rows; i++)
        {
          float v = call->x[x_at + j * inner + i] - lse[i];

          call->y[x_at + j * inner + i] = self->log ? v : cpu_exp (v);
        }
  })
}

static void
part_softmax_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, inner = self->inner;

  FOR_BLOCKS (self, from, to, {
    const float *g = call->g + x_at;
    const float *y = call->x + x_at;
    float *dx = call->y + x_at;
    double sum[BLOCK] = { 0 };

    if (inner == 1)
      {
        double total;
        float shift;

        if (self->log)
          CPU_SUM (total, n, g[i]);
        else
          CPU_SUM (total, n, g[i] * y[i]);
        shift = (float)total;
        if (self->log)
          {
            _Pragma ("GCC ivdep") for (int64_t i = 0; i < n; i++) dx[i] = g[i] - cpu_exp (y[i]) * shift;
          }
        else
          {
            _Pragma ("GCC ivdep") for (int64_t i = 0; i < n; i++) dx[i] = y[i] * (g[i] - shift);
          }
        continue;
      }
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < rows; i++)
        sum[i] += (double)(self->log ? g[j * inner + i] : g[j * inner + i] * y[j * inner + i]);
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < rows; i++)
        {
          int64_t e = j * inner + i;

          dx[e] = self->log ? g[e] - cpu_exp (y[e]) * (float)sum[i] : y[e] * (g[e] - (float)sum[i]);
        }
  })
}

static void
part_entropy (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, inner = self->inner;

  FOR_BLOCKS (self, from, to, {
    float max[BLOCK];
    float *lse = call->lse + row;

    if (inner == 1)
      lse[0] = softmax_row (call->x + x_at, NULL, n, false);
    else
      block_lse (call->x + x_at, n, inner, rows, max, lse);
    for (int64_t i = 0; i < rows; i++)
      {
        int64_t t = call->target[row + i];

        call->y[row + i] = t == self->ignore_index ? 0 : lse[i] - call->x[x_at + t * inner + i];
      }
  })
}

static void
part_entropy_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;
  int64_t n = self->n, inner = self->inner;

  FOR_BLOCKS (self, from, to, {
    const float *x = call->x + x_at;
    const float *lse = call->lse_in + row;
    float *dx = call->y + x_at;
    float g[BLOCK] = { 0 };

    for (int64_t i = 0; i < rows; i++)
      g[i] = call->target[row + i] == self->ignore_index ? 0 : call->g[row + i];
    if (inner == 1)
      {
        float scale = g[0];
        float shift = lse[0];

        _Pragma ("GCC ivdep") for (int64_t i = 0; i < n; i++) dx[i] = cpu_exp (x[i] - shift) * scale;
      }
    else
      for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < rows; i++)
          dx[j * inner + i] = cpu_exp (x[j * inner + i] - lse[i]) * g[i];
    for (int64_t i = 0; i < rows; i++)
      {
        int64_t t = call->target[row + i];

        if (t != self->ignore_index)
          dx[t * inner + i] = (cpu_exp (x[t * inner + i] - lse[i]) - 1.0f) * g[i];
        else /* whatever the logits are, NaN included */
          for (int64_t j = 0; j < n; j++)
            dx[j * inner + i] = 0;
      }
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
  return share ((Rows *)k, part_softmax, &(Call){ .x = b[0], .y = b[1] });
}

static LoomStatus
work_softmax_grad (CpuKernel *k, void *const *b, LoomMessage *message)
{
  return share ((Rows *)k, part_softmax_grad, &(Call){ .g = b[0], .x = b[1], .y = b[2] });
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

  if (spec->in[1].dtype == LOOM_I64)
    status = create (device, spec, attrs_size, 1, grad ? work_entropy_grad : work_entropy, kernel, message);
  if (status == LOOM_STATUS_OK)
    ((Rows *)*kernel)->ignore_index = a->ignore_index;
  return status;
}

const CpuPrimitive ISA (cpu_softmax) = { "softmax", sizeof (LoomSoftmaxAttrs), create_softmax };
const CpuPrimitive ISA (cpu_softmax_grad) = { "softmax_grad", sizeof (LoomSoftmaxAttrs), create_softmax };
const CpuPrimitive ISA (cpu_cross_entropy) = { "cross_entropy", sizeof (LoomCrossEntropyAttrs), create_entropy };
const CpuPrimitive ISA (cpu_cross_entropy_grad)
    = { "cross_entropy_grad", sizeof (LoomCrossEntropyAttrs), create_entropy };
