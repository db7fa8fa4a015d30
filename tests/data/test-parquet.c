/* Parquet files that pyarrow wrote (parquet/make.py), compared with the text of their tables; and as data sets. */
#include <string.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-dataset.h"
#include "engine/data/loom-parquet.h"
#include "engine/data/loom-samples.h"
#include "engine/data/parquet-column.h"
#include "tests/test-program.h"

static char *
files_folder (void)
{
  const char *other = g_getenv ("GRADLOOM_PARQUET_FOLDER");

  return other != NULL ? g_strdup (other)
                       : g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "tests", "data", "parquet", NULL);
}

static char *
file_path (const char *name)
{
  g_autofree char *folder = files_folder ();

  return g_build_filename (folder, name, NULL);
}

/* The text of TABLE.FORM.parquet is TABLE.csv. */
static void
check_text (const char *name)
{
  g_autofree char *path = file_path (name), *table = g_strndup (name, strcspn (name, ".")),
                  *file = g_strconcat (table, ".csv", NULL), *expected_path = file_path (file), *expected = NULL,
                  *text = NULL, *head = NULL, *again = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_auto (GStrv) want = NULL, got = NULL;
  gsize length, n;
  gboolean is_whole;
  char *content;

  g_assert_true (g_file_get_contents (expected_path, &expected, NULL, NULL));
  text = loom_parquet_read_text (path, 0, 1, "", &length, &is_whole, &error);
  g_assert_no_error (error);
  g_assert_true (is_whole);
  g_assert_cmpuint (length, ==, strlen (text));
  want = g_strsplit (expected, "\n", -1);
  got = g_strsplit (text, "\n", -1);
  for (guint i = 0; want[i] != NULL || got[i] != NULL; i++)
    if (g_strcmp0 (want[i], got[i]) != 0)
      g_error ("%s, line %u is\n%s\nand not\n%s", name, i, got[i], want[i]);

  head = loom_parquet_read_text (path, 10, 0, NULL, &n, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n, <=, length);
  g_assert_true (g_str_has_prefix (text, head));

  g_assert_true (g_file_get_contents (path, &content, &n, NULL));
  bytes = g_bytes_new_take (content, n);
  again = loom_parquet_text_from_bytes (bytes, name, &n, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (again, ==, text);
}

static void
test_text (void)
{
  g_autofree char *folder = files_folder ();
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  guint n = 0;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".parquet"))
      {
        check_text (name);
        n++;
      }
  g_assert_cmpuint (n, >=, 4);
  g_test_message ("%u files", n);
}

/* The same samples as from the table's text, with words, dates, gaps and normalisation. */
static void
test_dataset (void)
{
  static const char *const rest[]
      = { "target",    "category", "features", "few,f32,word=Ulm,day:days,yes", "missing", "mean",
          "normalize", "standard", NULL };
  static const char *const files[] = { "types.snappy.parquet", "types.zstd-2.parquet", "types.csv" };
  g_autoptr (LoomDataset) first = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = file_path (files[i]);
      g_autoptr (GError) error = NULL;
      g_autoptr (GPtrArray) strv = g_ptr_array_new ();
      LoomDatasetInfo info;

      g_ptr_array_add (strv, (char *)"path");
      g_ptr_array_add (strv, path);
      for (guint k = 0; k < G_N_ELEMENTS (rest); k++)
        g_ptr_array_add (strv, (char *)rest[k]);
      const LoomDatasetOptions options = { .get = loom_dataset_options_from_strv, .data = strv->pdata };
      g_autoptr (LoomDataset) dataset = NULL;

      g_assert_true (loom_dataset_describe ("csv", &options, &info, &error));
      g_assert_no_error (error);
      dataset = loom_dataset_open ("csv", &options, &error);
      g_assert_no_error (error);
      g_assert_cmpint (info.port[0].type.shape.dim[1].coef, ==, 5);
      if (first == NULL)
        {
          first = g_steal_pointer (&dataset);
          continue;
        }
      g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==,
                       loom_dataset_count (first, LOOM_SPLIT_TRAIN));
      g_assert_true (g_strv_equal (loom_dataset_class_names (dataset), loom_dataset_class_names (first)));
      g_assert_cmpuint (loom_dataset_digest (dataset), ==, loom_dataset_digest (first));
    }
}

static void
test_guess (void)
{
  g_autofree char *path = file_path ("types.snappy.parquet"), *reason = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomCsvGuess) guess = loom_csv_guess_file (path, 0, -1, &error);
  const LoomCsvColumn *row, *list;

  g_assert_no_error (error);
  g_assert_true (guess->has_header && guess->is_whole);
  g_assert_cmpuint (guess->n_rows, ==, 20);
  row = guess->columns->pdata[guess->columns->len - 1];
  list = guess->columns->pdata[guess->columns->len - 2];
  g_assert_cmpstr (row->name, ==, "row");
  g_assert_cmpint (row->role, ==, LOOM_CSV_ID);
  g_assert_cmpint (list->role, ==, LOOM_CSV_IGNORED);
  reason = loom_csv_column_reason (guess, guess->columns->len - 2);
  g_assert_nonnull (strstr (reason, "“a list”"));
}

/* Each file is the good one, changed; the sentence comes after its name. */
static void
test_bad (void)
{
  g_autofree char *path = file_path ("types.plain.parquet"), *good = NULL;
  gsize length;
  const struct
  {
    gsize at;
    const char *bytes;
    gsize n, keep; /* keep: bytes of the file, 0 for all */
    const char *sentence;
  } cases[] = {
    { 0, "", 0, 6, " is a truncated Parquet file." },
    { 0, "", 0, 200, " is a truncated Parquet file: its end is missing." },
    { 4, "PARE", 4, 0, " is an encrypted Parquet file; write it without encryption." },
    { 8, "\xff\xff\xff\x0f", 4, 0, " is a damaged Parquet file: its footer is larger than the file." },
    { 8, "\x09\x00\x00\x00", 4, 0, " is a damaged Parquet file: its footer cannot be read." },
  };

  g_assert_true (g_file_get_contents (path, &good, &length, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const gsize keep = cases[i].keep > 0 ? cases[i].keep : length;
      g_autofree char *copy = g_memdup2 (good, keep), *expected = g_strconcat ("“t.parquet”", cases[i].sentence, NULL);
      g_autoptr (GBytes) bytes = NULL;
      g_autoptr (GError) error = NULL;
      gsize n;

      /* Counted from the end. */
      memcpy (copy + (cases[i].n > 0 ? keep - cases[i].at : 0), cases[i].bytes, cases[i].n);
      bytes = g_bytes_new (copy, keep);
      g_assert_null (loom_parquet_text_from_bytes (bytes, "t.parquet", &n, &error));
      g_assert_cmpstr (error->message, ==, expected);
    }
}

/* pyarrow writes a row group without pages for a table without rows. */
static void
test_empty (void)
{
  static const guint8 file[]
      = { 80, 65,  82,  49, 21, 4,   25,  44,  53,  0,  24,  6,   115, 99,  104, 101, 109, 97,  21,  2,
          0,  21,  2,   37, 2,  24,  1,   97,  0,   22, 0,   25,  28,  25,  28,  38,  0,   28,  21,  2,
          25, 21,  6,   25, 24, 1,   97,  21,  0,   22, 0,   22,  0,   22,  0,   38,  0,   73,  12,  0,
          0,  22,  0,   22, 0,  38,  0,   22,  0,   0,  40,  32,  112, 97,  114, 113, 117, 101, 116, 45,
          99, 112, 112, 45, 97, 114, 114, 111, 119, 32, 118, 101, 114, 115, 105, 111, 110, 32,  50,  54,
          46, 48,  46,  49, 25, 28,  28,  0,   0,   0,  106, 0,   0,   0,   80,  65,  82,  49 };
  g_autoptr (GBytes) bytes = g_bytes_new_static (file, sizeof file);
  g_autoptr (GError) error = NULL;
  gsize n;

  g_assert_null (loom_parquet_text_from_bytes (bytes, "t.parquet", &n, &error));
  g_assert_cmpstr (error->message, ==, "“t.parquet” has no rows.");
}

/* A length that is not that of the page, a form that is not read: damage in a byte ends in a text or a sentence. */
static void
test_damage (void)
{
  static const char *const files[] = { "types.plain.parquet", "types.snappy.parquet", "types.zstd-2.parquet" };

  for (guint f = 0; f < G_N_ELEMENTS (files); f++)
    {
      g_autofree char *path = file_path (files[f]), *good = NULL;
      guint n_refused = 0;
      gsize length;

      g_assert_true (g_file_get_contents (path, &good, &length, NULL));
      for (gsize i = 0; i < length; i += 3)
        {
          g_autofree char *copy = g_memdup2 (good, length), *text = NULL;
          g_autoptr (GBytes) bytes = NULL;
          g_autoptr (GError) error = NULL;
          gsize n;

          copy[i] ^= (char)(i % 2 == 0 ? 0xff : 1 << (i / 2 % 8));
          bytes = g_bytes_new (copy, length);
          text = loom_parquet_text_from_bytes (bytes, "t.parquet", &n, &error);
          g_assert_true ((text != NULL) == (error == NULL));
          if (error == NULL)
            continue;
          g_assert_true (error->domain == LOOM_ERROR);
          g_assert_true (g_str_has_prefix (error->message, "“t.parquet”"));
          n_refused++;
        }
      g_assert_cmpuint (n_refused, >, 0);
      g_test_message ("%s: %u of %" G_GSIZE_FORMAT " damaged files are refused", files[f], n_refused, (length + 2) / 3);
    }
}

/* ---- files made here ------------------------------------------------------------------ */

enum
{
  THRIFT_I64 = 6,
  THRIFT_BINARY = 8,
  THRIFT_LISTS = 9,
  THRIFT_STRUCTS = 12
};

static void
add_byte (GByteArray *to, guint byte)
{
  g_byte_array_append (to, (const guint8[]){ (guint8)byte }, 1);
}

static void
add_varint (GByteArray *to, guint64 value)
{
  for (; value >= 128; value >>= 7)
    add_byte (to, (guint)(value & 127) | 128);
  add_byte (to, (guint)value);
}

/* A field whose number is that of the one before + step. */
static void
add_field (GByteArray *to, guint step, guint type)
{
  add_byte (to, step << 4 | type);
}

static void
add_number (GByteArray *to, guint step, guint64 value)
{
  add_field (to, step, THRIFT_I64);
  add_varint (to, value << 1);
}

static void
add_structs (GByteArray *to, guint step, guint n)
{
  add_field (to, step, THRIFT_LISTS);
  add_byte (to, 15 << 4 | THRIFT_STRUCTS);
  add_varint (to, n);
}

/* A page without compression; kind: 0 of data, 2 of a dictionary. */
static void
add_page (GByteArray *to, guint kind, guint n, guint encoding, const GByteArray *content)
{
  add_number (to, 1, kind);
  add_number (to, 1, content->len);
  add_number (to, 1, content->len);
  add_field (to, kind == 0 ? 2 : 4, THRIFT_STRUCTS);
  add_number (to, 1, n);
  add_number (to, 1, encoding);
  add_byte (to, 0);
  add_byte (to, 0);
  g_byte_array_append (to, content->data, content->len);
}

/* A chunk of n times the first of n_entries equal words; length: of a word with a number before it, 0: of one byte. */
static void
add_chunk (GByteArray *to, guint n, guint n_entries, guint length)
{
  g_autoptr (GByteArray) words = g_byte_array_new (), run = g_byte_array_new ();
  g_autofree char *word = g_strnfill (MAX (length, 1), 'w');

  for (guint i = 0; i < n_entries; i++)
    {
      for (guint k = 0; length > 0 && k < 4; k++)
        add_byte (words, length >> (8 * k) & 255);
      g_byte_array_append (words, (const guint8 *)word, MAX (length, 1));
    }
  add_page (to, 2, n_entries, 0, words);
  add_byte (run, 1);
  add_varint (run, n << 1);
  add_byte (run, 0);
  add_page (to, 0, n, 8, run);
}

static void
add_element (GByteArray *to, const char *name, guint n_children)
{
  add_number (to, 1, PARQUET_BYTES);
  add_field (to, 3, THRIFT_BINARY);
  add_varint (to, strlen (name));
  g_byte_array_append (to, (const guint8 *)name, (guint)strlen (name));
  add_number (to, 1, n_children);
  add_byte (to, 0);
}

static void
end_file (GByteArray *to, const GByteArray *footer)
{
  g_byte_array_append (to, footer->data, footer->len);
  for (guint k = 0; k < 4; k++)
    add_byte (to, footer->len >> (8 * k) & 255);
  g_byte_array_append (to, (const guint8 *)"PAR1", 4);
}

/* A dictionary has its own entries for words of any length alone, and the pages of all columns are within the limit. */
static void
test_page_memory (void)
{
  static const struct
  {
    ParquetType type;
    guint n_entries, length;
    gboolean fits;
  } cases[] = { { PARQUET_FIXED_BYTES, 1000, 0, TRUE },
                { PARQUET_FIXED_BYTES, 1200, 0, FALSE },
                { PARQUET_BYTES, 80, 1, TRUE },
                { PARQUET_BYTES, 100, 1, FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GByteArray) file = g_byte_array_new (), packed = g_byte_array_new ();
      g_autoptr (GInputStream) stream = NULL;
      ParquetPages pages = { .path = "t.parquet", .packed = packed, .most = 1200 };
      ParquetColumn *column[2];
      const guint8 *value;
      gsize n;

      add_chunk (file, 3, cases[i].n_entries, cases[i].length);
      stream = g_memory_input_stream_new_from_data (file->data, file->len, NULL);
      pages.file = stream;
      for (guint c = 0; c < 2; c++)
        {
          column[c] = parquet_column_new (&pages, "c", cases[i].type, 1, 0);
          parquet_column_set_chunk (column[c], &(ParquetChunk){ .end = file->len, .n = 3 });
        }
      for (guint c = 0; c < 2; c++)
        {
          g_autoptr (GError) error = NULL;

          if (c == 0 && cases[i].fits)
            {
              g_assert_true (parquet_column_next (column[c], &value, &n, &error));
              g_assert_cmpmem (value, n, "w", 1);
              continue;
            }
          /* The pages of the first are there, too. */
          g_assert_false (parquet_column_next (column[c], &value, &n, &error));
          g_assert_cmpstr (error->message, ==,
                           "“t.parquet”, column “c” has pages that are too large for the free memory; write the file "
                           "with smaller ones.");
        }
      parquet_column_free (column[0]);
      parquet_column_free (column[1]);
      g_assert_cmpuint (pages.used, ==, 0);
    }
}

/* A long word of a dictionary, which a few bytes repeat: the memory is looked at within the rows, not after many. */
static void
test_text_memory (void)
{
  g_autoptr (GByteArray) file = g_byte_array_new (), footer = g_byte_array_new ();
  g_autofree char *folder = g_dir_make_tmp ("loom-parquet-XXXXXX", NULL),
                  *path = g_build_filename (folder, "t.parquet", NULL), *text = NULL;
  g_autoptr (GError) error = NULL;
  const guint n_rows = 64;
  gsize length;

  g_byte_array_append (file, (const guint8 *)"PAR1", 4);
  add_chunk (file, n_rows, 1, 1 << 20);
  add_structs (footer, 2, 2);
  add_element (footer, "", 1);
  add_element (footer, "c", 0);
  add_number (footer, 1, n_rows);
  add_structs (footer, 1, 1);
  add_structs (footer, 1, 1);
  add_field (footer, 3, THRIFT_STRUCTS);
  add_number (footer, 1, PARQUET_BYTES);
  add_number (footer, 4, n_rows);
  add_number (footer, 2, file->len - 4);
  add_number (footer, 2, 4);
  add_byte (footer, 0);
  add_byte (footer, 0);
  add_number (footer, 2, n_rows);
  add_byte (footer, 0);
  add_byte (footer, 0);
  end_file (file, footer);
  g_assert_true (g_file_set_contents (path, (const char *)file->data, file->len, NULL));
  /* No machine has a million times the text. */
  text = loom_parquet_read_text (path, 0, 1e6, "do that", &length, NULL, &error);
  g_assert_null (text);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, "t.parquet” has 16"));
  g_assert_true (g_str_has_suffix (error->message, "; do that."));
  g_clear_error (&error);
  text = loom_parquet_read_text (path, 0, 1, "do that", &length, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (length, ==, strlen ("sep=,\r\"c\"\n") + n_rows * ((1 << 20) + strlen ("\"\"\n")));
  g_remove (path);
  g_rmdir (folder);
}

/* The name of a group comes again in those of all columns in it. */
static void
test_name_memory (void)
{
  static const guint lengths[] = { 1 << 18, 1 << 20 };

  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++)
    {
      g_autoptr (GByteArray) file = g_byte_array_new (), footer = g_byte_array_new ();
      g_autoptr (GBytes) bytes = NULL;
      g_autofree char *name = g_strnfill (lengths[i], 'g'), *text = NULL;
      g_autoptr (GError) error = NULL;
      gsize length;

      g_byte_array_append (file, (const guint8 *)"PAR1", 4);
      add_structs (footer, 2, 22);
      add_element (footer, "", 1);
      add_element (footer, name, 20);
      for (guint k = 0; k < 20; k++)
        add_element (footer, "c", 0);
      add_byte (footer, 0);
      end_file (file, footer);
      bytes = g_bytes_new (file->data, file->len);
      text = loom_parquet_text_from_bytes (bytes, "t.parquet", &length, &error);
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
      g_assert_cmpstr (error->message, ==,
                       i == 0 ? "“t.parquet” has no rows." : "“t.parquet” has columns whose names are too long.");
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parquet/text", test_text);
  g_test_add_func ("/parquet/dataset", test_dataset);
  g_test_add_func ("/parquet/guess", test_guess);
  g_test_add_func ("/parquet/bad", test_bad);
  g_test_add_func ("/parquet/emptyempty", test_empty);
  g_test_add_func ("/parquet/damage", test_damage);
  g_test_add_func ("/parquet/page-memory", test_page_memory);
  g_test_add_func ("/parquet/text-memory", test_text_memory);
  g_test_add_func ("/parquet/name-memory", test_name_memory);
  return g_test_run ();
}
