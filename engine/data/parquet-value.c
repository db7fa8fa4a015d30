/* Writes values of Parquet columns as text: numbers with the digits that return the same number, dates in ISO 8601. */
#include "engine/data/parquet-value.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-tensor.h"

#define SECONDS_A_DAY 86400

static gint64
read_signed (const guint8 *p, gsize n)
{
  guint64 value = 0;

  for (gsize i = 0; i < n; i++)
    value |= (guint64)p[i] << (8 * i);
  return n == 4 ? (gint32)value : (gint64)value;
}

static void
append_float (GString *text, double value, const char *format)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  /* As in data frames, NaN is a gap. */
  if (!isnan (value))
    g_string_append (text, g_ascii_formatd (digits, sizeof digits, format, value));
}

/* FALSE, with the number of days, for a year that has no four digits, because tables have no such dates. */
static gboolean
append_date (GString *text, gint64 days)
{
  GDate date;

  if (days < -719162 || days > 2932896)
    {
      g_string_append_printf (text, "%" G_GINT64_FORMAT, days);
      return FALSE;
    }
  g_date_clear (&date, 1);
  g_date_set_julian (&date, (guint32)(days + 719163));
  g_string_append_printf (text, "%04d-%02d-%02d", g_date_get_year (&date), g_date_get_month (&date),
                          g_date_get_day (&date));
  return TRUE;
}

/* rest: of a second, in units of 10^-scale. */
static void
append_time (GString *text, gint64 seconds, gint64 rest, int scale)
{
  g_string_append_printf (text, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
  if (rest != 0)
    g_string_append_printf (text, ".%0*" G_GINT64_FORMAT, scale, rest);
  while (rest != 0 && text->str[text->len - 1] == '0')
    g_string_truncate (text, text->len - 1);
}

static void
append_timestamp (GString *text, gint64 value, int scale)
{
  gint64 unit = 1, days, seconds, rest;

  for (int i = 0; i < scale; i++)
    unit *= 10;
  rest = value % unit;
  seconds = value / unit;
  if (rest < 0)
    {
      rest += unit;
      seconds--;
    }
  days = seconds / SECONDS_A_DAY;
  seconds %= SECONDS_A_DAY;
  if (seconds < 0)
    {
      seconds += SECONDS_A_DAY;
      days--;
    }
  if (!append_date (text, days))
    return;
  g_string_append_c (text, 'T');
  append_time (text, seconds, rest, scale);
}

/* The days of INT96 are counted from noon of the Julian calendar's first day; its nanoseconds come first. */
static void
append_int96 (GString *text, const guint8 *value)
{
  const gint64 nanoseconds = read_signed (value, 8), days = read_signed (value + 8, 4) - 2440588;

  if (!append_date (text, days) || nanoseconds < 0 || nanoseconds >= SECONDS_A_DAY * G_GINT64_CONSTANT (1000000000))
    return;
  g_string_append_c (text, 'T');
  append_time (text, nanoseconds / 1000000000, nanoseconds % 1000000000, 9);
}

/* A decimal number in bytes is big-endian. */
static void
append_decimal (GString *text, ParquetType type, int scale, const guint8 *value, gsize n)
{
  double number = 0;

  if (type == PARQUET_INT32 || type == PARQUET_INT64)
    number = (double)read_signed (value, n);
  else
    for (gsize i = 0; i < n; i++)
      number = number * 256 + (i == 0 ? (gint8)value[i] : value[i]);
  append_float (text, number / pow (10, scale), "%.17g");
}

static void
append_integer (GString *text, ParquetMeaning meaning, int scale, const guint8 *value, gsize n)
{
  const gint64 number = read_signed (value, n);

  if (meaning == PARQUET_DATE)
    append_date (text, number);
  else if (meaning == PARQUET_TIMESTAMP)
    append_timestamp (text, number, scale);
  else if (meaning == PARQUET_TIME)
    append_float (text, (double)number / pow (10, scale), "%.17g");
  else if (meaning == PARQUET_UNSIGNED)
    g_string_append_printf (text, "%" G_GUINT64_FORMAT, n == 4 ? (guint64)(guint32)number : (guint64)number);
  else
    g_string_append_printf (text, "%" G_GINT64_FORMAT, number);
}

void
parquet_append_quoted (GString *text, const char *word, gsize n)
{
  if (memchr (word, 0, n) != NULL || !g_utf8_validate (word, (gssize)n, NULL))
    {
      g_string_append (text, "bytes");
      return;
    }
  g_string_append_c (text, '"');
  for (gsize i = 0; i < n; i++)
    {
      if (word[i] == '"')
        g_string_append_c (text, '"');
      g_string_append_c (text, word[i]);
    }
  g_string_append_c (text, '"');
}

void
parquet_append_value (GString *text, ParquetType type, ParquetMeaning meaning, int scale, const guint8 *value, gsize n)
{
  float f32;
  double f64;
  guint16 f16;

  if (meaning == PARQUET_DECIMAL)
    append_decimal (text, type, scale, value, n);
  else if (meaning == PARQUET_HALF && n == 2)
    {
      memcpy (&f16, value, 2);
      append_float (text, (double)loom_half_to_float (f16), "%.9g");
    }
  else if (type == PARQUET_BOOLEAN)
    g_string_append_c (text, *value != 0 ? '1' : '0');
  else if (type == PARQUET_INT32 || type == PARQUET_INT64)
    append_integer (text, meaning, scale, value, n);
  else if (type == PARQUET_INT96)
    append_int96 (text, value);
  else if (type == PARQUET_FLOAT)
    {
      memcpy (&f32, value, 4);
      append_float (text, (double)f32, "%.9g");
    }
  else if (type == PARQUET_DOUBLE)
    {
      memcpy (&f64, value, 8);
      append_float (text, f64, "%.17g");
    }
  else
    parquet_append_quoted (text, (const char *)value, n);
}
