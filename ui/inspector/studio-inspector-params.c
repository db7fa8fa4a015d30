/* Sentences about a value while it is being typed. The engine judges again; this judges sooner. */
#include "ui/inspector/studio-inspector-params.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/scene/studio-format.h"

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
    return g_strdup_printf (ngettext ("One number, or %d with commas between them.",
                                      "One number, or %d with commas between them.", (gulong)spec->length),
                            spec->length);
  return NULL;
}

char *
studio_param_check (const LoomParamSpec *spec, const char *text)
{
  LoomShape shape;
  gsize n = strlen (text);

  if (n == 0)
    return spec->def == NULL && spec->type != LOOM_PARAM_SHAPE ? g_strdup (_ ("A value is needed here.")) : NULL;
  /* An expression is judged where its arguments are known. */
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
                 : g_strdup (_ ("A shape is numbers and capital letters with commas, as in B,1,28,28."));
    case LOOM_PARAM_BOOL:
    case LOOM_PARAM_ENUM:
    case LOOM_PARAM_DTYPE:
    case LOOM_PARAM_STRING:
    case LOOM_PARAM_PATH:
      return NULL;
    }
  return NULL;
}

/* Names too short to speak for themselves; the name in a file stays beside the words, for those who know it. Names of
 * operators' own parameters are PyTorch's, in every language. */
static const struct
{
  const char *name, *title;
} titles[] = {
  { "p", N_ ("Dropout rate (p)") },
  { "n", N_ ("Samples (n)") },
  { "n_test", N_ ("Test samples (n_test)") },
  { "eps", N_ ("Epsilon (eps)") },
  { "dim", N_ ("Dimension (dim)") },
  { "keepdim", N_ ("Keep dimension (keepdim)") },
  { "dtype", N_ ("Element type (dtype)") },
  { "title", N_ ("Title") },
  { "width", N_ ("Width") },
  { "height", N_ ("Height") },
  { "color", N_ ("Color") },
};

char *
studio_param_title (const char *name)
{
  char *title;

  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    if (strcmp (titles[i].name, name) == 0)
      return g_strdup (_ (titles[i].title));
  title = g_strdelimit (g_strdup (name), "_", ' ');
  title[0] = g_ascii_toupper (title[0]);
  return title;
}

char *
studio_count_text (double n)
{
  static const struct
  {
    double least, unit;
    const char *format;
  } large[] = { { 1e15, 1, "%.3g" }, { 1e12, 1e12, "%.4g T" }, { 1e9, 1e9, "%.4g G" }, { 1e7, 1e6, "%.4g M" } };

  for (guint i = 0; i < G_N_ELEMENTS (large); i++)
    if (n >= large[i].least)
      {
        g_autofree char *text = g_strdup_printf (large[i].format, n / large[i].unit);

        return studio_format_local (text);
      }
  return studio_format_count (n);
}

char *
studio_number_dragged (const LoomParamSpec *spec, const char *text, double dx, StudioDragSpeed speed)
{
  gboolean is_integer = spec->type == LOOM_PARAM_INT;
  const char *written = text[0] != '\0' ? text : spec->def != NULL ? spec->def : "";
  char *end;
  const double pixels = speed == STUDIO_DRAG_FINE ? 24 : speed == STUDIO_DRAG_COARSE ? 0.8 : 8;
  double value = g_ascii_strtod (written, &end), step;
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (end == written || *end != '\0' || (spec->type != LOOM_PARAM_INT && spec->type != LOOM_PARAM_FLOAT))
    return NULL;
  /* A whole number goes by ones, a larger one by more; another by its own order of size, so that 0.001 can be dragged.
   */
  if (is_integer)
    {
      step = fabs (value) >= 256 ? 16 : fabs (value) >= 64 ? 4 : 1;
      value += step * trunc (dx / pixels);
    }
  else
    {
      step = value != 0 ? pow (10, floor (log10 (fabs (value)))) / 10 : 0.1;
      value += step * trunc (dx / pixels);
      value = floor (value / step + 0.5) * step;
    }
  if (spec->minimum != 0 || spec->maximum != 0)
    value = CLAMP (value, spec->minimum, spec->maximum);
  if (is_integer)
    return g_strdup_printf ("%" G_GINT64_FORMAT, (gint64)value);
  g_ascii_formatd (buffer, sizeof buffer, "%.6g", value);
  return g_strdup (buffer);
}
