/* Matrix multiplication with batch axes, transposition flags, bias and activation.
 *
 * Its gradients are multiplications with other flags, so no matrix is transposed in memory: for y = x·Wᵀ, dW = gᵀ·x and
 * dx = g·W. */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

static gboolean
infer_matmul (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomMatmulAttrs *at = attrs;
  const LoomTensorDesc *a = &in[0], *b = &in[1];
  LoomTensorDesc lead_a, lead_b;
  gint64 m, k, kb, n;

  if (!loom_prim_arity (n_in, 3, why))
    return FALSE;
  if (a->rank < 2 || b->rank < 2 || a->dtype != b->dtype || !loom_dtype_is_float (a->dtype))
    return loom_prim_refuse (why, "needs two matrices of one float type");
  m = a->dim[a->rank - (at->trans_a ? 1 : 2)];
  k = a->dim[a->rank - (at->trans_a ? 2 : 1)];
  kb = b->dim[b->rank - (at->trans_b ? 1 : 2)];
  n = b->dim[b->rank - (at->trans_b ? 2 : 1)];
  lead_a = *a;
  lead_b = *b;
  lead_a.rank -= 2;
  lead_b.rank -= 2;
  out[0] = *a;
  if (k != kb || !loom_desc_broadcast (&lead_a, &lead_b, &out[0]))
    {
      g_autofree char *sa = loom_desc_to_string (a), *sb = loom_desc_to_string (b);

      return loom_prim_refuse (why, "%s%s times %s%s", sa, at->trans_a ? "ᵀ" : "", sb, at->trans_b ? "ᵀ" : "");
    }
  if (at->has_bias != !desc_is_absent (&in[2]) || (at->has_bias && (in[2].rank != 1 || in[2].dim[0] != n)))
    return loom_prim_refuse (why, "the bias must have %" G_GINT64_FORMAT " elements", n);
  out[0].dim[out[0].rank++] = m;
  out[0].dim[out[0].rank++] = n;
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_matmul (const LoomGradCall *call)
{
  const LoomMatmulAttrs *at = call->instr->attrs;
  LoomProgram *p = call->p;
  LoomValue a = call->instr->in[0], b = call->instr->in[1], g = call->grad[0], v;
  const LoomTensorDesc *da = value_desc (p, a), *db = value_desc (p, b);

  /* Only the planner fuses an activation, after differentiation. */
  if (at->act != LOOM_SCALAR_ID)
    return FALSE;
  /* The weight's gradient comes first: after it `a` is often unused, and a's gradient can take its memory. */
  if (call->needed[1])
    {
      v = at->trans_b ? loom_matmul (p, g, a, TRUE, at->trans_a) : loom_matmul (p, a, g, !at->trans_a, FALSE);
      call->in_grad[1] = loom_sum_to (p, v, db->rank, db->dim);
    }
  if (call->needed[0])
    {
      v = at->trans_a ? loom_matmul (p, b, g, at->trans_b, TRUE) : loom_matmul (p, g, b, FALSE, !at->trans_b);
      call->in_grad[0] = loom_sum_to (p, v, da->rank, da->dim);
    }
  if (at->has_bias && call->needed[2])
    {
      const LoomTensorDesc *dc = value_desc (p, call->instr->in[2]);

      call->in_grad[2] = loom_sum_to (p, g, 1, dc->dim);
    }
  return TRUE;
}

/* The sum of aᵀ·b over iterations is one product over the rows of all iterations. */
static gboolean
sum_over_iterations_matmul (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                            const LoomValue *stack, LoomValue *sum)
{
  const LoomMatmulAttrs *a = attrs;
  LoomValue rows[2];

  if (!a->trans_a || a->trans_b || a->has_bias || a->act != LOOM_SCALAR_ID || in[0].rank != 2 || in[1].rank != 2)
    return FALSE;
  if (p == NULL)
    return TRUE;
  for (int k = 0; k < 2; k++)
    rows[k]
        = loom_reshape (p, stack[k], 2, (gint64[]){ value_desc (p, stack[k])->dim[0] * in[k].dim[0], in[k].dim[1] });
  *sum = loom_matmul (p, rows[0], rows[1], TRUE, FALSE);
  return TRUE;
}

/* Makes a stack of matrices one matrix with the rows of all. It is multiplied by a matrix that is the same in every
 * iteration. */
static LoomValue
rows_over_iterations (LoomProgram *p, const LoomMatmulAttrs *a, const LoomTensorDesc *x, const LoomValue *value)
{
  gint64 runs = value_desc (p, value[0])->dim[0], m = 1, k = x->dim[x->rank - 1], dims[LOOM_MAX_RANK];
  LoomValue in[3] = { 0, value[1], value[2] }, y;

  for (int i = 0; i < x->rank - 1; i++)
    m *= x->dim[i];
  in[0] = loom_reshape (p, value[0], 2, (gint64[]){ runs * m, k });
  y = loom_emit (p, loom_prim ("matmul"), a, 3, in, NULL);
  dims[0] = runs;
  for (int i = 0; i < x->rank - 1; i++)
    dims[i + 1] = x->dim[i];
  dims[x->rank] = value_desc (p, y)->dim[1];
  return loom_reshape (p, y, x->rank + 1, dims);
}

/* If there is no such matrix, the iterations are another leading batch axis; operands of lower rank get axes of size 1
 * after it. */
static gboolean
over_iterations_matmul (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                        const gboolean *is_stack, const LoomValue *value, LoomValue *all)
{
  const LoomMatmulAttrs *a = attrs;
  int rank = MAX (in[0].rank, in[1].rank);
  LoomValue operand[3] = { value[0], value[1], value[2] };

  if (rank == LOOM_MAX_RANK || is_stack[2])
    return FALSE;
  if (p == NULL)
    return TRUE;
  if (!is_stack[1] && in[1].rank == 2 && !a->trans_a)
    {
      *all = rows_over_iterations (p, a, &in[0], value);
      return TRUE;
    }
  for (int k = 0; k < 2; k++)
    {
      gint64 dims[LOOM_MAX_RANK];

      if (!is_stack[k])
        continue;
      dims[0] = value_desc (p, value[k])->dim[0];
      for (int i = 1; i <= rank; i++)
        dims[i] = i - 1 < rank - in[k].rank ? 1 : in[k].dim[i - 1 - (rank - in[k].rank)];
      operand[k] = loom_reshape (p, value[k], rank + 1, dims);
    }
  *all = loom_emit (p, loom_prim ("matmul"), a, 3, operand, NULL);
  return TRUE;
}

static double
flops_matmul (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  const LoomMatmulAttrs *a = attrs;

  return 2.0 * (double)loom_desc_count (&out[0]) * (double)in[0].dim[in[0].rank - (a->trans_a ? 2 : 1)];
}

static const LoomAttr matmul_attrs[] = { LOOM_ATTR ("trans_a", FLAG, LoomMatmulAttrs, trans_a),
                                         LOOM_ATTR ("trans_b", FLAG, LoomMatmulAttrs, trans_b),
                                         LOOM_ATTR (NULL, FLAG, LoomMatmulAttrs, has_bias),
                                         LOOM_ATTR ("act", SCALAR, LoomMatmulAttrs, act),
                                         LOOM_ATTR ("slope", SCALAR, LoomMatmulAttrs, derivative),
                                         LOOM_ATTR ("sum_b", FLAG, LoomMatmulAttrs, sum_b),
                                         LOOM_ATTR_LAST };

const LoomPrim loom_prim_matmul = { LOOM_PRIM_ROW ("matmul", CORE, 1),
                                    .separates_positions = loom_positions_matmul,
                                    .sharding = loom_shard_matmul,
                                    .doc = "Matrix product over the last two axes, with an optional bias.",
                                    .flags = LOOM_PRIM_PRODUCT,
                                    LOOM_PRIM_ATTRS (LoomMatmulAttrs, matmul_attrs),
                                    .infer = infer_matmul,
                                    .gradient = gradient_matmul,
                                    .flops = flops_matmul,
                                    .precision = LOOM_PRECISION_LOW,
                                    .sum_over_iterations = sum_over_iterations_matmul,
                                    .over_iterations = over_iterations_matmul };
