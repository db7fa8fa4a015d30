/* Finds the weights of an attention that a graph computes with operators; see the header. */
#include "ui/pins/pin-alignment.h"

static const LoomShape *
shape_of (const LoomNet *net, const LoomNetSource *source)
{
  const LoomNetNode *n = loom_net_node (net, source->node);

  return n->typed && source->output < n->n_outputs ? &n->output[source->output].shape : NULL;
}

static int
next_size (const LoomShape *shape, int d)
{
  while (d < shape->rank && loom_dim_is_known (shape->dim[d]) && shape->dim[d].coef == 1)
    d++;
  return d;
}

/* Sizes other than 1 are the same, in the same order. */
static gboolean
is_same_but_ones (const LoomShape *a, const LoomShape *b)
{
  int i = next_size (a, 0), k = next_size (b, 0);

  while (i < a->rank && k < b->rank && loom_dim_equal (a->dim[i], b->dim[k]))
    {
      i = next_size (a, i + 1);
      k = next_size (b, k + 1);
    }
  return i == a->rank && k == b->rank;
}

/* The same weights, with axes of one element more or less, or some of them zero: no function is computed of them. */
static gboolean
passes_on (const LoomNet *net, const LoomNetSource *source)
{
  const LoomNetNode *n = loom_net_node (net, source->node);
  const LoomShape *to = shape_of (net, source), *from;

  if (n->op == NULL || to == NULL || n->n_inputs != 1 || n->input[0].node == G_MAXUINT
      || loom_net_is_weight (net, &n->input[0]) || loom_op_count_weights (n->op) > 0
      || (n->op->category != LOOM_CATEGORY_SHAPE && n->op->category != LOOM_CATEGORY_LAYERS))
    return FALSE;
  from = shape_of (net, &n->input[0]);
  return from != NULL && is_same_but_ones (from, to);
}

/* Goes back to the node that computes a value. Wires of a finished net have no cycle, those of an unfinished one may.
 */
static LoomNetSource
computed_by (const LoomNet *net, LoomNetSource source)
{
  for (guint i = 0; i < loom_net_n_nodes (net) && passes_on (net, &source); i++)
    source = loom_net_node (net, source.node)->input[0];
  return source;
}

static int
rank_of (const LoomNet *net, const LoomNetSource *source)
{
  const LoomShape *shape = shape_of (net, source);

  return shape != NULL ? shape->rank : -1;
}

/* From the result of a scan into its body, if iterations are the last axis but one; FALSE: another node. */
static gboolean
enter_scan (const LoomNet *net, LoomNetSource *source)
{
  const LoomNetNode *n = loom_net_node (net, source->node);
  const LoomLoop *loop = loom_op_loop (n->op);
  const int rank = rank_of (net, source);
  guint first = 0;

  if (loop == NULL || loop->kind != LOOM_LOOP_SCAN || rank < 3
      || loom_infer_int (loom_net_infer (net, source->node), "axis") != rank - 2)
    return FALSE;
  while (first < n->n_inputs && !loom_net_is_from_body (net, source->node, first))
    first++;
  if (first + source->output >= n->n_inputs || n->input[first + source->output].node == G_MAXUINT)
    return FALSE;
  *source = n->input[first + source->output];
  return TRUE;
}

/* A product whose first factor is these weights. */
static gboolean
find_keys (const LoomNet *net, const LoomNetSource *weights, const LoomNetSource **keys)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);
      LoomNetSource factor;

      if (n->op == NULL || n->n_inputs < 2 || n->input[0].node == G_MAXUINT || n->input[1].node == G_MAXUINT
          || n->op->first != LOOM_FIRST_PRODUCT)
        continue;
      factor = computed_by (net, n->input[0]);
      if (factor.node != weights->node || factor.output != weights->output)
        continue;
      *keys = &n->input[1];
      return TRUE;
    }
  return FALSE;
}

gboolean
pin_alignment_find (const LoomNet *net, const LoomNetSource *output, PinAlignment *self)
{
  LoomNetSource source = computed_by (net, *output);
  const LoomOp *op;
  const gboolean keeps_rank = rank_of (net, &source) == rank_of (net, output);
  const guint outer = source.node;

  *self = (PinAlignment){ .scan = G_MAXUINT };
  if (keeps_rank && enter_scan (net, &source))
    {
      self->scan = outer;
      source = computed_by (net, source);
    }
  else if (!keeps_rank || rank_of (net, &source) < 3)
    return FALSE;
  op = loom_net_node (net, source.node)->op;
  if (op == NULL || op->output_kind != LOOM_OUTPUT_PROBABILITIES || source.output != 0)
    return FALSE;
  self->weights = source;
  return find_keys (net, &source, &self->keys);
}
