/* Safetensors: there and back, alignment, and damaged headers with their sentences. */
#include "engine/interop/loom-file-kind.h"
#include "engine/interop/loom-safetensors.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <string.h>

#include "engine/core/loom-error.h"

static void
add (GPtrArray *tensors, const char *name, LoomDType dtype, int rank, gint64 a, gint64 b)
{
  const gint64 dims[] = { a, b };
  g_autoptr (LoomTensor) t = loom_tensor_new (dtype, rank, dims, NULL);

  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, i + 1);
  g_ptr_array_add (tensors, loom_named_tensor_new (name, t));
}

static void
test_round_trip (void)
{
  g_autofree char *folder = g_dir_make_tmp ("loom-safetensors-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "w.safetensors", NULL);
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  g_autoptr (GHashTable) metadata = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GError) error = NULL;
  LoomTensorFile *file;
  g_autoptr (LoomTensor) kept = NULL;
  g_autofree char *content = NULL;
  gsize length;

  for (LoomDType dtype = 0; dtype < LOOM_N_DTYPES; dtype++)
    add (tensors, loom_dtype_name (dtype), dtype, 2, 3, 1);
  add (tensors, "quote \" and ü", LOOM_F32, 0, 0, 0);
  add (tensors, "empty", LOOM_F32, 2, 0, 4);
  g_hash_table_insert (metadata, "format", "pt");
  g_assert_true (loom_safetensors_save (path, tensors, metadata, &error));
  g_assert_no_error (error);

  g_assert_true (g_file_get_contents (path, &content, &length, NULL));
  g_assert_cmpint (content[0] % 8, ==, 0);
  g_assert_true (g_str_has_prefix (content + 8, "{\"__metadata__\":{\"format\":\"pt\"},"));

  file = loom_safetensors_open (path, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_tensor_file_count (file), ==, tensors->len);
  g_assert_cmpstr (loom_tensor_file_metadata (file, "format"), ==, "pt");
  g_assert_null (loom_tensor_file_metadata (file, "none"));
  g_assert_cmpint (loom_tensor_file_find (file, "none"), ==, -1);
  for (guint i = 0; i < tensors->len; i++)
    {
      const LoomNamedTensor *named = g_ptr_array_index (tensors, i);
      int at = loom_tensor_file_find (file, named->name);
      g_autoptr (LoomTensor) t = loom_tensor_file_tensor (file, (guint)at, &error);

      g_assert_cmpstr (loom_tensor_file_name (file, (guint)at), ==, named->name);
      g_assert_true (loom_tensor_equal_bits (t, named->tensor));
    }
  /* Wide elements first, then by name. */
  for (guint i = 1; i < loom_tensor_file_count (file); i++)
    {
      gsize before = loom_dtype_size (loom_tensor_file_type (file, i - 1).dtype);
      gsize size = loom_dtype_size (loom_tensor_file_type (file, i).dtype);

      g_assert_cmpuint (before, >=, size);
      if (before == size && loom_tensor_file_type (file, i).shape.dim[0].coef > 0)
        g_assert_cmpstr (loom_tensor_file_name (file, i - 1), <, loom_tensor_file_name (file, i));
    }
  /* A tensor outlives its file. */
  kept = loom_tensor_file_tensor (file, (guint)loom_tensor_file_find (file, "f32"), &error);
  loom_tensor_file_free (file);
  g_assert_cmpfloat (loom_tensor_get (kept, 2), ==, 3);

  add (tensors, "f32", LOOM_F32, 1, 1, 0);
  g_assert_false (loom_safetensors_save (path, tensors, NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_unlink (path);
  g_rmdir (folder);
}

static LoomTensorFile *
parse (const char *header, gsize data_length, GError **error)
{
  g_autoptr (GByteArray) content = g_byte_array_new ();
  g_autoptr (GBytes) bytes = NULL;
  guint64 length = GUINT64_TO_LE (strlen (header));

  g_byte_array_append (content, (const guint8 *)&length, 8);
  g_byte_array_append (content, (const guint8 *)header, strlen (header));
  for (gsize i = 0; i < data_length; i++)
    g_byte_array_append (content, (const guint8 *)"\0", 1);
  bytes = g_byte_array_free_to_bytes (g_steal_pointer (&content));
  return loom_safetensors_open_bytes (bytes, "w", error);
}

static void
test_unaligned (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) file = parse ("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                                           "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}",
                                           5, &error);
  g_autoptr (LoomTensor) t = NULL;

  g_assert_no_error (error);
  t = loom_tensor_file_tensor (file, 1, &error);
  g_assert_cmpint ((guintptr)t->data % 4, ==, 0);
  g_assert_cmpfloat (loom_tensor_get (t, 0), ==, 0);
}

#define JSON_FAULT "“w” is not a safetensors file, or is damaged: its header is not JSON of the expected form."

static void
test_bad (void)
{
  static const struct
  {
    const char *header, *message;
  } cases[] = {
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[6],\"data_offsets\":[0,6]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
      "“w” has a damaged header: tensors “a” and “b” overlap." },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
      "“w” has a damaged header: the 2 bytes before tensor “b” belong to no tensor." },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
      "“w” has a damaged header: the last 6 bytes of data belong to no tensor." },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}",
      "“w” is truncated or damaged: tensor “a” ends at byte 12 of the data, which has 8." },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}",
      "“w” has a damaged header: tensor “a” has 8 bytes, but its shape and type need 12." },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,8]}}",
      "“w” has a damaged header: tensor “a” is too large." },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
      "“w” has a damaged header: the shape of tensor “a” is not a list of at most 8 sizes." },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}",
      "“w” has a damaged header: the data_offsets of tensor “a” are not a range." },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0.5,8]}}",
      "“w” has a damaged header: the data_offsets of tensor “a” are not a range." },
    { "{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "“w” has a damaged header: tensor “a” has no dtype." },
    { "{\"a\":3}", "“w” has a damaged header at tensor “a”." },
    { "{\"__metadata__\":{\"a\":1}}", "“w” has a damaged header: __metadata__ is not a map of strings." },
    { "[]", "“w” has a damaged header: it is not a JSON object." },
    { "{\"a\":", JSON_FAULT },
    { "[[[[[[[[[[[[[[[[", JSON_FAULT },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (parse (cases[i].header, 8, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
      g_assert_cmpstr (error->message, ==, cases[i].message);
    }
}

/* Tensors of types that cannot be read are listed, and refused where they are wanted; those next to them are read. */
static void
test_unread (void)
{
  static const char *const dtypes[] = { "F3", "C128", "I4", "none of today" };

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      g_autofree char *header = g_strdup_printf ("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                                                 "\"b\":{\"dtype\":\"%s\",\"shape\":[2,3],\"data_offsets\":[4,8]}}",
                                                 dtypes[i]);
      g_autofree char *said = g_strdup_printf (
          "“w” has the tensor “b” of the unsupported type “%s”; convert it to F32, F16 or BF16 and save it again.",
          dtypes[i]);
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomTensorFile) file = parse (header, 8, &error);
      g_assert_no_error (error);
      g_autoptr (LoomTensor) a = loom_tensor_file_tensor (file, 0, &error);
      g_assert_no_error (error);
      g_assert_null (loom_tensor_file_unread (file, 0));
      g_assert_cmpstr (loom_tensor_file_unread (file, 1), ==, dtypes[i]);
      g_assert_cmpint (loom_tensor_file_type (file, 1).shape.rank, ==, 2);
      g_assert_null (loom_tensor_file_tensor (file, 1, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
      g_assert_cmpstr (error->message, ==, said);
    }
}

/* Every value of the floats of 6 bits, four in three bytes: the least, one, the greatest, and a negative one. A complex
 * number is two of f32. */
static void
test_small_types (void)
{
  static const struct
  {
    const char *dtype;
    double least, greatest;
    int one; /* its bits */
  } types[] = { { "F6_E2M3", 0.125, 7.5, 8 }, { "F6_E3M2", 0.0625, 28, 12 } };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      const guint32 bits = 1 | (guint32)types[i].one << 6 | 31 << 12 | 63u << 18;
      const double want[] = { types[i].least, 1, types[i].greatest, -types[i].greatest };
      g_autofree char *header
          = g_strdup_printf ("{\"a\":{\"dtype\":\"%s\",\"shape\":[4],\"data_offsets\":[0,3]}}", types[i].dtype);
      const guint8 data[] = { (guint8)bits, (guint8)(bits >> 8), (guint8)(bits >> 16) };
      g_autoptr (GByteArray) whole = g_byte_array_new ();
      guint8 length[8] = { (guint8)strlen (header) };
      g_autoptr (GError) error = NULL;

      g_byte_array_append (whole, length, 8);
      g_byte_array_append (whole, (const guint8 *)header, (guint)strlen (header));
      g_byte_array_append (whole, data, 3);
      g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (g_steal_pointer (&whole));
      g_autoptr (LoomTensorFile) file = loom_safetensors_open_bytes (bytes, "w", &error);
      g_assert_no_error (error);
      g_autoptr (LoomTensor) t = loom_tensor_file_tensor (file, 0, &error);
      g_assert_no_error (error);
      for (gint64 k = 0; k < 4; k++)
        g_assert_cmpfloat (loom_tensor_get (t, k), ==, want[k]);
    }

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) file
      = parse ("{\"a\":{\"dtype\":\"C64\",\"shape\":[3],\"data_offsets\":[0,24]}}", 24, &error);
  g_assert_no_error (error);
  const LoomType type = loom_tensor_file_type (file, 0);
  g_assert_cmpint (type.dtype, ==, LOOM_F32);
  g_assert_cmpint (type.shape.rank, ==, 2);
  g_assert_cmpint (type.shape.dim[1].coef, ==, 2);
}

/* A tie that the metadata name. */
static void
test_tied (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensorFile) file = parse ("{\"__metadata__\":{\"format\":\"pt\",\"wte\":\"head\",\"lost\":\"none\"},"
                                           "\"head\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                                           4, &error);

  g_assert_no_error (error);
  g_assert_cmpint (loom_tensor_file_find (file, "head"), ==, 0);
  g_assert_cmpint (loom_tensor_file_find (file, "wte"), ==, 0);
  g_assert_cmpint (loom_tensor_file_find (file, "lost"), ==, -1);
  g_assert_cmpint (loom_tensor_file_find (file, "format"), ==, -1);
}

static void
test_kinds (void)
{
  static const struct
  {
    const char *bytes;
    gsize length;
    const char *words[LOOM_FILE_N_WANTED]; /* how the sentences begin; NULL: none */
  } cases[] = {
    { "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\0\0\0archive/data.pkl",
      46,
      { "is a file of torch.save", "is a file of torch.save", "is a file of torch.save" } },
    { "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.",
      15,
      { "is a file of torch.save", "is a file of torch.save", "is a file of torch.save" } },
    { "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.npy",
      35,
      { "is an npz archive", "is an npz archive", "is an npz archive" } },
    { "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0x.txt",
      35,
      { "is a zip archive", "is a zip archive", "is a zip archive or a spreadsheet" } },
    { "GGUF\3\0\0\0", 8, { "is a GGUF file", "is a GGUF file", "is a GGUF file" } },
    { "GGUF is a format.", 17, { NULL, NULL, NULL } },
    { "\x89HDF\r\n\x1a\n\0", 9, { "is an HDF5 file", "is an HDF5 file", "is an HDF5 file" } },
    { "\x93NUMPY\1\0", 8, { "is an npy file", NULL, "is a NumPy array; use the data set npy for it" } },
    { "{\"metadata\":{},\"weight_map\":{\"a\":\"b\"}}",
      38,
      { "is the index of several shards", "is the index of shards", NULL } },
    { "\100\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
      61,
      { NULL, "is a safetensors file", "is a safetensors file" } },
    /* A header of 640 bytes begins as a pickle does. */
    { "\x80\2\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
      61,
      { NULL, "is a safetensors file", "is a safetensors file" } },
    { "PAR1\x15\4", 6, { "is a Parquet file", "is a Parquet file", "is a Parquet file" } },
    { "\xfd"
      "7zXZ\0",
      6,
      { "is compressed with xz", "is compressed with xz", "is compressed with xz" } },
    { "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
      56,
      { "is a pointer of Git LFS", "is a pointer of Git LFS", "is a pointer of Git LFS" } },
    { "\n<!DOCTYPE html><html>", 22, { "is a web page", "is a web page", NULL } },
    { "<html lang=\"en\">", 16, { "is a web page", "is a web page", NULL } },
    { "\x1f\x8b\10", 3, { "is compressed with gzip", NULL, NULL } },
    { "index\0\0\x57\xfb\x80\x8b\x24\x75\x47\xdb", 15, { "is the index of a checkpoint of TensorFlow", NULL, NULL } },
    { "\x1c\0\0\0TFL3\x14", 9, { "is a model of TensorFlow Lite", NULL, NULL } },
    { "\x81\xa6params\x81\xa3"
      "fc1",
      13,
      { "is MessagePack", NULL, NULL } },
    { "\x81\xa6par\0ms", 8, { NULL, NULL, NULL } },
    { "x,y\n1,2\n", 8, { NULL, NULL, NULL } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (LoomFileWanted wanted = 0; wanted < LOOM_FILE_N_WANTED; wanted++)
      {
        const char *want = cases[i].words[wanted];
        g_autofree char *words = loom_file_kind_words ((const guint8 *)cases[i].bytes, cases[i].length, wanted);

        if (want == NULL)
          g_assert_null (words);
        else
          g_assert_true (words != NULL && g_str_has_prefix (words, want));
      }
  g_autofree char *shard = loom_file_shard_words ("a/model-00002-of-00003.safetensors");
  g_assert_true (g_str_has_prefix (shard, "Its name is that of shard 2 of 3"));
  g_assert_null (loom_file_shard_words ("model-00001-of-00001.safetensors"));
  g_assert_null (loom_file_shard_words ("model.safetensors"));
}

static void
test_files (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  g_autoptr (GBytes) lie = g_bytes_new_static ("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
  g_autoptr (GBytes) truncated = g_bytes_new_static ("\x02", 1);

  g_assert_null (loom_safetensors_open ("/nonexistent/w", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);
  g_assert_null (loom_safetensors_open ("/", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);
  g_assert_null (loom_safetensors_open_bytes (lie, "w", &error));
  g_assert_cmpstr (error->message, ==,
                   "“w” is not a safetensors file, or is truncated: its header would be longer than the file.");
  g_clear_error (&error);
  g_assert_null (loom_safetensors_open_bytes (truncated, "w", &error));
  g_assert_cmpstr (error->message, ==, "“w” is not a safetensors file: it is too short.");
  g_clear_error (&error);

  add (tensors, "a", LOOM_F32, 1, 4, 0);
  if (!g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    {
      g_test_skip ("there is no /dev/full to play a full disk");
      return;
    }
  g_assert_false (loom_safetensors_save ("/dev/full", tensors, NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/safetensors/round-trip", test_round_trip);
  g_test_add_func ("/safetensors/unaligned", test_unaligned);
  g_test_add_func ("/safetensors/bad", test_bad);
  g_test_add_func ("/safetensors/unread", test_unread);
  g_test_add_func ("/safetensors/small-types", test_small_types);
  g_test_add_func ("/safetensors/tied", test_tied);
  g_test_add_func ("/safetensors/kinds", test_kinds);
  g_test_add_func ("/safetensors/files", test_files);
  return g_test_run ();
}
