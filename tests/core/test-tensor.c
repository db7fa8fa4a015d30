/* Host tensors: the 16-bit types over all their values, conversions, limits. */
#include "engine/core/loom-tensor.h"
#include "tests/test-program.h"

#include <math.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-hash.h"
#include "engine/core/loom-summary.h"

/* Every half and bfloat16 is unchanged after conversion to f32 and back; NaN stays NaN. */
/* Products that overflow are too large, also those that would be 0 or small. */
static void
test_dims (void)
{
  const gint64 great = (gint64)1 << 32, half[] = { great, great }, wrong[] = { 3, -1 }, none[] = { 3, 0 },
               few[] = { 2, 3 };
  const gint64 small[] = { great, great / 2, 2 };

  g_assert_cmpuint (loom_dims_count (2, half, G_MAXSIZE), ==, 0);
  g_assert_cmpuint (loom_dims_count (3, small, 1000), ==, 0);
  g_assert_cmpuint (loom_dims_count (2, wrong, 1000), ==, 0);
  g_assert_cmpuint (loom_dims_count (2, none, 1000), ==, 0);
  g_assert_cmpuint (loom_dims_count (2, few, 6), ==, 6);
  g_assert_cmpuint (loom_dims_count (2, few, 5), ==, 0);
  g_assert_cmpuint (loom_dims_count (0, NULL, 1), ==, 1);
  g_assert_cmpuint (loom_dims_count (0, NULL, 0), ==, 0);
}

static void
test_narrow_round_trip (void)
{
  for (guint h = 0; h < 65536; h++)
    {
      float half = loom_half_to_float (h), bfloat = loom_bfloat_to_float (h);

      if (isnan (half))
        g_assert_true (isnan (loom_half_to_float (loom_half_from_float (half))));
      else
        g_assert_cmphex (loom_half_from_float (half), ==, h);
      if (isnan (bfloat))
        g_assert_true (isnan (loom_bfloat_to_float (loom_bfloat_from_float (bfloat))));
      else
        g_assert_cmphex (loom_bfloat_from_float (bfloat), ==, h);
    }
}

static void
test_narrow_rounding (void)
{
  gint64 one = 1;
  g_autoptr (LoomTensor) half = loom_tensor_new (LOOM_F16, 1, &one, NULL);

  g_assert_cmpfloat (loom_half_to_float (0x3c00), ==, 1.0f);
  g_assert_cmpfloat (loom_half_to_float (0x7bff), ==, 65504.0f);
  g_assert_cmphex (loom_half_from_float (65519.0f), ==, 0x7bff);
  g_assert_cmphex (loom_half_from_float (65520.0f), ==, 0x7c00);
  g_assert_cmphex (loom_half_from_float (-1e30f), ==, 0xfc00);
  g_assert_cmphex (loom_half_from_float (0x1p-25f), ==, 0);
  g_assert_cmphex (loom_half_from_float (0x1.8p-24f), ==, 2);
  g_assert_cmphex (loom_half_from_float (1 + 0x1p-11f), ==, 0x3c00);
  g_assert_cmphex (loom_half_from_float (1 + 0x1.8p-10f), ==, 0x3c02);
  g_assert_cmphex (loom_bfloat_from_float (1 + 0x1p-8f), ==, 0x3f80);
  g_assert_cmphex (loom_bfloat_from_float (1 + 0x1.8p-7f), ==, 0x3f82);
  /* Through f32 this double would first fall onto the tie and then down to 1. */
  loom_tensor_set (half, 0, 1 + 0x1p-11 + 0x1p-40);
  g_assert_cmpfloat (loom_tensor_get (half, 0), ==, 1 + 0x1p-10);
}

static void
test_convert (void)
{
  gint64 dims[] = { 2, 2 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) wide = loom_tensor_new (LOOM_I64, 2, dims, NULL);
  g_autoptr (LoomTensor) narrow = NULL, back = NULL, floats = NULL, refused = NULL;
  gint64 *v = wide->data;

  v[0] = -5;
  v[1] = 0;
  v[2] = 16777216;
  v[3] = 2147483647;
  narrow = loom_tensor_convert (wide, LOOM_I32, TRUE, &error);
  g_assert_no_error (error);
  back = loom_tensor_convert (narrow, LOOM_I64, TRUE, &error);
  g_assert_true (loom_tensor_equal_bits (back, wide));
  refused = loom_tensor_convert (wide, LOOM_F32, TRUE, &error);
  g_assert_null (refused);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_cmpstr (error->message, ==, "Element 3 is 2147483647, which f32 cannot hold exactly.");
  g_clear_error (&error);
  floats = loom_tensor_convert (wide, LOOM_F32, FALSE, &error);
  g_assert_cmpfloat (loom_tensor_get (floats, 3), ==, 2147483648.0);

  v[1] = (G_GINT64_CONSTANT (1) << 53) + 1;
  refused = loom_tensor_convert (wide, LOOM_F64, TRUE, &error);
  g_assert_null (refused);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_clear_error (&error);
  loom_tensor_set (floats, 0, 1.5);
  refused = loom_tensor_convert (floats, LOOM_I64, TRUE, &error);
  g_assert_null (refused);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
}

static void
test_limits (void)
{
  gint64 huge[] = { G_MAXINT64 / 2, 3 }, large[] = { G_MAXINT64 / 16 }, empty[] = { 0, 5 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) t = NULL;

  g_assert_null (loom_tensor_new (LOOM_U8, 2, huge, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
  g_clear_error (&error);
  g_assert_null (loom_tensor_new (LOOM_F64, 1, large, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY);
  g_clear_error (&error);
  t = loom_tensor_new (LOOM_F32, 2, empty, &error);
  g_assert_no_error (error);
  g_assert_nonnull (t->data);
  g_assert_cmpint (t->count, ==, 0);
  loom_tensor_unref (t);
  t = loom_tensor_new (LOOM_F32, 0, NULL, &error);
  g_assert_cmpint (t->count, ==, 1);
  g_assert_cmpint ((guintptr)t->data % 64, ==, 0);
  g_assert_cmpfloat (loom_tensor_get (t, 0), ==, 0);
}

static void
test_view (void)
{
  const float values[] = { 1, 2, 3, 4 };
  gint64 n = 3;
  GBytes *bytes = g_bytes_new (values, sizeof values);
  g_autoptr (LoomTensor) view = loom_tensor_new_from_bytes (LOOM_F32, 1, &n, bytes, 4);

  g_bytes_unref (bytes);
  g_assert_cmpfloat (loom_tensor_get (view, 2), ==, 4);
}

/* Blocks of 2×2 of a matrix of 3×5 after two other elements: those at the edges are smaller. */
static void
test_block_means (void)
{
  static const float values[] = { 7, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
  static const float want[] = { 4, 6, 7.5f, 11.5f, 13.5f, 15 };
  g_autoptr (GBytes) bytes = g_bytes_new_static (values, sizeof values);
  g_autoptr (LoomTensor) t = loom_tensor_new_from_bytes (LOOM_F32, 1, (gint64[]){ 17 }, bytes, 0);
  float means[G_N_ELEMENTS (want)];

  loom_tensor_block_means (t, 2, 3, 5, 2, 2, means);
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    g_assert_cmpfloat (means[i], ==, want[i]);
}

/* The published values of FNV-1a; runs of older versions depend on them. */
/* The difference of the extremes is no double. */
static void
test_summary (void)
{
  static const double values[] = { -1.5e308, 0, 1.5e308, NAN, 0 };
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_F64, 1, (gint64[]){ G_N_ELEMENTS (values) }, NULL);
  LoomSummary s;

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    loom_tensor_set (t, i, values[i]);
  loom_summary_of (t, 1, &s);
  g_assert_cmpint (s.n_bad, ==, 1);
  g_assert_cmpfloat (s.min, ==, -1.5e308);
  g_assert_cmpfloat (s.max, ==, 1.5e308);
  g_assert_cmpuint (s.bin[0], ==, 1);
  g_assert_cmpuint (s.bin[LOOM_SUMMARY_BINS / 2], ==, 2);
  g_assert_cmpuint (s.bin[LOOM_SUMMARY_BINS - 1], ==, 1);
}

static void
test_hash (void)
{
  g_assert_cmphex (loom_hash_name (""), ==, G_GUINT64_CONSTANT (0xcbf29ce484222325));
  g_assert_cmphex (loom_hash_name ("a"), ==, G_GUINT64_CONSTANT (0xaf63dc4c8601ec8c));
  g_assert_cmphex (loom_hash_name ("foobar"), ==, G_GUINT64_CONSTANT (0x85944171f73967e8));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor/dims", test_dims);
  g_test_add_func ("/tensor/narrow-round-trip", test_narrow_round_trip);
  g_test_add_func ("/tensor/narrow-rounding", test_narrow_rounding);
  g_test_add_func ("/tensor/convert", test_convert);
  g_test_add_func ("/tensor/limits", test_limits);
  g_test_add_func ("/tensor/view", test_view);
  g_test_add_func ("/tensor/block-means", test_block_means);
  g_test_add_func ("/tensor/summary", test_summary);
  g_test_add_func ("/tensor/hash", test_hash);
  return g_test_run ();
}
