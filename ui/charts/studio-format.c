/* Numbers as people read them: the same everywhere in Studio. */
#include "ui/charts/studio-plot.h"

#include <math.h>

char *
studio_format_number (double v)
{
  if (isnan (v))
    return g_strdup ("not a number");
  if (isinf (v))
    return g_strdup (v > 0 ? "infinite" : "−infinite");
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
  if (text[0] == '-')
    return g_strconcat ("−", text + 1, NULL);
  return g_strdup (text);
}

char *
studio_format_tick (double value, double step)
{
  double v = fabs (value) < step / 1e6 ? 0 : value, large = MAX (fabs (v), step), scaled = step;
  char text[48];
  int decimals = 0;
  if (large >= 1e6 || large < 1e-3)
    {
      /* Digits of the mantissa down to the step's place. */
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
  return text[0] == '-' ? g_strconcat ("−", text + 1, NULL) : g_strdup (text);
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
        g_string_append_c (s, ',');
    }
  return g_string_free (s, FALSE);
}
