/* Pictures in folders: a class is a folder, and its pictures are the files in it and in the folders below it
 * (torchvision's ImageFolder). */
#include <glib/gstdio.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-pictures.h"

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, NULL),
    .doc = "A folder with a folder of pictures for each class; pictures may be in subfolders." },
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

static char **
list_classes (const char *path, GError **error)
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
  return loom_refuse_null (error, LOOM_ERROR_DATA,
                           "“%s” contains no folder; it should contain a folder of pictures for each class.", path);
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

/* Adds all classes in a folder; each must be one of names. */
static gboolean
add_classes (LoomPictures *self, const char *path, char *const *names, const char *path_of_names, GError **error)
{
  g_auto (GStrv) here = list_classes (path, error);

  for (guint i = 0; here != NULL && here[i] != NULL; i++)
    {
      guint which = 0;

      while (names[which] != NULL && !g_str_equal (names[which], here[i]))
        which++;
      if (names[which] == NULL)
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” has a class “%s”, which “%s” does not have.", path, here[i],
                            path_of_names);
      if (!add_class (self, path, here[i], which, error))
        return FALSE;
    }
  return here != NULL;
}

static const char *const folders[] = { "path", "test_path", NULL };

/* ---- the data set ----------------------------------------------------------- */

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_auto (GStrv) names = NULL;

  loom_pictures_describe (klass, options, info);
  names = list_classes (path, error);
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
  guint n_dealt;

  base->class_names = list_classes (path, error);
  if (base->class_names == NULL || !add_classes (self, path, base->class_names, path, error))
    return NULL;
  base->info.n_classes = (gint64)g_strv_length (base->class_names);
  n_dealt = loom_pictures_count (self);
  if ((test_path != NULL && !add_classes (self, test_path, base->class_names, path, error))
      || !loom_pictures_finish (self, options, n_dealt, test_path != NULL, error))
    return NULL;
  return g_steal_pointer (&owned);
}

const LoomDatasetClass loom_dataset_image_folder = {
  .name = "image-folder",
  .title = "Folders of pictures",
  .doc = "Pictures from files, with a folder for each class.",
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
