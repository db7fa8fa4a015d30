/* Pictures whose files and classes are the rows of a table, as Sony's Neural Network Console writes it: columns x:image
 * and y:label, with paths relative to the table. */
#include <math.h>
#include <string.h>

#include "engine/core/loom-file.h"
#include "engine/core/loom-guard.h"
#include "engine/core/loom-os.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-csv.h"
#include "engine/data/loom-pictures.h"

#define NEEDED 2.0 /* memory for each byte of the table */

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, NULL),
    .doc = "The table, CSV or Parquet, with a column of paths of pictures in its folder and a column of classes." },
  { LOOM_OPTION ("test_path", PATH, ""), .doc = "A table of the same form for testing." },
  { LOOM_OPTION ("image", STRING, "x:image"), .doc = "The column of paths." },
  { LOOM_OPTION ("label", STRING, "y:label"), .doc = "The column of classes, or of numbers to predict." },
  { LOOM_OPTION ("target_type", ENUM, "class"), .choices = loom_target_types,
    .doc = "class: y i64 [B], the number of a class; float: y f32 [B, 1], a number." },
  LOOM_PICTURES_PARAMS,
  LOOM_DEALT_PARAMS ("pictures", "0", ", if test_path is not set"),
  LOOM_SPLIT_PARAM,
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

/* The number of a column; −1, with an error, if there is none. A name may be followed by a title: x:image;photo. */
static int
find_column (const LoomCsvReader *reader, const char *name, const char *option, GError **error)
{
  for (guint i = 0; i < reader->fields->len; i++)
    {
      const char *field = reader->fields->pdata[i];
      const gsize n = strlen (name);

      if (strncmp (field, name, n) == 0 && (field[n] == '\0' || field[n] == ';'))
        return (int)i;
    }
  loom_file_refuse (reader->path, error, "has no column “%s”; %s=\"…\" names another", name, option);
  return -1;
}

static char *
read_table (const char *path, gsize *length, GError **error)
{
  return loom_dataset_check_file (path, NULL, error)
             ? loom_csv_read_file (path, 0, NEEDED, "divide it", length, NULL, error)
             : NULL;
}

static gboolean
has_numbers (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  return g_str_equal (loom_option_string (klass, options, "target_type"), "float");
}

/* A path leads to a file in the table's folder, also if it is a link. Windows writes it with backslashes. */
static gboolean
add_picture (LoomPictures *self, const LoomCsvReader *reader, const char *folder, const char *given, GError **error)
{
  g_autofree char *file = strchr (given, '/') == NULL ? g_strdelimit (g_strdup (given), "\\", '/') : g_strdup (given);
  g_autofree char *path = g_canonicalize_filename (file, folder), *outside = loom_path_outside (path, NULL, folder);

  if (*file == '\0' || g_path_is_absolute (file) || outside != NULL)
    return loom_file_refuse (reader->path, error, "line %d has the path “%s”, which is not in the folder of the table",
                             reader->row_line, given);
  if (!loom_path_is_file (path))
    return loom_file_refuse (reader->path, error, "line %d has the path “%s”, where there is no file", reader->row_line,
                             given);
  loom_pictures_add (self, path, path, 0, -1, 0);
  return TRUE;
}

/* Numbers with fractions name no classes. */
static gboolean
check_classes (const GPtrArray *labels, guint first, const char *path, GError **error)
{
  const char *fraction = NULL;

  for (guint i = first; i < labels->len; i++)
    {
      double value;

      if (!loom_csv_read_number (labels->pdata[i], FALSE, &value))
        return TRUE;
      fraction = fraction == NULL && value != floor (value) ? labels->pdata[i] : fraction;
    }
  return fraction == NULL
         || loom_file_refuse (path, error,
                              "has numbers such as “%s” for classes; set target_type=\"float\" to predict "
                              "numbers",
                              fraction);
}

static gboolean
add_rows (LoomPictures *self, const LoomDatasetOptions *options, const char *path, GPtrArray *labels, GError **error)
{
  const LoomDatasetClass *klass = loom_pictures_dataset (self)->klass;
  g_autofree char *folder = g_path_get_dirname (path), *own = g_canonicalize_filename (folder, NULL);
  g_autoptr (GPtrArray) fields = g_ptr_array_new ();
  gsize length = 0;
  g_autofree char *text = read_table (path, &length, error);
  LoomCsvReader reader = { path, text, text + length, ',', 1, 1, fields };
  GError *failure = NULL;
  const guint before = labels->len;
  int image, label;

  if (text == NULL)
    return FALSE;
  loom_csv_begin (&reader);
  if (!loom_csv_read_row (&reader, &failure))
    {
      if (failure != NULL)
        g_propagate_error (error, failure);
      return failure == NULL ? loom_file_refuse (path, error, "is empty") : FALSE;
    }
  image = find_column (&reader, loom_option_string (klass, options, "image"), "image", error);
  label = image >= 0 ? find_column (&reader, loom_option_string (klass, options, "label"), "label", error) : -1;
  if (label < 0)
    return FALSE;
  while (loom_csv_read_row (&reader, &failure))
    {
      if (fields->len <= (guint)MAX (image, label))
        return loom_file_refuse (path, error, "line %d has %u fields", reader.row_line, fields->len);
      if (*(const char *)fields->pdata[label] == '\0')
        return loom_file_refuse (path, error, "line %d has no class", reader.row_line);
      if (!add_picture (self, &reader, own, fields->pdata[image], error))
        return FALSE;
      g_ptr_array_add (labels, g_strdup (fields->pdata[label]));
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  if (failure == NULL && labels->len == before)
    return loom_file_refuse (path, error, "has no rows");
  return failure == NULL && (has_numbers (klass, options) || check_classes (labels, before, path, error));
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");

  (has_numbers (klass, options) ? loom_pictures_describe_numbers : loom_pictures_describe) (klass, options, info);
  info->n_classes = has_numbers (klass, options) ? 0 : -1;
  return loom_dataset_check_file (path, NULL, error);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  return loom_pictures_open (klass, options, add_rows, has_numbers (klass, options), error);
}

const LoomDatasetClass loom_dataset_image_table = {
  .name = "image-table",
  .title = "Table of pictures",
  .doc = "Pictures whose paths and classes are columns of a table, as of Sony's Neural Network Console.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_pictures_read,
  .digest = loom_pictures_digest,
  .free = loom_pictures_free,
  .has_pictures = TRUE,
};
