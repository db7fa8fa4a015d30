/* Reads pages of a Parquet column: their heads, compression, definition levels and values, plain or by a dictionary.
 * The format: "Apache Parquet, File Format", encodings and data pages. */
#include "engine/data/parquet-column.h"

#include <snappy-c.h>
#include <string.h>
#include <zstd.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/thrift.h"

#define MOST_PAGE_BYTES ((gint64)1 << 29)
#define MOST_RATIO      40000 /* bytes for each packed one: a block of zstd is 128 KiB from at least 4 bytes */

enum
{
  DATA_PAGE = 0,
  DICTIONARY_PAGE = 2,
  DATA_PAGE_2 = 3
};

enum
{
  PLAIN = 0,
  PLAIN_DICTIONARY = 2,
  RLE = 3,
  RLE_DICTIONARY = 8
};

/* Runs of a repeated number and bit-packed numbers ("RLE/bit-packing hybrid"). */
typedef struct
{
  const guint8 *p, *end;
  int width;    /* bits of a number */
  guint64 left; /* numbers of this run */
  gboolean is_packed;
  guint32 value; /* of a run of one number */
  guint64 bit;   /* of p, in a packed run */
} Hybrid;

typedef struct
{
  gint64 n, encoding, definition_encoding;
} DataHead;

typedef struct
{
  gint64 n, encoding, definition_bytes, repetition_bytes;
} DataHead2;

typedef struct
{
  gint64 type, bytes, packed_bytes;
  DataHead data, dictionary;
  DataHead2 data_2;
  gint64 is_packed; /* of DATA_PAGE_2; 1 unless the head says otherwise */
} PageHead;

static const ThriftField data_fields[] = {
  { 1, THRIFT_INT, offsetof (DataHead, n) },
  { 2, THRIFT_INT, offsetof (DataHead, encoding) },
  { 3, THRIFT_INT, offsetof (DataHead, definition_encoding) },
  { 0 },
};

static const ThriftField dictionary_fields[] = {
  { 1, THRIFT_INT, offsetof (DataHead, n) },
  { 2, THRIFT_INT, offsetof (DataHead, encoding) },
  { 0 },
};

static const ThriftField data_2_fields[] = {
  { 1, THRIFT_INT, offsetof (DataHead2, n) },
  { 4, THRIFT_INT, offsetof (DataHead2, encoding) },
  { 5, THRIFT_INT, offsetof (DataHead2, definition_bytes) },
  { 6, THRIFT_INT, offsetof (DataHead2, repetition_bytes) },
  { 7, THRIFT_INT, offsetof (PageHead, is_packed) - offsetof (PageHead, data_2) },
  { 0 },
};

static const ThriftField page_fields[] = {
  { 1, THRIFT_INT, offsetof (PageHead, type) },
  { 2, THRIFT_INT, offsetof (PageHead, bytes) },
  { 3, THRIFT_INT, offsetof (PageHead, packed_bytes) },
  { 5, THRIFT_STRUCT, offsetof (PageHead, data), data_fields },
  { 7, THRIFT_STRUCT, offsetof (PageHead, dictionary), dictionary_fields },
  { 8, THRIFT_STRUCT, offsetof (PageHead, data_2), data_2_fields },
  { 0 },
};

typedef struct
{
  guint8 *data;
  gsize n;
} Buffer;

/* A value in a dictionary. */
typedef struct
{
  guint32 at, n;
} Entry;

struct _ParquetColumn
{
  ParquetPages *pages;
  const char *name;
  ParquetType type;
  gsize bytes; /* of a value; 0: of any length */
  int levels;
  ParquetChunk chunk; /* from the next page on */

  Buffer page, dictionary;
  gint64 n_entries; /* of the dictionary */
  Buffer starts;    /* Entry, if values have any length */

  gint64 left; /* values of this page */
  gboolean has_dictionary_values, is_rle;
  Hybrid definition, index; /* index: of values in the dictionary, or booleans */
  const guint8 *p, *end;    /* plain values */
  int bit;                  /* of a plain boolean at p */
  guint8 boolean;
};

static gboolean
refuse (const ParquetColumn *self, GError **error, const char *what)
{
  return loom_refuse (error, LOOM_ERROR_DATA, "“%s”, column “%s” %s.", self->pages->path, self->name, what);
}

static gboolean
damaged (const ParquetColumn *self, GError **error)
{
  return refuse (self, error, "is damaged: a page has another size than its head says");
}

static guint32
read_u32 (const guint8 *p)
{
  return p[0] | (guint32)p[1] << 8 | (guint32)p[2] << 16 | (guint32)p[3] << 24;
}

/* ---- numbers of a few bits ------------------------------------------------------- */

static gboolean
hybrid_next (Hybrid *self, guint32 *value)
{
  while (self->left == 0)
    {
      const int bytes = (self->width + 7) / 8;
      guint64 head = 0;
      int shift = 0;

      do
        {
          if (self->p == self->end || shift > 35)
            return FALSE;
          head |= (guint64)(*self->p & 127) << shift;
          shift += 7;
        }
      while (*self->p++ >= 128);
      self->is_packed = head & 1;
      self->bit = 0;
      self->left = self->is_packed ? (head >> 1) * 8 : head >> 1;
      self->value = 0;
      if (self->is_packed)
        continue;
      if (self->end - self->p < bytes)
        return FALSE;
      for (int i = 0; i < bytes; i++)
        self->value |= (guint32)self->p[i] << (8 * i);
      self->p += bytes;
    }
  self->left--;
  *value = self->value;
  if (!self->is_packed)
    return TRUE;
  *value = 0;
  for (int have = 0; have < self->width;)
    {
      const int from = (int)self->bit, n = MIN (8 - from, self->width - have);

      if (self->p == self->end)
        return FALSE;
      *value |= (guint32)(*self->p >> from & ((1 << n) - 1)) << have;
      have += n;
      self->bit = (guint64)(from + n) % 8;
      self->p += self->bit == 0;
    }
  return TRUE;
}

/* ---- pages ------------------------------------------------------------------------ */

gboolean
parquet_read_at (GInputStream *file, guint64 at, gsize n, GByteArray *buffer, GError **error)
{
  gsize got = 0;

  g_byte_array_set_size (buffer, (guint)n);
  if (!g_seekable_seek (G_SEEKABLE (file), (goffset)at, G_SEEK_SET, NULL, error)
      || !g_input_stream_read_all (file, buffer->data, n, &got, NULL, error))
    return FALSE;
  if (got < n)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT, "it is truncated");
  return got == n;
}

static gboolean
read_at (ParquetColumn *self, guint64 at, gsize n, GError **error)
{
  g_autoptr (GError) cause = NULL;

  if (parquet_read_at (self->pages->file, at, n, self->pages->packed, &cause))
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", self->pages->path, cause->message);
}

/* A head may contain the least and the greatest value, of any length. */
static gboolean
read_head (ParquetColumn *self, PageHead *head, gsize *length, GError **error)
{
  const guint64 all = self->chunk.end - self->chunk.begin;
  const GByteArray *bytes = self->pages->packed;

  for (gsize n = 512; n <= (gsize)1 << 25; n *= 256)
    {
      ThriftReader reader;

      if (!read_at (self, self->chunk.begin, MIN (n, all), error))
        return FALSE;
      reader = (ThriftReader){ bytes->data, bytes->data + bytes->len };
      memset (head, 0, sizeof *head);
      head->is_packed = 1;
      if (thrift_read (&reader, page_fields, head))
        {
          *length = (gsize)(reader.p - bytes->data);
          if (head->bytes >= 0 && head->bytes <= MOST_PAGE_BYTES && head->packed_bytes >= 0
              && head->packed_bytes <= MOST_PAGE_BYTES && (guint64)head->packed_bytes <= all - *length)
            return TRUE;
          break;
        }
      if (n >= all)
        break;
    }
  return refuse (self, error, "is damaged: a page has no head");
}

static gboolean
unpack_snappy (const guint8 *from, gsize n, guint8 *to, gsize size)
{
  size_t length = size;

  return snappy_uncompressed_length ((const char *)from, n, &length) == SNAPPY_OK && length == size
         && snappy_uncompress ((const char *)from, n, (char *)to, &length) == SNAPPY_OK && length == size;
}

static gboolean
unpack_zstd (const guint8 *from, gsize n, guint8 *to, gsize size)
{
  return ZSTD_decompress (to, size, from, n) == size;
}

static gboolean
unpack_gzip (const guint8 *from, gsize n, guint8 *to, gsize size)
{
  g_autoptr (GConverter) gzip = G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  GConverterResult result = G_CONVERTER_CONVERTED;
  gsize read, written, done = 0;

  while (result == G_CONVERTER_CONVERTED && done < size)
    {
      result = g_converter_convert (gzip, from, n, to + done, size - done, G_CONVERTER_INPUT_AT_END, &read, &written,
                                    NULL);
      if (result == G_CONVERTER_ERROR)
        return FALSE;
      from += read;
      n -= read;
      done += written;
    }
  return done == size;
}

static gboolean
unpack_nothing (const guint8 *from, gsize n, guint8 *to, gsize size)
{
  if (n == size)
    memcpy (to, from, n);
  return n == size;
}

static const struct
{
  const char *name;
  gboolean (*unpack) (const guint8 *from, gsize n, guint8 *to, gsize size);
} codecs[] = {
  { "none", unpack_nothing }, { "snappy", unpack_snappy },
  { "gzip", unpack_gzip },    { "LZO", NULL },
  { "Brotli", NULL },         { "LZ4", NULL },
  { "zstd", unpack_zstd },    { "LZ4_RAW", NULL },
};

/* Loses the content. */
static gboolean
resize (ParquetColumn *self, Buffer *buffer, gsize n, GError **error)
{
  const guint64 others = self->pages->used - buffer->n;

  if (n > self->pages->most || others > self->pages->most - n)
    return refuse (self, error, "has pages that are too large for the free memory; write the file with smaller ones");
  g_free (buffer->data);
  buffer->data = g_malloc (MAX (n, 1));
  buffer->n = n;
  self->pages->used = others + n;
  return TRUE;
}

/* The page after its head; the first `plain` bytes are not compressed. */
static gboolean
unpack (ParquetColumn *self, const PageHead *head, gsize plain, gboolean is_packed, Buffer *to, GError **error)
{
  const gint64 codec = is_packed ? self->chunk.codec : 0;
  const guint8 *from = self->pages->packed->data;
  const gsize packed = (gsize)head->packed_bytes, size = (gsize)head->bytes;

  if (codec < 0 || codec >= (gint64)G_N_ELEMENTS (codecs) || codecs[codec].unpack == NULL)
    {
      g_autofree char *what = g_strdup_printf (
          "is compressed as %s; write the file with compression=\"zstd\", \"snappy\" or \"gzip\"",
          codec >= 0 && codec < (gint64)G_N_ELEMENTS (codecs) ? codecs[codec].name : "no known codec");

      return refuse (self, error, what);
    }
  if (plain > packed || plain > size || size - plain > (packed - plain) * MOST_RATIO)
    return damaged (self, error);
  if (!resize (self, to, size, error))
    return FALSE;
  if (plain > 0)
    memcpy (to->data, from, plain);
  /* A page of nulls has no values, and then often no compressed block either. */
  if (size > plain && !codecs[codec].unpack (from + plain, packed - plain, to->data + plain, size - plain))
    return damaged (self, error);
  return TRUE;
}

/* The bytes of a plain value at p, with its length before it if that varies; NULL if it is cut off. */
static const guint8 *
plain_value (const ParquetColumn *self, const guint8 *p, const guint8 *end, gsize *n)
{
  *n = self->bytes;
  if (self->type == PARQUET_BYTES)
    {
      if (end - p < 4)
        return NULL;
      *n = read_u32 (p);
      p += 4;
    }
  return *n <= (gsize)(end - p) ? p : NULL;
}

/* Where the values are. */
static gboolean
find_entries (ParquetColumn *self, gint64 n, GError **error)
{
  const guint8 *p = self->dictionary.data, *end = p + self->dictionary.n;

  if (!resize (self, &self->starts, (gsize)n * sizeof (Entry), error))
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    {
      gsize length = 0;
      const guint8 *value = plain_value (self, p, end, &length);

      if (value == NULL)
        return damaged (self, error);
      ((Entry *)self->starts.data)[i] = (Entry){ (guint32)(value - self->dictionary.data), (guint32)length };
      p = value + length;
    }
  return TRUE;
}

/* It may have more entries than the chunk has values, as pandas writes categories. */
static gboolean
read_dictionary (ParquetColumn *self, const PageHead *head, GError **error)
{
  const gint64 n = head->dictionary.n;
  const gsize least = self->type == PARQUET_BYTES ? 4 : self->bytes;

  self->n_entries = 0;
  if (!unpack (self, head, 0, TRUE, &self->dictionary, error))
    return FALSE;
  if (n < 0 || (n > 0 && (least == 0 || (guint64)n > self->dictionary.n / least)))
    return damaged (self, error);
  if (self->type == PARQUET_BYTES && !find_entries (self, n, error))
    return FALSE;
  self->n_entries = n;
  return TRUE;
}

/* A block of numbers of a few bits, whose length is before it. */
static gboolean
take_block (ParquetColumn *self, int width, Hybrid *hybrid)
{
  gsize n;

  if (self->end - self->p < 4)
    return FALSE;
  n = read_u32 (self->p);
  self->p += 4;
  if (n > (gsize)(self->end - self->p))
    return FALSE;
  *hybrid = (Hybrid){ .p = self->p, .end = self->p + n, .width = width };
  self->p += n;
  return TRUE;
}

/* Prepares the values from p on. */
static gboolean
begin_values (ParquetColumn *self, gint64 encoding, GError **error)
{
  self->has_dictionary_values = encoding == PLAIN_DICTIONARY || encoding == RLE_DICTIONARY;
  self->is_rle = encoding == RLE && self->type == PARQUET_BOOLEAN;
  self->bit = 0;
  if (self->is_rle)
    return take_block (self, 1, &self->index) || damaged (self, error);
  if (!self->has_dictionary_values)
    return encoding == PLAIN
           || refuse (self, error, "has values in a delta or split encoding; write the file without column encodings");
  /* A page of nulls may end here. */
  if (self->p == self->end)
    {
      self->index = (Hybrid){ 0 };
      return TRUE;
    }
  if (*self->p > 32)
    return damaged (self, error);
  self->index = (Hybrid){ .p = self->p + 1, .end = self->end, .width = *self->p };
  return TRUE;
}

static gboolean
read_data (ParquetColumn *self, const PageHead *head, GError **error)
{
  const gboolean is_2 = head->type == DATA_PAGE_2;
  const DataHead2 *v2 = &head->data_2;
  const int width = g_bit_storage ((gulong)self->levels);
  gsize levels = 0;

  if (is_2
      && (v2->definition_bytes < 0 || v2->repetition_bytes < 0 || v2->definition_bytes > head->bytes
          || v2->repetition_bytes > head->bytes - v2->definition_bytes))
    return damaged (self, error);
  levels = is_2 ? (gsize)(v2->definition_bytes + v2->repetition_bytes) : 0;
  if (!unpack (self, head, levels, !is_2 || head->is_packed != 0, &self->page, error))
    return FALSE;
  self->p = self->page.data;
  self->end = self->p + self->page.n;
  self->left = is_2 ? v2->n : head->data.n;
  if (self->left < 0 || self->left > self->chunk.n)
    return damaged (self, error);
  self->chunk.n -= self->left;
  if (is_2)
    {
      const guint8 *p = self->p + v2->repetition_bytes;

      self->definition = (Hybrid){ .p = p, .end = p + v2->definition_bytes, .width = width };
      self->p += levels;
    }
  else if (self->levels > 0 && head->data.definition_encoding != RLE)
    return refuse (self, error, "has nulls in an encoding of 2013; write the file again");
  else if (self->levels > 0 && !take_block (self, width, &self->definition))
    return damaged (self, error);
  return begin_values (self, is_2 ? v2->encoding : head->data.encoding, error);
}

/* Reads pages up to the next one with values. */
static gboolean
next_page (ParquetColumn *self, GError **error)
{
  while (self->left == 0)
    {
      PageHead head;
      gsize length = 0;

      if (self->chunk.begin >= self->chunk.end || self->chunk.n == 0)
        return refuse (self, error, "has fewer values than the table has rows");
      if (!read_head (self, &head, &length, error)
          || !read_at (self, self->chunk.begin + length, (gsize)head.packed_bytes, error))
        return FALSE;
      self->chunk.begin += length + (guint64)head.packed_bytes;
      if (head.type == DICTIONARY_PAGE && !read_dictionary (self, &head, error))
        return FALSE;
      if ((head.type == DATA_PAGE || head.type == DATA_PAGE_2) && !read_data (self, &head, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- values ----------------------------------------------------------------------- */

static gboolean
next_boolean (ParquetColumn *self, const guint8 **value)
{
  guint32 number;

  *value = &self->boolean;
  if (self->is_rle)
    {
      if (!hybrid_next (&self->index, &number))
        return FALSE;
      self->boolean = (guint8)number;
      return TRUE;
    }
  if (self->p == self->end)
    return FALSE;
  self->boolean = *self->p >> self->bit & 1;
  self->bit = (self->bit + 1) % 8;
  self->p += self->bit == 0;
  return TRUE;
}

static gboolean
next_value (ParquetColumn *self, const guint8 **value, gsize *n)
{
  guint32 i;

  *n = 1;
  if (self->has_dictionary_values)
    {
      Entry entry;

      if (!hybrid_next (&self->index, &i) || (gint64)i >= self->n_entries)
        return FALSE;
      entry = self->type == PARQUET_BYTES ? ((const Entry *)self->starts.data)[i]
                                          : (Entry){ i * (guint32)self->bytes, (guint32)self->bytes };
      *value = self->dictionary.data + entry.at;
      *n = entry.n;
      return TRUE;
    }
  if (self->type == PARQUET_BOOLEAN)
    return next_boolean (self, value);
  *value = plain_value (self, self->p, self->end, n);
  if (*value != NULL)
    self->p = *value + *n;
  return *value != NULL;
}

gboolean
parquet_column_next (ParquetColumn *self, const guint8 **value, gsize *n, GError **error)
{
  guint32 level = 0;

  if (!next_page (self, error))
    return FALSE;
  self->left--;
  if (self->levels > 0 && !hybrid_next (&self->definition, &level))
    return damaged (self, error);
  *value = NULL;
  if (level < (guint32)self->levels)
    return TRUE;
  return next_value (self, value, n) || damaged (self, error);
}

/* ---- the column ------------------------------------------------------------------- */

ParquetColumn *
parquet_column_new (ParquetPages *pages, const char *name, ParquetType type, gsize bytes, int levels)
{
  static const gsize widths[PARQUET_N_TYPES] = { 0, 4, 8, 12, 4, 8, 0, 0 };
  ParquetColumn *self = g_new0 (ParquetColumn, 1);

  self->pages = pages;
  self->name = name;
  self->type = type;
  self->bytes = type == PARQUET_FIXED_BYTES ? bytes : widths[type];
  self->levels = levels;
  return self;
}

void
parquet_column_free (ParquetColumn *self)
{
  self->pages->used -= self->page.n + self->dictionary.n + self->starts.n;
  g_free (self->page.data);
  g_free (self->dictionary.data);
  g_free (self->starts.data);
  g_free (self);
}

void
parquet_column_set_chunk (ParquetColumn *self, const ParquetChunk *chunk)
{
  self->chunk = *chunk;
  self->left = 0;
  self->n_entries = 0;
}
