/* Shows the instances of a net to code outside of engine/net, which must not depend on how they are stored. */
#include "engine/net/loom-net-tree.h"
#include "engine/net/net-private.h"

G_STATIC_ASSERT ((int)LOOM_LOCAL_OUTPUT == NET_OUTPUT && (int)LOOM_BORDER_CARRIED == NET_CARRIED);

const LoomNetInstance *
loom_net_tree (const LoomNet *net)
{
  return net->root;
}

const LoomElement *
loom_net_instance_scope (const LoomNetInstance *self)
{
  return self->scope->element;
}

const char *
loom_net_instance_path (const LoomNetInstance *self)
{
  return self->path;
}

guint
loom_net_instance_n_locals (const LoomNetInstance *self)
{
  return self->scope->n_locals;
}

static gboolean
is_true (const LoomElement *element, const char *attribute)
{
  return g_strcmp0 (loom_element_get (element, attribute), "true") == 0;
}

LoomNetLocal
loom_net_instance_local (const LoomNetInstance *self, guint k)
{
  const NetLocal *local = self->scope->locals + k;

  return (LoomNetLocal){ .kind = (LoomLocalKind)local->kind,
                         .id = local->id,
                         .element = local->element,
                         .op = local->op,
                         .n_inputs = local->n_ports,
                         .n_copies = self->slots[k].n,
                         .repeated = loom_element_get (local->element, "repeat") != NULL,
                         .shared = is_true (local->element, "share"),
                         .muted = is_true (local->element, "mute") };
}

guint
loom_net_instance_node (const LoomNet *net, const LoomNetInstance *self, guint k, guint copy)
{
  const NetSlot *slot = self->slots + k;

  return loom_net_index_of (net, slot->copies != NULL ? slot->copies[copy]->loop->node : slot->first + copy);
}

/* The number of an output that only parameters determine, or −1. */
static int
find_output (const LoomNet *net, const LoomNetInstance *self, guint k, const char *port)
{
  const LoomNetNode *node = loom_net_node (net, loom_net_instance_node (net, self, k, 0));

  return loom_op_output_index (node->output_spec, node->n_outputs, port);
}

LoomNetLink
loom_net_instance_link (const LoomNet *net, const LoomNetInstance *self, guint k, guint input)
{
  const NetLocal *local = self->scope->locals + k;
  const NetWire *wire = input < local->n_ports ? local->wires[input] : NULL;
  LoomNetLink link = { .output = -1 };

  if (wire == NULL)
    return link;
  link = (LoomNetLink){ .wired = TRUE, .local = wire->from, .output = wire->output, .name = wire->port };
  if (link.output < 0 && self->scope->locals[wire->from].kind == NET_OP)
    link.output = find_output (net, self, wire->from, wire->port);
  return link;
}

const LoomNetInstance *
loom_net_instance_copy (const LoomNetInstance *self, guint k, guint copy)
{
  return self->slots[k].copies[copy];
}

guint
loom_net_instance_n_ports (const LoomNetInstance *self, gboolean outputs)
{
  return outputs ? self->scope->n_outputs : self->scope->n_inputs;
}

guint
loom_net_instance_port (const LoomNetInstance *self, gboolean outputs, guint port)
{
  return outputs ? self->scope->outputs[port] : self->scope->inputs[port];
}

LoomBorder
loom_net_instance_border (const LoomNet *net, const LoomNetInstance *body, guint input)
{
  return (LoomBorder)body->loop->kind[input];
}

int
loom_net_instance_carrier (const LoomNetInstance *body, guint input)
{
  return body->scope->carrier[input];
}

guint
loom_net_instance_first_port (const LoomNetInstance *body, gboolean outputs, guint port)
{
  const NetBody *ports = body->loop->local->bodies;
  guint n = loom_net_instance_n_ports (body, outputs);

  for (guint b = 0; ports != NULL && b < body->loop->n_bodies; b++)
    for (guint first = 0; body->loop->bodies[b] == body && first < n; first++)
      if ((outputs ? ports[b].output : ports[b].input)[first] == port)
        return first;
  return port;
}
