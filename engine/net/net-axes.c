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

static void
name_inputs (const LoomNet *net, LoomNetAxes *const *all, guint i)
{
  const LoomNetNode *n = loom_net_node (net, i);
  const LoomNetAxes *own = all[i];
  LoomNetAxes *names;

  for (guint k = 0; k < n->n_inputs; k++)
    {
      const LoomType *from = input_type (net, all, n, k, &names);

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
    name_inputs (net, all, i);
  return all;
}
