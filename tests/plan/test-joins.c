/* Tests that fusion queries the back end: one without fused calls (lean/) gets each call separately, and computes ref's
 * numbers. */
#include <math.h>
#include <string.h>

#include "tests/plan/run-once.h"
#include "tests/test-program.h"

/* A residual block with its gradients: a product and convolutions with biases and ReLUs, a batch norm with one, chains,
 * transposed operands, a permuted slice, and values large enough to be rematerialised. */
static LoomProgram *
block (LoomDType type)
{
  LoomProgram *p = loom_program_new ();
  LoomConv2dTo conv
      = { { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .act = LOOM_SCALAR_ID },
          { 32, 32 } };
  LoomNormAttrs norm = { .eps = 1e-5, .affine = true, .act = LOOM_SCALAR_ID };
  LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -0.3, .b = 0.3 }, ones = { .kind = LOOM_INIT_CONSTANT, .a = 1 };
  gint64 image[] = { 4, 4, 32, 32 }, weight[] = { 4, 4, 3, 3 }, channel[] = { 4 }, matrix[] = { 5, 4096 },
         five[] = { 5 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, image), wrt[6], grads[6], y, out[3], loss;

#define PARAMETER(name, rank, dims, init)                                                                              \
  loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, rank, dims, init, TRUE))
  wrt[0] = PARAMETER ("w", 4, weight, &init);
  wrt[1] = PARAMETER ("b", 1, channel, &init);
  wrt[2] = PARAMETER ("scale", 1, channel, &ones);
  wrt[3] = PARAMETER ("shift", 1, channel, &init);
  wrt[4] = PARAMETER ("m", 2, matrix, &init);
  wrt[5] = PARAMETER ("c", 1, five, &init);
#undef PARAMETER
  y = loom_slice (p, x, (gint64[]){ 0, 3, 0, 0 }, (gint64[]){ 1, -1, 1, 1 }, image);
  y = loom_cast (p, loom_binary (p, LOOM_SCALAR_ADD, x, loom_permute (p, y, (int[]){ 0, 1, 3, 2 })), type);
  y = loom_emit (p, loom_prim ("conv2d"), &conv, 3, (LoomValue[]){ y, loom_cast (p, wrt[0], type), 0 }, NULL);
  y = loom_binary (p, LOOM_SCALAR_ADD, y, loom_reshape (p, loom_cast (p, wrt[1], type), 3, (gint64[]){ 4, 1, 1 }));
  y = loom_unary (p, LOOM_SCALAR_RELU, y);
  loom_emit (p, loom_prim ("batch_norm"), &norm, 3, (LoomValue[]){ loom_cast (p, y, LOOM_F32), wrt[2], wrt[3] }, out);
  y = loom_unary (p, LOOM_SCALAR_RELU, out[0]);
  y = loom_unary (p, LOOM_SCALAR_TANH, loom_binary (p, LOOM_SCALAR_ADD, y, x));
  y = loom_cast (p, loom_reshape (p, y, 2, (gint64[]){ 4, 4096 }), type);
  y = loom_matmul (p, y, loom_permute (p, loom_cast (p, wrt[4], type), (int[]){ 1, 0 }), FALSE, FALSE);
  y = loom_unary (p, LOOM_SCALAR_RELU, loom_binary (p, LOOM_SCALAR_ADD, y, loom_cast (p, wrt[5], type)));
  loss = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, loom_cast (p, y, LOOM_F32)));
  loom_program_output (p, "loss", loss);
  g_assert_true (loom_differentiate (p, loss, 0, 6, wrt, grads, NULL));
  for (guint i = 0; i < 6; i++)
    {
      g_autofree char *name = g_strdup_printf ("grad%u", i);

      loom_program_output (p, name, grads[i]);
    }
  return p;
}

/* Attention of slices of one product, whose result is reshaped into rows with dropout. */
static LoomProgram *
attention (void)
{
  const LoomAttentionAttrs attrs = { .scale = 0.5 };
  const LoomRandomTo draw
      = { .kernel = { .kind = LOOM_RANDOM_UNIFORM, .stream = 1 }, .dtype = LOOM_F32, .to = { 3, { 4, 16, 64 } } };
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 3, (gint64[]){ 4, 16, 192 }), in[4] = { 0 }, out[2], u;

  for (int i = 0; i < 3; i++)
    {
      in[i] = loom_slice (p, x, (gint64[]){ 0, 0, i * 64 }, NULL, (gint64[]){ 4, 16, 64 });
      in[i] = loom_permute (p, loom_reshape (p, in[i], 4, (gint64[]){ 4, 16, 4, 16 }), (int[]){ 0, 2, 1, 3 });
    }
  loom_emit (p, loom_prim ("attention"), &attrs, 4, in, out);
  out[0] = loom_reshape (p, loom_permute (p, out[0], (int[]){ 0, 2, 1, 3 }), 3, (gint64[]){ 4, 16, 64 });
  u = loom_emit (p, loom_prim ("random"), &draw, 2,
                 (LoomValue[]){ loom_const (p, LOOM_I64, 5), loom_const (p, LOOM_I64, 3) }, NULL);
  u = loom_cast (p, loom_binary (p, LOOM_SCALAR_GE, u, loom_const (p, LOOM_F32, 0.3)), LOOM_F32);
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_MUL, out[0], u));
  return p;
}

static GPtrArray *
run (LoomProgram *p, const char *device, char **listing)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlan *plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = device }, &error);
  g_autofree float *x = g_new (float, 4 * 4 * 32 * 32);

  g_assert_no_error (error);
  *listing = loom_plan_print (plan);
  for (guint i = 0; i < 4 * 4 * 32 * 32; i++)
    x[i] = (float)sin (i * 0.71);
  return run_once (devices, plan, device, x);
}

static void
test_nothing_joined (gconstpointer type)
{
  LoomDType dtype = (LoomDType)GPOINTER_TO_INT (type);
  /* Two conversions that amount to one are one call, not a fusion. */
  const char *const joined[]
      = { "+relu", "+add", "batch_norm_apply", "slice+permute", dtype == LOOM_F32 ? "fused(" : "fused(mul" };
  g_autoptr (LoomProgram) p = block (dtype);
  g_autofree char *lean = NULL, *ref = NULL;
  g_autoptr (GPtrArray) a = run (p, "ref", &ref), b = run (p, "cuda:0", &lean);
  guint seen = 0;

  for (guint i = 0; i < G_N_ELEMENTS (joined); i++)
    {
      seen += strstr (ref, joined[i]) != NULL;
      if (strstr (lean, joined[i]) != NULL)
        g_error ("%s was joined without asking:\n%s", joined[i], lean);
    }
  g_assert_cmpuint (seen, >=, 2); /* if there is such a kernel, it is used */
  for (guint o = 0; o < a->len; o++)
    for (gint64 i = 0; i < ((LoomTensor *)a->pdata[o])->count; i++)
      {
        double x = loom_tensor_get (a->pdata[o], i), y = loom_tensor_get (b->pdata[o], i);

        g_assert_cmpfloat (fabs (x - y), <=, (dtype == LOOM_F32 ? 1e-4 : 5e-2) * (1 + fabs (x)));
      }
}

/* x + m·norm(x) with its gradients, as in a transformer: the gradient of the path around the layer norm is added by its
 * gradient. */
static void
test_around (gconstpointer is_affine)
{
  const gboolean affine = GPOINTER_TO_INT (is_affine);
  LoomProgram *p = loom_program_new ();
  LoomNormAttrs norm = { .eps = 1e-5, .axes = 1, .affine = affine };
  LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -0.3, .b = 0.3 };
  gint64 row[] = { 32 }, matrix[] = { 32, 32 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 4, 4, 32, 32 }), wrt[5], grads[5], in[3] = { 0 },
            out[3], y;
  g_autofree char *ref = NULL, *cpu = NULL, *lean = NULL;
  const guint n = affine ? 5 : 3;

#define PARAMETER(name, rank, dims)                                                                                    \
  loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, rank, dims, &init, TRUE))
  wrt[0] = PARAMETER ("before", 1, row);
  wrt[1] = PARAMETER ("m", 2, matrix);
  wrt[2] = PARAMETER ("last", 1, row);
  wrt[3] = PARAMETER ("scale", 1, row);
  wrt[4] = PARAMETER ("shift", 1, row);
#undef PARAMETER
  in[0] = loom_reshape (p, loom_binary (p, LOOM_SCALAR_MUL, x, wrt[0]), 2, (gint64[]){ 512, 32 });
  if (affine)
    memcpy (in + 1, wrt + 3, 2 * sizeof in[0]);
  loom_emit (p, loom_prim ("layer_norm"), &norm, 3, in, out);
  y = loom_binary (p, LOOM_SCALAR_ADD, in[0], loom_matmul (p, out[0], wrt[1], FALSE, FALSE));
  y = loom_binary (p, LOOM_SCALAR_MUL, loom_unary (p, LOOM_SCALAR_TANH, y), wrt[2]);
  y = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, y));
  g_assert_true (loom_differentiate (p, y, 0, n, wrt, grads, NULL));
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("grad%u", i);

      loom_program_output (p, name, grads[i]);
    }
  g_autoptr (GPtrArray) a = run (p, "ref", &ref), b = run (p, "cpu", &cpu), c = run (p, "cuda:0", &lean);
  g_assert_nonnull (strstr (ref, "layer_norm_grad+add"));
  g_assert_nonnull (strstr (cpu, "layer_norm_grad+add"));
  g_assert_null (strstr (lean, "layer_norm_grad+add"));
  for (guint o = 0; o < n; o++)
    for (gint64 i = 0; i < ((LoomTensor *)a->pdata[o])->count; i++)
      {
        const double value = loom_tensor_get (c->pdata[o], i), within = 1e-6 + 1e-5 * fabs (value);

        g_assert_cmpfloat (fabs (loom_tensor_get (a->pdata[o], i) - value), <=, within);
        g_assert_cmpfloat (fabs (loom_tensor_get (b->pdata[o], i) - value), <=, within);
      }
  loom_program_unref (p);
}

/* A device that fails during a query does not lack the kernel: the result is neither another plan nor “cannot
 * compute”. */
static void
test_failing_device (gconstpointer failure_spec)
{
  LoomErrorCode code = g_str_has_suffix (failure_spec, "lost") ? LOOM_ERROR_DEVICE : LOOM_ERROR_OUT_OF_MEMORY;
  g_autoptr (LoomProgram) p = block (LOOM_F32);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = NULL;

  g_setenv ("LEAN_FAILS", failure_spec, TRUE);
  plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cuda:0" }, &error);
  g_unsetenv ("LEAN_FAILS");
  g_assert_null (plan);
  g_assert_error (error, LOOM_ERROR, (int)code);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, "Planning on cuda:0: the "));
  g_assert_nonnull (strstr (error->message, "another device"));
}

/* A product reads a transposed operand directly only if there is such a product. */
static void
test_transposes (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 4, 4, 32, 32 }), swapped;
  g_autofree char *folded = NULL, *lean = NULL;
  g_autoptr (GPtrArray) a = NULL, b = NULL;

  swapped = loom_permute (p, x, (int[]){ 0, 1, 3, 2 });
  loom_program_output (p, "left", loom_matmul (p, swapped, x, FALSE, FALSE));
  loom_program_output (p, "right", loom_matmul (p, x, swapped, FALSE, FALSE));
  a = run (p, "cuda:0", &folded);
  g_assert_null (strstr (folded, "permute"));
  g_setenv ("LEAN_FAILS", "transposed unsupported", TRUE);
  b = run (p, "cuda:0", &lean);
  g_unsetenv ("LEAN_FAILS");
  g_assert_nonnull (strstr (lean, "permute"));
  for (guint o = 0; o < 2; o++)
    for (gint64 i = 0; i < ((LoomTensor *)a->pdata[o])->count; i++)
      g_assert_cmpfloat (fabs (loom_tensor_get (a->pdata[o], i) - loom_tensor_get (b->pdata[o], i)), <=, 1e-4);
}

static void
test_attention (void)
{
  g_autoptr (LoomProgram) p = attention ();
  g_autofree char *lean = NULL, *ref = NULL;
  g_autoptr (GPtrArray) a = run (p, "ref", &ref), b = run (p, "cuda:0", &lean);
  static const char *const joined[] = { "attention in place", "random+ge" };

  for (guint i = 0; i < G_N_ELEMENTS (joined); i++)
    {
      g_assert_null (strstr (lean, joined[i]));
      g_assert_nonnull (strstr (ref, joined[i]));
    }
  for (gint64 i = 0; i < ((LoomTensor *)a->pdata[0])->count; i++)
    g_assert_cmpfloat (loom_tensor_get (a->pdata[0], i), ==, loom_tensor_get (b->pdata[0], i));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/plan/joins/f32", GINT_TO_POINTER (LOOM_F32), test_nothing_joined);
  g_test_add_data_func ("/plan/joins/bf16", GINT_TO_POINTER (LOOM_BF16), test_nothing_joined);
  g_test_add_data_func ("/plan/joins/around", GINT_TO_POINTER (FALSE), test_around);
  g_test_add_data_func ("/plan/joins/around-affine", GINT_TO_POINTER (TRUE), test_around);
  g_test_add_func ("/plan/joins/transposes", test_transposes);
  g_test_add_func ("/plan/joins/attention", test_attention);
  g_test_add_data_func ("/plan/joins/no-memory", "joined memory", test_failing_device);
  g_test_add_data_func ("/plan/joins/lost", "joined lost", test_failing_device);
  g_test_add_data_func ("/plan/kernel/no-memory", "permute memory", test_failing_device);
  g_test_add_data_func ("/plan/kernel/lost", "conv2d_weight_grad lost", test_failing_device);
  return g_test_run ();
}
