/* The rule "meaning" on a device with its own memory: the plans of right programs pass, evaluated by the device's own
 * kernels, and are refused as plans of programs that differ in one detail. */
#include "engine/check/loom-check.h"
#include "engine/plan/plan-private.h"
#include "tests/check/wrong-programs.h"
#include "tests/test-program.h"

static LoomDevices *devices;

static LoomCheckReport *
check (const LoomPlan *plan)
{
  LoomCheckReport *report = loom_check_report_new ();

  loom_check_plan (plan, &(LoomCheckOptions){ .meaning = TRUE, .seed = 1 }, report);
  return report;
}

/* Another rule may refuse the plan too, as "random" does for another stream. */
static void
assert_is_refused (const LoomCheckReport *report)
{
  for (guint i = 0; i < report->faults->len; i++)
    if (((LoomCheckFault *)report->faults->pdata[i])->rule == LOOM_CHECK_MEANING)
      return;
  g_test_fail ();
}

static void
test_pair (gconstpointer data)
{
  const WrongProgram *pair = &wrong_programs[GPOINTER_TO_UINT (data)];
  g_autoptr (LoomProgram) right = pair->program (FALSE), wrong = pair->program (TRUE);
  const LoomPlanOptions options = { .device = "cuda:0" };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (right, devices, &options, &error);
  g_autoptr (LoomCheckReport) report = NULL, other = NULL;

  g_assert_no_error (error);
  report = check (plan);
  for (guint i = 0; i < report->faults->len; i++)
    g_error ("%s: %s", pair->name, ((LoomCheckFault *)report->faults->pdata[i])->text);
  g_assert_cmpuint (report->n_evaluated, ==, report->n_pieces);
  loom_program_unref (plan->program);
  plan->program = loom_program_ref (wrong);
  other = check (plan);
  assert_is_refused (other);
}

TEST_FILE (argc, argv)
{
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  devices = loom_devices_new (1);
  if (loom_devices_get (devices, "cuda:0", &error) == NULL)
    {
      g_print ("1..0 # SKIP %s\n", error->message);
      return 77;
    }
  for (guint i = 0; i < n_wrong_programs; i++)
    {
      g_autofree char *path = g_strdup_printf ("/check/gpu-meaning/%s", wrong_programs[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_pair);
    }
  return g_test_run ();
}
