/* Exports modules that data choose.
 *
 * `switch` is an If, with more than two bodies nested Ifs. If each sample chooses (`visit`), ONNX cannot run a body
 * only on the rows that chose it, since its shapes would depend on the data; so every body is computed for all rows,
 * and Where selects each row's result.
 *
 * For trees a Loop has one iteration for each level. It computes all rows, of which those of the level are used. Links
 * from children to parents are a table to which ScatterND adds, with an additional row for the results of roots. A Scan
 * over the nodes finds the level of each, since children precede their parents. */
#include "engine/onnx/onnx-export-prim.h"
#include "engine/program/program-visit.h"

#define CALL(op, ...) onnx_call (q->all, op, ONNX_VARS (__VA_ARGS__))

static const LoomVisitAttrs *
attrs_of (const OnnxPrim *q, guint binding)
{
  return q->instr[binding]->attrs;
}

static OnnxVar *
number (OnnxPrim *q, double value)
{
  return onnx_number_var (q->all, LOOM_I64, value);
}

/* A dimension as a single number. */
static OnnxVar *
dim_number (OnnxPrim *q, LoomValue v, int axis)
{
  OnnxSize size = onnx_prim_dim (q, v, axis);
  OnnxVar *var = onnx_prim_sizes_var (q, 1, &size);

  return var != NULL ? onnx_var_is_ints (onnx_with_axes (q->all, "Squeeze", var, 1, (gint64[]){ 0 }), -1) : NULL;
}

/* x [rows] as [rows, 1, …], of this rank. */
static OnnxVar *
along_rows (OnnxPrim *q, OnnxVar *x, int rank)
{
  gint64 axes[LOOM_MAX_RANK];

  for (int i = 1; i < rank; i++)
    axes[i - 1] = i;
  return rank > 1 ? onnx_with_axes (q->all, "Unsqueeze", x, (guint)rank - 1, axes) : x;
}

/* ---- bodies ------------------------------------------------------------------ */

typedef struct
{
  OnnxPrim q;     /* the programs of the body */
  OnnxVar **free; /* owned */
} Body;

static void
body_clear (Body *b)
{
  g_free (b->free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Body, body_clear)

/* Writes body k at the current position. in: its inputs. */
static void
write_body (Body *b, const OnnxPrim *q, guint k, OnnxVar *const *in)
{
  *b = (Body){ .q = { .w = q->w, .all = q->all, .n = q->n } };
  for (guint i = 0; i < q->n; i++)
    b->q.p[i] = attrs_of (q, i)->body[k];
  b->q.var = b->free = g_new0 (OnnxVar *, loom_program_n_values (b->q.p[0]) + 1);
  for (guint i = 0; i < loom_program_n_inputs (b->q.p[0]); i++)
    b->q.var[loom_program_get_input (b->q.p[0], i)->value] = in[i];
  onnx_prim_write_program (&b->q);
}

static LoomValue
output_of (const Body *b, guint o)
{
  return loom_program_get_output (b->q.p[0], o)->value;
}

static OnnxVar *
result_of (Body *b, guint o)
{
  return b->q.w->failed ? NULL : onnx_prim_value (&b->q, output_of (b, o));
}

static int
rank_of (const Body *b, LoomValue v)
{
  return loom_value_info (b->q.p[0], v)->desc.rank;
}

/* The operands as inputs of a body; FALSE if one is absent. Links are left out. */
static gboolean
body_operands (OnnxPrim *q, OnnxVar **in)
{
  const LoomVisitAttrs *a = attrs_of (q, 0);

  for (guint i = 0; i < visit_n_inputs (a); i++)
    if (visit_operand (a, i) != G_MAXUINT && (in[i] = onnx_prim_in (q, visit_operand (a, i))) == NULL)
      return FALSE;
  return TRUE;
}

/* ---- one body for all rows ---------------------------------------------------- */

/* Body `from` or a later one, depending on the index. */
static void
write_choice (OnnxPrim *q, guint from, OnnxVar *const *in, OnnxVar **result)
{
  const LoomVisitAttrs *a = attrs_of (q, 0);
  GPtrArray *around = q->all->out_nodes;
  OnnxOutNode *node;

  if (from + 1 == a->n_branches)
    {
      g_auto (Body) b = { { 0 } };

      write_body (&b, q, from, in);
      for (guint o = 0; o < a->n_sums; o++)
        result[o] = result_of (&b, o);
      return;
    }
  node = onnx_add_node (q->all, "If", ONNX_VARS (CALL ("Equal", onnx_prim_in (q, 0), number (q, from))));
  for (guint branch = 0; branch < 2 && !q->w->failed; branch++)
    {
      OnnxBody *body = onnx_node_add_body (q->all, node, branch == 0 ? "then_branch" : "else_branch");
      g_autofree OnnxVar **out = g_new0 (OnnxVar *, a->n_sums + 1);
      g_auto (Body) b = { { 0 } };

      q->all->out_nodes = body->nodes;
      if (branch == 0)
        {
          write_body (&b, q, from, in);
          for (guint o = 0; o < a->n_sums; o++)
            out[o] = result_of (&b, o);
        }
      else
        write_choice (q, from + 1, in, out);
      for (guint o = 0; o < a->n_sums && !q->w->failed; o++)
        {
          LoomType type = onnx_prim_type (q, q->instr[0]->out[o]);

          onnx_prim_give (q, body, out[o], &type);
        }
      q->all->out_nodes = around;
    }
  for (guint o = 0; o < a->n_sums; o++)
    result[o] = onnx_node_result (q->all, node, o);
}

static gboolean
write_switch (OnnxPrim *q)
{
  const LoomVisitAttrs *a = attrs_of (q, 0);
  g_autofree OnnxVar **in = g_new0 (OnnxVar *, visit_n_inputs (a) + 1);
  g_autofree OnnxVar **out = g_new0 (OnnxVar *, a->n_sums + 1);

  if (!body_operands (q, in))
    return FALSE;
  write_choice (q, 0, in, out);
  for (guint o = 0; o < a->n_sums && !q->w->failed; o++)
    onnx_prim_out (q, o, out[o]);
  return TRUE;
}

ONNX_PRIM (switch, write_switch)

/* ---- a body for each row ------------------------------------------------------ */

static gboolean
write_rows (OnnxPrim *q)
{
  const LoomVisitAttrs *a = attrs_of (q, 0);
  g_autofree OnnxVar **in = g_new0 (OnnxVar *, visit_n_inputs (a) + 1);
  g_autofree OnnxVar **out = g_new0 (OnnxVar *, a->n_row_results + 1);

  if (!body_operands (q, in))
    return FALSE;
  for (guint k = 0; k < a->n_branches && !q->w->failed; k++)
    {
      OnnxVar *own = CALL ("Equal", onnx_prim_in (q, 0), number (q, k));
      g_auto (Body) b = { { 0 } };

      write_body (&b, q, k, in);
      for (guint o = 0; o < a->n_row_results && !q->w->failed; o++)
        {
          OnnxVar *given = result_of (&b, o);

          out[o] = k == 0 ? given : CALL ("Where", along_rows (q, own, rank_of (&b, output_of (&b, o))), given, out[o]);
        }
    }
  for (guint o = 0; o < a->n_row_results && !q->w->failed; o++)
    onnx_prim_out (q, o, out[o]);
  return TRUE;
}

/* ---- trees -------------------------------------------------------------------- */

/* Zeros of a value's shape; with `slots` its first dimension is slots times as large, plus one. */
static OnnxVar *
zeros_like (OnnxPrim *q, const OnnxPrim *of, LoomValue v, gint64 slots)
{
  const LoomTensorDesc *d = &loom_value_info (of->p[0], v)->desc;
  OnnxSize size[LOOM_MAX_RANK];
  OnnxVar *shape;

  for (int i = 0; i < d->rank; i++)
    {
      gint64 n[ONNX_BINDINGS] = { 0 };

      for (guint k = 0; k < q->n; k++)
        {
          n[k] = loom_value_info (of->p[k], v)->desc.dim[i];
          n[k] = i == 0 && slots > 0 ? n[k] * slots + 1 : n[k];
        }
      size[i] = onnx_prim_size (q, n);
    }
  shape = onnx_prim_sizes_var (q, (guint)d->rank, size);
  return shape == NULL ? NULL : CALL ("Expand", onnx_number_var (q->all, d->dtype, 0), shape);
}

/* The rows in one slot of a link's table: [rows, …]. */
static OnnxVar *
read_slot (OnnxPrim *q, OnnxVar *table, OnnxVar *rows, guint slot)
{
  OnnxVar *from = CALL ("Mul", rows, onnx_ints_var (q->all, 1, (gint64[]){ slot }));

  return CALL ("Slice", table, from, CALL ("Add", from, rows), onnx_ints_var (q->all, 1, (gint64[]){ 0 }));
}

static OnnxVar *
add_state (OnnxPrim *q, GPtrArray *first, OnnxVar *zeros)
{
  g_ptr_array_add (first, zeros);
  return onnx_var_new (q->all, "state");
}

/* One level. state: the tables of links, then the results so far, both before and after. */
static void
write_level (OnnxPrim *q, OnnxVar *level, OnnxVar *rows, OnnxVar **in, OnnxVar **state)
{
  const LoomVisitAttrs *a = attrs_of (q, 0);
  OnnxVar *own = CALL ("Equal", onnx_prim_in (q, 0), level);
  OnnxVar *dest = onnx_with_axes (q->all, "Unsqueeze", onnx_prim_in (q, 1), 1, (gint64[]){ 1 });
  guint links = visit_n_links_in (a);
  g_auto (Body) b = { { 0 } };

  for (guint i = 0; i < links; i++)
    in[a->n_rows + i] = read_slot (q, state[i / a->slots], rows, i % a->slots);
  for (guint i = 0; i < a->n_counters; i++)
    in[a->n_rows + links + i] = CALL ("Add", in[a->n_rows + links + i], level);
  write_body (&b, q, 0, in);
  for (guint o = 0; o < a->n_links + a->n_row_results && !q->w->failed; o++)
    {
      LoomValue v = output_of (&b, o);
      OnnxVar *mask = along_rows (q, own, rank_of (&b, v)), *given = result_of (&b, o);

      if (o < a->n_links)
        {
          OnnxVar *zero = onnx_number_var (q->all, loom_value_info (b.q.p[0], v)->desc.dtype, 0);
          OnnxOutNode *add
              = onnx_add_node (q->all, "ScatterND", ONNX_VARS (state[o], dest, CALL ("Where", mask, given, zero)));

          onnx_node_set_string (q->all, add, "reduction", "add");
          state[o] = onnx_node_result (q->all, add, 0);
        }
      else
        state[o] = CALL ("Where", mask, given, state[o]);
    }
}

static gboolean
write_levels (OnnxPrim *q)
{
  const LoomVisitAttrs *a = attrs_of (q, 0);
  guint n = a->n_links + a->n_row_results;
  g_autofree OnnxVar **in = g_new0 (OnnxVar *, visit_n_inputs (a) + 1), **state = g_new0 (OnnxVar *, n + 1);
  g_autofree LoomType *type = g_new0 (LoomType, n + 1);
  g_autoptr (GPtrArray) first = g_ptr_array_new ();
  GPtrArray *around = q->all->out_nodes;
  OnnxPrim of = { .w = q->w, .all = q->all, .n = q->n };
  OnnxSize n_rows = onnx_prim_dim (q, q->instr[0]->in[0], 0);
  OnnxVar *rows = onnx_prim_sizes_var (q, 1, &n_rows), *level, *goes_on;
  OnnxOutNode *node;
  OnnxBody *body;

  if (rows == NULL || !body_operands (q, in))
    return FALSE;
  for (guint k = 0; k < q->n; k++)
    of.p[k] = attrs_of (q, k)->body[0];
  node = onnx_add_node (q->all, "ReduceMax", ONNX_VARS (onnx_prim_in (q, 0)));
  onnx_node_set_int (q->all, node, "keepdims", 0);
  g_ptr_array_add (first, CALL ("Add", onnx_node_result (q->all, node, 0), number (q, 1)));
  g_ptr_array_add (first, NULL);
  for (guint o = 0; o < n; o++)
    {
      LoomValue v = loom_program_get_output (of.p[0], o)->value;

      type[o] = onnx_prim_type (&of, v);
      if (o < a->n_links)
        type[o].shape.dim[0] = loom_dim_unknown ();
      state[o] = add_state (q, first, zeros_like (q, &of, v, o < a->n_links ? a->slots : 0));
      if (q->w->failed)
        return FALSE;
    }
  node = onnx_add_node (q->all, "Loop", first->len, (OnnxVar **)first->pdata);
  body = onnx_node_add_body (q->all, node, "body");
  level = onnx_var_new (q->all, "level");
  goes_on = onnx_var_new (q->all, "goes_on");
  level->type = (LoomType){ .dtype = LOOM_I64 };
  goes_on->type = (LoomType){ .dtype = LOOM_BOOL };
  g_ptr_array_add (body->inputs, level);
  g_ptr_array_add (body->inputs, goes_on);
  for (guint o = 0; o < n; o++)
    {
      state[o]->type = type[o];
      g_ptr_array_add (body->inputs, state[o]);
    }
  q->all->out_nodes = body->nodes;
  write_level (q, level, rows, in, state);
  if (!q->w->failed)
    onnx_prim_give (q, body, goes_on, &goes_on->type);
  for (guint o = 0; o < n && !q->w->failed; o++)
    onnx_prim_give (q, body, state[o], &type[o]);
  q->all->out_nodes = around;
  for (guint o = 0; o < a->n_row_results && !q->w->failed; o++)
    onnx_prim_out (q, o, onnx_node_result (q->all, node, a->n_links + o));
  return TRUE;
}

static gboolean
write_visit (OnnxPrim *q)
{
  const LoomVisitAttrs *a = attrs_of (q, 0);

  if (a->n_sums > 0 || a->down)
    return FALSE;
  return a->n_links > 0 ? write_levels (q) : write_rows (q);
}

ONNX_PRIM (visit, write_visit)

/* ---- orders ------------------------------------------------------------------------ */

static OnnxVar *
count_to (OnnxPrim *q, OnnxVar *n)
{
  OnnxVar *v = CALL ("Range", number (q, 0), n, number (q, 1));

  onnx_var_set_type (v, &(LoomType){ LOOM_I64, { .rank = 1, .dim = { loom_dim_unknown () } } });
  return v;
}

/* All rows are computed at once, so they need not be sorted. */
static void
keep_order (OnnxPrim *q, OnnxVar *n_rows)
{
  OnnxVar *order = count_to (q, n_rows);

  order->counts = TRUE;
  onnx_prim_out (q, 0, order);
  onnx_prim_out (q, 1, order);
}

static gboolean
write_groups (OnnxPrim *q)
{
  OnnxVar *n = dim_number (q, q->instr[0]->in[0], 0);

  if (n == NULL)
    return FALSE;
  keep_order (q, n);
  onnx_prim_out (q, 2, onnx_prim_in (q, 0));
  return TRUE;
}

ONNX_PRIM (group_rows, write_groups)

/* One node of each tree: increases its parent's level, and finds the number of siblings before it. */
static void
write_node (OnnxPrim *q, OnnxBody *body, OnnxVar *nodes)
{
  OnnxVar *level = body->inputs->pdata[0], *children = body->inputs->pdata[1];
  OnnxVar *parent = onnx_with_axes (q->all, "Unsqueeze", body->inputs->pdata[2], 1, (gint64[]){ 1 });
  OnnxVar *is_parent = CALL ("Equal", nodes, parent), *before;
  OnnxOutNode *own = onnx_add_node (q->all, "Gather", ONNX_VARS (level, body->inputs->pdata[3])), *sum;
  LoomType type = ((OnnxVar *)body->inputs->pdata[2])->type;

  onnx_node_set_int (q->all, own, "axis", 1);
  before = onnx_with_axes (q->all, "Unsqueeze", onnx_node_result (q->all, own, 0), 1, (gint64[]){ 1 });
  before = CALL ("Max", level, CALL ("Add", before, number (q, 1)));
  onnx_prim_give (q, body, CALL ("Where", is_parent, before, level), &level->type);
  onnx_prim_give (q, body, CALL ("Add", children, onnx_to_type (q->all, is_parent, LOOM_BOOL, LOOM_I64)),
                  &children->type);
  sum = onnx_add_node (
      q->all, "ReduceSum",
      ONNX_VARS (CALL ("Where", is_parent, children, number (q, 0)), onnx_ints_var (q->all, 1, (gint64[]){ 1 })));
  onnx_node_set_int (q->all, sum, "keepdims", 0);
  onnx_prim_give (q, body, onnx_node_result (q->all, sum, 0), &type);
}

/* The level and the index among its siblings of each node [B, N]. */
static void
find_levels (OnnxPrim *q, OnnxVar *parent, OnnxVar *nodes, OnnxVar **level, OnnxVar **child)
{
  OnnxVar *zeros = CALL ("Mul", parent, number (q, 0));
  OnnxOutNode *node = onnx_add_node (q->all, "Scan", ONNX_VARS (zeros, zeros, parent, nodes));
  OnnxBody *body = onnx_node_add_body (q->all, node, "body");
  GPtrArray *around = q->all->out_nodes;
  static const char *const names[] = { "level", "children", "parent", "node" };
  static const int ranks[] = { 2, 2, 1, 0 };
  guint stacked;

  onnx_node_set_int (q->all, node, "num_scan_inputs", 2);
  onnx_node_set_ints (q->all, node, "scan_input_axes", 2, (gint64[]){ 1, 0 });
  onnx_node_set_ints (q->all, node, "scan_output_axes", 1, (gint64[]){ 1 });
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      OnnxVar *v = onnx_var_new (q->all, names[i]);

      v->type = (LoomType){ .dtype = LOOM_I64, .shape = { .rank = ranks[i] } };
      for (int d = 0; d < ranks[i]; d++)
        v->type.shape.dim[d] = loom_dim_unknown ();
      g_ptr_array_add (body->inputs, v);
    }
  q->all->out_nodes = body->nodes;
  write_node (q, body, nodes);
  stacked = 2 + onnx_prim_close (q->all, node, body, 2);
  q->all->out_nodes = around;
  *level = onnx_node_result (q->all, node, 0);
  *child = onnx_node_result (q->all, node, stacked);
}

static gboolean
write_tree (OnnxPrim *q)
{
  const LoomOrderAttrs *a = q->instr[0]->attrs;
  LoomValue v = q->instr[0]->in[0];
  OnnxVar *parent = onnx_prim_in (q, 0), *trees = dim_number (q, v, 0), *n = dim_number (q, v, 1), *level, *child;
  OnnxVar *rows, *dest, *flat = onnx_ints_var (q->all, 1, (gint64[]){ -1 });

  if (parent == NULL || trees == NULL || n == NULL)
    return FALSE;
  find_levels (q, parent, count_to (q, n), &level, &child);
  rows = CALL ("Mul", trees, n);
  dest = CALL ("Mul", onnx_with_axes (q->all, "Unsqueeze", count_to (q, trees), 1, (gint64[]){ 1 }), n);
  dest = CALL ("Add", dest, parent);
  if (a->slots > 0)
    dest = CALL ("Add", dest, CALL ("Mul", child, rows));
  dest = CALL ("Where", CALL ("Less", parent, number (q, 0)), CALL ("Mul", rows, number (q, (double)MAX (a->slots, 1))),
               dest);
  keep_order (q, rows);
  onnx_prim_out (q, 2, CALL ("Reshape", level, flat));
  onnx_prim_out (q, 3, CALL ("Reshape", dest, flat));
  return TRUE;
}

ONNX_PRIM (level_rows, write_tree)
