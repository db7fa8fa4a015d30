/* The loops of the optimisers for type T; operands as listed in backend.h. */

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

static LoomStatus
FN (sgd_step) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSgdAttrs *a = k->attrs;
  int n = a->n, lists = a->momentum ? 3 : 2;
  void *const *scalar = b + lists * n, *const *out = b + k->n_in;
  T lr = *(T *)scalar[0], momentum = *(T *)scalar[1], dampening = *(T *)scalar[2];
  T decay = *(T *)scalar[3], scale = *(T *)scalar[4];
  int64_t step = *(int64_t *)scalar[6];

  if (*(T *)scalar[5] == 0)
    return LOOM_STATUS_OK;
  for (int t = 0; t < n; t++)
    {
      const T *p = b[t], *grad = b[n + t], *buf = a->momentum ? b[2 * n + t] : NULL;
      T *new_p = out[t], *new_buf = a->momentum ? out[n + t] : NULL;

      for (int64_t i = 0; i < loom_desc_count (&k->in[t]); i++)
        {
          T g = grad[i] * scale;

          if (a->maximize)
            g = -g;
          g += decay * p[i];
          if (a->momentum)
            {
              T v = step == 1 ? g : momentum * buf[i] + (1 - dampening) * g;

              new_buf[i] = v;
              g = a->nesterov ? g + momentum * v : v;
            }
          new_p[i] = p[i] - lr * g;
        }
    }
  return LOOM_STATUS_OK;
}

static LoomStatus
FN (adam_step) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomAdamAttrs *a = k->attrs;
  int n = a->n, lists = a->amsgrad ? 5 : 4;
  void *const *scalar = b + lists * n, *const *out = b + k->n_in;
  T lr = *(T *)scalar[0], beta1 = *(T *)scalar[1], beta2 = *(T *)scalar[2], eps = *(T *)scalar[3];
  T decay = *(T *)scalar[4], scale = *(T *)scalar[5];
  double step = (double)*(int64_t *)scalar[7];
  double correction1 = 1 - pow (beta1, step), correction2 = sqrt (1 - pow (beta2, step));

  if (*(T *)scalar[6] == 0)
    return LOOM_STATUS_OK;
  for (int t = 0; t < n; t++)
    {
      const T *p = b[t], *grad = b[n + t], *m = b[2 * n + t], *v = b[3 * n + t];
      const T *vmax = a->amsgrad ? b[4 * n + t] : NULL;
      T *new_p = out[t], *new_m = out[n + t], *new_v = out[2 * n + t];
      T *new_vmax = a->amsgrad ? out[3 * n + t] : NULL;

      for (int64_t i = 0; i < loom_desc_count (&k->in[t]); i++)
        {
          T g = grad[i] * scale, weight = p[i], second;

          if (a->maximize)
            g = -g;
          if (a->decoupled)
            weight *= 1 - lr * decay;
          else
            g += decay * weight;
          new_m[i] = beta1 * m[i] + (1 - beta1) * g;
          new_v[i] = beta2 * v[i] + (1 - beta2) * g * g;
          second = new_v[i];
          if (a->amsgrad)
            {
              second = vmax[i] > second ? vmax[i] : second;
              new_vmax[i] = second;
            }
          new_p[i] = weight - (T)(lr / correction1) * new_m[i] / ((T)(sqrt (second) / correction2) + eps);
        }
    }
  return LOOM_STATUS_OK;
}
