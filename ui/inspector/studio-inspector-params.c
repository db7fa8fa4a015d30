/* Titles of parameters, and arithmetic of dragging a number; see the header. */
#include "ui/inspector/studio-inspector-params.h"

#include "ui/document/studio-param-check.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/scene/studio-format.h"

/* Titles of names that are too short to be clear; the name in the file follows in parentheses. Parameters of operators
 * have PyTorch's names in every language. */
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

/* One number, moved; NULL where the text is none. */
static char *
dragged_number (const LoomParamSpec *spec, const char *text, gboolean is_whole, double ticks)
{
  char *end;
  double value = g_ascii_strtod (text, &end), step;
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (end == text || *end != '\0')
    return NULL;
  /* Small integers change in steps of 1, large ones in larger steps; other numbers by their order of magnitude, so that
   * 0.001 can be dragged. */
  if (is_whole)
    {
      step = fabs (value) >= 256 ? 16 : fabs (value) >= 64 ? 4 : 1;
      value += step * ticks;
    }
  else
    {
      step = value != 0 ? pow (10, floor (log10 (fabs (value)))) / 10 : 0.1;
      value += step * ticks;
      value = floor (value / step + 0.5) * step;
    }
  if (spec->minimum != 0 || spec->maximum != 0)
    value = CLAMP (value, spec->minimum, spec->maximum);
  /* A text that may be a number is a padding, which is never negative. */
  else if (spec->type == LOOM_PARAM_STRING)
    value = MAX (value, 0);
  if (is_whole)
    return g_strdup_printf ("%" G_GINT64_FORMAT, (gint64)value);
  g_ascii_formatd (buffer, sizeof buffer, "%.6g", value);
  return g_strdup (buffer);
}

char *
studio_number_dragged (const LoomParamSpec *spec, const char *text, double dx, StudioDragSpeed speed)
{
  const gboolean is_whole = spec->type != LOOM_PARAM_FLOAT && spec->type != LOOM_PARAM_FLOATS;
  const double pixels = speed == STUDIO_DRAG_FINE ? 24 : speed == STUDIO_DRAG_COARSE ? 0.8 : 8;
  g_auto (GStrv) parts = g_strsplit (text[0] != '\0' ? text : spec->def != NULL ? spec->def : "", ",", -1);

  if (parts[0] == NULL || !studio_param_takes_numbers (spec))
    return NULL;
  for (guint i = 0; parts[i] != NULL; i++)
    {
      char *moved = dragged_number (spec, g_strstrip (parts[i]), is_whole, trunc (dx / pixels));

      if (moved == NULL)
        return NULL;
      g_free (parts[i]);
      parts[i] = moved;
    }
  return g_strjoinv (",", parts);
}
