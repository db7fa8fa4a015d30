/* A text passes through up to two converters, which its first bytes determine: gunzip, then UTF-16 to UTF-8. Both are
 * streams, so reading the head of a large file costs no more than that of a small one. */
#include "engine/data/loom-text-file.h"

#include <gio/gio.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-gunzip.h"
#include "engine/data/loom-memory-check.h"
#include "engine/interop/loom-file-kind.h"

#define CHUNK (1 << 16)

/* The stream after a converter. (transfer full) */
static GBufferedInputStream *
convert (GBufferedInputStream *stream, GConverter *converter)
{
  g_autoptr (GInputStream) converted = g_converter_input_stream_new (G_INPUT_STREAM (stream), converter);

  g_object_unref (converter);
  g_object_unref (stream);
  return G_BUFFERED_INPUT_STREAM (g_buffered_input_stream_new (converted));
}

static gboolean
begins_with (GBufferedInputStream *stream, const char *bytes, gsize n)
{
  gsize available;
  const void *start = g_buffered_input_stream_peek_buffer (stream, &available);

  return available >= n && memcmp (start, bytes, n) == 0;
}

/* Puts the converters for the first bytes around a stream, and skips the byte order mark; *form names the last
 * converter. NULL with the cause. */
static GBufferedInputStream *
decode (GInputStream *raw, const char **form, GError **cause)
{
  g_autoptr (GBufferedInputStream) stream = G_BUFFERED_INPUT_STREAM (g_buffered_input_stream_new (raw));
  const char *utf16 = NULL;

  if (g_buffered_input_stream_fill (stream, -1, NULL, cause) < 0)
    return NULL;
  if (begins_with (stream, "\x1f\x8b", 2))
    {
      *form = " as gzip";
      stream = convert (stream, loom_gunzip_new ());
      if (g_buffered_input_stream_fill (stream, -1, NULL, cause) < 0)
        return NULL;
    }
  if (begins_with (stream, "\xff\xfe", 2))
    utf16 = "UTF-16LE";
  else if (begins_with (stream, "\xfe\xff", 2))
    utf16 = "UTF-16BE";
  if (g_input_stream_skip (G_INPUT_STREAM (stream), utf16 != NULL ? 2 : 3 * begins_with (stream, "\xef\xbb\xbf", 3),
                           NULL, cause)
      < 0)
    return NULL;
  if (utf16 != NULL)
    {
      GCharsetConverter *converter = g_charset_converter_new ("UTF-8", utf16, cause);

      *form = " as UTF-16";

      if (converter == NULL)
        return NULL;
      stream = convert (stream, G_CONVERTER (converter));
    }
  return g_steal_pointer (&stream);
}

/* The line number of a position in a text. */
static guint
line_of (const char *text, const char *position)
{
  guint line = 1;

  for (const char *p = text; p < position; p++)
    line += *p == '\n';
  return line;
}

/* Cuts a head after its last whole character, and checks that it is UTF-8. */
static gboolean
check (const char *name, char *text, gsize *length, gboolean is_whole, GError **error)
{
  g_autofree char *kind = loom_file_kind_words ((const guint8 *)text, *length, LOOM_FILE_TEXT);
  const char *bad;

  if (kind != NULL)
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” %s.", name, kind);
  if (g_utf8_validate (text, (gssize)*length, &bad))
    return TRUE;
  if (!is_whole && *bad != '\0' && bad + 4 > text + *length)
    {
      *length = (gsize)(bad - text);
      text[*length] = '\0';
      return TRUE;
    }
  if (*bad == '\0')
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "“%s” is not UTF-8 text: line %u contains a zero byte. If it is UTF-16, convert it with iconv -f "
                 "UTF-16 -t UTF-8.",
                 name, line_of (text, bad));
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "“%s” is not UTF-8 text: line %u contains the byte 0x%02X. If it is Latin-1 or Windows-1252, convert "
                 "it with iconv -f WINDOWS-1252 -t UTF-8; a spreadsheet can be saved as CSV, UTF-8.",
                 name, line_of (text, bad), (guint8)*bad);
  return FALSE;
}

/* needed 0: memory is not checked. */
static char *
read_stream (GInputStream *raw, const char *name, gsize max, double needed, const char *remedy, gsize *length,
             gboolean *is_whole, GError **error)
{
  g_autoptr (GError) cause = NULL;
  const char *form = "";
  g_autoptr (GBufferedInputStream) stream = decode (raw, &form, &cause);
  g_autofree char *text = g_strdup ("");
  gsize n = 1, have = 0;

  while (stream != NULL && n > 0 && (max == 0 || have < max))
    {
      const gsize wanted = MIN (CHUNK + have / 4, max == 0 ? G_MAXSIZE : max - have);
      char *more;

      /* A few bytes of gzip can contain many gigabytes. */
      if (needed > 0 && !loom_memory_check_bytes (name, have, needed, remedy, error))
        return NULL;
      more = g_try_realloc (text, have + wanted + 1);
      if (more == NULL)
        return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY, "There is not enough memory to read “%s”.", name);
      text = more;
      if (!g_input_stream_read_all (G_INPUT_STREAM (stream), text + have, wanted, &n, NULL, &cause))
        g_clear_object (&stream);
      have += n;
      text[have] = '\0';
    }
  if (stream == NULL)
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read%s: %s.", name, form, cause->message);
  const gboolean whole = max == 0 || have < max;
  if (!check (name, text, &have, whole, error))
    return NULL;
  if (is_whole != NULL)
    *is_whole = whole;
  *length = have;
  return g_steal_pointer (&text);
}

char *
loom_text_file_read (const char *path, gsize max, double needed, const char *remedy, gsize *length, gboolean *is_whole,
                     GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GFileInputStream) stream = NULL;
  g_autoptr (GError) cause = NULL;

  if (max == 0 && !loom_memory_check (path, needed, remedy, error))
    return NULL;
  stream = g_file_read (file, NULL, &cause);
  if (stream == NULL)
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  return read_stream (G_INPUT_STREAM (stream), path, max, max == 0 ? needed : 0, remedy, length, is_whole, error);
}

char *
loom_text_from_bytes (GBytes *bytes, const char *name, gsize *length, GError **error)
{
  g_autoptr (GInputStream) stream = g_memory_input_stream_new_from_bytes (bytes);

  return read_stream (stream, name, 0, 1, "split it into pieces", length, NULL, error);
}

void
loom_text_unify_lines (char *text, gsize *length)
{
  gsize to = 0;

  for (gsize i = 0; i < *length; i++)
    if (text[i] != '\r' || i + 1 == *length || text[i + 1] != '\n')
      text[to++] = text[i];
  text[to] = '\0';
  *length = to;
}
