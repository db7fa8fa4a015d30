/* Exports linear algebra, of which ONNX has only the determinant, by unrolled loops over rows.
 *
 * A step is a dozen nodes for any batch, so small matrices make models of a few hundred nodes; larger ones are refused.
 * Matrices are a […,n,n], right sides b […,n,m]. */
#include "engine/onnx/onnx-export-prim.h"

#define MAX_ROWS      64
#define IN(i)         onnx_prim_in (q, i)
#define CALL(op, ...) onnx_call (q->all, op, ONNX_VARS (__VA_ARGS__))

static gboolean
rows_of (OnnxPrim *q, int *n)
{
  const LoomTensorDesc *d = onnx_prim_in_desc (q, 0);
  OnnxSize size = onnx_prim_dim (q, q->instr[0]->in[0], d->rank - 1);

  *n = (int)d->dim[d->rank - 1];
  if (onnx_size_is (&size, *n) && *n <= MAX_ROWS)
    return TRUE;
  onnx_refuse (q->w,
               "ONNX has no operator for %s; its expansion into other operators supports matrices with a fixed number "
               "of at most %d rows.",
               q->instr[0]->prim->name, MAX_ROWS);
  return FALSE;
}

/* Elements from … to - 1 along an axis that is counted from the end. */
static OnnxVar *
cut (OnnxPrim *q, OnnxVar *x, gint64 axis, gint64 from, gint64 to)
{
  return CALL ("Slice", x, onnx_ints_var (q->all, 1, &from), onnx_ints_var (q->all, 1, &to),
               onnx_ints_var (q->all, 1, &axis));
}

static OnnxVar *
join (OnnxPrim *q, guint n, OnnxVar **part, gint64 axis)
{
  OnnxOutNode *node = onnx_add_node (q->all, "Concat", n, part);

  onnx_node_set_int (q->all, node, "axis", axis);
  return n == 1 ? part[0] : onnx_node_result (q->all, node, 0);
}

static OnnxVar *
transposed (OnnxPrim *q, OnnxVar *x, gboolean turn)
{
  int rank = onnx_prim_in_desc (q, 0)->rank;
  gint64 order[LOOM_MAX_RANK];

  for (int i = 0; i < rank; i++)
    order[i] = i;
  if (turn)
    {
      order[rank - 2] = rank - 1;
      order[rank - 1] = rank - 2;
    }
  return onnx_transpose (q->all, x, (guint)rank, order);
}

/* [n, 1]: 1 for rows `from` to `to` - 1, 0 elsewhere. */
static OnnxVar *
row_mask (OnnxPrim *q, int n, int from, int to)
{
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_BOOL, 2, (gint64[]){ n, 1 }, NULL);
  g_autofree char *name = g_strdup_printf ("%s/rows", q->all->path);

  for (int i = from; i < to; i++)
    loom_tensor_set (t, i, 1);
  return onnx_tensor_var (q->all, t, name);
}

static OnnxVar *
row_numbers (OnnxPrim *q, int n)
{
  g_autoptr (LoomTensor) t = loom_tensor_new (LOOM_I64, 2, (gint64[]){ n, 1 }, NULL);
  g_autofree char *name = g_strdup_printf ("%s/row", q->all->path);

  for (int i = 0; i < n; i++)
    loom_tensor_set (t, i, i);
  return onnx_tensor_var (q->all, t, name);
}

/* Gauss and Jordan's elimination of [a | b] with partial pivoting: b becomes x. */
static gboolean
write_solve (OnnxPrim *q)
{
  const LoomSolveAttrs *a = q->instr[0]->attrs;
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype;
  int rank = onnx_prim_in_desc (q, 0)->rank, n;
  gint64 row_axis = rank - 2;
  OnnxVar *both[2], *m, *rows;

  if (!rows_of (q, &n))
    return FALSE;
  both[0] = transposed (q, IN (0), a->transpose);
  both[1] = IN (1);
  m = join (q, 2, both, -1);
  rows = row_numbers (q, n);
  for (int k = 0; k < n; k++)
    {
      OnnxVar *height = CALL ("Abs", cut (q, m, -1, k, k + 1));
      height = CALL ("Where", row_mask (q, n, k, n), height, onnx_number_var (q->all, dtype, -1));
      OnnxOutNode *best = onnx_add_node (q->all, "ArgMax", ONNX_VARS (height));
      onnx_node_set_int (q->all, best, "axis", row_axis);
      onnx_node_set_int (q->all, best, "keepdims", 1);
      OnnxVar *hit = CALL ("Equal", rows, onnx_node_result (q->all, best, 0));
      /* The pivot's row, as the sum of all rows with the others set to 0, is exchanged with row k. */
      OnnxVar *alone = CALL ("Where", hit, m, onnx_number_var (q->all, dtype, 0));
      OnnxVar *pivot = CALL ("ReduceSum", alone, onnx_ints_var (q->all, 1, &row_axis));
      m = CALL ("Where", hit, cut (q, m, -2, k, k + 1), m);
      pivot = CALL ("Div", pivot, cut (q, pivot, -1, k, k + 1));
      OnnxVar *rest = CALL ("Sub", m, CALL ("Mul", cut (q, m, -1, k, k + 1), pivot));
      m = CALL ("Where", row_mask (q, n, k, k + 1), pivot, rest);
    }
  onnx_prim_out (q, 0, cut (q, m, -1, n, G_MAXINT64));
  return !onnx_prim_is_wanted (q, 1) && !onnx_prim_is_wanted (q, 2);
}

ONNX_PRIM (solve, write_solve)

/* x[i] = (b[i] - a[i, solved] · x[solved]) / a[i, i], from the first row down or from the last one up. */
static gboolean
write_triangular_solve (OnnxPrim *q)
{
  const LoomTriangularSolveAttrs *attrs = q->instr[0]->attrs;
  gboolean up = attrs->upper != attrs->transpose;
  OnnxVar *a = transposed (q, IN (0), attrs->transpose), *x[MAX_ROWS], *y;
  int n;

  if (!rows_of (q, &n))
    return FALSE;
  if (n == 0)
    {
      onnx_prim_out (q, 0, IN (1));
      return TRUE;
    }
  for (int k = 0; k < n; k++)
    {
      int i = up ? n - 1 - k : k;
      OnnxVar *row = cut (q, a, -2, i, i + 1);
      y = cut (q, IN (1), -2, i, i + 1);
      if (k > 0)
        {
          OnnxVar *known = join (q, (guint)k, up ? x + i + 1 : x, -2);
          y = CALL ("Sub", y, CALL ("MatMul", up ? cut (q, row, -1, i + 1, n) : cut (q, row, -1, 0, i), known));
        }
      x[i] = attrs->unitriangular ? y : CALL ("Div", y, cut (q, row, -1, i, i + 1));
    }
  onnx_prim_out (q, 0, join (q, (guint)n, x, -2));
  return TRUE;
}

ONNX_PRIM (triangular_solve, write_triangular_solve)

/* The lower factor of (a + aᵀ) / 2, column by column. */
static gboolean
write_cholesky (OnnxPrim *q)
{
  LoomDType dtype = onnx_prim_in_desc (q, 0)->dtype;
  OnnxVar *column[MAX_ROWS], *a, *v;
  int n;

  if (!rows_of (q, &n))
    return FALSE;
  a = CALL ("Mul", CALL ("Add", IN (0), transposed (q, IN (0), TRUE)), onnx_number_var (q->all, dtype, 0.5));
  for (int k = 0; k < n; k++)
    {
      v = cut (q, a, -1, k, k + 1);
      if (k > 0)
        {
          OnnxVar *before = join (q, (guint)k, column, -1);
          v = CALL ("Sub", v, CALL ("MatMul", before, transposed (q, cut (q, before, -2, k, k + 1), TRUE)));
        }
      v = CALL ("Div", v, CALL ("Sqrt", cut (q, v, -2, k, k + 1)));
      column[k] = CALL ("Where", row_mask (q, n, k, n), v, onnx_number_var (q->all, dtype, 0));
    }
  onnx_prim_out (q, 0, n == 0 ? a : join (q, (guint)n, column, -1));
  return TRUE;
}

ONNX_PRIM (cholesky, write_cholesky)

static gboolean
write_det (OnnxPrim *q)
{
  onnx_prim_out (q, 0, CALL ("Det", IN (0)));
  return !onnx_prim_is_wanted (q, 1);
}

ONNX_PRIM (det, write_det)
