/* The memory of a run by node. */
#include "engine/train/node-memory.h"

#include "engine/core/loom-json.h"
#include "engine/plan/loom-node-memory.h"

static void
add_exec (GPtrArray *plans, const LoomExec *exec)
{
  if (exec != NULL)
    g_ptr_array_add (plans, loom_exec_plan (exec));
}

/* Memory that belongs to no plan belongs to no node: averages of weights, gaps in arenas. */
static void
add_rest (LoomNodeMemory *nodes, const char *device, const gsize held[LOOM_N_OWNERS])
{
  g_autoptr (GPtrArray) rows = loom_node_memory_list (nodes);
  gsize sum[LOOM_N_OWNERS] = { 0 };

  for (guint i = 0; i < rows->len; i++)
    for (int o = 0; o < LOOM_N_OWNERS; o++)
      sum[o] += ((LoomNodeBytes *)rows->pdata[i])->bytes[o];
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    if (held[o] > sum[o])
      loom_node_memory_add (nodes, NULL, device, (LoomOwner)o, held[o] - sum[o]);
}

static char *
rows_to_text (const GPtrArray *rows)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < rows->len; i++)
    {
      g_autoptr (LoomJson) line = loom_json_new ();

      loom_json_begin_object (line, NULL);
      loom_node_bytes_add_json (rows->pdata[i], line);
      loom_json_end_object (line);
      g_string_append (text, loom_json_text (line));
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

char *
node_memory_text (const StepPlans *steps, const LoomExec *snapshots, gboolean is_apart, const char *device,
                  const gsize held[LOOM_N_OWNERS])
{
  g_autoptr (LoomNodeMemory) nodes = loom_node_memory_new ();
  g_autoptr (GPtrArray) plans = g_ptr_array_new (), rows = NULL;

  for (guint i = 0; i < steps->training->len; i++)
    add_exec (plans, ((StepPlan *)steps->training->pdata[i])->exec);
  for (guint i = 0; i < steps->evaluation->len; i++)
    add_exec (plans, ((StepPlan *)steps->evaluation->pdata[i])->exec);
  add_exec (plans, steps->update);
  if (is_apart)
    {
      loom_node_memory_add_plans (nodes, plans->len, (const LoomPlan *const *)plans->pdata);
      g_ptr_array_set_size (plans, 0);
    }
  add_exec (plans, snapshots);
  loom_node_memory_add_plans (nodes, plans->len, (const LoomPlan *const *)plans->pdata);
  add_rest (nodes, device, held);
  rows = loom_node_memory_list (nodes);
  return rows_to_text (rows);
}
