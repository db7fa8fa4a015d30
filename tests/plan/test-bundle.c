/* Tests bundles on the emulated GPU: the number of kernels in an iteration of a recurrent cell, calls that are not
 * bundled, and that the bits are those of an unfused plan. */
#include <math.h>
#include <string.h>

#include "engine/run/loom-exec.h"
#include "tests/plan/check-passes.h"
#include "tests/test-program.h"

#define DEVICE "cuda:0"
#define ROWS   5

typedef struct Cell Cell;

/* The computation of a cell after its products: xs and hs contain one part for each gate, side by side; b is a vector
 * of them. */
struct Cell
{
  const char *name;
  guint n_gates, n_states;
  void (*emit) (LoomProgram *p, gint64 width, LoomValue xs, LoomValue hs, LoomValue b, LoomValue *state);
  guint forward, backward; /* kernels of a loop's iteration, including the product */
};

static LoomValue
gate (LoomProgram *p, LoomValue v, guint k, gint64 width)
{
  const LoomTensorDesc d = loom_value_info (p, v)->desc;

  return loom_slice (p, v, (gint64[]){ 0, (gint64)k * width }, NULL, (gint64[]){ d.dim[0], width });
}

#define ADD(a, b)  loom_binary (p, LOOM_SCALAR_ADD, a, b)
#define SUB(a, b)  loom_binary (p, LOOM_SCALAR_SUB, a, b)
#define MUL(a, b)  loom_binary (p, LOOM_SCALAR_MUL, a, b)
#define SIGMOID(a) loom_unary (p, LOOM_SCALAR_SIGMOID, a)
#define TANH(a)    loom_unary (p, LOOM_SCALAR_TANH, a)

static void
rnn (LoomProgram *p, gint64 width, LoomValue xs, LoomValue hs, LoomValue b, LoomValue *state)
{
  state[0] = TANH (ADD (ADD (xs, hs), b));
}

static void
lstm (LoomProgram *p, gint64 width, LoomValue xs, LoomValue hs, LoomValue b, LoomValue *state)
{
  LoomValue all = ADD (ADD (xs, hs), b);
  LoomValue i = SIGMOID (gate (p, all, 0, width)), f = SIGMOID (gate (p, all, 1, width));
  LoomValue g = TANH (gate (p, all, 2, width)), o = SIGMOID (gate (p, all, 3, width));

  state[1] = ADD (MUL (f, state[1]), MUL (i, g));
  state[0] = MUL (o, TANH (state[1]));
}

static void
gru (LoomProgram *p, gint64 width, LoomValue xs, LoomValue hs, LoomValue b, LoomValue *state)
{
  LoomValue r, z, n;

  hs = ADD (hs, b);
  r = SIGMOID (ADD (gate (p, xs, 0, width), gate (p, hs, 0, width)));
  z = SIGMOID (ADD (gate (p, xs, 1, width), gate (p, hs, 1, width)));
  n = TANH (ADD (gate (p, xs, 2, width), MUL (r, gate (p, hs, 2, width))));
  state[0] = ADD (n, MUL (z, SUB (state[0], n)));
}

/* The last addition to a GRU's gradient waits for the product. */
static const Cell cells[] = {
  { "rnn", 1, 1, rnn, 2, 2 },
  { "lstm", 4, 2, lstm, 2, 2 },
  { "gru", 3, 1, gru, 2, 3 },
};

static void
differentiate (LoomProgram *p, LoomValue loss, guint n, const LoomValue *wrt)
{
  LoomValue grads[8];

  g_assert_true (loom_differentiate (p, loss, 0, n, wrt, grads, NULL));
  for (guint i = 0; i < n; i++)
    if (grads[i] != 0)
      {
        g_autofree char *name = g_strdup_printf ("grad%u", i);

        loom_program_output (p, name, grads[i]);
      }
}

static LoomValue
add_loss (LoomProgram *p, LoomValue loss, LoomValue v)
{
  LoomValue part = loom_sum_all (p, loom_unary (p, LOOM_SCALAR_SIN, loom_cast (p, v, LOOM_F32)));

  return loss == 0 ? part : ADD (loss, part);
}

/* In a step, with the kernels of each body counted once. */
static guint
count_kernels (const LoomPlan *plan)
{
  guint n = 0;

  for (guint i = loom_plan_n_setup (plan); i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      n += instr->n_bodies == 0;
      for (guint b = 0; b < instr->n_bodies; b++)
        n += count_kernels (instr->body[b]);
    }
  return n;
}

static LoomPlan *
plan_of (LoomProgram *p, LoomDevices *devices, const LoomPlanOptions *options)
{
  g_autofree char *wrong = check_passes (p, devices, options);
  g_autoptr (GError) error = NULL;
  LoomPlan *plan = loom_plan_new (p, devices, options, &error);

  g_assert_cmpstr (wrong, ==, NULL);
  g_assert_no_error (error);
  return plan;
}

/* Outputs in order, from a plan that is freed. */
static GPtrArray *
run (LoomDevices *devices, LoomPlan *plan)
{
  LoomProgram *p = loom_plan_program (plan);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, DEVICE, 1);
  g_autoptr (LoomExec) exec = loom_exec_new (plan, state, &error);
  g_autoptr (GPtrArray) fed = g_ptr_array_new_with_free_func (g_free);
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  g_assert_no_error (error);
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      gint64 n = loom_desc_count (&loom_value_info (p, loom_program_get_input (p, i)->value)->desc);
      float *x = g_new (float, n);

      for (gint64 k = 0; k < n; k++)
        x[k] = (float)sin (0.7 * (double)k + 1.3 * i);
      g_ptr_array_add (fed, x);
      loom_exec_feed (exec, i, x);
    }
  g_assert_true (loom_exec_step (exec, &error));
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, &error));
  g_assert_no_error (error);
  return results;
}

/* Returns the number of kernels of the fused plan. tolerance: 0 if it computes no sum in another order. */
static guint
compare (LoomProgram *p, double tolerance)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlan *joined = plan_of (p, devices, &(LoomPlanOptions){ .device = DEVICE });
  LoomPlan *apart = plan_of (p, devices, &(LoomPlanOptions){ .device = DEVICE, .no_fusion = TRUE });
  g_autoptr (GPtrArray) a = NULL, b = NULL;
  guint n = count_kernels (joined);

  g_assert_cmpuint (n, <=, count_kernels (apart));
  a = run (devices, joined);
  b = run (devices, apart);
  for (guint o = 0; o < a->len; o++)
    for (gint64 i = 0; i < ((LoomTensor *)a->pdata[o])->count; i++)
      {
        const double x = loom_tensor_get (a->pdata[o], i), y = loom_tensor_get (b->pdata[o], i);

        g_assert_cmpfloat (fabs (x - y), <=, tolerance * (1 + fabs (y)));
      }
  return n;
}

/* ---- cells --------------------------------------------------------------------- */

static void
test_bits (const Cell *cell, gint64 width, LoomDType type)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  gint64 all = cell->n_gates * width, wide[] = { ROWS, all }, state_dims[] = { ROWS, width };
  LoomValue in[5], state[2], loss = 0;
  guint n = 0;

  in[n++] = loom_program_input (p, "xs", LOOM_F32, 2, wide);
  in[n++] = loom_program_input (p, "hs", LOOM_F32, 2, wide);
  in[n++] = loom_program_input (p, "b", LOOM_F32, 1, &all);
  for (guint k = 0; k < cell->n_states; k++)
    {
      in[n++] = loom_program_input (p, k == 0 ? "h" : "c", LOOM_F32, 2, state_dims);
      state[k] = loom_cast (p, in[n - 1], type);
    }
  cell->emit (p, width, loom_cast (p, in[0], type), loom_cast (p, in[1], type), loom_cast (p, in[2], type), state);
  for (guint k = 0; k < cell->n_states; k++)
    {
      loom_program_output (p, k == 0 ? "h'" : "c'", loom_cast (p, state[k], LOOM_F32));
      loss = add_loss (p, loss, state[k]);
    }
  differentiate (p, loss, n, in);
  compare (p, 0);
}

static void
test_cell (gconstpointer data)
{
  const Cell *cell = data;

  test_bits (cell, 8, LOOM_F32); /* four at once */
  test_bits (cell, 3, LOOM_F32);
  test_bits (cell, 8, LOOM_BF16);
}

static LoomProgram *
loop_of (const Cell *cell, gint64 width, gint64 length, gboolean reverse)
{
  g_autoptr (LoomProgram) body = loom_program_new ();
  LoomProgram *p = loom_program_new ();
  gint64 all = cell->n_gates * width, wide[] = { length, ROWS, all }, state_dims[] = { ROWS, width };
  gint64 matrix[] = { width, all };
  LoomScanAttrs attrs = {
    .body = body, .length = length, .n_carried = cell->n_states, .n_sequences = 1, .n_stacked = 1, .reverse = reverse
  };
  LoomValue state[2], in[5], out[3], xs, u, b;
  guint n = 0;

  loom_program_set_origin (body, "loop", NULL);
  for (guint k = 0; k < cell->n_states; k++)
    state[k] = loom_program_input (body, k == 0 ? "h" : "c", LOOM_F32, 2, state_dims);
  xs = loom_program_input (body, "xs", LOOM_F32, 2, wide + 1);
  u = loom_program_input (body, "u", LOOM_F32, 2, matrix);
  b = loom_program_input (body, "b", LOOM_F32, 1, &all);
  cell->emit (body, width, xs, loom_matmul (body, state[0], u, FALSE, FALSE), b, state);
  for (guint k = 0; k < cell->n_states; k++)
    loom_program_output (body, k == 0 ? "h" : "c", state[k]);
  loom_program_output (body, "y", state[0]);

  for (guint k = 0; k < cell->n_states; k++)
    in[n++] = loom_program_input (p, k == 0 ? "h" : "c", LOOM_F32, 2, state_dims);
  in[n++] = loom_program_input (p, "xs", LOOM_F32, 3, wide);
  in[n++] = loom_program_input (p, "u", LOOM_F32, 2, matrix);
  in[n++] = loom_program_input (p, "b", LOOM_F32, 1, &all);
  loom_program_set_origin (p, "loop", NULL);
  loom_emit (p, loom_prim ("scan"), &attrs, n, in, out);
  loom_program_output (p, "y", out[cell->n_states]);
  differentiate (p, add_loss (p, 0, out[cell->n_states]), n, in);
  return p;
}

/* The kernels of the plan's loops, in order; returns the number of loops. No iteration copies anything. */
static guint
count_in_loops (const LoomPlan *plan, guint *n)
{
  guint loops = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      if (!g_str_equal (instr->primitive, "scan"))
        continue;
      g_assert_cmpuint (loops, <, 2);
      g_assert_true (g_str_has_suffix (instr->kernel->name, " kernels"));
      n[loops++] = count_kernels (instr->body[0]);
    }
  return loops;
}

static void
test_loop_of (const Cell *cell, gint64 length, gboolean reverse)
{
  g_autoptr (LoomProgram) p
      = loop_of (cell, 16, length, reverse); /* rows of a multiple of 64 bytes are used in place */
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomPlan) plan = plan_of (p, devices, &(LoomPlanOptions){ .device = DEVICE });
  guint n[2];

  g_assert_cmpuint (count_in_loops (plan, n), ==, 2);
  g_assert_cmpuint (n[0], ==, cell->forward);
  g_assert_cmpuint (n[1], ==, cell->backward);
  compare (p, 2e-6); /* the product of the weights' gradient also sums that of the bias */
}

static void
test_loop (gconstpointer data)
{
  test_loop_of (data, 5, FALSE);
  test_loop_of (data, 4, TRUE);
  test_loop_of (data, 1, FALSE);
}

/* ---- calls that are not bundled ------------------------------------------------ */

/* Two readers of one value, and a value that both need: one kernel if they are small and the device is launched. */
static LoomProgram *
siblings (gint64 n)
{
  LoomProgram *p = loom_program_new ();
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 1, &n);

  loom_program_output (p, "sin", loom_unary (p, LOOM_SCALAR_SIN, x));
  loom_program_output (p, "cos", loom_unary (p, LOOM_SCALAR_COS, MUL (x, x)));
  return p;
}

static guint
count_on (LoomProgram *p, const char *device, gboolean no_fusion)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomPlan) plan = plan_of (p, devices, &(LoomPlanOptions){ .device = device, .no_fusion = no_fusion });

  return count_kernels (plan);
}

static void
test_left_alone (void)
{
  g_autoptr (LoomProgram) small = siblings (1000), large = siblings (1000000);

  g_assert_cmpuint (count_on (small, DEVICE, FALSE), ==, 1);
  g_assert_cmpuint (count_on (small, DEVICE, TRUE), ==, 3);
  g_assert_cmpuint (count_on (large, DEVICE, FALSE), ==, 2);
  g_assert_cmpuint (count_on (small, "cpu", FALSE), ==, 2);
  compare (small, 0);
}

/* A product between two neighbours: they are one kernel after it if only the second reads it, and two if it reads the
 * first. */
static void
test_between (gconstpointer data)
{
  gboolean reads_first = data != NULL;
  g_autoptr (LoomProgram) p = loom_program_new ();
  gint64 dims[] = { 4, 4 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, dims), first, product;

  first = TANH (x);
  product = loom_matmul (p, reads_first ? first : x, x, FALSE, FALSE);
  loom_program_output (p, "first", first);
  loom_program_output (p, "second", MUL (first, product));
  g_assert_cmpuint (compare (p, 0), ==, reads_first ? 3 : 2);
}

/* A slice with other readers is written as well; one that is read before stays, and so does a reader of a view. */
static void
test_slices (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  gint64 dims[] = { 4, 12 }, turned[] = { 12, 4 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, dims), a, b, c, both, y;

  a = gate (p, x, 0, 4);
  b = gate (p, x, 1, 4);
  c = gate (p, x, 2, 4);
  loom_program_output (p, "before", loom_matmul (p, b, b, FALSE, FALSE));
  both = MUL (SIGMOID (a), TANH (ADD (b, c)));
  loom_program_output (p, "both", both);
  loom_program_output (p, "cut", c);
  loom_program_output (p, "after", loom_matmul (p, a, both, FALSE, FALSE));
  y = loom_concat (p, 3, (LoomValue[]){ c, both, SIGMOID (a) }, 0);
  loom_program_output (p, "y", loom_unary (p, LOOM_SCALAR_SIN, loom_reshape (p, y, 2, (gint64[]){ 4, 12 })));
  loom_program_output (p, "turned", loom_matmul (p, y, x, FALSE, FALSE));
  g_assert_cmpint (loom_value_info (p, y)->desc.dim[0], ==, turned[0]);
  /* A slice, three products, the bundle, and the sine of what it wrote. */
  g_assert_cmpuint (compare (p, 0), ==, 6);
}

/* Slices of slices, and of a concatenation that a bundle has written. */
static void
test_nested (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  gint64 dims[] = { 4, 16 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, dims), half, a, b, y;

  half = loom_slice (p, x, (gint64[]){ 0, 8 }, NULL, (gint64[]){ 4, 8 });
  a = gate (p, half, 0, 4);
  b = gate (p, half, 1, 4);
  loom_program_output (p, "first", MUL (SIGMOID (a), TANH (b)));
  loom_program_output (p, "half", loom_unary (p, LOOM_SCALAR_SIN, half));
  loom_program_output (p, "b", b);
  y = loom_concat (p, 2, (LoomValue[]){ TANH (a), SIGMOID (b) }, 1);
  loom_program_output (p, "y", y);
  loom_program_output (p, "again", MUL (gate (p, y, 0, 4), ADD (gate (p, y, 1, 4), b)));
  compare (p, 0);
}

/* A slice of integers that a bundle reads as floats is kept for its integer reader: 2²⁴ + 1 is no float. */
static void
test_integers (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  gint64 dims[] = { 4, 8 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, dims), whole, cut, f;

  whole = loom_cast (p, MUL (x, loom_const (p, LOOM_F32, 9)), LOOM_I64);
  whole = ADD (whole, loom_const (p, LOOM_I64, 16777217));
  loom_program_output (p, "whole", loom_reduce (p, LOOM_REDUCE_SUM, whole, 1u << 1, FALSE));
  cut = gate (p, whole, 1, 4);
  f = loom_cast (p, cut, LOOM_F32);
  loom_program_output (p, "y", MUL (SIGMOID (f), TANH (MUL (f, gate (p, x, 0, 4)))));
  loom_program_output (p, "cut", cut);
  compare (p, 0);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cells); i++)
    {
      g_autofree char *cell = g_strdup_printf ("/bundle/cell/%s", cells[i].name);
      g_autofree char *loop = g_strdup_printf ("/bundle/loop/%s", cells[i].name);

      g_test_add_data_func (cell, &cells[i], test_cell);
      g_test_add_data_func (loop, &cells[i], test_loop);
    }
  g_test_add_func ("/bundle/left-alone", test_left_alone);
  g_test_add_data_func ("/bundle/between/second-reads", NULL, test_between);
  g_test_add_data_func ("/bundle/between/product-reads", (gpointer)1, test_between);
  g_test_add_func ("/bundle/slices", test_slices);
  g_test_add_func ("/bundle/nested", test_nested);
  g_test_add_func ("/bundle/integers", test_integers);
  return g_test_run ();
}
