/* Tests loops over bodies: values against the unrolled program, gradients and second derivatives against differences,
 * with iterations' values kept for the backward pass or recomputed. */
#include "tests/program/eval.h"
#include "tests/program/scan-bodies.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

static void
compare (Eval *a, LoomValue va, Eval *b, LoomValue vb, double tolerance, const char *what)
{
  LoomTensor *ta = eval_tensor (a, va), *tb = eval_tensor (b, vb);

  g_assert_cmpint (ta->count, ==, tb->count);
  for (gint64 i = 0; i < ta->count; i++)
    {
      double x = loom_tensor_get (ta, i), y = loom_tensor_get (tb, i);

      if (!(fabs (x - y) <= tolerance * (1 + fabs (x))))
        {
          g_test_message ("%s, element %" G_GINT64_FORMAT ": %.17g in the loop, %.17g without", what, i, x, y);
          g_test_fail ();
          return;
        }
    }
}

/* Compares a case in a loop with the unrolled one: the same numbers, and without hoisting the same bits. */
static void
check_unrolled (const ScanCase *c, gint64 length, ScanFlags flags)
{
  double tolerance = (flags & SCAN_NO_HOIST) != 0 ? 0 : 1e-12;
  g_autoptr (LoomProgram) loop = loom_program_new (), flat = loom_program_new ();
  LoomValue in[2][SCAN_MAX_OPERANDS], out[2][8], grads[2][SCAN_MAX_OPERANDS], loss[2];
  g_autoptr (GError) error = NULL;
  g_autofree char *what = g_strdup_printf ("%s, %d rows, flags %u", c->name, (int)length, flags);
  guint n = 0, n_out = 0;

  for (int k = 0; k < 2; k++)
    {
      LoomProgram *p = k == 0 ? loop : flat;
      g_autoptr (GRand) rand = g_rand_new_with_seed (5);

      loom_program_set_float (p, LOOM_F64);
      n = scan_case_inputs (c, p, length, LOOM_F64, in[k]);
      n_out = k == 0 ? scan_case_emit (c, p, length, flags, LOOM_F64, in[k], out[k])
                     : scan_case_unroll (c, p, length, flags & SCAN_REVERSE, LOOM_F64, in[k], out[k]);
      loss[k] = eval_contract (p, n_out, out[k], rand);
      loom_differentiate (p, loss[k], 0, n, in[k], grads[k], &error);
      g_assert_no_error (error);
    }
  {
    g_autoptr (Eval) a = eval_new (loop), b = eval_new (flat);
    g_autoptr (GRand) rand = g_rand_new_with_seed (3);

    eval_fill_all (a, NULL, rand);
    for (guint i = 0; i < n; i++)
      memcpy (eval_tensor (b, in[1][i])->data, eval_tensor (a, in[0][i])->data, eval_tensor (a, in[0][i])->bytes);
    eval_run (a);
    eval_run (b);
    for (guint o = 0; o < n_out; o++)
      compare (a, out[0][o], b, out[1][o], tolerance, what);
    for (guint i = 0; i < n; i++)
      {
        g_assert_cmpint (grads[0][i] != 0, ==, grads[1][i] != 0);
        if (grads[0][i] != 0)
          compare (a, grads[0][i], b, grads[1][i], tolerance, what);
      }
  }
}

static void
test_unrolled (void)
{
  for (const ScanCase *c = scan_cases; c->name != NULL; c++)
    for (int k = 0; k < 24; k++)
      check_unrolled (c, (gint64[]){ 1, 2, 5 }[k / 8], k % 8);
}

/* A program with a case's loop, its loss, and the loss's gradients. */
static LoomProgram *
with_gradients (const ScanCase *c, gboolean recompute, LoomValue *in, guint *n, LoomValue *loss, LoomValue *grads,
                GRand *rand)
{
  LoomProgram *p = loom_program_new ();
  g_autoptr (GError) error = NULL;
  LoomValue out[8], all[SCAN_MAX_OPERANDS];
  guint n_all, n_out;

  loom_program_set_float (p, LOOM_F64);
  n_all = scan_case_inputs (c, p, 3, LOOM_F64, all);
  n_out = scan_case_emit (c, p, 3, recompute ? SCAN_RECOMPUTE : 0, LOOM_F64, all, out);
  *loss = eval_contract (p, n_out, out, rand);
  *n = 0;
  for (guint i = 0; i < n_all; i++)
    if (loom_dtype_is_float (loom_value_info (p, all[i])->desc.dtype))
      in[(*n)++] = all[i];
  loom_differentiate (p, *loss, 0, *n, in, grads, &error);
  g_assert_no_error (error);
  return p;
}

static void
test_gradients (void)
{
  for (const ScanCase *c = scan_cases; c->name != NULL; c++)
    for (int recompute = 0; recompute < 2; recompute++)
      {
        g_autoptr (GRand) rand = g_rand_new_with_seed (11);
        LoomValue in[SCAN_MAX_OPERANDS], grads[SCAN_MAX_OPERANDS], loss;
        guint n;
        g_autoptr (LoomProgram) p = with_gradients (c, recompute, in, &n, &loss, grads, rand);
        g_autoptr (Eval) e = eval_new (p);

        eval_fill_all (e, NULL, rand);
        eval_check_gradients (e, loss, n, in, grads, c->name);
      }
}

static void
test_second (void)
{
  for (const ScanCase *c = scan_cases; c->name != NULL; c++)
    for (int recompute = 0; recompute < 2; recompute++)
      {
        g_autoptr (GRand) rand = g_rand_new_with_seed (11);
        LoomValue in[SCAN_MAX_OPERANDS], grads[SCAN_MAX_OPERANDS], second[SCAN_MAX_OPERANDS], used[SCAN_MAX_OPERANDS];
        LoomValue loss, contracted;
        g_autoptr (GError) error = NULL;
        guint n, n_used = 0;
        g_autoptr (LoomProgram) p = with_gradients (c, recompute, in, &n, &loss, grads, rand);

        for (guint i = 0; i < n; i++)
          if (grads[i] != 0)
            used[n_used++] = grads[i];
        contracted = eval_contract (p, n_used, used, rand);
        loom_differentiate (p, contracted, 0, n, in, second, &error);
        g_assert_no_error (error);
        {
          g_autoptr (Eval) e = eval_new (p);

          eval_fill_all (e, NULL, rand);
          eval_check_gradients (e, contracted, n, in, second, c->name);
        }
      }
}

/* A program has the same size for many rows as for few. */
static void
test_size (void)
{
  guint instrs[2];

  for (int k = 0; k < 2; k++)
    {
      g_autoptr (LoomProgram) p = loom_program_new ();
      g_autoptr (GRand) rand = g_rand_new_with_seed (5);
      LoomValue in[SCAN_MAX_OPERANDS], out[8], grads[SCAN_MAX_OPERANDS], loss = 0;
      gint64 length = k == 0 ? 3 : 300;
      guint n = scan_case_inputs (&scan_cases[1], p, length, LOOM_F32, in);
      guint n_out = scan_case_emit (&scan_cases[1], p, length, 0, LOOM_F32, in, out);

      for (guint o = 0; o < n_out; o++)
        {
          LoomValue sum = loom_sum_all (p, out[o]);

          loss = loss == 0 ? sum : loom_binary (p, LOOM_SCALAR_ADD, loss, sum);
        }
      loom_differentiate (p, loss, 0, n, in, grads, NULL);
      instrs[k] = loom_program_n_instrs (p);
    }
  g_assert_cmpuint (instrs[0], ==, instrs[1]);
}

/* Of a value that is large only because a row is added to each key, the row is kept and the rest is recomputed. */
static void
test_kept (void)
{
  const ScanCase *c = scan_cases;
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_autoptr (LoomProgram) p = NULL;
  LoomValue in[SCAN_MAX_OPERANDS], grads[SCAN_MAX_OPERANDS], loss;
  guint n, n_stacks = 0;

  while (!g_str_equal (c->name, "looking"))
    c++;
  p = with_gradients (c, FALSE, in, &n, &loss, grads, rand);
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if (instr->prim != loom_prim ("scan") || instr->region == LOOM_REGION_BACKWARD)
        continue;
      for (guint o = c->n_carried; o < instr->n_out; o++, n_stacks++)
        for (int k = 0; k < loom_value_info (p, instr->out[o])->desc.rank; k++)
          g_assert_cmpint (loom_value_info (p, instr->out[o])->desc.dim[k], !=, SCAN_KEYS);
    }
  g_assert_cmpuint (n_stacks, >, 0);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scan/unrolled", test_unrolled);
  g_test_add_func ("/scan/gradients", test_gradients);
  g_test_add_func ("/scan/second", test_second);
  g_test_add_func ("/scan/size", test_size);
  g_test_add_func ("/scan/kept", test_kept);
  return g_test_run ();
}
