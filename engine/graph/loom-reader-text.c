/* Checks the text before the XML parser reads it.
 *
 * The parser itself is vulnerable: it processes the declarations of a document type before it reports them, and it
 * compares each attribute of an element with all others, so that one element with many attributes keeps it busy for
 * minutes. One pass over the text finds both. */
#include "engine/graph/reader-private.h"

#include "engine/core/loom-refuse.h"

#include <string.h>

/* An operator has at most a few dozen parameters. */
#define MAX_ATTRIBUTES 256

static int
line_of (const char *data, const char *place)
{
  int line = 1;

  for (const char *c = data; c < place; c++)
    line += *c == '\n';
  return line;
}

static const char *
find (const char *s, const char *end, const char *what)
{
  const char *found = memmem (s, (gsize)(end - s), what, strlen (what));

  return found != NULL ? found + strlen (what) : end;
}

static gboolean
begins (const char *s, const char *end, const char *what)
{
  return (gsize)(end - s) >= strlen (what) && memcmp (s, what, strlen (what)) == 0;
}

/* Skips one tag and returns the position after it; n counts its attributes. Quoted text is skipped. */
static const char *
skip_tag (const char *s, const char *end, guint *n)
{
  *n = 0;
  while (s < end && *s != '>')
    {
      if (*s == '"' || *s == '\'')
        {
          const char *pair = memchr (s + 1, *s, (gsize)(end - s - 1));

          if (pair == NULL)
            return end;
          s = pair;
        }
      else if (*s == '=')
        (*n)++;
      s++;
    }
  return s;
}

/* The position after a comment, an instruction or a CDATA section that begins at s; NULL if none begins there. */
static const char *
skip_special (const char *s, const char *end)
{
  return begins (s, end, "<!--")        ? find (s + 4, end, "-->")
         : begins (s, end, "<?")        ? find (s + 2, end, "?>")
         : begins (s, end, "<![CDATA[") ? find (s, end, "]]>")
                                        : NULL;
}

char *
loom_reading_innermost_open (const char *data, gsize length, int *line)
{
  g_autoptr (GPtrArray) open = g_ptr_array_new ();
  const char *s = data, *end = data + length, *innermost;
  guint n;

  while (s < end && (s = memchr (s, '<', (gsize)(end - s))) != NULL)
    {
      const char *tag = s, *next = skip_special (s, end);

      if (next != NULL)
        {
          s = next;
          continue;
        }
      s = skip_tag (s + 1, end, &n);
      if (!begins (tag, end, "</"))
        {
          if (s >= end || s[-1] != '/')
            g_ptr_array_add (open, (gpointer)tag);
        }
      else if (open->len > 0)
        g_ptr_array_set_size (open, (int)open->len - 1);
    }
  if (open->len == 0)
    return NULL;
  innermost = open->pdata[open->len - 1];
  *line = line_of (data, innermost);
  for (s = innermost + 1; s < end && !g_ascii_isspace (*s) && *s != '>' && *s != '/'; s++)
    ;
  return g_strndup (innermost + 1, (gsize)(s - innermost - 1));
}

gboolean
loom_reading_is_cut_off (const char *data, gsize length)
{
  int line;
  g_autofree char *open = loom_reading_innermost_open (data, length, &line);

  return open != NULL;
}

/* A file with a zero byte is no text, unless every second byte is zero (UTF-16). */
static gboolean
check_is_text (const char *file, const char *data, gsize length, GError **error)
{
  gboolean is_utf16 = length >= 2 && (memcmp (data, "\xff\xfe", 2) == 0 || memcmp (data, "\xfe\xff", 2) == 0);

  if (is_utf16)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_PARSE, "%s: this is UTF-16 text. Save it as UTF-8.", file);
  else if (memchr (data, 0, length) != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_PARSE,
                 "%s: this is not a text file. A graph is XML text that begins with <graph …>.", file);
  else
    return TRUE;
  return FALSE;
}

gboolean
loom_reading_check_text (const char *file, const char *data, gsize length, GError **error)
{
  const char *s = data, *end = data + length, *invalid;
  gboolean in_prolog = TRUE;
  guint n;

  if (!check_is_text (file, data, length, error))
    return FALSE;
  if (!g_utf8_validate (data, (gssize)length, &invalid))
    return loom_refuse (error, LOOM_ERROR_PARSE, "%s: line %d: this is not UTF-8 text. Save it as UTF-8.", file,
                        line_of (data, invalid));
  while ((s = memchr (s, '<', (gsize)(end - s))) != NULL)
    {
      const char *tag = s;

      if (skip_special (s, end) != NULL)
        s = skip_special (s, end);
      else if (begins (s, end, "<!") && in_prolog)
        return loom_refuse (error, LOOM_ERROR_PARSE,
                            "%s: line %d: a document type (<!DOCTYPE …>) is not allowed in a graph; remove it.", file,
                            line_of (data, tag));
      else
        {
          s = skip_tag (s + 1, end, &n);
          in_prolog = FALSE;
          if (n > MAX_ATTRIBUTES)
            return loom_refuse (error, LOOM_ERROR_PARSE,
                                "%s: line %d: this element has %u attributes; the limit is %d.", file,
                                line_of (data, tag), n, MAX_ATTRIBUTES);
        }
    }
  return TRUE;
}
