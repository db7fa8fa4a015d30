/* The loops of normalisation for type T. x̂ = (x - mean)·rstd throughout. */

/* Batch norm: x and y are [N, C, area], weight, bias and statistics [C]. */
static LoomStatus
FN (batch_norm) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomNormAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t N = x->dim[0], C = x->dim[1], area = loom_dim_product (x, 2, x->rank);
  const T *px = b[0], *weight = a->affine ? b[1] : NULL, *bias = a->affine ? b[2] : NULL;
  const T *r = loom_norm_has_residual ("batch_norm", a->affine, k->n_in, k->n_out) ? b[k->n_in - 1] : NULL;
  T *y = b[k->n_in], *out_mean = b[k->n_in + 1], *out_var = b[k->n_in + 2];

  for (int64_t c = 0; c < C; c++)
    {
      double mean = 0, var = 0, rstd, scale;

      for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < area; i++)
          mean += px[(n * C + c) * area + i];
      mean /= (double)(N * area);
      for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < area; i++)
          var += (px[(n * C + c) * area + i] - mean) * (px[(n * C + c) * area + i] - mean);
      var /= (double)(N * area);
      rstd = 1 / sqrt (var + a->eps);
      scale = weight != NULL ? weight[c] * rstd : rstd;
      for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < area; i++)
          {
            int64_t e = (n * C + c) * area + i;
            T v = (T)((px[e] - mean) * scale + (bias != NULL ? bias[c] : 0)) + (r != NULL ? r[e] : 0);

            y[e] = a->act == LOOM_SCALAR_RELU && v < 0 ? 0 : v;
          }
      out_mean[c] = (T)mean;
      out_var[c] = (T)var;
    }
  return LOOM_STATUS_OK;
}

/* y [N, C, area] from given statistics [C]. */
static LoomStatus
FN (batch_norm_apply) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomNormAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t N = x->dim[0], C = x->dim[1], area = loom_dim_product (x, 2, x->rank);
  const T *px = b[0], *mean = b[1], *var = b[2], *weight = a->affine ? b[3] : NULL, *bias = a->affine ? b[4] : NULL;
  const T *r = loom_norm_has_residual ("batch_norm_apply", a->affine, k->n_in, k->n_out) ? b[k->n_in - 1] : NULL;
  T *y = b[k->n_in];

  for (int64_t c = 0; c < C; c++)
    {
      double rstd = 1 / sqrt (var[c] + a->eps);

      for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < area; i++)
          {
            int64_t e = (n * C + c) * area + i;
            T v = (T)((px[e] - mean[c]) * rstd * (weight != NULL ? weight[c] : 1) + (bias != NULL ? bias[c] : 0))
                  + (r != NULL ? r[e] : 0);

            y[e] = a->act == LOOM_SCALAR_RELU && v < 0 ? 0 : v;
          }
    }
  return LOOM_STATUS_OK;
}

/* The part of g that passes the activation after the normalisation. passed: g is that part already. */
static double
FN (norm_gate) (const LoomNormAttrs *a, bool passed, double g, double xhat, const T *weight, const T *bias, int64_t c)
{
  if (a->act != LOOM_SCALAR_RELU || passed)
    return g;
  return xhat * (weight != NULL ? weight[c] : 1) + (bias != NULL ? bias[c] : 0) > 0 ? g : 0;
}

/* dr: the part of g, or of g + h, for which y is above 0; all have the size of the result. */
static const T *
FN (residual_grad) (const RefKernel *k, void *const *b)
{
  const LoomNormAttrs *a = k->attrs;
  const int at = loom_norm_operands ("batch_norm_grad", a->affine);
  const T *g = b[0], *y = b[at], *h = k->n_in > at + 1 ? b[at + 1] : NULL;
  T *dr = b[k->n_in + loom_norm_results ("batch_norm_grad", a->affine)];

  for (int64_t e = 0; e < loom_desc_count (&k->in[0]); e++)
    dr[e] = y[e] > 0 ? g[e] + (h != NULL ? h[e] : 0) : 0;
  return dr;
}

/* dx = weight·rstd·(g - mean(g) - x̂·mean(g·x̂)), dweight = Σ g·x̂, dbias = Σ g. */
static LoomStatus
FN (batch_norm_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomNormAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[1];
  int64_t N = x->dim[0], C = x->dim[1], area = loom_dim_product (x, 2, x->rank);
  const bool residual = loom_norm_has_residual ("batch_norm_grad", a->affine, k->n_in, k->n_out);
  const T *px = b[1], *mean = b[2], *var = b[3], *weight = a->affine ? b[4] : NULL;
  const T *bias = a->affine && a->act == LOOM_SCALAR_RELU && !residual ? b[5] : NULL;
  const T *pg = residual ? FN (residual_grad) (k, b) : b[0];
  T *dx = b[k->n_in];

  for (int64_t c = 0; c < C; c++)
    {
      double sum = 0, dot = 0, rstd = 1 / sqrt (var[c] + a->eps), m = (double)(N * area);

      for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < area; i++)
          {
            int64_t e = (n * C + c) * area + i;

            double g = FN (norm_gate) (a, residual, pg[e], (px[e] - mean[c]) * rstd, weight, bias, c);

            sum += g;
            dot += g * (px[e] - mean[c]) * rstd;
          }
      for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < area; i++)
          {
            int64_t e = (n * C + c) * area + i;
            double xhat = (px[e] - mean[c]) * rstd, g = FN (norm_gate) (a, residual, pg[e], xhat, weight, bias, c);

            dx[e] = (T)((weight != NULL ? weight[c] : 1) * rstd * (g - sum / m - xhat * dot / m));
          }
      if (a->affine)
        {
          ((T *)b[k->n_in + 1])[c] = (T)dot;
          ((T *)b[k->n_in + 2])[c] = (T)sum;
        }
    }
  return LOOM_STATUS_OK;
}

/* Layer norm: x is [rows, n]; weight and bias are [n]. */
static LoomStatus
FN (layer_norm) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomNormAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[0];
  int64_t rows = loom_dim_product (x, 0, x->rank - a->axes), n = loom_dim_product (x, x->rank - a->axes, x->rank);
  const T *weight = a->affine ? b[1] : NULL, *bias = a->affine ? b[2] : NULL;
  T *out_mean = b[k->n_in + 1], *out_rstd = b[k->n_in + 2];

  for (int64_t r = 0; r < rows; r++)
    {
      const T *row = (const T *)b[0] + r * n;
      T *y = (T *)b[k->n_in] + r * n;
      double mean = 0, var = 0, rstd;

      for (int64_t i = 0; i < n; i++)
        mean += row[i];
      mean /= (double)n;
      for (int64_t i = 0; i < n; i++)
        var += (row[i] - mean) * (row[i] - mean);
      rstd = 1 / sqrt (var / (double)n + a->eps);
      for (int64_t i = 0; i < n; i++)
        y[i] = (T)((row[i] - mean) * rstd * (weight != NULL ? weight[i] : 1) + (bias != NULL ? bias[i] : 0));
      out_mean[r] = (T)mean;
      out_rstd[r] = (T)rstd;
    }
  return LOOM_STATUS_OK;
}

/* With h = g·weight: dx = rstd·(h - mean(h) - x̂·mean(h·x̂)), plus the residual around the norm; sums over rows for
 * dweight = Σ g·x̂ and dbias = Σ g. */
static LoomStatus
FN (layer_norm_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomNormAttrs *a = k->attrs;
  const LoomTensorDesc *x = &k->in[1];
  int64_t rows = loom_dim_product (x, 0, x->rank - a->axes), n = loom_dim_product (x, x->rank - a->axes, x->rank);
  const T *g = b[0], *px = b[1], *mean = b[2], *rstd = b[3], *weight = a->affine ? b[4] : NULL;
  const int around = loom_layer_norm_residual (a->affine, k->n_in);
  const T *other = around > 0 ? b[around] : NULL;
  T *dx = b[k->n_in];

  for (int64_t r = 0; r < rows; r++)
    {
      double sum = 0, dot = 0;

      for (int64_t i = 0; i < n; i++)
        {
          double h = (double)g[r * n + i] * (weight != NULL ? weight[i] : 1);

          sum += h;
          dot += h * (px[r * n + i] - mean[r]) * rstd[r];
        }
      for (int64_t i = 0; i < n; i++)
        {
          double h = (double)g[r * n + i] * (weight != NULL ? weight[i] : 1);
          double xhat = (px[r * n + i] - mean[r]) * rstd[r];

          dx[r * n + i] = (T)(rstd[r] * (h - sum / (double)n - xhat * dot / (double)n));
          if (other != NULL)
            dx[r * n + i] += other[r * n + i];
        }
    }
  for (int64_t i = 0; a->affine && i < n; i++)
    {
      double sum = 0, dot = 0;

      for (int64_t r = 0; r < rows; r++)
        {
          sum += g[r * n + i];
          dot += g[r * n + i] * (px[r * n + i] - mean[r]) * rstd[r];
        }
      ((T *)b[k->n_in + 1])[i] = (T)dot;
      ((T *)b[k->n_in + 2])[i] = (T)sum;
    }
  return LOOM_STATUS_OK;
}
