/* The tensors of a node that can be looked at by name; see the header. */
#include "ui/scene/studio-tensors.h"

char **
studio_tensors_of_node (const LoomNet *net, const char *path)
{
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();
  const int node = loom_net_find (net, path);
  const LoomNetNode *n = node >= 0 ? loom_net_node (net, (guint)node) : NULL;

  for (guint k = 0; n != NULL && !n->outputs_dynamic && k < n->n_outputs; k++)
    {
      g_autofree char *port = loom_net_port_name (net, (guint)node, k);
      g_strv_builder_add (list, port);
    }
  for (guint i = 0; n != NULL && i < loom_net_n_weights (net); i++)
    if (loom_net_weight (net, i)->node == (guint)node && !loom_net_weight (net, i)->is_buffer)
      g_strv_builder_add (list, loom_net_weight (net, i)->name);
  return g_strv_builder_end (list);
}
