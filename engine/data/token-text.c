/* Changes texts as tokenizers do, and writes bytes as characters. */
#include "engine/data/token-text.h"

/* ---- bytes --------------------------------------------------------------- */

static gboolean
is_printable (guint byte)
{
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

gunichar
token_byte_character (guint8 byte)
{
  gunichar c = 0x100;

  if (is_printable (byte))
    return byte;
  for (guint b = 0; b < byte; b++)
    c += !is_printable (b);
  return c;
}

char *
token_bytes_of (const char *text, gsize *length)
{
  g_autoptr (GString) y = g_string_new (NULL);

  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    {
      const gunichar c = g_utf8_get_char (p);
      guint byte = 0;

      while (byte < 256 && token_byte_character ((guint8)byte) != c)
        byte++;
      if (byte == 256)
        return NULL;
      g_string_append_c (y, (char)byte);
    }
  *length = y->len;
  return g_string_free (g_steal_pointer (&y), FALSE);
}

char *
token_show_bytes (const char *data, gsize length)
{
  GString *name;

  if (g_utf8_validate (data, (gssize)length, NULL))
    return g_strndup (data, length);
  name = g_string_new (NULL);
  for (gsize i = 0; i < length; i++)
    g_string_append_printf (name, g_ascii_isprint (data[i]) ? "%c" : "\\x%02x", (guint8)data[i]);
  return g_string_free (name, FALSE);
}

char *
token_write_bytes (const char *text)
{
  GString *y = g_string_new (NULL);

  for (const char *p = text; *p != '\0'; p++)
    g_string_append_unichar (y, token_byte_character ((guint8)*p));
  return g_string_free (y, FALSE);
}

/* ---- texts --------------------------------------------------------------- */

char *
token_lower (const char *text)
{
  GString *y = g_string_new (NULL);

  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    if (g_utf8_get_char (p) == 0x130)
      g_string_append (y, "i\xcc\x87");
    else
      g_string_append_unichar (y, g_unichar_tolower (g_utf8_get_char (p)));
  return g_string_free (y, FALSE);
}

char *
token_without_accents (const char *text)
{
  GString *y = g_string_new (NULL);

  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    if (g_unichar_type (g_utf8_get_char (p)) != G_UNICODE_NON_SPACING_MARK)
      g_string_append_unichar (y, g_utf8_get_char (p));
  return g_string_free (y, FALSE);
}

/* The blocks of CJK ideographs that BERT's tokenizer names. */
static gboolean
is_chinese (gunichar c)
{
  static const gunichar blocks[][2]
      = { { 0x4e00, 0x9fff },   { 0x3400, 0x4dbf },   { 0x20000, 0x2a6df }, { 0x2a700, 0x2b73f },
          { 0x2b740, 0x2b81f }, { 0x2b920, 0x2ceaf }, { 0xf900, 0xfaff },   { 0x2f800, 0x2fa1f } };

  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    if (c >= blocks[i][0] && c <= blocks[i][1])
      return TRUE;
  return FALSE;
}

static gboolean
is_control (gunichar c)
{
  const GUnicodeType type = g_unichar_type (c);

  return c != '\t' && c != '\n' && c != '\r'
         && (type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT || type == G_UNICODE_UNASSIGNED
             || type == G_UNICODE_PRIVATE_USE || type == G_UNICODE_SURROGATE);
}

char *
token_clean (const char *text, gboolean cleans, gboolean pads)
{
  GString *y = g_string_new (NULL);

  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    {
      const gunichar c = g_utf8_get_char (p);

      if (cleans && (c == 0xfffd || is_control (c)))
        continue;
      if (cleans && g_unichar_isspace (c))
        g_string_append_c (y, ' ');
      else if (pads && is_chinese (c))
        {
          g_string_append_c (y, ' ');
          g_string_append_unichar (y, c);
          g_string_append_c (y, ' ');
        }
      else
        g_string_append_unichar (y, c);
    }
  return g_string_free (y, FALSE);
}
