/* Translates a formula that a person typed to Python.
 *
 * The language is a part of Python's, but for tensors “a if c else b” is torch.where, and “and” is torch.logical_and.
 * The text is parsed and written again from what was understood; nothing is copied but numbers, which are digits. */
#include "engine/graph/loom-expr.h"
#include "engine/pytorch/pytorch-private.h"

#include <string.h>

#define MAX_NESTING 60

typedef struct
{
  const char *s;
  GHashTable *names;
  char *why;
  guint nesting;
} Parser;

typedef struct
{
  char *text;
  guint strength; /* of the weakest operation outside of parentheses: 0 sum, 1 product, 2 sign, 3 power, 4 atom */
  gboolean is_bool, is_number;
} Value;

static Value parse_choice (Parser *p);

static void
clear (Value *v)
{
  g_clear_pointer (&v->text, g_free);
}

static Value
made (char *text, guint strength)
{
  return (Value){ .text = text, .strength = strength };
}

static void
fail (Parser *p, const char *why)
{
  if (p->why == NULL)
    p->why = g_strdup (why);
}

static gboolean
accept (Parser *p, const char *token)
{
  gsize n = strlen (token);

  p->s += strspn (p->s, " \t\n");
  if (strncmp (p->s, token, n) != 0)
    return FALSE;
  if (g_ascii_isalpha (*token) && (g_ascii_isalnum (p->s[n]) || p->s[n] == '_'))
    return FALSE;
  if (strcmp (token, "*") == 0 && p->s[1] == '*')
    return FALSE;
  if (strcmp (token, "/") == 0 && p->s[1] == '/')
    return FALSE;
  p->s += n;
  return TRUE;
}

/* A comparison is 0 or 1 in a formula, and a bool in PyTorch. */
static char *
as_number (Value *v, guint least)
{
  char *text = v->is_bool            ? g_strdup_printf ("(%s * 1.0)", v->text)
               : v->strength < least ? g_strdup_printf ("(%s)", v->text)
                                     : g_strdup (v->text);

  clear (v);
  return text;
}

static char *
as_bool (Value *v)
{
  char *text = v->is_bool ? g_strdup (v->text) : g_strdup_printf ("(%s != 0)", v->text);

  clear (v);
  return text;
}

/* Functions of torch take tensors. */
static char *
as_tensor (Value *v)
{
  gboolean is_number = v->is_number;
  g_autofree char *text = as_number (v, 0);

  return is_number ? g_strdup_printf ("torch.tensor(%s)", text) : g_steal_pointer (&text);
}

/* The functions whose name or place differs from torch.NAME. */
static const struct
{
  const char *name, *call;
} renamed[] = { { "max", "torch.maximum" },
                { "min", "torch.minimum" },
                { "softplus", "F.softplus" },
                { "logsigmoid", "F.logsigmoid" },
                { "silu", "F.silu" },
                { "mish", "F.mish" },
                { "softsign", "F.softsign" },
                { "relu6", "F.relu6" },
                { "hardtanh", "F.hardtanh" },
                { "hardsigmoid", "F.hardsigmoid" },
                { "hardswish", "F.hardswish" },
                { "leaky_relu", "F.leaky_relu" },
                { "elu", "F.elu" },
                { "selu", "F.selu" },
                { "gelu", "F.gelu" },
                { "lerp", "torch.lerp" } };

/* Those that torch has under the same name. */
static const char *const same[]
    = { "abs",        "acos",  "acosh",     "asin",  "asinh",     "atan",      "atan2",   "atanh",    "ceil", "clamp",
        "cos",        "cosh",  "erf",       "exp",   "exp2",      "expm1",     "floor",   "fmod",     "frac", "hypot",
        "log",        "log10", "log1p",     "log2",  "logaddexp", "maximum",   "minimum", "negative", "neg",  "pow",
        "reciprocal", "relu",  "remainder", "round", "rsqrt",     "sigmoid",   "sign",    "sin",      "sinh", "sqrt",
        "square",     "tan",   "tanh",      "trunc", "clamp_min", "clamp_max", "erfc",    NULL };

static Value
parse_call (Parser *p, const char *name)
{
  g_autoptr (GPtrArray) arguments = g_ptr_array_new_with_free_func (g_free);
  const char *call = NULL;
  GString *s;

  for (guint i = 0; i < G_N_ELEMENTS (renamed); i++)
    if (strcmp (renamed[i].name, name) == 0)
      call = renamed[i].call;
  if (call == NULL && !g_strv_contains (same, name) && strcmp (name, "where") != 0)
    {
      g_autofree char *why = g_strdup_printf ("it calls %s, which has no counterpart in torch", name);
      fail (p, why);
    }
  while (p->why == NULL && !accept (p, ")"))
    {
      Value v = parse_choice (p);

      if (v.text == NULL)
        break;
      g_ptr_array_add (arguments, strcmp (name, "where") == 0 && arguments->len == 0 ? as_bool (&v) : as_tensor (&v));
      if (!accept (p, ",") && *p->s != ')')
        fail (p, "it lacks a parenthesis");
    }
  if (p->why != NULL || arguments->len == 0)
    {
      fail (p, "a function has no argument");
      return made (NULL, 0);
    }
  s = g_string_new (NULL);
  if (strcmp (name, "max") == 0 || strcmp (name, "min") == 0)
    {
      g_string_append (s, arguments->pdata[0]);
      for (guint i = 1; i < arguments->len; i++)
        {
          g_autofree char *before = g_strdup (s->str);
          g_string_printf (s, "%s(%s, %s)", call, before, (char *)arguments->pdata[i]);
        }
    }
  else
    {
      g_string_append_printf (s, "%s%s(", call != NULL ? call : "torch.", call != NULL ? "" : name);
      for (guint i = 0; i < arguments->len; i++)
        g_string_append_printf (s, "%s%s", i > 0 ? ", " : "", (char *)arguments->pdata[i]);
      g_string_append_c (s, ')');
    }
  return made (g_string_free (s, FALSE), 4);
}

static Value
parse_atom (Parser *p)
{
  static const char *const constants[][2]
      = { { "pi", "math.pi" }, { "e", "math.e" }, { "inf", "math.inf" }, { "nan", "math.nan" } };
  gboolean is_int;
  gsize n;

  p->s += strspn (p->s, " \t\n");
  n = loom_expr_number_length (p->s, &is_int);
  if (n > 0)
    {
      g_autofree char *digits = g_strndup (p->s, n);
      double d = g_ascii_strtod (digits, NULL);
      Value v = made (is_int && d < 1e15 ? g_strdup_printf ("%.0f", d) : loom_pytorch_float (d), 4);

      v.is_number = TRUE;
      p->s += n;
      return v;
    }
  if (accept (p, "("))
    {
      Value v = parse_choice (p);

      if (!accept (p, ")"))
        fail (p, "it lacks a parenthesis");
      if (v.text == NULL || v.strength == 4 || v.is_bool)
        return v;
      char *inner = v.text;
      v.text = g_strdup_printf ("(%s)", inner);
      v.strength = 4;
      g_free (inner);
      return v;
    }
  n = g_ascii_isalpha (*p->s) || *p->s == '_' ? strspn (p->s, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_") : 0;
  if (n > 0)
    {
      g_autofree char *name = g_strndup (p->s, n);
      const char *value = g_hash_table_lookup (p->names, name);

      p->s += n;
      if (accept (p, "("))
        return parse_call (p, name);
      if (value != NULL)
        return made (g_strdup (value), strchr (value, ' ') != NULL ? 0 : 4);
      for (guint i = 0; i < G_N_ELEMENTS (constants); i++)
        if (strcmp (constants[i][0], name) == 0)
          {
            Value v = made (g_strdup (constants[i][1]), 4);
            v.is_number = TRUE;
            return v;
          }
    }
  fail (p, "a value is missing");
  return made (NULL, 0);
}

static Value
parse_sign (Parser *p)
{
  Value v;

  if (++p->nesting > MAX_NESTING)
    {
      fail (p, "it is nested too deeply");
      return made (NULL, 0);
    }
  if (accept (p, "-"))
    {
      v = parse_sign (p);
      if (v.text != NULL)
        {
          gboolean is_number = v.is_number;
          g_autofree char *inner = as_number (&v, 2);
          v = made (g_strdup_printf ("-%s", inner), 2);
          v.is_number = is_number;
        }
    }
  else if (accept (p, "+"))
    v = parse_sign (p);
  else
    {
      v = parse_atom (p);
      if (v.text != NULL && accept (p, "**"))
        {
          Value exponent = parse_sign (p);
          gboolean is_number = v.is_number && exponent.is_number;

          if (exponent.text == NULL)
            clear (&v);
          else
            {
              g_autofree char *base = as_number (&v, 4), *power = as_number (&exponent, 2);
              v = made (g_strdup_printf ("%s ** %s", base, power), 3);
              v.is_number = is_number;
            }
        }
    }
  p->nesting--;
  return v;
}

/* operators end with NULL and are tried in order; all associate to the left. */
static Value
parse_chain (Parser *p, const char *const *operators, guint strength, Value (*parse) (Parser *))
{
  Value left = parse (p);

  while (left.text != NULL)
    {
      const char *const *op = operators;

      while (*op != NULL && !accept (p, *op))
        op++;
      if (*op == NULL)
        break;
      Value right = parse (p);
      gboolean is_number = left.is_number && right.is_number;
      if (right.text == NULL)
        {
          clear (&left);
          break;
        }
      g_autofree char *a = as_number (&left, strength), *b = as_number (&right, strength + 1);
      left = made (g_strdup_printf ("%s %s %s", a, *op, b), strength);
      left.is_number = is_number;
    }
  return left;
}

static Value
parse_product (Parser *p)
{
  static const char *const operators[] = { "//", "*", "/", "%", NULL };

  return parse_chain (p, operators, 1, parse_sign);
}

static Value
parse_sum (Parser *p)
{
  static const char *const operators[] = { "+", "-", NULL };

  return parse_chain (p, operators, 0, parse_product);
}

static Value
parse_comparison (Parser *p)
{
  static const char *const operators[] = { "<=", ">=", "==", "!=", "<", ">", NULL };
  Value left = parse_sum (p);
  const char *const *op = operators;

  while (*op != NULL && !accept (p, *op))
    op++;
  if (left.text != NULL && *op != NULL)
    {
      Value right = parse_sum (p);

      if (right.text == NULL)
        clear (&left);
      else
        {
          g_autofree char *a = as_number (&left, 0), *b = as_number (&right, 0);
          left = (Value){ .text = g_strdup_printf ("(%s %s %s)", a, *op, b), .strength = 4, .is_bool = TRUE };
        }
    }
  return left;
}

static Value
parse_not (Parser *p)
{
  if (!accept (p, "not"))
    return parse_comparison (p);
  if (++p->nesting > MAX_NESTING)
    fail (p, "it is nested too deeply");
  Value v = p->why == NULL ? parse_not (p) : made (NULL, 0);
  if (v.text == NULL)
    return v;
  g_autofree char *inner = as_bool (&v);
  return (Value){ .text = g_strdup_printf ("torch.logical_not(torch.as_tensor(%s))", inner),
                  .strength = 4,
                  .is_bool = TRUE };
}

static Value
parse_logic (Parser *p, const char *word, Value (*parse) (Parser *))
{
  Value left = parse (p);

  while (left.text != NULL && accept (p, word))
    {
      Value right = parse (p);

      if (right.text == NULL)
        {
          clear (&left);
          break;
        }
      g_autofree char *a = as_bool (&left), *b = as_bool (&right);
      left
          = (Value){ .text = g_strdup_printf ("torch.logical_%s(torch.as_tensor(%s), torch.as_tensor(%s))", word, a, b),
                     .strength = 4,
                     .is_bool = TRUE };
    }
  return left;
}

static Value
parse_and (Parser *p)
{
  return parse_logic (p, "and", parse_not);
}

static Value
parse_choice (Parser *p)
{
  Value v;

  if (++p->nesting > MAX_NESTING)
    {
      fail (p, "it is nested too deeply");
      return made (NULL, 0);
    }
  v = parse_logic (p, "or", parse_and);
  if (v.text != NULL && accept (p, "if"))
    {
      Value condition = parse_logic (p, "or", parse_and);
      Value other = condition.text != NULL && accept (p, "else") ? parse_choice (p) : made (NULL, 0);

      if (other.text == NULL)
        {
          fail (p, "“if” has no “else”");
          clear (&condition);
          clear (&v);
        }
      else
        {
          g_autofree char *yes = as_number (&v, 0), *c = as_bool (&condition), *no = as_number (&other, 0);
          v = made (g_strdup_printf ("torch.where(torch.as_tensor(%s), %s, %s)", c, yes, no), 4);
        }
    }
  p->nesting--;
  return v;
}

char *
loom_pytorch_formula (const char *text, GHashTable *names, char **why)
{
  Parser p = { .s = text, .names = names };
  Value v = parse_choice (&p);
  char *result = NULL;

  if (v.text != NULL && *(p.s + strspn (p.s, " \t\n")) != 0)
    fail (&p, "it continues where it should end");
  if (v.text != NULL && p.why == NULL)
    result = v.is_bool ? g_strdup_printf ("%s * 1.0", v.text) : g_strdup (v.text);
  clear (&v);
  g_clear_pointer (why, g_free);
  *why = p.why;
  return result;
}
