/* random: Philox numbers, uniform, normal, exponential or integers (kernels/philox.h). */
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"

#include <math.h>

typedef struct
{
  CpuKernel k;
  int64_t count;
  LoomRandomKind kind;
  bool integers;
  uint64_t stream;
  double ns;
} Random;

typedef struct
{
  const Random *self;
  uint64_t seed, step;
  void *y; /* [count] */
} Call;

/* Four numbers a block: y [count] in blocks of 4. */
static void
part_random (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Random *self = call->self;
  float *y = call->y;

  for (int64_t block = from; block < to; block++)
    {
      int64_t n = self->count - 4 * block < 4 ? self->count - 4 * block : 4;
      float value[4];
      uint32_t word[4];

      loom_philox (call->seed, self->stream, call->step, (uint64_t)block, word);
      if (self->kind == LOOM_RANDOM_NORMAL)
        for (int i = 0; i < 4; i += 2)
          {
            double u = loom_philox_uniform (word[i]), v = loom_philox_uniform (word[i + 1]);
            double radius = sqrt (-2 * log (1 - u)), angle = 2 * 3.14159265358979323846 * v;

            value[i] = (float)(radius * cos (angle));
            value[i + 1] = (float)(radius * sin (angle));
          }
      else if (self->kind == LOOM_RANDOM_EXPONENTIAL)
        for (int i = 0; i < 4; i++)
          value[i] = (float)-log (loom_philox_open (word[i]));
      else
        for (int i = 0; i < 4; i++)
          value[i] = loom_philox_uniform (word[i]);
      for (int64_t i = 0; i < n; i++)
        y[4 * block + i] = value[i];
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

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Random *self = (Random *)k;
  Call call = { self, (uint64_t) * (const int64_t *)b[0], (uint64_t) * (const int64_t *)b[1], b[2] };

  if (self->integers)
    cpu_share (k, self->ns, (self->count + 1) / 2, part_ints, &call);
  else
    cpu_share (k, self->ns, (self->count + 3) / 4, part_random, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomRandomAttrs *a = spec->attrs;
  Random *self;

  /* An element's number is its place in the logical order. */
  if (spec->in[0].dtype != LOOM_I64 || spec->in[1].dtype != LOOM_I64
      || (spec->out[0].dtype != LOOM_F32 && spec->out[0].dtype != LOOM_I64)
      || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->count = loom_desc_count (&spec->out[0]);
  self->kind = a->kind;
  self->integers = spec->out[0].dtype == LOOM_I64;
  self->stream = a->stream;
  self->ns = (double)self->count * (a->kind == LOOM_RANDOM_UNIFORM ? 3 : 15);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_random) = { "random", sizeof (LoomRandomAttrs), create };
