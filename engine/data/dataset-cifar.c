/* CIFAR-10 and CIFAR-100: 60,000 colour pictures of objects and animals, 32 × 32 (Krizhevsky, "Learning multiple layers
 * of features from tiny images", 2009), in their binary form.
 *
 * A record consists of its label's byte (in CIFAR-100 two, the coarse one first) and 3 × 1024 bytes, red, green and
 * blue. The types are known without the files, so that a graph can be drawn before they are downloaded. */
#include <string.h>

#include "engine/core/loom-env.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-deal.h"

#define SIDE   32
#define PIXELS (3 * SIDE * SIDE)

static const char *const kinds[] = { "10", "100", "100-coarse", NULL };

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, ""),
    .doc = "The folder of the unpacked binary version (default: cifar-10-batches-bin or cifar-100-binary in "
           "GRADLOOM_DATA)." },
  { LOOM_OPTION ("classes", ENUM, "10"), .choices = kinds,
    .doc = "CIFAR-10 or CIFAR-100; 100-coarse is CIFAR-100 with its twenty superclasses." },
  { LOOM_OPTION ("val_fraction", FLOAT, "0"), LOOM_RANGE (0, 0.9),
    .doc = "The fraction of the training pictures for validation." },
  { LOOM_OPTION ("seed", INT, "0"), LOOM_RANGE (0, 4294967295.0),
    .doc = "The seed by which pictures are divided into splits." },
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

/* The differences between the two sets. */
typedef struct
{
  const char *name, *folder, *names, *train[6], *test;
  int n_labels, label; /* label bytes before the pixels, and the index of the one that is used */
  gint64 n_train, n_classes;
} Variant;

static const Variant variants[] = {
  { "CIFAR-10",
    "cifar-10-batches-bin",
    "batches.meta.txt",
    { "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin" },
    "test_batch.bin",
    1,
    0,
    50000,
    10 },
  { "CIFAR-100", "cifar-100-binary", "fine_label_names.txt", { "train.bin" }, "test.bin", 2, 1, 50000, 100 },
  { "CIFAR-100", "cifar-100-binary", "coarse_label_names.txt", { "train.bin" }, "test.bin", 2, 0, 50000, 20 },
};

static const Variant *
variant_of (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  const char *name = loom_option_string (klass, options, "classes");
  guint i = 0;

  while (!g_str_equal (kinds[i], name))
    i++;
  return &variants[i];
}

static gboolean
has_files (const char *folder, const Variant *v)
{
  g_autofree char *first = g_build_filename (folder, v->train[0], NULL);

  return loom_path_is_file (first);
}

/* The given folder, or the set's own folder in it or in GRADLOOM_DATA; NULL with an error. */
static char *
find_folder (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const Variant *v = variant_of (klass, options);
  g_autofree char *path = loom_option_path (klass, options, "path");
  const char *root = path != NULL ? path : loom_env ("GRADLOOM_DATA");
  g_autofree char *inner = root != NULL ? g_build_filename (root, v->folder, NULL) : NULL;

  if (root != NULL && has_files (root, v))
    return g_strdup (root);
  if (inner != NULL && has_files (inner, v))
    return g_steal_pointer (&inner);
  if (root != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s was not found: neither “%s” nor its folder %s contains %s.",
                 v->name, root, v->folder, v->train[0]);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "%s was not found: unpack its binary version and set path=\"FOLDER\", the folder that contains %s.",
                 v->name, v->train[0]);
  return NULL;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const Variant *v = variant_of (klass, options);
  const gint64 dims[] = { 3, SIDE, SIDE };
  const gint64 n_val = (gint64)((double)v->n_train * loom_option_float (klass, options, "val_fraction") + 0.5);
  g_autofree char *folder = NULL;

  loom_info_add_port (info, "x", LOOM_F32, 3, dims);
  loom_info_add_port (info, "y", LOOM_I64, 0, NULL);
  info->n[LOOM_SPLIT_TRAIN] = v->n_train - n_val;
  info->n[LOOM_SPLIT_VAL] = n_val;
  info->n[LOOM_SPLIT_TEST] = 10000;
  info->n_classes = v->n_classes;
  folder = find_folder (klass, options, error);
  return folder != NULL;
}

/* Appends the records of one file to pixels and labels. */
static gboolean
append_file (const char *folder, const char *name, const Variant *v, GByteArray *pixels, GByteArray *labels,
             GError **error)
{
  const gsize record = (gsize)v->n_labels + PIXELS;
  g_autofree char *path = g_build_filename (folder, name, NULL), *content = NULL;
  g_autoptr (GError) cause = NULL;
  gsize length;

  if (!loom_dataset_check_file (path, "a part of the data set is missing", error))
    return FALSE;
  if (!loom_path_read (path, &content, &length, &cause))
    return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  if (length == 0 || length % record != 0)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” has %" G_GSIZE_FORMAT " bytes, which is not a multiple of a record's %" G_GSIZE_FORMAT " "
                        "bytes: it is not a file of %s, or is truncated.",
                        path, length, record, v->name);
  for (gsize at = 0; at < length; at += record)
    {
      const guint8 *bytes = (const guint8 *)content + at;

      if (bytes[v->label] >= v->n_classes)
        return loom_refuse (
            error, LOOM_ERROR_DATA,
            "“%s” has a picture of class %d, but %s has only %d classes: it is a file of another data set.", path,
            bytes[v->label], v->name, (int)v->n_classes);
      g_byte_array_append (labels, bytes + v->label, 1);
      g_byte_array_append (pixels, bytes + v->n_labels, PIXELS);
    }
  return TRUE;
}

/* x u8 [n,3,32,32] and y u8 [n] of these files. */
static gboolean
load (const char *folder, const char *const *names, const Variant *v, LoomTensor *data[2], GError **error)
{
  g_autoptr (GByteArray) pixels = g_byte_array_new (), labels = g_byte_array_new ();
  gint64 dims[] = { 0, 3, SIDE, SIDE };

  for (guint i = 0; names[i] != NULL; i++)
    if (!append_file (folder, names[i], v, pixels, labels, error))
      return FALSE;
  dims[0] = labels->len;
  data[0] = loom_tensor_new (LOOM_U8, 4, dims, error);
  data[1] = data[0] != NULL ? loom_tensor_new (LOOM_U8, 1, dims, error) : NULL;
  if (data[1] == NULL)
    return FALSE;
  memcpy (data[0]->data, pixels->data, pixels->len);
  memcpy (data[1]->data, labels->data, labels->len);
  return TRUE;
}

/* The lines of the file of names, if it exists and has enough of them. */
static char **
read_names (const char *folder, const Variant *v)
{
  g_autofree char *path = g_build_filename (folder, v->names, NULL), *content = NULL;
  g_auto (GStrv) lines = NULL;

  if (!loom_path_read (path, &content, NULL, NULL) || !g_utf8_validate (content, -1, NULL))
    return NULL;
  lines = g_strsplit (g_strstrip (content), "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    g_strstrip (lines[i]);
  return g_strv_length (lines) == (guint)v->n_classes ? g_steal_pointer (&lines) : NULL;
}

static gboolean
fill (LoomDataset *self, const LoomDatasetOptions *options, const char *folder, GError **error)
{
  const Variant *v = variant_of (self->klass, options);
  const char *const test_names[] = { v->test, NULL };
  LoomTensor *train[2] = { NULL }, *test[2] = { NULL };
  const LoomDealing how = loom_dealing (self->klass, options);
  const gboolean good = load (folder, v->train, v, train, error) && load (folder, test_names, v, test, error)
                        && loom_table_deal (self, train, train[1], &how, error);

  if (good)
    {
      loom_table_set_split (self, LOOM_SPLIT_TEST, test, NULL, test[0]->dim[0]);
      self->class_names = read_names (folder, v);
    }
  for (int p = 0; p < 2; p++)
    {
      loom_tensor_unref (train[p]);
      loom_tensor_unref (test[p]);
    }
  return good;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autofree char *folder = find_folder (klass, options, error);
  g_autoptr (LoomDataset) self = NULL;
  LoomDatasetInfo info = { 0 };

  if (folder == NULL || !describe (klass, options, &info, error))
    return NULL;
  self = loom_table_new (klass, &info);
  return fill (self, options, folder, error) ? g_steal_pointer (&self) : NULL;
}

static void
each_link (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
           gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data)
{
  const Variant *v = variant_of (klass, options);
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *folder = path != NULL ? find_folder (klass, options, NULL) : NULL;
  const char *const others[] = { v->names, v->test };

  for (guint i = 0; folder != NULL && i < G_N_ELEMENTS (v->train) + G_N_ELEMENTS (others); i++)
    {
      const char *name = i < G_N_ELEMENTS (v->train) ? v->train[i] : others[i - G_N_ELEMENTS (v->train)];
      g_autofree char *file = name != NULL ? g_build_filename (folder, name, NULL) : NULL;

      if (file != NULL)
        follow ("path", file, data);
    }
}

const LoomDatasetClass loom_dataset_cifar = {
  .name = "cifar",
  .title = "CIFAR-10 and CIFAR-100",
  .doc = "60,000 colour pictures of vehicles, animals and other objects, 32 × 32, in 10, 20 or 100 classes.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .digest = loom_table_digest,
  .each_link = each_link,
  .free = loom_table_free,
  .has_pictures = TRUE,
};
