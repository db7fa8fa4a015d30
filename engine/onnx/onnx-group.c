/* Groups the nodes of a model by their paths into the network that it was exported from.
 *
 * Every node knows the path of its module (onnx-names.c). A path is a group. A module runs as a whole: a group with a
 * path out and in again (a layer that is called twice) is dissolved into the group around it. */
#include "engine/onnx/onnx-group.h"
#include "engine/onnx/onnx-readers.h"

#include <string.h>

static void
group_free (gpointer data)
{
  OnnxGroup *g = data;

  g_free (g->word);
  g_ptr_array_unref (g->groups);
  g_ptr_array_unref (g->nodes);
  g_hash_table_unref (g->results);
  g_free (g);
}

static OnnxGroup *
group_new (OnnxGroups *t, const char *path, OnnxGroup *outer)
{
  OnnxGroup *g = g_new0 (OnnxGroup, 1);
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

static OnnxGroup *
group_at (OnnxGroups *t, const char *path)
{
  OnnxGroup *g = g_hash_table_lookup (t->by_path, path);
  const char *dot = strrchr (path, '.');
  g_autofree char *outer = g_strndup (path, dot != NULL ? (gsize)(dot - path) : 0);

  return g != NULL ? g : group_new (t, path, group_at (t, outer));
}

OnnxGroup *
onnx_group_of (const OnnxGroups *t, const OnnxNode *node)
{
  OnnxGroup *g = g_hash_table_lookup (t->group_of, node);

  while (g->is_dissolved)
    g = g->outer;
  return g;
}

gboolean
onnx_group_is_within (const OnnxGroup *g, const OnnxGroup *outer)
{
  while (g != NULL && g != outer)
    g = g->outer;
  return g != NULL;
}

/* The innermost group that contains both. */
static OnnxGroup *
common (OnnxGroup *a, OnnxGroup *b)
{
  while (!onnx_group_is_within (b, a))
    a = a->outer;
  return a;
}

void
onnx_name_node (OnnxNode *node, const char *word)
{
  g_free (node->word);
  node->word = g_strdup (word);
}

/* ---- which node is where ------------------------------------------------------- */

/* TRUE for a parameter that has a name in the state dict. */
gboolean
onnx_is_in_state (const OnnxNode *node)
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
static OnnxGroup *
widen (const OnnxGroups *t, OnnxGroup *at, const OnnxNode *node)
{
  OnnxGroup *g = g_hash_table_lookup (t->group_of, node);

  return at == NULL || g == NULL ? (at == NULL ? g : at) : common (at, g);
}

/* A copy of a constant, for readers of another group: as an input of each module it would only be in the way. */
static OnnxNode *
copy_constant (OnnxGroups *t, const OnnxNode *node, OnnxGroup *at)
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
spread_constant (OnnxGroups *t, OnnxNode *node)
{
  g_autoptr (GHashTable) copies = g_hash_table_new (NULL, NULL); /* OnnxGroup → OnnxNode */
  GPtrArray *readers = g_hash_table_lookup (t->readers, &node->out[0]);

  g_ptr_array_ref (readers);
  g_hash_table_remove (t->readers, &node->out[0]);
  for (guint r = 0; r < readers->len; r++)
    {
      OnnxNode *reader = readers->pdata[r], *copy;
      OnnxGroup *at = g_hash_table_lookup (t->group_of, reader);

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
      onnx_readers_add (t->readers, reader, &copy->out[0]);
    }
  g_ptr_array_unref (readers);
}

/* A weight of the state dict is where its name says; another source in the innermost group that has all readers. */
static void
assign_source (OnnxGroups *t, OnnxNode *node)
{
  OnnxGroup *at = NULL;

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
      OnnxGroup *named = onnx_is_in_state (node) ? group_at (t, path) : g_hash_table_lookup (t->by_path, path);

      if (named != NULL && (onnx_is_in_state (node) || onnx_group_is_within (at, named)))
        {
          at = named;
          onnx_name_node (node, dot != NULL ? dot + 1 : node->weight_path);
        }
    }
  g_hash_table_insert (t->group_of, node, at);
}

/* Nodes that an optimiser made are without a path; they go to the innermost group that has the nodes around them. */
static void
assign_unnamed (OnnxGroups *t, OnnxNode *node)
{
  OnnxGroup *at = NULL;

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

/* The innermost group that has all readers of a node, if some are inside its group g and all others in groups next to
 * it; else NULL. A module that returns a value to the one around it keeps it. */
static OnnxGroup *
find_sharing (const OnnxGroups *t, const OnnxNode *node, OnnxGroup *g)
{
  OnnxGroup *all = NULL;
  gboolean is_read_inside = FALSE;

  for (guint k = 0; k < node->n_out; k++)
    {
      const GPtrArray *readers = g_hash_table_lookup (t->readers, &node->out[k]);

      for (guint r = 0; readers != NULL && r < readers->len; r++)
        {
          OnnxGroup *at = g_hash_table_lookup (t->group_of, readers->pdata[r]);

          all = widen (t, all, readers->pdata[r]);
          is_read_inside = is_read_inside || (at != NULL && onnx_group_is_within (at, g));
        }
    }
  if (!is_read_inside || onnx_group_is_within (all, g))
    return NULL;
  for (guint k = 0; k < node->n_out; k++)
    {
      const GPtrArray *readers = g_hash_table_lookup (t->readers, &node->out[k]);

      for (guint r = 0; readers != NULL && r < readers->len; r++)
        if (g_hash_table_lookup (t->group_of, readers->pdata[r]) == all)
          return NULL;
    }
  return all;
}

/* TRUE if all that a node reads is there outside of the group `at`. */
static gboolean
reads_only_outside (const OnnxGroups *t, const OnnxNode *node, const OnnxGroup *at)
{
  for (guint k = 0; k < node->n_in; k++)
    {
      const OnnxNode *from = node->in[k] != NULL ? node->in[k]->node : NULL;
      const OnnxGroup *g = from != NULL ? g_hash_table_lookup (t->group_of, from) : NULL;

      if (from != NULL && (g != NULL ? !onnx_group_is_within (at, g) : from->op->role == LOOM_ROLE_PARAMETER))
        return FALSE;
    }
  return TRUE;
}

/* Of equal nodes the exporter keeps the first, so a mask that every layer computes from the same input is computed in
 * the first one, and the others read it from there: it moves out of all of them. */
static void
move_out_shared (OnnxGroups *t, const GPtrArray *live)
{
  for (guint i = 0; i < live->len; i++)
    {
      OnnxNode *node = live->pdata[i];
      OnnxGroup *g = g_hash_table_lookup (t->group_of, node);
      OnnxGroup *all = g != NULL && node->weights->len == 0 ? find_sharing (t, node, g) : NULL;

      if (all == NULL || !reads_only_outside (t, node, all))
        continue;
      while (all->outer != NULL && !all->computes)
        all = all->outer;
      all->computes = TRUE;
      g_hash_table_insert (t->group_of, node, all);
    }
}

/* The nodes whose group is g, or inside it. (transfer container) */
static GPtrArray *
nodes_within (const OnnxGroups *t, const GPtrArray *live, const OnnxGroup *g)
{
  GPtrArray *nodes = g_ptr_array_new ();

  for (guint i = 0; i < live->len; i++)
    {
      const OnnxGroup *at = g_hash_table_lookup (t->group_of, live->pdata[i]);

      if (at != NULL && onnx_group_is_within (at, g))
        g_ptr_array_add (nodes, live->pdata[i]);
    }
  return nodes;
}

static gboolean
has_fixed_weight (const OnnxNode *node)
{
  for (guint k = 0; k < node->weights->len; k++)
    if (!onnx_may_detach (node, node->weights->pdata[k]) && ((const OnnxWeight *)node->weights->pdata[k])->name != NULL)
      return TRUE;
  return FALSE;
}

/* Batch norm in a module with an activation, as timm has it, keeps its statistics: they are named after the module if
 * the module is this layer, so the other nodes move to the module around it. */
static void
move_out_companions (OnnxGroups *t, const GPtrArray *live, const OnnxNode *node, OnnxGroup *g)
{
  g_autoptr (GPtrArray) nodes = has_fixed_weight (node) && g->outer != NULL ? nodes_within (t, live, g) : NULL;

  for (guint i = 0; nodes != NULL && i < nodes->len; i++)
    if (nodes->pdata[i] != node && ((const OnnxNode *)nodes->pdata[i])->weights->len > 0)
      return;
  if (nodes == NULL || g_hash_table_lookup (t->by_path, path_of (node)) != g)
    return;
  for (guint i = 0; i < nodes->len; i++)
    if (nodes->pdata[i] != node)
      {
        g_hash_table_insert (t->group_of, nodes->pdata[i], g->outer);
        g->outer->computes = TRUE;
      }
  g_ptr_array_set_size (g->groups, 0);
}

/* The group in which a weight of the state dict is by its name; NULL: none yet. */
static OnnxGroup *
named_group (const OnnxGroups *t, const OnnxNode *node)
{
  const char *dot = onnx_is_in_state (node) && node->weight_path != NULL ? strrchr (node->weight_path, '.') : NULL;
  g_autofree char *path = dot != NULL ? g_strndup (node->weight_path, (gsize)(dot - node->weight_path)) : NULL;

  return path != NULL ? g_hash_table_lookup (t->by_path, path) : NULL;
}

/* A layer's weights are named after it. Where the state dict has another name (in_proj_weight, or a layer with other
 * nodes in its module), they become parameters of that name. */
static void
detach_weights (OnnxGroups *t, GPtrArray *live)
{
  g_autoptr (GHashTable) sizes = g_hash_table_new (NULL, NULL); /* OnnxGroup → number of its nodes */

  for (guint i = 0; i < live->len; i++)
    {
      OnnxGroup *g = g_hash_table_lookup (t->group_of, live->pdata[i]);

      if (g != NULL && ((const OnnxNode *)live->pdata[i])->weights->len > 0)
        move_out_companions (t, live, live->pdata[i], g);
    }
  for (guint i = 0; i < live->len; i++)
    {
      /* Parameters join the groups of their names later. */
      OnnxGroup *g = g_hash_table_contains (t->group_of, live->pdata[i])
                         ? g_hash_table_lookup (t->group_of, live->pdata[i])
                         : named_group (t, live->pdata[i]);

      if (g != NULL)
        g_hash_table_insert (sizes, g, GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (sizes, g)) + 1));
    }
  for (guint i = 0, n = live->len; i < n; i++)
    {
      OnnxNode *node = live->pdata[i];
      const OnnxGroup *g = g_hash_table_lookup (t->group_of, node);
      gboolean is_alone = g != NULL && g->groups->len == 0 && GPOINTER_TO_UINT (g_hash_table_lookup (sizes, g)) == 1;

      for (guint k = 0; g != NULL && k < node->weights->len;)
        {
          OnnxWeight *weight = node->weights->pdata[k];
          g_autofree char *own = g_strdup_printf ("%s.%s", path_of (node), weight->port);

          if (weight->name == NULL || (is_alone && g_str_equal (own, weight->name)) || !onnx_may_detach (node, weight))
            k++;
          else
            {
              g_ptr_array_remove_index (node->weights, k);
              onnx_detach_weight (t->all, t->readers, node, weight);
              g_ptr_array_add (live, g_ptr_array_steal_index (t->all->nodes, t->all->nodes->len - 1));
            }
        }
    }
}

/* Computed nodes first, then what they read. */
static void
assign (OnnxGroups *t, GPtrArray *live)
{
  for (guint i = 0; i < live->len; i++)
    {
      OnnxNode *node = live->pdata[i];
      gboolean is_port = node->op->role == LOOM_ROLE_INPUT || node->op->role == LOOM_ROLE_OUTPUT;

      if (is_port || (!is_source (node) && path_of (node) != NULL))
        {
          OnnxGroup *g = is_port ? t->root : group_at (t, path_of (node));

          g->computes = TRUE;
          g_hash_table_insert (t->group_of, node, g);
        }
    }
  for (guint i = 0; i < live->len; i++)
    if (!g_hash_table_contains (t->group_of, live->pdata[i]) && !is_source (live->pdata[i]))
      assign_unnamed (t, live->pdata[i]);
  move_out_shared (t, live);
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
list_wires (OnnxGroups *t, const GPtrArray *live)
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
dissolve (OnnxGroup *g)
{
  g->is_dissolved = TRUE;
  for (guint i = 0; i < g->nodes->len; i++)
    {
      OnnxNode *node = g->nodes->pdata[i];

      onnx_name_node (node, g->word);
      g_ptr_array_add (g->outer->nodes, node);
    }
  for (guint i = 0; i < g->groups->len; i++)
    {
      OnnxGroup *inner = g->groups->pdata[i];

      inner->outer = g->outer;
      g_ptr_array_add (g->outer->groups, inner);
    }
  g_ptr_array_set_size (g->nodes, 0);
  g_ptr_array_set_size (g->groups, 0);
  g_ptr_array_remove (g->outer->groups, g);
}

static guint
count_nodes (const OnnxGroup *g)
{
  guint n = g->nodes->len;

  for (guint i = 0; i < g->groups->len; i++)
    n += count_nodes (g->groups->pdata[i]);
  return n;
}

int
onnx_by_position (gconstpointer a, gconstpointer b)
{
  const OnnxNode *x = *(OnnxNode *const *)a, *y = *(OnnxNode *const *)b;

  return x->position < y->position ? -1 : x->position > y->position;
}

static void
add_nodes (const OnnxGroup *g, GPtrArray *nodes)
{
  for (guint i = 0; i < g->nodes->len; i++)
    g_ptr_array_add (nodes, g->nodes->pdata[i]);
  for (guint i = 0; i < g->groups->len; i++)
    add_nodes (g->groups->pdata[i], nodes);
}

/* The original nodes of a group and those inside it, in the model's order. (transfer container) */
GPtrArray *
onnx_group_nodes (const OnnxGroup *g)
{
  GPtrArray *nodes = g_ptr_array_new ();

  add_nodes (g, nodes);
  g_ptr_array_sort (nodes, onnx_by_position);
  return nodes;
}

/* What the node belongs to in g: an inner group, or itself; NULL if it is not in g. */
static gconstpointer
unit_of (const OnnxGroups *t, const OnnxGroup *g, const OnnxNode *node)
{
  const OnnxGroup *at = onnx_group_of (t, node);

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
has_weights (const OnnxGroup *g)
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
static OnnxGroup *
find_cyclic (const OnnxGroups *t, const OnnxGroup *g, const GPtrArray *nodes)
{
  GHashTable *edges[2], *counts[2];
  g_autoptr (GHashTable) left = g_hash_table_new (NULL, NULL);
  OnnxGroup *found = NULL;

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
      OnnxGroup *inner = g->groups->pdata[i];

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
shape_groups (OnnxGroups *t, OnnxGroup *g)
{
  g_autoptr (GPtrArray) nodes = onnx_group_nodes (g);
  OnnxGroup *cyclic;

  for (guint i = g->groups->len; i-- > 0;)
    if (count_nodes (g->groups->pdata[i]) == 0)
      g_ptr_array_remove_index (g->groups, i);
  while ((cyclic = find_cyclic (t, g, nodes)) != NULL)
    dissolve (cyclic);
  for (guint i = 0; i < g->groups->len; i++)
    shape_groups (t, g->groups->pdata[i]);
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

void
onnx_groups_init (OnnxGroups *t, OnnxImport *all, GPtrArray *live)
{
  guint n = all->nodes->len;

  *t = (OnnxGroups){ .all = all,
                     .by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, group_free),
                     .group_of = g_hash_table_new (NULL, NULL),
                     .readers = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref),
                     .wires_of = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref) };
  t->root = group_new (t, "", NULL);
  for (guint i = 0; i < live->len; i++)
    for (guint k = 0; k < ((OnnxNode *)live->pdata[i])->n_in; k++)
      {
        OnnxNode *node = live->pdata[i];

        if (node->in[k] != NULL)
          onnx_readers_add (t->readers, node, node->in[k]);
      }
  assign (t, live);
  /* Copies of constants are among the dead nodes now. */
  while (all->nodes->len > n)
    g_ptr_array_add (live, g_ptr_array_steal_index (all->nodes, n));
  set_positions (live);
  list_wires (t, live);
  for (guint i = 0; i < live->len; i++)
    g_ptr_array_add (((OnnxGroup *)g_hash_table_lookup (t->group_of, live->pdata[i]))->nodes, live->pdata[i]);
  shape_groups (t, t->root);
}

void
onnx_groups_clear (OnnxGroups *t)
{
  g_hash_table_unref (t->by_path);
  g_hash_table_unref (t->group_of);
  g_hash_table_unref (t->readers);
  g_hash_table_unref (t->wires_of);
}
