/* Tests the choices of a plan on the emulated GPU: configurations proposed by cuBLASLt and algorithms of cuDNN are
 * options, recorded by name, and requested by name if a newer library proposes others. */
#include <math.h>
#include <string.h>

#include "engine/run/loom-exec.h"
#include "tests/test-program.h"

#define DEVICE "cuda:0"

static LoomProgram *
product (void)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 4, 8 });
  LoomValue y = loom_program_input (p, "y", LOOM_F32, 2, (gint64[]){ 8, 256 });

  loom_program_output (p, "z", loom_matmul (p, x, y, FALSE, FALSE));
  return p;
}

static LoomProgram *
convolution (gint64 filter)
{
  const LoomConv2dTo attrs
      = { .kernel
          = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .act = LOOM_SCALAR_ID } };
  LoomProgram *p = loom_program_new ();
  LoomValue in[3] = { loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 2, 3, 6, 6 }),
                      loom_program_input (p, "w", LOOM_F32, 4, (gint64[]){ 4, 3, filter, filter }) };

  loom_program_output (p, "y", loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL));
  return p;
}

/* Measures every option of the call, with one as the fastest: the one with `word` in its name, or `number`. */
typedef struct
{
  LoomCostTable *table;
  const char *word;
  guint number;
  GPtrArray *names;
} Request;

static void
measure (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
         const LoomKernelOption *option, guint n, gpointer data)
{
  g_autofree char *call = loom_cost_call_key (spec, attributes);
  Request *request = data;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = loom_cost_option_key (spec, &option[i]);
      gboolean best = request->word != NULL ? g_str_equal (name, request->word) : i == request->number;

      loom_cost_table_set_measured (request->table, device->cost_key, call, name, best ? 1e-6 : 1e-3);
      g_ptr_array_add (request->names, g_steal_pointer (&name));
    }
}

/* Devices whose plans follow the table. */
static LoomDevices *
devices_with (LoomCostTable *table)
{
  LoomDevices *devices = loom_devices_new (1);

  loom_devices_set_costs (devices, table);
  return devices;
}

static LoomPlan *
plan_with (LoomProgram *p, LoomDevices *devices, Request *request)
{
  LoomPlanOptions options = { .device = DEVICE, .visit = request != NULL ? measure : NULL, .visit_data = request };
  g_autoptr (GError) error = NULL;
  LoomPlan *plan;

  plan = loom_plan_new (p, devices, &options, &error);
  g_assert_no_error (error);
  return plan;
}

/* The algorithm of the plan's only product or convolution. */
static char *
chosen (LoomProgram *p, LoomCostTable *table)
{
  g_autoptr (LoomDevices) devices = devices_with (table);
  g_autoptr (LoomPlan) plan = plan_with (p, devices, NULL);
  g_autofree char *text = loom_plan_print (plan);

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (g_str_equal (instr->primitive, "matmul") || g_str_equal (instr->primitive, "conv2d"))
        {
          g_assert_nonnull (strstr (text, instr->algorithm));
          return g_strdup (instr->algorithm);
        }
    }
  g_assert_not_reached ();
}

/* The table of a run that prefers one option, as its checkpoint stores it: the choice, without measurements. */
static LoomCostTable *
checkpoint_of (LoomProgram *p, Request *request)
{
  g_autoptr (LoomCostTable) table = loom_cost_table_new ();
  g_autoptr (LoomDevices) devices = devices_with (table);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  LoomCostTable *read;

  request->table = table;
  request->names = g_ptr_array_new_with_free_func (g_free);
  loom_plan_free (plan_with (p, devices, request));
  loom_cost_table_drop_choices (table);
  loom_plan_free (plan_with (p, devices, NULL));
  text = loom_cost_table_to_text (table, TRUE);
  read = loom_cost_table_new_from_text (text, "a checkpoint", &error);
  g_assert_no_error (error);
  return read;
}

static void
configuration_test (void)
{
  g_autoptr (LoomProgram) p = product ();
  g_autoptr (LoomCostTable) fresh = loom_cost_table_new (), newer = loom_cost_table_new ();
  Request request = { .number = 1 };
  g_autoptr (LoomCostTable) kept = checkpoint_of (p, &request);
  g_autoptr (GPtrArray) names = request.names;
  g_autofree char *first = chosen (p, fresh), *second = NULL, *again = NULL, *other = NULL, *refused = NULL;
  g_autofree char *plain = NULL, *note = NULL;

  /* With equal rates the library's first proposal is chosen; measurements choose another. */
  g_assert_true (g_str_has_prefix (first, "cublaslt:a"));
  g_assert_cmpuint (names->len, >, 1);
  second = chosen (p, kept);
  plain = g_strconcat (second, " plain", NULL);
  g_assert_cmpstr (plain, ==, g_ptr_array_index (names, 1));
  g_assert_cmpstr (first, !=, second);

  /* A library that proposes others still supports that one. */
  g_setenv ("GRADLOOM_EMULATOR_CUBLASLT", "1", TRUE);
  other = chosen (p, newer);
  g_assert_cmpstr (other, !=, first);
  g_assert_cmpstr (other, !=, second);
  again = chosen (p, kept);
  g_assert_cmpstr (again, ==, second);
  note = loom_cost_table_take_note (kept);
  g_assert_true (note == NULL || strstr (note, "not available") == NULL);
  g_clear_pointer (&note, g_free);

  /* A library without it: one note. */
  g_setenv ("GRADLOOM_EMULATOR_CUBLASLT", "2", TRUE);
  refused = chosen (p, kept);
  g_assert_cmpstr (refused, !=, second);
  note = loom_cost_table_take_note (kept);
  g_test_message ("%s", note);
  g_assert_nonnull (strstr (note, second));
  g_assert_nonnull (strstr (note, "not available on " DEVICE));
  g_unsetenv ("GRADLOOM_EMULATOR_CUBLASLT");
}

static LoomTensor *
output_of (LoomProgram *p, LoomCostTable *table)
{
  g_autoptr (LoomDevices) devices = devices_with (table);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, DEVICE, 1);
  g_autoptr (LoomExec) exec = loom_exec_new (plan_with (p, devices, NULL), state, &error);
  float x[2 * 3 * 6 * 6], w[4 * 3 * 3 * 3];
  LoomTensor *y;

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (x); i++)
    x[i] = (float)sin (i * 0.37);
  for (guint i = 0; i < G_N_ELEMENTS (w); i++)
    w[i] = (float)cos (i * 0.21);
  loom_exec_feed (exec, 0, x);
  loom_exec_feed (exec, 1, w);
  g_assert_true (loom_exec_step (exec, &error));
  y = loom_exec_output (exec, 0, &error);
  g_assert_no_error (error);
  return y;
}

/* Each of a convolution's options can be chosen, and computes the same. */
static void
algorithms_test (void)
{
  static const char *const all[] = { "cudnn-implicit-precomp plain",
                                     "cudnn-implicit plain",
                                     "cudnn-winograd plain",
                                     "own plain",
                                     "cudnn-implicit-precomp nhwc",
                                     "cudnn-implicit nhwc",
                                     "cudnn-implicit-precomp packed",
                                     "cudnn-implicit packed",
                                     "own nhwc",
                                     "own nhwc-plain",
                                     "own plain-nhwc" };
  g_autoptr (LoomProgram) p = convolution (3);
  g_autoptr (LoomCostTable) fresh = loom_cost_table_new ();
  g_autofree char *first = chosen (p, fresh);
  g_autoptr (LoomTensor) want = output_of (p, fresh);

  g_assert_cmpstr (first, ==, "cudnn-implicit-precomp");
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      Request request = { .word = all[i] };
      g_autoptr (LoomCostTable) table = checkpoint_of (p, &request);
      g_autoptr (GPtrArray) names = request.names;
      g_autoptr (LoomTensor) got = output_of (p, table);
      g_autofree char *name = chosen (p, table);

      g_assert_true (g_ptr_array_find_with_equal_func (names, all[i], g_str_equal, NULL));
      /* A value in NHWC must be worth two reorders. */
      if (g_str_has_suffix (all[i], " plain"))
        g_assert_true (g_str_has_prefix (all[i], name) && all[i][strlen (name)] == ' ');
      for (gint64 k = 0; k < want->count; k++)
        g_assert_cmpfloat (fabs (loom_tensor_get (got, k) - loom_tensor_get (want, k)), <, 1e-4);
    }
}

/* Winograd's algorithms are for 3×3 filters, one of them also for 5×5; that one rounds as much as TF32 and is an option
 * only if TF32 is allowed. */
static void
limits_test (void)
{
  static const gint64 filters[] = { 1, 3, 5 };
  static const gboolean winograd[] = { FALSE, TRUE, FALSE }, nonfused[] = { FALSE, TRUE, TRUE };

  for (guint i = 0; i < G_N_ELEMENTS (filters); i++)
    {
      for (gint tf32 = 0; tf32 < 2; tf32++)
        {
          g_autoptr (LoomProgram) p = convolution (filters[i]);
          Request request = { .number = 0 };
          g_autoptr (LoomCostTable) table = NULL;
          g_autoptr (GPtrArray) names = NULL;

          loom_program_set_tf32 (p, tf32);
          table = checkpoint_of (p, &request);
          names = request.names;
          g_assert_cmpint (g_ptr_array_find_with_equal_func (names, "cudnn-winograd plain", g_str_equal, NULL), ==,
                           winograd[i]);
          g_assert_cmpint (g_ptr_array_find_with_equal_func (names, "cudnn-winograd-nonfused plain", g_str_equal, NULL),
                           ==, tf32 && nonfused[i]);
        }
    }
}

/* An even filter pads its sides differently, which cuDNN does not support: the image is padded first, in both types,
 * instead of a convolution with one thread per element. */
static void
uneven_test (void)
{
  static const LoomDType types[] = { LOOM_F32, LOOM_BF16 };
  const LoomConv2dTo attrs
      = { .kernel
          = { .stride = { 1, 1 }, .pad = { 1, 2, 1, 2 }, .dilation = { 1, 1 }, .groups = 1, .act = LOOM_SCALAR_ID } };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autoptr (LoomProgram) p = loom_program_new ();
      g_autoptr (LoomCostTable) fresh = loom_cost_table_new ();
      LoomValue in[3] = { loom_program_input (p, "x", types[i], 4, (gint64[]){ 8, 64, 32, 32 }),
                          loom_program_input (p, "w", types[i], 4, (gint64[]){ 64, 64, 4, 4 }) };
      g_autofree char *name = NULL;

      loom_program_output (p, "y", loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL));
      name = chosen (p, fresh);
      g_assert_cmpstr (name, ==, "cudnn-padded");
    }
}

/* A convolution followed by bias and ReLU, as in a graph. */
static LoomProgram *
convolution_and_relu (LoomDType type, gint64 after)
{
  const LoomConv2dTo attrs = {
    .kernel
    = { .stride = { 1, 1 }, .pad = { 1, after, 1, after }, .dilation = { 1, 1 }, .groups = 1, .act = LOOM_SCALAR_ID }
  };
  LoomProgram *p = loom_program_new ();
  LoomValue in[3] = { loom_program_input (p, "x", type, 4, (gint64[]){ 8, 64, 32, 32 }),
                      loom_program_input (p, "w", type, 4, (gint64[]){ 64, 64, 3, 3 }) };
  LoomValue y = loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, NULL);

  y = loom_binary (p, LOOM_SCALAR_ADD, y, loom_program_input (p, "b", type, 3, (gint64[]){ 64, 1, 1 }));
  loom_program_output (p, "y", loom_unary (p, LOOM_SCALAR_RELU, y));
  return p;
}

/* A graph saves reading and writing y once more, in the layouts that both have. */
static void
compare_costs (G_GNUC_UNUSED const LoomPlanDevice *device, const LoomKernelSpec *spec,
               G_GNUC_UNUSED const char *attributes, const LoomKernelOption *option, guint n, gpointer data)
{
  guint *n_compared = data;

  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n; k++)
      if (g_str_has_prefix (option[i].algorithm, "cudnn-graph:") && option[i].nhwc == option[k].nhwc
          && g_str_equal (option[k].algorithm, "cudnn-implicit-precomp"))
        {
          const double saved = 2 * (double)loom_desc_bytes (&spec->out[0]) / 2.5e12;

          g_assert_cmpfloat (fabs (option[k].seconds - option[i].seconds - saved), <, 1e-9);
          ++*n_compared;
        }
}

static void
graph_cost_test (void)
{
  g_autoptr (LoomProgram) p = convolution_and_relu (LOOM_BF16, 1);
  g_autoptr (LoomCostTable) fresh = loom_cost_table_new ();
  g_autoptr (LoomDevices) devices = devices_with (fresh);
  guint n_compared = 0;
  LoomPlanOptions options = { .device = DEVICE, .visit = compare_costs, .visit_data = &n_compared };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &options, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (n_compared, >, 1);
}

/* All of it is one cuDNN graph if cuDNN has an engine, since the classic call's result is read and written again; also
 * if sides are padded differently. Measurements can choose another engine or the classic call, and a checkpoint stores
 * the choice. */
static void
graph_test (void)
{
  static const struct
  {
    LoomDType type;
    gint64 after;
    gboolean is_option, is_chosen; /* f32 in NHWC is not worth the reorders of one call */
    gboolean tf32;
  } cases[] = { { LOOM_BF16, 1, TRUE, TRUE, FALSE },
                { LOOM_F16, 2, TRUE, TRUE, FALSE },
                { LOOM_F32, 1, TRUE, FALSE, TRUE },
                { LOOM_F32, 1, FALSE, FALSE, FALSE } };
  guint graphs = 0;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomProgram) p = convolution_and_relu (cases[i].type, cases[i].after);
      g_autoptr (LoomCostTable) fresh = loom_cost_table_new (), kept = NULL;
      g_autoptr (GPtrArray) names = NULL;
      g_autofree char *name = NULL;
      Request request = { .number = 0 };
      gboolean is_option = FALSE;

      loom_program_set_tf32 (p, cases[i].tf32);
      name = chosen (p, fresh);
      kept = checkpoint_of (p, &request);
      names = request.names;
      for (guint k = 0; k < names->len; k++)
        is_option |= g_str_has_prefix (g_ptr_array_index (names, k), "cudnn-graph:eng");
      g_assert_cmpint (is_option, ==, cases[i].is_option);
      g_assert_cmpint (g_str_has_prefix (name, "cudnn-graph:eng"), ==, cases[i].is_chosen);
    }
  for (guint number = 0, n = 1; number < n; number++)
    {
      g_autoptr (LoomProgram) p = convolution_and_relu (LOOM_BF16, 1);
      Request request = { .number = number };
      g_autoptr (LoomCostTable) kept = checkpoint_of (p, &request);
      g_autoptr (GPtrArray) names = request.names;
      g_autofree char *name = chosen (p, kept);
      const char *asked = g_ptr_array_index (names, number);

      n = names->len;
      if (!g_str_has_suffix (asked, " packed"))
        continue;
      g_assert_true (g_str_has_prefix (asked, name) && asked[strlen (name)] == ' ');
      graphs += g_str_has_prefix (name, "cudnn-graph:");
    }
  g_assert_cmpuint (graphs, >, 1);
}

/* Filters in bf16 are converted and packed once a step, by one kernel each, for the convolution and its gradient. */
static void
packed_test (void)
{
  const LoomConv2dTo attrs
      = { .kernel
          = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .act = LOOM_SCALAR_ID } };
  g_autoptr (LoomProgram) p = loom_program_new ();
  LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -1, .b = 1 };
  g_autoptr (LoomCostTable) table = loom_cost_table_new ();
  g_autoptr (LoomDevices) devices = devices_with (table);
  g_autoptr (LoomPlan) plan = NULL;
  LoomValue y = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 8, 64, 16, 16 }), wrt[2], grads[2], loss;
  guint made = 0, read = 0;

  y = loom_cast (p, y, LOOM_BF16);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("w%u", i);

      wrt[i] = loom_program_read (
          p, loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, 4, (gint64[]){ 64, 64, 3, 3 }, &init, TRUE));
      y = loom_emit (p, loom_prim ("conv2d"), &attrs, 3, (LoomValue[]){ y, loom_cast (p, wrt[i], LOOM_BF16), 0 }, NULL);
    }
  loss = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, loom_cast (p, y, LOOM_F32)));
  g_assert_true (loom_differentiate (p, loss, 0, 2, wrt, grads, NULL));
  for (guint i = 0; i < 2; i++)
    loom_program_output (p, i == 0 ? "dw0" : "dw1", grads[i]);
  plan = plan_with (p, devices, NULL);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      for (guint k = 0; k < instr->n_in + instr->n_out; k++)
        {
          const LoomTensorDesc *d = &loom_plan_value (plan, instr->value[k])->desc;

          if (d->rank != 4 || d->dtype != LOOM_BF16 || d->dim[0] != 64 || d->dim[2] != 3)
            continue;
          made += k >= instr->n_in;
          read += k < instr->n_in;
          g_assert_cmpint (d->layout, ==, LOOM_LAYOUT_NHWC);
          g_assert_cmpstr (instr->primitive, ==,
                           k >= instr->n_in                       ? "elementwise"
                           : instr->region == LOOM_REGION_FORWARD ? "conv2d"
                                                                  : "conv2d_input_grad");
        }
    }
  g_assert_cmpuint (made, ==, 2);
  g_assert_cmpuint (read, ==, 3);
}

/* A linear layer with a bias, with the gradients of its parameters; its weights are [out, in] or [in, out]. */
static LoomProgram *
linear (gboolean transposed)
{
  const gint64 shape[] = { transposed ? 40 : 16, transposed ? 16 : 40 };
  LoomProgram *p = loom_program_new ();
  LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -1, .b = 1 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ 24, 40 }), wrt[2], grads[2], y;

  wrt[0] = loom_program_read (p, loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F32, 2, shape, &init, TRUE));
  wrt[1] = loom_program_read (
      p, loom_program_slot (p, "b", LOOM_SLOT_PARAMETER, LOOM_F32, 1, (gint64[]){ 16 }, &init, TRUE));
  y = loom_binary (p, LOOM_SCALAR_ADD, loom_matmul (p, x, wrt[0], FALSE, !transposed), wrt[1]);
  y = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, y));
  g_assert_true (loom_differentiate (p, y, 0, 2, wrt, grads, NULL));
  loom_program_output (p, "db", grads[1]);
  loom_program_output (p, "dw", grads[0]);
  return p;
}

/* The gradient of the bias, and the algorithm of the weights' gradient. */
static LoomTensor *
bias_gradient (LoomProgram *p, const char *device, LoomCostTable *table, char **algorithm)
{
  g_autoptr (LoomDevices) devices = devices_with (table);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, device, 1);
  LoomPlan *plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = device }, &error);
  g_autoptr (LoomExec) exec = NULL;
  float x[24 * 40];
  LoomTensor *db;

  g_assert_no_error (error);
  *algorithm = NULL;
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (g_str_equal (instr->label, "matmul+reduce"))
        *algorithm = g_strdup (instr->algorithm);
    }
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (x); i++)
    x[i] = (float)sin (i * 0.37);
  loom_exec_feed (exec, 0, x);
  g_assert_true (loom_exec_step (exec, &error));
  db = loom_exec_output (exec, 0, &error);
  g_assert_no_error (error);
  return db;
}

/* The gradient of a bias is computed with that of the weights, as an epilogue or by a following kernel, depending on
 * cost. */
static void
check_bias_gradient (gboolean transposed)
{
  static const char *const words[] = { "cublaslt-bgrad:a21t15s4 plain", "cublaslt-sum:a21t15s4 plain" };
  g_autoptr (LoomProgram) p = linear (transposed);
  g_autoptr (LoomCostTable) fresh = loom_cost_table_new ();
  g_autofree char *first = NULL, *none = NULL;
  g_autoptr (LoomTensor) want = bias_gradient (p, "ref", fresh, &none);
  g_autoptr (LoomTensor) db = bias_gradient (p, DEVICE, fresh, &first);

  g_assert_nonnull (first);
  g_assert_true (g_str_has_prefix (first, "cublaslt-bgrad:"));
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      Request request = { .word = words[i] };
      g_autoptr (LoomCostTable) table = checkpoint_of (p, &request);
      g_autoptr (GPtrArray) names = request.names;
      g_autofree char *algorithm = NULL;
      g_autoptr (LoomTensor) got = bias_gradient (p, DEVICE, table, &algorithm);

      g_assert_true (g_str_has_prefix (words[i], algorithm));
      for (gint64 k = 0; k < want->count; k++)
        g_assert_cmpfloat (fabs (loom_tensor_get (got, k) - loom_tensor_get (want, k)), <, 1e-5);
    }
}

static void
bias_gradient_test (void)
{
  check_bias_gradient (FALSE);
  check_bias_gradient (TRUE);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/card/configuration", configuration_test);
  g_test_add_func ("/plan/card/algorithms", algorithms_test);
  g_test_add_func ("/plan/card/limits", limits_test);
  g_test_add_func ("/plan/card/uneven", uneven_test);
  g_test_add_func ("/plan/card/graph", graph_test);
  g_test_add_func ("/plan/card/graph-cost", graph_cost_test);
  g_test_add_func ("/plan/card/packed", packed_test);
  g_test_add_func ("/plan/card/bias-gradient", bias_gradient_test);
  return g_test_run ();
}
