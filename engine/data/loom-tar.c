/* Reads heads of tar archives: ustar, with the long names of GNU and pax. The format: POSIX.1-2017, pax. */
#include "engine/data/loom-tar.h"

#include <gio/gio.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-file.h"

#define BLOCK     512
#define MOST_NAME (1 << 16)

/* The head of a member; fields end with a zero or a space, if they are not full. */
typedef struct
{
  char name[100], mode[8], owner[8], group[8], size[12], time[12], sum[8], type, link[100], magic[6], version[2],
      user[32], team[32], device[16], prefix[155], rest[12];
} Head;

G_STATIC_ASSERT (sizeof (Head) == BLOCK);

/* Octal digits, or GNU's big-endian number after a byte 0x80. */
static gboolean
read_number (const char *field, gsize n, guint64 *value)
{
  gsize i = 0;

  *value = 0;
  if ((guint8)field[0] == 0x80)
    {
      for (i = 1; i < n; i++)
        {
          if (*value >> 55 != 0)
            return FALSE;
          *value = *value << 8 | (guint8)field[i];
        }
      return TRUE;
    }
  while (i < n && field[i] == ' ')
    i++;
  for (; i < n && field[i] >= '0' && field[i] <= '7'; i++)
    *value = *value << 3 | (guint64)(field[i] - '0');
  return i == n || field[i] == '\0' || field[i] == ' ';
}

/* The sum of the bytes, with blanks in place of the sum itself. */
static gboolean
has_right_sum (const Head *head)
{
  guint64 sum = 0, stored;

  for (gsize i = 0; i < BLOCK; i++)
    sum += i >= offsetof (Head, sum) && i < offsetof (Head, type) ? ' ' : ((const guint8 *)head)[i];
  return read_number (head->sum, sizeof head->sum, &stored) && stored == sum;
}

static char *
name_of (const Head *head)
{
  g_autofree char *name = g_strndup (head->name, sizeof head->name);
  g_autofree char *prefix = g_strndup (head->prefix, sizeof head->prefix);

  return memcmp (head->magic, "ustar", 6) == 0 && *prefix != '\0' ? g_strconcat (prefix, "/", name, NULL)
                                                                  : g_steal_pointer (&name);
}

/* The value of "path" in a pax header, whose lines are LENGTH KEY=VALUE. */
static char *
path_in_pax (const char *text, gsize n)
{
  const char *p = text, *end = text + n;

  while (p < end)
    {
      char *key;
      const guint64 length = g_ascii_strtoull (p, &key, 10);

      if (length == 0 || length > (guint64)(end - p))
        return NULL;
      /* The line ends with a line break. */
      if (p + length - key > 6 && memcmp (key, " path=", 6) == 0)
        return g_strndup (key + 6, (gsize)(p + length - 1 - (key + 6)));
      p += length;
    }
  return NULL;
}

typedef struct
{
  GInputStream *stream;
  const char *path;
  guint64 size, at; /* of the file; of the next head */
  char *long_name;  /* of the next member; NULL: as in its head */
} Reader;

static gboolean
read_at (Reader *self, guint64 at, void *to, gsize n, GError **error)
{
  g_autoptr (GError) cause = NULL;
  gsize got = 0;

  if (g_seekable_seek (G_SEEKABLE (self->stream), (goffset)at, G_SEEK_SET, NULL, &cause)
      && g_input_stream_read_all (self->stream, to, n, &got, NULL, &cause) && got == n)
    return TRUE;
  if (cause == NULL)
    return loom_file_refuse (self->path, error, "is truncated");
  return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", self->path, cause->message);
}

/* A member that has the name of the next one. */
static gboolean
read_long_name (Reader *self, char type, guint64 at, guint64 size, GError **error)
{
  g_autofree char *text = NULL, *name = NULL;

  if (size > MOST_NAME)
    return loom_file_refuse (self->path, error, "has a member whose name has %" G_GUINT64_FORMAT " bytes", size);
  text = g_malloc0 ((gsize)size + 1);
  if (!read_at (self, at, text, (gsize)size, error))
    return FALSE;
  name = type == 'L' ? g_strdup (text) : path_in_pax (text, (gsize)size);
  if (name != NULL)
    {
      g_free (self->long_name);
      self->long_name = g_steal_pointer (&name);
    }
  return TRUE;
}

static gboolean
read_member (Reader *self, const Head *head, LoomTarCall call, gpointer data, GError **error)
{
  const guint64 at = self->at + BLOCK;
  g_autofree char *name = NULL;
  guint64 size;

  if (!has_right_sum (head))
    return loom_file_refuse (self->path, error,
                             self->at == 0 ? "is not a tar archive; a compressed one has to be unpacked"
                                           : "is a damaged tar archive: a member has a wrong sum");
  if (!read_number (head->size, sizeof head->size, &size) || size > self->size || at > self->size - size)
    return loom_file_refuse (self->path, error, "is a truncated tar archive");
  self->at = at + (size + BLOCK - 1) / BLOCK * BLOCK;
  if (head->type == 'L' || head->type == 'x')
    return read_long_name (self, head->type, at, size, error);
  name = self->long_name != NULL ? g_steal_pointer (&self->long_name) : name_of (head);
  return (head->type != '0' && head->type != '\0') || call (name, at, size, data, error);
}

gboolean
loom_tar_each (const char *path, LoomTarCall call, gpointer data, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GError) cause = NULL;
  g_autoptr (GFileInputStream) stream = g_file_read (file, NULL, &cause);
  Reader reader = { .stream = G_INPUT_STREAM (stream), .path = path };
  gboolean good = TRUE;
  Head head;

  if (stream == NULL || !g_seekable_seek (G_SEEKABLE (stream), 0, G_SEEK_END, NULL, &cause))
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  reader.size = (guint64)g_seekable_tell (G_SEEKABLE (stream));
  /* The archive ends with blocks of zeros, or with the file. */
  while (good && reader.at < reader.size && (good = read_at (&reader, reader.at, &head, sizeof head, error))
         && head.name[0] != '\0')
    good = read_member (&reader, &head, call, data, error);
  g_free (reader.long_name);
  return good;
}
