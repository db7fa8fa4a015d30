/* Splits the memory of plans by graph node (loom-node-memory.h).
 *
 * Slots and parts of arenas are counted once, although several plans share them: a slot by its name, and of all plans
 * on a device only the arena of the largest. The bytes of a slot belong to the node that reads the parameter first, and
 * those of optimizer state to the parameter's node. */
#include "engine/plan/loom-node-memory.h"

#include <string.h>

#include "engine/plan/plan-private.h"

struct _LoomNodeMemory
{
  GHashTable *rows;  /* LoomNodeBytes, each its own key */
  GHashTable *slots; /* names of the slots counted so far, interned */
};

static guint
row_hash (gconstpointer key)
{
  const LoomNodeBytes *row = key;

  return g_direct_hash (row->node) * 31 + g_direct_hash (row->device);
}

static gboolean
row_equal (gconstpointer a, gconstpointer b)
{
  const LoomNodeBytes *x = a, *y = b;

  return x->node == y->node && x->device == y->device;
}

LoomNodeMemory *
loom_node_memory_new (void)
{
  LoomNodeMemory *self = g_new0 (LoomNodeMemory, 1);

  self->rows = g_hash_table_new_full (row_hash, row_equal, g_free, NULL);
  self->slots = g_hash_table_new (g_direct_hash, g_direct_equal);
  return self;
}

void
loom_node_memory_free (LoomNodeMemory *self)
{
  g_hash_table_unref (self->rows);
  g_hash_table_unref (self->slots);
  g_free (self);
}

void
loom_node_memory_add (LoomNodeMemory *self, const char *node, const char *device, LoomOwner owner, gsize bytes)
{
  LoomNodeBytes key = { .node = g_intern_string (node), .device = g_intern_string (device) };
  LoomNodeBytes *row = g_hash_table_lookup (self->rows, &key);

  if (bytes == 0)
    return;
  if (row == NULL)
    {
      row = g_memdup2 (&key, sizeof key);
      g_hash_table_add (self->rows, row);
    }
  row->bytes[owner] += bytes;
  row->total += bytes;
}

/* ---- slots ---------------------------------------------------------------------- */

/* The node that uses each value: its first reader that belongs to a node, directly or through other values. */
static const char **
find_readers (const LoomProgram *p)
{
  const char **reader = g_new0 (const char *, loom_program_n_values (p) + 1);

  for (guint i = loom_program_n_instrs (p); i-- > 0;)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      const char *node = instr->origin;

      for (guint k = 0; k < instr->n_out && node == NULL; k++)
        node = instr->out[k] != 0 ? reader[instr->out[k]] : NULL;
      for (guint k = 0; k < instr->n_in && node != NULL; k++)
        if (instr->in[k] != 0)
          reader[instr->in[k]] = node;
    }
  return reader;
}

/* The node of "optimizer.exp_avg.fc.weight" is that of the parameter "fc.weight". */
static const char *
node_of_parameter (GHashTable *nodes, const char *name)
{
  const char *node = NULL;

  for (const char *rest = strchr (name, '.'); rest != NULL && node == NULL; rest = strchr (rest + 1, '.'))
    node = g_hash_table_lookup (nodes, rest + 1);
  return node;
}

GPtrArray *
loom_slot_nodes (const LoomProgram *p)
{
  g_autofree const char **reader = find_readers (p);
  g_autoptr (GHashTable) nodes = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      const char *node = slot->read != 0 ? reader[slot->read] : NULL;

      g_ptr_array_add (list, (gpointer)node);
      if (node != NULL && slot->kind == LOOM_SLOT_PARAMETER)
        g_hash_table_insert (nodes, slot->name, (gpointer)node);
    }
  for (guint i = 0; i < list->len; i++)
    if (list->pdata[i] == NULL)
      list->pdata[i] = (gpointer)node_of_parameter (nodes, loom_program_get_slot (p, i)->name);
  return list;
}

static void
add_slots (LoomNodeMemory *self, const LoomPlan *plan)
{
  const LoomProgram *p = plan->program;
  g_autoptr (GPtrArray) nodes = loom_slot_nodes (p);

  for (guint i = 0; i < nodes->len; i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (g_hash_table_add (self->slots, (gpointer)g_intern_string (slot->name)))
        loom_node_memory_add (self, nodes->pdata[i], loom_plan_device (plan, loom_plan_slot_device (plan, i))->name,
                              loom_owner_of_slot (slot->kind), loom_plan_slot_bytes (slot));
    }
}

/* ---- plans ------------------------------------------------------------------------ */

/* The plan with the largest arena on the device of this name, or NULL. */
static const LoomPlan *
largest_on (const char *device, guint n, const LoomPlan *const *plans)
{
  const LoomPlan *largest = NULL;
  gsize most = 0;

  for (guint i = 0; i < n; i++)
    for (guint d = 0; plans[i] != NULL && d < loom_plan_n_devices (plans[i]); d++)
      {
        LoomPlanMemory memory;

        if (!g_str_equal (loom_plan_device (plans[i], d)->name, device))
          continue;
        loom_plan_memory (plans[i], d, &memory);
        if (largest == NULL || memory.arena > most)
          {
            largest = plans[i];
            most = memory.arena;
          }
      }
  return largest;
}

void
loom_node_memory_add_plans (LoomNodeMemory *self, guint n, const LoomPlan *const *plans)
{
  for (guint i = 0; i < n; i++)
    {
      if (plans[i] == NULL)
        continue;
      add_slots (self, plans[i]);
      for (guint k = 0; k < plans[i]->holdings->len; k++)
        {
          const PlanHolding *h = &g_array_index (plans[i]->holdings, PlanHolding, k);
          const char *device = loom_plan_device (plans[i], h->device)->name;

          if (h->once || largest_on (device, n, plans) == plans[i])
            loom_node_memory_add (self, h->node, device, h->owner, h->bytes);
        }
    }
}

static gint
compare_rows (gconstpointer a, gconstpointer b)
{
  const LoomNodeBytes *x = *(LoomNodeBytes *const *)a, *y = *(LoomNodeBytes *const *)b;

  if (x->total != y->total)
    return x->total < y->total ? 1 : -1;
  return g_strcmp0 (x->node, y->node) != 0 ? g_strcmp0 (x->node, y->node) : g_strcmp0 (x->device, y->device);
}

GPtrArray *
loom_node_memory_list (const LoomNodeMemory *self)
{
  GPtrArray *list = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer row;

  g_hash_table_iter_init (&iter, self->rows);
  while (g_hash_table_iter_next (&iter, &row, NULL))
    g_ptr_array_add (list, row);
  g_ptr_array_sort (list, compare_rows);
  return list;
}

void
loom_node_bytes_add_json (const LoomNodeBytes *row, LoomJson *json)
{
  loom_json_string (json, "node", row->node);
  loom_json_string (json, "device", row->device);
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    loom_json_int (json, loom_owner_name ((LoomOwner)o), (gint64)row->bytes[o]);
  loom_json_int (json, "bytes", (gint64)row->total);
}
