/* gather, scatter, sort and cumsum: primitives that work along one axis by position.
 *
 * A tensor is viewed as [outer, n, inner] around the axis; an index may be smaller than the tensor that it indexes, so
 * offsets are computed from coordinates. */
#include "kernels/ref/ref.h"

#include <string.h>

/* The offset of the element of a tensor with these strides that has the coordinates of `index`, except `at` along the
 * axis. */
static int64_t
place (int rank, const int64_t *index, const int64_t *stride, int axis, int64_t at)
{
  return loom_index_offset (rank, index, stride) + (at - index[axis]) * stride[axis];
}

/* ---- gather and scatter ----------------------------------------------- */

/* b: x, index of the rank of x; y of the shape of index. */
static LoomStatus
gather (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomGatherAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0], *y = &k->out[0];
  int64_t stride[LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  size_t size = loom_dtype_size (x->dtype);

  loom_desc_strides (x, stride);
  for (int64_t e = 0; e < loom_desc_count (y); e++, loom_index_next (y->rank, y->dim, index))
    {
      int64_t at = loom_load_int (b[1], e, k->in[1].dtype);

      if (at < 0 || at >= x->dim[a->axis])
        return ref_index_fault (message, "the index", at, x->dim[a->axis]);
      memcpy ((char *)b[2] + (size_t)e * size,
              (const char *)b[0] + (size_t)place (y->rank, index, stride, a->axis, at) * size, size);
    }
  return LOOM_STATUS_OK;
}

static double
combine (LoomScatterMode mode, double old, double new)
{
  if (mode == LOOM_SCATTER_ADD)
    return old + new;
  if (mode == LOOM_SCATTER_MUL)
    return old * new;
  if (old != old || new != new)
    return old + new;
  return (mode == LOOM_SCATTER_MAX) == (new > old) ? new : old;
}

static int64_t
combine_int (LoomScatterMode mode, int64_t old, int64_t new)
{
  if (mode == LOOM_SCATTER_ADD)
    return old + new;
  if (mode == LOOM_SCATTER_MUL)
    return old * new;
  return (mode == LOOM_SCATTER_MAX) == (new > old) ? new : old;
}

/* b: base, index and src of one shape, which is no larger than base except along the axis; y of the shape of base. */
static LoomStatus
scatter (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomScatterAttrs *a = k->attrs;
  const LoomTensorDesc *src = &k->in[2], *y = &k->out[0];
  int64_t stride[LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  size_t size = loom_dtype_size (y->dtype);

  loom_desc_strides (y, stride);
  if (b[3] != b[0] && loom_desc_count (y) > 0)
    memcpy (b[3], b[0], loom_desc_bytes (y));
  for (int64_t e = 0; e < loom_desc_count (src); e++, loom_index_next (src->rank, src->dim, index))
    {
      int64_t at = loom_load_int (b[1], e, k->in[1].dtype), to;

      if (at < 0 || at >= y->dim[a->axis])
        return ref_index_fault (message, "the index", at, y->dim[a->axis]);
      to = place (y->rank, index, stride, a->axis, at);
      if (a->mode == LOOM_SCATTER_REPLACE)
        memcpy ((char *)b[3] + (size_t)to * size, (const char *)b[2] + (size_t)e * size, size);
      else if (loom_dtype_is_float (y->dtype))
        loom_store_double (
            b[3], to, y->dtype,
            combine (a->mode, loom_load_double (b[3], to, y->dtype), loom_load_double (b[2], e, y->dtype)));
      else
        loom_store_int (b[3], to, y->dtype,
                        combine_int (a->mode, loom_load_int (b[3], to, y->dtype), loom_load_int (b[2], e, y->dtype)));
    }
  return LOOM_STATUS_OK;
}

/* ---- sort ------------------------------------------------------------- */

static bool
is_less (const void *x, LoomDType dtype, int64_t i, int64_t j)
{
  if (loom_dtype_is_float (dtype))
    {
      double a = loom_load_double (x, i, dtype), b = loom_load_double (x, j, dtype);

      return a < b || (a == a && b != b);
    }
  return loom_load_int (x, i, dtype) < loom_load_int (x, j, dtype);
}

/* b: x [outer,n,inner]; y and indices [outer,n,inner]. Inserts each element into the sorted elements before it, which
 * are in the output, after all that must not follow it. A lane is [n] with stride inner. */
static LoomStatus
sort (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSortAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t n = x->dim[a->axis], inner = loom_dim_product (x, a->axis + 1, x->rank);
  int64_t lanes = n > 0 ? loom_desc_count (x) / n : 0;
  size_t size = loom_dtype_size (x->dtype);

  for (int64_t lane = 0; lane < lanes; lane++)
    {
      int64_t base = lane / inner * n * inner + lane % inner;
      int64_t *indices = (int64_t *)b[2] + base;

      for (int64_t i = 0; i < n; i++)
        {
          int64_t low = 0, high = i, me = base + i * inner;

          while (low < high)
            {
              int64_t middle = (low + high) / 2, other = base + indices[middle * inner] * inner;

              if (a->descending ? is_less (b[0], x->dtype, other, me) : is_less (b[0], x->dtype, me, other))
                high = middle;
              else
                low = middle + 1;
            }
          if (inner == 1)
            memmove (indices + low + 1, indices + low, (size_t)(i - low) * sizeof *indices);
          for (int64_t j = i; j > low && inner != 1; j--)
            indices[j * inner] = indices[(j - 1) * inner];
          indices[low * inner] = i;
        }
      for (int64_t i = 0; i < n; i++)
        memcpy ((char *)b[1] + (size_t)(base + i * inner) * size,
                (const char *)b[0] + (size_t)(base + indices[i * inner] * inner) * size, size);
    }
  return LOOM_STATUS_OK;
}

/* ---- cumsum ----------------------------------------------------------- */

/* b: x [outer,n,inner]; y [outer,n,inner]. A lane is [n] with stride inner. */
static LoomStatus
cumsum (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomCumsumAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t n = x->dim[a->axis], inner = loom_dim_product (x, a->axis + 1, x->rank);
  int64_t lanes = n > 0 ? loom_desc_count (x) / n : 0;
  bool real = loom_dtype_is_float (x->dtype);

  for (int64_t lane = 0; lane < lanes; lane++)
    {
      double sum = 0;
      int64_t whole = 0;

      for (int64_t i = 0; i < n; i++)
        {
          int64_t at = lane / inner * n * inner + lane % inner + (a->reverse ? n - 1 - i : i) * inner;
          double before = sum;
          int64_t whole_before = whole;

          if (real)
            {
              sum += loom_load_double (b[0], at, x->dtype);
              loom_store_double (b[1], at, x->dtype, a->exclusive ? before : sum);
            }
          else
            {
              whole += loom_load_int (b[0], at, x->dtype);
              loom_store_int (b[1], at, x->dtype, a->exclusive ? whole_before : whole);
            }
        }
    }
  return LOOM_STATUS_OK;
}

/* ---- primitives ------------------------------------------------------- */

static RefWork
choose_gather (const LoomKernelSpec *spec)
{
  return ref_is_index (&spec->in[1]) && spec->in[0].dtype == spec->out[0].dtype ? gather : NULL;
}

static RefWork
choose_scatter (const LoomKernelSpec *spec)
{
  LoomDType dtype = spec->out[0].dtype;

  return ref_is_index (&spec->in[1]) && spec->in[0].dtype == dtype && spec->in[2].dtype == dtype ? scatter : NULL;
}

static RefWork
choose_sort (const LoomKernelSpec *spec)
{
  return spec->in[0].dtype == spec->out[0].dtype && spec->out[1].dtype == LOOM_I64 ? sort : NULL;
}

static RefWork
choose_cumsum (const LoomKernelSpec *spec)
{
  return spec->in[0].dtype == spec->out[0].dtype ? cumsum : NULL;
}

const RefPrimitive ref_gather = { .name = "gather", .attrs_size = sizeof (LoomGatherAttrs), .choose = choose_gather };
const RefPrimitive ref_scatter
    = { .name = "scatter", .attrs_size = sizeof (LoomScatterAttrs), .choose = choose_scatter };
const RefPrimitive ref_sort = { .name = "sort", .attrs_size = sizeof (LoomSortAttrs), .choose = choose_sort };
const RefPrimitive ref_cumsum
    = { .name = "cumsum", .attrs_size = sizeof (LoomCumsumAttrs), .choose = choose_cumsum, .n_inplace = 1 };
