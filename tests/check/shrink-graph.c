/* Shrinks a graph: candidates with one thing less are tested until none has the property; see the header.
 *
 * Each candidate is a copy of the graph. Elements keep their serial numbers in copies, so a change is found in the
 * current graph and made in its copy. Large steps come first: another loss, whose ancestors alone are kept; then
 * sources that are cut off, nodes that are bypassed, and attributes. */
#include "tests/check/shrink-graph.h"

#include "engine/net/loom-net.h"

#include <string.h>

typedef struct
{
  LoomGraph *graph; /* the smallest one so far */
  double size;
  ShrinkTest test;
  gpointer data;
  guint n_inputs; /* for names */
} Shrinking;

/* ---- what a graph has --------------------------------------------------- */

static guint
count_in (const LoomElement *e, double *size)
{
  guint n = 0;

  for (guint i = 0; i < loom_element_n_children (e); i++)
    {
      const LoomElement *child = loom_element_child (e, i);
      const LoomTag tag = loom_element_tag (child);

      *size += 0.01 * loom_element_n_attributes (child) + (tag == LOOM_TAG_NODE ? 0 : 0.1);
      if (tag == LOOM_TAG_NODE)
        {
          n++;
          *size += g_strcmp0 (loom_element_get (child, "op"), "input") == 0 ? 1.0 : 1.5;
        }
      n += count_in (child, size);
    }
  return n;
}

guint
shrink_count_nodes (const LoomGraph *graph)
{
  double size = 0;

  return count_in (loom_graph_root (graph), &size);
}

static double
size_of (const LoomGraph *graph)
{
  double size = 0;

  count_in (loom_graph_root (graph), &size);
  return size;
}

/* The root and the modules. */
static guint
n_scopes (const LoomGraph *graph)
{
  guint n = 1;

  for (guint i = 0; i < loom_element_n_children (loom_graph_root (graph)); i++)
    n += loom_element_tag (loom_element_child (loom_graph_root (graph), i)) == LOOM_TAG_MODULE;
  return n;
}

static LoomElement *
get_scope (const LoomGraph *graph, guint s)
{
  LoomElement *root = loom_graph_root (graph);

  for (guint i = 0; s > 0 && i < loom_element_n_children (root); i++)
    if (loom_element_tag (loom_element_child (root, i)) == LOOM_TAG_MODULE && --s == 0)
      return loom_element_child (root, i);
  return root;
}

static gboolean
ends_at (const LoomElement *wire, const char *attribute, const char *id)
{
  g_autofree char *node = NULL, *port = NULL;

  return loom_element_get (wire, attribute) != NULL && loom_end_split (loom_element_get (wire, attribute), &node, &port)
         && strcmp (node, id) == 0;
}

/* The first wire of a scope that begins or ends at a node; NULL: none. */
static LoomElement *
find_wire (const LoomElement *scope, const char *attribute, const char *id)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_WIRE && ends_at (e, attribute, id))
        return e;
    }
  return NULL;
}

static const char *
loss_of (const LoomGraph *graph)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  return train != NULL ? loom_element_get (train, "loss") : NULL;
}

/* ---- changes of a copy ----------------------------------------------------- */

static void
apply (LoomGraph *graph, LoomEdit *edit)
{
  loom_edit_free (loom_graph_apply (graph, edit));
}

static void
remove_node (LoomGraph *graph, LoomElement *node)
{
  LoomElement *scope = loom_element_parent (node), *wire;
  const char *id = loom_element_get (node, "id");

  while ((wire = find_wire (scope, "from", id)) != NULL || (wire = find_wire (scope, "to", id)) != NULL)
    apply (graph, loom_edit_remove (wire));
  apply (graph, loom_edit_remove (node));
}

/* A node whose outputs are read by its kind alone, if nothing in the scope reads it. */
static gboolean
is_read (const LoomGraph *graph, const LoomElement *node)
{
  const char *id = loom_element_get (node, "id"), *op = loom_element_get (node, "op"), *loss = loss_of (graph);
  g_autofree char *end = NULL, *port = NULL;

  if (g_strcmp0 (op, "module_output") == 0 || g_strcmp0 (op, "module_input") == 0 || g_strcmp0 (op, "assign") == 0)
    return TRUE;
  if (loss == NULL && loom_element_tag (loom_element_parent (node)) == LOOM_TAG_GRAPH)
    return TRUE;
  return find_wire (loom_element_parent (node), "from", id) != NULL
         || (loss != NULL && loom_end_split (loss, &end, &port) && strcmp (end, id) == 0);
}

static gboolean
is_module_used (const LoomElement *e, const char *name)
{
  for (guint i = 0; i < loom_element_n_children (e); i++)
    {
      const LoomElement *child = loom_element_child (e, i);
      const char *module = loom_element_get (child, "module"), *body = loom_element_get (child, "body"),
                 *bodies = loom_element_get (child, "bodies");
      g_auto (GStrv) all = g_strsplit (bodies != NULL ? bodies : "", ",", -1);

      if (g_strcmp0 (module, name) == 0 || g_strcmp0 (body, name) == 0
          || g_strv_contains ((const char *const *)all, name) || is_module_used (child, name))
        return TRUE;
    }
  return FALSE;
}

/* Removes what nothing reads any more. */
static void
prune (LoomGraph *graph)
{
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint s = 0; s < n_scopes (graph); s++)
        {
          LoomElement *scope = get_scope (graph, s);

          for (guint i = loom_element_n_children (scope); i > 0; i--)
            {
              LoomElement *e = loom_element_child (scope, MIN (i, loom_element_n_children (scope)) - 1);

              if (loom_element_tag (e) == LOOM_TAG_NODE && !is_read (graph, e))
                {
                  remove_node (graph, e);
                  changed = TRUE;
                }
            }
        }
      for (guint s = n_scopes (graph); s > 1; s--)
        {
          LoomElement *module = get_scope (graph, s - 1);

          if (!is_module_used (loom_graph_root (graph), loom_element_get (module, "name")))
            {
              apply (graph, loom_edit_remove (module));
              changed = TRUE;
            }
        }
    }
}

/* ---- candidates -------------------------------------------------------------- */

/* Takes the candidate; TRUE if it is now the smallest graph. */
static gboolean
try_candidate (Shrinking *self, LoomGraph *candidate)
{
  double size;

  prune (candidate);
  size = size_of (candidate);
  if (size < self->size - 1e-9 && self->test (candidate, self->data))
    {
      loom_graph_unref (self->graph);
      self->graph = candidate;
      self->size = size;
      return TRUE;
    }
  loom_graph_unref (candidate);
  return FALSE;
}

/* The element of a copy that this one of the current graph is there. */
static LoomElement *
in_copy (const LoomGraph *copy, const LoomElement *e)
{
  return loom_graph_by_serial (copy, loom_element_serial (e));
}

static gboolean
try_removal (Shrinking *self, const LoomElement *e)
{
  LoomGraph *copy = loom_graph_copy (self->graph);
  LoomElement *same = in_copy (copy, e);

  if (loom_element_tag (e) == LOOM_TAG_NODE)
    remove_node (copy, same);
  else
    apply (copy, loom_edit_remove (same));
  return try_candidate (self, copy);
}

static gboolean
try_attributes (Shrinking *self, const LoomElement *e)
{
  gboolean any = FALSE;

  for (guint k = loom_element_n_attributes (e); k > 0; k--)
    {
      const char *name, *value;
      LoomGraph *copy;

      if (k > loom_element_n_attributes (e))
        continue;
      loom_element_attribute (e, k - 1, &name, &value);
      if (strcmp (name, "id") == 0 || strcmp (name, "op") == 0 || strcmp (name, "module") == 0
          || strcmp (name, "loss") == 0 || strcmp (name, "from") == 0 || strcmp (name, "to") == 0)
        continue;
      copy = loom_graph_copy (self->graph);
      apply (copy, loom_edit_set (in_copy (copy, e), name, NULL));
      if (try_candidate (self, copy))
        {
          any = TRUE;
          return any; /* the element belongs to the graph that was */
        }
    }
  return any;
}

/* <train>, its children and attributes. */
static gboolean
shrink_train (Shrinking *self)
{
  LoomElement *train = loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN);
  gboolean any = FALSE;

  if (train == NULL)
    return FALSE;
  if (try_removal (self, train))
    return TRUE;
  for (guint i = loom_element_n_children (train); i > 0; i--)
    {
      if (try_removal (self, loom_element_child (train, i - 1)))
        any = TRUE;
      train = loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN);
      if (i - 1 < loom_element_n_children (train))
        while (i - 1 < loom_element_n_children (train) && try_attributes (self, loom_element_child (train, i - 1)))
          {
            any = TRUE;
            train = loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN);
          }
    }
  while (try_attributes (self, loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN)))
    any = TRUE;
  return any;
}

static LoomElement *
new_node (LoomGraph *graph, LoomElement *scope, LoomElement *node)
{
  apply (graph, loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_NODE), node));
  return node;
}

static void
new_wire (LoomGraph *graph, LoomElement *scope, const char *from, const char *to)
{
  LoomElement *wire = loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL);

  apply (graph, loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_WIRE), wire));
}

/* The mean of an earlier value is the loss. */
static gboolean
shrink_loss (Shrinking *self)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (self->graph, NULL, faults);

  if (loss_of (self->graph) == NULL)
    return FALSE;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);

      if (loom_element_tag (loom_element_parent (node->element)) != LOOM_TAG_GRAPH || !node->typed)
        continue;
      for (guint o = 0; o < node->n_outputs; o++)
        {
          LoomGraph *copy;
          LoomElement *root, *train;
          g_autofree char *end = NULL, *id = NULL;

          if (!loom_dtype_is_float (node->output[o].dtype))
            continue;
          copy = loom_graph_copy (self->graph);
          root = loom_graph_root (copy);
          train = loom_element_find (root, LOOM_TAG_TRAIN);
          end = g_strdup_printf ("%s.%s", loom_element_get (node->element, "id"), node->output_spec[o].name);
          if (node->output[o].shape.rank > 0)
            {
              id = loom_scope_free_id (root, "loss");
              new_node (copy, root, loom_element_new (LOOM_TAG_NODE, "id", id, "op", "mean", NULL));
              new_wire (copy, root, end, id);
            }
          apply (copy, loom_edit_set (train, "loss", id != NULL ? id : end));
          if (try_candidate (self, copy))
            return TRUE;
        }
    }
  return FALSE;
}

/* A wire's source becomes an input node of its type, or another input of that type. */
static gboolean
try_cut (Shrinking *self, const LoomElement *wire, const LoomNet *net)
{
  const LoomElement *scope = loom_element_parent (wire);
  g_autofree char *node_id = NULL, *port = NULL, *shape = NULL, *id = NULL;
  LoomElement *node;
  const LoomType *type;
  LoomGraph *copy;

  if (!loom_end_split (loom_element_get (wire, "from"), &node_id, &port))
    return FALSE;
  node = loom_scope_find_node (scope, node_id);
  if (node == NULL || g_strcmp0 (loom_element_get (node, "op"), "input") == 0)
    return FALSE;
  type = loom_net_type_of (net, "", loom_element_serial (node), port);
  if (type == NULL)
    return FALSE;
  shape = loom_shape_to_attribute (&type->shape);
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) != LOOM_TAG_NODE || g_strcmp0 (loom_element_get (e, "op"), "input") != 0
          || g_strcmp0 (loom_element_get (e, "shape"), shape) != 0
          || g_strcmp0 (loom_element_get (e, "dtype"), loom_dtype_name (type->dtype)) != 0)
        continue;
      copy = loom_graph_copy (self->graph);
      apply (copy, loom_edit_set (in_copy (copy, wire), "from", loom_element_get (e, "id")));
      if (try_candidate (self, copy))
        return TRUE;
    }
  copy = loom_graph_copy (self->graph);
  id = loom_scope_free_id (in_copy (copy, scope), "x");
  new_node (copy, in_copy (copy, scope),
            loom_element_new (LOOM_TAG_NODE, "id", id, "op", "input", "shape", shape, "dtype",
                              loom_dtype_name (type->dtype), NULL));
  apply (copy, loom_edit_set (in_copy (copy, wire), "from", id));
  return try_candidate (self, copy);
}

/* All readers of a node read the source of one of its inputs instead. */
static gboolean
try_bypass (Shrinking *self, const LoomElement *node)
{
  const LoomElement *scope = loom_element_parent (node);
  const char *id = loom_element_get (node, "id");

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *wire = loom_element_child (scope, i);
      g_autofree char *from = NULL;
      LoomGraph *copy;
      LoomElement *read, *inside;

      if (loom_element_tag (wire) != LOOM_TAG_WIRE || !ends_at (wire, "to", id))
        continue;
      from = g_strdup (loom_element_get (wire, "from"));
      copy = loom_graph_copy (self->graph);
      inside = in_copy (copy, scope);
      while ((read = find_wire (inside, "from", id)) != NULL)
        apply (copy, loom_edit_set (read, "from", from));
      remove_node (copy, in_copy (copy, node));
      if (try_candidate (self, copy))
        return TRUE;
    }
  return FALSE;
}

/* One change of the elements of a scope; TRUE if there was one, after which elements are others. */
static gboolean
shrink_scope (Shrinking *self, guint s)
{
  const LoomElement *scope = get_scope (self->graph, s);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (self->graph, NULL, faults);

  for (guint i = loom_element_n_children (scope); i > 0; i--)
    {
      const LoomElement *e = loom_element_child (scope, i - 1);
      const LoomTag tag = loom_element_tag (e);

      if (tag == LOOM_TAG_NODE && (try_removal (self, e) || try_bypass (self, e)))
        return TRUE;
      if (tag == LOOM_TAG_WIRE && (try_removal (self, e) || (s == 0 && try_cut (self, e, net))))
        return TRUE;
    }
  for (guint i = loom_element_n_children (scope); i > 0; i--)
    if (loom_element_tag (loom_element_child (scope, i - 1)) == LOOM_TAG_NODE
        && try_attributes (self, loom_element_child (scope, i - 1)))
      return TRUE;
  return FALSE;
}

LoomGraph *
shrink_graph (const LoomGraph *graph, ShrinkTest test, gpointer data)
{
  Shrinking self = { .graph = loom_graph_copy (graph), .size = size_of (graph), .test = test, .data = data };
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      while (shrink_loss (&self))
        changed = TRUE;
      while (shrink_train (&self))
        changed = TRUE;
      for (guint s = 0; s < n_scopes (self.graph); s++)
        while (s < n_scopes (self.graph) && shrink_scope (&self, s))
          changed = TRUE;
    }
  return self.graph;
}
