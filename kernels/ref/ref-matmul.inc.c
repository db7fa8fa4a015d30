/* The loops of matmul for type T: y [batch, m, n] = a [batch, m, depth]·b [batch, depth, n] + bias [n], either of a and
 * b transposed in its last two axes, batches broadcast. */

/* sum [COLUMNS] += a [depth]·b [depth, COLUMNS]; a_step, b_step: to the next of depth; b_next: to the next column. Each
 * sum has its terms in the order of depth; several at a time, because one waits for its own last addition. */
static void
FN (add_products) (double *sum, const T *a, int64_t a_step, const T *b, int64_t b_step, int64_t b_next, int64_t depth)
{
  double s[COLUMNS];

  memcpy (s, sum, sizeof s);
  for (int64_t d = 0; d < depth; d++)
#pragma GCC unroll 8 /* COLUMNS: the sums stay in registers */
    for (int c = 0; c < COLUMNS; c++)
      s[c] += (double)a[d * a_step] * b[d * b_step + c * b_next];
  memcpy (sum, s, sizeof s);
}

static LoomStatus
FN (matmul) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomMatmulAttrs *at = k->attrs;
  const LoomTensorDesc *a = &k->in[0], *bb = &k->in[1], *y = &k->out[0];
  const T *bias = at->has_bias ? b[2] : NULL;
  T *py = b[k->n_in];
  int64_t m = y->dim[y->rank - 2], n = y->dim[y->rank - 1];
  int64_t depth = at->trans_a ? a->dim[a->rank - 2] : a->dim[a->rank - 1];
  /* From an element to the next of depth, and to that of the next row of a and column of b. */
  const int64_t a_step = at->trans_a ? m : 1, a_next = at->trans_a ? 1 : depth;
  const int64_t b_step = at->trans_b ? 1 : n, b_next = at->trans_b ? depth : 1;
  LoomTensorDesc batch = *y, a_batch = *a, b_batch = *bb;
  int64_t a_stride[LOOM_MAX_RANK], b_stride[LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  int64_t n_batch;

  batch.rank -= 2;
  a_batch.rank -= 2;
  b_batch.rank -= 2;
  loom_broadcast_strides (&a_batch, &batch, a_stride);
  loom_broadcast_strides (&b_batch, &batch, b_stride);
  n_batch = loom_desc_count (&batch);
  for (int64_t q = 0; q < n_batch; q++, loom_index_next (batch.rank, batch.dim, index))
    {
      /* pa [m,depth], pb [depth,n] of batch q */
      const T *pa = (const T *)b[0] + loom_index_offset (batch.rank, index, a_stride) * m * depth;
      const T *pb = (const T *)b[1] + loom_index_offset (batch.rank, index, b_stride) * depth * n;

      for (int64_t i = 0; i < m; i++)
        for (int64_t from = 0; from < n; from += COLUMNS)
          {
            const int64_t to = from + COLUMNS < n ? from + COLUMNS : n;
            double sum[COLUMNS] = { 0 };

            for (int64_t j = from; j < to && bias != NULL; j++)
              sum[j - from] = bias[j];
            if (to - from == COLUMNS)
              FN (add_products) (sum, pa + i * a_next, a_step, pb + from * b_next, b_step, b_next, depth);
            for (int64_t j = from; j < to && to - from < COLUMNS; j++)
              for (int64_t d = 0; d < depth; d++)
                sum[j - from] += (double)pa[i * a_next + d * a_step] * pb[j * b_next + d * b_step];
            for (int64_t j = from; j < to; j++)
              {
                const T product = (T)sum[j - from];

                /* Rounded first, so that a product with its activation has the bits of the two instructions. */
                py[(q * m + i) * n + j] = FN (ref_scalar) (at->act, product, 0, 0, 0);
                if (at->derivative != LOOM_SCALAR_ID) /* kernels/product.h */
                  py[(q * m + i) * n + j]
                      = FN (ref_scalar) (at->derivative, product, ((const T *)b[2])[(q * m + i) * n + j], 0, 0);
              }
          }
    }
  if (k->n_out == 2) /* the same header */
    {
      const T *from = b[at->sum_b];
      const int64_t length = at->sum_b ? n : m;
      const bool apart = at->sum_b ? !at->trans_b : at->trans_a; /* the inner axis is the first one */

      for (int64_t i = 0; i < length; i++)
        {
          double sum = 0;

          for (int64_t d = 0; d < depth; d++)
            sum += (double)from[apart ? d * length + i : i * depth + d];
          ((T *)b[k->n_in + 1])[i] = (T)sum;
        }
    }
  return LOOM_STATUS_OK;
}
