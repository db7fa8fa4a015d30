/* Makes a graph as a chain of nodes; see template-private.h. */
#include "engine/template/template-private.h"

#include <stdarg.h>

void
loom_template_maker_clear (LoomTemplateMaker *self)
{
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->last, g_free);
}

void
loom_template_begin_module (LoomTemplateMaker *self, const char *name)
{
  self->module = loom_element_new (LOOM_TAG_MODULE, "name", name, NULL);
  self->wires = g_ptr_array_new ();
}

void
loom_template_end_module (LoomTemplateMaker *self)
{
  LoomElement *module = g_steal_pointer (&self->module);

  for (guint i = 0; i < self->wires->len; i++)
    loom_element_append_detached (module, self->wires->pdata[i]);
  g_clear_pointer (&self->wires, g_ptr_array_unref);
  loom_template_insert (self, module);
}

void
loom_template_insert (LoomTemplateMaker *self, LoomElement *element)
{
  LoomElement *root = loom_graph_root (self->graph);
  guint place = loom_element_place_for (root, loom_element_tag (element));

  if (self->module != NULL && loom_element_tag (element) == LOOM_TAG_WIRE)
    g_ptr_array_add (self->wires, element);
  else if (self->module != NULL)
    loom_element_append_detached (self->module, element);
  if (self->module != NULL)
    return;
  loom_edit_free (loom_graph_apply (self->graph, loom_edit_insert (root, place, element)));
}

static const char *
add_node (LoomTemplateMaker *self, const char *wanted, const char *op, va_list attributes)
{
  LoomElement *scope = loom_graph_root (self->graph);
  /* A module is searched only once it is part of the graph; its builder chooses different ids. */
  g_autofree char *id = self->module != NULL ? g_strdup (wanted) : loom_scope_free_id (scope, wanted);
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", id, "op", op, NULL);
  const char *name;

  while ((name = va_arg (attributes, const char *)) != NULL)
    loom_element_set_detached (node, name, va_arg (attributes, const char *));
  loom_template_insert (self, node);
  return loom_element_get (self->module != NULL ? node : loom_scope_find_node (scope, id), "id");
}

const char *
loom_template_node (LoomTemplateMaker *self, const char *id, const char *op, ...)
{
  const char *added;
  va_list attributes;

  va_start (attributes, op);
  added = add_node (self, id, op, attributes);
  va_end (attributes);
  return added;
}

void
loom_template_wire (LoomTemplateMaker *self, const char *from, const char *to)
{
  loom_template_insert (self, loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL));
}

void
loom_template_set_end (LoomTemplateMaker *self, const char *end)
{
  g_autofree char *copy = g_strdup (end);

  g_free (self->last);
  self->last = g_steal_pointer (&copy);
}

const char *
loom_template_chain (LoomTemplateMaker *self, const char *id, const char *op, ...)
{
  const char *added;
  va_list attributes;

  va_start (attributes, op);
  added = add_node (self, id, op, attributes);
  va_end (attributes);
  loom_template_wire (self, self->last, added);
  loom_template_set_end (self, added);
  return added;
}
