/* Fashion-MNIST: 70,000 pictures of clothes, 28 × 28, ten classes (Xiao, Rasul and
 * Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine learning
 * algorithms", 2017), from the Debian package dataset-fashion-mnist.
 *
 * Its types are known without the files, so a graph can be drawn before the data is
 * installed; only training needs it. */
#include "engine/core/loom-env.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-idx.h"

#define PACKAGE_FOLDER "/usr/share/datasets/fashion-mnist"

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, ""),
    .doc = "The folder of the four IDX files (default: that of the package dataset-fashion-mnist)." },
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

static const char *const file_names[4] = {
  "train-images-idx3-ubyte",
  "train-labels-idx1-ubyte",
  "t10k-images-idx3-ubyte",
  "t10k-labels-idx1-ubyte",
};

static const char *const class_names[] = {
  "T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot", NULL,
};

/* The folders to search, in order. A given path is the only one. */
static char **
list_folders (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autofree char *path = loom_option_path (klass, options, "path");
  const char *root = loom_env ("GRADLOOM_DATA");

  if (path != NULL)
    {
      g_strv_builder_add (builder, path);
      return g_strv_builder_end (builder);
    }
  if (root != NULL)
    {
      g_autofree char *inner = g_build_filename (root, "fashion-mnist", NULL);

      g_strv_builder_add (builder, inner);
      g_strv_builder_add (builder, root);
    }
  g_strv_builder_add (builder, PACKAGE_FOLDER);
  return g_strv_builder_end (builder);
}

/* A file of the folder, gzipped as in the package or already unpacked. */
static char *
find_file (const char *folder, const char *name)
{
  g_autofree char *packed_name = g_strconcat (name, ".gz", NULL);
  g_autofree char *packed = g_build_filename (folder, packed_name, NULL);
  g_autofree char *plain = g_build_filename (folder, name, NULL);

  if (loom_path_is_file (packed))
    return g_steal_pointer (&packed);
  return loom_path_is_file (plain) ? g_steal_pointer (&plain) : NULL;
}

/* The four files, NULL-terminated, or NULL with an error that names every searched folder. */
static char **
find_files (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_auto (GStrv) folders = list_folders (klass, options);
  g_autofree char *places = NULL;

  for (char **folder = folders; *folder != NULL; folder++)
    {
      char *found[5] = { NULL };
      gboolean complete = TRUE;

      for (int i = 0; i < 4; i++)
        {
          found[i] = find_file (*folder, file_names[i]);
          complete = complete && found[i] != NULL;
        }
      if (complete)
        return g_memdup2 (found, sizeof found);
      for (int i = 0; i < 4; i++)
        g_free (found[i]);
    }
  places = g_strjoinv ("”, “", folders);
  return loom_refuse_null (
      error, LOOM_ERROR_DATA,
      "Fashion-MNIST was not found: “%s” does not contain %s.gz and its three companions. Install it with "
      "“apt install dataset-fashion-mnist”, or set path=\"FOLDER\".",
      places, file_names[0]);
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 dims[] = { 1, 28, 28 };
  g_auto (GStrv) found = NULL;

  loom_info_add_port (info, "x", LOOM_F32, 3, dims);
  loom_info_add_port (info, "y", LOOM_I64, 0, NULL);
  info->n[LOOM_SPLIT_TRAIN] = 60000;
  info->n[LOOM_SPLIT_VAL] = 0;
  info->n[LOOM_SPLIT_TEST] = 10000;
  info->n_classes = 10;
  found = find_files (klass, options, error);
  return found != NULL;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_auto (GStrv) found = find_files (klass, options, error);
  LoomDataset *self;
  LoomIdxFiles files = { NULL };

  if (found == NULL)
    return NULL;
  files.images = found[0];
  files.labels = found[1];
  files.test_images = found[2];
  files.test_labels = found[3];
  self = loom_idx_files_open (klass, &files, error);
  if (self != NULL)
    self->class_names = g_strdupv ((char **)class_names);
  return self;
}

static void
each_link (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
           gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data)
{
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_auto (GStrv) found = path != NULL ? find_files (klass, options, NULL) : NULL;

  for (guint i = 0; found != NULL && found[i] != NULL; i++)
    follow ("path", found[i], data);
}

const LoomDatasetClass loom_dataset_fashion_mnist = {
  .name = "fashion-mnist",
  .title = "Fashion-MNIST",
  .doc = "70,000 grey pictures of clothes, 28 × 28, in ten classes.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .digest = loom_table_digest,
  .each_link = each_link,
  .free = loom_table_free,
  .has_pictures = TRUE,
};
