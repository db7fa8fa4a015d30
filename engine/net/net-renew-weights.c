/* Lists the weights of a net that is renewed.
 *
 * Nodes that are typed again append their weights to the list of the net. If each declares as many as before, they take
 * the places of those; otherwise the list is put in the order of the nodes. */
#include "engine/net/net-renewal.h"

gboolean
loom_net_replace_weights (LoomNet *net, const GPtrArray *touched, guint n_before)
{
  GArray *weights = net->weights;

  for (guint t = 0; t < touched->len; t++)
    {
      const NetNode *n = touched->pdata[t];
      const NetRenewal *r = n->renewal;

      if (n->infer.n_declared != r->n_declared)
        return FALSE;
      for (guint i = 0; i < r->n_declared; i++)
        if ((n->infer.declared[i].weight == G_MAXUINT) != (r->weight[i] == G_MAXUINT))
          return FALSE;
    }
  for (guint t = 0; t < touched->len; t++)
    {
      const NetNode *n = touched->pdata[t];

      for (guint i = 0; i < n->infer.n_declared; i++)
        {
          LoomDeclared *declared = &n->infer.declared[i];
          const guint to = n->renewal->weight[i];
          LoomNetWeight *a, *b, weight;

          if (to == G_MAXUINT)
            continue;
          a = &g_array_index (weights, LoomNetWeight, to);
          b = &g_array_index (weights, LoomNetWeight, declared->weight);
          weight = *a;
          *a = *b;
          *b = weight;
          declared->weight = to;
        }
    }
  g_array_set_size (weights, n_before);
  return TRUE;
}

/* Most are in place. */
void
loom_net_list_weights (LoomNet *net)
{
  LoomNetWeight *weight = (LoomNetWeight *)(gpointer)net->weights->data;
  g_autofree LoomDeclared **owner = g_new0 (LoomDeclared *, net->weights->len + 1);
  guint next = 0;

  for (guint i = 0; i < net->nodes->len; i++)
    {
      const LoomInfer *infer = &((NetNode *)net->nodes->pdata[i])->infer;

      for (guint k = 0; k < infer->n_declared; k++)
        if (infer->declared[k].weight != G_MAXUINT)
          owner[infer->declared[k].weight] = &infer->declared[k];
    }
  for (guint i = 0; i < net->nodes->len; i++)
    {
      const LoomInfer *infer = &((NetNode *)net->nodes->pdata[i])->infer;

      for (guint k = 0; k < infer->n_declared; k++)
        {
          LoomDeclared *declared = &infer->declared[k];
          const guint at = declared->weight;

          if (at == G_MAXUINT)
            continue;
          if (at != next)
            {
              const LoomNetWeight other = weight[next];

              weight[next] = weight[at];
              weight[at] = other;
              owner[at] = owner[next];
              if (owner[at] != NULL)
                owner[at]->weight = at;
              declared->weight = next;
            }
          weight[next++].node = i;
        }
    }
  g_array_set_size (net->weights, next);
}
