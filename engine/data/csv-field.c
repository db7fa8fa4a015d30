/* Reads fields of a table. Notations are strict, so that a number is never read as another one: a separator of
 * thousands has three digits after it. */
#include "engine/data/csv-field.h"

#include <string.h>

#include "engine/data/loom-csv-guess.h"

/* ---- notations -------------------------------------------------------------------- */

/* Whole numbers with a sign between them, such as 2024-01-31; *end follows the last. */
static gboolean
read_three (const char *text, char sign, guint number[3], gsize digits[3], const char **end)
{
  for (int i = 0; i < 3; i++)
    {
      digits[i] = strspn (text, "0123456789");
      if (digits[i] == 0 || digits[i] > 4)
        return FALSE;
      number[i] = (guint)g_ascii_strtoull (text, NULL, 10);
      text += digits[i];
      if (i < 2 && *text++ != sign)
        return FALSE;
    }
  *end = text;
  return TRUE;
}

/* The fraction of a day of 10:30, 10:30:15 or 10:30:15.5, with or without Z. */
static gboolean
read_time (const char *text, double *day)
{
  static const double parts[] = { 24, 24 * 60, 24 * 60 * 60 };
  static const double most[] = { 24, 60, 61 };
  char *end = (char *)text;

  *day = 0;
  for (int i = 0; i < 3 && (i < 2 || *end == ':'); i++)
    {
      double value;

      if (i > 0 && *end++ != ':')
        return FALSE;
      if (!g_ascii_isdigit (*end))
        return FALSE;
      value = i < 2 ? (double)g_ascii_strtoull (end, &end, 10) : g_ascii_strtod (end, &end);
      if (value >= most[i])
        return FALSE;
      *day += value / parts[i];
    }
  return *end == '\0' || (*end == 'Z' && end[1] == '\0');
}

/* 2024-01-31 and 31.1.2024, each with or without a time; with a slash the order of day and month is not known. */
static gboolean
read_days (const char *text, gboolean has_decimal_comma, double *value)
{
  guint number[3];
  gsize digits[3];
  const char *end;
  gboolean is_iso = read_three (text, '-', number, digits, &end) && digits[0] == 4;
  double time = 0;
  GDate date, first;

  if (!is_iso && (!read_three (text, '.', number, digits, &end) || digits[2] != 4))
    return FALSE;
  if (!g_date_valid_dmy ((GDateDay)MIN (number[is_iso ? 2 : 0], 99), (GDateMonth)MIN (number[1], 13),
                         (GDateYear)number[is_iso ? 0 : 2]))
    return FALSE;
  if (*end != '\0' && ((*end != ' ' && *end != 'T') || !read_time (end + 1, &time)))
    return FALSE;
  g_date_set_dmy (&date, (GDateDay)number[is_iso ? 2 : 0], (GDateMonth)number[1], (GDateYear)number[is_iso ? 0 : 2]);
  g_date_set_dmy (&first, 1, G_DATE_JANUARY, 1970);
  *value = g_date_days_between (&first, &date) + time;
  return TRUE;
}

static gboolean
read_percent (const char *text, gboolean has_decimal_comma, double *value)
{
  const gsize n = strlen (text);
  g_autofree char *number = n > 1 && text[n - 1] == '%' ? g_strchomp (g_strndup (text, n - 1)) : NULL;

  return number != NULL && loom_csv_read_number (number, has_decimal_comma, value);
}

/* The length of a separator of thousands here, or 0. */
static gsize
separator_at (const char *p, gboolean has_decimal_comma)
{
  static const char *const signs[] = { "'", "’", " ", "\u00a0", "\u202f" };

  if (*p == (has_decimal_comma ? '.' : ','))
    return 1;
  for (guint i = 0; i < G_N_ELEMENTS (signs); i++)
    if (g_str_has_prefix (p, signs[i]))
      return strlen (signs[i]);
  return 0;
}

/* 1,234,567.8; with a decimal comma 1.234.567,8. Numbers below 1000 have no separator, and none begins with 0. */
static gboolean
read_grouped (const char *text, gboolean has_decimal_comma, double *value)
{
  g_autoptr (GString) number = g_string_new (NULL);
  const char *p = text, *sign = NULL;
  gsize n, separator = 0;

  if (*p == '-' || *p == '+')
    g_string_append_c (number, *p++);
  n = strspn (p, "0123456789");
  const gboolean begins_with_zero = *p == '0';
  g_string_append_len (number, p, (gssize)n);
  p += n;
  while (n > 0 && n <= 3 && !begins_with_zero && (separator = separator_at (p, has_decimal_comma)) > 0)
    {
      if ((sign != NULL && strncmp (sign, p, separator) != 0) || strspn (p + separator, "0123456789") != 3)
        return FALSE;
      sign = p;
      g_string_append_len (number, p + separator, 3);
      p += separator + 3;
    }
  g_string_append (number, p);
  return loom_csv_read_number (number->str, has_decimal_comma, value);
}

const char *const loom_csv_currencies[] = { "$", "€", "£", "¥", NULL };

/* -$1,234.5 and 1.234,50 €: a number with one sign before or after it. */
static gboolean
read_money (const char *text, gboolean has_decimal_comma, double *value)
{
  for (guint i = 0; loom_csv_currencies[i] != NULL; i++)
    {
      const char *sign = strstr (text, loom_csv_currencies[i]);
      const gsize n = strlen (loom_csv_currencies[i]);
      g_autofree char *number = NULL;

      if (sign == NULL || (sign[n] != '\0' && sign > text + (*text == '-' || *text == '+')))
        continue;
      number = g_strdup_printf ("%.*s%s", (int)(sign - text), text, sign + n);
      return read_grouped (g_strstrip (number), has_decimal_comma, value);
    }
  return FALSE;
}

const LoomCsvNotation loom_csv_notations[] = {
  { "grouped", "numbers with separators between thousands", read_grouped },
  { "money", "amounts of money, without their sign", read_money },
  { "percent", "percentages; 12 % is 12", read_percent },
  { "days", "dates, as days since 1970-01-01", read_days },
  { NULL },
};

/* ---- fields ------------------------------------------------------------------------ */

static void
clear_field (gpointer data)
{
  LoomCsvField *field = data;

  g_free (field->name);
  g_free (field->value);
}

GArray *
loom_csv_fields_new (void)
{
  GArray *fields = g_array_new (FALSE, TRUE, sizeof (LoomCsvField));

  g_array_set_clear_func (fields, clear_field);
  return fields;
}

static int
find_before (const char *name, const char *end, int (*find) (gconstpointer data, const char *column),
             gconstpointer data)
{
  g_autofree char *column = g_strndup (name, (gsize)(end - name));

  return find (data, g_strchomp (column));
}

gboolean
loom_csv_field_parse (const char *name, int (*find) (gconstpointer data, const char *column), gconstpointer data,
                      LoomCsvField *field)
{
  const char *colon = strrchr (name, ':');
  int column = find (data, name);

  *field = (LoomCsvField){ 0 };
  for (const LoomCsvNotation *n = loom_csv_notations; column < 0 && colon != NULL && n->name != NULL; n++)
    if (g_str_equal (colon + 1, n->name) && (column = find_before (name, colon, find, data)) >= 0)
      field->notation = n;
  for (const char *p = strchr (name, '='); column < 0 && p != NULL; p = strchr (p + 1, '='))
    if ((column = find_before (name, p, find, data)) >= 0)
      field->value = g_strstrip (g_strdup (p + 1));
  if (column < 0)
    return FALSE;
  field->name = g_strdup (name);
  field->column = (guint)column;
  return TRUE;
}

gboolean
loom_csv_field_read (const LoomCsvField *field, const char *text, gboolean has_decimal_comma, double *value)
{
  if (field->value != NULL)
    {
      *value = strcmp (text, field->value) == 0;
      return TRUE;
    }
  return field->notation != NULL ? field->notation->read (text, has_decimal_comma, value)
                                 : loom_csv_read_number (text, has_decimal_comma, value);
}
