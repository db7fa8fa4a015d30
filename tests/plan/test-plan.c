/* Tests the planner on random programs: the numbers are those of a plan without fusion, sharing, aliasing or memory
 * reuse, no two living values overlap, and the arena is close to its lower bound.
 *
 * Seeds are fixed, so a failure is reproducible; GRADLOOM_PLAN_SEEDS sets their number. */
#include <math.h>
#include <string.h>

#include "engine/program/loom-optimizer.h"
#include "engine/run/loom-exec.h"
#include "tests/plan/check-passes.h"
#include "tests/plan/random-program.h"
#include "tests/plan/run-once.h"
#include "tests/test-program.h"

static GPtrArray *
run (LoomProgram *p, LoomDevices *devices, const LoomPlanOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, options->device, 5);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomPlan *plan = loom_plan_new (p, devices, options, &error);
  g_autoptr (LoomExec) exec = NULL;
  double x[64], z[64];

  g_assert_no_error (error);
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (int i = 0; i < 64; i++)
    {
      x[i] = sin (i * 1.7);
      z[i] = cos (i * 0.9);
    }
  loom_exec_feed (exec, 0, x);
  loom_exec_feed (exec, 1, z);
  for (int step = 0; step < 2; step++) /* the second step uses the first one's memory */
    {
      loom_exec_step (exec, &error);
      g_assert_no_error (error);
    }
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, &error));
  g_assert_no_error (error);
  g_ptr_array_add (results, loom_state_get (state, "w", &error));
  return results;
}

static void
assert_no_overlap (const LoomPlan *plan)
{
  for (guint a = 1; a < loom_plan_n_values (plan); a++)
    for (guint b = a + 1; b < loom_plan_n_values (plan); b++)
      {
        const LoomPlanValue *x = loom_plan_value (plan, a), *y = loom_plan_value (plan, b);
        gsize x_bytes = loom_desc_bytes (&x->desc), y_bytes = loom_desc_bytes (&y->desc);

        if (x->location.kind != LOOM_LOCATION_ARENA || y->location.kind != LOOM_LOCATION_ARENA || x->last < y->first
            || y->last < x->first || x->location.offset == y->location.offset)
          continue;
        g_assert_true (x->location.offset + x_bytes <= y->location.offset
                       || y->location.offset + y_bytes <= x->location.offset);
      }
}

static guint
n_seeds (void)
{
  const char *text = g_getenv ("GRADLOOM_PLAN_SEEDS");

  return text != NULL ? (guint)g_ascii_strtoull (text, NULL, 10) : 300;
}

static void
test_random (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  for (guint seed = 1; seed <= n_seeds (); seed++)
    {
      g_autoptr (LoomProgram) p = random_program_new (seed, 10 + seed % 50, LOOM_F64);
      LoomPlanOptions tight = { .device = "ref" }, loose = { .device = "ref", .no_fusion = TRUE, .no_reuse = TRUE };
      g_autoptr (GPtrArray) a = run (p, devices, &tight);
      g_autoptr (GPtrArray) b = run (p, devices, &loose);
      g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &tight, NULL);
      g_autofree char *wrong = check_passes (p, devices, &tight);
      LoomPlanMemory memory;

      if (wrong != NULL)
        g_error ("seed %u: %s", seed, wrong);
      for (guint i = 0; i < a->len; i++)
        {
          LoomTensor *x = g_ptr_array_index (a, i), *y = g_ptr_array_index (b, i);

          g_assert_cmpint (x->count, ==, y->count);
          for (gint64 k = 0; k < x->count; k++)
            {
              double u = loom_tensor_get (x, k), v = loom_tensor_get (y, k);

              if (!(fabs (u - v) <= 1e-9 * (1 + fabs (v))) && !(u == v) && !(isnan (u) && isnan (v)))
                g_error ("seed %u, result %u[%" G_GINT64_FORMAT "]: %.17g is not %.17g", seed, i, k, u, v);
            }
        }
      assert_no_overlap (plan);
      loom_plan_memory (plan, 0, &memory);
      g_assert_cmpuint (memory.arena, >=, memory.lower_bound);
      if ((double)memory.arena > 1.1 * (double)memory.lower_bound + 256)
        g_error ("seed %u: arena %" G_GSIZE_FORMAT ", lower bound %" G_GSIZE_FORMAT, seed, memory.arena,
                 memory.lower_bound);
    }
}

static guint
count_label (const LoomPlan *plan, const char *label)
{
  guint n = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += strcmp (loom_plan_instr (plan, i)->label, label) == 0;
  return n;
}

/* Bias and activation are fused into the product; an element-wise chain is one kernel; a transpose is free. */
static void
test_fusion (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "ref" };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = NULL;
  LoomValue x, w, b, h, y;

  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 3, 4 });
  w = loom_program_input (p, "w", LOOM_F32, 2, (gint64[]){ 5, 4 });
  b = loom_program_input (p, "b", LOOM_F32, 1, (gint64[]){ 5 });
  h = loom_matmul (p, x, loom_permute (p, w, (int[]){ 1, 0 }), FALSE, FALSE);
  h = loom_unary (p, LOOM_SCALAR_RELU, loom_binary (p, LOOM_SCALAR_ADD, h, b));
  y = loom_binary (p, LOOM_SCALAR_MUL, loom_unary (p, LOOM_SCALAR_SIN, h), loom_const (p, LOOM_F32, 2));
  y = loom_binary (p, LOOM_SCALAR_ADD, loom_unary (p, LOOM_SCALAR_EXP, y), h);
  loom_program_output (p, "y", y);
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (loom_plan_n_instrs (plan), ==, 2);
  g_assert_cmpuint (count_label (plan, "matmul+add+relu"), ==, 1);
  g_assert_cmpuint (count_label (plan, "fused(sin,mul,exp,add)"), ==, 1);
}

/* A result that the backward pass reads is kept: a product whose bare result has a second reader is not fused. */
static void
test_no_fusion_of_shared (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "ref" };
  g_autoptr (LoomPlan) plan = NULL;
  LoomValue x, h;

  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 4 });
  h = loom_matmul (p, x, x, FALSE, FALSE);
  loom_program_output (p, "h", h);
  loom_program_output (p, "y", loom_unary (p, LOOM_SCALAR_RELU, h));
  plan = loom_plan_new (p, devices, &options, NULL);
  g_assert_cmpuint (count_label (plan, "matmul"), ==, 1);
  g_assert_cmpuint (count_label (plan, "relu"), ==, 1);
}

/* A constant is computed before the first step; dead code is removed; equal instructions are merged. */
static void
test_constants_and_sharing (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "ref" };
  g_autoptr (LoomPlan) plan = NULL;
  LoomValue x, a, b;

  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 4 });
  a = loom_matmul (p, x, x, FALSE, FALSE);
  b = loom_matmul (p, x, x, FALSE, FALSE);
  loom_unary (p, LOOM_SCALAR_EXP, loom_matmul (p, a, a, FALSE, FALSE));
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, a, b));
  plan = loom_plan_new (p, devices, &options, NULL);
  g_assert_cmpuint (count_label (plan, "matmul"), ==, 1);
  g_assert_cmpuint (loom_plan_n_instrs (plan), ==, 2);
}

/* A constant of an integer type is the number that its elements hold: a bool filled with 4 is 1. */
static void
test_constants_of_integers (void)
{
  static const struct
  {
    LoomDType dtype;
    double filled, held;
  } cases[] = {
    { LOOM_BOOL, 4, 1 }, { LOOM_BOOL, 0, 0 }, { LOOM_I64, -2.75, -2 }, { LOOM_I32, 2.5, 2 }, { LOOM_U8, 7.5, 7 }
  };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (GPtrArray) results = NULL;
  g_autoptr (GError) error = NULL;
  LoomPlanOptions options = { .device = "ref" };
  LoomPlan *plan;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomValue v = loom_fill (p, cases[i].dtype, 1, (gint64[]){ 3 }, cases[i].filled);
      g_autofree char *name = g_strdup_printf ("y%u", i);

      loom_program_output (p, name, loom_cast (p, v, LOOM_F32));
    }
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  results = run_once (devices, plan, "ref", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpfloat (loom_tensor_get (g_ptr_array_index (results, i), 2), ==, cases[i].held);
}

/* In bf16 a quotient of constants and a tensor of one number are rounded as PyTorch rounds tensors, and a literal is
 * not, as a Python number is not: 1/3 is 0.333984375, and 129·0.1 is 12.9 before it is rounded. */
static void
test_constants_of_16_bits (void)
{
  static const struct
  {
    float x;
    double product;
  } cases[] = { { 200, 67 }, { 129, 12.875 }, { 129, 12.9375 } };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  const gint64 dim[1] = { 1 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 1, (gint64[]){ G_N_ELEMENTS (cases) });
  LoomValue one = loom_fill (p, LOOM_BF16, 1, dim, 1), three = loom_fill (p, LOOM_BF16, 1, dim, 3);
  LoomValue by[] = { loom_binary (p, LOOM_SCALAR_DIV, one, three), loom_const (p, LOOM_BF16, 0.1),
                     loom_fill (p, LOOM_BF16, 1, dim, 0.1) };
  float given[G_N_ELEMENTS (cases)];
  g_autoptr (GPtrArray) results = NULL;
  g_autoptr (GError) error = NULL;
  LoomPlan *plan;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *name = g_strdup_printf ("y%u", i);
      LoomValue of = loom_cast (p, loom_slice (p, x, (gint64[]){ i }, (gint64[]){ 1 }, dim), LOOM_BF16);

      given[i] = cases[i].x;
      loom_program_output (p, name, loom_cast (p, loom_binary (p, LOOM_SCALAR_MUL, of, by[i]), LOOM_BF16));
    }
  plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
  g_assert_no_error (error);
  results = run_once (devices, plan, "cpu", given);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpfloat (loom_tensor_get (g_ptr_array_index (results, i), 0), ==, cases[i].product);
}

/* Attributes are compared by their fields, regardless of padding between them, and differ if one field does. */
static void
test_sharing_of_attributes (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "ref" };
  g_autoptr (LoomPlan) plan = NULL;
  LoomMatmulAttrs product[2];
  LoomSoftmaxAttrs soft[2];
  LoomValue x, y[2], z[2], w[2];

  memset (&product[0], 0x00, sizeof product[0]);
  memset (&product[1], 0xff, sizeof product[1]);
  memset (&soft[0], 0x00, sizeof soft[0]);
  memset (&soft[1], 0xff, sizeof soft[1]);
  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 4 });
  for (guint i = 0; i < 2; i++)
    {
      product[i].trans_a = TRUE;
      product[i].trans_b = product[i].has_bias = product[i].sum_b = FALSE;
      product[i].act = product[i].derivative = LOOM_SCALAR_ID;
      soft[i].axis = 1;
      soft[i].log = FALSE;
      y[i] = loom_emit (p, loom_prim ("matmul"), &product[i], 3, (LoomValue[]){ x, x, 0 }, NULL);
      z[i] = loom_emit (p, loom_prim ("softmax"), &soft[i], 1, &x, NULL);
      w[i] = loom_fill (p, LOOM_F32, 2, (gint64[]){ 4, 4 }, i == 0 ? 0.0 : -0.0);
    }
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, y[0], y[1]));
  loom_program_output (p, "z", loom_binary (p, LOOM_SCALAR_ADD, z[0], z[1]));
  loom_program_output (p, "w0", w[0]);
  loom_program_output (p, "w1", w[1]);
  soft[1].log = TRUE;
  loom_program_output (p, "log", loom_emit (p, loom_prim ("softmax"), &soft[1], 1, &x, NULL));
  plan = loom_plan_new (p, devices, &options, NULL);
  g_assert_cmpuint (count_label (plan, "matmul"), ==, 1);
  g_assert_cmpuint (count_label (plan, "softmax"), ==, 2);
  g_assert_cmpuint (count_label (plan, "fill"), ==, 2);
}

typedef struct
{
  GPtrArray *names;
  guint n_instrs, n_left_out;
  gsize bytes;
} Passes;

static void
note_pass (const LoomPlanPass *pass, gpointer data)
{
  Passes *seen = data;

  g_assert_nonnull (pass->doc);
  g_assert_true (g_str_has_suffix (pass->doc, "."));
  for (guint i = 0; i < seen->names->len; i++)
    g_assert_cmpstr (g_ptr_array_index (seen->names, i), !=, pass->name);
  g_ptr_array_add (seen->names, (gpointer)pass->name);
  seen->n_left_out += !pass->ran;
  seen->n_instrs = pass->n_instrs;
  seen->bytes = pass->bytes;
}

/* Every pass is reported once, by name; the state after the last one is the plan. */
static void
test_passes (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  for (guint no_fusion = 0; no_fusion < 2; no_fusion++)
    {
      g_autoptr (LoomProgram) p = random_program_new (3, 30, LOOM_F64);
      g_autoptr (LoomProgram) expanded = loom_program_expand (p, NULL);
      g_autoptr (GPtrArray) names = g_ptr_array_new ();
      Passes seen = { names };
      LoomPlanOptions options
          = { .device = "ref", .no_fusion = no_fusion != 0, .on_pass = note_pass, .on_pass_data = &seen };
      g_autoptr (LoomPlan) plan = loom_plan_new (expanded, devices, &options, NULL);
      LoomPlanMemory memory;

      loom_plan_memory (plan, 0, &memory);
      g_assert_cmpuint (names->len, >, 15);
      g_assert_cmpstr (g_ptr_array_index (names, 0), ==, "expansion");
      g_assert_cmpstr (g_ptr_array_index (names, 1), ==, "program");
      g_assert_cmpstr (g_ptr_array_index (names, names->len - 1), ==, "memory");
      g_assert_true ((seen.n_left_out > 0) == (no_fusion != 0));
      g_assert_cmpuint (seen.n_instrs, ==, loom_plan_n_instrs (plan));
      g_assert_cmpuint (seen.bytes, ==, memory.arena);
    }
}

static void
test_devices (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  static const char *const wrong[] = { "gpu", "cpu:x", "cpu:99", "", "cuda:4000", NULL };
  static const int code[]
      = { LOOM_ERROR_SCHEMA, LOOM_ERROR_SCHEMA, LOOM_ERROR_DEVICE, LOOM_ERROR_SCHEMA, LOOM_ERROR_SCHEMA };

  for (guint i = 0; wrong[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (loom_devices_get (devices, wrong[i], &error));
      /* A word that is not a device's name is a mistake in the graph or the command line, not the machine's. */
      g_assert_error (error, LOOM_ERROR, code[i]);
      g_assert_true (g_str_has_suffix (error->message, ".") && strlen (error->message) > 20);
    }
  g_assert_true (loom_devices_get (devices, "cpu", NULL) == loom_devices_get (devices, "cpu:0", NULL));
}

/* A value that crosses devices is copied once and visibly; strict_devices makes it an error. */
static void
test_crossing (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "cpu" };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = NULL;
  guint copies = 0;
  LoomValue x, a, b;

  loom_program_set_origin (p, "near", NULL);
  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 4 });
  a = loom_unary (p, LOOM_SCALAR_EXP, x);
  loom_program_set_origin (p, "far", "ref");
  b = loom_matmul (p, a, a, FALSE, FALSE);
  loom_program_output (p, "y", loom_unary (p, LOOM_SCALAR_RELU, b));
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    copies += loom_plan_instr (plan, i)->kernel == NULL;
  g_assert_cmpuint (copies, ==, 1);
  options.strict_devices = TRUE;
  g_assert_null (loom_plan_new (p, devices, &options, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DEVICE);
  g_assert_cmpstr (error->message, ==,
                   "Node far: Expected all tensors to be on the same device, but found at least two devices, cpu and "
                   "ref! The value of node near is on cpu and is needed on ref. Set the same device on both nodes, or "
                   "remove strict_devices.");
}

/* A hyper-parameter is on the graph's device and on no wire: strict_devices lets nodes of another device read it. */
static void
test_strict_scalar (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "cpu", .strict_devices = TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = NULL;
  LoomValue rate = loom_program_scalar (p, "rate", 0.5), x;

  loom_program_set_origin (p, "far", "ref");
  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 4 });
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_MUL, x, rate));
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  g_assert_nonnull (plan);
}

/* exp w is read after the step that updates w, so it must not be fused into its reader. */
static void
test_update_between (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomPlanOptions options = { .device = "cpu" };
  const LoomOptimizer *sgd = loom_optimizer ("sgd");
  LoomInit init = { .kind = LOOM_INIT_CONSTANT, .a = 0.5 };
  int slot = loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F32, 1, (gint64[]){ 4 }, &init, TRUE);
  LoomValue w = loom_program_read (p, slot), e = loom_unary (p, LOOM_SCALAR_EXP, w), loss, grad;
  double hyper[16];
  LoomUpdateOptions update = { .optimizer = "sgd", .hyper = hyper };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 1);
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (LoomTensor) after = NULL, y = NULL;
  g_autofree char *why = NULL;
  LoomPlan *plan;

  for (guint i = 0; sgd->hyper[i].name != NULL; i++)
    hyper[i] = g_str_equal (sgd->hyper[i].name, "lr") ? 1 : sgd->hyper[i].value;
  loss = update.loss = loom_sum_all (p, w);
  g_assert_true (loom_differentiate (p, loss, 0, 1, &w, &grad, &error));
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  g_assert_true (loom_emit_update (p, &update, 1, &slot, &grad, &error));
  loom_program_output (p, "y", loom_unary (p, LOOM_SCALAR_TANH, e));
  why = check_passes (p, devices, &options);
  g_assert_cmpstr (why, ==, NULL);
  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  g_assert_true (loom_exec_step (exec, &error));
  y = loom_exec_output (exec, (guint)loom_exec_find_output (exec, "y"), &error);
  after = loom_state_get (state, "w", &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (loom_tensor_get (after, 0), ==, -0.5);
  g_assert_cmpfloat (fabs (loom_tensor_get (y, 0) - tanh (exp (0.5))), <, 1e-6);
}

/* A value that several devices read in turn is copied to each of them once. */
static void
test_copies_in_turns (void)
{
  static const char *const at[] = { "cpu:1", "ref", "ref:1", "cpu:1", "ref", "cpu:1", "ref:1", "ref" };
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomValue x, sum = 0;
  guint copies = 0;

  g_setenv ("GRADLOOM_CPU_DEVICES", "2", TRUE);
  {
    g_autoptr (LoomDevices) devices = loom_devices_new (1);
    g_autoptr (GError) error = NULL;
    g_autoptr (LoomPlan) plan = NULL;

    x = loom_unary (p, LOOM_SCALAR_EXP, loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 4 }));
    for (guint i = 0; i < G_N_ELEMENTS (at); i++)
      {
        g_autofree char *name = g_strdup_printf ("y%u", i);

        loom_program_set_origin (p, name, at[i]);
        sum = loom_matmul (p, x, x, i % 2, i / 2 % 2);
        loom_program_output (p, name, sum);
      }
    plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu", .no_fusion = TRUE }, &error);
    g_assert_no_error (error);
    for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
      copies += loom_plan_instr (plan, i)->kernel == NULL;
  }
  g_unsetenv ("GRADLOOM_CPU_DEVICES");
  g_assert_cmpuint (copies, ==, 3);
}

/* A slot takes a reshape of a value at the end of a step, so no later result may overwrite that value. */
static void
test_committed_view (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = loom_program_new ();
  const LoomInit zeros = { .kind = LOOM_INIT_ZEROS };
  const gint64 dims[2] = { 2, 3 }, flat[1] = { 6 };
  const float x[6] = { 1, 2, 3, 4, 5, 6 }, sums[6] = { 1, 2, 3, 5, 7, 9 };
  LoomValue in = loom_program_input (p, "x", LOOM_F32, 2, dims), sum = loom_cumsum (p, in, 0, FALSE, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = NULL;
  g_autoptr (LoomExec) exec = NULL;
  g_autoptr (LoomTensor) kept = NULL, out = NULL;
  LoomPlan *plan;

  loom_program_commit (p, loom_program_slot (p, "kept", LOOM_SLOT_BUFFER, LOOM_F32, 1, flat, &zeros, FALSE),
                       loom_reshape (p, sum, 1, flat));
  loom_program_output (p, "out", loom_unary (p, LOOM_SCALAR_TANH, sum));
  plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
  g_assert_no_error (error);
  state = loom_state_new (devices, "cpu", 1);
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  loom_exec_feed (exec, 0, x);
  g_assert_true (loom_exec_step (exec, &error));
  kept = loom_state_get (state, "kept", &error);
  g_assert_no_error (error);
  out = loom_exec_output (exec, 0, &error);
  for (gint64 i = 0; i < 6; i++)
    {
      g_assert_cmpfloat (loom_tensor_get (kept, i), ==, sums[i]);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (out, i), tanh (sums[i]), 1e-6);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/random", test_random);
  g_test_add_func ("/plan/fusion", test_fusion);
  g_test_add_func ("/plan/no-fusion-of-shared", test_no_fusion_of_shared);
  g_test_add_func ("/plan/constants-and-sharing", test_constants_and_sharing);
  g_test_add_func ("/plan/constants-of-integers", test_constants_of_integers);
  g_test_add_func ("/plan/constants-of-16-bits", test_constants_of_16_bits);
  g_test_add_func ("/plan/sharing-of-attributes", test_sharing_of_attributes);
  g_test_add_func ("/plan/passes", test_passes);
  g_test_add_func ("/plan/devices", test_devices);
  g_test_add_func ("/plan/crossing", test_crossing);
  g_test_add_func ("/plan/strict-scalar", test_strict_scalar);
  g_test_add_func ("/plan/update-between", test_update_between);
  g_test_add_func ("/plan/copies-in-turns", test_copies_in_turns);
  g_test_add_func ("/plan/committed-view", test_committed_view);
  return g_test_run ();
}
