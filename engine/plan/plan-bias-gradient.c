/* Fuses the gradient of a bias into the product that computes the gradient of the weights. Both read the cotangent, so
 * the product sums it as well, on devices that have such a product (kernels/product.h). */
#include "engine/plan/plan-pattern.h"
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

static gboolean
join_sum (PlanRewrite *r)
{
  LoomMatmulAttrs *attrs = r->attrs;

  if (attrs->has_bias || attrs->act != LOOM_SCALAR_ID || r->out->len != 1)
    return FALSE;
  attrs->sum_b = r->at == 1;
  g_array_set_size (r->in, 2);
  rewrite_set_out (r, 1, node_out (r->other, 0));
  g_string_append_printf (r->label, "+%s", r->other->label->str);
  return TRUE;
}

const PlanPattern patterns_of_bias_gradients[] = {
  { .root = PATTERN_CALL ("matmul"),
    .other = PATTERN_CALL ("reduce"),
    .find = sum_of_operand,
    .last = 1,
    .rewrite = join_sum },
  { .rewrite = NULL },
};
