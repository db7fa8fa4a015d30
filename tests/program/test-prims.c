/* Tests every primitive's gradient against central differences in f64, and every composite against its expansion: on
 * programs of its own, and on the small samples of the kernels (tests/kernels), so a primitive that is linear in its
 * operands or has no special operands needs no program here. */
#include "tests/program/eval.h"
#include "tests/program/prim-cases.h"
#include "tests/test-program.h"

#include <math.h>

/* Primitives of test_linalg(), whose further results are workspace, and the one that the operator custom_function
 * tests. */
static const char *const elsewhere[]
    = { "cholesky", "det", "cofactor", "solve", "triangular_solve", "custom_gradient", NULL };

/* ---- samples of kernels ------------------------------------------------- */

/* The program's attributes of a call: those of the kernel, followed by what results do not take from operands. */
static gpointer
attrs_of (const LoomPrim *prim, const Sample *s)
{
  char *attrs = g_malloc0 (prim->attrs_size + 1);

  memcpy (attrs, &s->attrs, MIN (prim->attrs_size, sizeof s->attrs));
  for (const LoomAttr *a = prim->attrs; a != NULL && a->kind != LOOM_ATTR_END; a++)
    if (a->kind == LOOM_ATTR_DIMS)
      {
        LoomDims *to = (LoomDims *)(attrs + a->at);

        to->rank = s->out[0].rank;
        memcpy (to->dim, s->out[0].dim, sizeof to->dim);
      }
    else if (a->kind == LOOM_ATTR_DTYPE)
      G_STRUCT_MEMBER (LoomDType, attrs, a->at) = s->out[0].dtype == LOOM_F32 ? LOOM_F64 : s->out[0].dtype;
  return attrs;
}

static LoomTensorDesc
in_f64 (LoomTensorDesc d)
{
  d.dtype = d.dtype == LOOM_F32 ? LOOM_F64 : d.dtype;
  return d;
}

/* TRUE if the planner has not fused an activation into the call, which gradients do not know. */
static gboolean
is_unfused (const LoomPrim *prim, const Sample *s)
{
  for (const LoomAttr *a = prim->attrs; a != NULL && a->kind != LOOM_ATTR_END; a++)
    if (a->kind == LOOM_ATTR_SCALAR && G_STRUCT_MEMBER (LoomScalarOp, &s->attrs, a->at) != LOOM_SCALAR_ID)
      return FALSE;
  return !s->joined;
}

/* TRUE if a program may contain the sample's call, and differences of its results take no time. */
static gboolean
is_small_call (const Sample *s)
{
  const LoomPrim *prim = loom_prim (s->primitive);
  LoomTensorDesc in[SAMPLE_MAX_IN], out[SAMPLE_MAX_OUT];
  g_autofree gpointer attrs = NULL;
  g_autofree char *why = NULL;
  gint64 floats = 0;
  guint n_out = 0;

  if (prim == NULL || g_strv_contains (elsewhere, prim->name) || prim->gradient == NULL || prim->updates != NULL
      || s->n_in > MAX_X || s->n_out > MAX_X || !is_unfused (prim, s))
    return FALSE;
  for (int i = 0; i < s->n_in; i++)
    {
      in[i] = in_f64 (s->in[i]);
      floats += in[i].dtype == LOOM_F64 ? loom_desc_count (&in[i]) : 0;
      if (s->fill[i].kind == FILL_SPECIAL || s->fill[i].kind == FILL_INDICES)
        return FALSE;
    }
  attrs = attrs_of (prim, s);
  if (floats == 0 || floats > 60 || !prim->infer (attrs, (guint)s->n_in, in, out, &n_out, &why)
      || n_out != (guint)s->n_out)
    return FALSE;
  for (guint o = 0; o < n_out; o++)
    if (out[o].dtype != in_f64 (s->out[o]).dtype || !loom_desc_same_shape (&out[o], &s->out[o])
        || loom_desc_count (&out[o]) > 200)
      return FALSE;
  return TRUE;
}

static void
add_samples (GArray *all, GPtrArray *samples)
{
  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      PrimCase c = { .name = s->name, .n_x = (guint)s->n_in, .sample = s };

      if (!is_small_call (s))
        continue;
      for (guint k = 0; k < c.n_x; k++)
        {
          const LoomTensorDesc d = in_f64 (s->in[k]);

          c.x[k].dtype = d.dtype;
          c.x[k].rank = d.rank;
          memcpy (c.x[k].dim, d.dim, sizeof c.x[k].dim);
        }
      g_array_append_val (all, c);
    }
}

/* TRUE if two samples pass the same operands to one primitive, so that only their attributes can differ. */
static gboolean
have_same_operands (const Sample *a, const Sample *b)
{
  return g_str_equal (a->primitive, b->primitive) && a->n_in == b->n_in && a->n_out == b->n_out
         && memcmp (a->in, b->in, sizeof a->in) == 0 && memcmp (a->out, b->out, sizeof a->out) == 0
         && memcmp (a->fill, b->fill, sizeof a->fill) == 0 && a->mixed == b->mixed && a->wide == b->wide;
}

/* Samples with equal operands and other names have attributes that are not equal: a member that the description of the
 * attributes lacks is found by the samples that change it. */
static void
test_members (void)
{
  g_autoptr (GPtrArray) samples = samples_new ();
  guint pairs = 0;

  for (guint i = 0; i < samples->len; i++)
    for (guint k = i + 1; k < samples->len; k++)
      {
        const Sample *a = samples->pdata[i], *b = samples->pdata[k];
        const LoomPrim *prim = loom_prim (a->primitive);
        g_autofree gpointer x = NULL, y = NULL;

        if (prim == NULL || prim->attrs == NULL || !have_same_operands (a, b) || g_str_equal (a->name, b->name))
          continue;
        x = attrs_of (prim, a);
        y = attrs_of (prim, b);
        pairs++;
        if (loom_attrs_equal (prim->attrs, x, y))
          {
            g_test_message ("“%s” and “%s” have equal attributes", a->name, b->name);
            g_test_fail ();
          }
      }
  g_test_message ("%u pairs", pairs);
  g_assert_true (pairs > 1000 || g_getenv ("GRADLOOM_SAMPLES") != NULL);
}

/* Cases of programs, then those of samples. */
static const GArray *
all_cases (void)
{
  static GArray *all;

  if (all == NULL)
    {
      guint n;
      const PrimCase *cases = prim_cases (&n);

      all = g_array_new (FALSE, FALSE, sizeof (PrimCase));
      g_array_append_vals (all, cases, n);
      add_samples (all, samples_new ());
      g_test_message ("%u cases, of which %u are samples", all->len, all->len - n);
    }
  return all;
}

static LoomProgram *
program_of (const PrimCase *c, LoomValue *x, LoomValue *y, guint *n_y)
{
  LoomProgram *p = loom_program_new ();

  loom_program_set_float (p, LOOM_F64);
  for (guint i = 0; i < c->n_x; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%u", i);

      x[i]
          = c->x[i].dtype == LOOM_N_DTYPES ? 0 : loom_program_input (p, name, c->x[i].dtype, c->x[i].rank, c->x[i].dim);
    }
  if (c->sample != NULL)
    {
      const LoomPrim *prim = loom_prim (c->sample->primitive);
      g_autofree gpointer attrs = attrs_of (prim, c->sample);

      loom_emit (p, prim, attrs, c->n_x, x, y);
      *n_y = (guint)c->sample->n_out;
    }
  else
    *n_y = c->build (p, x, y);
  return p;
}

static void
fill (Eval *e, const PrimCase *c, const LoomValue *x, GRand *rand)
{
  float **inputs;

  eval_fill_all (e, c->range, rand);
  if (c->sample == NULL)
    return;
  inputs = sample_inputs (c->sample);
  for (guint i = 0; i < c->n_x; i++)
    for (gint64 k = 0; x[i] != 0 && k < eval_tensor (e, x[i])->count; k++)
      loom_tensor_set (eval_tensor (e, x[i]), k, (double)inputs[i][k]);
  inputs_free (c->sample, inputs);
}

/* FALSE if this call of the primitive has no derivative: a product by scatter. */
static gboolean
check_gradient (const PrimCase *c)
{
  LoomValue x[MAX_X], y[MAX_X] = { 0 }, wrt[MAX_X], grads[MAX_X], loss;
  guint n_y, n = 0;
  g_autoptr (LoomProgram) p = program_of (c, x, y, &n_y);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (Eval) e = NULL;
  g_autoptr (GError) error = NULL;

  loss = eval_contract (p, n_y, y, rand);
  for (guint i = 0; i < c->n_x; i++)
    {
      if (c->x[i].dtype == LOOM_F64)
        wrt[n++] = x[i];
    }
  if (!loom_differentiate (p, loss, 0, n, wrt, grads, &error))
    {
      g_assert_nonnull (c->sample);
      return FALSE;
    }
  e = eval_new (p);
  fill (e, c, x, rand);
  eval_check_gradients (e, loss, n, wrt, grads, c->name);
  return TRUE;
}

/* Every primitive with a derivative is in a case or elsewhere, if the samples are not of one primitive only. */
static void
test_gradients (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < all_cases ()->len; i++)
    {
      const PrimCase *c = &g_array_index (all_cases (), PrimCase, i);
      LoomValue x[MAX_X], y[MAX_X];
      guint n_y;
      g_autoptr (LoomProgram) p = program_of (c, x, y, &n_y);

      if (check_gradient (c))
        for (guint k = 0; k < loom_program_n_instrs (p); k++)
          g_hash_table_add (seen, (gpointer)loom_program_instr (p, k)->prim);
    }
  if (g_getenv ("GRADLOOM_SAMPLES") != NULL)
    return;
  for (const LoomPrim *const *prim = loom_prims (); *prim != NULL; prim++)
    if ((*prim)->gradient != NULL && !((*prim)->flags & LOOM_PRIM_ELEMENTWISE) && (*prim)->bodies == NULL
        && !g_hash_table_contains (seen, *prim) && !g_strv_contains (elsewhere, (*prim)->name))
      {
        g_test_message ("no case differentiates %s", (*prim)->name);
        g_test_fail ();
      }
}

/* A scalar formula of broadcast operands of different shapes, as the loss Σ r·y. */
static LoomValue
scalar_loss (LoomProgram *p, const LoomPrim *prim, LoomValue *x, guint *n, GRand *rand)
{
  static const gint64 dims[3][2] = { { 3, 4 }, { 1, 4 }, { 3, 1 } };
  LoomValue y;

  *n = loom_scalar_arity (prim->scalar);
  loom_program_set_float (p, LOOM_F64);
  for (guint k = 0; k < *n; k++)
    x[k] = loom_program_input (p, "x", LOOM_F64, 2, dims[k]);
  y = loom_emit (p, prim, NULL, *n, x, NULL);
  if (prim->gradient_is_zero && !loom_dtype_is_float (loom_value_info (p, y)->desc.dtype))
    y = loom_cast (p, y, LOOM_F64);
  return eval_contract (p, 1, &y, rand);
}

static const char *const scalar_ranges[] = { [LOOM_DOMAIN_ALL] = "away0",
                                             [LOOM_DOMAIN_POSITIVE] = "positive",
                                             [LOOM_DOMAIN_UNIT] = "unit",
                                             [LOOM_DOMAIN_ABOVE_1] = "above1" };

static void
test_scalar_gradients (void)
{
  for (const LoomPrim *const *prim = loom_prims (); *prim != NULL; prim++)
    {
      g_autoptr (LoomProgram) p = NULL;
      g_autoptr (GRand) rand = g_rand_new_with_seed (11);
      g_autoptr (Eval) e = NULL;
      g_autoptr (GError) error = NULL;
      LoomValue x[3], grads[3], loss;
      guint n;

      if (((*prim)->flags & LOOM_PRIM_ELEMENTWISE) == 0)
        continue;
      p = loom_program_new ();
      loss = scalar_loss (p, *prim, x, &n, rand);
      loom_differentiate (p, loss, 0, n, x, grads, &error);
      g_assert_no_error (error);
      e = eval_new (p);
      eval_fill_all (e, scalar_ranges[loom_scalar_domain ((*prim)->scalar)], rand);
      eval_check_gradients (e, loss, n, x, grads, (*prim)->name);
    }
}

/* A program and its expansion compute the same numbers, and the expansion has no composites. */
static void
test_expansions (void)
{
  for (guint i = 0; i < all_cases ()->len; i++)
    {
      const PrimCase *c = &g_array_index (all_cases (), PrimCase, i);
      LoomValue x[MAX_X], y[MAX_X] = { 0 };
      guint n_y;
      g_autoptr (LoomProgram) p = program_of (c, x, y, &n_y);
      g_autoptr (LoomProgram) q = NULL;
      g_autoptr (GRand) rand = g_rand_new_with_seed (3);
      g_autoptr (Eval) a = NULL, b = NULL;

      for (guint k = 0; k < n_y; k++)
        loom_program_output (p, (const char *[MAX_X]){ "0", "1", "2", "3", "4", "5", "6", "7" }[k], y[k]);
      q = loom_program_expand (p, NULL);
      for (guint k = 0; k < loom_program_n_instrs (q); k++)
        g_assert_cmpint (loom_program_instr (q, k)->prim->tier, ==, LOOM_TIER_CORE);
      a = eval_new (p);
      b = eval_new (q);
      fill (a, c, x, rand);
      g_rand_set_seed (rand, 3);
      fill (b, c, x, rand);
      eval_run (a);
      eval_run (b);
      for (guint k = 0; k < n_y; k++)
        {
          LoomTensor *ta = eval_tensor (a, y[k]);
          LoomTensor *tb = eval_tensor (b, loom_program_get_output (q, k)->value);

          g_assert_cmpint (ta->count, ==, tb->count);
          g_assert_cmpint (ta->dtype, ==, tb->dtype);
          for (gint64 j = 0; j < ta->count; j++)
            {
              double va = loom_tensor_get (ta, j), vb = loom_tensor_get (tb, j);

              if (!(fabs (va - vb) <= 1e-11 * (1 + fabs (va))))
                {
                  g_test_message ("%s, result %u, element %" G_GINT64_FORMAT ": %.17g, expanded %.17g", c->name, k, j,
                                  va, vb);
                  g_test_fail ();
                  break;
                }
            }
        }
    }
}

/* ---- second derivatives ------------------------------------------------ */

/* Compares the gradient of Σ r·(gradient), a product with the Hessian, with differences of the first gradient. */
static void
check_second (LoomProgram *program, LoomValue loss, guint n, const LoomValue *wrt, const PrimCase *c,
              const LoomValue *x)
{
  g_autoptr (LoomProgram) p = loom_program_ref (program);
  LoomValue first[MAX_X], second[MAX_X], used[MAX_X], contracted;
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_autoptr (Eval) e = NULL;
  g_autoptr (GError) error = NULL;
  guint n_used = 0;

  if (!loom_differentiate (p, loss, 0, n, wrt, first, c->sample != NULL ? NULL : &error))
    {
      g_assert_no_error (error);
      return;
    }
  for (guint i = 0; i < n; i++)
    if (first[i] != 0)
      used[n_used++] = first[i];
  contracted = eval_contract (p, n_used, used, rand);
  if (contracted == 0)
    return;
  if (!loom_differentiate (p, contracted, 0, n, wrt, second, &error))
    {
      g_test_message ("%s: %s", c->name, error->message);
      g_test_fail ();
      return;
    }
  e = eval_new (p);
  fill (e, c, x, rand);
  eval_check_gradients (e, contracted, n, wrt, second, c->name);
}

static LoomValue
square_matrix (LoomProgram *p, LoomValue x, gboolean symmetric)
{
  LoomValue y = loom_matmul (p, x, x, FALSE, TRUE), i[2], attrs_line[2];
  LoomTensorDesc d = loom_value_info (p, x)->desc;

  for (int axis = 0; axis < 2; axis++)
    {
      LoomIotaTo line = { .kernel = { .axis = axis, .step = 1 }, .dtype = d.dtype, .to = { 2, { 1, 1 } } };

      line.to.dim[axis] = d.dim[d.rank - 1];
      attrs_line[axis] = loom_emit (p, loom_prim ("iota"), &line, 0, NULL, NULL);
    }
  i[0] = loom_cast (p, loom_binary (p, LOOM_SCALAR_EQ, attrs_line[0], attrs_line[1]), d.dtype);
  i[1] = loom_binary (p, LOOM_SCALAR_MUL, i[0], loom_const (p, d.dtype, 3));
  return loom_binary (p, LOOM_SCALAR_ADD, symmetric ? y : x, i[1]);
}

/* Makes matrices that have a solution: 3 + x xᵀ, or 3 + x. */
static void
check_linalg (const char *prim, gboolean symmetric, guint n_in, const void *attrs, const char *what)
{
  for (int order = 1; order <= 2; order++)
    {
      g_autoptr (LoomProgram) p = loom_program_new ();
      LoomValue x[2], in[2], out[4] = { 0 }, grads[2], loss;
      g_autoptr (GRand) rand = g_rand_new_with_seed (3);
      g_autoptr (GError) error = NULL;

      loom_program_set_float (p, LOOM_F64);
      x[0] = loom_program_input (p, "a", LOOM_F64, 3, (gint64[]){ 2, 3, 3 });
      x[1] = in[1] = loom_program_input (p, "b", LOOM_F64, 3, (gint64[]){ 2, 3, 2 });
      in[0] = square_matrix (p, x[0], symmetric);
      loom_emit (p, loom_prim (prim), attrs, n_in, in, out);
      loss = eval_contract (p, 1, out, rand);
      if (order == 2)
        {
          check_second (p, loss, n_in, x, &(PrimCase){ .name = what }, x);
          continue;
        }
      loom_differentiate (p, loss, 0, n_in, x, grads, &error);
      g_assert_no_error (error);
      {
        g_autoptr (Eval) e = eval_new (p);

        eval_fill_all (e, NULL, rand);
        eval_check_gradients (e, loss, n_in, x, grads, what);
      }
    }
}

static void
test_linalg (void)
{
  check_linalg ("cholesky", TRUE, 1, NULL, "cholesky");
  check_linalg ("det", FALSE, 1, NULL, "det");
  check_linalg ("cofactor", FALSE, 1, NULL, "cofactor");
  for (int t = 0; t < 2; t++)
    {
      LoomSolveAttrs solve = { .transpose = t };

      check_linalg ("solve", FALSE, 2, &solve, t ? "solve transpose" : "solve");
      for (int k = 0; k < 4; k++)
        {
          LoomTriangularSolveAttrs triangle = { .upper = k & 1, .transpose = t, .unitriangular = k & 2 };

          check_linalg ("triangular_solve", FALSE, 2, &triangle, "triangular_solve");
        }
    }
}

static void
test_second (void)
{
  for (guint i = 0; i < all_cases ()->len; i++)
    {
      const PrimCase *c = &g_array_index (all_cases (), PrimCase, i);
      LoomValue x[MAX_X], y[MAX_X] = { 0 }, wrt[MAX_X];
      guint n_y, n = 0;
      g_autoptr (LoomProgram) p = program_of (c, x, y, &n_y);
      g_autoptr (GRand) rand = g_rand_new_with_seed (7);
      LoomValue loss = eval_contract (p, n_y, y, rand);

      for (guint k = 0; k < c->n_x; k++)
        if (c->x[k].dtype == LOOM_F64)
          wrt[n++] = x[k];
      if (loss != 0 && n > 0)
        check_second (p, loss, n, wrt, c, x);
    }
}

/* Second derivatives of every scalar formula. */
static void
test_scalar_second (void)
{
  for (const LoomPrim *const *prim = loom_prims (); *prim != NULL; prim++)
    {
      g_autoptr (LoomProgram) p = NULL;
      g_autoptr (GRand) rand = g_rand_new_with_seed (7);
      LoomValue x[3], loss;
      guint n;

      if (((*prim)->flags & LOOM_PRIM_ELEMENTWISE) == 0)
        continue;
      p = loom_program_new ();
      loss = scalar_loss (p, *prim, x, &n, rand);
      check_second (p, loss, n, x,
                    &(PrimCase){ .name = (*prim)->name, .range = scalar_ranges[loom_scalar_domain ((*prim)->scalar)] },
                    x);
    }
}

/* The gradient of one reduction over given values. */
static void
check_reduction (LoomReduceOp op, const double *values, const double *want, int n)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (Eval) e = NULL;
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 1, (gint64[]){ n }), grad;

  g_assert_true (loom_differentiate (p, loom_reduce (p, op, x, 1, FALSE), 0, 1, &x, &grad, NULL));
  e = eval_new (p);
  for (int i = 0; i < n; i++)
    loom_tensor_set (eval_tensor (e, x), i, values[i]);
  eval_run (e);
  for (int i = 0; i < n; i++)
    g_assert_cmpfloat (loom_tensor_get (eval_tensor (e, grad), i), ==, want[i]);
}

/* Equal largest elements share the gradient evenly. */
static void
test_ties (void)
{
  check_reduction (LOOM_REDUCE_MAX, (double[]){ 1, 2, 2, 0 }, (double[]){ 0, 0.5, 0.5, 0 }, 4);
  check_reduction (LOOM_REDUCE_MIN, (double[]){ 1, 2, 2, 0 }, (double[]){ 0, 0, 0, 1 }, 4);
}

/* At the origin an angle has no derivative, and the gradient is 0, as in PyTorch; a NaN maximum takes the gradient. */
static void
test_no_slope (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (Eval) e = NULL;
  LoomValue x[2], grads[2], angle;

  for (int i = 0; i < 2; i++)
    x[i] = loom_program_input (p, i == 0 ? "y" : "x", LOOM_F32, 1, (gint64[]){ 2 });
  angle = loom_binary (p, LOOM_SCALAR_ATAN2, x[0], x[1]);
  g_assert_true (loom_differentiate (p, angle, 0, 2, x, grads, NULL));
  e = eval_new (p);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      loom_tensor_set (eval_tensor (e, x[i]), k, i == 0 && k == 1 ? 2 : 0);
  eval_run (e);
  for (int i = 0; i < 2; i++)
    g_assert_cmpfloat (loom_tensor_get (eval_tensor (e, grads[i]), 0), ==, 0);
  g_assert_cmpfloat (loom_tensor_get (eval_tensor (e, grads[1]), 1), ==, -0.5);
  check_reduction (LOOM_REDUCE_MAX, (double[]){ 1, NAN, 2, 0 }, (double[]){ 0, 1, 0, 0 }, 4);
}

/* Factors that are 0, where a quotient would be 0/0. */
static void
test_zero_factors (void)
{
  check_reduction (LOOM_REDUCE_PROD, (double[]){ 2, 0, 3 }, (double[]){ 0, 6, 0 }, 3);
  check_reduction (LOOM_REDUCE_PROD, (double[]){ 0, 0, 3 }, (double[]){ 0, 0, 0 }, 3);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/program/prims/scalar-gradients", test_scalar_gradients);
  g_test_add_func ("/program/prims/members", test_members);
  g_test_add_func ("/program/prims/gradients", test_gradients);
  g_test_add_func ("/program/prims/expansions", test_expansions);
  g_test_add_func ("/program/prims/linalg", test_linalg);
  g_test_add_func ("/program/prims/second", test_second);
  g_test_add_func ("/program/prims/scalar-second", test_scalar_second);
  g_test_add_func ("/program/prims/ties", test_ties);
  g_test_add_func ("/program/prims/zero-factors", test_zero_factors);
  g_test_add_func ("/program/prims/no-slope", test_no_slope);
  return g_test_run ();
}
