/* Turns the flat nodes of a model into the modules of the network that it was exported from.
 *
 * Every node knows the path of its module (onnx-names.c). A path is a group; a group of one node is that node, under
 * the last word of the path, so that its weights have the names of the original state dict. Other groups become
 * modules, equal ones the same module, and a list of equal modules in a chain one instance with `repeat`. A module runs
 * as a whole: a group with a path out and in again (a layer that is called twice) is dissolved into the group around
 * it.
 *
 * Groups are processed from the innermost outwards. Until then inputs are the original wires; the tables of each group
 * say which wire carries them inside it. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

const LoomOp onnx_instance = { .name = "module" };

typedef struct _Group Group;

struct _Group
{
  char *word; /* the last word of its path */
  const char *class_name;
  Group *outer;
  GPtrArray *groups; /* Group, in the order of their first nodes */
  GPtrArray *nodes;  /* OnnxNode, those directly in it */
  gboolean computes; /* it has other nodes than sources */
  gboolean is_dissolved;
  OnnxNode *instance;  /* its card; a group of one node has that node */
  GHashTable *results; /* original OnnxWire → the output of its instance that carries it */
};

typedef struct
{
  OnnxImport *all;
  Group *root;
  GHashTable *by_path;  /* path → Group */
  GHashTable *group_of; /* OnnxNode → Group */
  GHashTable *readers;  /* OnnxWire → GPtrArray of OnnxNode */
  GHashTable *wires_of; /* OnnxNode → GPtrArray of its OnnxWire that are read */
  GHashTable *by_text;  /* what a module computes → OnnxModule */
} Tree;

static void
group_free (gpointer data)
{
  Group *g = data;

  g_free (g->word);
  g_ptr_array_unref (g->groups);
  g_ptr_array_unref (g->nodes);
  g_hash_table_unref (g->results);
  g_free (g);
}

static Group *
group_new (Tree *t, const char *path, Group *outer)
{
  Group *g = g_new0 (Group, 1);
  const char *dot = strrchr (path, '.');

  g->word = g_strdup (dot != NULL ? dot + 1 : path);
  g->class_name = g_hash_table_lookup (t->all->classes, path);
  g->outer = outer;
  g->groups = g_ptr_array_new ();
  g->nodes = g_ptr_array_new ();
  g->results = g_hash_table_new (NULL, NULL);
  g_hash_table_insert (t->by_path, g_strdup (path), g);
  if (outer != NULL)
    g_ptr_array_add (outer->groups, g);
  return g;
}

static Group *
group_at (Tree *t, const char *path)
{
  Group *g = g_hash_table_lookup (t->by_path, path);
  const char *dot = strrchr (path, '.');
  g_autofree char *outer = g_strndup (path, dot != NULL ? (gsize)(dot - path) : 0);

  return g != NULL ? g : group_new (t, path, group_at (t, outer));
}

static Group *
group_of (const Tree *t, const OnnxNode *node)
{
  Group *g = g_hash_table_lookup (t->group_of, node);

  while (g->is_dissolved)
    g = g->outer;
  return g;
}

static gboolean
is_within (const Group *g, const Group *outer)
{
  while (g != NULL && g != outer)
    g = g->outer;
  return g != NULL;
}

/* The innermost group that contains both. */
static Group *
common (Group *a, Group *b)
{
  while (!is_within (b, a))
    a = a->outer;
  return a;
}

static void
name_node (OnnxNode *node, const char *word)
{
  g_free (node->word);
  node->word = g_strdup (word);
}

/* ---- which node is where ------------------------------------------------------- */

/* TRUE for a parameter that has a name in the state dict. */
static gboolean
is_in_state (const OnnxNode *node)
{
  return node->op->role == LOOM_ROLE_PARAMETER && ((const OnnxWeight *)node->weights->pdata[0])->name != NULL;
}

static gboolean
is_source (const OnnxNode *node)
{
  for (guint k = 0; k < node->n_in; k++)
    if (node->in[k] != NULL)
      return FALSE;
  return node->op->role != LOOM_ROLE_INPUT && node->op->role != LOOM_ROLE_OUTPUT;
}

/* A node's weights are named as in the state dict, which is surer than the scope: a convolution with folded batch norm
 * has the norm's. */
static const char *
path_of (const OnnxNode *node)
{
  return node->weight_path != NULL ? node->weight_path : node->path;
}

/* The innermost group that contains `at` (NULL: nothing yet) and the node, if the node has a group. */
static Group *
widen (const Tree *t, Group *at, const OnnxNode *node)
{
  Group *g = g_hash_table_lookup (t->group_of, node);

  return at == NULL || g == NULL ? (at == NULL ? g : at) : common (at, g);
}

static void
add_reader (Tree *t, OnnxNode *reader, const OnnxWire *wire)
{
  GPtrArray *readers = g_hash_table_lookup (t->readers, wire);

  if (readers == NULL)
    {
      readers = g_ptr_array_new ();
      g_hash_table_insert (t->readers, (gpointer)wire, readers);
    }
  g_ptr_array_add (readers, reader);
}

/* A copy of a constant, for readers of another group: as an input of each module it would only be in the way. */
static OnnxNode *
copy_constant (Tree *t, const OnnxNode *node, Group *at)
{
  OnnxNode *copy = onnx_node_new (t->all, node->op, node->id);

  for (guint k = 0; k + 1 < node->attributes->len; k += 2)
    onnx_node_set (copy, node->attributes->pdata[k], node->attributes->pdata[k + 1]);
  copy->in = g_new0 (const OnnxWire *, 1);
  copy->n_out = node->n_out;
  copy->out = g_memdup2 (node->out, sizeof *node->out * node->n_out);
  for (guint k = 0; k < node->n_out; k++)
    copy->out[k].node = copy;
  copy->live = TRUE;
  copy->path = g_strdup (node->path);
  g_hash_table_insert (t->group_of, copy, at);
  return copy;
}

/* Each group that reads a constant gets its own. */
static void
spread_constant (Tree *t, OnnxNode *node)
{
  g_autoptr (GHashTable) copies = g_hash_table_new (NULL, NULL); /* Group → OnnxNode */
  GPtrArray *readers = g_hash_table_lookup (t->readers, &node->out[0]);

  g_ptr_array_ref (readers);
  g_hash_table_remove (t->readers, &node->out[0]);
  for (guint r = 0; r < readers->len; r++)
    {
      OnnxNode *reader = readers->pdata[r], *copy;
      Group *at = g_hash_table_lookup (t->group_of, reader);

      copy = g_hash_table_lookup (copies, at);
      if (copy == NULL)
        {
          copy = g_hash_table_size (copies) == 0 ? node : copy_constant (t, node, at);
          g_hash_table_insert (t->group_of, copy, at);
          g_hash_table_insert (copies, at, copy);
        }
      for (guint k = 0; k < reader->n_in; k++)
        if (reader->in[k] == &node->out[0])
          reader->in[k] = &copy->out[0];
      add_reader (t, reader, &copy->out[0]);
    }
  g_ptr_array_unref (readers);
}

/* A weight of the state dict is where its name says; another source in the innermost group that has all readers. */
static void
assign_source (Tree *t, OnnxNode *node)
{
  Group *at = NULL;

  for (guint k = 0; k < node->n_out; k++)
    {
      const GPtrArray *readers = g_hash_table_lookup (t->readers, &node->out[k]);

      for (guint r = 0; readers != NULL && r < readers->len; r++)
        {
          at = widen (t, at, readers->pdata[r]);
        }
    }
  /* A list of modules computes nothing itself, and can be a repeat only without nodes of its own. */
  while (at != NULL && at->outer != NULL && !at->computes)
    at = at->outer;
  at = at != NULL ? at : t->root;
  if (node->weight_path != NULL)
    {
      const char *dot = strrchr (node->weight_path, '.');
      g_autofree char *path = g_strndup (node->weight_path, dot != NULL ? (gsize)(dot - node->weight_path) : 0);
      Group *named = is_in_state (node) ? group_at (t, path) : g_hash_table_lookup (t->by_path, path);

      if (named != NULL && (is_in_state (node) || is_within (at, named)))
        {
          at = named;
          name_node (node, dot != NULL ? dot + 1 : node->weight_path);
        }
    }
  g_hash_table_insert (t->group_of, node, at);
}

/* Nodes that an optimiser made are without a path; they go to the innermost group that has the nodes around them. */
static void
assign_unnamed (Tree *t, OnnxNode *node)
{
  Group *at = NULL;

  for (guint k = 0; k < node->n_in; k++)
    if (node->in[k] != NULL)
      at = widen (t, at, node->in[k]->node);
  for (guint k = 0; k < node->n_out; k++)
    {
      const GPtrArray *readers = g_hash_table_lookup (t->readers, &node->out[k]);

      for (guint r = 0; readers != NULL && r < readers->len; r++)
        at = widen (t, at, readers->pdata[r]);
    }
  g_hash_table_insert (t->group_of, node, at != NULL ? at : t->root);
}

/* The index of a port of weights among the inputs of an operator. */
static guint
port_index (const LoomOp *op, const char *port)
{
  guint k = 0;

  while (!g_str_equal (op->inputs[k].name, port))
    k++;
  return k;
}

/* Makes a weight of a node a parameter of its own, the import's last node. Nodes that are tied to the weight read the
 * parameter. */
static void
detach (Tree *t, OnnxNode *node, OnnxWeight *weight)
{
  OnnxNode *parameter = onnx_node_new (t->all, loom_op ("parameter"), weight->port);
  LoomShape shape = loom_tensor_shape (weight->tensor);
  g_autofree char *sizes = loom_shape_to_attribute (&shape);
  guint k = port_index (node->op, weight->port);

  onnx_node_set (parameter, "shape", sizes);
  onnx_node_set (parameter, "init", "zeros");
  parameter->in = g_new0 (const OnnxWire *, 1);
  parameter->out = g_new0 (OnnxWire, 1);
  parameter->n_out = 1;
  parameter->out[0]
      = (OnnxWire){ .node = parameter, .port = g_intern_static_string ("out"), .type = { LOOM_F32, shape } };
  parameter->live = TRUE;
  parameter->weight_path = g_strdup (weight->name);
  if (k >= node->n_in)
    {
      node->in = g_renew (const OnnxWire *, node->in, k + 1);
      for (; node->n_in <= k; node->n_in++)
        node->in[node->n_in] = NULL;
    }
  node->in[k] = parameter->out;
  add_reader (t, node, parameter->out);
  for (guint i = 0; i < t->all->wires->len; i++)
    {
      const OnnxWire *tied = t->all->wires->pdata[i];
      const GPtrArray *readers = tied->node == node && g_str_equal (tied->port, weight->port)
                                     ? g_hash_table_lookup (t->readers, tied)
                                     : NULL;

      for (guint r = 0; readers != NULL && r < readers->len; r++)
        {
          OnnxNode *reader = readers->pdata[r];

          for (guint n = 0; n < reader->n_in; n++)
            if (reader->in[n] == tied)
              reader->in[n] = parameter->out;
          add_reader (t, reader, parameter->out);
        }
    }
  g_free (weight->port);
  weight->port = g_strdup ("out");
  g_ptr_array_add (parameter->weights, weight);
}

/* A layer's weights are named after it. Where the state dict has another name (in_proj_weight, or a layer with other
 * nodes in its module), they become parameters of that name. */
static void
detach_weights (Tree *t, GPtrArray *live)
{
  g_autoptr (GHashTable) sizes = g_hash_table_new (NULL, NULL); /* Group → number of its nodes */

  for (guint i = 0; i < live->len; i++)
    {
      Group *g = g_hash_table_lookup (t->group_of, live->pdata[i]);

      if (g != NULL)
        g_hash_table_insert (sizes, g, GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (sizes, g)) + 1));
    }
  for (guint i = 0, n = live->len; i < n; i++)
    {
      OnnxNode *node = live->pdata[i];
      const Group *g = g_hash_table_lookup (t->group_of, node);
      gboolean is_alone = g != NULL && g->groups->len == 0 && GPOINTER_TO_UINT (g_hash_table_lookup (sizes, g)) == 1;

      for (guint k = 0; g != NULL && k < node->weights->len;)
        {
          OnnxWeight *weight = node->weights->pdata[k];
          g_autofree char *own = g_strdup_printf ("%s.%s", path_of (node), weight->port);

          if (weight->name == NULL || (is_alone && g_str_equal (own, weight->name)))
            k++;
          else
            {
              g_ptr_array_remove_index (node->weights, k);
              detach (t, node, weight);
              g_ptr_array_add (live, g_ptr_array_steal_index (t->all->nodes, t->all->nodes->len - 1));
            }
        }
    }
}

/* Computed nodes first, then what they read. */
static void
assign (Tree *t, GPtrArray *live)
{
  for (guint i = 0; i < live->len; i++)
    {
      OnnxNode *node = live->pdata[i];
      gboolean is_port = node->op->role == LOOM_ROLE_INPUT || node->op->role == LOOM_ROLE_OUTPUT;

      if (is_port || (!is_source (node) && path_of (node) != NULL))
        {
          Group *g = is_port ? t->root : group_at (t, path_of (node));

          g->computes = TRUE;
          g_hash_table_insert (t->group_of, node, g);
        }
    }
  for (guint i = 0; i < live->len; i++)
    if (!g_hash_table_contains (t->group_of, live->pdata[i]) && !is_source (live->pdata[i]))
      assign_unnamed (t, live->pdata[i]);
  detach_weights (t, live);
  for (guint i = 0; i < live->len; i++)
    {
      OnnxNode *node = live->pdata[i];

      if (g_hash_table_contains (t->group_of, node))
        continue;
      if (node->op->role == LOOM_ROLE_PARAMETER || node->n_out != 1 || node->weights->len > 0 || node->body[0] != NULL)
        assign_source (t, node);
      else
        spread_constant (t, node);
    }
}

static void
list_wires (Tree *t, const GPtrArray *live)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < live->len; i++)
    {
      const OnnxNode *node = live->pdata[i];

      for (guint k = 0; k < node->n_in; k++)
        if (node->in[k] != NULL && g_hash_table_add (seen, (gpointer)node->in[k]))
          {
            GPtrArray *wires = g_hash_table_lookup (t->wires_of, node->in[k]->node);

            if (wires == NULL)
              {
                wires = g_ptr_array_new ();
                g_hash_table_insert (t->wires_of, node->in[k]->node, wires);
              }
            g_ptr_array_add (wires, (gpointer)node->in[k]);
          }
    }
}

/* Nodes of a dissolved layer keep its name. */
static void
dissolve (Group *g)
{
  g->is_dissolved = TRUE;
  for (guint i = 0; i < g->nodes->len; i++)
    {
      OnnxNode *node = g->nodes->pdata[i];

      name_node (node, g->word);
      g_ptr_array_add (g->outer->nodes, node);
    }
  for (guint i = 0; i < g->groups->len; i++)
    {
      Group *inner = g->groups->pdata[i];

      inner->outer = g->outer;
      g_ptr_array_add (g->outer->groups, inner);
    }
  g_ptr_array_set_size (g->nodes, 0);
  g_ptr_array_set_size (g->groups, 0);
  g_ptr_array_remove (g->outer->groups, g);
}

static guint
count_nodes (const Group *g)
{
  guint n = g->nodes->len;

  for (guint i = 0; i < g->groups->len; i++)
    n += count_nodes (g->groups->pdata[i]);
  return n;
}

static int
by_position (gconstpointer a, gconstpointer b)
{
  const OnnxNode *x = *(OnnxNode *const *)a, *y = *(OnnxNode *const *)b;

  return x->position < y->position ? -1 : x->position > y->position;
}

static void
add_nodes (const Group *g, GPtrArray *nodes)
{
  for (guint i = 0; i < g->nodes->len; i++)
    g_ptr_array_add (nodes, g->nodes->pdata[i]);
  for (guint i = 0; i < g->groups->len; i++)
    add_nodes (g->groups->pdata[i], nodes);
}

/* The original nodes of a group and those inside it, in the model's order. (transfer container) */
static GPtrArray *
nodes_of (const Group *g)
{
  GPtrArray *nodes = g_ptr_array_new ();

  add_nodes (g, nodes);
  g_ptr_array_sort (nodes, by_position);
  return nodes;
}

/* What the node belongs to in g: an inner group, or itself; NULL if it is not in g. */
static gconstpointer
unit_of (const Tree *t, const Group *g, const OnnxNode *node)
{
  const Group *at = group_of (t, node);

  if (at == g)
    return node;
  while (at != NULL && at->outer != g)
    at = at->outer;
  return at;
}

/* Removes units from `left` that have no edge from another one that is left, until each has one. */
static void
peel (GHashTable *left, GHashTable *edges_from, GHashTable *n_into)
{
  g_autoptr (GQueue) free_ones = g_queue_new ();
  GHashTableIter iter;
  gpointer unit;

  g_hash_table_iter_init (&iter, left);
  while (g_hash_table_iter_next (&iter, &unit, NULL))
    if (g_hash_table_lookup (n_into, unit) == NULL)
      g_queue_push_tail (free_ones, unit);
  while ((unit = g_queue_pop_head (free_ones)) != NULL)
    {
      const GPtrArray *to = g_hash_table_lookup (edges_from, unit);

      g_hash_table_remove (left, unit);
      for (guint i = 0; to != NULL && i < to->len; i++)
        {
          guint n = GPOINTER_TO_UINT (g_hash_table_lookup (n_into, to->pdata[i])) - 1;

          g_hash_table_insert (n_into, to->pdata[i], GUINT_TO_POINTER (n));
          if (n == 0 && g_hash_table_contains (left, to->pdata[i]))
            g_queue_push_tail (free_ones, to->pdata[i]);
        }
    }
}

static void
add_edge (GHashTable *edges, GHashTable *counts, gpointer from, gpointer to)
{
  GPtrArray *list = g_hash_table_lookup (edges, from);

  if (list == NULL)
    g_hash_table_insert (edges, from, list = g_ptr_array_new ());
  g_ptr_array_add (list, to);
  g_hash_table_insert (counts, to, GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (counts, to)) + 1));
}

static gboolean
has_weights (const Group *g)
{
  for (guint i = 0; i < g->nodes->len; i++)
    {
      const OnnxNode *node = g->nodes->pdata[i];

      for (guint k = 0; k < node->weights->len; k++)
        if (((const OnnxWeight *)node->weights->pdata[k])->name != NULL)
          return TRUE;
    }
  for (guint i = 0; i < g->groups->len; i++)
    if (has_weights (g->groups->pdata[i]))
      return TRUE;
  return FALSE;
}

/* An inner group on a cycle of groups and nodes: a path leaves it and comes back, maybe through other groups. Of
 * several the smallest; NULL if there is none. The names of weights need their groups. */
static Group *
find_cyclic (const Tree *t, const Group *g, const GPtrArray *nodes)
{
  GHashTable *edges[2], *counts[2];
  g_autoptr (GHashTable) left = g_hash_table_new (NULL, NULL);
  Group *found = NULL;

  for (guint i = 0; i < 2; i++)
    {
      edges[i] = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
      counts[i] = g_hash_table_new (NULL, NULL);
    }
  for (guint i = 0; i < nodes->len; i++)
    {
      const OnnxNode *node = nodes->pdata[i];
      gpointer unit = (gpointer)unit_of (t, g, node);

      g_hash_table_add (left, unit);
      for (guint k = 0; k < node->n_in; k++)
        {
          gpointer from = node->in[k] != NULL ? (gpointer)unit_of (t, g, node->in[k]->node) : NULL;

          if (from == NULL || from == unit)
            continue;
          add_edge (edges[0], counts[0], from, unit);
          add_edge (edges[1], counts[1], unit, from);
        }
    }
  peel (left, edges[0], counts[0]);
  /* What is left has no edge to what was removed, so the numbers of edges out of it are right. */
  peel (left, edges[1], counts[1]);
  for (guint i = 0; i < g->groups->len; i++)
    {
      Group *inner = g->groups->pdata[i];

      if (g_hash_table_contains (left, inner) && count_nodes (inner) > 1 && !has_weights (inner)
          && (found == NULL || count_nodes (inner) < count_nodes (found)))
        found = inner;
    }
  for (guint i = 0; i < 2; i++)
    {
      g_hash_table_unref (edges[i]);
      g_hash_table_unref (counts[i]);
    }
  return found;
}

/* From the outside in, so that a dissolved group's children are tested in their new place. */
static void
shape_groups (Tree *t, Group *g)
{
  g_autoptr (GPtrArray) nodes = nodes_of (g);
  Group *cyclic;

  for (guint i = g->groups->len; i-- > 0;)
    if (count_nodes (g->groups->pdata[i]) == 0)
      g_ptr_array_remove_index (g->groups, i);
  while ((cyclic = find_cyclic (t, g, nodes)) != NULL)
    dissolve (cyclic);
  for (guint i = 0; i < g->groups->len; i++)
    shape_groups (t, g->groups->pdata[i]);
}

/* ---- modules ------------------------------------------------------------------- */

/* Where readers in g find the wire: at its node, at the instance of an inner module, or nowhere (NULL) if it is from
 * outside. */
static const OnnxWire *
visible_in (const Tree *t, const Group *g, const OnnxWire *wire)
{
  const Group *at = group_of (t, wire->node);

  if (at == g || !is_within (at, g))
    return at == g ? wire : NULL;
  while (at->outer != g)
    at = at->outer;
  return at->instance == wire->node ? wire : g_hash_table_lookup (at->results, wire);
}

static gboolean
is_read_outside (const Tree *t, const Group *g, const OnnxWire *wire)
{
  const GPtrArray *readers = g_hash_table_lookup (t->readers, wire);

  for (guint i = 0; readers != NULL && i < readers->len; i++)
    if (!is_within (group_of (t, readers->pdata[i]), g))
      return TRUE;
  return FALSE;
}

static OnnxNode *
first_waiting (const GPtrArray *members, GHashTable *waits)
{
  guint i = 0;

  while (GPOINTER_TO_UINT (g_hash_table_lookup (waits, members->pdata[i])) < 2)
    i++;
  return members->pdata[i];
}

/* The nodes of a group and the instances of its modules, each after those from which it reads, else as they were.
 * (transfer container) */
static GPtrArray *
members_of (const Tree *t, const Group *g)
{
  GPtrArray *sorted = g_ptr_array_new ();
  g_autoptr (GHashTable) waits = g_hash_table_new (NULL, NULL); /* member → number of inputs not yet there, from 1 on */
  g_autoptr (GHashTable) readers = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  g_autoptr (GPtrArray) members = g_ptr_array_new ();

  for (guint i = 0; i < g->nodes->len; i++)
    g_ptr_array_add (members, g->nodes->pdata[i]);
  for (guint i = 0; i < g->groups->len; i++)
    g_ptr_array_add (members, ((const Group *)g->groups->pdata[i])->instance);
  g_ptr_array_sort (members, by_position);
  for (guint i = 0; i < members->len; i++)
    {
      OnnxNode *node = members->pdata[i];
      guint n = 1;

      for (guint k = 0; k < node->n_in; k++)
        {
          const OnnxWire *from = node->in[k] != NULL ? visible_in (t, g, node->in[k]) : NULL;
          GPtrArray *list = from != NULL ? g_hash_table_lookup (readers, from->node) : NULL;

          if (from == NULL)
            continue;
          if (list == NULL)
            g_hash_table_insert (readers, from->node, list = g_ptr_array_new ());
          g_ptr_array_add (list, node);
          n++;
        }
      g_hash_table_insert (waits, node, GUINT_TO_POINTER (n));
      if (n == 1)
        g_ptr_array_add (sorted, node);
    }
  for (guint i = 0; i < members->len; i++)
    {
      if (i >= sorted->len) /* the first one of a cycle of modules */
        g_ptr_array_add (sorted, first_waiting (members, waits));
      const GPtrArray *list = g_hash_table_lookup (readers, sorted->pdata[i]);

      g_hash_table_insert (waits, sorted->pdata[i], GUINT_TO_POINTER (0));

      for (guint k = 0; list != NULL && k < list->len; k++)
        {
          guint n = GPOINTER_TO_UINT (g_hash_table_lookup (waits, list->pdata[k]));

          if (n > 1)
            g_hash_table_insert (waits, list->pdata[k], GUINT_TO_POINTER (n - 1));
          if (n == 2)
            g_ptr_array_add (sorted, list->pdata[k]);
        }
    }
  g_assert (sorted->len == members->len);
  return sorted;
}

/* "node_Split_853", an exporter's number, is no name. */
static gboolean
has_name (const OnnxNode *node)
{
  return node->path == NULL && node->op != &onnx_instance && !g_str_has_prefix (node->id, "node_");
}

/* Words of the state dict get their ids first; other nodes of a module are named after their operators. */
static void
name_members (OnnxImport *scope, const GPtrArray *members)
{
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < members->len; i++)
      {
        OnnxNode *node = members->pdata[i];

        if ((node->word == NULL) != (pass == 1) || node->op->role == LOOM_ROLE_INPUT
            || node->op->role == LOOM_ROLE_OUTPUT)
          continue;
        char *id = onnx_free_id (scope, node->word != NULL ? node->word : has_name (node) ? node->id : node->op->name);
        g_free (node->id);
        node->id = id;
      }
}

/* The place of its first node in the model. */
static guint
first_position (const Group *g)
{
  guint first = G_MAXUINT;

  for (guint i = 0; i < g->nodes->len; i++)
    first = MIN (first, ((const OnnxNode *)g->nodes->pdata[i])->position);
  for (guint i = 0; i < g->groups->len; i++)
    first = MIN (first, first_position (g->groups->pdata[i]));
  return first;
}

static OnnxNode *
instance_new (Group *g, guint n_in, guint n_out)
{
  OnnxNode *node = g_new0 (OnnxNode, 1);

  node->op = &onnx_instance;
  node->id = g_strdup (g->word);
  node->attributes = g_ptr_array_new_with_free_func (g_free);
  node->weights = g_ptr_array_new ();
  node->n_in = n_in;
  node->in = g_new0 (const OnnxWire *, MAX (n_in, 1));
  node->n_out = n_out;
  node->out = g_new0 (OnnxWire, MAX (n_out, 1));
  node->live = TRUE;
  node->position = first_position (g);
  name_node (node, g->word);
  g->instance = node;
  return node;
}

/* Text that is equal for modules that compute the same. */
static char *
text_of (const OnnxImport *scope)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < scope->nodes->len; i++)
    {
      const OnnxNode *node = scope->nodes->pdata[i];

      g_string_append_printf (s, "%s %s", node->id, node->op->name);
      for (guint k = 0; k + 1 < node->attributes->len; k += 2)
        g_string_append_printf (s, " %s=“%s”", (char *)node->attributes->pdata[k],
                                (char *)node->attributes->pdata[k + 1]);
      for (guint b = 0; b < G_N_ELEMENTS (node->body) && node->body[b] != NULL; b++)
        g_string_append_printf (s, " %s", onnx_written (node->body[b])->name);
      for (guint k = 0; k < node->n_in; k++)
        if (node->in[k] != NULL)
          g_string_append_printf (s, " %u:%s.%s", k, node->in[k]->node->id, node->in[k]->port);
      g_string_append_c (s, '\n');
    }
  return g_string_free (s, FALSE);
}

/* A node that stands for a port of the module, named x, x_2 … or y, y_2 … */
static OnnxNode *
port_new (OnnxImport *scope, const char *op, const char *name, const OnnxWire *from)
{
  OnnxNode *node = onnx_node_new (scope, loom_op (op), name);

  node->live = TRUE;
  node->in = g_new0 (const OnnxWire *, 1);
  node->n_out = 1;
  node->out = g_new0 (OnnxWire, 1);
  node->out[0] = (OnnxWire){ .node = node, .port = g_intern_static_string ("out"), .type = from->type };
  return node;
}

/* Lets members read what is visible in the group; wires from outside become inputs of the scope, and are added to
 * `outside`. */
static void
bring_in (const Tree *t, const Group *g, OnnxImport *scope, const GPtrArray *members, GPtrArray *outside)
{
  g_autoptr (GHashTable) inputs = g_hash_table_new (NULL, NULL); /* OnnxWire → OnnxNode */

  for (guint i = 0; i < members->len; i++)
    {
      OnnxNode *node = members->pdata[i];

      for (guint k = 0; k < node->n_in; k++)
        {
          const OnnxWire *wire = node->in[k];
          OnnxNode *input;

          if (wire == NULL)
            continue;
          node->in[k] = visible_in (t, g, wire);
          if (node->in[k] != NULL)
            continue;
          input = g_hash_table_lookup (inputs, wire);
          if (input == NULL)
            {
              input = port_new (scope, "module_input", "x", wire);
              g_ptr_array_add (scope->module->inputs, input);
              g_hash_table_insert (inputs, (gpointer)wire, input);
              g_ptr_array_add (outside, (gpointer)wire);
            }
          node->in[k] = input->out;
        }
    }
}

/* The original wires of a group that are read outside of it, in order. (transfer container) */
static GPtrArray *
results_of (const Tree *t, const Group *g)
{
  GPtrArray *results = g_ptr_array_new ();
  g_autoptr (GPtrArray) nodes = nodes_of (g);

  for (guint i = 0; i < nodes->len; i++)
    {
      const GPtrArray *wires = g_hash_table_lookup (t->wires_of, nodes->pdata[i]);

      for (guint k = 0; wires != NULL && k < wires->len; k++)
        if (is_read_outside (t, g, wires->pdata[k]))
          g_ptr_array_add (results, wires->pdata[k]);
    }
  return results;
}

/* Makes a module of the group's members, and its instance. */
static void
enclose (Tree *t, Group *g)
{
  g_autoptr (GPtrArray) members = members_of (t, g), outside = g_ptr_array_new (), results = results_of (t, g);
  OnnxImport *scope = onnx_scope_new (t->all, NULL);
  OnnxModule *module = onnx_module_new (scope), *same;
  g_autofree char *text = NULL;
  OnnxNode *instance;
  const char **ports;

  bring_in (t, g, scope, members, outside);
  for (guint i = 0; i < results->len; i++)
    {
      OnnxNode *output = port_new (scope, "module_output", "y", results->pdata[i]);

      output->n_in = 1;
      output->in[0] = visible_in (t, g, results->pdata[i]);
      g_ptr_array_add (module->outputs, output);
    }
  name_members (scope, members);
  /* Inputs, members, outputs */
  for (guint i = 0; i < module->outputs->len; i++)
    g_ptr_array_steal_index (scope->nodes, scope->nodes->len - 1);
  for (guint i = 0; i < members->len; i++)
    g_ptr_array_add (scope->nodes, members->pdata[i]);
  for (guint i = 0; i < module->outputs->len; i++)
    g_ptr_array_add (scope->nodes, module->outputs->pdata[i]);

  text = text_of (scope);
  same = g_hash_table_lookup (t->by_text, text);
  if (same == NULL)
    {
      /* An element of a list without a class is named after the list. */
      gboolean is_number = g_ascii_isdigit (g->word[0]) && g->outer->word[0] != 0;
      onnx_module_name (module, g->class_name != NULL ? g->class_name : is_number ? g->outer->word : g->word);
      g_hash_table_insert (t->by_text, g_steal_pointer (&text), module);
    }
  module->same = same != NULL ? same : module;

  instance = instance_new (g, outside->len, results->len);
  instance->body[0] = module;
  ports = g_new0 (const char *, outside->len + 1);
  g_ptr_array_add (t->all->memory, ports);
  instance->ports = ports;
  for (guint i = 0; i < outside->len; i++)
    {
      instance->in[i] = outside->pdata[i];
      ports[i] = g_intern_string (((const OnnxNode *)module->inputs->pdata[i])->id);
    }
  for (guint i = 0; i < results->len; i++)
    {
      const OnnxWire *wire = results->pdata[i];

      instance->out[i] = (OnnxWire){ .node = instance,
                                     .port = g_intern_string (((const OnnxNode *)module->outputs->pdata[i])->id),
                                     .type = wire->type };
      g_hash_table_insert (g->results, (gpointer)wire, &instance->out[i]);
    }
}

/* ---- repeats ------------------------------------------------------------------- */

/* The input of copy b that is the only result of copy a; −1 if there is none, or if others read it, too. */
static int
link_between (const Tree *t, const Group *a, const Group *b)
{
  const OnnxNode *node = b->instance;
  int found = -1;

  for (guint k = 0; k < node->n_in; k++)
    if (g_hash_table_contains (a->results, node->in[k]))
      {
        const GPtrArray *readers = g_hash_table_lookup (t->readers, node->in[k]);

        if (found >= 0)
          return -1;
        for (guint i = 0; i < readers->len; i++)
          if (!is_within (group_of (t, readers->pdata[i]), a) && !is_within (group_of (t, readers->pdata[i]), b))
            return -1;
        found = (int)k;
      }
  return found;
}

static gboolean
is_copy (const Group *g, guint i)
{
  g_autofree char *number = g_strdup_printf ("%u", i);

  return g_str_equal (g->word, number) && g->instance->op == &onnx_instance && g->instance->copies == NULL
         && g->instance->n_out == 1;
}

/* The input that is chained if the group is a list of equal modules, each of which reads from the one before it; else
 * −1. */
static int
chain_of (const Tree *t, const Group *list)
{
  const Group *first = list->groups->len > 1 ? list->groups->pdata[0] : NULL;
  int chain = -1;

  if (first == NULL || list->nodes->len > 0 || !is_copy (first, 0))
    return -1;
  for (guint i = 1; i < list->groups->len; i++)
    {
      const Group *copy = list->groups->pdata[i], *before = list->groups->pdata[i - 1];

      if (!is_copy (copy, i) || copy->instance->body[0]->same != first->instance->body[0]->same)
        return -1;
      int link = link_between (t, before, copy);
      if (link < 0 || (chain >= 0 && link != chain))
        return -1;
      chain = link;
      for (guint k = 0; k < copy->instance->n_in; k++)
        if ((int)k != chain && copy->instance->in[k] != first->instance->in[k])
          return -1;
    }
  return chain;
}

/* Makes the input of this name the first one of a module, which is chained. FALSE if another one has to be it. */
static gboolean
put_first (OnnxModule *module, const char *id)
{
  for (guint i = 0; i < module->inputs->len; i++)
    {
      OnnxNode *node = module->inputs->pdata[i];

      if (!g_str_equal (node->id, id))
        continue;
      if (module->first != NULL || i == 0)
        {
          gboolean is_first = module->first == NULL || module->first == node;

          module->first = module->first == NULL ? node : module->first;
          return is_first;
        }
      g_ptr_array_steal_index (module->inputs, i);
      g_ptr_array_insert (module->inputs, 0, node);
      g_ptr_array_steal_index (module->scope->nodes, i);
      g_ptr_array_insert (module->scope->nodes, 0, node);
      module->first = node;
      return TRUE;
    }
  return FALSE;
}

/* One instance with `repeat` for a list of copies. */
static gboolean
repeat (Tree *t, Group *list)
{
  int chain = chain_of (t, list);
  const Group *first = chain >= 0 ? list->groups->pdata[0] : NULL;
  const Group *last = chain >= 0 ? list->groups->pdata[list->groups->len - 1] : NULL;
  OnnxNode *node;
  GHashTableIter iter;
  gpointer wire, result;

  if (chain < 0 || !put_first (first->instance->body[0]->same, first->instance->ports[chain]))
    return FALSE;
  node = instance_new (list, first->instance->n_in, 1);
  node->body[0] = first->instance->body[0]->same;
  node->ports = first->instance->ports;
  for (guint k = 0; k < node->n_in; k++)
    node->in[k] = first->instance->in[k];
  node->out[0] = last->instance->out[0];
  node->out[0].node = node;
  node->copies = g_ptr_array_new ();
  g_ptr_array_add (node->attributes, g_strdup ("repeat"));
  g_ptr_array_add (node->attributes, g_strdup_printf ("%u", list->groups->len));
  for (guint i = 0; i < list->groups->len; i++)
    {
      OnnxNode *copy = ((Group *)list->groups->pdata[i])->instance;

      g_ptr_array_add (node->copies, (gpointer)copy->body[0]);
      copy->live = FALSE;
      g_ptr_array_add (t->all->nodes, copy);
    }
  g_hash_table_iter_init (&iter, last->results);
  while (g_hash_table_iter_next (&iter, &wire, &result))
    g_hash_table_insert (list->results, wire, node->out);
  return TRUE;
}

/* ---- the whole ------------------------------------------------------------------- */

#define STEP 16 /* between the positions of nodes, for sources before them */

/* A source is just before its first reader, in the order of inputs, so that copies of a module have the same order. */
static void
set_positions (const GPtrArray *live)
{
  for (guint i = 0; i < live->len; i++)
    ((OnnxNode *)live->pdata[i])->position = is_source (live->pdata[i]) ? G_MAXUINT : (i + 1) * STEP;
  for (guint i = 0; i < live->len; i++)
    {
      const OnnxNode *node = live->pdata[i];

      for (guint k = 0; k < node->n_in; k++)
        if (node->in[k] != NULL && is_source (node->in[k]->node))
          {
            OnnxNode *source = node->in[k]->node;

            source->position = MIN (source->position, node->position - STEP / 2 + MIN (k, STEP / 2 - 1));
          }
    }
}

static void
enclose_all (Tree *t, Group *g)
{
  for (guint i = 0; i < g->groups->len; i++)
    enclose_all (t, g->groups->pdata[i]);
  if (g == t->root)
    return;
  if (g->nodes->len == 1 && g->groups->len == 0 && !is_in_state (g->nodes->pdata[0]))
    {
      g->instance = g->nodes->pdata[0];
      name_node (g->instance, g->word);
    }
  else if (!repeat (t, g))
    enclose (t, g);
}

/* The needed nodes, which leave the import's list. */
static GPtrArray *
take_live (OnnxImport *all)
{
  GPtrArray *live = g_ptr_array_new ();
  g_autoptr (GPtrArray) others = g_ptr_array_new ();

  for (guint i = 0; i < all->nodes->len; i++)
    {
      OnnxNode *node = all->nodes->pdata[i];

      g_ptr_array_add (node->live ? live : others, node);
    }
  while (all->nodes->len > 0)
    g_ptr_array_steal_index_fast (all->nodes, all->nodes->len - 1);
  for (guint i = 0; i < others->len; i++)
    g_ptr_array_add (all->nodes, others->pdata[i]);
  return live;
}

static gboolean
has_paths (const OnnxImport *all)
{
  for (guint i = 0; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];

      if (node->live && node->path != NULL && *node->path)
        return TRUE;
    }
  return FALSE;
}

void
onnx_make_modules (OnnxImport *all)
{
  Tree t = { .all = all };
  g_autoptr (GPtrArray) live = NULL, members = NULL;
  guint n;

  if (!has_paths (all))
    return;
  t.by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, group_free);
  t.group_of = g_hash_table_new (NULL, NULL);
  t.readers = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  t.wires_of = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  t.by_text = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  t.root = group_new (&t, "", NULL);
  live = take_live (all);
  for (guint i = 0; i < live->len; i++)
    for (guint k = 0; k < ((OnnxNode *)live->pdata[i])->n_in; k++)
      {
        OnnxNode *node = live->pdata[i];

        if (node->in[k] != NULL)
          add_reader (&t, node, node->in[k]);
      }
  n = all->nodes->len;
  assign (&t, live);
  /* Copies of constants are among the dead nodes now. */
  while (all->nodes->len > n)
    g_ptr_array_add (live, g_ptr_array_steal_index (all->nodes, n));
  set_positions (live);
  list_wires (&t, live);
  for (guint i = 0; i < live->len; i++)
    g_ptr_array_add (((Group *)g_hash_table_lookup (t.group_of, live->pdata[i]))->nodes, live->pdata[i]);
  shape_groups (&t, t.root);
  enclose_all (&t, t.root);

  members = members_of (&t, t.root);
  for (guint i = 0; i < members->len; i++)
    {
      OnnxNode *node = members->pdata[i];

      for (guint k = 0; k < node->n_in; k++)
        if (node->in[k] != NULL)
          node->in[k] = visible_in (&t, t.root, node->in[k]);
    }
  g_hash_table_remove_all (all->ids);
  for (guint i = 0; i < members->len; i++)
    {
      const OnnxNode *node = members->pdata[i];

      if (node->op->role == LOOM_ROLE_INPUT || node->op->role == LOOM_ROLE_OUTPUT)
        g_hash_table_insert (all->ids, g_strdup (node->id), GUINT_TO_POINTER (1));
    }
  name_members (all, members);
  for (guint i = 0; i < members->len; i++)
    g_ptr_array_add (all->nodes, members->pdata[i]);
  g_hash_table_unref (t.by_path);
  g_hash_table_unref (t.group_of);
  g_hash_table_unref (t.readers);
  g_hash_table_unref (t.wires_of);
  g_hash_table_unref (t.by_text);
}
