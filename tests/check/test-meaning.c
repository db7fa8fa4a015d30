/* Tests the rule "meaning" of the checker of plans: plans of random programs and of every example pass, and a plan is
 * refused as the plan of a program that differs in one instruction. */
#include "engine/check/loom-check.h"
#include "engine/net/loom-net.h"
#include "engine/plan/plan-private.h"
#include "engine/train/loom-step.h"
#include "tests/check/wrong-programs.h"
#include "tests/example-data.h"
#include "tests/examples.h"
#include "tests/plan/random-program.h"
#include "tests/test-program.h"

static LoomCheckReport *
check (const LoomPlan *plan, double max_operations)
{
  LoomCheckReport *report = loom_check_report_new ();

  loom_check_plan (plan, &(LoomCheckOptions){ .meaning = TRUE, .max_operations = max_operations, .seed = 1 }, report);
  return report;
}

static void
assert_no_faults (const char *name, const LoomCheckReport *report)
{
  for (guint i = 0; i < report->faults->len; i++)
    g_printerr ("%s: %s\n", name, ((LoomCheckFault *)report->faults->pdata[i])->text);
  g_test_message ("%s: %u pieces, %u by rule, %u evaluated, %u too large, %u unchecked, %u faults", name,
                  report->n_pieces, report->n_by_rule, report->n_evaluated, report->n_too_large, report->n_unchecked,
                  report->faults->len);
  if (report->faults->len > 0)
    g_test_fail ();
}

/* ---- random programs ------------------------------------------------------------------ */

static void
test_random (void)
{
  static const struct
  {
    const char *device;
    LoomDType dtype;
  } kinds[] = { { "ref", LOOM_F64 }, { "cpu", LOOM_F32 } };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  for (guint32 seed = 0; seed < 60; seed++)
    for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
      {
        const LoomPlanOptions options = { .device = kinds[k].device };
        g_autoptr (LoomProgram) program = random_program_new (seed, 6 + seed % 30, kinds[k].dtype);
        g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, &options, NULL);
        g_autoptr (LoomCheckReport) report = check (plan, 0);
        g_autofree char *name = g_strdup_printf ("seed %u on %s", seed, kinds[k].device);

        assert_no_faults (name, report);
        g_assert_cmpuint (report->n_unchecked + report->n_too_large, ==, 0);
      }
}

/* ---- plans of other programs --------------------------------------------------------- */

static void
assert_is_refused (const LoomCheckReport *report)
{
  for (guint i = 0; i < report->faults->len; i++)
    {
      const LoomCheckFault *fault = report->faults->pdata[i];

      if (fault->rule != LOOM_CHECK_MEANING)
        continue;
      g_test_message ("%s", fault->text);
      return;
    }
  g_test_fail ();
}

/* Without evaluations every single call is proved, and the wrong one is not. */
static void
check_rules (LoomPlan *plan, LoomProgram *right, LoomProgram *wrong)
{
  g_autoptr (LoomCheckReport) report = NULL, other = NULL;

  loom_program_unref (plan->program);
  plan->program = loom_program_ref (right);
  report = check (plan, 1e-9);
  g_assert_cmpuint (report->faults->len, ==, 0);
  g_assert_true (report->n_by_rule > 0 || report->n_pieces == 0);
  g_assert_cmpuint (report->n_too_large + report->n_unchecked, ==, 0);
  loom_program_unref (plan->program);
  plan->program = loom_program_ref (wrong);
  other = check (plan, 1e-9);
  g_assert_true (other->n_too_large > 0 || other->faults->len > 0);
}

static void
test_pair (gconstpointer data)
{
  const WrongProgram *pair = &wrong_programs[GPOINTER_TO_UINT (data)];
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) right = pair->program (FALSE), wrong = pair->program (TRUE);

  for (int fusion = 0; fusion < 2; fusion++)
    {
      const LoomPlanOptions options = { .device = "cpu", .no_fusion = !fusion };
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomPlan) plan = loom_plan_new (right, devices, &options, &error);
      g_autoptr (LoomCheckReport) report = NULL, other = NULL;

      g_assert_no_error (error);
      report = check (plan, 0);
      assert_no_faults ("the plan's program", report);
      g_assert_cmpuint (report->n_evaluated, ==, report->n_pieces);
      loom_program_unref (plan->program);
      plan->program = loom_program_ref (wrong);
      other = check (plan, 0);
      assert_is_refused (other);
      if (!fusion || pair->has_rule)
        check_rules (plan, right, wrong);
    }
}

/* The plan of a graph's training step on the CPU. (transfer full) */
static LoomPlan *
plan_graph (LoomDevices *devices, const char *name, gint64 batch)
{
  const LoomPlanOptions options = { .device = "cpu" };
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), name, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomStep) step = loom_step_new (spec, batch, TRUE, NULL);

  return loom_plan_new (step->program, devices, &options, NULL);
}

/* A value that is computed again for the gradients is compared as the first one is, so its readers are pieces of their
 * own. */
static void
test_computed_again (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomPlan) plan = plan_graph (devices, "tests/check/mutations/gated.xml", 4096);
  g_autoptr (LoomCheckReport) report = check (plan, 1e-9);
  guint n = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += g_str_has_suffix (loom_plan_instr (plan, i)->label, " rematerialised");
  g_assert_cmpuint (n, >=, 4);
  /* One is the gate of the update. */
  g_assert_cmpuint (report->n_pieces + 1, ==, report->n_instrs);
}

static LoomStatus (*right_run) (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
static guint wrong_result;

static LoomStatus
wrong_run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const LoomStatus status = right_run (self, stream, buffers, message);

  *(float *)buffers[wrong_result] *= 0.97f;
  return status;
}

/* The sum of all gradients' squares is wrong, which is hardly seen in what is computed from it and from the whole
 * backward pass: that the call alone is wrong suffices. */
static void
test_wrong_kernel (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomPlan) plan = plan_graph (devices, "graphs/models/char-gpt.xml", 2);
  g_autoptr (LoomCheckReport) report = NULL;
  guint i = 0;

  while (g_strcmp0 (loom_plan_instr (plan, i)->primitive, "grad_stats") != 0)
    i++;
  wrong_result = loom_plan_instr (plan, i)->n_in;
  right_run = loom_plan_instr (plan, i)->kernel->run;
  loom_plan_instr (plan, i)->kernel->run = wrong_run;
  report = check (plan, 0);
  g_assert_cmpuint (report->faults->len, ==, 1);
  g_assert_cmpuint (((const LoomCheckFault *)report->faults->pdata[0])->instr, ==, i);
}

/* Each piece of the second layer is like one of the first, and each of another plan. */
static void
test_alike (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  const WrongProgram *layers = &wrong_programs[n_wrong_programs - 1];
  g_autoptr (LoomProgram) program = layers->program (FALSE);
  g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, NULL, NULL);
  g_autoptr (LoomCheckReport) report = check (plan, 0);

  assert_no_faults ("two layers", report);
  g_assert_cmpuint (report->n_evaluated, ==, report->n_pieces);
  g_assert_cmpuint (report->n_alike, >=, report->n_pieces / 2 - 1);

  g_autoptr (LoomPlan) same = loom_plan_new (program, devices, NULL, NULL);
  g_autoptr (LoomCheckKnown) known = loom_check_known_new ();
  const LoomCheckOptions options = { .meaning = TRUE, .known = known };
  g_autoptr (LoomCheckReport) first = loom_check_report_new (), second = loom_check_report_new ();
  loom_check_plan (plan, &options, first);
  loom_check_plan (same, &options, second);
  g_assert_cmpuint (first->n_alike, ==, report->n_alike);
  g_assert_cmpuint (second->n_alike, ==, second->n_pieces);
}

/* The terms of a batch norm's gradient cancel if operands are special; what remains are their roundings. */
static void
test_cancelling_terms (void)
{
  const LoomNormAttrs attrs = { .eps = 1e-5, .affine = TRUE };
  const gint64 dims[2] = { 2, 1 };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue in[5], out[3];
  g_autoptr (LoomPlan) plan = NULL;

  for (int k = 0; k < 5; k++)
    in[k] = loom_program_input (p, (const char *[]){ "g", "x", "mean", "var", "weight" }[k], LOOM_F32, k < 2 ? 2 : 1,
                                k < 2 ? dims : dims + 1);
  loom_emit (p, loom_prim ("batch_norm_grad"), &attrs, 5, in, out);
  loom_program_output (p, "dx", out[0]);
  plan = loom_plan_new (p, devices, NULL, NULL);
  for (guint seed = 0; seed < 5000; seed++)
    {
      g_autoptr (LoomCheckReport) report = loom_check_report_new ();

      loom_check_plan (plan, &(LoomCheckOptions){ .meaning = TRUE, .seed = seed }, report);
      g_assert_cmpuint (report->faults->len, ==, 0);
    }
}

/* A second plan of the program has no piece of its own; with other programs, what differs is still found. */
static void
test_alike_plans (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  for (guint i = 0; i < n_wrong_programs; i++)
    {
      const WrongProgram *pair = &wrong_programs[i];
      g_autoptr (LoomProgram) right = pair->program (FALSE), again = pair->program (FALSE),
                              wrong = pair->program (TRUE);
      g_autoptr (LoomPlan) plan = loom_plan_new (right, devices, NULL, NULL);
      g_autoptr (LoomPlan) same = loom_plan_new (again, devices, NULL, NULL);
      g_autoptr (LoomPlan) other = loom_plan_new (again, devices, NULL, NULL);
      g_autoptr (LoomCheckKnown) known = loom_check_known_new ();
      const LoomCheckOptions options = { .meaning = TRUE, .seed = 1, .known = known };
      g_autoptr (LoomCheckReport) first = loom_check_report_new (), second = loom_check_report_new ();
      g_autoptr (LoomCheckReport) third = loom_check_report_new ();

      loom_check_plan (plan, &options, first);
      assert_no_faults (pair->name, first);
      loom_check_plan (same, &options, second);
      assert_no_faults (pair->name, second);
      /* Loops are evaluated in each plan. */
      g_assert_cmpuint (second->n_alike, >=, second->n_pieces - (first->n_plans > 1));
      loom_program_unref (other->program);
      other->program = loom_program_ref (wrong);
      loom_check_plan (other, &options, third);
      assert_is_refused (third);
    }
}

/* ---- examples --------------------------------------------------------------------------- */

/* Larger pieces are left to rules. */
#define EXAMPLE_OPERATIONS 5e5

static void
check_example (const char *path, const LoomGraph *graph, const LoomNet *net, gboolean training, LoomDType dtype)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  const LoomPlanOptions options = { .device = dtype == LOOM_F64 ? "ref" : "cpu" };
  g_autoptr (LoomStep) step = NULL;
  g_autoptr (LoomPlan) plan = NULL;
  g_autoptr (LoomCheckReport) report = NULL;
  g_autofree char *name
      = g_strdup_printf ("%s, %s in %s", path, training ? "training" : "evaluation", loom_dtype_name (dtype));

  if (spec == NULL)
    return;
  spec->precision = dtype;
  step = loom_step_new (spec, 2, training, &error);
  g_assert_no_error (error);
  plan = loom_plan_new (step->program, devices, &options, &error);
  g_assert_no_error (error);
  report = check (plan, EXAMPLE_OPERATIONS);
  assert_no_faults (name, report);
}

static void
test_example (gconstpointer data)
{
  static const LoomDType others[] = { LOOM_F64, LOOM_BF16 };
  const char *path = data;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  const gboolean is_large = example_is_large (net);

  if (is_large)
    {
      example_reduce (graph);
      loom_net_free (net);
      net = loom_net_new (graph, NULL, faults);
    }
  check_example (path, graph, net, TRUE, LOOM_F32);
  check_example (path, graph, net, FALSE, LOOM_F32);
  for (guint k = 0; k < G_N_ELEMENTS (others) && !is_large; k++)
    check_example (path, graph, net, TRUE, others[k]);
}

TEST_FILE (argc, argv)
{
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");
  g_autofree char *folder = g_build_filename (root != NULL ? root : ".", "graphs", NULL);

  g_test_init (&argc, &argv, NULL);
  /* For graphs whose nodes are on two devices. */
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_test_add_func ("/check/meaning/random", test_random);
  for (guint i = 0; i < n_wrong_programs; i++)
    {
      g_autofree char *path = g_strdup_printf ("/check/meaning/wrong/%s", wrong_programs[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_pair);
    }
  g_test_add_func ("/check/meaning/alike", test_alike);
  g_test_add_func ("/check/meaning/alike-plans", test_alike_plans);
  g_test_add_func ("/check/meaning/cancelling-terms", test_cancelling_terms);
  g_test_add_func ("/check/meaning/computed-again", test_computed_again);
  g_test_add_func ("/check/meaning/wrong-kernel", test_wrong_kernel);
  example_add_folder ("/check/meaning/examples", folder, test_example);
  return g_test_run ();
}
