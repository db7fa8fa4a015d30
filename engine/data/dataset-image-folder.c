/* Pictures in folders: a class is a folder, and its pictures are the files in it and in the folders below it
 * (torchvision's ImageFolder). In a folder without folders a class is the name of a file before its number: "cat.0.jpg"
 * and "cat.1.jpg" are two cats. */
#include <glib/gstdio.h>
#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-pictures.h"

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, NULL),
    .doc = "A folder with a folder of pictures for each class; pictures may be in subfolders. Or a folder of pictures "
           "that are named by their class and a number: cat.0.jpg, dog_1.jpg." },
  { LOOM_OPTION ("test_path", PATH, ""), .doc = "A folder of the same form with test pictures." },
  LOOM_PICTURES_PARAMS,
  LOOM_DEALT_PARAMS ("pictures", "0", ", if test_path is not set"),
  LOOM_SPLIT_PARAM,
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

/* ---- folders --------------------------------------------------------------- */

static gboolean
is_class (const char *name, const char *path)
{
  return *name != '.' && loom_path_is_folder (path);
}

static gboolean
is_picture (const char *name, const char *path)
{
  return *name != '.' && loom_dataset_is_picture_name (name) && loom_path_is_file (path);
}

/* TRUE if the folders are splits that contain the folders of classes: a folder "train" with folders and no picture, and
 * another one for tests, *test. */
static gboolean
are_splits (const char *path, char *const *names, const char **test)
{
  static const char *const tests[] = { "test", "val", "valid", "validation", NULL };
  g_autofree char *train = g_build_filename (path, "train", NULL);
  g_auto (GStrv) pictures = NULL, folders = NULL;

  *test = NULL;
  for (guint i = 0; tests[i] != NULL && *test == NULL; i++)
    if (g_strv_contains ((const char *const *)names, tests[i]))
      *test = tests[i];
  if (*test == NULL || !g_strv_contains ((const char *const *)names, "train"))
    return FALSE;
  pictures = loom_dataset_list (train, is_picture, NULL);
  folders = loom_dataset_list (train, is_class, NULL);
  return pictures != NULL && folders != NULL && pictures[0] == NULL && folders[0] != NULL;
}

/* "cat" of "cat.0.jpg", "cat_001.png" and "cat12.bmp"; NULL: there is no number, or nothing else. (transfer full) */
static char *
label_of (const char *name)
{
  const char *dot = strrchr (name, '.');
  gsize n = dot != NULL ? (gsize)(dot - name) : strlen (name), end = n;

  while (end > 0 && g_ascii_isdigit (name[end - 1]))
    end--;
  if (end == n)
    return NULL;
  while (end > 0 && strchr ("._- ", name[end - 1]) != NULL)
    end--;
  return end > 0 ? g_strndup (name, end) : NULL;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* The classes by which the pictures of a folder are named, sorted; NULL if there is no picture, or one has none. */
static char **
labels_in (const char *folder)
{
  g_auto (GStrv) names = loom_dataset_list (folder, is_picture, NULL);
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *label = label_of (names[i]);

      if (label == NULL)
        return NULL;
      if (g_hash_table_contains (known, label))
        continue;
      g_hash_table_add (known, label);
      g_ptr_array_add (labels, g_steal_pointer (&label));
    }
  if (labels->len == 0)
    return NULL;
  g_ptr_array_sort (labels, compare_names);
  g_ptr_array_add (labels, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&labels), FALSE);
}

/* A note if the only class is a folder whose pictures are named by several classes; else NULL. Numbers alone, such as
 * those of people, are no classes here. */
static char *
describe_only (const char *path, const char *name)
{
  g_autofree char *folder = g_build_filename (path, name, NULL);
  g_auto (GStrv) labels = labels_in (folder);
  const char *words[2] = { NULL };
  guint n = 0;

  for (guint i = 0; labels != NULL && labels[i] != NULL && n < 2; i++)
    if (labels[i][strspn (labels[i], "0123456789")] != 0)
      words[n++] = labels[i];
  return n < 2 ? NULL
               : g_strdup_printf ("“%s” has one folder, “%s”, so there is one class, but its pictures are named by "
                                  "classes (“%s”, “%s”): path=\"…/%s\" would read these.",
                                  path, name, words[0], words[1], name);
}

/* least: the number of classes by which the pictures in a folder without folders must at least be named. */
static char **
list_classes (const char *path, guint least, GError **error)
{
  g_auto (GStrv) names = NULL;
  const char *test;

  if (!loom_path_is_folder (path))
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "There is no folder “%s”; it should contain a folder of pictures for each class.", path);
  names = loom_dataset_list (path, is_class, error);
  if (names != NULL && are_splits (path, names, &test))
    return loom_refuse_null (error, LOOM_ERROR_DATA,
                             "The folders train and %s in “%s” are splits, not classes: set path=\"…/train\" and "
                             "test_path=\"…/%s\".",
                             test, path, test);
  if (names == NULL || names[0] != NULL)
    return g_steal_pointer (&names);
  g_auto (GStrv) labels = labels_in (path);
  if (labels != NULL && g_strv_length (labels) >= least)
    return g_steal_pointer (&labels);
  return loom_refuse_null (error, LOOM_ERROR_DATA,
                           "“%s” contains no folder; it should contain a folder of pictures for each class, or "
                           "pictures with names such as cat.0.jpg and dog.0.jpg.",
                           path);
}

/* Adds the pictures of a folder and of those below it to a class. visited: folders that were read already, since links
 * may form a cycle. */
static gboolean
add_folder (LoomPictures *self, const char *folder, guint32 which, GHashTable *visited, GError **error)
{
  struct stat status;
  g_auto (GStrv) names = NULL, folders = NULL;

  if (loom_os->stat (AT_FDCWD, folder, &status, 0) == 0
      && !g_hash_table_add (visited, g_strdup_printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
                                                      (guint64)status.st_dev, (guint64)status.st_ino)))
    return TRUE;
  names = loom_dataset_list (folder, is_picture, error);
  folders = names != NULL ? loom_dataset_list (folder, is_class, error) : NULL;
  if (folders == NULL)
    return FALSE;
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);

      loom_pictures_add (self, path, path, 0, -1, which);
    }
  for (guint i = 0; folders[i] != NULL; i++)
    {
      g_autofree char *inner = g_build_filename (folder, folders[i], NULL);

      if (!add_folder (self, inner, which, visited, error))
        return FALSE;
    }
  return TRUE;
}

/* Adds the pictures of one class. */
static gboolean
add_class (LoomPictures *self, const char *path, const char *name, guint32 which, GError **error)
{
  g_autofree char *folder = g_build_filename (path, name, NULL);
  g_autoptr (GHashTable) visited = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const guint before = loom_pictures_count (self);

  if (!add_folder (self, folder, which, visited, error))
    return FALSE;
  if (loom_pictures_count (self) > before)
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_DATA, "“%s” contains no picture (%s and others).", folder, ".png");
}

/* FALSE with an error if a class is none of those of path_of_names. */
static gboolean
find_class (GHashTable *numbers, const char *class, const char *path, const char *path_of_names, guint32 *which,
            GError **error)
{
  gpointer number;

  if (!g_hash_table_lookup_extended (numbers, class, NULL, &number))
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” has a class “%s”, which “%s” does not have.", path, class,
                        path_of_names);
  *which = GPOINTER_TO_UINT (number);
  return TRUE;
}

/* Adds the pictures in a folder to the classes by which they are named. */
static gboolean
add_named (LoomPictures *self, const char *path, GHashTable *numbers, const char *path_of_names, GError **error)
{
  g_auto (GStrv) names = loom_dataset_list (path, is_picture, error);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *file = g_build_filename (path, names[i], NULL), *label = label_of (names[i]);
      guint32 which = 0;

      if (label == NULL) /* it has appeared since the classes were listed */
        continue;
      if (!find_class (numbers, label, path, path_of_names, &which, error))
        return FALSE;
      loom_pictures_add (self, file, file, 0, -1, which);
    }
  return names != NULL;
}

/* TRUE if these classes of a folder are the names of its pictures. */
static gboolean
is_flat (const char *path, char *const *classes)
{
  g_autofree char *folder = g_build_filename (path, classes[0], NULL);

  return !loom_path_is_folder (folder);
}

/* Adds the classes `here` of a folder; each must be one of names. */
static gboolean
add_classes (LoomPictures *self, const char *path, char *const *here, char *const *names, const char *path_of_names,
             GError **error)
{
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; names[i] != NULL; i++)
    g_hash_table_insert (numbers, names[i], GUINT_TO_POINTER (i));
  if (is_flat (path, here))
    return add_named (self, path, numbers, path_of_names, error);
  for (guint i = 0; here[i] != NULL; i++)
    {
      guint32 which = 0;

      if (!find_class (numbers, here[i], path, path_of_names, &which, error)
          || !add_class (self, path, here[i], which, error))
        return FALSE;
    }
  return TRUE;
}

static const char *const folders[] = { "path", "test_path", NULL };

/* ---- the data set ----------------------------------------------------------- */

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_auto (GStrv) names = NULL;

  loom_pictures_describe (klass, options, info);
  names = list_classes (path, 2, error);
  if (names == NULL)
    return FALSE;
  info->n_classes = (gint64)g_strv_length (names);
  return TRUE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  LoomPictures *self = loom_pictures_new (klass, options);
  LoomDataset *base = loom_pictures_dataset (self);
  g_autoptr (LoomDataset) owned = base;
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *test_path = loom_option_path (klass, options, "test_path");
  g_auto (GStrv) tested = NULL;
  guint n_dealt;

  base->class_names = list_classes (path, 2, error);
  if (base->class_names == NULL || !add_classes (self, path, base->class_names, base->class_names, path, error))
    return NULL;
  base->info.n_classes = (gint64)g_strv_length (base->class_names);
  n_dealt = loom_pictures_count (self);
  if (test_path != NULL)
    {
      tested = list_classes (test_path, is_flat (path, base->class_names) ? 1 : 2, error);
      if (tested == NULL || !add_classes (self, test_path, tested, base->class_names, path, error))
        return NULL;
    }
  if (!loom_pictures_finish (self, options, n_dealt, test_path != NULL, error))
    return NULL;
  if (base->note == NULL && base->class_names[1] == NULL)
    base->note = describe_only (path, base->class_names[0]);
  return g_steal_pointer (&owned);
}

const LoomDatasetClass loom_dataset_image_folder = {
  .name = "image-folder",
  .title = "Folders of pictures",
  .doc = "Pictures from files, with a folder or a name for each class.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_pictures_read,
  .digest = loom_pictures_digest,
  .folders = folders,
  .is_read = loom_dataset_is_picture_name,
  .is_deep = TRUE,
  .free = loom_pictures_free,
  .has_pictures = TRUE,
};
