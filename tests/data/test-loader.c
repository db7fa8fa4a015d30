/* Loaders: the order of an epoch, resuming at any batch, both ways of preparing, errors. */
#include "engine/data/loom-loader.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-sample-weights.h"

/* A source of its own: sample i is the number i; sample 13 cannot be read if requested so. */
typedef struct
{
  LoomDataset base;
  gboolean broken, uneven; /* uneven: batches take each another time, so that threads overtake each other */
  int reads;               /* atomic */
} Counting;

static gboolean
read_counting (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
               GError **error)
{
  Counting *self = (Counting *)base;

  g_atomic_int_inc (&self->reads);
  if (self->uneven)
    g_usleep ((gulong)(indices[0] * 7919 % 5) * 200);
  g_assert_cmpint (out[0]->dim[0], ==, n);
  for (guint i = 0; i < n; i++)
    {
      if (self->broken && indices[i] == 13)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "Sample 13 is damaged.");
          return FALSE;
        }
      for (gint64 k = 0; k < out[0]->dim[1]; k++)
        ((float *)out[0]->data)[i * out[0]->dim[1] + k] = indices[i];
    }
  return TRUE;
}

static const LoomDatasetClass counting_class = { .name = "counting", .read = read_counting };

static void
init_counting (Counting *self, gint64 n)
{
  const gint64 width = 3;

  memset (self, 0, sizeof *self);
  self->base.klass = &counting_class;
  loom_info_add_port (&self->base.info, "x", LOOM_F32, 1, &width);
  self->base.info.n[LOOM_SPLIT_TRAIN] = n;
}

/* The samples of an epoch from a batch on, in the order of batches. */
static GArray *
collect (LoomLoader *loader, gint64 epoch, gint64 first)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (gint64));
  const LoomBatch *batch;
  gint64 index = first;
  g_autoptr (GError) error = NULL;

  loom_loader_start (loader, epoch, first);
  while ((batch = loom_loader_next (loader, &error)) != NULL)
    {
      g_assert_cmpint (batch->index, ==, index++);
      g_assert_cmpint (batch->tensors[0]->dim[0], ==, batch->n);
      g_assert_cmpint (batch->tensors[0]->count, ==, batch->n * 3);
      for (gint64 i = 0; i < batch->n; i++)
        {
          gint64 value = (gint64)loom_tensor_get (batch->tensors[0], 3 * i + 2);

          g_assert_cmpint (value, ==, batch->samples[i]);
          g_array_append_val (all, value);
        }
    }
  g_assert_no_error (error);
  g_assert_null (loom_loader_next (loader, &error));
  g_assert_no_error (error);
  return all;
}

static void
assert_tail (const GArray *whole, const GArray *tail)
{
  g_assert_cmpmem ((const gint64 *)(gpointer)whole->data + whole->len - tail->len, tail->len * sizeof (gint64),
                   tail->data, tail->len * sizeof (gint64));
}

static void
test_order (gconstpointer data)
{
  int mode = GPOINTER_TO_INT (data);
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL, plain = NULL;
  g_autoptr (GArray) whole = NULL, again = NULL, second = NULL, in_order = NULL;
  gboolean seen[103] = { FALSE };

  init_counting (&counting, 103);
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, TRUE, 7, mode, NULL);
  g_assert_cmpint (loom_loader_n_batches (loader), ==, 11);
  whole = collect (loader, 3, 0);
  again = collect (loader, 3, 0);
  second = collect (loader, 4, 0);
  g_assert_cmpuint (whole->len, ==, 103);
  g_assert_cmpmem (whole->data, 103 * 8, again->data, 103 * 8);
  g_assert_true (memcmp (whole->data, second->data, 103 * 8) != 0);
  for (guint i = 0; i < 103; i++)
    {
      gint64 sample = g_array_index (whole, gint64, i);

      g_assert_false (seen[sample]);
      seen[sample] = TRUE;
    }
  /* A new loader continues from any batch as this one would have. */
  for (gint64 first = 0; first <= 11; first++)
    {
      g_autoptr (LoomLoader) resumed
          = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, TRUE, 7, mode, NULL);
      g_autoptr (GArray) tail = collect (resumed, 3, first);

      g_assert_cmpuint (tail->len, ==, first < 11 ? 103 - 10 * first : 0);
      assert_tail (whole, tail);
    }
  /* Without the end of each epoch's order the rest is as before. */
  for (gint64 out = 1; out <= 13; out += 2)
    {
      g_autoptr (LoomLoader) less
          = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, TRUE, 7, mode, NULL);

      loom_loader_leave_out (less, out);
      g_autoptr (GArray) head = collect (less, 3, 0);
      g_autoptr (GArray) tail = collect (less, 3, 4);
      g_assert_cmpint (loom_loader_n_batches (less), ==, (103 - out + 9) / 10);
      g_assert_cmpint (loom_loader_n_samples (less), ==, 103 - out);
      g_assert_cmpmem (whole->data, (103 - out) * 8, head->data, head->len * 8);
      assert_tail (head, tail);
    }
  plain = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, FALSE, 7, mode, NULL);
  in_order = collect (plain, 0, 0);
  for (gint64 i = 0; i < 103; i++)
    g_assert_cmpint (g_array_index (in_order, gint64, i), ==, i);
}

/* Leaving an epoch in the middle, repeatedly, neither hangs nor mixes epochs. */
static void
test_restart (gconstpointer data)
{
  int mode = GPOINTER_TO_INT (data);
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL;

  init_counting (&counting, 1000);
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 8, TRUE, 1, mode, NULL);
  for (int round = 0; round < 200; round++)
    {
      g_autofree guint32 *order = g_new (guint32, 1000);
      gint64 first = round % 125;

      loom_dataset_permutation (1, (guint64)round, 1000, order);
      loom_loader_start (loader, round, first);
      for (int k = 0; k < round % 7; k++)
        {
          const LoomBatch *batch = loom_loader_next (loader, NULL);

          if (batch == NULL)
            break;
          g_assert_cmpfloat (loom_tensor_get (batch->tensors[0], 0), ==, order[(first + k) * 8]);
        }
      if (round % 3 == 0)
        loom_loader_reset (loader);
    }
}

/* A changed batch size continues the epoch at its next sample; other epochs are divided from their beginning. */
static void
test_batch_size (gconstpointer data)
{
  int mode = GPOINTER_TO_INT (data);
  g_autofree guint32 *order = g_new (guint32, 100);
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL;
  g_autoptr (GError) error = NULL;

  init_counting (&counting, 100);
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 8, TRUE, 3, mode, NULL);
  g_assert_true (loom_loader_keep_two (loader, NULL));
  loom_dataset_permutation (3, 2, 100, order);
  loom_loader_start (loader, 2, 0);
  g_assert_nonnull (loom_loader_next (loader, NULL));
  /* Three batches of 8, then of 30, and the rest of 16; one sample is left out at first. */
  for (gint64 left_out = 1; left_out >= 0; left_out--)
    {
      g_assert_true (loom_loader_set_batch_size (loader, 30, 2, 3, 24, left_out, &error));
      g_autoptr (GArray) all = collect (loader, 2, 3), next = NULL;

      g_assert_cmpint (loom_loader_n_batches (loader), ==, 6);
      g_assert_cmpuint (all->len, ==, 76 - (guint)left_out);
      for (guint i = 0; i < all->len; i++)
        g_assert_cmpint (g_array_index (all, gint64, i), ==, order[24 + i]);
      next = collect (loader, 3, 0);
      g_assert_cmpuint (next->len, ==, 100 - (guint)left_out);
      g_assert_cmpint (loom_loader_n_batches (loader), ==, 4);
    }
  g_assert_true (loom_loader_set_batch_size (loader, 7, 2, 4, 54, 0, &error));
  g_autoptr (GArray) rest = collect (loader, 2, 6);
  g_assert_cmpuint (rest->len, ==, 32);
  g_assert_cmpint (g_array_index (rest, gint64, 0), ==, order[68]);
}

/* Batches come in order, whichever thread is ready first. */
static void
test_uneven (void)
{
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL;

  init_counting (&counting, 1000);
  counting.uneven = TRUE;
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, FALSE, 1, LOOM_LOADER_THREADS, NULL);
  for (int epoch = 0; epoch < 3; epoch++)
    {
      g_autoptr (GArray) all = collect (loader, epoch, 0);

      g_assert_cmpuint (all->len, ==, 1000);
      for (gint64 i = 0; i < 1000; i++)
        g_assert_cmpint (g_array_index (all, gint64, i), ==, i);
    }
}

/* Threads prepare ahead, but never more than the ring holds: three batches more than there are threads. */
static void
test_ahead (gconstpointer data)
{
  const int mode = GPOINTER_TO_INT (data);
  const int most = mode + 3;
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL;

  init_counting (&counting, 1000);
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, FALSE, 1, mode, NULL);
  loom_loader_start (loader, 0, 50);
  g_assert_nonnull (loom_loader_next (loader, NULL));
  while (g_atomic_int_get (&counting.reads) < most)
    g_usleep (1000);
  g_usleep (20000);
  g_assert_cmpint (g_atomic_int_get (&counting.reads), ==, most);
}

/* A batch stays valid while the next one is read, and no longer. */
static void
test_keep (gconstpointer data)
{
  const int mode = GPOINTER_TO_INT (data);
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL;
  g_autoptr (GError) error = NULL;

  init_counting (&counting, 103);
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, TRUE, 7, mode, NULL);
  g_assert_true (loom_loader_keep_two (loader, &error));
  for (int epoch = 0; epoch < 20; epoch++)
    {
      const LoomBatch *before = NULL, *batch;
      gint64 first = epoch % 3;

      loom_loader_start (loader, epoch, first);
      while ((batch = loom_loader_next (loader, &error)) != NULL)
        {
          g_assert_true (batch != before);
          for (gint64 i = 0; before != NULL && i < before->n; i++)
            g_assert_cmpint ((gint64)loom_tensor_get (before->tensors[0], 3 * i + 2), ==, before->samples[i]);
          if (before != NULL)
            g_assert_cmpint (before->index, ==, batch->index - 1);
          /* Threads would fill a batch that is returned. */
          if (mode != LOOM_LOADER_DIRECT)
            g_usleep (200);
          before = batch;
        }
      g_assert_no_error (error);
      g_assert_cmpint (before->index, ==, 10);
    }
}

static void
test_error (gconstpointer data)
{
  int mode = GPOINTER_TO_INT (data);
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL;
  g_autoptr (GError) error = NULL;

  init_counting (&counting, 40);
  counting.broken = TRUE;
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 10, FALSE, 0, mode, NULL);
  loom_loader_start (loader, 0, 0);
  g_assert_nonnull (loom_loader_next (loader, &error));
  g_assert_null (loom_loader_next (loader, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_cmpstr (error->message, ==, "Sample 13 is damaged.");
}

static void
test_empty_split (void)
{
  Counting counting;
  g_autoptr (GError) error = NULL;

  init_counting (&counting, 40);
  g_assert_null (loom_loader_new (&counting.base, LOOM_SPLIT_VAL, 10, FALSE, 0, &error));
  g_assert_cmpstr (error->message, ==, "The split “val” of the data set has no samples.");
}

/* A resumed run relies on this order, so it is fixed here. */
static void
test_permutation (void)
{
  guint32 order[8], all[1000];
  double mean = 0;

  loom_dataset_permutation (1, 0, 8, order);
  g_test_message ("%u %u %u %u %u %u %u %u", order[0], order[1], order[2], order[3], order[4], order[5], order[6],
                  order[7]);
  {
    const guint32 expected[] = { 3, 2, 5, 6, 4, 7, 0, 1 };

    g_assert_cmpmem (order, sizeof order, expected, sizeof expected);
  }
  /* The position of sample 0 is uniform: over 1,000 epochs its mean is 499.5 ± 9 (one σ). */
  for (guint64 epoch = 0; epoch < 1000; epoch++)
    {
      loom_dataset_permutation (5, epoch, 1000, all);
      for (guint32 i = 0; i < 1000; i++)
        mean += all[i] == 0 ? i / 1000.0 : 0;
    }
  g_assert_cmpfloat_with_epsilon (mean, 499.5, 46);
}

/* Weighted samples occur in proportion to their weights, those without weight never, and the same ones in each loader.
 */
static void
test_weights (gconstpointer data)
{
  int mode = GPOINTER_TO_INT (data);
  const double weight[12] = { 0, 3, 0, 1, 1, 1, 0, 2, 0, 4, 0, 0 };
  guint count[12] = { 0 };
  Counting counting;
  g_autoptr (LoomLoader) loader = NULL, other = NULL;

  init_counting (&counting, 12);
  loader = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 5, TRUE, 7, mode, NULL);
  other = loom_loader_new_with_threads (&counting.base, LOOM_SPLIT_TRAIN, 5, TRUE, 7, mode, NULL);
  loom_loader_set_weights (loader, weight);
  loom_loader_set_weights (other, weight);
  for (gint64 epoch = 0; epoch < 1000; epoch++)
    {
      g_autoptr (GArray) drawn = collect (loader, epoch, 0);

      g_assert_cmpuint (drawn->len, ==, 12);
      for (guint i = 0; i < drawn->len; i++)
        count[g_array_index (drawn, gint64, i)]++;
      if (epoch % 100 == 0)
        {
          g_autoptr (GArray) tail = collect (other, epoch, 1);

          assert_tail (drawn, tail);
        }
    }
  /* Five standard deviations of a binomial distribution. */
  for (guint i = 0; i < 12; i++)
    {
      const double p = weight[i] / 12, expected = 12000 * p;

      g_assert_cmpfloat (fabs (count[i] - expected), <=, 5 * sqrt (expected * (1 - p)));
    }
}

static double *
weights_of (const char *path, const char *text, GError **error)
{
  const char *const options[]
      = { "path", path, "target", "kind", "test_fraction", "0", g_str_equal (text, "weight") ? "weight" : NULL,
          "a",    NULL };
  const LoomDatasetOptions get = { .get = loom_dataset_options_from_strv, .data = options };
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("csv", &get, NULL);

  g_assert_nonnull (dataset);
  g_assert_cmpint (loom_dataset_count (dataset, LOOM_SPLIT_TRAIN), ==, 40);
  return loom_sample_weights (dataset, text, error);
}

/* Each sample has the weight of its class, or one by which all classes are drawn equally often. */
static void
test_class_weights (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-loader-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "t.csv", NULL);
  g_autoptr (GString) table = g_string_new ("a,b,kind\n");
  g_autofree double *balanced = NULL, *given = NULL, *own = NULL;
  static const char *const bad[][2] = { { "1,2,3", "*3 numbers*2 classes*" }, { "0.5", "*1 numbers*2 classes*" } };
  double sum[2] = { 0 };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 40; i++)
    g_string_append_printf (table, "%u,1,%s\n", i, i % 4 == 0 ? "rose" : "daisy");
  g_assert_true (g_file_set_contents (path, table->str, -1, NULL));
  balanced = weights_of (path, "balanced", &error);
  g_assert_no_error (error);
  given = weights_of (path, "2,0", &error);
  g_assert_no_error (error);
  own = weights_of (path, "weight", &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 40; i++)
    {
      /* Daisies are class 0. */
      sum[balanced[i] > 1.0 / 20] += balanced[i];
      g_assert_cmpfloat (given[i], ==, balanced[i] > 1.0 / 20 ? 0 : 2);
      g_assert_cmpfloat (own[i], ==, i);
    }
  g_assert_cmpfloat_with_epsilon (sum[0], 1, 1e-12);
  g_assert_cmpfloat_with_epsilon (sum[1], 1, 1e-12);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_assert_null (weights_of (path, bad[i][0], &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
      g_assert_true (g_pattern_match_simple (bad[i][1], error->message));
      g_clear_error (&error);
    }
  g_assert_true (loom_sample_weights_are_valid ("0,1e-3"));
  for (guint i = 0; i < 5; i++)
    g_assert_false (loom_sample_weights_are_valid (((const char *[]){ "", "0,0", "1,-1", "1,,2", "even" })[i]));
  g_remove (path);
  g_rmdir (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/loader/permutation", test_permutation);
  g_test_add_data_func ("/loader/order/direct", GINT_TO_POINTER (LOOM_LOADER_DIRECT), test_order);
  g_test_add_data_func ("/loader/order/thread", GINT_TO_POINTER (LOOM_LOADER_THREAD), test_order);
  g_test_add_data_func ("/loader/restart/direct", GINT_TO_POINTER (LOOM_LOADER_DIRECT), test_restart);
  g_test_add_data_func ("/loader/restart/thread", GINT_TO_POINTER (LOOM_LOADER_THREAD), test_restart);
  g_test_add_data_func ("/loader/order/threads", GINT_TO_POINTER (LOOM_LOADER_THREADS), test_order);
  g_test_add_data_func ("/loader/restart/threads", GINT_TO_POINTER (LOOM_LOADER_THREADS), test_restart);
  g_test_add_data_func ("/loader/batch-size/direct", GINT_TO_POINTER (LOOM_LOADER_DIRECT), test_batch_size);
  g_test_add_data_func ("/loader/batch-size/threads", GINT_TO_POINTER (LOOM_LOADER_THREADS), test_batch_size);
  g_test_add_func ("/loader/uneven", test_uneven);
  g_test_add_data_func ("/loader/ahead/thread", GINT_TO_POINTER (LOOM_LOADER_THREAD), test_ahead);
  g_test_add_data_func ("/loader/ahead/threads", GINT_TO_POINTER (LOOM_LOADER_THREADS), test_ahead);
  g_test_add_data_func ("/loader/keep/direct", GINT_TO_POINTER (LOOM_LOADER_DIRECT), test_keep);
  g_test_add_data_func ("/loader/keep/thread", GINT_TO_POINTER (LOOM_LOADER_THREAD), test_keep);
  g_test_add_data_func ("/loader/keep/threads", GINT_TO_POINTER (LOOM_LOADER_THREADS), test_keep);
  g_test_add_data_func ("/loader/error/direct", GINT_TO_POINTER (LOOM_LOADER_DIRECT), test_error);
  g_test_add_data_func ("/loader/error/thread", GINT_TO_POINTER (LOOM_LOADER_THREAD), test_error);
  g_test_add_data_func ("/loader/error/threads", GINT_TO_POINTER (LOOM_LOADER_THREADS), test_error);
  g_test_add_func ("/loader/empty-split", test_empty_split);
  g_test_add_data_func ("/loader/weights/direct", GINT_TO_POINTER (LOOM_LOADER_DIRECT), test_weights);
  g_test_add_data_func ("/loader/weights/threads", GINT_TO_POINTER (LOOM_LOADER_THREADS), test_weights);
  g_test_add_func ("/loader/class-weights", test_class_weights);
  return g_test_run ();
}
