/* gather and scatter along an axis.
 *
 * The index is viewed as [outer, n, inner] around the axis. Elements (o, ·, j) of the index access one lane of the
 * tensor, so threads share lanes: a scatter processes its lane in order, so duplicates are combined in a fixed order.
 */
#include "kernels/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  CpuKernel k;
  int64_t outer, n, inner; /* of the index */
  int64_t limit, step;     /* size of the tensor's axis, and its stride */
  int64_t *lane;           /* inner offsets in the tensor; NULL: 0, 1, 2 … */
  int n_outer;             /* axes before the indexed axis: their sizes in the index, strides in the tensor */
  int64_t dim[LOOM_MAX_RANK], stride[LOOM_MAX_RANK];
  bool narrow; /* indices are i32 */
  size_t size;
  double ns;
  void (*move) (void *context, int64_t from, int64_t to);
} Index;

typedef struct
{
  const Index *self;
  const void *x, *index; /* gather: the tensor; scatter: the values, shaped like the index; [outer, n, inner] */
  void *y;               /* gather: shaped like the index; scatter: the tensor */
  int wrong;             /* some index is out of range */
} Call;

static inline int64_t
index_at (const void *index, bool narrow, int64_t i)
{
  return narrow ? ((const int32_t *)index)[i] : ((const int64_t *)index)[i];
}

static void
part_check (void *context, int64_t from, int64_t to)
{
  Call *call = context;
  const Index *self = call->self;
  uint64_t limit = (uint64_t)self->limit;
  int wrong = 0;

  if (self->narrow)
    for (int64_t i = from; i < to; i++)
      wrong |= (uint64_t)((const int32_t *)call->index)[i] >= limit;
  else
    for (int64_t i = from; i < to; i++)
      wrong |= (uint64_t)((const int64_t *)call->index)[i] >= limit;
  if (wrong)
    __atomic_store_n (&call->wrong, 1, __ATOMIC_RELAXED);
}

static LoomStatus
check (const Index *self, Call *call, LoomMessage *message)
{
  int64_t count = self->outer * self->n * self->inner;

  cpu_share (&self->k, 0.3 * (double)count, count, part_check, call);
  for (int64_t i = 0; call->wrong && i < count; i++)
    if ((uint64_t)index_at (call->index, self->narrow, i) >= (uint64_t)self->limit)
      return cpu_index_fault (message, "the index", index_at (call->index, self->narrow, i), self->limit);
  return LOOM_STATUS_OK;
}

/* The offset of the lanes of outer position o in the tensor. */
static int64_t
outer_start (const Index *self, int64_t o)
{
  int64_t at = 0;

  for (int d = self->n_outer - 1; d >= 0; d--)
    {
      at += o % self->dim[d] * self->stride[d];
      o /= self->dim[d];
    }
  return at;
}

/* ---- gather: threads share rows (o, i), or single elements if a row has one ---- ---- */

#define GATHER(T)                                                                                                      \
  static void gather_##T (void *context, int64_t from, int64_t to)                                                     \
  {                                                                                                                    \
    const Call *call = context;                                                                                        \
    const Index *self = call->self;                                                                                    \
    const T *x = call->x;                                                                                              \
    T *y = call->y;                                                                                                    \
    int64_t inner = self->inner;                                                                                       \
                                                                                                                       \
    for (int64_t row = from; row < to;)                                                                                \
      {                                                                                                                \
        int64_t o = row / self->n, end = (o + 1) * self->n < to ? (o + 1) * self->n : to;                              \
        const T *base = x + outer_start (self, o);                                                                     \
                                                                                                                       \
        if (inner == 1 && self->narrow)                                                                                \
          for (; row < end; row++)                                                                                     \
            y[row] = base[((const int32_t *)call->index)[row] * self->step];                                           \
        else if (inner == 1)                                                                                           \
          for (; row < end; row++)                                                                                     \
            y[row] = base[((const int64_t *)call->index)[row] * self->step];                                           \
        for (; row < end; row++)                                                                                       \
          for (int64_t j = 0; j < inner; j++)                                                                          \
            y[row * inner + j] = base[index_at (call->index, self->narrow, row * inner + j) * self->step               \
                                      + (self->lane != NULL ? self->lane[j] : j)];                                     \
      }                                                                                                                \
  }

GATHER (uint8_t)
GATHER (uint16_t)
GATHER (uint32_t)
GATHER (uint64_t)

static LoomStatus
work_gather (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Index *self = (Index *)k;
  Call call = { self, b[0], b[1], b[2], 0 };
  LoomStatus status = check (self, &call, message);

  if (status == LOOM_STATUS_OK && self->inner > 0 && self->n > 0)
    cpu_share (k, self->ns, self->outer * self->n, self->move, &call);
  return status;
}

/* ---- scatter: threads share lanes (o, j) ---- --------------------------------- */

#define REPLACE(old, new) (new)
#define ADD(old, new)     ((old) + (new))
#define MUL(old, new)     ((old) * (new))
/* NaN wins: it is neither smaller nor larger, and is not replaced. */
#define MAX(old, new) ((new) > (old) || (new) != (new) ? (new) : (old))
#define MIN(old, new) ((new) < (old) || (new) != (new) ? (new) : (old))

/* A separate loop for the last axis, in which the elements are contiguous. */
#define SCATTER_LANE(T, MODE, I)                                                                                       \
  for (int64_t i = 0; i < self->n; i++)                                                                                \
    {                                                                                                                  \
      T *at = base + ((const I *)call->index)[lane * self->n + i];                                                     \
                                                                                                                       \
      *at = (T)MODE (*at, src[lane * self->n + i]);                                                                    \
    }

#define SCATTER(T, MODE)                                                                                               \
  static void scatter_##MODE##_##T (void *context, int64_t from, int64_t to)                                           \
  {                                                                                                                    \
    const Call *call = context;                                                                                        \
    const Index *self = call->self;                                                                                    \
    const T *src = call->x;                                                                                            \
    T *y = call->y;                                                                                                    \
    int64_t inner = self->inner;                                                                                       \
                                                                                                                       \
    for (int64_t lane = from; lane < to;)                                                                              \
      {                                                                                                                \
        int64_t o = lane / inner, first = lane % inner, end = first + to - lane < inner ? first + to - lane : inner;   \
        T *base = y + outer_start (self, o);                                                                           \
                                                                                                                       \
        if (inner == 1 && self->step == 1 && self->narrow)                                                             \
          {                                                                                                            \
            SCATTER_LANE (T, MODE, int32_t)                                                                            \
          }                                                                                                            \
        else if (inner == 1 && self->step == 1)                                                                        \
          {                                                                                                            \
            SCATTER_LANE (T, MODE, int64_t)                                                                            \
          }                                                                                                            \
        else                                                                                                           \
          for (int64_t i = 0; i < self->n; i++)                                                                        \
            for (int64_t j = first; j < end; j++)                                                                      \
              {                                                                                                        \
                int64_t e = (o * self->n + i) * inner + j;                                                             \
                T *at = base + index_at (call->index, self->narrow, e) * self->step                                    \
                        + (self->lane != NULL ? self->lane[j] : j);                                                    \
                                                                                                                       \
                *at = (T)MODE (*at, src[e]);                                                                           \
              }                                                                                                        \
        lane += end - first;                                                                                           \
      }                                                                                                                \
  }

SCATTER (uint8_t, REPLACE)
SCATTER (uint16_t, REPLACE)
SCATTER (uint32_t, REPLACE)
SCATTER (uint64_t, REPLACE)
#define COMBINE(T)                                                                                                     \
  SCATTER (T, ADD)                                                                                                     \
  SCATTER (T, MUL)                                                                                                     \
  SCATTER (T, MAX)                                                                                                     \
  SCATTER (T, MIN)
COMBINE (float)
COMBINE (int64_t)
COMBINE (int32_t)

static LoomStatus
work_scatter (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Index *self = (Index *)k;
  Call call = { self, b[2], b[1], b[3], 0 };
  LoomStatus status = check (self, &call, message);

  if (status != LOOM_STATUS_OK)
    return status;
  if (b[3] != b[0] && loom_desc_count (&k->out[0]) > 0)
    memcpy (b[3], b[0], loom_desc_bytes (&k->out[0]));
  if (self->n > 0)
    cpu_share (k, self->ns, self->outer * self->inner, self->move, &call);
  return LOOM_STATUS_OK;
}

/* ---- kernels ---------------------------------------------------------- */

typedef void (*Move) (void *context, int64_t from, int64_t to);

#define COMBINES(T)                                                                                                    \
  {                                                                                                                    \
    scatter_ADD_##T, scatter_MUL_##T, scatter_MAX_##T, scatter_MIN_##T                                                 \
  }

static Move
choose (const LoomKernelSpec *spec, bool scatter, LoomScatterMode mode, size_t size)
{
  static const Move gathers[9]
      = { [1] = gather_uint8_t, [2] = gather_uint16_t, [4] = gather_uint32_t, [8] = gather_uint64_t };
  static const Move replaces[9] = { [1] = scatter_REPLACE_uint8_t,
                                    [2] = scatter_REPLACE_uint16_t,
                                    [4] = scatter_REPLACE_uint32_t,
                                    [8] = scatter_REPLACE_uint64_t };
  static const Move combines[LOOM_N_DTYPES][4]
      = { [LOOM_F32] = COMBINES (float), [LOOM_I64] = COMBINES (int64_t), [LOOM_I32] = COMBINES (int32_t) };

  if (!scatter)
    return gathers[size];
  return mode == LOOM_SCATTER_REPLACE ? replaces[size] : combines[spec->out[0].dtype][mode - LOOM_SCATTER_ADD];
}

static void
destroy (CpuKernel *k)
{
  free (((Index *)k)->lane);
}

/* Offsets of the positions after the axis, for an index that is smaller than the tensor there. */
static bool
make_lanes (Index *self, const LoomTensorDesc *x, const LoomTensorDesc *index, int axis, LoomMessage *message)
{
  int64_t stride[LOOM_MAX_RANK], at[LOOM_MAX_RANK] = { 0 };
  int n = x->rank - axis - 1;
  bool same = true;

  loom_desc_strides (x, stride);
  for (int d = axis + 1; d < x->rank; d++)
    same &= x->dim[d] == index->dim[d];
  if (same || self->inner == 0)
    return true;
  self->lane = malloc ((size_t)self->inner * sizeof *self->lane);
  if (self->lane == NULL)
    return false;
  for (int64_t j = 0; j < self->inner; j++, loom_index_next (n, index->dim + axis + 1, at))
    self->lane[j] = loom_index_offset (n, at, stride + axis + 1);
  return true;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  bool scatter = strcmp (spec->primitive, "scatter") == 0;
  const LoomScatterAttrs *attrs = spec->attrs; /* gather's attributes begin with the same members */
  const LoomTensorDesc *x = scatter ? &spec->out[0] : &spec->in[0], *index = &spec->in[1];
  LoomScatterMode mode = scatter ? attrs->mode : LOOM_SCATTER_REPLACE;
  Move move = choose (spec, scatter, mode, loom_dtype_size (x->dtype));
  int64_t stride[LOOM_MAX_RANK];
  Index *self;

  if ((index->dtype != LOOM_I64 && index->dtype != LOOM_I32) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN)
      || spec->in[0].dtype != spec->out[0].dtype || (scatter && spec->in[2].dtype != spec->out[0].dtype)
      || move == NULL)
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, scatter ? work_scatter : work_gather, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  loom_desc_strides (x, stride);
  self->k.destroy = destroy;
  self->outer = loom_dim_product (index, 0, attrs->axis);
  self->n = index->dim[attrs->axis];
  self->inner = loom_dim_product (index, attrs->axis + 1, index->rank);
  self->limit = x->dim[attrs->axis];
  self->step = stride[attrs->axis];
  self->n_outer = attrs->axis;
  for (int d = 0; d < attrs->axis; d++)
    {
      self->dim[d] = index->dim[d];
      self->stride[d] = stride[d];
    }
  self->narrow = index->dtype == LOOM_I32;
  self->size = loom_dtype_size (x->dtype);
  self->ns = (double)loom_desc_count (index);
  self->move = move;
  if (!make_lanes (self, x, index, attrs->axis, message))
    {
      free (self);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  if (scatter)
    self->k.base.inplace[0] = 1;
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_gather) = { "gather", sizeof (LoomGatherAttrs), create };
const CpuPrimitive ISA (cpu_scatter) = { "scatter", sizeof (LoomScatterAttrs), create };
