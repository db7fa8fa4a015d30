/* Bodies of switch and visit for tests, see visit-bodies.h. */
#include "tests/program/visit-bodies.h"

#include "engine/program/program-body.h"

#define WIDTH 3

static LoomProgram *
begin (LoomDType dtype)
{
  LoomProgram *p = loom_program_new ();

  loom_program_set_float (p, dtype);
  loom_program_set_origin (p, "body", NULL);
  return p;
}

static LoomValue
input (LoomProgram *p, const char *name, LoomDType dtype, int rank, gint64 a, gint64 b)
{
  return loom_program_input (p, name, dtype, rank, (gint64[]){ a, b });
}

static LoomValue
add (LoomProgram *p, LoomValue a, LoomValue b)
{
  return loom_binary (p, LOOM_SCALAR_ADD, a, b);
}

static LoomValue
mul (LoomProgram *p, LoomValue a, LoomValue b)
{
  return loom_binary (p, LOOM_SCALAR_MUL, a, b);
}

/* A layer, a product of elements, the unchanged input, and one that is never chosen. */
static LoomValue
branch_of (LoomProgram *p, guint branch, LoomValue x, LoomValue w, LoomValue b)
{
  if (branch == 0)
    return loom_unary (p, LOOM_SCALAR_TANH, add (p, loom_matmul (p, x, w, FALSE, TRUE), b));
  if (branch == 1)
    return mul (p, loom_unary (p, LOOM_SCALAR_SIN, x), b);
  return branch == 2 ? x : mul (p, x, x);
}

static LoomProgram *
branches (guint branch, gint64 size, LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue x = input (p, "x", dtype, 2, size, WIDTH), w = input (p, "w", dtype, 2, WIDTH, WIDTH);
  LoomValue b = input (p, "b", dtype, 1, WIDTH, 0);

  loom_program_output (p, "y", branch_of (p, branch, x, w, b));
  return p;
}

/* All operands are whole, and one result is not per sample. */
static LoomProgram *
whole (guint branch, gint64 size, LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue x = input (p, "x", dtype, 2, VISIT_SAMPLES, WIDTH), w = input (p, "w", dtype, 2, WIDTH, WIDTH);
  LoomValue b = input (p, "b", dtype, 1, WIDTH, 0), y = branch_of (p, branch, x, w, b);

  loom_program_output (p, "y", y);
  loom_program_output (p, "sum", loom_reduce (p, LOOM_REDUCE_SUM, y, 1, FALSE));
  return p;
}

/* h = tanh (x·Wᵀ + Σ h of children·Uᵀ), the recursive network; also an integer result. */
static LoomProgram *
recursive (guint branch, gint64 size, LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue x = input (p, "x", dtype, 2, size, WIDTH), h = input (p, "h", dtype, 2, size, WIDTH);
  LoomValue w = input (p, "w", dtype, 2, WIDTH, WIDTH), u = input (p, "u", dtype, 2, WIDTH, WIDTH), next;

  next = loom_unary (p, LOOM_SCALAR_TANH,
                     add (p, loom_matmul (p, x, w, FALSE, TRUE), loom_matmul (p, h, u, FALSE, TRUE)));
  loom_program_output (p, "h", next);
  loom_program_output (p, "y", mul (p, next, next));
  loom_program_output (p, "sign", loom_binary (p, LOOM_SCALAR_GT, next, loom_const (p, dtype, 0)));
  return p;
}

/* Two links of two children each: a tree of LSTM cells with different forget gates. */
static LoomProgram *
tree_lstm (guint branch, gint64 size, LoomDType dtype)
{
  LoomProgram *p = begin (dtype);
  LoomValue x = input (p, "x", dtype, 2, size, WIDTH), h0 = input (p, "h0", dtype, 2, size, WIDTH);
  LoomValue h1 = input (p, "h1", dtype, 2, size, WIDTH), c0 = input (p, "c0", dtype, 2, size, WIDTH);
  LoomValue c1 = input (p, "c1", dtype, 2, size, WIDTH), u = input (p, "u", dtype, 2, WIDTH, WIDTH);
  LoomValue v = input (p, "v", dtype, 2, WIDTH, WIDTH);
  LoomValue left = loom_matmul (p, h0, u, FALSE, TRUE), right = loom_matmul (p, h1, v, FALSE, TRUE);
  LoomValue sum = add (p, x, add (p, left, right)), c, h;

  c = add (p, mul (p, loom_unary (p, LOOM_SCALAR_SIGMOID, left), c0),
           mul (p, loom_unary (p, LOOM_SCALAR_SIGMOID, right), c1));
  c = add (p, c, loom_unary (p, LOOM_SCALAR_TANH, sum));
  h = mul (p, loom_unary (p, LOOM_SCALAR_SIGMOID, sum), loom_unary (p, LOOM_SCALAR_TANH, c));
  loom_program_output (p, "h", h);
  loom_program_output (p, "c", c);
  loom_program_output (p, "y", h);
  return p;
}

/* A loop in a body, over the numbers of a row. */
static LoomProgram *
with_loop (guint branch, gint64 size, LoomDType dtype)
{
  LoomProgram *p = begin (dtype), *step = begin (dtype);
  LoomValue x = input (p, "x", dtype, 2, size, WIDTH), b = input (p, "b", dtype, 1, WIDTH, 0), out[1];
  LoomValue h = input (step, "h", dtype, 2, size, WIDTH), t = input (step, "t", dtype, 1, WIDTH, 0);
  LoomScanAttrs attrs = { .body = step, .length = 2, .n_carried = 1, .n_sequences = 1 };
  LoomValue both[] = { loom_reshape (p, b, 2, (gint64[]){ 1, WIDTH }), 0 };

  loom_program_output (step, "h",
                       loom_unary (step, branch == 0 ? LOOM_SCALAR_TANH : LOOM_SCALAR_SIN, mul (step, h, t)));
  both[1] = both[0];
  loom_emit (p, loom_prim ("scan"), &attrs, 2, (LoomValue[]){ x, loom_concat (p, 2, both, 0) }, out);
  loom_program_unref (step);
  loom_program_output (p, "y", out[0]);
  return p;
}

const VisitCase visit_cases[] = {
  { "whole", 4, -1, 0, 0, 3, 2, TRUE, whole },         { "branches", 4, -1, 0, 1, 2, 1, FALSE, branches },
  { "loops", 2, -1, 0, 1, 1, 1, FALSE, with_loop },    { "recursive", 1, 0, 1, 1, 2, 2, FALSE, recursive },
  { "tree-lstm", 1, 2, 2, 1, 2, 1, FALSE, tree_lstm }, { NULL },
};

static gboolean
is_tree (const VisitCase *c)
{
  return c->slots >= 0;
}

static gint64
n_rows (const VisitCase *c)
{
  return is_tree (c) ? VISIT_TREES * VISIT_NODES : VISIT_SAMPLES;
}

static guint
n_slots (const VisitCase *c)
{
  return (guint)MAX (c->slots, 1);
}

guint
visit_case_inputs (const VisitCase *c, LoomProgram *p, LoomDType dtype, LoomValue *in)
{
  g_autoptr (LoomProgram) body = c->body (0, n_rows (c), dtype);
  gint64 dims[2] = { VISIT_TREES, VISIT_NODES };
  guint n = 0, links = c->n_links * n_slots (c);

  in[n++] = is_tree (c) ? loom_program_input (p, "parent", LOOM_I64, 2, dims)
                        : loom_program_input (p, "index", LOOM_I64, !c->one, (gint64[]){ VISIT_SAMPLES });
  for (guint i = 0; i < loom_program_n_inputs (body); i++)
    {
      const LoomProgramInput *from = loom_program_get_input (body, i);
      LoomTensorDesc d = loom_value_info (body, from->value)->desc;

      if (i < c->n_rows || i >= c->n_rows + links)
        in[n++] = loom_program_input (p, from->name, d.dtype, d.rank, d.dim);
    }
  g_assert_cmpuint (n, <=, VISIT_MAX_OPERANDS);
  return n;
}

void
visit_case_numbers (const VisitCase *c, guint turn, gint64 *numbers, guint n)
{
  /* A full tree, two trees, a chain of nodes, and a node with many children, if any number is allowed. */
  static const gint64 parent[4][VISIT_NODES]
      = { { 2, 2, 6, 5, 5, 6, -1 }, { 1, -1, 4, 4, 6, 6, -1 }, { 1, 2, 3, 4, 5, 6, -1 }, { 5, 5, 5, 5, 6, 6, -1 } };
  static const gint64 chosen[3][VISIT_SAMPLES]
      = { { 1, 0, 2, 0, 0, 1, 0, 2, 0 }, { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 2, 1, 1, 0, 1, 1, 1, 1, 1 } };

  for (guint i = 0; i < n; i++)
    if (is_tree (c))
      numbers[i] = parent[(turn + i / VISIT_NODES) % (c->slots == 0 ? 4 : 3)][i % VISIT_NODES];
    else
      numbers[i] = c->one ? turn % 3 : chosen[turn % 3][i] % (gint64)c->n_branches;
}

/* Takes the rows in another order. */
static LoomValue
take_rows (LoomProgram *p, LoomValue v, LoomValue order)
{
  return loom_emit (p, loom_prim ("gather_rows"), NULL, 2, (LoomValue[]){ v, order }, NULL);
}

guint
visit_case_emit (const VisitCase *c, LoomProgram *p, gboolean recompute, LoomDType dtype, const LoomValue *in,
                 LoomValue *out)
{
  LoomVisitAttrs attrs = { .n_branches = c->n_branches,
                           .n_sizes = c->one ? 0 : 3,
                           .size = { n_rows (c), (n_rows (c) + 1) / 2, 1 },
                           .n_rows = c->n_rows,
                           .n_links = c->n_links,
                           .slots = n_slots (c),
                           .n_whole = c->n_whole,
                           .n_sums = c->one ? c->n_results : 0,
                           .n_row_results = c->one ? 0 : c->n_results,
                           .levels = is_tree (c),
                           .recompute = recompute };
  LoomOrderAttrs by = { .groups = c->n_branches, .slots = MAX (c->slots, 0) };
  LoomValue order[4], operand[VISIT_MAX_OPERANDS];
  guint n = 0, n_bodies = c->n_branches * MAX (attrs.n_sizes, 1);

  if (c->one)
    attrs.size[0] = 0;
  for (guint k = 0; k < n_bodies; k++)
    attrs.body[k] = c->body (k % c->n_branches, attrs.size[k / c->n_branches], dtype);
  loom_program_set_origin (p, "visit", NULL);
  if (c->one)
    operand[n++] = in[0];
  else
    {
      loom_emit (p, loom_prim (is_tree (c) ? "level_rows" : "group_rows"), &by, 1, in, order);
      operand[n++] = order[2];
      if (is_tree (c))
        operand[n++] = order[3];
    }
  for (guint i = 0; i < c->n_rows + c->n_whole; i++)
    operand[n++] = i < c->n_rows ? take_rows (p, in[1 + i], order[0]) : in[1 + i];
  loom_emit (p, loom_prim (c->one ? "switch" : "visit"), &attrs, n, operand, out);
  for (guint k = 0; k < n_bodies; k++)
    loom_program_unref (attrs.body[k]);
  for (guint o = 0; !c->one && o < c->n_results; o++)
    out[o] = take_rows (p, out[o], order[1]);
  return c->n_results;
}

/* [rows, d…] → row r as [1, d…] */
static LoomValue
row_of (LoomProgram *p, LoomValue v, gint64 r)
{
  LoomTensorDesc d = loom_value_info (p, v)->desc;
  gint64 start[LOOM_MAX_RANK] = { r }, step[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    step[i] = 1;
  d.dim[0] = 1;
  return loom_slice (p, v, start, step, d.dim);
}

/* The values of a body for one row with these inputs; out[] links first. */
static void
run_row (const VisitCase *c, LoomProgram *p, guint branch, gint64 size, LoomDType dtype, const LoomValue *in,
         LoomValue *out)
{
  g_autoptr (LoomProgram) body = c->body (branch, size, dtype);
  g_autofree LoomValue *map = g_new0 (LoomValue, loom_program_n_values (body) + 1);

  loom_program_inline (p, body, in, map);
  for (guint o = 0; o < c->n_links + c->n_results; o++)
    out[o] = map[loom_program_get_output (body, o)->value];
}

guint
visit_case_unroll (const VisitCase *c, LoomProgram *p, LoomDType dtype, const gint64 *numbers, const LoomValue *in,
                   LoomValue *out)
{
  gint64 rows = n_rows (c), dims[2] = { 1, WIDTH };
  LoomValue made[32][4], parts[32], now[VISIT_MAX_OPERANDS];
  guint children[32] = { 0 }, links = c->n_links * n_slots (c);
  LoomValue carried[32][4] = { { 0 } };

  g_assert (rows <= 32);
  loom_program_set_origin (p, "visit", NULL);
  if (c->one)
    {
      run_row (c, p, (guint)numbers[0], 0, dtype, in + 1, out);
      return c->n_results;
    }
  for (gint64 r = 0; r < rows; r++)
    {
      gint64 to = is_tree (c) && numbers[r] >= 0 ? r - r % VISIT_NODES + numbers[r] : -1;

      for (guint i = 0; i < c->n_rows; i++)
        now[i] = row_of (p, in[1 + i], r);
      for (guint k = 0; k < links; k++)
        now[c->n_rows + k] = carried[r][k] != 0 ? carried[r][k] : loom_fill (p, dtype, 2, dims, 0);
      for (guint k = 0; k < c->n_whole; k++)
        now[c->n_rows + links + k] = in[1 + c->n_rows + k];
      run_row (c, p, is_tree (c) ? 0 : (guint)numbers[r], 1, dtype, now, made[r]);
      for (guint l = 0; to >= 0 && l < c->n_links; l++)
        {
          LoomValue *at = &carried[to][l * n_slots (c) + (c->slots > 0 ? children[to] : 0)];

          *at = *at == 0 ? made[r][l] : add (p, *at, made[r][l]);
        }
      if (to >= 0)
        children[to]++;
    }
  for (guint o = 0; o < c->n_results; o++)
    {
      for (gint64 r = 0; r < rows; r++)
        parts[r] = made[r][c->n_links + o];
      out[o] = loom_concat (p, (guint)rows, parts, 0);
    }
  return c->n_results;
}
