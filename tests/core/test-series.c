/* The bounded series of points. */
#include "engine/core/loom-series.h"
#include "tests/test-program.h"

#include <math.h>

static double
noise (guint i)
{
  return sin (i * 0.37) + cos (i * 0.011) * 3 + (i * 2654435761u % 1000) / 1000.;
}

/* The pyramid agrees with a plain loop for any interval, and reads few entries. */
static void
test_pyramid (void)
{
  g_autoptr (LoomSeries) s = loom_series_new (LOOM_SERIES_MOST);
  guint n = 30000;
  for (guint i = 0; i < n; i++)
    loom_series_append (s, i, i % 977 == 0 ? NAN : noise (i));
  GRand *random = g_rand_new_with_seed (5);
  for (int t = 0; t < 300; t++)
    {
      guint from = (guint)g_rand_int_range (random, 0, (gint32)n),
            to = (guint)g_rand_int_range (random, (gint32)from, (gint32)n + 1);
      double low = INFINITY, high = -INFINITY, got_low = 0, got_high = 0, got_mean = 0, sum = 0;
      guint finite = 0;
      for (guint i = from; i < to; i++)
        if (i % 977 != 0)
          {
            low = MIN (low, noise (i));
            high = MAX (high, noise (i));
            sum += noise (i);
            finite++;
          }
      gboolean any = loom_series_range (s, from, to, &got_low, &got_high, &got_mean);
      g_assert_cmpint (any, ==, low <= high);
      g_assert_cmpuint (loom_series_last_cost (s), <=, 16 * 2 * 5);
      if (any)
        {
          g_assert_cmpfloat (got_low, ==, low);
          g_assert_cmpfloat (got_high, ==, high);
          g_assert_cmpfloat_with_epsilon (got_mean, sum / finite, 1e-9);
        }
    }
  g_rand_free (random);
}

/* A resumed run writes over the steps that were not saved. */
static void
test_truncate (void)
{
  g_autoptr (LoomSeries) s = loom_series_new (LOOM_SERIES_MOST);
  for (guint i = 0; i < 1000; i++)
    loom_series_append (s, i, i);
  loom_series_append (s, 500, -7);
  g_assert_cmpuint (loom_series_length (s), ==, 501);
  for (guint i = 501; i < 900; i++)
    loom_series_append (s, i, 1);
  double low, high;
  g_assert_true (loom_series_range (s, 0, loom_series_length (s), &low, &high, NULL));
  g_assert_cmpfloat (high, ==, 499);
  g_assert_cmpfloat (low, ==, -7);
  gsize at;
  g_assert_true (loom_series_nearest (s, 899.6, &at));
  double x;
  loom_series_get (s, at, &x, NULL);
  g_assert_cmpfloat (x, ==, 899);
}

/* A run of any length has a bounded series, which keeps extrema and means of all points, and the newest point. */
static void
test_bounded (void)
{
  const guint n = 500001;
  g_autoptr (LoomSeries) s = loom_series_new (LOOM_SERIES_MOST);
  double low, high, mean, x, y, least = INFINITY, most = -INFINITY, sum = 0;

  for (guint i = 0; i < n; i++)
    {
      loom_series_append (s, i, noise (i));
      least = MIN (least, noise (i));
      most = MAX (most, noise (i));
      sum += noise (i);
    }
  g_assert_cmpuint (loom_series_length (s), <=, LOOM_SERIES_MOST);
  g_assert_cmpuint (loom_series_length (s), >, LOOM_SERIES_MOST / 4);
  g_assert_true (loom_series_range (s, 0, loom_series_length (s), &low, &high, &mean));
  g_assert_cmpfloat (low, ==, least);
  g_assert_cmpfloat (high, ==, most);
  g_assert_cmpfloat_with_epsilon (mean, sum / n, 1e-9);
  g_assert_true (loom_series_last (s, &x, &y));
  g_assert_cmpfloat (x, ==, n - 1);
  g_assert_cmpfloat (y, ==, noise (n - 1));
  for (gsize i = 1; i < loom_series_length (s); i++)
    {
      double before;

      loom_series_get (s, i - 1, &before, NULL);
      loom_series_get (s, i, &x, &y);
      g_assert_cmpfloat (x, >, before);
      g_assert_cmpfloat (y, ==, noise ((guint)x));
    }
  /* A resumed run overwrites merged points, too. */
  loom_series_append (s, 1000, 100);
  g_assert_cmpuint (loom_series_length (s), <, 1000);
  g_assert_true (loom_series_last (s, &x, &y));
  g_assert_cmpfloat (x, ==, 1000);
  g_assert_true (loom_series_range (s, 0, loom_series_length (s), &low, &high, NULL));
  g_assert_cmpfloat (high, ==, 100);
}

/* Neighbours are merged in pairs, and a copy grows by itself. */
static void
test_most (void)
{
  g_autoptr (LoomSeries) s = loom_series_new (5), copy = NULL;
  double x, y;

  for (guint i = 1; i <= 9; i++)
    loom_series_append (s, i, i == 2 ? NAN : i);
  copy = loom_series_copy (s);
  loom_series_append (copy, 10, 10);
  g_assert_cmpuint (loom_series_length (s), ==, 3);
  loom_series_get (s, 2, &x, &y);
  g_assert_cmpfloat (x, ==, 9);
  g_assert_cmpfloat (y, ==, 9);
  g_assert_cmpfloat (loom_series_mean (s, 0), ==, 8. / 3);
  g_assert_cmpfloat (loom_series_mean (s, 1), ==, 6.5);
  g_assert_cmpfloat (loom_series_mean (copy, 2), ==, 9.5);
  g_assert_cmpfloat (loom_series_mean (s, 2), ==, 9);
  loom_series_append (s, 2, NAN);
  g_assert_cmpuint (loom_series_length (s), ==, 1);
  g_assert_true (isnan (loom_series_mean (s, 0)));
  g_assert_false (loom_series_last (s, NULL, NULL));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/series/pyramid", test_pyramid);
  g_test_add_func ("/series/truncate", test_truncate);
  g_test_add_func ("/series/bounded", test_bounded);
  g_test_add_func ("/series/most", test_most);
  return g_test_run ();
}
