/* Removes faults that follow from others from the list of inference.
 *
 * A node without a type because of an earlier fault reports nothing, so nearly all faults are root causes. Advice is an
 * exception, because a layer with advice still has an output. A linear layer over images without a flatten causes the
 * same advice at the next one, and in the end a loss that cannot compare images with classes. The first layer is then
 * the cause, and the others follow from it. */
#include "engine/net/net-private.h"

#define MAX_ADVICE 64u /* of a longer list users read only the first ones */

static LoomFault *
fault_at (const LoomNet *net, guint i)
{
  return g_ptr_array_index (net->faults->items, i);
}

static int
node_of (const LoomNet *net, const LoomFault *fault)
{
  return fault->node != NULL && fault->code == LOOM_ERROR_SHAPE ? loom_net_find (net, fault->node) : -1;
}

/* TRUE if the second node depends on the first. */
static gboolean
leads_to (const LoomNet *net, guint first, guint second)
{
  const LoomNetSource source = { .node = second };
  g_autofree gboolean *needed = first < second ? loom_net_needed_for (net, &source) : NULL;

  return needed != NULL && needed[first];
}

/* Removes advice at nodes that depend on a node with the same advice. */
static void
drop_repeated_advice (LoomNet *net)
{
  guint seen = 0;

  for (guint i = 0; i < loom_faults_length (net->faults) && seen < MAX_ADVICE; i++)
    {
      const LoomFault *first = fault_at (net, i);
      int at = first->is_warning ? node_of (net, first) : -1;

      if (at < 0)
        continue;
      seen++;
      for (guint k = loom_faults_length (net->faults); k-- > 0;)
        {
          const LoomFault *other = fault_at (net, k);
          int later = k != i && other->is_warning ? node_of (net, other) : -1;

          if (later < 0 || loom_net_node (net, (guint)later)->op != loom_net_node (net, (guint)at)->op
              || g_strcmp0 (other->port, first->port) != 0 || !leads_to (net, (guint)at, (guint)later))
            continue;
          g_ptr_array_remove_index (net->faults->items, k);
          i -= k < i;
        }
    }
}

/* TRUE if the images at a node with advice were permuted on purpose: before it, followed only by nodes that keep the
 * shape or have the same advice, another dimension became the last. */
static gboolean
is_arranged (const LoomNet *net, const LoomNetNode *node)
{
  for (const LoomNetNode *n = node;;)
    {
      const LoomShape *to, *from;
      const LoomNetNode *before;

      if (n->n_inputs == 0 || n->input[0].node == G_MAXUINT || loom_net_is_weight (net, &n->input[0]))
        return FALSE;
      to = &loom_net_node (net, n->input[0].node)->output[n->input[0].output].shape;
      if (to->rank != 4)
        return FALSE;
      n = loom_net_node (net, n->input[0].node);
      if (n->op == NULL || !n->typed || n->n_inputs == 0 || n->input[0].node == G_MAXUINT
          || loom_net_is_weight (net, &n->input[0]))
        return FALSE;
      before = loom_net_node (net, n->input[0].node);
      from = &before->output[n->input[0].output].shape;
      if (n->op->category == LOOM_CATEGORY_SHAPE && from->rank >= to->rank
          && !loom_dim_equal (from->dim[from->rank - 1], to->dim[to->rank - 1]))
        return TRUE;
      if (n->op != node->op && !loom_shape_equal (from, to))
        return FALSE;
    }
}

/* Removes advice about images that were permuted on purpose. */
static void
drop_needless_advice (LoomNet *net)
{
  for (guint i = loom_faults_length (net->faults); i-- > 0;)
    {
      const LoomFault *fault = fault_at (net, i);
      int at = fault->is_warning ? node_of (net, fault) : -1;

      if (at >= 0 && loom_net_node (net, (guint)at)->op->category == LOOM_CATEGORY_LAYERS
          && is_arranged (net, loom_net_node (net, (guint)at)))
        g_ptr_array_remove_index (net->faults->items, i);
    }
}

/* TRUE for a loss with logits of images and classes of samples, so that a flatten is missing before it. */
static gboolean
compares_images (const LoomNet *net, guint node)
{
  const LoomNetNode *n = loom_net_node (net, node);
  int input
      = n->op != NULL && n->op->category == LOOM_CATEGORY_LOSS ? loom_net_find_input_for (n, LOOM_PORT_PREDICTION) : -1;
  int target = input >= 0 ? loom_net_find_input_for (n, LOOM_PORT_TARGET) : -1;
  const LoomNetNode *from, *to;

  if (target < 0 || loom_net_is_weight (net, &n->input[input]) || loom_net_is_weight (net, &n->input[target]))
    return FALSE;
  from = loom_net_node (net, n->input[input].node);
  to = loom_net_node (net, n->input[target].node);
  return from->typed && to->typed && from->output[n->input[input].output].shape.rank == 4
         && to->output[n->input[target].output].shape.rank == 1;
}

/* Makes that advice the fault, in place of faults that follow from it. */
static void
promote_advice (LoomNet *net)
{
  for (guint k = loom_faults_length (net->faults); k-- > 0;)
    {
      const LoomFault *fault = fault_at (net, k);
      int at = fault->is_warning ? -1 : node_of (net, fault);
      LoomFault *root = NULL;

      if (at < 0 || !compares_images (net, (guint)at))
        continue;
      for (guint i = 0; i < loom_faults_length (net->faults) && root == NULL; i++)
        {
          LoomFault *advice = fault_at (net, i);
          int before = advice->is_warning ? node_of (net, advice) : -1;

          if (before >= 0 && leads_to (net, (guint)before, (guint)at))
            root = advice;
        }
      if (root == NULL)
        continue;
      root->is_warning = FALSE;
      g_ptr_array_remove_index (net->faults->items, k);
    }
}

void
loom_net_keep_roots (LoomNet *net)
{
  drop_repeated_advice (net);
  drop_needless_advice (net);
  promote_advice (net);
}
