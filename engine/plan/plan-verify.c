/* Verifies the planner's working form. Tests call it after every pass. */
#include "engine/plan/plan-private.h"

#define FAIL(...)                                                                                                      \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    *why = g_strdup_printf (__VA_ARGS__);                                                                              \
    return FALSE;                                                                                                      \
  }                                                                                                                    \
  G_STMT_END

static gboolean
check_order (PlanGraph *g, char **why)
{
  const PlanNode *before = NULL;

  for (const PlanNode *instr = g->first; instr != NULL; before = instr, instr = instr->next)
    {
      if (instr->prev != before)
        FAIL ("%s: the list does not lead back", instr->label->str);
      if (before != NULL && !node_is_before (before, instr))
        FAIL ("%s comes after %s, but its number does not", instr->label->str, before->label->str);
      if (instr->dead)
        FAIL ("%s is dead but still in the list", instr->label->str);
    }
  if (g->last != before)
    FAIL ("the list ends elsewhere");
  return TRUE;
}

/* Every use on a value's list is an operand or a view that names the value, and is listed once. */
static gboolean
check_uses (PlanGraph *g, guint v, GHashTable *listed, char **why)
{
  const PlanUse *before = NULL;

  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL; before = use, use = use->next)
    {
      if (use->value != v || use->prev != before || !g_hash_table_add (listed, (gpointer)use))
        FAIL ("a use of value %u is on the wrong list", v);
      if (use->instr == NULL)
        {
          if (graph_value (g, use->at)->alias != v || graph_value (g, use->at)->as_view != use)
            FAIL ("value %u is listed as a view of %u and is none", use->at, v);
        }
      else if (use->instr->dead || use->at >= use->instr->in->len || g_ptr_array_index (use->instr->in, use->at) != use)
        FAIL ("%s is listed as a reader of value %u and does not read it there", use->instr->label->str, v);
    }
  if (graph_value (g, v)->last_use != before)
    FAIL ("the uses of value %u end elsewhere", v);
  return TRUE;
}

/* No instruction reads v after its bytes are updated. */
static gboolean
check_readers (PlanGraph *g, guint v, GHashTable *updaters, char **why)
{
  const PlanNode *updater = g_hash_table_lookup (updaters, GUINT_TO_POINTER (graph_root (g, v)));

  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL && updater != NULL; use = use->next)
    if (use->instr != NULL && node_is_before (updater, use->instr))
      FAIL ("%s reads value %u after %s, which updates it", use->instr->label->str, v, updater->label->str);
  return TRUE;
}

static gboolean
check_value (PlanGraph *g, guint v, GHashTable *listed, char **why)
{
  const PlanValue *value = graph_value (g, v);

  if (value->alias != 0)
    {
      if (graph_value (g, value->alias)->alias != 0)
        FAIL ("value %u is a view of a view", v);
      if (value->producer != NULL)
        FAIL ("value %u is a view and has a producer", v);
      if (!g_hash_table_contains (listed, value->as_view))
        FAIL ("value %u is a view that is not among its value's uses", v);
    }
  if ((value->slot >= 0 || value->input >= 0) && value->producer != NULL)
    FAIL ("value %u comes from outside and has a producer", v);
  if (graph_is_used (g, v) && value->alias == 0 && value->producer == NULL && value->slot < 0 && value->input < 0)
    FAIL ("value %u is used, and nothing makes it", v);
  return TRUE;
}

/* Each step reads operands and results of earlier steps, and each result is made by a step. */
static gboolean
check_steps (const PlanNode *instr, char **why)
{
  g_autoptr (GHashTable) known = g_hash_table_new (NULL, NULL);

  if (!plan_steps_fit (instr->steps) || instr->in->len > LOOM_EW_MAX_IN || instr->out->len > LOOM_EW_MAX_OUT)
    FAIL ("%s is larger than a kernel may be", instr->label->str);
  for (guint k = 0; k < instr->in->len; k++)
    g_hash_table_add (known, GUINT_TO_POINTER (node_in (instr, k)));
  for (guint s = 0; s < instr->steps->len; s++)
    {
      for (int a = 0; a < loom_scalar_arity (node_step (instr, s)->op); a++)
        if (!g_hash_table_contains (known, GUINT_TO_POINTER (node_step (instr, s)->arg[a])))
          FAIL ("step %u of %s reads value %u, which it does not have", s, instr->label->str,
                node_step (instr, s)->arg[a]);
      g_hash_table_add (known, GUINT_TO_POINTER (node_step (instr, s)->result));
    }
  for (guint o = 0; o < instr->out->len; o++)
    if (!g_hash_table_contains (known, GUINT_TO_POINTER (node_out (instr, o))))
      FAIL ("no step of %s makes its result", instr->label->str);
  return TRUE;
}

static gboolean
check_instr (PlanGraph *g, const PlanNode *instr, GHashTable *listed, char **why)
{
  for (guint k = 0; k < instr->in->len; k++)
    {
      const PlanUse *use = g_ptr_array_index (instr->in, k);
      const PlanNode *producer;

      if (use->instr != instr || use->at != k)
        FAIL ("operand %u of %s has the wrong index", k, instr->label->str);
      if (use->value == 0)
        continue;
      if (!g_hash_table_contains (listed, use))
        FAIL ("operand %u of %s is not among the uses of value %u", k, instr->label->str, use->value);
      producer = graph_value (g, graph_root (g, use->value))->producer;
      if (producer != NULL && !node_is_before (producer, instr))
        FAIL ("%s reads a result of %s but comes before it", instr->label->str, producer->label->str);
    }
  for (guint o = 0; o < instr->out->len; o++)
    if (node_out (instr, o) != 0 && graph_value (g, node_out (instr, o))->producer != instr)
      FAIL ("result %u of %s has another producer", o, instr->label->str);
  return instr->steps == NULL || check_steps (instr, why);
}

gboolean
graph_verify (PlanGraph *g, char **why)
{
  g_autoptr (GHashTable) listed = g_hash_table_new (NULL, NULL), updaters = graph_find_updaters (g);

  if (!check_order (g, why))
    return FALSE;
  if (graph_value (g, 0)->first_use != NULL)
    FAIL ("an absent operand is on a list of uses");
  for (guint v = 1; v < g->values->len; v++)
    if (!check_uses (g, v, listed, why))
      return FALSE;
  for (guint v = 1; v < g->values->len; v++)
    if (!check_value (g, v, listed, why) || !check_readers (g, v, updaters, why))
      return FALSE;
  for (const PlanNode *instr = g->first; instr != NULL; instr = instr->next)
    if (!check_instr (g, instr, listed, why))
      return FALSE;
  return TRUE;
}
