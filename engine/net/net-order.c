/* Sorts nodes topologically: each follows its sources; of the nodes that could be next, the first in the file is. */
#include "engine/net/net-private.h"

#include <string.h>

gboolean
loom_net_waits_for (const LoomNet *net, const LoomNetNode *n, guint input)
{
  const LoomNetSource *source = n->input + input;

  return source->node != G_MAXUINT && !(loom_op_is_weight_port (n->op, input) && loom_net_is_weight (net, source));
}

/* A heap of node numbers, smallest first, for the order of the file. */
static void
heap_push (guint *heap, guint *n, guint value)
{
  guint i = (*n)++;

  for (; i > 0 && heap[(i - 1) / 2] > value; i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = value;
}

static guint
heap_pop (guint *heap, guint *n)
{
  guint top = heap[0], last = heap[--*n], i = 0;

  for (;;)
    {
      guint child = 2 * i + 1;

      if (child >= *n)
        break;
      child += child + 1 < *n && heap[child + 1] < heap[child];
      if (heap[child] >= last)
        break;
      heap[i] = heap[child];
      i = child;
    }
  heap[i] = last;
  return top;
}

/* A source of the node that is itself not sorted yet; G_MAXUINT: none. */
static guint
waiting_source (const LoomNet *net, guint node, const guint *waiting)
{
  const LoomNetNode *n = loom_net_node (net, node);

  for (guint i = 0; i < n->n_inputs; i++)
    if (loom_net_waits_for (net, n, i) && waiting[n->input[i].node] > 0)
      return n->input[i].node;
  return G_MAXUINT;
}

static void
report_cycle (LoomNet *net, guint start, const guint *waiting, guint *visited, guint mark)
{
  guint at = start, first;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *chain = NULL;
  const NetNode *n;

  /* Follows wires back from an unsorted node; each unsorted node has an unsorted source, so the walk ends in a
   * cycle. */
  while (visited[at] == 0)
    {
      visited[at] = mark;
      at = waiting_source (net, at, waiting);
      g_return_if_fail (at != G_MAXUINT);
    }
  if (visited[at] != mark)
    return;
  first = at;
  do
    {
      g_ptr_array_insert (names, 0, (gpointer)((NetNode *)net->nodes->pdata[at])->node.path);
      at = waiting_source (net, at, waiting);
    }
  while (at != first && names->len < 20);
  g_ptr_array_add (names, names->pdata[0]);
  g_ptr_array_add (names, NULL);
  chain = g_strjoinv (" → ", (char **)names->pdata);
  net->is_whole = TRUE;
  n = net->nodes->pdata[first];
  loom_net_fault (net, n->node.element, n->node.path, LOOM_ERROR_CYCLE, NULL,
                  "The wires form a cycle: %s. Remove one of them.", chain);
}

typedef struct
{
  guint node;
  guint next; /* of the same source; G_MAXUINT: none */
} Follower;

void
loom_net_sort (LoomNet *net)
{
  guint n = net->nodes->len, n_heap = 0, done = 0, mark = 0;
  g_autofree guint *waiting = g_new0 (guint, n + 1), *first = g_new (guint, n + 1), *heap = g_new (guint, n + 1);
  g_autofree guint *visited = g_new0 (guint, n + 1);
  g_autoptr (GArray) followers = g_array_sized_new (FALSE, FALSE, sizeof (Follower), 2 * n);
  g_autoptr (GPtrArray) sorted = g_ptr_array_sized_new (n);

  net->order = loom_net_alloc (&net->arena, sizeof (guint) * (n + 1));
  for (guint i = 0; i < n; i++)
    first[i] = G_MAXUINT;
  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = &((NetNode *)net->nodes->pdata[i])->node;

      for (guint k = 0; k < node->n_inputs; k++)
        if (loom_net_waits_for (net, node, k))
          {
            const Follower follower = { i, first[node->input[k].node] };

            waiting[i]++;
            first[node->input[k].node] = followers->len;
            g_array_append_val (followers, follower);
          }
    }
  for (guint i = 0; i < n; i++)
    if (waiting[i] == 0)
      heap_push (heap, &n_heap, i);
  while (n_heap > 0)
    {
      guint i = heap_pop (heap, &n_heap);

      net->order[i] = done++;
      visited[i] = G_MAXUINT;
      g_ptr_array_add (sorted, net->nodes->pdata[i]);
      for (guint k = first[i]; k != G_MAXUINT; k = g_array_index (followers, Follower, k).next)
        if (--waiting[g_array_index (followers, Follower, k).node] == 0)
          heap_push (heap, &n_heap, g_array_index (followers, Follower, k).node);
    }
  for (guint i = 0; done < n && i < n; i++)
    if (waiting[i] > 0 && visited[i] == 0)
      report_cycle (net, i, waiting, visited, ++mark);
  for (guint i = 0; done < n && i < n; i++)
    if (waiting[i] > 0)
      {
        net->order[i] = sorted->len;
        ((NetNode *)net->nodes->pdata[i])->broken = TRUE;
        g_ptr_array_add (sorted, net->nodes->pdata[i]);
      }
  for (guint i = 0; i < n; i++)
    {
      NetNode *node = sorted->pdata[i];
      LoomNetSource *input = (LoomNetSource *)node->node.input;

      node->index = i;
      for (guint k = 0; k < node->node.n_inputs; k++)
        if (input[k].node != G_MAXUINT)
          input[k].node = net->order[input[k].node];
    }
  g_ptr_array_unref (net->nodes);
  net->nodes = g_steal_pointer (&sorted);
  loom_net_collect_members (net);
}
