/* The formulas of optim.h over one element of type T, named FN (name), with FN (sqrt) the type's square root.
 *
 * p is the weight and d the gradient after the common prelude; s0, s1, s2 are the element's states and are changed; c
 * are the coefficients of the step. The result is the new weight. Included once for each type, without a guard. */

/* Values common to the elements of a step, in the type of the elements. */
typedef struct
{
  T shrink, decay, scale, c[8];
} FN (Common);

LOOM_OPTIM_FN
FN (Common) FN (common_of) (const LoomStepRates *rates)
{
  FN (Common) common = { (T)rates->shrink, (T)rates->decay, (T)rates->scale, { 0 } };

  for (int i = 0; i < 8; i++)
    common.c[i] = (T)rates->c[i];
  return common;
}

/* A call's scalars: n of the step's own, then grad_scale, finite and step. Returns false if a gradient is not finite.
 */
LOOM_OPTIM_FN bool
FN (read_scalars) (void *const *scalar, int n, bool maximize, double *hyper, LoomStepRates *rates, double *step)
{
  for (int i = 0; i < n; i++)
    hyper[i] = *(const T *)scalar[i];
  for (int i = 0; i < 8; i++)
    rates->c[i] = 0;
  rates->shrink = 1;
  rates->decay = 0;
  rates->scale = *(const T *)scalar[n] * (maximize ? -1.0 : 1.0);
  *step = (double)*(const int64_t *)scalar[n + 2];
  return *(const T *)scalar[n + 1] != 0;
}

/* Without momentum; decay and scale are the prelude's. */
LOOM_OPTIM_FN T
FN (sgd) (T p, T g, T scale, T decay, T lr)
{
  return p - lr * (g * scale + decay * p);
}

/* c[3] is the factor of the gradient and c[4] that of the buffer, so Nesterov's rule is the same formula. */
LOOM_OPTIM_FN T
FN (sgd_momentum) (T p, T d, T *s0, const T *c)
{
  *s0 = c[1] * *s0 + c[2] * d;
  return p - c[0] * (c[3] * d + c[4] * *s0);
}

LOOM_OPTIM_FN T
FN (adam_moments) (T d, T *s0, T *s1, const T *c)
{
  *s0 = c[1] * *s0 + (1 - c[1]) * d;
  *s1 = c[2] * *s1 + (1 - c[2]) * d * d;
  return *s1;
}

/* second: the second moment, or with amsgrad its maximum so far. */
LOOM_OPTIM_FN T
FN (adam) (T p, T mean, T second, const T *c)
{
  return p - c[0] * mean / (FN (sqrt) (second) * c[3] + c[4]);
}

LOOM_OPTIM_FN T
FN (rmsprop) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  *s0 = c[1] * *s0 + (1 - c[1]) * d * d;
  return p - c[0] * d / (FN (sqrt) (*s0) + c[2]);
}

LOOM_OPTIM_FN T
FN (rmsprop_momentum) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  *s0 = c[1] * *s0 + (1 - c[1]) * d * d;
  *s1 = c[3] * *s1 + d / (FN (sqrt) (*s0) + c[2]);
  return p - c[0] * *s1;
}

/* The standard deviation about the running mean; a variance that rounding makes negative counts as 0. */
LOOM_OPTIM_FN T
FN (spread) (T square, T mean)
{
  T spread = square - mean * mean;

  return FN (sqrt) (spread > 0 ? spread : 0);
}

LOOM_OPTIM_FN T
FN (rmsprop_centered) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  *s0 = c[1] * *s0 + (1 - c[1]) * d * d;
  *s1 += (d - *s1) * (1 - c[1]);
  return p - c[0] * d / (FN (spread) (*s0, *s1) + c[2]);
}

LOOM_OPTIM_FN T
FN (rmsprop_momentum_centered) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  *s0 = c[1] * *s0 + (1 - c[1]) * d * d;
  *s2 += (d - *s2) * (1 - c[1]);
  *s1 = c[3] * *s1 + d / (FN (spread) (*s0, *s2) + c[2]);
  return p - c[0] * *s1;
}

LOOM_OPTIM_FN T
FN (adagrad) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  *s0 += d * d;
  return p - c[0] * d / (FN (sqrt) (*s0) + c[1]);
}

LOOM_OPTIM_FN T
FN (adadelta) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  T delta;

  *s0 = c[1] * *s0 + (1 - c[1]) * d * d;
  delta = FN (sqrt) (*s1 + c[2]) / FN (sqrt) (*s0 + c[2]) * d;
  *s1 = c[1] * *s1 + (1 - c[1]) * delta * delta;
  return p - c[0] * delta;
}

LOOM_OPTIM_FN T
FN (nadam) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  *s0 += (d - *s0) * (1 - c[2]);
  *s1 = c[3] * *s1 + (1 - c[3]) * d * d;
  return p - (c[0] * d + c[1] * *s0) / (FN (sqrt) (*s1) * c[4] + c[5]);
}

LOOM_OPTIM_FN T
FN (adamax) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  T old = c[2] * *s1, fresh = (d < 0 ? -d : d) + c[3];

  *s0 += (d - *s0) * (1 - c[1]);
  *s1 = old > fresh ? old : fresh;
  return p - c[0] * *s0 / *s1;
}

LOOM_OPTIM_FN T
FN (radam) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  T adaptive;

  *s0 += (d - *s0) * (1 - c[1]);
  *s1 = c[2] * *s1 + (1 - c[2]) * d * d;
  adaptive = c[4] / (FN (sqrt) (*s1) + c[3]);
  return p - c[0] * *s0 * (c[4] > 0 ? adaptive : 1);
}

LOOM_OPTIM_FN T
FN (lion) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  T update = c[1] * *s0 + (1 - c[1]) * d;

  *s0 = c[2] * *s0 + (1 - c[2]) * d;
  return p - c[0] * ((T)(update > 0) - (T)(update < 0));
}

LOOM_OPTIM_FN T
FN (lamb_update) (T p, T m, T v, const T *c)
{
  return m * c[5] / (FN (sqrt) (v) * c[6] + c[3]) + c[4] * p;
}

LOOM_OPTIM_FN T
FN (lamb_measure) (T p, T g, T *s0, T *s1, T *s2, const T *c)
{
  *s0 = c[1] * *s0 + (1 - c[1]) * g;
  *s1 = c[2] * *s1 + (1 - c[2]) * g * g;
  return FN (lamb_update) (p, *s0, *s1, c);
}

LOOM_OPTIM_FN T
FN (lamb) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  return p - c[0] * FN (lamb_update) (p, *s0, *s1, c);
}

LOOM_OPTIM_FN T
FN (lars_measure) (T p, T g, T *s0, T *s1, T *s2, const T *c)
{
  return g;
}

LOOM_OPTIM_FN T
FN (lars) (T p, T d, T *s0, T *s1, T *s2, const T *c)
{
  *s0 = c[1] * *s0 + c[0] * d;
  return p - *s0;
}
