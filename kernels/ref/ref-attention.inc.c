/* The loops of attention for type T. */

/* The logit of key j for the query at `at`; -∞ if it is masked. */
static double
FN (score) (const LoomAttentionAttrs *a, const Place *at, LoomDType mask_type, const T *q, const T *k, int64_t j)
{
  const T *query = q + at->start[LOOM_ATTENTION_Q];
  const T *key = k + at->start[LOOM_ATTENTION_K] + j * at->rows[LOOM_ATTENTION_K].row;
  double sum = 0;

  if (a->causal && j > at->query)
    return -INFINITY;
  if (a->has_mask && mask_type == LOOM_BOOL && !((const uint8_t *)at->mask)[j])
    return -INFINITY;
  for (int64_t e = 0; e < at->of.width; e++)
    sum += (double)query[e] * key[e];
  sum *= a->scale;
  return a->has_mask && mask_type != LOOM_BOOL ? sum + ((const T *)at->mask)[j] : sum;
}

/* y and lse [N,H,T]. */
static LoomStatus
FN (attention) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomAttentionAttrs *a = k->attrs;
  const T *q = b[0], *key = b[1], *v = b[2];
  T *y = b[k->n_in], *lse = b[k->n_in + 1];
  LoomDType mask_type = a->has_mask ? k->in[3].dtype : LOOM_BOOL;
  Place at = { .query = 0 };
  double *share; /* weights of the query's keys, [S] */

  at.of = loom_attention_strides (a, k->in, 0, at.rows);
  share = calloc ((size_t)at.of.keys + 1, sizeof *share);
  if (share == NULL)
    {
      snprintf (message->text, sizeof message->text, "no memory left for the weights of %" PRId64 " keys", at.of.keys);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  for (int64_t row = 0; row < at.of.n * at.of.heads * at.of.queries; row++)
    {
      double top = -INFINITY, sum = 0;

      place_move (a, &at, &k->in[3], a->has_mask ? b[3] : NULL, row);
      place_numbers (a, &at, b + 4);
      for (int64_t j = 0; j < at.of.keys; j++)
        {
          share[j] = FN (score) (a, &at, mask_type, q, key, j);
          top = share[j] > top || share[j] != share[j] ? share[j] : top;
        }
      top = top == -INFINITY ? 0 : top;
      for (int64_t j = 0; j < at.of.keys; j++)
        {
          share[j] = exp (share[j] - top);
          sum += share[j];
          share[j] *= share[j] != 0 ? kept (a, (T)a->dropout, &at, j) : 1;
        }
      lse[row] = (T)(top + log (sum));
      for (int64_t d = 0; d < at.of.depth; d++)
        {
          double mean = 0;

          for (int64_t j = 0; j < at.of.keys; j++)
            mean += share[j] * v[at.start[LOOM_ATTENTION_V] + j * at.rows[LOOM_ATTENTION_V].row + d];
          y[at.start[LOOM_ATTENTION_Y] + d] = (T)(sum == 0 ? mean * 0 : mean / sum);
        }
    }
  free (share);
  return LOOM_STATUS_OK;
}

/* With weights P, dropout factors K, and dS = P·(K·g·vᵀ - delta): dq = scale·dS·k, dk = scale·dSᵀ·q, dv = (K·P)ᵀ·g. */
static LoomStatus
FN (attention_grad) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomAttentionAttrs *a = k->attrs;
  const T *q = b[1], *key = b[2], *v = b[3], *lse = b[4];
  const T *delta = loom_attention_has_delta (k->in) ? b[5] : NULL;
  T *dq = b[k->n_in], *dk = b[k->n_in + loom_attention_result (k->n_out, 1)];
  T *dv = b[k->n_in + loom_attention_result (k->n_out, 2)];
  LoomDType mask_type = a->has_mask ? k->in[6].dtype : LOOM_BOOL;
  Place at = { .query = 0 };

  at.of = loom_attention_strides (a, k->in, 1, at.rows);
  for (int o = 0; o < k->n_out; o++)
    memset (b[k->n_in + o], 0, loom_desc_bytes (&k->out[o]));
  for (int64_t row = 0; row < at.of.n * at.of.heads * at.of.queries; row++)
    {
      const double top = lse[row] == -INFINITY ? 0 : lse[row];
      const T *g = b[0];
      double away = 0;

      place_move (a, &at, &k->in[6], a->has_mask ? b[6] : NULL, row);
      place_numbers (a, &at, b + 8);
      g += at.start[LOOM_ATTENTION_G];
      if (delta != NULL)
        away = delta[row];
      for (int64_t d = 0; d < at.of.depth && delta == NULL; d++)
        away += (double)g[d] * ((const T *)b[7])[at.start[LOOM_ATTENTION_Y] + d];
      for (int64_t j = 0; j < at.of.keys; j++)
        {
          double share = exp (FN (score) (a, &at, mask_type, q, key, j) - top), dp = 0, ds, keeps;
          const int64_t of_v = at.start[LOOM_ATTENTION_V] + j * at.rows[LOOM_ATTENTION_V].row;
          const int64_t of_k = at.start[LOOM_ATTENTION_K] + j * at.rows[LOOM_ATTENTION_K].row;
          const int64_t to_v = at.start[LOOM_ATTENTION_DV] + j * at.rows[LOOM_ATTENTION_DV].row;
          const int64_t to_k = at.start[LOOM_ATTENTION_DK] + j * at.rows[LOOM_ATTENTION_DK].row;

          keeps = share != 0 ? kept (a, (T)a->dropout, &at, j) : 1;
          for (int64_t d = 0; d < at.of.depth; d++)
            {
              dp += (double)g[d] * v[of_v + d];
              dv[to_v + d] += (T)(keeps * share * g[d]);
            }
          ds = a->scale * share * (keeps * dp - away);
          for (int64_t e = 0; e < at.of.width; e++)
            {
              dq[at.start[LOOM_ATTENTION_DQ] + e] += (T)(ds * key[of_k + e]);
              dk[to_k + e] += (T)(ds * q[at.start[LOOM_ATTENTION_Q] + e]);
            }
        }
    }
  return LOOM_STATUS_OK;
}
