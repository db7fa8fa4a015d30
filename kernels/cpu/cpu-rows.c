/* gather_rows and scatter_add_rows: an embedding and its gradient.
 *
 * In the gradient every thread owns a range of the table's columns and processes all indices in order, so rows with
 * equal indices are always added in the same order. */
#include "kernels/cpu/cpu.h"

#include <string.h>

typedef struct
{
  CpuKernel k;
  int64_t n, rows, row; /* indices, rows of the table, elements of a row */
  bool narrow;          /* indices are i32 */
  double ns;
} Rows;

typedef struct
{
  const Rows *self;
  const void *index; /* [n] */
  const float *g;    /* [n, row] */
  float *table;      /* [rows, row] */
} Call;

static inline int64_t
index_at (const Rows *self, const void *index, int64_t i)
{
  return self->narrow ? ((const int32_t *)index)[i] : ((const int64_t *)index)[i];
}

static LoomStatus
check (const Rows *self, const void *index, LoomMessage *message)
{
  for (int64_t i = 0; i < self->n; i++)
    if ((uint64_t)index_at (self, index, i) >= (uint64_t)self->rows)
      return cpu_index_fault (message, "the row", index_at (self, index, i), self->rows);
  return LOOM_STATUS_OK;
}

static LoomStatus
work_gather (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Rows *self = (Rows *)k;
  size_t bytes = (size_t)self->row * loom_dtype_size (k->in[0].dtype);
  LoomStatus status = check (self, b[1], message);

  for (int64_t i = 0; status == LOOM_STATUS_OK && bytes > 0 && i < self->n; i++)
    memcpy ((char *)b[2] + (size_t)i * bytes, (const char *)b[0] + (size_t)index_at (self, b[1], i) * bytes, bytes);
  return status;
}

static void
part_scatter (void *context, int64_t from, int64_t to)
{
  const Call *call = context;
  const Rows *self = call->self;

  for (int64_t r = 0; r < self->rows; r++)
    memset (call->table + r * self->row + from, 0, (size_t)(to - from) * sizeof (float));
  for (int64_t i = 0; i < self->n; i++)
    {
      float *to_row = call->table + index_at (self, call->index, i) * self->row;
      const float *g = call->g + i * self->row;

#pragma GCC ivdep
      for (int64_t j = from; j < to; j++)
        to_row[j] += g[j];
    }
}

static LoomStatus
work_scatter (CpuKernel *k, void *const *b, LoomMessage *message)
{
  Rows *self = (Rows *)k;
  Call call = { self, b[0], b[1], b[2] };
  LoomStatus status = check (self, b[0], message);

  if (status == LOOM_STATUS_OK && self->row > 0 && self->rows > 0)
    cpu_share (k, self->ns, self->row, part_scatter, &call);
  return status;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  bool scatter = strcmp (spec->primitive, "scatter_add_rows") == 0;
  const LoomTensorDesc *table = scatter ? &spec->out[0] : &spec->in[0];
  const LoomTensorDesc *index = scatter ? &spec->in[0] : &spec->in[1];
  Rows *self;

  if ((index->dtype != LOOM_I64 && index->dtype != LOOM_I32) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN)
      || (scatter ? !cpu_all_f32 (spec) || table->dtype != LOOM_F32 : table->dtype != spec->out[0].dtype))
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (sizeof *self, device, spec, attrs_size, scatter ? work_scatter : work_gather, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->n = loom_desc_count (index);
  self->rows = table->dim[0];
  self->row = loom_dim_product (table, 1, table->rank);
  self->narrow = index->dtype == LOOM_I32;
  self->ns = 0.2 * (double)((self->n + self->rows) * self->row);
  *kernel = &self->k;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_gather_rows) = { "gather_rows", 0, create };
const CpuPrimitive ISA (cpu_scatter_add_rows) = { "scatter_add_rows", 0, create };
