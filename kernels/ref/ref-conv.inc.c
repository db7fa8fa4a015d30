/* The loops of convolution for type T. x is [N,C,H,W], w [K,C/groups,R,S],
 * y and g [N,K,P,Q]. All three visit the same terms y[n,k,p,q] += x[n,c,h,w]·w[k,c,r,s],
 * which FN (taps) enumerates once. */

typedef void (*FN (Tap)) (T *y, T *x, T *w);

/* Calls tap for every term. The row and column of x of a tap may be in the padding; then there is nothing to do.
 * Inlined, because a call takes longer than a term. */
static inline __attribute__ ((always_inline)) void
FN (taps) (const LoomConv2dAttrs *a, const LoomTensorDesc *x, const LoomTensorDesc *w, const LoomTensorDesc *y, T *px,
           T *pw, T *py, FN (Tap) tap)
{
  int64_t C = x->dim[1], H = x->dim[2], W = x->dim[3], K = y->dim[1], P = y->dim[2], Q = y->dim[3];
  int64_t Cg = w->dim[1], R = w->dim[2], S = w->dim[3], Kg = K / a->groups;

  for (int64_t n = 0; n < x->dim[0]; n++)
    for (int64_t k = 0; k < K; k++)
      for (int64_t p = 0; p < P; p++)
        for (int64_t q = 0; q < Q; q++)
          for (int64_t c = 0; c < Cg; c++)
            for (int64_t r = 0; r < R; r++)
              {
                const int64_t h = p * a->stride[0] - a->pad[0] + r * a->dilation[0],
                              left = q * a->stride[1] - a->pad[2];
                const int64_t row = ((n * C + (k / Kg) * Cg + c) * H + h) * W;

                for (int64_t s = 0; s < S && h >= 0 && h < H; s++)
                  {
                    const int64_t v = left + s * a->dilation[1];

                    if (v >= 0 && v < W)
                      tap (&py[((n * K + k) * P + p) * Q + q], &px[row + v], &pw[((k * Cg + c) * R + r) * S + s]);
                  }
              }
}

static inline void
FN (tap_y) (T *y, T *x, T *w)
{
  *y += *x * *w;
}

static inline void
FN (tap_x) (T *y, T *x, T *w)
{
  *x += *y * *w;
}

static inline void
FN (tap_w) (T *y, T *x, T *w)
{
  *w += *y * *x;
}

/* y [N,K,P,Q] = bias [K] + Σ. */
static LoomStatus
FN (conv2d) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomConv2dAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  const T *bias = a->has_bias ? b[2] : NULL;
  T *py = b[k->n_in];
  int64_t count = loom_desc_count (y), area = y->dim[2] * y->dim[3];

  for (int64_t i = 0; i < count; i++)
    py[i] = bias != NULL ? bias[i / area % y->dim[1]] : 0;
  FN (taps) (a, &k->in[0], &k->in[1], y, b[0], b[1], py, FN (tap_y));
  for (int64_t i = 0; i < count; i++)
    py[i] = FN (ref_scalar) (a->act, py[i], 0, 0, 0);
  return LOOM_STATUS_OK;
}

/* b: g [N,K,P,Q], w [K,C/groups,R,S]; dx [N,C,H,W]. */
static LoomStatus
FN (conv2d_input_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomTensorDesc *g = &k->in[0], *w = &k->in[1], *dx = &k->out[0];

  for (int64_t i = 0; i < loom_desc_count (dx); i++)
    ((T *)b[2])[i] = 0;
  FN (taps) (k->attrs, dx, w, g, b[2], b[1], b[0], FN (tap_x));
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
  FN (taps) (a, x, dw, g, b[1], b[2], b[0], FN (tap_w));
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
