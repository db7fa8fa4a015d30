#include "engine/data/loom-csv-guess.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-csv.h"

#define HEAD_BYTES (512 * 1024)
#define MOST_ROWS  5000

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

static void
column_free (gpointer data)
{
  LoomCsvColumn *column = data;

  g_free (column->name);
  g_free (column->example);
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
read_head (const char *path, gsize *length, gboolean *is_whole, guint64 *size, GError **error)
{
  g_autofree char *text = g_malloc (HEAD_BYTES + 1);
  g_autofree char *name = g_path_get_basename (path);
  FILE *file = fopen (path, "rbe");
  struct stat status;
  const char *bad;

  if (file == NULL || fstat (fileno (file), &status) != 0 || S_ISDIR (status.st_mode))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", name,
                   file == NULL ? g_strerror (errno) : "it is a folder");
      g_clear_pointer (&file, fclose);
      return NULL;
    }
  *size = (guint64)status.st_size;
  *length = fread (text, 1, HEAD_BYTES, file);
  *is_whole = *length < HEAD_BYTES;
  fclose (file);
  text[*length] = 0;
  /* The head may end within a character. */
  if (memchr (text, 0, *length) != NULL
      || (!g_utf8_validate (text, (gssize)*length, &bad) && (*is_whole || bad < text + *length - 4)))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "“%s” is no table as text: it has bytes that are no UTF-8 characters. A spreadsheet can be saved as "
                   "CSV, UTF-8.",
                   name);
      return NULL;
    }
  return g_steal_pointer (&text);
}

/* The separator that cuts the first lines into the most fields, as many in each. */
static char
guess_delimiter (const char *text)
{
  static const char candidates[] = ",;\t|";
  char best = ',';
  guint most = 0;

  for (guint i = 0; candidates[i] != 0; i++)
    {
      guint in_line = 0, first = 0, line = 0;
      gboolean quoted = FALSE, same = TRUE;

      for (const char *p = text; line < 20; p++)
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
      /* One that cuts lines differently may be a decimal comma. */
      if (first * (same ? 100 : 1) > most)
        {
          most = first * (same ? 100 : 1);
          best = candidates[i];
        }
    }
  return best;
}

static gboolean
read_number (const char *text, double *value)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*value);
}

/* A first line of words above numbers names them. */
static gboolean
guess_header (const GPtrArray *rows)
{
  const GPtrArray *first = rows->pdata[0];
  const GPtrArray *second = rows->len > 1 ? rows->pdata[1] : NULL;
  double value;

  for (guint i = 0; i < first->len; i++)
    if (read_number (first->pdata[i], &value) || loom_csv_is_missing (first->pdata[i]))
      return FALSE;
  for (guint i = 0; second != NULL && i < MIN (first->len, second->len); i++)
    if (read_number (second->pdata[i], &value))
      return TRUE;
  /* Words only: names are not repeated. */
  for (guint i = 0; i < first->len; i++)
    for (guint k = 0; k < i; k++)
      if (strcmp (first->pdata[i], first->pdata[k]) == 0)
        return FALSE;
  return TRUE;
}

/* Rows as arrays of pointers into text. The last one of a head that was cut off is left out. */
static GPtrArray *
read_rows (const char *path, char *text, gsize length, char delimiter, gboolean *is_whole, GError **error)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  LoomCsvReader reader = { name, text, text + length, delimiter, 1, 1, NULL };
  g_autoptr (GPtrArray) fields = reader.fields = g_ptr_array_new ();
  GError *failure = NULL;

  loom_csv_skip_mark (&reader);
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
      if (row->len != ((const GPtrArray *)rows->pdata[0])->len)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "“%s” line %d has %u fields, but the first line has %u: is “%s” what stands between fields?",
                       name, reader.row_line, row->len, ((const GPtrArray *)rows->pdata[0])->len,
                       delimiter == '\t' ? "tab" : (const char[]){ delimiter, 0 });
          return NULL;
        }
    }
  if (failure != NULL && *is_whole)
    {
      g_propagate_error (error, failure);
      return NULL;
    }
  g_clear_error (&failure);
  *is_whole = *is_whole && reader.p == reader.end;
  if (rows->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is empty.", name);
      return NULL;
    }
  return g_steal_pointer (&rows);
}

/* ---- columns ---------------------------------------------------------------------- */

/* Integers that only ever grow by one count the rows. */
typedef struct
{
  gboolean counts;
  double before;
} Counting;

static void
count_cell (LoomCsvColumn *column, const char *text, GHashTable *distinct, Counting *counting, guint *n,
            double *squares)
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
  if (g_hash_table_size (distinct) < LOOM_CSV_DISTINCT)
    g_hash_table_add (distinct, (gpointer)text);
  if (!read_number (text, &value))
    {
      column->is_number = column->is_integer = FALSE;
      return;
    }
  column->is_integer = column->is_integer && value == floor (value) && fabs (value) < 1e9;
  counting->counts = counting->counts && (*n == 0 || value == counting->before + 1);
  counting->before = value;
  column->minimum = *n == 0 ? value : MIN (column->minimum, value);
  column->maximum = *n == 0 ? value : MAX (column->maximum, value);
  /* Welford, "Note on a method for calculating corrected sums of squares and products", 1962. */
  delta = value - column->mean;
  column->mean += delta / ++*n;
  *squares += delta * (value - column->mean);
}

static LoomCsvColumn *
read_column (const GPtrArray *rows, guint first, guint i, const char *name)
{
  LoomCsvColumn *column = g_new0 (LoomCsvColumn, 1);
  g_autoptr (GHashTable) distinct = g_hash_table_new (g_str_hash, g_str_equal);
  Counting counting = { TRUE, 0 };
  double squares = 0;
  guint n = 0;

  column->name = g_strdup (name);
  column->is_number = column->is_integer = TRUE;
  for (guint r = first; r < rows->len; r++)
    count_cell (column, ((const GPtrArray *)rows->pdata[r])->pdata[i], distinct, &counting, &n, &squares);
  column->is_number = column->is_number && n > 0;
  column->is_integer = column->is_integer && n > 0;
  column->n_distinct = g_hash_table_size (distinct);
  column->deviation = n > 1 ? sqrt (squares / n) : 0;
  if (counting.counts && n > 3)
    column->role = LOOM_CSV_ID;
  return column;
}

gboolean
loom_csv_column_is_classes (const LoomCsvGuess *self, guint i)
{
  const LoomCsvColumn *column = self->columns->pdata[i];

  if (!column->is_number)
    return TRUE;
  return column->is_integer && column->minimum >= 0 && column->n_distinct <= 20 && column->maximum < 100
         && column->n_distinct * 2 <= self->n_rows;
}

static gboolean
is_named (const LoomCsvColumn *column, const char *const *names)
{
  for (guint i = 0; names[i] != NULL; i++)
    if (g_ascii_strcasecmp (column->name, names[i]) == 0)
      return TRUE;
  return FALSE;
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

      if (is_named (column, ids))
        column->role = LOOM_CSV_ID;
      else if (column->role != LOOM_CSV_ID && (!column->is_number || column->n_distinct < 2))
        column->role = LOOM_CSV_IGNORED;
    }
  for (guint i = 0; i < self->columns->len && target < 0; i++)
    if (is_named (self->columns->pdata[i], targets))
      target = (int)i;
  /* The last column that says something; words with a value of their own in each row say nothing. */
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
}

LoomCsvGuess *
loom_csv_guess_file (const char *path, char delimiter, int has_header, GError **error)
{
  g_autoptr (LoomCsvGuess) self = g_new0 (LoomCsvGuess, 1);
  g_autoptr (GPtrArray) rows = NULL;
  g_autofree char *text = NULL, *name = g_path_get_basename (path);
  const GPtrArray *first;
  gsize length;

  self->columns = g_ptr_array_new_with_free_func (column_free);
  text = read_head (path, &length, &self->is_whole, &self->size, error);
  if (text == NULL)
    return NULL;
  self->delimiter = delimiter != 0 ? delimiter : guess_delimiter (text);
  rows = read_rows (path, text, length, self->delimiter, &self->is_whole, error);
  if (rows == NULL)
    return NULL;
  first = rows->pdata[0];
  if (first->len < 2)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "“%s” has a single column: there must be one to predict, and another to predict it from.", name);
      return NULL;
    }
  self->has_header = has_header >= 0 ? has_header : guess_header (rows);
  self->n_rows = rows->len - self->has_header;
  if (self->n_rows == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has a first line with names and no rows below it.", name);
      return NULL;
    }
  for (guint i = 0; i < first->len; i++)
    {
      g_autofree char *number = g_strdup_printf ("c%u", i + 1);

      g_ptr_array_add (self->columns,
                       read_column (rows, self->has_header, i, self->has_header ? first->pdata[i] : number));
    }
  guess_roles (self);
  return g_steal_pointer (&self);
}

/* ---- options ------------------------------------------------------------------------ */

/* Names of the columns in a role, separated by commas; *n counts them. */
static char *
list_role (const LoomCsvGuess *self, LoomCsvRole role, guint *n)
{
  GString *list = g_string_new (NULL);

  *n = 0;
  for (guint i = 0; i < self->columns->len; i++)
    {
      const LoomCsvColumn *column = self->columns->pdata[i];

      if (column->role != role)
        continue;
      g_string_append_printf (list, "%s%s", *n > 0 ? "," : "", column->name);
      ++*n;
    }
  return g_string_free (list, FALSE);
}

static void
add_option (GStrvBuilder *builder, const char *name, const char *value)
{
  g_strv_builder_add (builder, name);
  g_strv_builder_add (builder, value);
}

static gboolean
check_roles (const LoomCsvGuess *self, guint n_targets, guint n_features, gboolean is_classes, GError **error)
{
  if (n_targets == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "Choose the column that is to be predicted: the target.");
  else if (n_features == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "Choose at least one column as a feature: what it is predicted from.");
  else if (n_targets > 1 && is_classes)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "Several targets must all be numbers; one of these names classes.");
  else
    {
      for (guint i = 0; i < self->columns->len; i++)
        {
          const LoomCsvColumn *column = self->columns->pdata[i];

          if (strchr (column->name, ',') != NULL && column->role <= LOOM_CSV_TARGET)
            {
              g_set_error (
                  error, LOOM_ERROR, LOOM_ERROR_DATA,
                  "The name of the column “%s” has a comma in it, which stands between names: rename it in the "
                  "file, or ignore it.",
                  column->name);
              return FALSE;
            }
          if (column->role != LOOM_CSV_FEATURE || column->is_number)
            continue;
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "The column “%s” holds words, such as “%s”: a network sees numbers. Ignore it, or write numbers "
                       "for its words.",
                       column->name, column->example != NULL ? column->example : "");
          return FALSE;
        }
      return TRUE;
    }
  return FALSE;
}

char **
loom_csv_guess_options (const LoomCsvGuess *self, const char *path, const char *normalize, const char *missing,
                        GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  guint n_targets, n_features, n_rest[2];
  g_autofree char *targets = list_role (self, LOOM_CSV_TARGET, &n_targets);
  g_autofree char *features = list_role (self, LOOM_CSV_FEATURE, &n_features);
  g_autofree char *ignored = list_role (self, LOOM_CSV_IGNORED, &n_rest[0]);
  g_autofree char *ids = list_role (self, LOOM_CSV_ID, &n_rest[1]);
  gboolean is_classes = FALSE;

  for (guint i = 0; i < self->columns->len; i++)
    if (((const LoomCsvColumn *)self->columns->pdata[i])->role == LOOM_CSV_TARGET)
      is_classes = is_classes
                   || (loom_csv_column_is_classes (self, i)
                       && (n_targets == 1 || !((const LoomCsvColumn *)self->columns->pdata[i])->is_number));
  if (!check_roles (self, n_targets, n_features, is_classes, error))
    return NULL;
  add_option (builder, "path", path);
  add_option (builder, "target", targets);
  if (n_rest[0] + n_rest[1] > 0)
    add_option (builder, "features", features);
  if (self->delimiter != ',')
    add_option (builder, "delimiter", self->delimiter == '\t' ? "tab" : (const char[]){ self->delimiter, 0 });
  if (!self->has_header)
    add_option (builder, "header", "false");
  if (!is_classes)
    add_option (builder, "target_type", "float");
  if (missing != NULL && strcmp (missing, "refuse") != 0)
    add_option (builder, "missing", missing);
  if (normalize != NULL && strcmp (normalize, "none") != 0)
    add_option (builder, "normalize", normalize);
  return g_strv_builder_end (builder);
}
