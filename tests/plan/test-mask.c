/* Tests that random numbers that are only compared become masks with the same bits. */
#include "tests/plan/check-passes.h"
#include "tests/plan/run-once.h"
#include "tests/test-program.h"

#define COUNT 1001

/* The elements of x that dropout keeps; shown: the numbers have another reader. */
static LoomProgram *
dropout (gboolean shown)
{
  const LoomRandomTo attrs
      = { .kernel = { .kind = LOOM_RANDOM_UNIFORM, .stream = 77 }, .dtype = LOOM_F32, .to = { 1, { COUNT } } };
  const gint64 dim[] = { COUNT };
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 1, dim);
  LoomValue u = loom_emit (p, loom_prim ("random"), &attrs, 2,
                           (LoomValue[]){ loom_const (p, LOOM_I64, 5), loom_const (p, LOOM_I64, 3) }, NULL);
  LoomValue keep = loom_binary (p, LOOM_SCALAR_GE, u, loom_const (p, LOOM_F32, 0.3));

  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_MUL, x, loom_cast (p, keep, LOOM_F32)));
  if (shown)
    loom_program_output (p, "u", u);
  return p;
}

static void
test_mask (gconstpointer data)
{
  static const char *const names[] = { "cpu", "ref" };
  const gboolean shown = GPOINTER_TO_INT (data);
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  g_autoptr (LoomProgram) p = dropout (shown);
  float x[COUNT];

  for (int i = 0; i < COUNT; i++)
    x[i] = 1 + (float)i;
  for (guint d = 0; d < G_N_ELEMENTS (names); d++)
    {
      LoomPlanOptions joined = { .device = names[d] }, apart = { .device = names[d], .no_fusion = TRUE };
      g_autofree char *wrong = check_passes (p, devices, &joined), *listing = NULL;
      LoomPlan *plan = loom_plan_new (p, devices, &joined, NULL);
      g_autoptr (GPtrArray) a = NULL, b = NULL;
      guint kept = 0;

      g_assert_cmpstr (wrong, ==, NULL);
      listing = loom_plan_print (plan);
      g_assert_cmpint (strstr (listing, "random+ge") != NULL, ==, !shown);
      a = run_once (devices, plan, names[d], x);
      b = run_once (devices, loom_plan_new (p, devices, &apart, NULL), names[d], x);
      for (gint64 i = 0; i < COUNT; i++)
        {
          g_assert_cmpfloat (loom_tensor_get (a->pdata[0], i), ==, loom_tensor_get (b->pdata[0], i));
          kept += loom_tensor_get (a->pdata[0], i) != 0;
        }
      g_assert_cmpuint (kept, >, COUNT / 2);
      g_assert_cmpuint (kept, <, COUNT * 9 / 10);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/plan/mask/drawn", GINT_TO_POINTER (FALSE), test_mask);
  g_test_add_data_func ("/plan/mask/shown", GINT_TO_POINTER (TRUE), test_mask);
  return g_test_run ();
}
