/* grad_stats and the optimiser steps over many tensors in one pass.
 *
 * bind() turns the tensors into ranges of addresses, merging neighbours, since
 * parameters, gradients and states usually lie flat; a step is then a few long
 * vectorised loops. Formulas as in ref-optim.inc.c, in f32. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LISTS 5 /* p, g, m, v, vmax or p, g, buf */
#define PIECE 8192

typedef struct
{
  float *list[LISTS];
  int64_t n;
} Range;

typedef struct
{
  CpuKernel k;
  int n_tensors, lists;
  LoomSgdAttrs sgd;
  LoomAdamAttrs adam;
  Range *range;
  int n_ranges;
  bool bound;
  int64_t pieces; /* of PIECE elements at most, all ranges together */
  double ns;
} Optim;

typedef struct
{
  const Optim *self;
  float lr, momentum, dampening, decay, scale, beta1, beta2, eps, step_size, root; /* what the step needs */
  bool first;
  double *sum;
  uint32_t *exponent;
} Call;

static LoomStatus
bind (LoomKernel *kernel, void *const *b, LoomMessage *message)
{
  Optim *self = (Optim *)kernel;
  int n = self->n_tensors;

  self->n_ranges = 0;
  self->pieces = 0;
  for (int t = 0; t < n; t++)
    {
      Range range = { .n = loom_desc_count (&self->k.in[t]) },
            *last = self->n_ranges > 0 ? &self->range[self->n_ranges - 1] : NULL;
      bool joins = last != NULL;

      if (range.n == 0)
        continue;
      for (int l = 0; l < self->lists; l++)
        {
          range.list[l] = b[l * n + t];
          joins = joins && last->list[l] + last->n == range.list[l];
        }
      if (joins)
        last->n += range.n;
      else
        self->range[self->n_ranges++] = range;
    }
  for (int r = 0; r < self->n_ranges; r++)
    self->pieces += (self->range[r].n + PIECE - 1) / PIECE;
  self->bound = true;
  return LOOM_STATUS_OK;
}

/* Calls body for pieces from … to-1, each within one range. */
static void
for_pieces (const Call *call, int64_t from, int64_t to,
            void (*body) (const Call *call, float *const *list, int64_t at, int64_t n, int64_t piece))
{
  const Optim *self = call->self;
  int64_t piece = 0;

  for (int r = 0; r < self->n_ranges && piece < to; r++)
    {
      const Range *range = &self->range[r];
      int64_t pieces = (range->n + PIECE - 1) / PIECE;

      for (int64_t i = from > piece ? from - piece : 0; i < pieces && piece + i < to; i++)
        body (call, range->list, i * PIECE, range->n - i * PIECE < PIECE ? range->n - i * PIECE : PIECE, piece + i);
      piece += pieces;
    }
}

/* ---- sgd --------------------------------------------------------------- */

static void
sgd_piece (const Call *call, float *const *list, int64_t at, int64_t n, int64_t piece)
{
  const LoomSgdAttrs *a = &call->self->sgd;
  float *p = list[0] + at, *g = list[1] + at, *buf = a->momentum ? list[2] + at : NULL;
  float lr = call->lr, momentum = call->momentum, fresh = 1 - call->dampening, decay = call->decay;
  float scale = a->maximize ? -call->scale : call->scale;

  if (!a->momentum)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      p[i] -= lr * (g[i] * scale + decay * p[i]);
  else
    {
      float keep = call->first ? 0 : momentum, take = call->first ? 1 : fresh;
      float old = a->nesterov ? 1 : 0, ahead = a->nesterov ? momentum : 1;

      if (call->first) /* whatever lies in buf, NaN included, must not count */
        memset (buf, 0, (size_t)n * sizeof *buf);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++)
        {
          float d = g[i] * scale + decay * p[i], v = keep * buf[i] + take * d;

          buf[i] = v;
          p[i] -= lr * (old * d + ahead * v);
        }
    }
}

static void
part_sgd (void *context, int64_t from, int64_t to)
{
  for_pieces (context, from, to, sgd_piece);
}

static LoomStatus
work_sgd (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Optim *self = (Optim *)k;
  void *const *scalar = b + self->lists * self->n_tensors;
  Call call = {
    .self = self,
    .lr = *(float *)scalar[0],
    .momentum = *(float *)scalar[1],
    .dampening = *(float *)scalar[2],
    .decay = *(float *)scalar[3],
    .scale = *(float *)scalar[4],
    .first = *(int64_t *)scalar[6] == 1,
  };

  if (*(float *)scalar[5] == 0)
    return LOOM_STATUS_OK;
  if (!self->bound)
    bind (&k->base, b, message);
  cpu_share (k, self->ns, self->pieces, part_sgd, &call);
  return LOOM_STATUS_OK;
}

/* ---- adam -------------------------------------------------------------- */

static void
adam_piece (const Call *call, float *const *list, int64_t at, int64_t n, int64_t piece)
{
  const LoomAdamAttrs *a = &call->self->adam;
  float *p = list[0] + at, *g = list[1] + at, *m = list[2] + at, *v = list[3] + at;
  float *vmax = a->amsgrad ? list[4] + at : NULL;
  float scale = a->maximize ? -call->scale : call->scale;
  float shrink = a->decoupled ? 1 - call->lr * call->decay : 1, decay = a->decoupled ? 0 : call->decay;
  float beta1 = call->beta1, beta2 = call->beta2, step_size = call->step_size, root = call->root, eps = call->eps;

  if (vmax == NULL)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      {
        float d = g[i] * scale + decay * p[i];
        float mean = beta1 * m[i] + (1 - beta1) * d, second = beta2 * v[i] + (1 - beta2) * d * d;

        m[i] = mean;
        v[i] = second;
        p[i] = p[i] * shrink - step_size * mean / (sqrtf (second) * root + eps);
      }
  else
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      {
        float d = g[i] * scale + decay * p[i];
        float mean = beta1 * m[i] + (1 - beta1) * d, second = beta2 * v[i] + (1 - beta2) * d * d;

        m[i] = mean;
        v[i] = second;
        second = vmax[i] > second ? vmax[i] : second;
        vmax[i] = second;
        p[i] = p[i] * shrink - step_size * mean / (sqrtf (second) * root + eps);
      }
}

static void
part_adam (void *context, int64_t from, int64_t to)
{
  for_pieces (context, from, to, adam_piece);
}

/* x^n for whole n ≥ 0, by squaring: a tenth of pow()'s time, and tiny models notice. */
static double
power (double x, int64_t n)
{
  double result = 1;

  for (; n > 0; n >>= 1, x *= x)
    if (n & 1)
      result *= x;
  return result;
}

static LoomStatus
work_adam (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Optim *self = (Optim *)k;
  void *const *scalar = b + self->lists * self->n_tensors;
  int64_t step = *(int64_t *)scalar[7];
  Call call = {
    .self = self,
    .lr = *(float *)scalar[0],
    .beta1 = *(float *)scalar[1],
    .beta2 = *(float *)scalar[2],
    .eps = *(float *)scalar[3],
    .decay = *(float *)scalar[4],
    .scale = *(float *)scalar[5],
  };

  if (*(float *)scalar[6] == 0)
    return LOOM_STATUS_OK;
  if (!self->bound)
    bind (&k->base, b, message);
  call.step_size = (float)(call.lr / (1 - power (call.beta1, step)));
  call.root = (float)(1 / sqrt (1 - power (call.beta2, step)));
  cpu_share (k, self->ns, self->pieces, part_adam, &call);
  return LOOM_STATUS_OK;
}

/* ---- grad_stats -------------------------------------------------------- */

static void
stats_piece (const Call *call, float *const *list, int64_t at, int64_t n, int64_t piece)
{
  const float *g = list[0] + at;
  double lane[16] = { 0 }, sum = 0;
  uint32_t worst[16] = { 0 }, all = 0;
  int64_t i = 0;

  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; l++)
      {
        uint32_t magnitude = loom_float_bits (g[i + l]) & 0x7fffffffu;

        lane[l] += (double)g[i + l] * (double)g[i + l];
        worst[l] = magnitude > worst[l] ? magnitude : worst[l];
      }
  for (int l = 0; l < 16; l++)
    {
      sum += lane[l];
      all = worst[l] > all ? worst[l] : all;
    }
  for (; i < n; i++)
    {
      uint32_t magnitude = loom_float_bits (g[i]) & 0x7fffffffu;

      sum += (double)g[i] * (double)g[i];
      all = magnitude > all ? magnitude : all;
    }
  call->sum[piece] = sum;
  call->exponent[piece] = all;
}

static void
part_stats (void *context, int64_t from, int64_t to)
{
  for_pieces (context, from, to, stats_piece);
}

static LoomStatus
work_stats (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Optim *self = (Optim *)k;
  Call call = { .self = self, .sum = b[k->n_in + 2] };
  double sum = 0;
  uint32_t worst = 0;

  if (!self->bound)
    bind (&k->base, b, message);
  call.exponent = (uint32_t *)(call.sum + self->pieces);
  cpu_share (k, self->ns, self->pieces, part_stats, &call);
  for (int64_t i = 0; i < self->pieces; i++)
    {
      sum += call.sum[i];
      worst = call.exponent[i] > worst ? call.exponent[i] : worst;
    }
  *(float *)b[k->n_in] = (float)sum;
  *(float *)b[k->n_in + 1] = worst < 0x7f800000u ? 1.0f : 0.0f;
  return LOOM_STATUS_OK;
}

/* ---- construction ------------------------------------------------------ */

static void
destroy (CpuKernel *k)
{
  free (((Optim *)k)->range);
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, int n, int lists, int scalars, CpuWork work,
        Optim **optim, CpuKernel **kernel, LoomMessage *message)
{
  Optim *self;
  int64_t pieces = 0;

  if (!cpu_all_f32 (spec) || spec->n_in != lists * n + scalars)
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->k.destroy = destroy;
  self->k.base.bind = bind;
  self->n_tensors = n;
  self->lists = lists;
  self->range = calloc ((size_t)n + 1, sizeof *self->range);
  if (self->range == NULL)
    {
      self->k.base.free (&self->k.base);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  for (int t = 0; t < n; t++)
    {
      int64_t count = loom_desc_count (&spec->in[t]);

      pieces += (count + PIECE - 1) / PIECE;
      self->ns += 0.15 * (double)(count * lists);
    }
  if (scalars == 0)
    self->k.base.scratch_bytes = (size_t)pieces * (sizeof (double) + sizeof (uint32_t)) + 64;
  *optim = self;
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

static LoomStatus
create_sgd (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomSgdAttrs *a = spec->attrs;
  Optim *self;
  LoomStatus status = create (device, spec, attrs_size, a->n, a->momentum ? 3 : 2, 7, work_sgd, &self, kernel, message);

  if (status == LOOM_STATUS_OK)
    self->sgd = *a;
  return status;
}

static LoomStatus
create_adam (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
             LoomMessage *message)
{
  const LoomAdamAttrs *a = spec->attrs;
  Optim *self;
  LoomStatus status = create (device, spec, attrs_size, a->n, a->amsgrad ? 5 : 4, 8, work_adam, &self, kernel, message);

  if (status == LOOM_STATUS_OK)
    self->adam = *a;
  return status;
}

static LoomStatus
create_stats (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
              LoomMessage *message)
{
  Optim *self;

  return create (device, spec, attrs_size, spec->n_in, 1, 0, work_stats, &self, kernel, message);
}

const CpuPrimitive ISA (cpu_grad_stats) = { "grad_stats", sizeof (LoomGradStatsAttrs), create_stats };
const CpuPrimitive ISA (cpu_sgd_step) = { "sgd_step", sizeof (LoomSgdAttrs), create_sgd };
const CpuPrimitive ISA (cpu_adam_step) = { "adam_step", sizeof (LoomAdamAttrs), create_adam };
