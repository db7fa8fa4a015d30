/* Writes JSON; see the header.
 *
 * The last byte shows whether a comma is needed: not after the byte that opens an object or an array; no value ends in
 * such a byte, because a string ends in its quotation mark. */
#include "engine/core/loom-json.h"

#include "engine/core/loom-text.h"

#include <math.h>

struct _LoomJson
{
  GString *text;
};

LoomJson *
loom_json_new (void)
{
  LoomJson *self = g_new (LoomJson, 1);

  self->text = g_string_new (NULL);
  return self;
}

void
loom_json_free (LoomJson *self)
{
  if (self == NULL)
    return;
  g_string_free (self->text, TRUE);
  g_free (self);
}

static void
append_quoted (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  for (const char *c = text; *c != '\0'; c++)
    if (*c == '"' || *c == '\\')
      g_string_append_printf (out, "\\%c", *c);
    else if (*c == '\n')
      g_string_append (out, "\\n");
    else if ((guchar)*c < 0x20)
      g_string_append_printf (out, "\\u%04x", (guint)(guchar)*c);
    /* JSON needs no escape for these, but a terminal does. */
    else if ((guchar)*c >= 0x7f && loom_text_is_control (g_utf8_get_char_validated (c, -1)))
      {
        g_string_append_printf (out, "\\u%04x", g_utf8_get_char (c));
        c = g_utf8_next_char (c) - 1;
      }
    else
      g_string_append_c (out, *c);
  g_string_append_c (out, '"');
}

/* Writes the text before a value: a comma if needed, and the member's name. */
static void
begin_value (LoomJson *self, const char *name)
{
  char last = self->text->len > 0 ? self->text->str[self->text->len - 1] : '{';

  if (last != '{' && last != '[')
    g_string_append_c (self->text, ',');
  if (name == NULL)
    return;
  append_quoted (self->text, name);
  g_string_append_c (self->text, ':');
}

void
loom_json_begin_object (LoomJson *self, const char *name)
{
  begin_value (self, name);
  g_string_append_c (self->text, '{');
}

void
loom_json_end_object (LoomJson *self)
{
  g_string_append_c (self->text, '}');
}

void
loom_json_begin_array (LoomJson *self, const char *name)
{
  begin_value (self, name);
  g_string_append_c (self->text, '[');
}

void
loom_json_end_array (LoomJson *self)
{
  g_string_append_c (self->text, ']');
}

void
loom_json_null (LoomJson *self, const char *name)
{
  begin_value (self, name);
  g_string_append (self->text, "null");
}

void
loom_json_string (LoomJson *self, const char *name, const char *value)
{
  if (value == NULL)
    {
      loom_json_null (self, name);
      return;
    }
  begin_value (self, name);
  append_quoted (self->text, value);
}

void
loom_json_bool (LoomJson *self, const char *name, gboolean value)
{
  begin_value (self, name);
  g_string_append (self->text, value ? "true" : "false");
}

void
loom_json_int (LoomJson *self, const char *name, gint64 value)
{
  begin_value (self, name);
  g_string_append_printf (self->text, "%" G_GINT64_FORMAT, value);
}

static void
append_number (LoomJson *self, const char *name, double value, char how, int digits)
{
  char format[16];
  /* The largest double has 309 digits before the decimal point. */
  char text[512];

  if (!isfinite (value))
    {
      loom_json_null (self, name);
      return;
    }
  g_snprintf (format, sizeof format, "%%.%d%c", digits, how);
  begin_value (self, name);
  g_string_append (self->text, g_ascii_formatd (text, sizeof text, format, value));
}

void
loom_json_number (LoomJson *self, const char *name, double value)
{
  append_number (self, name, value, 'g', 9);
}

void
loom_json_exact (LoomJson *self, const char *name, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite (value) || (double)(float)value == value)
    append_number (self, name, value, 'g', 9);
  else
    {
      begin_value (self, name);
      g_string_append (self->text, loom_text_decimal (value, text));
    }
}

void
loom_json_number_digits (LoomJson *self, const char *name, double value, int digits)
{
  append_number (self, name, value, 'g', digits);
}

void
loom_json_fixed (LoomJson *self, const char *name, double value, int decimals)
{
  append_number (self, name, value, 'f', decimals);
}

void
loom_json_ints (LoomJson *self, const char *name, int n, const gint64 *values)
{
  loom_json_begin_array (self, name);
  for (int i = 0; i < n; i++)
    loom_json_int (self, NULL, values[i]);
  loom_json_end_array (self);
}

const char *
loom_json_text (const LoomJson *self)
{
  return self->text->str;
}

char *
loom_json_take (LoomJson *self)
{
  char *text = g_string_free (self->text, FALSE);

  g_free (self);
  return text;
}

/* The number of a \u escape; -1: it is another one, or none. */
static int
escaped (const char *json, gsize length, gsize at)
{
  int number = 0;

  if (length < 6 || at > length - 6 || json[at] != '\\' || json[at + 1] != 'u')
    return -1;
  for (gsize i = at + 2; i < at + 6; i++)
    {
      if (!g_ascii_isxdigit (json[i]))
        return -1;
      number = 16 * number + g_ascii_xdigit_value (json[i]);
    }
  return number;
}

/* An escape, or the two of a pair; its end is *at. FALSE: it is half of a pair. */
static gboolean
pass_escape (const char *json, gsize length, gsize *at)
{
  const int first = escaped (json, length, *at) >> 10, second = escaped (json, length, *at + 6) >> 10;

  *at += first == 0xd800 >> 10 ? 11 : 1;
  return first != 0xdc00 >> 10 && (first != 0xd800 >> 10 || second == 0xdc00 >> 10);
}

gboolean
loom_json_is_within (const char *json, gsize length, int levels)
{
  gboolean in_string = FALSE;
  int depth = 0;

  for (gsize i = 0; i < length; i++)
    {
      char c = json[i];

      if (in_string)
        {
          if (c == '\\' && !pass_escape (json, length, &i))
            return FALSE;
          if (c == '\\')
            continue;
          if (c == '"')
            in_string = FALSE;
        }
      else if (c == '"')
        in_string = TRUE;
      else if (c == '{' || c == '[')
        {
          if (++depth > levels)
            return FALSE;
        }
      else if (c == '}' || c == ']')
        depth--;
    }
  return TRUE;
}
