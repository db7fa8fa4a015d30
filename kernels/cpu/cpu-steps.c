/* The optimisers of kernels/optim.h: one vectorised loop for each formula, many tensors in one call.
 *
 * The formulas are inlined into loops whose number of states is a constant, so that a compiler sees straight-line
 * arithmetic over arrays. Those with a trust ratio process a tensor twice: sums of squares are computed by chunks and
 * added in the chunks' order, so that threads change no bit. */
#include "kernels/cpu/cpu-multi.h"

#include "kernels/optim.h"

#include <string.h>

#define T        float
#define FN(name) name##_f
#define sqrt_f   sqrtf
#include "kernels/optim-formulas.h"

typedef struct
{
  CpuMulti m;
  LoomStepAttrs attrs;
  int formula, scalars;
} Step;

typedef struct
{
  const Step *self;
  LoomStepRates rates;
  double *sums;       /* (chunks, 2): squares of the weights and of the measured values */
  const float *ratio; /* by range; NULL: no trust ratio */
} Call;

/* The loop over one chunk: p, g and the states s0 … are [n], c is [8]. S states; RESULT is stored in p[i] (a step) or
 * added to a sum (a measure). */
#define LOOP(S, STATEMENT)                                                                                             \
  const Call *call = context;                                                                                          \
  float *p = chunk->list[0] + chunk->at, *g = chunk->list[1] + chunk->at;                                              \
  float *s0 = chunk->list[2] + chunk->at, *s1 = (S) > 1 ? chunk->list[3] + chunk->at : NULL;                           \
  float *s2 = (S) > 2 ? chunk->list[4] + chunk->at : NULL;                                                             \
  float shrink = (float)call->rates.shrink, decay = (float)call->rates.decay, scale = (float)call->rates.scale;        \
  float c[8];                                                                                                          \
                                                                                                                       \
  for (int i = 0; i < 8; i++)                                                                                          \
    c[i] = (float)call->rates.c[i];                                                                                    \
  if (call->ratio != NULL)                                                                                             \
    c[0] *= call->ratio[chunk->range];                                                                                 \
  _Pragma ("GCC ivdep") for (int64_t i = 0; i < chunk->n; i++)                                                         \
  {                                                                                                                    \
    float a0 = s0[i], a1 = (S) > 1 ? s1[i] : 0, a2 = (S) > 2 ? s2[i] : 0, d = g[i] * scale;                            \
                                                                                                                       \
    STATEMENT;                                                                                                         \
    s0[i] = a0;                                                                                                        \
    if ((S) > 1)                                                                                                       \
      s1[i] = a1;                                                                                                      \
    if ((S) > 2)                                                                                                       \
      s2[i] = a2;                                                                                                      \
  }

#define STEP_LOOP(name, kind, states)                                                                                  \
  static void name##_chunk (void *context, const CpuChunk *chunk)                                                      \
  {                                                                                                                    \
    LOOP (states, p[i] = FN (name) (p[i] * shrink, d + decay * p[i], &a0, &a1, &a2, c))                                \
  }

/* x [n]. Sixteen interleaved sums, in f64, for any width of vectors; measured values are first written to a buffer. */
static void
add_squares (const float *x, int64_t n, double *total)
{
  double lane[16] = { 0 };
  int64_t i = 0;

  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; l++)
      lane[l] += (double)x[i + l] * x[i + l];
  for (; i < n; i++)
    lane[0] += (double)x[i] * x[i];
  for (int l = 0; l < 16; l++)
    *total += lane[l];
}

#define MEASURE_LOOP(name, kind, states)                                                                               \
  static void name##_measure_chunk (void *context, const CpuChunk *chunk)                                              \
  {                                                                                                                    \
    float measured[CPU_MULTI_CHUNK];                                                                                   \
    double *sum = ((const Call *)context)->sums + 2 * chunk->chunk;                                                    \
    LOOP (states, measured[i] = FN (name##_measure) (p[i], d, &a0, &a1, &a2, c))                                       \
                                                                                                                       \
    (void)shrink, (void)decay;                                                                                         \
    sum[0] = sum[1] = 0;                                                                                               \
    add_squares (p, chunk->n, &sum[0]);                                                                                \
    add_squares (measured, chunk->n, &sum[1]);                                                                         \
  }

LOOM_STEP_FORMULAS (STEP_LOOP)
LOOM_STEP_TRUSTS (STEP_LOOP)
LOOM_STEP_TRUSTS (MEASURE_LOOP)

static const struct
{
  void (*step) (void *context, const CpuChunk *chunk);
  void (*measure) (void *context, const CpuChunk *chunk); /* of optimisers with a trust ratio */
  void (*rates) (const LoomStepAttrs *a, const double *h, double step, LoomStepRates *r);
  double (*trust) (const LoomStepRates *r, double weight, double measured);
} formula[LOOM_N_FORMULAS] = {
#define FORMULA(name, kind, states) { name##_chunk, NULL, loom_rates_##kind, NULL },
#define TRUST(name, kind, states)   { name##_chunk, name##_measure_chunk, loom_rates_##kind, loom_trust_##name },
  LOOM_STEP_FORMULAS (FORMULA) LOOM_STEP_TRUSTS (TRUST)
};

static void
part_step (void *context, int64_t from, int64_t to)
{
  const Step *self = ((const Call *)context)->self;

  cpu_multi_chunks (&self->m, from, to, formula[self->formula].step, context);
}

static void
part_measure (void *context, int64_t from, int64_t to)
{
  const Step *self = ((const Call *)context)->self;

  cpu_multi_chunks (&self->m, from, to, formula[self->formula].measure, context);
}

/* Scratch is sums (chunks, 2) in f64, then ratios (ranges) in f32. */
static void
measure (const Step *self, Call *call, void *scratch)
{
  float *ratio = (float *)((double *)scratch + 2 * self->m.chunks);
  int64_t chunk = 0;

  call->sums = scratch;
  cpu_share (&self->m.k, self->m.ns, self->m.chunks, part_measure, call);
  for (int r = 0; r < self->m.n_ranges; r++)
    {
      int64_t end = chunk + (self->m.range[r].n + CPU_MULTI_CHUNK - 1) / CPU_MULTI_CHUNK;
      double weights = 0, measured = 0;

      for (; chunk < end; chunk++)
        {
          weights += call->sums[2 * chunk];
          measured += call->sums[2 * chunk + 1];
        }
      ratio[r] = (float)formula[self->formula].trust (&call->rates, sqrt (weights), sqrt (measured));
    }
  call->ratio = ratio;
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  const Step *self = (const Step *)k;
  void *const *scalar = b + self->m.lists * self->m.n_tensors;
  double hyper[LOOM_STEP_MAX_SCALARS];
  Call call = { .self = self };

  if (*(float *)scalar[self->scalars + 1] == 0)
    return LOOM_STATUS_OK;
  if (!self->m.bound)
    cpu_multi_bind (&k->base, b, message);
  for (int i = 0; i < self->scalars; i++)
    hyper[i] = *(float *)scalar[i];
  call.rates.shrink = 1;
  call.rates.scale = *(float *)scalar[self->scalars] * (self->attrs.maximize ? -1 : 1);
  formula[self->formula].rates (&self->attrs, hyper, (double)*(int64_t *)scalar[self->scalars + 2], &call.rates);
  if (formula[self->formula].measure != NULL)
    measure (self, &call, b[k->n_in + k->n_out]);
  cpu_share (k, self->m.ns, self->m.chunks, part_step, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomStepAttrs *a = spec->attrs;
  int scalars = loom_step_scalars (a);
  CpuMulti *multi;
  LoomStatus status = cpu_multi_new (sizeof (Step), device, spec, attrs_size, a->n, 2 + loom_step_states (a),
                                     scalars + 3, work, &multi, message);
  Step *self = (Step *)multi;

  if (status != LOOM_STATUS_OK)
    return status;
  self->attrs = *a;
  self->formula = loom_step_formula (a);
  self->scalars = scalars;
  if (formula[self->formula].measure != NULL)
    {
      self->m.separate = true;
      self->m.k.base.scratch_bytes = (size_t)(2 * multi->chunks) * sizeof (double) + (size_t)a->n * sizeof (float) + 64;
    }
  *kernel = &multi->k;
  return LOOM_STATUS_OK;
}

#define PRIMITIVE(name, scalars)                                                                                       \
  const CpuPrimitive ISA (cpu_##name##_step) = { #name "_step", sizeof (LoomStepAttrs), create };
LOOM_STEPS (PRIMITIVE)
