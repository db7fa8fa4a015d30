/* Binds the symbols of a net to sizes: nodes are typed again, and nothing else is made again.
 *
 * Names, scopes, instances and wires do not depend on sizes, so a bound net shares them with the net from which it is
 * made, which it keeps alive. Faults of those steps would have to be reported again in their order, and a loop keeps
 * what it found out about its sequences in its instances: such nets are built again as a whole. */
#include "engine/net/net-private.h"

NetNode *
loom_net_copy_node (LoomNet *to, const NetNode *from)
{
  NetNode *n = loom_net_alloc (&to->arena, sizeof *n);
  guint n_types = from->infer.n_outputs + loom_op_count_weights (from->node.op) + 1;

  *n = *from;
  n->net = to;
  n->broken = FALSE;
  n->node.summary = n->summary = NULL;
  n->summary_room = 0;
  n->node.cost = (LoomCost){ 0 };
  n->infer.data = n;
  n->infer.binding = &to->binding;
  n->infer.has_fault = FALSE;
  n->infer.n_declared = 0;
  n->infer.declared = n->declared = NULL;
  n->declared_room = 0;
  n->infer.input = loom_net_alloc (&to->arena, sizeof (LoomType *) * (n->infer.n_inputs + 1));
  n->infer.output = loom_net_alloc (&to->arena, sizeof (LoomType) * n_types);
  n->infer.output_is_set = loom_net_alloc (&to->arena, sizeof (gboolean) * n_types);
  n->outputs_room = n_types - 1;
  n->node.output = n->infer.output;
  return n;
}

/* FALSE if a bound net cannot share what this one has. Sources that bypass a node are chosen by types. */
static gboolean
can_share (const LoomNet *net)
{
  if (net->had_faults || net->loops->len > 0 || (net->noisy != NULL && g_hash_table_size (net->noisy) > 0))
    return FALSE;
  for (guint i = 0; i < net->nodes->len; i++)
    if (((const NetNode *)net->nodes->pdata[i])->bypassed)
      return FALSE;
  return TRUE;
}

LoomNet *
loom_net_bind (const LoomNet *net, const LoomGraph *graph, const LoomBinding *sizes, LoomFaults *faults)
{
  LoomNet *to;

  g_return_val_if_fail (net != NULL && graph != NULL && sizes != NULL && faults != NULL, NULL);
  g_return_val_if_fail (net->version == loom_graph_version (graph), NULL);

  if (!can_share (net))
    return loom_net_new (graph, sizes, faults);
  to = g_new0 (LoomNet, 1);
  *to = *net;
  to->base = loom_net_ref (net);
  to->refs = 1;
  to->arena = (NetArena){ .blocks = g_ptr_array_new_with_free_func (g_free) };
  to->is_whole = TRUE;
  to->noisy = NULL;
  to->binding = *sizes;
  to->has_binding = TRUE;
  to->weights = loom_net_weights_new (0);
  to->weight_by_name = g_hash_table_new (g_str_hash, g_str_equal);
  to->nodes = g_ptr_array_sized_new (net->nodes->len);
  loom_net_begin (to, graph, faults);
  to->built = to->number;
  for (guint i = 0; i < net->nodes->len; i++)
    {
      NetNode *n = loom_net_copy_node (to, net->nodes->pdata[i]);

      /* Their number may depend on types. */
      loom_net_prepare_outputs (n);
      n->node.typed = FALSE;
      g_ptr_array_add (to->nodes, n);
    }
  loom_net_type_all (to);
  loom_net_keep_roots (to);
  loom_net_check_stages (to);
  loom_net_end (to);
  return to;
}
