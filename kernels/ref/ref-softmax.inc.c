/* The loops of softmax and cross-entropy for type T. A tensor is viewed as [outer, n, inner] around the axis of the
 * classes. */

/* log Σ exp over row [n] with stride inner; *max receives the largest element, so that no exponential overflows. A row
 * of only -inf results in -inf. */
static double
FN (log_sum_exp) (const T *row, int64_t n, int64_t inner)
{
  double max = -INFINITY, sum = 0;

  for (int64_t j = 0; j < n; j++)
    if (row[j * inner] > max || row[j * inner] != row[j * inner])
      max = row[j * inner];
  if (isinf (max) && max < 0)
    return max;
  for (int64_t j = 0; j < n; j++)
    sum += exp (row[j * inner] - max);
  return max + log (sum);
}

/* b: x [outer,n,inner]; y [outer,n,inner]. A row is [n] with stride inner. */
static LoomStatus
FN (softmax) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSoftmaxAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t outer = loom_dim_product (x, 0, a->axis), n = x->dim[a->axis];
  int64_t inner = loom_dim_product (x, a->axis + 1, x->rank);

  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++)
      {
        const T *row = (const T *)b[0] + o * n * inner + i;
        T *y = (T *)b[1] + o * n * inner + i;
        double lse = FN (log_sum_exp) (row, n, inner);

        for (int64_t j = 0; j < n; j++)
          y[j * inner] = (T)(a->log ? row[j * inner] - lse : exp (row[j * inner] - lse));
      }
  return LOOM_STATUS_OK;
}

/* softmax: dx = y·(g - Σ g·y). log_softmax: dx = g - exp(y)·Σ g. All [outer,n,inner]. */
static LoomStatus
FN (softmax_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSoftmaxAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t outer = loom_dim_product (x, 0, a->axis), n = x->dim[a->axis];
  int64_t inner = loom_dim_product (x, a->axis + 1, x->rank);

  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++)
      {
        const T *g = (const T *)b[0] + o * n * inner + i;
        const T *y = (const T *)b[1] + o * n * inner + i;
        T *dx = (T *)b[2] + o * n * inner + i;
        double sum = 0;

        for (int64_t j = 0; j < n; j++)
          sum += a->log ? g[j * inner] : (double)g[j * inner] * y[j * inner];
        for (int64_t j = 0; j < n; j++)
          dx[j * inner] = (T)(a->log ? g[j * inner] - exp (y[j * inner]) * sum : y[j * inner] * (g[j * inner] - sum));
      }
  return LOOM_STATUS_OK;
}

/* b: logits [N,all,inner], of which n are classes, target [N,inner]; loss and lse [N,inner]. */
static LoomStatus
FN (cross_entropy) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomCrossEntropyAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t all = x->dim[1], n = a->classes != 0 ? a->classes : all, inner = loom_dim_product (x, 2, x->rank);
  const int64_t *target = b[1];
  T *loss = b[2], *lse = b[3];

  for (int64_t o = 0; o < x->dim[0]; o++)
    for (int64_t i = 0; i < inner; i++)
      {
        const T *row = (const T *)b[0] + o * all * inner + i;
        int64_t r = o * inner + i, t = target[r];
        double sum = FN (log_sum_exp) (row, n, inner);

        if (t != a->ignore_index && (t < 0 || t >= n))
          return ref_index_fault (message, "the target class", t, n);
        lse[r] = (T)sum;
        loss[r] = t == a->ignore_index ? 0 : (T)(sum - row[t * inner]);
      }
  return LOOM_STATUS_OK;
}

/* b: logits [N,all,inner], target, lse and g [N,inner]; dlogits [N,all,inner]. */
static LoomStatus
FN (cross_entropy_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomCrossEntropyAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t all = x->dim[1], n = a->classes != 0 ? a->classes : all, inner = loom_dim_product (x, 2, x->rank);
  const int64_t *target = b[1];
  const T *lse = b[2], *g = b[3];

  for (int64_t o = 0; o < x->dim[0]; o++)
    for (int64_t i = 0; i < inner; i++)
      {
        const T *row = (const T *)b[0] + o * all * inner + i;
        T *dx = (T *)b[4] + o * all * inner + i;
        int64_t r = o * inner + i, t = target[r];

        if (t != a->ignore_index && (t < 0 || t >= n))
          return ref_index_fault (message, "the target class", t, n);
        for (int64_t j = 0; j < all; j++)
          dx[j * inner] = t == a->ignore_index || j >= n
                              ? 0
                              : (T)((exp ((double)row[j * inner] - lse[r]) - (j == t ? 1.0 : 0.0)) * g[r]);
      }
  return LOOM_STATUS_OK;
}
