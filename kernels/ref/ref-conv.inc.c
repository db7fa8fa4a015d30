/* The loops of convolution for type T. x is [N,C,H,W], w [K,C/groups,R,S],
 * y and g [N,K,P,Q]. All three visit the same terms y[n,k,p,q] += x[n,c,h,w]·w[k,c,r,s],
 * which FN (taps) enumerates once. */

/* The terms of a row of y with one weight: n values of y, and of x that are `step` apart. */
typedef void (*FN (Tap)) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t step);

/* Calls tap for every term. What falls on the padding of x is left out. The terms of an element of y come in the order
 * of c, r and s; those of an element of w in the order of n, p and q; those of an element of x in the order of k, p and
 * q if weights are visited backwards, because a later weight then is an earlier element of y. */
static void
FN (taps) (const LoomConv2dAttrs *a, const LoomTensorDesc *x, const LoomTensorDesc *w, const LoomTensorDesc *y, T *px,
           T *pw, T *py, FN (Tap) tap, bool backwards)
{
  int64_t C = x->dim[1], H = x->dim[2], W = x->dim[3], K = y->dim[1], P = y->dim[2], Q = y->dim[3];
  int64_t Cg = w->dim[1], R = w->dim[2], S = w->dim[3], Kg = K / a->groups, stride = a->stride[1];

  for (int64_t n = 0; n < x->dim[0]; n++)
    for (int64_t k = 0; k < K; k++)
      for (int64_t c = 0; c < Cg; c++)
        for (int64_t i = 0; i < R * S; i++)
          {
            int64_t weight = backwards ? R * S - 1 - i : i;
            /* Column q of y meets column q·stride + left of x. */
            int64_t left = weight % S * a->dilation[1] - a->pad[2];
            int64_t first = left >= 0 ? 0 : (stride - 1 - left) / stride,
                    last = left >= W ? -1 : (W - 1 - left) / stride;

            if (last >= Q)
              last = Q - 1;
            for (int64_t p = 0; p < P && first <= last; p++)
              {
                int64_t h = p * a->stride[0] - a->pad[0] + weight / S * a->dilation[0];

                if (h >= 0 && h < H)
                  tap (&py[((n * K + k) * P + p) * Q + first],
                       &px[((n * C + (k / Kg) * Cg + c) * H + h) * W + first * stride + left],
                       &pw[(k * Cg + c) * R * S + weight], last - first + 1, stride);
              }
          }
}

static void
FN (tap_y) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t step)
{
  const T weight = *w;

  for (int64_t i = 0; i < n; i++)
    y[i] += x[i * step] * weight;
}

static void
FN (tap_x) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t step)
{
  const T weight = *w;

  for (int64_t i = 0; i < n; i++)
    x[i * step] += y[i] * weight;
}

static void
FN (tap_w) (T *restrict y, T *restrict x, T *restrict w, int64_t n, int64_t step)
{
  T sum = *w;

  for (int64_t i = 0; i < n; i++)
    sum += y[i] * x[i * step];
  *w = sum;
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
  FN (taps) (a, &k->in[0], &k->in[1], y, b[0], b[1], py, FN (tap_y), false);
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
  FN (taps) (k->attrs, dx, w, g, b[2], b[1], b[0], FN (tap_x), true);
  return LOOM_STATUS_OK;
}

/* b: g [N,K,P,Q], x [N,C,H,W]; dw [K,C/groups,R,S], db [K] where there is a bias. */
static LoomStatus
FN (conv2d_weight_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomConv2dAttrs *a = k->attrs;
  const LoomTensorDesc *g = &k->in[0], *x = &k->in[1], *dw = &k->out[0];
  const T *pg = b[0];

  for (int64_t i = 0; i < loom_desc_count (dw); i++)
    ((T *)b[2])[i] = 0;
  FN (taps) (a, x, dw, g, b[1], b[2], b[0], FN (tap_w), false);
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
