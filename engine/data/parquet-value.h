/* Writes values of Parquet columns as fields of a table. */
#pragma once

#include "engine/data/parquet-column.h"

/* What the numbers and bytes of a column mean. */
typedef enum
{
  PARQUET_PLAIN,
  PARQUET_UNSIGNED,
  PARQUET_DECIMAL,   /* an integer / 10^scale */
  PARQUET_DATE,      /* days since 1970-01-01 */
  PARQUET_TIMESTAMP, /* since 1970-01-01, in units of 10^-scale seconds */
  PARQUET_TIME,      /* since midnight, in such units */
  PARQUET_HALF       /* a 16-bit float */
} ParquetMeaning;

/* Appends a value of n bytes. */
void
parquet_append_value (GString *text, ParquetType type, ParquetMeaning meaning, int scale, const guint8 *value, gsize n);
/* Appends a text in quotes. */
void parquet_append_quoted (GString *text, const char *word, gsize n);
