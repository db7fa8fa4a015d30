/* sort: along an axis, stable, with the indices of the elements.
 *
 * Every element is converted to an unsigned number of the same order (inverted for a descending sort), and pairs of
 * number and position are sorted by digits of eight bits, lowest first. This is stable, has no worst case and needs one
 * pass for each digit; digits that are equal in all pairs are skipped, so small integers take one or two passes. Short
 * rows are sorted by insertion. Threads share rows. */
#include "kernels/cpu/cpu.h"

#include <string.h>

#define INSERTION_MAX 48

typedef struct
{
  CpuKernel k;
  int64_t outer, n, inner, chunks;
  LoomDType dtype;
  bool descending;
  size_t size;
  double ns;
} Sort;

typedef struct
{
  uint64_t key;
  int64_t at;
} Pair;

typedef struct
{
  const Sort *self;
  const void *x;    /* [outer,n,inner] */
  void *y;          /* [outer,n,inner] */
  int64_t *indices; /* [outer,n,inner] */
  Pair *scratch;    /* [chunks,2,n] */
} Call;

/* Element i as a number of the same order: a float's bits with negative ones inverted, both zeros equal and every NaN
 * the largest; an integer without its sign. */
static inline uint64_t
key_of (const void *x, int64_t i, LoomDType dtype)
{
  if (dtype == LOOM_F32)
    {
      float v = ((const float *)x)[i];
      uint32_t bits = loom_float_bits (v == 0 ? 0.0f : v);

      if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0xffffffffu;
      return bits & 0x80000000u ? (uint32_t)~bits : bits | 0x80000000u;
    }
  if (dtype == LOOM_I64)
    return (uint64_t)((const int64_t *)x)[i] ^ 0x8000000000000000u;
  if (dtype == LOOM_I32)
    return (uint32_t)((const int32_t *)x)[i] ^ 0x80000000u;
  return ((const uint8_t *)x)[i];
}

/* p [n]. */
static void
insertion_sort (Pair *p, int64_t n)
{
  for (int64_t i = 1; i < n; i++)
    {
      Pair me = p[i];
      int64_t j = i;

      for (; j > 0 && p[j - 1].key > me.key; j--)
        p[j] = p[j - 1];
      p[j] = me;
    }
}

/* p and other [n]; returns the one with the result. */
static Pair *
sort_digits (Pair *p, Pair *other, int64_t n)
{
  int64_t count[8][256];
  uint64_t differ = 0;

  memset (count, 0, sizeof count);
  for (int64_t i = 0; i < n; i++)
    {
      differ |= p[i].key ^ p[0].key;
      for (int d = 0; d < 8; d++)
        count[d][p[i].key >> (8 * d) & 255]++;
    }
  for (int d = 0; d < 8; d++)
    {
      int64_t first = 0;
      Pair *swap = p;

      if ((differ >> (8 * d) & 255) == 0)
        continue;
      for (int v = 0; v < 256; v++)
        {
          int64_t here = count[d][v];

          count[d][v] = first;
          first += here;
        }
      for (int64_t i = 0; i < n; i++)
        other[count[d][p[i].key >> (8 * d) & 255]++] = p[i];
      p = other;
      other = swap;
    }
  return p;
}

/* Row `row` of [outer·inner] with element stride inner; p: scratch [2,n]. */
static void
sort_row (const Call *call, int64_t row, Pair *p)
{
  const Sort *self = call->self;
  int64_t n = self->n, inner = self->inner, base = row / inner * n * inner + row % inner;
  uint64_t flip = self->descending ? ~(uint64_t)0 : 0;

  for (int64_t i = 0; i < n; i++)
    p[i] = (Pair){ key_of (call->x, base + i * inner, self->dtype) ^ flip, i };
  if (n <= INSERTION_MAX)
    insertion_sort (p, n);
  else
    p = sort_digits (p, p + n, n);
  for (int64_t i = 0; i < n; i++)
    call->indices[base + i * inner] = p[i].at;
  if (self->size == 4)
    for (int64_t i = 0; i < n; i++)
      ((uint32_t *)call->y)[base + i * inner] = ((const uint32_t *)call->x)[base + p[i].at * inner];
  else
    for (int64_t i = 0; i < n; i++)
      memcpy ((char *)call->y + (size_t)(base + i * inner) * self->size,
              (const char *)call->x + (size_t)(base + p[i].at * inner) * self->size, self->size);
}

/* Threads share chunks instead of rows, because each chunk has its own scratch. */
static void
part_sort (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Sort *self = call->self;
  int64_t rows = self->outer * self->inner;

  for (int64_t c = from; c < to; c++)
    for (int64_t row = rows * c / self->chunks; row < rows * (c + 1) / self->chunks; row++)
      sort_row (call, row, call->scratch + 2 * self->n * c);
}

static LoomStatus
work_sort (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Sort *self = (Sort *)k;
  Call call = { self, b[0], b[1], b[2], b[3] };

  if (self->chunks > 0 && self->n > 0)
    cpu_share (k, self->ns, self->chunks, part_sort, &call);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomSortAttrs *attrs = spec->attrs;
  const LoomTensorDesc *x = &spec->in[0];
  Sort *self;

  if (!cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || x->dtype != spec->out[0].dtype || spec->out[1].dtype != LOOM_I64
      || (loom_dtype_is_float (x->dtype) && x->dtype != LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work_sort, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->outer = loom_dim_product (x, 0, attrs->axis);
  self->n = x->dim[attrs->axis];
  self->inner = loom_dim_product (x, attrs->axis + 1, x->rank);
  self->chunks = self->outer * self->inner < device->threads ? self->outer * self->inner : device->threads;
  self->dtype = x->dtype;
  self->descending = attrs->descending;
  self->size = loom_dtype_size (x->dtype);
  self->ns = 10.0 * (double)loom_desc_count (x);
  self->k.base.scratch_bytes = (size_t)(2 * self->n * self->chunks) * sizeof (Pair);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_sort) = { "sort", sizeof (LoomSortAttrs), create };
