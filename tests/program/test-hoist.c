/* Tests hoisting out of loops: values and gradients are unchanged, and the loop contains no hoistable work. */
#include "tests/program/eval.h"
#include "tests/program/scan-bodies.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#define ROWS   3
#define WIDTH  4
#define LENGTH 5

/* ---- bodies with more hoistable work than a cell --------------------------------------- */

static LoomValue
input (LoomProgram *p, const char *name, int rank, gint64 a, gint64 b)
{
  return loom_program_input (p, name, LOOM_F64, rank, (gint64[]){ a, b });
}

static LoomProgram *
begin (LoomDType dtype)
{
  LoomProgram *p = loom_program_new ();

  loom_program_set_float (p, dtype);
  loom_program_set_origin (p, "loop", NULL);
  return p;
}

/* Two layers on the row alone, with a ReLU between them, are two products and a ReLU over all rows; the product of two
 * weights is computed once. Carried values stay in the loop. */
static LoomProgram *
layers (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue h = input (p, "h", 2, ROWS, WIDTH), x = input (p, "x", 2, ROWS, WIDTH);
  LoomValue v = input (p, "v", 2, WIDTH, WIDTH), w = input (p, "w", 2, WIDTH, WIDTH);
  LoomValue y = loom_unary (p, LOOM_SCALAR_RELU, loom_matmul (p, x, loom_matmul (p, v, w, FALSE, FALSE), FALSE, FALSE));

  y = loom_binary (p, LOOM_SCALAR_ADD, loom_matmul (p, y, w, FALSE, TRUE), loom_binary (p, LOOM_SCALAR_MUL, h, x));
  h = loom_unary (p, LOOM_SCALAR_SIN, y);
  loom_program_output (p, "h", h);
  loom_program_output (p, "y", y);
  return p;
}

/* Products of two rows, of a transposed row, and of a reshaped row, which a result returns unchanged. */
static LoomProgram *
rows (LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue h = input (p, "h", 2, WIDTH, WIDTH), x = input (p, "x", 2, ROWS, WIDTH), z = input (p, "z", 1, ROWS, 0);
  LoomValue w = input (p, "w", 2, ROWS, WIDTH);
  LoomValue square = loom_matmul (p, x, x, TRUE, FALSE), other = loom_matmul (p, x, w, TRUE, FALSE);
  LoomValue scaled = loom_binary (p, LOOM_SCALAR_MUL, x, loom_reshape (p, z, 2, (gint64[]){ ROWS, 1 }));
  LoomValue turned = loom_matmul (p, loom_permute (p, scaled, (const int[]){ 1, 0 }), w, FALSE, FALSE);

  loom_program_output (p, "h", loom_unary (p, LOOM_SCALAR_SIN, loom_binary (p, LOOM_SCALAR_ADD, h, square)));
  loom_program_output (p, "other", loom_binary (p, LOOM_SCALAR_ADD, other, turned));
  loom_program_output (p, "square", square);
  return p;
}

static const ScanCase own_cases[] = {
  { "layers", 1, 1, 2, 1, layers },
  { "rows", 1, 2, 1, 2, rows },
  { NULL },
};

/* ---- the same numbers ------------------------------------------------------------------- */

static void
compare (Eval *a, LoomValue va, Eval *b, LoomValue vb, const char *what)
{
  LoomTensor *ta = eval_tensor (a, va), *tb = eval_tensor (b, vb);

  g_assert_cmpint (ta->count, ==, tb->count);
  for (gint64 i = 0; i < ta->count; i++)
    if (!(fabs (loom_tensor_get (ta, i) - loom_tensor_get (tb, i)) <= 1e-12 * (1 + fabs (loom_tensor_get (ta, i)))))
      g_error ("%s, element %d: %.17g inside, %.17g outside", what, (int)i, loom_tensor_get (ta, i),
               loom_tensor_get (tb, i));
}

typedef struct
{
  LoomProgram *p;
  LoomValue in[SCAN_MAX_OPERANDS], out[8], grads[SCAN_MAX_OPERANDS];
  guint n, n_out;
} Made;

static void
make (Made *m, const ScanCase *c, gint64 length, ScanFlags flags, gboolean hoisted)
{
  g_autoptr (LoomProgram) plain = loom_program_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_autoptr (GError) error = NULL;

  loom_program_set_float (plain, LOOM_F64);
  m->n = scan_case_inputs (c, plain, length, LOOM_F64, m->in);
  m->n_out = scan_case_emit (c, plain, length, flags, LOOM_F64, m->in, m->out);
  m->p = hoisted ? loom_program_hoist (plain, m->n_out, m->out) : loom_program_ref (plain);
  for (guint i = 0; i < m->n; i++)
    m->in[i] = loom_program_get_input (m->p, i)->value;
  loom_differentiate (m->p, eval_contract (m->p, m->n_out, m->out, rand), 0, m->n, m->in, m->grads, &error);
  g_assert_no_error (error);
}

static void
check (const ScanCase *c, gint64 length, ScanFlags flags)
{
  g_autofree char *what = g_strdup_printf ("%s, %d rows, flags %u", c->name, (int)length, flags);
  Made in, out;

  make (&in, c, length, flags, FALSE);
  make (&out, c, length, flags, TRUE);
  {
    g_autoptr (Eval) a = eval_new (in.p), b = eval_new (out.p);
    g_autoptr (GRand) rand = g_rand_new_with_seed (3);

    eval_fill_all (a, NULL, rand);
    for (guint i = 0; i < in.n; i++)
      memcpy (eval_tensor (b, out.in[i])->data, eval_tensor (a, in.in[i])->data, eval_tensor (a, in.in[i])->bytes);
    eval_run (a);
    eval_run (b);
    for (guint o = 0; o < in.n_out; o++)
      compare (a, in.out[o], b, out.out[o], what);
    for (guint i = 0; i < in.n; i++)
      {
        g_assert_cmpint (in.grads[i] != 0, ==, out.grads[i] != 0);
        if (in.grads[i] != 0)
          compare (a, in.grads[i], b, out.grads[i], what);
      }
  }
  loom_program_unref (in.p);
  loom_program_unref (out.p);
}

static void
test_numbers (void)
{
  for (int which = 0; which < 2; which++)
    for (const ScanCase *c = which == 0 ? scan_cases : own_cases; c->name != NULL; c++)
      for (int k = 0; k < 8; k++)
        check (c, k & 4 ? LENGTH : 1, k % 4);
}

/* ---- instructions that stay in the loop --------------------------------------------------- */

static guint
count (const LoomProgram *p, const char *primitive)
{
  guint n = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    n += g_str_equal (loom_program_instr (p, i)->prim->name, primitive);
  return n;
}

static const LoomScanAttrs *
first_loop (const LoomProgram *p)
{
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    if (loom_program_instr (p, i)->prim == loom_prim ("scan"))
      return loom_program_instr (p, i)->attrs;
  return NULL;
}

static const ScanCase *
case_named (const ScanCase *c, const char *name)
{
  while (!g_str_equal (c->name, name))
    c++;
  return c;
}

/* inside: products of the forward loop's body; outside: of the program around it, without gradients. */
static void
check_products (const ScanCase *c, ScanFlags flags, guint inside, guint outside)
{
  g_autoptr (LoomProgram) plain = loom_program_new (), p = NULL;
  LoomValue in[SCAN_MAX_OPERANDS], out[8];
  guint n;

  loom_program_set_float (plain, LOOM_F64);
  scan_case_inputs (c, plain, LENGTH, LOOM_F64, in);
  n = scan_case_emit (c, plain, LENGTH, flags, LOOM_F64, in, out);
  p = loom_program_hoist (plain, n, out);
  g_assert_cmpuint (count (first_loop (p)->body, "matmul"), ==, inside);
  g_assert_cmpuint (count (p, "matmul"), ==, outside);
}

static void
test_products (void)
{
  const ScanCase *elman = case_named (scan_cases, "elman");

  check_products (elman, 0, 1, 1);
  check_products (elman, SCAN_NO_HOIST, 2, 0);
  check_products (case_named (scan_cases, "lstm"), 0, 1, 0);
  check_products (own_cases, 0, 0, 3);
  check_products (own_cases + 1, 0, 0, 3);
  check_products (own_cases + 1, SCAN_NO_HOIST, 3, 0);
}

/* A cell's backward loop has one product, with the state's weights; the gradients of both weights and of the rows are
 * products over all iterations. */
static void
test_gradients (void)
{
  const ScanCase *elman = case_named (scan_cases, "elman");
  Made m;
  guint inside = 0, outside;

  make (&m, elman, LENGTH, 0, TRUE);
  for (guint i = 0; i < loom_program_n_instrs (m.p); i++)
    if (loom_program_instr (m.p, i)->prim == loom_prim ("scan")
        && loom_program_instr (m.p, i)->region == LOOM_REGION_BACKWARD)
      inside = count (((const LoomScanAttrs *)loom_program_instr (m.p, i)->attrs)->body, "matmul");
  outside = count (m.p, "matmul");
  loom_program_unref (m.p);
  g_assert_cmpuint (inside, ==, 1);
  g_assert_cmpuint (outside, ==, 4);
}

/* A result that is hoisted completely is no longer a result of the loop. */
static void
test_results (void)
{
  g_autoptr (LoomProgram) plain = loom_program_new (), p = NULL;
  const ScanCase *c = case_named (own_cases, "rows");
  LoomValue in[SCAN_MAX_OPERANDS], out[8];
  const LoomInstr *maker;

  loom_program_set_float (plain, LOOM_F64);
  scan_case_inputs (c, plain, LENGTH, LOOM_F64, in);
  scan_case_emit (c, plain, LENGTH, 0, LOOM_F64, in, out);
  p = loom_program_hoist (plain, 3, out);
  g_assert_cmpuint (first_loop (p)->n_stacked, ==, 0);
  maker = loom_program_instr (p, loom_value_info (p, out[2])->producer);
  g_assert_cmpstr (maker->prim->name, ==, "matmul");
  g_assert_cmpstr (maker->origin, ==, "loop");
}

/* A program without loops is unchanged. */
static void
test_nothing (void)
{
  g_autoptr (LoomProgram) p = loom_program_new (), same = NULL;
  LoomValue v = input (p, "x", 2, ROWS, WIDTH);

  same = loom_program_hoist (p, 1, &v);
  g_assert_true (same == p);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/hoist/numbers", test_numbers);
  g_test_add_func ("/hoist/products", test_products);
  g_test_add_func ("/hoist/gradients", test_gradients);
  g_test_add_func ("/hoist/results", test_results);
  g_test_add_func ("/hoist/nothing", test_nothing);
  return g_test_run ();
}
