/* Changes a net into that of the next version of its graph.
 *
 * The elements of a graph carry the version of their last change, so one pass over the children of the root finds the
 * nodes and wires that came, went or changed. Their local nodes are compiled again, and so are those about which a
 * fault was reported, because a list of faults is always made in full and in the order of a new net. An operator keeps
 * its NetNode if the number of its copies stays the same, so the wires of its readers stay what they are. A node is
 * typed again if it was made again, its sources are others, or the type of one of them is.
 *
 * Only operators of the root are followed this far. As soon as anything else is involved (a module that changes or is
 * wired differently, a wire that reads a weight, a cycle, a fault of the graph itself), loom_net_change() gives up and
 * the net is built as a whole: there is one way to build those. */
#include "engine/net/net-renewal.h"

#include <string.h>

typedef enum
{
  CLEAN,
  RECONNECT, /* its nodes may have other sources */
  REWIRED,   /* its wires are compiled again, and its nodes are made again */
  CHANGED    /* and so is the node itself */
} Reach;

typedef struct
{
  LoomNet *net;
  NetInstance *root;
  NetScope *scope;
  const LoomElement *element;
  GHashTable *noisy;  /* of the version before */
  NetArena memory;    /* freed when the net is changed */
  GPtrArray *touched; /* NetNode with a renewal */
  guint n, n_wires;   /* numbers of nodes and wires of the root */
  const LoomElement **node, **wire;
  guint *local_of_child;
  guint n_old;
  NetLocal *old;           /* the local nodes before; those that stay in place are overwritten */
  guint *was;              /* by local node: its index before; G_MAXUINT: it is new */
  guint *is;               /* by index before: the index now; G_MAXUINT: it is gone */
  guint8 *reach;           /* by local node */
  gboolean *replaced;      /* by local node: wires from it lead to other nodes or outputs than before */
  GPtrArray **made;        /* by local node: its nodes, if their number is another */
  gboolean locals_differ;  /* local nodes came or went */
  gboolean nodes_differ;   /* nodes came or went */
  gboolean sources_differ; /* a node has another source */
} Change;

static gpointer
scratch (Change *c, gsize n, gsize size)
{
  return loom_net_alloc (&c->memory, (n + 1) * size);
}

/* ---- nodes of the graph ---------------------------------------------------- */

static gboolean
is_younger (const Change *c, const LoomElement *e)
{
  return loom_element_changed (e) > c->net->version;
}

static gboolean
is_noisy (const Change *c, guint64 serial)
{
  return g_hash_table_contains (c->noisy, GSIZE_TO_POINTER (serial));
}

/* TRUE if the element with this serial, which was a child of the root, is none any more. */
static gboolean
is_gone (const Change *c, guint64 serial)
{
  const LoomElement *e = loom_graph_by_serial (c->net->graph, serial);

  return e == NULL || loom_element_parent (e) != c->element;
}

/* Lists the nodes and wires of the root. FALSE if the root's own attributes or a module changed. */
static gboolean
list_children (Change *c)
{
  const guint n = loom_element_n_children (c->element);
  guint n_modules = 0;

  if (is_younger (c, c->element))
    return FALSE;
  c->node = scratch (c, n, sizeof *c->node);
  c->wire = scratch (c, n, sizeof *c->wire);
  c->local_of_child = scratch (c, n, sizeof *c->local_of_child);
  for (guint i = 0; i < n; i++)
    {
      const LoomElement *e = loom_element_child (c->element, i);

      c->local_of_child[i] = G_MAXUINT;
      switch (loom_element_tag (e))
        {
        case LOOM_TAG_NODE:
          c->local_of_child[i] = c->n;
          c->node[c->n++] = e;
          break;
        case LOOM_TAG_WIRE:
          c->wire[c->n_wires++] = e;
          break;
        case LOOM_TAG_ARG:
          return FALSE;
        case LOOM_TAG_MODULE:
          if (loom_element_changed_inside (e) > c->net->version)
            return FALSE;
          n_modules++;
          break;
        default:
          break;
        }
    }
  return n_modules == c->net->n_modules;
}

/* TRUE for a node that is one operator, as far as its attributes show. */
static gboolean
is_operator (const LoomElement *e)
{
  const LoomOp *op = loom_op (loom_element_get (e, "op"));

  return loom_element_get (e, "module") == NULL
         && (op == NULL || (op->role != LOOM_ROLE_LOOP && op->count_size == NULL));
}

/* What a local node of before needs. Data sets are files, which change on their own. */
static Reach
reach_of (const Change *c, const NetLocal *local)
{
  if (is_younger (c, local->element) || is_noisy (c, local->serial))
    return CHANGED;
  return local->kind == NET_OP && local->op->open_dataset != NULL ? CHANGED : CLEAN;
}

/* Pairs the nodes of the graph with the local nodes before. FALSE if their order is another, or if modules are
 * involved. */
static gboolean
match_locals (Change *c)
{
  guint at = 0;

  for (guint k = 0; k < c->n; k++)
    {
      const LoomElement *e = c->node[k];

      for (; at < c->n_old && c->old[at].element != e && is_gone (c, c->old[at].serial); at++)
        {
          if (c->old[at].kind == NET_MODULE)
            return FALSE;
          c->is[at] = G_MAXUINT;
        }
      c->was[k] = G_MAXUINT;
      c->reach[k] = CHANGED;
      if (at < c->n_old && c->old[at].element == e)
        {
          c->reach[k] = reach_of (c, &c->old[at]);
          if (c->reach[k] == CHANGED && c->old[at].kind == NET_MODULE)
            return FALSE;
          c->was[k] = at;
          c->is[at++] = k;
        }
      else if (!is_younger (c, e))
        return FALSE;
      if (c->reach[k] == CHANGED && !is_operator (e))
        return FALSE;
      c->locals_differ |= c->was[k] != k;
    }
  for (; at < c->n_old; at++)
    {
      if (!is_gone (c, c->old[at].serial) || c->old[at].kind == NET_MODULE)
        return FALSE;
      c->is[at] = G_MAXUINT;
    }
  c->locals_differ |= c->n != c->n_old;
  return TRUE;
}

/* ---- what nodes were --------------------------------------------------------- */

static NetNode *
node_of_slot (const Change *c, const NetSlot *slot, guint copy)
{
  return c->net->nodes->pdata[loom_net_index_of (c->net, slot->first + copy)];
}

static void
begin_node (Change *c, NetNode *n)
{
  const LoomInfer *infer = &n->infer;

  if (n->renewal != NULL)
    return;
  n->renewal = scratch (c, 1, sizeof *n->renewal);
  *n->renewal = (NetRenewal){ .bypassed = n->bypassed,
                              .typed = n->node.typed,
                              .op = infer->op,
                              .n_outputs = infer->n_outputs,
                              .n_declared = infer->n_declared,
                              .n_inputs = infer->n_inputs,
                              .output_spec = infer->output_spec,
                              .output = infer->output,
                              .output_is_set = infer->output_is_set,
                              .weight = scratch (c, infer->n_declared, sizeof *n->renewal->weight) };
  for (guint i = 0; i < infer->n_declared; i++)
    {
      n->renewal->weight[i] = infer->declared[i].weight;
      if (infer->declared[i].weight != G_MAXUINT)
        g_hash_table_remove (c->net->weight_by_name, infer->declared[i].full_name);
    }
  g_ptr_array_add (c->touched, n);
}

/* Keeps what the nodes of an operator were, and their sources while these have the numbers of the version before. */
static void
begin_slot (Change *c, const NetSlot *slot)
{
  for (guint copy = 0; copy < slot->n; copy++)
    {
      NetNode *n = node_of_slot (c, slot, copy);

      begin_node (c, n);
      n->renewal->source = scratch (c, n->infer.n_inputs, sizeof *n->renewal->source);
      n->renewal->source_output = scratch (c, n->infer.n_inputs, sizeof *n->renewal->source_output);
      for (guint i = 0; i < n->infer.n_inputs; i++)
        if (n->node.input[i].node != G_MAXUINT)
          {
            n->renewal->source[i] = c->net->nodes->pdata[n->node.input[i].node];
            n->renewal->source_output[i] = n->node.input[i].output;
          }
    }
}

/* Removes what the net knows by the paths of an operator. */
static void
forget_paths (const Change *c, const NetLocal *local, const NetSlot *slot)
{
  if (local->path != NULL)
    g_hash_table_remove (c->net->locations, local->path);
  for (guint copy = 0; copy < slot->n; copy++)
    {
      const char *path = node_of_slot (c, slot, copy)->node.path;

      g_hash_table_remove (c->net->locations, path);
      g_hash_table_remove (c->net->recomputed, path);
      g_hash_table_remove (c->net->dtypes, path);
    }
}

/* ---- local nodes ---------------------------------------------------------------- */

/* Gives the local nodes that stay their new numbers. */
static void
move_locals (Change *c)
{
  NetSlot *slots = c->root->slots;

  c->old = memcpy (scratch (c, c->n_old, sizeof *c->old), c->old, c->n_old * sizeof *c->old);
  slots = memcpy (scratch (c, c->n_old, sizeof *slots), slots, c->n_old * sizeof *slots);
  if (c->n > c->scope->locals_room)
    {
      c->scope->locals_room = c->n + c->n / 8;
      c->scope->locals = loom_net_alloc (&c->net->arena, sizeof (NetLocal) * (c->scope->locals_room + 1));
      c->root->slots = loom_net_alloc (&c->net->arena, sizeof (NetSlot) * (c->scope->locals_room + 1));
    }
  c->scope->n_locals = c->n;
  for (guint k = 0; k < c->n; k++)
    {
      const guint was = c->was[k];

      c->scope->locals[k] = was != G_MAXUINT ? c->old[was] : (NetLocal){ 0 };
      c->root->slots[k] = was != G_MAXUINT ? slots[was] : (NetSlot){ 0 };
      if (was == k)
        continue;
      for (NetLocation *l = c->root->slots[k].locations; l != NULL; l = l->next)
        l->local = k;
      for (guint copy = 0; c->root->slots[k].copies != NULL && copy < c->root->slots[k].n; copy++)
        c->root->slots[k].copies[copy]->local = k;
    }
}

static gboolean
compile_locals (Change *c)
{
  LoomNet *net = c->net;

  for (guint old = 0; old < c->n_old; old++)
    if (c->is[old] == G_MAXUINT || c->reach[c->is[old]] == CHANGED)
      {
        forget_paths (c, &c->old[old], &c->root->slots[old]);
        begin_slot (c, &c->root->slots[old]);
        c->nodes_differ |= c->is[old] == G_MAXUINT && c->root->slots[old].n > 0;
        if (c->is[old] == G_MAXUINT)
          g_hash_table_remove (net->ids, GSIZE_TO_POINTER (c->old[old].serial));
      }
  if (c->locals_differ)
    move_locals (c);
  for (guint k = 0; k < c->n; k++)
    {
      NetLocal *local = &c->scope->locals[k], was = *local;

      if (c->reach[k] != CHANGED)
        continue;
      if (!loom_net_compile_local (net, c->scope, local, c->node[k], NULL, "") || local->kind == NET_MODULE)
        return FALSE;
      /* Of two nodes with one id, this may be the first; the paths left are those of nodes that did not change. */
      if (g_hash_table_contains (net->locations, local->id))
        return FALSE;
      loom_net_prepare_ports (net, local);
      c->replaced[k] = c->was[k] == G_MAXUINT || was.op != local->op || was.kind != local->kind;
    }
  return TRUE;
}

/* ---- wires -------------------------------------------------------------------------- */

/* Marks the target of a wire that came, went or changed. FALSE if it is a module. */
static gboolean
rewire (Change *c, guint local)
{
  if (local == G_MAXUINT)
    return TRUE;
  c->reach[local] = MAX (c->reach[local], REWIRED);
  return c->scope->locals[local].kind != NET_MODULE;
}

static guint
index_now (const Change *c, guint old)
{
  return old != G_MAXUINT ? c->is[old] : G_MAXUINT;
}

/* Finds the ends of a wire. was: what it was, or NULL. FALSE as match_wires(). */
static gboolean
match_wire (Change *c, const NetEnds *was, NetEnds *ends)
{
  const guint to = was != NULL ? index_now (c, was->to) : G_MAXUINT;
  const guint from = was != NULL ? index_now (c, was->from) : G_MAXUINT;
  const gboolean is_changed = was == NULL || is_younger (c, ends->wire) || is_noisy (c, was->serial);

  ends->serial = loom_element_serial (ends->wire);
  ends->from = from;
  ends->to = to;
  if (!is_changed && from != G_MAXUINT && to != G_MAXUINT && c->reach[from] != CHANGED && c->reach[to] != CHANGED)
    return TRUE;
  loom_net_find_ends (c->scope, c->local_of_child, ends);
  if (ends->from == G_MAXUINT || ends->to == G_MAXUINT)
    return FALSE;
  if (!is_changed && ends->from == from && ends->to == to && !c->replaced[from])
    return TRUE;
  return rewire (c, to) && rewire (c, ends->to);
}

/* Pairs the wires with those before, and marks the targets of those that differ. FALSE if an end leads nowhere, the
 * order is another, or modules are involved. */
static gboolean
match_wires (Change *c)
{
  NetScope *scope = c->scope;
  const guint n_old = scope->n_wires;
  const NetEnds *old = memcpy (scratch (c, n_old, sizeof *old), scope->wires, n_old * sizeof *old);
  guint at = 0;

  if (c->n_wires > scope->wires_room)
    {
      scope->wires_room = c->n_wires + c->n_wires / 8;
      scope->wires = loom_net_alloc (&c->net->arena, sizeof (NetEnds) * (scope->wires_room + 1));
    }
  scope->n_wires = c->n_wires;
  for (guint w = 0; w < c->n_wires; w++)
    {
      const LoomElement *e = c->wire[w];
      const NetEnds *was = NULL;

      for (; at < n_old && old[at].wire != e && is_gone (c, old[at].serial); at++)
        if (!rewire (c, index_now (c, old[at].to)))
          return FALSE;
      if (at < n_old && old[at].wire == e)
        was = &old[at++];
      else if (!is_younger (c, e))
        return FALSE;
      scope->wires[w] = (NetEnds){ .wire = e };
      if (!match_wire (c, was, &scope->wires[w]))
        return FALSE;
    }
  for (; at < n_old; at++)
    if (!is_gone (c, old[at].serial) || !rewire (c, index_now (c, old[at].to)))
      return FALSE;
  return TRUE;
}

static void
compile_wires (Change *c)
{
  NetScope *scope = c->scope;

  for (guint k = 0; k < c->n; k++)
    {
      NetLocal *local = &scope->locals[k];

      if (c->reach[k] == REWIRED)
        {
          local->n_ports = 0;
          local->wires = NULL;
          local->wrong = NULL;
          loom_net_prepare_ports (c->net, local);
        }
      for (guint i = 0; c->locals_differ && c->reach[k] < REWIRED && i < local->n_ports; i++)
        if (local->wires[i] != NULL)
          local->wires[i]->from = c->is[local->wires[i]->from];
    }
  for (guint w = 0; w < c->n_wires; w++)
    if (c->reach[scope->wires[w].to] >= REWIRED)
      loom_net_compile_wire (c->net, scope, &scope->wires[w]);
  for (guint k = 0; k < c->n; k++)
    if (c->reach[k] >= REWIRED && scope->locals[k].kind != NET_BROKEN)
      loom_net_check_inputs (c->net, &scope->locals[k]);
}

/* ---- nodes of the net ---------------------------------------------------------- */

/* The nodes of a local node, made from its element. (transfer full) */
static GPtrArray *
expand_local (Change *c, guint k)
{
  LoomNet *net = c->net;
  GPtrArray *sorted = g_steal_pointer (&net->nodes), *made;

  net->nodes = g_ptr_array_new ();
  c->root->slots[k] = (NetSlot){ 0 };
  loom_net_expand_local (net, c->root, k);
  made = net->nodes;
  net->nodes = sorted;
  return made;
}

static gboolean
has_same_outputs (const NetNode *n)
{
  const NetRenewal *r = n->renewal;

  if (r->is_new || r->n_outputs != n->infer.n_outputs)
    return FALSE;
  /* Ports that depend on parameters may be listed again. */
  for (guint i = 0; r->output_spec != n->infer.output_spec && i < r->n_outputs; i++)
    if (g_strcmp0 (r->output_spec[i].name, n->infer.output_spec[i].name) != 0
        || r->output_spec[i].flags != n->infer.output_spec[i].flags)
      return FALSE;
  return TRUE;
}

/* Makes the nodes of a local node again. They keep their NetNode if their number is that before. */
static void
make_nodes (Change *c, guint k)
{
  NetSlot *slot = &c->root->slots[k], before = *slot;
  g_autoptr (GPtrArray) made = NULL;

  if (c->reach[k] == REWIRED)
    begin_slot (c, &before);
  made = expand_local (c, k);
  if (before.n == made->len)
    {
      for (guint copy = 0; copy < made->len; copy++)
        {
          NetNode *n = node_of_slot (c, &before, copy);
          NetRenewal *r = n->renewal;
          const guint index = n->index;

          *n = *(NetNode *)made->pdata[copy];
          n->infer.data = n;
          n->index = index;
          n->renewal = r;
          r->is_made = TRUE;
          c->replaced[k] |= !has_same_outputs (n);
        }
      slot->first = before.first;
      return;
    }
  c->replaced[k] = c->nodes_differ = TRUE;
  for (guint copy = 0; copy < made->len; copy++)
    {
      NetNode *n = made->pdata[copy];

      n->renewal = scratch (c, 1, sizeof *n->renewal);
      n->renewal->is_new = n->renewal->is_made = TRUE;
      g_ptr_array_add (c->touched, n);
    }
  c->made[k] = g_steal_pointer (&made);
}

/* Nodes that could not be connected report faults at other nodes, and the sources of those that bypass a node have been
 * changed. */
static gboolean
is_restless (const Change *c, guint k)
{
  const NetSlot *slot = &c->root->slots[k];

  for (guint copy = 0; c->scope->locals[k].kind == NET_OP && copy < slot->n; copy++)
    {
      const NetNode *n = node_of_slot (c, slot, copy);

      if (n->unconnected || n->passes_by)
        return TRUE;
    }
  return FALSE;
}

/* FALSE if a module reads from a node that is another one now. */
static gboolean
make_all (Change *c)
{
  for (guint k = 0; k < c->n; k++)
    if (c->reach[k] >= REWIRED && c->scope->locals[k].kind == NET_OP)
      loom_net_count_copies (c->net, c->root, k);
  for (guint k = 0; k < c->n; k++)
    if (c->reach[k] >= REWIRED)
      make_nodes (c, k);
  for (guint w = 0; w < c->n_wires; w++)
    {
      const NetEnds *ends = &c->scope->wires[w];

      if (!c->replaced[ends->from] || c->reach[ends->to] != CLEAN)
        continue;
      if (c->scope->locals[ends->to].kind == NET_MODULE)
        return FALSE;
      c->reach[ends->to] = RECONNECT;
    }
  for (guint k = 0; k < c->n; k++)
    {
      if (c->reach[k] == CLEAN && is_restless (c, k))
        c->reach[k] = RECONNECT;
      if (c->reach[k] == RECONNECT && c->scope->locals[k].kind == NET_OP)
        begin_slot (c, &c->root->slots[k]);
    }
  return TRUE;
}

/* ---- order ------------------------------------------------------------------------ */

/* Appends the nodes of a local node of an instance, which are in `file` in the order of the file before. */
static void
collect_nodes (NetInstance *instance, guint k, NetNode *const *file, GPtrArray *nodes)
{
  NetSlot *slot = &instance->slots[k];
  const NetLocal *local = &instance->scope->locals[k];
  const guint first = slot->first;

  slot->first = nodes->len;
  for (guint copy = 0; copy < slot->n; copy++)
    if (local->kind == NET_OP)
      g_ptr_array_add (nodes, file[first + copy]);
    else if (local->kind == NET_MODULE)
      for (guint i = 0; i < slot->copies[copy]->scope->n_locals; i++)
        collect_nodes (slot->copies[copy], i, file, nodes);
}

/* Returns the nodes to the order of the file, in which wires are connected and nodes are sorted. */
static void
unsort (Change *c)
{
  LoomNet *net = c->net;
  g_autoptr (GPtrArray) sorted = g_steal_pointer (&net->nodes);
  NetNode **file = scratch (c, sorted->len, sizeof *file);

  for (guint i = 0; i < sorted->len; i++)
    {
      file[i] = sorted->pdata[net->order[i]];
      ((NetNode *)sorted->pdata[i])->file = G_MAXUINT;
    }
  net->nodes = g_ptr_array_sized_new (sorted->len + 16);
  for (guint k = 0; k < c->n; k++)
    {
      if (c->made[k] == NULL)
        {
          collect_nodes (c->root, k, file, net->nodes);
          continue;
        }
      c->root->slots[k].first = net->nodes->len;
      for (guint i = 0; i < c->made[k]->len; i++)
        g_ptr_array_add (net->nodes, c->made[k]->pdata[i]);
    }
  for (guint i = 0; i < net->nodes->len; i++)
    ((NetNode *)net->nodes->pdata[i])->file = i;
  for (guint i = 0; i < net->nodes->len; i++)
    {
      const NetNode *n = net->nodes->pdata[i];
      LoomNetSource *input = (LoomNetSource *)n->node.input;
      /* If nodes came or went, nodes that were made again are connected later. */
      const gboolean is_connected = !c->nodes_differ || n->renewal == NULL || !n->renewal->is_made;

      for (guint k = 0; is_connected && k < n->node.n_inputs; k++)
        if (input[k].node != G_MAXUINT)
          input[k].node = ((const NetNode *)sorted->pdata[input[k].node])->file;
    }
  net->order = NULL;
}

static gboolean
has_same_sources (const Change *c, const NetNode *n)
{
  const NetRenewal *r = n->renewal;

  if (r->is_new || n->node.n_inputs != r->n_inputs)
    return FALSE;
  for (guint i = 0; i < r->n_inputs; i++)
    {
      const LoomNetSource *source = &n->node.input[i];
      const NetNode *from = source->node != G_MAXUINT ? c->net->nodes->pdata[source->node] : NULL;

      if (from != r->source[i] || (from != NULL && source->output != r->source_output[i]))
        return FALSE;
    }
  return TRUE;
}

static void
connect_nodes (Change *c)
{
  for (guint k = 0; k < c->n; k++)
    {
      const NetSlot *slot = &c->root->slots[k];

      if (c->reach[k] == CLEAN || c->scope->locals[k].kind != NET_OP)
        continue;
      for (guint copy = 0; copy < slot->n; copy++)
        node_of_slot (c, slot, copy)->broken = FALSE;
      loom_net_connect_local (c->net, c->root, k);
      for (guint copy = 0; copy < slot->n; copy++)
        c->sources_differ |= !has_same_sources (c, node_of_slot (c, slot, copy));
    }
}

/* ---- types ------------------------------------------------------------------------- */

/* Returns a node to its state before it was typed. Its types are then written in place of those before, which are kept
 * for the comparison. */
static void
untype (Change *c, NetNode *n)
{
  LoomInfer *infer = &n->infer;
  NetRenewal *r = n->renewal;
  LoomType *output = scratch (c, r->n_outputs, sizeof *output);
  gboolean *is_set = scratch (c, r->n_outputs, sizeof *is_set);

  memcpy (output, r->output, r->n_outputs * sizeof *output);
  memcpy (is_set, r->output_is_set, r->n_outputs * sizeof *is_set);
  r->output = output;
  r->output_is_set = is_set;
  n->broken = n->unconnected;
  n->passes_by = n->queries = FALSE;
  n->node.typed = FALSE;
  n->node.cost = (LoomCost){ 0 };
  infer->has_fault = FALSE;
  infer->n_declared = 0;
  infer->declared = NULL;
  memset (infer->input, 0, sizeof (LoomType *) * infer->n_inputs);
  loom_net_prepare_outputs (n);
}

static gboolean
is_retyped (const NetNode *n)
{
  const NetRenewal *r = n->renewal;

  if (!has_same_outputs (n) || r->op != n->infer.op || r->typed != n->node.typed || r->bypassed != n->bypassed)
    return TRUE;
  for (guint i = 0; i < r->n_outputs; i++)
    if (r->output_is_set[i] != n->infer.output_is_set[i]
        || (r->output_is_set[i] && !loom_type_equal (&r->output[i], &n->infer.output[i])))
      return TRUE;
  return FALSE;
}

/* TRUE if the type of a source changed. Otherwise the node reads the types from where they are now. */
static gboolean
follow_types (const LoomNet *net, NetNode *n)
{
  for (guint i = 0; i < n->node.n_inputs; i++)
    {
      const LoomNetSource *source = &n->node.input[i];
      const NetNode *from = source->node != G_MAXUINT ? net->nodes->pdata[source->node] : NULL;

      if (from == NULL || from->renewal == NULL)
        continue;
      if (from->renewal->retyped)
        return TRUE;
      if (n->infer.input[i] != NULL)
        n->infer.input[i] = from->node.output + source->output;
    }
  return FALSE;
}

static void
type_nodes (Change *c)
{
  LoomNet *net = c->net;
  const LoomBinding ones = loom_net_ones (net);

  for (guint i = 0; i < net->nodes->len; i++)
    {
      NetNode *n = net->nodes->pdata[i];

      /* A data set's file may be another one by now. */
      if (n->renewal == NULL && !n->queries && n->infer.op->open_dataset == NULL && !follow_types (net, n))
        continue;
      begin_node (c, n);
      if (!n->renewal->is_made)
        untype (c, n);
      loom_net_infer_node (net, n, &ones);
      n->renewal->retyped = is_retyped (n);
    }
}

/* ---- all of it --------------------------------------------------------------------------- */

static gboolean
change (Change *c)
{
  LoomNet *net = c->net;
  const guint n_weights = net->weights->len;
  const guint *order = net->order;

  if (!list_children (c))
    return FALSE;
  c->was = scratch (c, c->n, sizeof *c->was);
  c->is = scratch (c, c->n_old, sizeof *c->is);
  c->reach = scratch (c, c->n, sizeof *c->reach);
  c->replaced = scratch (c, c->n, sizeof *c->replaced);
  c->made = scratch (c, c->n, sizeof *c->made);
  if (!match_locals (c) || !compile_locals (c) || !match_wires (c))
    return FALSE;
  compile_wires (c);
  if (!make_all (c))
    return FALSE;
  if (c->nodes_differ)
    unsort (c);
  if (net->nodes->len > NET_MAX_NODES)
    return FALSE;
  connect_nodes (c);
  if (c->sources_differ && !c->nodes_differ)
    unsort (c);
  if (c->sources_differ || c->nodes_differ)
    {
      loom_net_sort (net);
      net->wires_since = net->number;
      if (c->nodes_differ || memcmp (order, net->order, net->nodes->len * sizeof *order) != 0)
        net->order_since = net->number;
    }
  if (net->is_whole)
    return FALSE;
  type_nodes (c);
  if (net->is_whole)
    return FALSE;
  if (c->sources_differ || c->nodes_differ || !loom_net_replace_weights (net, c->touched, n_weights))
    loom_net_list_weights (net);
  loom_net_check_muted (net, c->root);
  return !net->is_whole;
}

gboolean
loom_net_change (LoomNet *net)
{
  Change c = { .net = net,
               .root = net->root,
               .scope = net->root->scope,
               .element = loom_graph_root (net->graph),
               .noisy = net->noisy,
               .memory = { .blocks = g_ptr_array_new_with_free_func (g_free) },
               .touched = g_ptr_array_new (),
               .old = net->root->scope->locals,
               .n_old = net->root->scope->n_locals };
  gboolean done;

  net->noisy = g_hash_table_new (NULL, NULL);
  done = change (&c);
  for (guint i = 0; i < c.touched->len; i++)
    {
      NetNode *n = c.touched->pdata[i];

      n->renewal = NULL;
      n->since = net->number;
    }
  for (guint k = 0; c.made != NULL && k < c.n; k++)
    g_clear_pointer (&c.made[k], g_ptr_array_unref);
  g_ptr_array_unref (c.touched);
  g_hash_table_unref (c.noisy);
  g_ptr_array_unref (c.memory.blocks);
  return done;
}
