/* Opens the batch of a model that fixes it, so that it can be trained from a data set.
 *
 * PyTorch's exporter writes the sizes of its example, and shapes as numbers in which the batch N is a factor. The first
 * dimension of each input becomes the symbol B. A reshape to fixed sizes keeps the order of elements, so B takes the
 * position of the dimension before which as many elements are as were before B; constants are the same for every
 * sample. What mixes samples, or leaves another result than one with B as its first dimension, fails, and then the
 * model is read again with its own batch. */
#include "engine/onnx/onnx-private.h"

/* A larger first size is none of samples. */
#define MAX_BATCH 1000000

static const OnnxImport *
root_of (const OnnxImport *all)
{
  while (all->outer != NULL)
    all = all->outer;
  return all;
}

static gboolean
is_weight (const Onnx__GraphProto *graph, const char *name)
{
  for (gsize i = 0; i < graph->n_initializer; i++)
    if (g_strcmp0 (graph->initializer[i]->name, name) == 0)
      return TRUE;
  return FALSE;
}

gint64
onnx_batch_find (const Onnx__GraphProto *graph)
{
  gint64 batch = 0;

  for (gsize i = 0; i < graph->n_input; i++)
    {
      const Onnx__TypeProto *type = graph->input[i]->type;
      const Onnx__TensorShapeProto *shape
          = type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type != NULL
                ? type->tensor_type->shape
                : NULL;

      if (graph->input[i]->name == NULL || is_weight (graph, graph->input[i]->name))
        continue;
      if (shape == NULL || shape->n_dim == 0
          || shape->dim[0]->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
          || shape->dim[0]->dim_value < 1 || (batch != 0 && shape->dim[0]->dim_value != batch))
        return 0;
      batch = shape->dim[0]->dim_value;
    }
  return batch <= MAX_BATCH ? batch : 0;
}

/* The dimension that B is a factor of, which it is the outermost part of; −1: none, or several. */
static int
axis_of (const OnnxImport *root, const LoomShape *shape)
{
  int axis = -1;

  for (int i = 0; i < shape->rank; i++)
    {
      LoomDim rest;

      if (loom_dim_is_unknown (shape->dim[i]) || !loom_dim_div (shape->dim[i], root->batch, &rest))
        continue;
      if (axis >= 0)
        return -1;
      axis = i;
    }
  return axis;
}

static gboolean
has_batch (const OnnxImport *root, const OnnxWire *wire)
{
  return wire != NULL && axis_of (root, &wire->type.shape) >= 0;
}

/* The number of elements before B in its dimension: 17 if 17·B is 17 rows of B samples. */
static gint64
outer_of (const OnnxImport *root, const OnnxWire *wire)
{
  const gint64 *outer = g_hash_table_lookup (root->batch_outer, wire);

  return outer != NULL ? *outer : 1;
}

static void
set_outer (const OnnxImport *root, const OnnxWire *wire, gint64 outer)
{
  gint64 *value = g_new (gint64, 1);

  *value = outer;
  g_hash_table_insert (root->batch_outer, (gpointer)wire, value);
}

/* The position of B among fixed sizes, `before` elements from the first: *outer of them in its dimension. With a batch
 * of 1 several are possible. A size of 1 is the batch itself, at best where it was; a matrix has a row for each sample,
 * as of a linear layer; else B is in front of what follows, as heads of attention. −1: it is at none. */
static int
find_position (const OnnxImport *root, const LoomShape *to, gint64 before, int axis, gint64 *outer)
{
  int found = -1;

  *outer = 1;
  for (int pass = 0; pass < 3 && found < 0; pass++)
    {
      gint64 passed = 1;

      for (int i = 0; i < to->rank && passed <= before && passed > 0; i++)
        {
          const gint64 size = to->dim[i].coef, ahead = before / passed;
          const gboolean divides = before % passed == 0;
          gint64 samples;

          if (__builtin_mul_overflow (passed, size, &passed))
            passed = G_MAXINT64;
          if (!divides || __builtin_mul_overflow (ahead, root->fixed_batch, &samples) || size % samples != 0
              || (pass == 0 && (ahead != 1 || size != root->fixed_batch)) || (pass == 1 && (to->rank != 2 || i > 0))
              || (found >= 0 && i > axis))
            continue;
          found = i;
          *outer = ahead;
          if (pass > 0 && ahead == 1)
            break;
        }
    }
  return found;
}

gboolean
onnx_batch_place (OnnxCtx *c, const OnnxWire *x, LoomShape *to, int rest)
{
  const OnnxImport *root = root_of (c->all);
  const LoomShape *from = &x->type.shape;
  const int axis = root->fixed_batch > 0 ? axis_of (root, from) : -1;
  gint64 before = axis >= 0 ? outer_of (root, x) : 1, total = 1, others = 1, outer;
  int found;

  if (axis < 0 || c->failed)
    return FALSE;
  for (int i = 0; i < to->rank; i++)
    if (i != rest && !loom_dim_is_known (to->dim[i]))
      return FALSE;
  for (int i = 0; i < from->rank; i++)
    {
      if (i != axis && !loom_dim_is_known (from->dim[i]))
        return FALSE;
      if ((i < axis && __builtin_mul_overflow (before, from->dim[i].coef, &before))
          || __builtin_mul_overflow (total, from->dim[i].coef, &total))
        return FALSE;
    }
  if (__builtin_mul_overflow (total, root->fixed_batch, &total))
    return FALSE;
  for (int i = 0; i < to->rank; i++)
    if (i != rest && __builtin_mul_overflow (others, to->dim[i].coef, &others))
      return FALSE;
  if (rest >= 0 && (others == 0 || total % others != 0))
    return FALSE;
  if (rest >= 0)
    to->dim[rest] = loom_dim (total / others);
  found = find_position (root, to, before, axis, &outer);
  if (found < 0)
    {
      onnx_fail (c, "it mixes the samples of a batch.");
      return TRUE;
    }
  to->dim[found] = loom_dim_mul (loom_dim (to->dim[found].coef / root->fixed_batch), root->batch);
  c->batch_outer = outer;
  return TRUE;
}

void
onnx_batch_note_merged (OnnxCtx *c, const OnnxWire *x, gint64 axis)
{
  const OnnxImport *root = root_of (c->all);
  const int at = root->fixed_batch > 0 ? axis_of (root, &x->type.shape) : -1;

  c->batch_outer = at >= 0 ? outer_of (root, x) : 0;
  for (int i = at < axis ? 0 : (int)axis; i < at; i++)
    {
      if (!loom_dim_is_known (x->type.shape.dim[i])
          || __builtin_mul_overflow (c->batch_outer, x->type.shape.dim[i].coef, &c->batch_outer))
        onnx_fail (c, "it mixes the samples of a batch.");
    }
}

void
onnx_batch_spread (OnnxCtx *c, guint n, const OnnxWire **in, int axis)
{
  const OnnxImport *root = root_of (c->all);
  const OnnxWire *with = NULL;
  int at;

  for (guint i = 0; root->fixed_batch == 1 && i < n && with == NULL; i++)
    with = has_batch (root, in[i]) ? in[i] : NULL;
  if (with == NULL || c->failed)
    return;
  at = axis_of (root, &with->type.shape);
  for (guint i = 0; i < n && at != axis; i++)
    {
      LoomShape shape = in[i]->type.shape;

      if (has_batch (root, in[i]) || shape.rank <= at || !loom_dim_equal (shape.dim[at], loom_dim (1)))
        continue;
      shape.dim[at] = with->type.shape.dim[at];
      in[i] = onnx_emit (c, "expand", ONNX_IN (in[i]), "shape", onnx_dims (c, &shape), NULL);
    }
}

void
onnx_batch_check_node (OnnxCtx *c, const OnnxNode *node)
{
  const OnnxImport *root = root_of (c->all);
  gboolean reads = FALSE, keeps = FALSE;
  gint64 outer = c->batch_outer;

  c->batch_outer = 0;
  if (root->fixed_batch == 0 || c->failed)
    return;
  for (guint i = 0; i < node->n_in; i++)
    if (has_batch (root, node->in[i]))
      {
        outer = outer == 0 ? outer_of (root, node->in[i]) : outer;
        reads = TRUE;
      }
  for (guint i = 0; i < node->n_out; i++)
    if (has_batch (root, &node->out[i]))
      {
        if (outer > 1)
          set_outer (root, &node->out[i], outer);
        keeps = TRUE;
      }
  if (reads && !keeps)
    onnx_fail (c, "it mixes the samples of a batch.");
}

gboolean
onnx_batch_is_open (const OnnxImport *all, const GPtrArray *outputs)
{
  for (guint i = 0; i < outputs->len; i++)
    {
      const LoomOnnxPort *port = outputs->pdata[i];

      if (axis_of (all, &port->type.shape) != 0)
        return FALSE;
    }
  return TRUE;
}
