/* Evaluates expressions in attributes, "{…}", by recursive descent. Integers stay integers with overflow checks,
 * because layer sizes are computed from them and 64 / 2 must not become 32.000001. */
#include "engine/graph/loom-expr.h"

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-text.h"

#include <math.h>
#include <string.h>

#define MAX_NESTING 100

typedef struct
{
  const char *start, *s, *end;
  LoomExprLookup lookup;
  gpointer data;
  guint nesting;
  GError *error;
} Parser;

static LoomNumber parse_sum (Parser *p);

static const LoomNumber zero = { .is_int = TRUE };

static void fail (Parser *p, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
fail (Parser *p, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list args;

  if (p->error != NULL)
    return;
  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  /* Cut between two bytes of a character, the text is made valid. */
  loom_refuse (&p->error, LOOM_ERROR_SCHEMA, "The expression “{%.*s}” %s.", (int)MIN (p->end - p->start, 200), p->start,
               what);
  p->s = p->end;
}

static void
skip_space (Parser *p)
{
  while (p->s < p->end && g_ascii_isspace (*p->s))
    p->s++;
}

static gboolean
accept (Parser *p, const char *sign)
{
  gsize n = strlen (sign);

  skip_space (p);
  if ((gsize)(p->end - p->s) < n || strncmp (p->s, sign, n) != 0)
    return FALSE;
  p->s += n;
  return TRUE;
}

static int
position (const Parser *p)
{
  return (int)g_utf8_strlen (p->start, p->s - p->start) + 1;
}

static double
as_double (LoomNumber n)
{
  return n.is_int ? (double)n.i : n.d;
}

static LoomNumber
from_double (Parser *p, double d)
{
  if (!isfinite (d))
    fail (p, "overflows");
  return (LoomNumber){ .d = d };
}

static LoomNumber
arithmetic (Parser *p, char operation, LoomNumber a, LoomNumber b)
{
  LoomNumber r = zero;
  gboolean overflow = FALSE;

  if ((operation == '/' || operation == 'f' || operation == '%') && as_double (b) == 0)
    {
      fail (p, "divides by zero");
      return zero;
    }
  if (operation == '/')
    return from_double (p, as_double (a) / as_double (b));
  if (!a.is_int || !b.is_int)
    {
      double x = as_double (a), y = as_double (b), quotient = floor (x / y);

      return from_double (p, operation == '+'   ? x + y
                             : operation == '-' ? x - y
                             : operation == '*' ? x * y
                             : operation == 'f' ? quotient
                                                : x - quotient * y);
    }
  switch (operation)
    {
    case '+':
      overflow = __builtin_add_overflow (a.i, b.i, &r.i);
      break;
    case '-':
      overflow = __builtin_sub_overflow (a.i, b.i, &r.i);
      break;
    case '*':
      overflow = __builtin_mul_overflow (a.i, b.i, &r.i);
      break;
    default:
      /* C truncates towards zero; Python's // and % floor. */
      if (b.i == -1)
        {
          overflow = operation == 'f' && a.i == G_MININT64;
          r.i = operation == 'f' && !overflow ? -a.i : 0;
        }
      else
        {
          gint64 quotient = a.i / b.i, rest = a.i % b.i;
          gboolean down = rest != 0 && (rest < 0) != (b.i < 0);

          r.i = operation == 'f' ? quotient - down : rest + (down ? b.i : 0);
        }
    }
  if (overflow)
    fail (p, "overflows");
  return r;
}

/* Parsed here, so that neither hexadecimal numbers nor "inf" are accepted. */
gsize
loom_expr_number_length (const char *text, gboolean *is_int)
{
  gsize digits = strspn (text, G_CSET_DIGITS), n = digits;

  *is_int = TRUE;
  if (text[n] == '.' && (digits > 0 || g_ascii_isdigit (text[n + 1])))
    n += 1 + strspn (text + n + 1, G_CSET_DIGITS);
  if (n > 0 && (text[n] == 'e' || text[n] == 'E'))
    {
      gsize sign = text[n + 1] == '+' || text[n + 1] == '-';
      gsize exponent = strspn (text + n + 1 + sign, G_CSET_DIGITS);

      if (exponent > 0)
        n += 1 + sign + exponent;
    }
  *is_int = n == digits;
  return n;
}

static LoomNumber
parse_number (Parser *p)
{
  gboolean is_int;
  gsize n = loom_expr_number_length (p->s, &is_int);
  g_autofree char *text = g_strndup (p->s, n);
  char *after;

  if (is_int)
    {
      gint64 i;

      if (!g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &i, NULL))
        {
          fail (p, "overflows");
          return zero;
        }
      p->s += n;
      return (LoomNumber){ .is_int = TRUE, .i = i };
    }
  p->s += n;
  return from_double (p, g_ascii_strtod (text, &after));
}

static LoomNumber
parse_min_max (Parser *p, gboolean want_min)
{
  LoomNumber best = parse_sum (p);

  while (p->error == NULL && accept (p, ","))
    {
      LoomNumber next = parse_sum (p);
      gboolean less = best.is_int && next.is_int ? next.i < best.i : as_double (next) < as_double (best);
      gboolean more = best.is_int && next.is_int ? next.i > best.i : as_double (next) > as_double (best);

      if (want_min ? less : more)
        best = next;
    }
  if (!accept (p, ")"))
    fail (p, "lacks a “)” at position %d", position (p));
  return best;
}

static LoomNumber
parse_name (Parser *p)
{
  gsize n = strspn (p->s, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
  g_autofree char *name = g_strndup (p->s, n);
  LoomNumber value = zero;

  p->s += n;
  if ((strcmp (name, "min") == 0 || strcmp (name, "max") == 0) && accept (p, "("))
    return parse_min_max (p, name[1] == 'i');
  if (p->lookup == NULL || !p->lookup (name, &value, p->data))
    fail (p, "names “%s”, which is not a number among the arguments", name);
  return value;
}

static LoomNumber
parse_atom (Parser *p)
{
  LoomNumber value = zero;

  if (p->nesting++ >= MAX_NESTING)
    fail (p, "is nested too deeply");
  skip_space (p);
  if (p->s >= p->end)
    fail (p, "ends where a number or a name is missing");
  else if (accept (p, "-"))
    value = arithmetic (p, '-', zero, parse_atom (p));
  else if (accept (p, "+"))
    value = parse_atom (p);
  else if (accept (p, "("))
    {
      value = parse_sum (p);
      if (!accept (p, ")"))
        fail (p, "lacks a “)” at position %d", position (p));
    }
  else if (g_ascii_isdigit (*p->s) || (*p->s == '.' && g_ascii_isdigit (p->s[1])))
    value = parse_number (p);
  else if (g_ascii_isalpha (*p->s) || *p->s == '_')
    value = parse_name (p);
  else
    {
      g_autofree char *sign = g_strndup (p->s, g_utf8_next_char (p->s) - p->s);

      fail (p, "has “%s” at position %d, where a number or a name is expected", sign, position (p));
    }
  p->nesting--;
  return value;
}

static LoomNumber
parse_product (Parser *p)
{
  LoomNumber value = parse_atom (p);

  while (p->error == NULL)
    {
      char operation = accept (p, "//")  ? 'f'
                       : accept (p, "/") ? '/'
                       : accept (p, "*") ? '*'
                       : accept (p, "%") ? '%'
                                         : 0;

      if (operation == 0)
        break;
      value = arithmetic (p, operation, value, parse_atom (p));
    }
  return value;
}

static LoomNumber
parse_sum (Parser *p)
{
  LoomNumber value = parse_product (p);

  while (p->error == NULL)
    {
      char operation = accept (p, "+") ? '+' : accept (p, "-") ? '-' : 0;

      if (operation == 0)
        break;
      value = arithmetic (p, operation, value, parse_product (p));
    }
  return value;
}

gboolean
loom_expr_is (const char *text)
{
  gsize n;

  g_return_val_if_fail (text != NULL, FALSE);

  n = strlen (text);
  return n >= 2 && text[0] == '{' && text[n - 1] == '}';
}

gboolean
loom_expr_eval (const char *text, LoomExprLookup lookup, gpointer data, LoomNumber *value, GError **error)
{
  Parser p = { .start = text, .s = text, .lookup = lookup, .data = data };
  g_autofree char *inside = NULL;
  LoomNumber result;

  g_return_val_if_fail (text != NULL && value != NULL, FALSE);

  if (loom_expr_is (text))
    {
      inside = g_strndup (text + 1, strlen (text) - 2);
      p.start = p.s = inside;
    }
  p.end = p.start + strlen (p.start);
  result = parse_sum (&p);
  skip_space (&p);
  if (p.s < p.end)
    {
      g_autofree char *sign = g_strndup (p.s, g_utf8_next_char (p.s) - p.s);

      fail (&p, "has “%s” at position %d, where the end or one of + - * / // %% is expected", sign, position (&p));
    }
  if (p.error != NULL)
    {
      g_propagate_error (error, p.error);
      return FALSE;
    }
  *value = result;
  return TRUE;
}

char *
loom_number_to_string (LoomNumber n)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (n.is_int)
    return g_strdup_printf ("%" G_GINT64_FORMAT, n.i);
  loom_text_decimal (n.d, text);
  /* A float is written with a decimal point, because 8 would be read as an integer. */
  if (strpbrk (text, ".e") == NULL)
    g_strlcat (text, ".0", sizeof text);
  return g_strdup (text);
}
