/* Makes the edits of a fix, without knowledge of who keeps the graph: the caller applies each edit. */
#include "engine/fix/fix-private.h"

/* The end of a wire at this port: only the id if that is unambiguous. */
static char *
end_text (const LoomElement *node, const LoomPortSpec *specs, const char *port)
{
  guint n = 0;
  gboolean required = FALSE;

  for (const LoomPortSpec *p = specs; p != NULL && p->name != NULL; p++)
    if ((p->flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT)) == 0)
      {
        n++;
        required = required || ((p->flags & LOOM_PORT_VARIADIC) == 0 && g_strcmp0 (p->name, port) == 0);
      }
  return n == 1 && required ? g_strdup (loom_element_get (node, "id"))
                            : g_strdup_printf ("%s.%s", loom_element_get (node, "id"), port);
}

static char *
input_text (const LoomElement *node, const char *port)
{
  const LoomOp *op = loom_op_of (node);

  return end_text (node, op != NULL ? loom_op_inputs (op, node) : NULL, port);
}

/* A wire without a name of an input leads to the only required one. */
static LoomElement *
wire_into (const LoomElement *node, const char *port)
{
  g_autoptr (GPtrArray) wires = fix_wires_into (node);
  g_autofree char *text = input_text (node, port);
  const gboolean alone = g_strcmp0 (text, loom_element_get (node, "id")) == 0;

  for (guint i = 0; i < wires->len; i++)
    {
      g_autofree char *end = fix_dup_port (wires->pdata[i]);

      if (end != NULL ? g_strcmp0 (end, port) == 0 : alone)
        return wires->pdata[i];
    }
  return NULL;
}

/* The new node comes before the faulty one in the file, and takes over the wire's beginning. */
static gboolean
insert (LoomElement *node, const LoomFix *fix, LoomFixEdit edit, gpointer data)
{
  LoomElement *scope = loom_element_parent (node), *wire = wire_into (node, fix->port);
  const LoomOp *op = loom_op (fix->op);
  g_autofree char *id = loom_scope_free_id (scope, fix->op), *from = NULL;

  if (wire == NULL || op == NULL)
    return FALSE;
  from = g_strdup (loom_element_get (wire, "from"));
  edit (loom_edit_insert (scope, loom_element_index (node), fix_node (op, id, fix->value)), data);
  edit (loom_edit_insert (scope, loom_element_index (wire),
                          loom_element_new (LOOM_TAG_WIRE, "from", from, "to", id, NULL)),
        data);
  edit (loom_edit_set (wire, "from", id), data);
  return TRUE;
}

static gboolean
connect (LoomElement *node, const LoomElement *from, const LoomFix *fix, LoomFixEdit edit, gpointer data)
{
  const LoomOp *op = loom_op_of (from);
  LoomElement *scope = loom_element_parent (node), *old = wire_into (node, fix->port);
  g_autofree char *begin = end_text (from, op != NULL ? op->outputs : NULL, fix->output);
  g_autofree char *end = input_text (node, fix->port);

  if (old != NULL)
    edit (loom_edit_remove (old), data);
  edit (loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_WIRE),
                          loom_element_new (LOOM_TAG_WIRE, "from", begin, "to", end, NULL)),
        data);
  return TRUE;
}

static gboolean
swap (const LoomElement *node, const LoomFix *fix, LoomFixEdit edit, gpointer data)
{
  g_autoptr (GPtrArray) wires = fix_wires_into (node);

  for (guint i = 0; i < wires->len; i++)
    {
      g_autofree char *port = fix_dup_port (wires->pdata[i]);
      const char *other = g_strcmp0 (port, fix->port) == 0    ? fix->value
                          : g_strcmp0 (port, fix->value) == 0 ? fix->port
                                                              : NULL;
      g_autofree char *to = other != NULL ? g_strdup_printf ("%s.%s", loom_element_get (node, "id"), other) : NULL;

      if (to != NULL)
        edit (loom_edit_set (wires->pdata[i], "to", to), data);
    }
  return wires->len > 0;
}

static gboolean
own (const LoomElement *element, LoomElement *wire, const LoomFix *fix, LoomFixEdit edit, gpointer data)
{
  g_autofree char *kept = g_strdup (loom_element_get (element, fix->port));

  if (wire != NULL)
    edit (fix->value != NULL ? loom_edit_set (wire, "to", fix->value) : loom_edit_remove (wire), data);
  else if (fix->from != 0 || (fix->output != NULL && kept == NULL))
    return FALSE;
  else
    edit (loom_edit_set (element, fix->port, fix->output != NULL ? NULL : fix->value), data);
  if (wire == NULL && fix->output != NULL)
    edit (loom_edit_set (element, fix->output, kept), data);
  return TRUE;
}

gboolean
loom_fix_edit (const LoomGraph *graph, const LoomFix *fix, LoomFixEdit edit, gpointer data)
{
  LoomElement *node = fix->node != 0 ? loom_graph_by_serial (graph, fix->node) : NULL;
  LoomElement *from = fix->from != 0 ? loom_graph_by_serial (graph, fix->from) : NULL;

  switch (fix->kind)
    {
    case LOOM_FIX_CUT:
      if (from != NULL)
        edit (loom_edit_remove (from), data);
      return from != NULL;
    case LOOM_FIX_SET:
      if (node != NULL)
        edit (loom_edit_set (node, fix->port, fix->value), data);
      return node != NULL;
    case LOOM_FIX_OWN:
      return node != NULL && own (node, from, fix, edit, data);
    case LOOM_FIX_INSERT:
      return node != NULL && insert (node, fix, edit, data);
    case LOOM_FIX_CONNECT:
      return node != NULL && from != NULL && connect (node, from, fix, edit, data);
    case LOOM_FIX_SWAP:
      return node != NULL && swap (node, fix, edit, data);
    case LOOM_FIX_OPEN:
    case LOOM_FIX_ASK:
      break;
    }
  return FALSE;
}
