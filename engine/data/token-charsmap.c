/* The table has the size of the double array in bytes, 32-bit units, and the replacements, each ended with 0. A unit
 * has in its low byte the label by which it is reached, in bits 10 and up the offset of its children, in bit 9 the
 * scale of the offset, in bit 8 whether a child is a leaf, whose unit is the position of a replacement with bit 31 set.
 */
#include "engine/data/token-charsmap.h"

#include <string.h>

struct _TokenCharsmap
{
  guchar *data;
  guint32 n_units;
  const char *replacements;
  gsize n_replacements; /* bytes, the last of which is 0 */
};

TokenCharsmap *
token_charsmap_new (const char *base64)
{
  gsize length;
  g_autofree guchar *data = g_base64_decode (base64, &length);
  guint32 size;
  TokenCharsmap *self;

  if (data == NULL || length < 4)
    return NULL;
  memcpy (&size, data, sizeof size);
  size = GUINT32_FROM_LE (size);
  if (size % 4 != 0 || size > length - 4 || length - 4 - size == 0 || data[length - 1] != '\0')
    return NULL;
  self = g_new0 (TokenCharsmap, 1);
  self->n_units = size / 4;
  self->n_replacements = length - 4 - size;
  self->replacements = (const char *)data + 4 + size;
  self->data = g_steal_pointer (&data);
  return self;
}

void
token_charsmap_free (TokenCharsmap *self)
{
  g_free (self->data);
  g_free (self);
}

/* A unit; 0, which has no children, beyond the end. */
static guint32
unit_of (const TokenCharsmap *self, guint32 i)
{
  guint32 unit = 0;

  if (i < self->n_units)
    memcpy (&unit, self->data + 4 + 4 * (gsize)i, sizeof unit);
  return GUINT32_FROM_LE (unit);
}

static guint32
children_of (guint32 unit)
{
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}

/* The replacement of the longest prefix of a text, and the prefix's length; NULL if the table has none. */
static const char *
find_longest (const TokenCharsmap *self, const char *text, gsize *length)
{
  const char *found = NULL;
  guint32 at = children_of (unit_of (self, 0));

  for (gsize n = 0; text[n] != '\0'; n++)
    {
      const guint32 label = (guint8)text[n];
      guint32 unit;

      at ^= label;
      unit = unit_of (self, at);
      if ((unit & (1U << 31 | 0xff)) != label)
        break;
      at ^= children_of (unit);
      if ((unit >> 8 & 1) == 1)
        {
          const guint32 leaf = unit_of (self, at) & ~(1U << 31);

          if (leaf >= self->n_replacements)
            break;
          /* Whole characters only: the text stays UTF-8. */
          if ((text[n + 1] & 0xc0) != 0x80 && g_utf8_validate (self->replacements + leaf, -1, NULL))
            {
              found = self->replacements + leaf;
              *length = n + 1;
            }
        }
    }
  return found;
}

char *
token_charsmap_apply (const TokenCharsmap *self, const char *text)
{
  GString *y = g_string_new (NULL);

  for (const char *p = text; *p != '\0';)
    {
      gsize n = (gsize)(g_utf8_next_char (p) - p);
      const char *to = find_longest (self, p, &n);

      if (to != NULL)
        g_string_append (y, to);
      else
        g_string_append_len (y, p, (gssize)n);
      p += n;
    }
  return g_string_free (y, FALSE);
}
