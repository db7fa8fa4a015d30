/* Titles of parameters, and arithmetic of dragging a number; see the header. */
#include "ui/inspector/studio-inspector-params.h"

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
  /* Small integers change in steps of 1, large ones in larger steps; other numbers by their order of magnitude, so that
   * 0.001 can be dragged. */
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
