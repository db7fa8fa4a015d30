/* Eliminates common subexpressions: two pure instructions with equal operands and attributes become one. Random ones
 * are included, because a random number is a function of its key. */
#include "engine/plan/plan-private.h"

typedef struct
{
  PlanGraph *g;
  PlanNode *instr;
} Call;

static guint
hash_call (gconstpointer data)
{
  const PlanNode *instr = ((const Call *)data)->instr;
  guint hash = g_direct_hash (instr->prim) ^ instr->recomputation;

  for (guint k = 0; k < instr->in->len; k++)
    hash = hash * 31 + node_in (instr, k);
  if (instr->steps == NULL && instr->prim->attrs != NULL)
    hash = hash * 31 + loom_attrs_hash (instr->prim->attrs, instr->attrs);
  return hash;
}

static gboolean
same_operation (const PlanNode *a, const PlanNode *b)
{
  const PlanStep *x, *y;

  if (a->prim != b->prim || (a->steps == NULL) != (b->steps == NULL))
    return FALSE;
  if (a->steps == NULL)
    return loom_prim_same_attrs (a->prim, a->attrs, b->attrs);
  x = node_step (a, 0);
  y = node_step (b, 0);
  for (int k = 0; k < loom_scalar_arity (x->op); k++)
    if (x->arg[k] != y->arg[k])
      return FALSE;
  return x->op == y->op;
}

/* TRUE if the results have equal types. Equal operands and attributes are not enough: an element-wise conversion has no
 * attributes. */
static gboolean
same_results (PlanGraph *g, const PlanNode *a, const PlanNode *b)
{
  for (guint o = 0; o < a->out->len; o++)
    {
      guint x = node_out (a, o), y = node_out (b, o);

      if ((x == 0) != (y == 0))
        return FALSE;
      if (x != 0
          && (graph_value (g, x)->desc.dtype != graph_value (g, y)->desc.dtype
              || !plan_same_dims (&graph_value (g, x)->desc, &graph_value (g, y)->desc)))
        return FALSE;
    }
  return TRUE;
}

/* Calls with different recomputation numbers differ: merging a recomputed instruction with the original would undo the
 * recomputation. */
static gboolean
equal_calls (gconstpointer x, gconstpointer y)
{
  PlanGraph *g = ((const Call *)x)->g;
  const PlanNode *a = ((const Call *)x)->instr, *b = ((const Call *)y)->instr;

  if (a->recomputation != b->recomputation || a->device_name != b->device_name || a->in->len != b->in->len
      || a->out->len != b->out->len)
    return FALSE;
  for (guint k = 0; k < a->in->len; k++)
    if (node_in (a, k) != node_in (b, k))
      return FALSE;
  return same_operation (a, b) && same_results (g, a, b);
}

void
pass_merge_common (PlanGraph *g)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (hash_call, equal_calls, g_free, NULL);

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      Call call = { g, instr };
      const Call *duplicate;

      if (instr->out->len == 0 || instr->prim->updates != NULL)
        continue;
      duplicate = g_hash_table_lookup (seen, &call);
      if (duplicate == NULL)
        {
          g_hash_table_add (seen, g_memdup2 (&call, sizeof call));
          continue;
        }
      for (guint k = 0; k < instr->out->len; k++)
        if (node_out (instr, k) != 0)
          graph_replace (g, node_out (instr, k), node_out (duplicate->instr, k));
      graph_erase (g, instr);
    }
}
