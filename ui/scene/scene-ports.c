#include "ui/scene/scene-ports.h"

#include <string.h>

void
scene_ports_add (GArray *ports, const char *name, const char *doc, gboolean required, gboolean variadic)
{
  StudioPort port = { .name = g_intern_string (name),
                      .doc = doc != NULL ? g_intern_string (doc) : NULL,
                      .required = required,
                      .variadic = variadic,
                      .link = STUDIO_NO_ITEM };
  g_array_append_val (ports, port);
}

guint
scene_ports_find (GArray *ports, const char *name)
{
  for (guint i = 0; i < ports->len; i++)
    if (strcmp (g_array_index (ports, StudioPort, i).name, name) == 0)
      return i;
  return STUDIO_NO_ITEM;
}

guint
scene_ports_default (GArray *ports)
{
  for (guint i = 0; i < ports->len; i++)
    if (g_array_index (ports, StudioPort, i).required)
      return i;
  return ports->len > 0 ? 0 : STUDIO_NO_ITEM;
}

/* TRUE if an output of the module carries a value to this input: to h, or along trees to h0, h1 … of single children.
 */
static gboolean
is_carried (const LoomElement *module, const LoomElement *input)
{
  const char *id = loom_element_get (input, "id");

  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      const LoomElement *e = loom_element_child (module, i);
      const char *carry = loom_op_has_role (e, LOOM_ROLE_MODULE_OUTPUT) ? loom_element_get (e, LOOM_CARRY) : NULL;

      if (carry != NULL && g_str_has_prefix (id, carry)
          && id[strlen (carry) + strspn (id + strlen (carry), G_CSET_DIGITS)] == '\0')
        return TRUE;
    }
  return FALSE;
}

/* TRUE if an input of a module needs no wire because a loop initialises it with zeros. */
static gboolean
begins_as_zeros (const LoomElement *module, const LoomElement *input)
{
  return is_carried (module, input) && loom_element_get (input, "shape") != NULL;
}

void
scene_ports_of_module (const LoomElement *module, const LoomLoop *loop, GArray *inputs, GArray *outputs)
{
  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      const LoomElement *e = loom_element_child (module, i);
      const char *id = loom_element_get (e, "id");

      if (id == NULL)
        continue;
      if (loom_op_has_role (e, LOOM_ROLE_MODULE_INPUT))
        {
          if (loop == NULL || loop->kind != LOOM_LOOP_TREE || !is_carried (module, e))
            scene_ports_add (inputs, id, NULL,
                             loop == NULL || loop->kind != LOOM_LOOP_SCAN || !begins_as_zeros (module, e), FALSE);
        }
      else if (loom_op_has_role (e, LOOM_ROLE_MODULE_OUTPUT))
        scene_ports_add (outputs, id, NULL, TRUE, FALSE);
    }
  if (loop != NULL && scene_ports_find (inputs, loop->port) == STUDIO_NO_ITEM)
    scene_ports_add (inputs, loop->port, loop->port_doc, !loop->port_is_optional, FALSE);
}

const LoomPortSpec *
scene_ports_weight (const LoomOp *op, const char *name)
{
  for (const LoomPortSpec *p = op != NULL ? op->inputs : NULL; p != NULL && p->name != NULL; p++)
    if ((p->flags & LOOM_PORT_WEIGHT) && strcmp (p->name, name) == 0)
      return p;
  return NULL;
}

int
scene_ports_compare (gconstpointer a, gconstpointer b)
{
  return atoi (((const StudioPort *)a)->name) - atoi (((const StudioPort *)b)->name);
}
