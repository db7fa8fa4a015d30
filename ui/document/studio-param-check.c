/* Checks a value while it is being typed, before the engine does. */
#include "ui/document/studio-param-check.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static char *
check_number (const LoomParamSpec *spec, const char *text, gboolean is_int)
{
  char *end = NULL;
  double value;

  if (is_int)
    {
      gint64 n;

      if (!g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &n, NULL))
        return g_strdup_printf (_ ("“%s” is not a whole number."), text);
      value = n;
    }
  else
    {
      value = g_ascii_strtod (text, &end);
      if (end == text || *end != '\0' || !isfinite (value))
        return g_strdup_printf (_ ("“%s” is not a number."), text);
    }
  if (spec->minimum == 0 && spec->maximum == 0)
    return NULL;
  if (value < spec->minimum)
    return g_strdup_printf (_ ("At least %.10g."), spec->minimum);
  if (value > spec->maximum)
    return g_strdup_printf (_ ("At most %.10g."), spec->maximum);
  return NULL;
}

static char *
check_list (const LoomParamSpec *spec, const char *text, gboolean is_int)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  guint n = g_strv_length (parts);

  for (guint i = 0; i < n; i++)
    {
      char *wrong = check_number (spec, g_strstrip (parts[i]), is_int);

      if (wrong != NULL)
        return wrong;
    }
  if (spec->length > 0 && n != 1 && n != (guint)spec->length)
    return g_strdup_printf (ngettext ("One number, or %d separated by commas.",
                                      "One number, or %d separated by commas.", (gulong)spec->length),
                            spec->length);
  return NULL;
}

char *
studio_param_check (const LoomParamSpec *spec, const char *text)
{
  LoomShape shape;
  gsize n = strlen (text);

  if (n == 0)
    return spec->def == NULL && spec->type != LOOM_PARAM_SHAPE ? g_strdup (_ ("A value is required.")) : NULL;
  /* An expression is checked where its arguments are known. */
  if (n >= 2 && text[0] == '{' && text[n - 1] == '}')
    return NULL;
  switch (spec->type)
    {
    case LOOM_PARAM_INT:
      return check_number (spec, text, TRUE);
    case LOOM_PARAM_FLOAT:
      return check_number (spec, text, FALSE);
    case LOOM_PARAM_INTS:
      return check_list (spec, text, TRUE);
    case LOOM_PARAM_FLOATS:
      return check_list (spec, text, FALSE);
    case LOOM_PARAM_SHAPE:
      return loom_shape_parse (text, &shape)
                 ? NULL
                 : g_strdup (_ ("A shape is a list of numbers and capital letters, such as B,1,28,28."));
    case LOOM_PARAM_BOOL:
    case LOOM_PARAM_ENUM:
    case LOOM_PARAM_DTYPE:
    case LOOM_PARAM_STRING:
    case LOOM_PARAM_PATH:
      return NULL;
    }
  return NULL;
}

gboolean
studio_param_takes_numbers (const LoomParamSpec *spec)
{
  const char *likely = spec->def != NULL ? spec->def : spec->fresh;
  char *end = NULL;

  switch (spec->type)
    {
    case LOOM_PARAM_INT:
    case LOOM_PARAM_FLOAT:
    case LOOM_PARAM_INTS:
    case LOOM_PARAM_FLOATS:
      return TRUE;
    case LOOM_PARAM_STRING:
      if (spec->choices != NULL || likely == NULL || likely[0] == '\0')
        return FALSE;
      g_ascii_strtod (likely, &end);
      return *end == '\0';
    case LOOM_PARAM_SHAPE:
    case LOOM_PARAM_BOOL:
    case LOOM_PARAM_ENUM:
    case LOOM_PARAM_DTYPE:
    case LOOM_PARAM_PATH:
      return FALSE;
    }
  return FALSE;
}
