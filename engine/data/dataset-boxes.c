/* Pictures with boxes of objects, in the forms of torchvision's CocoDetection (a file of JSON) and VOCDetection (a file
 * of XML for each picture), and of the PennFudan pedestrians of its tutorial (a mask for each picture). */
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/boxes-files.h"
#include "engine/data/loom-boxes.h"
#include "engine/data/loom-companions.h"

static const LoomDatasetParam params[] = {
  { .name = "path",
    .type = LOOM_DATASET_PATH,
    .doc = "PASCAL VOC's folder with JPEGImages and Annotations; PennFudan's with PNGImages and PedMasks; or, if "
           "annotations is set, the folder of the pictures." },
  { .name = "annotations",
    .type = LOOM_DATASET_PATH,
    .def = "",
    .doc = "COCO's file of JSON with the boxes. Detections on its crowds (iscrowd), and on VOC's difficult objects, do "
           "not count." },
  { .name = "test_path", .type = LOOM_DATASET_PATH, .def = "", .doc = "The folder of COCO's test pictures." },
  { .name = "test_annotations",
    .type = LOOM_DATASET_PATH,
    .def = "",
    .doc = "The file of JSON with the boxes of the pictures in test_path." },
  { .name = "classes",
    .type = LOOM_DATASET_STRING,
    .def = "",
    .doc = "The names of the classes to find, separated by commas (default: VOC's 20, PennFudan's pedestrian, or all "
           "categories of the file); "
           "other objects are left out." },
  { .name = "max_boxes",
    .type = LOOM_DATASET_INT,
    .def = "32",
    .minimum = 1,
    .maximum = 1000,
    .doc = "The largest number of boxes in a picture." },
  LOOM_BOXES_PARAMS,
  LOOM_PICTURES_PARAMS,
  LOOM_DEALT_PARAMS ("pictures", "0", ", if there are no test pictures"),
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

static const char *const xml[] = { ".xml", NULL }, *const mask[] = { "_mask.png", NULL };

enum
{
  VOC,
  PENN
};

static const LoomCompanionLayout layouts[] = {
  [VOC] = { .pictures = "JPEGImages",
            .companions = "Annotations",
            .endings = xml,
            .lists = { "ImageSets/Main/train.txt", "ImageSets/Main/val.txt", "ImageSets/Main/test.txt" } },
  [PENN] = { .pictures = "PNGImages", .companions = "PedMasks", .endings = mask },
};
#define PEDESTRIAN "pedestrian" /* the only class of PennFudan */

static const char voc_classes[] = "aeroplane,bicycle,bird,boat,bottle,bus,car,cat,chair,cow,diningtable,dog,horse,"
                                  "motorbike,person,pottedplant,sheep,"
                                  "sofa,train,tvmonitor";

static gboolean
has_coco (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  return *loom_option_string (klass, options, "annotations") != '\0';
}

/* The names of the categories of a file of COCO's. Every edit of a graph asks for them, and a file can have hundreds of
 * megabytes, so those of the last file are kept until it changes. (transfer full) */
static char **
read_categories (const char *path, GError **error)
{
  static GMutex lock;
  static char *last, **kept;
  g_autofree char *stamp = loom_file_stamp (path);
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);
  char **names = NULL;

  if (stamp != NULL && g_strcmp0 (stamp, last) == 0)
    return g_strdupv (kept);
  g_autoptr (GPtrArray) pictures = boxes_read_coco (path, &names, error);
  if (pictures == NULL)
    {
      g_strfreev (names);
      return NULL;
    }
  g_free (last);
  g_strfreev (kept);
  last = g_steal_pointer (&stamp);
  kept = g_strdupv (names);
  return names;
}

/* The names of the classes. (transfer full) */
static char **
read_classes (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const char *text = loom_option_string (klass, options, "classes");
  g_autofree char *path = loom_option_path (klass, options, "annotations"), *base = NULL;
  g_autofree char *folder = loom_option_path (klass, options, "path");
  g_auto (GStrv) names = NULL;

  if (*text == '\0' && has_coco (klass, options))
    return read_categories (path, error);
  if (*text == '\0')
    text = loom_companions_layout (folder, layouts, G_N_ELEMENTS (layouts), &base) == &layouts[PENN] ? PEDESTRIAN
                                                                                                     : voc_classes;
  names = g_strsplit (text, ",", -1);
  for (guint i = 0; names[i] != NULL; i++)
    g_strstrip (names[i]);
  return g_steal_pointer (&names);
}

static gboolean
describe_boxes (const LoomDatasetClass *klass, const LoomDatasetOptions *options, guint n_classes,
                LoomDatasetInfo *info, LoomBoxes *boxes, GError **error)
{
  const gint64 size = loom_option_int (klass, options, "size");
  const gint64 dims[] = { g_str_equal (loom_option_string (klass, options, "color"), "rgb") ? 3 : 1, size, size };

  boxes->most = loom_option_int (klass, options, "max_boxes");
  boxes->n_classes = n_classes;
  boxes->stride = loom_option_int (klass, options, "stride");
  loom_info_add_port (info, "x", LOOM_F32, 3, dims);
  info->n_classes = n_classes;
  return loom_boxes_describe (boxes, klass, dims, info, error);
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_auto (GStrv) names = read_classes (klass, options, error);
  LoomBoxes boxes;

  for (guint s = 0; s < LOOM_N_SPLITS; s++)
    info->n[s] = -1;
  return names != NULL && describe_boxes (klass, options, g_strv_length (names), info, &boxes, error);
}

/* ---- files ------------------------------------------------------------------------- */

static int
class_of (const LoomDataset *base, const char *name)
{
  for (int k = 0; base->class_names[k] != NULL; k++)
    if (g_str_equal (base->class_names[k], name))
      return k;
  return -1;
}

static void
append_boxes (GArray *boxes, const LoomDataset *base, const GArray *objects, BoxesKind kind)
{
  for (guint i = 0; i < objects->len; i++)
    {
      const BoxesObject *o = &g_array_index (objects, BoxesObject, i);
      const int k = class_of (base, o->name);
      const float row[] = { (float)(kind == BOXES_CROWD       ? LOOM_BOX_CROWD (k)
                                    : kind == BOXES_DIFFICULT ? LOOM_BOX_DIFFICULT (k)
                                                              : k),
                            (float)o->x1, (float)o->y1, (float)o->x2, (float)o->y2 };

      if (k >= 0 && o->kind == kind)
        g_array_append_vals (boxes, row, LOOM_BOX_NUMBERS);
    }
}

/* Adds a picture with its boxes of the classes, then crowds and difficult objects. */
static gboolean
add_picture (LoomPictures *self, const char *path, const GArray *objects, GError **error)
{
  const LoomDataset *base = loom_pictures_dataset (self);
  g_autoptr (GArray) boxes = g_array_new (FALSE, FALSE, sizeof (float));

  for (BoxesKind kind = 0; kind < BOXES_N_KINDS; kind++)
    append_boxes (boxes, base, objects, kind);
  if (boxes->len / LOOM_BOX_NUMBERS > base->boxes->most)
    {
      loom_refuse (error, LOOM_ERROR_DATA,
                   "“%s” has %u boxes; set max_boxes to that number, as crowds and difficult objects count, too.", path,
                   boxes->len / LOOM_BOX_NUMBERS);
      return FALSE;
    }
  loom_pictures_add (self, path, path, 0, -1, 0);
  loom_pictures_add_boxes (self, (const float *)(void *)boxes->data, boxes->len / LOOM_BOX_NUMBERS);
  return TRUE;
}

static gboolean
add_coco (LoomPictures *self, const char *folder, const char *annotations, GError **error)
{
  g_autoptr (GPtrArray) pictures = boxes_read_coco (annotations, NULL, error);

  for (guint i = 0; pictures != NULL && i < pictures->len; i++)
    {
      const BoxesPicture *picture = pictures->pdata[i];
      g_autofree char *path = g_build_filename (folder, picture->file, NULL);

      if (!loom_dataset_check_file (path, NULL, error) || !add_picture (self, path, picture->objects, error))
        return FALSE;
    }
  return pictures != NULL;
}

static gboolean
open_coco (LoomPictures *self, const LoomDatasetOptions *options, GError **error)
{
  const LoomDatasetClass *klass = loom_pictures_dataset (self)->klass;
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *annotations = loom_option_path (klass, options, "annotations");
  g_autofree char *test_path = loom_option_path (klass, options, "test_path");
  g_autofree char *test_annotations = loom_option_path (klass, options, "test_annotations");
  guint n_dealt;

  if (!add_coco (self, path, annotations, error))
    return FALSE;
  n_dealt = loom_pictures_count (self);
  if (test_annotations != NULL && !add_coco (self, test_path != NULL ? test_path : path, test_annotations, error))
    return FALSE;
  return loom_pictures_finish (self, options, n_dealt, test_annotations != NULL, error);
}

static gboolean
open_folder (LoomPictures *self, const LoomDatasetOptions *options, GError **error)
{
  const LoomDatasetClass *klass = loom_pictures_dataset (self)->klass;
  g_autofree char *path = loom_option_path (klass, options, "path"), *base = NULL;
  const LoomCompanionLayout *layout = loom_companions_layout (path, layouts, G_N_ELEMENTS (layouts), &base);
  g_autoptr (LoomCompanions) files = NULL;

  if (layout == NULL)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” has no folders JPEGImages and Annotations, nor PNGImages and PedMasks; for COCO's files "
                        "set annotations.",
                        path);
  files = loom_companions_new (base, layout, error);
  for (guint i = 0; files != NULL && i < files->pictures->len; i++)
    {
      const char *file = files->files->pdata[i];
      g_autoptr (GArray) objects
          = layout == &layouts[PENN] ? boxes_read_mask (file, PEDESTRIAN, error) : boxes_read_voc (file, error);

      if (objects == NULL || !add_picture (self, files->pictures->pdata[i], objects, error))
        return FALSE;
    }
  return files != NULL && loom_companions_finish (files, self, options, error);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  LoomPictures *self = loom_pictures_new (klass, options);
  g_autoptr (LoomDataset) owned = loom_pictures_dataset (self);

  owned->class_names = read_classes (klass, options, error);
  owned->info = (LoomDatasetInfo){ 0 };
  owned->boxes = g_new0 (LoomBoxes, 1);
  if (owned->class_names == NULL
      || !describe_boxes (klass, options, g_strv_length (owned->class_names), &owned->info, owned->boxes, error)
      || !(has_coco (klass, options) ? open_coco : open_folder) (self, options, error))
    return NULL;
  return g_steal_pointer (&owned);
}

static gboolean
is_read (const char *file)
{
  return loom_dataset_is_picture_name (file) || g_str_has_suffix (file, ".txt") || g_str_has_suffix (file, ".xml");
}

static const char *const folders[] = { "path", "test_path", NULL };

const LoomDatasetClass loom_dataset_boxes = {
  .name = "boxes",
  .title = "Pictures with boxes",
  .doc = "Pictures from files, with boxes of objects in COCO's or PASCAL VOC's files, or around masks, for detection.",
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
