/* Tests the fusion of a max pooling into the convolution before it: which plans have it, and that their results are
 * those of an unfused plan. The reference has such a convolution on every machine, the CPU back end with AVX-512. */
#include <math.h>
#include <string.h>

#include "tests/plan/check-passes.h"
#include "tests/plan/run-once.h"
#include "tests/processor.h"
#include "tests/test-program.h"

#define BATCH    32
#define CHANNELS 16 /* also of the images that the convolution of Winograd's algorithm reads */

typedef enum
{
  NOTHING,
  CHANNELED,     /* the convolution reads several channels, and they have a gradient */
  CONV_SUMMED,   /* the loss reads the convolution's result, too */
  CONV_WATCHED,  /* it is an output */
  CONV_KEPT,     /* a slot takes it */
  RELU_SUMMED,   /* the loss reads the ReLU's result, too */
  INPUT_GRADIENT /* the convolution's gradient has another reader */
} Extra;

typedef struct
{
  const char *name;
  gint64 side; /* of images and, with padding, of the convolution's result */
  LoomPool2dAttrs pool;
  gboolean relu;
  Extra extra;
  guint forward, backward; /* fused calls */
  gboolean ceil;           /* the last windows may reach beyond the border */
} Case;

#define WINDOW(k, s, p) .pool = { .kernel = { k, k }, .stride = { s, s }, .pad = { p, p }, .dilation = { 1, 1 } }

static const Case cases[] = {
  { "alone", 8, WINDOW (2, 2, 0), FALSE, NOTHING, 1, 1 },
  { "relu", 8, WINDOW (2, 2, 0), TRUE, NOTHING, 1, 1 },
  { "convolution-summed", 8, WINDOW (2, 2, 0), FALSE, CONV_SUMMED },
  { "convolution-and-relu-summed", 8, WINDOW (2, 2, 0), TRUE, CONV_SUMMED },
  { "convolution-watched", 8, WINDOW (2, 2, 0), FALSE, CONV_WATCHED, 0, 1 },
  { "convolution-kept", 8, WINDOW (2, 2, 0), FALSE, CONV_KEPT, 0, 1 },
  { "relu-summed", 8, WINDOW (2, 2, 0), TRUE, RELU_SUMMED },
  { "input-gradient", 8, WINDOW (2, 2, 0), FALSE, INPUT_GRADIENT, 1, 1 },
  { "channels", 8, WINDOW (2, 2, 0), FALSE, CHANNELED, 1, 1 },
  { "channels-relu", 8, WINDOW (2, 2, 0), TRUE, CHANNELED, 1, 1 },
  { "odd", 7, WINDOW (2, 2, 0), FALSE, NOTHING },
  { "padded", 8, WINDOW (2, 2, 1), FALSE, NOTHING },
  { "stride-1", 8, WINDOW (2, 1, 0), FALSE, NOTHING },
  { "stride-3", 8, WINDOW (2, 3, 0), FALSE, NOTHING },
  { "window-1", 8, WINDOW (1, 2, 0), FALSE, NOTHING },
  { "window-3", 8, WINDOW (3, 2, 0), FALSE, NOTHING, .ceil = TRUE },
  { "window-3-padded", 8, WINDOW (3, 2, 1), FALSE, NOTHING },
  { "dilated", 8, .pool = { { 2, 2 }, { 2, 2 }, .dilation = { 2, 2 } }, FALSE, NOTHING, .ceil = TRUE },
};

static gint64
pooled_side (const Case *c)
{
  const LoomPool2dAttrs *a = &c->pool;
  const gint64 span = c->side + 2 * a->pad[0] - a->dilation[0] * (a->kernel[0] - 1) - 1;

  return (span + (c->ceil ? a->stride[0] - 1 : 0)) / a->stride[0] + 1;
}

static gint64
channels (const Case *c)
{
  return c->extra == CHANNELED ? CHANNELS : 1;
}

static gboolean
has_input_gradient (const Case *c)
{
  return c->extra == INPUT_GRADIENT || c->extra == CHANNELED;
}

/* The mean square of pool(conv(x)), and its gradient with respect to the weights. */
static LoomProgram *
program_of (const Case *c)
{
  LoomProgram *p = loom_program_new ();
  const LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -0.9, .b = 0.9 }, zeros = { .kind = LOOM_INIT_ZEROS };
  const LoomConv2dTo conv
      = { .kernel
          = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .act = LOOM_SCALAR_ID } };
  const LoomPool2dTo pool = { .kernel = c->pool, .size = { pooled_side (c), pooled_side (c) } };
  const gint64 full[] = { BATCH, CHANNELS, c->side, c->side };
  LoomValue wrt[2], grads[2], y, r, pooled[2], loss;

  wrt[1] = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ BATCH, channels (c), c->side, c->side });
  wrt[0] = loom_program_read (p, loom_program_slot (p, "w", LOOM_SLOT_PARAMETER, LOOM_F32, 4,
                                                    (gint64[]){ CHANNELS, channels (c), 3, 3 }, &init, TRUE));
  y = loom_emit (p, loom_prim ("conv2d"), &conv, 3, (LoomValue[]){ wrt[1], wrt[0], 0 }, NULL);
  r = c->relu ? loom_unary (p, LOOM_SCALAR_RELU, y) : y;
  loom_emit (p, loom_prim ("max_pool2d"), &pool, 1, &r, pooled);
  loss = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, pooled[0]));
  if (c->extra == CONV_SUMMED || c->extra == RELU_SUMMED)
    loss = loom_binary (p, LOOM_SCALAR_ADD, loss,
                        loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, c->extra == CONV_SUMMED ? y : r)));
  loom_program_output (p, "loss", loss);
  loom_program_output (p, "pooled", pooled[0]);
  if (c->extra == CONV_WATCHED)
    loom_program_output (p, "convolution", y);
  if (c->extra == CONV_KEPT)
    {
      const int slot = loom_program_slot (p, "kept", LOOM_SLOT_BUFFER, LOOM_F32, 4, full, &zeros, FALSE);

      loom_program_read (p, slot);
      loom_program_commit (p, slot, y);
    }
  g_assert_true (loom_differentiate (p, loss, 0, has_input_gradient (c) ? 2 : 1, wrt, grads, NULL));
  loom_program_output (p, "dw", grads[0]);
  if (has_input_gradient (c))
    loom_program_output (p, "dx", grads[1]);
  return p;
}

/* The gradient of a convolution whose pooled gradient is a weight, which a step changes before that gradient is
 * computed. */
static LoomProgram *
updated_program (void)
{
  LoomProgram *p = loom_program_new ();
  const LoomInit init = { .kind = LOOM_INIT_UNIFORM, .a = -0.9, .b = 0.9 };
  const gint64 size[] = { BATCH, CHANNELS, 4, 4 };
  const LoomConv2dTo conv
      = { .kernel = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1 }, .size = { 3, 3 } };
  const LoomPool2dTo pool = { .kernel = cases[0].pool, .size = { 4, 4 } };
  const LoomPool2dTo unpool = { .kernel = cases[0].pool, .size = { 8, 8 } };
  const LoomSgdAttrs sgd = { .n = 1 };
  const int slot = loom_program_slot (p, "g", LOOM_SLOT_PARAMETER, LOOM_F32, 4, size, &init, TRUE);
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ BATCH, CHANNELS, 8, 8 });
  LoomValue step[9] = { loom_program_read (p, slot) }, pooled[2], full;

  loom_emit (p, loom_prim ("max_pool2d"), &pool, 1, &x, pooled);
  full = loom_emit (p, loom_prim ("max_pool2d_grad"), &unpool, 2, (LoomValue[]){ step[0], pooled[1] }, NULL);
  step[1] = pooled[0];
  for (int i = 2; i < 9; i++)
    step[i] = loom_const (p, i == 8 ? LOOM_I64 : LOOM_F32, i == 5 ? 0 : 1);
  loom_program_commit (p, slot, loom_emit (p, loom_prim ("sgd_step"), &sgd, 9, step, NULL));
  loom_program_output (p, "dw", loom_emit (p, loom_prim ("conv2d_weight_grad"), &conv, 2, (LoomValue[]){ full, x }, NULL));
  return p;
}

static guint
count (const LoomPlan *plan, const char *prefix)
{
  guint n = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    n += g_str_has_prefix (loom_plan_instr (plan, i)->label, prefix);
  return n;
}

/* Plans, compares with an unfused plan, and expects the given numbers of fused calls. */
static void
check (const Case *c, const LoomPlanOptions *options, guint forward, guint backward, guint input_grad)
{
  const LoomPlanOptions apart = { .device = options->device, .no_fusion = TRUE, .no_layout = TRUE };
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomProgram) p = program_of (c);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) got = NULL, want = NULL;
  g_autofree char *wrong = check_passes (p, devices, options);
  g_autofree float *x = g_new (float, channels (c) * BATCH * c->side * c->side);
  LoomPlan *plan = loom_plan_new (p, devices, options, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (wrong, ==, NULL);
  g_assert_cmpuint (count (plan, "conv2d+max_pool2d"), ==, forward);
  g_assert_cmpuint (count (plan, "conv2d_weight_grad+max_pool2d_grad"), ==, backward);
  g_assert_cmpuint (count (plan, "conv2d_input_grad+max_pool2d_grad"), ==, input_grad);
  for (gint64 i = 0; i < channels (c) * BATCH * c->side * c->side; i++)
    x[i] = sinf ((float)i + 0.5F);
  got = run_once (devices, plan, options->device, x);
  plan = loom_plan_new (p, devices, &apart, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (count (plan, "conv2d+max_pool2d"), ==, 0);
  want = run_once (devices, plan, options->device, x);
  for (guint o = 0; o < want->len; o++)
    for (gint64 i = 0; i < ((LoomTensor *)want->pdata[o])->count; i++)
      {
        const double v = loom_tensor_get (want->pdata[o], i);

        g_assert_cmpfloat (fabs (loom_tensor_get (got->pdata[o], i) - v), <=, 2e-5 * (1 + fabs (v)));
      }
}

static void
test_reference (gconstpointer data)
{
  const Case *c = data;

  check (c, &(LoomPlanOptions){ .device = "ref" }, c->forward, c->backward, has_input_gradient (c));
}

/* A pooled gradient that is overwritten is not read later than before. */
static void
test_updated (void)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autofree float *x = g_new (float, BATCH *CHANNELS * 64);
  GPtrArray *result[2];

  for (gint64 i = 0; i < BATCH * CHANNELS * 64; i++)
    x[i] = sinf ((float)i + 0.5F);
  for (guint v = 0; v < 2; v++)
    {
      const LoomPlanOptions options = { .device = "ref", .no_fusion = v == 1 };
      g_autoptr (LoomProgram) p = updated_program ();
      g_autoptr (GError) error = NULL;
      g_autofree char *wrong = check_passes (p, devices, &options);
      LoomPlan *plan = loom_plan_new (p, devices, &options, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (wrong, ==, NULL);
      result[v] = run_once (devices, plan, "ref", x);
    }
  for (gint64 i = 0; i < CHANNELS * CHANNELS * 9; i++)
    g_assert_cmpfloat (loom_tensor_get (result[0]->pdata[0], i), ==, loom_tensor_get (result[1]->pdata[0], i));
  for (guint v = 0; v < 2; v++)
    g_ptr_array_unref (result[v]);
}

/* Winograd's algorithm computes the gradient of several channels; of one, no fused kernel does. */
static void
test_cpu (gconstpointer data)
{
  const Case *c = data;

  const gboolean fuses = processor_lacks_avx512 () == NULL;

  check (c, &(LoomPlanOptions){ .device = "cpu" }, fuses ? c->forward : 0, fuses ? c->backward : 0,
         fuses && c->extra == CHANNELED);
}

/* The CPU's fused kernels need NHWC, so a plan of plain layouts keeps the separate ones. */
static void
test_plain (gconstpointer data)
{
  check (data, &(LoomPlanOptions){ .device = "cpu", .no_layout = TRUE }, 0, 0, 0);
}

TEST_FILE (argc, argv)
{
  static const struct
  {
    const char *name;
    void (*run) (gconstpointer data);
  } ways[] = { { "reference", test_reference }, { "cpu", test_cpu }, { "plain", test_plain } };

  g_test_init (&argc, &argv, NULL);
  for (guint w = 0; w < G_N_ELEMENTS (ways); w++)
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
      {
        g_autofree char *path = g_strdup_printf ("/conv-pool/%s/%s", ways[w].name, cases[i].name);

        g_test_add_data_func (path, &cases[i], ways[w].run);
      }
  g_test_add_func ("/conv-pool/updated", test_updated);
  return g_test_run ();
}
