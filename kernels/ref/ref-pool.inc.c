/* The loops of pooling for type T. x and dx are [N,C,H,W], y, g and indices [N,C,P,Q]. */

/* b: x [N,C,H,W]; y and indices [N,C,P,Q]. */
static LoomStatus
FN (max_pool2d) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomPool2dAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0], *y = &k->out[0];
  int64_t H = x->dim[2], W = x->dim[3], P = y->dim[2], Q = y->dim[3];
  T *py = b[1];

  for (int64_t nc = 0; nc < x->dim[0] * x->dim[1]; nc++)
    for (int64_t p = 0; p < P; p++)
      for (int64_t q = 0; q < Q; q++)
        {
          const T *plane = (const T *)b[0] + nc * H * W;
          int64_t o = (nc * P + p) * Q + q, winner = -1;
          T best = 0;

          for (int64_t r = 0; r < a->kernel[0]; r++)
            for (int64_t s = 0; s < a->kernel[1]; s++)
              {
                int64_t h = p * a->stride[0] - a->pad[0] + r * a->dilation[0];
                int64_t v = q * a->stride[1] - a->pad[1] + s * a->dilation[1];

                if (h < 0 || h >= H || v < 0 || v >= W)
                  continue;
                if (winner < 0 || plane[h * W + v] > best || plane[h * W + v] != plane[h * W + v])
                  {
                    best = plane[h * W + v];
                    winner = r * a->kernel[1] + s;
                  }
              }
          py[o] = best;
          loom_store_int (b[2], o, k->out[1].dtype, winner < 0 ? 0 : winner);
        }
  return LOOM_STATUS_OK;
}

/* b: g and indices [N,C,P,Q]; dx [N,C,H,W]. */
static LoomStatus
FN (max_pool2d_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomPool2dAttrs *a = k->attrs;
  const LoomTensorDesc *g = &k->in[0], *dx = &k->out[0];
  int64_t H = dx->dim[2], W = dx->dim[3], P = g->dim[2], Q = g->dim[3];
  const T *pg = b[0];

  for (int64_t i = 0; i < loom_desc_count (dx); i++)
    ((T *)b[2])[i] = 0;
  for (int64_t nc = 0; nc < g->dim[0] * g->dim[1]; nc++)
    for (int64_t p = 0; p < P; p++)
      for (int64_t q = 0; q < Q; q++)
        {
          int64_t o = (nc * P + p) * Q + q, winner = loom_load_int (b[1], o, k->in[1].dtype);
          int64_t h = p * a->stride[0] - a->pad[0] + winner / a->kernel[1] * a->dilation[0];
          int64_t v = q * a->stride[1] - a->pad[1] + winner % a->kernel[1] * a->dilation[1];

          if (h >= 0 && h < H && v >= 0 && v < W)
            ((T *)b[2])[(nc * H + h) * W + v] += pg[o];
        }
  return LOOM_STATUS_OK;
}

/* The window of output p along one axis of size n, cut to the input, and the divisor of its mean: PyTorch's
 * avg_pool2d. */
static int64_t
FN (window) (int64_t p, int64_t n, int64_t kernel, int64_t stride, int64_t pad, bool count_pad, int64_t *from,
             int64_t *to)
{
  int64_t start = p * stride - pad, end = start + kernel < n + pad ? start + kernel : n + pad;

  *from = start > 0 ? start : 0;
  *to = end < n ? end : n;
  return count_pad ? end - start : *to - *from;
}

/* Visits every (output, input) pair: forward when pg is NULL. px and dx [N,C,H,W]; py and pg [N,C,P,Q]. */
static void
FN (avg) (const LoomPool2dAttrs *a, const LoomTensorDesc *x, const LoomTensorDesc *y, const T *px, T *py, const T *pg,
          T *dx)
{
  int64_t H = x->dim[2], W = x->dim[3], P = y->dim[2], Q = y->dim[3];

  for (int64_t nc = 0; nc < x->dim[0] * x->dim[1]; nc++)
    for (int64_t p = 0; p < P; p++)
      for (int64_t q = 0; q < Q; q++)
        {
          int64_t h0, h1, v0, v1, o = (nc * P + p) * Q + q;
          int64_t rows = FN (window) (p, H, a->kernel[0], a->stride[0], a->pad[0], a->count_include_pad, &h0, &h1);
          int64_t columns = FN (window) (q, W, a->kernel[1], a->stride[1], a->pad[1], a->count_include_pad, &v0, &v1);
          double divisor = a->divisor != 0 ? (double)a->divisor : (double)(rows * columns), sum = 0;

          for (int64_t h = h0; h < h1; h++)
            for (int64_t v = v0; v < v1; v++)
              if (pg == NULL)
                sum += px[(nc * H + h) * W + v];
              else
                dx[(nc * H + h) * W + v] += (T)(pg[o] / divisor);
          if (pg == NULL)
            py[o] = h0 < h1 && v0 < v1 ? (T)(sum / divisor) : 0;
        }
}

static LoomStatus
FN (avg_pool2d) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  FN (avg) (k->attrs, &k->in[0], &k->out[0], b[0], b[1], NULL, NULL);
  return LOOM_STATUS_OK;
}

static LoomStatus
FN (avg_pool2d_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  for (int64_t i = 0; i < loom_desc_count (&k->out[0]); i++)
    ((T *)b[1])[i] = 0;
  FN (avg) (k->attrs, &k->out[0], &k->in[0], NULL, NULL, b[0], b[1]);
  return LOOM_STATUS_OK;
}
