/* Guesses separator, header and roles of columns from the first rows of a CSV file. */
#include "engine/data/loom-csv-guess.h"

#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "engine/core/loom-compare.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/csv-field.h"
#include "engine/data/csv-guess-private.h"
#include "engine/data/loom-csv.h"
#include "engine/data/loom-parquet.h"

#define HEAD_BYTES      (512 * 1024)
#define MOST_HEAD_BYTES (HEAD_BYTES * 64)
#define ENOUGH_ROWS     100
#define MOST_ROWS       5000

const char *
loom_csv_role_title (LoomCsvRole role)
{
  static const char *const titles[LOOM_CSV_N_ROLES] = { "Feature", "Target", "Ignored", "Names the row" };

  return titles[role];
}

gboolean
loom_csv_is_missing (const char *text)
{
  static const char *const words[] = { "", "na", "n/a", "nan", "null", "none", "?", "-" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_ascii_strcasecmp (text, words[i]) == 0)
      return TRUE;
  return FALSE;
}

gboolean
loom_csv_is_missing_label (const char *text)
{
  return loom_csv_is_missing (text) && g_ascii_strcasecmp (text, "none") != 0 && strcmp (text, "-") != 0;
}

const char *const loom_csv_decimal_choices[] = { "point", "comma", NULL };

gboolean
loom_csv_read_number (const char *text, gboolean has_decimal_comma, double *value)
{
  g_autofree char *copy = NULL;
  char *end, *comma;

  /* With a decimal comma, a point separates thousands. */
  if (has_decimal_comma && strchr (text, '.') != NULL)
    return FALSE;
  if (has_decimal_comma && (comma = strchr (text, ',')) != NULL)
    {
      copy = g_strdup (text);
      copy[comma - text] = '.';
      text = copy;
    }
  *value = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*value);
}

static void
column_free (gpointer data)
{
  LoomCsvColumn *column = data;

  g_free (column->name);
  g_free (column->example);
  g_free (column->odd);
  g_clear_pointer (&column->words, g_ptr_array_unref);
  g_free (column);
}

void
loom_csv_guess_free (LoomCsvGuess *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->columns);
  g_free (self);
}

/* ---- the head of the file ------------------------------------------------------ */

static char *
read_head (const char *path, gsize bytes, gsize *length, gboolean *is_whole, guint64 *size, GError **error)
{
  struct stat status;

  if (loom_path_is_folder (path))
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: it is a folder.", path);
  *size = loom_os->stat (AT_FDCWD, path, &status, 0) == 0 ? (guint64)status.st_size : 0;
  return loom_csv_read_file (path, bytes, 0, NULL, length, is_whole, error);
}

/* TRUE if each comma of the text is between two digits, as in 6,1. */
static gboolean
has_commas_in_numbers (const char *text, const char *end)
{
  for (const char *p = text; p < end; p++)
    if (*p == ',' && (p == text || !g_ascii_isdigit (p[-1]) || !g_ascii_isdigit (p[1])))
      return FALSE;
  return TRUE;
}

/* The separator that cuts the first lines into the most fields, as many in each. */
static char
guess_delimiter (const char *text, gsize length)
{
  static const char candidates[] = ",;\t|";
  const char named = loom_csv_named_delimiter (text, text + length);
  const char *rows = loom_csv_skip_comments (text, text + length);
  char best = ',';
  guint most = 0;

  if (named != 0)
    return named;
  if (rows < text + length)
    text = rows;
  for (guint i = 0; candidates[i] != 0; i++)
    {
      guint in_line = 0, first = 0, line = 0;
      gboolean quoted = FALSE, same = TRUE;
      const char *p;

      for (p = text; line < 20; p++)
        {
          quoted ^= *p == '"';
          in_line += !quoted && *p == candidates[i];
          if ((*p != '\n' || quoted) && *p != 0)
            continue;
          if (line == 0)
            first = in_line;
          same = same && (in_line == first || *p == 0);
          in_line = 0;
          line++;
          if (*p == 0)
            break;
          while (p[1] == '\n' || p[1] == '\r')
            p++;
          if (p[1] == 0)
            break;
        }
      /* One that cuts lines differently, or numbers only, may be a decimal comma. */
      same = same && (candidates[i] != ',' || !has_commas_in_numbers (text, p));
      if (first * (same ? 100 : 1) > most)
        {
          most = first * (same ? 100 : 1);
          best = candidates[i];
        }
    }
  return best;
}

/* TRUE if the text is neither a number, with point or comma, nor a gap. */
static gboolean
is_word (const char *text)
{
  double value;
  char *end;

  if (loom_csv_is_missing (text) || loom_csv_read_number (text, TRUE, &value))
    return FALSE;
  g_ascii_strtod (text, &end); /* an infinite one */
  return end == text || *end != '\0';
}

/* TRUE if a column begins with a word, such as a name, possibly followed by one more, such as a unit, and has numbers
 * below. */
static gboolean
has_name (const GPtrArray *rows, guint i)
{
  gboolean has_number = FALSE;

  if (!is_word (((const GPtrArray *)rows->pdata[0])->pdata[i]))
    return FALSE;
  for (guint r = 1; r < rows->len; r++)
    {
      const char *text = ((const GPtrArray *)rows->pdata[r])->pdata[i];

      if (is_word (text) && (r > 1 || rows->len < 4))
        return FALSE;
      has_number = has_number || !loom_csv_is_missing (text);
    }
  return has_number;
}

/* TRUE if the cells of a row below no word of the first one are two or more years in order. */
static gboolean
has_years (const GPtrArray *row, const GPtrArray *first)
{
  double value, before = 0;
  guint n = 0;

  for (guint i = 0; i < MIN (row->len, first->len); i++)
    {
      if (is_word (first->pdata[i]) || loom_csv_is_missing (first->pdata[i]))
        continue;
      if (!loom_csv_read_number (row->pdata[i], FALSE, &value) || value != floor (value) || value < 1800 || value > 2200
          || value <= before)
        return FALSE;
      before = value;
      n++;
    }
  return n > 1;
}

/* A first line of words above numbers names them. Spreadsheets and data frames leave the name of the first column
 * empty, and a name may be a number, such as a year. */
static gboolean
guess_header (const GPtrArray *rows)
{
  const GPtrArray *first = rows->pdata[0];
  const GPtrArray *second = rows->len > 1 ? rows->pdata[1] : NULL;
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < first->len; i++)
    if (has_name (rows, i))
      return TRUE;
  if (second != NULL && has_years (first, first) && !has_years (second, first))
    return TRUE;
  for (guint i = 0; i < first->len; i++)
    if (!is_word (first->pdata[i]))
      return FALSE;
  for (guint i = 0; second != NULL && i < MIN (first->len, second->len); i++)
    if (!is_word (second->pdata[i]) && !loom_csv_is_missing (second->pdata[i]))
      return TRUE;
  /* Words only: names are not repeated. */
  for (guint i = 0; i < first->len; i++)
    if (!g_hash_table_add (names, first->pdata[i]))
      return FALSE;
  return TRUE;
}

/* Rows as arrays of pointers into text; lines receives the line of each. If the head was cut off, its last row is left
 * out. */
static GPtrArray *
read_rows (const char *path, char *text, gsize length, char delimiter, gboolean *is_whole, GArray *lines,
           GError **error)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  LoomCsvReader reader = { name, text, text + length, delimiter, 1, 1, NULL };
  g_autoptr (GPtrArray) fields = reader.fields = g_ptr_array_new ();
  GError *failure = NULL;

  loom_csv_begin (&reader);
  while (rows->len <= MOST_ROWS && loom_csv_read_row (&reader, &failure))
    {
      GPtrArray *row = g_ptr_array_new ();

      if (!*is_whole && reader.p == reader.end)
        {
          g_ptr_array_unref (row);
          break;
        }
      for (guint i = 0; i < fields->len; i++)
        g_ptr_array_add (row, fields->pdata[i]);
      g_ptr_array_add (rows, row);
      g_array_append_val (lines, reader.row_line);
      if (row->len != ((const GPtrArray *)rows->pdata[0])->len)
        return loom_refuse_null (
            error, LOOM_ERROR_DATA,
            "“%s” line %d has %u fields, but the first line has %u: check that “%s” is the delimiter.", name,
            reader.row_line, row->len, ((const GPtrArray *)rows->pdata[0])->len,
            delimiter == '\t' ? "tab" : (const char[]){ delimiter, 0 });
    }
  if (failure != NULL && *is_whole)
    {
      g_propagate_error (error, failure);
      return NULL;
    }
  g_clear_error (&failure);
  *is_whole = *is_whole && reader.p == reader.end;
  return g_steal_pointer (&rows);
}

/* ---- columns ---------------------------------------------------------------------- */

/* A table while its columns are read. */
typedef struct
{
  const GPtrArray *rows;
  const GArray *lines; /* int, of each row */
  guint first;         /* the first row of values */
  gboolean has_decimal_comma;
  const LoomCsvNotation *notation; /* of the column that is read; NULL: plain numbers */
} Table;

/* Counts of one column. Integers that grow by one from 0 or 1 number the rows. */
typedef struct
{
  GHashTable *distinct;
  gboolean counts;
  double before, squares;
  guint n;
} Counting;

static void
count_cell (LoomCsvColumn *column, const Table *table, guint row, const char *text, Counting *counting)
{
  double value, delta;

  if (loom_csv_is_missing (text))
    {
      column->n_missing++;
      counting->counts = FALSE;
      return;
    }
  if (column->example == NULL)
    column->example = g_strdup (text);
  if (g_hash_table_size (counting->distinct) < LOOM_CSV_DISTINCT)
    g_hash_table_add (counting->distinct, (gpointer)text);
  if (!loom_csv_field_read (&(LoomCsvField){ .notation = table->notation }, text, table->has_decimal_comma, &value))
    {
      if (column->n_odd++ == 0)
        {
          column->odd = g_strdup (text);
          column->odd_line = (guint)g_array_index (table->lines, int, row);
        }
      return;
    }
  column->is_integer = column->is_integer && value == floor (value) && fabs (value) < 1e9;
  counting->counts = counting->counts && (counting->n == 0 ? value == 0 || value == 1 : value == counting->before + 1);
  counting->before = value;
  column->minimum = counting->n == 0 ? value : MIN (column->minimum, value);
  column->maximum = counting->n == 0 ? value : MAX (column->maximum, value);
  /* Welford, "Note on a method for calculating corrected sums of squares and products", 1962. */
  delta = value - column->mean;
  column->mean += delta / ++counting->n;
  counting->squares += delta * (value - column->mean);
}

/* The words of a column in order, if each can be named in an option; or NULL. */
static GPtrArray *
list_words (GHashTable *distinct)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer word;

  g_hash_table_iter_init (&iter, distinct);
  while (g_hash_table_iter_next (&iter, &word, NULL))
    {
      for (const char *p = word; *p != '\0'; p++)
        if (*p == ',' || g_ascii_iscntrl (*p))
          return NULL;
      g_ptr_array_add (words, g_strdup (word));
    }
  g_ptr_array_sort (words, loom_compare_texts);
  return g_steal_pointer (&words);
}

static LoomCsvColumn *
read_column_as (const Table *table, guint i, const char *name)
{
  LoomCsvColumn *column = g_new0 (LoomCsvColumn, 1);
  g_autoptr (GHashTable) distinct = g_hash_table_new (g_str_hash, g_str_equal);
  Counting counting = { .distinct = distinct, .counts = TRUE };

  column->name = g_strdup (name);
  column->is_integer = TRUE;
  for (guint r = table->first; r < table->rows->len; r++)
    count_cell (column, table, r, ((const GPtrArray *)table->rows->pdata[r])->pdata[i], &counting);
  column->is_number = column->n_odd == 0 && counting.n > 0;
  column->is_integer = column->is_integer && column->is_number;
  column->notation = column->is_number && table->notation != NULL ? table->notation->name : NULL;
  column->n_distinct = g_hash_table_size (distinct);
  /* Words that hardly ever come back say nothing about other rows; numbers with a few words among them are numbers. */
  if (column->n_odd > counting.n && loom_csv_why_no_number (column->odd) == NULL && column->n_distinct > 1
      && column->n_distinct <= MOST_WORDS && column->n_distinct * 2 <= table->rows->len - table->first)
    column->words = list_words (distinct);
  column->deviation = counting.n > 1 ? sqrt (counting.squares / counting.n) : 0;
  if (counting.counts && column->is_integer && counting.n > 3)
    column->role = LOOM_CSV_ID;
  return column;
}

/* Reads a column as plain numbers or words, else in the first notation that all of its values have. */
static LoomCsvColumn *
read_column (const Table *table, guint i, const char *name)
{
  LoomCsvColumn *column = read_column_as (table, i, name);

  for (const LoomCsvNotation *n = loom_csv_notations; !column->is_number && column->odd != NULL && n->name != NULL; n++)
    {
      double value;
      Table other = *table;
      LoomCsvColumn *read;

      if (!n->read (column->odd, table->has_decimal_comma, &value))
        continue;
      other.notation = n;
      read = read_column_as (&other, i, name);
      if (read->is_number)
        {
          column_free (column);
          return read;
        }
      column_free (read);
    }
  return column;
}

/* Reads all columns; *n_numbers of them have numbers, in any notation. */
static GPtrArray *
read_columns (const Table *table, guint *n_numbers)
{
  GPtrArray *columns = g_ptr_array_new_with_free_func (column_free);
  const GPtrArray *first = table->rows->pdata[0];

  *n_numbers = 0;
  for (guint i = 0; i < first->len; i++)
    {
      g_autofree char *number = g_strdup_printf ("c%u", i + 1);
      LoomCsvColumn *column = read_column (table, i, table->first > 0 ? first->pdata[i] : number);

      *n_numbers += column->is_number;
      g_ptr_array_add (columns, column);
    }
  return columns;
}

gboolean
loom_csv_column_is_classes (const LoomCsvGuess *self, guint i)
{
  const LoomCsvColumn *column = self->columns->pdata[i];

  if (!column->is_number)
    return TRUE;
  if (!column->is_integer || column->notation != NULL || column->n_distinct * 2 > self->n_rows)
    return FALSE;
  return column->n_distinct == 2
         || (column->minimum >= 0 && column->n_distinct <= MOST_NUMBERED && column->maximum < 100);
}

static gboolean
is_named (const LoomCsvColumn *column, const char *const *names)
{
  for (guint i = 0; names[i] != NULL; i++)
    if (g_ascii_strcasecmp (column->name, names[i]) == 0)
      return TRUE;
  return FALSE;
}

gboolean
loom_csv_column_is_feature (const LoomCsvColumn *column)
{
  return column->is_number || column->words != NULL;
}

char *
loom_csv_column_reading (const LoomCsvColumn *column)
{
  const LoomCsvNotation *n = loom_csv_notations;

  if (!column->is_number && column->words != NULL)
    return g_strdup_printf ("words, as one feature for each of %u values", column->words->len);
  while (column->notation != NULL && n->name != NULL && !g_str_equal (n->name, column->notation))
    n++;
  return column->notation != NULL ? g_strdup (n->doc) : NULL;
}

static void
guess_roles (LoomCsvGuess *self)
{
  static const char *const targets[] = { "target",   "label", "class",    "y",     "outcome", "species",
                                         "category", "kind",  "survived", "price", "medv",    NULL };
  static const char *const ids[] = { "id", "index", "uuid", "row", "no", "nr", NULL };
  int target = -1;

  for (guint i = 0; i < self->columns->len; i++)
    {
      LoomCsvColumn *column = self->columns->pdata[i];

      /* Data frames write numbers or names of rows as a column without a name. */
      if (is_named (column, ids) || (*column->name == '\0' && column->example != NULL))
        column->role = LOOM_CSV_ID;
      else if (column->role != LOOM_CSV_ID
               && (!loom_csv_column_is_feature (column) || (column->n_distinct < 2 && self->is_whole)))
        column->role = LOOM_CSV_IGNORED;
    }
  for (guint i = 0; i < self->columns->len && target < 0; i++)
    if (is_named (self->columns->pdata[i], targets))
      target = (int)i;
  /* The target is the last informative column; words that differ in every row are not informative. */
  for (guint i = self->columns->len; i-- > 0 && target < 0;)
    {
      const LoomCsvColumn *column = self->columns->pdata[i];

      if (column->role == LOOM_CSV_FEATURE
          || (column->role == LOOM_CSV_IGNORED && column->n_distinct > 1
              && column->n_distinct < MIN (LOOM_CSV_DISTINCT, self->n_rows)))
        target = (int)i;
    }
  if (target >= 0)
    ((LoomCsvColumn *)self->columns->pdata[target])->role = LOOM_CSV_TARGET;
  /* A column that numbers the rows may be the only feature of a toy table. */
  for (guint i = 0; i < self->columns->len; i++)
    if (((LoomCsvColumn *)self->columns->pdata[i])->role == LOOM_CSV_FEATURE)
      return;
  for (guint i = 0; i < self->columns->len; i++)
    {
      LoomCsvColumn *column = self->columns->pdata[i];

      if (column->role == LOOM_CSV_ID && *column->name != '\0' && column->is_number && !is_named (column, ids))
        column->role = LOOM_CSV_FEATURE;
    }
}

LoomCsvGuess *
loom_csv_guess_file (const char *path, char delimiter, int has_header, GError **error)
{
  g_autoptr (LoomCsvGuess) self = g_new0 (LoomCsvGuess, 1);
  g_autoptr (GPtrArray) rows = NULL, with_comma = NULL;
  g_autoptr (GArray) lines = g_array_new (FALSE, FALSE, sizeof (int));
  g_autofree char *text = NULL, *name = g_path_get_basename (path);
  Table table = { .lines = lines };
  guint n_numbers, n_with_comma = 0;
  gsize length;

  self->columns = g_ptr_array_new_with_free_func (column_free);
  /* For a table with thousands of columns a larger head is read, so that it contains some rows. */
  for (gsize bytes = HEAD_BYTES; bytes <= MOST_HEAD_BYTES; bytes *= 8)
    {
      g_clear_pointer (&rows, g_ptr_array_unref);
      g_free (text);
      g_array_set_size (lines, 0);
      text = read_head (path, bytes, &length, &self->is_whole, &self->size, error);
      if (text == NULL)
        return NULL;
      self->delimiter = delimiter != 0 ? delimiter : guess_delimiter (text, length);
      rows = read_rows (path, text, length, self->delimiter, &self->is_whole, lines, error);
      if (rows == NULL)
        return NULL;
      if (self->is_whole || rows->len >= ENOUGH_ROWS)
        break;
    }
  table.rows = rows;
  self->first_line = lines->len > 0 ? (guint)g_array_index (lines, int, 0) : 1;
  if (rows->len == 0 && self->is_whole)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is empty.", name);
  else if (rows->len == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "The first line of “%s” is longer than %d MiB: check for a quote that is not closed.", name,
                 MOST_HEAD_BYTES >> 20);
  if (rows->len == 0)
    return NULL;
  if (((const GPtrArray *)rows->pdata[0])->len < 2)
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "“%s” has a single column; a target and at least one feature are needed.", name);
  table.first = self->has_header = has_header >= 0 ? has_header : loom_parquet_is_file (path) || guess_header (rows);
  self->n_rows = rows->len - self->has_header;
  if (self->n_rows == 0)
    return loom_refuse_null (error, LOOM_ERROR_DATA, "“%s” has a line of names but no rows below it.", name);
  g_ptr_array_unref (self->columns);
  self->columns = read_columns (&table, &n_numbers);
  if (self->delimiter != ',')
    {
      table.has_decimal_comma = TRUE;
      with_comma = read_columns (&table, &n_with_comma);
    }
  self->has_decimal_comma = n_with_comma > n_numbers;
  if (self->has_decimal_comma)
    {
      g_ptr_array_unref (self->columns);
      self->columns = g_steal_pointer (&with_comma);
    }
  guess_roles (self);
  return g_steal_pointer (&self);
}
