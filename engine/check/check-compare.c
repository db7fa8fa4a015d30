/* Compares numbers within what rounding may change.
 *
 * The tolerance of an element has three parts:
 * - its difference between f64 and the program's own types, and between operands that differ in the last bit, several
 *   times: this covers ill-conditioned results,
 * - roundings of the result's size, as sums of `depth` terms make them in another order (√depth of f32's roundoff),
 * - roundings of the coarsest type.
 * "The result's size" is that of the element and of the typical element, the 90th percentile, since sums cancel.
 *
 * A chain of element-wise operations in 16 bits is rounded after each, as if it had been stored. Functions may differ
 * in their last bits, which decides few roundings, so nearly all elements have the program's bits.
 *
 * Elements are compared if both evaluations of the program agree on their kind: finite, NaN, or an infinity. Where they
 * differ, as by an overflow of f16, or where a comparison flips with the last bit, the program itself determines
 * nothing. */
#include "engine/check/check-compare.h"

#include <float.h>
#include <math.h>
#include <string.h>

double
check_roundoff (LoomDType dtype)
{
  static const double roundoff[]
      = { [LOOM_F64] = 0x1p-53, [LOOM_F32] = 0x1p-24, [LOOM_F16] = 0x1p-11, [LOOM_BF16] = 0x1p-9 };

  return loom_dtype_is_float (dtype) ? roundoff[dtype] : 0;
}

static double
largest (LoomDType dtype)
{
  return dtype == LOOM_F64 ? DBL_MAX : dtype == LOOM_F16 ? 65504 : FLT_MAX;
}

typedef enum
{
  KIND_FINITE,
  KIND_NAN,
  KIND_PLUS,
  KIND_MINUS
} Kind;

static Kind
kind_of (double x)
{
  return isnan (x) ? KIND_NAN : isfinite (x) ? KIND_FINITE : x > 0 ? KIND_PLUS : KIND_MINUS;
}

static int
ascending (const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

/* The 90th percentile of the absolute values, from a sample. */
static double
typical (const LoomTensor *t)
{
  const gint64 step = MAX (t->count / 1024, 1);
  g_autoptr (GArray) sample = g_array_new (FALSE, FALSE, sizeof (double));

  for (gint64 i = 0; i < t->count; i += step)
    {
      const double x = fabs (loom_tensor_get (t, i));

      if (isfinite (x))
        g_array_append_val (sample, x);
    }
  if (sample->len == 0)
    return 0;
  g_array_sort (sample, ascending);
  return g_array_index (sample, double, (sample->len - 1) * 9 / 10);
}

static char *
difference (const CheckComparison *c, gint64 i, double tolerance)
{
  const double a = loom_tensor_get (c->plan, i), b = loom_tensor_get (c->wide, i);

  if (tolerance > 0)
    return g_strdup_printf ("element %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                            " is %.9g, and the program's is %.9g (± %.2g)",
                            i, c->plan->count, a, b, tolerance);
  return g_strdup_printf ("element %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " is %.17g, and the program's is %.17g",
                          i, c->plan->count, a, c->exact ? loom_tensor_get (c->narrow, i) : b);
}

static char *
compare_bits (const CheckComparison *c)
{
  const gsize size = loom_dtype_size (c->plan->dtype);

  for (gint64 i = 0; i < c->plan->count; i++)
    if (memcmp ((const char *)c->plan->data + (gsize)i * size, (const char *)c->narrow->data + (gsize)i * size, size)
        != 0)
      return difference (c, i, 0);
  return NULL;
}

static char *
compare_integers (const CheckComparison *c)
{
  for (gint64 i = 0; i < c->plan->count; i++)
    {
      const double a = loom_tensor_get (c->plan, i), b = loom_tensor_get (c->wide, i);
      const gboolean is_stable
          = b == loom_tensor_get (c->narrow, i) && (c->moved == NULL || b == loom_tensor_get (c->moved, i));

      if (is_stable && a != b)
        return difference (c, i, 0);
    }
  return NULL;
}

static char *
compare_floats (const CheckComparison *c)
{
  const gboolean is_16bit = c->coarsest == LOOM_F16 || c->coarsest == LOOM_BF16;
  const LoomDType sums = c->coarsest == LOOM_F64 ? LOOM_F64 : LOOM_F32;
  const double slack = is_16bit ? 16 : 64;
  const double relative
      = 64 * check_roundoff (sums) * sqrt (c->depth) + (is_16bit ? 4 * check_roundoff (c->coarsest) : 0);

  double size = -1; /* of the typical element, once an element needs it */

  for (gint64 i = 0; i < c->plan->count; i++)
    {
      const double a = loom_tensor_get (c->plan, i), b = loom_tensor_get (c->wide, i);
      const double narrow = loom_tensor_get (c->narrow, i),
                   moved = c->moved != NULL ? loom_tensor_get (c->moved, i) : b;
      double tolerance;

      if (kind_of (b) != kind_of (narrow) || kind_of (b) != kind_of (moved))
        continue;
      if (kind_of (b) != KIND_FINITE)
        {
          if (kind_of (a) != kind_of (b))
            return difference (c, i, 0);
          continue;
        }
      tolerance = slack * MAX (fabs (narrow - b), fabs (moved - b)) + relative * fabs (b) + 1e-300;
      if (fabs (a - b) <= tolerance)
        continue;
      if (size < 0)
        size = MIN (typical (c->wide), c->largest_size);
      tolerance += relative * size;
      /* Where the tolerance reaches beyond the type's largest number, an overflow is within it. */
      if (!isfinite (a) && fabs (b) + tolerance > largest (c->plan->dtype))
        continue;
      if (!(fabs (a - b) <= tolerance))
        return difference (c, i, tolerance);
    }
  return NULL;
}

char *
check_compare_roundings (const CheckComparison *c)
{
  /* A sixteenth of the elements may differ. */
  const gint64 limit = 3 + c->plan->count / 16;
  gint64 n = 0;

  if (c->plan->dtype != LOOM_F16 && c->plan->dtype != LOOM_BF16)
    return NULL;
  for (gint64 i = 0; i < c->plan->count; i++)
    {
      const double a = loom_tensor_get (c->plan, i), b = loom_tensor_get (c->narrow, i);

      n += isfinite (a) && isfinite (b) && a != b;
    }
  if (n <= limit)
    return NULL;
  return g_strdup_printf ("%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                          " elements differ from the program's in the last bits: it rounds in other places",
                          n, c->plan->count);
}

char *
check_compare (const CheckComparison *c)
{
  if (c->exact)
    return compare_bits (c);
  return loom_dtype_is_float (c->plan->dtype) ? compare_floats (c) : compare_integers (c);
}
