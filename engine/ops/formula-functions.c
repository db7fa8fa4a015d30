/* Lists the functions, constants and keywords of formulas.
 *
 * Functions are those of kernels/scalar.h under the names of PyTorch. Other functions of PyTorch are written here as
 * formulas of the same language. */
#include "engine/ops/formula-private.h"

#include <math.h>
#include <string.h>

static const FormulaFunction derived[] = {
  { "reciprocal", "a", "1 / a" },
  { "negative", "a", "-a" },
  { "maximum", "a b", "max(a, b)" },
  { "minimum", "a b", "min(a, b)" },
  { "frac", "a", "a - trunc(a)" },
  { "remainder", "a b", "a - b * floor(a / b)" },
  { "hypot", "a b", "sqrt(a * a + b * b)" },
  { "lerp", "a b w", "a + w * (b - a)" },
  { "clamp_min", "a low", "where(a < low, low, a)" },
  { "clamp_max", "a high", "where(a > high, high, a)" },
  { "clamp", "a low high", "clamp_max(clamp_min(a, low), high)" },
  { "logaddexp", "a b", "maximum(a, b) + log1p(exp(-abs(a - b)))" },
  { "softplus", "a", "max(a, 0) + log1p(exp(-abs(a)))" },
  { "logsigmoid", "a", "-softplus(-a)" },
  { "silu", "a", "a * sigmoid(a)" },
  { "mish", "a", "a * tanh(softplus(a))" },
  { "softsign", "a", "a / (1 + abs(a))" },
  { "relu6", "a", "clamp(a, 0, 6)" },
  { "hardtanh", "a", "clamp(a, -1, 1)" },
  { "hardsigmoid", "a", "clamp(a / 6 + 0.5, 0, 1)" },
  { "hardswish", "a", "a * hardsigmoid(a)" },
  { "leaky_relu", "a", "where(a > 0, a, 0.01 * a)" },
  { "elu", "a", "where(a > 0, a, exp(min(a, 0)) - 1)" },
  { "selu", "a", "1.0507009873554804934 * where(a > 0, a, 1.6732632423543772848 * (exp(min(a, 0)) - 1))" },
};

static const struct
{
  const char *name;
  double value;
} constants[] = { { "pi", G_PI }, { "e", G_E }, { "inf", INFINITY }, { "nan", NAN } };

static const char *const keywords[] = { "if", "else", "and", "or", "not", NULL };

gsize
formula_name_length (const char *s)
{
  if (!g_ascii_isalpha (*s) && *s != '_')
    return 0;
  return strspn (s, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
}

gboolean
formula_is_keyword (const char *word)
{
  return g_strv_contains (keywords, word);
}

gboolean
formula_constant (const char *name, double *value)
{
  for (guint i = 0; i < G_N_ELEMENTS (constants); i++)
    if (strcmp (constants[i].name, name) == 0)
      {
        if (value != NULL)
          *value = constants[i].value;
        return TRUE;
      }
  return FALSE;
}

/* Operations that only gradients and plans use have no name in a formula. */
static gboolean
is_public (LoomScalarOp op)
{
  const char *name = loom_scalar_name (op);

  return loom_scalar_arity (op) > 0 && op != LOOM_SCALAR_ID && op != LOOM_SCALAR_SELECT && op != LOOM_SCALAR_FMA
         && op != LOOM_SCALAR_RECIP && !g_str_has_suffix (name, "_grad") && loom_prim (name) != NULL;
}

int
formula_find_scalar (const char *name)
{
  for (int op = 0; op < LOOM_N_SCALARS; op++)
    if (strcmp (loom_scalar_name (op), name) == 0 && is_public (op))
      return op;
  return -1;
}

const FormulaFunction *
formula_find_function (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (derived); i++)
    if (strcmp (derived[i].name, name) == 0)
      return derived + i;
  return NULL;
}

guint
formula_function_arity (const FormulaFunction *d)
{
  guint n = 1;

  for (const char *c = d->parameters; *c != 0; c++)
    n += *c == ' ';
  return n;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

char *
formula_functions (void)
{
  static const char *const title[] = { "one value", "two values", "three values" };
  GString *text = g_string_new ("Functions");

  for (guint arity = 1; arity <= G_N_ELEMENTS (title); arity++)
    {
      g_autoptr (GPtrArray) names = g_ptr_array_new ();

      for (int op = 0; op < LOOM_N_SCALARS; op++)
        if (is_public (op) && op != LOOM_SCALAR_MAX && op != LOOM_SCALAR_MIN && loom_scalar_arity (op) == (int)arity
            && !formula_is_keyword (loom_scalar_name (op)))
          g_ptr_array_add (names, (gpointer)loom_scalar_name (op));
      for (gsize i = 0; i < G_N_ELEMENTS (derived); i++)
        if (formula_function_arity (derived + i) == arity)
          g_ptr_array_add (names, (gpointer)derived[i].name);
      g_ptr_array_sort (names, compare_names);
      g_string_append_printf (text, "%s of %s: ", arity > 1 ? ";" : "", title[arity - 1]);
      for (guint i = 0; i < names->len; i++)
        g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", (char *)names->pdata[i]);
    }
  g_string_append (text, "; max and min of two or more; where(condition, a, b). Constants:");
  for (guint i = 0; i < G_N_ELEMENTS (constants); i++)
    g_string_append_printf (text, "%s %s", i > 0 ? "," : "", constants[i].name);
  g_string_append_c (text, '.');
  return g_string_free (text, FALSE);
}

void
formula_add_functions (GPtrArray *names)
{
  for (int op = 0; op < LOOM_N_SCALARS; op++)
    if (is_public (op))
      g_ptr_array_add (names, (gpointer)loom_scalar_name (op));
  for (gsize i = 0; i < G_N_ELEMENTS (derived); i++)
    g_ptr_array_add (names, (gpointer)derived[i].name);
  g_ptr_array_add (names, (gpointer) "where");
}
