/* Converts the text of one parameter as its LoomParamSpec describes, and checks it against bounds and choices.
 *
 * infer() and lower() read converted values and never text, so no operator parses numbers. */
#include "engine/ops/loom-param.h"

#include <math.h>
#include <string.h>

#include "engine/graph/loom-expr.h"
#include "engine/ops/loom-context.h"

/* ---- texts ------------------------------------------------------------- */

gboolean
loom_param_parse_bool (const char *text, gboolean *value)
{
  *value = strcmp (text, "true") == 0;
  return *value || strcmp (text, "false") == 0;
}

gboolean
loom_param_parse_int (const char *text, gint64 *value)
{
  gboolean negative = *text == '-';
  guint64 n = 0;

  text += *text == '-' || *text == '+';
  if (*text == 0)
    return FALSE;
  for (; *text != 0; text++)
    {
      if (!g_ascii_isdigit (*text) || n > (G_MAXINT64 - (guint64)(*text - '0')) / 10)
        return FALSE;
      n = n * 10 + (guint64)(*text - '0');
    }
  *value = negative ? -(gint64)n : (gint64)n;
  return TRUE;
}

gboolean
loom_param_parse_float (const char *text, double *value)
{
  char *end;

  /* strtod would also accept hexadecimal numbers and names of infinity. */
  if (text[strspn (text, "0123456789+-.eE")] != 0)
    return FALSE;
  *value = g_ascii_strtod (text, &end);
  return end != text && *end == 0 && isfinite (*value);
}

/* ---- one parameter ---------------------------------------------------------- */

#define complain(infer, name, ...) loom_infer_fault (infer, LOOM_ERROR_SCHEMA, name, __VA_ARGS__)

static gboolean
in_range (LoomInfer *infer, const LoomParamSpec *spec, double value, const char *text)
{
  g_autofree char *limit = NULL;
  gboolean low, high;
  double bound;
  LoomNumber fixed;

  if (spec->minimum == 0 && spec->maximum == 0)
    return TRUE;
  /* If the maximum is below the minimum, there is no maximum. */
  low = value < spec->minimum;
  high = spec->maximum >= spec->minimum && value > spec->maximum;
  if (!low && !high)
    return TRUE;
  bound = low ? spec->minimum : spec->maximum;
  fixed = (LoomNumber){ .is_int = spec->type == LOOM_PARAM_INT || spec->type == LOOM_PARAM_INTS };
  if (fixed.is_int)
    fixed.i = (gint64)bound;
  else
    fixed.d = bound;
  limit = loom_number_to_string (fixed);
  loom_fault_set_fix (
      complain (infer, spec->name, "%s is %s; it must be at %s %s.", spec->name, text, low ? "least" : "most", limit),
      spec->name, limit, "Set it to %s.", limit);
  return FALSE;
}

static gboolean
parse_list (LoomInfer *infer, const LoomParamSpec *spec, const char *text, LoomParam *param)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  guint n = g_strv_length (items), length = (guint)spec->length;
  gboolean ints = spec->type == LOOM_PARAM_INTS;

  if (n != 1 && length > 0 && n != length)
    {
      complain (infer, spec->name, "%s is “%s”, which has %u numbers; it takes one or %u.", spec->name, text, n,
                length);
      return FALSE;
    }
  param->n = MAX (n, length);
  if (ints)
    param->ints = loom_infer_keep (infer, sizeof (gint64) * param->n);
  else
    param->floats = loom_infer_keep (infer, sizeof (double) * param->n);
  for (guint i = 0; i < param->n; i++)
    {
      const char *item = g_strstrip (items[n == 1 ? 0 : i]);

      if (ints ? !loom_param_parse_int (item, param->ints + i) : !loom_param_parse_float (item, param->floats + i))
        {
          LoomFault *fault = complain (infer, spec->name, "%s is “%s”, which is not a list of %s such as “%s”.",
                                       spec->name, text, ints ? "integers" : "numbers", ints ? "3,3" : "0.5,1");
          double number;

          if (ints && loom_param_parse_float (text, &number))
            loom_fault_set_fix (fault, NULL, NULL, "In an expression // divides without a remainder.");
          return FALSE;
        }
      if (!in_range (infer, spec, ints ? (double)param->ints[i] : param->floats[i], item))
        return FALSE;
    }
  return TRUE;
}

static gboolean
parse_choice (LoomInfer *infer, const LoomParamSpec *spec, const char *text, const char *const *choices)
{
  g_autofree char *list = NULL;
  const char *near;
  LoomFault *fault;

  if (g_strv_contains (choices, text))
    return TRUE;
  list = g_strjoinv (", ", (char **)choices);
  near = loom_nearest (text, choices);
  fault = complain (infer, spec->name, "%s is “%s”; it must be one of: %s.", spec->name, text, list);
  if (near != NULL)
    loom_fault_set_fix (fault, spec->name, near, "Did you mean “%s”?", near);
  return FALSE;
}

/* "2,-1,T", in which −1 stands for a size that the operator infers: it becomes an unknown dimension. */
static gboolean
parse_dynamic_shape (const char *text, LoomShape *shape)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  LoomShape open = { 0 };

  for (guint i = 0; items[i] != NULL; i++)
    {
      LoomShape one = { .rank = 1, .dim = { loom_dim_unknown () } };

      if (open.rank == LOOM_SHAPE_MAX_RANK
          || (strcmp (g_strstrip (items[i]), "-1") != 0 && (!loom_shape_parse (items[i], &one) || one.rank != 1)))
        return FALSE;
      open.dim[open.rank++] = one.dim[0];
    }
  *shape = open;
  return TRUE;
}

/* The two most frequent mistakes: a symbol in lower case, and more dimensions than a tensor can have. */
static void
complain_shape (LoomInfer *infer, const LoomParamSpec *spec, const char *text)
{
  LoomFault *fault
      = complain (infer, spec->name, "%s is “%s”, which is not a shape such as “B,1,28,28”.", spec->name, text);
  g_autofree char *upper = g_ascii_strup (text, -1);
  g_auto (GStrv) items = g_strsplit (text, ",", -1);
  LoomShape shape;

  if (strcmp (upper, text) != 0 && loom_shape_parse (upper, &shape))
    loom_fault_set_fix (fault, spec->name, upper, "Symbols are capital letters: “%s”.", upper);
  else if (g_strv_length (items) > LOOM_SHAPE_MAX_RANK)
    loom_fault_set_fix (fault, NULL, NULL, "It has %u dimensions; a tensor has %d at most.", g_strv_length (items),
                        LOOM_SHAPE_MAX_RANK);
}

gboolean
loom_param_parse (LoomInfer *infer, const LoomParamSpec *spec, const char *text, LoomParam *param)
{
  gboolean boolean;
  double number;

  switch (spec->type)
    {
    case LOOM_PARAM_INT:
      if (loom_param_parse_int (text, &param->i))
        return in_range (infer, spec, (double)param->i, text);
      {
        LoomFault *fault = complain (infer, spec->name, "%s is “%s”, which is not an integer.", spec->name, text);

        if (loom_param_parse_float (text, &number))
          loom_fault_set_fix (fault, NULL, NULL, "In an expression // divides without a remainder.");
      }
      return FALSE;
    case LOOM_PARAM_FLOAT:
      if (loom_param_parse_float (text, &param->d))
        return in_range (infer, spec, param->d, text);
      complain (infer, spec->name, "%s is “%s”, which is not a number.", spec->name, text);
      return FALSE;
    case LOOM_PARAM_BOOL:
      if (loom_param_parse_bool (text, &boolean))
        {
          param->i = boolean;
          return TRUE;
        }
      complain (infer, spec->name, "%s is “%s”; it must be true or false.", spec->name, text);
      return FALSE;
    case LOOM_PARAM_ENUM:
      return parse_choice (infer, spec, text, spec->choices);
    case LOOM_PARAM_INTS:
    case LOOM_PARAM_FLOATS:
      return parse_list (infer, spec, text, param);
    case LOOM_PARAM_SHAPE:
      param->shape = loom_infer_keep (infer, sizeof (LoomShape));
      if (spec->minimum < 0 ? parse_dynamic_shape (text, param->shape) : loom_shape_parse (text, param->shape))
        return TRUE;
      complain_shape (infer, spec, text);
      return FALSE;
    case LOOM_PARAM_DTYPE:
      for (int d = 0; d < LOOM_N_DTYPES; d++)
        if (strcmp (loom_dtype_name (d), text) == 0)
          {
            param->dtype = d;
            return TRUE;
          }
      return parse_choice (infer, spec, text, loom_dtype_names ());
    default:
      return spec->choices == NULL || parse_choice (infer, spec, text, spec->choices);
    }
}
