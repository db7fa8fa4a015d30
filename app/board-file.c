/* Writes an event file of TensorBoard; see the header. */
#include "app/board-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- protocol buffers --------------------------------------------------- */

enum
{
  WIRE_VARINT = 0,
  WIRE_64 = 1,
  WIRE_BYTES = 2,
  WIRE_32 = 5
};

static void
put_varint (GByteArray *message, guint64 value)
{
  guint8 byte[10];
  guint n = 0;

  do
    {
      byte[n] = (guint8)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
      value >>= 7;
      n++;
    }
  while (value > 0);
  g_byte_array_append (message, byte, n);
}

static void
put_tag (GByteArray *message, guint field, guint wire)
{
  put_varint (message, (guint64)field << 3 | wire);
}

void
board_put_int (GByteArray *message, guint field, gint64 value)
{
  put_tag (message, field, WIRE_VARINT);
  put_varint (message, (guint64)value);
}

static void
put_bits (GByteArray *message, guint64 bits, guint bytes)
{
  const guint64 little = GUINT64_TO_LE (bits);

  g_byte_array_append (message, (const guint8 *)&little, bytes);
}

void
board_put_float (GByteArray *message, guint field, float value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  put_tag (message, field, WIRE_32);
  put_bits (message, bits, sizeof bits);
}

static void
put_double (GByteArray *message, double value)
{
  guint64 bits;

  memcpy (&bits, &value, sizeof bits);
  put_bits (message, bits, sizeof bits);
}

void
board_put_double (GByteArray *message, guint field, double value)
{
  put_tag (message, field, WIRE_64);
  put_double (message, value);
}

void
board_put_bytes (GByteArray *message, guint field, const void *data, gsize length)
{
  put_tag (message, field, WIRE_BYTES);
  put_varint (message, length);
  g_byte_array_append (message, data, (guint)length);
}

void
board_put_string (GByteArray *message, guint field, const char *text)
{
  board_put_bytes (message, field, text, strlen (text));
}

void
board_put_doubles (GByteArray *message, guint field, guint n, const double *value)
{
  put_tag (message, field, WIRE_BYTES);
  put_varint (message, (guint64)n * sizeof (double));
  for (guint i = 0; i < n; i++)
    put_double (message, value[i]);
}

void
board_put_message (GByteArray *message, guint field, GByteArray *inner)
{
  board_put_bytes (message, field, inner->data, inner->len);
  g_byte_array_unref (inner);
}

/* ---- records ------------------------------------------------------------ */

struct _BoardFile
{
  FILE *stream;
  char *path;
};

/* CRC-32C (Castagnoli), as TFRecord masks it: rotated by 15 bits, plus 0xa282ead8. */
static guint32
masked_crc (const void *data, gsize length)
{
  static gsize made;
  static guint32 table[256];
  const guint8 *byte = data;
  guint32 crc = G_MAXUINT32;

  if (g_once_init_enter (&made))
    {
      for (guint i = 0; i < G_N_ELEMENTS (table); i++)
        {
          table[i] = i;
          for (guint k = 0; k < 8; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
        }
      g_once_init_leave (&made, 1);
    }
  for (gsize i = 0; i < length; i++)
    crc = table[(crc ^ byte[i]) & 0xff] ^ crc >> 8;
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static gboolean
io_error (const BoardFile *self, GError **error)
{
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "Cannot write %s: %s. Free some space, or choose another folder.",
               self->path, g_strerror (errno));
  return FALSE;
}

/* A record: the length, its checksum, the bytes, their checksum; all little-endian. */
static gboolean
write_record (BoardFile *self, const GByteArray *record, GError **error)
{
  guint8 head[12], tail[4];
  const guint64 length = GUINT64_TO_LE ((guint64)record->len);
  guint32 crc;

  memcpy (head, &length, sizeof length);
  crc = GUINT32_TO_LE (masked_crc (head, sizeof length));
  memcpy (head + sizeof length, &crc, sizeof crc);
  crc = GUINT32_TO_LE (masked_crc (record->data, record->len));
  memcpy (tail, &crc, sizeof crc);
  return (fwrite (head, sizeof head, 1, self->stream) == 1 && fwrite (record->data, record->len, 1, self->stream) == 1
          && fwrite (tail, sizeof tail, 1, self->stream) == 1)
         || io_error (self, error);
}

gboolean
board_file_add (BoardFile *self, gint64 step, guint field, GByteArray *content, GError **error)
{
  g_autoptr (GByteArray) event = g_byte_array_new ();

  board_put_double (event, 1, (double)loom_wall () / G_USEC_PER_SEC);
  board_put_int (event, 2, step);
  board_put_message (event, field, content);
  return write_record (self, event, error);
}

gboolean
board_file_flush (BoardFile *self, GError **error)
{
  return fflush (self->stream) == 0 || io_error (self, error);
}

/* TensorBoard reads files in the order of their names, in which the time has ten digits. */
BoardFile *
board_file_new (LoomFolder *folder, GError **error)
{
  static const char version[] = "brain.Event:2";
  g_autoptr (BoardFile) self = g_new0 (BoardFile, 1);
  g_autofree char *name = g_strdup_printf (BOARD_FILE_PREFIX "%010" G_GINT64_FORMAT ".gradloom.%d.%" G_GINT64_FORMAT,
                                           loom_wall () / G_USEC_PER_SEC, (int)getpid (), loom_monotonic ());
  GByteArray *text = g_byte_array_new ();
  int fd = loom_folder_open_file (folder, name, O_WRONLY | O_CREAT | O_EXCL, error);

  self->path = loom_folder_path_of (folder, name);
  self->stream = fd >= 0 ? fdopen (fd, "wb") : NULL;
  g_byte_array_append (text, (const guint8 *)version, strlen (version));
  if (fd >= 0 && self->stream == NULL)
    {
      io_error (self, error);
      close (fd);
    }
  if (self->stream == NULL)
    {
      g_byte_array_unref (text);
      return NULL;
    }
  return board_file_add (self, 0, BOARD_EVENT_VERSION, text, error) ? g_steal_pointer (&self) : NULL;
}

void
board_file_free (BoardFile *self)
{
  if (self == NULL)
    return;
  if (self->stream != NULL)
    fclose (self->stream);
  g_free (self->path);
  g_free (self);
}
