/* The loops of the optimisers in optim.h for type T. */

#include "kernels/optim-formulas.h"

typedef T (*FN (Formula)) (T p, T d, T *s0, T *s1, T *s2, const T *c);

static const struct
{
  FN (Formula) step, measure; /* measure: of optimisers with a trust ratio */
  Rates rates;
  Trust trust;
} FN (formula)[LOOM_N_FORMULAS] = {
#define FORMULA(name, kind, states) { FN (name), NULL, loom_rates_##kind, NULL },
#define TRUST(name, kind, states)   { FN (name), FN (name##_measure), loom_rates_##kind, loom_trust_##name },
  LOOM_STEP_FORMULAS (FORMULA) LOOM_STEP_TRUSTS (TRUST)
#undef FORMULA
#undef TRUST
};

/* b: lists of n tensors p, g and states, whose tensors t have one shape [count], then scalars; new p and states. c [8].
 */
static LoomStatus
FN (optim_step) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomStepAttrs *a = k->attrs;
  int n = a->n, which = loom_step_formula (a), states = loom_step_states (a), scalars = loom_step_scalars (a);
  void *const *scalar = b + (2 + states) * n, *const *out = b + k->n_in;
  LoomStepRates rates = { 1, 0, *(T *)scalar[scalars] * (a->maximize ? -1 : 1), { 0 } };
  double hyper[LOOM_STEP_MAX_SCALARS];
  T c[8];

  if (*(T *)scalar[scalars + 1] == 0)
    return LOOM_STATUS_OK;
  for (int i = 0; i < scalars; i++)
    hyper[i] = *(T *)scalar[i];
  FN (formula)[which].rates (a, hyper, (double)*(int64_t *)scalar[scalars + 2], &rates);
  for (int i = 0; i < 8; i++)
    c[i] = (T)rates.c[i];
  for (int t = 0; t < n; t++)
    {
      int64_t count = loom_desc_count (&k->in[t]);
      const T *p = b[t], *g = b[n + t];
      T *new_p = out[t], *state[LOOM_STEP_MAX_STATES] = { NULL };
      double weights = 0, measured = 0;

      for (int s = 0; s < states; s++)
        {
          state[s] = out[(1 + s) * n + t];
          for (int64_t i = 0; i < count; i++)
            state[s][i] = ((const T *)b[(2 + s) * n + t])[i];
        }
      /* At most two passes: to measure, and to step. */
      for (int pass = FN (formula)[which].measure != NULL ? 0 : 1; pass < 2; pass++)
        {
          for (int64_t i = 0; i < count; i++)
            {
              T s[LOOM_STEP_MAX_STATES] = { 0 }, scaled = g[i] * (T)rates.scale;

              for (int j = 0; j < states; j++)
                s[j] = state[j][i];
              if (pass == 0)
                {
                  T u = FN (formula)[which].measure (p[i], scaled, &s[0], &s[1], &s[2], c);

                  weights += (double)p[i] * p[i];
                  measured += (double)u * u;
                }
              else
                new_p[i] = FN (formula)[which].step (p[i] * (T)rates.shrink, scaled + (T)rates.decay * p[i], &s[0],
                                                     &s[1], &s[2], c);
              for (int j = 0; j < states; j++)
                state[j][i] = s[j];
            }
          if (pass == 0)
            c[0] = (T)(rates.c[0] * FN (formula)[which].trust (&rates, sqrt (weights), sqrt (measured)));
        }
    }
  return LOOM_STATUS_OK;
}
