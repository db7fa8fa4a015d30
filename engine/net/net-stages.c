/* Finds the pipeline stages of nodes along the wires of a flat net.
 *
 * A node that names no stage belongs to the last stage from which it reads, so a file names a stage only at its
 * beginning. The nodes of a loop's bodies are in the stage of the node that runs it. */
#include "engine/net/net-private.h"

static int
own_stage (const LoomNet *net, guint node)
{
  const LoomNetNode *n = loom_net_node (net, node);

  while (n->loop != G_MAXUINT)
    n = loom_net_node (net, n->loop);
  return n->stage;
}

/* The last stage from which a node reads, and the input. Weights do not count: a node may read one of any stage. */
static int
stage_before (const LoomNet *net, guint node, const int *stage, guint *input)
{
  const LoomNetNode *n = loom_net_node (net, node);
  int last = -1;

  for (guint k = 0; k < n->n_inputs; k++)
    {
      const LoomNetSource *source = &n->input[k];

      if (source->node == G_MAXUINT || loom_net_is_from_body (net, node, k) || loom_net_is_weight (net, source))
        continue;
      if (source->node < node && stage[source->node] > last)
        {
          last = stage[source->node];
          *input = k;
        }
    }
  return last;
}

int
loom_net_stages (const LoomNet *net, int *stage)
{
  int n = 0;

  for (guint i = 0; !net->has_stages && i < loom_net_n_nodes (net); i++)
    stage[i] = -1;
  for (guint i = 0; net->has_stages && i < loom_net_n_nodes (net); i++)
    {
      guint input = 0;
      int own = own_stage (net, i), before = stage_before (net, i, stage, &input);

      stage[i] = own >= 0 ? own : before;
      n = MAX (n, stage[i] + 1);
    }
  return n;
}

void
loom_net_check_stages (LoomNet *net)
{
  g_autofree int *stage = NULL;

  if (!net->has_stages)
    return;
  stage = g_new0 (int, loom_net_n_nodes (net) + 1);
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);
      guint input = 0;
      int own = own_stage (net, i), before = stage_before (net, i, stage, &input);

      stage[i] = own >= 0 ? own : before;
      if (own >= before || own < 0 || n->loop != G_MAXUINT)
        continue;
      g_autofree char *fix = g_strdup_printf ("%d", before);
      LoomFault *fault = loom_net_fault (net, n->element, n->path, LOOM_ERROR_SCHEMA, "stage",
                                         "It is in stage %d but reads “%s” of the later stage %d.", own,
                                         loom_net_node (net, n->input[input].node)->path, before);
      loom_fault_set_fix (fault, "stage", fix, "Set it to %d.", before);
      stage[i] = before;
    }
}
