/* Data movement: permute, expand, slice, pad, concat, move, copy (also reorder and cast), fill, iota.
 *
 * All of these are one strided copy, planned once: axes that are contiguous on both sides are merged, contiguous rows
 * are copied with memcpy, and if the innermost axes of both sides differ, square tiles keep both in cache. Only the
 * size of an element matters, not its type. */
#include "kernels/cpu/cpu.h"
#include "kernels/move.h"

#include <stdlib.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define TRANSPOSE_TILE 16

typedef struct
{
  int rank;
  int64_t dim[LOOM_MAX_RANK], x[LOOM_MAX_RANK], y[LOOM_MAX_RANK]; /* strides in elements */
  int64_t x_start, y_start, count;
  size_t size;
} Copy;

typedef struct
{
  CpuKernel k;
  int n; /* number of copies: one for each input */
  Copy *copy;
  bool fill; /* the output is set to value first */
  double value;
  CpuLoadF32 load;
  CpuStoreF32 store;
  double ns;
} Move;

typedef struct
{
  const Copy *copy;
  const char *x; /* dim elements at strides copy->x */
  char *y;       /* the same at strides copy->y */
} Call;

/* y [n] with stride sy; x [n] with stride sx. */
#define COPY_LINE(type)                                                                                                \
  static void line_##type (char *y, const char *x, int64_t n, int64_t sy, int64_t sx)                                  \
  {                                                                                                                    \
    type *to = (type *)(void *)y;                                                                                      \
    const type *from = (const type *)(const void *)x;                                                                  \
    if (sy == 1 && sx == 0)                                                                                            \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        to[i] = *from;                                                                                                 \
    else                                                                                                               \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        to[i * sy] = from[i * sx];                                                                                     \
  }

COPY_LINE (uint8_t)
COPY_LINE (uint16_t)
COPY_LINE (uint32_t)
COPY_LINE (uint64_t)

typedef void (*Line) (char *y, const char *x, int64_t n, int64_t sy, int64_t sx);

static Line
line_of (size_t size)
{
  return size == 1 ? line_uint8_t : size == 2 ? line_uint16_t : size == 4 ? line_uint32_t : line_uint64_t;
}

#ifdef __AVX512F__
/* y [ni][16] = x [nj][16] transposed, 32 bits each, of which the first ni and nj of both are read and written; rows of
 * x have the stride sx, those of y the stride sy, in elements. */
static void
transpose_tile (uint32_t *y, const uint32_t *x, int64_t ni, int64_t nj, int64_t sy, int64_t sx)
{
  const __mmask16 in = (__mmask16)((1u << ni) - 1), out = (__mmask16)((1u << nj) - 1);
  __m512i a[16], b[16];

#pragma GCC unroll 16
  for (int j = 0; j < 16; j++)
    a[j] = j < nj ? _mm512_maskz_loadu_epi32 (in, x + j * sx) : _mm512_setzero_si512 ();
    /* Pairs of rows, then pairs of those, within 128 bits; then the quarters of vectors. */
#pragma GCC unroll 8
  for (int j = 0; j < 16; j += 2)
    {
      b[j] = _mm512_unpacklo_epi32 (a[j], a[j + 1]);
      b[j + 1] = _mm512_unpackhi_epi32 (a[j], a[j + 1]);
    }
#pragma GCC unroll 4
  for (int j = 0; j < 16; j += 4)
    {
      a[j] = _mm512_unpacklo_epi64 (b[j], b[j + 2]);
      a[j + 1] = _mm512_unpackhi_epi64 (b[j], b[j + 2]);
      a[j + 2] = _mm512_unpacklo_epi64 (b[j + 1], b[j + 3]);
      a[j + 3] = _mm512_unpackhi_epi64 (b[j + 1], b[j + 3]);
    }
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++)
    {
      b[j] = _mm512_shuffle_i32x4 (a[j], a[4 + j], 0x88);
      b[4 + j] = _mm512_shuffle_i32x4 (a[j], a[4 + j], 0xdd);
      b[8 + j] = _mm512_shuffle_i32x4 (a[8 + j], a[12 + j], 0x88);
      b[12 + j] = _mm512_shuffle_i32x4 (a[8 + j], a[12 + j], 0xdd);
    }
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++)
    {
      a[j] = _mm512_shuffle_i32x4 (b[j], b[8 + j], 0x88);
      a[8 + j] = _mm512_shuffle_i32x4 (b[j], b[8 + j], 0xdd);
      a[4 + j] = _mm512_shuffle_i32x4 (b[4 + j], b[12 + j], 0x88);
      a[12 + j] = _mm512_shuffle_i32x4 (b[4 + j], b[12 + j], 0xdd);
    }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++)
    if (i < ni)
      _mm512_mask_storeu_epi32 (y + i * sy, out, a[i]);
}
#endif

/* The last two axes [dim[a],dim[b]], whose contiguous directions differ, in tiles [TRANSPOSE_TILE,TRANSPOSE_TILE]. */
static void
copy_tiles (const Copy *c, char *y, const char *x, Line line)
{
  int a = c->rank - 2, b = c->rank - 1;
  int64_t size = (int64_t)c->size;

  for (int64_t i = 0; i < c->dim[a]; i += TRANSPOSE_TILE)
    for (int64_t j = 0; j < c->dim[b]; j += TRANSPOSE_TILE)
      {
        int64_t ni = c->dim[a] - i < TRANSPOSE_TILE ? c->dim[a] - i : TRANSPOSE_TILE;
        int64_t nj = c->dim[b] - j < TRANSPOSE_TILE ? c->dim[b] - j : TRANSPOSE_TILE;

#ifdef __AVX512F__
        if (size == 4 && c->y[b] == 1)
          {
            transpose_tile ((uint32_t *)(void *)y + i * c->y[a] + j,
                            (const uint32_t *)(const void *)x + i + j * c->x[b], ni, nj, c->y[a], c->x[b]);
            continue;
          }
#endif
        for (int64_t r = 0; r < ni; r++)
          line (y + ((i + r) * c->y[a] + j * c->y[b]) * size, x + ((i + r) * c->x[a] + j * c->x[b]) * size, nj, c->y[b],
                c->x[b]);
      }
}

/* True if the last two axes are copied in tiles: x is contiguous along the last but one. */
static bool
in_tiles (const Copy *c)
{
  int64_t sx = c->x[c->rank - 1];

  return c->rank >= 2 && sx != 1 && sx != 0 && c->x[c->rank - 2] == 1 && c->dim[c->rank - 2] > 1;
}

/* Runs the copy for a range of its outer axes: rows [n] or, in tiles, planes [dim[rank - 2],n]. */
static void
part_copy (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Copy *c = call->copy;
  int64_t size = (int64_t)c->size, n = c->dim[c->rank - 1], sx = c->x[c->rank - 1], sy = c->y[c->rank - 1];
  bool tiles = in_tiles (c);
  int outer = c->rank - (tiles ? 2 : 1);
  Line line = line_of (c->size);

  for (int64_t o = from; o < to; o++)
    {
      int64_t rest = o, ax = c->x_start, ay = c->y_start;

      for (int d = outer - 1; d >= 0; d--)
        {
          int64_t index = rest % c->dim[d];

          rest /= c->dim[d];
          ax += index * c->x[d];
          ay += index * c->y[d];
        }
      if (tiles)
        copy_tiles (c, call->y + ay * size, call->x + ax * size, line);
      else if (sx == 1 && sy == 1)
        memcpy (call->y + ay * size, call->x + ax * size, (size_t)(n * size));
      else
        line (call->y + ay * size, call->x + ax * size, n, sy, sx);
    }
}

static void
run_copy (const CpuKernel *k, const Copy *c, const void *x, void *y, double ns)
{
  Call call = { c, x, y };
  int64_t inner = c->dim[c->rank - 1] * (in_tiles (c) ? c->dim[c->rank - 2] : 1);

  if (c->count == 0)
    return;
  cpu_share (k, ns, c->count / inner, part_copy, &call);
}

/* Plans a copy over `shape`, whose axes have strides x and y. Axes are sorted in the order of y's bytes, largest stride
 * first. */
static void
plan_copy (Copy *c, const LoomTensorDesc *shape, const int64_t *x, const int64_t *y, size_t size)
{
  int order[LOOM_MAX_RANK], n = 0;

  c->size = size;
  c->count = loom_desc_count (shape);
  for (int d = 0; d < shape->rank; d++)
    {
      int at = n;

      if (shape->dim[d] == 1)
        continue;
      while (at > 0 && llabs (y[order[at - 1]]) < llabs (y[d]))
        {
          order[at] = order[at - 1];
          at--;
        }
      order[at] = d;
      n++;
    }
  c->rank = 0;
  for (int i = 0; i < n; i++)
    {
      int d = order[i], last = c->rank - 1;

      if (last >= 0 && c->x[last] == x[d] * shape->dim[d] && c->y[last] == y[d] * shape->dim[d])
        c->dim[last] *= shape->dim[d];
      else
        {
          last = c->rank++;
          c->dim[last] = shape->dim[d];
        }
      c->x[last] = x[d];
      c->y[last] = y[d];
    }
  if (c->rank == 0)
    {
      c->rank = 1;
      c->dim[0] = c->count;
      c->x[0] = c->y[0] = 1;
    }
  /* The axis along which x is contiguous becomes the last but one, if it is not the last. */
  if (c->rank >= 3 && c->x[c->rank - 1] > 1)
    for (int d = c->rank - 3; d >= 0; d--)
      if (c->x[d] == 1)
        {
          int64_t dim = c->dim[d], sx = c->x[d], sy = c->y[d];

          for (int i = d; i < c->rank - 2; i++)
            {
              c->dim[i] = c->dim[i + 1];
              c->x[i] = c->x[i + 1];
              c->y[i] = c->y[i + 1];
            }
          c->dim[c->rank - 2] = dim;
          c->x[c->rank - 2] = sx;
          c->y[c->rank - 2] = sy;
          break;
        }
}

/* y [n]. */
static void
fill_value (void *y, LoomDType dtype, int64_t n, double value)
{
  uint8_t element[8] = { 0 };
  size_t size = loom_dtype_size (dtype);

  loom_store_double (element, 0, dtype, value);
  line_of (size) (y, (const char *)element, n, 1, 0);
}

static LoomStatus
work_move (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Move *self = (Move *)k;

  if (self->fill)
    fill_value (b[k->n_in], k->out[0].dtype, loom_desc_count (&k->out[0]), self->value);
  for (int i = 0; i < self->n; i++)
    run_copy (k, &self->copy[i], b[i], b[k->n_in], self->ns);
  return LOOM_STATUS_OK;
}

static void
destroy_move (CpuKernel *k)
{
  free (((Move *)k)->copy);
}

static Move *
move_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuWork work, CpuKernel **kernel,
          LoomMessage *message)
{
  Move *self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work, message);

  if (self == NULL)
    return NULL;
  self->k.destroy = destroy_move;
  self->copy = calloc ((size_t)spec->n_in + 1, sizeof *self->copy);
  if (self->copy == NULL)
    {
      self->k.base.free (&self->k.base);
      return NULL;
    }
  self->n = spec->n_in;
  self->ns = (double)loom_desc_bytes (&spec->out[0]) * 0.1;
  *kernel = &self->k;
  return self;
}

/* Movements of plain layouts need equal types. */
static bool
movable (const LoomKernelSpec *spec)
{
  for (int i = 0; i < spec->n_in; i++)
    if (spec->in[i].dtype != spec->out[0].dtype)
      return false;
  return true;
}

#define CREATE(name)                                                                                                   \
  static LoomStatus create_##name (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size,                  \
                                   CpuKernel **kernel, LoomMessage *message)

CREATE (permute)
{
  const LoomPermuteAttrs *a = spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 }, along[LOOM_MAX_RANK];
  Move *self;

  if (!movable (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs_size, work_move, kernel, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  loom_desc_strides (&spec->in[0], sx);
  loom_desc_strides (y, sy);
  for (int i = 0; i < y->rank; i++)
    along[i] = sx[a->perm[i]];
  plan_copy (&self->copy[0], y, along, sy, loom_dtype_size (y->dtype));
  return LOOM_STATUS_OK;
}

CREATE (expand)
{
  const LoomTensorDesc *y = &spec->out[0];
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 };
  Move *self;

  if (!movable (spec) || !loom_broadcast_strides (&spec->in[0], y, sx))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs_size, work_move, kernel, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  loom_desc_strides (y, sy);
  plan_copy (&self->copy[0], y, sx, sy, loom_dtype_size (y->dtype));
  return LOOM_STATUS_OK;
}

CREATE (slice)
{
  const LoomSliceAttrs *a = spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 };
  Move *self;

  if (!movable (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs_size, work_move, kernel, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  loom_desc_strides (&spec->in[0], sx);
  loom_desc_strides (y, sy);
  for (int i = 0; i < y->rank; i++)
    {
      self->copy[0].x_start += a->start[i] * sx[i];
      sx[i] *= a->step[i];
    }
  plan_copy (&self->copy[0], y, sx, sy, loom_dtype_size (y->dtype));
  return LOOM_STATUS_OK;
}

CREATE (pad)
{
  const LoomPadAttrs *a = spec->attrs;
  const LoomTensorDesc *x = &spec->in[0], *y = &spec->out[0];
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 };
  Move *self;

  if (!movable (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs_size, work_move, kernel, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->fill = true;
  self->value = a->value;
  loom_desc_strides (x, sx);
  loom_desc_strides (y, sy);
  for (int i = 0; i < y->rank; i++)
    {
      self->copy[0].y_start += a->start[i] * sy[i];
      sy[i] *= a->step[i];
    }
  plan_copy (&self->copy[0], x, sx, sy, loom_dtype_size (y->dtype));
  return LOOM_STATUS_OK;
}

CREATE (concat)
{
  const LoomConcatAttrs *a = spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 }, first = 0;
  Move *self;

  if (!movable (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs_size, work_move, kernel, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  loom_desc_strides (y, sy);
  for (int i = 0; i < spec->n_in; i++)
    {
      loom_desc_strides (&spec->in[i], sx);
      self->copy[i].y_start = first * sy[a->axis];
      plan_copy (&self->copy[i], &spec->in[i], sx, sy, loom_dtype_size (y->dtype));
      first += spec->in[i].dim[a->axis];
    }
  return LOOM_STATUS_OK;
}

CREATE (move)
{
  const LoomMoveAttrs *a = spec->attrs;
  Move *self;

  if (!movable (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs_size, work_move, kernel, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < a->n; i++)
    {
      const LoomMovePart *part = &a->part[i];
      LoomTensorDesc shape = { .rank = part->rank };

      for (int d = 0; d < part->rank; d++)
        shape.dim[d] = part->dim[d];
      self->copy[i].x_start = part->from_start;
      self->copy[i].y_start = part->to_start;
      plan_copy (&self->copy[i], &shape, part->from, part->to, loom_dtype_size (spec->out[0].dtype));
    }
  return LOOM_STATUS_OK;
}

CREATE (fill)
{
  const LoomFillAttrs *a = spec->attrs;
  Move *self = move_new (device, spec, attrs_size, work_move, kernel, message);

  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->fill = true;
  self->value = a->value;
  return LOOM_STATUS_OK;
}

/* ---- copy with conversion --------------------------------------------- */

/* x and y of one shape, in any layouts. */
static LoomStatus
work_cast (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Move *self = (Move *)k;
  LoomDType from = k->in[0].dtype, to = k->out[0].dtype;
  int64_t count = loom_desc_count (&k->out[0]), index[LOOM_MAX_RANK] = { 0 }, sx[LOOM_MAX_RANK], sy[LOOM_MAX_RANK];
  int rank = k->out[0].rank;

  if (count == 0)
    return LOOM_STATUS_OK;
  if (k->in[0].layout == k->out[0].layout && to == LOOM_F32)
    self->load (b[1], b[0], 0, 1, count);
  else if (k->in[0].layout == k->out[0].layout && from == LOOM_F32)
    self->store (b[1], 0, b[0], count);
  else
    {
      loom_desc_strides (&k->in[0], sx);
      loom_desc_strides (&k->out[0], sy);
      do
        {
          int64_t x = loom_index_offset (rank, index, sx), y = loom_index_offset (rank, index, sy);

          if (loom_dtype_is_float (from))
            loom_store_double (b[1], y, to, loom_load_double (b[0], x, from));
          else
            loom_store_int (b[1], y, to, loom_load_int (b[0], x, from));
        }
      while (loom_index_next (rank, k->out[0].dim, index));
    }
  return LOOM_STATUS_OK;
}

CREATE (copy)
{
  const LoomTensorDesc *x = &spec->in[0], *y = &spec->out[0];
  bool same_type = x->dtype == y->dtype && x->dtype != LOOM_BOOL;
  int64_t sx[LOOM_MAX_RANK] = { 0 }, sy[LOOM_MAX_RANK] = { 0 };
  Move *self;

  if (!loom_desc_same_shape (x, y))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs_size, same_type ? work_move : work_cast, kernel, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->load = ISA (cpu_load_f32) (x->dtype);
  self->store = ISA (cpu_store_f32) (y->dtype);
  loom_desc_strides (x, sx);
  loom_desc_strides (y, sy);
  plan_copy (&self->copy[0], y, sx, sy, loom_dtype_size (y->dtype));
  return LOOM_STATUS_OK;
}

/* y [outer,dim[axis],inner]. */
static LoomStatus
work_iota (CpuKernel *k, void *const *b, LoomMessage *message)
{
  const LoomIotaAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  int64_t stride[LOOM_MAX_RANK] = { 0 };

  loom_desc_strides (y, stride);
  for (int64_t e = 0; e < loom_desc_count (y); e++)
    loom_store_double (b[0], e, y->dtype, a->start + (double)(e / stride[a->axis] % y->dim[a->axis]) * a->step);
  return LOOM_STATUS_OK;
}

CREATE (iota)
{
  return move_new (device, spec, attrs_size, work_iota, kernel, message) != NULL ? LOOM_STATUS_OK
                                                                                 : LOOM_STATUS_OUT_OF_MEMORY;
}

const CpuPrimitive ISA (cpu_permute) = { "permute", sizeof (LoomPermuteAttrs), create_permute };
const CpuPrimitive ISA (cpu_copy) = { "copy", 0, create_copy };
const CpuPrimitive ISA (cpu_reorder) = { "reorder", 0, create_copy };
const CpuPrimitive ISA (cpu_cast) = { "cast", 0, create_copy };
const CpuPrimitive ISA (cpu_expand) = { "expand", 0, create_expand };
const CpuPrimitive ISA (cpu_slice) = { "slice", sizeof (LoomSliceAttrs), create_slice };
const CpuPrimitive ISA (cpu_pad) = { "pad", sizeof (LoomPadAttrs), create_pad };
const CpuPrimitive ISA (cpu_concat) = { "concat", sizeof (LoomConcatAttrs), create_concat };
const CpuPrimitive ISA (cpu_move) = { "move", sizeof (LoomMoveAttrs), create_move };
const CpuPrimitive ISA (cpu_fill) = { "fill", sizeof (LoomFillAttrs), create_fill };
const CpuPrimitive ISA (cpu_iota) = { "iota", sizeof (LoomIotaAttrs), create_iota };
