/* A recursive-descent parser of typed values. Its errors name the missing part and what was found instead. */
#include "ui/inspector/studio-value.h"

#include <math.h>
#include <string.h>

#include "ui/inspector/studio-inspector-params.h"

typedef enum
{
  PLAIN,
  SECONDS,
  BYTES
} Dimension;

static const struct
{
  const char *name;
  Dimension dimension;
  double factor;
} units[] = {
  { "k", PLAIN, 1e3 },          { "M", PLAIN, 1e6 },         { "G", PLAIN, 1e9 },     { "Ki", PLAIN, 1024 },
  { "Mi", PLAIN, 1048576 },     { "Gi", PLAIN, 1073741824 }, { "ms", SECONDS, 1e-3 }, { "s", SECONDS, 1 },
  { "min", SECONDS, 60 },       { "h", SECONDS, 3600 },      { "B", BYTES, 1 },       { "kB", BYTES, 1e3 },
  { "MB", BYTES, 1e6 },         { "GB", BYTES, 1e9 },        { "KiB", BYTES, 1024 },  { "MiB", BYTES, 1048576 },
  { "GiB", BYTES, 1073741824 },
};

/* The unit of a parameter, by its name. */
static const struct
{
  const char *ending;
  Dimension dimension;
  double one; /* the size of the unit, in seconds or bytes */
  const char *word;
} measures[] = {
  { "seconds", SECONDS, 1, "seconds" },
  { "minutes", SECONDS, 60, "minutes" },
  { "bytes", BYTES, 1, "bytes" },
  { "_mb", BYTES, 1048576, "megabytes" },
};

typedef struct
{
  const char *at;
  const LoomParamSpec *spec;
  StudioValueLookup lookup;
  gpointer data;
  gboolean names_argument, is_formula,
      is_ours; /* names_argument: of the module; is_ours: uses syntax that expressions in files lack */
  guint depth;
  char *wrong;
} Parser;

static double expression (Parser *p);

static double
fail (Parser *p, const char *format, const char *text)
{
  if (p->wrong == NULL)
    p->wrong = text != NULL ? g_strdup_printf (format, text) : g_strdup (format);
  return 0;
}

static void
skip (Parser *p)
{
  while (g_ascii_isspace (*p->at))
    p->at++;
}

static gboolean
take (Parser *p, const char *token)
{
  gsize n = strlen (token);

  skip (p);
  if (strncmp (p->at, token, n) != 0)
    return FALSE;
  p->at += n;
  p->is_formula = TRUE;
  return TRUE;
}

static char *
take_word (Parser *p)
{
  const char *begin = p->at;

  while (g_ascii_isalnum (*p->at) || *p->at == '_')
    p->at++;
  return g_strndup (begin, (gsize)(p->at - begin));
}

/* ---- numbers and units ------------------------------------------------------- */

static int
measure_of (const LoomParamSpec *spec)
{
  for (guint i = 0; i < G_N_ELEMENTS (measures); i++)
    if (g_str_has_suffix (spec->name, measures[i].ending) || g_strcmp0 (spec->unit, measures[i].word) == 0)
      return (int)i;
  return -1;
}

static double
with_unit (Parser *p, double number, const char *word)
{
  int measure = measure_of (p->spec);

  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    if (strcmp (units[i].name, word) == 0)
      {
        p->is_formula = p->is_ours = TRUE;
        if (units[i].dimension == PLAIN)
          return number * units[i].factor;
        if (measure < 0 || measures[measure].dimension != units[i].dimension)
          return fail (p,
                       units[i].dimension == SECONDS
                           ? "“%s” is a unit of time, but this value is not a time."
                           : "“%s” is a unit of memory, but this value is not an amount of memory.",
                       word);
        return number * units[i].factor / measures[measure].one;
      }
  return fail (p, "“%s” is not a known unit.", word);
}

/* A percent sign after a number ends it; between two numbers it is the remainder. */
static gboolean
is_percent (const char *at)
{
  if (*at != '%')
    return FALSE;
  for (at++; g_ascii_isspace (*at);)
    at++;
  return !g_ascii_isalnum (*at) && *at != '(' && *at != '.' && *at != '_';
}

static double
number (Parser *p)
{
  gboolean is_int;
  gsize n = loom_expr_number_length (p->at, &is_int);
  g_autofree char *text = g_strndup (p->at, n);
  double value = g_ascii_strtod (text, NULL);
  const char *after;

  p->at += n;
  after = p->at;
  skip (p);
  if (is_percent (p->at))
    {
      p->at++;
      p->is_formula = p->is_ours = TRUE;
      return value / 100;
    }
  if (g_ascii_isalpha (*p->at))
    {
      g_autofree char *word = take_word (p);

      return with_unit (p, value, word);
    }
  p->at = after;
  return value;
}

/* ---- names ------------------------------------------------------------------- */

static double
call (Parser *p, const char *name)
{
  double value = expression (p);

  if (strcmp (name, "min") == 0 || strcmp (name, "max") == 0)
    while (p->wrong == NULL && take (p, ","))
      {
        double other = expression (p);

        value = name[1] == 'i' ? MIN (value, other) : MAX (value, other);
      }
  else
    {
      p->is_ours = TRUE;
      if (strcmp (name, "sqrt") == 0)
        value = sqrt (value);
      else if (strcmp (name, "floor") == 0)
        value = floor (value);
      else if (strcmp (name, "ceil") == 0)
        value = ceil (value);
      else if (strcmp (name, "round") == 0)
        value = round (value);
      else
        return fail (p, "“%s” is not a function. The functions are min, max, sqrt, floor, ceil and round.", name);
    }
  return take (p, ")") ? value : fail (p, "A closing bracket is missing.", NULL);
}

static double
name_value (Parser *p)
{
  g_autofree char *name = take_word (p);
  double value = NAN;

  p->is_formula = TRUE;
  if (take (p, "("))
    return call (p, name);
  switch (p->lookup != NULL ? p->lookup (name, &value, p->data) : STUDIO_NAME_UNKNOWN)
    {
    case STUDIO_NAME_ARGUMENT:
      p->names_argument = TRUE;
      return value;
    case STUDIO_NAME_NUMBER:
      return isfinite (value) ? value : fail (p, "“%s” is not known yet.", name);
    default:
      return fail (p, "“%s” is neither a number nor a known name.", name);
    }
}

static double
atom (Parser *p)
{
  gboolean is_int;

  skip (p);
  if (loom_expr_number_length (p->at, &is_int) > 0)
    return number (p);
  if (g_ascii_isalpha (*p->at) || *p->at == '_')
    return name_value (p);
  if (take (p, "("))
    {
      double value = expression (p);

      return take (p, ")") ? value : fail (p, "A closing bracket is missing.", NULL);
    }
  if (*p->at == '\0')
    return fail (p, "The end of the expression is missing.", NULL);
  return fail (p, "A number is missing before “%s”.", p->at);
}

/* ---- operators ---------------------------------------------------------------- */

#define MAX_DEPTH 64 /* nested brackets and signs */

static double
power (Parser *p)
{
  double base, value = 0;

  if (++p->depth > MAX_DEPTH)
    return fail (p, "The expression is nested too deeply.", NULL);
  if (take (p, "-"))
    value = -power (p);
  else if (take (p, "+"))
    value = power (p);
  else
    {
      value = base = atom (p);
      if (p->wrong == NULL && (take (p, "^") || take (p, "**")))
        {
          p->is_ours = TRUE;
          value = pow (base, power (p));
        }
    }
  p->depth--;
  return value;
}

static double
term (Parser *p)
{
  double value = power (p);

  while (p->wrong == NULL)
    {
      if (take (p, "//"))
        value = floor (value / power (p));
      else if (take (p, "*"))
        value *= power (p);
      else if (take (p, "/"))
        value /= power (p);
      else if (take (p, "%"))
        {
          double by = power (p);

          value -= by * floor (value / by);
        }
      else
        break;
    }
  return value;
}

static double
expression (Parser *p)
{
  double value = term (p);

  while (p->wrong == NULL)
    {
      if (take (p, "+"))
        value += term (p);
      else if (take (p, "-"))
        value -= term (p);
      else
        break;
    }
  return value;
}

/* ---- values ------------------------------------------------------------------- */

static char *
number_text (double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (value == floor (value) && fabs (value) < 9007199254740992.0)
    return g_strdup_printf ("%" G_GINT64_FORMAT, (gint64)value);
  return g_strdup (loom_text_decimal (value, buffer));
}

static gboolean
is_whole (const LoomParamSpec *spec)
{
  return spec->type == LOOM_PARAM_INT || spec->type == LOOM_PARAM_INTS || spec->type == LOOM_PARAM_SHAPE;
}

/* One number of a value that may be a formula; NULL with p->wrong. */
static char *
read_part (Parser *p, const char *part, double *value)
{
  g_autofree char *shown = NULL;

  p->at = part;
  *value = expression (p);
  skip (p);
  if (p->wrong == NULL && *p->at != '\0')
    fail (p, "“%s” is not allowed there.", p->at);
  if (p->wrong == NULL && !isfinite (*value) && !p->names_argument)
    fail (p, "The result is not a number: the expression divides by zero, or is too large.", NULL);
  if (p->wrong != NULL)
    return NULL;
  /* 0.1 * 30 is not exactly 3. */
  if (is_whole (p->spec) && fabs (*value - round (*value)) < 1e-9 * MAX (1, fabs (*value)))
    *value = round (*value);
  shown = isfinite (*value) ? number_text (*value) : g_strdup ("?");
  if (is_whole (p->spec) && isfinite (*value) && *value != floor (*value))
    fail (p, "The result is %s, but this value must be a whole number.", shown);
  return p->wrong == NULL ? g_steal_pointer (&shown) : NULL;
}

static gboolean
is_list (const LoomParamSpec *spec)
{
  return spec->type == LOOM_PARAM_INTS || spec->type == LOOM_PARAM_FLOATS || spec->type == LOOM_PARAM_SHAPE;
}

/* Splits at commas outside of brackets. */
static GPtrArray *
split (const LoomParamSpec *spec, const char *text)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
  const char *begin = text;
  int depth = 0;

  for (const char *at = text;; at++)
    {
      depth += (*at == '(') - (*at == ')');
      if (*at != '\0' && !(*at == ',' && depth == 0 && is_list (spec)))
        continue;
      g_ptr_array_add (parts, g_strstrip (g_strndup (begin, (gsize)(at - begin))));
      begin = at + 1;
      if (*at == '\0')
        return parts;
    }
}

/* A symbol of a shape, or text that is no formula. */
static gboolean
is_literal (const LoomParamSpec *spec, const char *part)
{
  LoomShape shape;
  LoomParamSpec one = { .name = spec->name, .type = is_whole (spec) ? LOOM_PARAM_INT : LOOM_PARAM_FLOAT };
  g_autofree char *wrong = NULL;

  if (spec->type == LOOM_PARAM_SHAPE && part[0] != '\0' && loom_shape_parse (part, &shape))
    return TRUE;
  wrong = part[0] != '\0' ? studio_param_check (&one, part) : NULL;
  return part[0] != '\0' && wrong == NULL && !loom_expr_is (part);
}

typedef struct
{
  StudioValueLookup lookup;
  gpointer data;
} Names;

static gboolean
expr_lookup (const char *name, LoomNumber *value, gpointer data)
{
  const Names *names = data;
  double d = NAN;

  if (names->lookup == NULL || names->lookup (name, &d, names->data) != STUDIO_NAME_ARGUMENT || !isfinite (d))
    return FALSE;
  value->is_int = d == floor (d);
  value->i = (gint64)d;
  value->d = d;
  return TRUE;
}

/* Reads an expression that names an argument: the file keeps the text, and its current value is shown. */
static StudioValue
read_expression (const char *text, StudioValueLookup lookup, gpointer data)
{
  Names names = { lookup, data };
  StudioValue value = { .text = g_strdup (text) };
  LoomNumber n;

  /* An unknown name is checked where the argument is used. */
  if (loom_expr_eval (text, expr_lookup, &names, &n, NULL))
    {
      g_autofree char *shown = number_text (n.is_int ? (double)n.i : n.d);

      value.shown = g_strdup_printf ("= %s", shown);
    }
  return value;
}

/* A formula that names an argument, in the syntax of expressions in files. */
static StudioValue
keep_as_expression (const Parser *p, const char *text, GPtrArray *parts)
{
  g_autofree char *kept = g_strdup_printf ("{%s}", text);

  if (p->is_ours)
    return (StudioValue){ .wrong
                          = g_strdup ("An expression with an argument of the module is saved as it is and supports "
                                      "only + - * / // % ( ) min and max.") };
  if (parts->len > 1)
    return (StudioValue){ .wrong = g_strdup ("An expression is one number, not a list.") };
  return read_expression (kept, p->lookup, p->data);
}

static gboolean
takes_formulas (const LoomParamSpec *spec)
{
  return is_list (spec) || spec->type == LOOM_PARAM_INT || spec->type == LOOM_PARAM_FLOAT;
}

StudioValue
studio_value_read (const LoomParamSpec *spec, const char *typed, StudioValueLookup lookup, gpointer data)
{
  g_autofree char *text = g_strstrip (g_strdup (typed));
  Parser p = { .spec = spec, .lookup = lookup, .data = data };
  g_autoptr (GPtrArray) parts = NULL;
  g_autoptr (GString) whole = g_string_new (NULL);
  StudioValue value = { NULL };

  if (loom_expr_is (text))
    return read_expression (text, lookup, data);
  parts = split (spec, text);
  for (guint i = 0; takes_formulas (spec) && text[0] != '\0' && i < parts->len; i++)
    {
      const char *part = parts->pdata[i];
      double number_value;
      g_autofree char *one = is_literal (spec, part) ? g_strdup (part) : read_part (&p, part, &number_value);

      if (one == NULL)
        return (StudioValue){ .wrong = p.wrong };
      g_string_append_printf (whole, "%s%s", i > 0 ? "," : "", one);
    }
  if (p.names_argument)
    return keep_as_expression (&p, text, parts);
  value.text = p.is_formula ? g_strdup (whole->str) : g_strdup (text);
  value.wrong = studio_param_check (spec, value.text);
  if (value.wrong != NULL)
    g_clear_pointer (&value.text, g_free);
  else if (p.is_formula)
    value.shown = g_strdup_printf ("= %s", value.text);
  return value;
}

void
studio_value_clear (StudioValue *value)
{
  g_clear_pointer (&value->text, g_free);
  g_clear_pointer (&value->shown, g_free);
  g_clear_pointer (&value->wrong, g_free);
}

char *
studio_value_hint (const LoomParamSpec *spec)
{
  int measure = measure_of (spec);

  if (!takes_formulas (spec))
    return NULL;
  return g_strdup_printf (
      "A number or a formula: 4*in_features, 2^10, 1/3%s%s. Drag to change it, with Shift finely, "
      "with Ctrl coarsely.",
      spec->type == LOOM_PARAM_FLOAT || spec->type == LOOM_PARAM_FLOATS ? ", 10 %" : ", 64k (64,000), 64Ki (65,536)",
      measure < 0                              ? ""
      : measures[measure].dimension == SECONDS ? ", 5 min"
                                               : ", 2 GiB");
}
