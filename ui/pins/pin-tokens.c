/* Searches backwards along wires, because the tokens of an axis are those that its values were computed from: a
 * translation has two sentences, and the words of a target are not those of its source. */
#include "ui/pins/pin-tokens.h"

#include <string.h>

/* A row of tokens for each sample, as long as the axis if both are known. */
static gboolean
has_tokens (const LoomNet *net, guint node, guint output, gint64 size)
{
  const LoomNetNode *n = loom_net_node (net, node);
  const LoomType *type;

  if (!loom_net_is_dataset (net, node) || !n->typed || output >= n->n_outputs)
    return FALSE;
  type = &n->output[output];
  return type->dtype == LOOM_I64 && type->shape.rank == 2
         && (size <= 0 || !loom_dim_is_known (type->shape.dim[1]) || type->shape.dim[1].coef == size);
}

/* Its axes may be others than those of its inputs. */
static gboolean
moves_axes (const LoomNetNode *n)
{
  return n->op == NULL || n->op->category == LOOM_CATEGORY_SHAPE;
}

/* The first port in the order of distance from the sources in the queue. keeps_axes: not beyond nodes that exchange
 * axes. */
static char *
search (const LoomNet *net, GQueue *queue, gint64 size, gboolean keeps_axes)
{
  g_autofree gboolean *seen = g_new0 (gboolean, loom_net_n_nodes (net) + 1);
  const LoomNetSource *source;

  while ((source = g_queue_pop_head (queue)) != NULL)
    {
      const LoomNetNode *n = loom_net_node (net, source->node);

      if (has_tokens (net, source->node, source->output, size))
        return loom_net_port_name (net, source->node, source->output);
      if (seen[source->node])
        continue;
      seen[source->node] = TRUE;
      for (guint k = 0; k < n->n_inputs && !(keeps_axes && moves_axes (n)); k++)
        if (n->input[k].node != G_MAXUINT)
          g_queue_push_tail (queue, (gpointer)&n->input[k]);
    }
  return NULL;
}

/* The letters of axes that count positions; without, in B × T × C, the axis of a size that the tokens must have. */
static gboolean
counts_positions (const PinSubject *subject, gsize from_last)
{
  const gsize axis = subject->rank - 1 - from_last;
  const char letter = subject->letter[axis];

  return letter == 'T' || letter == 'S' || letter == 'L'
         || (letter == 0 && from_last == 1 && subject->rank - subject->n_loops == 3 && subject->dims[axis] > 1);
}

char *
pin_tokens_port (const LoomNet *net, const char *tensor, const PinSubject *subject, gsize from_last)
{
  g_auto (GQueue) queue = G_QUEUE_INIT;
  LoomNetSource own;
  const int node = loom_net_find_port (net, pin_tensor_name (tensor), &own.output, NULL);
  const LoomNetNode *n = node >= 0 ? loom_net_node (net, (guint)node) : NULL;
  int input = -1;

  if (n == NULL || subject->is_weight || subject->rank < 2 || from_last > 1
      || !(subject->is_attention || counts_positions (subject, from_last)))
    return NULL;
  own.node = (guint)node;
  if (subject->is_attention)
    input = loom_net_find_input (n, from_last == 1 ? "query" : "key");
  if (input >= 0 && n->input[input].node != G_MAXUINT)
    g_queue_push_tail (&queue, (gpointer)&n->input[input]);
  else
    g_queue_push_tail (&queue, &own);
  return search (net, &queue, subject->dims[subject->rank - 1 - from_last], !subject->is_attention);
}
