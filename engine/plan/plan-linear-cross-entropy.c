/* Finds the instructions of a head (plan-linear-cross-entropy.h): those that make logits, that compute values from them
 * element by element, and that read any of these; and the axes of what they read and make. */
#include "engine/plan/plan-linear-cross-entropy.h"

/* ---- the instructions ----------------------------------------------------------- */

static gboolean
belongs_to_head (const PlanHead *h, guint v)
{
  return v != 0 && g_hash_table_contains (h->roots, GUINT_TO_POINTER (graph_root (h->g, v)));
}

gboolean
plan_head_is_rows_by (const PlanHead *h, guint v, gint64 n)
{
  const LoomTensorDesc *d = &graph_value (h->g, v)->desc;

  return d->rank > 0 && d->dim[d->rank - 1] == n && loom_desc_count (d) == h->rows * n;
}

static gboolean add_logits (PlanHead *h, guint v);

/* Adds an instruction that makes or reads logits, and the logits that it makes. */
static gboolean
add_instr (PlanHead *h, PlanNode *instr)
{
  if (!g_hash_table_add (h->members, instr))
    return TRUE;
  g_ptr_array_add (h->instrs, instr);
  if (instr->steps != NULL)
    for (guint k = 0; k < instr->in->len; k++)
      if (plan_head_is_rows_by (h, node_in (instr, k), h->classes) && !add_logits (h, node_in (instr, k)))
        return FALSE;
  if ((instr->steps != NULL || node_is (instr, "cross_entropy_grad")) && instr->out->len == 1)
    return plan_head_is_rows_by (h, node_out (instr, 0), h->classes) && add_logits (h, node_out (instr, 0));
  return TRUE;
}

/* Adds all readers of v or its views. */
static gboolean
add_readers (PlanHead *h, guint v)
{
  const PlanValue *value = graph_value (h->g, v);

  if (value->is_output || value->commit >= 0)
    return FALSE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL)
      {
        if (!plan_head_is_rows_by (h, v, h->classes) || !add_instr (h, use->instr))
          return FALSE;
      }
    else if (!add_readers (h, use->at))
      return FALSE;
  return TRUE;
}

static gboolean
add_logits (PlanHead *h, guint v)
{
  const PlanValue *value;

  v = graph_root (h->g, v);
  value = graph_value (h->g, v);
  if (!g_hash_table_add (h->roots, GUINT_TO_POINTER (v)))
    return TRUE;
  return value->producer != NULL && value->slot < 0 && value->input < 0 && !value->is_uniform
         && value->device_name == h->device_name && plan_head_is_rows_by (h, v, h->classes)
         && add_instr (h, value->producer) && add_readers (h, v);
}

gboolean
plan_head_find (PlanHead *h, const PlanNode *loss)
{
  if (h->classes == 0 || !add_logits (h, node_in (loss, 0)))
    return FALSE;
  node_sort (h->instrs);
  return TRUE;
}

void
plan_heads_each (PlanGraph *g, void (*func) (PlanHead *h, PlanNode *loss))
{
  g_autoptr (GPtrArray) losses = g_ptr_array_new ();

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "cross_entropy"))
      g_ptr_array_add (losses, instr);
  for (guint i = 0; i < losses->len; i++)
    {
      PlanNode *loss = losses->pdata[i];
      const LoomTensorDesc *d = loss->dead ? NULL : &graph_value (g, node_in (loss, 0))->desc;
      g_autoptr (GHashTable) roots = g_hash_table_new (NULL, NULL), members = g_hash_table_new (NULL, NULL);
      g_autoptr (GPtrArray) instrs = g_ptr_array_new ();

      if (d != NULL)
        func (&(PlanHead){ g, loss->device_name, d->dim[0], d->rank == 2 ? d->dim[1] : 0, roots, members, instrs },
              loss);
    }
}

/* ---- the axes ---------------------------------------------------------------------- */

static const LoomTensorDesc *
desc_of (const PlanHead *h, guint v)
{
  return &graph_value (h->g, v)->desc;
}

/* TRUE if v is one number for each class. */
static gboolean
is_by_class (const PlanHead *h, guint v)
{
  const LoomTensorDesc *d = desc_of (h, v);

  return d->rank > 0 && d->dim[d->rank - 1] == h->classes && loom_desc_count (d) == h->classes;
}

static gboolean
knows_elementwise (const PlanHead *h, const PlanNode *instr)
{
  for (guint k = 0; k < instr->in->len; k++)
    {
      const guint v = node_in (instr, k);
      const LoomTensorDesc *d = desc_of (h, v);

      if (!belongs_to_head (h, v) && d->rank > 0 && d->dim[d->rank - 1] != 1 && !is_by_class (h, v))
        return FALSE;
    }
  return instr->out->len == 1;
}

/* The logits x·w, or one of their gradients g·wᵀ, gᵀ·x and xᵀ·g. */
static gboolean
knows_product (const PlanHead *h, const PlanNode *instr)
{
  const LoomMatmulAttrs *a = instr->attrs;
  const gboolean first = belongs_to_head (h, node_in (instr, 0)), second = belongs_to_head (h, node_in (instr, 1));

  if (a->act != LOOM_SCALAR_ID || instr->out->len != 1 || desc_of (h, node_in (instr, 0))->rank != 2
      || desc_of (h, node_in (instr, 1))->rank != 2 || desc_of (h, node_out (instr, 0))->rank != 2)
    return FALSE;
  if (belongs_to_head (h, node_out (instr, 0)))
    return !first && !second;
  return !a->has_bias && first != second && (first || !a->trans_b);
}

gboolean
plan_head_knows (const PlanHead *h, const PlanNode *instr)
{
  if (instr->device_name != h->device_name)
    return FALSE;
  if (instr->steps != NULL)
    return knows_elementwise (h, instr);
  if (node_is (instr, "matmul"))
    return knows_product (h, instr);
  /* A receive from another rank has no operands. */
  if (instr->in->len == 0 || !belongs_to_head (h, node_in (instr, 0))
      || !plan_head_is_rows_by (h, node_in (instr, 0), h->classes))
    return FALSE;
  if (node_is (instr, "reduce"))
    {
      const LoomReduceAttrs *a = instr->attrs;

      return a->op == LOOM_REDUCE_SUM && a->axes == (1u << (desc_of (h, node_in (instr, 0))->rank - 1)) - 1;
    }
  if (desc_of (h, node_in (instr, 0))->rank != 2)
    return FALSE;
  if (node_is (instr, "argreduce"))
    return ((const LoomArgReduceAttrs *)instr->attrs)->axis == 1;
  return node_is (instr, "cross_entropy") || node_is (instr, "cross_entropy_grad");
}

static void
find_product_operand (const PlanHead *h, const PlanNode *instr, guint k, PlanHeadPort *port)
{
  const LoomMatmulAttrs *a = instr->attrs;
  const gboolean makes = belongs_to_head (h, node_out (instr, 0));

  if (k > 1)
    port->classes = desc_of (h, port->value)->rank - 1;
  else if (k == 1 && makes)
    port->classes = a->trans_b ? 0 : 1;
  else if (k == 1 && !a->trans_a)
    port->classes = a->trans_b ? 1 : 0;
  else if (k == 1)
    port->rows = a->trans_b ? 1 : 0;
  else
    port->rows = a->trans_a == makes;
}

PlanHeadPort
plan_head_operand (const PlanHead *h, const PlanNode *instr, guint k)
{
  PlanHeadPort port = { node_in (instr, k), belongs_to_head (h, node_in (instr, k)), -1, -1 };
  const LoomTensorDesc *d = desc_of (h, port.value);

  if (port.value == 0 || port.is_logits)
    return port;
  if (instr->steps != NULL)
    {
      port.classes = is_by_class (h, port.value) ? d->rank - 1 : -1;
      port.rows = port.classes >= 0 || loom_desc_count (d) == 1 ? -1 : 1;
    }
  else if (node_is (instr, "matmul"))
    find_product_operand (h, instr, k, &port);
  else
    port.rows = d->rank == 1 && loom_desc_count (d) == h->rows ? 0 : 1;
  return port;
}

PlanHeadPort
plan_head_result (const PlanHead *h, const PlanNode *instr, guint o)
{
  PlanHeadPort port = { node_out (instr, o), belongs_to_head (h, node_out (instr, o)), -1, -1 };
  const LoomTensorDesc *d = desc_of (h, port.value);

  if (port.value == 0 || port.is_logits)
    return port;
  if (node_is (instr, "reduce"))
    port.classes = d->rank - 1;
  else if (!node_is (instr, "matmul"))
    port.rows = loom_desc_count (d) == h->rows && d->dim[0] == h->rows ? 0 : 1;
  else if (!belongs_to_head (h, node_in (instr, 0)))
    port.classes = 1;
  else if (((const LoomMatmulAttrs *)instr->attrs)->trans_a)
    port.classes = 0;
  else
    port.rows = 0;
  return port;
}
