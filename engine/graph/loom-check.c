/* Finds faults of a graph that do not depend on operators: ids, names, and wires without a valid end. The reader does
 * not check this, because the same faults can arise in the editor; both check through loom_net_new(). */
#include "engine/graph/graph-private.h"
#include "engine/graph/loom-grammar.h"

#include <string.h>

static const char *
nearest_node (const LoomElement *scope, const char *id)
{
  g_autoptr (GPtrArray) ids = g_ptr_array_new ();

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);

      if (e->tag == LOOM_TAG_NODE && loom_element_get (e, "id") != NULL)
        g_ptr_array_add (ids, (gpointer)loom_element_get (e, "id"));
    }
  g_ptr_array_add (ids, NULL);
  return loom_nearest (id, (const char *const *)ids->pdata);
}

static void
check_end (const LoomElement *scope, const LoomElement *wire, const char *attribute, LoomFaults *faults)
{
  const char *end = loom_element_get (wire, attribute);
  g_autofree char *id = NULL, *port = NULL;
  const char *near;
  LoomFault *fault;

  if (end == NULL)
    return;
  if (!loom_end_split (end, &id, &port))
    {
      loom_faults_add (faults, LOOM_ERROR_SCHEMA, wire->line, NULL, attribute,
                       "A wire's end must be NODE or NODE.PORT, not “%s”.", end);
      return;
    }
  if (loom_scope_find_node (scope, id) != NULL)
    return;
  near = nearest_node (scope, id);
  fault = loom_faults_add (faults, LOOM_ERROR_PORT, wire->line, NULL, attribute,
                           "The wire from “%s” to “%s” is not connected: there is no node “%s”.",
                           loom_element_get (wire, "from"), loom_element_get (wire, "to"), id);
  if (near != NULL)
    {
      g_autofree char *fixed = port != NULL ? g_strconcat (near, ".", port, NULL) : g_strdup (near);

      loom_fault_set_fix (fault, attribute, fixed, "Did you mean “%s”?", near);
    }
}

static void
check_id (const LoomElement *scope, const LoomElement *node, LoomFaults *faults)
{
  const char *id = loom_element_get (node, "id");

  if (id == NULL)
    loom_faults_add (faults, LOOM_ERROR_SCHEMA, node->line, NULL, NULL, "A node has no id.");
  else if (!loom_id_is_valid (id))
    {
      g_autofree char *free_id = loom_scope_free_id (scope, id);
      LoomFault *fault = loom_faults_add (
          faults, LOOM_ERROR_SCHEMA, node->line, id, "id",
          "An id may contain only letters A to Z, digits, underscores and hyphens, and must not begin with "
          "a hyphen; this one is “%s”.",
          id);

      loom_fault_set_fix (fault, "id", free_id, "“%s” would do.", free_id);
    }
  else if (loom_scope_find_node (scope, id) != node)
    {
      const LoomElement *first = loom_scope_find_node (scope, id);
      g_autofree char *free_id = loom_scope_free_id (scope, id);
      LoomFault *fault;

      fault = loom_faults_add (faults, LOOM_ERROR_SCHEMA, node->line, id, "id",
                               "Two nodes have the id “%s”; the other one is in line %d.", id,
                               first != NULL ? first->line : 0);
      loom_fault_set_fix (fault, "id", free_id, "“%s” is free.", free_id);
    }
}

static void
check_scope (const LoomElement *scope, LoomFaults *faults)
{
  g_autoptr (GHashTable) arguments = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);
      const char *name = loom_element_get (e, "name");

      switch (e->tag)
        {
        case LOOM_TAG_NODE:
          check_id (scope, e, faults);
          break;
        case LOOM_TAG_WIRE:
          check_end (scope, e, "from", faults);
          check_end (scope, e, "to", faults);
          break;
        case LOOM_TAG_ARG:
          if (!loom_name_is_valid (name) || g_ascii_isdigit (name[0]))
            loom_faults_add (faults, LOOM_ERROR_SCHEMA, e->line, NULL, "name",
                             "An argument's name may contain only letters, digits and underscores, and must not begin "
                             "with a digit; this one is “%s”.",
                             name != NULL ? name : "");
          else if (!g_hash_table_add (arguments, (gpointer)name))
            loom_faults_add (faults, LOOM_ERROR_SCHEMA, e->line, NULL, "name", "Two arguments have the name “%s”.",
                             name);
          break;
        default:
          break;
        }
    }
}

static void
check_booleans (const LoomElement *e, LoomFaults *faults)
{
  const char *const *names = loom_grammar (e->tag)->booleans;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      const char *value = loom_element_get (e, names[i]);

      if (value != NULL && strcmp (value, "true") != 0 && strcmp (value, "false") != 0)
        loom_faults_add (faults, LOOM_ERROR_SCHEMA, e->line, NULL, names[i],
                         "<%s> has %s=\"%s\", which must be true or false.", loom_tag_name (e->tag), names[i], value);
    }
}

void
loom_graph_check (const LoomGraph *graph, LoomFaults *faults)
{
  g_autoptr (GHashTable) modules = g_hash_table_new (g_str_hash, g_str_equal);

  g_return_if_fail (graph != NULL && faults != NULL);

  check_booleans (graph->root, faults);
  check_scope (graph->root, faults);
  for (guint i = 0; i < loom_element_n_children (graph->root); i++)
    {
      const LoomElement *e = loom_element_child (graph->root, i);
      const char *name = loom_element_get (e, "name");

      if (e->tag != LOOM_TAG_MODULE)
        continue;
      if (!loom_name_is_valid (name))
        loom_faults_add (faults, LOOM_ERROR_SCHEMA, e->line, NULL, "name",
                         "A module's name may contain only letters, digits and underscores, not “%s”.",
                         name != NULL ? name : "");
      else if (!g_hash_table_add (modules, (gpointer)name))
        loom_faults_add (faults, LOOM_ERROR_SCHEMA, e->line, NULL, "name", "Two modules have the name “%s”.", name);
      check_scope (e, faults);
    }
}

void
loom_fault_suggest_name (LoomFault *fault, const LoomElement *element, const char *name, const char *near)
{
  if (near != NULL && loom_element_get (element, near) == NULL)
    loom_fault_set_rename (fault, name, near);
  else if (near != NULL)
    loom_fault_set_fix (fault, name, NULL, "Did you mean “%s”?", near);
  else
    loom_fault_set_fix (fault, name, NULL, "Remove it.");
}
