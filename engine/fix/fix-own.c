/* The fix that a fault contains: an attribute's value or name, an argument of the module, or a wire to a name that a
 * formula no longer has. */
#include "engine/fix/fix-private.h"

#include <string.h>

/* The wire into an input that a formula no longer has, and the only input without a wire (NULL: none, or several). NULL
 * if the port exists. */
static LoomElement *
stray_wire (const LoomGraph *graph, guint64 serial, const char *port, const char **waits)
{
  LoomElement *node = loom_graph_by_serial (graph, serial), *scope, *found = NULL;
  const LoomOp *op = loom_op_of (node);
  g_autoptr (GPtrArray) wired = g_ptr_array_new_with_free_func (g_free);
  guint n_waiting = 0;

  *waits = NULL;
  if (op == NULL || op->dynamic_inputs == NULL || port == NULL)
    return NULL;
  scope = loom_element_parent (node);
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);
      const char *to = loom_element_tag (e) == LOOM_TAG_WIRE ? loom_element_get (e, "to") : NULL;
      g_autofree char *id = NULL, *name = NULL;

      if (to == NULL || !loom_end_split (to, &id, &name) || name == NULL
          || g_strcmp0 (id, loom_element_get (node, "id")) != 0)
        continue;
      if (strcmp (name, port) == 0)
        found = e;
      g_ptr_array_add (wired, g_steal_pointer (&name));
    }
  for (const LoomPortSpec *p = loom_op_inputs (op, node); p != NULL && p->name != NULL; p++)
    {
      if (strcmp (p->name, port) == 0)
        return NULL;
      if (g_ptr_array_find_with_equal_func (wired, p->name, g_str_equal, NULL))
        continue;
      *waits = p->name;
      n_waiting++;
    }
  if (n_waiting != 1)
    *waits = NULL;
  return found;
}

/* If the faulty attribute is an argument of the module, "{channels}": the instance that sets it, and its name (transfer
 * full), because the module's definition also serves other instances. NULL if the attribute has a value of its own. */
static LoomElement *
find_argument (const LoomGraph *graph, const LoomNet *net, const LoomFault *fault, char **argument)
{
  int at = net != NULL && fault->node != NULL && fault->fix_attribute != NULL && fault->fix_value != NULL
               ? loom_net_find (net, fault->node)
               : -1;
  const char *text = at >= 0 ? loom_element_get (loom_net_node (net, (guint)at)->element, fault->fix_attribute) : NULL;
  const char *dot = fault->node != NULL ? strrchr (fault->node, '.') : NULL;
  g_autofree char *path = NULL, *name = NULL;
  LoomElement *instance;
  const char *given;

  if (text == NULL || dot == NULL || !loom_expr_is (text) || strlen (text) < 3)
    return NULL;
  name = g_strstrip (g_strndup (text + 1, strlen (text) - 2));
  for (const char *p = name; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && *p != '_')
      return NULL;
  path = g_strndup (fault->node, (gsize)(dot - fault->node));
  instance = loom_graph_find_path (graph, path, NULL);
  given = instance != NULL ? loom_element_get (instance, name) : NULL;
  if (instance == NULL || loom_node_module (instance) == NULL || (given != NULL && loom_expr_is (given)))
    return NULL;
  *argument = g_steal_pointer (&name);
  return instance;
}

/* A wire to move to the only input that waits, or to remove. */
static LoomFix *
own_wire (const FixSearch *search)
{
  const char *waits;
  const LoomElement *wire = stray_wire (search->graph, search->serial, search->fault->port, &waits);
  const LoomElement *node = loom_graph_by_serial (search->graph, search->serial);
  LoomFix *fix;

  if (wire == NULL)
    return NULL;
  fix = loom_fix_new (LOOM_FIX_OWN, search->serial, search->fault->port);
  fix->from = loom_element_serial (wire);
  fix->value = waits != NULL ? g_strdup_printf ("%s.%s", loom_element_get (node, "id"), waits) : NULL;
  fix->label = waits != NULL ? g_strdup_printf (_ ("Connect to %s"), waits) : g_strdup (_ ("Remove the wire"));
  return fix;
}

/* The element of which the fault's edit sets an attribute; NULL: none. */
static const LoomElement *
find_element (const LoomGraph *graph, const LoomFault *fault)
{
  if (fault->node != NULL)
    return loom_graph_find_path (graph, fault->node, NULL);
  return g_str_has_prefix (fault->message, "<train>: ") ? loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN)
                                                        : NULL;
}

static char *
label_of (const FixSearch *search, const char *argument)
{
  const LoomFault *fault = search->fault;

  if (argument != NULL)
    return g_strdup_printf (_ ("Set %s to %s"), argument, fault->fix_value);
  if (fault->fix_name != NULL)
    return g_strdup_printf (_ ("Rename %s to %s"), fault->fix_attribute, fault->fix_name);
  if (fault->fix_value == NULL)
    return g_strdup_printf (_ ("Remove %s"), fault->fix_attribute);
  if (strcmp (fault->fix_attribute, "op") == 0)
    return g_strdup_printf (_ ("Change to %s"), fault->fix_value);
  return g_strdup_printf (_ ("Set %s to %s"), fault->fix_attribute, fault->fix_value);
}

LoomFix *
loom_fix_own (const LoomGraph *graph, const LoomNet *net, const LoomFault *fault, guint64 serial,
              LoomTranslate translate)
{
  const FixSearch own = { .graph = graph, .net = net, .fault = fault, .serial = serial, .translate = translate };
  g_autofree char *argument = NULL;
  const LoomElement *element;
  LoomFix *fix;

  if (fault->fix_attribute == NULL)
    return fault->code == LOOM_ERROR_PORT ? own_wire (&own) : NULL;
  element = find_argument (graph, net, fault, &argument);
  if (element == NULL)
    element = find_element (graph, fault);
  fix = loom_fix_new (LOOM_FIX_OWN, element != NULL ? loom_element_serial (element) : 0,
                      argument != NULL ? argument : fault->fix_attribute);
  fix->value = g_strdup (fault->fix_value);
  fix->output = argument != NULL ? NULL : g_strdup (fault->fix_name);
  fix->label = label_of (&own, argument);
  fix->preview = g_strdup (fault->fix);
  return fix;
}
