/* sgd_step_logged and undo_step: SGD that reads each gradient once.
 *
 * grad_stats and the sgd_step after it read the gradients from memory twice, because the first weight may not be
 * written before the last gradient is known to be finite. Here the squares are summed while a strip of a gradient is in
 * the first cache, the weights are written at once, and the old weights are stored over the gradient: memory that the
 * call reads anyway. A step whose gradients turn out not to be finite is undone from there, to the bit.
 *
 * `bench-optim sgd 1 1000000 1 written` takes 261 µs a step (median of 18), half of it for writing the gradients, and
 * 335 as two calls; for 100,000 elements 20.0 and 25.1, for 16 million 14.3 ms and 17.6. A separate log would be read
 * and written in addition to the gradients. A step with momentum would need one: it has two states, and one gradient
 * has memory for only one of them. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu-multi.h"
#include "kernels/cpu/cpu-squares.h"

#include "kernels/optim.h"

#define T        float
#define FN(name) name##_f
#define sqrt_f   sqrtf
#include "kernels/optim-formulas.h"

typedef struct
{
  CpuMulti m;
  bool maximize;
} Logged;

typedef struct
{
  const Logged *self;
  float lr, decay, scale;
  double *sum; /* sum of squares of a chunk */
} Call;

/* Updates p [n] by g [n], and stores the old p in g. */
static inline __attribute__ ((always_inline)) void
step_piece (const Call *call, float *p, float *g, int64_t n)
{
  float lr = call->lr, decay = call->decay, scale = call->scale;

#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++)
    {
      float old = p[i];

      p[i] = sgd_f (old, g[i], scale, decay, lr);
      g[i] = old;
    }
}

static void
logged_chunk (void *context, const CpuChunk *chunk)
{
  const Call *call = context;
  float *p = chunk->list[0] + chunk->at, *g = chunk->list[1] + chunk->at;
  int64_t whole = chunk->n / STRIP * STRIP;
  CpuSquares squares = { 0 };
  const Call rates = *call; /* a copy, because the compiler would read the members again after every store */

  /* Strip by strip in one loop, because the sums are bound by arithmetic and the step by memory. */
  for (int64_t i = 0; i < whole; i += STRIP)
    {
      cpu_squares_add (&squares, g + i, STRIP);
      step_piece (&rates, p + i, g + i, STRIP);
    }
  call->sum[chunk->chunk] = cpu_squares_end (&squares, g + whole, chunk->n - whole);
  step_piece (&rates, p + whole, g + whole, chunk->n - whole);
}

static void
part_logged (void *context, int64_t from, int64_t to)
{
  cpu_multi_chunks (&((const Call *)context)->self->m, from, to, logged_chunk, context);
}

/* b: p and g of n tensors each, lr, weight_decay, grad_scale; p, old p in g's memory, sum and finite; sums of
 * chunks. */
static LoomStatus
work_logged (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Logged *self = (Logged *)k;
  void *const *scalar = b + 2 * self->m.n_tensors, *const *stats = b + k->n_in + 2 * self->m.n_tensors;
  Call call = { .self = self,
                .lr = *(const float *)scalar[0],
                .decay = *(const float *)scalar[1],
                .scale = self->maximize ? -*(const float *)scalar[2] : *(const float *)scalar[2],
                .sum = stats[2] };

  if (!self->m.bound)
    cpu_multi_bind (&k->base, b, message);
  cpu_share (k, self->m.ns, self->m.chunks, part_logged, &call);
  cpu_squares_results (call.sum, self->m.chunks, stats[0], stats[1]);
  return LOOM_STATUS_OK;
}

/* ---- undo ---------------------------------------------------------------- */

static void
undo_chunk (void *context, const CpuChunk *chunk)
{
  memcpy (chunk->list[0] + chunk->at, chunk->list[1] + chunk->at, (size_t)chunk->n * sizeof (float));
}

static void
part_undo (void *context, int64_t from, int64_t to)
{
  cpu_multi_chunks (context, from, to, undo_chunk, NULL);
}

/* b: p and old p of n tensors each, finite; p. */
static LoomStatus
work_undo (CpuKernel *k, void *const *b, LoomMessage *message)
{
  CpuMulti *self = (CpuMulti *)k;

  if (*(const float *)b[2 * self->n_tensors] != 0)
    return LOOM_STATUS_OK;
  if (!self->bound)
    cpu_multi_bind (&k->base, b, message);
  cpu_share (k, self->ns, self->chunks, part_undo, self);
  return LOOM_STATUS_OK;
}

/* ---- construction ------------------------------------------------------ */

static LoomStatus
create_logged (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
               LoomMessage *message)
{
  const LoomSgdLoggedAttrs *a = spec->attrs;
  CpuMulti *multi;
  LoomStatus status
      = cpu_multi_new (sizeof (Logged), device, spec, attrs_size, a->n, 2, 3, work_logged, &multi, message);

  if (status != LOOM_STATUS_OK)
    return status;
  multi->k.base.scratch_bytes = (size_t)multi->chunks * sizeof (double) + 64;
  ((Logged *)multi)->maximize = a->maximize;
  *kernel = &multi->k;
  return LOOM_STATUS_OK;
}

static LoomStatus
create_undo (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
             LoomMessage *message)
{
  const LoomUndoAttrs *a = spec->attrs;
  CpuMulti *multi;
  LoomStatus status
      = cpu_multi_new (sizeof (CpuMulti), device, spec, attrs_size, a->n, 2, 1, work_undo, &multi, message);

  if (status == LOOM_STATUS_OK)
    *kernel = &multi->k;
  return status;
}

const CpuPrimitive ISA (cpu_sgd_step_logged) = { "sgd_step_logged", sizeof (LoomSgdLoggedAttrs), create_logged };
const CpuPrimitive ISA (cpu_undo_step) = { "undo_step", sizeof (LoomUndoAttrs), create_undo };
