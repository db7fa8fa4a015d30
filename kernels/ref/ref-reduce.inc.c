/* The loops of reduce and argreduce for type T; sums and products in WIDE. */

/* NaN wins: it differs from itself, and then nothing replaces it. */
static bool
FN (replaces) (T candidate, T best, bool largest)
{
  if (best != best)
    return false;
  return candidate != candidate || (largest ? candidate > best : candidate < best);
}

/* b: x of any rank; y of the same rank, 1 in reduced axes. The inner loop visits [n_inner] elements of x. */
static LoomStatus
FN (reduce) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomReduceAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0], *y = &k->out[0];
  const T *px = b[0];
  T *py = b[1];
  int64_t stride[LOOM_MAX_RANK] = { 0 }, outer[LOOM_MAX_RANK] = { 0 }, inner_dim[LOOM_MAX_RANK];
  int64_t n_out = loom_desc_count (y), n_inner = 1;

  loom_desc_strides (x, stride);
  for (int i = 0; i < x->rank; i++)
    {
      inner_dim[i] = (a->axes >> i) & 1 ? x->dim[i] : 1;
      n_inner *= inner_dim[i];
    }
  for (int64_t o = 0; o < n_out; o++, loom_index_next (y->rank, y->dim, outer))
    {
      int64_t inner[LOOM_MAX_RANK] = { 0 };
      const T *base = px + loom_index_offset (x->rank, outer, stride);
      WIDE sum = 0, product = 1;
      T best = 0;

      for (int64_t e = 0; e < n_inner; e++, loom_index_next (x->rank, inner_dim, inner))
        {
          T v = base[loom_index_offset (x->rank, inner, stride)];

          sum += v;
          product *= v;
          if (e == 0 || FN (replaces) (v, best, a->op == LOOM_REDUCE_MAX))
            best = v;
        }
      py[o] = a->op == LOOM_REDUCE_SUM ? (T)sum : a->op == LOOM_REDUCE_PROD ? (T)product : best;
    }
  return LOOM_STATUS_OK;
}

/* b: x [outer,n,inner]; y [outer,inner]. */
static LoomStatus
FN (argreduce) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomArgReduceAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t outer = loom_dim_product (x, 0, a->axis), all = x->dim[a->axis];
  int64_t inner = loom_dim_product (x, a->axis + 1, x->rank), n = a->classes != 0 ? a->classes : all;
  const T *px = b[0];
  int64_t *py = b[1];

  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++)
      {
        const T *row = px + o * all * inner + i;
        int64_t best = 0;

        for (int64_t j = 1; j < n; j++)
          if (FN (replaces) (row[j * inner], row[best * inner], a->largest))
            best = j;
        py[o * inner + i] = best;
      }
  return LOOM_STATUS_OK;
}
