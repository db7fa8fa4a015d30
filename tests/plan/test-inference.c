/* Tests of what inference relies on: clamps by max and min alone, activations that programs spell out, biases of
 * products whose rows are reshaped, and weights that keep their values, which are computed with and packed once. */
#include <math.h>
#include <string.h>

#include "engine/run/loom-exec.h"
#include "tests/plan/check-passes.h"
#include "tests/test-program.h"

static LoomValue
parameter (LoomProgram *p, const char *name, int rank, const gint64 *dims)
{
  const LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -0.3, .b = 0.3 };

  return loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, rank, dims, &init, TRUE));
}

static LoomValue
clamp_to (LoomProgram *p, LoomValue x, double limit, LoomScalarOp inside, LoomScalarOp bound)
{
  const LoomValue c = loom_const (p, LOOM_F32, limit), bounded = loom_binary (p, bound, loom_detach (p, x), c);

  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, inside, x, c), x, bounded);
}

/* An image x [4,4,8,8] through a convolution whose filter is scaled, then in rows through a product with a bias, as
 * hard swish ends. */
static LoomProgram *
network (void)
{
  const LoomConv2dTo conv = { { .stride = { 1, 1 },
                                .pad = { 1, 1, 1, 1 },
                                .dilation = { 1, 1 },
                                .groups = 1,
                                .has_bias = true,
                                .act = LOOM_SCALAR_ID },
                              { 8, 8 } };
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 4, 4, 8, 8 }), w, y;

  w = parameter (p, "filter", 4, (gint64[]){ 16, 4, 3, 3 });
  w = loom_binary (p, LOOM_SCALAR_MUL, w, parameter (p, "scale", 4, (gint64[]){ 16, 1, 1, 1 }));
  y = loom_emit (p, loom_prim ("conv2d"), &conv, 3, (LoomValue[]){ x, w, parameter (p, "shift", 1, (gint64[]){ 16 }) },
                 NULL);
  y = loom_reshape (p, y, 2, (gint64[]){ 64, 64 });
  y = loom_matmul (p, y, parameter (p, "weight", 2, (gint64[]){ 128, 64 }), FALSE, TRUE);
  y = loom_reshape (p, y, 3, (gint64[]){ 4, 16, 128 });
  y = loom_binary (p, LOOM_SCALAR_ADD, y, parameter (p, "bias", 1, (gint64[]){ 128 }));
  w = clamp_to (p, y, 0, LOOM_SCALAR_GT, LOOM_SCALAR_MAX);
  w = clamp_to (p, w, 0.25, LOOM_SCALAR_LT, LOOM_SCALAR_MIN);
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_MUL, y, w));
  return p;
}

static LoomValue
silu (LoomProgram *p, LoomValue x, LoomValue *gate)
{
  *gate = loom_unary (p, LOOM_SCALAR_SIGMOID, x);
  return loom_binary (p, LOOM_SCALAR_MUL, *gate, x);
}

/* x·min (max (x + 3, 0), 6)/c, which is hard swish if c is 6. */
static LoomValue
hardswish (LoomProgram *p, LoomValue x, double c)
{
  LoomValue y = loom_binary (p, LOOM_SCALAR_ADD, x, loom_const (p, LOOM_F32, 3));

  y = clamp_to (p, y, 0, LOOM_SCALAR_GT, LOOM_SCALAR_MAX);
  y = clamp_to (p, y, 6, LOOM_SCALAR_LT, LOOM_SCALAR_MIN);
  return loom_binary (p, LOOM_SCALAR_DIV, loom_binary (p, LOOM_SCALAR_MUL, x, y), loom_const (p, LOOM_F32, c));
}

/* Convolutions of an image x [4,4,8,8], the second of each channel, with activations after them, and a residual sum;
 * the third activation is nearly hard swish, and a part of the last is read elsewhere. */
static LoomProgram *
activations (void)
{
  LoomConv2dTo conv = { { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1 }, { 8, 8 } };
  LoomProgram *p = loom_program_new ();
  LoomValue y = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 4, 4, 8, 8 }), gate, around;

  y = loom_emit (p, loom_prim ("conv2d"), &conv, 3,
                 (LoomValue[]){ y, parameter (p, "first", 4, (gint64[]){ 32, 4, 3, 3 }), 0 }, NULL);
  y = around = silu (p, y, &gate);
  conv.kernel.groups = 32;
  y = loom_emit (p, loom_prim ("conv2d"), &conv, 3,
                 (LoomValue[]){ y, parameter (p, "second", 4, (gint64[]){ 32, 1, 3, 3 }), 0 }, NULL);
  y = hardswish (p, y, 6);
  conv.kernel.groups = 1;
  y = loom_emit (p, loom_prim ("conv2d"), &conv, 3,
                 (LoomValue[]){ y, parameter (p, "third", 4, (gint64[]){ 32, 32, 3, 3 }), 0 }, NULL);
  y = loom_unary (p, LOOM_SCALAR_RELU, loom_binary (p, LOOM_SCALAR_ADD, around, y));
  y = hardswish (p, y, 5);
  y = silu (p, y, &gate);
  loom_program_output (p, "y", y);
  loom_program_output (p, "gate", gate);
  return p;
}

/* The results of two runs, of numbers and then of numbers with NaN. */
static GPtrArray *
run_twice (LoomProgram *(*program) (void), LoomDevices *devices, const LoomPlanOptions *options, char **listing,
           guint *n_setup, gsize *once)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomProgram) p = program ();
  g_autoptr (LoomState) state = loom_state_new (devices, options->device, 1);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomPlan *plan = loom_plan_new (p, devices, options, &error);
  LoomPlanMemory memory;

  g_assert_no_error (error);
  *listing = loom_plan_print (plan);
  *n_setup = loom_plan_n_setup (plan);
  loom_plan_memory (plan, 0, &memory);
  *once = memory.once[LOOM_OWNER_WORKSPACE];
  g_autoptr (LoomExec) exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (int run = 0; run < 2; run++)
    {
      float x[4 * 4 * 8 * 8];

      for (guint i = 0; i < G_N_ELEMENTS (x); i++)
        x[i] = run > 0 && i == 100 ? NAN : (float)sin (i * 0.71 + run);
      loom_exec_feed (exec, 0, x);
      g_assert_true (loom_exec_run (exec, &error));
      g_ptr_array_add (results, loom_exec_output (exec, 0, &error));
      g_assert_no_error (error);
    }
  return results;
}

static void
compare (const GPtrArray *a, const GPtrArray *b)
{
  guint n_nan = 0;

  for (guint run = 0; run < 2; run++)
    for (gint64 i = 0; i < ((LoomTensor *)a->pdata[run])->count; i++)
      {
        const double x = loom_tensor_get (a->pdata[run], i), y = loom_tensor_get (b->pdata[run], i);

        n_nan += isnan (x);
        g_assert_true (isnan (x) == isnan (y));
        if (!isnan (x))
          g_assert_cmpfloat (fabs (x - y), <=, 1e-5 * (1 + fabs (x)));
      }
  g_assert_cmpuint (n_nan, >, 0);
}

static void
test_device (gconstpointer device)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  const LoomPlanOptions plain = { .device = device, .no_fusion = TRUE }, fused = { .device = device },
                        fixed = { .device = device, .fixed_weights = TRUE };
  g_autofree char *text[3] = { NULL }, *fault = NULL;
  guint n_setup[3];
  gsize once[3];
  g_autoptr (GPtrArray) a = run_twice (network, devices, &plain, &text[0], &n_setup[0], &once[0]);
  g_autoptr (GPtrArray) b = run_twice (network, devices, &fused, &text[1], &n_setup[1], &once[1]);
  g_autoptr (GPtrArray) c = run_twice (network, devices, &fixed, &text[2], &n_setup[2], &once[2]);
  g_autoptr (LoomProgram) p = network ();

  compare (a, b);
  compare (b, c);
  g_assert_nonnull (strstr (text[0], "select"));
  g_assert_null (strstr (text[1], "select"));
  g_assert_nonnull (strstr (text[1], "fused(max,min,mul)"));
  g_assert_nonnull (strstr (text[1], "matmul+add"));
  /* The scaled filter is computed once, and the CPU packs it. */
  g_assert_cmpuint (n_setup[1], ==, 0);
  g_assert_cmpuint (n_setup[2], ==, 1);
  g_assert_true ((once[2] > once[1]) == g_str_equal (device, "cpu"));
  fault = check_passes (p, devices, &fixed);
  g_assert_cmpstr (fault, ==, NULL);
}

static void
test_activations (gconstpointer device)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  const LoomPlanOptions plain = { .device = device, .no_fusion = TRUE }, fused = { .device = device };
  g_autofree char *text[2] = { NULL }, *fault = NULL;
  guint n_setup;
  gsize once;
  g_autoptr (GPtrArray) a = run_twice (activations, devices, &plain, &text[0], &n_setup, &once);
  g_autoptr (GPtrArray) b = run_twice (activations, devices, &fused, &text[1], &n_setup, &once);
  g_autoptr (LoomProgram) p = activations ();

  compare (a, b);
  g_assert_null (strstr (text[0], "silu"));
  g_assert_nonnull (strstr (text[1], "conv2d+silu"));
  g_assert_null (strstr (strstr (text[1], "silu") + 1, "silu"));
  g_assert_nonnull (strstr (text[1], "conv2d+hardswish"));
  g_assert_nonnull (strstr (text[1], "conv2d+add+relu"));
  g_assert_nonnull (strstr (text[1], "add,max,min,mul,div"));
  fault = check_passes (p, devices, &fused);
  g_assert_cmpstr (fault, ==, NULL);
}

/* Weights that the program writes are not fixed. */
static void
test_written (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  const gint64 dims[] = { 4 };
  const int slot = loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F32, 1, dims, NULL, TRUE);
  const LoomValue w = loom_program_read (p, slot);
  LoomPlan *plan;

  loom_program_output (p, "y", loom_unary (p, LOOM_SCALAR_EXP, w));
  loom_program_commit (p, slot, loom_binary (p, LOOM_SCALAR_ADD, w, loom_const (p, LOOM_F32, 1)));
  plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu", .fixed_weights = TRUE }, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_plan_n_setup (plan), ==, 0);
  loom_plan_free (plan);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/plan/inference/ref", "ref", test_device);
  g_test_add_data_func ("/plan/inference/cpu", "cpu", test_device);
  g_test_add_data_func ("/plan/inference/activations/ref", "ref", test_activations);
  g_test_add_data_func ("/plan/inference/activations/cpu", "cpu", test_activations);
  g_test_add_func ("/plan/inference/written", test_written);
  return g_test_run ();
}
