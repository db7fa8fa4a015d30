/* Tests heads in chunks of rows: the logits never exist whole, and all numbers are those of an unsplit plan.
 * GRADLOOM_TEST_DEVICE names a GPU, which uses larger chunks and padded logits; without it the devices are cpu and, for
 * one case, ref. */
#include <math.h>
#include <string.h>

#include "engine/run/loom-exec.h"
#include "tests/plan/check-passes.h"
#include "tests/test-program.h"

#define D 3

typedef struct
{
  gint64 rows, classes, chunks;
  gint64 padded; /* length of a row of logits */
} Size;

static const Size by_cpu = { 3300, 4201, 3, 4201 }, by_gpu = { 8448, 1002, 2, 1008 };
/* With 16-bit logits, for which chunks are no smaller. */
static const Size by_gpu_narrow = { 8448, 2083, 2, 2088 };
static Size size;

typedef struct
{
  const char *name;
  gboolean narrow; /* in bf16, cast for the loss */
  gboolean bias;
  gboolean largest; /* argmax reads the logits, too */
  gboolean swapped; /* the weight is [D, size.classes] */
  gboolean forward; /* there is no gradient */
  gboolean output;  /* the logits are an output */
  gboolean within;  /* the bias is the product's own, as in a linear layer */
  gboolean numbered; /* the logits come from an instruction without operands, and depend on no weight */
  gboolean capped;   /* the logits pass through a tanh */
  gboolean rooted;   /* the logits pass through a square root, which has infinite derivatives at zeros */
  gboolean squared;  /* the logits' gradient has a factor that depends on the loss */
  gboolean summed;  /* the weight's gradient is read by another instruction */
  gboolean whole;   /* the head must not be split */
} Case;

static const Case cases[] = {
  { "metric", .bias = TRUE, .largest = TRUE },
  { "swapped", .swapped = TRUE },
  { "narrow", .narrow = TRUE, .bias = TRUE },
  { "summed", .narrow = TRUE, .summed = TRUE },
  { "forward", .forward = TRUE, .bias = TRUE },
  { "capped", .narrow = TRUE, .bias = TRUE, .capped = TRUE },
  { "within", .bias = TRUE, .within = TRUE },
  { "numbered", .numbered = TRUE, .forward = TRUE, .whole = TRUE },
  { "rooted", .rooted = TRUE },
  { "output", .output = TRUE, .whole = TRUE },
  { "squared", .squared = TRUE, .whole = TRUE },
};

static LoomProgram *
program_of (const Case *c, LoomDType real)
{
  LoomProgram *p = loom_program_new ();
  const LoomDType type = c->narrow ? LOOM_BF16 : real;
  const LoomCrossEntropyAttrs attrs = { .ignore_index = 5 };
  LoomValue x = loom_program_input (p, "x", real, 2, (gint64[]){ size.rows, D });
  LoomValue weight = loom_program_input (p, "w", real, 2,
                                         c->swapped ? (gint64[]){ D, size.classes } : (gint64[]){ size.classes, D });
  LoomValue bias = loom_program_input (p, "b", real, 1, (gint64[]){ size.classes });
  LoomValue target = loom_program_input (p, "target", LOOM_I64, 1, (gint64[]){ size.rows });
  LoomValue scores, out[2], loss, wrt[3] = { x, weight, bias }, gradient[3] = { 0 };
  g_autoptr (GError) error = NULL;

  loom_program_set_float (p, real);
  if (c->numbered)
    {
      const LoomIotaTo iota = { .kernel = { .axis = 1, .start = 0, .step = 1 },
                                .dtype = LOOM_I64,
                                .to = { 2, { size.rows, size.classes } } };

      scores = loom_cast (p, loom_emit (p, loom_prim ("iota"), &iota, 0, NULL, NULL), real);
      scores = loom_binary (p, LOOM_SCALAR_MUL, scores, loom_mean_all (p, x));
    }
  else if (c->within)
    scores = loom_emit (p, loom_prim ("matmul"),
                        &(LoomMatmulAttrs){ .trans_b = true, .has_bias = true, .act = LOOM_SCALAR_ID }, 3,
                        (LoomValue[]){ x, weight, bias }, NULL);
  else
    scores = loom_matmul (p, loom_cast (p, x, type), loom_cast (p, weight, type), FALSE, !c->swapped);
  if (c->bias && !c->within)
    scores = loom_binary (p, LOOM_SCALAR_ADD, scores, loom_cast (p, bias, type));
  if (c->capped)
    scores = loom_unary (p, LOOM_SCALAR_TANH, loom_binary (p, LOOM_SCALAR_DIV, scores, loom_const (p, type, 2)));
  if (c->rooted)
    scores = loom_unary (p, LOOM_SCALAR_SQRT, loom_binary (p, LOOM_SCALAR_MUL, scores, scores));
  if (c->output)
    loom_program_output (p, "scores", scores);
  loom_emit (p, loom_prim ("cross_entropy"), &attrs, 2, (LoomValue[]){ loom_cast (p, scores, real), target }, out);
  loss = loom_mean_all (p, out[0]);
  if (c->squared)
    loss = loom_binary (p, LOOM_SCALAR_MUL, loss, loss);
  loom_program_output (p, "loss", loss);
  loom_program_output (p, "each", out[0]);
  if (c->largest)
    loom_program_output (
        p, "largest",
        loom_emit (p, loom_prim ("argreduce"), &(LoomArgReduceAttrs){ .largest = true, .axis = 1 }, 1, &scores, NULL));
  if (c->forward)
    return p;
  g_assert_true (loom_differentiate (p, loss, 0, c->bias ? 3 : 2, wrt, gradient, &error));
  loom_program_output (p, "dx", gradient[0]);
  if (c->summed)
    gradient[1] = loom_mean_all (p, loom_binary (p, LOOM_SCALAR_MUL, gradient[1], gradient[1]));
  loom_program_output (p, "dw", gradient[1]);
  if (c->bias)
    loom_program_output (p, "db", gradient[2]);
  return p;
}

/* Numbers between -1 and 1, which must live until the step is over. */
static gpointer
feed (LoomExec *exec, guint i, LoomDType real, gint64 count, double step)
{
  double *x = g_new (double, count);

  for (gint64 k = 0; k < count; k++)
    if (real == LOOM_F64)
      x[k] = sin ((double)k * step + 0.5);
    else
      ((float *)x)[k] = sinf ((float)((double)k * step + 0.5));
  loom_exec_feed (exec, i, x);
  return x;
}

static GPtrArray *
run (LoomDevices *devices, LoomProgram *p, LoomDType real, const LoomPlanOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, options->device, 1);
  g_autoptr (LoomExec) exec = loom_exec_new (loom_plan_new (p, devices, options, NULL), state, &error);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autofree gint64 *target = g_new (gint64, size.rows);
  g_autofree gpointer x = NULL, weight = NULL, bias = NULL;

  g_assert_no_error (error);
  for (gint64 i = 0; i < size.rows; i++)
    target[i] = i * 11 % size.classes;
  target[4] = 5; /* is ignored */
  x = feed (exec, 0, real, size.rows * D, 1.0);
  weight = feed (exec, 1, real, size.classes * D, 1.7);
  bias = feed (exec, 2, real, size.classes, 0.3);
  loom_exec_feed (exec, 3, target);
  g_assert_true (loom_exec_run (exec, &error));
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, &error));
  return results;
}

/* The rows of the largest value with rows of this length, and the bytes within which all such values are stored. */
static gint64
most_rows (const LoomPlan *plan, gint64 length, gsize *span)
{
  gsize first = G_MAXSIZE, end = 0;
  gint64 most = 0;

  for (guint v = 1; v < loom_plan_n_values (plan); v++)
    {
      const LoomPlanValue *value = loom_plan_value (plan, v);

      if (value->location.kind != LOOM_LOCATION_ARENA || value->desc.rank != 2 || value->desc.dim[1] != length
          || value->desc.dim[0] < size.rows / size.chunks)
        continue;
      most = MAX (most, value->desc.dim[0]);
      first = MIN (first, value->location.offset);
      end = MAX (end, value->location.offset + loom_desc_bytes (&value->desc));
    }
  *span = end - first;
  return most;
}

/* |a - b| relative to the largest of b. */
static double
difference (const LoomTensor *a, const LoomTensor *b)
{
  double most = 0, largest = 1e-30;

  g_assert_cmpint (a->count, ==, b->count);
  for (gint64 i = 0; i < a->count; i++)
    {
      most = MAX (most, fabs (loom_tensor_get (a, i) - loom_tensor_get (b, i)));
      largest = MAX (largest, fabs (loom_tensor_get (b, i)));
    }
  return most / largest;
}

static void
check (const Case *c, LoomDevices *devices, const char *device, LoomDType real)
{
  g_autoptr (LoomProgram) p = program_of (c, real);
  LoomPlanOptions cut = { .device = device }, whole = { .device = device, .no_fusion = TRUE };
  g_autofree char *wrong = check_passes (p, devices, &cut);
  const gint64 length = c->output || c->rooted || c->numbered ? size.classes : size.padded;
  /* A GPU's losses read 16-bit logits directly. */
  const LoomDType type = c->narrow && size.padded != size.classes ? LOOM_BF16 : real;
  const gint64 chunk = size.rows / size.chunks * length * (gint64)loom_dtype_size (type);
  gsize span;
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &cut, NULL);
  g_autoptr (GPtrArray) a = run (devices, p, real, &cut), b = run (devices, p, real, &whole);
  const double tolerance = c->capped ? 2e-2 : c->narrow ? 1e-2 : real == LOOM_F64 ? 1e-12 : 1e-5;

  g_assert_cmpstr (wrong, ==, NULL);
  g_assert_cmpint (most_rows (plan, length, &span), ==, c->whole ? size.rows : size.rows / size.chunks);
  /* No weight's gradient waits for all chunks: it is accumulated by additions of two operands. */
  for (guint i = 0; i < loom_plan_n_instrs (plan) && !c->whole; i++)
    g_assert_null (strstr (loom_plan_instr (plan, i)->label, "add,add"));
  /* The logits of all chunks, and their gradients, share nearly all of their memory. */
  if ((!c->narrow || (type == LOOM_BF16 && !c->capped)) && !c->whole && !c->rooted)
    g_assert_cmpuint (span, <, chunk * 5 / 4);
  for (guint o = 0; o < a->len; o++)
    g_test_message ("%s: result %u within %.2g", device, o, difference (a->pdata[o], b->pdata[o]));
  for (guint o = 0; o < a->len; o++)
    g_assert_cmpfloat (difference (a->pdata[o], b->pdata[o]), <=, tolerance);
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  const char *named = g_getenv ("GRADLOOM_TEST_DEVICE");

  size = named == NULL ? by_cpu : c->narrow ? by_gpu_narrow : by_gpu;
  if (named != NULL)
    {
      check (c, devices, named, LOOM_F32);
      return;
    }
  check (c, devices, "cpu", LOOM_F32);
  /* The reference is slow. */
  if (c->bias && c->largest)
    check (c, devices, "ref", LOOM_F64);
}

/* A weight's gradient of 16-bit operands is computed or summed in f32 if that is wanted, also if it is cut to size; and
 * its rows are read in place. */
static void
test_precise (gconstpointer rows)
{
  static const Case c = { "precise", .narrow = TRUE, .summed = TRUE };
  const char *named = g_getenv ("GRADLOOM_TEST_DEVICE");
  g_autoptr (LoomDevices) devices = loom_devices_new (2);
  guint wide = 0, narrow = 0;

  if (named == NULL)
    return; /* CPUs do not pad logits */
  size = by_gpu_narrow;
  size.rows = GPOINTER_TO_INT (rows);
  g_autoptr (LoomProgram) p = program_of (&c, LOOM_F32);
  g_autoptr (LoomPlan) plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = named }, NULL);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const LoomTensorDesc *y = &loom_plan_value (plan, instr->value[instr->n_in])->desc;

      if (y->rank == 2 && y->dim[0] == size.padded && y->dim[1] == D && !g_str_equal (instr->primitive, "pad"))
        *(y->dtype == LOOM_F32 ? &wide : &narrow) += 1;
      g_assert_false (g_str_equal (instr->primitive, "slice") && y->dim[0] == size.classes);
    }
  g_assert_cmpuint (wide, ==, 1);
  g_assert_cmpuint (narrow, ==, size.rows == by_gpu_narrow.rows ? size.chunks : 0);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/head/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_data_func ("/head/precise/whole", GINT_TO_POINTER (2048), test_precise);
  g_test_add_data_func ("/head/precise/chunks", GINT_TO_POINTER (by_gpu_narrow.rows), test_precise);
  return g_test_run ();
}
