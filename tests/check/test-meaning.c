/* Tests the rule "meaning" of the checker of plans: plans of random programs and of every example pass, and a plan is
 * refused as the plan of a program that differs in one instruction. */
#include "engine/check/loom-check.h"
#include "engine/net/loom-net.h"
#include "engine/plan/plan-private.h"
#include "engine/train/loom-step.h"
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

/* A program with one detail right or wrong. Values have the same numbers either way. */
typedef LoomProgram *(*ProgramFunc) (gboolean wrong);

static LoomValue
input (LoomProgram *p, const char *name, int rank, gint64 a, gint64 b)
{
  return loom_program_input (p, name, LOOM_F32, rank, (gint64[]){ a, b });
}

static LoomProgram *
ending_with (LoomProgram *p, LoomValue y)
{
  loom_program_output (p, "y", y);
  return p;
}

static LoomProgram *
activation (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue y = loom_matmul (p, input (p, "x", 2, 5, 7), input (p, "w", 2, 7, 6), FALSE, FALSE);

  y = loom_binary (p, LOOM_SCALAR_ADD, y, input (p, "b", 1, 6, 0));
  return ending_with (p, loom_unary (p, wrong ? LOOM_SCALAR_GELU_TANH : LOOM_SCALAR_GELU, y));
}

static LoomProgram *
chain (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 5, 7), y = input (p, "y", 2, 5, 7), z;

  z = loom_binary (p, LOOM_SCALAR_MUL, loom_unary (p, LOOM_SCALAR_TANH, x), wrong ? x : y);
  return ending_with (p, loom_binary (p, LOOM_SCALAR_SUB, z, loom_const (p, LOOM_F32, 0.5)));
}

static LoomProgram *
constant (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_unary (p, LOOM_SCALAR_SIN, input (p, "x", 2, 5, 7));

  return ending_with (p, loom_binary (p, LOOM_SCALAR_MUL, x, loom_const (p, LOOM_F32, wrong ? 0.5001 : 0.5)));
}

static LoomProgram *
transposition (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue a = input (p, "a", 2, 6, 6), b = loom_permute (p, input (p, "b", 2, 6, 6), (int[]){ 1, 0 });

  return ending_with (p, loom_matmul (p, a, b, wrong, FALSE));
}

static LoomProgram *
stride (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 8, 8);
  const gint64 start[2] = { 1, 0 }, step[2] = { 2, 1 }, wrong_step[2] = { 1, 2 }, to[2] = { 3, 4 };
  LoomValue y = loom_slice (p, x, start, wrong ? wrong_step : step, to);

  return ending_with (p, loom_permute (p, y, (int[]){ 1, 0 }));
}

static LoomProgram *
padding (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 3, 4);
  const gint64 start[2] = { 1, 1 }, step[2] = { 1, 1 }, to[2] = { 5, 6 };

  return ending_with (p, loom_unary (p, LOOM_SCALAR_SIN, loom_pad (p, x, start, step, to, wrong ? 1 : 0)));
}

/* A convolution whose image is padded by 1, at the top or at the bottom. */
static LoomProgram *
convolution (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomConv2dTo to = { .kernel = { .stride = { 1, 1 },
                                  .pad = { wrong ? 0 : 2, wrong ? 2 : 0, 1, 1 },
                                  .dilation = { 1, 1 },
                                  .groups = 1,
                                  .act = LOOM_SCALAR_ID } };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 2, 3, 8, 8 });
  LoomValue w = loom_program_input (p, "w", LOOM_F32, 4, (gint64[]){ 4, 3, 3, 3 });
  LoomValue in[3] = { x, w };

  return ending_with (p, loom_unary (p, LOOM_SCALAR_RELU, loom_emit (p, loom_prim ("conv2d"), &to, 3, in, NULL)));
}

/* One part of a sum is lost. */
static LoomProgram *
accumulation (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue a = input (p, "a", 2, 4, 5), b = input (p, "b", 2, 4, 5), c = input (p, "c", 2, 4, 5), sum;

  sum = loom_binary (p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_TANH, a), b);
  sum = loom_binary (p, LOOM_SCALAR_ADD, sum, loom_unary (p, LOOM_SCALAR_TANH, wrong ? a : c));
  return ending_with (p, loom_sum_all (p, sum));
}

static LoomProgram *
order (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue where;

  loom_sort (p, input (p, "x", 2, 5, 9), 1, wrong, &where);
  return ending_with (p, where);
}

/* The plan's output is an input, and the other program's another one, or of another type. */
static LoomProgram *
which_input (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 5, 7), y = input (p, "y", 2, 5, 7);

  return ending_with (p, loom_reshape (p, wrong ? x : y, 1, (gint64[]){ 35 }));
}

static LoomProgram *
output_type (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 5, 7), y = loom_binary (p, LOOM_SCALAR_GT, x, loom_unary (p, LOOM_SCALAR_SIN, x));

  return ending_with (p, wrong ? x : y);
}

/* The difference shows only for operands that are 0. */
static LoomProgram *
edge (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 5, 7), zero = loom_const (p, LOOM_F32, 0);

  return ending_with (p, loom_binary (p, wrong ? LOOM_SCALAR_GE : LOOM_SCALAR_GT, x, zero));
}

/* The difference shows only for NaN. */
static LoomProgram *
missing_numbers (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 5, 7), y = input (p, "y", 2, 5, 7);
  LoomValue same = loom_binary (p, LOOM_SCALAR_EQ, x, x);

  if (wrong)
    return ending_with (p, loom_ternary (p, LOOM_SCALAR_SELECT, same, x, y));
  return ending_with (p, loom_ternary (p, LOOM_SCALAR_SELECT, same, x, x));
}

static LoomProgram *
stream (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomRandomTo to = { .kernel = { .kind = LOOM_RANDOM_UNIFORM, .stream = wrong ? 12 : 11 },
                      .dtype = LOOM_F32,
                      .to = { .rank = 2, .dim = { 5, 7 } } };
  LoomValue in[2] = { loom_program_scalar_i64 (p, "seed", 1), loom_program_scalar_i64 (p, "step", 1) };

  return ending_with (p, loom_emit (p, loom_prim ("random"), &to, 2, in, NULL));
}

static LoomProgram *
next_state (gboolean wrong)
{
  LoomProgram *p = loom_program_new ();
  const LoomInit init = { .kind = LOOM_INIT_ZEROS };
  const int slot = loom_program_slot (p, "mean", LOOM_SLOT_BUFFER, LOOM_F32, 1, (gint64[]){ 6 }, &init, FALSE);
  LoomValue old = loom_program_read (p, slot), x = input (p, "x", 1, 6, 0), by;

  by = loom_binary (p, LOOM_SCALAR_MUL, loom_binary (p, LOOM_SCALAR_SUB, x, old), loom_const (p, LOOM_F32, 0.1));
  loom_program_commit (p, slot, loom_binary (p, wrong ? LOOM_SCALAR_SUB : LOOM_SCALAR_ADD, old, by));
  return ending_with (p, loom_unary (p, LOOM_SCALAR_EXP, x));
}

/* A running sum of the rows of x, from the first row or from the last. */
static LoomProgram *
loop (gboolean wrong)
{
  g_autoptr (LoomProgram) body = loom_program_new ();
  LoomProgram *p = loom_program_new ();
  LoomScanAttrs attrs
      = { .body = body, .length = 4, .n_carried = 1, .n_sequences = 1, .n_stacked = 1, .reverse = wrong };
  LoomValue in[2], out[2], sum;

  in[0] = input (body, "sum", 1, 3, 0);
  in[1] = input (body, "row", 1, 3, 0);
  sum = loom_binary (body, LOOM_SCALAR_ADD, in[0], loom_unary (body, LOOM_SCALAR_TANH, in[1]));
  loom_program_output (body, "sum", sum);
  loom_program_output (body, "row", sum);
  in[0] = input (p, "first", 1, 3, 0);
  in[1] = input (p, "x", 2, 4, 3);
  loom_program_ref (body);
  loom_emit (p, loom_prim ("scan"), &attrs, 2, in, out);
  return ending_with (p, out[1]);
}

/* Details of the second of two layers that are alike otherwise, so that evaluating the first would not show them. */
typedef enum
{
  LAYER_RIGHT,
  LAYER_FUNCTION,
  LAYER_CONSTANT,
  LAYER_OPERAND,
  LAYER_STREAM,
} LayerDetail;

static LoomProgram *
two_layers (LayerDetail wrong)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = input (p, "x", 2, 5, 7), by[2] = { input (p, "a", 2, 5, 7), input (p, "b", 2, 5, 7) };
  LoomValue in[2] = { loom_program_scalar_i64 (p, "seed", 1), loom_program_scalar_i64 (p, "step", 1) };

  for (int i = 0; i < 2; i++)
    {
      const LayerDetail detail = i == 1 ? wrong : LAYER_RIGHT;
      const LoomRandomTo to
          = { .kernel = { .kind = LOOM_RANDOM_UNIFORM, .stream = detail == LAYER_STREAM ? 13 : 11 + (guint64)i },
              .dtype = LOOM_F32,
              .to = { .rank = 2, .dim = { 5, 7 } } };
      LoomValue drawn = loom_emit (p, loom_prim ("random"), &to, 2, in, NULL);

      x = loom_unary (p, detail == LAYER_FUNCTION ? LOOM_SCALAR_SIN : LOOM_SCALAR_TANH, x);
      x = loom_binary (p, LOOM_SCALAR_MUL, x, by[detail == LAYER_OPERAND ? 0 : i]);
      x = loom_binary (p, LOOM_SCALAR_SUB, x, loom_const (p, LOOM_F32, detail == LAYER_CONSTANT ? 0.5001 : 0.5));
      x = loom_sort (p, x, 1, FALSE, NULL);
      x = loom_binary (p, LOOM_SCALAR_ADD, x, loom_cumsum (p, drawn, 0, FALSE, FALSE));
      x = loom_cumsum (p, x, 1, FALSE, FALSE);
    }
  return ending_with (p, x);
}

static LoomProgram *
layer_function (gboolean wrong)
{
  return two_layers (wrong ? LAYER_FUNCTION : LAYER_RIGHT);
}

static LoomProgram *
layer_constant (gboolean wrong)
{
  return two_layers (wrong ? LAYER_CONSTANT : LAYER_RIGHT);
}

static LoomProgram *
layer_operand (gboolean wrong)
{
  return two_layers (wrong ? LAYER_OPERAND : LAYER_RIGHT);
}

static LoomProgram *
layer_stream (gboolean wrong)
{
  return two_layers (wrong ? LAYER_STREAM : LAYER_RIGHT);
}

static const struct
{
  const char *name;
  ProgramFunc program;
  gboolean has_rule; /* for the fused plan too */
} pairs[] = {
  { "activation", activation, TRUE },
  { "chain", chain, TRUE },
  { "constant", constant },
  { "transposition", transposition, TRUE },
  { "stride", stride },
  { "padding", padding },
  { "convolution", convolution, TRUE },
  { "accumulation", accumulation },
  { "order", order },
  { "which-input", which_input },
  { "output-type", output_type },
  { "edge", edge, TRUE },
  { "missing-numbers", missing_numbers },
  { "stream", stream },
  { "next-state", next_state },
  { "loop", loop },
  { "layer-function", layer_function },
  { "layer-constant", layer_constant },
  { "layer-operand", layer_operand },
  { "layer-stream", layer_stream },
};

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
  const ProgramFunc make = pairs[GPOINTER_TO_UINT (data)].program;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) right = make (FALSE), wrong = make (TRUE);

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
      if (!fusion || pairs[GPOINTER_TO_UINT (data)].has_rule)
        check_rules (plan, right, wrong);
    }
}

/* Each piece of the second layer is like one of the first. */
static void
test_alike (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) program = two_layers (LAYER_RIGHT);
  g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, NULL, NULL);
  g_autoptr (LoomCheckReport) report = check (plan, 0);

  assert_no_faults ("two layers", report);
  g_assert_cmpuint (report->n_evaluated, ==, report->n_pieces);
  g_assert_cmpuint (report->n_alike, >=, report->n_pieces / 2 - 1);
}

/* ---- examples --------------------------------------------------------------------------- */

/* Larger pieces are left to rules. */
#define EXAMPLE_OPERATIONS 2e6

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
  step = loom_step_new (graph, spec, 2, training, &error);
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

static void
add_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *test = g_strdup_printf ("/check/meaning/examples/%s", name);

      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        add_folder (path);
      else if (g_str_has_suffix (name, ".xml"))
        {
          GTestDataFunc func = example_lacks_data (path) ? example_skip : test_example;
          g_test_add_data_func_full (test, g_steal_pointer (&path), func, g_free);
        }
    }
}

TEST_FILE (argc, argv)
{
  const char *root = g_getenv ("GRADLOOM_SOURCE_ROOT");
  g_autofree char *folder = g_build_filename (root != NULL ? root : ".", "graphs", NULL);

  g_test_init (&argc, &argv, NULL);
  /* For graphs whose nodes are on two devices. */
  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  g_test_add_func ("/check/meaning/random", test_random);
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autofree char *path = g_strdup_printf ("/check/meaning/wrong/%s", pairs[i].name);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_pair);
    }
  g_test_add_func ("/check/meaning/alike", test_alike);
  add_folder (folder);
  return g_test_run ();
}
