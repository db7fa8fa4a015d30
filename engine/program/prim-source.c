/* Primitives without data operands (constants, counters, random numbers), and `require`, which returns a value only if
 * a condition holds. */
#include "engine/program/position-rules.h"

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

static double
constant_fill (const void *attrs)
{
  return ((const LoomFillTo *)attrs)->kernel.value;
}

static const LoomAttr fill_attrs[]
    = { LOOM_ATTR ("", NUMBER, LoomFillTo, kernel.value, .digits = 9), LOOM_ATTR (NULL, DTYPE, LoomFillTo, dtype),
        LOOM_ATTR (NULL, DIMS, LoomFillTo, to), LOOM_ATTR_LAST };

const LoomPrim loom_prim_fill = { LOOM_PRIM_ROW ("fill", CORE, 1),
                                  .separates_positions = loom_positions_always,
                                  .dims_at = G_STRUCT_OFFSET (LoomFillTo, to) + 1,
                                  .doc = "One constant everywhere.",
                                  LOOM_PRIM_ATTRS (LoomFillTo, fill_attrs),
                                  .infer = infer_fill,
                                  .gradient_is_zero = TRUE,
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

static const LoomAttr iota_attrs[] = { LOOM_ATTR ("axis", INT, LoomIotaTo, kernel.axis),
                                       LOOM_ATTR ("start", NUMBER, LoomIotaTo, kernel.start),
                                       LOOM_ATTR ("step", NUMBER, LoomIotaTo, kernel.step),
                                       LOOM_ATTR (NULL, DTYPE, LoomIotaTo, dtype),
                                       LOOM_ATTR (NULL, DIMS, LoomIotaTo, to),
                                       LOOM_ATTR_LAST };

const LoomPrim loom_prim_iota = { LOOM_PRIM_ROW ("iota", CORE, 1),
                                  .separates_positions = loom_positions_iota,
                                  .doc = "Counts along an axis.",
                                  LOOM_PRIM_ATTRS (LoomIotaTo, iota_attrs),
                                  .infer = infer_iota,
                                  .gradient_is_zero = TRUE };

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

/* Integers have no kind. */
static void
describe_random (GString *to, const void *attrs)
{
  static const char *const kinds[] = { "uniform", "normal", "exponential", "mask" };
  const LoomRandomTo *a = attrs;

  g_string_append_printf (to, "%s stream=%016" G_GINT64_MODIFIER "x",
                          a->dtype == LOOM_I64 ? "whole" : kinds[a->kernel.kind], (guint64)a->kernel.stream);
}

static const LoomAttr random_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomRandomTo, kernel.kind), LOOM_ATTR (NULL, BITS, LoomRandomTo, kernel.stream),
        LOOM_ATTR (NULL, DTYPE, LoomRandomTo, dtype), LOOM_ATTR (NULL, DIMS, LoomRandomTo, to), LOOM_ATTR_LAST };

const LoomPrim loom_prim_random = { LOOM_PRIM_ROW ("random", CORE, 1),
                                    .doc = "Numbers that depend only on seed, stream, step and position.",
                                    .flags = LOOM_PRIM_RANDOM,
                                    LOOM_PRIM_ATTRS (LoomRandomTo, random_attrs),
                                    .infer = infer_random,
                                    .gradient_is_zero = TRUE,
                                    .describe = describe_random };

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

static const LoomAttr require_attrs[] = { LOOM_ATTR (NULL, TEXT, LoomRequireAttrs, what), LOOM_ATTR_LAST };

const LoomPrim loom_prim_require = { LOOM_PRIM_ROW ("require", CORE, 1),
                                     .separates_positions = loom_positions_always,
                                     .doc = "The value itself; an error if a condition does not hold.",
                                     LOOM_PRIM_ATTRS (LoomRequireAttrs, require_attrs),
                                     .infer = infer_require,
                                     .gradient = gradient_require };
