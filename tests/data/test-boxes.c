/* Boxes of objects: COCO's and PASCAL VOC's files, boxes that move with their pictures, and the maps that are drawn. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-boxes.h"
#include "engine/data/loom-picture.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#define SIDE 32

static char *folder;

static void
write_file (const char *name, const char *text, gssize n)
{
  g_autofree char *path = g_build_filename (folder, name, NULL), *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, text, n, NULL));
}

/* A black picture of 64 × 32. */
static void
write_picture (const char *name)
{
  g_autoptr (GString) text = g_string_new ("P5\n64 32\n255\n");
  const gsize head = text->len;

  g_string_set_size (text, head + 64 * 32);
  memset (text->str + head, 0, 64 * 32);
  write_file (name, text->str, (gssize)text->len);
}

static LoomDataset *
open_source (const char *source, const char *const *strv, GError **error)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };

  return loom_dataset_open (source, &o, error);
}

static GPtrArray *
read_first (const LoomDataset *dataset, LoomSplit split)
{
  const gint64 index = 0;
  g_autoptr (GError) error = NULL;
  GPtrArray *read = loom_dataset_read_new (dataset, split, &index, 1, &error);

  g_assert_no_error (error);
  return read;
}

static void
assert_row (const LoomTensor *y, gint64 row, double klass, double x1, double y1, double x2, double y2)
{
  const double wanted[] = { klass, x1, y1, x2, y2 };

  for (int k = 0; k < 5; k++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (y, row * 5 + k), wanted[k], 1e-4);
}

static const char coco[] = "{\"images\":[{\"id\":7,\"file_name\":\"a.pgm\",\"width\":64,\"height\":32}],"
                           "\"categories\":[{\"id\":90,\"name\":\"cat\"},{\"id\":3,\"name\":\"dog\"}],"
                           "\"annotations\":[{\"image_id\":7,\"category_id\":90,\"bbox\":[20,8,16,8],\"iscrowd\":0},"
                           "{\"image_id\":7,\"category_id\":3,\"bbox\":[0,0,64,32],\"iscrowd\":1},"
                           "{\"image_id\":7,\"category_id\":3,\"bbox\":[30,0,40,16.5]}]}";

/* 64 × 32 becomes 32 × 32: cut to the middle, padded, or stretched. */
static void
test_coco (void)
{
  static const char *const fits[] = { "crop", "pad", "stretch" };
  static const double cat[][4] = { { 4, 8, 20, 16 }, { 10, 12, 18, 16 }, { 10, 8, 18, 16 } };

  write_picture ("coco/a.pgm");
  write_file ("coco/boxes.json", coco, -1);
  for (guint i = 0; i < G_N_ELEMENTS (fits); i++)
    {
      const char *const strv[] = { "path",  "coco",      "annotations", "coco/boxes.json", "size", "32", "fit",
                                   fits[i], "max_boxes", "4",           "color",           "grey", NULL };
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomDataset) dataset = open_source ("boxes", strv, &error);

      g_assert_no_error (error);
      g_assert_true (loom_dataset_has_boxes (dataset));
      /* Classes have the order of their numbers. */
      g_assert_cmpstr (loom_dataset_class_names (dataset)[0], ==, "dog");
      g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 2);
      g_autoptr (GPtrArray) read = read_first (dataset, LOOM_SPLIT_TRAIN);
      const LoomTensor *y = read->pdata[1];
      assert_row (y, 0, 1, cat[i][0], cat[i][1], cat[i][2], cat[i][3]);
      g_assert_cmpfloat (loom_tensor_get (y, 5), ==, 0);
      if (i == 0) /* 30 to 70 is cut at the right edge, 32 */
        assert_row (y, 1, 0, 14, 0, 32, 16.5);
      if (i == 0)
        assert_row (y, 2, LOOM_BOX_CROWD (0), 0, 0, 32, 32);
      /* The tensors of an earlier batch are used again. */
      const gint64 index = 0;
      memset (y->data, 0x40, (gsize)y->count * sizeof (float));
      g_assert_true (
          loom_dataset_read (dataset, LOOM_SPLIT_TRAIN, &index, 1, (LoomTensor **)(void *)read->pdata, NULL));
      assert_row (y, 3, -1, 0, 0, 0, 0);
    }
}

/* A box around each number of PennFudan's masks; a pedestrian may be in several parts. */
static void
test_masks (void)
{
  static const char *const strv[] = { "path", "penn", "size", "32", "fit", "stretch", NULL };
  guint8 values[64 * 32] = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (LoomDataset) dataset = NULL;
  g_autoptr (GPtrArray) read = NULL;

  for (int y = 4; y < 20; y++)
    for (int x = 10; x < 30; x++)
      values[y * 64 + x] = 1;
  values[31 * 64 + 63] = 2;
  values[24 * 64 + 40] = 2;
  bytes = loom_picture_write_mask (values, 32, 64, &error);
  g_assert_no_error (error);
  write_picture ("penn/PNGImages/a.pgm");
  write_file ("penn/PedMasks/a_mask.png", g_bytes_get_data (bytes, NULL), (gssize)g_bytes_get_size (bytes));
  dataset = open_source ("boxes", strv, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[0], ==, "pedestrian");
  read = read_first (dataset, LOOM_SPLIT_TRAIN);
  assert_row (read->pdata[1], 0, 0, 5, 4, 15, 20);
  assert_row (read->pdata[1], 1, 0, 20, 24, 32, 32);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 2 * 5), ==, LOOM_BOX_NONE);
}

static void
test_voc (void)
{
  static const char *const strv[] = { "path", "voc", "size", "32", "fit", "stretch", "classes", "person,cat", NULL };
  static const char file[]
      = "<annotation><size><width>64</width></size>"
        "<object><name>person</name><difficult>0</difficult>"
        "<bndbox><xmin>21</xmin><ymin>9</ymin><xmax>36</xmax><ymax>16</ymax></bndbox>"
        "<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part></"
        "object>"
        "<object><name>cat</name><difficult>1</difficult>"
        "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>"
        "<object><name>tree</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>"
        "</annotation>";
  g_autoptr (GError) error = NULL;

  write_picture ("voc/JPEGImages/a.pgm");
  write_file ("voc/Annotations/a.xml", file, -1);
  write_file ("voc/ImageSets/Main/train.txt", "a\n", -1);
  g_autoptr (LoomDataset) dataset = open_source ("boxes", strv, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) read = read_first (dataset, LOOM_SPLIT_TRAIN);
  assert_row (read->pdata[1], 0, 0, 10, 8, 18, 16);
  assert_row (read->pdata[1], 1, LOOM_BOX_DIFFICULT (1), 0, 0, 4.5, 9);
  g_assert_cmpfloat (loom_tensor_get (read->pdata[1], 10), ==, -1);
}

static void
test_refused (void)
{
  static const struct
  {
    const char *json, *message;
  } cases[] = {
    { "{\"images\":[]}", "*is not a file of COCO's: it lacks images, annotations or categories*" },
    { "{\"images\":[{\"id\":1,\"file_name\":\"../a.pgm\"}],\"annotations\":[],\"categories\":[]}",
      "*entry 1 of “images” names a file outside of its folder*" },
    { "{\"images\":[{\"id\":1,\"file_name\":\"a.pgm\"}],\"annotations\":[{\"image_id\":1,\"category_id\":2,"
      "\"bbox\":[1,2,3]}],\"categories\":[]}",
      "*entry 1 of “annotations” has no image_id, category_id or bbox of four numbers*" },
    { "{\"images\":[{\"id\":1,\"file_name\":\"a.pgm\"}],\"annotations\":[{\"image_id\":2,\"category_id\":2,"
      "\"bbox\":[1,2,3,4]}],\"categories\":[]}",
      "*names an image or a category that the file does not have*" },
    { "{\"images\":[{\"id\":1,\"file_name\":\"a.pgm\"}],\"annotations\":[{\"image_id\":1,\"category_id\":2,"
      "\"bbox\":[null,2,3,4]}],\"categories\":[]}",
      "*entry 1 of “annotations” has no image_id, category_id or bbox of four numbers*" },
    { "{\"images\":[{\"id\":1,\"file_name\":\"a.pgm\"}],\"annotations\":[{\"image_id\":1,\"category_id\":2,"
      "\"bbox\":[1,\"a\",3,4]}],\"categories\":[]}",
      "*entry 1 of “annotations” has no image_id, category_id or bbox of four numbers*" },
    { "[", "*is not a file of COCO's*" },
  };
  static const char *const strv[] = { "path", "coco", "annotations", "bad.json", "size", "32", NULL };
  static const char *const odd[] = { "path", "coco", "annotations", "coco/boxes.json", "size", "30", NULL };
  static const char *const few[]
      = { "path", "coco", "annotations", "coco/boxes.json", "size", "32", "max_boxes", "1", NULL };
  g_autoptr (GError) of_size = NULL, of_number = NULL;

  write_picture ("coco/a.pgm");
  write_file ("coco/boxes.json", coco, -1);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      write_file ("bad.json", cases[i].json, -1);
      g_assert_null (open_source ("boxes", strv, &error));
      if (!g_pattern_match_simple (cases[i].message, error->message))
        g_error ("%s", error->message);
    }
  g_assert_null (open_source ("boxes", odd, &of_size));
  g_assert_nonnull (strstr (of_size->message, "a multiple of stride"));
  g_assert_null (open_source ("boxes", few, &of_number));
  g_assert_nonnull (strstr (of_number->message, "has 3 boxes; set max_boxes"));
}

static void
make_huge (const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  /* A hole, which takes no space on the disk. */
  g_assert_no_errno (truncate (path, G_GINT64_CONSTANT (1) << 40));
}

/* Files that would fill the stack or the memory. */
static void
test_large_files (void)
{
  static const char *const json[] = { "path", ".", "annotations", "large.json", "size", "32", NULL };
  static const char *const xml[] = { "path", "large", "size", "32", NULL };
  g_autoptr (GString) deep = g_string_new ("{\"images\":");
  g_autoptr (GError) of_depth = NULL, of_json = NULL, of_xml = NULL;

  for (int i = 0; i < 1000000; i++)
    g_string_append_c (deep, '[');
  write_file ("large.json", deep->str, -1);
  g_assert_null (open_source ("boxes", json, &of_depth));
  g_assert_nonnull (strstr (of_depth->message, "is nested too deeply"));
  make_huge ("large.json");
  g_assert_null (open_source ("boxes", json, &of_json));
  g_assert_nonnull (strstr (of_json->message, "of memory, but"));
  write_picture ("large/JPEGImages/a.pgm");
  write_file ("large/Annotations/a.xml", "", -1);
  make_huge ("large/Annotations/a.xml");
  g_assert_null (open_source ("boxes", xml, &of_xml));
  g_assert_nonnull (strstr (of_xml->message, "of memory, but"));
}

/* A file that has not changed since it was described is not read for another description. */
static void
test_described_once (void)
{
  static const char *const strv[] = { "path", ".", "annotations", "kept.json", "size", "32", NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };
  g_autofree char *path = g_build_filename (folder, "kept.json", NULL);
  struct utimbuf old = { 1000000000, 1000000000 };
  g_autoptr (GError) error = NULL;
  LoomDatasetInfo info;

  write_file ("kept.json", coco, -1);
  g_assert_no_errno (g_utime (path, &old));
  g_assert_true (loom_dataset_describe ("boxes", &o, &info, &error));
  /* The same file, with what it has always had, as far as its state says. */
  FILE *stream = g_fopen (path, "r+be");
  g_assert_cmpint (fputc ('x', stream), ==, 'x');
  fclose (stream);
  g_assert_no_errno (g_utime (path, &old));
  info.n_classes = 0;
  g_assert_true (loom_dataset_describe ("boxes", &o, &info, &error));
  g_assert_cmpint (info.n_classes, ==, 2);
  old.modtime++;
  g_assert_no_errno (g_utime (path, &old));
  g_assert_false (loom_dataset_describe ("boxes", &o, &info, &error));
}

/* Boxes that are moved out of the picture leave rows of zeros. */
static void
test_moved_out (void)
{
  static const char *const strv[]
      = { "target_type", "boxes", "size", "32", "n", "32", "shapes", "4", "crop", "16", "seed", "2", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = open_source ("shapes", strv, &error);
  gint64 index[32];

  g_assert_no_error (error);
  for (int i = 0; i < 32; i++)
    index[i] = i;
  g_autoptr (GPtrArray) read = loom_dataset_read_new_augmented (dataset, 0, 3, 1, index, 32, &error);
  g_assert_no_error (error);
  for (int row = 0; row < 32 * 4; row++)
    if (loom_tensor_get (read->pdata[1], row * 5) < 0)
      assert_row (read->pdata[1], row, -1, 0, 0, 0, 0);
}

/* Around each box that was moved with its picture are the coloured pixels, and only there. */
static void
test_augmented (void)
{
  static const char *const ways[][2] = { { "flip", "1" }, { "crop", "5" }, { "zoom", "0.3" } };

  for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
    {
      const char *const strv[]
          = { "target_type", "boxes", "size", "32", "n", "8", "shapes", "1", ways[w][0], ways[w][1], NULL };
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomDataset) dataset = open_source ("shapes", strv, &error);
      const gint64 index[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
      int moved = 0;

      g_assert_no_error (error);
      g_autoptr (GPtrArray) read = loom_dataset_read_new_augmented (dataset, 0, 3, 1, index, 8, &error);
      g_autoptr (GPtrArray) still = loom_dataset_read_new (dataset, 0, index, 8, &error);
      g_assert_no_error (error);
      for (int i = 0; i < 8; i++)
        {
          double box[4] = { SIDE, SIDE, 0, 0 };

          for (int k = 0; k < 3 * SIDE * SIDE; k++)
            if (loom_tensor_get (read->pdata[0], i * 3 * SIDE * SIDE + k) > 0.4)
              {
                const int x = k % SIDE, y = k / SIDE % SIDE;

                box[0] = MIN (box[0], x);
                box[1] = MIN (box[1], y);
                box[2] = MAX (box[2], x + 1);
                box[3] = MAX (box[3], y + 1);
              }
          for (int k = 0; k < 4; k++)
            {
              const double at = loom_tensor_get (read->pdata[1], i * 5 + 1 + k);

              g_assert_cmpfloat (fabs (at - box[k]), <=, 1.6);
              moved += fabs (at - loom_tensor_get (still->pdata[1], i * 5 + 1 + k)) > 0.5;
            }
        }
      g_assert_cmpint (moved, >, 8);
    }
}

/* The peak of the heat map, and the numbers of the box at it, lead back to the box. */
static void
test_maps (void)
{
  static const char *const strv[] = { "target_type", "boxes", "size", "32", "n", "4", "shapes", "3", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = open_source ("shapes", strv, &error);

  g_assert_no_error (error);
  for (gint64 i = 0; i < 4; i++)
    {
      g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, 0, &i, 1, &error);
      const LoomTensor *y = read->pdata[1], *heat = read->pdata[2], *size = read->pdata[3];
      int objects = 0, peaks = 0;

      g_assert_cmpint (heat->dim[1], ==, 3);
      g_assert_cmpint (heat->dim[2], ==, 8);
      for (int b = 0; b < 3; b++)
        {
          const double klass = loom_tensor_get (y, b * 5), x1 = loom_tensor_get (y, b * 5 + 1),
                       y1 = loom_tensor_get (y, b * 5 + 2), x2 = loom_tensor_get (y, b * 5 + 3),
                       y2 = loom_tensor_get (y, b * 5 + 4);
          const int cell = (int)((y1 + y2) / 8) * 8 + (int)((x1 + x2) / 8);

          if (klass < 0)
            continue;
          objects++;
          g_assert_cmpfloat (loom_tensor_get (heat, (gint64)klass * 64 + cell), ==, 1);
          g_assert_cmpfloat (loom_tensor_get (size, 4 * 64 + cell), ==, 1);
        }
      for (int k = 0; k < 3 * 64; k++)
        {
          g_assert_cmpfloat (loom_tensor_get (heat, k), <=, 1);
          peaks += loom_tensor_get (heat, k) == 1;
        }
      g_assert_cmpint (objects, >, 0);
      g_assert_cmpint (peaks, <=, objects);
      if (objects == 1)
        {
          int cell = 0;
          while (loom_tensor_get (size, 4 * 64 + cell) == 0)
            cell++;
          g_assert_cmpfloat_with_epsilon (
              4 * (cell % 8 + loom_tensor_get (size, cell) - loom_tensor_get (size, 128 + cell) / 2),
              loom_tensor_get (y, 1), 1e-4);
        }
    }
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradloom-boxes-XXXXXX", NULL);
  g_test_add_func ("/boxes/coco", test_coco);
  g_test_add_func ("/boxes/voc", test_voc);
  g_test_add_func ("/boxes/masks", test_masks);
  g_test_add_func ("/boxes/refused", test_refused);
  g_test_add_func ("/boxes/large-files", test_large_files);
  g_test_add_func ("/boxes/described-once", test_described_once);
  g_test_add_func ("/boxes/moved-out", test_moved_out);
  g_test_add_func ("/boxes/augmented", test_augmented);
  g_test_add_func ("/boxes/maps", test_maps);
  status = g_test_run ();
  remove_tree (folder);
  g_free (folder);
  return status;
}
