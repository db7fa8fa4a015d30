/* Pictures with masks in folders, in the forms of torchvision's data sets and of many others: PASCAL VOC
 * (VOCSegmentation), Oxford-IIIT Pet (OxfordIIITPet with target_types="segmentation"), the PennFudan pedestrians of
 * torchvision's tutorial, and a folder of masks next to one of pictures. A pixel of a mask is the class of its pixel in
 * the picture, of PennFudan the number of the pedestrian. */
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-os.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-companions.h"

static const LoomDatasetParam params[] = {
  { .name = "path",
    .type = LOOM_DATASET_PATH,
    .doc = "A folder with images and masks, or with train, val and test that contain both; Oxford-IIIT Pet's with "
           "images and annotations; PennFudan's with PNGImages and PedMasks; or PASCAL VOC's with JPEGImages and "
           "SegmentationClass." },
  { .name = "classes",
    .type = LOOM_DATASET_STRING,
    .def = "",
    .doc = "The number of classes, or their names, separated by commas; if not set, the masks' values are counted." },
  { .name = "ignore",
    .type = LOOM_DATASET_INT,
    .def = "255",
    .minimum = -1,
    .maximum = 255,
    .doc = "The value of pixels without a class; -1: there is none. Their target is -100, which losses and metrics "
           "ignore." },
  LOOM_PICTURES_PARAMS,
  LOOM_DEALT_PARAMS ("pictures", "0", ", if the folder has no splits"),
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

#define N_VALUES 256
#define IS_ERROR (LOOM_TARGET_IGNORED - 1) /* of a value that is no class */

enum
{
  VOC,
  PETS,
  PENN,
  PAIRS
};

static const char *const png[] = { ".png", NULL }, *const masks[] = { ".png", "_mask.png", NULL },
                         *const penn[] = { "_mask.png", NULL };

static const LoomCompanionLayout layouts[] = {
  [VOC] = { .pictures = "JPEGImages",
            .companions = "SegmentationClass",
            .endings = png,
            .lists = { "ImageSets/Segmentation/train.txt", "ImageSets/Segmentation/val.txt",
                       "ImageSets/Segmentation/test.txt" } },
  [PETS] = { .pictures = "images",
             .companions = "annotations/trimaps",
             .endings = png,
             .lists = { "annotations/trainval.txt", NULL, "annotations/test.txt" } },
  [PENN] = { .pictures = "PNGImages", .companions = "PedMasks", .endings = penn },
  [PAIRS] = { .pictures = "images", .companions = "masks", .endings = masks, .has_folders = TRUE },
};

/* The value of class 0, the names of the classes (NULL: they are counted), and whether values above 0 are the numbers
 * of objects of class 1. */
static const struct
{
  guint first;
  const char *names;
  gboolean has_objects;
} known[G_N_ELEMENTS (layouts)] = {
  [VOC] = { 0, "background,aeroplane,bicycle,bird,boat,bottle,bus,car,cat,chair,cow,diningtable,dog,horse,motorbike,"
               "person,pottedplant,sheep,sofa,train,tvmonitor" },
  [PETS] = { 1, "foreground,background,border" },
  [PENN] = { 0, "background,pedestrian", TRUE },
};

static const LoomCompanionLayout *
find_layout (const char *path, char **base, GError **error)
{
  const LoomCompanionLayout *layout = loom_companions_layout (path, layouts, G_N_ELEMENTS (layouts), base);

  if (layout == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                 "“%s” has no folders of pictures and masks; it should contain images and masks, train with both, "
                 "images and annotations/trimaps, PNGImages and PedMasks, or JPEGImages and SegmentationClass.",
                 path);
  return layout;
}

/* The classes' names, numbers if only their number is known; NULL without an error if they are to be counted. */
static char **
names_of (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const LoomCompanionLayout *layout,
          GError **error)
{
  const char *text = loom_option_string (klass, options, "classes");
  g_auto (GStrv) names = NULL;
  guint64 n;

  if (*text == '\0')
    text = known[layout - layouts].names;
  if (text == NULL)
    return NULL;
  if (g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, &n, NULL))
    {
      names = g_new0 (char *, N_VALUES);
      for (guint i = 0; i < MIN (n, N_VALUES - 1); i++)
        names[i] = g_strdup_printf ("%u", i);
    }
  else
    {
      names = g_strsplit (text, ",", -1);
      for (guint i = 0; names[i] != NULL; i++)
        g_strstrip (names[i]);
      n = g_strv_length (names);
    }
  if (n >= 1 && n < N_VALUES)
    return g_steal_pointer (&names);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "A mask has from 1 to %d classes, but “classes” has %u.",
               N_VALUES - 1, (guint)n);
  return NULL;
}

/* ---- values ---------------------------------------------------------------------- */

/* Masks whose values are counted in threads. */
typedef struct
{
  GMutex lock;
  gint64 counts[N_VALUES];
  GError *error;
  guint first; /* the file with the error */
  const GPtrArray *files;
} Count;

static void
count_cb (gpointer data, gpointer user_data)
{
  Count *count = user_data;
  const guint i = GPOINTER_TO_UINT (data) - 1;
  const char *path = count->files->pdata[i];
  g_autofree char *content = NULL;
  g_autoptr (GError) error = NULL;
  gint64 counts[N_VALUES] = { 0 };
  LoomPictureFrame frame;
  guint8 pixel;
  gsize length;

  if (loom_path_read (path, &content, &length, &error))
    {
      g_autoptr (GBytes) bytes = g_bytes_new_take (g_steal_pointer (&content), length);

      loom_picture_read_mask (bytes, path, LOOM_FIT_STRETCH, 1, 1, &pixel, &frame, counts, &error);
    }
  g_mutex_lock (&count->lock);
  for (guint v = 0; v < N_VALUES; v++)
    count->counts[v] += counts[v];
  if (error != NULL && (count->error == NULL || i < count->first))
    {
      g_clear_error (&count->error);
      count->error = g_steal_pointer (&error);
      count->first = i;
    }
  g_mutex_unlock (&count->lock);
}

/* Counts the values of all masks. Masks that are not readable are reported with their pictures, if those are skipped.
 */
static gboolean
count_values (const LoomCompanions *files, gboolean skips, gint64 counts[N_VALUES], GError **error)
{
  Count count = { .files = files->files };
  GThreadPool *pool = g_thread_pool_new (count_cb, &count, (int)g_get_num_processors (), FALSE, NULL);

  g_mutex_init (&count.lock);
  for (guint i = 0; i < files->files->len; i++)
    g_thread_pool_push (pool, GUINT_TO_POINTER (i + 1), NULL);
  g_thread_pool_free (pool, FALSE, TRUE);
  g_mutex_clear (&count.lock);
  memcpy (counts, count.counts, sizeof count.counts);
  if (count.error == NULL)
    return TRUE;
  if (skips)
    g_clear_error (&count.error);
  else
    g_propagate_error (error, count.error);
  return skips;
}

/* TRUE if the only values are 0 and 255, as in masks of one object; 255 is then a class. */
static gboolean
are_binary (const gint64 counts[N_VALUES])
{
  gboolean other = FALSE;

  for (guint v = 1; v < N_VALUES - 1; v++)
    other = other || counts[v] > 0;
  return !other && counts[0] > 0 && counts[N_VALUES - 1] > 0;
}

/* Names the classes by the largest value that occurs. */
static void
name_counted (LoomDataset *base, const gint64 counts[N_VALUES], gint64 ignore)
{
  guint n = 1;

  for (guint v = 0; v < N_VALUES - 1; v++)
    if (counts[v] > 0 && v != ignore)
      n = v + 1;
  base->class_names = g_new0 (char *, n + 1);
  for (guint v = 0; v < n; v++)
    base->class_names[v] = g_strdup_printf ("%u", v);
}

/* Determines the class of each value, and the classes if they are not known. */
static gboolean
set_values (LoomPictures *self, const LoomDatasetOptions *options, const LoomCompanions *files, GError **error)
{
  LoomDataset *base = loom_pictures_dataset (self);
  const guint which = (guint)(files->layout - layouts);
  const gint64 ignore = loom_option_int (base->klass, options, "ignore");
  const gboolean skips = g_str_equal (loom_option_string (base->klass, options, "broken"), "skip");
  gint64 counts[N_VALUES] = { 0 }, class_of[N_VALUES];
  gboolean is_binary;

  if (which == PAIRS && !count_values (files, skips, counts, error))
    return FALSE;
  is_binary = ignore == N_VALUES - 1 && are_binary (counts)
              && (base->class_names == NULL || g_strv_length (base->class_names) == 2);
  if (base->class_names == NULL && is_binary)
    base->class_names = g_strsplit ("0,1", ",", -1);
  else if (base->class_names == NULL)
    name_counted (base, counts, ignore);
  base->info.n_classes = g_strv_length (base->class_names);
  for (gint64 v = 0; v < N_VALUES; v++)
    {
      const gint64 k = known[which].has_objects ? MIN (v, 1) : v - known[which].first;

      class_of[v] = is_binary && v == N_VALUES - 1       ? 1
                    : v == ignore                        ? LOOM_TARGET_IGNORED
                    : k >= 0 && k < base->info.n_classes ? k
                                                         : IS_ERROR;
    }
  if (is_binary)
    base->note = g_strdup ("The masks have only the values 0 and 255, so 255 is class 1 and no pixel is ignored.");
  loom_pictures_set_values (self, class_of);
  return TRUE;
}

/* ---- the data set ------------------------------------------------------------------ */

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, "path"), *base = NULL;
  g_auto (GStrv) names = NULL;
  g_autoptr (GError) local = NULL;
  const LoomCompanionLayout *layout;

  loom_pictures_describe_masks (klass, options, info);
  layout = find_layout (path, &base, error);
  if (layout == NULL)
    return FALSE;
  names = names_of (klass, options, layout, &local);
  info->n_classes = names != NULL ? (gint64)g_strv_length (names) : -1;
  for (guint s = 0; s < LOOM_N_SPLITS; s++)
    info->n[s] = -1;
  if (local == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  LoomPictures *self = loom_pictures_new_with_masks (klass, options);
  g_autoptr (LoomDataset) owned = loom_pictures_dataset (self);
  g_autofree char *path = loom_option_path (klass, options, "path"), *base = NULL;
  const LoomCompanionLayout *layout = find_layout (path, &base, error);
  g_autoptr (LoomCompanions) files = layout != NULL ? loom_companions_new (base, layout, error) : NULL;
  g_autoptr (GError) local = NULL;

  if (files == NULL)
    return NULL;
  owned->class_names = names_of (klass, options, layout, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  for (guint i = 0; i < files->pictures->len; i++)
    {
      loom_pictures_add (self, files->pictures->pdata[i], files->pictures->pdata[i], 0, -1, 0);
      loom_pictures_add_mask (self, files->files->pdata[i]);
    }
  if (!set_values (self, options, files, error) || !loom_companions_finish (files, self, options, error))
    return NULL;
  return g_steal_pointer (&owned);
}

static gboolean
is_read (const char *file)
{
  return loom_dataset_is_picture_name (file) || g_str_has_suffix (file, ".txt");
}

static const char *const folders[] = { "path", NULL };

const LoomDatasetClass loom_dataset_masks = {
  .name = "masks",
  .title = "Pictures with masks",
  .doc = "Pictures from files, each with a mask that has the class of every pixel, for semantic segmentation.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_pictures_read,
  .digest = loom_pictures_digest,
  .folders = folders,
  .is_read = is_read,
  .is_deep = TRUE,
  .free = loom_pictures_free,
  .has_pictures = TRUE,
};
