/* The loops of SGD and Adam for type T; operands as listed in backend.h. */

#include "kernels/optim-formulas.h"

/* b: n_in gradients of any shapes; sum and finite, scalars. */
static LoomStatus
FN (grad_stats) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  double sum = 0;
  bool finite = true;

  for (int t = 0; t < k->n_in; t++)
    {
      const T *g = b[t];

      for (int64_t i = 0; i < loom_desc_count (&k->in[t]); i++)
        {
          sum += (double)g[i] * g[i];
          finite = finite && isfinite (g[i]);
        }
    }
  *(T *)b[k->n_in] = (T)sum;
  *(T *)b[k->n_in + 1] = finite ? 1 : 0;
  return LOOM_STATUS_OK;
}

/* b: lists of n tensors p, g, [buf], whose tensors t have one shape, then scalars; new p, [new buf]. */
static LoomStatus
FN (sgd_step) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSgdAttrs *a = k->attrs;
  int n = a->n, lists = a->momentum ? 3 : 2;
  void *const *out = b + k->n_in;
  LoomStepRates rates;
  double hyper[4], step;
  FN (Common) common;

  if (!FN (read_scalars) (b + lists * n, 4, a->maximize, hyper, &rates, &step))
    return LOOM_STATUS_OK;
  loom_rates_sgd (a, hyper, step, &rates);
  common = FN (common_of) (&rates);
  for (int t = 0; t < n; t++)
    {
      const T *p = b[t], *g = b[n + t], *buf = a->momentum ? b[2 * n + t] : NULL;
      T *new_p = out[t], *new_buf = a->momentum ? out[n + t] : NULL;

      for (int64_t i = 0; i < loom_desc_count (&k->in[t]); i++)
        {
          T d = g[i] * common.scale + common.decay * p[i];
          T s0 = a->momentum && step != 1 ? buf[i] : 0; /* before the first step the content may be NaN */

          new_p[i] = a->momentum ? FN (sgd_momentum) (p[i], d, &s0, common.c)
                                 : FN (sgd) (p[i], g[i], common.scale, common.decay, common.c[0]);
          if (a->momentum)
            new_buf[i] = s0;
        }
    }
  return LOOM_STATUS_OK;
}

/* b: p, g of n tensors each, then lr, weight_decay, grad_scale; new p, old p in g's memory, sum, finite. */
static LoomStatus
FN (sgd_step_logged) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSgdLoggedAttrs *a = k->attrs;
  int n = a->n;
  void *const *out = b + k->n_in;
  T lr = *(const T *)b[2 * n], decay = *(const T *)b[2 * n + 1];
  T scale = *(const T *)b[2 * n + 2] * (a->maximize ? -1 : 1);
  double sum = 0;
  bool finite = true;

  for (int t = 0; t < n; t++)
    {
      const T *p = b[t], *g = b[n + t];
      T *new_p = out[t], *old_p = out[n + t];

      for (int64_t i = 0; i < loom_desc_count (&k->in[t]); i++)
        {
          T weight = p[i], gradient = g[i];

          sum += (double)gradient * gradient;
          finite = finite && isfinite (gradient);
          new_p[i] = FN (sgd) (weight, gradient, scale, decay, lr);
          old_p[i] = weight;
        }
    }
  *(T *)out[2 * n] = (T)sum;
  *(T *)out[2 * n + 1] = finite ? 1 : 0;
  return LOOM_STATUS_OK;
}

/* b: p and old p of n tensors each, finite; p. */
static LoomStatus
FN (undo_step) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomUndoAttrs *a = k->attrs;
  int n = a->n;

  for (int t = 0; t < n && *(const T *)b[2 * n] == 0; t++)
    for (int64_t i = 0; i < loom_desc_count (&k->in[t]); i++)
      ((T *)b[k->n_in + t])[i] = ((const T *)b[n + t])[i];
  return LOOM_STATUS_OK;
}

/* b: lists of n tensors p, g, m, v, [vmax], whose tensors t have one shape, then scalars; new p, m, v, [vmax]. */
static LoomStatus
FN (adam_step) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomAdamAttrs *a = k->attrs;
  int n = a->n, lists = a->amsgrad ? 5 : 4;
  void *const *out = b + k->n_in;
  LoomStepRates rates;
  double hyper[5], step;
  FN (Common) common;

  if (!FN (read_scalars) (b + lists * n, 5, a->maximize, hyper, &rates, &step))
    return LOOM_STATUS_OK;
  loom_rates_adam (a, hyper, step, &rates);
  common = FN (common_of) (&rates);
  for (int t = 0; t < n; t++)
    {
      const T *p = b[t], *g = b[n + t], *m = b[2 * n + t], *v = b[3 * n + t], *vmax = a->amsgrad ? b[4 * n + t] : NULL;
      T *new_p = out[t], *new_m = out[n + t], *new_v = out[2 * n + t];
      T *new_vmax = a->amsgrad ? out[3 * n + t] : NULL;

      for (int64_t i = 0; i < loom_desc_count (&k->in[t]); i++)
        {
          T d = g[i] * common.scale + common.decay * p[i], mean = m[i], square = v[i];
          T second = FN (adam_moments) (d, &mean, &square, common.c);

          new_m[i] = mean;
          new_v[i] = square;
          if (a->amsgrad)
            new_vmax[i] = second = vmax[i] > second ? vmax[i] : second;
          new_p[i] = FN (adam) (p[i] * common.shrink, mean, second, common.c);
        }
    }
  return LOOM_STATUS_OK;
}
