/* Layer normalisation with its gradient: rows of C, the elements of a sample that are normalised together. bf16 rows
 * are converted to f32 one at a time on the stack; statistics and the gradients of weight and bias are f32. */
#include "kernels/cpu/cpu-norm.h"

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

/* Writes dx of a row from h, plus `more`; both are expressions of i. */
#define WRITE_ROW(h, more)                                                                                             \
  do                                                                                                                   \
    {                                                                                                                  \
      _Pragma ("GCC ivdep") for (int64_t i = 0; i < C; i++) y[i] = rstd * ((h)-shift - (x[i] - mean) * slope) more;    \
    }                                                                                                                  \
  while (0)

/* dx [N, C] by row r. The residual around the norm is added while the row is in the cache. */
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
      const float *added = call->added != NULL ? call->added + r * C : NULL;
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
      if (self->affine && added != NULL)
        WRITE_ROW (g[i] * weight[i], +added[i]);
      else if (self->affine)
        WRITE_ROW (g[i] * weight[i], );
      else if (added != NULL)
        WRITE_ROW (g[i], +added[i]);
      else
        WRITE_ROW (g[i], );
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
  const int around = loom_layer_norm_residual (self->affine, k->n_in);

  if (around > 0)
    call.added = b[around];
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

static LoomStatus
create_layer_norm (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  const LoomNormAttrs *a = spec->attrs;
  bool grad = strcmp (spec->primitive, "layer_norm_grad") == 0;
  const LoomTensorDesc *x = &spec->in[grad];
  Norm *self;
  LoomStatus status;

  if (!cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || a->axes > x->rank
      || (grad && x->dtype != LOOM_F32 && loom_layer_norm_residual (a->affine, spec->n_in) > 0))
    return LOOM_STATUS_UNSUPPORTED;
  status = norm_create (device, spec, attrs_size, grad ? work_layer_grad : work_layer,
                        norm_is_bf16 (spec, grad, loom_dim_product (x, x->rank - a->axes, x->rank)), &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->N = loom_dim_product (x, 0, x->rank - a->axes);
  self->C = loom_dim_product (x, x->rank - a->axes, x->rank);
  if (grad && a->affine)
    {
      self->chunks = (self->N + CHUNK_ROWS - 1) / CHUNK_ROWS;
      self->k.base.scratch_bytes = (size_t)(self->chunks * 2 * self->C) * sizeof (float);
    }
  /* An element of the residual is read just before dx's is written, so both may have the same memory. */
  if (grad && loom_layer_norm_residual (a->affine, spec->n_in) > 0)
    self->k.base.inplace[0] = 1u << loom_layer_norm_residual (a->affine, spec->n_in);
  self->ns = 0.3 * (double)loom_desc_count (x);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_layer_norm) = { "layer_norm", sizeof (LoomNormAttrs), create_layer_norm };
const CpuPrimitive ISA (cpu_layer_norm_grad) = { "layer_norm_grad", sizeof (LoomNormAttrs), create_layer_norm };
