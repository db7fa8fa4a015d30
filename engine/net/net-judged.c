/* What a net is about: which nodes lead to a port, and what a loss judges. Predicting and exporting both begin here. */
#include "engine/net/loom-net.h"

int
loom_net_find_input (const LoomNetNode *node, const char *name)
{
  for (guint i = 0; i < node->n_inputs && node->input_spec; i++)
    if (node->input_spec[0].flags & LOOM_PORT_VARIADIC)
      return -1;
    else if (g_str_equal (node->input_spec[i].name, name))
      return node->input[i].node == G_MAXUINT ? -1 : (int)i;
  return -1;
}

static gboolean
same_source (const LoomNetSource *a, const LoomNetSource *b)
{
  return a->node == b->node && a->output == b->output;
}

gboolean *
loom_net_needed_for (const LoomNet *net, const LoomNetSource *of)
{
  gboolean *needed = g_new0 (gboolean, loom_net_n_nodes (net) + 1);

  if (loom_net_is_weight (net, of))
    return needed;
  needed[of->node] = TRUE;
  for (guint i = of->node + 1; i-- > 0;)
    for (guint k = 0; needed[i] && k < loom_net_node (net, i)->n_inputs; k++)
      {
        const LoomNetSource *source = &loom_net_node (net, i)->input[k];
        if (source->node < i && !loom_net_is_weight (net, source))
          needed[source->node] = TRUE;
      }
  return needed;
}

gboolean
loom_net_find_judged (const LoomNet *net, const LoomNetSource *loss, LoomNetSource *output)
{
  g_autofree gboolean *needed = loom_net_needed_for (net, loss);
  gboolean found = FALSE;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      int input = needed[i] && node->op && node->op->category == LOOM_CATEGORY_LOSS
                      ? loom_net_find_input (node, "input")
                      : -1;

      if (input < 0 || loom_net_find_input (node, "target") < 0)
        continue;
      if (found && !same_source (output, &node->input[input]))
        return FALSE;
      *output = node->input[input];
      found = TRUE;
    }
  return found;
}
