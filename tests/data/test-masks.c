/* Pictures with masks: the folders that torchvision documents, the values of masks, and augmentation that moves both.
 */
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "engine/data/loom-picture.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#define SIDE    8
#define IGNORED (-100)

static char *folder;

static void
write_bytes (const char *name, GBytes *bytes)
{
  g_autofree char *path = g_build_filename (folder, name, NULL), *parent = g_path_get_dirname (path);
  gsize n;
  gconstpointer data = g_bytes_get_data (bytes, &n);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, data, (gssize)n, NULL));
}

static void
write_text (const char *name, const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));

  write_bytes (name, bytes);
}

/* A grey picture as a file of PNM: the pixel in column x and row y is 10 · (8 y + x) mod 250. */
static void
write_picture (const char *name)
{
  g_autoptr (GString) text = g_string_new ("P5\n8 8\n255\n");

  for (int i = 0; i < SIDE * SIDE; i++)
    g_string_append_c (text, (char)(10 * i % 250));
  g_autoptr (GBytes) bytes = g_bytes_new (text->str, text->len);
  write_bytes (name, bytes);
}

/* The value of a pixel is that of the picture, of `values`, by column and row. */
static void
write_mask (const char *name, const guint8 *values)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = loom_picture_write_mask (values, SIDE, SIDE, &error);

  g_assert_no_error (error);
  write_bytes (name, bytes);
}

static LoomDataset *
open_masks (const char *const *strv, GError **error)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };

  return loom_dataset_open ("masks", &o, error);
}

static LoomDataset *
open_good (const char *const *strv)
{
  g_autoptr (GError) error = NULL;
  LoomDataset *dataset = open_masks (strv, &error);

  g_assert_no_error (error);
  return dataset;
}

static void
assert_refused (const char *const *strv, const char *pattern)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = open_masks (strv, &error);
  const gint64 index = 0;
  g_autoptr (GPtrArray) read = dataset != NULL ? loom_dataset_read_new (dataset, 0, &index, 1, &error) : NULL;

  g_assert_null (read);
  g_assert_nonnull (error);
  if (!g_pattern_match_simple (pattern, error->message))
    g_error ("%s", error->message);
}

static GPtrArray *
read_one (const LoomDataset *dataset, LoomSplit split)
{
  const gint64 index = 0;
  g_autoptr (GError) error = NULL;
  GPtrArray *read = loom_dataset_read_new (dataset, split, &index, 1, &error);

  g_assert_no_error (error);
  return read;
}

static void
fill (guint8 *values, guint8 a, guint8 b)
{
  for (int i = 0; i < SIDE * SIDE; i++)
    values[i] = i % SIDE < SIDE / 2 ? a : b;
}

static void
test_voc (void)
{
  static const char *const strv[] = { "path", "voc", "size", "8", "color", "grey", NULL };
  static const char *const below[] = { "/VOCdevkit", "/VOCdevkit/VOC2012" };
  guint8 values[SIDE * SIDE];
  g_autoptr (LoomDataset) dataset = NULL;
  g_autoptr (GPtrArray) read = NULL;

  fill (values, 0, 20);
  values[0] = 255;
  write_picture ("voc/VOCdevkit/VOC2012/JPEGImages/a.pgm");
  write_mask ("voc/VOCdevkit/VOC2012/SegmentationClass/a.png", values);
  write_picture ("voc/VOCdevkit/VOC2012/JPEGImages/b.pgm");
  write_mask ("voc/VOCdevkit/VOC2012/SegmentationClass/b.png", values);
  write_picture ("voc/VOCdevkit/VOC2012/JPEGImages/unlisted.pgm");
  write_text ("voc/VOCdevkit/VOC2012/ImageSets/Segmentation/train.txt", "a\n");
  write_text ("voc/VOCdevkit/VOC2012/ImageSets/Segmentation/val.txt", "b\r\n");
  write_text ("voc/VOCdevkit/VOC2012/ImageSets/Segmentation/test.txt", "absent\n");
  /* The folder that has VOCdevkit, that folder, or the year's. */
  for (guint i = 0; i < G_N_ELEMENTS (below); i++)
    {
      g_autofree char *path = g_strconcat ("voc", below[i], NULL);
      const char *const other[] = { "path", path, "size", "8", "color", "grey", NULL };
      g_autoptr (LoomDataset) same = open_good (other);

      g_assert_cmpint (loom_dataset_count (same, LOOM_SPLIT_VAL), ==, 1);
    }
  dataset = open_good (strv);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 1);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_VAL), ==, 1);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 0);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 21);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[20], ==, "tvmonitor");
  read = read_one (dataset, LOOM_SPLIT_TRAIN);
  const LoomTensor *y = read->pdata[1];
  g_assert_cmpint (y->rank, ==, 3);
  g_assert_cmpfloat (loom_tensor_get (y, 0), ==, IGNORED);
  g_assert_cmpfloat (loom_tensor_get (y, 3), ==, 0);
  g_assert_cmpfloat (loom_tensor_get (y, 4), ==, 20);
  fill (values, 0, 21);
  write_mask ("voc/VOCdevkit/VOC2012/SegmentationClass/a.png", values);
  assert_refused (strv, "The mask *a.png* has the value 21, which is none of the 21 classes.*ignore=\"21\"*");
}

static void
test_pets (void)
{
  static const char *const strv[] = { "path", "pets", "size", "8", "ignore", "3", NULL };
  guint8 values[SIDE * SIDE];
  g_autoptr (LoomDataset) dataset = NULL;
  g_autoptr (GPtrArray) read = NULL;

  fill (values, 1, 2);
  values[1] = 3;
  write_picture ("pets/images/cat_1.pgm");
  write_mask ("pets/annotations/trimaps/cat_1.png", values);
  write_picture ("pets/images/dog_1.pgm");
  write_mask ("pets/annotations/trimaps/dog_1.png", values);
  write_text ("pets/annotations/trainval.txt", "#Image CLASS-ID SPECIES BREED ID\ncat_1 1 1 1\n");
  write_text ("pets/annotations/test.txt", "dog_1 2 2 1\n");
  dataset = open_good (strv);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 1);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 1);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[0], ==, "foreground");
  read = read_one (dataset, LOOM_SPLIT_TEST);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 0), ==, 0);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 1), ==, IGNORED);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 4), ==, 1);
}

/* Every pedestrian has a number of its own, and all are of one class. */
static void
test_penn (void)
{
  static const char *const strv[] = { "path", "penn", "size", "8", NULL };
  guint8 values[SIDE * SIDE];
  g_autoptr (LoomDataset) dataset = NULL;
  g_autoptr (GPtrArray) read = NULL;

  fill (values, 0, 7);
  values[1] = 1;
  write_picture ("penn/PNGImages/FudanPed00001.pgm");
  write_mask ("penn/PedMasks/FudanPed00001_mask.png", values);
  dataset = open_good (strv);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 2);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[1], ==, "pedestrian");
  read = read_one (dataset, LOOM_SPLIT_TRAIN);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 0), ==, 0);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 1), ==, 1);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 4), ==, 1);
}

/* Masks of one object have the values 0 and 255, and Carvana's names. */
static void
test_pairs (void)
{
  static const char *const strv[] = { "path", "pairs", "size", "4", NULL };
  static const char *const named[] = { "path", "pairs", "size", "8", "classes", "none, thing ,other", NULL };
  guint8 values[SIDE * SIDE];
  g_autoptr (LoomDataset) dataset = NULL, counted = NULL, with_names = NULL;
  g_autoptr (GPtrArray) read = NULL;

  fill (values, 0, 255);
  write_picture ("pairs/train/images/a.pgm");
  write_mask ("pairs/train/masks/a_mask.png", values);
  write_picture ("pairs/test/images/b.pgm");
  write_mask ("pairs/test/masks/b.png", values);
  dataset = open_good (strv);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 2);
  g_assert_nonnull (strstr (loom_dataset_note (dataset), "255 is class 1"));
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 1);
  read = read_one (dataset, LOOM_SPLIT_TRAIN);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 1), ==, 0);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 2), ==, 1);
  fill (values, 0, 6);
  write_mask ("pairs/test/masks/b.png", values);
  counted = open_good (strv);
  g_assert_cmpint (loom_dataset_info (counted)->n_classes, ==, 7);
  g_assert_null (loom_dataset_note (counted));
  fill (values, 0, 2);
  write_mask ("pairs/test/masks/b.png", values);
  with_names = open_good (named);
  g_assert_cmpstr (loom_dataset_class_names (with_names)[1], ==, "thing");
}

static void
test_refused (void)
{
  static const char *const bad[] = { "path", "bad", "size", "8", NULL };
  static const char *const empty[] = { "path", ".", "size", "8", NULL };
  static const char *const none[] = { "path", "bad", "size", "8", "classes", "255,,", NULL };
  static const char *const many[] = { "path", "bad", "size", "8", "classes", "300", NULL };
  guint8 small[4] = { 0, 1, 1, 0 };
  g_autoptr (GBytes) mask = loom_picture_write_mask (small, 2, 2, NULL);

  write_picture ("bad/images/a.pgm");
  write_text ("bad/masks/b.txt", "");
  assert_refused (bad, "The picture *a.pgm* has no file “a.png” in the folder “masks”.");
  write_bytes ("bad/masks/a.png", mask);
  assert_refused (bad, "The mask *a.png* has 2 × 2 pixels, but its picture *a.pgm* has 8 × 8.*");
  assert_refused (many, "A mask has from 1 to 255 classes, but “classes” has 300.");
  g_autoptr (GBytes) cut = g_bytes_new_from_bytes (mask, 0, g_bytes_get_size (mask) - 20);
  write_bytes ("bad/masks/a.png", cut);
  assert_refused (bad, "The mask *a.png* is truncated*");
  write_picture ("bad/masks/a.png");
  assert_refused (none, "The mask *a.png* is not a PNG*");
  assert_refused (empty, "* has no folders of pictures and masks*");
}

/* A palette, and values, come back; padding has no class. */
static void
test_frame (void)
{
  guint8 values[2 * 4] = { 1, 2, 3, 4, 5, 6, 7, 255 }, got[16];
  LoomPictureFrame frame;
  gint64 counts[256] = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = loom_picture_write_mask (values, 2, 4, &error);

  g_assert_no_error (error);
  g_assert_true (loom_picture_read_mask (bytes, "m", LOOM_FIT_PAD, 4, 4, got, &frame, counts, &error));
  for (int i = 0; i < 16; i++)
    g_assert_cmpint (got[i], ==, i < 4 || i >= 12 ? LOOM_MASK_OUTSIDE : values[i - 4]);
  g_assert_cmpint (counts[7], ==, 1);
  g_assert_cmpint (frame.to_y, ==, 1);
  g_assert_true (loom_picture_read_mask (bytes, "m", LOOM_FIT_CROP, 2, 2, got, &frame, NULL, &error));
  g_assert_cmpint (got[0], ==, 2);
  g_assert_cmpint (got[3], ==, 7);
  g_assert_true (loom_picture_read_mask (bytes, "m", LOOM_FIT_STRETCH, 1, 2, got, &frame, NULL, &error));
  /* PIL: Image.resize ((2, 1), NEAREST) takes columns 1 and 3 of row 1. */
  g_assert_cmpint (got[0], ==, 6);
  g_assert_cmpint (got[1], ==, 255);
  g_assert_cmphex (loom_picture_class_color (1), ==, 0x800000);
  g_assert_cmphex (loom_picture_class_color (15), ==, 0xc08080);
  g_assert_cmphex (loom_picture_class_color (255), ==, 0xe0e0c0);
}

/* The mask of a picture that is moved, mirrored and rotated stays that of its pixels. */
static void
test_augmented (void)
{
  static const char *const ways[][3]
      = { { "flip", "1" }, { "crop", "3" }, { "rotate", "90" }, { "zoom", "0.5" }, { "shear", "40" } };

  for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
    {
      const char *const strv[] = { "target_type", "mask",  "size", "32",       "n",        "8", "shapes",
                                   "1",           "noise", "0",    ways[w][0], ways[w][1], NULL };
      const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomDataset) dataset = loom_dataset_open ("shapes", &o, &error);
      const gint64 index[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
      const int area = 32 * 32;
      int wrong = 0, shape = 0, moved = 0;

      g_assert_no_error (error);
      g_autoptr (GPtrArray) read = loom_dataset_read_new_augmented (dataset, 0, 3, 1, index, 8, &error);
      g_autoptr (GPtrArray) still = loom_dataset_read_new (dataset, 0, index, 8, &error);
      g_assert_no_error (error);
      const float *x = ((LoomTensor *)read->pdata[0])->data;
      const gint64 *y = ((LoomTensor *)read->pdata[1])->data, *before = ((LoomTensor *)still->pdata[1])->data;
      for (int i = 0; i < 8 * area; i++)
        {
          const float *p = x + i / area * 3 * area + i % area;
          const float most = MAX (MAX (p[0], p[area]), p[2 * area]);

          if (y[i] != IGNORED)
            wrong += (most > 0.5f) != (y[i] > 0);
          shape += y[i] > 0;
          moved += y[i] != before[i];
        }
      g_assert_cmpint (moved, >, 100);
      g_assert_cmpint (shape, >, 200);
      /* Only pixels on edges, of interpolated colours, may differ. */
      g_assert_cmpint (wrong * 8, <, shape);
    }
}

/* Noise is clipped, so that files can be read in the range of the data set. */
static void
test_noise (void)
{
  static const char *const strv[] = { "target_type", "mask", "size", "32", "n", "4", "noise", "0.5", NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("shapes", &o, &error);

  g_assert_no_error (error);
  g_autoptr (GPtrArray) read = read_one (dataset, LOOM_SPLIT_TRAIN);
  for (int i = 0; i < 3 * 32 * 32; i++)
    {
      g_assert_cmpfloat (loom_tensor_get (read->pdata[0], i), >=, 0);
      g_assert_cmpfloat (loom_tensor_get (read->pdata[0], i), <=, 1);
    }
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradloom-masks-XXXXXX", NULL);
  g_test_add_func ("/masks/voc", test_voc);
  g_test_add_func ("/masks/pets", test_pets);
  g_test_add_func ("/masks/penn", test_penn);
  g_test_add_func ("/masks/pairs", test_pairs);
  g_test_add_func ("/masks/refused", test_refused);
  g_test_add_func ("/masks/frame", test_frame);
  g_test_add_func ("/masks/augmented", test_augmented);
  g_test_add_func ("/masks/noise", test_noise);
  status = g_test_run ();
  remove_tree (folder);
  g_free (folder);
  return status;
}
