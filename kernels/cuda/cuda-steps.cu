/* The optimisers of kernels/optim.h, many tensors in one launch (cuda-multi.cuh).
 *
 * The first thread of a block computes the common coefficients, in f64, and each thread applies the formula to its
 * elements. Steps with a trust ratio read a tensor twice: every chunk stores the sums of squares of its weights and of
 * the measured update, one block for each tensor adds them in the chunks' order, and the step multiplies by the ratio.
 */
#include "kernels/cuda/cuda-optim.cuh"

/* The launch argument; all addresses are in device memory. */
typedef struct
{
  const Chunk *chunks;
  int n_chunks;
  LoomStepAttrs attrs;
  const float *scalar[LOOM_STEP_MAX_SCALARS];
  const float *grad_scale, *finite;
  const long long *step;
  double *parts; /* [n_chunks,2] */
  float *ratio;  /* [tensors]; NULL without a trust ratio */
} Call;

/* The functions of one formula, by the names of the list. */
template <int FORMULA>
struct Formula;

#define FORMULA(name, kind, states)                                                                                    \
  template <>                                                                                                          \
  struct Formula<LOOM_FORMULA_##name>                                                                                  \
  {                                                                                                                    \
    enum                                                                                                               \
    {                                                                                                                  \
      STATES = states                                                                                                  \
    };                                                                                                                 \
    __device__ static void                                                                                             \
    rates (const LoomStepAttrs *attrs, const double *hyper, double step, LoomStepRates *to)                            \
    {                                                                                                                  \
      loom_rates_##kind (attrs, hyper, step, to);                                                                      \
    }                                                                                                                  \
    __device__ static float                                                                                            \
    step (float p, float d, float *s, const float *c)                                                                  \
    {                                                                                                                  \
      return name##_f (p, d, &s[0], &s[1], &s[2], c);                                                                  \
    }                                                                                                                  \
  };

/* Additional members of steps with a trust ratio. */
template <int FORMULA>
struct Trust;

#define TRUST(name, kind, states)                                                                                      \
  template <>                                                                                                          \
  struct Trust<LOOM_FORMULA_##name>                                                                                    \
  {                                                                                                                    \
    __device__ static float                                                                                            \
    measure (float p, float g, float *s, const float *c)                                                               \
    {                                                                                                                  \
      return name##_measure_f (p, g, &s[0], &s[1], &s[2], c);                                                          \
    }                                                                                                                  \
    __device__ static double                                                                                           \
    ratio (const LoomStepRates *rates, double weight, double measured)                                                 \
    {                                                                                                                  \
      return loom_trust_##name (rates, weight, measured);                                                              \
    }                                                                                                                  \
  };

LOOM_STEP_FORMULAS (FORMULA)
LOOM_STEP_TRUSTS (FORMULA)
LOOM_STEP_TRUSTS (TRUST)
#undef FORMULA
#undef TRUST

template <typename F>
__device__ static LoomStepRates
rates_of (const Call &call)
{
  LoomStepRates rates = { 1, 0, *call.grad_scale * (call.attrs.maximize ? -1.0 : 1.0), { 0 } };
  double hyper[LOOM_STEP_MAX_SCALARS];

  for (int i = 0; i < LOOM_STEP_MAX_SCALARS; i++)
    hyper[i] = call.scalar[i] != NULL ? (double)*call.scalar[i] : 0;
  F::rates (&call.attrs, hyper, (double)*call.step, &rates);
  return rates;
}

template <typename F>
__device__ static void
set_common (Common_f *common, const Call &call)
{
  const LoomStepRates rates = rates_of<F> (call);

  *common = common_of_f (&rates);
}

/* Loads the states of the four elements from i on from the lists after p and g: list by list in memory, element by
 * element here. */
template <typename F>
__device__ static inline void
take_states (float state[4][LOOM_STEP_MAX_STATES], const Chunk &chunk, int i, int left, bool aligned)
{
#pragma unroll
  for (int s = 0; s < F::STATES; s++)
    {
      float four[4];

      take_four (four, chunk.at[2 + s] + i, left, aligned);
      for (int k = 0; k < 4; k++)
        state[k][s] = four[k];
    }
}

template <typename F>
__device__ static inline void
put_states (const float state[4][LOOM_STEP_MAX_STATES], const Chunk &chunk, int i, int left, bool aligned)
{
#pragma unroll
  for (int s = 0; s < F::STATES; s++)
    {
      const float four[4] = { state[0][s], state[1][s], state[2][s], state[3][s] };

      put_four (chunk.at[2 + s] + i, four, left, aligned);
    }
}

/* One block for each chunk; its lists are p, g and the formula's states, each [chunk.count]. */
template <typename F>
__global__ void
__launch_bounds__ (CUDA_THREADS) step_kernel (Call call)
{
  __shared__ Common_f common;
  const Chunk chunk = call.chunks[blockIdx.x];

  if (*call.finite == 0)
    return;
  if (threadIdx.x == 0)
    {
      set_common<F> (&common, call);
      if (call.ratio != NULL)
        common.c[0] *= call.ratio[chunk.tensor];
    }
  __syncthreads ();
  const int count = (int)chunk.count;
  const bool aligned = chunk_is_aligned (chunk, 2 + F::STATES);
  for (int i = 4 * threadIdx.x; i < count; i += 4 * CUDA_THREADS)
    {
      const int left = count - i;
      float p[4], g[4], state[4][LOOM_STEP_MAX_STATES] = { { 0 } };

      take_four (p, chunk.at[0] + i, left, aligned);
      take_four (g, chunk.at[1] + i, left, aligned);
      take_states<F> (state, chunk, i, left, aligned);
#pragma unroll
      for (int k = 0; k < 4; k++)
        p[k] = F::step (p[k] * common.shrink, g[k] * common.scale + common.decay * p[k], state[k], common.c);
      put_four (chunk.at[0] + i, p, left, aligned);
      put_states<F> (state, chunk, i, left, aligned);
    }
}

/* One block for each chunk, as above; stores its sums in call.parts [n_chunks,2]. */
template <typename F, typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) measure_kernel (Call call)
{
  __shared__ Common_f common;
  const Chunk chunk = call.chunks[blockIdx.x];
  double weights = 0, squares = 0;

  if (*call.finite == 0)
    return;
  if (threadIdx.x == 0)
    set_common<F> (&common, call);
  __syncthreads ();
  const int count = (int)chunk.count;
  const bool aligned = chunk_is_aligned (chunk, 2 + F::STATES);
  for (int i = 4 * threadIdx.x; i < count; i += 4 * CUDA_THREADS)
    {
      const int left = count - i;
      float p[4], g[4], state[4][LOOM_STEP_MAX_STATES] = { { 0 } };

      take_four (p, chunk.at[0] + i, left, aligned);
      take_four (g, chunk.at[1] + i, left, aligned);
      take_states<F> (state, chunk, i, left, aligned);
#pragma unroll
      for (int k = 0; k < 4; k++)
        {
          const double u = T::measure (p[k], g[k] * common.scale, state[k], common.c);

          /* After the last element all lists contain 0, for which a formula may return another number. */
          weights += (double)p[k] * p[k];
          squares += k < left ? u * u : 0.0;
        }
      put_states<F> (state, chunk, i, left, aligned);
    }
  weights = block_join<Sum, CUDA_THREADS> (weights);
  squares = block_join<Sum, CUDA_THREADS> (squares);
  if (threadIdx.x == 0)
    {
      call.parts[blockIdx.x * 2] = weights;
      call.parts[blockIdx.x * 2 + 1] = squares;
    }
}

/* One block for each tensor: adds its chunks' sums call.parts [n_chunks,2] in order and stores call.ratio [tensors]. */
template <typename F, typename T>
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
    {
      const LoomStepRates rates = rates_of<F> (call);

      call.ratio[blockIdx.x] = (float)T::ratio (&rates, sqrt (weights), sqrt (squares));
    }
}

/* ---- host ------------------------------------------------------------------------------ */

template <typename F>
static void
launch_step (const Multi *self, cudaStream_t stream, const Call &call)
{
  step_kernel<F><<<self->n_chunks, CUDA_THREADS, 0, stream>>> (call);
}

template <typename F, typename T>
static void
launch_trust (const Multi *self, cudaStream_t stream, const Call &call)
{
  measure_kernel<F, T><<<self->n_chunks, CUDA_THREADS, 0, stream>>> (call);
  ratio_kernel<F, T><<<self->n, CUDA_THREADS, 0, stream>>> (call);
  step_kernel<F><<<self->n_chunks, CUDA_THREADS, 0, stream>>> (call);
}

static void (*const launches[LOOM_N_FORMULAS]) (const Multi *, cudaStream_t, const Call &) = {
#define STEP(name, kind, states) launch_step<Formula<LOOM_FORMULA_##name>>,
#define TRUST(name, kind, states) launch_trust<Formula<LOOM_FORMULA_##name>, Trust<LOOM_FORMULA_##name>>,
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
