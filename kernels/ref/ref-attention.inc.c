/* The loops of attention for type T. */

/* The score of key j for the query at `at`; -∞ where it is not kept. q [N,H,T,E], k [N,K,S,E]. */
static double
FN (score) (const LoomAttentionAttrs *a, const Place *at, LoomDType mask_type, const T *q, const T *k, int64_t j)
{
  double sum = 0;

  if (a->causal && j > at->query)
    return -INFINITY;
  if (a->has_mask && mask_type == LOOM_BOOL && !((const uint8_t *)at->mask)[j])
    return -INFINITY;
  for (int64_t e = 0; e < at->width; e++)
    sum += (double)q[at->row * at->width + e] * k[(at->first + j) * at->width + e];
  sum *= a->scale;
  return a->has_mask && mask_type != LOOM_BOOL ? sum + ((const T *)at->mask)[j] : sum;
}

/* y [N,H,T,D] and lse [N,H,T]. */
static LoomStatus
FN (attention) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomAttentionAttrs *a = k->attrs;
  const T *q = b[0], *key = b[1], *v = b[2];
  T *y = b[k->n_in], *lse = b[k->n_in + 1];
  LoomDType mask_type = a->has_mask ? k->in[3].dtype : LOOM_BOOL;

  for (int64_t row = 0; row < loom_dim_product (&k->in[0], 0, 3); row++)
    {
      Place at = place_of (a, &k->in[0], &k->in[1], &k->in[2], &k->in[3], a->has_mask ? b[3] : NULL, row);
      double top = -INFINITY, sum = 0;

      place_numbers (a, &at, b + 4);
      for (int64_t j = 0; j < at.keys; j++)
        {
          double s = FN (score) (a, &at, mask_type, q, key, j);

          top = s > top || s != s ? s : top;
        }
      top = top == -INFINITY ? 0 : top;
      for (int64_t j = 0; j < at.keys; j++)
        sum += exp (FN (score) (a, &at, mask_type, q, key, j) - top);
      lse[row] = (T)(top + log (sum));
      for (int64_t d = 0; d < at.depth; d++)
        {
          double mean = 0;

          for (int64_t j = 0; j < at.keys; j++)
            {
              double share = exp (FN (score) (a, &at, mask_type, q, key, j) - top);

              share *= share != 0 ? kept (a, (T)a->dropout, &at, j) : 1;
              if (share != 0)
                mean += share * v[(at.first + j) * at.depth + d];
            }
          y[row * at.depth + d] = sum == 0 ? 0 : (T)(mean / sum);
        }
    }
  return LOOM_STATUS_OK;
}

/* With shares P, of which a key keeps K, and dS = P·(K·g·vᵀ - delta): dq = scale·dS·k, dk = scale·dSᵀ·q, dv = (K·P)ᵀ·g.
 * dq [N,H,T,E], dk [N,K,S,E], dv [N,K,S,D]. */
static LoomStatus
FN (attention_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomAttentionAttrs *a = k->attrs;
  const T *g = b[0], *q = b[1], *key = b[2], *v = b[3], *lse = b[4], *delta = b[5];
  T *dq = b[k->n_in], *dk = b[k->n_in + 1], *dv = b[k->n_in + 2];
  LoomDType mask_type = a->has_mask ? k->in[6].dtype : LOOM_BOOL;

  memset (dq, 0, loom_desc_bytes (&k->out[0]));
  memset (dk, 0, loom_desc_bytes (&k->out[1]));
  memset (dv, 0, loom_desc_bytes (&k->out[2]));
  for (int64_t row = 0; row < loom_dim_product (&k->in[1], 0, 3); row++)
    {
      Place at = place_of (a, &k->in[1], &k->in[2], &k->in[3], &k->in[6], a->has_mask ? b[6] : NULL, row);
      double top = lse[row] == -INFINITY ? 0 : lse[row];

      place_numbers (a, &at, b + 8);
      for (int64_t j = 0; j < at.keys; j++)
        {
          double share = exp (FN (score) (a, &at, mask_type, q, key, j) - top), dp = 0, ds, keeps;

          if (share == 0)
            continue;
          keeps = kept (a, (T)a->dropout, &at, j);
          for (int64_t d = 0; d < at.depth; d++)
            {
              dp += (double)g[row * at.depth + d] * v[(at.first + j) * at.depth + d];
              dv[(at.first + j) * at.depth + d] += (T)(keeps * share * g[row * at.depth + d]);
            }
          ds = a->scale * share * (keeps * dp - delta[row]);
          for (int64_t e = 0; e < at.width; e++)
            {
              dq[row * at.width + e] += (T)(ds * key[(at.first + j) * at.width + e]);
              dk[(at.first + j) * at.width + e] += (T)(ds * q[row * at.width + e]);
            }
        }
    }
  return LOOM_STATUS_OK;
}
