/* Formats numbers for display everywhere in Studio; never for files and formulas. */
#include "ui/scene/studio-format.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static char *decimal_point, *group_separator;

void
studio_format_set_separators (const char *point, const char *separator)
{
  g_free (decimal_point);
  g_free (group_separator);
  decimal_point = g_strdup (point);
  /* The C locale has no thousands separator. */
  group_separator = separator != NULL && *separator != '\0' ? g_strdup (separator) : NULL;
}

static char *
from_locale (const char *text, const char *charset)
{
  char *converted = g_convert (text, -1, "UTF-8", charset, NULL, NULL, NULL);

  /* Some locales have a control character for a blank, which would be drawn as a box. */
  if (converted != NULL && converted[0] != '\0' && g_unichar_iscntrl (g_utf8_get_char (converted)))
    g_clear_pointer (&converted, g_free);
  return converted;
}

void
studio_format_set_locale_separators (const char *point, const char *separator, const char *charset)
{
  g_autofree char *own_point = from_locale (point, charset), *own_separator = from_locale (separator, charset);

  studio_format_set_separators (own_point, own_separator);
}

char *
studio_format_local (const char *number)
{
  GString *s = g_string_new (number);

  if (s->len > 0 && s->str[0] == '-')
    g_string_replace (s, "-", "−", 1);
  if (decimal_point != NULL)
    g_string_replace (s, ".", decimal_point, 1);
  return g_string_free (s, FALSE);
}

char *
studio_format_number (double v)
{
  if (isnan (v))
    return g_strdup (_ ("not a number"));
  if (isinf (v))
    return g_strdup (v > 0 ? _ ("infinite") : _ ("−infinite"));
  double a = fabs (v);
  char text[40];
  if (a == 0)
    return g_strdup ("0");
  if (a >= 1e6 || a < 1e-3)
    g_snprintf (text, sizeof text, "%.2e", v);
  else if (a >= 1000)
    g_snprintf (text, sizeof text, "%.0f", v);
  else if (a >= 100)
    g_snprintf (text, sizeof text, "%.1f", v);
  else if (a >= 10)
    g_snprintf (text, sizeof text, "%.2f", v);
  else if (a >= 0.1)
    g_snprintf (text, sizeof text, "%.3f", v);
  else
    g_snprintf (text, sizeof text, "%.4f", v);
  return studio_format_local (text);
}

char *
studio_format_tick (double value, double step)
{
  double v = fabs (value) < step / 1e6 ? 0 : value, large = MAX (fabs (v), step), scaled = step;
  char text[48];
  int decimals = 0;
  if (large >= 1e6 || large < 1e-3)
    {
      /* The number of digits of the mantissa down to the step's. */
      decimals = v == 0 ? 0 : (int)CLAMP (floor (log10 (fabs (v)) + 1e-9) - floor (log10 (step) + 1e-9), 0, 15);
      decimals += v != 0 && fabs (step / pow (10, floor (log10 (step) + 1e-9)) - 2.5) < 1e-6;
      g_snprintf (text, sizeof text, v == 0 ? "0" : "%.*e", decimals, v);
    }
  else
    {
      for (; decimals < 12 && fabs (scaled - round (scaled)) > 1e-6 * scaled; decimals++)
        scaled *= 10;
      g_snprintf (text, sizeof text, "%.*f", decimals, v);
    }
  return studio_format_local (text);
}

char *
studio_format_count (double count)
{
  g_autofree char *digits = g_strdup_printf ("%.0f", fabs (count));
  gsize n = strlen (digits);
  GString *s = g_string_new (count < 0 ? "−" : "");
  for (gsize i = 0; i < n; i++)
    {
      g_string_append_c (s, digits[i]);
      gsize left = n - 1 - i;
      if (left > 0 && left % 3 == 0)
        g_string_append (s, group_separator != NULL ? group_separator : ",");
    }
  return g_string_free (s, FALSE);
}
