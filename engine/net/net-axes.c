/* Infers the names of tensors' dimensions.
 *
 * A layer over images fixes the names of its input's and output's dimensions (LoomPortSpec.axes), a symbol is its own
 * name, and an operator that keeps a shape keeps its names. Names are propagated forward along the wires, then backward
 * from such layers: the input of a convolution is an image, though its node does not name its axes. */
#include "engine/net/loom-axes.h"

#include <string.h>

#include "engine/net/net-private.h"

static LoomNetAxes *
axes_of (LoomNetAxes *const *all, const LoomNetSource *source)
{
  return source->node != G_MAXUINT ? all[source->node] : NULL;
}

/* The name of a dimension that is a symbol; a product with a symbol has none. */
static char
symbol_name (LoomDim dim)
{
  return dim.coef == 1 && dim.symbol[0] != '\0' && dim.symbol[1] == '\0' ? dim.symbol[0] : '\0';
}

/* Names the unnamed dimensions; a dimension with a symbol is named after the symbol. */
static void
name_all (LoomNetAxes *axes, const LoomShape *shape, const char *letters)
{
  if (letters == NULL || strlen (letters) != (gsize)shape->rank)
    return;
  for (int d = 0; d < MIN (shape->rank, LOOM_SHAPE_MAX_RANK); d++)
    if (axes->name[d] == '\0')
      axes->name[d] = letters[d];
}

/* Elementwise operators, layers and norms keep axes; operators that permute, slice or multiply tensors change the
 * meaning of dimensions, even if sizes are equal. */
static gboolean
keeps_axes (const LoomNetNode *n)
{
  return n->op != NULL
         && (n->op->category == LOOM_CATEGORY_LAYERS || n->op->category == LOOM_CATEGORY_ACTIVATIONS
             || n->op->scalar != 0 || n->op->role != LOOM_ROLE_NONE);
}

static void
carry (const LoomType *from, const LoomNetAxes *names, const LoomType *to, LoomNetAxes *axes)
{
  if (from->shape.rank != to->shape.rank)
    return;
  for (int d = 0; d < to->shape.rank; d++)
    if (axes->name[d] == '\0' && names->name[d] != '\0' && loom_dim_equal (from->shape.dim[d], to->shape.dim[d]))
      axes->name[d] = names->name[d];
}

/* The type and names of an input; NULL if it is not wired, not typed, or a weight. */
static const LoomType *
input_type (const LoomNet *net, LoomNetAxes *const *all, const LoomNetNode *n, guint i, LoomNetAxes **axes)
{
  const LoomNetSource *source = &n->input[i];
  const LoomNetNode *from = source->node != G_MAXUINT ? loom_net_node (net, source->node) : NULL;

  if (from == NULL || !from->typed || source->output >= from->n_outputs)
    return NULL;
  *axes = axes_of (all, source) + source->output;
  return &from->output[source->output];
}

static gboolean
is_variadic (const LoomNetNode *n)
{
  return n->input_spec != NULL && n->input_spec[0].name != NULL && (n->input_spec[0].flags & LOOM_PORT_VARIADIC) != 0;
}

static void
name_outputs (const LoomNet *net, LoomNetAxes *const *all, guint i)
{
  const LoomNetNode *n = loom_net_node (net, i);
  LoomNetAxes *own = all[i], *names;
  const char *fixed = !is_variadic (n) && n->n_inputs > 0 ? n->input_spec[0].axes : NULL;

  for (guint o = 0; n->typed && o < n->n_outputs; o++)
    {
      for (int d = 0; d < n->output[o].shape.rank; d++)
        own[o].name[d] = symbol_name (n->output[o].shape.dim[d]);
      name_all (&own[o], &n->output[o].shape, fixed);
      /* By definition, data sets of images are [B, C, H, W]. */
      if (n->op->role == LOOM_ROLE_DATASET && n->output[o].shape.rank == 4)
        name_all (&own[o], &n->output[o].shape, "BCHW");
      for (guint k = 0; keeps_axes (n) && k < n->n_inputs; k++)
        {
          const LoomType *from = input_type (net, all, n, k, &names);

          if (from != NULL)
            carry (from, names, &n->output[o], &own[o]);
        }
    }
}

/* Node i names the outputs of a source; of all its sources if that is G_MAXUINT. */
static void
name_sources (const LoomNet *net, LoomNetAxes *const *all, guint i, guint source)
{
  const LoomNetNode *n = loom_net_node (net, i);
  const LoomNetAxes *own = all[i];
  LoomNetAxes *names;

  for (guint k = 0; k < n->n_inputs; k++)
    {
      const LoomType *from
          = source == G_MAXUINT || n->input[k].node == source ? input_type (net, all, n, k, &names) : NULL;

      if (from == NULL)
        continue;
      if (!is_variadic (n))
        name_all (names, &from->shape, n->input_spec[k].axes);
      for (guint o = 0; n->typed && keeps_axes (n) && o < n->n_outputs; o++)
        carry (&n->output[o], &own[o], from, names);
    }
}

LoomNetAxes **
loom_net_name_axes (const LoomNet *net)
{
  const guint n = loom_net_n_nodes (net);
  gsize n_outputs = 0;
  LoomNetAxes **all, *axes;

  for (guint i = 0; i < n; i++)
    n_outputs += loom_net_node (net, i)->n_outputs;
  all = g_malloc0 ((n + 1) * sizeof *all + n_outputs * sizeof *axes);
  axes = (LoomNetAxes *)(all + n + 1);
  for (guint i = 0; i < n; i++)
    {
      all[i] = axes;
      axes += loom_net_node (net, i)->n_outputs;
    }
  for (guint i = 0; i < n; i++)
    name_outputs (net, all, i);
  for (guint i = n; i-- > 0;)
    name_sources (net, all, i, G_MAXUINT);
  return all;
}

/* ---- names that are kept ---------------------------------------------------- */

typedef struct
{
  LoomNet *net;
  guint64 since;              /* the names are those of the net with this number; 0: there are none */
  LoomNetAxes **first, **all; /* by node: names before and after they are propagated backward */
  gboolean *is_changed;       /* by node: names differ from those before */
  guint *reader, *next;       /* readers of each node, the last first: a node, or G_MAXUINT */
  GArray *before;             /* LoomNetAxes: names of one node */
} Renaming;

/* Finds the names before. */
static void
begin_renaming (Renaming *r, guint i)
{
  NetNode *n = r->net->nodes->pdata[i];
  const guint n_outputs = n->node.n_outputs;

  r->is_changed[i] = MAX (n->since, r->net->built) > r->since;
  if (n->axes == NULL || n->n_axes != n_outputs)
    {
      n->axes = loom_net_alloc (&r->net->arena, sizeof *n->axes * (2 * (gsize)n_outputs + 1));
      n->n_axes = n_outputs;
      r->is_changed[i] = TRUE;
    }
  r->all[i] = n->axes;
  r->first[i] = n->axes + n_outputs;
}

static void
note_names (Renaming *r, const LoomNetAxes *names, guint n)
{
  g_array_set_size (r->before, 0);
  g_array_append_vals (r->before, names, n);
}

static gboolean
is_other (const Renaming *r, const LoomNetAxes *names, guint n)
{
  return n > 0 && memcmp (r->before->data, names, n * sizeof *names) != 0;
}

/* Names forward: the outputs of a node depend on its sources. */
static void
rename_forward (Renaming *r, guint i)
{
  const NetNode *n = r->net->nodes->pdata[i];
  const guint n_outputs = n->node.n_outputs;
  gboolean is_due = r->is_changed[i];

  for (guint k = 0; !is_due && k < n->node.n_inputs; k++)
    is_due = n->node.input[k].node != G_MAXUINT && r->is_changed[n->node.input[k].node];
  if (!is_due)
    return;
  note_names (r, r->first[i], n_outputs);
  memset (r->first[i], 0, n_outputs * sizeof *n->axes);
  name_outputs (r->net, r->first, i);
  r->is_changed[i] = r->is_changed[i] || is_other (r, r->first[i], n_outputs);
}

/* Lists the readers of all nodes. */
static void
list_readers (Renaming *r)
{
  const guint n = r->net->nodes->len;
  guint n_wires = 0;

  for (guint i = 0; i < n; i++)
    n_wires += loom_net_node (r->net, i)->n_inputs;
  r->reader = g_new (guint, 2 * (gsize)n_wires + 1);
  r->next = g_new (guint, n + 1);
  for (guint i = 0; i < n; i++)
    r->next[i] = G_MAXUINT;
  for (guint i = 0, w = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (r->net, i);

      for (guint k = node->n_inputs; k-- > 0; w++)
        if (node->input[k].node != G_MAXUINT)
          {
            r->reader[2 * w] = i;
            r->reader[2 * w + 1] = r->next[node->input[k].node];
            r->next[node->input[k].node] = w;
          }
    }
}

/* Names backward: the outputs of a node depend on its readers, the last of which names first. */
static void
rename_backward (Renaming *r, guint i)
{
  NetNode *n = r->net->nodes->pdata[i];
  const guint n_outputs = n->node.n_outputs;
  gboolean is_due = r->is_changed[i] || r->net->wires_since > r->since;

  for (guint w = r->next[i]; !is_due && w != G_MAXUINT; w = r->reader[2 * w + 1])
    is_due = r->is_changed[r->reader[2 * w]];
  if (!is_due)
    return;
  note_names (r, r->all[i], n_outputs);
  memcpy (r->all[i], r->first[i], n_outputs * sizeof *n->axes);
  for (guint w = r->next[i], last = G_MAXUINT; w != G_MAXUINT; w = r->reader[2 * w + 1])
    if (r->reader[2 * w] != last)
      {
        last = r->reader[2 * w];
        name_sources (r->net, r->all, last, i);
      }
  if (r->is_changed[i] || is_other (r, r->all[i], n_outputs))
    n->axes_since = r->net->number;
  r->is_changed[i] = r->is_changed[i] || n->axes_since == r->net->number;
}

void
loom_net_keep_axes (LoomNet *net)
{
  const guint n = net->nodes->len;
  Renaming r = { .net = net, .since = net->axes_number };
  g_autofree LoomNetAxes **first = NULL, **all = NULL;
  g_autofree gboolean *is_changed = NULL;
  g_autofree guint *reader = NULL, *next = NULL;
  g_autoptr (GArray) before = NULL;

  if (net->axes_number == net->number)
    return;
  r.first = first = g_new (LoomNetAxes *, n + 1);
  r.all = all = g_new (LoomNetAxes *, n + 1);
  r.is_changed = is_changed = g_new0 (gboolean, n + 1);
  r.before = before = g_array_new (FALSE, FALSE, sizeof (LoomNetAxes));
  for (guint i = 0; i < n; i++)
    begin_renaming (&r, i);
  for (guint i = 0; i < n; i++)
    rename_forward (&r, i);
  net->axes_number = net->number;
  /* Bodies of loops read nodes that come later. */
  if (net->loops->len > 0)
    {
      for (guint i = 0; i < n; i++)
        memcpy (all[i], first[i], loom_net_node (net, i)->n_outputs * sizeof *all[i]);
      for (guint i = n; i-- > 0;)
        name_sources (net, all, i, G_MAXUINT);
      return;
    }
  list_readers (&r);
  reader = r.reader;
  next = r.next;
  for (guint i = n; i-- > 0;)
    rename_backward (&r, i);
}

const LoomNetAxes *
loom_net_kept_axes (const LoomNet *net, guint node)
{
  return net->axes_number == net->number ? ((const NetNode *)net->nodes->pdata[node])->axes : NULL;
}

guint64
loom_net_axes_since (const LoomNet *net, guint node)
{
  return MAX (((const NetNode *)net->nodes->pdata[node])->axes_since, net->built);
}
