/* grad_stats and the optimiser steps over many tensors in one pass.
 *
 * A step is a few long vectorised loops over the ranges that cpu-multi.h makes of the tensors, with the formulas of
 * kernels/optim-formulas.h inlined. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-multi.h"
#include "kernels/cpu/cpu-squares.h"

#include "kernels/optim.h"

#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define T        float
#define FN(name) name##_f
#define sqrt_f   sqrtf
#include "kernels/optim-formulas.h"

typedef struct
{
  CpuMulti m;
  LoomSgdAttrs sgd;
  LoomAdamAttrs adam;
} Optim;

typedef struct
{
  const Optim *self;
  Common_f common;
  bool first;
  double *sum; /* sum of squares of a chunk */
} Call;

/* Runs a step with these rates; part is called for the chunks from..to of a Call. */
static LoomStatus
take_step (Optim *self, void *const *b, const LoomStepRates *rates, double step,
           void (*part) (void *context, int64_t from, int64_t to), LoomMessage *message)
{
  CpuKernel *k = (CpuKernel *)self;
  Call call = { .self = self, .common = common_of_f (rates), .first = step == 1 };

  if (!self->m.bound)
    cpu_multi_bind (&k->base, b, message);
  cpu_share (k, self->m.ns, self->m.chunks, part, &call);
  return LOOM_STATUS_OK;
}

/* ---- sgd --------------------------------------------------------------- */

/* Pieces of p [n], g [n] and, with momentum, buf [n]. */
static void
sgd_chunk (void *context, const CpuChunk *chunk)
{
  const Call *call = context;
  float *const *list = chunk->list;
  int64_t at = chunk->at, n = chunk->n;
  const bool momentum = call->self->sgd.momentum;
  float *p = list[0] + at, *g = list[1] + at, *buf = momentum ? list[2] + at : NULL;
  float decay = call->common.decay, scale = call->common.scale, c[8];

  memcpy (c, call->common.c, sizeof c);
  if (!momentum)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      p[i] = sgd_f (p[i], g[i], scale, decay, c[0]);
  else
    {
      if (call->first) /* the content of buf, which may be NaN, is not used */
        memset (buf, 0, (size_t)n * sizeof *buf);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++)
        {
          float s0 = buf[i];

          p[i] = sgd_momentum_f (p[i], g[i] * scale + decay * p[i], &s0, c);
          buf[i] = s0;
        }
    }
}

static void
part_sgd (void *context, int64_t from, int64_t to)
{
  cpu_multi_chunks (&((const Call *)context)->self->m, from, to, sgd_chunk, context);
}

static LoomStatus
work_sgd (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Optim *self = (Optim *)k;
  LoomStepRates rates;
  double hyper[4], step;

  if (!read_scalars_f (b + self->m.lists * self->m.n_tensors, 4, self->sgd.maximize, hyper, &rates, &step))
    return LOOM_STATUS_OK;
  loom_rates_sgd (&self->sgd, hyper, step, &rates);
  return take_step (self, b, &rates, step, part_sgd, message);
}

/* ---- adam -------------------------------------------------------------- */

#ifdef __AVX512F__
typedef float V __attribute__ ((vector_size (64)));

/* adam_f of 16 elements, within three units in the last place. The processor's square root and division take longer
 * than all other operations of the step together; here Newton's method improves approximations of 14 bits, of values
 * that are not denormal, since denormals are flushed. Its result is NaN if a root or a quotient is 0 or infinite; the
 * processor's operations compute those elements. */
static inline V
adam_vector (V p, V mean, V second, const float *c)
{
  const V inverse = (V)_mm512_rsqrt14_ps ((__m512)second);
  V root = second * inverse, below, factor, step;
  __mmask16 is_nan;

  root *= 1.5f - 0.5f * root * inverse;
  below = root * c[3] + c[4];
  factor = (V)_mm512_rcp14_ps ((__m512)below);
  mean *= c[0];
  step = mean * factor;
  step += factor * (mean - below * step);
  is_nan = _mm512_cmp_ps_mask ((__m512)step, (__m512)step, _CMP_UNORD_Q);
  if (__builtin_expect (is_nan != 0, 0))
    {
      below = (V)_mm512_sqrt_ps ((__m512)second) * c[3] + c[4];
      step = (V)_mm512_mask_div_ps ((__m512)step, is_nan, (__m512)mean, (__m512)below);
    }
  return p - step;
}

/* p, g, m, v and, with amsgrad, vmax: 16 elements each, of which those in `lanes` are there. */
static inline __attribute__ ((always_inline)) void
adam_16 (const Common_f *common, float *p, const float *g, float *m, float *v, float *vmax, __mmask16 lanes)
{
  const float *c = common->c;
  const V old = (V)_mm512_maskz_loadu_ps (lanes, p);
  const V d = (V)_mm512_maskz_loadu_ps (lanes, g) * common->scale + common->decay * old;
  const V mean = c[1] * (V)_mm512_maskz_loadu_ps (lanes, m) + (1 - c[1]) * d;
  V second = c[2] * (V)_mm512_maskz_loadu_ps (lanes, v) + (1 - c[2]) * d * d;

  _mm512_mask_storeu_ps (m, lanes, (__m512)mean);
  _mm512_mask_storeu_ps (v, lanes, (__m512)second);
  if (vmax != NULL)
    {
      second = (V)_mm512_max_ps (_mm512_maskz_loadu_ps (lanes, vmax), (__m512)second);
      _mm512_mask_storeu_ps (vmax, lanes, (__m512)second);
    }
  _mm512_mask_storeu_ps (p, lanes, (__m512)adam_vector (old * common->shrink, mean, second, c));
}

/* Pieces of p, g, m, v and, with amsgrad, vmax: [n] each. Elements after the last whole vector are computed like those
 * in it, so that their place changes no bit. */
static void
adam_chunk (void *context, const CpuChunk *chunk)
{
  const Call *call = context;
  const Common_f common = call->common;
  float *const *list = chunk->list;
  float *p = list[0] + chunk->at, *g = list[1] + chunk->at, *m = list[2] + chunk->at, *v = list[3] + chunk->at;
  float *vmax = call->self->adam.amsgrad ? list[4] + chunk->at : NULL;
  const int64_t whole = chunk->n / 16 * 16;

  if (vmax == NULL)
    for (int64_t i = 0; i < whole; i += 16)
      adam_16 (&common, p + i, g + i, m + i, v + i, NULL, 0xffff);
  else
    for (int64_t i = 0; i < whole; i += 16)
      adam_16 (&common, p + i, g + i, m + i, v + i, vmax + i, 0xffff);
  if (whole < chunk->n)
    adam_16 (&common, p + whole, g + whole, m + whole, v + whole, vmax != NULL ? vmax + whole : NULL,
             (__mmask16)((1u << (chunk->n - whole)) - 1));
}
#else
/* Pieces of p, g, m, v and, with amsgrad, vmax: [n] each. */
static void
adam_chunk (void *context, const CpuChunk *chunk)
{
  const Call *call = context;
  float *const *list = chunk->list;
  int64_t at = chunk->at, n = chunk->n;
  const bool amsgrad = call->self->adam.amsgrad;
  float *p = list[0] + at, *g = list[1] + at, *m = list[2] + at, *v = list[3] + at;
  float *vmax = amsgrad ? list[4] + at : NULL;
  float scale = call->common.scale, shrink = call->common.shrink, decay = call->common.decay, c[8];

  memcpy (c, call->common.c, sizeof c);
  if (vmax == NULL)
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      {
        float mean = m[i], square = v[i];

        adam_moments_f (g[i] * scale + decay * p[i], &mean, &square, c);
        m[i] = mean;
        v[i] = square;
        p[i] = adam_f (p[i] * shrink, mean, square, c);
      }
  else
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++)
      {
        float mean = m[i], square = v[i];
        float second = adam_moments_f (g[i] * scale + decay * p[i], &mean, &square, c);

        m[i] = mean;
        v[i] = square;
        second = vmax[i] > second ? vmax[i] : second;
        vmax[i] = second;
        p[i] = adam_f (p[i] * shrink, mean, second, c);
      }
}
#endif

static void
part_adam (void *context, int64_t from, int64_t to)
{
  cpu_multi_chunks (&((const Call *)context)->self->m, from, to, adam_chunk, context);
}

static LoomStatus
work_adam (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Optim *self = (Optim *)k;
  LoomStepRates rates;
  double hyper[5], step;

  if (!read_scalars_f (b + self->m.lists * self->m.n_tensors, 5, self->adam.maximize, hyper, &rates, &step))
    return LOOM_STATUS_OK;
  loom_rates_adam (&self->adam, hyper, step, &rates);
  return take_step (self, b, &rates, step, part_adam, message);
}

/* ---- grad_stats -------------------------------------------------------- */

static void
stats_chunk (void *context, const CpuChunk *chunk)
{
  const Call *call = context;
  const float *g = chunk->list[0] + chunk->at;
  int64_t whole = chunk->n / STRIP * STRIP;
  CpuSquares squares = { 0 };

  cpu_squares_add (&squares, g, whole);
  call->sum[chunk->chunk] = cpu_squares_end (&squares, g + whole, chunk->n - whole);
}

static void
part_stats (void *context, int64_t from, int64_t to)
{
  cpu_multi_chunks (&((const Call *)context)->self->m, from, to, stats_chunk, context);
}

static LoomStatus
work_stats (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Optim *self = (Optim *)k;
  Call call = { .self = self, .sum = b[k->n_in + 2] };

  if (!self->m.bound)
    cpu_multi_bind (&k->base, b, message);
  cpu_share (k, self->m.ns, self->m.chunks, part_stats, &call);
  cpu_squares_results (call.sum, self->m.chunks, b[k->n_in], b[k->n_in + 1]);
  return LOOM_STATUS_OK;
}

/* ---- construction ------------------------------------------------------ */

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, int n, int lists, int scalars, CpuWork work,
        Optim **optim, CpuKernel **kernel, LoomMessage *message)
{
  CpuMulti *multi;
  LoomStatus status
      = cpu_multi_new (sizeof (Optim), device, spec, attrs_size, n, lists, scalars, work, &multi, message);

  if (status != LOOM_STATUS_OK)
    return status;
  if (scalars == 0)
    multi->k.base.scratch_bytes = (size_t)multi->chunks * sizeof (double) + 64;
  *optim = (Optim *)multi;
  *kernel = &multi->k;
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
