/* The memory of a run by node: the state that it has allocated, and of its plans, which share one arena, those bytes
 * that are alive at the peak of the largest one. */
#include "engine/plan/loom-node-memory.h"
#include "engine/train/trainer-private.h"

static void
add_exec (GPtrArray *plans, const LoomExec *exec)
{
  if (exec != NULL)
    g_ptr_array_add (plans, loom_exec_plan (exec));
}

/* What no plan that was counted has is of no node: averages of weights, places that arenas leave unused. */
static void
add_rest (LoomTrainer *t, LoomNodeMemory *nodes)
{
  g_autoptr (GPtrArray) rows = loom_node_memory_list (nodes);
  gsize held[LOOM_N_OWNERS] = { 0 }, sum[LOOM_N_OWNERS] = { 0 };

  loom_trainer_memory (t, held);
  for (guint i = 0; i < rows->len; i++)
    for (int o = 0; o < LOOM_N_OWNERS; o++)
      sum[o] += ((LoomNodeBytes *)rows->pdata[i])->bytes[o];
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    if (held[o] > sum[o])
      loom_node_memory_add (nodes, NULL, t->device, (LoomOwner)o, held[o] - sum[o]);
}

LoomTensor *
trainer_nodes_answer (LoomTrainer *t, GError **error)
{
  g_autoptr (LoomNodeMemory) nodes = loom_node_memory_new ();
  g_autoptr (GPtrArray) plans = g_ptr_array_new (), rows = NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < t->plans->len; i++)
    add_exec (plans, ((TrainerPlan *)t->plans->pdata[i])->exec);
  for (guint i = 0; i < t->eval_plans->len; i++)
    add_exec (plans, ((TrainerPlan *)t->eval_plans->pdata[i])->exec);
  add_exec (plans, t->update);
  const TrainerSeen *of;
  LoomExec *snapshots = trainer_snapshots_exec (t->snapshots, &of);

  /* What views compute over a copy has an arena of its own. */
  if (trainer_seen_is_copy (t) || of == &t->last)
    {
      loom_node_memory_add_plans (nodes, plans->len, (const LoomPlan *const *)plans->pdata);
      g_ptr_array_set_size (plans, 0);
    }
  add_exec (plans, snapshots);
  loom_node_memory_add_plans (nodes, plans->len, (const LoomPlan *const *)plans->pdata);
  add_rest (t, nodes);
  rows = loom_node_memory_list (nodes);
  for (guint i = 0; i < rows->len; i++)
    {
      g_autoptr (LoomJson) line = loom_json_new ();

      loom_json_begin_object (line, NULL);
      loom_node_bytes_add_json (rows->pdata[i], line);
      loom_json_end_object (line);
      g_string_append (text, loom_json_text (line));
      g_string_append_c (text, '\n');
    }
  return trainer_text_answer (text->str, error);
}
