/* Symbolic dimensions and shapes: arithmetic, broadcasting, reading and writing.
 *
 * Every value has one normal form (symbols sorted, no symbols if the coefficient is 0, unused bytes 0), so that
 * equality is a comparison of fields. */
#include "engine/core/loom-dim.h"

#include <stdlib.h>
#include <string.h>

static int
symbol_count (LoomDim d)
{
  int n = 0;

  while (n < LOOM_DIM_MAX_SYMBOLS && d.symbol[n] != 0)
    n++;
  return n;
}

static int
compare_symbols (const void *a, const void *b)
{
  return *(const char *)a - *(const char *)b;
}

/* Brings a dimension of n symbols into the normal form; unknown if it has too many symbols. */
static LoomDim
make_dim (gint64 coef, char *symbols, int n)
{
  LoomDim d = { 0 };

  if (coef < 0 || (coef > 0 && n > LOOM_DIM_MAX_SYMBOLS))
    return loom_dim_unknown ();
  d.coef = coef;
  if (coef == 0)
    return d;
  qsort (symbols, n, 1, compare_symbols);
  memcpy (d.symbol, symbols, n);
  return d;
}

LoomDim
loom_dim (gint64 n)
{
  LoomDim d = { .coef = n };

  g_return_val_if_fail (n >= 0, loom_dim_unknown ());

  return d;
}

LoomDim
loom_dim_symbol (char symbol)
{
  LoomDim d = { .coef = 1, .symbol = { symbol } };

  g_return_val_if_fail (symbol >= 'A' && symbol <= 'Z', loom_dim_unknown ());

  return d;
}

LoomDim
loom_dim_unknown (void)
{
  LoomDim d = { .coef = -1 };

  return d;
}

gboolean
loom_dim_is_known (LoomDim d)
{
  return d.coef >= 0 && d.symbol[0] == 0;
}

gboolean
loom_dim_is_unknown (LoomDim d)
{
  return d.coef < 0;
}

gboolean
loom_dim_equal (LoomDim a, LoomDim b)
{
  return a.coef >= 0 && a.coef == b.coef && memcmp (a.symbol, b.symbol, sizeof a.symbol) == 0;
}

gboolean
loom_dim_compatible (LoomDim a, LoomDim b)
{
  return a.coef < 0 || b.coef < 0 || loom_dim_equal (a, b);
}

LoomDim
loom_dim_mul (LoomDim a, LoomDim b)
{
  char symbols[2 * LOOM_DIM_MAX_SYMBOLS];
  int na = symbol_count (a), nb = symbol_count (b);
  gint64 coef;

  /* Zero times any dimension is zero, even an unknown one. */
  if (a.coef == 0 || b.coef == 0)
    return loom_dim (0);
  if (a.coef < 0 || b.coef < 0 || __builtin_mul_overflow (a.coef, b.coef, &coef))
    return loom_dim_unknown ();
  memcpy (symbols, a.symbol, na);
  memcpy (symbols + na, b.symbol, nb);
  return make_dim (coef, symbols, na + nb);
}

gboolean
loom_dim_div (LoomDim a, LoomDim b, LoomDim *quotient)
{
  char rest[LOOM_DIM_MAX_SYMBOLS] = { 0 };
  int na = symbol_count (a), nb = symbol_count (b), n = 0, used = 0;

  if (a.coef < 0 || b.coef <= 0 || a.coef % b.coef != 0)
    return FALSE;
  if (a.coef == 0)
    {
      *quotient = loom_dim (0);
      return TRUE;
    }
  /* Both lists are sorted: one walk removes b's symbols from a's. */
  for (int i = 0; i < na; i++)
    {
      if (used < nb && a.symbol[i] == b.symbol[used])
        used++;
      else
        rest[n++] = a.symbol[i];
    }
  if (used != nb)
    return FALSE;
  *quotient = make_dim (a.coef / b.coef, rest, n);
  return TRUE;
}

LoomDim
loom_dim_add (LoomDim a, gint64 n)
{
  gint64 sum;

  if (n == 0)
    return a;
  if (!loom_dim_is_known (a) || __builtin_add_overflow (a.coef, n, &sum) || sum < 0)
    return loom_dim_unknown ();
  return loom_dim (sum);
}

LoomDim
loom_dim_sum (LoomDim a, LoomDim b)
{
  gint64 sum;

  if (a.coef < 0 || b.coef < 0)
    return loom_dim_unknown ();
  if (a.coef == 0)
    return b;
  if (b.coef == 0)
    return a;
  if (memcmp (a.symbol, b.symbol, sizeof a.symbol) != 0 || __builtin_add_overflow (a.coef, b.coef, &sum))
    return loom_dim_unknown ();
  a.coef = sum;
  return a;
}

gint64
loom_dim_value (LoomDim d, const LoomBinding *binding)
{
  LoomDim bound = loom_dim_bind (d, binding);

  return loom_dim_is_known (bound) ? bound.coef : -1;
}

LoomDim
loom_dim_bind (LoomDim d, const LoomBinding *binding)
{
  char rest[LOOM_DIM_MAX_SYMBOLS] = { 0 };
  gint64 coef = d.coef;
  int n = 0;

  if (d.coef < 0 || binding == NULL)
    return d;
  for (int i = 0; i < symbol_count (d); i++)
    {
      gint64 value = binding->value[d.symbol[i] - 'A'];

      if (value == LOOM_BOUND_TO_ZERO)
        return loom_dim (0);
      if (value <= 0)
        rest[n++] = d.symbol[i];
      else if (__builtin_mul_overflow (coef, value, &coef))
        return loom_dim_unknown ();
    }
  return make_dim (coef, rest, n);
}

LoomShape
loom_shape_scalar (void)
{
  LoomShape s = { 0 };

  return s;
}

LoomShape
loom_shape (int rank, const gint64 *dims)
{
  LoomShape s = { .rank = rank };

  g_return_val_if_fail (rank >= 0 && rank <= LOOM_SHAPE_MAX_RANK, loom_shape_scalar ());

  for (int i = 0; i < rank; i++)
    s.dim[i] = loom_dim (dims[i]);
  return s;
}

gboolean
loom_shape_equal (const LoomShape *a, const LoomShape *b)
{
  if (a->rank != b->rank)
    return FALSE;
  for (int i = 0; i < a->rank; i++)
    {
      if (!loom_dim_equal (a->dim[i], b->dim[i]))
        return FALSE;
    }
  return TRUE;
}

gboolean
loom_shape_compatible (const LoomShape *a, const LoomShape *b)
{
  if (a->rank != b->rank)
    return FALSE;
  for (int i = 0; i < a->rank; i++)
    {
      if (!loom_dim_compatible (a->dim[i], b->dim[i]))
        return FALSE;
    }
  return TRUE;
}

LoomDim
loom_shape_count (const LoomShape *s)
{
  LoomDim count = loom_dim (1);

  for (int i = 0; i < s->rank; i++)
    count = loom_dim_mul (count, s->dim[i]);
  return count;
}

LoomShape
loom_shape_bind (const LoomShape *s, const LoomBinding *binding)
{
  LoomShape bound = { .rank = s->rank };

  for (int i = 0; i < s->rank; i++)
    bound.dim[i] = loom_dim_bind (s->dim[i], binding);
  return bound;
}

gboolean
loom_shape_is_concrete (const LoomShape *s)
{
  for (int i = 0; i < s->rank; i++)
    {
      if (!loom_dim_is_known (s->dim[i]))
        return FALSE;
    }
  return TRUE;
}

void
loom_shape_get (const LoomShape *s, gint64 dims[LOOM_SHAPE_MAX_RANK])
{
  g_return_if_fail (loom_shape_is_concrete (s));

  for (int i = 0; i < s->rank; i++)
    dims[i] = s->dim[i].coef;
}

static gboolean
is_one (LoomDim d)
{
  return loom_dim_is_known (d) && d.coef == 1;
}

gboolean
loom_shape_broadcast (const LoomShape *a, const LoomShape *b, LoomShape *out)
{
  LoomShape result = { .rank = MAX (a->rank, b->rank) };

  for (int i = 1; i <= result.rank; i++)
    {
      LoomDim da = i <= a->rank ? a->dim[a->rank - i] : loom_dim (1);
      LoomDim db = i <= b->rank ? b->dim[b->rank - i] : loom_dim (1);
      LoomDim *d = &result.dim[result.rank - i];

      if (is_one (da))
        *d = db;
      else if (is_one (db) || loom_dim_is_unknown (db))
        *d = da;
      else if (loom_dim_is_unknown (da) || loom_dim_equal (da, db))
        *d = db;
      else
        return FALSE;
    }
  *out = result;
  return TRUE;
}

/* Faster than printf(): an edit of a large graph writes thousands of shapes. */
static void
append_number (GString *text, gint64 n)
{
  char digits[20]; /* of a gint64 */
  gsize at = sizeof digits;

  do
    digits[--at] = (char)('0' + n % 10);
  while ((n /= 10) > 0);
  g_string_append_len (text, digits + at, (gssize)(sizeof digits - at));
}

static char *
format_shape (const LoomShape *s, const char *between_dims, const char *between_factors)
{
  GString *text = g_string_new (NULL);

  for (int i = 0; i < s->rank; i++)
    {
      LoomDim d = s->dim[i];
      int n = symbol_count (d);

      if (i > 0)
        g_string_append (text, between_dims);
      if (d.coef < 0)
        {
          g_string_append_c (text, '?');
          continue;
        }
      if (n == 0 || d.coef != 1)
        append_number (text, d.coef);
      for (int k = 0; k < n; k++)
        {
          if (k > 0 || d.coef != 1)
            g_string_append (text, between_factors);
          g_string_append_c (text, d.symbol[k]);
        }
    }
  return g_string_free (text, FALSE);
}

char *
loom_shape_to_string (const LoomShape *s)
{
  return s->rank == 0 ? g_strdup ("scalar") : format_shape (s, " × ", "·");
}

char *
loom_shape_to_attribute (const LoomShape *s)
{
  return format_shape (s, ",", "");
}

/* One dimension, "28", "B", "2BT" or "T*3", with blanks around numbers and letters; advances *text past it. */
static gboolean
parse_dim (const char **text, LoomDim *out)
{
  char symbols[LOOM_DIM_MAX_SYMBOLS];
  const char *p = *text;
  gboolean more;
  gint64 coef = 1;
  int n = 0;

  do
    {
      gint64 number = 0;
      const char *begin;

      while (*p == ' ')
        p++;
      begin = p;
      for (; g_ascii_isdigit (*p); p++)
        if (__builtin_mul_overflow (number, 10, &number) || __builtin_add_overflow (number, *p - '0', &number))
          return FALSE;
      if (p > begin && __builtin_mul_overflow (coef, number, &coef))
        return FALSE;
      for (; g_ascii_isupper (*p); p++)
        {
          if (n == LOOM_DIM_MAX_SYMBOLS)
            return FALSE;
          symbols[n++] = *p;
        }
      if (p == begin)
        return FALSE;
      while (*p == ' ')
        p++;
      more = *p == '*';
      p += more;
    }
  while (more);
  *out = make_dim (coef, symbols, n);
  *text = p;
  return TRUE;
}

gboolean
loom_shape_parse (const char *text, LoomShape *out)
{
  LoomShape s = { 0 };

  g_return_val_if_fail (text != NULL && out != NULL, FALSE);

  if (*text == '\0')
    {
      *out = s;
      return TRUE;
    }
  for (;;)
    {
      if (s.rank == LOOM_SHAPE_MAX_RANK || !parse_dim (&text, &s.dim[s.rank]))
        return FALSE;
      s.rank++;
      if (*text == '\0')
        break;
      if (*text++ != ',')
        return FALSE;
    }
  *out = s;
  return TRUE;
}
