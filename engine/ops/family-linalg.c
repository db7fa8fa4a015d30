/* Implements the rules of operators on matrices; see family-linalg.h. */
#include "engine/ops/family-linalg.h"

gboolean
loom_op_matrix_square (LoomInfer *ctx, guint i, const char *port)
{
  const LoomType *t = loom_infer_input (ctx, i);
  g_autofree char *shape = loom_shape_to_string (&t->shape);

  if (!loom_op_needs_float (ctx, i, port, NULL)
      || !loom_op_rank (ctx, i, port, 2, LOOM_SHAPE_MAX_RANK, "square matrices [… , n, n]", "Reshape it first."))
    return FALSE;
  if (loom_dim_compatible (t->shape.dim[t->shape.rank - 1], t->shape.dim[t->shape.rank - 2]))
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, port, "%s needs square matrices, but the last two sizes of %s differ.",
                    loom_infer_op (ctx)->name, shape);
  return FALSE;
}

gboolean
loom_op_matrix_lead (LoomInfer *ctx, const LoomShape *a, const LoomShape *b, LoomShape *lead)
{
  LoomShape x = *a, y = *b;
  g_autofree char *sa = loom_shape_to_string (a), *sb = loom_shape_to_string (b);

  x.rank = MAX (0, x.rank - 2);
  y.rank = MAX (0, y.rank - 2);
  if (loom_shape_broadcast (&x, &y, lead))
    return TRUE;
  loom_infer_fault (ctx, LOOM_ERROR_SHAPE, loom_infer_op (ctx)->inputs[1].name,
                    "%s and %s do not broadcast: the sizes before the last two must be equal or 1.", sa, sb);
  return FALSE;
}

LoomValue
loom_op_matrix_transposed (LoomProgram *p, LoomValue a)
{
  int rank = loom_value_info (p, a)->desc.rank, perm[LOOM_MAX_RANK];

  for (int i = 0; i < rank; i++)
    perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  return loom_permute (p, a, perm);
}

void
loom_op_matrix_batch (LoomProgram *p, LoomValue *a, LoomValue *b)
{
  LoomTensorDesc da = loom_value_info (p, *a)->desc, db = loom_value_info (p, *b)->desc;
  int rank = MAX (da.rank, db.rank);
  gint64 to_a[LOOM_MAX_RANK], to_b[LOOM_MAX_RANK];

  for (int i = 1; i <= rank; i++)
    {
      gint64 na = i <= da.rank ? da.dim[da.rank - i] : 1, nb = i <= db.rank ? db.dim[db.rank - i] : 1;

      to_a[rank - i] = i > 2 && na == 1 ? nb : na;
      to_b[rank - i] = i > 2 && nb == 1 ? na : nb;
    }
  *a = loom_expand_to (p, *a, rank, to_a);
  *b = loom_expand_to (p, *b, rank, to_b);
}

double
loom_op_cubic_flops (const LoomInfer *ctx)
{
  const LoomShape *shape = &loom_infer_input (ctx, 0)->shape;

  return loom_op_input_count (ctx, 0) * (double)shape->dim[shape->rank - 1].coef;
}
