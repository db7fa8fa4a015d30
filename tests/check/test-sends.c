/* The checker on copies that two devices make without the host: on two emulated GPUs, a reader that does not wait for
 * its copy is refused, and so is an update that does not wait for the copy of what it overwrites. */
#include "engine/check/loom-check.h"
#include "engine/plan/plan-private.h"
#include "tests/test-program.h"

static LoomDevices *devices;

/* y = exp(tanh(x) on the first GPU, on the second), and back. */
static LoomPlan *
make_plan (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  const LoomPlanOptions options = { .device = "cuda:0" };
  g_autoptr (GError) error = NULL;
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 8, 32 }), a, b;
  LoomPlan *plan;

  loom_program_set_origin (p, "a", "cuda:0");
  a = loom_unary (p, LOOM_SCALAR_TANH, x);
  loom_program_set_origin (p, "b", "cuda:1");
  b = loom_sum_all (p, loom_unary (p, LOOM_SCALAR_EXP, a));
  loom_program_set_origin (p, "c", "cuda:0");
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, b, loom_sum_all (p, a)));
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  return plan;
}

static LoomPlanInstr *
find_reader (LoomPlan *plan)
{
  for (guint i = 0; i < plan->instrs->len; i++)
    if (g_array_index (plan->instrs, LoomPlanInstr, i).n_sent > 0)
      return &g_array_index (plan->instrs, LoomPlanInstr, i);
  g_assert_not_reached ();
}

static gboolean
has_order_fault (const LoomCheckReport *report)
{
  for (guint i = 0; i < report->faults->len; i++)
    if (((LoomCheckFault *)g_ptr_array_index (report->faults, i))->rule == LOOM_CHECK_ORDER)
      return TRUE;
  return FALSE;
}

static gboolean
has_sends (const LoomPlan *plan)
{
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    if (loom_plan_instr (plan, i)->is_send)
      return TRUE;
  return FALSE;
}

static void
test_right (void)
{
  g_autoptr (LoomPlan) plan = make_plan ();
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  g_assert_true (loom_check_plan (plan, NULL, report));
  g_assert_cmpuint (report->n_pairs, >, 0);
}

/* Without the pass the host makes the copies, so no other lane is left. */
static void
test_by_the_host (void)
{
  g_autoptr (LoomPlan) plan = make_plan (), other = NULL;
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();
  g_autoptr (GError) error = NULL;

  other = loom_plan_new (loom_plan_program (plan), devices, &(LoomPlanOptions){ .device = "cuda:0", .no_sends = TRUE },
                         &error);
  g_assert_no_error (error);
  g_assert_true (loom_check_plan (other, NULL, report));
  g_assert_true (has_sends (plan));
  g_assert_false (has_sends (other));
}

static void
test_no_wait (void)
{
  g_autoptr (LoomPlan) plan = make_plan ();
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  find_reader (plan)->n_sent = 0;
  g_assert_false (loom_check_plan (plan, NULL, report));
  g_assert_true (has_order_fault (report));
}

/* A reader that waits for itself. */
static void
test_later_copy (void)
{
  g_autoptr (LoomPlan) plan = make_plan ();
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  find_reader (plan)->sent[0] = plan->instrs->len - 1;
  g_assert_false (loom_check_plan (plan, NULL, report));
  g_assert_true (has_order_fault (report));
}

/* The batch has no staging area, although the forecast counts one. */
static void
test_staging (void)
{
  g_autoptr (LoomPlan) plan = make_plan ();
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  g_assert_cmpuint (plan->uploads->len, ==, 1);
  g_array_index (plan->staging, LoomPlanArea, 0).bytes = 0;
  g_assert_false (loom_check_plan (plan, NULL, report));
}

TEST_FILE (argc, argv)
{
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  devices = loom_devices_new (1);
  if (loom_devices_get (devices, "cuda:1", &error) == NULL)
    {
      g_print ("1..0 # SKIP %s\n", error->message);
      return 77;
    }
  g_test_add_func ("/check/sends/right", test_right);
  g_test_add_func ("/check/sends/by-the-host", test_by_the_host);
  g_test_add_func ("/check/sends/no-wait", test_no_wait);
  g_test_add_func ("/check/sends/later-copy", test_later_copy);
  g_test_add_func ("/check/sends/staging", test_staging);
  return g_test_run ();
}
