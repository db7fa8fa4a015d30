/* Fuses the gradient of a bias into the product that computes the gradient of the weights. Both read the cotangent, so
 * the product sums it as well, on devices that have such a product (kernels/product.h). */
#include "engine/plan/plan-private.h"
#include "kernels/product.h"

/* TRUE if v, or a value with its bytes, is read after the instruction. */
static gboolean
is_read_after (PlanGraph *g, guint v, const PlanNode *instr)
{
  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL; use = use->next)
    if (use->instr != NULL ? !node_is_before (instr, use->instr) : !is_read_after (g, use->at, instr))
      return FALSE;
  return TRUE;
}

/* TRUE if `sum` adds up the rows of a, which has k · m elements, perhaps in a shape of more than two axes. */
static gboolean
is_sum_of_rows (PlanGraph *g, const PlanNode *sum, guint a, gint64 k, gint64 m)
{
  const LoomReduceAttrs *attrs = sum->attrs;
  const LoomTensorDesc *d = &graph_value (g, node_in (sum, 0))->desc;

  return attrs->op == LOOM_REDUCE_SUM && d->rank > 1 && d->dim[d->rank - 1] == m && loom_desc_count (d) == k * m
         && attrs->axes == (1u << (d->rank - 1)) - 1 && d->dtype == graph_value (g, a)->desc.dtype;
}

/* Finds the sum among the readers of a or of its bytes. */
static PlanNode *
find_sum (PlanGraph *g, guint v, guint a, gint64 k, gint64 m, const PlanNode *product)
{
  PlanNode *found = NULL;

  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL && found == NULL; use = use->next)
    if (use->instr == NULL)
      found = find_sum (g, use->at, a, k, m, product);
    else if (node_is (use->instr, "reduce") && use->instr->device_name == product->device_name
             && is_sum_of_rows (g, use->instr, a, k, m) && is_read_after (g, node_out (use->instr, 0), product))
      found = use->instr;
  return found;
}

/* The sum of operand k, if the product reads it as [inner, …]: the cotangent G in y = x·Wᵀ, whose weights have the
 * gradient Gᵀ·x, or in y = x·W and xᵀ·G. */
static PlanNode *
sum_of_operand (PlanGraph *g, const PlanNode *product, guint k)
{
  const LoomMatmulAttrs *attrs = product->attrs;
  const guint v = node_in (product, k);
  const LoomTensorDesc *d = &graph_value (g, v)->desc;

  if ((k == 0 ? !attrs->trans_a : attrs->trans_b) || d->rank != 2)
    return NULL;
  return find_sum (g, graph_root (g, v), v, d->dim[0], d->dim[1], product);
}

static void
join_sum (PlanGraph *g, PlanNode *product)
{
  LoomMatmulAttrs *attrs = product->attrs;
  guint in[2] = { node_in (product, 0), node_in (product, 1) }, out[2] = { node_out (product, 0) };
  PlanNode *sum = NULL;

  if (attrs->has_bias || attrs->act != LOOM_SCALAR_ID || product->out->len != 1)
    return;
  for (guint k = 0; k < 2 && sum == NULL; k++)
    {
      sum = sum_of_operand (g, product, k);
      out[1] = sum != NULL ? node_out (sum, 0) : 0;
      attrs->sum_b = k == 1;
      if (sum != NULL && !graph_has_kernel (g, product, 2, in, 2, out))
        sum = NULL;
    }
  if (sum == NULL)
    {
      attrs->sum_b = false;
      return;
    }
  g_string_append_printf (product->label, "+%s", sum->label->str);
  graph_erase (g, sum);
  graph_add_out (g, product, out[1]);
}

void
pass_fuse_bias_gradients (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "matmul"))
      join_sum (g, instr);
}
