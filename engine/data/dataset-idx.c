/* Any pair of IDX files: MNIST, EMNIST, or the user's own. */
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-idx.h"

static const char *const yes_no[] = { "false", "true", NULL };

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("images", PATH, NULL), .doc = "The IDX file of training images, plain or gzipped." },
  { LOOM_OPTION ("labels", PATH, NULL), .doc = "The IDX file of their classes." },
  { LOOM_OPTION ("transpose", ENUM, "false"), .choices = yes_no,
    .doc = "true: pictures are stored column by column, as those of EMNIST." },
  { LOOM_OPTION ("test_images", PATH, ""), .doc = "The IDX file of test images." },
  { LOOM_OPTION ("test_labels", PATH, ""), .doc = "The IDX file of their classes." },
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

typedef struct
{
  char *path[4];
} Paths;

static void
paths_clear (Paths *paths)
{
  for (gsize i = 0; i < G_N_ELEMENTS (paths->path); i++)
    g_clear_pointer (&paths->path[i], g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Paths, paths_clear)

static gboolean
find_files (const LoomDatasetClass *klass, const LoomDatasetOptions *options, Paths *paths, LoomIdxFiles *files,
            GError **error)
{
  static const char *const names[] = { "images", "labels", "test_images", "test_labels" };

  for (gsize i = 0; i < G_N_ELEMENTS (paths->path); i++)
    paths->path[i] = loom_option_path (klass, options, names[i]);
  files->is_transposed = g_str_equal (loom_option_string (klass, options, "transpose"), "true");
  files->images = paths->path[0];
  files->labels = paths->path[1];
  files->test_images = paths->path[2];
  files->test_labels = paths->path[3];
  if ((files->test_images == NULL) != (files->test_labels == NULL))
    return loom_refuse (error, LOOM_ERROR_SCHEMA,
                        "The data set idx has only one of test_images and test_labels; set both or neither.");
  return TRUE;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_auto (Paths) paths = { { NULL } };
  LoomIdxFiles files = { NULL };

  return find_files (klass, options, &paths, &files, error) && loom_idx_files_describe (&files, info, error);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_auto (Paths) paths = { { NULL } };
  LoomIdxFiles files = { NULL };

  if (!find_files (klass, options, &paths, &files, error))
    return NULL;
  return loom_idx_files_open (klass, &files, error);
}

const LoomDatasetClass loom_dataset_idx = {
  .name = "idx",
  .title = "IDX files",
  .doc = "Images and classes from IDX files, the format of MNIST.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .digest = loom_table_digest,
  .free = loom_table_free,
  .has_pictures = TRUE,
};
