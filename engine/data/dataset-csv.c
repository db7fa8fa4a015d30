/* Tables as text: RFC 4180, one target column or several.
 *
 * Faults name the line and the column. What is done to numbers once they are read is in csv-prepare.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-fault.h"
#include "engine/data/csv-prepare.h"
#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-csv.h"
#include "engine/data/loom-dataset-private.h"

/* Enough for a header of tens of thousands of columns; describing reads no more. */
#define DESCRIBE_BYTES (1 << 20)

static const char *const yes_no[] = { "true", "false", NULL };

static const LoomDatasetParam params[] = {
  { .name = "path", .type = LOOM_DATASET_PATH, .doc = "The file; its first line names the columns." },
  { .name = "target",
    .type = LOOM_DATASET_STRING,
    .doc = "Column to predict; with target_type=\"float\" several, separated by commas." },
  { .name = "features",
    .type = LOOM_DATASET_STRING,
    .def = "",
    .doc = "Columns of x, separated by commas; all but the target when left out." },
  { .name = "delimiter", .type = LOOM_DATASET_STRING, .def = ",", .doc = "One character between fields, or tab." },
  { .name = "header",
    .type = LOOM_DATASET_ENUM,
    .def = "true",
    .choices = yes_no,
    .doc = "The first line names the columns; where it does not they are called c1, c2, and so on." },
  { .name = "missing",
    .type = LOOM_DATASET_ENUM,
    .def = "refuse",
    .choices = loom_csv_missing_choices,
    .doc = "A number that is empty, NA or ?: an error, the column's mean over the training rows, or no such row." },
  { .name = "normalize",
    .type = LOOM_DATASET_ENUM,
    .def = "none",
    .choices = loom_csv_normalize_choices,
    .doc = "Brings each column of x to mean 0 and deviation 1, or into 0 to 1, by the training rows." },
  { .name = "target_type",
    .type = LOOM_DATASET_ENUM,
    .def = "class",
    .choices = loom_target_types,
    .doc = "class: y i64 [B], from whole numbers or names; float: y f32 [B, targets]." },
  LOOM_DEALT_PARAMS ("rows", "0.2", ""),
  { .name = NULL },
};

/* Which columns are features and which targets. */
typedef struct
{
  GPtrArray *names;           /* of all columns */
  GArray *features, *targets; /* guint, indices of columns */
  gboolean is_class;
  gboolean row_is_read; /* the first line holds data and has been read already */
  LoomCsvMissing missing;
} Columns;

static void
columns_clear (Columns *self)
{
  g_clear_pointer (&self->names, g_ptr_array_unref);
  g_clear_pointer (&self->features, g_array_unref);
  g_clear_pointer (&self->targets, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Columns, columns_clear)

static int
find_column (const Columns *self, const char *name)
{
  for (guint i = 0; i < self->names->len; i++)
    {
      if (g_str_equal (g_ptr_array_index (self->names, i), name))
        return (int)i;
    }
  return -1;
}

/* Appends the columns of a list of names to out. */
static gboolean
pick_columns (const Columns *self, const char *list, const char *path, GArray *out, GError **error)
{
  g_auto (GStrv) wanted = g_strsplit (list, ",", -1);

  for (char **name = wanted; *name != NULL; name++)
    {
      int column = find_column (self, g_strstrip (*name));
      guint index = (guint)column;

      if (column < 0)
        {
          g_autofree const char **candidates = g_new0 (const char *, self->names->len + 1);
          const char *nearest;

          memcpy (candidates, self->names->pdata, self->names->len * sizeof *candidates);
          nearest = loom_nearest (*name, candidates);
          if (nearest != NULL)
            g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has no column “%s”. Did you mean “%s”?", path, *name,
                         nearest);
          else
            g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has no column “%s”; its first is “%s”.", path, *name,
                         candidates[0]);
          return FALSE;
        }
      g_array_append_val (out, index);
    }
  return TRUE;
}

static gboolean
choose_columns (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomCsvReader *reader,
                Columns *columns, GError **error)
{
  const char *features = loom_option_string (klass, options, "features");
  GError *failure = NULL;

  columns->is_class = g_str_equal (loom_option_string (klass, options, "target_type"), "class");
  columns->names = g_ptr_array_new_with_free_func (g_free);
  columns->features = g_array_new (FALSE, FALSE, sizeof (guint));
  columns->targets = g_array_new (FALSE, FALSE, sizeof (guint));
  if (!loom_csv_read_row (reader, &failure))
    {
      if (failure == NULL)
        g_set_error (&failure, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is empty; its first line must name the columns.",
                     reader->path);
      g_propagate_error (error, failure);
      return FALSE;
    }
  columns->missing = loom_csv_missing (klass, options);
  columns->row_is_read = g_str_equal (loom_option_string (klass, options, "header"), "false");
  for (guint i = 0; i < reader->fields->len; i++)
    {
      g_autofree char *number = g_strdup_printf ("c%u", i + 1);
      const char *name = columns->row_is_read ? number : g_ptr_array_index (reader->fields, i);
      int before = find_column (columns, name);

      /* A column is chosen by its name, which must therefore stand for one. */
      if (before >= 0 && *name != '\0')
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "“%s” names two columns “%s”, number %d and number %u; rename one.", reader->path, name,
                       before + 1, i + 1);
          return FALSE;
        }
      g_ptr_array_add (columns->names, g_strdup (name));
    }
  if (!pick_columns (columns, loom_option_string (klass, options, "target"), reader->path, columns->targets, error))
    return FALSE;
  if (columns->is_class && columns->targets->len != 1)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "The data set csv has several targets, which are numbers; say target_type=\"float\", or name one.");
      return FALSE;
    }
  if (*features != '\0')
    return pick_columns (columns, features, reader->path, columns->features, error);
  for (guint i = 0; i < columns->names->len; i++)
    {
      gboolean is_target = FALSE;

      for (guint k = 0; k < columns->targets->len; k++)
        is_target = is_target || g_array_index (columns->targets, guint, k) == i;
      if (!is_target)
        g_array_append_val (columns->features, i);
    }
  if (columns->features->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "“%s” has no column beside the target; is delimiter=\"%c\" right?", reader->path, reader->delimiter);
      return FALSE;
    }
  return TRUE;
}

static void
fill_info (const Columns *columns, LoomDatasetInfo *info)
{
  const gint64 n_features = columns->features->len, n_targets = columns->targets->len;

  loom_info_add_port (info, "x", LOOM_F32, 1, &n_features);
  loom_info_add_port (info, "y", columns->is_class ? LOOM_I64 : LOOM_F32, columns->is_class ? 0 : 1, &n_targets);
  if (!columns->is_class)
    info->n_classes = 0;
}

/* The file, or its first max bytes, as text that ends with 0. */
static char *
read_text (const char *path, gsize max, gsize *length, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) cause = NULL;

  if (!loom_dataset_check_file (path, NULL, error))
    return NULL;
  if (max == 0)
    {
      if (!g_file_get_contents (path, &text, length, &cause))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
          return NULL;
        }
      if (!g_utf8_validate (text, *length, NULL))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is no UTF-8 text.", path);
          return NULL;
        }
    }
  else
    {
      FILE *file = fopen (path, "rbe");

      if (file == NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” could not be opened.", path);
          return NULL;
        }
      text = g_malloc0 (max + 1);
      *length = fread (text, 1, max, file);
      fclose (file);
    }
  return g_steal_pointer (&text);
}

static gboolean
init_reader (LoomCsvReader *self, const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *path,
             char *text, gsize length, GError **error)
{
  const char *delimiter = loom_option_string (klass, options, "delimiter");

  if (g_str_equal (delimiter, "tab") || g_str_equal (delimiter, "\\t"))
    delimiter = "\t";
  if (strlen (delimiter) != 1 || *delimiter == '"' || *delimiter == '\n')
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "The data set csv has delimiter=\"%s\", which must be one character, or tab.", delimiter);
      return FALSE;
    }
  self->path = path;
  self->delimiter = *delimiter;
  self->p = text;
  self->end = text + length;
  self->line = 1;
  self->fields = g_ptr_array_new ();
  loom_csv_skip_mark (self);
  return TRUE;
}

static gboolean
parse_number (const LoomCsvReader *reader, const Columns *columns, guint column, float *value, GError **error)
{
  const char *text = g_ptr_array_index (reader->fields, column);
  const gboolean is_missing = loom_csv_is_missing (text);
  char *end;
  double number;

  if (is_missing && columns->missing != LOOM_CSV_MISSING_REFUSE)
    {
      *value = NAN;
      return TRUE;
    }
  number = g_ascii_strtod (text, &end);
  if (end == text || *end != '\0' || !isfinite (number))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” line %d, column “%s”: “%s” is no number%s.", reader->path,
                   reader->row_line, (const char *)g_ptr_array_index (columns->names, column), text,
                   is_missing ? "; missing=\"mean\" fills such gaps, missing=\"drop\" leaves the row out" : "");
      return FALSE;
    }
  *value = (float)number;
  if (isfinite (*value))
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
               "“%s” line %d, column “%s”: %s is larger than single precision holds (3.4e38). Scale the column, or "
               "leave it out.",
               reader->path, reader->row_line, (const char *)g_ptr_array_index (columns->names, column), text);
  return FALSE;
}

static gboolean
append_numbers (const LoomCsvReader *reader, const Columns *columns, const GArray *which, GArray *out, GError **error)
{
  for (guint i = 0; i < which->len; i++)
    {
      float value;

      if (!parse_number (reader, columns, g_array_index (which, guint, i), &value, error))
        return FALSE;
      g_array_append_val (out, value);
    }
  return TRUE;
}

static gboolean
has_gap (const GArray *values, guint from)
{
  for (guint i = from; i < values->len; i++)
    if (isnan (g_array_index (values, float, i)))
      return TRUE;
  return FALSE;
}

/* A row without its class is of no use; one with gaps, where these are not filled. A word such as “none” may be a
 * class. */
static gboolean
is_left_out (const LoomCsvReader *reader, const Columns *columns, const GArray *x, guint from)
{
  if (columns->missing == LOOM_CSV_MISSING_REFUSE)
    return FALSE;
  if (columns->is_class)
    {
      const char *label = g_ptr_array_index (reader->fields, g_array_index (columns->targets, guint, 0));

      if (label[0] == '\0' || strcmp (label, "?") == 0)
        return TRUE;
    }
  return columns->missing == LOOM_CSV_MISSING_DROP && has_gap (x, from);
}

/* Reads all rows: numbers into x and, for float targets, y; class labels as texts. */
static gboolean
read_rows (LoomCsvReader *reader, Columns *columns, GArray *x, GArray *y, GPtrArray *labels, GError **error)
{
  GError *failure = NULL;

  while (columns->row_is_read || loom_csv_read_row (reader, &failure))
    {
      const guint before_x = x->len, before_y = y->len;

      columns->row_is_read = FALSE;
      if (reader->fields->len != columns->names->len)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” line %d has %u fields, but the header names %u.",
                       reader->path, reader->row_line, reader->fields->len, columns->names->len);
          return FALSE;
        }
      if (!append_numbers (reader, columns, columns->features, x, error))
        return FALSE;
      if (is_left_out (reader, columns, x, before_x))
        {
          g_array_set_size (x, before_x);
          continue;
        }
      if (columns->is_class)
        {
          guint column = g_array_index (columns->targets, guint, 0);
          const char *label = g_ptr_array_index (reader->fields, column);

          if (*label == '\0')
            {
              g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” line %d, column “%s” is empty.", reader->path,
                           reader->row_line, (const char *)g_ptr_array_index (columns->names, column));
              return FALSE;
            }
          g_ptr_array_add (labels, (char *)label);
        }
      else if (!append_numbers (reader, columns, columns->targets, y, error))
        return FALSE;
      if (has_gap (y, before_y))
        {
          g_array_set_size (x, before_x);
          g_array_set_size (y, before_y);
        }
    }
  if (failure != NULL)
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  if (x->len == 0)
    {
      if (columns->missing == LOOM_CSV_MISSING_REFUSE)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has a header and no rows.", reader->path);
      else
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has no row without a gap.", reader->path);
      return FALSE;
    }
  return TRUE;
}

/* Labels that are all integers from 0 stay what they are. */
static gboolean
keep_numbers (GPtrArray *labels, LoomTensor *y, gint64 *n_classes)
{
  *n_classes = 0;
  for (guint i = 0; i < labels->len; i++)
    {
      gint64 value;

      if (!g_ascii_string_to_signed (g_ptr_array_index (labels, i), 10, 0, G_MAXINT32, &value, NULL))
        return FALSE;
      ((gint64 *)y->data)[i] = value;
      *n_classes = MAX (*n_classes, value + 1);
    }
  return TRUE;
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* Other labels become their places in the sorted list of all, which is returned. */
static char **
number_names (GPtrArray *labels, LoomTensor *y, gint64 *n_classes)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < labels->len; i++)
    {
      char *label = g_ptr_array_index (labels, i);

      if (g_hash_table_add (places, label))
        g_ptr_array_add (names, g_strdup (label));
    }
  g_ptr_array_sort (names, compare_texts);
  g_hash_table_remove_all (places);
  for (guint i = 0; i < names->len; i++)
    g_hash_table_insert (places, g_ptr_array_index (names, i), GUINT_TO_POINTER (i));
  for (guint i = 0; i < labels->len; i++)
    ((gint64 *)y->data)[i] = GPOINTER_TO_UINT (g_hash_table_lookup (places, g_ptr_array_index (labels, i)));
  *n_classes = names->len;
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (names, FALSE);
}

static LoomTensor *
tensor_from_floats (const GArray *values, gint64 n, gint64 width, GError **error)
{
  const gint64 dims[] = { n, width };
  LoomTensor *t = loom_tensor_new (LOOM_F32, 2, dims, error);

  if (t != NULL)
    memcpy (t->data, values->data, t->bytes);
  return t;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *text = NULL;
  g_autoptr (GPtrArray) fields = NULL;
  g_auto (Columns) columns = { NULL };
  LoomCsvReader reader = { NULL };
  gsize length;

  text = read_text (path, DESCRIBE_BYTES, &length, error);
  if (text == NULL || !init_reader (&reader, klass, options, path, text, length, error))
    return FALSE;
  fields = reader.fields;
  if (!choose_columns (klass, options, &reader, &columns, error))
    return FALSE;
  fill_info (&columns, info);
  return TRUE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *text = NULL;
  g_autoptr (GPtrArray) fields = NULL, labels = g_ptr_array_new ();
  g_autoptr (GArray) x = g_array_new (FALSE, FALSE, sizeof (float)), y = g_array_new (FALSE, FALSE, sizeof (float));
  g_autoptr (LoomTensor) inputs = NULL, targets = NULL;
  g_auto (Columns) columns = { NULL };
  LoomDatasetInfo info = { 0 };
  LoomCsvReader reader = { NULL };
  LoomTensor *data[2];
  LoomDataset *self;
  char **class_names = NULL;
  gint64 n;
  gsize length;

  text = read_text (path, 0, &length, error);
  if (text == NULL || !init_reader (&reader, klass, options, path, text, length, error))
    return NULL;
  fields = reader.fields;
  if (!choose_columns (klass, options, &reader, &columns, error) || !read_rows (&reader, &columns, x, y, labels, error))
    return NULL;
  fill_info (&columns, &info);
  n = x->len / columns.features->len;
  inputs = tensor_from_floats (x, n, columns.features->len, error);
  targets = columns.is_class ? loom_tensor_new (LOOM_I64, 1, &n, error)
                             : tensor_from_floats (y, n, columns.targets->len, error);
  if (inputs == NULL || targets == NULL)
    return NULL;
  if (columns.is_class && !keep_numbers (labels, targets, &info.n_classes))
    class_names = number_names (labels, targets, &info.n_classes);

  self = loom_table_new (klass, &info);
  self->class_names = class_names;
  self->delimiter = reader.delimiter;
  self->feature_names = g_new0 (char *, columns.features->len + 1);
  for (guint i = 0; i < columns.features->len; i++)
    self->feature_names[i] = g_strdup (columns.names->pdata[g_array_index (columns.features, guint, i)]);
  data[0] = inputs;
  data[1] = targets;
  loom_table_random_split (self, data, (guint64)loom_option_int (klass, options, "seed"),
                           loom_option_float (klass, options, "val_fraction"),
                           loom_option_float (klass, options, "test_fraction"));
  loom_csv_prepare (self, klass, options, inputs);
  return self;
}

/* ---- rows that are no part of the data set -------------------------------- */

static gboolean
is_number (const char *text)
{
  char *end;
  double value = g_ascii_strtod (text, &end);

  return end != text && *end == '\0' && isfinite (value);
}

/* Where the features stand in a file, from its first row: a header names them, in any order and among others; rows
 * without a header hold them and nothing else. */
static gboolean
find_features (const LoomDataset *self, const LoomCsvReader *first, Columns *columns, gboolean *has_header,
               GError **error)
{
  const char *missing = NULL;
  gboolean numbers = TRUE;

  columns->names = g_ptr_array_new_with_free_func (g_free);
  columns->features = g_array_new (FALSE, FALSE, sizeof (guint));
  columns->missing = self->feature_fill != NULL ? LOOM_CSV_MISSING_MEAN : LOOM_CSV_MISSING_REFUSE;
  for (guint i = 0; i < first->fields->len; i++)
    {
      g_ptr_array_add (columns->names, g_strdup (g_ptr_array_index (first->fields, i)));
      numbers = numbers && is_number (g_ptr_array_index (first->fields, i));
    }
  for (char **name = self->feature_names; *name != NULL; name++)
    {
      int column = find_column (columns, *name);
      guint index = (guint)column;

      if (column < 0 && missing == NULL)
        missing = *name;
      g_array_append_val (columns->features, index);
    }
  *has_header = missing == NULL;
  if (missing == NULL)
    return TRUE;
  if (numbers && first->fields->len == columns->features->len)
    {
      for (guint i = 0; i < columns->features->len; i++)
        {
          g_array_index (columns->features, guint, i) = i;
          g_free (columns->names->pdata[i]);
          columns->names->pdata[i] = g_strdup (self->feature_names[i]);
        }
      return TRUE;
    }
  if (numbers)
    {
      g_autofree char *list = g_strjoinv (", ", self->feature_names);

      loom_error_set_quoting (error, LOOM_ERROR_DATA,
                              "“%s” has neither a header nor as many fields as the net reads: %u, not %u (“%s”).",
                              first->path, first->fields->len, columns->features->len, list);
    }
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has no column “%s”, which the net reads.", first->path,
                 missing);
  return FALSE;
}

static gboolean
parse (const LoomDataset *self, const char *name, char *text, gsize length, GPtrArray *items, GError **error)
{
  LoomCsvReader reader = { name, text, text + length, self->delimiter, 1, 1, NULL };
  g_autoptr (GPtrArray) fields = reader.fields = g_ptr_array_new ();
  g_autoptr (GArray) x = g_array_new (FALSE, FALSE, sizeof (float));
  g_auto (Columns) columns = { NULL };
  GError *failure = NULL;
  gboolean has_row;

  loom_csv_skip_mark (&reader);
  has_row = loom_csv_read_row (&reader, &failure);
  if (has_row && !find_features (self, &reader, &columns, &has_row, error))
    return FALSE;
  if (has_row) /* which was the header */
    has_row = loom_csv_read_row (&reader, &failure);
  else
    has_row = failure == NULL && fields->len > 0;
  for (; has_row; has_row = loom_csv_read_row (&reader, &failure))
    {
      const gint64 n = columns.features->len;
      LoomTensor *t;

      if (fields->len != columns.names->len)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” line %d has %u fields, but its first has %u.", name,
                       reader.row_line, fields->len, columns.names->len);
          return FALSE;
        }
      g_array_set_size (x, 0);
      if (!append_numbers (&reader, &columns, columns.features, x, error))
        return FALSE;
      t = loom_tensor_new (LOOM_F32, 1, &n, error);
      if (t == NULL)
        return FALSE;
      memcpy (t->data, x->data, t->bytes);
      loom_csv_prepare_row (self, t->data);
      loom_sample_item_add (items, t, items->len + 1);
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  return failure == NULL;
}

const LoomDatasetClass loom_dataset_csv = {
  .name = "csv",
  .title = "CSV table",
  .doc = "Rows of numbers with a header line; one column is the class or the value to predict.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .free = loom_table_free,
  .parse = parse,
};
