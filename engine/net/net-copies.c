/* Implements loom-copies.h: compares the devices at both ends of the wires of a flat net. */
#include "engine/net/loom-copies.h"

#include <string.h>

#include "engine/net/net-private.h"

const char *
loom_net_device (const LoomNet *net, guint node, const char *device)
{
  const char *own = loom_net_node (net, node)->device;

  return own != NULL ? own : device;
}

typedef struct
{
  const LoomNet *net;
  const char *device;
  const LoomBinding *binding;
  gboolean *learns; /* by node: its outputs depend on trained weights */
  GHashTable *brought;
  GArray *copies;
} Survey;

static gboolean
is_float (const LoomType *type)
{
  return type->dtype == LOOM_F64 || type->dtype == LOOM_F32 || type->dtype == LOOM_F16 || type->dtype == LOOM_BF16;
}

static void
find_learning (Survey *s, guint i)
{
  const LoomNetNode *n = loom_net_node (s->net, i);

  for (guint k = 0; k < n->n_inputs; k++)
    {
      const LoomNetSource *source = &n->input[k];

      if (source->node == G_MAXUINT)
        continue;
      if (loom_net_is_weight (s->net, source) || s->learns[source->node])
        s->learns[i] = TRUE;
    }
  /* Update steps that are part of the graph end here: they take gradients as inputs, so no gradient flows through
   * them. */
  if (n->op != NULL && n->op->category == LOOM_CATEGORY_TRAINING)
    s->learns[i] = FALSE;
}

static double
bytes_of (const Survey *s, const LoomType *type)
{
  LoomDim count = loom_shape_count (&type->shape);
  gint64 n = s->binding != NULL ? loom_dim_value (count, s->binding) : loom_dim_is_known (count) ? count.coef : -1;

  return n < 0 ? -1 : (double)n * (double)loom_dtype_size (type->dtype);
}

static void
note (Survey *s, guint reader, const LoomNetSource *source)
{
  const LoomNetNode *from = loom_net_node (s->net, source->node);
  const char *at = loom_net_device (s->net, source->node, s->device);
  const char *to = loom_net_device (s->net, reader, s->device);
  LoomCopy t = { .source = *source, .reader = reader, .from = at, .to = to };
  gboolean is_weight = loom_net_is_weight (s->net, source);

  if (strcmp (at, to) == 0 || (!is_weight && !from->typed))
    return;
  if (is_weight)
    {
      int weight = loom_net_source_weight (s->net, source);
      LoomType type;

      if (weight < 0)
        return;
      type = (LoomType){ loom_net_weight (s->net, (guint)weight)->dtype,
                         loom_net_weight (s->net, (guint)weight)->shape };
      t.bytes = bytes_of (s, &type);
      t.gradient
          = !loom_net_weight (s->net, (guint)weight)->is_buffer && !loom_net_weight (s->net, (guint)weight)->frozen;
    }
  else
    {
      t.bytes = bytes_of (s, &from->output[source->output]);
      t.gradient = s->learns[source->node] && is_float (&from->output[source->output]);
    }
  t.shared = !g_hash_table_add (s->brought, g_strdup_printf ("%u %u %s", source->node, source->output, to));
  g_array_append_val (s->copies, t);
}

static void
mark_learners (Survey *s)
{
  for (guint w = 0; w < loom_net_n_weights (s->net); w++)
    {
      const LoomNetWeight *weight = loom_net_weight (s->net, w);

      if (!weight->is_buffer && !weight->frozen)
        s->learns[weight->node] = TRUE;
    }
}

GArray *
loom_net_copies_new (const LoomNet *net, const char *device, const LoomBinding *binding)
{
  guint n = loom_net_n_nodes (net);
  g_autofree gboolean *learns = g_new0 (gboolean, n + 1);
  g_autoptr (GHashTable) brought = NULL;
  Survey s = { .net = net, .device = device, .binding = binding, .learns = learns };

  s.copies = g_array_new (FALSE, FALSE, sizeof (LoomCopy));
  /* Nearly all graphs are on one device. */
  if (!net->has_devices)
    return s.copies;
  s.brought = brought = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  mark_learners (&s);
  for (guint i = 0; i < n; i++)
    find_learning (&s, i);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < loom_net_node (net, i)->n_inputs; k++)
      if (loom_net_node (net, i)->input[k].node != G_MAXUINT)
        note (&s, i, &loom_net_node (net, i)->input[k]);
  return s.copies;
}

double
loom_net_copy_bytes (const GArray *copies, gboolean training)
{
  double sum = 0;

  for (guint i = 0; i < copies->len; i++)
    {
      const LoomCopy *t = &g_array_index (copies, LoomCopy, i);

      if (!t->shared && t->bytes > 0)
        sum += training && t->gradient ? 2 * t->bytes : t->bytes;
    }
  return sum;
}
