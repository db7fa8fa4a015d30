/* Rows of a table in splits: stratified by class, by group, and in time. */
#include <glib/gstdio.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "tests/test-program.h"

#define ROWS 400

static char *file;

/* Row i has x = i, the class 0 in 9 of 10 rows, the group i / 7, a number that falls, and a date that falls. */
static void
write_table (void)
{
  g_autoptr (GString) text = g_string_new ("x,y,person,age,day\n");

  for (int i = 0; i < ROWS; i++)
    g_string_append_printf (text, "%d,%s,p%d,%d,2024-%02d-%02d 10:00\n", i, i % 10 == 0 ? "rare" : "often", i / 7,
                            ROWS - i, 12 - i / 40, 28 - i % 28);
  g_assert_true (g_file_set_contents (file, text->str, -1, NULL));
}

static LoomDataset *
open_table (const char *split, const char *by, const char *target, const char *seed, GError **error)
{
  const char *const strv[]
      = { "path",       file,  "target",        target, "features",     "x",
          "split_kind", split, "split_by",      by,     "val_fraction", "0.1",
          "seed",       seed,  "test_fraction", "0.25", "target_type",  g_str_equal (target, "y") ? "class" : "float",
          NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };

  return loom_dataset_open ("csv", &o, error);
}

/* The rows of the splits, as their numbers, which are x; every row is in exactly one. */
static GArray *
rows_of (const LoomDataset *dataset, LoomSplit split)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (int));

  for (gint64 i = 0; i < loom_dataset_count (dataset, split); i++)
    {
      g_autoptr (GPtrArray) read = loom_dataset_read_new (dataset, split, &i, 1, NULL);
      const int row = (int)loom_tensor_get (read->pdata[0], 0);

      g_array_append_val (rows, row);
    }
  return rows;
}

static void
assert_complete (const LoomDataset *dataset)
{
  int seen[ROWS] = { 0 };

  for (int s = 0; s < LOOM_N_SPLITS; s++)
    {
      g_autoptr (GArray) rows = rows_of (dataset, s);

      for (guint i = 0; i < rows->len; i++)
        seen[g_array_index (rows, int, i)]++;
    }
  for (int i = 0; i < ROWS; i++)
    g_assert_cmpint (seen[i], ==, 1);
}

static LoomDataset *
open_good (const char *split, const char *by, const char *seed)
{
  g_autoptr (GError) error = NULL;
  LoomDataset *dataset = open_table (split, by, "y", seed, &error);

  g_assert_no_error (error);
  assert_complete (dataset);
  return dataset;
}

/* Of 40 rare rows 4 are for validation and 10 for testing, with any seed. */
static void
test_stratified (void)
{
  static const char *const seeds[] = { "0", "1", "2" };
  int differ = 0;

  for (guint k = 0; k < G_N_ELEMENTS (seeds); k++)
    {
      g_autoptr (LoomDataset) dataset = open_good ("stratified", "", seeds[k]),
                              at_random = open_good ("random", "", seeds[k]);
      const int wanted[] = { [LOOM_SPLIT_TRAIN] = 26, [LOOM_SPLIT_VAL] = 4, [LOOM_SPLIT_TEST] = 10 };
      const int all[] = { [LOOM_SPLIT_TRAIN] = 260, [LOOM_SPLIT_VAL] = 40, [LOOM_SPLIT_TEST] = 100 };

      for (int s = 0; s < LOOM_N_SPLITS; s++)
        {
          g_autoptr (GArray) rows = rows_of (dataset, s), others = rows_of (at_random, s);
          int rare = 0, rare_at_random = 0;

          g_assert_cmpuint (rows->len, ==, all[s]);
          g_assert_cmpuint (others->len, ==, all[s]);
          for (guint i = 0; i < rows->len; i++)
            {
              rare += g_array_index (rows, int, i) % 10 == 0;
              rare_at_random += g_array_index (others, int, i) % 10 == 0;
            }
          g_assert_cmpint (ABS (rare - wanted[s]), <=, 1);
          differ += rare_at_random != rare;
        }
    }
  g_assert_cmpint (differ, >, 0);
}

static void
test_group (void)
{
  g_autoptr (LoomDataset) dataset = open_good ("group", "person", "0"), other = open_good ("group", "person", "1");
  g_autoptr (GArray) mine = rows_of (dataset, LOOM_SPLIT_TEST), theirs = rows_of (other, LOOM_SPLIT_TEST);
  int of_group[ROWS / 7 + 1];

  for (int g = 0; g <= ROWS / 7; g++)
    of_group[g] = -1;
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    {
      g_autoptr (GArray) rows = rows_of (dataset, s);

      for (guint i = 0; i < rows->len; i++)
        {
          int *of = &of_group[g_array_index (rows, int, i) / 7];

          g_assert_true (*of < 0 || *of == s);
          *of = s;
        }
    }
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_VAL), >=, 40);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_VAL), <, 47);
  g_assert_cmpint (mine->len, >=, 100);
  g_assert_cmpint (mine->len, <, 107);
  g_assert_false (mine->len == theirs->len && g_array_index (mine, int, 0) == g_array_index (theirs, int, 0)
                  && g_array_index (mine, int, 50) == g_array_index (theirs, int, 50));
}

/* By both columns the first rows are the latest. */
static void
test_time (void)
{
  static const char *const columns[] = { "age", "day" };

  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    {
      g_autoptr (LoomDataset) dataset = open_good ("time", columns[c], "5");
      g_autoptr (GArray) test = rows_of (dataset, LOOM_SPLIT_TEST), train = rows_of (dataset, LOOM_SPLIT_TRAIN);

      g_assert_cmpuint (test->len, ==, 100);
      if (c == 0)
        for (guint i = 0; i < test->len; i++)
          g_assert_cmpint (g_array_index (test, int, i), ==, i);
      for (guint i = 0; i < test->len; i++)
        g_assert_cmpint (g_array_index (test, int, i) / 40, <=, 2);
      for (guint i = 0; i < train->len; i++)
        g_assert_cmpint (g_array_index (train, int, i) / 40, >=, 3);
    }
}

static void
test_refused (void)
{
  static const struct
  {
    const char *split, *by, *target, *message;
  } cases[] = {
    { "group", "", "y", "*split_kind=\"group\", which needs the name of a column*" },
    { "time", "absent", "y", "*has no column “absent”*" },
    { "random", "person", "y", "*split_kind=\"random\" uses no column*" },
    { "time", "person", "y", "Row 1 has “p0” in the column “person”*dates such as 2024-01-31*" },
    { "stratified", "", "age", "*split_kind=\"stratified\", but its target is not a class*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (open_table (cases[i].split, cases[i].by, cases[i].target, "0", &error));
      if (!g_pattern_match_simple (cases[i].message, error->message))
        g_error ("%s", error->message);
    }
}

static void
write_npy (const char *name, const char *descr, gconstpointer data, gsize bytes)
{
  g_autofree char *header = g_strdup_printf ("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", descr, ROWS);
  g_autoptr (GString) text = g_string_new_len ("\x93NUMPY\x01\x00v\x00", 10);

  g_string_append_printf (text, "%-117s\n", header);
  g_string_append_len (text, data, (gssize)bytes);
  g_assert_true (g_file_set_contents (name, text->str, (gssize)text->len, NULL));
}

/* Labels are as large as a file says; they are strata, not the size of a table. */
static void
test_large_labels (void)
{
  static const gint64 labels[] = { 4294967294, 2000000000, G_MAXINT64, -7 };
  g_autofree char *x_path = g_strconcat (file, "-x.npy", NULL), *y_path = g_strconcat (file, "-y.npy", NULL);
  const char *const strv[]
      = { "x", x_path, "y", y_path, "split_kind", "stratified", "val_fraction", "0.1", "test_fraction", "0.2", NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };
  float x[ROWS];
  gint64 y[ROWS];
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < ROWS; i++)
    {
      x[i] = (float)i;
      y[i] = labels[i % 4];
    }
  write_npy (x_path, "<f4", x, sizeof x);
  write_npy (y_path, "<i8", y, sizeof y);
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("npy", &o, &error);
  g_assert_no_error (error);
  assert_complete (dataset);
  g_autoptr (GArray) rows = rows_of (dataset, LOOM_SPLIT_TEST);
  int n_of[4] = { 0 };
  for (guint i = 0; i < rows->len; i++)
    n_of[g_array_index (rows, int, i) % 4]++;
  for (int k = 0; k < 4; k++)
    g_assert_cmpint (n_of[k], ==, ROWS / 4 / 5);
  g_remove (x_path);
  g_remove (y_path);
}

TEST_FILE (argc, argv)
{
  g_autofree char *folder = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradloom-splits-XXXXXX", NULL);
  file = g_build_filename (folder, "table.csv", NULL);
  write_table ();
  g_test_add_func ("/splits/stratified", test_stratified);
  g_test_add_func ("/splits/large-labels", test_large_labels);
  g_test_add_func ("/splits/group", test_group);
  g_test_add_func ("/splits/time", test_time);
  g_test_add_func ("/splits/refused", test_refused);
  status = g_test_run ();
  g_remove (file);
  g_rmdir (folder);
  g_free (file);
  return status;
}
