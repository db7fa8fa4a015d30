/* The loops of convolution for type T. x is [N,C,H,W], w [K,C/groups,R,S],
 * y and g [N,K,P,Q]. All three have the same terms y[n,k,p,q] += x[n,c,h,w]·w[k,c,r,s],
 * which FN (taps) enumerates in lines. */

/* The terms of one row of y and one weight w: y [n] and x [n], whose elements are `apart` each other. */
typedef void (*FN (Line)) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t apart);

/* Calls line for every row y[n,k,p,:] and weight. Terms whose row or column of x is in the padding are left out. A sum
 * in dx has its terms in the order of y's columns if the columns of w come backward. Inlined, because lines are short.
 */
static inline __attribute__ ((always_inline)) void
FN (taps) (const LoomConv2dAttrs *a, const LoomTensorDesc *x, const LoomTensorDesc *w, const LoomTensorDesc *y, T *px,
           T *pw, T *py, FN (Line) line, bool backward)
{
  int64_t C = x->dim[1], H = x->dim[2], W = x->dim[3], K = y->dim[1], P = y->dim[2], Q = y->dim[3];
  int64_t Cg = w->dim[1], R = w->dim[2], S = w->dim[3], Kg = K / a->groups, apart = a->stride[1];

  for (int64_t n = 0; n < x->dim[0]; n++)
    for (int64_t k = 0; k < K; k++)
      for (int64_t p = 0; p < P; p++)
        for (int64_t c = 0; c < Cg; c++)
          for (int64_t r = 0; r < R; r++)
            {
              const int64_t h = p * a->stride[0] - a->pad[0] + r * a->dilation[0];

              for (int64_t i = 0; i < S && h >= 0 && h < H; i++)
                {
                  const int64_t s = backward ? S - 1 - i : i, left = s * a->dilation[1] - a->pad[2];
                  /* Columns from ≤ q < to of y have q·apart + left in x. */
                  const int64_t from = left < 0 ? (apart - 1 - left) / apart : 0;
                  const int64_t within = left < W ? (W - 1 - left) / apart + 1 : 0, to = within < Q ? within : Q;

                  if (from < to)
                    line (&py[((n * K + k) * P + p) * Q + from],
                          &px[((n * C + (k / Kg) * Cg + c) * H + h) * W + from * apart + left],
                          &pw[((k * Cg + c) * R + r) * S + s], to - from, apart);
                }
            }
}

static inline void
FN (line_y) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t apart)
{
  for (int64_t q = 0; q < n; q++)
    y[q] += x[q * apart] * *w;
}

static inline void
FN (line_x) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t apart)
{
  for (int64_t q = 0; q < n; q++)
    x[q * apart] += y[q] * *w;
}

static inline void
FN (line_w) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t apart)
{
  T sum = *w;

  for (int64_t q = 0; q < n; q++)
    sum += y[q] * x[q * apart];
  *w = sum;
}

/* y [N,K,P,Q] = bias [K] + Σ + r [N,K,P,Q]. */
static LoomStatus
FN (conv2d) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomConv2dAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  const T *bias = a->has_bias ? b[2] : NULL, *r = k->n_in > LOOM_CONV_RESIDUAL ? b[LOOM_CONV_RESIDUAL] : NULL;
  T *py = b[k->n_in];
  int64_t count = loom_desc_count (y), area = y->dim[2] * y->dim[3];

  for (int64_t i = 0; i < count; i++)
    py[i] = bias != NULL ? bias[i / area % y->dim[1]] : 0;
  FN (taps) (a, &k->in[0], &k->in[1], y, b[0], b[1], py, FN (line_y), false);
  for (int64_t i = 0; i < count; i++)
    py[i] = FN (ref_scalar) (a->act, r != NULL ? py[i] + r[i] : py[i], 0, 0, 0);
  return LOOM_STATUS_OK;
}

/* b: g [N,K,P,Q], w [K,C/groups,R,S]; dx [N,C,H,W]. */
static LoomStatus
FN (conv2d_input_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomTensorDesc *g = &k->in[0], *w = &k->in[1], *dx = &k->out[0];

  for (int64_t i = 0; i < loom_desc_count (dx); i++)
    ((T *)b[2])[i] = 0;
  FN (taps) (k->attrs, dx, w, g, b[2], b[1], b[0], FN (line_x), true);
  return LOOM_STATUS_OK;
}

/* b: g [N,K,P,Q], x [N,C,H,W]; dw [K,C/groups,R,S], db [K] if there is a bias. */
static LoomStatus
FN (conv2d_weight_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomConv2dAttrs *a = k->attrs;
  const LoomTensorDesc *g = &k->in[0], *x = &k->in[1], *dw = &k->out[0];
  const T *pg = b[0];

  for (int64_t i = 0; i < loom_desc_count (dw); i++)
    ((T *)b[2])[i] = 0;
  FN (taps) (a, x, dw, g, b[1], b[2], b[0], FN (line_w), false);
  if (a->has_bias)
    {
      T *db = b[3];
      int64_t area = g->dim[2] * g->dim[3];

      for (int64_t c = 0; c < g->dim[1]; c++)
        {
          double sum = 0;

          for (int64_t n = 0; n < g->dim[0]; n++)
            for (int64_t i = 0; i < area; i++)
              sum += pg[(n * g->dim[1] + c) * area + i];
          db[c] = (T)sum;
        }
    }
  return LOOM_STATUS_OK;
}

/* b: x, w, [bias]; y and indices [N,K,P/2,Q/2]. */
static LoomStatus
FN (conv2d_pooled) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  LoomConv2dAttrs plain = *(const LoomConv2dAttrs *)k->attrs;
  LoomTensorDesc full = loom_conv_before_pooling (k->attrs, &k->out[0]);
  RefKernel conv = *k;
  void *buffers[4] = { b[0], b[1], b[2] };
  int64_t count = loom_desc_count (&k->out[0]), Q = k->out[0].dim[3];
  T *all = buffers[k->n_in] = calloc ((size_t)count * 4 + 1, sizeof (T)), *y = b[k->n_in];
  uint8_t *indices = b[k->n_in + 1];

  if (all == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  plain.act = LOOM_SCALAR_ID;
  conv.attrs = &plain;
  conv.out = &full;
  FN (conv2d) (&conv, buffers, message);
  for (int64_t i = 0; i < count; i++)
    {
      const T *corner = &all[i / Q * 4 * Q + i % Q * 2];
      T best = corner[0];

      indices[i] = 0;
      for (int t = 1; t < 4; t++)
        {
          const T v = corner[t / 2 * 2 * Q + t % 2];

          if (v > best || v != v)
            {
              best = v;
              indices[i] = (uint8_t)t;
            }
        }
      y[i] = FN (ref_scalar) (((const LoomConv2dAttrs *)k->attrs)->act, best, 0, 0, 0);
    }
  free (all);
  return LOOM_STATUS_OK;
}

/* Calls a gradient with in[0] [N,K,P,Q], made of g and indices [N,K,P/2,Q/2], and the other buffers. */
static LoomStatus
FN (spread) (const RefKernel *k, void *const *b, RefWork work, void **buffers, LoomMessage *message)
{
  const LoomTensorDesc in[2] = { loom_conv_before_pooling (k->attrs, &k->in[0]), k->in[1] };
  RefKernel conv = *k;
  int64_t count = loom_desc_count (&k->in[0]), Q = k->in[0].dim[3];
  T *all = buffers[0] = calloc ((size_t)count * 4 + 1, sizeof (T));

  if (all == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int64_t i = 0; i < count; i++)
    {
      const int t = ((const uint8_t *)b[2])[i];

      all[i / Q * 4 * Q + i % Q * 2 + t / 2 * 2 * Q + t % 2] = ((const T *)b[0])[i];
    }
  conv.in = (LoomTensorDesc *)in;
  work (&conv, buffers, message);
  free (all);
  return LOOM_STATUS_OK;
}

/* b: g [N,K,P/2,Q/2], w, indices; dx. */
static LoomStatus
FN (conv2d_input_grad_pooled) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  return FN (spread) (k, b, FN (conv2d_input_grad), (void *[3]){ NULL, b[1], b[3] }, message);
}

/* b: g [N,K,P/2,Q/2], x, indices; dw, [dbias]. */
static LoomStatus
FN (conv2d_weight_grad_pooled) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  return FN (spread) (k, b, FN (conv2d_weight_grad), (void *[4]){ NULL, b[1], b[3], k->n_out > 1 ? b[4] : NULL },
                      message);
}
