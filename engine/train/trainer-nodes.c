/* The memory of a run by node: the state that it has allocated, and of its plans, which share one arena, those bytes
 * that are alive at the peak of the largest one. */
#include "engine/plan/loom-plan-nodes.h"
#include "engine/train/trainer-private.h"

#include <string.h>

typedef struct
{
  LoomNodes *nodes;
  const LoomPlan *largest;
  gsize arena;
} Sum;

static void
add_exec (Sum *sum, const LoomExec *exec)
{
  const LoomPlan *plan = exec != NULL ? loom_exec_plan (exec) : NULL;
  gsize arena = 0;

  if (plan == NULL)
    return;
  loom_nodes_add_plan (sum->nodes, plan, LOOM_NODES_STATE | LOOM_NODES_ONCE);
  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      LoomPlanMemory memory;

      loom_plan_memory (plan, d, &memory);
      arena += memory.arena;
    }
  if (sum->largest == NULL || arena > sum->arena)
    {
      sum->largest = plan;
      sum->arena = arena;
    }
}

/* What no plan that was counted has is of no node: averages of weights, places that arenas leave unused. */
static void
add_rest (LoomTrainer *t, LoomNodes *nodes)
{
  g_autoptr (GPtrArray) rows = loom_nodes_list (nodes);
  gsize held[LOOM_N_OWNERS] = { 0 }, sum[LOOM_N_OWNERS] = { 0 };

  loom_trainer_memory (t, held);
  for (guint i = 0; i < rows->len; i++)
    for (int o = 0; o < LOOM_N_OWNERS; o++)
      sum[o] += ((LoomNodeBytes *)rows->pdata[i])->bytes[o];
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    if (held[o] > sum[o])
      loom_nodes_add (nodes, NULL, t->device, (LoomOwner)o, held[o] - sum[o]);
}

LoomTensor *
trainer_nodes_answer (LoomTrainer *t, GError **error)
{
  Sum sum = { loom_nodes_new (), NULL, 0 };
  g_autoptr (LoomNodes) nodes = sum.nodes;
  g_autoptr (GPtrArray) rows = NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < t->plans->len; i++)
    add_exec (&sum, ((TrainerPlan *)t->plans->pdata[i])->exec);
  for (guint i = 0; i < t->eval_plans->len; i++)
    add_exec (&sum, ((TrainerPlan *)t->eval_plans->pdata[i])->exec);
  add_exec (&sum, t->update);
  add_exec (&sum, trainer_snapshots_exec (t->snapshots));
  if (sum.largest != NULL)
    loom_nodes_add_plan (nodes, sum.largest, LOOM_NODES_PEAK);
  add_rest (t, nodes);
  rows = loom_nodes_list (nodes);
  for (guint i = 0; i < rows->len; i++)
    {
      g_autoptr (LoomJson) line = loom_json_new ();

      loom_json_begin_object (line, NULL);
      loom_node_bytes_add_json (rows->pdata[i], line);
      loom_json_end_object (line);
      g_string_append (text, loom_json_text (line));
      g_string_append_c (text, '\n');
    }
  gint64 n = (gint64)text->len;
  LoomTensor *answer = loom_tensor_new (LOOM_U8, 1, &n, error);
  if (answer != NULL)
    memcpy (answer->data, text->str, text->len);
  return answer;
}
