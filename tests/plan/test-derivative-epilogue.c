/* Tests derivative epilogues on the emulated GPU: the kernels of a plan, and that gradients are those of ref without
 * fusion. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "tests/plan/check-passes.h"
#include "tests/plan/run-once.h"
#include "tests/test-program.h"

enum
{
  ROWS = 12,
  IN = 5,
  OUT = 8
};

typedef struct
{
  LoomScalarOp act;
  LoomDType type;
  gint64 hidden;
  gboolean folded, scaled; /* rows have two axes; there is a factor between the product and the derivative */
} Net;

/* x·W + b, an activation, a product with V. The first row of x is 0, and so is b: there a ReLU's argument is 0. */
static LoomProgram *
net (const Net *of)
{
  LoomProgram *p = loom_program_new ();
  LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -0.9, .b = 0.9 }, zero = { .kind = LOOM_INIT_CONSTANT, .a = 0 };
  LoomValue wrt[4], grads[4], h, y, loss;

  wrt[0] = loom_program_read (
      p, loom_program_slot (p, "x", LOOM_SLOT_PARAMETER, LOOM_F32, 2, (gint64[]){ ROWS, IN }, &init, TRUE));
  wrt[1] = loom_program_read (
      p, loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F32, 2, (gint64[]){ IN, of->hidden }, &init, TRUE));
  wrt[2] = loom_program_read (
      p, loom_program_slot (p, "b", LOOM_SLOT_PARAMETER, LOOM_F32, 1, (gint64[]){ of->hidden }, &zero, TRUE));
  wrt[3] = loom_program_read (
      p, loom_program_slot (p, "v", LOOM_SLOT_PARAMETER, LOOM_F32, 2, (gint64[]){ of->hidden, OUT }, &init, TRUE));
  h = loom_pad (p, loom_slice (p, wrt[0], (gint64[]){ 1, 0 }, (gint64[]){ 1, 1 }, (gint64[]){ ROWS - 1, IN }),
                (gint64[]){ 1, 0 }, (gint64[]){ 1, 1 }, (gint64[]){ ROWS, IN }, 0);
  h = loom_matmul (p, loom_cast (p, h, of->type), loom_cast (p, wrt[1], of->type), FALSE, FALSE);
  h = loom_binary (p, LOOM_SCALAR_ADD, h, loom_cast (p, wrt[2], of->type));
  if (of->folded)
    h = loom_reshape (p, h, 3, (gint64[]){ 3, ROWS / 3, of->hidden });
  y = loom_unary (p, of->act, h);
  if (of->scaled)
    y = loom_binary (p, LOOM_SCALAR_MUL, y, h);
  if (of->folded)
    y = loom_reshape (p, y, 2, (gint64[]){ ROWS, of->hidden });
  y = loom_matmul (p, y, loom_cast (p, wrt[3], of->type), FALSE, FALSE);
  loss = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, loom_cast (p, y, LOOM_F32)));
  loom_program_output (p, "loss", loss);
  g_assert_true (loom_differentiate (p, loss, 0, 4, wrt, grads, NULL));
  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *name = g_strdup_printf ("grad%u", i);

      loom_program_output (p, name, grads[i]);
    }
  return p;
}

static GPtrArray *
run (LoomProgram *p, const char *device, gboolean no_fusion, char **listing)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlanOptions options = { .device = device, .no_fusion = no_fusion };
  LoomPlan *plan = loom_plan_new (p, devices, &options, &error);
  g_autofree char *why = check_passes (p, devices, &options);

  g_assert_no_error (error);
  g_assert_cmpstr (why, ==, NULL);
  *listing = loom_plan_print (plan);
  return run_once (devices, plan, device, NULL);
}

/* kernel: text in one line of the GPU's plan; NULL: it has no derivative epilogue. */
static void
check (const Net *of, const char *kernel)
{
  const double tolerance = of->type == LOOM_F32 ? 2e-5 : 3e-2;
  g_autoptr (LoomProgram) p = net (of);
  g_autofree char *plain = NULL, *listing = NULL, *joined = NULL;
  g_autoptr (GPtrArray) want = run (p, "ref", TRUE, &plain), got = run (p, "cuda:0", FALSE, &listing),
                        ref = run (p, "ref", FALSE, &joined);

  if (kernel != NULL ? strstr (listing, kernel) == NULL || strstr (listing, "_grad ") != NULL
                     : strstr (listing, "+derivative(") != NULL)
    g_error ("%s: other kernels than %s:\n%s", loom_scalar_name (of->act), kernel, listing);
  g_assert_null (strstr (plain, "+derivative("));
  for (guint o = 0; o < want->len; o++)
    for (gint64 i = 0; i < ((LoomTensor *)want->pdata[o])->count; i++)
      {
        const double x = loom_tensor_get (want->pdata[o], i);

        g_assert_cmpfloat (fabs (loom_tensor_get (got->pdata[o], i) - x), <=, tolerance * (1 + fabs (x)));
        g_assert_cmpfloat (fabs (loom_tensor_get (ref->pdata[o], i) - x), <=, tolerance * (1 + fabs (x)));
      }
}

static void
test_joined (void)
{
  for (int folded = 0; folded < 2; folded++)
    for (int narrow = 0; narrow < 2; narrow++)
      {
        const LoomDType type = narrow ? LOOM_BF16 : LOOM_F32;

        check (&(Net){ LOOM_SCALAR_RELU, type, 20, folded }, "+drelu");
        check (&(Net){ LOOM_SCALAR_GELU_TANH, type, 24, folded }, "+dgelu");
      }
}

/* Rows of z of a length that no auxiliary matrix has, a derivative without an epilogue, and one that is a factor of
 * something else. */
static void
test_left (void)
{
  check (&(Net){ LOOM_SCALAR_GELU_TANH, LOOM_F32, 20, FALSE }, NULL);
  check (&(Net){ LOOM_SCALAR_GELU_TANH, LOOM_BF16, 20, FALSE }, NULL);
  check (&(Net){ LOOM_SCALAR_GELU, LOOM_F32, 24, FALSE }, NULL);
  check (&(Net){ LOOM_SCALAR_GELU_TANH, LOOM_F32, 24, FALSE, TRUE }, NULL);
}

/* If cuBLASLt proposes nothing, a plan has both kernels. The emulator reads what it should refuse once per process, so
 * this is a separate process. */
static void
test_refused (void)
{
  static const char refusals[]
      = "cublaslt matmul compute=68 scale=0 trans=TN epilogue=192 aux=24 a=0:8x24/8 b=0:8x12/8 "
        "c=0:24x12/24 d=0:24x12/24 align=64,64,64,64 workspace=33554432 -> 15 no\n"
        "cublaslt matmul compute=68 scale=0 trans=TN epilogue=136 aux=128 a=0:8x24/8 b=0:8x12/8 "
        "c=0:24x12/24 d=0:24x12/24 align=64,64,64,64 workspace=33554432 -> 15 no\n";
  g_autofree char *folder = NULL, *file = NULL;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
      g_test_trap_assert_passed ();
      return;
    }
  folder = g_dir_make_tmp ("derivative-XXXXXX", NULL);
  file = g_build_filename (folder, "refused.txt", NULL);
  g_assert_true (g_file_set_contents (file, refusals, -1, NULL));
  g_setenv ("GRADLOOM_EMULATOR_ANSWERS", folder, TRUE);
  check (&(Net){ LOOM_SCALAR_GELU_TANH, LOOM_F32, 24, FALSE }, NULL);
  check (&(Net){ LOOM_SCALAR_RELU, LOOM_F32, 24, FALSE }, NULL);
  check (&(Net){ LOOM_SCALAR_RELU, LOOM_F32, 20, FALSE }, "+drelu"); /* it refused no more than that */
  g_unlink (file);
  g_rmdir (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/derivative-epilogue/joined", test_joined);
  g_test_add_func ("/plan/derivative-epilogue/left", test_left);
  g_test_add_func ("/plan/derivative-epilogue/refused", test_refused);
  return g_test_run ();
}
