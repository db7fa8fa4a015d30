/* The formats that users mistake for weights, an array or a text. A format is recognised by its first bytes: magic
 * numbers, the first name in a zip archive, the keys of a JSON text. */
#include "engine/interop/loom-file-kind.h"

#include <stdlib.h>
#include <string.h>

#define HEAD 65536

typedef struct
{
  gboolean (*is) (const guint8 *data, gsize length);
  const char *magic; /* the first n bytes, if there is no function is() */
  gsize n;
  const char *words[LOOM_FILE_N_WANTED]; /* NULL: the format is the expected one */
} Kind;

gboolean
loom_file_begins (const guint8 *data, gsize length, const char *magic, gsize n)
{
  return length >= n && memcmp (data, magic, n) == 0;
}

static gboolean
has (const guint8 *data, gsize length, const char *word)
{
  return memmem (data, MIN (length, HEAD), word, strlen (word)) != NULL;
}

static gboolean
is_zip (const guint8 *data, gsize length)
{
  return loom_file_begins (data, length, "PK\003\004", 4);
}

/* torch.save: a zip archive whose first members are NAME/data.pkl and similar ones, or (before PyTorch 1.6) a
 * pickle. */
static gboolean
is_torch (const guint8 *data, gsize length)
{
  return (is_zip (data, length) && has (data, length, "data.pkl"))
         || (length > 2 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 && !(length > 8 && data[8] == '{'));
}

static gboolean
is_npz (const guint8 *data, gsize length)
{
  return is_zip (data, length) && has (data, length, ".npy");
}

/* The version is about 3, in either byte order. */
static gboolean
is_gguf (const guint8 *data, gsize length)
{
  return loom_file_begins (data, length, "GGUF", 4) && length > 6 && data[5] == 0 && data[6] == 0;
}

/* The index of a sharded model, a JSON text. A safetensors file begins with its header's length instead. */
static gboolean
is_index (const guint8 *data, gsize length)
{
  return length > 0 && data[0] == '{' && has (data, length, "\"weight_map\"");
}

static gboolean
is_safetensors (const guint8 *data, gsize length)
{
  return length > 10 && data[8] == '{' && data[9] == '"' && (data[6] | data[7]) == 0
         && (has (data, length, "\"data_offsets\"") || has (data, length, "\"__metadata__\""));
}

/* A model of ONNX begins with its version, and continues with the name of its producer, its domain, its graph or the
 * operator sets. */
static gboolean
is_onnx (const guint8 *data, gsize length)
{
  return length > 8 && data[0] == 0x08 && data[1] > 0 && data[1] < 32 && data[2] != 0
         && strchr ("\x12\x1a\x22\x3a\x42", data[2]) != NULL && data[8] != '{';
}

static gboolean
is_tar (const guint8 *data, gsize length)
{
  return length > 262 && memcmp (data + 257, "ustar", 5) == 0;
}

/* The index of a checkpoint of TensorFlow is a table of LevelDB, whose last bytes are its magic number. */
static gboolean
is_tensorflow (const guint8 *data, gsize length)
{
  return length > 8 && memcmp (data + length - 8, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8) == 0;
}

/* A map of MessagePack whose first key is a short text. */
static gboolean
is_msgpack (const guint8 *data, gsize length)
{
  const gsize n = length > 3 ? data[1] & 0x1f : 0;

  if (length <= 3 || data[0] < 0x81 || data[0] > 0x8f || (data[1] & 0xe0) != 0xa0 || n == 0 || length < n + 2)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!g_ascii_isgraph (data[2 + i]))
      return FALSE;
  return TRUE;
}

static gboolean
is_tflite (const guint8 *data, gsize length)
{
  return length > 8 && memcmp (data + 4, "TFL3", 4) == 0;
}

static gboolean
is_html (const guint8 *data, gsize length)
{
  gsize at = 0;

  while (at < length && g_ascii_isspace (data[at]))
    at++;
  return length - at > 5
         && (g_ascii_strncasecmp ((const char *)data + at, "<html", 5) == 0
             || (length - at > 9 && g_ascii_strncasecmp ((const char *)data + at, "<!doctype", 9) == 0));
}

#define LFS "version https://git-lfs"
#define PACKED(words)                                                                                                  \
  {                                                                                                                    \
    words, words, words                                                                                                \
  }

/* The order matters, because several kinds are zip archives. */
static const Kind kinds[] = {
  { is_torch,
    .words
    = { "is a file of torch.save, where a safetensors file is expected",
        "is a file of torch.save, which holds weights; in Python: numpy.save(\"x.npy\", "
        "torch.load(FILE, weights_only=True).numpy())",
        "is a file of torch.save, which holds weights; save its arrays with numpy.save, for the data set npy" } },
  { is_npz, .words = { "is an npz archive of NumPy, where a safetensors file is expected",
                       "is an npz archive, which holds several arrays of NumPy; use the data set npz for it",
                       "is an npz archive, which holds several arrays of NumPy; use the data set npz for it" } },
  { is_zip, .words = { "is a zip archive; unpack it first", "is a zip archive; unpack it first",
                       "is a zip archive or a spreadsheet (.xlsx, .ods); save the table as CSV, UTF-8" } },
  { .magic = "\x93NUMPY",
    .n = 6,
    .words
    = { "is an npy file, a single array without a name; weights are read from safetensors, .pth, .npz and GGUF files",
        NULL, "is a NumPy array; use the data set npy for it" } },
  { is_gguf, .words = { "is a GGUF file, where a safetensors file is expected",
                        "is a GGUF file, which holds weights; data are read from npy files",
                        "is a GGUF file, which holds weights, not text" } },
  { .magic = "\x89HDF\r\n\x1a\n",
    .n = 8,
    .words = { "is an HDF5 file, where a safetensors file is expected",
               "is an HDF5 file; save the array in it with numpy.save",
               "is an HDF5 file; save its arrays with numpy.save, for the data set npy" } },
  { is_index, .words = { "is the index of several shards, whose name has to end with .json",
                         "is the index of shards of weights; data are read from npy files", NULL } },
  { is_safetensors,
    .words
    = { NULL, "is a safetensors file, which holds weights; pass it with --weights, or save its array with numpy.save",
        "is a safetensors file, which holds weights, not text" } },
  { .magic = "\xd0\xcf\x11\xe0",
    .n = 4,
    .words = { "is a spreadsheet of an old Excel; weights are read from safetensors files",
               "is a spreadsheet of an old Excel; save the table as CSV, UTF-8, for the data set csv",
               "is a spreadsheet of an old Excel; save the table as CSV, UTF-8" } },
  { is_onnx, .words = { "is an ONNX model; gradloom import makes a graph and a safetensors file of it",
                        "is an ONNX model; gradloom import makes a graph and a safetensors file of it",
                        "is an ONNX model; gradloom import makes a graph and a safetensors file of it" } },
  { is_tar, .words = { "is a tar archive, as torch.save wrote before PyTorch 0.1.10; load it there, and save it again",
                       "is a tar archive; unpack it first", "is a tar archive; unpack it first" } },
  { .magic = "PAR1\x15",
    .n = 5,
    .words = { "is a Parquet file; weights are read from safetensors files",
               "is a Parquet file, a table; use the data set csv for it",
               "is a Parquet file, a table; use the data set csv for it" } },
  { .magic = "SQLite format 3",
    .n = 16,
    .words = { "is an SQLite database; weights are read from safetensors files",
               "is an SQLite database; export the table as CSV, for the data set csv",
               "is an SQLite database; export the table as CSV" } },
  { .magic = "\x28\xb5\x2f\xfd", .n = 4, .words = PACKED ("is compressed with zstd; unpack it with zstd -d") },
  { .magic = "\xfd"
             "7zXZ",
    .n = 5,
    .words = PACKED ("is compressed with xz; unpack it with xz -dk") },
  { .magic = LFS,
    .n = strlen (LFS),
    .words = PACKED ("is a pointer of Git LFS in place of the file; git lfs pull fetches it") },
  { is_html, .words = { "is a web page in place of the file; download it again",
                        "is a web page in place of the file; download it again", NULL } },
  { .magic = "\x1f\x8b", .n = 2, .words = { "is compressed with gzip; unpack it with gunzip -k", NULL, NULL } },
  { is_tensorflow,
    .words
    = { "is the index of a checkpoint of TensorFlow; load it there into a Keras model, and save that with save_weights",
        NULL, NULL } },
  { is_tflite, .words = { "is a model of TensorFlow Lite; save the Keras model that it was made of with save_weights",
                          NULL, NULL } },
  { is_msgpack,
    .words
    = { "is MessagePack, as Flax writes it; load it there, and save it with safetensors.flax.save_file", NULL, NULL } },
  { .magic = "BZh91AY&SY", .n = 10, .words = PACKED ("is compressed with bzip2; unpack it with bzip2 -dk") },
};

char *
loom_file_kind_words (const guint8 *data, gsize length, LoomFileWanted wanted)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i].is != NULL ? kinds[i].is (data, length) : loom_file_begins (data, length, kinds[i].magic, kinds[i].n))
      return g_strdup (kinds[i].words[wanted]);
  return NULL;
}

char *
loom_file_shard_words (const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autoptr (GRegex) pattern = g_regex_new ("-(\\d{5})-of-(\\d{5})\\.", 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  if (!g_regex_match (pattern, name, 0, &match))
    return NULL;
  g_autofree char *number = g_match_info_fetch (match, 1), *all = g_match_info_fetch (match, 2);
  if (atoi (all) < 2)
    return NULL;
  return g_strdup_printf ("Its name is that of shard %d of %d; name the index (.safetensors.index.json) or the folder.",
                          atoi (number), atoi (all));
}
