/* The optimisers of kernels/optim.h, many tensors in one launch (cuda-multi.cuh).
 *
 * The first thread of a block works out what all elements have in common, in f64, and each thread applies the formula to
 * its elements. Steps with a trust ratio go over a tensor twice: every chunk leaves the sums of squares of its weights
 * and of what is measured, one block a tensor joins them in the chunks' order, and the step multiplies by the ratio. */
#include <math.h>

#include "kernels/cuda/cuda-multi.cuh"

#define LOOM_OPTIM_FN __device__ static inline __attribute__ ((unused))
#include "kernels/optim.h"

#define T        float
#define FN(name) name##_f
#define sqrt_f   sqrtf
#include "kernels/optim-formulas.h"
#undef T
#undef FN

/* What a launch needs of the call; addresses are the device's. */
typedef struct
{
  const Chunk *chunks;
  int n_chunks;
  LoomStepAttrs attrs;
  const float *scalar[LOOM_STEP_MAX_SCALARS];
  const float *grad_scale, *finite;
  const long long *step;
  double *parts; /* (chunks, 2) */
  float *ratio;  /* (tensors); NULL without a trust ratio */
} Call;

/* Calls X for the one formula; the others are dropped when the template is compiled. */
#define FOR_FORMULA(X) LOOM_STEP_FORMULAS (X) LOOM_STEP_TRUSTS (X)

template <int FORMULA>
__device__ static LoomStepRates
rates_of (const Call &call)
{
  LoomStepRates rates = { 1, 0, *call.grad_scale * (call.attrs.maximize ? -1.0 : 1.0), { 0 } };
  double hyper[LOOM_STEP_MAX_SCALARS];

  for (int i = 0; i < LOOM_STEP_MAX_SCALARS; i++)
    hyper[i] = call.scalar[i] != NULL ? (double)*call.scalar[i] : 0;
#define RATES(name, kind, states)                                                                                      \
  if (FORMULA == LOOM_FORMULA_##name)                                                                                  \
    loom_rates_##kind (&call.attrs, hyper, (double)*call.step, &rates);
  FOR_FORMULA (RATES)
#undef RATES
  return rates;
}

template <int FORMULA>
__device__ static float
stepped (float p, float d, float *state, const float *c)
{
#define STEP(name, kind, states)                                                                                       \
  if (FORMULA == LOOM_FORMULA_##name)                                                                                  \
    return name##_f (p, d, &state[0], &state[1], &state[2], c);
  FOR_FORMULA (STEP)
#undef STEP
  return p;
}

template <int FORMULA>
__device__ static float
measured (float p, float g, float *state, const float *c)
{
#define MEASURE(name, kind, states)                                                                                    \
  if (FORMULA == LOOM_FORMULA_##name)                                                                                  \
    return name##_measure_f (p, g, &state[0], &state[1], &state[2], c);
  LOOM_STEP_TRUSTS (MEASURE)
#undef MEASURE
  return g;
}

template <int FORMULA>
__device__ static double
trust_of (const LoomStepRates &rates, double weight, double measured)
{
#define TRUST(name, kind, states)                                                                                      \
  if (FORMULA == LOOM_FORMULA_##name)                                                                                  \
    return loom_trust_##name (&rates, weight, measured);
  LOOM_STEP_TRUSTS (TRUST)
#undef TRUST
  return 1;
}

/* The rates as the elements see them. */
typedef struct
{
  float shrink, decay, scale, c[8];
} Common;

template <int FORMULA>
__device__ static void
set_common (Common *common, const Call &call)
{
  const LoomStepRates rates = rates_of<FORMULA> (call);

  common->shrink = (float)rates.shrink;
  common->decay = (float)rates.decay;
  common->scale = (float)rates.scale;
  for (int i = 0; i < 8; i++)
    common->c[i] = (float)rates.c[i];
}

/* A block a chunk; STATES of the formula. */
template <int FORMULA, int STATES>
__global__ void
__launch_bounds__ (CUDA_THREADS) step_kernel (Call call)
{
  __shared__ Common common;
  const Chunk chunk = call.chunks[blockIdx.x];

  if (*call.finite == 0)
    return;
  if (threadIdx.x == 0)
    {
      set_common<FORMULA> (&common, call);
      if (call.ratio != NULL)
        common.c[0] *= call.ratio[chunk.tensor];
    }
  __syncthreads ();
  for (int i = threadIdx.x; i < chunk.count; i += CUDA_THREADS)
    {
      const float p = chunk.at[0][i], g = chunk.at[1][i] * common.scale;
      float state[LOOM_STEP_MAX_STATES] = { 0 };

      for (int s = 0; s < STATES; s++)
        state[s] = chunk.at[2 + s][i];
      chunk.at[0][i] = stepped<FORMULA> (p * common.shrink, g + common.decay * p, state, common.c);
      for (int s = 0; s < STATES; s++)
        chunk.at[2 + s][i] = state[s];
    }
}

/* A block a chunk; leaves its sums in call.parts. */
template <int FORMULA, int STATES>
__global__ void
__launch_bounds__ (CUDA_THREADS) measure_kernel (Call call)
{
  __shared__ Common common;
  const Chunk chunk = call.chunks[blockIdx.x];
  double weights = 0, squares = 0;

  if (*call.finite == 0)
    return;
  if (threadIdx.x == 0)
    set_common<FORMULA> (&common, call);
  __syncthreads ();
  for (int i = threadIdx.x; i < chunk.count; i += CUDA_THREADS)
    {
      const float p = chunk.at[0][i];
      float state[LOOM_STEP_MAX_STATES] = { 0 };

      for (int s = 0; s < STATES; s++)
        state[s] = chunk.at[2 + s][i];
      const double u = measured<FORMULA> (p, chunk.at[1][i] * common.scale, state, common.c);

      weights += (double)p * p;
      squares += u * u;
      for (int s = 0; s < STATES; s++)
        chunk.at[2 + s][i] = state[s];
    }
  weights = block_join<Sum, CUDA_THREADS> (weights);
  squares = block_join<Sum, CUDA_THREADS> (squares);
  if (threadIdx.x == 0)
    {
      call.parts[blockIdx.x * 2] = weights;
      call.parts[blockIdx.x * 2 + 1] = squares;
    }
}

/* A block a tensor. */
template <int FORMULA>
__global__ void
__launch_bounds__ (CUDA_THREADS) ratio_kernel (Call call)
{
  double weights = 0, squares = 0;

  if (*call.finite == 0)
    return;
  for (int i = threadIdx.x; i < call.n_chunks; i += CUDA_THREADS)
    if (call.chunks[i].tensor == (int)blockIdx.x)
      {
        weights += call.parts[i * 2];
        squares += call.parts[i * 2 + 1];
      }
  weights = block_join<Sum, CUDA_THREADS> (weights);
  squares = block_join<Sum, CUDA_THREADS> (squares);
  if (threadIdx.x == 0)
    call.ratio[blockIdx.x] = (float)trust_of<FORMULA> (rates_of<FORMULA> (call), sqrt (weights), sqrt (squares));
}

/* ---- host ------------------------------------------------------------------------------ */

template <int FORMULA, int STATES>
static void
launch_step (const Multi *self, cudaStream_t stream, const Call &call)
{
  step_kernel<FORMULA, STATES><<<self->n_chunks, CUDA_THREADS, 0, stream>>> (call);
}

template <int FORMULA, int STATES>
static void
launch_trust (const Multi *self, cudaStream_t stream, const Call &call)
{
  measure_kernel<FORMULA, STATES><<<self->n_chunks, CUDA_THREADS, 0, stream>>> (call);
  ratio_kernel<FORMULA><<<self->n, CUDA_THREADS, 0, stream>>> (call);
  step_kernel<FORMULA, STATES><<<self->n_chunks, CUDA_THREADS, 0, stream>>> (call);
}

static void (*const launches[LOOM_N_FORMULAS]) (const Multi *, cudaStream_t, const Call &) = {
#define STEP(name, kind, states) launch_step<LOOM_FORMULA_##name, states>,
#define TRUST(name, kind, states) launch_trust<LOOM_FORMULA_##name, states>,
  LOOM_STEP_FORMULAS (STEP) LOOM_STEP_TRUSTS (TRUST)
#undef STEP
#undef TRUST
};

static LoomStatus
steps_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;
  const int scalars = loom_step_scalars (&self->step), formula = loom_step_formula (&self->step);
  void *const *scalar = buffers + self->n * self->lists;
  Call call = { self->chunks, self->n_chunks, self->step };

  if (self->n_chunks == 0)
    return LOOM_STATUS_OK;
  for (int i = 0; i < scalars; i++)
    call.scalar[i] = (const float *)scalar[i];
  call.grad_scale = (const float *)scalar[scalars];
  call.finite = (const float *)scalar[scalars + 1];
  call.step = (const long long *)scalar[scalars + 2];
  if (formula >= LOOM_FIRST_TRUST)
    {
      call.parts = (double *)buffers[self->n_in + (self->lists - 1) * self->n];
      call.ratio = (float *)(call.parts + 2 * self->n_chunks);
    }
  cuda_use (self->device);
  launches[formula] (self, cuda_stream (self->device, stream), call);
  return cuda_launched (self->base.name, message);
}

static LoomStatus
steps_new (LoomDevice *device, const LoomKernelSpec *spec, const char *name, LoomKernel **kernel, LoomMessage *message)
{
  const LoomStepAttrs *attrs = (const LoomStepAttrs *)spec->attrs;
  const int lists = 2 + loom_step_states (attrs), scalars = loom_step_scalars (attrs), first = attrs->n * lists;
  Multi *self = NULL;
  LoomStatus status;

  if (spec->n_in != first + scalars + 3 || !all_of_dtype (spec->in + first, scalars + 2, LOOM_F32)
      || spec->in[first + scalars + 2].dtype != LOOM_I64)
    return LOOM_STATUS_UNSUPPORTED;
  status = multi_new (device, spec, attrs->n, lists, name, steps_run, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  self->step = *attrs;
  if (loom_step_formula (attrs) >= LOOM_FIRST_TRUST)
    self->base.scratch_bytes = (size_t)self->n_chunks * 2 * sizeof (double) + (size_t)self->n * sizeof (float);
  else
    self->join_neighbours = true;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

#define CONSTRUCTOR(name, scalars)                                                                                     \
  LoomStatus cuda_##name##_step_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel,              \
                                     LoomMessage *message)                                                             \
  {                                                                                                                    \
    return steps_new (device, spec, "own multi-tensor " #name, kernel, message);                                       \
  }
LOOM_STEPS (CONSTRUCTOR)
