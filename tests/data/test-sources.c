/* Checks that hold for every source, and of the generated data. */
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset.h"
#include "tests/test-program.h"

static LoomDatasetOptions
options (const char *const *strv)
{
  LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv };

  return o;
}

/* Tensors for a batch of n samples. */
static void
make_batch (const LoomDataset *dataset, gint64 n, LoomTensor *out[])
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);

  for (guint p = 0; p < info->n_ports; p++)
    {
      LoomBinding binding = { { 0 } };
      LoomShape shape;
      gint64 dims[LOOM_SHAPE_MAX_RANK];

      binding.value['B' - 'A'] = n;
      shape = loom_shape_bind (&info->port[p].type.shape, &binding);
      loom_shape_get (&shape, dims);
      out[p] = loom_tensor_new (info->port[p].type.dtype, shape.rank, dims, NULL);
    }
}

static void
free_batch (const LoomDataset *dataset, LoomTensor *out[])
{
  for (guint p = 0; p < loom_dataset_info (dataset)->n_ports; p++)
    loom_tensor_unref (out[p]);
}

static void
read_first (const LoomDataset *dataset, LoomSplit split, gint64 n, LoomTensor *out[])
{
  g_autofree gint64 *indices = g_new (gint64, n);

  for (gint64 i = 0; i < n; i++)
    indices[i] = i;
  make_batch (dataset, n, out);
  g_assert_true (loom_dataset_read (dataset, split, indices, (guint)n, out, NULL));
}

/* Every source has a title and a sentence, options that make sense, and defaults of the right type. */
static void
test_registry (void)
{
  const LoomDatasetClass *const *classes = loom_dataset_classes ();

  g_assert_nonnull (classes[0]);
  for (gsize i = 0; classes[i] != NULL; i++)
    {
      const char *name = loom_dataset_class_name (classes[i]);

      g_test_message ("%s", name);
      g_assert_true (loom_dataset_class (name) == classes[i]);
      g_assert_nonnull (loom_dataset_class_title (classes[i]));
      g_assert_true (g_str_has_suffix (loom_dataset_class_doc (classes[i]), "."));
      for (const LoomDatasetParam *p = loom_dataset_class_params (classes[i]); p->name != NULL; p++)
        {
          g_assert_true (g_str_has_suffix (p->doc, "."));
          g_assert_true ((p->type == LOOM_DATASET_ENUM) == (p->choices != NULL));
          g_assert_true (p->choices == NULL || g_strv_contains (p->choices, p->def));
        }
    }
}

/* A source opens as it is described, reading twice has the same bits, and another seed has others. */
static void
test_generated (void)
{
  static const char *const sources[]
      = { "spirals", "xor", "linear", "random", "tokens", "copy", "adding", "dates", "arithmetic-trees", "shapes" };
  static const char *const other_seed[] = { "seed", "1", NULL };

  for (gsize i = 0; i < G_N_ELEMENTS (sources); i++)
    {
      const LoomDatasetOptions o = options (other_seed);
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomDataset) a = loom_dataset_open (sources[i], NULL, &error), b = NULL, c = NULL;
      LoomTensor *ta[LOOM_DATASET_MAX_PORTS], *tb[LOOM_DATASET_MAX_PORTS], *tc[LOOM_DATASET_MAX_PORTS];
      LoomTensor *test[LOOM_DATASET_MAX_PORTS];
      LoomDatasetInfo info;

      g_test_message ("%s", sources[i]);
      g_assert_no_error (error);
      g_assert_true (loom_dataset_describe (sources[i], NULL, &info, &error));
      g_assert_cmpuint (info.n_ports, ==, loom_dataset_info (a)->n_ports);
      for (guint p = 0; p < info.n_ports; p++)
        {
          const LoomType *type = &loom_dataset_info (a)->port[p].type;

          g_assert_cmpstr (info.port[p].name, ==, loom_dataset_info (a)->port[p].name);
          if (p == 0 || p + 1 == info.n_ports)
            g_assert_cmpstr (info.port[p].name, ==, p == 0 ? "x" : "y");
          g_assert_cmpint (info.port[p].type.dtype, ==, type->dtype);
          g_assert_true (loom_shape_equal (&info.port[p].type.shape, &type->shape));
        }
      for (LoomSplit s = 0; s < LOOM_N_SPLITS; s++)
        g_assert_cmpint (info.n[s], ==, loom_dataset_count (a, s));
      b = loom_dataset_open (sources[i], NULL, &error);
      c = loom_dataset_open (sources[i], &o, &error);
      read_first (a, LOOM_SPLIT_TRAIN, 8, ta);
      read_first (b, LOOM_SPLIT_TRAIN, 8, tb);
      read_first (c, LOOM_SPLIT_TRAIN, 8, tc);
      read_first (a, LOOM_SPLIT_TEST, 8, test);
      for (guint p = 0; p < info.n_ports; p++)
        g_assert_true (loom_tensor_equal_bits (ta[p], tb[p]));
      g_assert_false (loom_tensor_equal_bits (ta[0], tc[0]));
      g_assert_false (loom_tensor_equal_bits (ta[0], test[0]));
      free_batch (a, ta);
      free_batch (a, tb);
      free_batch (a, tc);
      free_batch (a, test);
    }
}

static void
test_spirals (void)
{
  static const char *const strv[] = { "noise", "0", "turns", "1", "n", "64", NULL };
  const LoomDatasetOptions o = options (strv);
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("spirals", &o, NULL);
  LoomTensor *t[2];

  read_first (dataset, LOOM_SPLIT_TRAIN, 64, t);
  for (gint64 i = 0; i < 64; i++)
    {
      double x = loom_tensor_get (t[0], 2 * i), y = loom_tensor_get (t[0], 2 * i + 1), r = hypot (x, y);
      double angle = 2 * G_PI * r + G_PI * loom_tensor_get (t[1], i);

      g_assert_cmpfloat_with_epsilon (x, r * cos (angle), 1e-5);
      g_assert_cmpfloat_with_epsilon (y, r * sin (angle), 1e-5);
      g_assert_cmpfloat (r, <=, 1.0001);
    }
  free_batch (dataset, t);
}

static void
test_xor (void)
{
  static const char *const strv[] = { "noise", "0", "n", "4", "target_type", "float", NULL };
  const LoomDatasetOptions o = options (strv);
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("xor", &o, NULL);
  LoomTensor *t[2];

  read_first (dataset, LOOM_SPLIT_TRAIN, 4, t);
  g_assert_cmpint (t[1]->dtype, ==, LOOM_F32);
  g_assert_cmpint (t[1]->rank, ==, 2);
  for (gint64 i = 0; i < 4; i++)
    g_assert_cmpfloat (loom_tensor_get (t[1], i), ==,
                       loom_tensor_get (t[0], 2 * i) != loom_tensor_get (t[0], 2 * i + 1));
  free_batch (dataset, t);
}

static void
test_linear (void)
{
  static const char *const strv[] = { "noise", "0", "n_features", "2", "weight", "3,-1", "bias", "0.5", NULL };
  const LoomDatasetOptions o = options (strv);
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("linear", &o, NULL);
  LoomTensor *t[2];

  read_first (dataset, LOOM_SPLIT_TRAIN, 16, t);
  for (gint64 i = 0; i < 16; i++)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (t[1], i),
                                    3 * loom_tensor_get (t[0], 2 * i) - loom_tensor_get (t[0], 2 * i + 1) + 0.5, 1e-6);
  free_batch (dataset, t);
}

static void
test_random (void)
{
  static const char *const strv[] = { "n", "100", "in_features", "100", NULL };
  const LoomDatasetOptions o = options (strv);
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("random", &o, NULL);
  LoomTensor *t[2];
  double sum = 0, squares = 0;

  read_first (dataset, LOOM_SPLIT_TRAIN, 100, t);
  for (gint64 i = 0; i < t[0]->count; i++)
    {
      double v = loom_tensor_get (t[0], i);

      sum += v;
      squares += v * v;
    }
  /* 10,000 normal numbers: the mean is within 5 / √10,000. */
  g_assert_cmpfloat_with_epsilon (sum / t[0]->count, 0, 0.05);
  g_assert_cmpfloat_with_epsilon (squares / t[0]->count, 1, 0.1);
  free_batch (dataset, t);
}

/* Solves each task from x alone, by the rule that the source's page states. */
static void
test_tokens (void)
{
  static const char *const tasks[] = { "marked", "reverse", "previous" };
  const int length = 5, values = 3, channels = 9;

  for (int task = 0; task < 3; task++)
    {
      const char *const strv[] = { "task", tasks[task], "length", "5", "values", "3", NULL };
      const LoomDatasetOptions o = options (strv);
      g_autoptr (LoomDataset) dataset = loom_dataset_open ("tokens", &o, NULL);
      LoomTensor *t[2];

      read_first (dataset, LOOM_SPLIT_TRAIN, 32, t);
      for (int i = 0; i < 32; i++)
        {
          const float *x = (const float *)t[0]->data + i * length * channels;
          const gint64 *y = (const gint64 *)t[1]->data + i * length;
          int marked = -1, n_marked = 0, value[5];

          for (int p = 0; p < length; p++)
            {
              float sum = 0;

              value[p] = -1;
              for (int v = 0; v < values; v++)
                {
                  sum += x[p * channels + v];
                  if (x[p * channels + v] == 1)
                    value[p] = v;
                }
              g_assert_cmpfloat (sum, ==, 1);
              g_assert_cmpfloat (x[p * channels + values + p], ==, 1);
              if (x[p * channels + channels - 1] == 1)
                {
                  marked = p;
                  n_marked++;
                }
            }
          g_assert_cmpint (n_marked, ==, task == 0);
          for (int p = 0; p < length; p++)
            {
              const int from[] = { marked, length - 1 - p, MAX (p - 1, 0) };

              g_assert_cmpint (y[p], ==, value[from[task]]);
            }
        }
      free_batch (dataset, t);
    }
}

/* Of the samples that are kept each is another one of the set's, they are gone over again and again, and the test's
 * stay. */
static void
test_keep (void)
{
  const char *const strv[] = { "n", "50", "n_test", "20", NULL };
  const LoomDatasetOptions o = options (strv);
  g_autoptr (LoomDataset) whole = loom_dataset_open ("linear", &o, NULL), some = loom_dataset_open ("linear", &o, NULL),
                          other = loom_dataset_open ("linear", &o, NULL);
  gint64 index[50];
  guint n_seen = 0, n_same = 0;

  loom_dataset_keep (some, 7, 1);
  loom_dataset_keep (other, 7, 2);
  for (gint64 i = 0; i < 50; i++)
    index[i] = i;
  g_assert_cmpint (loom_dataset_count (some, LOOM_SPLIT_TRAIN), ==, 50);
  g_autoptr (GPtrArray) all = loom_dataset_read_new (whole, LOOM_SPLIT_TRAIN, index, 50, NULL);
  g_autoptr (GPtrArray) kept = loom_dataset_read_new (some, LOOM_SPLIT_TRAIN, index, 50, NULL);
  g_autoptr (GPtrArray) others = loom_dataset_read_new (other, LOOM_SPLIT_TRAIN, index, 50, NULL);
  g_autoptr (GPtrArray) test = loom_dataset_read_new (whole, LOOM_SPLIT_TEST, index, 20, NULL);
  g_autoptr (GPtrArray) test_kept = loom_dataset_read_new (some, LOOM_SPLIT_TEST, index, 20, NULL);
  LoomTensor *x = all->pdata[0], *y = kept->pdata[0];

  for (gint64 i = 0; i < 50; i++)
    {
      gboolean is_kept = FALSE;

      for (gint64 k = 0; k < 7; k++)
        is_kept = is_kept || loom_tensor_get (y, k) == loom_tensor_get (x, i);
      n_seen += is_kept;
      g_assert_cmpfloat (loom_tensor_get (y, i), ==, loom_tensor_get (y, i % 7));
      n_same += loom_tensor_get (y, i) == loom_tensor_get (others->pdata[0], i);
    }
  g_assert_cmpuint (n_seen, ==, 7);
  g_assert_cmpuint (n_same, <, 50);
  g_assert_true (loom_tensor_equal_bits (test->pdata[0], test_kept->pdata[0]));
}

/* Every training sample validates in one fold and trains in the others; those of the test stay. */
static void
test_fold (void)
{
  const char *const strv[] = { "n", "10", "n_test", "4", NULL };
  const LoomDatasetOptions o = options (strv);
  g_autoptr (LoomDataset) whole = loom_dataset_open ("linear", &o, NULL);
  gint64 index[10];
  guint held[10] = { 0 };

  for (gint64 i = 0; i < 10; i++)
    index[i] = i;
  g_autoptr (GPtrArray) all = loom_dataset_read_new (whole, LOOM_SPLIT_TRAIN, index, 10, NULL);
  for (gint64 fold = 0; fold < 3; fold++)
    {
      g_autoptr (LoomDataset) part = loom_dataset_open ("linear", &o, NULL);
      guint seen[10] = { 0 };

      g_assert_true (loom_dataset_fold (part, 3, fold, 1, NULL));
      g_assert_cmpint (loom_dataset_count (part, LOOM_SPLIT_VAL), ==, fold == 2 ? 4 : 3);
      g_assert_cmpint (loom_dataset_count (part, LOOM_SPLIT_TEST), ==, 4);
      for (LoomSplit split = LOOM_SPLIT_TRAIN; split <= LOOM_SPLIT_VAL; split++)
        {
          guint n = (guint)loom_dataset_count (part, split);
          g_autoptr (GPtrArray) read = loom_dataset_read_new (part, split, index, n, NULL);

          for (guint i = 0; i < n; i++)
            for (guint k = 0; k < 10; k++)
              if (loom_tensor_get (read->pdata[0], i) == loom_tensor_get (all->pdata[0], k))
                {
                  seen[k]++;
                  held[k] += split == LOOM_SPLIT_VAL;
                }
        }
      for (guint k = 0; k < 10; k++)
        g_assert_cmpuint (seen[k], ==, 1);
      loom_dataset_keep (part, 2, 1);
      g_autoptr (GPtrArray) kept = loom_dataset_read_new (part, LOOM_SPLIT_TRAIN, index, 4, NULL);
      g_autoptr (GPtrArray) val = loom_dataset_read_new (part, LOOM_SPLIT_VAL, index, 3, NULL);

      for (gint64 i = 0; i < 3; i++)
        for (gint64 k = 0; k < 4; k++)
          g_assert_cmpfloat (loom_tensor_get (kept->pdata[0], k), !=, loom_tensor_get (val->pdata[0], i));
    }
  for (guint k = 0; k < 10; k++)
    g_assert_cmpuint (held[k], ==, 1);
}

static void
test_bad_options (void)
{
  static const struct
  {
    const char *source, *strv[3], *message;
  } cases[] = {
    { "spirl", { NULL }, "There is no data set “spirl”. Did you mean “spirals”?" },
    { "spirals", { "noise", "abc", NULL }, "The data set spirals has noise=\"abc\", which is not a number." },
    { "spirals", { "n", "1.5", NULL }, "The data set spirals has n=\"1.5\", which is not a whole number." },
    { "spirals", { "n", "0", NULL }, "The data set spirals has n=\"0\", which must be from 1 to 10000000." },
    { "spirals",
      { "target_type", "int", NULL },
      "The data set spirals has target_type=\"int\", which must be one of: class, float." },
    { "linear",
      { "weight", "1,2,3", NULL },
      "The data set linear has weight=\"1,2,3\" with 3 numbers; it takes one, or 1." },
    { "shapes",
      { "target_type", "class", NULL },
      "A picture of two shapes has no class. Set shapes to 1, or target_type to sentence." },
    { "shapes",
      { "flip", "0.5", NULL },
      "Sentences with “left of” would be wrong for mirrored pictures. Remove flip." },
    { "csv",
      { NULL },
      "The data set csv needs path=\"…\": The file, CSV or Parquet; the first line of CSV names the columns." },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LoomDatasetOptions o = options (cases[i].strv);
      g_autoptr (GError) error = NULL, other = NULL;
      LoomDatasetInfo info;

      g_assert_null (loom_dataset_open (cases[i].source, &o, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
      g_assert_cmpstr (error->message, ==, cases[i].message);
      g_assert_false (loom_dataset_describe (cases[i].source, &o, &info, &other));
      g_assert_cmpstr (other->message, ==, cases[i].message);
      g_assert_cmpuint (info.n_ports, ==, 0);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sources/registry", test_registry);
  g_test_add_func ("/sources/generated", test_generated);
  g_test_add_func ("/sources/spirals", test_spirals);
  g_test_add_func ("/sources/xor", test_xor);
  g_test_add_func ("/sources/linear", test_linear);
  g_test_add_func ("/sources/random", test_random);
  g_test_add_func ("/sources/tokens", test_tokens);
  g_test_add_func ("/sources/keep", test_keep);
  g_test_add_func ("/sources/fold", test_fold);
  g_test_add_func ("/sources/bad-options", test_bad_options);
  return g_test_run ();
}
