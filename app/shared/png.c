/* Writes pictures as PNG, which needs no library but GIO's zlib; chunks and checksums are those of ISO/IEC 15948. */
#include "app/shared/png.h"

#include <gio/gio.h>
#include <string.h>

/* The checksum of ISO 3309, bit by bit: pictures of commands have few bytes. */
static guint32
crc_of (const guint8 *byte, gsize length, guint32 crc)
{
  for (gsize i = 0; i < length; i++)
    {
      crc ^= byte[i];
      for (int k = 0; k < 8; k++)
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
  return crc;
}

static void
put_big (GByteArray *png, guint32 value)
{
  const guint32 big = GUINT32_TO_BE (value);

  g_byte_array_append (png, (const guint8 *)&big, sizeof big);
}

static void
put_chunk (GByteArray *png, const char *type, const void *data, gsize length)
{
  guint32 crc = crc_of ((const guint8 *)type, 4, G_MAXUINT32);

  put_big (png, (guint32)length);
  g_byte_array_append (png, (const guint8 *)type, 4);
  g_byte_array_append (png, data, (guint)length);
  put_big (png, ~crc_of (data, length, crc));
}

static void
put_compressed (GByteArray *png, const GByteArray *rows)
{
  g_autoptr (GZlibCompressor) deflate = g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_ZLIB, 6);
  g_autoptr (GInputStream) plain = g_memory_input_stream_new_from_data (rows->data, rows->len, NULL);
  g_autoptr (GInputStream) stream = g_converter_input_stream_new (plain, G_CONVERTER (deflate));
  g_autoptr (GByteArray) data = g_byte_array_new ();
  guint8 part[4096];
  gssize n;

  while ((n = g_input_stream_read (stream, part, sizeof part, NULL, NULL)) > 0)
    g_byte_array_append (data, part, (guint)n);
  put_chunk (png, "IDAT", data->data, data->len);
}

GByteArray *
png_new (guint width, guint height, guint channels, const GByteArray *rows)
{
  static const guint8 signature[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
  const guint32 size[] = { GUINT32_TO_BE (width), GUINT32_TO_BE (height) };
  guint8 head[13] = { 0 };
  GByteArray *png = g_byte_array_new ();

  memcpy (head, size, sizeof size);
  head[8] = 8;
  head[9] = channels == 3 ? 2 : 0;
  g_byte_array_append (png, signature, sizeof signature);
  put_chunk (png, "IHDR", head, sizeof head);
  put_compressed (png, rows);
  put_chunk (png, "IEND", "", 0);
  return png;
}
