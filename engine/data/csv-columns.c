/* Finds the columns that the options of a CSV data set name, and reads the numbers of a row in them. */
#include "engine/data/csv-columns.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-fault.h"
#include "engine/data/loom-csv-guess.h"

void
loom_csv_columns_init (LoomCsvColumns *self)
{
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->features = loom_csv_fields_new ();
  self->targets = loom_csv_fields_new ();
  self->weights = loom_csv_fields_new ();
  self->split_by = -1;
}

void
loom_csv_columns_clear (LoomCsvColumns *self)
{
  g_clear_pointer (&self->names, g_ptr_array_unref);
  g_clear_pointer (&self->places, g_hash_table_unref);
  g_clear_pointer (&self->features, g_array_unref);
  g_clear_pointer (&self->targets, g_array_unref);
  g_clear_pointer (&self->weights, g_array_unref);
}

void
loom_csv_add_column (LoomCsvColumns *self, const char *name)
{
  g_ptr_array_add (self->names, g_strdup (name));
  if (!g_hash_table_contains (self->places, name))
    g_hash_table_insert (self->places, g_strdup (name), GUINT_TO_POINTER (self->names->len));
}

/* -1 if the name is unknown. */
static int
find_column (const LoomCsvColumns *self, const char *name)
{
  return (int)GPOINTER_TO_UINT (g_hash_table_lookup (self->places, name)) - 1;
}

static int
find_cb (gconstpointer data, const char *name)
{
  return find_column (data, name);
}

gboolean
loom_csv_find_field (const LoomCsvColumns *self, const char *name, LoomCsvField *field)
{
  return loom_csv_field_parse (name, find_cb, self, field);
}

/* Appends the fields of a list of names to out. */
static gboolean
pick_columns (const LoomCsvColumns *self, const char *list, const char *path, GArray *out, GError **error)
{
  g_auto (GStrv) wanted = g_strsplit (list, ",", -1);

  for (char **name = wanted; *name != NULL; name++)
    {
      LoomCsvField field;

      if (!loom_csv_find_field (self, g_strstrip (*name), &field))
        {
          g_autofree const char **candidates = g_new0 (const char *, self->names->len + 1);
          const char *nearest;

          memcpy (candidates, self->names->pdata, self->names->len * sizeof *candidates);
          nearest = loom_nearest (*name, candidates);
          if (nearest != NULL)
            loom_refuse (error, LOOM_ERROR_DATA, "“%s” has no column “%s”. Did you mean “%s”?", path, *name, nearest);
          else
            loom_refuse (error, LOOM_ERROR_DATA, "“%s” has no column “%s”; its %s is “%s”%s", path, *name,
                         self->names->len > 1 ? "first" : "only one", candidates[0],
                         self->names->len > 1 ? "." : "; is the delimiter right?");
          return FALSE;
        }
      g_array_append_val (out, field);
    }
  return TRUE;
}

static gboolean
is_among (const GArray *fields, guint column)
{
  for (guint k = 0; k < fields->len; k++)
    if (g_array_index (fields, LoomCsvField, k).column == column)
      return TRUE;
  return FALSE;
}

static gboolean
choose_split_by (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const char *path,
                 LoomCsvColumns *columns, GError **error)
{
  const char *split = loom_option_string (klass, options, "split_kind"),
             *by = loom_option_string (klass, options, "split_by");

  columns->split_by = *by != '\0' ? find_column (columns, by) : -1;
  if (*by != '\0' && g_str_equal (split, "random"))
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                 "The data set csv has split_by=\"%s\", but split_kind=\"random\" uses no column. Set split_kind to "
                 "group, time or "
                 "stratified.",
                 by);
  else if (*by != '\0' && columns->split_by < 0)
    loom_error_set_quoting (error, LOOM_ERROR_DATA, "“%s” has no column “%s”, which split_by names.", path, by);
  else if (*by == '\0' && (g_str_equal (split, "group") || g_str_equal (split, "time")))
    loom_refuse (error, LOOM_ERROR_SCHEMA,
                 "The data set csv has split_kind=\"%s\", which needs the name of a column: set split_by.", split);
  else
    return TRUE;
  return FALSE;
}

gboolean
loom_csv_choose_columns (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomCsvReader *reader,
                         LoomCsvColumns *columns, GError **error)
{
  const char *features = loom_option_string (klass, options, "features");
  const char *weight = loom_option_string (klass, options, "weight");
  GError *failure = NULL;

  columns->is_class = g_str_equal (loom_option_string (klass, options, "target_type"), "class");
  loom_csv_columns_init (columns);
  if (!loom_csv_read_row (reader, &failure))
    {
      if (failure == NULL)
        g_set_error (&failure, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is empty; its first line must name the columns.",
                     reader->path);
      g_propagate_error (error, failure);
      return FALSE;
    }
  columns->missing = loom_csv_missing (klass, options);
  columns->has_decimal_comma = g_str_equal (loom_option_string (klass, options, "decimal"), "comma");
  if (columns->has_decimal_comma && reader->delimiter == ',')
    return loom_refuse (
        error, LOOM_ERROR_SCHEMA,
        "The data set csv has decimal=\"comma\", but the comma is its delimiter; set delimiter=\";\" too.");
  columns->row_is_read = g_str_equal (loom_option_string (klass, options, "header"), "false");
  for (guint i = 0; i < reader->fields->len; i++)
    {
      g_autofree char *number = g_strdup_printf ("c%u", i + 1);
      const char *name = columns->row_is_read ? number : g_ptr_array_index (reader->fields, i);
      int before = find_column (columns, name);

      /* Columns are chosen by name, so a chosen name must be unique. */
      if (before >= 0 && *name != '\0')
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” names two columns “%s”, number %d and number %u; rename one.",
                            reader->path, name, before + 1, i + 1);
      loom_csv_add_column (columns, name);
    }
  if (!pick_columns (columns, loom_option_string (klass, options, "target"), reader->path, columns->targets, error))
    return FALSE;
  if (columns->is_class && columns->targets->len != 1)
    return loom_refuse (
        error, LOOM_ERROR_SCHEMA,
        "The data set csv has several targets, so they must be numbers; set target_type=\"float\", or name "
        "one target.");
  if (*weight != '\0' && !pick_columns (columns, weight, reader->path, columns->weights, error))
    return FALSE;
  if (columns->weights->len > 1)
    return loom_refuse (error, LOOM_ERROR_SCHEMA,
                        "The data set csv has weight=\"%s\", which must be the name of one column.", weight);
  if (!choose_split_by (klass, options, reader->path, columns, error))
    return FALSE;
  if (*features != '\0')
    return pick_columns (columns, features, reader->path, columns->features, error);
  for (guint i = 0; i < columns->names->len; i++)
    if (!is_among (columns->targets, i) && !is_among (columns->weights, i) && (int)i != columns->split_by)
      {
        const LoomCsvField field = { .name = g_strdup (columns->names->pdata[i]), .column = i };

        g_array_append_val (columns->features, field);
      }
  if (columns->features->len == 0)
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” has no column except the target; check delimiter=\"%c\".",
                        reader->path, reader->delimiter);
  return TRUE;
}

static gboolean
parse_number (const LoomCsvReader *reader, const LoomCsvColumns *columns, const LoomCsvField *field, float *value,
              GError **error)
{
  const guint column = field->column;
  const char *text = g_ptr_array_index (reader->fields, column);
  const gboolean is_missing = field->value == NULL && loom_csv_is_missing (text);
  double number;

  if (is_missing && columns->missing != LOOM_CSV_MISSING_REFUSE)
    {
      *value = NAN;
      return TRUE;
    }
  if (!loom_csv_field_read (field, text, columns->has_decimal_comma, &number))
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” line %d, column “%s”: “%s” is not %s%s.", reader->path,
                        reader->row_line, (const char *)g_ptr_array_index (columns->names, column), text,
                        field->notation != NULL ? "of the notation of its others" : "a number",
                        is_missing ? "; missing=\"mean\" fills such gaps, missing=\"drop\" drops the row" : "");
  *value = (float)number;
  if (isfinite (*value))
    return TRUE;
  return loom_refuse (
      error, LOOM_ERROR_DATA,
      "“%s” line %d, column “%s”: %s is larger than the largest f32 number (3.4e38). Scale the column, or "
      "leave it out.",
      reader->path, reader->row_line, (const char *)g_ptr_array_index (columns->names, column), text);
}

gboolean
loom_csv_append_numbers (const LoomCsvReader *reader, const LoomCsvColumns *columns, const GArray *which, GArray *out,
                         GError **error)
{
  for (guint i = 0; i < which->len; i++)
    {
      float value;

      if (!parse_number (reader, columns, &g_array_index (which, LoomCsvField, i), &value, error))
        return FALSE;
      g_array_append_val (out, value);
    }
  return TRUE;
}

char *
loom_csv_unknown_word (const LoomCsvReader *reader, const LoomCsvColumns *columns, const float *features)
{
  const GArray *fields = columns->features;

  for (guint first = 0, end; first < fields->len; first = end)
    {
      const LoomCsvField *field = &g_array_index (fields, LoomCsvField, first);
      const char *text = reader->fields->pdata[field->column];
      gboolean is_known = field->value == NULL || loom_csv_is_missing (text);

      for (end = first; end < fields->len && g_array_index (fields, LoomCsvField, end).column == field->column
                        && (end == first || g_array_index (fields, LoomCsvField, end).value != NULL);
           end++)
        is_known = is_known || features[end] > 0;
      if (!is_known && end - first > 1)
        return g_strdup_printf ("“%s” in column “%s” is a word that no feature names", text,
                                (const char *)columns->names->pdata[field->column]);
    }
  return NULL;
}

gboolean
loom_csv_has_gap (const GArray *values, guint from)
{
  for (guint i = from; i < values->len; i++)
    if (isnan (g_array_index (values, float, i)))
      return TRUE;
  return FALSE;
}
