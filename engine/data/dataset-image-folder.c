/* Pictures in folders: a class is a folder, and its pictures are the files in it and in the folders below it
 * (torchvision's ImageFolder).
 *
 * Every picture is resized to one size. If all fit into memory they are decoded once, by all processors, and kept as
 * bytes; otherwise each is decoded when it is read, which the loader's threads do in advance. Both ways make the same
 * numbers. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-hash.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-picture.h"

#define MEMORY ((gint64)1 << 30) /* bytes that are kept by default */

static const char *const colors[] = { "rgb", "grey", NULL };
static const char *const keeps[] = { "auto", "memory", "files", NULL };
static const char *const brokens[] = { "error", "skip", NULL };
static const char *const endings[] = { ".png",  ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".webp", ".avif", ".heic",
                                       ".heif", ".jxl", ".tif",  ".tiff", ".ppm", ".pgm", ".pnm",  NULL };

static const LoomDatasetParam params[] = {
  { .name = "path",
    .type = LOOM_DATASET_PATH,
    .doc = "A folder with a folder of pictures for each class; pictures may be in subfolders." },
  { .name = "test_path", .type = LOOM_DATASET_PATH, .def = "", .doc = "A folder of the same form with test pictures." },
  { .name = "size",
    .type = LOOM_DATASET_INT,
    .def = "64",
    .minimum = 1,
    .maximum = 2048,
    .doc = "The height and width to which pictures are resized." },
  { .name = "fit",
    .type = LOOM_DATASET_ENUM,
    .def = "crop",
    .choices = loom_picture_fits,
    .doc = "How other proportions become a square: stretch, crop two sides, or pad two sides." },
  { .name = "color",
    .type = LOOM_DATASET_ENUM,
    .def = "rgb",
    .choices = colors,
    .doc = "Three colour channels, or one grey channel." },
  { .name = "keep",
    .type = LOOM_DATASET_ENUM,
    .def = "auto",
    .choices = keeps,
    .doc
    = "memory: all pictures are decoded once and kept in memory; files: a picture is decoded each time it is read; "
      "auto: memory if that takes less than 1 GiB." },
  { .name = "broken",
    .type = LOOM_DATASET_ENUM,
    .def = "error",
    .choices = brokens,
    .doc
    = "error: a picture that is not readable ends the run; skip: all pictures are read once at the start, and those "
      "that are not readable are left out and counted." },
  LOOM_DEALT_PARAMS ("pictures", "0", ", if test_path is not set"),
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

typedef struct
{
  LoomDataset base;
  gint64 channels, size;
  LoomPictureFit fit;
  GPtrArray *files; /* paths */
  GArray *classes;  /* guint32 by file */
  guint32 *rows[LOOM_N_SPLITS];
  guint8 *pixels;  /* (files, C, H, W); NULL: no picture is kept */
  guint8 *is_kept; /* by file; written under the lock, as pixels are */
  GMutex lock;
  GThreadPool *pool; /* of Decoding */
} Folder;

static gint64
picture_bytes (const Folder *self)
{
  return self->channels * self->size * self->size;
}

/* ---- folders --------------------------------------------------------------- */

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

static gboolean
is_picture (const char *name)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);

  for (guint i = 0; endings[i] != NULL; i++)
    if (g_str_has_suffix (lower, endings[i]))
      return TRUE;
  return FALSE;
}

/* The names of a folder's folders, or of the pictures in it, sorted and NULL-terminated. */
static char **
list (const char *path, gboolean folders, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GError) cause = NULL;
  GDir *dir = g_dir_open (path, 0, &cause);
  const char *name;

  if (dir == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
      return NULL;
    }
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *inner = g_build_filename (path, name, NULL);

      if (*name != '.'
          && (folders ? g_file_test (inner, G_FILE_TEST_IS_DIR)
                      : is_picture (name) && g_file_test (inner, G_FILE_TEST_IS_REGULAR)))
        g_ptr_array_add (names, g_strdup (name));
    }
  g_dir_close (dir);
  g_ptr_array_sort (names, compare_texts);
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
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
  pictures = list (train, FALSE, NULL);
  folders = list (train, TRUE, NULL);
  return pictures != NULL && folders != NULL && pictures[0] == NULL && folders[0] != NULL;
}

static char **
list_classes (const char *path, GError **error)
{
  g_auto (GStrv) names = NULL;
  const char *test;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "There is no folder “%s”; it should contain a folder of pictures for each class.", path);
      return NULL;
    }
  names = list (path, TRUE, error);
  if (names != NULL && are_splits (path, names, &test))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "The folders train and %s in “%s” are splits, not classes: set path=\"…/train\" and "
                   "test_path=\"…/%s\".",
                   test, path, test);
      return NULL;
    }
  if (names == NULL || names[0] != NULL)
    return g_steal_pointer (&names);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
               "“%s” contains no folder; it should contain a folder of pictures for each class.", path);
  return NULL;
}

/* Adds the pictures of a folder and of those below it to a class. visited: folders that were read already, since links
 * may form a cycle. */
static gboolean
add_folder (Folder *self, const char *folder, guint32 which, GHashTable *visited, GError **error)
{
  GStatBuf status;
  g_auto (GStrv) names = NULL, folders = NULL;

  if (g_stat (folder, &status) == 0
      && !g_hash_table_add (visited, g_strdup_printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
                                                      (guint64)status.st_dev, (guint64)status.st_ino)))
    return TRUE;
  names = list (folder, FALSE, error);
  folders = names != NULL ? list (folder, TRUE, error) : NULL;
  if (folders == NULL)
    return FALSE;
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_ptr_array_add (self->files, g_build_filename (folder, names[i], NULL));
      g_array_append_val (self->classes, which);
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
add_class (Folder *self, const char *path, const char *name, guint32 which, GError **error)
{
  g_autofree char *folder = g_build_filename (path, name, NULL);
  g_autoptr (GHashTable) visited = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const guint before = self->files->len;

  if (!add_folder (self, folder, which, visited, error))
    return FALSE;
  if (self->files->len > before)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” contains no picture (%s and others).", folder, endings[0]);
  return FALSE;
}

/* Adds all classes in a folder; each must be one of names. */
static gboolean
add_classes (Folder *self, const char *path, char *const *names, const char *path_of_names, GError **error)
{
  g_auto (GStrv) here = list_classes (path, error);

  for (guint i = 0; here != NULL && here[i] != NULL; i++)
    {
      guint which = 0;

      while (names[which] != NULL && !g_str_equal (names[which], here[i]))
        which++;
      if (names[which] == NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” has a class “%s”, which “%s” does not have.", path,
                       here[i], path_of_names);
          return FALSE;
        }
      if (!add_class (self, path, here[i], which, error))
        return FALSE;
    }
  return here != NULL;
}

static void
each_link (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
           gboolean (*follow) (const char *name, const char *path, gpointer data), gpointer data)
{
  static const char *const names[] = { "path", "test_path" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = loom_option_path (klass, options, names[i]);

      if (path != NULL)
        loom_folder_each_link (names[i], path, is_picture, TRUE, follow, data);
    }
}

/* ---- pictures -------------------------------------------------------------- */

static gboolean
decode (const Folder *self, guint file, guint8 *to, GError **error)
{
  const LoomPictureOptions options = { .fit = self->fit, .low = 0, .high = 1 };
  const char *path = self->files->pdata[file];
  g_autofree float *values = g_new (float, picture_bytes (self));
  g_autofree char *note = NULL, *content = NULL;
  g_autoptr (GError) cause = NULL;
  g_autoptr (GBytes) bytes = NULL;
  double border;
  gsize length;

  if (!g_file_get_contents (path, &content, &length, &cause))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
      return FALSE;
    }
  bytes = g_bytes_new_take (g_steal_pointer (&content), length);
  if (!loom_picture_read (bytes, path, &options, self->channels, self->size, self->size, values, &border, &note, error))
    return FALSE;
  for (gint64 i = 0; i < picture_bytes (self); i++)
    to[i] = (guint8)lrintf (values[i] * 255);
  return TRUE;
}

/* The pictures of one batch that are not kept yet. */
typedef struct
{
  GMutex lock;
  GCond done;
  guint n_left;
} Batch;

typedef struct
{
  Batch *batch;
  Folder *folder;
  guint file;
  guint8 *pixels; /* NULL: it was kept already */
  GError *error;
} Decoding;

static void
decode_cb (gpointer data, gpointer user_data)
{
  Decoding *d = data;
  Folder *self = d->folder;

  if (decode (self, d->file, d->pixels, &d->error) && self->pixels != NULL)
    {
      g_mutex_lock (&self->lock);
      if (!self->is_kept[d->file])
        memcpy (self->pixels + d->file * picture_bytes (self), d->pixels, (gsize)picture_bytes (self));
      self->is_kept[d->file] = TRUE;
      g_mutex_unlock (&self->lock);
    }
  g_mutex_lock (&d->batch->lock);
  if (--d->batch->n_left == 0)
    g_cond_signal (&d->batch->done);
  g_mutex_unlock (&d->batch->lock);
}

/* Decodes the missing pictures of the batch, in as many threads as there are processors. */
static void
decode_batch (Folder *self, Decoding *list, guint n)
{
  Batch batch = { .n_left = 0 };

  g_mutex_init (&batch.lock);
  g_cond_init (&batch.done);
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < n; i++)
    if (self->pixels == NULL || !self->is_kept[list[i].file])
      {
        list[i].batch = &batch;
        list[i].pixels = g_malloc ((gsize)picture_bytes (self));
        batch.n_left++;
      }
  g_mutex_unlock (&self->lock);
  for (guint i = 0; i < n; i++)
    if (list[i].batch != NULL)
      g_thread_pool_push (self->pool, &list[i], NULL);
  g_mutex_lock (&batch.lock);
  while (batch.n_left > 0)
    g_cond_wait (&batch.done, &batch.lock);
  g_mutex_unlock (&batch.lock);
  g_mutex_clear (&batch.lock);
  g_cond_clear (&batch.done);
}

/* ---- pictures that are not readable ------------------------------------------ */

#define CHECKED_AT_ONCE 64u

/* Marks the files from `first` on that are not readable, at most n; returns their number. */
static guint
find_broken (Folder *self, guint first, guint n, gboolean *is_broken)
{
  g_autofree Decoding *list = g_new0 (Decoding, n);
  guint found = 0;

  for (guint i = 0; i < n; i++)
    {
      list[i].folder = self;
      list[i].file = first + i;
    }
  decode_batch (self, list, n);
  for (guint i = 0; i < n; i++)
    {
      is_broken[first + i] = list[i].error != NULL;
      found += list[i].error != NULL;
      g_clear_error (&list[i].error);
      g_free (list[i].pixels);
    }
  return found;
}

/* Removes files that are not readable, and notes how many there were and which is the first. n_dealt: the files that
 * are no test files come first; this is their number. Every class keeps at least one of those. */
static gboolean
leave_out_broken (Folder *self, guint *n_dealt, GError **error)
{
  const guint n = self->files->len, before = *n_dealt;
  g_autofree gboolean *is_broken = g_new0 (gboolean, n + 1);
  g_autofree guint *n_left = g_new0 (guint, g_strv_length (self->base.class_names) + 1);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) classes = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint found = 0, first = n;

  for (guint i = 0; i < n; i += CHECKED_AT_ONCE)
    found += find_broken (self, i, MIN (CHECKED_AT_ONCE, n - i), is_broken);
  for (guint i = 0; i < n; i++)
    {
      const guint32 which = g_array_index (self->classes, guint32, i);

      if (is_broken[i])
        {
          first = MIN (first, i);
          *n_dealt -= i < before;
          continue;
        }
      g_ptr_array_add (files, g_strdup (self->files->pdata[i]));
      g_array_append_val (classes, which);
      n_left[which] += i < before;
    }
  for (guint c = 0; self->base.class_names[c] != NULL; c++)
    if (n_left[c] == 0)
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The class “%s” has no readable picture.",
                     self->base.class_names[c]);
        return FALSE;
      }
  if (found > 0)
    self->base.note = g_strdup_printf ("%u of %u pictures are not readable and are left out; the first is “%s”.", found,
                                       n, (const char *)self->files->pdata[first]);
  g_ptr_array_unref (self->files);
  g_array_unref (self->classes);
  self->files = g_steal_pointer (&files);
  self->classes = g_steal_pointer (&classes);
  return TRUE;
}

static gboolean
keep_pictures (Folder *self, GError **error)
{
  self->pixels = g_try_malloc ((gsize)self->files->len * (gsize)picture_bytes (self));
  self->is_kept = g_new0 (guint8, self->files->len);
  if (self->pixels != NULL)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY,
               "%u pictures do not fit into memory; set keep=\"files\" to read them one by one.", self->files->len);
  return FALSE;
}

/* ---- the data set ----------------------------------------------------------- */

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  const gint64 size = loom_option_int (klass, options, "size");
  const gint64 dims[] = { g_str_equal (loom_option_string (klass, options, "color"), "rgb") ? 3 : 1, size, size };
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_auto (GStrv) names = NULL;

  loom_info_add_port (info, "x", LOOM_F32, 3, dims);
  loom_info_add_port (info, "y", LOOM_I64, 0, NULL);
  names = list_classes (path, error);
  if (names == NULL)
    return FALSE;
  info->n_classes = (gint64)g_strv_length (names);
  return TRUE;
}

static gboolean
load (Folder *self, const LoomDatasetOptions *options, GError **error)
{
  const LoomDatasetClass *klass = self->base.klass;
  const char *keep = loom_option_string (klass, options, "keep");
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *test_path = loom_option_path (klass, options, "test_path");
  gint64 *n = self->base.info.n;
  guint n_dealt;

  self->base.class_names = list_classes (path, error);
  if (self->base.class_names == NULL || !add_classes (self, path, self->base.class_names, path, error))
    return FALSE;
  n_dealt = self->files->len;
  if (test_path != NULL && !add_classes (self, test_path, self->base.class_names, path, error))
    return FALSE;
  if (g_str_equal (loom_option_string (klass, options, "broken"), "skip") && !leave_out_broken (self, &n_dealt, error))
    return FALSE;
  loom_deal_rows (n_dealt, (guint64)loom_option_int (klass, options, "seed"),
                  loom_option_float (klass, options, "val_fraction"),
                  test_path != NULL ? 0 : loom_option_float (klass, options, "test_fraction"), self->rows, n);
  if (test_path != NULL)
    {
      n[LOOM_SPLIT_TEST] = self->files->len - n_dealt;
      g_free (self->rows[LOOM_SPLIT_TEST]);
      self->rows[LOOM_SPLIT_TEST] = g_new (guint32, n[LOOM_SPLIT_TEST]);
      for (gint64 i = 0; i < n[LOOM_SPLIT_TEST]; i++)
        self->rows[LOOM_SPLIT_TEST][i] = n_dealt + (guint32)i;
    }
  if (g_str_equal (keep, "files") || (g_str_equal (keep, "auto") && self->files->len * picture_bytes (self) > MEMORY))
    return TRUE;
  return keep_pictures (self, error);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_autoptr (LoomDataset) base = NULL;
  Folder *self = g_new0 (Folder, 1);

  base = &self->base;
  base->klass = klass;
  g_mutex_init (&self->lock);
  self->pool = g_thread_pool_new (decode_cb, NULL, (int)g_get_num_processors (), FALSE, NULL);
  self->files = g_ptr_array_new_with_free_func (g_free);
  self->classes = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->size = loom_option_int (klass, options, "size");
  self->channels = g_str_equal (loom_option_string (klass, options, "color"), "rgb") ? 3 : 1;
  while (!g_str_equal (loom_picture_fits[self->fit], loom_option_string (klass, options, "fit")))
    self->fit++;
  if (!describe (klass, options, &base->info, error) || !load (self, options, error))
    return NULL;
  return g_steal_pointer (&base);
}

/* The error is that of the batch's first unreadable file, in the order of samples. */
static gboolean
read_pictures (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
               GError **error)
{
  Folder *self = (Folder *)base;
  const gint64 count = picture_bytes (self);
  g_autofree Decoding *list = g_new0 (Decoding, n);
  gboolean good = TRUE;

  for (guint i = 0; i < n; i++)
    {
      list[i].folder = self;
      list[i].file = self->rows[split][indices[i]];
    }
  decode_batch (self, list, n);
  for (guint i = 0; i < n; i++)
    {
      const guint8 *from = list[i].pixels != NULL ? list[i].pixels : self->pixels + list[i].file * count;
      float *to = (float *)out[0]->data + i * count;

      if (list[i].error != NULL && good)
        {
          g_set_error (error, list[i].error->domain, list[i].error->code,
                       "%s Set broken=\"skip\" to leave out pictures that are not readable.", list[i].error->message);
          good = FALSE;
        }
      for (gint64 k = 0; k < count && good; k++)
        to[k] = (float)from[k] / 255.0f;
      ((gint64 *)out[1]->data)[i] = g_array_index (self->classes, guint32, list[i].file);
      g_clear_error (&list[i].error);
      g_free (list[i].pixels);
    }
  return good;
}

/* Number of files whose content is hashed, evenly among all: reading a million files over a network takes minutes. */
#define READ_FILES 256

static guint64
digest (const LoomDataset *base, guint64 hash)
{
  const Folder *self = (const Folder *)base;
  const guint each = MAX (1, self->files->len / READ_FILES);

  for (guint i = 0; i < self->files->len; i++)
    {
      const char *path = self->files->pdata[i];
      g_autofree char *name = g_path_get_basename (path), *content = NULL;
      gsize length;

      hash = loom_hash_text (hash, name);
      hash = loom_hash_bytes (hash, &g_array_index (self->classes, guint32, i), sizeof (guint32));
      if (i % each == 0 && g_file_get_contents (path, &content, &length, NULL))
        hash = loom_hash_bytes (hash, content, length);
    }
  return hash;
}

static void
free_folder (LoomDataset *base)
{
  Folder *self = (Folder *)base;

  g_thread_pool_free (self->pool, FALSE, TRUE);
  g_mutex_clear (&self->lock);
  g_ptr_array_unref (self->files);
  g_array_unref (self->classes);
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    g_free (self->rows[s]);
  g_free (self->pixels);
  g_free (self->is_kept);
  g_free (self);
}

const LoomDatasetClass loom_dataset_image_folder = {
  .name = "image-folder",
  .title = "Folders of pictures",
  .doc = "Pictures from files, with a folder for each class.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = read_pictures,
  .digest = digest,
  .each_link = each_link,
  .free = free_folder,
  .has_pictures = TRUE,
};
