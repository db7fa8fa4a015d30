/* Makes untrusted names and sentences safe for a terminal or a label. */
#include "engine/core/loom-text.h"

#include <string.h>

#include "engine/core/loom-compare.h"

gboolean
loom_text_is_control (gunichar c)
{
  return g_unichar_iscntrl (c) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e)
         || (c >= 0x2066 && c <= 0x2069);
}

char *
loom_text_printable (const char *text, gboolean one_line, glong most)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  GString *s = g_string_new (NULL);
  glong n = 0;

  for (const char *p = valid; *p; p = g_utf8_next_char (p), n++)
    {
      gunichar c = g_utf8_get_char (p);
      if (n == most)
        {
          g_string_append (s, "…");
          break;
        }
      if (c == '\n' && one_line)
        g_string_append (s, "\\n");
      else if (loom_text_is_control (c) && c != '\n' && c != '\t')
        g_string_append_printf (s, "\\u%04x", c);
      else
        g_string_append_unichar (s, c);
    }
  return g_string_free (s, FALSE);
}

static gboolean
is_shown_as_it_is (const char *text)
{
  g_autofree char *shown = loom_text_printable (text, TRUE, G_MAXLONG);

  return strcmp (shown, text) == 0;
}

/* A printf command for a word with control characters: all bytes except letters and digits are octal. */
static char *
spelled_out (const char *word)
{
  GString *s = g_string_new ("\"$(printf '");

  for (const char *p = word; *p != '\0'; p++)
    g_string_append_printf (s, g_ascii_isalnum (*p) ? "%c" : "\\%03o", (guchar)*p);
  return g_string_free (g_string_append (s, "')\""), FALSE);
}

int
loom_compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

int
loom_compare_uints (gconstpointer a, gconstpointer b)
{
  const guint x = *(const guint *)a, y = *(const guint *)b;

  return x < y ? -1 : x > y;
}

char *
loom_text_shell_word (const char *word)
{
  for (const char *p = word; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("/._-+:,=@%", *p) == NULL)
      return is_shown_as_it_is (word) ? g_shell_quote (word) : spelled_out (word);
  return *word != '\0' ? g_strdup (word) : g_strdup ("''");
}

/* Every decimal of at most 15 digits survives as a double, and %g leaves out zeros at the end. */
const char *
loom_text_decimal (double value, char *buffer)
{
  static const char *const formats[] = { "%.15g", "%.16g", "%.17g" };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_ascii_strtod (g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, formats[i], value), NULL) == value)
      break;
  return buffer;
}

static gboolean
is_like_formula (const char *text)
{
  char *end;

  if (*text == '\0' || strchr ("=+-@\t\r", *text) == NULL)
    return FALSE;
  g_ascii_strtod (text, &end);
  return end == text || *end != '\0';
}

void
loom_text_append_csv (GString *to, const char *text)
{
  gboolean guarded = is_like_formula (text);

  if (!guarded && strpbrk (text, ",\"\r\n") == NULL)
    {
      g_string_append (to, text);
      return;
    }
  g_string_append (to, guarded ? "\"'" : "\"");
  for (const char *c = text; *c != '\0'; c++)
    g_string_append_printf (to, "%s%c", *c == '"' ? "\"" : "", *c);
  g_string_append_c (to, '"');
}
