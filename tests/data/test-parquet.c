/* Parquet files that pyarrow wrote (parquet/make.py), compared with the text of their tables; and as data sets. */
#include <string.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-dataset.h"
#include "engine/data/loom-parquet.h"
#include "engine/data/loom-samples.h"
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

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parquet/text", test_text);
  g_test_add_func ("/parquet/dataset", test_dataset);
  g_test_add_func ("/parquet/guess", test_guess);
  g_test_add_func ("/parquet/bad", test_bad);
  g_test_add_func ("/parquet/damage", test_damage);
  return g_test_run ();
}
