/* Tests bodies that data choose, for a batch, for its samples and for trees: values and gradients against the same
 * program row by row, and first and second derivatives against differences. */
#include "tests/program/eval.h"
#include "tests/program/visit-bodies.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#define TURNS 4

/* A case's program in f64, its loss, and the loss's gradients. */
typedef struct
{
  LoomProgram *p;
  LoomValue in[VISIT_MAX_OPERANDS], out[8], grads[VISIT_MAX_OPERANDS], second[VISIT_MAX_OPERANDS], loss, loss_of_grads;
  guint n, n_out;
} Made;

static void
fill_numbers (const VisitCase *c, Eval *e, LoomValue v, guint turn)
{
  LoomTensor *t = eval_tensor (e, v);

  visit_case_numbers (c, turn, t->data, (guint)t->count);
}

/* numbers NULL: with the instruction; else unrolled for them. */
static void
make (Made *m, const VisitCase *c, const gint64 *numbers, gboolean recompute)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_autoptr (GError) error = NULL;
  LoomValue floats[8];
  guint n = 0;

  m->p = loom_program_new ();
  loom_program_set_float (m->p, LOOM_F64);
  m->n = visit_case_inputs (c, m->p, LOOM_F64, m->in);
  m->n_out = numbers == NULL ? visit_case_emit (c, m->p, recompute, LOOM_F64, m->in, m->out)
                             : visit_case_unroll (c, m->p, LOOM_F64, numbers, m->in, m->out);
  for (guint o = 0; o < m->n_out; o++)
    if (loom_dtype_is_float (loom_value_info (m->p, m->out[o])->desc.dtype))
      floats[n++] = m->out[o];
  m->loss = eval_contract (m->p, n, floats, rand);
  loom_differentiate (m->p, m->loss, 0, m->n - 1, m->in + 1, m->grads + 1, &error);
  g_assert_no_error (error);
  for (guint i = 1; i < m->n; i++)
    if (m->grads[i] == 0)
      {
        const LoomTensorDesc *d = &loom_value_info (m->p, m->in[i])->desc;

        m->grads[i] = loom_fill (m->p, d->dtype, d->rank, d->dim, 0);
      }
  m->loss_of_grads = eval_contract (m->p, m->n - 1, m->grads + 1, rand);
  loom_differentiate (m->p, m->loss_of_grads, 0, m->n - 1, m->in + 1, m->second + 1, &error);
  g_assert_no_error (error);
}

/* A missing value is zeros. */
static void
compare (Eval *a, LoomValue va, Eval *b, LoomValue vb, const char *what)
{
  LoomTensor *ta = va != 0 ? eval_tensor (a, va) : NULL, *tb = vb != 0 ? eval_tensor (b, vb) : NULL;
  gint64 count = ta != NULL ? ta->count : tb != NULL ? tb->count : 0;

  for (gint64 i = 0; i < count; i++)
    {
      double x = ta != NULL ? loom_tensor_get (ta, i) : 0, y = tb != NULL ? loom_tensor_get (tb, i) : 0;

      if (!(fabs (x - y) <= 1e-12 * (1 + fabs (x))))
        {
          g_test_message ("%s, element %" G_GINT64_FORMAT ": %.17g by groups, %.17g row by row", what, i, x, y);
          g_test_fail ();
          return;
        }
    }
}

static void
check_unrolled (const VisitCase *c, guint turn, gboolean recompute)
{
  gint64 numbers[32];
  Made one, flat;
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  visit_case_numbers (c, turn, numbers, c->one ? 1 : c->slots >= 0 ? VISIT_TREES * VISIT_NODES : VISIT_SAMPLES);
  make (&one, c, NULL, recompute);
  make (&flat, c, numbers, FALSE);
  {
    g_autoptr (Eval) a = eval_new (one.p), b = eval_new (flat.p);

    eval_fill_all (a, NULL, rand);
    fill_numbers (c, a, one.in[0], turn);
    for (guint i = 0; i < one.n; i++)
      memcpy (eval_tensor (b, flat.in[i])->data, eval_tensor (a, one.in[i])->data, eval_tensor (a, one.in[i])->bytes);
    eval_run (a);
    eval_run (b);
    for (guint o = 0; o < one.n_out; o++)
      compare (a, one.out[o], b, flat.out[o], c->name);
    for (guint i = 1; i < one.n; i++)
      {
        g_autofree char *first = g_strdup_printf ("%s, turn %u, gradient %u", c->name, turn, i);
        g_autofree char *second = g_strdup_printf ("%s, turn %u, second derivative %u", c->name, turn, i);

        compare (a, one.grads[i], b, flat.grads[i], first);
        compare (a, one.second[i], b, flat.second[i], second);
      }
  }
  loom_program_unref (one.p);
  loom_program_unref (flat.p);
}

static void
test_unrolled (void)
{
  for (const VisitCase *c = visit_cases; c->name != NULL; c++)
    for (guint turn = 0; turn < TURNS; turn++)
      for (int recompute = 0; recompute < 2; recompute++)
        check_unrolled (c, turn, recompute);
}

static void
test_gradients (void)
{
  for (const VisitCase *c = visit_cases; c->name != NULL; c++)
    for (int recompute = 0; recompute < 2; recompute++)
      {
        g_autoptr (GRand) rand = g_rand_new_with_seed (11);
        Made m;

        make (&m, c, NULL, recompute);
        {
          g_autoptr (Eval) e = eval_new (m.p);

          eval_fill_all (e, NULL, rand);
          fill_numbers (c, e, m.in[0], 0);
          eval_check_gradients (e, m.loss, m.n - 1, m.in + 1, m.grads + 1, c->name);
        }
        loom_program_unref (m.p);
      }
}

static void
test_second (void)
{
  for (const VisitCase *c = visit_cases; c->name != NULL; c++)
    for (int recompute = 0; recompute < 2; recompute++)
      {
        g_autoptr (GRand) rand = g_rand_new_with_seed (11);
        Made m;

        make (&m, c, NULL, recompute);
        {
          g_autoptr (Eval) e = eval_new (m.p);
          g_autofree char *what = g_strconcat (c->name, ", twice", NULL);

          eval_fill_all (e, NULL, rand);
          fill_numbers (c, e, m.in[0], 1);
          eval_check_gradients (e, m.loss_of_grads, m.n - 1, m.in + 1, m.second + 1, what);
        }
        loom_program_unref (m.p);
      }
}

/* ---- permutations ------------------------------------------------------------------- */

static LoomStatus
order (const char *prim, LoomOrderAttrs attrs, gint64 trees, gint64 nodes, const gint64 *numbers, gint64 out[4][8],
       LoomMessage *message)
{
  const LoomTensorDesc desc
      = { .dtype = LOOM_I64, .rank = trees > 0 ? 2 : 1, .dim = { trees > 0 ? trees : nodes, nodes } };
  const void *in[] = { numbers };
  void *to[] = { out[0], out[1], out[2], out[3] };

  return loom_prim (prim)->on_host (&attrs, &desc, in, to, message);
}

static void
assert_numbers (const gint64 *have, const gint64 *want, guint n)
{
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (have[i], ==, want[i]);
}

static void
test_orders (void)
{
  static const gint64 index[] = { 2, 0, 2, 1 }, parent[] = { 2, 2, -1, 5, 5, -1 };
  gint64 out[4][8];
  LoomMessage message = { "" };

  g_assert_cmpint (order ("group_rows", (LoomOrderAttrs){ .groups = 3 }, 0, 4, index, out, &message), ==,
                   LOOM_STATUS_OK);
  assert_numbers (out[0], (const gint64[]){ 1, 3, 0, 2 }, 4);
  assert_numbers (out[1], (const gint64[]){ 2, 0, 3, 1 }, 4);
  assert_numbers (out[2], (const gint64[]){ 0, 1, 2, 2 }, 4);
  g_assert_cmpint (order ("level_rows", (LoomOrderAttrs){ .slots = 2 }, 1, 6, parent, out, &message), ==,
                   LOOM_STATUS_OK);
  assert_numbers (out[0], (const gint64[]){ 0, 1, 3, 4, 2, 5 }, 6);
  assert_numbers (out[2], (const gint64[]){ 0, 0, 0, 0, 1, 1 }, 6);
  assert_numbers (out[3], (const gint64[]){ 4, 6 + 4, 5, 6 + 5, 12, 12 }, 6);
}

static void
test_faults (void)
{
  static const struct
  {
    const char *prim;
    LoomOrderAttrs attrs;
    gint64 trees, numbers[4];
    const char *message;
  } cases[] = {
    { "group_rows", { .groups = 3 }, 0, { 0, 1, 3, 0 }, "index is 3 for sample 2, but the bodies are numbered 0 … 2" },
    { "group_rows",
      { .groups = 3 },
      0,
      { 0, -1, 0, 0 },
      "index is -1 for sample 1, but the bodies are numbered 0 … 2" },
    { "level_rows",
      { 0 },
      1,
      { 1, 9, -1, -1 },
      "the parent of node 1 in tree 0 is 9, but nodes are numbered 0 … 3, and -1 means none" },
    { "level_rows",
      { 0 },
      1,
      { 1, -2, -1, -1 },
      "the parent of node 1 in tree 0 is -2, but nodes are numbered 0 … 3, and -1 means none" },
    { "level_rows",
      { 0 },
      1,
      { 1, 0, -1, -1 },
      "the parent of node 1 in tree 0 is 0, but children must come before their parents" },
    { "level_rows",
      { 0 },
      1,
      { 3, 1, 3, -1 },
      "the parent of node 1 in tree 0 is 1, but children must come before their parents" },
    { "level_rows",
      { .slots = 2 },
      1,
      { 3, 3, 3, -1 },
      "node 3 in tree 0 has more children than its arity, 2: node 2 is one too many" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gint64 out[4][8];
      LoomMessage message = { "" };

      g_assert_cmpint (order (cases[i].prim, cases[i].attrs, cases[i].trees, 4, cases[i].numbers, out, &message), ==,
                       LOOM_STATUS_NO_RESULT);
      g_assert_cmpstr (message.text, ==, cases[i].message);
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/visit/unrolled", test_unrolled);
  g_test_add_func ("/visit/gradients", test_gradients);
  g_test_add_func ("/visit/second", test_second);
  g_test_add_func ("/visit/orders", test_orders);
  g_test_add_func ("/visit/faults", test_faults);
  return g_test_run ();
}
