/* Numbers in nested brackets, to and from. The form of what is printed is that of torch.set_printoptions' defaults:
 * precision 4, threshold 1000, edgeitems 3. */
#include "app/tensor-text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define PRECISION 4
#define THRESHOLD 1000
#define EDGE      3

typedef struct
{
  const LoomTensor *t;
  GString *text;
  guint indent;
  gboolean shortened;
  gboolean scientific;
  int width;
} Printer;

static char *
format_number (const Printer *p, gint64 at)
{
  const double value = loom_tensor_get (p->t, at);

  if (p->t->dtype == LOOM_BOOL)
    return g_strdup (value != 0 ? "true" : "false");
  if (p->t->dtype == LOOM_I64) /* not all of them are doubles */
    return g_strdup_printf ("%" G_GINT64_FORMAT, ((const gint64 *)p->t->data)[at]);
  if (!loom_dtype_is_float (p->t->dtype))
    return g_strdup_printf ("%.0f", value);
  if (isnan (value))
    return g_strdup ("nan");
  if (isinf (value))
    return g_strdup (value > 0 ? "inf" : "-inf");
  return g_strdup_printf (p->scientific ? "%.*e" : "%.*f", PRECISION, value);
}

/* The index after i along an axis of n entries: those in the middle of a large tensor are left out. */
static gint64
next_index (const Printer *p, gint64 i, gint64 n)
{
  return p->shortened && n > 2 * EDGE && i == EDGE - 1 ? n - EDGE : i + 1;
}

typedef void (*NumberFunc) (Printer *p, gint64 at);

/* Calls f for each number that is shown, from element `at` on. */
static void
visit (Printer *p, int axis, gint64 at, NumberFunc f)
{
  const gint64 n = axis < p->t->rank ? p->t->dim[axis] : 1;
  gint64 step = 1;

  if (axis == p->t->rank)
    {
      f (p, at);
      return;
    }
  for (int d = axis + 1; d < p->t->rank; d++)
    step *= p->t->dim[d];
  for (gint64 i = 0; i < n; i = next_index (p, i, n))
    visit (p, axis + 1, at + i * step, f);
}

/* Four decimals show neither very large nor very small numbers, nor both together. */
static void
note_size (Printer *p, gint64 at)
{
  const double size = fabs (loom_tensor_get (p->t, at));

  p->scientific |= isfinite (size) && size != 0 && (size >= 1e6 || size < 1e-3);
}

static void
note_width (Printer *p, gint64 at)
{
  g_autofree char *text = format_number (p, at);

  p->width = MAX (p->width, (int)strlen (text));
}

static void
add (Printer *p, int axis, gint64 at)
{
  const gint64 n = axis < p->t->rank ? p->t->dim[axis] : 1;
  const gboolean is_row = axis == p->t->rank - 1;
  gint64 step = 1;

  if (axis == p->t->rank)
    {
      g_autofree char *number = format_number (p, at);

      g_string_append_printf (p->text, "%*s", p->width, number);
      return;
    }
  for (int d = axis + 1; d < p->t->rank; d++)
    step *= p->t->dim[d];
  g_string_append_c (p->text, '[');
  for (gint64 i = 0; i < n; i = next_index (p, i, n))
    {
      if (i > 0 && is_row)
        g_string_append (p->text, ", ");
      else if (i > 0)
        g_string_append_printf (p->text, ",\n%*s", (int)p->indent + axis + 1, "");
      if (p->shortened && n > 2 * EDGE && i == n - EDGE)
        {
          g_string_append (p->text, "…,");
          if (is_row)
            g_string_append_c (p->text, ' ');
          else
            g_string_append_printf (p->text, "\n%*s", (int)p->indent + axis + 1, "");
        }
      add (p, axis + 1, at + i * step);
    }
  g_string_append_c (p->text, ']');
}

char *
tensor_to_text (const LoomTensor *t, guint indent)
{
  Printer p = { .t = t, .text = g_string_new (NULL), .indent = indent, .shortened = t->count > THRESHOLD };

  if (t->count > 0)
    {
      visit (&p, 0, 0, note_size);
      visit (&p, 0, 0, note_width);
    }
  add (&p, 0, 0);
  return g_string_free (p.text, FALSE);
}

/* ---- reading ------------------------------------------------------------ */

typedef struct
{
  const char *p;
  GArray *values;      /* double */
  GArray *integers;    /* gint64, the same */
  gboolean has_floats; /* a number that is not an integer of 64 bits */
  int rank;
  gint64 dim[LOOM_SHAPE_MAX_RANK]; /* −1: not known yet */
} Parser;

static void
skip_blanks (Parser *self)
{
  while (g_ascii_isspace (*self->p))
    self->p++;
}

static gboolean
parse_value (Parser *self, int depth)
{
  char *end, *integer_end;
  double value;
  gint64 integer, n = 0;

  skip_blanks (self);
  if (*self->p != '[')
    {
      value = g_ascii_strtod (self->p, &end);
      errno = 0;
      integer = g_ascii_strtoll (self->p, &integer_end, 10);
      self->has_floats |= integer_end != end || errno != 0;
      if (end == self->p || (self->rank >= 0 && depth != self->rank))
        return FALSE;
      self->rank = depth;
      self->p = end;
      g_array_append_val (self->values, value);
      g_array_append_val (self->integers, integer);
      return TRUE;
    }
  if (depth == LOOM_SHAPE_MAX_RANK || depth == self->rank)
    return FALSE;
  self->p++;
  for (skip_blanks (self); *self->p != ']'; skip_blanks (self))
    {
      if (n > 0 && *self->p++ != ',')
        return FALSE;
      if (!parse_value (self, depth + 1))
        return FALSE;
      n++;
    }
  self->p++;
  if (self->dim[depth] < 0)
    self->dim[depth] = n;
  return n > 0 && self->dim[depth] == n;
}

LoomTensor *
tensor_from_text (const char *text, GError **error)
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) integers = g_array_new (FALSE, FALSE, sizeof (gint64));
  Parser parser = { .p = text, .values = values, .integers = integers, .rank = -1 };
  LoomTensor *t;
  char *end;

  g_ascii_strtod (text, &end);
  if (text[0] != '[' && (end == text || *end != '\0'))
    return NULL;
  for (int d = 0; d < LOOM_SHAPE_MAX_RANK; d++)
    parser.dim[d] = -1;
  if (!parse_value (&parser, 0) || (skip_blanks (&parser), *parser.p != '\0'))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "“%s” is neither a number nor a list of lists of equal length, such as [[1, 2], [3, 4]].", text);
      return NULL;
    }
  t = loom_tensor_new (parser.has_floats ? LOOM_F64 : LOOM_I64, parser.rank, parser.dim, error);
  if (t != NULL)
    memcpy (t->data, parser.has_floats ? values->data : integers->data, t->bytes);
  return t;
}
