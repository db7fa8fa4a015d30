/* Newton's method on small problems: the Hessian by differentiating twice, a factorisation, one step (Nocedal and
 * Wright 2006, section 3.3, with multiples of the identity added as in algorithm 3.3).
 *
 * In addition to the gradients g the program has a slot v for each parameter and the gradients of Σ g·v, which are H·v:
 * a column of the Hessian for each unit vector. Each weight costs a forward and three backward passes, and the memory
 * is quadratic in the number of weights. */
#include "engine/train/loom-driver.h"

#include "engine/core/loom-refuse.h"
#include "engine/program/loom-prim.h"

#include <math.h>
#include <string.h>

/* The Hessian of this number of weights has 32 MiB. */
#define MAX_WEIGHTS 2000

static char *
direction_name (const char *parameter)
{
  return g_strconcat ("optimizer.direction.", parameter, NULL);
}

static gboolean
extend (LoomProgram *p, const LoomTrainSpec *spec, guint n, const int *slot, const LoomValue *grad, GError **error)
{
  g_autofree LoomValue *wrt = g_new0 (LoomValue, n + 1), *product = g_new0 (LoomValue, n + 1);
  LoomRegion region = loom_program_get_region (p);
  LoomValue sum = 0;
  gint64 total = 0;

  for (guint i = 0; i < n; i++)
    total += (gint64)loom_desc_count (&loom_value_info (p, grad[i])->desc);
  if (total > MAX_WEIGHTS)
    return loom_refuse (
        error, LOOM_ERROR_SHAPE,
        "The optimizer “newton” computes second derivatives of all pairs of weights and supports at most "
        "%d weights, but this graph trains %" G_GINT64_FORMAT ". Use “lbfgs”, or freeze some.",
        MAX_WEIGHTS, total);
  loom_program_set_region (p, LOOM_REGION_BACKWARD);
  for (guint i = 0; i < n; i++)
    {
      LoomTensorDesc desc = loom_value_info (p, grad[i])->desc;
      g_autofree char *name = direction_name (loom_program_get_slot (p, (guint)slot[i])->name);
      int direction = loom_program_slot (p, name, LOOM_SLOT_OPTIMIZER, desc.dtype, desc.rank, desc.dim, NULL, FALSE);
      LoomValue v = loom_program_read (p, direction), part;

      part = loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, grad[i], v));
      sum = i == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
      wrt[i] = loom_program_read (p, slot[i]);
    }
  if (!loom_differentiate (p, sum, 0, n, wrt, product, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      LoomTensorDesc desc = loom_value_info (p, grad[i])->desc;
      g_autofree char *name = g_strconcat ("product.", loom_program_get_slot (p, (guint)slot[i])->name, NULL);

      /* A gradient that does not depend on any weight has no second derivative. */
      if (product[i] == 0)
        product[i] = loom_fill (p, desc.dtype, desc.rank, desc.dim, 0);
      loom_program_output (p, name, product[i]);
    }
  loom_program_set_region (p, region);
  return TRUE;
}

/* Sets tensor t's direction to its i-th unit vector, or to zero if i is its count. */
static gboolean
point (const LoomDriverSpace *space, guint t, gsize i, GError **error)
{
  g_autofree char *name = direction_name (space->name[t]);
  g_autoptr (LoomTensor) v = loom_state_get (space->call->state, name, error);

  if (v == NULL)
    return FALSE;
  memset (v->data, 0, v->bytes);
  if (i < space->count[t])
    loom_tensor_set (v, (gint64)i, 1);
  return loom_state_set (space->call->state, name, v, error);
}

/* h is (n, n), symmetric up to rounding, so the mean of both halves is used. */
static gboolean
hessian (const LoomDriverSpace *space, double *h, GError **error)
{
  gsize n = space->n, at = 0;

  for (guint t = 0; t < space->n_tensors; at += space->count[t++])
    for (gsize i = 0; i <= space->count[t]; i++)
      {
        if (!point (space, t, i, error))
          return FALSE;
        if (i < space->count[t]
            && (!loom_exec_run (space->call->exec, error)
                || !loom_driver_gather (space, "product", h + (at + i) * n, error)))
          return FALSE;
      }
  for (gsize i = 0; i < n; i++)
    for (gsize k = 0; k < i; k++)
      h[i * n + k] = h[k * n + i] = (h[i * n + k] + h[k * n + i]) / 2;
  return TRUE;
}

/* Solves (h + damping·I)·x = b by Cholesky's factorisation in l; FALSE if the matrix is not positive definite. */
static gboolean
solve (const double *h, double damping, double *l, const double *b, double *x, gsize n)
{
  for (gsize i = 0; i < n; i++)
    for (gsize k = 0; k <= i; k++)
      {
        double sum = h[i * n + k] + (i == k ? damping : 0);

        for (gsize j = 0; j < k; j++)
          sum -= l[i * n + j] * l[k * n + j];
        if (i == k && !(sum > 0))
          return FALSE;
        l[i * n + k] = i == k ? sqrt (sum) : sum / l[k * n + k];
      }
  for (gsize i = 0; i < n; i++)
    {
      x[i] = b[i];
      for (gsize j = 0; j < i; j++)
        x[i] -= l[i * n + j] * x[j];
      x[i] /= l[i * n + i];
    }
  for (gsize i = n; i-- > 0;)
    {
      for (gsize j = i + 1; j < n; j++)
        x[i] -= l[j * n + i] * x[j];
      x[i] /= l[i * n + i];
    }
  return TRUE;
}

static gboolean
advance (const LoomDriverCall *call, GError **error)
{
  g_autoptr (LoomDriverSpace) space = loom_driver_space_new (call);
  gsize n = space->n;
  g_autofree double *x = g_new (double, n + 1), *g = g_new (double, n + 1), *d = g_new (double, n + 1);
  g_autofree double *h = g_new (double, n *n + 1), *l = g_new (double, n *n + 1);
  double lr = loom_driver_hyper (call, "lr"), damping = loom_driver_hyper (call, "damping"), scale = 0;

  if (!loom_driver_get_weights (space, x, error) || !loom_driver_gather (space, "gradient", g, error)
      || !hessian (space, h, error))
    return FALSE;
  for (gsize i = 0; i < n; i++)
    scale = MAX (scale, fabs (h[i * n + i]));
  while (!solve (h, damping, l, g, d, n))
    {
      /* The Hessian is not positive definite: damping turns the step towards the gradient. */
      damping = MAX (damping * 10, scale > 0 ? scale * 1e-6 : 1e-6);
      if (!isfinite (damping))
        return loom_refuse (
            error, LOOM_ERROR_DATA,
            "The Hessian is not finite, so Newton's method cannot compute a step. Use “lbfgs” or “sgd”.");
    }
  for (gsize i = 0; i < n; i++)
    x[i] -= lr * d[i];
  return loom_driver_set_weights (space, x, error);
}

const LoomDriver loom_driver_newton = { .optimizer = "newton", .extend = extend, .advance = advance };
