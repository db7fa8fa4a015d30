/* gather_rows and scatter_add_rows: an embedding and its gradient.
 *
 * table is [V, d…], index any shape of i64 or i32, y and g are index's shape
 * followed by d…. */
#include "kernels/ref/ref.h"

#include <string.h>

/* b: table [V,row], index [count]; y [count,row]. */
static LoomStatus
gather_rows (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomTensorDesc *table = &k->in[0], *index = &k->in[1];
  size_t row = (size_t)loom_dim_product (table, 1, table->rank) * loom_dtype_size (table->dtype);

  for (int64_t i = 0; i < loom_desc_count (index); i++)
    {
      int64_t r = loom_load_int (b[1], i, index->dtype);

      if (r < 0 || r >= table->dim[0])
        return ref_index_fault (message, "the row", r, table->dim[0]);
      if (row > 0)
        memcpy ((char *)b[2] + (size_t)i * row, (const char *)b[0] + (size_t)r * row, row);
    }
  return LOOM_STATUS_OK;
}

/* b: index [count], g [count,row]; table [V,row]. */
static LoomStatus
scatter_add_rows (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomTensorDesc *index = &k->in[0], *table = &k->out[0];
  int64_t row = loom_dim_product (table, 1, table->rank);
  LoomDType dtype = table->dtype;

  for (int64_t e = 0; e < loom_desc_count (table); e++)
    loom_store_double (b[2], e, dtype, 0);
  for (int64_t i = 0; i < loom_desc_count (index); i++)
    {
      int64_t r = loom_load_int (b[0], i, index->dtype);

      if (r < 0 || r >= table->dim[0])
        return ref_index_fault (message, "the row", r, table->dim[0]);
      for (int64_t j = 0; j < row; j++)
        loom_store_double (b[2], r * row + j, dtype,
                           loom_load_double (b[2], r * row + j, dtype) + loom_load_double (b[1], i * row + j, dtype));
    }
  return LOOM_STATUS_OK;
}

static RefWork
choose_gather (const LoomKernelSpec *spec)
{
  return ref_is_index (&spec->in[1]) && spec->in[0].dtype == spec->out[0].dtype ? gather_rows : NULL;
}

static RefWork
choose_scatter (const LoomKernelSpec *spec)
{
  LoomDType dtype = spec->out[0].dtype;

  return ref_is_index (&spec->in[0]) && (dtype == LOOM_F32 || dtype == LOOM_F64) ? scatter_add_rows : NULL;
}

const RefPrimitive ref_gather_rows = { .name = "gather_rows", .choose = choose_gather };
const RefPrimitive ref_scatter_add_rows = { .name = "scatter_add_rows", .choose = choose_scatter };
