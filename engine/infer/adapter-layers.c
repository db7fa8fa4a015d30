/* Implements adapter-layers.h. */
#include "engine/infer/adapter-layers.h"

#include <string.h>

gboolean
adapter_is_linear (const LoomNetNode *node)
{
  return node->op != NULL && g_str_equal (node->op->name, "linear");
}

int
adapter_find_read (const LoomNet *net, guint node, guint input)
{
  const LoomNetSource *source = &loom_net_node (net, node)->input[input];

  return source->node != G_MAXUINT && loom_net_is_weight (net, source) ? loom_net_source_weight (net, source) : -1;
}

int
adapter_find_base (const LoomNet *net, guint node)
{
  const int own = loom_net_find_weight (net, node, "weight");
  const int input = own < 0 ? loom_net_find_input (loom_net_node (net, node), "weight") : -1;

  return input >= 0 ? adapter_find_read (net, node, (guint)input) : own;
}

Adaptable *
adapter_find_layers (const LoomNet *net)
{
  const guint n = loom_net_n_nodes (net);
  g_autofree gboolean *is_read = g_new0 (gboolean, loom_net_n_weights (net) + 1);
  Adaptable *can = g_new0 (Adaptable, n + 1);

  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < loom_net_node (net, i)->n_inputs; k++)
      if (adapter_find_read (net, i, k) >= 0)
        is_read[adapter_find_read (net, i, k)] = TRUE;
  for (guint i = 0; i < n; i++)
    {
      const int base = adapter_is_linear (loom_net_node (net, i)) ? adapter_find_base (net, i) : -1;

      can[i] = base < 0 ? ADAPT_NO : is_read[base] ? ADAPT_TIED : ADAPT_OWN;
    }
  return can;
}

char *
adapter_layer_name (const LoomNet *net, guint node)
{
  static const char *const weights[] = { "weight", "bias", LOOM_LORA_A };

  for (guint i = 0; i < G_N_ELEMENTS (weights); i++)
    {
      const int at = loom_net_find_weight (net, node, weights[i]);
      const char *name = at >= 0 ? loom_net_weight (net, (guint)at)->name : NULL;

      if (name != NULL)
        return g_strndup (name, strlen (name) - strlen (weights[i]) - 1);
    }
  return g_strdup (loom_net_node (net, node)->path);
}
