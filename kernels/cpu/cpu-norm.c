/* Batch and layer normalisation with gradients.
 *
 * Batch norm sees x as [N, C, area] (plain) or [rows, C] (NHWC, or area 1), layer norm as [rows, C] with C the elements
 * of a sample that are normalised together. The NHWC statistics are taken in chunks of rows, each relative to the first
 * row so that single precision keeps its digits, and the chunks are added in double in their order: the result does not
 * depend on the number of threads.
 *
 * bf16 rows are widened one at a time on the stack, so that memory sees 16-bit floats alone; statistics, scale and the
 * gradients of weight and bias are f32.
 *
 * With a ReLU behind it batch norm's gradient finds out from x and the statistics where the ReLU was open: two more
 * operations an element in loops that wait for memory, and the ReLU's result need not be kept. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-sum.h"

#include <math.h>
#include <string.h>

#define CHUNK_ROWS 128
#define BF16_MAX   8192 /* elements of a bf16 row that is widened on the stack */

typedef struct
{
  CpuKernel k;
  double eps;
  bool affine, relu, columns; /* columns: channels lie side by side */
  bool bf16;                  /* x, g and y or dx are bf16; columns and layer norm only */
  int64_t N, C, area, chunks; /* columns: area is 1, N counts rows. Layer norm: N rows of C */
  double ns;
} Norm;

typedef struct
{
  const Norm *self;
  const float *x, *g;                            /* [N, C, area] or [N, C]; bf16 where self says so */
  const float *mean_in, *var_in, *weight, *bias; /* [C]; of layer norm mean and 1/deviation are [N] */
  float *y;                                      /* as x; dx of a gradient */
  float *mean, *var, *dweight, *dbias;           /* [C]; of layer norm mean and var (1/deviation) are [N] */
  float *partial;                                /* [chunks, 2, C] */
  float *scale, *shift, *slope;                  /* [C] each, for the pass that writes */
  float *relu_scale, *threshold;                 /* [C] each: the ReLU is active where x·relu_scale + threshold > 0 */
} Call;

/* ---- batch norm, channels side by side -------------------------------- */

/* Row r of x or g in f32: where it lies, or widened into the buffer. */
static inline const float *
row (const Call *call, const float *base, int64_t r, float *buffer)
{
  int64_t C = call->self->C;

  if (!call->self->bf16)
    return base + r * C;
  call->self->k.device->widen (buffer, (const uint16_t *)(const void *)base + r * C, LOOM_BF16, C);
  return buffer;
}

static inline void
put_row (const Call *call, int64_t r, const float *buffer)
{
  int64_t C = call->self->C;

  if (call->self->bf16)
    call->self->k.device->narrow ((uint16_t *)(void *)call->y + r * C, LOOM_BF16, buffer, C);
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
          else if (!call->self->relu)
            {
              const float *g = row (call, call->g, r, other), *mean = call->mean_in;

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

/* y [N, C] = x·scale + shift, with scale and shift [C]. */
static void
part_column_apply (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t C = call->self->C;
  float x_buffer[BF16_MAX];

  for (int64_t r = from; r < to; r++)
    {
      const float *x = row (call, call->x, r, x_buffer), *scale = call->scale, *shift = call->shift;
      float *y = call->self->bf16 ? x_buffer : call->y + r * C;

      if (call->self->relu)
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
      const float *x = row (call, call->x, r, x_buffer), *g = row (call, call->g, r, g_buffer), *mean = call->mean_in;
      const float *scale = call->scale, *shift = call->shift, *slope = call->slope;
      const float *relu_scale = call->relu_scale, *threshold = call->threshold;
      float *y = call->self->bf16 ? x_buffer : call->y + r * C;

      if (call->self->relu)
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

/* y [area] = (x [area] - centre)·scale + shift, and no less than floor (negative infinity, or 0 for a ReLU). NaN
 * stays. */
static void
apply_plane (const float *restrict x, float *y, int64_t area, float centre, float scale, float shift, float floor)
{
#pragma GCC ivdep
  for (int64_t i = 0; i < area; i++)
    {
      float v = (x[i] - centre) * scale + shift;

      y[i] = v < floor ? floor : v;
    }
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
        apply_plane (call->x + (n * C + c) * area, call->y + (n * C + c) * area, area, (float)mean, scale, shift,
                     self->relu ? 0 : -INFINITY);
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
  int64_t C = self->C, area = self->area;

  for (int64_t q = from; q < to; q++)
    {
      int64_t c = q % C;
      float rstd = (float)(1 / sqrt (call->var_in[c] + self->eps));

      apply_plane (call->x + q * area, call->y + q * area, area, call->mean_in[c],
                   self->affine ? rstd * call->weight[c] : rstd, self->affine ? call->bias[c] : 0,
                   self->relu ? 0 : -INFINITY);
    }
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
      /* Without a ReLU every element is active: 0·x + 1 > 0, save where x is not finite, and there the sums are not
       * either.
       */
      float relu_scale = 0, threshold = 1;

      scale = (float)((self->affine ? call->weight[c] : 1) * rstd);
      if (self->relu)
        {
          relu_scale = scale;
          threshold = self->affine ? call->bias[c] : 0;
        }
#define RELU_GRAD(i) ((x[i] - mean) * relu_scale + threshold > 0 ? g[i] : 0)
      for (int64_t n = 0; n < N; n++)
        {
          const float *x = call->x + (n * C + c) * area, *g = call->g + (n * C + c) * area;

          CPU_SUM (part, area, RELU_GRAD (i));
          sum += part;
          CPU_SUM (part, area, RELU_GRAD (i) * (x[i] - mean));
          dot += part;
        }
      shift = (float)(-scale * sum / m);
      slope = (float)(-scale * dot / m * rstd * rstd);
      for (int64_t n = 0; n < N; n++)
        {
          const float *x = call->x + (n * C + c) * area, *g = call->g + (n * C + c) * area;
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

static void
chunk_totals (const Call *call, int64_t c, double *first, double *second)
{
  int64_t C = call->self->C;

  *first = *second = 0;
  for (int64_t q = 0; q < call->self->chunks; q++)
    {
      *first += (double)call->partial[q * 2 * C + c];
      *second += (double)call->partial[q * 2 * C + C + c];
    }
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

  if (self->affine)
    {
      call.weight = b[4];
      call.bias = self->relu ? b[5] : NULL;
      call.dweight = out[1];
      call.dbias = out[2];
    }
  if (!self->columns)
    {
      cpu_share (k, self->ns, self->C, part_plane_grad, &call);
      return LOOM_STATUS_OK;
    }
  partition_scratch (&call, out[k->n_out]);
  for (int64_t c = 0; c < self->C && self->relu; c++)
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

/* ---- layer norm: N rows of C ------------------------------------------- */

/* y [N, C] by row r, and its mean and 1/deviation [N]. */
static void
part_layer (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Norm *self = call->self;
  int64_t C = self->C;
  float buffer[BF16_MAX];

  for (int64_t r = from; r < to; r++)
    {
      const float *x = row (call, call->x, r, buffer), *weight = call->weight, *bias = call->bias;
      float *y = self->bf16 ? buffer : call->y + r * C, centre, rstd;
      double mean, var;

      CPU_SUM (mean, C, x[i]);
      mean /= (double)C;
      centre = (float)mean;
      CPU_SUM (var, C, (x[i] - centre) * (x[i] - centre));
      rstd = (float)(1 / sqrt (var / (double)C + self->eps));
      if (self->affine)
#pragma GCC ivdep
        for (int64_t i = 0; i < C; i++)
          y[i] = (x[i] - centre) * rstd * weight[i] + bias[i];
      else
#pragma GCC ivdep
        for (int64_t i = 0; i < C; i++)
          y[i] = (x[i] - centre) * rstd;
      put_row (call, r, y);
      call->mean[r] = centre;
      call->var[r] = rstd;
    }
}

/* dx [N, C] by row r. */
static void
part_layer_grad (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Norm *self = call->self;
  int64_t C = self->C;
  float x_buffer[BF16_MAX], g_buffer[BF16_MAX];

  for (int64_t r = from; r < to; r++)
    {
      const float *x = row (call, call->x, r, x_buffer), *g = row (call, call->g, r, g_buffer), *weight = call->weight;
      float *y = self->bf16 ? x_buffer : call->y + r * C, mean = call->mean_in[r], rstd = call->var_in[r], shift, slope;
      double sum, dot;

      if (self->affine)
        {
          CPU_SUM (sum, C, g[i] * weight[i]);
          CPU_SUM (dot, C, g[i] * weight[i] * (x[i] - mean));
        }
      else
        {
          CPU_SUM (sum, C, g[i]);
          CPU_SUM (dot, C, g[i] * (x[i] - mean));
        }
      shift = (float)(sum / (double)C);
      slope = (float)(dot * rstd * rstd / (double)C);
      if (self->affine)
#pragma GCC ivdep
        for (int64_t i = 0; i < C; i++)
          y[i] = rstd * (g[i] * weight[i] - shift - (x[i] - mean) * slope);
      else
#pragma GCC ivdep
        for (int64_t i = 0; i < C; i++)
          y[i] = rstd * (g[i] - shift - (x[i] - mean) * slope);
      put_row (call, r, y);
    }
}

/* dbias and dweight: partial [q, 2, C] for each chunk q of rows, added in their order. */
static void
part_layer_sums (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t C = call->self->C, N = call->self->N;
  float x_buffer[BF16_MAX], g_buffer[BF16_MAX];

  for (int64_t q = from; q < to; q++)
    {
      float *first = call->partial + q * 2 * C, *second = first + C;
      int64_t end = (q + 1) * CHUNK_ROWS < N ? (q + 1) * CHUNK_ROWS : N;

      memset (first, 0, (size_t)(2 * C) * sizeof *first);
      for (int64_t r = q * CHUNK_ROWS; r < end; r++)
        {
          const float *x = row (call, call->x, r, x_buffer), *g = row (call, call->g, r, g_buffer);
          float mean = call->mean_in[r], rstd = call->var_in[r];

#pragma GCC ivdep
          for (int64_t c = 0; c < C; c++)
            {
              first[c] += g[c];
              second[c] += g[c] * ((x[c] - mean) * rstd);
            }
        }
    }
}

static LoomStatus
work_layer (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Norm *self = (Norm *)k;
  void *const *out = b + k->n_in;
  Call call = { .self = self, .x = b[0], .y = out[0], .mean = out[1], .var = out[2] };

  if (self->affine)
    {
      call.weight = b[1];
      call.bias = b[2];
    }
  cpu_share (k, self->ns, self->N, part_layer, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
work_layer_grad (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Norm *self = (Norm *)k;
  void *const *out = b + k->n_in;
  Call call = { .self = self, .g = b[0], .x = b[1], .mean_in = b[2], .var_in = b[3], .y = out[0] };

  if (self->affine)
    {
      call.weight = b[4];
      call.partial = out[k->n_out];
      cpu_share (k, self->ns, self->chunks, part_layer_sums, &call);
      for (int64_t c = 0; c < self->C; c++)
        {
          double sum, dot;

          chunk_totals (&call, c, &sum, &dot);
          ((float *)out[1])[c] = (float)dot;
          ((float *)out[2])[c] = (float)sum;
        }
    }
  cpu_share (k, self->ns, self->N, part_layer_grad, &call);
  return LOOM_STATUS_OK;
}

/* ---- construction ------------------------------------------------------ */

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuWork work, bool bf16, Norm **norm,
        LoomMessage *message)
{
  const LoomNormAttrs *a = spec->attrs;

  if (!cpu_all_f32 (spec) && !bf16)
    return LOOM_STATUS_UNSUPPORTED;
  *norm = cpu_kernel_new (sizeof **norm, device, spec, attrs_size, work, message);
  if (*norm == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  (*norm)->bf16 = bf16;
  (*norm)->eps = a->eps;
  (*norm)->affine = a->affine;
  (*norm)->relu = a->act == LOOM_SCALAR_RELU;
  return LOOM_STATUS_OK;
}

/* x, [g] and what is written in bf16, rows that the stack has room for, statistics and scale in f32. */
static bool
is_bf16 (const LoomKernelSpec *spec, bool grad, int64_t row)
{
  if (spec->in[grad].dtype != LOOM_BF16 || spec->in[0].dtype != LOOM_BF16 || spec->out[0].dtype != LOOM_BF16
      || row > BF16_MAX)
    return false;
  for (int i = 1 + grad; i < spec->n_in; i++)
    if (spec->in[i].dtype != LOOM_F32 && spec->in[i].dtype != LOOM_N_DTYPES)
      return false;
  for (int i = 1; i < spec->n_out; i++)
    if (spec->out[i].dtype != LOOM_F32 && spec->out[i].dtype != LOOM_N_DTYPES)
      return false;
  return true;
}

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
  status = create (device, spec, attrs_size,
                   grad    ? work_batch_grad
                   : apply ? work_batch_apply
                           : work_batch,
                   columns && is_bf16 (spec, grad, x->dim[1]), &self, message);
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
  /* Sums come first and the pass that writes reads each element once before it, so dx may lie at g or at x. */
  if (grad)
    self->k.base.inplace[0] = 3;
  self->ns = 0.2 * (double)loom_desc_count (x);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

static LoomStatus
create_layer_norm (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  const LoomNormAttrs *a = spec->attrs;
  bool grad = strcmp (spec->primitive, "layer_norm_grad") == 0;
  const LoomTensorDesc *x = &spec->in[grad];
  Norm *self;
  LoomStatus status;

  if (!cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || a->axes > x->rank)
    return LOOM_STATUS_UNSUPPORTED;
  status = create (device, spec, attrs_size, grad ? work_layer_grad : work_layer,
                   is_bf16 (spec, grad, loom_dim_product (x, x->rank - a->axes, x->rank)), &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->N = loom_dim_product (x, 0, x->rank - a->axes);
  self->C = loom_dim_product (x, x->rank - a->axes, x->rank);
  if (grad && a->affine)
    {
      self->chunks = (self->N + CHUNK_ROWS - 1) / CHUNK_ROWS;
      self->k.base.scratch_bytes = (size_t)(self->chunks * 2 * self->C) * sizeof (float);
    }
  self->ns = 0.3 * (double)loom_desc_count (x);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_batch_norm) = { "batch_norm", sizeof (LoomNormAttrs), create_batch_norm };
const CpuPrimitive ISA (cpu_batch_norm_grad) = { "batch_norm_grad", sizeof (LoomNormAttrs), create_batch_norm };
const CpuPrimitive ISA (cpu_batch_norm_apply) = { "batch_norm_apply", sizeof (LoomNormAttrs), create_batch_norm };
const CpuPrimitive ISA (cpu_layer_norm) = { "layer_norm", sizeof (LoomNormAttrs), create_layer_norm };
const CpuPrimitive ISA (cpu_layer_norm_grad) = { "layer_norm_grad", sizeof (LoomNormAttrs), create_layer_norm };
