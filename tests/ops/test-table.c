/* Large constants as text: what is written is read again, and text that is no table of the wanted size is refused. */
#include "tests/test-program.h"

#include "engine/ops/loom-table.h"

#include <math.h>

static void
check (LoomDType dtype, const double *want, gsize count)
{
  g_autoptr (LoomTensor) t = loom_tensor_new (dtype, 1, (gint64[]){ (gint64)count }, NULL);
  g_autofree double *values = g_new0 (double, count + 1);
  g_autofree char *text = NULL;

  for (gsize i = 0; i < count; i++)
    loom_tensor_set (t, (gint64)i, want[i]);
  text = loom_table_encode (t);
  g_assert_nonnull (text);
  g_assert_true (loom_table_decode (text, dtype, count, values));
  for (gsize i = 0; i < count; i++)
    g_assert_true (values[i] == want[i]);
  g_assert_false (loom_table_decode (text, dtype, count + 1, values));
  if (count > 1)
    g_assert_false (loom_table_decode (text, dtype, count - 1, values));
}

static void
test_round (void)
{
  check (LOOM_F32, (const double[]){ 0, -INFINITY, 0.25, -3, 1e30f, 7 }, 6);
  check (LOOM_I64, (const double[]){ 0, -1, 9007199254740992.0 }, 3);
  check (LOOM_BOOL, (const double[]){ 1, 0, 1, 1 }, 4);
}

static void
test_refused (void)
{
  static const char *const texts[] = { "", "AAAA", "not base64", "eNpjYA==" };
  double values[4];

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_false (loom_table_decode (texts[i], LOOM_F32, 4, values));
  g_assert_false (loom_table_decode ("eNpjYAAAAAQAAQ", LOOM_F32, (gsize)LOOM_TABLE_MAX_COUNT + 1, values));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/table/round", test_round);
  g_test_add_func ("/table/refused", test_refused);
  return g_test_run ();
}
