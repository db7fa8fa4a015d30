/* Parses formulas by recursive descent into a list of scalar steps.
 *
 * Precedence, "a if c else b", "**", "%" and "and or not" are those of Python. Depth and length are bounded, because
 * the text of a file is not trusted. */
#include "engine/ops/formula-private.h"

#include "engine/graph/loom-expr.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const char *start, *s;
  const FormulaScope *scope;
  LoomFormula *formula;
  FormulaFault *fault;
  guint nesting;
  gboolean failed;
} Parser;

/* ---- faults ----------------------------------------------------------- */

static void fail (Parser *p, const char *at, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* The sentence shows an excerpt of the text with a caret at the position. */
static void
fail (Parser *p, const char *at, const char *format, ...)
{
  g_autofree char *what = NULL, *before = NULL, *after = NULL;
  const char *from = at, *to = at;
  va_list args;

  if (p->failed)
    return;
  p->failed = TRUE;
  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  for (int i = 0; i < 24 && from > p->start; i++)
    from = g_utf8_prev_char (from);
  for (int i = 0; i < 24 && *to != 0; i++)
    to = g_utf8_next_char (to);
  before = g_strndup (from, (gsize)(at - from));
  after = g_strndup (at, (gsize)(to - at));
  if (p->fault->message == NULL)
    p->fault->message = g_strdup_printf ("The formula %s, at position %ld (after the caret): “%s%s‸%s%s”.", what,
                                         g_utf8_pointer_to_offset (p->start, at) + 1, from > p->start ? "…" : "",
                                         before, after, *to != 0 ? "…" : "");
}

static void
suggest (Parser *p, const char *at, gsize n, const char *near)
{
  if (near == NULL || p->fault->fix != NULL)
    return;
  p->fault->fix = g_strdup_printf ("Did you mean “%s”?", near);
  p->fault->text = g_strdup_printf ("%.*s%s%s", (int)(at - p->start), p->start, near, at + n);
}

/* ---- tokens -------------------------------------------------------- */

static void
skip_space (Parser *p)
{
  while (g_ascii_isspace (*p->s))
    p->s++;
}

static gboolean
is_word (const char *s, gsize n, const char *word)
{
  return strlen (word) == n && strncmp (s, word, n) == 0;
}

static gboolean
accept (Parser *p, const char *sign)
{
  gsize n = strlen (sign);

  skip_space (p);
  if (strncmp (p->s, sign, n) != 0)
    return FALSE;
  p->s += n;
  return TRUE;
}

static gboolean
accept_word (Parser *p, const char *word)
{
  skip_space (p);
  if (!is_word (p->s, formula_name_length (p->s), word))
    return FALSE;
  p->s += strlen (word);
  return TRUE;
}

/* ---- steps ------------------------------------------------------------ */

static int
add_step (Parser *p, LoomScalarOp op, int a, int b, int c)
{
  LoomFormula *f = p->formula;

  if (p->failed || a < 0 || b < 0 || c < 0)
    return -1;
  if (f->n_steps == LOOM_FORMULA_MAX_STEPS)
    {
      fail (p, p->s, "has more than %d operations; split it into several nodes", LOOM_FORMULA_MAX_STEPS);
      return -1;
    }
  f->step[f->n_steps] = (LoomElementwiseStep){ .op = op, .arg = { (uint8_t)a, (uint8_t)b, (uint8_t)c } };
  return (int)(f->n_in + f->n_steps++);
}

static int
add_constant (Parser *p, double value)
{
  int reg = add_step (p, LOOM_SCALAR_CONST, 0, 0, 0);

  if (reg >= 0)
    p->formula->step[reg - (int)p->formula->n_in].imm = value;
  return reg;
}

static gboolean
is_constant (const Parser *p, int reg, double *value)
{
  const LoomElementwiseStep *step;

  if (reg < (int)p->formula->n_in)
    return FALSE;
  step = p->formula->step + (reg - (int)p->formula->n_in);
  *value = step->imm;
  return step->op == LOOM_SCALAR_CONST;
}

/* ---- functions -------------------------------------------------------- */

static const char *
nearest_name (const Parser *p, const char *name, gboolean called)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  if (called)
    formula_add_functions (all);
  for (guint i = 0; !called && i < p->scope->names->len; i++)
    g_ptr_array_add (all, p->scope->names->pdata[i]);
  g_ptr_array_add (all, NULL);
  return loom_nearest (name, (const char *const *)all->pdata);
}

static int parse_choice (Parser *p);

static int
call_derived (Parser *p, const FormulaFunction *d, const int *arg)
{
  g_auto (FormulaScope) scope = { 0 };
  g_auto (GStrv) names = g_strsplit (d->parameters, " ", -1);
  g_auto (FormulaFault) unsaid = { 0 };
  Parser inner = *p;
  int result;

  formula_scope_init (&scope);
  inner.fault = &unsaid;
  for (guint i = 0; names[i] != NULL; i++)
    formula_scope_add (&scope, names[i], (guint8)arg[i]);
  inner.start = inner.s = d->text;
  inner.scope = &scope;
  result = parse_choice (&inner);
  if (inner.failed && !p->failed)
    fail (p, p->s, "has more than %d operations; split it into several nodes", LOOM_FORMULA_MAX_STEPS);
  return result;
}

/* The function is known here and its arguments are registers. */
static int
call (Parser *p, const char *at, const char *name, const int *arg, guint n)
{
  const FormulaFunction *d = formula_find_function (name);
  int op = formula_find_scalar (name), result;
  guint want;

  if (strcmp (name, "where") == 0)
    {
      if (n != 3)
        fail (p, at, "calls where with %u values, which takes a condition and two values", n);
      return n == 3 ? add_step (p, LOOM_SCALAR_SELECT, arg[0], arg[1], arg[2]) : -1;
    }
  if (op == LOOM_SCALAR_MAX || op == LOOM_SCALAR_MIN)
    {
      if (n < 2)
        {
          fail (p, at, "calls %s with one value, but it compares two or more of them element by element", name);
          return -1;
        }
      result = arg[0];
      for (guint i = 1; i < n; i++)
        result = add_step (p, op, result, arg[i], 0);
      return result;
    }
  want = op >= 0 ? (guint)loom_scalar_arity (op) : formula_function_arity (d);
  if (n != want)
    {
      fail (p, at, "calls %s with %u value%s, but it takes %u", name, n, n == 1 ? "" : "s", want);
      return -1;
    }
  return op >= 0 ? add_step (p, op, arg[0], n > 1 ? arg[1] : 0, n > 2 ? arg[2] : 0) : call_derived (p, d, arg);
}

static int
parse_call (Parser *p, const char *at, const char *name)
{
  int arg[8];
  guint n = 0;

  if (formula_find_scalar (name) < 0 && formula_find_function (name) == NULL && strcmp (name, "where") != 0)
    {
      const char *near = nearest_name (p, name, TRUE);

      if (!p->failed)
        suggest (p, at, strlen (name), near);
      fail (p, at, "calls “%s”, and there is no such function", name);
      return -1;
    }
  if (!accept (p, ")"))
    for (;;)
      {
        if (n == G_N_ELEMENTS (arg))
          {
            fail (p, p->s, "gives %s more than %u values", name, n);
            return -1;
          }
        arg[n] = parse_choice (p);
        if (arg[n++] < 0)
          return -1;
        if (accept (p, ")"))
          break;
        if (!accept (p, ","))
          {
            skip_space (p);
            fail (p, p->s, "lacks a “)” or a “,”");
            return -1;
          }
      }
  return call (p, at, name, arg, n);
}

/* ---- grammar ---------------------------------------------------------- */

static int
parse_name (Parser *p)
{
  const char *at = p->s;
  gsize n = formula_name_length (at);
  g_autofree char *name = g_strndup (at, n);
  double constant;
  int reg;

  p->s += n;
  if (formula_is_keyword (name))
    {
      fail (p, at, "has the word “%s” where a value is expected", name);
      return -1;
    }
  if (accept (p, "("))
    return parse_call (p, at, name);
  reg = formula_scope_find (p->scope, name);
  if (reg >= 0)
    return reg;
  if (formula_constant (name, &constant))
    return add_constant (p, constant);
  if (!p->failed)
    suggest (p, at, n, nearest_name (p, name, FALSE));
  fail (p, at, "uses “%s”, which has no value here", name);
  return -1;
}

static int
parse_atom (Parser *p)
{
  gboolean is_int;
  gsize n;
  int value;

  skip_space (p);
  n = loom_expr_number_length (p->s, &is_int);
  if (n > 0)
    {
      g_autofree char *text = g_strndup (p->s, n);
      double number = g_ascii_strtod (text, NULL);

      if (!isfinite (number))
        {
          fail (p, p->s, "has the number “%s”, which is too large; infinity is written “inf”", text);
          return -1;
        }
      p->s += n;
      return add_constant (p, number);
    }
  if (formula_name_length (p->s) > 0)
    return parse_name (p);
  if (accept (p, "("))
    {
      value = parse_choice (p);
      if (!accept (p, ")"))
        fail (p, p->s, "lacks a “)”");
      return p->failed ? -1 : value;
    }
  if (*p->s == 0)
    fail (p, p->s, "ends where a number or a name is expected");
  else
    {
      g_autofree char *sign = g_strndup (p->s, (gsize)(g_utf8_next_char (p->s) - p->s));

      fail (p, p->s, "has “%s” where a number or a name is expected", sign);
    }
  return -1;
}

static gboolean
enter (Parser *p)
{
  if (++p->nesting <= MAX_NESTING)
    return TRUE;
  fail (p, p->s, "is nested more than %d deep", MAX_NESTING);
  return FALSE;
}

/* A sign binds less tightly than a power: -x**2 is -(x**2), and 2**-x is valid. */
static int
parse_sign (Parser *p)
{
  int value = -1;

  if (enter (p))
    {
      skip_space (p);
      if (accept (p, "-"))
        {
          guint before = p->formula->n_steps;
          double number;

          value = parse_sign (p);
          /* The sign is applied to a number literal at once. */
          if (value >= 0 && is_constant (p, value, &number) && p->formula->n_steps == before + 1)
            p->formula->step[before].imm = -number;
          else
            value = add_step (p, LOOM_SCALAR_NEG, value, 0, 0);
        }
      else if (accept (p, "+"))
        value = parse_sign (p);
      else
        {
          value = parse_atom (p);
          if (value >= 0 && accept (p, "**"))
            {
              int exponent = parse_sign (p);
              double number;

              if (exponent >= 0 && is_constant (p, exponent, &number) && number == 2
                  && (guint)exponent == p->formula->n_in + p->formula->n_steps - 1)
                {
                  p->formula->n_steps--;
                  value = add_step (p, LOOM_SCALAR_SQUARE, value, 0, 0);
                }
              else
                value = add_step (p, LOOM_SCALAR_POW, value, exponent, 0);
            }
          skip_space (p);
          if (!p->failed && *p->s == '^')
            {
              const char *at = p->s;

              fail (p, at, "has “^”; a power is written “**”");
              p->fault->fix = p->fault->fix != NULL ? p->fault->fix : g_strdup ("Write “**”.");
              if (p->fault->text == NULL)
                p->fault->text = g_strdup_printf ("%.*s**%s", (int)(at - p->start), p->start, at + 1);
            }
        }
    }
  p->nesting--;
  return p->failed ? -1 : value;
}

static int
parse_product (Parser *p)
{
  int value = parse_sign (p);

  while (value >= 0)
    {
      if (accept (p, "//"))
        {
          value = add_step (p, LOOM_SCALAR_DIV, value, parse_sign (p), 0);
          value = add_step (p, LOOM_SCALAR_FLOOR, value, 0, 0);
        }
      else if (accept (p, "*"))
        value = add_step (p, LOOM_SCALAR_MUL, value, parse_sign (p), 0);
      else if (accept (p, "/"))
        value = add_step (p, LOOM_SCALAR_DIV, value, parse_sign (p), 0);
      else if (accept (p, "%"))
        {
          int arg[2] = { value, parse_sign (p) };

          value = arg[1] >= 0 ? call (p, p->s, "remainder", arg, 2) : -1;
        }
      else
        break;
    }
  return value;
}

static int
parse_sum (Parser *p)
{
  int value = parse_product (p);

  while (value >= 0)
    {
      if (accept (p, "+"))
        value = add_step (p, LOOM_SCALAR_ADD, value, parse_product (p), 0);
      else if (accept (p, "-"))
        value = add_step (p, LOOM_SCALAR_SUB, value, parse_product (p), 0);
      else
        break;
    }
  return value;
}

/* Longer operators are matched first. */
static const struct
{
  const char *sign;
  LoomScalarOp op;
} comparisons[] = { { "<=", LOOM_SCALAR_LE }, { ">=", LOOM_SCALAR_GE }, { "==", LOOM_SCALAR_EQ },
                    { "!=", LOOM_SCALAR_NE }, { "<", LOOM_SCALAR_LT },  { ">", LOOM_SCALAR_GT } };

static int
accept_comparison (Parser *p)
{
  for (guint i = 0; i < G_N_ELEMENTS (comparisons); i++)
    if (accept (p, comparisons[i].sign))
      return (int)comparisons[i].op;
  return -1;
}

static int
parse_comparison (Parser *p)
{
  int value = parse_sum (p), op = value >= 0 ? accept_comparison (p) : -1;

  if (op < 0)
    return value;
  value = add_step (p, (LoomScalarOp)op, value, parse_sum (p), 0);
  skip_space (p);
  if (value >= 0 && accept_comparison (p) >= 0)
    fail (p, p->s, "compares three values at once; write “a < b and b < c”");
  return p->failed ? -1 : value;
}

static int
truth (Parser *p, int value)
{
  return add_step (p, LOOM_SCALAR_NE, value, add_constant (p, 0), 0);
}

static int
parse_not (Parser *p)
{
  int value = -1;

  if (!accept_word (p, "not"))
    return parse_comparison (p);
  if (enter (p))
    {
      value = parse_not (p);
      value = add_step (p, LOOM_SCALAR_EQ, value, add_constant (p, 0), 0);
    }
  p->nesting--;
  return p->failed ? -1 : value;
}

static int
parse_and (Parser *p)
{
  int value = parse_not (p);

  while (value >= 0 && accept_word (p, "and"))
    {
      int other = parse_not (p);

      value = add_step (p, LOOM_SCALAR_MIN, truth (p, value), truth (p, other), 0);
    }
  return value;
}

static int
parse_or (Parser *p)
{
  int value = parse_and (p);

  while (value >= 0 && accept_word (p, "or"))
    {
      int other = parse_and (p);

      value = add_step (p, LOOM_SCALAR_MAX, truth (p, value), truth (p, other), 0);
    }
  return value;
}

static int
parse_choice (Parser *p)
{
  int value = -1;

  if (enter (p))
    {
      value = parse_or (p);
      if (value >= 0 && accept_word (p, "if"))
        {
          int condition = parse_or (p), other = -1;

          if (condition >= 0 && !accept_word (p, "else"))
            {
              skip_space (p);
              fail (p, p->s, "has an “if” without “else”; write “a if condition else b”");
            }
          if (condition >= 0 && !p->failed)
            other = parse_choice (p);
          value = add_step (p, LOOM_SCALAR_SELECT, condition, value, other);
        }
    }
  p->nesting--;
  return p->failed ? -1 : value;
}

/* ---- public ----------------------------------------------------------- */

static gboolean
check_text (Parser *p)
{
  if (strlen (p->start) > MAX_LENGTH)
    {
      p->failed = TRUE;
      p->fault->message
          = g_strdup_printf ("The formula has more than %d letters; split it into several nodes.", MAX_LENGTH);
    }
  return !p->failed;
}

int
formula_parse (const char *text, const FormulaScope *scope, LoomFormula *formula, FormulaFault *fault)
{
  Parser p = { .start = text, .s = text, .scope = scope, .formula = formula, .fault = fault };
  int value;

  if (!check_text (&p))
    return -1;
  value = parse_choice (&p);
  skip_space (&p);
  if (!p.failed && *p.s != 0)
    {
      g_autofree char *sign = g_strndup (p.s, (gsize)(g_utf8_next_char (p.s) - p.s));

      fail (&p, p.s, "has “%s” where an operator or the end is expected", sign);
    }
  return p.failed ? -1 : value;
}

gboolean
formula_parse_statements (const char *text, FormulaScope *scope, const FormulaScope *inputs, FormulaScope *targets,
                          LoomFormula *formula, FormulaFault *fault)
{
  Parser p = { .start = text, .s = text, .scope = scope, .formula = formula, .fault = fault };

  if (!check_text (&p))
    return FALSE;
  while (!p.failed)
    {
      const char *at;
      g_autofree char *name = NULL;
      gboolean is_input;
      int value;

      skip_space (&p);
      at = p.s;
      name = g_strndup (at, formula_name_length (at));
      p.s += strlen (name);
      if (*name == 0 || !accept (&p, "=") || *p.s == '=')
        {
          fail (&p, at, "needs statements like “y = exp(x)”, separated by “;”");
          break;
        }
      is_input = inputs != NULL && formula_scope_find (inputs, name) >= 0;
      if (formula_is_keyword (name) || formula_constant (name, NULL)
          || formula_scope_find (is_input ? targets : scope, name) >= 0)
        fail (&p, at, "assigns “%s” twice", name);
      value = parse_choice (&p);
      if (p.failed)
        break;
      formula_scope_add (is_input ? targets : scope, name, (guint8)value);
      skip_space (&p);
      if (*p.s == 0)
        break;
      if (!accept (&p, ";"))
        fail (&p, p.s, "lacks a “;” between two statements, or an operator");
      skip_space (&p);
      if (*p.s == 0)
        break;
    }
  return !p.failed;
}
