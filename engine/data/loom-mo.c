/* The format is described in gettext's manual, “The Format of GNU MO Files”: a magic number that determines the byte
 * order, the number of texts and the offsets of two tables of lengths and offsets, of texts and of translations. The
 * translation of the empty text is a header, which names the character set. */
#include "engine/data/loom-mo.h"

#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"

#define MAGIC   0x950412deu
#define HEAD    20
#define CONTEXT '\004' /* between a context and its text */

typedef struct
{
  const char *path, *data;
  gsize length;
  gboolean swapped;
  char *charset; /* NULL: UTF-8 */
} Catalogue;

static gboolean
damaged (const Catalogue *c, GError **error)
{
  return loom_refuse (error, LOOM_ERROR_DATA, "“%s” is damaged: an entry is outside the file.", c->path);
}

static guint32
word_at (const Catalogue *c, gsize at)
{
  guint32 word;

  memcpy (&word, c->data + at, sizeof word);
  return c->swapped ? GUINT32_SWAP_LE_BE (word) : word;
}

/* Entry i of the table at this offset: its bytes, followed by a zero byte. */
static const char *
string_at (const Catalogue *c, guint32 table, guint32 i, gsize *length)
{
  const guint64 entry = (guint64)table + 8 * (guint64)i;
  guint64 offset;

  if (entry + 8 > c->length)
    return NULL;
  *length = word_at (c, entry);
  offset = word_at (c, entry + 4);
  return offset + *length < c->length && c->data[offset + *length] == '\0' ? c->data + offset : NULL;
}

/* "Content-Type: text/plain; charset=ISO-8859-1" */
static void
read_header (Catalogue *c, const char *header)
{
  const char *found = strstr (header, "charset=");
  g_autofree char *name = NULL;

  if (found == NULL)
    return;
  found += strlen ("charset=");
  name = g_strndup (found, strcspn (found, " \t\r\n;"));
  if (g_ascii_strcasecmp (name, "UTF-8") != 0 && g_ascii_strcasecmp (name, "CHARSET") != 0)
    c->charset = g_steal_pointer (&name);
}

/* A text of the catalogue as UTF-8; NULL if it is not valid. */
static char *
decode (const Catalogue *c, const char *text)
{
  if (c->charset != NULL)
    return g_convert (text, -1, "UTF-8", c->charset, NULL, NULL, NULL);
  return g_utf8_validate (text, -1, NULL) ? g_strdup (text) : NULL;
}

static gboolean
add_entry (Catalogue *c, guint32 originals, guint32 translations, guint32 i, GPtrArray *list, GError **error)
{
  gsize n_from, n_to;
  const char *from = string_at (c, originals, i, &n_from), *to = string_at (c, translations, i, &n_to);
  const char *context;
  g_autofree char *key = NULL, *text = NULL;
  LoomMoEntry *entry;

  if (from == NULL || to == NULL)
    return damaged (c, error);
  if (n_from == 0)
    {
      read_header (c, to);
      return TRUE;
    }
  key = decode (c, from);
  text = decode (c, to);
  if (key == NULL || text == NULL)
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” contains a text that is not valid in its character set, %s.",
                        c->path, c->charset != NULL ? c->charset : "UTF-8");
  if (*text == '\0')
    return TRUE;
  context = strchr (key, CONTEXT);
  entry = g_new0 (LoomMoEntry, 1);
  entry->from = g_strdup (context != NULL ? context + 1 : key);
  entry->key = g_steal_pointer (&key);
  entry->to = g_steal_pointer (&text);
  g_ptr_array_add (list, entry);
  return TRUE;
}

gboolean
loom_mo_read (const char *path, GPtrArray *list, GError **error)
{
  g_autofree char *content = NULL;
  g_autoptr (GError) cause = NULL;
  Catalogue c = { .path = path };
  gboolean good = TRUE;

  if (!loom_path_read (path, &content, &c.length, &cause))
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  c.data = content;
  if (c.length >= HEAD && word_at (&c, 0) == GUINT32_SWAP_LE_BE (MAGIC))
    c.swapped = TRUE;
  if (c.length < HEAD || word_at (&c, 0) != MAGIC)
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” is not a gettext catalogue.", path);
  for (guint32 i = 0, n = word_at (&c, 8); i < n && good; i++)
    good = add_entry (&c, word_at (&c, 12), word_at (&c, 16), i, list, error);
  g_free (c.charset);
  return good;
}

void
loom_mo_entry_free (gpointer data)
{
  LoomMoEntry *entry = data;

  g_free (entry->key);
  g_free (entry->from);
  g_free (entry->to);
  g_free (entry);
}
