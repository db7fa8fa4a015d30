/* Finds the weight that nodes cut into rows and join again.
 *
 * Exporters that do not optimise turn the order of gates of a recurrent layer by nodes: blocks of rows of PyTorch's
 * weight are sliced, concatenated in ONNX's order and given an axis for the directions. The import turns them back.
 * Each row of the result is followed through these nodes; if rows 0, 1, 2 … of one tensor come out, it is that
 * tensor, which the layer then reads itself, under its own name. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

#define MAX_DEPTH 64 /* nodes between a weight and its reader: a handful for each layer */

/* A row of a wire: its index in each dimension before the last `rest` ones, which nodes may not change. */
typedef struct
{
  const OnnxWire *wire;
  int n, rest;
  gint64 at[LOOM_SHAPE_MAX_RANK];
} Row;

static gint64
number_of (const OnnxNode *node, const char *name, gint64 def)
{
  const char *text = onnx_node_get (node, name);

  return text != NULL && *text ? g_ascii_strtoll (text, NULL, 10) : def;
}

/* The dimension in which a node works; −1 if those are several, or is one of the last. */
static int
dim_of (const OnnxNode *node, int rank, int n)
{
  const char *text = onnx_node_get (node, "dim");
  const gint64 dim = number_of (node, "dim", 0);
  const int positive = (int)(dim < 0 ? dim + rank : dim);

  return text != NULL && strchr (text, ',') != NULL ? -1 : positive < n ? positive : -1;
}

static gboolean
back_of_slice (Row *row, const OnnxNode *node)
{
  const LoomShape *from = &node->in[0]->type.shape;
  const int dim = dim_of (node, from->rank, row->n);
  const gint64 start = number_of (node, "start", 0);

  if (dim < 0 || !loom_dim_is_known (from->dim[dim]) || number_of (node, "step", 1) != 1)
    return FALSE;
  row->at[dim] += start < 0 ? MAX (start + from->dim[dim].coef, 0) : MIN (start, from->dim[dim].coef);
  return TRUE;
}

static gboolean
back_of_select (Row *row, const OnnxNode *node)
{
  const LoomShape *from = &node->in[0]->type.shape;
  const int dim = dim_of (node, from->rank, row->n + 1);
  const gint64 index = number_of (node, "index", 0);

  if (dim < 0 || row->n + 1 >= LOOM_SHAPE_MAX_RANK || (index < 0 && !loom_dim_is_known (from->dim[dim])))
    return FALSE;
  memmove (row->at + dim + 1, row->at + dim, sizeof *row->at * (gsize)(row->n - dim));
  row->at[dim] = index < 0 ? index + from->dim[dim].coef : index;
  row->n++;
  return TRUE;
}

static gboolean
back_of_unsqueeze (Row *row, const OnnxNode *node)
{
  const int dim = dim_of (node, row->n + row->rest, row->n);

  if (dim < 0 || row->n < 2)
    return FALSE;
  row->n--;
  memmove (row->at + dim, row->at + dim + 1, sizeof *row->at * (gsize)(row->n - dim));
  return TRUE;
}

/* FALSE at a node that is none of these; else the row is one of an operand. */
static gboolean
step_back (Row *row)
{
  const OnnxNode *node = row->wire->node;
  const char *op = node != NULL ? node->op->name : "";
  guint i = 0;

  if (g_str_equal (op, "concat"))
    {
      const int dim = dim_of (node, row->n + row->rest, row->n);

      for (; dim >= 0 && i < node->n_in; i++)
        {
          const LoomDim size = node->in[i]->type.shape.dim[dim];

          if (!loom_dim_is_known (size))
            return FALSE;
          if (row->at[dim] < size.coef)
            break;
          row->at[dim] -= size.coef;
        }
      if (dim < 0 || i == node->n_in)
        return FALSE;
    }
  else if (!(g_str_equal (op, "slice") && back_of_slice (row, node))
           && !(g_str_equal (op, "select") && back_of_select (row, node))
           && !(g_str_equal (op, "unsqueeze") && back_of_unsqueeze (row, node)))
    return FALSE;
  row->wire = node->in[i];
  return TRUE;
}

const OnnxWire *
onnx_rows_source (const OnnxWire *wire)
{
  const LoomShape *shape = &wire->type.shape;
  const OnnxWire *source = NULL;

  if (shape->rank < 1 || !loom_dim_is_known (shape->dim[0]))
    return wire;
  for (gint64 i = 0; i < shape->dim[0].coef; i++)
    {
      Row row = { .wire = wire, .n = 1, .rest = shape->rank - 1, .at = { i } };

      for (guint depth = 0; depth < MAX_DEPTH && step_back (&row);)
        depth++;
      if (row.n != 1 || row.at[0] != i || (source != NULL && row.wire != source))
        return wire;
      source = row.wire;
    }
  return source != NULL && loom_shape_equal (&source->type.shape, shape) ? source : wire;
}
