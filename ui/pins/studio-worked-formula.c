/* Writes the formula of an operator with numbers: first the equation for output element [0, 0], then a line for each
 * tensor. put_right_side() chooses the writer by operator: a sum of products, a softmax, a sum or mean, or an
 * element-wise formula. */
#include "ui/pins/studio-worked-formula.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#define TERMS 3 /* of a sum, before the ellipsis */
#define SMALL 6 /* tensors up to this size are listed whole */

/* ---- numbers -------------------------------------------------------------------------- */

static void
put_number (GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value))
    g_string_append (out, "NaN");
  else if (isinf (value))
    g_string_append (out, value < 0 ? "−∞" : "∞");
  else
    {
      g_ascii_formatd (text, sizeof text, "%.3g", fabs (value));
      g_string_append_printf (out, "%s%s", value < 0 && g_ascii_strtod (text, NULL) != 0 ? "−" : "", text);
    }
}

static char *
dup_number (double value)
{
  GString *text = g_string_new (NULL);

  put_number (text, value);
  return g_string_free (text, FALSE);
}

/* A negative number between operators is in parentheses. */
static void
put_operand (GString *out, double value)
{
  if (value < 0)
    g_string_append_c (out, '(');
  put_number (out, value);
  if (value < 0)
    g_string_append_c (out, ')');
}

/* "y₀₀", with one index per dimension of the matrix. */
static void
put_result (GString *out, const StudioWorkedTensor *t)
{
  g_string_append (out, "y");
  for (guint i = 0; i < t->rank; i++)
    g_string_append (out, "₀");
}

static gsize
count (const StudioWorkedTensor *t)
{
  return t->rows * t->columns;
}

static gint64
size (const StudioWorkedTensor *t, guint from_end)
{
  return t->rank >= from_end ? t->dim[t->rank - from_end] : 1;
}

/* TRUE if the matrix is the whole tensor and not an average. */
static gboolean
is_whole (const StudioWorkedTensor *t)
{
  return t->name != NULL && count (t) > 0 && t->columns == (gsize)size (t, 1) && t->rows == (gsize)size (t, 2);
}

/* ---- sums and products ------------------------------------------------------------------ */

/* "0.31·0.12 + 1.2·(−0.4) + … " */
static void
put_products (GString *out, const float *a, gsize a_step, const float *b, gsize b_step, gsize n)
{
  for (gsize i = 0; i < MIN (n, TERMS); i++)
    {
      g_string_append (out, i > 0 ? " + " : "");
      put_operand (out, (double)a[i * a_step]);
      g_string_append (out, "·");
      put_operand (out, (double)b[i * b_step]);
    }
  if (n > TERMS)
    g_string_append (out, " + …");
}

/* Rows of the weights are outputs: y₀₀ is the first row of x times the first row of W. */
static gboolean
put_linear (GString *out, const StudioWorkedTensor *in, guint n)
{
  if (n < 2 || !is_whole (&in[0]) || !is_whole (&in[1]) || in[0].columns != in[1].columns)
    return FALSE;
  put_products (out, in[0].value, 1, in[1].value, 1, in[0].columns);
  if (n > 2 && in[2].name != NULL && count (&in[2]) > 0)
    {
      g_string_append (out, " + ");
      put_operand (out, (double)in[2].value[0]);
    }
  return TRUE;
}

static gboolean
put_matmul (GString *out, const StudioWorkedTensor *in, guint n)
{
  if (n < 2 || !is_whole (&in[0]) || !is_whole (&in[1]) || in[0].rank < 2 || in[1].rank < 2
      || in[0].columns != in[1].rows)
    return FALSE;
  put_products (out, in[0].value, 1, in[1].value, in[1].columns, in[0].columns);
  return TRUE;
}

static gboolean
put_softmax (GString *out, const StudioWorkedTensor *in, guint n)
{
  if (n < 1 || !is_whole (&in[0]) || in[0].rank == 0)
    return FALSE;
  g_string_append (out, "e^");
  put_operand (out, (double)in[0].value[0]);
  g_string_append (out, " / (");
  for (gsize i = 0; i < MIN (in[0].columns, TERMS); i++)
    {
      g_string_append (out, i > 0 ? " + e^" : "e^");
      put_operand (out, (double)in[0].value[i]);
    }
  g_string_append (out, in[0].columns > TERMS ? " + …)" : ")");
  return TRUE;
}

static void
put_sum (GString *out, const StudioWorkedTensor *in, gint64 n)
{
  for (gint64 i = 0; i < MIN (n, TERMS) && (gsize)i < count (in); i++)
    {
      g_string_append (out, i > 0 ? " + " : "");
      put_operand (out, (double)in->value[i]);
    }
  if (n > TERMS)
    g_string_append (out, " + …");
}

static gint64
count_all (const StudioWorkedTensor *t)
{
  gint64 n = 1;

  for (guint i = 0; i < t->rank; i++)
    n *= t->dim[i];
  return n;
}

static gboolean
put_total (GString *out, const StudioWorkedTensor *in, guint n)
{
  if (n < 1 || !is_whole (&in[0]))
    return FALSE;
  put_sum (out, &in[0], count_all (&in[0]));
  return TRUE;
}

static gboolean
put_mean (GString *out, const StudioWorkedTensor *in, guint n)
{
  if (n < 1 || !is_whole (&in[0]))
    return FALSE;
  g_string_append_c (out, '(');
  put_sum (out, &in[0], count_all (&in[0]));
  g_string_append_printf (out, ") / %" G_GINT64_FORMAT, count_all (&in[0]));
  return TRUE;
}

static gboolean (*const sums[LOOM_N_FIRST]) (GString *out, const StudioWorkedTensor *in, guint n) = {
  [LOOM_FIRST_ROWS] = put_linear, [LOOM_FIRST_PRODUCT] = put_matmul, [LOOM_FIRST_SOFTMAX] = put_softmax,
  [LOOM_FIRST_SUM] = put_total,   [LOOM_FIRST_MEAN] = put_mean,
};

/* ---- elementwise formulas ----------------------------------------------------------------- */

static gboolean
is_letter (gunichar c)
{
  return g_unichar_isalpha (c) || c == '_' || g_unichar_isdigit (c);
}

/* TRUE if the letter at s is the operand and not part of a word. */
static gboolean
is_operand (const char *formula, const char *s)
{
  const char *before = g_utf8_find_prev_char (formula, s);

  return (before == NULL || !is_letter (g_utf8_get_char (before))) && !is_letter (g_utf8_get_char (s + 1));
}

/* Writes the right side of a formula such as "y = max(x, 0)" with numbers for its letters: x, or a and b. FALSE if it
 * contains none of them, or is not elementwise. */
static gboolean
put_elementwise (GString *out, const char *formula, const StudioWorkedTensor *in, guint n)
{
  static const char *const more[] = { "Σ", "Π", "∫", "~", " for ", "[", "μ", "y = −1, 0", "ᵢ", "∠", NULL };
  const char *const letters = n == 1 ? "x" : "ab";
  gboolean found = FALSE;

  if (!g_str_has_prefix (formula, "y = "))
    return FALSE;
  for (guint i = 0; more[i] != NULL; i++)
    if (strstr (formula, more[i]) != NULL)
      return FALSE;
  for (const char *s = formula + strlen ("y = "); *s != '\0'; s = g_utf8_next_char (s))
    {
      const char *letter = strchr (letters, *s);
      gunichar c = g_utf8_get_char (s);

      if (letter != NULL && is_operand (formula, s))
        {
          const char *next = s + 1, *before = s - 1;
          gboolean bare = (*before == '(' || *before == '|' || (*before == ' ' && before[-1] == '='))
                          && (*next == ',' || *next == ')' || *next == '|' || *next == '\0');

          (bare ? put_number : put_operand) (out, (double)in[letter - letters].value[0]);
          found = TRUE;
        }
      else if (c == 0x2E3 && n == 1) /* ˣ */
        {
          g_string_append_c (out, '^');
          put_operand (out, (double)in[0].value[0]);
          found = TRUE;
        }
      else if (g_str_has_prefix (s, "⁻ˣ") && n == 1)
        {
          g_string_append_c (out, '^');
          put_operand (out, -(double)in[0].value[0]);
          s = g_utf8_next_char (s);
          found = TRUE;
        }
      else
        g_string_append_unichar (out, c);
    }
  return found;
}

static gboolean
is_elementwise (const LoomOp *op, const StudioWorkedTensor *in, guint n, const StudioWorkedTensor *output)
{
  if (op->formula == NULL || n < 1 || n > 2
      || (op->category != LOOM_CATEGORY_ACTIVATIONS && op->category != LOOM_CATEGORY_MATHS))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (in[i].name == NULL || count (&in[i]) == 0 || !is_whole (&in[i]) || in[i].rank > output->rank)
      return FALSE;
  return n == 2 || (in[0].rank == output->rank && memcmp (in[0].dim, output->dim, in[0].rank * sizeof (gint64)) == 0);
}

static gboolean
put_right_side (GString *out, const LoomOp *op, const StudioWorkedTensor *in, guint n, const StudioWorkedTensor *output)
{
  gboolean whole = op->first == LOOM_FIRST_SUM || op->first == LOOM_FIRST_MEAN;

  if (sums[op->first] != NULL)
    return (!whole || count_all (output) == 1) && sums[op->first](out, in, n);
  return is_elementwise (op, in, n, output) && put_elementwise (out, op->formula, in, n);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void
put_values (GString *out, const StudioWorkedTensor *t)
{
  g_string_append_c (out, '[');
  for (gsize i = 0; i < count (t); i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      put_number (out, (double)t->value[i]);
    }
  g_string_append_c (out, ']');
}

/* "out 128 × 2: −1.2 to 2.1, mean 0.03". */
static void
put_tensor (GString *out, const StudioWorkedTensor *t)
{
  double least = INFINITY, greatest = -INFINITY, sum = 0;
  g_autofree char *low = NULL, *high = NULL, *mean = NULL;

  g_string_append_printf (out, "%s%s", out->len > 0 ? "\n" : "", t->name);
  if (count (t) == 1 && count_all (t) == 1)
    {
      g_string_append (out, " = ");
      put_number (out, (double)t->value[0]);
      return;
    }
  for (guint i = 0; i < t->rank; i++)
    g_string_append_printf (out, "%s%" G_GINT64_FORMAT, i > 0 ? " × " : " ", t->dim[i]);
  g_string_append (out, ": ");
  if (count (t) <= SMALL && (gint64)count (t) == count_all (t))
    {
      put_values (out, t);
      return;
    }
  for (gsize i = 0; i < count (t); i++)
    {
      least = MIN (least, (double)t->value[i]);
      greatest = MAX (greatest, (double)t->value[i]);
      sum += (double)t->value[i];
    }
  low = dup_number (least);
  high = dup_number (greatest);
  mean = dup_number (sum / (double)count (t));
  /* If the tensor has more than two dimensions, only the first sample is known. */
  g_string_append_printf (out, t->rank > 2 ? _ ("%s to %s, mean %s in the first sample") : _ ("%s to %s, mean %s"), low,
                          high, mean);
}

char *
studio_worked_formula_text (const LoomOp *op, const StudioWorkedTensor *inputs, guint n_inputs,
                            const StudioWorkedTensor *output, gboolean exact)
{
  GString *out = g_string_new (NULL);
  guint n = n_inputs;

  g_return_val_if_fail (op != NULL, NULL);

  /* Trailing optional inputs that are missing are not operands. */
  while (n > 0 && inputs[n - 1].name == NULL)
    n--;
  if (exact && output->name != NULL && count (output) > 0)
    {
      put_result (out, output);
      g_string_append (out, " = ");
      if (put_right_side (out, op, inputs, n, output))
        {
          g_string_append (out, " = ");
          put_number (out, (double)output->value[0]);
        }
      else
        g_string_truncate (out, 0);
    }
  for (guint i = 0; i < n; i++)
    if (inputs[i].name != NULL && count (&inputs[i]) > 0)
      put_tensor (out, &inputs[i]);
  if (output->name != NULL && count (output) > 0)
    put_tensor (out, output);
  return g_string_free (out, FALSE);
}
