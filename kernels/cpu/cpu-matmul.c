/* matmul: own loops for small products, oneDNN, and own loops for few rows (cpu-matmul-rows.c).
 *
 * Below some twenty thousand multiply-adds a call into a library costs more than the product (data/costs.ini has the
 * limit). The own kernel multiplies panels of 16 columns of b, copied if they are not contiguous, by 8 rows of a at a
 * time. */
#include "kernels/cpu/cpu.h"
#include "kernels/product.h"

#include <string.h>

#define PANEL 16
#define ROWS  8

typedef float V __attribute__ ((vector_size (64), aligned (4), may_alias));

#include "kernels/cpu/cpu-part.h"

typedef struct
{
  CpuKernel k;
  int64_t m, n, depth, n_batch;
  int batch_rank;
  int64_t batch_dim[LOOM_MAX_RANK], a_batch[LOOM_MAX_RANK], b_batch[LOOM_MAX_RANK];
  int64_t a_row, a_column;
  bool trans_b, has_bias;
  LoomScalarOp act;
} Small;

/* y [R, columns] with row stride n = start + a [R, depth]·panel [depth, PANEL]; a has strides a_row and a_column. */
#define ROW_CASE(R)                                                                                                    \
  static inline __attribute__ ((always_inline)) void rows_##R (const float *a, int64_t a_row, int64_t a_column,        \
                                                               const float *panel, int64_t panel_row, int64_t depth,   \
                                                               V start, float *y, int64_t n, int64_t columns)          \
  {                                                                                                                    \
    V acc[R];                                                                                                          \
    for (int r = 0; r < R; r++)                                                                                        \
      acc[r] = start;                                                                                                  \
    for (int64_t d = 0; d < depth; d++)                                                                                \
      {                                                                                                                \
        V v = *(const V *)(panel + d * panel_row);                                                                     \
        for (int r = 0; r < R; r++)                                                                                    \
          acc[r] += v * a[r * a_row + d * a_column];                                                                   \
      }                                                                                                                \
    for (int r = 0; r < R; r++)                                                                                        \
      if (columns == PANEL)                                                                                            \
        *(V *)(y + r * n) = acc[r];                                                                                    \
      else                                                                                                             \
        store_part (y + r * n, acc[r], columns);                                                                       \
  }

ROW_CASE (1)
ROW_CASE (2)
ROW_CASE (4)
ROW_CASE (8)

/* y [m,n] = a·b + bias for one batch entry; pack: depth·PANEL floats of scratch. */
static void
product (const Small *self, const float *a, const float *b, const float *bias, float *y, float *pack)
{
  int64_t m = self->m, n = self->n, depth = self->depth, ar = self->a_row, ac = self->a_column;

  for (int64_t j = 0; j < n; j += PANEL)
    {
      int64_t columns = n - j < PANEL ? n - j : PANEL, panel_row = n, i = 0;
      const float *panel = b + j;
      V start = { 0 };

      if (self->trans_b || columns < PANEL)
        {
          if (self->trans_b)
            for (int64_t d = 0; d < depth; d++)
              {
                const float *from = b + j * depth + d;

                for (int64_t c = 0; c < columns; c++)
                  pack[d * PANEL + c] = from[c * depth];
                for (int64_t c = columns; c < PANEL; c++)
                  pack[d * PANEL + c] = 0;
              }
          else
            for (int64_t d = 0; d < depth; d++)
              *(V *)(pack + d * PANEL) = load_part (b + j + d * n, columns);
          panel = pack;
          panel_row = PANEL;
        }
      if (bias != NULL)
        start = load_part (bias + j, columns);
      for (; i + ROWS <= m; i += ROWS)
        rows_8 (a + i * ar, ar, ac, panel, panel_row, depth, start, y + i * n + j, n, columns);
      if (m - i >= 4)
        {
          rows_4 (a + i * ar, ar, ac, panel, panel_row, depth, start, y + i * n + j, n, columns);
          i += 4;
        }
      if (m - i >= 2)
        {
          rows_2 (a + i * ar, ar, ac, panel, panel_row, depth, start, y + i * n + j, n, columns);
          i += 2;
        }
      if (m > i)
        rows_1 (a + i * ar, ar, ac, panel, panel_row, depth, start, y + i * n + j, n, columns);
    }
}

static LoomStatus
work_small (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Small *self = (Small *)k;
  const float *bias = self->has_bias ? b[2] : NULL;
  float *y = b[k->n_in], *pack = b[k->n_in + 1];
  int64_t index[LOOM_MAX_RANK] = { 0 };

  for (int64_t q = 0; q < self->n_batch; q++)
    {
      const float *pa = (const float *)b[0] + loom_index_offset (self->batch_rank, index, self->a_batch);
      const float *pb = (const float *)b[1] + loom_index_offset (self->batch_rank, index, self->b_batch);

      product (self, pa, pb, bias, y + q * self->m * self->n, pack);
      if (q + 1 < self->n_batch)
        loom_index_next (self->batch_rank, self->batch_dim, index);
    }
  ISA (cpu_apply) (self->act, y, self->n_batch * self->m * self->n);
  return LOOM_STATUS_OK;
}

static LoomStatus
create_own (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  const LoomMatmulAttrs *at = spec->attrs;
  const LoomTensorDesc *a = &spec->in[0], *bb = &spec->in[1], *y = &spec->out[0];
  LoomTensorDesc batch, a_batch, b_batch;
  Small *self;

  if (a->dtype != LOOM_F32 || !cpu_all_f32 (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || a->rank < 2
      || bb->rank < 2 || y->rank < 2 || loom_product_is_fused (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, work_small, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->m = y->dim[y->rank - 2];
  self->n = y->dim[y->rank - 1];
  self->depth = a->dim[at->trans_a ? a->rank - 2 : a->rank - 1];
  self->a_row = at->trans_a ? 1 : self->depth;
  self->a_column = at->trans_a ? self->m : 1;
  self->trans_b = at->trans_b;
  self->has_bias = at->has_bias;
  self->act = at->act;
  batch = *y;
  a_batch = *a;
  b_batch = *bb;
  batch.rank -= 2;
  a_batch.rank -= 2;
  b_batch.rank -= 2;
  if (!loom_broadcast_strides (&a_batch, &batch, self->a_batch)
      || !loom_broadcast_strides (&b_batch, &batch, self->b_batch))
    {
      self->k.base.free (&self->k.base);
      return LOOM_STATUS_INVALID;
    }
  self->n_batch = loom_desc_count (&batch);
  self->batch_rank = batch.rank;
  for (int i = 0; i < batch.rank; i++)
    {
      self->batch_dim[i] = batch.dim[i];
      self->a_batch[i] *= self->m * self->depth;
      self->b_batch[i] *= self->depth * self->n;
    }
  self->k.base.scratch_bytes = (size_t)(self->depth * PANEL) * sizeof (float) + 64;
  self->k.base.name = "own small product";
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

static const CpuAlgorithm algorithms[] = {
  { "onednn", cpu_onednn_matmul, cpu_onednn_takes_matmul, NULL },
  { "own", create_own, NULL, NULL },
  { "rows", ISA (cpu_matmul_rows), NULL, NULL },
  { 0 },
};

const CpuPrimitive ISA (cpu_matmul) = { "matmul", sizeof (LoomMatmulAttrs), NULL, algorithms };
