/* Models that lie or are too large, numbers in external files, and damaged copies: each gives a graph or a sentence. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/onnx/loom-onnx.h"
#include "tests/onnx/onnx-bytes.h"
#include "tests/onnx/onnx-reading.h"
#include "tests/test-program.h"

/* A table of [nodes, targets] that a short file would make large. */
static void
test_large_trees (void)
{
  enum
  {
    N = 1100
  };
  g_autofree gint64 *zeros = g_new0 (gint64, N), *ids = g_new (gint64, N);
  GByteArray *n = node ("TreeEnsembleRegressor", "forest", "x", "y");

  for (gint64 i = 0; i < N; i++)
    ids[i] = i;
  put_text (n, 7, "ai.onnx.ml");
  put_list (n, "nodes_treeids", zeros, N, NULL);
  put_list (n, "nodes_nodeids", ids, N, NULL);
  put_attribute (n, "n_targets", 65536);
  expect (model (single (n), 17), "it has 1100 nodes and 65536 targets");
}

/* Tables whose sizes are announced by a short file. */
static void
test_large_regions (void)
{
  static const gint64 offset[] = { 1, 18, 60000, 60000 }, weight[] = { 4, 4, 3, 3 };
  GByteArray *n = node ("RoiAlign", "regions", "x x x", "y"), *g;

  put_attribute (n, "output_height", 65536);
  put_attribute (n, "sampling_ratio", 65536);
  expect (model (single (n), 16), "its regions have 4294967296 samples along a side");
  g = single (node ("DeformConv", "deform", "x w offset", "y"));
  put_part (g, 5, tensor ("w", 4, weight, 144, 0));
  put_part (g, 11, port ("offset", 4, offset));
  expect (model (g, 19), "its kernel and its offsets make more than 16777216 positions");
}

static void
test_lies (void)
{
  static const gint64 other[] = { 4, 3 }, more[] = { 3, 5 }, huge[] = { G_MAXINT32, G_MAXINT32 },
                      negative[] = { -3, -4 }, filter[] = { 4, 4, 3, 3 };

  expect (g_byte_array_new (), "contains no ONNX model");
  expect (model (classifier (other, "Relu"), 13), "does not work");
  expect (model (classifier (more, "Relu"), 13), "should have 15 numbers");
  expect (model (classifier (huge, "Relu"), 13), "impossible sizes");
  expect (model (classifier (negative, "Relu"), 13), "impossible sizes");
  expect (model (classifier (good_dims, "Relu"), 99), "operator set 99");
  expect (model (single (node ("OptionalHasElement", "has", "nowhere", "y")), 18), "its input number 1 is missing");

  /* External numbers. */
  GByteArray *g = classifier (good_dims, "Add"), *t = g_byte_array_new (), *entry = g_byte_array_new ();
  put_text (entry, 1, "location");
  put_text (entry, 2, "/etc/passwd");
  put_int (t, 2, 1);
  put_text (t, 8, "elsewhere");
  put_part (t, 13, entry);
  put_int (t, 14, 1);
  put_part (g, 5, t);
  expect (model (g, 13), "not in a folder");

  /* An input that nothing makes. */
  g = classifier (good_dims, "Relu");
  put_part (g, 1, node ("Relu", "late", "ghost", "seen"));
  put_part (g, 12, port ("seen", 1, good_dims));
  expect (model (g, 13), "“ghost”");

  /* A value that is made from itself, and one that is an input. */
  for (guint i = 0; i < 2; i++)
    {
      g = single (node ("Conv", "conv", "x w a", "y"));
      put_part (g, 5, tensor ("w", 4, filter, 144, 0));
      put_part (g, 1, node ("Transpose", "first", "z", i == 0 ? "a" : "b"));
      put_part (g, 1, node ("Transpose", "second", "a", "a"));
      put_part (g, 11, port (i == 0 ? "z" : "a", 1, filter));
      expect (model (g, 16), "“a” is made twice, the second time by a node Transpose");
    }

  /* A graph in a graph in a graph … */
  g = g_byte_array_new ();
  for (guint i = 0; i < 200; i++)
    {
      GByteArray *a = g_byte_array_new (), *n = g_byte_array_new (), *around = g_byte_array_new ();
      put_part (a, 6, g);
      put_part (n, 5, a);
      put_part (around, 1, n);
      g = around;
    }
  expect (model (g, 13), "nested too deeply");
}

/* Three floats in another file; a NULL entry is left out. */
static GByteArray *
external (const char *name, const char *location, const char *offset, const char *length)
{
  const char *const entries[] = { "location", location, "offset", offset, "length", length };
  GByteArray *t = g_byte_array_new ();

  put_int (t, 1, 3);
  put_int (t, 2, 1);
  put_text (t, 8, name);
  for (guint i = 0; i < G_N_ELEMENTS (entries); i += 2)
    if (entries[i + 1] != NULL)
      {
        GByteArray *entry = g_byte_array_new ();
        put_text (entry, 1, entries[i]);
        put_text (entry, 2, entries[i + 1]);
        put_part (t, 13, entry);
      }
  put_int (t, 14, 1);
  return t;
}

/* Writes a model that adds two such tensors to its input, and reads it; takes them. The sentence, or NULL. */
static char *
read_external (const char *folder, GByteArray *w, GByteArray *v)
{
  static const gint64 dims[] = { 3 };
  g_autofree char *path = g_build_filename (folder, "model.onnx", NULL);
  GByteArray *g = g_byte_array_new ();
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;

  put_part (g, 5, w);
  put_part (g, 5, v);
  put_part (g, 1, node ("Add", "first", "x w", "a"));
  put_part (g, 1, node ("Add", "second", "a v", "y"));
  put_part (g, 11, port ("x", 1, dims));
  put_part (g, 12, port ("y", 1, dims));
  g_autoptr (GByteArray) bytes = model (g, 13);
  g_assert_true (g_file_set_contents (path, (const char *)bytes->data, bytes->len, NULL));
  g_autoptr (LoomOnnx) read = loom_onnx_read_file (path, NULL, faults, &error);
  if (read == NULL)
    {
      g_assert_no_error (error);
      loom_faults_to_error (faults, NULL, &error);
      g_assert_nonnull (error);
      return g_strdup (error->message);
    }
  for (guint i = 0; i < read->weights->len; i++)
    {
      const LoomNamedTensor *t = read->weights->pdata[i];
      for (gint64 k = 0; k < 3; k++)
        g_assert_cmpfloat (loom_tensor_get (t->tensor, k), ==, (double)k + 1 + (g_str_equal (t->name, "v") ? 3 : 0));
    }
  g_assert_cmpuint (read->weights->len, ==, 2);
  return NULL;
}

static void
test_external (void)
{
  static const float six[] = { 1, 2, 3, 4, 5, 6 };
  static const struct
  {
    const char *location, *offset, *length, *says; /* of the first; the second lies at 12 and is right */
  } rows[] = {
    { "d", "0", "12", NULL },
    { "d", NULL, "12", NULL },
    { "./d", "0", "12", NULL },
    { "near", "0", "12", NULL },
    { "nowhere", "0", "12", "does not exist" },
    { NULL, "0", "12", "only files in the model's folder" },
    { "", "0", "12", "only files in the model's folder" },
    { "..", "0", "12", "only files in the model's folder" },
    { "../d", "0", "12", "only files in the model's folder" },
    { "folder/d", "0", "12", NULL },
    { "./folder/d", "0", "12", NULL },
    { "folder/../d", "0", "12", "only files in the model's folder" },
    { "folder//d", "0", "12", "only files in the model's folder" },
    { "sub/d", "0", "12", "does not exist" },
    { "away/d", "0", "12", "cannot be read" },
    { "folder/far", "0", "12", "a link out of the model's folder" },
    { "/etc/passwd", "0", "12", "only files in the model's folder" },
    { "far", "0", "12", "a link out of the model's folder" },
    { "folder", "0", "12", "not a regular file" },
    { "pipe", "0", "12", "not a regular file" },
    { "d", "0", "8", "needs 12 bytes" },
    { "d", "0", NULL, "needs 12 bytes" },
    { "d", "0", "9223372036854775807", "needs 12 bytes" },
    { "d", "-4", "12", "is not a number" },
    { "d", "0", "99999999999999999999", "is not a number" },
    { "d", "0x0", "12", "is not a number" },
    { "d", "16", "12", "truncated" },
    { "d", "9223372036854775807", "12", "truncated" },
    { "d", "4", "12", "shares bytes" },
    { "empty", "0", "12", "truncated" },
  };
  g_autofree char *folder = g_dir_make_tmp ("gradloom-onnx-XXXXXX", NULL), *data = g_build_filename (folder, "d", NULL);
  g_autofree char *near = g_build_filename (folder, "near", NULL), *far = g_build_filename (folder, "far", NULL);
  g_autofree char *sub = g_build_filename (folder, "folder", NULL), *pipe = g_build_filename (folder, "pipe", NULL);
  g_autofree char *empty = g_build_filename (folder, "empty", NULL), *m = g_build_filename (folder, "model.onnx", NULL);
  g_autofree char *below = g_build_filename (sub, "d", NULL), *beyond = g_build_filename (sub, "far", NULL);
  g_autofree char *away = g_build_filename (folder, "away", NULL);
  const char *const made[] = { m, data, near, far, below, beyond, away, sub, pipe, empty, folder };

  g_assert_true (g_file_set_contents (data, (const char *)six, sizeof six, NULL));
  g_assert_true (g_file_set_contents (empty, "", 0, NULL));
  g_assert_cmpint (symlink ("d", near), ==, 0);
  g_assert_cmpint (symlink ("/etc/passwd", far), ==, 0);
  g_assert_cmpint (g_mkdir (sub, 0700), ==, 0);
  g_assert_true (g_file_set_contents (below, (const char *)six, sizeof six / 2, NULL));
  g_assert_cmpint (symlink ("../d", beyond), ==, 0);
  g_assert_cmpint (symlink ("folder", away), ==, 0);
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *said = read_external (folder, external ("w", rows[i].location, rows[i].offset, rows[i].length),
                                             external ("v", "d", "12", "12"));
      if (rows[i].says != NULL ? said == NULL || strstr (said, rows[i].says) == NULL : said != NULL)
        g_error ("row %u says “%s”", i, said != NULL ? said : "(nothing)");
    }
  /* A file that is missing is reported once. */
  g_autofree char *once = read_external (folder, external ("w", "gone", "0", "12"), external ("v", "gone", "12", "12"));
  g_assert_nonnull (strstr (once, "does not exist"));
  g_assert_null (strstr (strstr (once, "does not exist") + 1, "does not exist"));
  for (guint i = 0; i < G_N_ELEMENTS (made); i++)
    g_remove (made[i]);
}

static void
test_truncated (void)
{
  g_autoptr (GByteArray) whole = model (classifier (good_dims, "Relu"), 13);

  for (guint n = 0; n < whole->len; n++)
    {
      GByteArray *part = g_byte_array_new ();
      g_byte_array_append (part, whole->data, n);
      /* A field that is cut off at the very end may have a default. */
      g_free (sentence (part));
    }
}

static void
damage (const guint8 *data, gsize length, GRand *rand, guint times)
{
  for (guint i = 0; i < times; i++)
    {
      GByteArray *copy = g_byte_array_new ();
      g_byte_array_append (copy, data, (guint)length);
      for (guint k = (guint)g_rand_int_range (rand, 1, 4); k > 0; k--)
        {
          static const guint8 likely[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 8, 10 };
          guint at = (guint)g_rand_int_range (rand, 0, (gint32)copy->len);
          copy->data[at] = g_rand_boolean (rand) ? likely[g_rand_int_range (rand, 0, G_N_ELEMENTS (likely))]
                                                 : (guint8)g_rand_int_range (rand, 0, 256);
        }
      g_free (sentence (copy));
    }
}

static void
test_damaged (void)
{
  g_autoptr (GByteArray) whole = model (classifier (good_dims, "Relu"), 13);
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  const char *folder = "/usr/share/libonnx-testdata/data";
  static const char *const groups[] = { "node", "pytorch-converted", "pytorch-operator", "simple" };
  const char *more = g_getenv ("GRADLOOM_FUZZ");
  guint times = more != NULL ? (guint)g_ascii_strtoull (more, NULL, 10) : 1;

  damage (whole->data, whole->len, rand, 2000 * times);
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    {
      g_autofree char *group = g_build_filename (folder, groups[i], NULL);
      g_autoptr (GDir) dir = g_dir_open (group, 0, NULL);
      const char *name;
      while (dir && (name = g_dir_read_name (dir)))
        {
          g_autofree char *path = g_build_filename (group, name, "model.onnx", NULL), *data = NULL;
          gsize length;
          if (g_file_get_contents (path, &data, &length, NULL) && length < 20000)
            damage ((const guint8 *)data, length, rand, 3 * times);
        }
    }
}

static void
test_many_attributes (void)
{
  for (guint n = 64; n <= 65; n++)
    {
      GByteArray *relu = node ("Relu", "odd", "x", "y");

      for (guint i = 0; i + 1 < n; i++)
        put_attribute (relu, "seed", 1);
      put_attribute (relu, n == 64 ? "seed" : "slope", 1);
      if (n == 64)
        g_free (written (model (single (relu), 17)));
      else
        expect (model (single (relu), 17), "node odd: Relu: it has 65 attributes; the limit is 64");
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/onnx-reader/large-trees", test_large_trees);
  g_test_add_func ("/onnx-reader/large-regions", test_large_regions);
  g_test_add_func ("/onnx-reader/lies", test_lies);
  g_test_add_func ("/onnx-reader/external", test_external);
  g_test_add_func ("/onnx-reader/many-attributes", test_many_attributes);
  g_test_add_func ("/onnx-reader/truncated", test_truncated);
  g_test_add_func ("/onnx-reader/damaged", test_damaged);
  return g_test_run ();
}
