/* Tables, as text (RFC 4180) or in Parquet, with one target column or several.
 *
 * Errors name the line and the column. csv-prepare.c fills gaps and normalises columns. */
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-fault.h"
#include "engine/data/csv-columns.h"
#include "engine/data/csv-prepare.h"
#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-csv.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-deal.h"
#include "engine/data/loom-labels.h"

/* Enough for a header of tens of thousands of columns; describing reads no more. */
#define DESCRIBE_BYTES (1 << 20)
#define NEEDED         2.0 /* memory for each byte of the file: the text, and its numbers */

static const char *const yes_no[] = { "true", "false", NULL };

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, NULL), .doc = "The file, CSV or Parquet; the first line of CSV names the columns." },
  { LOOM_OPTION ("target", STRING, NULL),
    .doc = "The column to predict; with target_type=\"float\" also several, separated by commas." },
  { LOOM_OPTION ("features", STRING, ""),
    .doc = "The columns of x, separated by commas (default: all columns except the target). Of words, NAME=VALUE is 1 "
           "in rows with this value, else 0. Numbers of another notation are NAME:grouped (1,234.5), NAME:money "
           "($5), NAME:percent (12 %) and NAME:days (2024-01-31, as days since 1970)." },
  { LOOM_OPTION ("weight", STRING, ""),
    .doc = "The column with the weight of each row, from 0: the port weight, f32 [B], for a loss or for "
           "sample_weights=\"weight\"; it is a column of x only if features names it." },
  { LOOM_OPTION ("delimiter", STRING, ","), .doc = "The character between fields, or tab." },
  { LOOM_OPTION ("decimal", ENUM, "point"), .choices = loom_csv_decimal_choices,
    .doc = "The decimal separator: point (6.1), or comma (6,1), which needs a delimiter other than the comma." },
  { LOOM_OPTION ("header", ENUM, "true"), .choices = yes_no,
    .doc = "If true, the first line names the columns; otherwise they are named c1, c2 and so on." },
  { LOOM_OPTION ("missing", ENUM, "refuse"), .choices = loom_csv_missing_choices,
    .doc = "The treatment of numbers that are empty, NA or ?: an error, the column's mean over the training rows, or "
           "dropping the row. mean and drop also drop rows without a target." },
  { LOOM_OPTION ("normalize", ENUM, "none"), .choices = loom_csv_normalize_choices,
    .doc = "Scales each column of x to mean 0 and standard deviation 1, or to the range 0 to 1, with the statistics "
           "of the training rows." },
  { LOOM_OPTION ("target_type", ENUM, "class"), .choices = loom_target_types,
    .doc = "class: y i64 [B], from whole numbers or names; names, and numbers with large gaps such as codes, are "
           "numbered in order. float: y f32 [B, targets]." },
  LOOM_DEALT_PARAMS ("rows", "0.2", ""),
  { .name = "split_kind",
    .type = LOOM_DATASET_ENUM,
    .def = "random",
    .choices = loom_deal_kinds,
    .doc
    = "random: rows are divided at random by the seed; stratified: likewise, with the same fraction of each class; "
      "group: rows with equal split_by stay together; time: the last rows by split_by are test rows, those before "
      "them validation rows." },
  { .name = "split_by",
    .type = LOOM_DATASET_STRING,
    .def = "",
    .doc = "The column that split_kind uses, for group and time; a column of x only if features names it. For "
           "stratified the "
           "default is the target. Times are numbers, or dates such as 2024-01-31." },
  { .name = NULL },
};

static void
fill_info (const LoomCsvColumns *columns, LoomDatasetInfo *info)
{
  const gint64 n_features = columns->features->len, n_targets = columns->targets->len;

  loom_info_add_port (info, "x", LOOM_F32, 1, &n_features);
  loom_info_add_port (info, "y", columns->is_class ? LOOM_I64 : LOOM_F32, columns->is_class ? 0 : 1, &n_targets);
  if (columns->weights->len > 0)
    loom_info_add_port (info, LOOM_WEIGHT_PORT, LOOM_F32, 0, NULL);
  if (!columns->is_class)
    info->n_classes = 0;
}

/* The file, or its first max bytes, as text that ends with 0. */
static char *
read_text (const char *path, gsize max, gsize *length, GError **error)
{
  if (!loom_dataset_check_file (path, NULL, error))
    return NULL;
  return loom_csv_read_file (path, max, NEEDED,
                             "use fewer rows, or save the columns as .npy files, which are not read as a whole", length,
                             NULL, error);
}

static gboolean
init_reader (LoomCsvReader *self, const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *path,
             char *text, gsize length, GError **error)
{
  const char *delimiter = loom_option_string (klass, options, "delimiter");

  if (g_str_equal (delimiter, "tab") || g_str_equal (delimiter, "\\t"))
    delimiter = "\t";
  if (strlen (delimiter) != 1 || *delimiter == '"' || *delimiter == '\n')
    return loom_refuse (error, LOOM_ERROR_SCHEMA,
                        "The data set csv has delimiter=\"%s\", which must be one character, or tab.", delimiter);
  self->path = path;
  self->delimiter = *delimiter;
  self->p = text;
  self->end = text + length;
  self->line = 1;
  self->fields = g_ptr_array_new ();
  loom_csv_begin (self);
  return TRUE;
}

/* The text of the row's class. */
static const char *
label_of (const LoomCsvReader *reader, const LoomCsvColumns *columns)
{
  return g_ptr_array_index (reader->fields, g_array_index (columns->targets, LoomCsvField, 0).column);
}

/* TRUE for a row without a class, and for a row with gaps if these are not filled. */
static gboolean
is_left_out (const LoomCsvReader *reader, const LoomCsvColumns *columns, const GArray *x, guint from)
{
  if (columns->missing == LOOM_CSV_MISSING_REFUSE)
    return FALSE;
  return (columns->is_class && loom_csv_is_missing_label (label_of (reader, columns)))
         || (columns->missing == LOOM_CSV_MISSING_DROP && loom_csv_has_gap (x, from));
}

/* FALSE with DATA if the row has no class. */
static gboolean
check_label (const LoomCsvReader *reader, const LoomCsvColumns *columns, const char *label, GError **error)
{
  const char *name = g_ptr_array_index (columns->names, g_array_index (columns->targets, LoomCsvField, 0).column);

  if (!loom_csv_is_missing_label (label))
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_DATA,
                      "“%s” line %d, column “%s” %s%s%s; missing=\"drop\" drops rows without a class.", reader->path,
                      reader->row_line, name, *label == '\0' ? "is empty" : "is “", label,
                      *label == '\0' ? "" : "”, which is not a class");
}

static gboolean
check_weight (const LoomCsvReader *reader, const LoomCsvColumns *columns, float weight, GError **error)
{
  if (!(weight < 0))
    return TRUE;
  g_set_error (
      error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” line %d, column “%s”: a weight must be 0 or a positive number, not %g.",
      reader->path, reader->row_line,
      (const char *)columns->names->pdata[g_array_index (columns->weights, LoomCsvField, 0).column], (double)weight);
  return FALSE;
}

/* Counts rows with a word that no feature names, and keeps the first. */
typedef struct
{
  char *first;
  guint n;
} Unknown;

static void
unknown_clear (Unknown *self)
{
  g_clear_pointer (&self->first, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Unknown, unknown_clear)

static void
count_unknown (Unknown *self, const LoomCsvReader *reader, const LoomCsvColumns *columns, const float *features)
{
  char *word = loom_csv_unknown_word (reader, columns, features);

  self->n += word != NULL;
  if (self->first == NULL && word != NULL)
    self->first = g_strdup_printf ("line %d: %s", reader->row_line, word);
  g_free (word);
}

/* What the data set says about them; NULL: there are none. (transfer full) */
static char *
describe_unknown (const Unknown *self, const char *path)
{
  return self->n > 0 ? g_strdup_printf ("“%s” %s (in %u row%s, which have 0 in all features of the column).", path,
                                        self->first, self->n, self->n > 1 ? "s" : "")
                     : NULL;
}

/* Reads all rows: numbers into x, w and, for float targets, y; class labels as texts. */
static gboolean
read_rows (LoomCsvReader *reader, LoomCsvColumns *columns, GArray *x, GArray *y, GArray *w, GPtrArray *labels,
           GPtrArray *keys, Unknown *unknown, GError **error)
{
  GError *failure = NULL;

  while (columns->row_is_read || loom_csv_read_row (reader, &failure))
    {
      const guint before_x = x->len, before_y = y->len, before_w = w->len;

      columns->row_is_read = FALSE;
      if (reader->fields->len != columns->names->len)
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” line %d has %u fields, but the header names %u.",
                            reader->path, reader->row_line, reader->fields->len, columns->names->len);
      if (!loom_csv_append_numbers (reader, columns, columns->features, x, error))
        return FALSE;
      count_unknown (unknown, reader, columns, &g_array_index (x, float, before_x));
      if (is_left_out (reader, columns, x, before_x))
        {
          g_array_set_size (x, before_x);
          continue;
        }
      if (columns->is_class)
        {
          const char *label = label_of (reader, columns);

          if (!check_label (reader, columns, label, error))
            return FALSE;
          g_ptr_array_add (labels, (char *)label);
        }
      else if (!loom_csv_append_numbers (reader, columns, columns->targets, y, error))
        return FALSE;
      if (!loom_csv_append_numbers (reader, columns, columns->weights, w, error)
          || (w->len > before_w && !check_weight (reader, columns, g_array_index (w, float, before_w), error)))
        return FALSE;
      if (loom_csv_has_gap (y, before_y) || loom_csv_has_gap (w, before_w))
        {
          g_array_set_size (x, before_x);
          g_array_set_size (y, before_y);
          g_array_set_size (w, before_w);
          if (columns->is_class)
            g_ptr_array_set_size (labels, (int)labels->len - 1);
        }
      else if (columns->split_by >= 0)
        g_ptr_array_add (keys, reader->fields->pdata[columns->split_by]);
    }
  if (failure != NULL)
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  if (x->len == 0)
    {
      if (columns->missing == LOOM_CSV_MISSING_REFUSE)
        loom_refuse (error, LOOM_ERROR_DATA, "“%s” has a header but no rows.", reader->path);
      else
        loom_refuse (error, LOOM_ERROR_DATA, "Each row of “%s” has a gap.", reader->path);
      return FALSE;
    }
  return TRUE;
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
  g_auto (LoomCsvColumns) columns = { NULL };
  LoomCsvReader reader = { NULL };
  gsize length;

  text = read_text (path, DESCRIBE_BYTES, &length, error);
  if (text == NULL || !init_reader (&reader, klass, options, path, text, length, error))
    return FALSE;
  fields = reader.fields;
  if (!loom_csv_choose_columns (klass, options, &reader, &columns, error))
    return FALSE;
  fill_info (&columns, info);
  return TRUE;
}

/* keys: texts of the column split_by, if there is one. */
static gboolean
deal (LoomDataset *self, const LoomDatasetOptions *options, const LoomCsvColumns *columns, LoomTensor *const data[],
      const GPtrArray *keys, GError **error)
{
  LoomDealing how = loom_dealing (self->klass, options);
  g_autofree guint32 *key = NULL;

  if (columns->split_by >= 0)
    key = loom_deal_keys (keys, how.kind == LOOM_DEAL_TIME, columns->names->pdata[columns->split_by], error);
  how.key = key;
  return (columns->split_by < 0 || key != NULL) && loom_table_deal (self, data, data[1], &how, error);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *text = NULL;
  g_autoptr (GPtrArray) fields = NULL, labels = g_ptr_array_new (), keys = g_ptr_array_new ();
  g_autoptr (GArray) x = g_array_new (FALSE, FALSE, sizeof (float)), y = g_array_new (FALSE, FALSE, sizeof (float)),
                     w = g_array_new (FALSE, FALSE, sizeof (float));
  g_autoptr (LoomTensor) inputs = NULL, targets = NULL, weights = NULL;
  g_auto (LoomCsvColumns) columns = { NULL };
  g_auto (Unknown) unknown = { NULL };
  LoomDatasetInfo info = { 0 };
  LoomCsvReader reader = { NULL };
  LoomTensor *data[3];
  g_autoptr (LoomDataset) self = NULL;
  char **class_names = NULL;
  gint64 n;
  gsize length;

  text = read_text (path, 0, &length, error);
  if (text == NULL || !init_reader (&reader, klass, options, path, text, length, error))
    return NULL;
  fields = reader.fields;
  if (!loom_csv_choose_columns (klass, options, &reader, &columns, error)
      || !read_rows (&reader, &columns, x, y, w, labels, keys, &unknown, error))
    return NULL;
  fill_info (&columns, &info);
  n = x->len / columns.features->len;
  inputs = tensor_from_floats (x, n, columns.features->len, error);
  targets = columns.is_class ? loom_tensor_new (LOOM_I64, 1, &n, error)
                             : tensor_from_floats (y, n, columns.targets->len, error);
  weights = loom_tensor_new (LOOM_F32, 1, &n, error);
  if (inputs == NULL || targets == NULL || weights == NULL)
    return NULL;
  if (w->len > 0)
    memcpy (weights->data, w->data, w->len * sizeof (float));
  if (columns.is_class)
    class_names = loom_labels_number (labels, targets->data, &info.n_classes);

  self = loom_table_new (klass, &info);
  self->class_names = class_names;
  self->note = describe_unknown (&unknown, path);
  self->delimiter = reader.delimiter;
  self->has_decimal_comma = columns.has_decimal_comma;
  self->feature_names = g_new0 (char *, columns.features->len + 1);
  for (guint i = 0; i < columns.features->len; i++)
    self->feature_names[i] = g_strdup (g_array_index (columns.features, LoomCsvField, i).name);
  data[0] = inputs;
  data[1] = targets;
  data[2] = weights;
  if (!deal (self, options, &columns, data, keys, error))
    return NULL;
  loom_csv_prepare (self, klass, options, inputs);
  return g_steal_pointer (&self);
}

/* ---- new rows ----------------------------------------------------------------- */

/* Finds the feature columns of a file from its first row: a header names them, in any order and among others; rows
 * without a header contain the features alone. */
static gboolean
find_features (const LoomDataset *self, const LoomCsvReader *first, LoomCsvColumns *columns, gboolean *has_header,
               GError **error)
{
  const char *missing = NULL;
  gboolean numbers = TRUE;
  double value;

  loom_csv_columns_init (columns);
  columns->missing = self->feature_fill != NULL ? LOOM_CSV_MISSING_MEAN : LOOM_CSV_MISSING_REFUSE;
  columns->has_decimal_comma = self->has_decimal_comma;
  for (guint i = 0; i < first->fields->len; i++)
    {
      loom_csv_add_column (columns, g_ptr_array_index (first->fields, i));
      numbers
          = numbers && loom_csv_read_number (g_ptr_array_index (first->fields, i), columns->has_decimal_comma, &value);
    }
  for (char **name = self->feature_names; *name != NULL; name++)
    {
      LoomCsvField field;

      if (!loom_csv_find_field (columns, *name, &field))
        {
          missing = missing == NULL ? *name : missing;
          field.name = g_strdup (*name);
        }
      g_array_append_val (columns->features, field);
    }
  *has_header = missing == NULL;
  if (missing == NULL)
    return TRUE;
  if (numbers && first->fields->len == columns->features->len)
    {
      for (guint i = 0; i < columns->features->len; i++)
        {
          LoomCsvField *field = &g_array_index (columns->features, LoomCsvField, i);

          field->column = i;
          field->notation = NULL;
          g_clear_pointer (&field->value, g_free);
          g_free (columns->names->pdata[i]);
          columns->names->pdata[i] = g_strdup (self->feature_names[i]);
        }
      return TRUE;
    }
  if (numbers)
    {
      g_autofree char *list = g_strjoinv (", ", self->feature_names);

      loom_error_set_quoting (error, LOOM_ERROR_DATA, "“%s” has no header, and %u fields, but the net reads %u (“%s”).",
                              first->path, first->fields->len, columns->features->len, list);
    }
  else
    loom_refuse (error, LOOM_ERROR_DATA, "“%s” has no column “%s”, which the net reads.", first->path, missing);
  return FALSE;
}

static gboolean
parse (const LoomDataset *self, const char *name, char *text, gsize length, GPtrArray *items, GError **error)
{
  LoomCsvReader reader = { name, text, text + length, self->delimiter, 1, 1, NULL };
  g_autoptr (GPtrArray) fields = reader.fields = g_ptr_array_new ();
  g_autoptr (GArray) x = g_array_new (FALSE, FALSE, sizeof (float));
  g_auto (LoomCsvColumns) columns = { NULL };
  GError *failure = NULL;
  gboolean has_row;

  loom_csv_begin (&reader);
  has_row = loom_csv_read_row (&reader, &failure);
  if (has_row && !find_features (self, &reader, &columns, &has_row, error))
    return FALSE;
  if (has_row) /* the header */
    has_row = loom_csv_read_row (&reader, &failure);
  else
    has_row = failure == NULL && fields->len > 0;
  for (; has_row; has_row = loom_csv_read_row (&reader, &failure))
    {
      const gint64 n = columns.features->len;
      LoomTensor *t;

      if (fields->len != columns.names->len)
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” line %d has %u fields, but its first line has %u.", name,
                            reader.row_line, fields->len, columns.names->len);
      g_array_set_size (x, 0);
      if (!loom_csv_append_numbers (&reader, &columns, columns.features, x, error))
        return FALSE;
      t = loom_tensor_new (LOOM_F32, 1, &n, error);
      if (t == NULL)
        return FALSE;
      memcpy (t->data, x->data, t->bytes);
      loom_csv_prepare_row (self, t->data);
      loom_sample_item_add (items, t, items->len + 1)->note
          = loom_csv_unknown_word (&reader, &columns, (const float *)x->data);
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  return failure == NULL;
}

const LoomDatasetClass loom_dataset_csv = {
  .name = "csv",
  .title = "CSV table",
  .doc = "A table, CSV with a header line or Parquet; one column is the class or the value to predict.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .digest = loom_table_digest,
  .free = loom_table_free,
  .parse = parse,
};
