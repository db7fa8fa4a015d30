/* The primitives of embeddings: gather_rows (rows of a table by index) and its gradient scatter_add_rows. */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

/* table [V, d…], index [i…] → y [i…, d…] */
static gboolean
infer_gather (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 2, why))
    return FALSE;
  if (in[0].rank < 1 || loom_dtype_is_float (in[1].dtype) || in[0].rank - 1 + in[1].rank > LOOM_MAX_RANK)
    return loom_prim_refuse (why, "needs a table and integer indices");
  out[0] = in[1];
  out[0].dtype = in[0].dtype;
  for (int i = 1; i < in[0].rank; i++)
    out[0].dim[out[0].rank++] = in[0].dim[i];
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_gather (const LoomGradCall *call)
{
  LoomValue in[2] = { call->instr->in[1], call->grad[0] };
  LoomScatterTo attrs = { value_desc (call->p, call->instr->in[0])->dim[0] };

  call->in_grad[0] = loom_emit (call->p, loom_prim ("scatter_add_rows"), &attrs, 2, in, NULL);
  return TRUE;
}

static double
flops_none (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 0;
}

static gboolean
over_iterations_gather (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                        const gboolean *is_stack, const LoomValue *value, LoomValue *all)
{
  if (is_stack[0] || in[0].rank + in[1].rank > LOOM_MAX_RANK)
    return FALSE;
  if (p != NULL)
    *all = loom_emit (p, loom_prim ("gather_rows"), NULL, 2, value, NULL);
  return TRUE;
}

const LoomPrim loom_prim_gather_rows = { LOOM_PRIM_ROW ("gather_rows", CORE, 1),
                                         .separates_positions = loom_positions_gather_rows,
                                         .sharding = loom_shard_gather_rows,
                                         .doc = "Rows of a table by index.",
                                         .infer = infer_gather,
                                         .gradient = gradient_gather,
                                         .flops = flops_none,
                                         .over_iterations = over_iterations_gather };

/* index [i…], g [i…, d…] → table [rows, d…]; the rows g of equal indices are summed. */
static gboolean
infer_scatter (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomScatterTo *a = attrs;
  LoomTensorDesc lead;

  if (!loom_prim_arity (n_in, 2, why))
    return FALSE;
  lead = in[1];
  lead.rank = in[0].rank;
  if (in[1].rank < in[0].rank || loom_dtype_is_float (in[0].dtype) || !loom_desc_same_shape (&lead, &in[0]))
    return loom_prim_refuse (why, "needs integer indices and a row for each");
  out[0] = loom_desc_make (in[1].dtype, 1, &a->rows);
  for (int i = in[0].rank; i < in[1].rank; i++)
    out[0].dim[out[0].rank++] = in[1].dim[i];
  *n_out = 1;
  return TRUE;
}

static gboolean
gradient_scatter (const LoomGradCall *call)
{
  LoomValue in[2] = { call->grad[0], call->instr->in[0] };

  call->in_grad[1] = loom_emit (call->p, loom_prim ("gather_rows"), NULL, 2, in, NULL);
  return TRUE;
}

static double
flops_scatter (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return (double)loom_desc_count (&in[1]);
}

static const LoomAttr scatter_attrs[] = { LOOM_ATTR ("rows", INT, LoomScatterTo, rows), LOOM_ATTR_LAST };

const LoomPrim loom_prim_scatter_add_rows = { LOOM_PRIM_ROW ("scatter_add_rows", CORE, 1),
                                              .sharding = loom_shard_scatter_add_rows,
                                              .doc = "Adds rows into a table of zeros by index.",
                                              LOOM_PRIM_ATTRS (LoomScatterTo, scatter_attrs),
                                              .infer = infer_scatter,
                                              .gradient = gradient_scatter,
                                              .flops = flops_scatter };
