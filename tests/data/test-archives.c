/* Pictures in tar archives and in tables of paths; good ones and bad ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#define BLOCK 512

typedef struct
{
  char *folder;
  GError *error;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  f->folder = g_dir_make_tmp ("loom-archives-XXXXXX", NULL);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  remove_tree (f->folder);
  g_free (f->folder);
  g_clear_error (&f->error);
}

static void
write_file (Fixture *f, const char *name, gconstpointer content, gsize n)
{
  g_autofree char *path = g_build_filename (f->folder, name, NULL), *parent = g_path_get_dirname (path);

  g_assert_no_errno (g_mkdir_with_parents (parent, 0755));
  g_assert_true (g_file_set_contents (path, content, (gssize)n, NULL));
}

/* A picture of one pixel, grey. */
static GByteArray *
bmp (guint8 grey)
{
  guint8 bytes[58] = { 'B', 'M', 58, [10] = 54, [14] = 40, [18] = 1, [22] = 1, [26] = 1, [28] = 24, [34] = 4 };
  GByteArray *file = g_byte_array_new ();

  memset (bytes + 54, grey, 3);
  return g_byte_array_append (file, bytes, sizeof bytes);
}

static void
add_member (GString *tar, char type, const char *name, gconstpointer content, gsize n)
{
  char head[BLOCK] = { 0 };
  guint sum = 0;

  g_strlcpy (head, name, 100);
  g_snprintf (head + 124, 12, "%011o", (guint)n);
  memset (head + 148, ' ', 8);
  head[156] = type;
  memcpy (head + 257, "ustar\00000", 8);
  for (gsize i = 0; i < BLOCK; i++)
    sum += (guint8)head[i];
  g_snprintf (head + 148, 8, "%06o", sum);
  g_string_append_len (tar, head, BLOCK);
  g_string_append_len (tar, content, (gssize)n);
  while (tar->len % BLOCK != 0)
    g_string_append_c (tar, '\0');
}

static void
add_text (GString *tar, const char *name, const char *text)
{
  add_member (tar, '0', name, text, strlen (text));
}

static void
add_picture (GString *tar, const char *name, guint8 grey)
{
  g_autoptr (GByteArray) picture = bmp (grey);

  add_member (tar, '0', name, picture->data, picture->len);
}

static void
write_tar (Fixture *f, const char *name, const GString *tar)
{
  g_autoptr (GString) whole = g_string_new_len (tar->str, (gssize)tar->len);

  for (int i = 0; i < 2 * BLOCK; i++)
    g_string_append_c (whole, '\0');
  write_file (f, name, whole->str, whole->len);
}

static LoomDataset *
open_source (Fixture *f, const char *source, const char *const *strv)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = f->folder };

  g_clear_error (&f->error);
  return loom_dataset_open (source, &o, &f->error);
}

/* Refused with this end of a sentence. */
static void
assert_refused (Fixture *f, const char *source, const char *const *strv, const char *message)
{
  g_autoptr (LoomDataset) dataset = open_source (f, source, strv);

  g_assert_null (dataset);
  g_assert_error (f->error, LOOM_ERROR, LOOM_ERROR_DATA);
  if (strstr (f->error->message, message) == NULL)
    g_error ("“%s” is not in: %s", message, f->error->message);
}

/* The grey of each training sample and its class, as text. */
static char *
samples (Fixture *f, LoomDataset *dataset, LoomSplit split)
{
  GString *text = g_string_new (NULL);

  for (gint64 i = 0; i < loom_dataset_count (dataset, split); i++)
    {
      g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, split, &i, 1, &f->error);

      g_assert_no_error (f->error);
      g_string_append_printf (text, "%s%.0f:%.0f", i > 0 ? " " : "", loom_tensor_get (read->pdata[0], 0) * 255,
                              loom_tensor_get (read->pdata[1], 0));
    }
  return g_string_free (text, FALSE);
}

static const char *const shards[] = { "path", "a-{08..10}.tar", "size", "1", "color", "grey", NULL };

/* Three shards; classes in .cls and .json, folders, a long name, other members, a link out of the archive. */
static void
test_webdataset (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) first = g_string_new (NULL), second = g_string_new (NULL), third = g_string_new (NULL);
  g_autoptr (LoomDataset) dataset = NULL, files = NULL;
  g_autofree char *name = g_strnfill (150, 'n'), *long_name = g_strconcat (name, ".bmp", NULL),
                  *pax = g_strdup_printf ("%d path=%s.cls\n", 160 + 4, name), *text = NULL, *again = NULL;
  static const char *const kept[] = { "path", "a-{08..10}.tar", "size", "1", "color", "grey", "keep", "files", NULL };

  add_member (first, '5', "in/", "", 0);
  add_text (first, "in/1.cls", "2\n");
  add_picture (first, "in/1.bmp", 10);
  add_text (first, "in/1.txt", "a caption");
  add_picture (first, "in/2.BMP", 20);
  add_text (first, "in/2.json", "{\"label\": 1, \"width\": 1}");
  add_member (second, '2', "../../etc/passwd.jpg", "", 0);
  add_member (second, 'L', "././@LongLink", long_name, strlen (long_name) + 1);
  add_picture (second, "short", 30);
  add_member (second, 'x', "pax", pax, strlen (pax));
  add_text (second, "short", "0");
  add_picture (third, "3.bmp", 40);
  add_text (third, "3.cls", "1");
  write_tar (f, "a-08.tar", first);
  write_tar (f, "a-09.tar", second);
  write_file (f, "a-10.tar", third->str, third->len);
  dataset = open_source (f, "webdataset", shards);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_info (dataset)->n_classes, ==, 3);
  text = samples (f, dataset, LOOM_SPLIT_TRAIN);
  g_assert_cmpstr (text, ==, "10:2 20:1 30:0 40:1");
  files = open_source (f, "webdataset", kept);
  again = samples (f, files, LOOM_SPLIT_TRAIN);
  g_assert_cmpstr (again, ==, text);
}

static void
test_webdataset_bad (Fixture *f, gconstpointer data)
{
  static const char *const one[] = { "path", "t.tar", "size", "1", NULL };
  static const char *const backwards[] = { "path", "t-{9..1}.tar", NULL };
  g_autoptr (GString) tar = g_string_new (NULL), whole = NULL;
  g_autoptr (LoomDataset) dataset = NULL;

  assert_refused (f, "webdataset", one, "There is no file");
  assert_refused (f, "webdataset", backwards, "names no archives from the first to the last");
  write_file (f, "t.tar", "\x1f\x8b", 2);
  assert_refused (f, "webdataset", one, "is truncated");
  write_tar (f, "t.tar", tar);
  assert_refused (f, "webdataset", one, "contains no picture");
  add_picture (tar, "1.bmp", 1);
  write_tar (f, "t.tar", tar);
  assert_refused (f, "webdataset", one, "has a picture “1.bmp” without a class in 1.cls or 1.json.");
  add_text (tar, "1.json", "{\"label\": 1.5}");
  write_tar (f, "t.tar", tar);
  assert_refused (f, "webdataset", one, "has “1.json” without a class “label”");
  g_string_truncate (tar, 2 * BLOCK);
  add_text (tar, "1.cls", "7");
  add_text (tar, "2.cls", "no picture");
  write_tar (f, "t.tar", tar);
  dataset = open_source (f, "webdataset", one);
  g_assert_no_error (f->error);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 1);
  whole = g_string_new_len (tar->str, (gssize)tar->len);
  whole->str[BLOCK * 2 + 10] ^= 1;
  write_file (f, "t.tar", whole->str, whole->len);
  assert_refused (f, "webdataset", one, "a member has a wrong sum");
  write_file (f, "t.tar", tar->str, BLOCK + 20);
  assert_refused (f, "webdataset", one, "is a truncated tar archive");
}

/* JSON that a recursive parser cannot read. */
static void
test_webdataset_deep (Fixture *f, gconstpointer data)
{
  static const char *const one[] = { "path", "t.tar", "size", "1", NULL };
  g_autoptr (GString) tar = g_string_new (NULL);
  g_autofree char *deep = g_strnfill (1 << 20, '[');

  add_picture (tar, "1.bmp", 1);
  add_text (tar, "1.json", deep);
  write_tar (f, "t.tar", tar);
  assert_refused (f, "webdataset", one, "has “1.json” without a class “label”");
}

static const char *agreed; /* to a file, or everything in a folder */

static gboolean
may_read (const char *path)
{
  return agreed != NULL && loom_path_is_within (path, agreed);
}

/* Archives that links of a foreign graph's folder lead to wait for an agreement. */
static void
test_webdataset_guard (Fixture *f, gconstpointer data)
{
  static const char *const paths[] = { "link{0..0}/x.tar", "link0/x-{1..1}.tar", "inner/link-{1..2}.tar" };
  g_autofree char *own = g_build_filename (f->folder, "own", NULL), *inner = g_build_filename (own, "inner", NULL),
                  *link = g_build_filename (own, "link0", NULL), *file = g_build_filename (inner, "link-2.tar", NULL),
                  *real = realpath (f->folder, NULL), *private = g_build_filename (real, "private", NULL),
                  *all = g_build_filename (private, "x-{1..1}.tar", NULL);
  g_autoptr (GString) tar = g_string_new (NULL);
  LoomGuard guard = { own, may_read };

  add_picture (tar, "1.bmp", 10);
  add_text (tar, "1.cls", "0");
  write_tar (f, "private/deep/x.tar", tar);
  write_tar (f, "private/deep/x-1.tar", tar);
  write_tar (f, "private/x-1.tar", tar);
  write_tar (f, "own/inner/link-1.tar", tar);
  g_assert_no_errno (symlink ("../private/deep", link));
  g_assert_no_errno (symlink ("../../private/x-1.tar", file));
  for (guint i = 0; i <= G_N_ELEMENTS (paths); i++)
    {
      const char *const strv[] = { "path", i < G_N_ELEMENTS (paths) ? paths[i] : all, "size", "1", NULL };
      const LoomDatasetOptions o
          = { .get = loom_dataset_options_from_strv, .data = strv, .folder = own, .guard = &guard };
      g_autoptr (LoomDataset) refused = NULL, opened = NULL;

      agreed = NULL;
      refused = loom_dataset_open ("webdataset", &o, &f->error);
      g_assert_null (refused);
      g_assert_error (f->error, LOOM_ERROR, LOOM_ERROR_OUTSIDE);
      g_clear_error (&f->error);
      /* Real paths in full are agreed to as they are named. */
      agreed = i < G_N_ELEMENTS (paths) ? private : all;
      opened = loom_dataset_open ("webdataset", &o, &f->error);
      g_assert_no_error (f->error);
    }
}

/* A path through a link means what the guard asks for, not what is above the link's target. */
static void
test_above_link (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "link/../set", "size", "1", "color", "grey", NULL };
  g_autofree char *own = g_build_filename (f->folder, "own", NULL), *link = g_build_filename (own, "link", NULL),
                  *text = NULL;
  g_autoptr (GByteArray) secret = bmp (10), picture = bmp (20);
  g_autoptr (LoomDataset) refused = NULL, opened = NULL;
  LoomGuard guard = { own, may_read };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = own, .guard = &guard };

  agreed = NULL;
  write_file (f, "private/set/a/1.bmp", secret->data, secret->len);
  write_file (f, "private/deep/text", "x", 1);
  write_file (f, "own/text", "x", 1);
  g_assert_no_errno (symlink ("../private/deep", link));
  refused = loom_dataset_open ("image-folder", &o, &f->error);
  g_assert_null (refused);
  g_clear_error (&f->error);
  write_file (f, "own/set/a/1.bmp", picture->data, picture->len);
  opened = loom_dataset_open ("image-folder", &o, &f->error);
  g_assert_no_error (f->error);
  text = samples (f, opened, LOOM_SPLIT_TRAIN);
  g_assert_cmpstr (text, ==, "20:0");
}

/* Headers of pax whose lines are too short or too long for their names. */
static void
test_webdataset_pax (Fixture *f, gconstpointer data)
{
  static const char *const one[] = { "path", "t.tar", "size", "1", "color", "grey", NULL };
  static const char *const headers[] = { "7 path=", "000000007", "99 path=5.bmp\n", "6 a=b\n14 path=1.bmp\n" };

  for (guint i = 0; i < G_N_ELEMENTS (headers); i++)
    {
      g_autoptr (GString) tar = g_string_new (NULL);
      g_autoptr (LoomDataset) dataset = NULL;

      add_text (tar, "1.cls", "0");
      add_member (tar, 'x', "pax", headers[i], strlen (headers[i]));
      add_picture (tar, i < 3 ? "1.bmp" : "other.bmp", 10);
      write_tar (f, "t.tar", tar);
      dataset = open_source (f, "webdataset", one);
      g_assert_no_error (f->error);
      g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 1);
    }
}

static void
test_image_table (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "in/t.csv", "size", "1", "color", "grey", NULL };
  static const char *const other[] = { "path", "in/t.csv", "image", "file", "label", "kind", "size", "1", NULL };
  static const char *const bad[][2] = {
    { "x:image,y:label\n../p.bmp,1\n", "line 2 has the path “../p.bmp”, which is not in the folder of the table" },
    { "x:image,y:label\n/etc/passwd,1\n", "which is not in the folder of the table" },
    { "x:image,y:label\nlink.bmp,1\n", "which is not in the folder of the table" },
    { "x:image,y:label\np/none.bmp,1\n", "where there is no file" },
    { "x:image,y:label\np/1.bmp,\n", "line 2 has no class" },
    { "x:image,y:label\np/1.bmp\n", "line 2 has 1 fields" },
    { "x:image,y:label\n", "has no rows" },
    { "x:image,y:label\np/1.bmp,1\np/2.bmp,0.5\n", "has numbers such as “0.5” for classes; set target_type=\"float\"" },
    { "x:image,label\np/1.bmp,1\n", "has no column “y:label”; label=\"…\" names another" },
  };
  g_autoptr (GByteArray) first = bmp (10), second = bmp (20);
  g_autoptr (LoomDataset) dataset = NULL, named = NULL;
  g_autofree char *text = NULL, *link = g_build_filename (f->folder, "in", "link.bmp", NULL), *names = NULL;
  const char *table = "x:image,y:label;digit\n./p/1.bmp,3\np/2.bmp,0\n", *words = "file,kind\np/1.bmp,b\np/2.bmp,a\n";
  const char *windows = "x:image,y:label\r\n.\\p\\2.bmp,1\r\np\\1.bmp,0\r\n";

  write_file (f, "in/p/1.bmp", first->data, first->len);
  write_file (f, "in/p/2.bmp", second->data, second->len);
  write_file (f, "p.bmp", second->data, second->len);
  g_assert_no_errno (symlink ("../p.bmp", link));
  write_file (f, "in/t.csv", table, strlen (table));
  dataset = open_source (f, "image-table", strv);
  g_assert_no_error (f->error);
  text = samples (f, dataset, LOOM_SPLIT_TRAIN);
  g_assert_cmpstr (text, ==, "10:3 20:0");
  write_file (f, "in/t.csv", words, strlen (words));
  named = open_source (f, "image-table", other);
  g_assert_no_error (f->error);
  names = g_strjoinv (",", (char **)loom_dataset_class_names (named));
  g_assert_cmpstr (names, ==, "a,b");
  write_file (f, "in/t.csv", windows, strlen (windows));
  g_autoptr (LoomDataset) turned = open_source (f, "image-table", strv);
  g_assert_no_error (f->error);
  g_autofree char *same = samples (f, turned, LOOM_SPLIT_TRAIN);
  g_assert_cmpstr (same, ==, "20:1 10:0");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      write_file (f, "in/t.csv", bad[i][0], strlen (bad[i][0]));
      assert_refused (f, "image-table", strv, bad[i][1]);
    }
}

/* A number for each picture. */
static void
test_image_table_numbers (Fixture *f, gconstpointer data)
{
  static const char *const strv[] = { "path", "t.csv", "size", "1", "color", "grey", "target_type", "float", NULL };
  static const char table[] = "x:image,y:label\np/1.bmp,-0.5\np/2.bmp,12\n", words[] = "x:image,y:label\np/1.bmp,old\n";
  g_autoptr (GByteArray) first = bmp (10), second = bmp (20);
  g_autoptr (LoomDataset) dataset = NULL;
  float x[2], y[2];
  g_autoptr (LoomTensor) pixels = NULL, targets = NULL;

  write_file (f, "p/1.bmp", first->data, first->len);
  write_file (f, "p/2.bmp", second->data, second->len);
  write_file (f, "t.csv", table, strlen (table));
  dataset = open_source (f, "image-table", strv);
  g_assert_no_error (f->error);
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  g_assert_cmpint (info->n_classes, ==, 0);
  g_assert_true (info->port[1].type.dtype == LOOM_F32 && info->port[1].type.shape.rank == 2);
  pixels = loom_tensor_new (LOOM_F32, 4, (gint64[]){ 2, 1, 1, 1 }, NULL);
  targets = loom_tensor_new (LOOM_F32, 2, (gint64[]){ 2, 1 }, NULL);
  g_assert_true (
      loom_dataset_read (dataset, LOOM_SPLIT_TRAIN, (gint64[]){ 0, 1 }, 2, (LoomTensor *[]){ pixels, targets }, NULL));
  memcpy (x, pixels->data, sizeof x);
  memcpy (y, targets->data, sizeof y);
  for (int i = 0; i < 2; i++)
    g_assert_cmpfloat (y[i], ==, lrintf (x[i] * 255) == 10 ? -0.5f : 12);
  write_file (f, "t.csv", words, strlen (words));
  assert_refused (f, "image-table", strv, "has the target “old”, which is not a number");
}

#define ADD(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/archives/webdataset", test_webdataset);
  ADD ("/archives/webdataset-bad", test_webdataset_bad);
  ADD ("/archives/webdataset-deep", test_webdataset_deep);
  ADD ("/archives/webdataset-guard", test_webdataset_guard);
  ADD ("/archives/above-link", test_above_link);
  ADD ("/archives/webdataset-pax", test_webdataset_pax);
  ADD ("/archives/image-table", test_image_table);
  ADD ("/archives/image-table-numbers", test_image_table_numbers);
  return g_test_run ();
}
