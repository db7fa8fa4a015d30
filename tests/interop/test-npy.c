/* NumPy files: every type there and back, foreign orders and widths, and damaged files
 * with the sentences they cause. Headers are spelt out as NumPy writes them. */
#include "engine/interop/loom-npy.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <string.h>

#include "engine/core/loom-error.h"

/* A file of this version with this header text and these numbers. */
static GByteArray *
make_file (guint8 version, const char *header, gconstpointer numbers, gsize length)
{
  GByteArray *file = g_byte_array_new ();
  gsize n = strlen (header);
  const guint8 head[12] = { 0x93, 'N', 'U', 'M', 'P', 'Y', version, 0, n & 0xff, n >> 8, 0, 0 };

  g_byte_array_append (file, head, version == 1 ? 10 : 12);
  g_byte_array_append (file, (const guint8 *)header, n);
  g_byte_array_append (file, numbers, length);
  return file;
}

static LoomTensor *
parse (guint8 version, const char *header, gconstpointer numbers, gsize length, GError **error)
{
  g_autoptr (GByteArray) file = make_file (version, header, numbers, length);

  return loom_npy_parse (file->data, file->len, "a.npy", error);
}

static void
test_round_trip (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-npy-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.npy", NULL);
  const gint64 dims[] = { 2, 3, 1 };

  for (LoomDType dtype = 0; dtype < LOOM_N_DTYPES; dtype++)
    {
      for (int rank = 0; rank <= 3; rank++)
        {
          g_autoptr (GError) error = NULL;
          g_autoptr (LoomTensor) t = loom_tensor_new (dtype, rank, dims, NULL), back = NULL;
          LoomType type;

          for (gint64 i = 0; i < t->count; i++)
            loom_tensor_set (t, i, loom_dtype_is_float (dtype) ? i - 1.5 : i);
          g_assert_true (loom_npy_save (path, t, &error));
          back = loom_npy_load (path, &error);
          g_assert_no_error (error);
          g_assert_true (loom_npy_describe (path, &type, &error));
          g_assert_cmpint (type.dtype, ==, back->dtype);
          g_assert_cmpint (type.shape.rank, ==, rank);
          g_assert_cmpint (back->dtype, ==, dtype == LOOM_BF16 ? LOOM_F32 : dtype);
          for (gint64 i = 0; i < t->count; i++)
            g_assert_cmpfloat (loom_tensor_get (back, i), ==, loom_tensor_get (t, i));
          if (dtype != LOOM_BF16)
            g_assert_true (loom_tensor_equal_bits (back, t));
        }
    }
  g_unlink (path);
  g_rmdir (folder);
}

/* The exact bytes of numpy.save for numpy.array([1, 2], dtype="<i4"). */
static void
test_bytes (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-npy-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.npy", NULL);
  g_autofree char *content = NULL;
  const char start[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }  ";
  const gint64 n = 2;
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_I32, 1, &n, NULL);
  gsize length;

  loom_tensor_set (t, 0, 1);
  loom_tensor_set (t, 1, 2);
  g_assert_true (loom_npy_save (path, t, NULL));
  g_assert_true (g_file_get_contents (path, &content, &length, NULL));
  g_assert_cmpmem (content, sizeof start - 1, start, sizeof start - 1);
  g_assert_cmpint (content[127], ==, '\n');
  g_assert_cmpmem (content + 128, length - 128, "\1\0\0\0\2\0\0\0", 8);
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_fortran (void)
{
  const float numbers[] = { 0, 3, 1, 4, 2, 5 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) t
      = parse (1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", numbers, sizeof numbers, &error);

  g_assert_no_error (error);
  g_assert_cmpint (t->dim[0], ==, 2);
  for (int i = 0; i < 6; i++)
    g_assert_cmpfloat (loom_tensor_get (t, i), ==, i);
}

static void
test_widths (void)
{
  static const struct
  {
    const char *descr, *bytes;
    gsize length;
    gint64 expected;
  } cases[] = {
    { "|i1", "\xff", 1, -1 },
    { "<i2", "\xfe\xff", 2, -2 },
    { "<u2", "\xfe\xff", 2, 65534 },
    { "<u4", "\xff\xff\xff\xff", 4, 4294967295 },
    { "<u8", "\1\0\0\0\0\0\0\0", 8, 1 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      for (guint8 version = 1; version <= 3; version++)
        {
          g_autofree char *header
              = g_strdup_printf ("{\"shape\": (1L,), 'fortran_order': False, 'descr': '%s'}", cases[i].descr);
          g_autoptr (GError) error = NULL;
          g_autoptr (LoomTensor) t = parse (version, header, cases[i].bytes, cases[i].length, &error);

          g_assert_no_error (error);
          g_assert_cmpint (t->dtype, ==, LOOM_I64);
          g_assert_cmpint (*(gint64 *)t->data, ==, cases[i].expected);
        }
    }
}

static void
test_bad (void)
{
  static const struct
  {
    const char *header, *message;
  } cases[] = {
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
      "“a.npy” is truncated: by its header it has 12 bytes of numbers, but it contains 8." },
    { "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
      "“a.npy” is big endian (>f4); save it as little endian, with .astype('<f4')." },
    { "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
      "“a.npy” has elements of type “<c8”; only floats (f8, f4, f2), integers and bool are supported." },
    { "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
      "“a.npy” has elements of type “|O”; only floats (f8, f4, f2), integers and bool are supported." },
    { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
      "“a.npy” holds records with fields; save each field as a separate array." },
    { "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }",
      "“a.npy” holds unsigned integers that are too large for i64, the first as element 0." },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
      "“a.npy” has more than 8 dimensions." },
    { "{'descr': '<f4', 'fortran_order': False, }",
      "“a.npy” has a damaged npy header; write it again with numpy.save." },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
      "“a.npy” has a damaged npy header; write it again with numpy.save." },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }",
      "“a.npy” has a damaged npy header; write it again with numpy.save." },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
      "“a.npy” has a damaged npy header; write it again with numpy.save." },
    { "{'descr': '<f4", "“a.npy” has a damaged npy header; write it again with numpy.save." },
    { "", "“a.npy” has a damaged npy header; write it again with numpy.save." },
  };
  const guint8 numbers[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (parse (1, cases[i].header, numbers, sizeof numbers, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
      g_assert_cmpstr (error->message, ==, cases[i].message);
    }
}

/* Every beginning of a good file is refused, and none crashes. */
static void
test_cut (void)
{
  const float numbers[] = { 1, 2 };
  g_autoptr (GByteArray) file
      = make_file (1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", numbers, sizeof numbers);

  for (gsize n = 0; n < file->len; n++)
    {
      g_autofree guint8 *part = g_memdup2 (file->data, n);
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_npy_parse (part, n, "a.npy", &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
    }
}

static void
test_files (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (loom_npy_load ("/nonexistent/a.npy", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);
  g_assert_null (loom_npy_load ("/etc/passwd", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_cmpstr (error->message, ==,
                   "“/etc/passwd” is not an npy file (its first bytes are not \\x93NUMPY); write it with numpy.save.");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/npy/round-trip", test_round_trip);
  g_test_add_func ("/npy/bytes", test_bytes);
  g_test_add_func ("/npy/fortran", test_fortran);
  g_test_add_func ("/npy/widths", test_widths);
  g_test_add_func ("/npy/bad", test_bad);
  g_test_add_func ("/npy/cut", test_cut);
  g_test_add_func ("/npy/files", test_files);
  return g_test_run ();
}
