/* Convenience emitters (loom_binary(), loom_reshape(), loom_matmul() …) for the primitives that operators, gradients
 * and expansions use most.
 *
 * They fold trivial cases (a reshape to the same shape, arithmetic on constants): a gradient begins with ones, and
 * products with these would run through the whole backward region. Other primitives are emitted by loom_emit() or by a
 * function in the primitive's file, such as loom_gather() in prim-index.c. */
#include "engine/program/loom-prim.h"
#include "engine/program/prim-private.h"

static const LoomPrim *
scalar_prim (LoomScalarOp op)
{
  return loom_prim (loom_scalar_name (op));
}

gboolean
loom_value_is_fill (const LoomProgram *p, LoomValue v, double *value)
{
  const LoomValueInfo *info = loom_value_info (p, v);
  const LoomInstr *instr;

  if (info->producer == G_MAXUINT)
    return FALSE;
  instr = loom_program_instr (p, info->producer);
  if (instr->prim->constant == NULL)
    return FALSE;
  *value = instr->prim->constant (instr->attrs);
  return TRUE;
}

LoomValue
loom_unary (LoomProgram *p, LoomScalarOp op, LoomValue a)
{
  return loom_emit (p, scalar_prim (op), NULL, 1, &a, NULL);
}

/* Folds an operation on constants; FALSE for operations that are too rare in programs. */
static gboolean
fold (LoomScalarOp op, double a, double b, double *result)
{
  if (op == LOOM_SCALAR_ADD)
    *result = a + b;
  else if (op == LOOM_SCALAR_SUB)
    *result = a - b;
  else if (op == LOOM_SCALAR_MUL)
    *result = a * b;
  else if (op == LOOM_SCALAR_DIV)
    *result = a / b;
  else
    return FALSE;
  return TRUE;
}

LoomValue
loom_binary (LoomProgram *p, LoomScalarOp op, LoomValue a, LoomValue b)
{
  LoomValue in[2] = { a, b };
  const LoomTensorDesc *da = value_desc (p, a), *db = value_desc (p, b);
  double va, vb, value;
  gboolean fill_a = loom_value_is_fill (p, a, &va), fill_b = loom_value_is_fill (p, b, &vb);
  LoomTensorDesc shape = { 0 };

  if (da->dtype == db->dtype && loom_dtype_is_float (da->dtype) && loom_desc_broadcast (da, db, &shape))
    {
      if (fill_a && fill_b && fold (op, va, vb, &value))
        return loom_fill (p, da->dtype, shape.rank, shape.dim, value);
      if (op == LOOM_SCALAR_MUL && fill_a && va == 1.0 && loom_desc_same_shape (db, &shape))
        return b;
      if ((op == LOOM_SCALAR_MUL || op == LOOM_SCALAR_DIV) && fill_b && vb == 1.0 && loom_desc_same_shape (da, &shape))
        return a;
    }
  return loom_emit (p, scalar_prim (op), NULL, 2, in, NULL);
}

LoomValue
loom_ternary (LoomProgram *p, LoomScalarOp op, LoomValue a, LoomValue b, LoomValue c)
{
  LoomValue in[3] = { a, b, c };

  return loom_emit (p, scalar_prim (op), NULL, 3, in, NULL);
}

LoomValue
loom_fill (LoomProgram *p, LoomDType dtype, int rank, const gint64 *dims, double value)
{
  LoomFillTo attrs = { .kernel.value = value, .dtype = dtype, .to.rank = rank };

  for (int i = 0; i < rank; i++)
    attrs.to.dim[i] = dims[i];
  return loom_emit (p, loom_prim ("fill"), &attrs, 0, NULL, NULL);
}

LoomValue
loom_const (LoomProgram *p, LoomDType dtype, double value)
{
  /* A 16-bit type would round the constant. */
  return loom_fill (p, dtype_computed (dtype), 0, NULL, value);
}

LoomValue
loom_cast (LoomProgram *p, LoomValue a, LoomDType dtype)
{
  LoomCopyTo attrs = { dtype };

  if (value_desc (p, a)->dtype == dtype)
    return a;
  return loom_emit (p, loom_prim ("copy"), &attrs, 1, &a, NULL);
}

LoomValue
loom_require (LoomProgram *p, LoomValue value, LoomValue ok, const char *what)
{
  LoomRequireAttrs attrs = { "" };
  LoomValue in[2] = { value, ok };

  if (g_strlcpy (attrs.what, what, sizeof attrs.what) >= sizeof attrs.what)
    g_assert_not_reached (); /* no operator has a longer sentence */
  return loom_emit (p, loom_prim ("require"), &attrs, 2, in, NULL);
}

LoomValue
loom_detach (LoomProgram *p, LoomValue a)
{
  return loom_emit (p, loom_prim ("detach"), NULL, 1, &a, NULL);
}

LoomValue
loom_matmul (LoomProgram *p, LoomValue a, LoomValue b, gboolean trans_a, gboolean trans_b)
{
  LoomMatmulAttrs attrs = { .trans_a = trans_a, .trans_b = trans_b, .act = LOOM_SCALAR_ID };
  LoomValue in[3] = { a, b, 0 };

  return loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, NULL);
}

LoomValue
loom_reduce (LoomProgram *p, LoomReduceOp op, LoomValue a, guint32 axes, gboolean keepdim)
{
  LoomReduceAttrs attrs = { op, axes };
  LoomTensorDesc x = *value_desc (p, a);
  gint64 dims[LOOM_MAX_RANK];
  int rank = 0;
  gboolean trivial = op != LOOM_REDUCE_SUM || x.dtype != LOOM_BOOL;

  for (int i = 0; i < x.rank; i++)
    {
      if ((axes >> i & 1) == 0)
        dims[rank++] = x.dim[i];
      else if (x.dim[i] != 1)
        trivial = FALSE;
    }
  /* Sums of 16-bit floats remain f32, because readers often add to them or choose a type. */
  if (!trivial && op != LOOM_REDUCE_MAX && op != LOOM_REDUCE_MIN)
    a = loom_cast (p, a, dtype_computed (x.dtype));
  if (!trivial)
    a = loom_emit (p, loom_prim ("reduce"), &attrs, 1, &a, NULL);
  return keepdim ? a : loom_reshape (p, a, rank, dims);
}

/* a in another shape, by "reshape" or "expand": a itself if the shape is equal, a new fill if a is a fill. */
static LoomValue
in_shape (LoomProgram *p, const char *prim, LoomValue a, int rank, const gint64 *dims)
{
  LoomDims to = { .rank = rank };
  LoomTensorDesc desc = loom_desc_make (value_desc (p, a)->dtype, rank, dims);
  double value;

  for (int i = 0; i < rank; i++)
    to.dim[i] = dims[i];
  if (loom_desc_same_shape (&desc, value_desc (p, a)))
    return a;
  if (loom_value_is_fill (p, a, &value))
    return loom_fill (p, desc.dtype, rank, dims, value);
  return loom_emit (p, loom_prim (prim), &to, 1, &a, NULL);
}

LoomValue
loom_reshape (LoomProgram *p, LoomValue a, int rank, const gint64 *dims)
{
  return in_shape (p, "reshape", a, rank, dims);
}

LoomValue
loom_expand_to (LoomProgram *p, LoomValue a, int rank, const gint64 *dims)
{
  return in_shape (p, "expand", a, rank, dims);
}

LoomValue
loom_sum_to (LoomProgram *p, LoomValue a, int rank, const gint64 *dims)
{
  LoomTensorDesc from = *value_desc (p, a);
  guint32 axes = 0;
  int lead = from.rank - rank;

  g_return_val_if_fail (lead >= 0, a);

  for (int i = 0; i < from.rank; i++)
    {
      if (i < lead || (dims[i - lead] == 1 && from.dim[i] != 1))
        axes |= 1u << i;
    }
  if (axes != 0)
    a = loom_reduce (p, LOOM_REDUCE_SUM, a, axes, TRUE);
  return loom_reshape (p, a, rank, dims);
}

LoomValue
loom_permute (LoomProgram *p, LoomValue a, const int *perm)
{
  LoomPermuteAttrs attrs = { 0 };
  int rank = value_desc (p, a)->rank;
  gboolean same = TRUE;

  for (int i = 0; i < rank; i++)
    {
      attrs.perm[i] = perm[i];
      same = same && perm[i] == i;
    }
  return same ? a : loom_emit (p, loom_prim ("permute"), &attrs, 1, &a, NULL);
}

/* Sets the starts, steps (step NULL: 1) and sizes of a slice or pad of x; TRUE if it is x itself. */
static gboolean
set_steps (const LoomTensorDesc *x, const gint64 *start, const gint64 *step, const gint64 *to, gint64 *starts,
           gint64 *steps, gint64 *sizes)
{
  gboolean same = TRUE;

  for (int i = 0; i < x->rank; i++)
    {
      starts[i] = start[i];
      steps[i] = step != NULL ? step[i] : 1;
      sizes[i] = to[i];
      same = same && to[i] == x->dim[i] && steps[i] > 0;
    }
  return same;
}

LoomValue
loom_slice (LoomProgram *p, LoomValue a, const gint64 *start, const gint64 *step, const gint64 *to)
{
  LoomTensorDesc x = *value_desc (p, a);
  LoomSliceTo attrs = { .to.rank = x.rank };
  gboolean same = set_steps (&x, start, step, to, attrs.kernel.start, attrs.kernel.step, attrs.to.dim);

  return same ? a : loom_emit (p, loom_prim ("slice"), &attrs, 1, &a, NULL);
}

LoomValue
loom_pad (LoomProgram *p, LoomValue a, const gint64 *start, const gint64 *step, const gint64 *to, double value)
{
  LoomTensorDesc x = *value_desc (p, a);
  LoomPadTo attrs = { .kernel.value = value, .to.rank = x.rank };
  gboolean same = set_steps (&x, start, step, to, attrs.kernel.start, attrs.kernel.step, attrs.to.dim);

  return same ? a : loom_emit (p, loom_prim ("pad"), &attrs, 1, &a, NULL);
}

LoomValue
loom_concat (LoomProgram *p, guint n, const LoomValue *parts, int axis)
{
  LoomConcatAttrs attrs = { axis };

  return n == 1 ? parts[0] : loom_emit (p, loom_prim ("concat"), &attrs, n, parts, NULL);
}

LoomValue
loom_sum_all (LoomProgram *p, LoomValue a)
{
  return loom_reduce (p, LOOM_REDUCE_SUM, a, (1u << value_desc (p, a)->rank) - 1, FALSE);
}

LoomValue
loom_mean_all (LoomProgram *p, LoomValue a)
{
  LoomTensorDesc x = *value_desc (p, a);
  LoomValue sum = loom_sum_all (p, a);

  return loom_binary (p, LOOM_SCALAR_DIV, sum, loom_const (p, x.dtype, (double)loom_desc_count (&x)));
}
