/* Causal attention over cached keys and values (KV cache), for generation token by token.
 *
 * A single query reuses no value, so keys and values are read in position, row by row, instead of being copied to
 * panels; reading them takes all the time. A thread computes whole heads, so the sums have one order for any number
 * of threads. */
#include "kernels/cpu/cpu-math.h"
#include "kernels/cpu/cpu-panels.h"

#include <string.h>

#define BYTES 10.0 /* that one thread reads per nanosecond, to decide the number of threads */

typedef struct
{
  CpuKernel k;
  int64_t n, heads, groups, positions, room, width, depth; /* N, H, K, T, C, E, D */
  float scale;
  double ns;
} Cached;

typedef struct
{
  const Cached *self;
  const float *q, *k, *v; /* [N,H,T,E], [N,K,T,E], [N,K,T,D] */
  float *keys, *values;   /* [N,K,C,E], [N,K,C,D] */
  float *y, *scratch;     /* [N,H,T,D]; [N·K][C] */
  int64_t position;
} Call;

static float
sum_of (V v)
{
  float sum = 0;

  for (int i = 0; i < LANES; i++)
    sum += v[i];
  return sum;
}

/* a·b of n elements. */
INLINE float
dot (const float *a, const float *b, int64_t n)
{
  V first = { 0 }, second = { 0 };
  int64_t at = 0;

  for (; at + 2 * LANES <= n; at += 2 * LANES)
    {
      first += *(const V *)(a + at) * *(const V *)(b + at);
      second += *(const V *)(a + at + LANES) * *(const V *)(b + at + LANES);
    }
  for (; at < n; at += LANES)
    first += load (a + at, n - at) * load (b + at, n - at);
  return sum_of (first + second);
}

/* Replaces the logits [n] by e^(s - the largest); returns their sum. */
static float
exponentials (float *s, int64_t n)
{
  float top = s[0], sum = 0;

  for (int64_t j = 1; j < n; j++)
    top = ((s[j] > top) | (s[j] != s[j])) ? s[j] : top;
#pragma GCC ivdep
  for (int64_t j = 0; j < n; j++)
    s[j] = cpu_exp (s[j] - top);
  for (int64_t j = 0; j < n; j++)
    sum += s[j];
  return sum;
}

/* Σ s[j]·values[j] over n rows of `depth`, times a factor: y [depth]. */
static void
weigh (float *y, const float *s, const float *values, int64_t n, int64_t depth, float factor)
{
  int64_t at = 0;

  for (; at + 4 * LANES <= depth; at += 4 * LANES)
    {
      V sum[4] = { { 0 }, { 0 }, { 0 }, { 0 } };

      for (int64_t j = 0; j < n; j++)
        for (int i = 0; i < 4; i++)
          sum[i] += *(const V *)(values + j * depth + at + i * LANES) * s[j];
      for (int i = 0; i < 4; i++)
        store (y + at + i * LANES, sum[i] * factor, LANES);
    }
  for (; at < depth; at += LANES)
    {
      V sum = { 0 };

      for (int64_t j = 0; j < n; j++)
        sum += load (values + j * depth + at, depth - at) * s[j];
      store (y + at, sum * factor, depth - at);
    }
}

/* The heads of keys from … to, with all heads of queries that share them. */
static void
run_part (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Cached *self = call->self;
  int64_t per_group = self->heads / self->groups, new_k = self->positions * self->width,
          new_v = self->positions * self->depth;

  for (int64_t group = from; group < to; group++)
    {
      float *keys = call->keys + group * self->room * self->width, *s = call->scratch + group * self->room;
      float *values = call->values + group * self->room * self->depth;

      memcpy (keys + call->position * self->width, call->k + group * new_k, (size_t)new_k * sizeof (float));
      memcpy (values + call->position * self->depth, call->v + group * new_v, (size_t)new_v * sizeof (float));
      for (int64_t row = group * per_group * self->positions; row < (group + 1) * per_group * self->positions; row++)
        {
          int64_t n = call->position + row % self->positions + 1;

          for (int64_t j = 0; j < n; j++)
            s[j] = dot (call->q + row * self->width, keys + j * self->width, self->width) * self->scale;
          weigh (call->y + row * self->depth, s, values, n, self->depth, 1 / exponentials (s, n));
        }
    }
}

static LoomStatus
run (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Cached *self = (Cached *)k;
  Call call = { .self = self, .q = b[0], .k = b[1], .v = b[2], .keys = b[6], .values = b[7], .y = b[8] };

  call.scratch = b[9];
  call.position = *(const int64_t *)b[5];
  if (call.position < 0 || call.position + self->positions > self->room)
    return cpu_index_fault (message, "the position",
                            call.position < 0 ? call.position : call.position + self->positions - 1, self->room);
  if (self->heads > 0)
    cpu_share (k, self->ns, self->n * self->groups, run_part, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomAttentionCachedAttrs *a = spec->attrs;
  Cached *self;

  if (!cpu_all_f32 (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->n = spec->in[0].dim[0];
  self->heads = spec->in[0].dim[1];
  self->positions = spec->in[0].dim[2];
  self->width = spec->in[0].dim[3];
  self->groups = spec->in[3].dim[1];
  self->room = spec->in[3].dim[2];
  self->depth = spec->in[4].dim[3];
  self->scale = (float)a->scale;
  /* Assumes that half of the cache is filled. */
  self->ns = (double)(self->n * self->heads * self->positions) * (double)self->room / 2
             * (double)(self->width + self->depth) * 4 / BYTES;
  self->k.base.scratch_bytes = (size_t)(self->n * self->groups * self->room) * sizeof (float);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_attention_cached) = {
  .name = "attention_cached",
  .attrs_size = sizeof (LoomAttentionCachedAttrs),
  .create = create,
};
