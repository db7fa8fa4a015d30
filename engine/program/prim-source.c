/* Primitives without data operands (constants, counters, random numbers), and `require`, which returns a value only if
 * a condition holds. */
#include "engine/program/prim-private.h"

static gboolean
infer_fill (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomFillTo *a = attrs;

  if (!loom_prim_arity (n_in, 0, why))
    return FALSE;
  out[0] = loom_desc_make (a->dtype, a->to.rank, a->to.dim);
  *n_out = 1;
  return TRUE;
}

static char *
describe_fill (const void *attrs)
{
  return g_strdup_printf ("%.9g", ((const LoomFillTo *)attrs)->kernel.value);
}

static double
constant_fill (const void *attrs)
{
  return ((const LoomFillTo *)attrs)->kernel.value;
}

static gboolean
equal_fill (const void *a, const void *b)
{
  const LoomFillTo *x = a, *y = b;

  return x->dtype == y->dtype && loom_same_dims (&x->to, &y->to) && loom_same_number (x->kernel.value, y->kernel.value);
}

static guint
hash_fill (const void *attrs)
{
  return loom_hash_number (0, constant_fill (attrs));
}

static const LoomPrim fill = { .name = "fill",
                               .dims_at = G_STRUCT_OFFSET (LoomFillTo, to) + 1,
                               .doc = "One constant everywhere.",
                               .tier = LOOM_TIER_CORE,
                               .attrs_size = sizeof (LoomFillTo),
                               .max_out = 1,
                               .infer = infer_fill,
                               .gradient_is_zero = TRUE,
                               .describe = describe_fill,
                               .equal = equal_fill,
                               .hash = hash_fill,
                               .constant = constant_fill };

static gboolean
infer_iota (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomIotaTo *a = attrs;

  if (!loom_prim_arity (n_in, 0, why))
    return FALSE;
  if (a->kernel.axis < 0 || a->kernel.axis >= a->to.rank)
    return loom_prim_refuse (why, "axis %d is outside rank %d", a->kernel.axis, a->to.rank);
  out[0] = loom_desc_make (a->dtype, a->to.rank, a->to.dim);
  *n_out = 1;
  return TRUE;
}

static char *
describe_iota (const void *attrs)
{
  const LoomIotaTo *a = attrs;

  return g_strdup_printf ("axis=%d start=%g step=%g", a->kernel.axis, a->kernel.start, a->kernel.step);
}

static gboolean
equal_iota (const void *a, const void *b)
{
  const LoomIotaTo *x = a, *y = b;

  return x->dtype == y->dtype && loom_same_dims (&x->to, &y->to) && x->kernel.axis == y->kernel.axis
         && loom_same_number (x->kernel.start, y->kernel.start) && loom_same_number (x->kernel.step, y->kernel.step);
}

static guint
hash_iota (const void *attrs)
{
  const LoomIotaTo *a = attrs;

  return loom_hash_number (loom_hash_number ((guint)a->kernel.axis, a->kernel.start), a->kernel.step);
}

static const LoomPrim iota = { .name = "iota",
                               .doc = "Counts along an axis.",
                               .tier = LOOM_TIER_CORE,
                               .attrs_size = sizeof (LoomIotaTo),
                               .max_out = 1,
                               .infer = infer_iota,
                               .gradient_is_zero = TRUE,
                               .describe = describe_iota,
                               .equal = equal_iota,
                               .hash = hash_iota };

static gboolean
infer_random (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomRandomTo *a = attrs;

  if (!loom_prim_arity (n_in, n_in > 2 ? 3 : 2, why))
    return FALSE;
  if (in[0].dtype != LOOM_I64 || in[1].dtype != LOOM_I64 || in[0].rank != 0 || in[1].rank != 0)
    return loom_prim_refuse (why, "seed and step must be i64 scalars");
  if (n_in > 2 && (in[2].dtype != LOOM_I64 || a->dtype == LOOM_I64 || in[2].rank > a->to.rank))
    return loom_prim_refuse (why, "positions must be i64, and have the leading axes of floats");
  for (int i = 0; n_in > 2 && i < in[2].rank; i++)
    if (in[2].dim[i] != a->to.dim[i])
      return loom_prim_refuse (why, "the shape of positions does not match");
  out[0] = loom_desc_make (a->dtype, a->to.rank, a->to.dim);
  *n_out = 1;
  return TRUE;
}

static char *
describe_random (const void *attrs)
{
  const LoomRandomTo *a = attrs;

  static const char *const kinds[] = { "uniform", "normal", "exponential", "mask" };

  return g_strdup_printf ("%s stream=%016" G_GINT64_MODIFIER "x",
                          a->dtype == LOOM_I64 ? "whole" : kinds[a->kernel.kind], (guint64)a->kernel.stream);
}

static gboolean
equal_random (const void *a, const void *b)
{
  const LoomRandomTo *x = a, *y = b;

  return x->dtype == y->dtype && loom_same_dims (&x->to, &y->to) && x->kernel.kind == y->kernel.kind
         && x->kernel.stream == y->kernel.stream;
}

/* All random calls of a graph read the same seed and step, so only their attributes differ. */
static guint
hash_random (const void *attrs)
{
  return loom_hash_int (0, ((const LoomRandomTo *)attrs)->kernel.stream);
}

static const LoomPrim random_prim = { .name = "random",
                                      .doc = "Numbers that depend only on seed, stream, step and position.",
                                      .tier = LOOM_TIER_CORE,
                                      .flags = LOOM_PRIM_RANDOM,
                                      .attrs_size = sizeof (LoomRandomTo),
                                      .max_out = 1,
                                      .infer = infer_random,
                                      .gradient_is_zero = TRUE,
                                      .describe = describe_random,
                                      .equal = equal_random,
                                      .hash = hash_random };

static gboolean
infer_require (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 2, why))
    return FALSE;
  if (in[1].dtype != LOOM_BOOL)
    return loom_prim_refuse (why, "a condition must be bool");
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_require (const LoomGradCall *call)
{
  call->in_grad[0] = call->grad[0];
  return TRUE;
}

static gboolean
equal_require (const void *a, const void *b)
{
  const LoomRequireAttrs *x = a, *y = b;

  return strncmp (x->what, y->what, sizeof x->what) == 0;
}

static const LoomPrim require = { .name = "require",
                                  .doc = "The value itself; an error if a condition does not hold.",
                                  .tier = LOOM_TIER_CORE,
                                  .attrs_size = sizeof (LoomRequireAttrs),
                                  .max_out = 1,
                                  .infer = infer_require,
                                  .gradient = gradient_require,
                                  .equal = equal_require };

const LoomPrim *const loom_prims_source[] = { &fill, &iota, &random_prim, &require, NULL };
