/* Host tensors: memory, element access and conversion between element types.
 *
 * Every tensor keeps its memory alive by a GBytes, including its own memory, so that owned data and views of a mapped
 * file are freed in the same way. */
#include "engine/core/loom-tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/loom-refuse.h"

#define ALIGNMENT 64

/* The address of an empty tensor without an owner's memory. */
static const guint64 nothing[ALIGNMENT / 8] __attribute__ ((aligned (ALIGNMENT)));

/* FALSE if the number of elements or bytes overflows. */
static gboolean
measure (LoomDType dtype, int rank, const gint64 *dims, gint64 *count, gsize *bytes)
{
  gint64 n = 1, size;

  for (int i = 0; i < rank; i++)
    {
      if (dims[i] < 0 || __builtin_mul_overflow (n, dims[i], &n))
        return FALSE;
    }
  if (__builtin_mul_overflow (n, (gint64)loom_dtype_size (dtype), &size) || size > G_MAXINT64 - ALIGNMENT)
    return FALSE;
  *count = n;
  *bytes = (gsize)size;
  return TRUE;
}

gsize
loom_dims_count (gsize rank, const gint64 *dims, gsize most)
{
  gsize n = 1;

  for (gsize d = 0; d < rank; d++)
    {
      if (dims[d] <= 0 || (guint64)dims[d] > most / n)
        return 0;
      n *= (gsize)dims[d];
    }
  return n <= most ? n : 0;
}

static LoomTensor *
make_tensor (LoomDType dtype, int rank, const gint64 *dims, gint64 count, gsize bytes, void *data, GBytes *owner)
{
  LoomTensor *t = g_new0 (LoomTensor, 1);

  t->dtype = dtype;
  t->rank = rank;
  for (int i = 0; i < rank; i++)
    t->dim[i] = dims[i];
  t->count = count;
  t->bytes = bytes;
  t->data = data;
  t->owner = owner;
  g_atomic_ref_count_init (&t->refs);
  return t;
}

LoomTensor *
loom_tensor_new (LoomDType dtype, int rank, const gint64 *dims, GError **error)
{
  gint64 count;
  gsize bytes;
  void *raw = NULL, *data;

  g_return_val_if_fail (dtype < LOOM_N_DTYPES, NULL);
  g_return_val_if_fail (rank >= 0 && rank <= LOOM_SHAPE_MAX_RANK, NULL);

  /* calloc(), because the kernel provides large blocks zeroed, and pages that are not used are never touched. */
  if (measure (dtype, rank, dims, &count, &bytes))
    raw = calloc (1, bytes + ALIGNMENT);
  if (raw == NULL)
    {
      g_autoptr (GString) shape = g_string_new (NULL);

      for (int i = 0; i < rank; i++)
        g_string_append_printf (shape, "%s%" G_GINT64_FORMAT, i > 0 ? " × " : "", dims[i]);
      return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY,
                               "There is not enough memory for a tensor of shape %s (%s); make it smaller.", shape->str,
                               loom_dtype_name (dtype));
    }
  data = (void *)(((guintptr)raw + ALIGNMENT - 1) & ~(guintptr)(ALIGNMENT - 1));
  return make_tensor (dtype, rank, dims, count, bytes, data, g_bytes_new_with_free_func (data, bytes, free, raw));
}

LoomTensor *
loom_tensor_new_from_bytes (LoomDType dtype, int rank, const gint64 *dims, GBytes *owner, gsize offset)
{
  gint64 count;
  gsize bytes, available;
  const guint8 *base;
  void *data;

  g_return_val_if_fail (dtype < LOOM_N_DTYPES, NULL);
  g_return_val_if_fail (rank >= 0 && rank <= LOOM_SHAPE_MAX_RANK, NULL);
  g_return_val_if_fail (owner != NULL, NULL);
  g_return_val_if_fail (measure (dtype, rank, dims, &count, &bytes), NULL);
  base = g_bytes_get_data (owner, &available);
  g_return_val_if_fail (offset <= available && bytes <= available - offset, NULL);

  data = bytes > 0 ? (void *)(base + offset) : (void *)nothing;
  g_return_val_if_fail ((guintptr)data % loom_dtype_size (dtype) == 0, NULL);
  return make_tensor (dtype, rank, dims, count, bytes, data, g_bytes_ref (owner));
}

LoomTensor *
loom_tensor_ref (LoomTensor *t)
{
  g_return_val_if_fail (t != NULL, NULL);

  g_atomic_ref_count_inc (&t->refs);
  return t;
}

void
loom_tensor_unref (LoomTensor *t)
{
  if (t == NULL || !g_atomic_ref_count_dec (&t->refs))
    return;
  g_bytes_unref (t->owner);
  g_free (t);
}

float
loom_bfloat_to_float (guint16 h)
{
  guint32 bits = (guint32)h << 16;
  float f;

  memcpy (&f, &bits, sizeof f);
  return f;
}

guint16
loom_bfloat_from_float (float f)
{
  guint32 bits;

  memcpy (&bits, &f, sizeof bits);
  /* A NaN stays NaN: rounding could turn its mantissa into an infinity. */
  if (isnan (f))
    return (guint16)(bits >> 16) | 0x40;
  return (guint16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float
loom_half_to_float (guint16 h)
{
  guint32 sign = (guint32)(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 0x3ff, bits;
  float f;

  if (exponent == 0)
    {
      f = ldexpf ((float)mantissa, -24);
      return sign ? -f : f;
    }
  bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | mantissa << 13;
  memcpy (&f, &bits, sizeof f);
  return f;
}

guint16
loom_half_from_float (float f)
{
  guint32 bits, magnitude;
  guint16 sign;

  memcpy (&bits, &f, sizeof bits);
  sign = (guint16)(bits >> 16) & 0x8000;
  magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00 | (guint16)((magnitude >> 13) & 0x3ff);
  if (magnitude >= 0x47800000) /* 65536 and above: infinity; 65520 to 65536 round up to it below */
    return sign | 0x7c00;
  if (magnitude < 0x38800000) /* below 2^-14: a multiple of 2^-24, which lrintf rounds to even */
    return sign | (guint16)lrintf (ldexpf (fabsf (f), 24));
  magnitude -= 112u << 23;
  return sign | (guint16)((magnitude + 0xfff + ((magnitude >> 13) & 1)) >> 13);
}

/* Converts a double to the neighbouring float whose last bit is odd (round to odd), unless it is exact: rounding that
 * to a 16-bit type has the same result as rounding the double once. */
static float
round_to_odd (double value)
{
  float f = (float)value;
  guint32 bits;

  if (isnan (value) || (double)f == value)
    return f;
  memcpy (&bits, &f, sizeof bits);
  if ((bits & 1) == 0)
    bits += fabs ((double)f) < fabs (value) ? 1 : -1;
  memcpy (&f, &bits, sizeof f);
  return f;
}

/* Truncates like a C cast, but returns the ends of the range (and 0 for NaN) where a cast is undefined. */
static gint64
truncate_to (double value, gint64 low, gint64 high)
{
  if (isnan (value))
    return 0;
  if (value <= (double)low)
    return low;
  if (value >= (double)high)
    return high;
  return (gint64)value;
}

double
loom_tensor_get (const LoomTensor *t, gint64 i)
{
  switch (t->dtype)
    {
    case LOOM_F64:
      return ((const double *)t->data)[i];
    case LOOM_F32:
      return ((const float *)t->data)[i];
    case LOOM_F16:
      return loom_half_to_float (((const guint16 *)t->data)[i]);
    case LOOM_BF16:
      return loom_bfloat_to_float (((const guint16 *)t->data)[i]);
    case LOOM_I64:
      return (double)((const gint64 *)t->data)[i];
    case LOOM_I32:
      return ((const gint32 *)t->data)[i];
    case LOOM_U8:
    case LOOM_BOOL:
      return ((const guint8 *)t->data)[i];
    case LOOM_N_DTYPES:
      break;
    }
  g_return_val_if_reached (0);
}

void
loom_tensor_set (LoomTensor *t, gint64 i, double value)
{
  switch (t->dtype)
    {
    case LOOM_F64:
      ((double *)t->data)[i] = value;
      return;
    case LOOM_F32:
      ((float *)t->data)[i] = (float)value;
      return;
    case LOOM_F16:
      ((guint16 *)t->data)[i] = loom_half_from_float (round_to_odd (value));
      return;
    case LOOM_BF16:
      ((guint16 *)t->data)[i] = loom_bfloat_from_float (round_to_odd (value));
      return;
    case LOOM_I64:
      ((gint64 *)t->data)[i] = truncate_to (value, G_MININT64, G_MAXINT64);
      return;
    case LOOM_I32:
      ((gint32 *)t->data)[i] = (gint32)truncate_to (value, G_MININT32, G_MAXINT32);
      return;
    case LOOM_U8:
      ((guint8 *)t->data)[i] = (guint8)truncate_to (value, 0, 255);
      return;
    case LOOM_BOOL:
      ((guint8 *)t->data)[i] = value != 0;
      return;
    case LOOM_N_DTYPES:
      break;
    }
  g_return_if_reached ();
}

static gint64
get_integer (const LoomTensor *t, gint64 i)
{
  return t->dtype == LOOM_I64 ? ((const gint64 *)t->data)[i] : (gint64)loom_tensor_get (t, i);
}

/* Integers are converted directly, because a double holds only 53 bits. */
static void
set_integer (LoomTensor *t, gint64 i, gint64 value)
{
  if (t->dtype == LOOM_I64)
    ((gint64 *)t->data)[i] = value;
  else
    loom_tensor_set (t, i, (double)value);
}

/* TRUE if element i of t can represent this integer exactly. */
static gboolean
holds_integer (const LoomTensor *t, gint64 i, gint64 value)
{
  double stored;

  if (!loom_dtype_is_float (t->dtype))
    return get_integer (t, i) == value;
  stored = loom_tensor_get (t, i);
  return stored >= -0x1p63 && stored < 0x1p63 && (gint64)stored == value;
}

static gboolean
inexact (const LoomTensor *t, gint64 i, LoomDType dtype, GError **error)
{
  if (loom_dtype_is_float (t->dtype))
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "Element %" G_GINT64_FORMAT " is %.17g, which is not a valid %s.",
                 i, loom_tensor_get (t, i), loom_dtype_name (dtype));
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "Element %" G_GINT64_FORMAT " is %" G_GINT64_FORMAT ", which %s cannot hold exactly.", i,
                 get_integer (t, i), loom_dtype_name (dtype));
  return FALSE;
}

static gboolean
convert_elements (const LoomTensor *from, LoomTensor *to, gboolean exact, GError **error)
{
  gboolean from_float = loom_dtype_is_float (from->dtype), to_float = loom_dtype_is_float (to->dtype);

  for (gint64 i = 0; i < from->count; i++)
    {
      if (from_float)
        {
          double value = loom_tensor_get (from, i);

          loom_tensor_set (to, i, value);
          if (to->dtype == LOOM_F32 && isfinite (value) && isinf (((const float *)to->data)[i]))
            return loom_refuse (error, LOOM_ERROR_DATA,
                                "Its element %" G_GINT64_FORMAT " is %.6g, which is larger than the largest f32 number "
                                "(3.4e38). Scale the numbers.",
                                i, value);
          if (exact && !to_float && loom_tensor_get (to, i) != value)
            return inexact (from, i, to->dtype, error);
        }
      else
        {
          gint64 value = get_integer (from, i);

          set_integer (to, i, value);
          if (exact && !holds_integer (to, i, value))
            return inexact (from, i, to->dtype, error);
        }
    }
  return TRUE;
}

LoomTensor *
loom_tensor_convert (const LoomTensor *t, LoomDType dtype, gboolean exact, GError **error)
{
  g_autoptr (LoomTensor) result = NULL;

  g_return_val_if_fail (t != NULL && dtype < LOOM_N_DTYPES, NULL);

  result = loom_tensor_new (dtype, t->rank, t->dim, error);
  if (result == NULL)
    return NULL;
  if (dtype == t->dtype)
    memcpy (result->data, t->data, t->bytes);
  else if (!convert_elements (t, result, exact, error))
    return NULL;
  return g_steal_pointer (&result);
}

void
loom_tensor_block_means (const LoomTensor *t, gint64 at, gint64 rows, gint64 columns, gint64 block_rows,
                         gint64 block_columns, float *means)
{
  g_return_if_fail (block_rows > 0 && block_columns > 0 && at >= 0 && at + rows * columns <= t->count);

  for (gint64 top = 0; top < rows; top += block_rows)
    for (gint64 left = 0; left < columns; left += block_columns)
      {
        gint64 bottom = MIN (rows, top + block_rows), right = MIN (columns, left + block_columns);
        double sum = 0;

        for (gint64 r = top; r < bottom; r++)
          for (gint64 c = left; c < right; c++)
            sum += loom_tensor_get (t, at + r * columns + c);
        *means++ = (float)(sum / (double)((bottom - top) * (right - left)));
      }
}

LoomShape
loom_tensor_shape (const LoomTensor *t)
{
  return loom_shape (t->rank, t->dim);
}

gboolean
loom_tensor_equal_bits (const LoomTensor *a, const LoomTensor *b)
{
  return a->dtype == b->dtype && a->rank == b->rank && memcmp (a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0
         && memcmp (a->data, b->data, a->bytes) == 0;
}

const char *
loom_dtype_backend (LoomDType dtype)
{
  return dtype == LOOM_F64 ? "ref" : NULL;
}

gboolean
loom_dtype_runs_on (LoomDType dtype, const char *device)
{
  const char *only = loom_dtype_backend (dtype);
  gsize n = only != NULL ? strlen (only) : 0;

  return only == NULL || (strncmp (device, only, n) == 0 && (device[n] == 0 || device[n] == ':'));
}
