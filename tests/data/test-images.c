/* Pictures from CIFAR's binary files and from folders; good ones and bad ones. */
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/core/loom-bytes.h"
#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "engine/data/loom-picture.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

static char *folder;

static void
write_file (const char *name, gconstpointer data, gsize length)
{
  g_autofree char *path = g_build_filename (folder, name, NULL), *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, data, (gssize)length, NULL));
}

static LoomDatasetOptions
options (const char *const *strv)
{
  return (LoomDatasetOptions){ .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };
}

static LoomDataset *
open_source (const char *source, const char *const *strv)
{
  const LoomDatasetOptions o = options (strv);
  g_autoptr (GError) error = NULL;
  LoomDataset *dataset = loom_dataset_open (source, &o, &error);

  g_assert_no_error (error);
  return dataset;
}

/* "@" in the message is the folder. */
static void
assert_refused (const char *source, const char *const *strv, const char *message)
{
  const LoomDatasetOptions o = options (strv);
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) parts = g_strsplit (message, "@", -1);
  g_autofree char *expected = g_strjoinv (folder, parts);
  g_autoptr (LoomDataset) dataset = loom_dataset_open (source, &o, &error);

  g_assert_null (dataset);
  g_assert_nonnull (error);
  g_assert_cmpstr (error->message, ==, expected);
}

static GPtrArray *
read_split (const LoomDataset *dataset, LoomSplit split)
{
  const gint64 n = loom_dataset_count (dataset, split);
  g_autofree gint64 *index = g_new (gint64, n);
  g_autoptr (GError) error = NULL;
  GPtrArray *read;

  for (gint64 i = 0; i < n; i++)
    index[i] = i;
  read = loom_dataset_read_new (dataset, split, index, (guint)n, &error);
  g_assert_no_error (error);
  return read;
}

/* ---- CIFAR ----------------------------------------------------------------- */

#define PIXELS 3072

/* n records whose labels are first, first + 1, …, after the format's number of header bytes; pixels count up. */
static void
write_records (const char *name, int n, int n_labels, int first)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  for (int i = 0; i < n; i++)
    {
      guint8 record[2 + PIXELS] = { (guint8)(first + i), (guint8)(first + i) };

      if (n_labels == 2)
        record[0] = (guint8)((first + i) / 5);
      for (int k = 0; k < PIXELS; k++)
        record[n_labels + k] = (guint8)(first + i + k * 7);
      g_byte_array_append (bytes, record, (guint)n_labels + PIXELS);
    }
  write_file (name, bytes->data, bytes->len);
}

static void
test_cifar (void)
{
  static const char *const strv[] = { "path", ".", "val_fraction", "0.2", NULL };
  static const char *const hundred[] = { "path", "cifar-100-binary", "classes", "100", NULL };
  static const char *const coarse[] = { "path", "cifar-100-binary", "classes", "100-coarse", NULL };
  g_autoptr (LoomDataset) ten = NULL, fine = NULL, groups = NULL;
  g_autoptr (GPtrArray) train = NULL, test = NULL, of_fine = NULL, of_groups = NULL;
  gboolean seen[10] = { FALSE };

  for (int i = 1; i <= 5; i++)
    {
      g_autofree char *name = g_strdup_printf ("cifar-10-batches-bin/data_batch_%d.bin", i);

      write_records (name, 2, 1, 2 * (i - 1));
    }
  write_records ("cifar-10-batches-bin/test_batch.bin", 3, 1, 7);
  write_file ("cifar-10-batches-bin/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n", 21);
  ten = open_source ("cifar", strv);
  g_assert_cmpint (loom_dataset_count (ten, LOOM_SPLIT_TRAIN), ==, 8);
  g_assert_cmpint (loom_dataset_count (ten, LOOM_SPLIT_VAL), ==, 2);
  g_assert_cmpstr (loom_dataset_class_names (ten)[9], ==, "j");
  train = read_split (ten, LOOM_SPLIT_TRAIN);
  test = read_split (ten, LOOM_SPLIT_TEST);
  for (int i = 0; i < 8; i++)
    {
      const gint64 label = ((const gint64 *)((LoomTensor *)train->pdata[1])->data)[i];

      g_assert_false (seen[label]);
      seen[label] = TRUE;
      for (int k = 0; k < PIXELS; k++)
        g_assert_cmpfloat (loom_tensor_get (train->pdata[0], i * PIXELS + k), ==,
                           (double)((float)(guint8)(label + k * 7) / 255.0f));
    }
  g_assert_cmpfloat (loom_tensor_get (test->pdata[1], 2), ==, 9);

  write_records ("cifar-100-binary/train.bin", 4, 2, 96);
  write_records ("cifar-100-binary/test.bin", 1, 2, 11);
  fine = open_source ("cifar", hundred);
  groups = open_source ("cifar", coarse);
  of_fine = read_split (fine, LOOM_SPLIT_TRAIN);
  of_groups = read_split (groups, LOOM_SPLIT_TEST);
  g_assert_cmpint (loom_dataset_info (fine)->n_classes, ==, 100);
  g_assert_null (loom_dataset_class_names (fine));
  g_assert_cmpfloat (loom_tensor_get (of_fine->pdata[1], 3), ==, 99);
  g_assert_cmpfloat (loom_tensor_get (of_fine->pdata[0], 0), ==, (double)(96 / 255.0f));
  g_assert_cmpfloat (loom_tensor_get (of_groups->pdata[1], 0), ==, 2);
}

static void
test_cifar_bad (void)
{
  static const char *const strv[] = { "path", "ten", NULL };
  static const char *const none[] = { "path", "nowhere", NULL };
  const LoomDatasetOptions o = options (none);
  LoomDatasetInfo info;

  g_assert_false (loom_dataset_describe ("cifar", &o, &info, NULL));
  g_assert_cmpuint (info.n_ports, ==, 2);
  assert_refused (
      "cifar", none,
      "CIFAR-10 was not found: neither “@/nowhere” nor its folder cifar-10-batches-bin contains data_batch_1.bin.");
  g_unsetenv ("GRADLOOM_DATA");
  assert_refused ("cifar", NULL,
                  "CIFAR-10 was not found: unpack its binary version and set path=\"FOLDER\", the folder that contains "
                  "data_batch_1.bin.");
  write_records ("ten/data_batch_1.bin", 2, 1, 0);
  assert_refused ("cifar", strv, "There is no file “@/ten/data_batch_2.bin”; a part of the data set is missing.");
  write_file ("ten/data_batch_1.bin", "too short", 9);
  assert_refused (
      "cifar", strv,
      "“@/ten/data_batch_1.bin” has 9 bytes, which is not a multiple of a record's 3073 bytes: it is not a file of "
      "CIFAR-10, or is truncated.");
  write_records ("ten/data_batch_1.bin", 2, 1, 9);
  assert_refused ("cifar", strv,
                  "“@/ten/data_batch_1.bin” has a picture of class 10, but CIFAR-10 has only 10 classes: it is a file "
                  "of another data set.");
}

/* ---- folders of pictures --------------------------------------------------- */

/* A BMP file, whose lines are stored from the bottom up, blue first, padded to four bytes. rgb has three bytes per
 * pixel. */
static void
write_bmp (const char *name, int width, int height, const guint8 *rgb)
{
  const int line = (3 * width + 3) / 4 * 4, length = 54 + line * height;
  g_autofree guint8 *bytes = g_malloc0 ((gsize)length);

  memcpy (bytes, "BM", 2);
  for (int i = 0; i < 4; i++)
    bytes[2 + i] = (guint8)(length >> 8 * i);
  bytes[10] = 54;
  bytes[14] = 40;
  bytes[18] = (guint8)width;
  bytes[22] = (guint8)height;
  bytes[26] = 1;
  bytes[28] = 24;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < 3; c++)
        bytes[54 + line * (height - 1 - y) + 3 * x + 2 - c] = rgb[3 * (y * width + x) + c];
  write_file (name, bytes, (gsize)length);
}

/* All pixels of one colour. */
static void
write_flat (const char *name, int width, int height, guint8 red, guint8 green, guint8 blue)
{
  guint8 rgb[3 * 64];

  for (int i = 0; i < width * height; i++)
    {
      rgb[3 * i] = red;
      rgb[3 * i + 1] = green;
      rgb[3 * i + 2] = blue;
    }
  write_bmp (name, width, height, rgb);
}

static void
test_folder (void)
{
  static const char *const strv[] = { "path", "train", "test_path", "test", "size", "2", NULL };
  static const char *const files[] = { "path", "train", "test_path", "test", "size", "2", "keep", "files", NULL };
  static const char *const grey[] = { "path", "train", "size", "2", "color", "grey", "test_fraction", "0.5", NULL };
  static const guint8 rgb[] = { 255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30 };
  g_autoptr (LoomDataset) kept = NULL, read = NULL, bright = NULL;
  g_autoptr (GPtrArray) a = NULL, b = NULL, test = NULL, of_grey = NULL;
  const LoomDatasetOptions o = options (strv);
  LoomDatasetInfo info;

  write_bmp ("train/apple/2.bmp", 2, 2, rgb);
  write_flat ("train/apple/1.bmp", 2, 2, 51, 102, 153);
  write_file ("train/apple/notes.txt", "no picture", 10);
  write_flat ("train/pear/x.BMP", 4, 2, 200, 200, 200);
  write_flat ("train/pear/y.bmp", 2, 6, 100, 0, 50);
  write_flat ("test/pear/z.bmp", 2, 2, 1, 2, 3);
  g_assert_true (loom_dataset_describe ("image-folder", &o, &info, NULL));
  g_assert_cmpint (info.n_classes, ==, 2);
  kept = open_source ("image-folder", strv);
  read = open_source ("image-folder", files);
  a = read_split (kept, LOOM_SPLIT_TRAIN);
  b = read_split (read, LOOM_SPLIT_TRAIN);
  g_autoptr (GPtrArray) again = read_split (kept, LOOM_SPLIT_TRAIN);
  const guint64 digest = loom_dataset_digest (kept);
  g_assert_cmpuint (digest, ==, loom_dataset_digest (read));
  write_flat ("test/pear/z.bmp", 2, 2, 1, 2, 4);
  g_assert_cmpuint (digest, !=, loom_dataset_digest (read));
  write_flat ("test/pear/z.bmp", 2, 2, 1, 2, 3);
  g_assert_true (loom_tensor_equal_bits (a->pdata[0], again->pdata[0]));
  g_assert_true (loom_tensor_equal_bits (a->pdata[0], b->pdata[0]));
  g_assert_true (loom_tensor_equal_bits (a->pdata[1], b->pdata[1]));
  g_assert_cmpstr (loom_dataset_class_names (kept)[1], ==, "pear");
  g_assert_cmpint (loom_dataset_count (kept, LOOM_SPLIT_TRAIN), ==, 4);
  /* In the order of names: apple/1, apple/2, pear/x, pear/y; x is (C, H, W). */
  for (int i = 0; i < 4; i++)
    g_assert_cmpfloat (loom_tensor_get (a->pdata[1], i), ==, i / 2);
  for (int c = 0; c < 3; c++)
    for (int k = 0; k < 4; k++)
      {
        g_assert_cmpfloat (loom_tensor_get (a->pdata[0], c * 4 + k), ==, (double)(51.0f * (float)(c + 1) / 255.0f));
        g_assert_cmpfloat (loom_tensor_get (a->pdata[0], 12 + c * 4 + k), ==, (double)((float)rgb[3 * k + c] / 255.0f));
        g_assert_cmpfloat (loom_tensor_get (a->pdata[0], 24 + c * 4 + k), ==, (double)(200 / 255.0f));
      }
  test = read_split (kept, LOOM_SPLIT_TEST);
  g_assert_cmpfloat (loom_tensor_get (test->pdata[1], 0), ==, 1);
  g_assert_cmpfloat (loom_tensor_get (test->pdata[0], 8), ==, (double)(3 / 255.0f));
  bright = open_source ("image-folder", grey);
  g_assert_cmpint (loom_dataset_count (bright, LOOM_SPLIT_TRAIN), ==, 2);
  g_assert_cmpint (loom_dataset_count (bright, LOOM_SPLIT_TEST), ==, 2);
  of_grey = read_split (bright, LOOM_SPLIT_TRAIN);
  g_assert_cmpint (((LoomTensor *)of_grey->pdata[0])->dim[1], ==, 1);
}

static void
test_folder_bad (void)
{
  static const char *const none[] = { "path", "absent", NULL };
  static const char *const flat[] = { "path", "bad/cat", NULL };
  static const char *const empty[] = { "path", "bad", NULL };
  static const char *const other[] = { "path", "good", "test_path", "bad", NULL };
  static const char *const files[] = { "path", "broken", "keep", "files", NULL };
  static const char *const memory[] = { "path", "broken", "keep", "memory", NULL };
  const gint64 first[] = { 0, 1 };

  write_file ("bad/cat/readme", "", 0);
  write_flat ("good/dog/1.bmp", 2, 2, 0, 0, 0);
  write_file ("broken/dog/1.png", "none", 4);
  write_file ("broken/dog/2.png", "neither", 7);
  assert_refused ("image-folder", none,
                  "There is no folder “@/absent”; it should contain a folder of pictures for each class.");
  assert_refused (
      "image-folder", flat,
      "“@/bad/cat” contains no folder; it should contain a folder of pictures for each class, or pictures with "
      "names such as cat.0.jpg and dog.0.jpg.");
  assert_refused ("image-folder", empty, "“@/bad/cat” contains no picture (.png and others).");
  assert_refused ("image-folder", other, "“@/bad” has a class “cat”, which “@/good” does not have.");
  /* Opening reads no picture; an invalid one is reported when it is read. */
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LoomDataset) dataset = open_source ("image-folder", i == 0 ? files : memory);
      g_autoptr (GError) error = NULL;
      g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, first, 2, &error);
      g_autofree char *expected = g_strdup_printf ("“%s/broken/dog/1.png” is not a readable picture", folder);

      g_assert_null (read);
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
      g_assert_true (g_str_has_prefix (error->message, expected));
    }
}

/* Pictures that are not readable are left out and counted, the same in memory and from files, and a class that has no
 * other is an error. */
static void
test_folder_skip (void)
{
  static const char *const files[]
      = { "path", "part", "size", "2", "broken", "skip", "keep", "files", "test_path", "part-test", NULL };
  static const char *const memory[]
      = { "path", "part", "size", "2", "broken", "skip", "keep", "memory", "test_path", "part-test", NULL };
  static const char *const whole[] = { "path", "part", "size", "2", "broken", "skip", "val_fraction", "0.5", NULL };
  static const char *const none[] = { "path", "broken", "broken", "skip", NULL };
  const gint64 both[] = { 0, 1, 2 }, first[] = { 0 };

  write_flat ("part/cat/1.bmp", 2, 2, 10, 10, 10);
  write_file ("part/cat/2.bmp", "none", 4);
  write_flat ("part/cat/3.bmp", 2, 2, 30, 30, 30);
  write_file ("part/dog/1.bmp", "none", 4);
  write_flat ("part/dog/2.bmp", 2, 2, 50, 50, 50);
  write_file ("part-test/cat/1.bmp", "none", 4);
  write_flat ("part-test/cat/2.bmp", 2, 2, 70, 70, 70);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LoomDataset) dataset = open_source ("image-folder", i == 0 ? files : memory);
      g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, both, 3, NULL);
      g_autoptr (GPtrArray) test = loom_dataset_read_new (dataset, LOOM_SPLIT_TEST, first, 1, NULL);
      g_autofree char *note = g_strdup_printf (
          "3 of 7 pictures are not readable and are left out; the first is “%s/part/cat/2.bmp”.", folder);
      const float *x = (const float *)((LoomTensor *)read->pdata[0])->data;
      const gint64 *y = (const gint64 *)((LoomTensor *)read->pdata[1])->data;

      g_assert_cmpstr (loom_dataset_note (dataset), ==, note);
      g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 3);
      g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 1);
      for (int k = 0; k < 3; k++)
        {
          g_assert_cmpfloat_with_epsilon (x[k * 12], (10 + 20 * k) / 255.0, 1e-6);
          g_assert_cmpint (y[k], ==, k == 2);
        }
      g_assert_cmpfloat_with_epsilon (((const float *)((LoomTensor *)test->pdata[0])->data)[0], 70 / 255.0, 1e-6);
    }
  g_autoptr (LoomDataset) halves = open_source ("image-folder", whole);
  g_assert_cmpint (loom_dataset_count (halves, LOOM_SPLIT_TRAIN) + loom_dataset_count (halves, LOOM_SPLIT_VAL), ==, 3);
  assert_refused ("image-folder", none, "The class “dog” has no readable picture.");
}

/* Folders below a class's folder are part of it, and a link that leads back is followed once. */
static void
test_nested (void)
{
  static const char *const strv[] = { "path", "nested", "size", "2", NULL };
  g_autofree char *link = g_build_filename (folder, "nested/cat/deep/back", NULL);
  g_autoptr (LoomDataset) dataset = NULL;
  g_autoptr (GPtrArray) read = NULL;

  write_flat ("nested/cat/1.bmp", 2, 2, 1, 1, 1);
  write_flat ("nested/cat/deep/2.bmp", 2, 2, 2, 2, 2);
  write_flat ("nested/cat/deep/er/3.bmp", 2, 2, 3, 3, 3);
  write_flat ("nested/dog/only/4.bmp", 2, 2, 4, 4, 4);
  g_assert_no_errno (symlink ("..", link));
  dataset = open_source ("image-folder", strv);
  g_assert_no_errno (g_unlink (link));
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 4);
  read = read_split (dataset, LOOM_SPLIT_TRAIN);
  for (int i = 0; i < 4; i++)
    {
      g_assert_cmpfloat (loom_tensor_get (read->pdata[1], i), ==, i == 3);
      g_assert_cmpfloat (loom_tensor_get (read->pdata[0], 12 * i), ==, (double)((float)(i + 1) / 255.0f));
    }
}

/* A folder of splits is no folder of two classes, unless these are named so. */
static void
test_splits (void)
{
  static const char *const strv[] = { "path", "splits", NULL };
  static const char *const vehicles[] = { "path", "vehicles", "size", "2", NULL };
  g_autoptr (LoomDataset) dataset = NULL;

  write_flat ("splits/train/cat/1.bmp", 2, 2, 1, 1, 1);
  write_flat ("splits/val/cat/1.bmp", 2, 2, 1, 1, 1);
  assert_refused ("image-folder", strv,
                  "The folders train and val in “@/splits” are splits, not classes: set path=\"…/train\" and "
                  "test_path=\"…/val\".");
  write_flat ("vehicles/train/1.bmp", 2, 2, 1, 1, 1);
  write_flat ("vehicles/test/1.bmp", 2, 2, 1, 1, 1);
  dataset = open_source ("image-folder", vehicles);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 2);
}

/* Names of files are classes in a folder without folders; a folder around it has one class, and a note says so. */
static void
test_named (void)
{
  static const char *const strv[] = { "path", "named/train", "test_path", "named-test", "size", "2", NULL };
  static const char *const mixed[] = { "named-many/cat-0.bmp", "named-many/cat-1.bmp",    "named-many/cat-2.bmp",
                                       "named-many/cat-3.bmp", "named-many/cat-big0.bmp", "named-many/cat.0.bmp" };
  static const char *const many[] = { "path", "named-many", "size", "2", NULL };
  static const char *const one[] = { "path", "named/train", "test_path", "named-one", "size", "2", NULL };
  static const char *const other[] = { "path", "named/train", "test_path", "named-other", "size", "2", NULL };
  static const char *const around[] = { "path", "named", "test_path", "named-all", "size", "2", NULL };
  static const char *const numbered[] = { "path", "numbered", "size", "2", NULL };
  static const char *const names[] = { "big dog", "cat" };
  g_autoptr (LoomDataset) dataset = NULL;
  g_autoptr (GPtrArray) read = NULL;

  write_flat ("named/train/cat.0.bmp", 2, 2, 1, 1, 1);
  write_flat ("named/train/cat.1.bmp", 2, 2, 2, 2, 2);
  write_flat ("named/train/cat.2.bmp", 2, 2, 2, 2, 2);
  write_flat ("named/train/cat.3.bmp", 2, 2, 2, 2, 2);
  write_flat ("named/train/big dog_10.bmp", 2, 2, 3, 3, 3);
  write_flat ("named-test/cat7.bmp", 2, 2, 4, 4, 4);
  write_flat ("named-test/big dog - 8.bmp", 2, 2, 5, 5, 5);
  dataset = open_source ("image-folder", strv);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 2);
  for (int i = 0; i < 2; i++)
    g_assert_cmpstr (loom_dataset_class_names (dataset)[i], ==, names[i]);
  g_assert_cmpint (loom_dataset_info (dataset)->n[LOOM_SPLIT_TRAIN], ==, 5);
  g_assert_cmpint (loom_dataset_info (dataset)->n[LOOM_SPLIT_TEST], ==, 2);
  read = read_split (dataset, LOOM_SPLIT_TEST);
  for (int i = 0; i < 2; i++)
    g_assert_cmpfloat (loom_tensor_get (read->pdata[1], i), ==, loom_tensor_get (read->pdata[0], 12 * i) < 4.5 / 255);
  /* In the order of names, pictures of one class come before and after those of another one. */
  for (guint i = 0; i < G_N_ELEMENTS (mixed); i++)
    write_flat (mixed[i], 2, 2, 1, 1, 1);
  g_autoptr (LoomDataset) cats_of_two = open_source ("image-folder", many);
  g_assert_cmpint (loom_dataset_info (cats_of_two)->n_classes, ==, 2);
  g_assert_cmpint (loom_dataset_info (cats_of_two)->n[LOOM_SPLIT_TRAIN], ==, 6);
  /* The pictures for tests may all be of one class, but of no other. */
  write_flat ("named-one/cat.7.bmp", 2, 2, 4, 4, 4);
  write_flat ("named-one/cat.8.bmp", 2, 2, 4, 4, 4);
  write_flat ("named-other/cow.1.bmp", 2, 2, 4, 4, 4);
  g_autoptr (LoomDataset) cats = open_source ("image-folder", one);
  g_autoptr (GPtrArray) of_cats = read_split (cats, LOOM_SPLIT_TEST);
  g_assert_cmpint (loom_dataset_info (cats)->n[LOOM_SPLIT_TEST], ==, 2);
  g_assert_cmpfloat (loom_tensor_get (of_cats->pdata[1], 1), ==, 1);
  assert_refused ("image-folder", other, "“@/named-other” has a class “cow”, which “@/named/train” does not have.");
  /* One folder may be all there is; names that are no classes may look like some. */
  write_flat ("named-all/train/a.0.bmp", 2, 2, 4, 4, 4);
  write_flat ("named-all/train/b.0.bmp", 2, 2, 4, 4, 4);
  g_autoptr (LoomDataset) only = open_source ("image-folder", around);
  g_autofree char *note = g_strdup_printf (
      "“%s/named” has one folder, “train”, so there is one class, but its pictures are named by classes (“big dog”, "
      "“cat”): path=\"…/train\" would read these.",
      folder);
  g_assert_cmpint (loom_dataset_info (only)->n_classes, ==, 1);
  g_assert_cmpstr (loom_dataset_note (only), ==, note);
  /* Numbers alone are no classes. */
  write_flat ("numbered/all/46651_2000.bmp", 2, 2, 1, 1, 1);
  write_flat ("numbered/all/46652_2000.bmp", 2, 2, 1, 1, 1);
  g_autoptr (LoomDataset) all = open_source ("image-folder", numbered);
  g_assert_cmpint (loom_dataset_info (all)->n_classes, ==, 1);
  g_assert_null (loom_dataset_note (all));
}

/* A picture of black, with a bit for each pixel. */
static GBytes *
black_picture (gint32 width, gint32 height)
{
  const gsize line = (gsize)(width + 31) / 32 * 4, length = 62 + line * (gsize)height;
  guint8 *bytes = g_malloc0 (length);
  const gint32 head[] = { (gint32)length, 0, 62, 40, width, height, 1 | 1 << 16 };

  memcpy (bytes, "BM", 2);
  memcpy (bytes + 2, head, sizeof head);
  return g_bytes_new_take (bytes, length);
}

static gpointer
read_black (gpointer bytes)
{
  const LoomPictureOptions options = { .fit = LOOM_FIT_STRETCH, .low = 0, .high = 1 };
  g_autofree char *note = NULL;
  g_autoptr (GError) error = NULL;
  float pixel = -1;
  double border;

  g_assert_true (loom_picture_read (bytes, "black", &options, 1, 1, 1, &pixel, NULL, &border, &note, &error));
  g_assert_no_error (error);
  g_assert_cmpfloat (pixel, ==, 0);
  return NULL;
}

/* Large pictures wait for each other, however many threads decode. One of these takes 156 MB. */
static void
test_large (void)
{
  g_autoptr (GBytes) bytes = black_picture (7200, 7200), bomb = black_picture (7200, 1);
  g_autofree char *note = NULL;
  g_autoptr (GError) error = NULL;
  const gsize before = loom_bytes_of_process (TRUE);
  const LoomPictureOptions options = { .fit = LOOM_FIT_STRETCH, .low = 0, .high = 1 };
  GThread *threads[4];
  float pixel;
  double border;
  gint32 height = 1000000;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("read", read_black, bytes);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
#ifndef __SANITIZE_ADDRESS__ /* which keeps freed memory for a while */
  g_assert_cmpuint (loom_bytes_of_process (TRUE) - before, <, 400000000);
#else
  (void)before;
#endif
  /* What it claims to be is refused before memory is taken. */
  memcpy ((guint8 *)g_bytes_get_data (bomb, NULL) + 22, &height, sizeof height);
  g_assert_false (loom_picture_read (bomb, "bomb", &options, 1, 1, 1, &pixel, NULL, &border, &note, &error));
  g_assert_cmpstr (error->message, ==, "“bomb” has 7200 × 1000000 pixels; the limit is 100 million. Make it smaller.");
}

/* In each format the orientation is applied (pictures/make.py), and each piece of the end that is missing is found. */
static void
test_formats (void)
{
  static const char *const names[]
      = { "turned.jpg", "progressive.jpg", "turned.png", "turned.webp", "turned.tiff", "tiles.tiff" };
  static const double corners[4][3] = { { 10, 10, 250 }, { 250, 10, 10 }, { 250, 250, 250 }, { 10, 250, 10 } };
  const LoomPictureOptions options = { .fit = LOOM_FIT_STRETCH, .low = 0, .high = 255 };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path
          = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "pictures", names[i], NULL),
          *content = NULL, *note = NULL;
      g_autoptr (GBytes) whole = NULL;
      g_autoptr (GError) error = NULL;
      float x[3 * 16 * 16];
      double border;
      gsize n;

      g_assert_true (g_file_get_contents (path, &content, &n, NULL));
      whole = g_bytes_new (content, n);
      loom_picture_read (whole, names[i], &options, 3, 16, 16, x, NULL, &border, &note, &error);
      g_assert_no_error (error);
      for (guint k = 0; k < 4; k++)
        for (guint c = 0; c < 3; c++)
          g_assert_cmpfloat_with_epsilon (x[c * 256 + (k / 2 ? 12 : 3) * 16 + (k % 2 ? 12 : 3)], corners[k][c], 6);
      for (gsize cut = 2; cut < n; cut += 7)
        {
          g_autoptr (GBytes) part = g_bytes_new (content, n - cut);
          g_autofree char *other = NULL;
          g_autoptr (GError) refused = NULL;

          g_assert_false (loom_picture_read (part, "cut", &options, 3, 16, 16, x, NULL, &border, &other, &refused));
          g_assert_true (g_str_has_prefix (refused->message, "“cut” "));
        }
    }
}

/* A reduced copy is no page; of two pages none is chosen, and infrared is neither colour nor transparency. */
static void
test_pages (void)
{
  static const struct
  {
    const char *name, *message; /* NULL: it is read */
  } files[] = { { "small.tiff", NULL },
                { "pages.tiff", "has several pages" },
                { "channels.tiff", "channels that are neither colours nor transparency" } };
  const LoomPictureOptions options = { .fit = LOOM_FIT_STRETCH, .low = 0, .high = 255 };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path
          = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "pictures", files[i].name, NULL),
          *content = NULL, *note = NULL;
      g_autoptr (GBytes) whole = NULL;
      g_autoptr (GError) error = NULL;
      float x[3 * 16 * 16];
      double border;
      gsize n;

      g_assert_true (g_file_get_contents (path, &content, &n, NULL));
      whole = g_bytes_new (content, n);
      g_assert_cmpint (loom_picture_read (whole, files[i].name, &options, 3, 16, 16, x, NULL, &border, &note, &error),
                       ==, files[i].message == NULL);
      if (files[i].message != NULL)
        g_assert_nonnull (strstr (error->message, files[i].message));
      else
        g_assert_cmpfloat_with_epsilon (x[0], 10, 1);
    }
}

/* The lines of a BMP begin with the lowest one. */
static void
test_truncated_bmp (void)
{
  const LoomPictureOptions options = { .fit = LOOM_FIT_STRETCH, .low = 0, .high = 255 };
  g_autoptr (GdkPixbuf) picture = gdk_pixbuf_new (GDK_COLORSPACE_RGB, FALSE, 8, 16, 16);
  g_autofree char *content = NULL, *note = NULL;
  float x[3 * 16 * 16];
  double border;
  gsize n;

  gdk_pixbuf_fill (picture, 0x102030ff);
  g_assert_true (gdk_pixbuf_save_to_buffer (picture, &content, &n, "bmp", NULL, NULL));
  for (gsize cut = 0; cut < 14; cut++)
    {
      g_autoptr (GBytes) part = g_bytes_new (content, n - 48 * cut);
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (loom_picture_read (part, "cut", &options, 3, 16, 16, x, NULL, &border, &note, &error), ==,
                       cut == 0);
      if (cut > 0)
        g_assert_nonnull (strstr (error->message, "truncated"));
    }
  /* The offset of the pixels, and the size of the header: 4 GB. */
  for (gsize at = 10; at <= 14; at += 4)
    {
      g_autofree char *damaged = g_memdup2 (content, n);
      g_autoptr (GBytes) bytes = NULL;
      g_autoptr (GError) error = NULL;

      memset (damaged + at, 0xff, 4);
      bytes = g_bytes_new (damaged, n);
      g_assert_false (loom_picture_read (bytes, "large", &options, 3, 16, 16, x, NULL, &border, &note, &error));
      g_assert_cmpstr (error->message, ==, "“large” is truncated: its header is longer than the file.");
    }
}

static gboolean
has_loader (const char *mime_type)
{
  g_autoptr (GSList) formats = gdk_pixbuf_get_formats ();
  gboolean has = FALSE;

  for (GSList *at = formats; at != NULL; at = at->next)
    {
      g_auto (GStrv) types = gdk_pixbuf_format_get_mime_types (at->data);

      has = has || g_strv_contains ((const char *const *)types, mime_type);
    }
  return has;
}

/* A format without its loader is named with its package; with it these bytes are a broken picture. */
static void
test_no_loader (void)
{
  const LoomPictureOptions options = { .fit = LOOM_FIT_STRETCH, .low = 0, .high = 1 };
  static const struct
  {
    const char *bytes, *package, *mime_type;
  } cases[] = { { "xxxxftypavifxxxx", "libavif-gdk-pixbuf", "image/avif" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GBytes) bytes = g_bytes_new_static (cases[i].bytes, 16);
      g_autofree char *note = NULL;
      g_autoptr (GError) error = NULL;
      float pixel;
      double border;

      g_assert_false (loom_picture_read (bytes, "a", &options, 1, 1, 1, &pixel, NULL, &border, &note, &error));
      g_test_message ("%s", error->message);
      g_assert_nonnull (
          strstr (error->message, has_loader (cases[i].mime_type) ? "“a” is no picture" : cases[i].package));
    }
}

/* ---- links out of a folder ----------------------------------------------------- */

static char *agreed; /* may_read() accepts a folder and everything in it */

static gboolean
may_read (const char *path)
{
  return agreed != NULL && loom_path_is_within (path, agreed);
}

static void
list_cb (const char *name, const char *path, gpointer list)
{
  g_ptr_array_add (list, g_strdup (path));
}

static GPtrArray *
outside (const char *source, const LoomDatasetOptions *o, const char *own)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (g_free);

  loom_dataset_each_outside (source, o, own, LOOM_LINKS_READ, NULL, list_cb, list);
  return list;
}

static void
make_link (const char *to, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_cmpint (symlink (to, path), ==, 0);
}

/* Links of a folder of pictures that lead out of the graph's folder are found, and wait for the guard; describing reads
 * the names of classes alone. */
static void
test_links (void)
{
  static const char *const strv[] = { "path", "own/set", "size", "2", NULL };
  g_autofree char *own = g_build_filename (folder, "own", NULL), *far = NULL, *one = NULL;
  g_autofree char *real = realpath (folder, NULL);
  LoomGuard guard = { own, may_read };
  LoomDatasetOptions o = options (strv);
  LoomDatasetInfo info;
  g_autoptr (GError) error = NULL;

  o.guard = &guard;
  far = g_build_filename (real, "far", NULL);
  one = g_build_filename (real, "one.bmp", NULL);
  write_flat ("own/set/a/1.bmp", 2, 2, 1, 2, 3);
  write_flat ("own/more/2.bmp", 2, 2, 1, 2, 3);
  write_flat ("far/deep/3.bmp", 2, 2, 1, 2, 3);
  write_flat ("one.bmp", 2, 2, 1, 2, 3);
  write_file ("text.txt", "x", 1);
  make_link ("../more", "own/set/b");                    /* inside */
  make_link ("../../../text.txt", "own/set/a/text.txt"); /* no picture */
  g_autoptr (GPtrArray) none = outside ("image-folder", &o, own);
  g_assert_cmpuint (none->len, ==, 0);
  g_autoptr (LoomDataset) free_of_links = loom_dataset_open ("image-folder", &o, &error);
  g_assert_no_error (error);

  make_link ("../../../one.bmp", "own/set/a/9.bmp");
  make_link ("../../far", "own/more/far"); /* through the link that is inside */
  g_autoptr (GPtrArray) two = outside ("image-folder", &o, own);
  g_assert_cmpuint (two->len, ==, 2);
  g_assert_cmpstr (two->pdata[0], ==, far);
  g_assert_cmpstr (two->pdata[1], ==, one);
  g_assert_true (loom_dataset_describe ("image-folder", &o, &info, NULL));
  g_assert_null (loom_dataset_open ("image-folder", &o, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUTSIDE);
  g_assert_nonnull (strstr (error->message, "is outside this graph's folder and is read only after you agree."));
  g_clear_error (&error);
  agreed = far;
  g_assert_null (loom_dataset_open ("image-folder", &o, NULL));
  agreed = real;
  g_autoptr (LoomDataset) all = loom_dataset_open ("image-folder", &o, &error);
  g_assert_no_error (error);
  g_assert_cmpint (loom_dataset_count (all, LOOM_SPLIT_TRAIN), ==, 4);
  agreed = NULL;

  /* Many are named by the folders that contain them. */
  for (guint i = 0; i < 30; i++)
    {
      g_autofree char *to = g_strdup_printf ("../../../many/%u/x.bmp", i % 2),
                      *name = g_strdup_printf ("own/set/a/%u.bmp", 100 + i),
                      *file = g_strdup (to + strlen ("../../../"));

      if (i < 2)
        write_flat (file, 2, 2, 1, 2, 3);
      make_link (to, name);
    }
  g_autoptr (GPtrArray) few = outside ("image-folder", &o, own);
  g_assert_cmpuint (few->len, ==, 4); /* the same two files thirty times are two */
  for (guint i = 0; i < 30; i++)
    {
      g_autofree char *file = g_strdup_printf ("many/%u/%u.bmp", i % 2, i), *to = g_strdup_printf ("../../../%s", file),
                      *name = g_strdup_printf ("own/set/a/%u.bmp", 200 + i);

      write_flat (file, 2, 2, 1, 2, 3);
      make_link (to, name);
    }
  g_autoptr (GPtrArray) folders = outside ("image-folder", &o, own);
  g_autofree char *zero = g_build_filename (real, "many", "0", NULL);
  g_assert_cmpuint (folders->len, <=, 20);
  g_assert_true (g_ptr_array_find_with_equal_func (folders, zero, g_str_equal, NULL));
}

/* The files of a set that has a folder may be links themselves. */
static void
test_linked_files (void)
{
  static const char *const strv[] = { "path", "linked", NULL };
  g_autofree char *own = g_build_filename (folder, "linked", NULL), *real = realpath (folder, NULL);
  g_autofree char *secret = g_build_filename (real, "secret", NULL);
  LoomDatasetOptions o = options (strv);

  write_file ("secret", "x", 1);
  write_file ("linked/data_batch_1.bin", "x", 1);
  g_autoptr (GPtrArray) none = outside ("cifar", &o, own);
  g_assert_cmpuint (none->len, ==, 0);
  make_link ("../secret", "linked/data_batch_2.bin");
  g_autoptr (GPtrArray) found = outside ("cifar", &o, own);
  g_assert_cmpuint (found->len, ==, 1);
  g_assert_cmpstr (found->pdata[0], ==, secret);
}

TEST_FILE (argc, argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("loom-images-XXXXXX", NULL);
  g_test_add_func ("/images/cifar", test_cifar);
  g_test_add_func ("/images/cifar-bad", test_cifar_bad);
  g_test_add_func ("/images/folder", test_folder);
  g_test_add_func ("/images/folder-bad", test_folder_bad);
  g_test_add_func ("/images/folder-skip", test_folder_skip);
  g_test_add_func ("/images/nested", test_nested);
  g_test_add_func ("/images/splits", test_splits);
  g_test_add_func ("/images/named", test_named);
  g_test_add_func ("/images/large", test_large);
  g_test_add_func ("/images/formats", test_formats);
  g_test_add_func ("/images/pages", test_pages);
  g_test_add_func ("/images/truncated-bmp", test_truncated_bmp);
  g_test_add_func ("/images/no-loader", test_no_loader);
  g_test_add_func ("/images/links", test_links);
  g_test_add_func ("/images/linked-files", test_linked_files);
  status = g_test_run ();
  remove_tree (folder);
  g_free (folder);
  return status;
}
