/* random: Philox numbers, uniform, normal, exponential or integers (kernels/philox.h, kernels/draw.h). */
#include "kernels/cpu/cpu-philox.h"
#include "kernels/cpu/cpu.h"
#include "kernels/draw.h"

#include <string.h>

typedef struct
{
  CpuKernel k;
  int64_t count, row; /* row: what lies behind each place; 0 where there are none */
  LoomRandomKind kind;
  bool integers;
  uint64_t stream;
  double ns;
} Random;

typedef struct
{
  const Random *self;
  uint64_t seed, step;
  const int64_t *place; /* [count / row] */
  void *y;              /* [count] */
} Call;

#define LANES CPU_PHILOX_LANES

/* Four numbers a block: y [4·LANES]. */
static void
lanes_random (const Call *call, int64_t from, float *y)
{
  uint32_t word[4][LANES];
  float value[4][LANES];

  cpu_philox (call->seed, call->self->stream, call->step, (uint64_t)from, word);
  if (call->self->kind == LOOM_RANDOM_NORMAL)
    for (int i = 0; i < 4; i += 2)
      for (int l = 0; l < LANES; l++)
        loom_draw_normals (word[i][l], word[i + 1][l], &value[i][l], &value[i + 1][l]);
  else if (call->self->kind == LOOM_RANDOM_EXPONENTIAL)
    for (int i = 0; i < 4; i++)
      for (int l = 0; l < LANES; l++)
        value[i][l] = loom_draw_exponential (word[i][l]);
  else
    for (int i = 0; i < 4; i++)
      for (int l = 0; l < LANES; l++)
        value[i][l] = loom_philox_uniform (word[i][l]);
  for (int l = 0; l < LANES; l++)
    for (int i = 0; i < 4; i++)
      y[4 * l + i] = value[i][l];
}

/* y [count] in pieces of 4·LANES, the last of which may be shorter. */
static void
part_random (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  float *y = call->y;

  for (int64_t piece = from; piece < to; piece++)
    {
      const int64_t first = piece * 4 * LANES, left = call->self->count - first;
      float last[4 * LANES];

      lanes_random (call, piece * LANES, left >= 4 * LANES ? y + first : last);
      if (left < 4 * LANES)
        memcpy (y + first, last, (size_t)left * sizeof (float));
    }
}

/* Two numbers a block: y [count] in blocks of 2. */
static void
part_ints (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Random *self = call->self;
  int64_t *y = call->y;

  for (int64_t block = from; block < to; block++)
    {
      uint32_t word[4];

      loom_philox (call->seed, self->stream, call->step, (uint64_t)block, word);
      y[2 * block] = loom_philox_int (word[0], word[1]);
      if (2 * block + 1 < self->count)
        y[2 * block + 1] = loom_philox_int (word[2], word[3]);
    }
}

/* Element by element, since rows may begin within a block. */
static void
part_placed (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Random *self = call->self;
  float *y = call->y;

  for (int64_t at = from; at < to; at++)
    {
      const int64_t i = call->place[at / self->row] * self->row + at % self->row;
      uint32_t word[4];
      float pair[2];

      loom_philox (call->seed, self->stream, call->step, (uint64_t)i / 4, word);
      if (self->kind == LOOM_RANDOM_NORMAL)
        {
          loom_draw_normals (word[i & 2], word[(i & 2) + 1], &pair[0], &pair[1]);
          y[at] = pair[i & 1];
        }
      else
        y[at] = self->kind == LOOM_RANDOM_EXPONENTIAL ? loom_draw_exponential (word[i & 3])
                                                      : loom_philox_uniform (word[i & 3]);
    }
}

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Random *self = (Random *)k;
  Call call = { self, (uint64_t) * (const int64_t *)b[0], (uint64_t) * (const int64_t *)b[1] };

  call.place = self->row > 0 ? b[2] : NULL;
  call.y = b[k->n_in];
  if (self->row > 0)
    cpu_share (k, self->ns * 4, self->count, part_placed, &call);
  else if (self->integers)
    cpu_share (k, self->ns, (self->count + 1) / 2, part_ints, &call);
  else
    cpu_share (k, self->ns, (self->count + 4 * LANES - 1) / (4 * LANES), part_random, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomRandomAttrs *a = spec->attrs;
  Random *self;

  /* An element's number is its place in the logical order. */
  if (spec->in[0].dtype != LOOM_I64 || spec->in[1].dtype != LOOM_I64
      || (spec->n_in > 2 && (spec->in[2].dtype != LOOM_I64 || spec->out[0].dtype != LOOM_F32))
      || (spec->out[0].dtype != LOOM_F32 && spec->out[0].dtype != LOOM_I64)
      || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->count = loom_desc_count (&spec->out[0]);
  self->row = spec->n_in > 2 ? loom_dim_product (&spec->out[0], spec->in[2].rank, spec->out[0].rank) : 0;
  self->kind = a->kind;
  self->integers = spec->out[0].dtype == LOOM_I64;
  self->stream = a->stream;
  self->ns = (double)self->count * (a->kind == LOOM_RANDOM_UNIFORM ? 3 : 5);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_random) = { "random", sizeof (LoomRandomAttrs), create };
