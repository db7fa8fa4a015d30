/* random: Philox numbers, uniform, normal, exponential, masks or integers (kernels/philox.h, kernels/draw.h). */
#include "kernels/cpu/cpu-philox.h"
#include "kernels/cpu/cpu.h"
#include "kernels/draw.h"

#include <string.h>

typedef struct
{
  CpuKernel k;
  int64_t count, row; /* row: the number of elements for each position; 0: no positions */
  LoomRandomKind kind;
  bool integers;
  uint64_t stream;
  double ns;
} Random;

typedef struct
{
  const Random *self;
  uint64_t seed, step;
  const int64_t *row_index; /* [count / row] */
  float least;              /* lower bound of numbers for which a mask is true */
  void *y;                  /* [count] */
} Call;

#define NUMBERS CPU_PHILOX_NUMBERS

/* The words of block `from` and the following ones: word [NUMBERS]. */
static inline void
next_words (const Call *call, int64_t from, uint32_t *word)
{
  uint64_t block[CPU_PHILOX_BLOCKS];

  for (int l = 0; l < CPU_PHILOX_BLOCKS; l++)
    block[l] = (uint64_t)(from + l);
  cpu_philox (call->seed, call->self->stream, call->step, block, word);
}

/* The floats of the same blocks: y [NUMBERS]. */
static void
next_floats (const Call *call, int64_t from, float *y)
{
  uint32_t word[NUMBERS];

  next_words (call, from, word);
  if (call->self->kind == LOOM_RANDOM_NORMAL)
    for (int i = 0; i < NUMBERS; i += 2)
      loom_draw_normals (word[i], word[i + 1], &y[i], &y[i + 1]);
  else if (call->self->kind == LOOM_RANDOM_EXPONENTIAL)
    for (int i = 0; i < NUMBERS; i++)
      y[i] = loom_draw_exponential (word[i]);
  else
    for (int i = 0; i < NUMBERS; i++)
      y[i] = loom_philox_uniform (word[i]);
}

/* y [count] in pieces of NUMBERS, the last of which may be shorter. */
static void
part_random (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  float *y = call->y;

  for (int64_t piece = from; piece < to; piece++)
    {
      const int64_t first = piece * NUMBERS, left = call->self->count - first;
      float last[NUMBERS];

      next_floats (call, piece * CPU_PHILOX_BLOCKS, left >= NUMBERS ? y + first : last);
      if (left < NUMBERS)
        memcpy (y + first, last, (size_t)left * sizeof (float));
    }
}

/* y [count] of bytes in pieces of NUMBERS. */
static void
part_mask (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const float least = call->least;
  uint8_t *y = call->y;

  for (int64_t piece = from; piece < to; piece++)
    {
      const int64_t first = piece * NUMBERS, left = call->self->count - first;
      uint32_t word[NUMBERS];
      uint8_t mask[NUMBERS];

      next_words (call, piece * CPU_PHILOX_BLOCKS, word);
      for (int i = 0; i < NUMBERS; i++)
        mask[i] = loom_philox_uniform (word[i]) >= least;
      memcpy (y + first, mask, (size_t)(left < NUMBERS ? left : NUMBERS));
    }
}

/* Two words a number: y [count] in pieces of NUMBERS / 2. */
static void
part_ints (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  int64_t *y = call->y;

  for (int64_t piece = from; piece < to; piece++)
    {
      const int64_t first = piece * (NUMBERS / 2), left = call->self->count - first;
      uint32_t word[NUMBERS];

      next_words (call, piece * CPU_PHILOX_BLOCKS, word);
      for (int i = 0; i < NUMBERS / 2 && i < left; i++)
        y[first + i] = loom_philox_int (word[2 * i], word[2 * i + 1]);
    }
}

/* Element by element, because a row may begin inside a block. */
static void
part_of_rows (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Random *self = call->self;
  float *y = call->y;
  uint8_t *mask = call->y;

  for (int64_t at = from; at < to; at++)
    {
      const int64_t i = call->row_index[at / self->row] * self->row + at % self->row;
      uint32_t word[4];
      float pair[2];

      loom_philox (call->seed, self->stream, call->step, (uint64_t)i / 4, word);
      if (self->kind == LOOM_RANDOM_MASK)
        mask[at] = loom_philox_uniform (word[i & 3]) >= call->least;
      else if (self->kind == LOOM_RANDOM_NORMAL)
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

  call.row_index = self->row > 0 ? b[2] : NULL;
  if (self->kind == LOOM_RANDOM_MASK)
    call.least = *(const float *)b[3];
  call.y = b[k->n_in];
  if (self->row > 0)
    cpu_share (k, self->ns * 4, self->count, part_of_rows, &call);
  else if (self->integers)
    cpu_share (k, self->ns, (self->count + NUMBERS / 2 - 1) / (NUMBERS / 2), part_ints, &call);
  else
    cpu_share (k, self->ns, (self->count + NUMBERS - 1) / NUMBERS,
               self->kind == LOOM_RANDOM_MASK ? part_mask : part_random, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomRandomAttrs *a = spec->attrs;
  const bool is_mask = a->kind == LOOM_RANDOM_MASK, has_rows = loom_random_has_rows (spec->in, spec->n_in);
  const LoomDType type = spec->out[0].dtype;
  Random *self;

  /* The number of an element is its position in logical order. */
  if (spec->in[0].dtype != LOOM_I64 || spec->in[1].dtype != LOOM_I64
      || (has_rows && (spec->in[2].dtype != LOOM_I64 || type == LOOM_I64))
      || (is_mask && (spec->n_in != 4 || spec->in[3].dtype != LOOM_F32))
      || (type != (is_mask ? LOOM_BOOL : LOOM_F32) && (is_mask || type != LOOM_I64))
      || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->count = loom_desc_count (&spec->out[0]);
  self->row = has_rows ? loom_dim_product (&spec->out[0], spec->in[2].rank, spec->out[0].rank) : 0;
  self->kind = a->kind;
  self->integers = type == LOOM_I64;
  self->stream = a->stream;
  self->ns = (double)self->count * (a->kind == LOOM_RANDOM_UNIFORM ? 3 : 5);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_random) = { "random", sizeof (LoomRandomAttrs), create };
