/* Resolves the wires of a scope: the ends of each become indices of nodes and ports. Reports ends that do not exist. */
#include "engine/net/net-private.h"

#include <glib/gi18n.h>
#include <string.h>

/* TRUE if the end of a wire is a weight of the node, or of a node in the module. */
static gboolean
leads_to_weight (const NetLocal *local, const char *way)
{
  while (way != NULL)
    {
      int copy;
      gsize n;

      way = loom_net_skip_copy (local, way, &copy);
      if (local->kind == NET_OP)
        return loom_op_weight_index (local->op, way) >= 0;
      n = strcspn (way, ".");
      if (local->kind != NET_MODULE || way[n] == 0)
        return FALSE;
      if (loom_net_is_switch (local) && (copy < 0 || (guint)copy >= local->n_bodies))
        return FALSE;
      local = loom_net_find_local (loom_net_is_switch (local) ? local->bodies[copy].scope : local->module, way, n);
      /* A node with a fault of its own has been reported. */
      if (local == NULL || local->kind == NET_BROKEN)
        return local != NULL;
      way += n + 1;
    }
  return FALSE;
}

/* ---- texts of faults -------------------------------------------------------- */

/* names: (transfer full) */
static void
add_port_fault (LoomNet *net, const NetLocal *local, const char *path, const LoomElement *wire, const char *attribute,
                const char *port, GPtrArray *names)
{
  g_autoptr (GPtrArray) taken = names;
  const gboolean is_input = strcmp (attribute, "to") == 0;
  LoomFault *fault;
  g_autofree char *list = NULL;

  g_ptr_array_add (names, NULL);
  list = g_strjoinv (", ", (char **)names->pdata);
  if (names->len == 1)
    {
      fault = loom_net_fault (net, wire, path, LOOM_ERROR_PORT, port,
                              is_input ? N_ ("“%s” has no input, so it cannot have such a wire.")
                                       : N_ ("“%s” has no output, so it cannot have such a wire."),
                              local->id);
      if (fault != NULL && local->kind == NET_OP && local->op->dynamic_inputs != NULL && is_input)
        loom_fault_set_fix (fault, NULL, NULL,
                            "Its inputs are the names in its formula, except e, pi, inf and nan, which are numbers.");
    }
  else if (port == NULL)
    fault = loom_net_fault (net, wire, path, LOOM_ERROR_PORT, NULL,
                            is_input ? N_ ("“%s” has several inputs; the wire must name one of: %s.")
                                     : N_ ("“%s” has several outputs; the wire must name one of: %s."),
                            local->id, list);
  else
    {
      const char *near;

      fault = loom_net_fault (net, wire, path, LOOM_ERROR_PORT, port,
                              is_input ? N_ ("“%s” has no input “%s”. It has: %s.")
                                       : N_ ("“%s” has no output “%s”. It has: %s."),
                              local->id, port, list);
      /* Weights can be read too, but a user does not expect them in a list of outputs. */
      g_ptr_array_set_size (names, (int)names->len - 1);
      if (local->kind == NET_OP && !is_input)
        for (guint k = 0; loom_op_weight_name (local->op, k) != NULL; k++)
          g_ptr_array_add (names, (gpointer)loom_op_weight_name (local->op, k));
      g_ptr_array_add (names, NULL);
      near = loom_nearest (port, (const char *const *)names->pdata);
      if (fault != NULL && near != NULL)
        loom_fault_set_fix (fault, NULL, NULL, "Did you mean %s=\"%s.%s\"?", attribute, local->id, near);
    }
}

static GPtrArray *
port_names (const LoomPortSpec *specs, guint n, const NetScope *module, const guint *locals, guint n_locals)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (names, (gpointer)specs[i].name);
  for (guint i = 0; i < n_locals; i++)
    g_ptr_array_add (names, (gpointer)module->locals[locals[i]].id);
  return names;
}

/* ---- wires ---------------------------------------------------------------- */

/* TRUE if a wire that names no port means this input of a module, the only one that needs a wire. */
static gboolean
is_only_input (const NetLocal *local, guint input)
{
  if (local->op != NULL && !loom_op_loop (local->op)->port_is_optional)
    return FALSE;
  for (guint i = 0; i < local->module->n_inputs; i++)
    if ((i == input) == (local->op != NULL && loom_net_begins_as_zeros (local, i)))
      return FALSE;
  return TRUE;
}

/* The index of an input; −1 after a fault. The number of variadic inputs grows with the wires that name them. */
static int
input_index (LoomNet *net, const NetLocal *local, const char *path, const LoomElement *wire, const char *port)
{
  const LoomPortSpec *specs = local->inputs;
  guint n = loom_op_count_ports (specs);
  int index = -1;

  if (local->kind == NET_OUTPUT)
    {
      if (port == NULL || strcmp (port, "input") == 0)
        return 0;
    }
  else if (local->kind == NET_MODULE)
    {
      const NetScope *module = local->module;
      const LoomPortSpec own = { .name = local->op != NULL ? loom_op_loop (local->op)->port : NULL };

      for (guint i = 0; i < module->n_inputs; i++)
        if (port == NULL ? is_only_input (local, i) : strcmp (module->locals[module->inputs[i]].id, port) == 0)
          {
            if (!loom_net_is_from_children (local, i))
              return (int)i;
            loom_net_fault (net, wire, path, LOOM_ERROR_PORT, port,
                            "“%s” of “%s” cannot be wired: its value comes from the children of a node.", port,
                            local->id);
            return -1;
          }
      if (own.name != NULL && g_strcmp0 (port, own.name) == 0)
        return (int)module->n_inputs;
      add_port_fault (net, local, path, wire, "to", port,
                      port_names (&own, own.name != NULL, module, module->inputs, module->n_inputs));
      return -1;
    }
  else if (n == 1 && specs[0].flags & LOOM_PORT_VARIADIC)
    {
      guint64 number;

      if (port != NULL
          && g_ascii_string_to_unsigned (port, 10, 0, loom_element_n_children (loom_element_parent (wire)), &number,
                                         NULL))
        return (int)number;
      loom_net_fault (net, wire, path, LOOM_ERROR_PORT, port,
                      "The inputs of “%s” are numbered: wires need to=\"%s.0\", to=\"%s.1\" and so on without gaps.",
                      local->id, local->id, local->id);
      return -1;
    }
  else
    index = loom_op_output_index (specs, n, port);
  if (index < 0)
    add_port_fault (net, local, path, wire, "to", port, port_names (specs, n, NULL, NULL, 0));
  return index;
}

/* FALSE after a fault. */
static gboolean
find_output (LoomNet *net, const NetLocal *local, const char *path, NetWire *wire)
{
  if (local->kind == NET_INPUT)
    {
      wire->output = 0;
      if (wire->port == NULL || strcmp (wire->port, "out") == 0)
        return TRUE;
    }
  if (local->kind == NET_MODULE)
    {
      const NetScope *module = local->module;

      for (guint i = 0; i < module->n_outputs; i++)
        if (wire->port == NULL ? module->n_outputs == 1
                               : strcmp (module->locals[module->outputs[i]].id, wire->port) == 0)
          {
            wire->output = (int)i;
            return TRUE;
          }
      wire->output = -1;
      if (leads_to_weight (local, wire->port))
        return TRUE;
      add_port_fault (net, local, path, wire->wire, "from", wire->port,
                      port_names (NULL, 0, module, module->outputs, module->n_outputs));
      return FALSE;
    }
  if (local->kind == NET_OP)
    {
      guint n = loom_op_count_ports (local->op->outputs);

      wire->output = -1;
      if (local->op->dynamic_outputs != NULL)
        return TRUE;
      wire->output = loom_op_output_index (local->op->outputs, n, wire->port);
      if (wire->output >= 0 || leads_to_weight (local, wire->port))
        return TRUE;
      add_port_fault (net, local, path, wire->wire, "from", wire->port,
                      port_names (local->op->outputs, n, NULL, NULL, 0));
      return FALSE;
    }
  add_port_fault (net, local, path, wire->wire, "from", wire->port, port_names (NULL, 0, NULL, NULL, 0));
  return FALSE;
}

/* The local node that the end of a wire names; G_MAXUINT: there is none. */
static guint
find_end (const NetScope *scope, const guint *local_of_child, const char *end)
{
  const char *dot = end != NULL ? strchr (end, '.') : NULL;
  char id[128];
  g_autofree char *long_id = NULL;
  gsize n = dot != NULL ? (gsize)(dot - end) : end != NULL ? strlen (end) : 0;
  const LoomElement *node;
  guint local;

  if (n == 0 || (dot != NULL && dot[1] == 0))
    return G_MAXUINT;
  if (n < sizeof id)
    {
      memcpy (id, end, n);
      id[n] = 0;
    }
  else
    long_id = g_strndup (end, n);
  node = loom_scope_find_node (scope->element, long_id != NULL ? long_id : id);
  if (node == NULL)
    return G_MAXUINT;
  local = local_of_child[loom_element_index (node)];
  return local < scope->n_locals ? local : G_MAXUINT;
}

void
loom_net_find_ends (const NetScope *scope, const guint *local_of_child, NetEnds *ends)
{
  ends->from = find_end (scope, local_of_child, loom_element_get (ends->wire, "from"));
  ends->to = find_end (scope, local_of_child, loom_element_get (ends->wire, "to"));
}

static const char *
port_of_end (const char *end)
{
  const char *dot = strchr (end, '.');

  return dot != NULL ? dot + 1 : NULL;
}

void
loom_net_grow_inputs (LoomNet *net, NetLocal *local, guint n)
{
  guint room = MAX (n, local->n_ports * 2);
  NetWire **wires;
  gboolean *wrong;

  /* The size is doubled, so that a thousand inputs of one node take linear time. */
  if (n > local->n_ports)
    {
      wires = loom_net_alloc (&net->arena, sizeof (NetWire *) * room);
      wrong = loom_net_alloc (&net->arena, sizeof (gboolean) * room);
      if (local->n_ports > 0)
        {
          memcpy (wires, local->wires, sizeof (NetWire *) * local->n_ports);
          memcpy (wrong, local->wrong, sizeof (gboolean) * local->n_ports);
        }
      local->wires = wires;
      local->wrong = wrong;
      local->n_ports = room;
    }
}

void
loom_net_compile_wire (LoomNet *net, NetScope *scope, const NetEnds *ends)
{
  const LoomElement *element = ends->wire;
  const char *from = loom_element_get (element, "from"), *to_port;
  NetLocal *source = ends->from != G_MAXUINT ? scope->locals + ends->from : NULL;
  NetLocal *target = ends->to != G_MAXUINT ? scope->locals + ends->to : NULL;
  NetWire *wire;
  int input;

  if (target == NULL || target->kind == NET_BROKEN)
    return;
  to_port = port_of_end (loom_element_get (element, "to"));
  input = input_index (net, target, target->path, element, to_port);
  if (input < 0)
    return;
  loom_net_grow_inputs (net, target, (guint)input + 1);
  if (target->wires[input] != NULL || target->wrong[input])
    {
      LoomFault *fault;

      fault
          = loom_net_fault (net, element, target->path, LOOM_ERROR_PORT, to_port,
                            "Two wires end at the same input of “%s”: one from “%s” and one from “%s”.", target->id,
                            target->wires[input] != NULL ? loom_element_get (target->wires[input]->wire, "from") : "?",
                            from != NULL ? from : "?");
      if (fault != NULL)
        loom_fault_set_fix (fault, NULL, NULL, "Remove one; to combine values, use “add” or “concat”.");
      return;
    }
  if (source == NULL || source->kind == NET_BROKEN)
    {
      target->wrong[input] = TRUE;
      return;
    }
  wire = loom_net_alloc (&net->arena, sizeof (NetWire));
  wire->from = (guint)(source - scope->locals);
  wire->port = loom_net_strdup (&net->arena, port_of_end (from));
  wire->wire = element;
  if (find_output (net, source, source->path, wire))
    target->wires[input] = wire;
  else
    target->wrong[input] = TRUE;
}
