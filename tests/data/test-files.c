/* Data sets from files: IDX, CSV, NumPy, Fashion-MNIST; good ones and bad ones. */
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>

#include "engine/interop/loom-npy.h"
#include "tests/data/files-test.h"
#include "tests/test-program.h"

/* Two pictures of 1 × 2 and their classes. */
static const guint8 images[] = { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255, 51, 102 };
static const guint8 labels[] = { 0, 0, 8, 1, 0, 0, 0, 2, 4, 7 };

static void
write_gzipped (Fixture *f, const char *name, gconstpointer content, gsize length)
{
  g_autofree char *path = g_build_filename (f->folder, name, NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GOutputStream) plain = G_OUTPUT_STREAM (g_file_replace (file, NULL, FALSE, 0, NULL, NULL));
  g_autoptr (GConverter) gzip = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
  g_autoptr (GOutputStream) stream = g_converter_output_stream_new (plain, gzip);

  g_assert_true (g_output_stream_write_all (stream, content, length, NULL, NULL, NULL));
  g_assert_true (g_output_stream_close (stream, NULL, NULL));
}

static void
test_idx (Fixture *f, gconstpointer data)
{
  static const char *const both[] = { "images",      "i.gz", "labels",      "l", /* */
                                      "test_images", "i",    "test_labels", "l", NULL };
  g_autoptr (LoomDataset) dataset = NULL;
  g_autofree char *shape = NULL;

  write_gzipped (f, "i.gz", images, sizeof images);
  write_file (f, "i", (const char *)images, sizeof images);
  write_file (f, "l", (const char *)labels, sizeof labels);
  dataset = open_source (f, "idx", both);
  g_assert_no_error (f->error);
  shape = port_shape (dataset, 0);
  g_assert_cmpstr (shape, ==, "B,1,1,2");
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 2);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 2);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 8);
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 0, 1), ==, 1);
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TEST, 0, 1, 0), ==, (double)(51.0f / 255.0f));
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 1, 1, 0), ==, 7);
}

static void
test_idx_bad (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "images", "i", "labels", "l", NULL };
  static const char *const half[] = { "images", "i", "labels", "l", "test_images", "i", NULL };
  guint8 wrong[sizeof labels];

  assert_refused (f, "idx", strv, "There is no file “@/i”; paths are relative to the folder of the graph file.");
  write_file (f, "i", (const char *)images, sizeof images - 1);
  write_file (f, "l", (const char *)labels, sizeof labels);
  assert_refused (f, "idx", strv, "“@/i” is truncated: it has 3 of 4 bytes.");
  assert_refused (f, "idx", half, "The data set idx has only one of test_images and test_labels; set both or neither.");
  write_file (f, "i", "hello world", -1);
  assert_refused (f, "idx", strv, "“@/i” is not an IDX file: its first bytes are 68 65 6c 6c.");
  write_file (f, "i", (const char *)images, sizeof images);
  memcpy (wrong, labels, sizeof wrong);
  wrong[7] = 3;
  write_file (f, "l", (const char *)wrong, sizeof wrong);
  assert_refused (f, "idx", strv, "“@/l” has 3 labels, but “@/i” has 2 images.");
  wrong[2] = 0x0a;
  write_file (f, "l", (const char *)wrong, sizeof wrong);
  assert_refused (f, "idx", strv, "“@/l” is an IDX file of type 0x0a, which does not exist.");
  write_file (f, "i", "\x1f\x8b not really gzip", -1);
  g_assert_null (open_source (f, "idx", strv));
  g_assert_error (f->error, LOOM_ERROR, LOOM_ERROR_DATA);
}

/* Elements of all types are big-endian, and a file may have several members of gzip. */
static void
test_idx_types (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "images", "i.gz", "labels", "l", NULL };
  static const struct
  {
    guint8 type, size, first[8], second[8];
    double values[2];
  } cases[] = {
    { 0x09, 1, { 5 }, { 0xfe }, { 5, -2 } },
    { 0x0b, 2, { 1, 2 }, { 0xff, 0xfe }, { 258, -2 } },
    { 0x0c, 4, { 0, 1, 0, 2 }, { 0xff, 0xff, 0xff, 0xfe }, { 65538, -2 } },
    { 0x0d, 4, { 0x3f, 0x40 }, { 0xc0 }, { 0.75, -2 } },
    { 0x0e, 8, { 0x3f, 0xe8 }, { 0xc0 }, { 0.75, -2 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const guint size = cases[i].size;
      guint8 file[16 + 16] = { 0, 0, cases[i].type, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1 },
                       classes[8 + 16] = { 0, 0, cases[i].type, 1, 0, 0, 0, 2 };
      g_autofree char *one = NULL, *two = NULL;
      g_autoptr (GString) all = g_string_new (NULL);
      g_autoptr (LoomDataset) dataset = NULL;
      gsize n_one, n_two;

      memcpy (file + 16, cases[i].first, size);
      memcpy (file + 16 + size, cases[i].second, size);
      memcpy (classes + 8, cases[i].second, size);
      write_gzipped (f, "one.gz", file, 10);
      write_gzipped (f, "two.gz", file + 10, 6 + 2 * size);
      g_autofree char *one_path = g_build_filename (f->folder, "one.gz", NULL),
                      *two_path = g_build_filename (f->folder, "two.gz", NULL);
      g_assert_true (g_file_get_contents (one_path, &one, &n_one, NULL));
      g_assert_true (g_file_get_contents (two_path, &two, &n_two, NULL));
      g_string_append_len (all, one, (gssize)n_one);
      g_string_append_len (all, two, (gssize)n_two);
      write_file (f, "i.gz", all->str, (gssize)all->len);
      write_file (f, "l", (const char *)classes, 8 + 2 * size);
      assert_refused (f, "idx", strv, "“@/l” has the label -2; classes are numbers from 0 on.");
      memset (classes + 8, 0, 16);
      write_file (f, "l", (const char *)classes, 8 + 2 * size);
      dataset = open_source (f, "idx", strv);
      g_assert_no_error (f->error);
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 0, 0), ==, cases[i].values[0]);
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 1, 0), ==, cases[i].values[1]);
    }
}

/* Pictures of 2 × 3 that are stored column by column. */
static void
test_idx_transposed (Fixture *f, gconstpointer data)
{
  static const guint8 pictures[]
      = { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11 };
  static const char *const strv[] = { "images", "emnist-i", "labels", "l", "transpose", "true", NULL };
  static const char *const plain[] = { "images", "emnist-i", "labels", "l", NULL };
  g_autoptr (LoomDataset) dataset = NULL, other = NULL;
  g_autofree char *shape = NULL;

  write_file (f, "emnist-i", (const char *)pictures, sizeof pictures);
  write_file (f, "l", (const char *)labels, sizeof labels);
  dataset = open_source (f, "idx", strv);
  g_assert_no_error (f->error);
  shape = port_shape (dataset, 0);
  g_assert_cmpstr (shape, ==, "B,1,2,3");
  g_assert_null (loom_dataset_note (dataset));
  for (int i = 0; i < 6; i++)
    {
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 0, i), ==, (double)((float)i / 255.0f));
      g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 1, i), ==, (double)((float)(i + 6) / 255.0f));
    }
  other = open_source (f, "idx", plain);
  g_assert_no_error (f->error);
  g_assert_nonnull (strstr (loom_dataset_note (other), "transpose=\"true\""));
}

/* Archives that NumPy wrote (npz/make.py). */
static LoomDataset *
open_npz (Fixture *f, const char *name, const char *x, const char *y)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "npz", name, NULL);
  const char *const strv[] = { "path", path, "x", x, "y", y, "val_fraction", "0.2", NULL };

  return open_source (f, "npz", strv);
}

static void
test_npz (Fixture *f, gconstpointer data)
{
  g_autoptr (LoomDataset) medmnist = open_npz (f, "medmnist.npz", "", ""), keras = NULL, volumes = NULL;
  g_autofree char *shape = NULL, *keras_shape = NULL, *volumes_shape = NULL, *labels_shape = NULL;

  /* Channels are last in the file. */
  g_assert_no_error (f->error);
  shape = port_shape (medmnist, 0);
  g_assert_cmpstr (shape, ==, "B,3,3,2");
  g_assert_cmpint (loom_dataset_count (medmnist, LOOM_SPLIT_TRAIN), ==, 4);
  g_assert_cmpint (loom_dataset_count (medmnist, LOOM_SPLIT_VAL), ==, 2);
  g_assert_cmpint (loom_dataset_count (medmnist, LOOM_SPLIT_TEST), ==, 1);
  g_assert_cmpint (loom_dataset_info (medmnist)->n_classes, ==, 4);
  for (int c = 0; c < 3; c++)
    for (int i = 0; i < 6; i++)
      g_assert_cmpfloat (read_value (medmnist, LOOM_SPLIT_TEST, 0, 0, c * 6 + i), ==,
                         (double)((float)(200 + i * 3 + c) / 255.0f));
  g_assert_cmpfloat (read_value (medmnist, LOOM_SPLIT_TRAIN, 1, 3, 0), ==, 3);

  keras = open_npz (f, "keras.npz", "", "");
  g_assert_no_error (f->error);
  keras_shape = port_shape (keras, 0);
  g_assert_cmpstr (keras_shape, ==, "B,1,2,2");
  g_assert_cmpint (loom_dataset_count (keras, LOOM_SPLIT_TRAIN), ==, 4);
  g_assert_cmpint (loom_dataset_count (keras, LOOM_SPLIT_VAL), ==, 1);
  g_assert_cmpfloat (read_value (keras, LOOM_SPLIT_TEST, 0, 1, 3), ==, 3.5);
  g_assert_cmpint (loom_dataset_info (keras)->n_classes, ==, 3);

  volumes = open_npz (f, "several.npz", "volumes", "labels");
  g_assert_no_error (f->error);
  volumes_shape = port_shape (volumes, 0);
  labels_shape = port_shape (volumes, 1);
  g_assert_cmpstr (volumes_shape, ==, "B,1,5,5,5");
  g_assert_cmpstr (labels_shape, ==, "B,2");
}

static void
test_npz_bad (Fixture *f, gconstpointer data)
{
  static const struct
  {
    const char *x, *y, *message;
  } cases[] = {
    { "", "", "has no arrays of known names; set x=\"…\" and y=\"…\". It has: “" },
    { "volumes", "below", "has the class -1; classes are numbers from 0 on." },
    { "volumes", "short", "has 3 inputs and 2 targets for train." },
  };
  g_autoptr (LoomDataset) column = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_null (open_npz (f, "several.npz", cases[i].x, cases[i].y));
      g_assert_nonnull (strstr (f->error->message, cases[i].message));
    }
  g_assert_null (open_npz (f, "ranks.npz", "", ""));
  g_assert_nonnull (strstr (f->error->message, "has “y_test” of another shape or type than “y_train”."));
  /* An axis of one element makes no difference. */
  column = open_npz (f, "ranks.npz", "more_train", "column_train");
  g_assert_no_error (f->error);
  g_assert_cmpfloat (read_value (column, LOOM_SPLIT_TEST, 1, 1, 0), ==, 1);
}

static void
test_csv (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "a.csv", "target", "kind", "test_fraction", "0", NULL };
  static const char *const values[]
      = { "path", "a.csv", "target", "b,a", "target_type", "float", "test_fraction", "0", "features", "a", NULL };
  g_autoptr (LoomDataset) dataset = NULL;
  g_autofree char *shape = NULL;

  write_file (f, "a.csv",
              "\xef\xbb\xbf"
              "a,\"b\",kind\r\n1,2.5,\"pear, \"\"ripe\"\"\"\r\n\r\n-3e2,4,apple\r\n5,6,apple",
              -1);
  dataset = open_source (f, "csv", strv);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 3);
  g_assert_cmpstr (loom_dataset_class_names (dataset)[0], ==, "apple");
  g_assert_cmpstr (loom_dataset_class_names (dataset)[1], ==, "pear, \"ripe\"");
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 1, 0, 0), ==, 1);
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 0, 1), ==, 2.5);
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 1, 0), ==, -300);
  g_clear_pointer (&dataset, loom_dataset_free);

  dataset = open_source (f, "csv", values);
  g_assert_no_error (f->error);
  shape = port_shape (dataset, 1);
  g_assert_cmpstr (shape, ==, "B,2");
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 1, 0, 0), ==, 2.5);
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 1, 0, 1), ==, 1);
}

/* Every row belongs to one split, in file order, and the seed decides which. */
static void
test_csv_splits (Fixture *f, gconstpointer data)
{
  static const char *const strv[]
      = { "path", "a.csv", "target", "y", "val_fraction", "0.2", "test_fraction", "0.3", "delimiter", ";", NULL };
  g_autoptr (GString) text = g_string_new ("x;y\n");
  g_autoptr (LoomDataset) dataset = NULL;
  gboolean seen[50] = { FALSE };

  for (int i = 0; i < 50; i++)
    g_string_append_printf (text, "%d;%d\n", i, i % 3);
  write_file (f, "a.csv", text->str, -1);
  dataset = open_source (f, "csv", strv);
  g_assert_no_error (f->error);
  g_assert_null (loom_dataset_class_names (dataset));
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 3);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 25);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_VAL), ==, 10);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 15);
  for (LoomSplit s = 0; s < LOOM_N_SPLITS; s++)
    {
      int last = -1;

      for (gint64 i = 0; i < loom_dataset_count (dataset, s); i++)
        {
          int x = (int)read_value (dataset, s, 0, i, 0);

          g_assert_false (seen[x]);
          g_assert_cmpint (x, >, last);
          g_assert_cmpint ((int)read_value (dataset, s, 1, i, 0), ==, x % 3);
          seen[x] = TRUE;
          last = x;
        }
    }
}

static void
test_csv_bad (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "a.csv", "target", "kind", NULL };
  static const struct
  {
    const char *text, *message;
  } cases[] = {
    { "a,b,kind\n1,2,0\n1,2\n", "“@/a.csv” line 3 has 2 fields, but the header names 3." },
    { "a,kind\n\"1\n2\",0\n\n3,4,5\n", "“@/a.csv” line 2, column “a”: “1\n2” is not a number." },
    { "a,kind\n1,0\n\n3,4,5\n", "“@/a.csv” line 4 has 3 fields, but the header names 2." },
    { "a,kind\n1,0\nabc,1\n", "“@/a.csv” line 3, column “a”: “abc” is not a number." },
    { "a,kind\n1,0\n,1\n",
      "“@/a.csv” line 3, column “a”: “” is not a number; missing=\"mean\" fills such gaps, missing=\"drop\" drops the "
      "row." },
    { "a,kind\n1,0\n-1e300,0\n",
      "“@/a.csv” line 3, column “a”: -1e300 is larger than the largest f32 number (3.4e38). Scale the column, or "
      "leave it out." },
    { "a,kind\nnan,0\n",
      "“@/a.csv” line 2, column “a”: “nan” is not a number; missing=\"mean\" fills such gaps, missing=\"drop\" drops "
      "the row." },
    { "a,kind\n1,\n", "“@/a.csv” line 2, column “kind” is empty; missing=\"drop\" drops rows without a class." },
    { "a,kind\n1,\"x\n", "“@/a.csv” line 2: a quoted field is not closed." },
    { "a,kinds\n1,2\n", "“@/a.csv” has no column “kind”. Did you mean “kinds”?" },
    { "a,kind,a\n1,2,3\n", "“@/a.csv” names two columns “a”, number 1 and number 3; rename one." },
    { "a,b\n1,2\n", "“@/a.csv” has no column “kind”; its first is “a”." },
    { "kind\n1\n", "“@/a.csv” has no column except the target; check delimiter=\",\"." },
    { "a,kind\n", "“@/a.csv” has a header but no rows." },
    { "", "“@/a.csv” is empty; its first line must name the columns." },
    { "a,kind\n1,\xff\n",
      "“@/a.csv” is not UTF-8 text: line 2 contains the byte 0xFF. If it is Latin-1 or Windows-1252, convert it with "
      "iconv -f WINDOWS-1252 -t UTF-8; a spreadsheet can be saved as CSV, UTF-8." },
    { "PK\3\4sheet", "“@/a.csv” is a zip archive or a spreadsheet (.xlsx, .ods); save the table as CSV, UTF-8." },
    { "a,kind\n1,0\n2,NA\n",
      "“@/a.csv” line 3, column “kind” is “NA”, which is not a class; missing=\"drop\" drops rows without a class." },
    { "a;kind\n1;0\n", "“@/a.csv” has no column “kind”; its only one is “a;kind”; is the delimiter right?" },
  };

  assert_refused (f, "csv", strv, "There is no file “@/a.csv”; paths are relative to the folder of the graph file.");
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      write_file (f, "a.csv", cases[i].text, -1);
      assert_refused (f, "csv", strv, cases[i].message);
    }
}

static void
save_npy (Fixture *f, const char *name, LoomDType dtype, int rank, gint64 a, gint64 b, gint64 c)
{
  const gint64 dims[] = { a, b, c };
  g_autoptr (LoomTensor) t = loom_tensor_new (dtype, rank, dims, NULL);
  g_autofree char *path = g_build_filename (f->folder, name, NULL);

  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, i);
  g_assert_true (loom_npy_save (path, t, NULL));
}

static void
test_npy (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "x", "x.npy", "y", "y.npy", "test_x", "tx.npy", "test_y", "ty.npy", NULL };
  static const char *const alone[] = { "x", "x.npy", NULL };
  static const char *const wrong[] = { "x", "x.npy", "y", "ty.npy", NULL };
  static const char *const half[] = { "x", "x.npy", "y", "y.npy", "test_x", "tx.npy", NULL };
  g_autoptr (LoomDataset) dataset = NULL, single = NULL;
  g_autofree char *shape = NULL;

  save_npy (f, "x.npy", LOOM_U8, 3, 4, 2, 2);
  save_npy (f, "y.npy", LOOM_I32, 1, 4, 0, 0);
  save_npy (f, "tx.npy", LOOM_F64, 3, 2, 2, 2);
  save_npy (f, "ty.npy", LOOM_U8, 1, 2, 0, 0);
  dataset = open_source (f, "npy", strv);
  g_assert_no_error (f->error);
  shape = port_shape (dataset, 0);
  g_assert_cmpstr (shape, ==, "B,2,2");
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 0, 3, 3), ==, (double)(15.0f / 255.0f));
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TRAIN, 1, 3, 0), ==, 3);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 2);
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TEST, 0, 1, 3), ==, 7);
  g_assert_cmpfloat (read_value (dataset, LOOM_SPLIT_TEST, 1, 1, 0), ==, 1);
  single = open_source (f, "npy", alone);
  g_assert_cmpuint (loom_dataset_info (single)->n_ports, ==, 1);
  assert_refused (f, "npy", wrong, "“@/ty.npy” has 2 samples, but x has 4.");
  assert_refused (f, "npy", half, "The data set npy has only one of test_x and test_y; set both.");
}

/* A file of more than a gigabyte, most of it a hole, of which only the requested samples are read. */
static void
test_npy_large (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "x", "x.npy", NULL };
  static const gint64 n = 300000, width = 1024, last = 299999;
  const LoomDatasetOptions options = { loom_dataset_options_from_strv, strv, f->folder };
  g_autofree char *path = g_build_filename (f->folder, "x.npy", NULL);
  g_autoptr (LoomDataset) dataset = NULL;
  g_autoptr (GPtrArray) read = NULL;
  const float one = 1;
  static const char form[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (300000, 1024), }";
  char padded[128];
  int file = g_open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

  memset (padded, ' ', sizeof padded);
  memcpy (padded, "\x93NUMPY\x01\0v\0", 10);
  memcpy (padded + 10, form, strlen (form));
  padded[127] = '\n';
  g_assert_cmpint (write (file, padded, sizeof padded), ==, sizeof padded);
  g_assert_no_errno (ftruncate (file, (off_t)(sizeof padded + (gsize)(n * width) * sizeof one)));
  g_assert_cmpint (pwrite (file, &one, sizeof one, (off_t)(sizeof padded + (gsize)(last * width + 3) * sizeof one)), ==,
                   sizeof one);
  close (file);
  dataset = loom_dataset_open ("npy", &options, &f->error);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, n);
  read = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, &last, 1, &f->error);
  g_assert_no_error (f->error);
  for (gint64 i = 0; i < width; i++)
    g_assert_cmpfloat (loom_tensor_get (read->pdata[0], i), ==, i == 3);
}

static void
test_fashion_mnist_missing (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "nowhere", NULL };
  const LoomDatasetOptions o = options (f, strv);
  LoomDatasetInfo info;
  g_autofree char *shape = NULL;

  assert_refused (f, "fashion-mnist", strv,
                  "Fashion-MNIST was not found: “@/nowhere” does not contain train-images-idx3-ubyte.gz and its three "
                  "companions. Install it with “apt install dataset-fashion-mnist”, or set path=\"FOLDER\".");
  g_assert_error (f->error, LOOM_ERROR, LOOM_ERROR_DATA);
  /* A graph can be drawn without the data. */
  g_assert_false (loom_dataset_describe ("fashion-mnist", &o, &info, NULL));
  g_assert_cmpuint (info.n_ports, ==, 2);
  shape = loom_shape_to_attribute (&info.port[0].type.shape);
  g_assert_cmpstr (shape, ==, "B,1,28,28");
}

/* The package itself: counts, balance of classes, and a known mean (0.2860 of the training pixels). */
static void
test_fashion_mnist (Fixture *f, gconstpointer data)
{
  g_autoptr (LoomDataset) dataset = NULL;
  LoomDatasetInfo info;
  gint64 count[2][10] = { { 0 } };
  gint64 image[] = { 1, 1, 28, 28 }, one = 1, start;
  double sum = 0;

  if (!loom_dataset_describe ("fashion-mnist", NULL, &info, NULL))
    {
      g_test_skip ("the package dataset-fashion-mnist is not installed");
      return;
    }
  /* The packed files, not those that tests/unpack-data makes for all other tests. */
  g_unsetenv ("GRADLOOM_DATA");
  start = g_get_monotonic_time ();
  dataset = loom_dataset_open ("fashion-mnist", NULL, &f->error);
  g_test_message ("opened in %.3f s", (g_get_monotonic_time () - start) / 1e6);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 60000);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TEST), ==, 10000);
  for (int s = 0; s < 2; s++)
    {
      LoomSplit split = s == 0 ? LOOM_SPLIT_TRAIN : LOOM_SPLIT_TEST;
      g_autoptr (LoomTensor) x = loom_tensor_new (LOOM_F32, 4, image, NULL);
      g_autoptr (LoomTensor) y = loom_tensor_new (LOOM_I64, 1, &one, NULL);
      LoomTensor *out[] = { x, y };

      for (gint64 i = 0; i < loom_dataset_count (dataset, split); i++)
        {
          g_assert_true (loom_dataset_read (dataset, split, &i, 1, out, NULL));
          count[s][*(gint64 *)y->data]++;
          for (gint64 k = 0; k < 784 && s == 0; k++)
            sum += ((float *)x->data)[k];
        }
    }
  for (int k = 0; k < 10; k++)
    {
      g_assert_cmpint (count[0][k], ==, 6000);
      g_assert_cmpint (count[1][k], ==, 1000);
    }
  g_assert_cmpfloat_with_epsilon (sum / (60000.0 * 784), 0.2860, 0.0001);
}

/* Writes in place, so that only the modification time changes. */
static gint64
features_at (Fixture *f, const char *text, gint64 time)
{
  g_autofree char *path = g_build_filename (f->folder, "d.csv", NULL);
  const char *const strv[] = { "path", "d.csv", "target", "t", NULL };
  const LoomDatasetOptions o = options (f, strv);
  struct utimbuf times = { time, time };
  LoomDatasetInfo info;
  FILE *file = g_fopen (path, "w");

  g_assert_nonnull (file);
  fputs (text, file);
  fclose (file);
  if (time != 0)
    g_assert_cmpint (g_utime (path, &times), ==, 0);
  g_clear_error (&f->error);
  if (!loom_dataset_describe ("csv", &o, &info, &f->error))
    return -1;
  g_assert_no_error (f->error);
  return loom_dim_value (info.port[0].type.shape.dim[1], NULL);
}

/* A file at rest is described once; one that changed, or has only just been written, is read again. */
static void
test_describe_twice (Fixture *f, gconstpointer data)
{
  g_assert_cmpint (features_at (f, "a,b,c,t\n1,2,3,4\n", 1000), ==, 3);
  g_assert_cmpint (features_at (f, "abc,b,t\n1,234,4\n", 1000), ==, 3);
  g_assert_cmpint (features_at (f, "abc,b,t\n1,234,4\n", 1001), ==, 2);
  g_assert_cmpint (features_at (f, "abc,b,u\n1,234,4\n", 1002), ==, -1);
  g_assert_cmpint (features_at (f, "abc,b,t\n1,234,4\n", 1002), ==, -1);
  g_assert_error (f->error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_cmpint (features_at (f, "a,b,c,t\n1,2,3,4\n", 0), ==, 3);
  g_assert_cmpint (features_at (f, "abc,b,t\n1,234,4\n", 0), ==, 2);
}

/* For files with equal beginnings, ends and numbers of samples, the digest shows which are the same. */
static void
test_digest (Fixture *f, gconstpointer data)
{
  static const struct
  {
    const char *source, *strv[7], *file;
    const char *content[3]; /* the first two are the same */
  } cases[] = {
    { "csv",
      { "path", "a.csv", "target", "kind", NULL },
      "a.csv",
      { "a,kind\n1,x\n2,y\n3,x\n", "a,kind\n1,x\n2,y\n3,x\n", "a,kind\n1,x\n-2,y\n3,x\n" } },
    { "csv",
      { "path", "a.csv", "target", "kind", NULL },
      "a.csv",
      { "a,kind\n1,x\n2,y\n3,x\n", "a,kind\n1,x\n2,y\n3,x", "a,kind\n1,x\n2,z\n3,x\n" } },
    { "text",
      { "path", "a.txt", "context", "2", "val_fraction", "0", NULL },
      "a.txt",
      { "abcabcabc", "abcabcabc", "abccbaabc" } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint64 digest[3];

      for (guint k = 0; k < 3; k++)
        {
          g_autoptr (LoomDataset) dataset = NULL;

          write_file (f, cases[i].file, cases[i].content[k], -1);
          dataset = open_source (f, cases[i].source, cases[i].strv);
          g_assert_no_error (f->error);
          digest[k] = loom_dataset_digest (dataset);
        }
      g_assert_cmpuint (digest[0], ==, digest[1]);
      g_assert_cmpuint (digest[0], !=, digest[2]);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/files/idx", test_idx);
  ADD ("/files/idx-bad", test_idx_bad);
  ADD ("/files/idx-types", test_idx_types);
  ADD ("/files/idx-transposed", test_idx_transposed);
  ADD ("/files/npz", test_npz);
  ADD ("/files/npz-bad", test_npz_bad);
  ADD ("/files/csv", test_csv);
  ADD ("/files/csv-splits", test_csv_splits);
  ADD ("/files/digest", test_digest);
  ADD ("/files/csv-bad", test_csv_bad);
  ADD ("/files/describe-twice", test_describe_twice);
  ADD ("/files/npy", test_npy);
  ADD ("/files/npy-large", test_npy_large);
  ADD ("/files/fashion-mnist-missing", test_fashion_mnist_missing);
  ADD ("/files/fashion-mnist", test_fashion_mnist);
  return g_test_run ();
}
