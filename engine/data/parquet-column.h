/* Reads the values of one flat column of a Parquet file, one after the other.
 *
 * One page of each column is in memory at a time, within a limit for all of them, so the rows of a table with large row
 * groups take no more of it, and the first rows are read without the others. */
#pragma once

#include <gio/gio.h>

/* Physical types, by their numbers in the format. */
typedef enum
{
  PARQUET_BOOLEAN,
  PARQUET_INT32,
  PARQUET_INT64,
  PARQUET_INT96,
  PARQUET_FLOAT,
  PARQUET_DOUBLE,
  PARQUET_BYTES,
  PARQUET_FIXED_BYTES,
  PARQUET_N_TYPES
} ParquetType;

/* The pages of a column in a row group. */
typedef struct
{
  guint64 begin, end; /* bytes of the file */
  gint64 n;           /* values, with nulls */
  gint64 codec;
} ParquetChunk;

/* What the columns of a file share. */
typedef struct
{
  GInputStream *file;
  const char *path;   /* for errors */
  GByteArray *packed; /* the last page that was read, as it is in the file */
  guint64 used, most; /* bytes of the unpacked pages of all columns */
} ParquetPages;

typedef struct _ParquetColumn ParquetColumn;

/* pages and name, for errors, are kept by the caller. bytes: of a value of FIXED_BYTES. levels: the number of optional
 * fields on the way to the column; fewer than these defined: the value is null. */
ParquetColumn *parquet_column_new (ParquetPages *pages, const char *name, ParquetType type, gsize bytes, int levels);
void parquet_column_free (ParquetColumn *self);
void parquet_column_set_chunk (ParquetColumn *self, const ParquetChunk *chunk);
/* The next value of the chunk: *n bytes at *value, valid until the next call, as the format stores them, a boolean as a
 * byte; NULL for a null. DATA: the file is damaged, has a form that is not read, or pages beyond the limit; IO. */
gboolean parquet_column_next (ParquetColumn *self, const guint8 **value, gsize *n, GError **error);

/* Reads n bytes at a position. The buffer gets as many. */
gboolean parquet_read_at (GInputStream *file, guint64 at, gsize n, GByteArray *buffer, GError **error);
