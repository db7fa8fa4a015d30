/* Batch normalisation with its gradient.
 *
 * x is viewed as [N, C, area] (plain) or [rows, C] (NHWC, or area 1). The NHWC statistics are computed by chunks of
 * rows, each relative to the first row so that single precision suffices, and the chunks are added in double in their
 * order, so the result does not depend on the number of threads.
 *
 * bf16 rows are converted to f32 one at a time on the stack, so that memory traffic is 16-bit; statistics, scale and
 * the gradients of weight and bias are f32.
 *
 * With a ReLU after it, the gradient of batch norm recomputes from x and the statistics where the ReLU was active: two
 * more operations per element in memory-bound loops, and the ReLU's result need not be kept. A residual is added to a
 * row or a plane right after it is written, while it is in the cache. Its gradient dr, the gradient that passes the
 * ReLU, is written while the sums are computed, and the writing pass reads it instead of g. */
#include "kernels/cpu/cpu-norm.h"

/* ---- batch norm, contiguous channels ---------------------------------- ------- */

/* Rounds a row as a store to bf16 and a load would. */
static void
round_row (const Call *call, float *values)
{
  uint16_t kept[BF16_MAX];

  if (!call->self->bf16)
    return;
  call->self->k.device->narrow (kept, LOOM_BF16, values, call->self->C);
  call->self->k.device->widen (values, kept, LOOM_BF16, call->self->C);
}

/* y = y + r, and no less than floor; n elements. */
static void
add_residual (float *y, const float *r, int64_t n, float floor)
{
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++)
    {
      float v = y[i] + r[i];

      y[i] = v < floor ? floor : v;
    }
}

/* dr [n] = g + h where y is above 0, else 0; h may be NULL. */
static void
gate_residual (float *dr, const float *g, const float *h, const float *y, int64_t n)
{
  if (h == NULL)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      dr[i] = y[i] > 0 ? g[i] : 0;
  else
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      dr[i] = y[i] > 0 ? g[i] + h[i] : 0;
}

/* The cotangent of row r in f32, in the buffer or in place. With a residual it is the part that passes the ReLU, which
 * is also written to dr. */
static const float *
row_of_gradient (const Call *call, int64_t r, float *buffer)
{
  const Norm *self = call->self;
  int64_t C = self->C;
  float y_buffer[BF16_MAX], h_buffer[BF16_MAX], *dr;
  const float *g = row (call, call->g, r, buffer), *h;

  if (!self->residual)
    return g;
  dr = self->bf16 ? buffer : call->dr + r * C;
  h = call->other != NULL ? row (call, call->other, r, h_buffer) : NULL;
  gate_residual (dr, g, h, row (call, call->open, r, y_buffer), C);
  if (self->bf16)
    {
      uint16_t *kept = (uint16_t *)(void *)call->dr + r * C;

      self->k.device->narrow (kept, LOOM_BF16, dr, C);
      self->k.device->widen (dr, kept, LOOM_BF16, C);
    }
  return dr;
}

/* Per chunk q of rows: partial [q, 2, C] = Σ (x - x₀) and Σ (x - x₀)², or Σ g and Σ g·(x - mean); x and g [N, C]. */
static void
part_column_sums (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t C = call->self->C, N = call->self->N;
  float x_buffer[BF16_MAX], other[BF16_MAX];

  for (int64_t q = from; q < to; q++)
    {
      const float *origin = call->g == NULL ? row (call, call->x, 0, other) : NULL;
      float *first = call->partial + q * 2 * C, *second = first + C;
      int64_t end = (q + 1) * CHUNK_ROWS < N ? (q + 1) * CHUNK_ROWS : N;

      memset (first, 0, (size_t)(2 * C) * sizeof *first);
      for (int64_t r = q * CHUNK_ROWS; r < end; r++)
        {
          const float *x = row (call, call->x, r, x_buffer);

          if (call->g == NULL)
            {
#pragma GCC ivdep
              for (int64_t c = 0; c < C; c++)
                {
                  float d = x[c] - origin[c];

                  first[c] += d;
                  second[c] += d * d;
                }
            }
          else if (!call->self->relu || call->self->residual)
            {
              const float *g = row_of_gradient (call, r, other), *mean = call->mean_in;

#pragma GCC ivdep
              for (int64_t c = 0; c < C; c++)
                {
                  first[c] += g[c];
                  second[c] += g[c] * (x[c] - mean[c]);
                }
            }
          else
            {
              const float *g = row (call, call->g, r, other), *mean = call->mean_in;
              const float *relu_scale = call->relu_scale, *threshold = call->threshold;

#pragma GCC ivdep
              for (int64_t c = 0; c < C; c++)
                {
                  float masked = x[c] * relu_scale[c] + threshold[c] > 0 ? g[c] : 0;

                  first[c] += masked;
                  second[c] += masked * (x[c] - mean[c]);
                }
            }
        }
    }
}

/* y [N, C] = x·scale + shift, with scale and shift [C], and the residual. */
static void
part_column_apply (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t C = call->self->C;
  float x_buffer[BF16_MAX], r_buffer[BF16_MAX];

  for (int64_t r = from; r < to; r++)
    {
      const float *x = row (call, call->x, r, x_buffer), *scale = call->scale, *shift = call->shift;
      float *y = call->self->bf16 ? x_buffer : call->y + r * C;

      if (call->self->relu && !call->self->residual)
#pragma GCC ivdep
        for (int64_t c = 0; c < C; c++)
          {
            float v = x[c] * scale[c] + shift[c];

            y[c] = v < 0 ? 0 : v;
          }
      else
#pragma GCC ivdep
        for (int64_t c = 0; c < C; c++)
          y[c] = x[c] * scale[c] + shift[c];
      if (call->self->residual)
        {
          round_row (call, y);
          add_residual (y, row (call, call->added, r, r_buffer), C, call->self->relu ? 0 : -INFINITY);
        }
      put_row (call, r, y);
    }
}

/* dx [N, C] = g·scale + (x - mean)·slope + shift, all but g and x [C]. */
static void
part_column_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t C = call->self->C;
  float x_buffer[BF16_MAX], g_buffer[BF16_MAX];

  for (int64_t r = from; r < to; r++)
    {
      const float *x = row (call, call->x, r, x_buffer), *mean = call->mean_in;
      const float *g = row (call, call->self->residual ? call->dr : call->g, r, g_buffer);
      const float *scale = call->scale, *shift = call->shift, *slope = call->slope;
      const float *relu_scale = call->relu_scale, *threshold = call->threshold;
      float *y = call->self->bf16 ? x_buffer : call->y + r * C;

      if (call->self->relu && !call->self->residual)
#pragma GCC ivdep
        for (int64_t c = 0; c < C; c++)
          {
            float masked = x[c] * relu_scale[c] + threshold[c] > 0 ? g[c] : 0;

            y[c] = masked * scale[c] + ((x[c] - mean[c]) * slope[c] + shift[c]);
          }
      else
#pragma GCC ivdep
        for (int64_t c = 0; c < C; c++)
          y[c] = g[c] * scale[c] + ((x[c] - mean[c]) * slope[c] + shift[c]);
      put_row (call, r, y);
    }
}

/* ---- batch norm, channels as planes ----------------------------------- */

/* Plane q of y [N·C, area] = (x - centre)·scale + shift, the residual, and no less than 0 with a ReLU. NaN stays. */
static void
apply_plane (const Call *call, int64_t q, float centre, float scale, float shift)
{
  const Norm *self = call->self;
  int64_t area = self->area;
  const float *restrict x = call->x + q * area;
  float *y = call->y + q * area, lowest = self->relu ? 0 : -INFINITY, floor = self->residual ? -INFINITY : lowest;

#pragma GCC ivdep
  for (int64_t i = 0; i < area; i++)
    {
      float v = (x[i] - centre) * scale + shift;

      y[i] = v < floor ? floor : v;
    }
  if (self->residual)
    add_residual (y, call->added + q * area, area, lowest);
}

/* y [N, C, area] by channel c, and mean and var [C]. */
static void
part_plane (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Norm *self = call->self;
  int64_t N = self->N, C = self->C, area = self->area;
  double m = (double)(N * area);

  for (int64_t c = from; c < to; c++)
    {
      double mean = 0, var = 0, part;
      float scale, shift, rstd;

      for (int64_t n = 0; n < N; n++)
        {
          const float *x = call->x + (n * C + c) * area;

          CPU_SUM (part, area, x[i]);
          mean += part;
        }
      mean /= m;
      for (int64_t n = 0; n < N; n++)
        {
          const float *x = call->x + (n * C + c) * area;
          float centre = (float)mean;

          CPU_SUM (part, area, (x[i] - centre) * (x[i] - centre));
          var += part;
        }
      var /= m;
      rstd = (float)(1 / sqrt (var + self->eps));
      scale = self->affine ? rstd * call->weight[c] : rstd;
      shift = self->affine ? call->bias[c] : 0;
      for (int64_t n = 0; n < N; n++)
        apply_plane (call, n * C + c, (float)mean, scale, shift);
      call->mean[c] = (float)mean;
      call->var[c] = (float)var;
    }
}

/* The same from statistics that are given, by plane q of [N·C, area]. */
static void
part_plane_apply (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Norm *self = call->self;
  int64_t C = self->C;

  for (int64_t q = from; q < to; q++)
    {
      int64_t c = q % C;
      float rstd = (float)(1 / sqrt (call->var_in[c] + self->eps));

      apply_plane (call, q, call->mean_in[c], self->affine ? rstd * call->weight[c] : rstd,
                   self->affine ? call->bias[c] : 0);
    }
}

/* Plane q of the cotangent [N·C, area]; with a residual the part that passes the ReLU, which is also written to dr. */
static const float *
plane_of_gradient (const Call *call, int64_t q)
{
  int64_t area = call->self->area, at = q * area;

  if (!call->self->residual)
    return call->g + at;
  gate_residual (call->dr + at, call->g + at, call->other != NULL ? call->other + at : NULL, call->open + at, area);
  return call->dr + at;
}

/* dx [N, C, area] by channel c, and dweight and dbias [C]. */
static void
part_plane_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Norm *self = call->self;
  int64_t N = self->N, C = self->C, area = self->area;
  double m = (double)(N * area);

  for (int64_t c = from; c < to; c++)
    {
      float mean = call->mean_in[c], scale, shift, slope;
      double sum = 0, dot = 0, part, rstd = 1 / sqrt (call->var_in[c] + self->eps);
      /* Without a ReLU every element is active: 0·x + 1 > 0, unless x is not finite, and then the sums are not
       * either. */
      float relu_scale = 0, threshold = 1;

      scale = (float)((self->affine ? call->weight[c] : 1) * rstd);
      if (self->relu && !self->residual)
        {
          relu_scale = scale;
          threshold = self->affine ? call->bias[c] : 0;
        }
#define RELU_GRAD(i) ((x[i] - mean) * relu_scale + threshold > 0 ? g[i] : 0)
      for (int64_t n = 0; n < N; n++)
        {
          const float *x = call->x + (n * C + c) * area, *g = plane_of_gradient (call, n * C + c);

          CPU_SUM (part, area, RELU_GRAD (i));
          sum += part;
          CPU_SUM (part, area, RELU_GRAD (i) * (x[i] - mean));
          dot += part;
        }
      shift = (float)(-scale * sum / m);
      slope = (float)(-scale * dot / m * rstd * rstd);
      for (int64_t n = 0; n < N; n++)
        {
          const float *x = call->x + (n * C + c) * area,
                      *g = (self->residual ? call->dr : call->g) + (n * C + c) * area;
          float *y = call->y + (n * C + c) * area;

#pragma GCC ivdep
          for (int64_t i = 0; i < area; i++)
            y[i] = RELU_GRAD (i) * scale + ((x[i] - mean) * slope + shift);
        }
#undef RELU_GRAD
      if (self->affine)
        {
          call->dweight[c] = (float)(dot * rstd);
          call->dbias[c] = (float)sum;
        }
    }
}

static void
partition_scratch (Call *call, float *scratch)
{
  int64_t C = call->self->C;

  call->partial = scratch;
  call->scale = scratch + call->self->chunks * 2 * C;
  call->shift = call->scale + C;
  call->slope = call->shift + C;
  call->relu_scale = call->slope + C;
  call->threshold = call->relu_scale + C;
}

static LoomStatus
work_batch (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Norm *self = (Norm *)k;
  void *const *out = b + k->n_in;
  Call call = { .self = self, .x = b[0], .y = out[0], .mean = out[1], .var = out[2] };
  double m = (double)self->N;

  if (self->affine)
    {
      call.weight = b[1];
      call.bias = b[2];
    }
  call.added = self->residual ? out[-1] : NULL;
  if (!self->columns)
    {
      cpu_share (k, self->ns, self->C, part_plane, &call);
      return LOOM_STATUS_OK;
    }
  partition_scratch (&call, out[3]);
  cpu_share (k, self->ns, self->chunks, part_column_sums, &call);
  for (int64_t c = 0; c < self->C; c++)
    {
      double sum, squares, mean, var, scale;

      chunk_totals (&call, c, &sum, &squares);
      mean = sum / m;
      var = squares / m - mean * mean;
      var = var > 0 || var != var ? var : 0;
      mean += self->N > 0 ? loom_load_double (call.x, c, k->in[0].dtype) : 0;
      scale = (self->affine ? call.weight[c] : 1) / sqrt (var + self->eps);
      call.mean[c] = (float)mean;
      call.var[c] = (float)var;
      call.scale[c] = (float)scale;
      call.shift[c] = (float)((self->affine ? call.bias[c] : 0) - mean * scale);
    }
  cpu_share (k, self->ns, self->N, part_column_apply, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
work_batch_apply (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Norm *self = (Norm *)k;
  void *const *out = b + k->n_in;
  Call call = { .self = self, .x = b[0], .mean_in = b[1], .var_in = b[2], .y = out[0] };

  if (self->affine)
    {
      call.weight = b[3];
      call.bias = b[4];
    }
  call.added = self->residual ? out[-1] : NULL;
  if (!self->columns)
    {
      cpu_share (k, self->ns, self->N * self->C, part_plane_apply, &call);
      return LOOM_STATUS_OK;
    }
  partition_scratch (&call, out[1]);
  for (int64_t c = 0; c < self->C; c++)
    {
      double scale = (self->affine ? call.weight[c] : 1) / sqrt (call.var_in[c] + self->eps);

      call.scale[c] = (float)scale;
      call.shift[c] = (float)((self->affine ? call.bias[c] : 0) - call.mean_in[c] * scale);
    }
  cpu_share (k, self->ns, self->N, part_column_apply, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
work_batch_grad (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Norm *self = (Norm *)k;
  void *const *out = b + k->n_in;
  Call call = { .self = self, .g = b[0], .x = b[1], .mean_in = b[2], .var_in = b[3], .y = out[0] };
  double m = (double)self->N;
  bool gated = self->relu && !self->residual;
  int more = loom_norm_operands ("batch_norm_grad", self->affine);

  if (self->affine)
    {
      call.weight = b[4];
      call.bias = gated ? b[5] : NULL;
      call.dweight = out[1];
      call.dbias = out[2];
    }
  if (self->residual)
    {
      call.open = b[more];
      call.other = k->n_in > more + 1 ? b[more + 1] : NULL;
      call.dr = out[k->n_out - 1];
    }
  if (!self->columns)
    {
      cpu_share (k, self->ns, self->C, part_plane_grad, &call);
      return LOOM_STATUS_OK;
    }
  partition_scratch (&call, out[k->n_out]);
  for (int64_t c = 0; c < self->C && gated; c++)
    {
      double scale = (self->affine ? call.weight[c] : 1) / sqrt (call.var_in[c] + self->eps);

      call.relu_scale[c] = (float)scale;
      call.threshold[c] = (float)((self->affine ? call.bias[c] : 0) - call.mean_in[c] * scale);
    }
  cpu_share (k, self->ns, self->chunks, part_column_sums, &call);
  for (int64_t c = 0; c < self->C; c++)
    {
      double sum, dot, rstd = 1 / sqrt (call.var_in[c] + self->eps), scale;

      chunk_totals (&call, c, &sum, &dot);
      scale = (self->affine ? call.weight[c] : 1) * rstd;
      call.scale[c] = (float)scale;
      call.shift[c] = (float)(-scale * sum / m);
      call.slope[c] = (float)(-scale * dot / m * rstd * rstd);
      if (self->affine)
        {
          call.dweight[c] = (float)(dot * rstd);
          call.dbias[c] = (float)sum;
        }
    }
  cpu_share (k, self->ns, self->N, part_column_grad, &call);
  return LOOM_STATUS_OK;
}

/* ---- construction ------------------------------------------------------ */

static LoomStatus
create_batch_norm (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  bool grad = strcmp (spec->primitive, "batch_norm_grad") == 0;
  bool apply = strcmp (spec->primitive, "batch_norm_apply") == 0;
  const LoomTensorDesc *x = &spec->in[grad];
  bool columns;
  Norm *self;
  LoomStatus status;

  if (x->rank < 2 || !cpu_all_layout (spec, x->layout))
    return LOOM_STATUS_UNSUPPORTED;
  columns = x->layout == LOOM_LAYOUT_NHWC || loom_dim_product (x, 2, x->rank) == 1;
  status = norm_create (device, spec, attrs_size,
                        grad    ? work_batch_grad
                        : apply ? work_batch_apply
                                : work_batch,
                        columns && norm_is_bf16 (spec, grad, x->dim[1]), &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->N = x->dim[0];
  self->C = x->dim[1];
  self->area = loom_dim_product (x, 2, x->rank);
  self->columns = columns;
  if (self->columns)
    {
      self->N *= self->area;
      self->area = 1;
      self->chunks = (self->N + CHUNK_ROWS - 1) / CHUNK_ROWS;
      self->k.base.scratch_bytes = (size_t)((self->chunks * 2 + 5) * self->C) * sizeof (float);
    }
  /* The sums come first, and the writing pass reads each element once before it writes it, so dx may have the memory of
   * g or x. */
  if (grad)
    self->k.base.inplace[0] = 3;
  if (grad && self->residual)
    {
      int own = loom_norm_operands (spec->primitive, self->affine);
      uint32_t read = (spec->n_in > own + 1 ? 3u : 1u) << own;

      self->k.base.inplace[0] |= read;
      self->k.base.inplace[spec->n_out - 1] = 1 | read;
    }
  self->ns = 0.2 * (double)loom_desc_count (x);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_batch_norm) = { "batch_norm", sizeof (LoomNormAttrs), create_batch_norm };
const CpuPrimitive ISA (cpu_batch_norm_grad) = { "batch_norm_grad", sizeof (LoomNormAttrs), create_batch_norm };
const CpuPrimitive ISA (cpu_batch_norm_apply) = { "batch_norm_apply", sizeof (LoomNormAttrs), create_batch_norm };
