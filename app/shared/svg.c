/* Appends elements of SVG; see the header. */
#include "app/shared/svg.h"

#include <math.h>

const char *
svg_coordinate (double value, char *buffer)
{
  return g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.10g", round (value * 100) / 100 + 0.0);
}

void
svg_add_text (GString *to, double x, double y, const char *style, const char *format, ...)
{
  char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *text = NULL, *escaped = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  escaped = g_markup_escape_text (text, -1);
  g_string_append_printf (to, "<text x=\"%s\" y=\"%s\" %s>%s</text>\n", svg_coordinate (x, a), svg_coordinate (y, b),
                          style, escaped);
}
