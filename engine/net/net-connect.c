/* Connects instances: finds the source of each input of the expanded nodes, also at the borders of loops' bodies. */
#include "engine/net/net-private.h"

/* Maximum number of names of outputs in a message. */
#define MAX_LISTED 8

/* Checks the names of outputs that depend on parameters. Such names are known only when instances are connected. */
static void
report_dynamic (LoomNet *net, NetInstance *instance, const NetWire *wire)
{
  const NetLocal *source = instance->scope->locals + wire->from;
  const NetSlot *slot = instance->slots + wire->from;
  const LoomInfer *infer;
  g_autoptr (GString) list = g_string_new (NULL);

  if (source->kind != NET_OP || source->op->dynamic_outputs == NULL || wire->output >= 0 || slot->n == 0)
    return;
  infer = &((NetNode *)net->nodes->pdata[loom_net_index_of (net, slot->first)])->infer;
  if (infer->n_outputs == 0 || loom_op_output_index (infer->output_spec, infer->n_outputs, wire->port) >= 0)
    return;
  for (guint i = 0; i < MIN (infer->n_outputs, MAX_LISTED); i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", infer->output_spec[i].name);
  if (infer->n_outputs > MAX_LISTED)
    g_string_append (list, " …");
  if (wire->port != NULL)
    loom_net_fault (net, wire->wire, source->path, LOOM_ERROR_PORT, wire->port, "“%s” has no output “%s”. It has: %s.",
                    source->id, wire->port, list->str);
  else
    loom_net_fault (net, wire->wire, source->path, LOOM_ERROR_PORT, NULL,
                    "“%s” has several outputs; the wire must name one of: %s.", source->id, list->str);
}

void
loom_net_connect_local (LoomNet *net, NetInstance *instance, guint k)
{
  const NetLocal *local = instance->scope->locals + k;
  const NetSlot *slot = instance->slots + k;

  for (guint copy = 0; copy < slot->n; copy++)
    {
      NetNode *n = net->nodes->pdata[loom_net_index_of (net, slot->first + copy)];
      LoomNetSource *input = (LoomNetSource *)n->node.input;

      for (guint i = 0; i < local->n_ports; i++)
        {
          input[i] = (LoomNetSource){ .node = G_MAXUINT };
          n->broken |= local->wrong[i];
          if (i == 0 && copy > 0)
            {
              input[0] = (LoomNetSource){ .node = loom_net_index_of (net, slot->first + copy - 1) };
              n->broken |= n->infer.n_outputs == 0;
            }
          else if (local->wires[i] != NULL && !loom_net_follow_wire (net, instance, local->wires[i], input + i))
            {
              input[i].node = G_MAXUINT;
              n->broken = TRUE;
              report_dynamic (net, instance, local->wires[i]);
            }
        }
      n->unconnected = n->broken;
    }
}

/* Finds the source of input i of a body; FALSE after a fault on the way. */
static gboolean
connect_port (LoomNet *net, NetInstance *instance, const NetLocal *local, const NetInstance *body, guint i,
              LoomNetSource *source)
{
  *source = (LoomNetSource){ .node = G_MAXUINT };
  if (i == 0 && body->copy > 0 && !loom_net_is_switch (local))
    *source = (LoomNetSource){ .node = body->siblings[body->copy - 1]->loop->node };
  else if (local->wrong[i])
    return FALSE;
  else if (local->wires[i] != NULL && !loom_net_follow_wire (net, instance, local->wires[i], source))
    {
      source->node = G_MAXUINT;
      return FALSE;
    }
  return TRUE;
}

/* Connects the border nodes of a loop's bodies, and the node that runs them. */
static void
connect_loop (LoomNet *net, NetInstance *instance, const NetLocal *local, const NetLoop *loop)
{
  const NetScope *module = loop->body->scope;
  NetNode *n = net->nodes->pdata[loop->node];
  LoomNetSource *input = (LoomNetSource *)n->node.input;

  for (guint i = 0; i <= module->n_inputs; i++)
    {
      gboolean is_good = connect_port (net, instance, local, loop->body, i, input + i);

      n->broken |= !is_good;
      for (guint b = 0; i < module->n_inputs && b < loop->n_bodies; b++)
        {
          NetNode *border = net->nodes->pdata[loom_net_border (net, loop, b, i)];

          *(LoomNetSource *)border->node.input = input[i];
          border->broken |= !is_good;
        }
    }
  /* Results of children have one row for each tree node, and the input `parents` determines the number of tree
   * nodes. */
  for (guint i = 0; i < module->n_inputs; i++)
    if (loom_net_is_from_children (local, i))
      {
        NetNode *border = net->nodes->pdata[loom_net_border (net, loop, 0, i)];

        *(LoomNetSource *)border->node.input = input[module->n_inputs];
        border->broken = input[module->n_inputs].node == G_MAXUINT;
      }
  for (guint b = 0; b < loop->n_bodies; b++)
    for (guint o = 0; o < module->n_outputs; o++)
      {
        const NetScope *scope = loop->bodies[b]->scope;
        const NetWire *wire = scope->locals[scope->outputs[local->bodies[b].output[o]]].wires[0];
        LoomNetSource *source = input + loom_net_body_output (module, b, o);

        if (wire != NULL && loom_net_follow_wire (net, loop->bodies[b], wire, source))
          continue;
        source->node = G_MAXUINT;
        n->broken = TRUE;
      }
}

void
loom_net_connect (LoomNet *net, NetInstance *instance)
{
  for (guint k = 0; k < instance->scope->n_locals; k++)
    {
      const NetLocal *local = instance->scope->locals + k;

      if (local->kind == NET_OP)
        loom_net_connect_local (net, instance, k);
      else if (local->kind == NET_OUTPUT && local->wires[0] != NULL)
        report_dynamic (net, instance, local->wires[0]);
      else if (local->kind == NET_MODULE)
        {
          for (guint i = 0; i < local->n_ports; i++)
            if (local->wires[i] != NULL)
              report_dynamic (net, instance, local->wires[i]);
          for (guint copy = 0; copy < instance->slots[k].n; copy++)
            {
              NetInstance *inner = instance->slots[k].copies[copy];

              loom_net_connect (net, inner);
              if (local->op != NULL && inner == inner->loop->bodies[inner->loop->n_bodies - 1])
                connect_loop (net, instance, local, inner->loop);
            }
        }
    }
}
