/* Reads attributes of <train> and its children as numbers, words and flags; faults name the range or the choices, and
 * the likely intended word. */
#include "engine/recipe/recipe-private.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

LoomFault *
recipe_complain (RecipeReading *r, const LoomElement *e, LoomErrorCode code, const char *attribute, const char *format,
                 ...)
{
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (loom_faults_translate (format), args);
  va_end (args);
  r->failed = TRUE;
  return loom_faults_add (r->faults, code, loom_element_line (e), NULL, attribute, "<%s>: %s",
                          loom_tag_name (loom_element_tag (e)), message);
}

/* Formats all numbers of a sentence alike. */
static const char *
number_text (double value, char *buffer)
{
  return g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, fabs (value) < 1e15 ? "%.15g" : "%.9g", value);
}

/* advice: the value to suggest if it is out of range; NAN: the nearer end. */
static double
read_number (RecipeReading *r, const LoomElement *e, const char *attribute, double fallback, double minimum,
             double maximum, gboolean whole, double advice)
{
  const char *text = loom_element_get (e, attribute);
  char *end;
  double value;

  if (text == NULL)
    return fallback;
  value = g_ascii_strtod (text, &end);
  if (end == text || *end != 0 || text[strspn (text, "0123456789+-.eE")] != 0 || !isfinite (value)
      || (whole && value != floor (value)))
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, attribute,
                     whole ? N_ ("%s is “%s”, which is not an integer.") : N_ ("%s is “%s”, which is not a number."),
                     attribute, text);
  else if (value < minimum || value > maximum)
    {
      char least[G_ASCII_DTOSTR_BUF_SIZE], most[G_ASCII_DTOSTR_BUF_SIZE], better[G_ASCII_DTOSTR_BUF_SIZE];
      LoomFault *fault = recipe_complain (r, e, LOOM_ERROR_SCHEMA, attribute, "%s is %s; it must be from %s to %s.",
                                          attribute, text, number_text (minimum, least), number_text (maximum, most));

      number_text (!isnan (advice) ? advice : value < minimum ? minimum : maximum, better);
      loom_fault_set_fix (fault, attribute, better,
                          isnan (advice) ? N_ ("Set it to %s.") : N_ ("Set it to its default, %s."), better);
    }
  else
    return value;
  return fallback;
}

double
recipe_number_in (RecipeReading *r, const LoomElement *e, const char *attribute, double fallback, double minimum,
                  double maximum, gboolean whole)
{
  return read_number (r, e, attribute, fallback, minimum, maximum, whole, NAN);
}

const LoomParamSpec *
recipe_spec_of (const LoomElement *e, const char *attribute)
{
  const LoomAttribute *found = loom_attribute (loom_element_tag (e), attribute);

  g_assert (found != NULL);

  return &found->spec;
}

double
recipe_number (RecipeReading *r, const LoomElement *e, const char *attribute)
{
  const LoomParamSpec *spec = recipe_spec_of (e, attribute);

  return recipe_number_in (r, e, attribute, g_ascii_strtod (spec->def, NULL), spec->minimum, spec->maximum,
                           spec->type == LOOM_PARAM_INT);
}

double
recipe_hyper (RecipeReading *r, const LoomElement *e, const LoomHyper *hyper)
{
  return read_number (r, e, hyper->name, hyper->value, hyper->minimum, hyper->maximum, hyper->is_integer, hyper->value);
}

guint
recipe_choice_or (RecipeReading *r, const LoomElement *e, const char *attribute, guint fallback,
                  const char *const *choices)
{
  const char *text = loom_element_get (e, attribute), *near;
  g_autofree char *list = NULL;
  LoomFault *fault;

  if (text == NULL)
    return fallback;
  for (guint i = 0; choices[i] != NULL; i++)
    if (strcmp (choices[i], text) == 0)
      return i;
  list = g_strjoinv (", ", (char **)choices);
  near = loom_nearest (text, choices);
  fault = recipe_complain (r, e, LOOM_ERROR_SCHEMA, attribute, "%s is “%s”; it must be one of: %s.", attribute, text,
                           list);
  if (near != NULL)
    loom_fault_set_fix (fault, attribute, near, "Set it to %s.", near);
  return fallback;
}

guint
recipe_choice (RecipeReading *r, const LoomElement *e, const char *attribute)
{
  const LoomParamSpec *spec = recipe_spec_of (e, attribute);
  guint usual = 0;

  while (strcmp (spec->choices[usual], spec->def) != 0)
    usual++;
  return recipe_choice_or (r, e, attribute, usual, spec->choices);
}

gboolean
recipe_flag_or (RecipeReading *r, const LoomElement *e, const char *attribute, gboolean fallback)
{
  const char *text = loom_element_get (e, attribute);
  gboolean flag = fallback;

  if (text != NULL && !loom_param_parse_bool (text, &flag))
    {
      recipe_complain (r, e, LOOM_ERROR_SCHEMA, attribute, "%s is “%s”; it must be true or false.", attribute, text);
      return fallback;
    }
  return flag;
}

gboolean
recipe_flag (RecipeReading *r, const LoomElement *e, const char *attribute)
{
  return recipe_flag_or (r, e, attribute, strcmp (recipe_spec_of (e, attribute)->def, "true") == 0);
}

void
recipe_complain_name (RecipeReading *r, const LoomElement *e, const char *attribute, const char *what)
{
  const char *const *names = loom_attribute (loom_element_tag (e), attribute)->names ();
  const char *text = loom_element_get (e, attribute), *near = loom_nearest (text, names);
  g_autofree char *list = g_strjoinv (", ", (char **)names);
  LoomFault *fault = recipe_complain (r, e, LOOM_ERROR_SCHEMA, attribute,
                                      "the %s “%s” is unknown. The choices are: %s.", what, text, list);

  if (near != NULL)
    loom_fault_set_fix (fault, attribute, near, "Did you mean “%s”?", near);
}

GPtrArray *
recipe_names (LoomTag tag, LoomMetricTakes takes)
{
  GPtrArray *names = g_ptr_array_new ();

  for (const LoomAttribute *a = loom_attributes (tag); a->spec.name != NULL; a++)
    {
      if ((a->takes & takes) != a->takes)
        continue;
      g_ptr_array_add (names, (gpointer)a->spec.name);
      if (a->alias != NULL)
        g_ptr_array_add (names, (gpointer)a->alias);
    }
  return names;
}

void
recipe_check_names (RecipeReading *r, const LoomElement *e, GPtrArray *known, const LoomOptimizer *optimizer)
{
  const char *const *names;

  for (guint k = 0; optimizer != NULL && optimizer->hyper[k].name != NULL; k++)
    {
      g_ptr_array_add (known, (gpointer)optimizer->hyper[k].name);
      if (optimizer->hyper[k].list != NULL)
        g_ptr_array_add (known, (gpointer)optimizer->hyper[k].list);
    }
  g_ptr_array_add (known, NULL);
  names = (const char *const *)known->pdata;
  for (guint i = 0; i < loom_element_n_attributes (e); i++)
    {
      const char *name, *near;
      LoomFault *fault;

      loom_element_attribute (e, i, &name, NULL);
      if (strchr (name, ':') != NULL || g_strv_contains (names, name))
        continue;
      near = loom_nearest (name, names);
      /* Spelt too differently to be suggested. */
      if (near == NULL && g_str_has_prefix (name, "learning") && g_strv_contains (names, "lr"))
        near = "lr";
      if (optimizer != NULL)
        fault = recipe_complain (r, e, LOOM_ERROR_SCHEMA, name, "the optimiser “%s” has no attribute “%s”.",
                                 optimizer->name, name);
      else
        fault = recipe_complain (r, e, LOOM_ERROR_SCHEMA, name, "there is no attribute “%s”.", name);
      if (near != NULL)
        loom_fault_suggest_name (fault, e, name, near);
    }
}
