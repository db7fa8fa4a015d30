/* Weights of a file compared with a graph: matching ones, and the reports of others. */
#include "engine/interop/loom-weights.h"
#include "tests/test-program.h"

#include <string.h>

#include "engine/core/loom-error.h"

static LoomType
type_of (LoomDType dtype, int rank, const gint64 *dims)
{
  return (LoomType){ .dtype = dtype, .shape = loom_shape (rank, dims) };
}

/* A file with the f32 tensor a.weight of 3 × 4 and the i64 tensor a.count of rank 0. */
static LoomTensorFile *
sample_file (void)
{
  static const char header[] = "{\"a.weight\":{\"dtype\":\"F32\",\"shape\":[3,4],\"data_offsets\":[8,56]},"
                               "\"a.count\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}";
  guint64 length = GUINT64_TO_LE (strlen (header));
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  static const guint8 zeros[56];

  g_byte_array_append (bytes, (const guint8 *)&length, 8);
  g_byte_array_append (bytes, (const guint8 *)header, (guint)strlen (header));
  g_byte_array_append (bytes, zeros, sizeof zeros);
  g_autoptr (GBytes) all = g_byte_array_free_to_bytes (g_steal_pointer (&bytes));
  g_autoptr (GError) error = NULL;
  LoomTensorFile *file = loom_safetensors_open_bytes (all, "sample", &error);
  g_assert_no_error (error);
  return file;
}

static void
test_fit (void)
{
  static const struct
  {
    const char *name;
    LoomDType dtype;
    int rank;
    gint64 dims[2];
    LoomWeightFit fit;
    const char *said;
  } cases[] = {
    { "a.weight", LOOM_F32, 2, { 3, 4 }, LOOM_WEIGHT_FITS, NULL },
    { "a.weight", LOOM_F64, 2, { 3, 4 }, LOOM_WEIGHT_FITS, NULL },
    { "a.weight",
      LOOM_F32,
      2,
      { 4, 3 },
      LOOM_WEIGHT_DIFFERS,
      "a.weight is 4 × 3 here, 3 × 4 in the file; set another weight_layout on the linear node to load it" },
    { "a.weight", LOOM_F32, 1, { 12 }, LOOM_WEIGHT_DIFFERS, "a.weight is 12 here, 3 × 4 in the file" },
    { "a.weight", LOOM_I64, 2, { 3, 4 }, LOOM_WEIGHT_DIFFERS, "a.weight is i64 3 × 4 here, f32 3 × 4 in the file" },
    { "a.count", LOOM_F32, 0, { 0 }, LOOM_WEIGHT_DIFFERS, "a.count is f32 scalar here, i64 scalar in the file" },
    { "b.weight", LOOM_F32, 2, { 3, 4 }, LOOM_WEIGHT_MISSING, "b.weight is missing (3 × 4)" },
  };
  g_autoptr (LoomTensorFile) file = sample_file ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomType want = type_of (cases[i].dtype, cases[i].rank, cases[i].dims);
      g_autofree char *here = NULL, *there = NULL;
      guint at = G_MAXUINT;

      g_assert_cmpint (loom_weight_fit (file, cases[i].name, &want, &at, &here, &there), ==, cases[i].fit);
      if (cases[i].fit != LOOM_WEIGHT_MISSING)
        g_assert_cmpstr (loom_tensor_file_name (file, at), ==, cases[i].name);
      if (cases[i].said != NULL)
        {
          g_autofree char *said = loom_weight_mismatch (cases[i].name, here, there);
          g_assert_cmpstr (said, ==, cases[i].said);
        }
    }
}

static void
test_error (void)
{
  g_autoptr (GString) lines = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  loom_weight_add_mismatch (lines, "a", "3", NULL);
  loom_weight_add_mismatch (lines, "b", "3", "4");
  loom_weights_set_error (&error, "w.safetensors", lines->str, TRUE);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_cmpstr (error->message, ==,
                   "The weights in w.safetensors do not fit this graph:\n  a is missing (3)\n  b is 3 here, 4 in the "
                   "file\nUse --partial to load those that do.");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/weights/fit", test_fit);
  g_test_add_func ("/weights/error", test_error);
  return g_test_run ();
}
