/* Formats and parses amounts of memory. */
#include "engine/core/loom-bytes.h"

#include "engine/core/loom-os.h"

#include <math.h>
#include <string.h>

char *
loom_bytes_to_string (double bytes)
{
  static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB" };
  const char *sign = bytes < 0 ? "−" : "";
  guint u = 0;

  /* A number that would be rounded to 1000 of a unit becomes 1.0 of the next unit. */
  for (bytes = fabs (bytes); bytes >= 999.5 && u + 1 < G_N_ELEMENTS (unit); u++)
    bytes /= 1000;
  return g_strdup_printf (u == 0 || bytes >= 99.95 ? "%s%.0f %s" : "%s%.1f %s", sign, bytes, unit[u]);
}

gboolean
loom_bytes_parse (const char *text, double *bytes)
{
  char *end;

  *bytes = g_ascii_strtod (text, &end);
  *bytes *= g_str_equal (end, "k") ? 1e3 : g_str_equal (end, "M") ? 1e6 : g_str_equal (end, "G") ? 1e9 : 1;
  return end != text && (*end == '\0' || end[1] == '\0') && strchr ("kMG", *end) != NULL && *bytes > 0 && *bytes < 1e18;
}

guint64
loom_bytes_of_process (gboolean most)
{
  g_autofree char *text = NULL;
  const char *name = most ? "\nVmHWM:" : "\nVmRSS:", *line;

  if (!loom_path_read ("/proc/self/status", &text, NULL, NULL))
    return 0;
  line = strstr (text, name);
  return line != NULL ? g_ascii_strtoull (line + strlen (name), NULL, 10) * 1024 : 0;
}
