/* Tests rematerialisation of single kernels: the results of a layer norm, a GELU and a permutation are recomputed for
 * the backward pass, also if it reads them in another shape, and the numbers are unchanged. */
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "tests/plan/check-passes.h"
#include "tests/plan/poison.h"
#include "tests/test-program.h"

#define ROWS  512
#define WIDTH 512 /* ROWS·WIDTH floats are 1 MiB */

static const LoomPlanOptions tight = { .device = "cpu" }, plain = { .device = "cpu", .no_fusion = TRUE };

static LoomValue
product (LoomProgram *p, LoomValue x, guint i, LoomValue *weight)
{
  g_autofree char *name = g_strdup_printf ("w%u", i);
  LoomInit init = { LOOM_INIT_UNIFORM, -0.1, 0.1, NULL };
  const gint64 square[2] = { WIDTH, WIDTH }, flat[2] = { ROWS, WIDTH };

  *weight = loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, 2, square, &init, TRUE));
  return loom_matmul (p, loom_reshape (p, x, 2, flat), *weight, FALSE, TRUE);
}

/* Half a transformer block, whose loss also reads the products, so that they are kept. */
static LoomProgram *
block (void)
{
  static const int turned[4] = { 0, 2, 1, 3 };
  LoomProgram *p = loom_program_new ();
  LoomNormAttrs norm = { .eps = 1e-5, .axes = 1 };
  LoomValue weight[4], grad[4], made[3], x, h, loss;
  g_autoptr (GError) error = NULL;

  loom_program_set_float (p, LOOM_F32);
  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ ROWS, WIDTH });
  h = product (p, x, 0, &weight[0]);
  loom_emit (p, loom_prim ("layer_norm"), &norm, 3, (LoomValue[]){ h, 0, 0 }, made);
  h = product (p, made[0], 1, &weight[1]);
  h = loom_unary (p, LOOM_SCALAR_GELU_TANH, loom_reshape (p, h, 3, (gint64[]){ 2, ROWS / 2, WIDTH }));
  h = product (p, h, 2, &weight[2]);
  loss = loom_mean_all (p, loom_binary (p, LOOM_SCALAR_MUL, h, h));
  h = loom_permute (p, loom_reshape (p, h, 4, (gint64[]){ 2, ROWS / 2, 8, WIDTH / 8 }), turned);
  h = product (p, h, 3, &weight[3]);
  loss = loom_binary (p, LOOM_SCALAR_ADD, loss, loom_mean_all (p, loom_binary (p, LOOM_SCALAR_MUL, h, h)));
  loom_program_output (p, "loss", loss);
  loom_differentiate (p, loss, 0, 4, weight, grad, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *name = g_strdup_printf ("gradient %u", i);

      loom_program_output (p, name, grad[i]);
    }
  return p;
}

static guint
count (const LoomPlan *plan, const char *label)
{
  guint n = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += strcmp (loom_plan_instr (plan, i)->label, label) == 0;
  return n;
}

static GPtrArray *
run (LoomProgram *p, LoomDevices *devices, const LoomPlanOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 5);
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, options, &error);
  g_autofree float *x = g_new (float, ROWS *WIDTH);
  const void *feed[1] = { x };
  GPtrArray *results;

  g_assert_no_error (error);
  for (guint i = 0; i < ROWS * WIDTH; i++)
    x[i] = (float)(i * 37 % 101) / 50 - 1;
  results = poison_run (plan, state, feed, 1, &error);
  g_assert_no_error (error);
  return results;
}

static void
test_single (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = block ();
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &tight, NULL);
  g_autoptr (GPtrArray) again = run (p, devices, &tight), kept = run (p, devices, &plain);
  g_autofree char *wrong = check_passes (p, devices, &tight);

  g_assert_cmpstr (wrong, ==, NULL);
  g_assert_cmpuint (count (plan, "layer_norm rematerialised"), ==, 1);
  g_assert_cmpuint (count (plan, "gelu_tanh rematerialised"), ==, 1);
  g_assert_cmpuint (count (plan, "permute rematerialised"), ==, 1);
  for (guint o = 0; o < again->len; o++)
    {
      const LoomTensor *a = again->pdata[o], *b = kept->pdata[o];
      double most = 0, off = 0;

      for (gint64 i = 0; i < a->count; i++)
        {
          double x = loom_tensor_get (a, i), y = loom_tensor_get (b, i);

          most = MAX (most, ABS (y));
          off = MAX (off, ABS (x - y));
        }
      g_test_message ("result %u: at most %g, off by %g", o, most, off);
      g_assert_cmpfloat (most, >, 0);
      g_assert_true (off <= 1e-5 * most);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/rematerialise/single", test_single);
  return g_test_run ();
}
