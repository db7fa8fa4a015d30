/* The pass that places each instruction on a device.
 *
 * It inserts a visible copy, once per value, for each operand on another device. Layouts (plan-layout.c) and kernels
 * (plan-kernel.c) follow. The file also collects faults at nodes, which other passes report (graph_report_fault()). */
#include "engine/plan/plan-private.h"

static int
device_index (PlanGraph *g, const char *name, GError **error)
{
  LoomPlanDevice *device = loom_devices_get (g->devices, name, error);

  if (device == NULL)
    return -1;
  for (guint i = 0; i < g->plan_devices->len; i++)
    if (g_ptr_array_index (g->plan_devices, i) == device)
      return (int)i;
  g_ptr_array_add (g->plan_devices, device);
  return (int)g->plan_devices->len - 1;
}

/* Reports a fault at a node, once for each kind: a node has many kernels, forward and backward. */
void
graph_report_fault (PlanGraph *g, LoomErrorCode code, const char *node, const char *port, const char *fix,
                    char *message /* (transfer full) */)
{
  for (guint i = 0; i < loom_faults_length (g->faults); i++)
    {
      const LoomFault *f = loom_faults_get (g->faults, i);

      if (f->code == code && g_strcmp0 (f->node, node) == 0)
        {
          g_free (message);
          return;
        }
    }
  {
    LoomFault *fault = loom_faults_add (g->faults, code, 0, node, port, "%s", message);

    if (fix != NULL)
      loom_fault_set_fix (fault, NULL, NULL, "%s", fix);
  }
  g_free (message);
}

/* The index of the device of this name, which a node requested. If the device does not exist, reports a fault and
 * returns the plan's own. */
static int
device_of_name (PlanGraph *g, const char *name, const char *node)
{
  g_autoptr (GError) error = NULL;
  int device = name != NULL ? device_index (g, name, &error) : 0;

  if (error != NULL)
    graph_report_fault (g, error->code, node, "device", NULL, g_strdup (error->message));
  return MAX (device, 0);
}

PlanNode *
graph_insert_copy (PlanGraph *g, PlanNode *before, const LoomPrim *prim, const void *attrs, guint from, guint to,
                   int device)
{
  PlanNode *copy = graph_insert (g, before, prim, attrs);

  copy->device = device;
  copy->origin = graph_value (g, from)->origin;
  copy->region = graph_value (g, from)->region;
  graph_add_in (g, copy, from);
  graph_add_out (g, copy, to);
  graph_value (g, to)->device = device;
  return copy;
}

/* The message of an edge between devices. It begins with PyTorch's sentence, which users recognise and find. (transfer
 * full) */
static char *
crossing_sentence (const PlanValue *value, const char *from, const char *to)
{
  return g_strdup_printf ("Expected all tensors to be on the same device, but found at least two devices, %s and %s! "
                          "The %s node %s is on %s and is needed on %s.",
                          from, to, value->region == LOOM_REGION_BACKWARD ? "gradient from" : "value of", value->origin,
                          from, to);
}

/* Returns v on another device, where `node` reads it: inserts a copy, which listings and the canvas show, before `at`
 * (NULL: at the end). Values of no node, such as hyper-parameters and the step number, are exempt from
 * strict_devices. */
static guint
on_device (PlanGraph *g, PlanNode *at, guint v, int device, const char *node)
{
  guint root = graph_root (g, v), copy;
  PlanNode *transfer;

  if (graph_value (g, root)->device == device)
    return v;
  if (g->options.strict_devices && node != NULL && graph_value (g, v)->origin != NULL)
    graph_report_fault (g, LOOM_ERROR_DEVICE, node, "device",
                        "Set the same device on both nodes, or remove strict_devices.",
                        crossing_sentence (graph_value (g, v), graph_device (g, graph_value (g, root)->device)->name,
                                           graph_device (g, device)->name));
  for (copy = graph_value (g, root)->on_device; copy != 0 && graph_value (g, copy)->device != device;)
    copy = graph_value (g, copy)->on_device;
  if (copy == 0)
    {
      copy = graph_value_like (g, root);
      graph_value (g, copy)->on_device = graph_value (g, root)->on_device;
      graph_value (g, root)->on_device = copy;
      transfer = graph_insert_copy (g, at, NULL, NULL, root, copy, device);
      g_string_printf (transfer->label, "copy %s→%s", graph_device (g, graph_value (g, root)->device)->name,
                       graph_device (g, device)->name);
    }
  if (v == root)
    return copy;
  {
    guint alias = graph_value_like (g, v);

    graph_set_alias (g, alias, copy);
    return alias;
  }
}

/* Turns an instruction that only makes a view into that view; on another device it becomes a view of the transfer. */
static void
place_alias (PlanGraph *g, PlanNode *instr)
{
  guint moved = on_device (g, instr, node_in (instr, 0), instr->device, instr->origin);

  graph_set_alias (g, node_out (instr, 0), moved);
  graph_erase (g, instr);
}

/* Copies operand k to the instruction's device. An in-place instruction works on the copy, which place_commit() copies
 * back to the slot. */
static void
place_operand (PlanGraph *g, PlanNode *instr, guint k)
{
  guint v = node_in (instr, k), moved = on_device (g, instr, v, instr->device, instr->origin);

  if (moved == v)
    return;
  graph_set_in (g, instr, k, moved);
}

static void
place_instr (PlanGraph *g, PlanNode *instr)
{
  instr->device = device_of_name (g, instr->device_name, instr->origin);
  if (instr->is_transfer_only)
    {
      place_alias (g, instr);
      return;
    }
  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) != 0)
      place_operand (g, instr, k);
  for (guint o = 0; o < instr->out->len; o++)
    if (node_out (instr, o) != 0)
      graph_value (g, node_out (instr, o))->device = instr->device;
}

/* Copies a slot's next value to the slot's device. */
static void
place_commit (PlanGraph *g, guint v)
{
  int commit = graph_value (g, v)->commit;
  const LoomSlot *slot = loom_program_get_slot (g->program, (guint)commit);
  guint root = graph_root (g, v), moved;
  int device = slot->read != 0 ? graph_value (g, graph_root (g, slot->read))->device : 0;

  if (graph_value (g, root)->producer == NULL && graph_value (g, root)->slot < 0 && graph_value (g, root)->input < 0)
    return;
  moved = on_device (g, NULL, v, device, graph_value (g, v)->origin);
  if (moved != v)
    {
      graph_value (g, v)->commit = -1;
      graph_commit (g, moved, commit);
    }
}

void
graph_faults_to_error (PlanGraph *g)
{
  const LoomFault *f;

  if (loom_faults_length (g->faults) == 0)
    return;
  f = loom_faults_get (g->faults, 0);
  g_set_error (&g->error, LOOM_ERROR, f->code, "%s%s%s%s%s%s", f->node != NULL ? "Node " : "",
               f->node != NULL ? f->node : "", f->node != NULL ? ": " : "", f->message, f->fix != NULL ? " " : "",
               f->fix != NULL ? f->fix : "");
}

void
pass_place_on_devices (PlanGraph *g)
{
  guint n = g->values->len;

  if (device_index (g, g->options.device, &g->error) < 0)
    return;
  for (guint v = 1; v < n; v++)
    if (graph_value (g, v)->slot >= 0 || graph_value (g, v)->input >= 0)
      graph_value (g, v)->device = device_of_name (g, graph_value (g, v)->device_name, graph_value (g, v)->origin);
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    place_instr (g, instr);
  for (guint v = 1; v < n; v++)
    if (graph_value (g, v)->commit >= 0)
      place_commit (g, v);
}
