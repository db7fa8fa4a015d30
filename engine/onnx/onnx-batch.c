/* Opens the batch of a model that fixes it, so that it can be trained from a data set.
 *
 * PyTorch's exporter writes the sizes of its example, and shapes as numbers in which the batch N is a factor. The first
 * dimension of each input becomes the symbol B. A reshape to fixed sizes keeps the order of elements, so B takes the
 * position of the dimension before which as many elements are as were before B; constants are the same for every
 * sample. Operators must keep samples apart, each by the rule of a table: one that works along B, or is not in the
 * table, fails, as does a result without B as its first dimension, and then the model is read again with its own
 * batch. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

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

/* The position of B among fixed sizes, `before` elements from the first. With a batch of 1 several are possible. A size
 * of 1 is the batch itself, at best where it was; a matrix has a row for each sample, as of a linear layer; else B is
 * in front of what follows, as heads of attention. −1: it is at none. */
static int
find_position (const OnnxImport *root, const LoomShape *to, gint64 before, int axis)
{
  int found = -1;

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
          if (pass > 0 && ahead == 1)
            break;
        }
    }
  return found;
}

gboolean
onnx_batch_is_size (OnnxCtx *c, LoomDim dim, gint64 size)
{
  const OnnxImport *root = root_of (c->all);
  LoomDim rest;
  gint64 samples;

  return root->fixed_batch > 0 && loom_dim_div (dim, root->batch, &rest) && loom_dim_is_known (rest)
         && !__builtin_mul_overflow (rest.coef, root->fixed_batch, &samples) && samples == size;
}

gboolean
onnx_batch_place (OnnxCtx *c, const OnnxWire *x, LoomShape *to, int rest)
{
  const OnnxImport *root = root_of (c->all);
  const LoomShape *from = &x->type.shape;
  const int axis = root->fixed_batch > 0 ? axis_of (root, from) : -1;
  gint64 before = axis >= 0 ? outer_of (root, x) : 1, total = 1, others = 1;
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
  found = find_position (root, to, before, axis);
  if (found < 0)
    {
      onnx_fail (c, "it mixes the samples of a batch.");
      return TRUE;
    }
  to->dim[found] = loom_dim_mul (loom_dim (to->dim[found].coef / root->fixed_batch), root->batch);
  return TRUE;
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

/* ---- what keeps samples apart ------------------------------------------------ */

/* An input that has the batch, of a node whose output has it too. */
typedef struct
{
  const OnnxNode *node;
  guint i;
  const LoomShape *shape, *result;
  int axis, to; /* B's in both */
} Read;

/* TRUE if the attribute names B's axis, or all. */
static gboolean
names_axis (const Read *r, const char *attribute)
{
  const char *text = onnx_node_get (r->node, attribute);
  g_auto (GStrv) part = g_strsplit (text != NULL ? text : "", ",", -1);
  gboolean names = part[0] == NULL;

  for (guint i = 0; part[i] != NULL; i++)
    {
      const gint64 dim = g_ascii_strtoll (part[i], NULL, 10);

      names = names || (dim < 0 ? dim + r->shape->rank : dim) == r->axis;
    }
  return names;
}

/* Each element is computed from those at its place, where operands are broadcast. */
static gboolean
apart_by_element (const Read *r)
{
  return r->shape->rank - r->axis == r->result->rank - r->to
         && loom_dim_equal (r->shape->dim[r->axis], r->result->dim[r->to]);
}

/* Squeezing B is along it as well: a batch of 1 would be removed. */
static gboolean
apart_along_dim (const Read *r)
{
  return !names_axis (r, "dim");
}

static gboolean
apart_along_dims (const Read *r)
{
  return !names_axis (r, "dims");
}

/* An index has the same number of dimensions, and reads that many rows only. */
static gboolean
apart_by_index (const Read *r)
{
  for (guint i = 0; i < r->node->n_in; i++)
    if (r->node->in[i] != NULL
        && (r->node->in[i]->type.shape.rank != r->shape->rank
            || !loom_dim_equal (r->node->in[i]->type.shape.dim[r->axis], r->shape->dim[r->axis])))
      return FALSE;
  return !names_axis (r, "dim");
}

/* Indices of samples select from a table that all share. */
static gboolean
apart_by_table (const Read *r)
{
  const gboolean is_index = r->i == (g_str_equal (r->node->op->name, "embedding") ? 0 : 1);

  return is_index || (r->i == 0 && apart_along_dim (r));
}

/* Reshapes are checked by the number of elements before B. */
static gboolean
apart_by_order (const Read *r)
{
  return TRUE;
}

static gboolean
apart_but_last (const Read *r)
{
  return r->i == 0 && r->axis < r->shape->rank - 1;
}

static gboolean
apart_but_two (const Read *r)
{
  return r->axis < r->shape->rank - 2;
}

static gboolean
apart_by_product (const Read *r)
{
  return r->axis != (r->i == 0 ? r->shape->rank - 1 : MAX (r->shape->rank - 2, 0));
}

static gboolean
apart_by_features (const Read *r)
{
  g_auto (GStrv) sizes = g_strsplit (onnx_node_get (r->node, "normalized_shape"), ",", -1);

  return r->i == 0 && r->axis < r->shape->rank - MAX ((int)g_strv_length (sizes), 1);
}

/* Layers of images and signals have the batch first; conv2d takes [B, C, H, W]. */
static gboolean
apart_by_image (const Read *r)
{
  const char *name = r->node->op->name;
  const gsize length = strlen (name);
  const int n
      = length > 2 && name[length - 1] == 'd' && g_ascii_isdigit (name[length - 2]) ? name[length - 2] - '0' : 0;

  return r->axis == 0 && (r->i == 0 || g_str_equal (name, "grid_sample"))
         && (n == 0 || r->shape->rank == n + 2 || (r->shape->rank == 2 && g_str_equal (name, "batch_norm1d")));
}

/* Padding is listed from the last dimension, two numbers for each. */
static gboolean
apart_by_pad (const Read *r)
{
  g_auto (GStrv) pad = g_strsplit (onnx_node_get (r->node, "pad"), ",", -1);
  const guint at = 2 * (guint)(r->shape->rank - 1 - r->axis);

  return g_strv_length (pad) <= at || (g_str_equal (pad[at], "0") && g_strcmp0 (pad[at + 1], "0") == 0);
}

/* The letter of B is in the result, at B. */
static gboolean
apart_by_letters (const Read *r)
{
  const char *equation = onnx_node_get (r->node, "equation"), *arrow = strstr (equation, "->");

  if (arrow == NULL || strpbrk (equation, ". ") != NULL)
    return FALSE;
  g_autofree char *left = g_strndup (equation, (gsize)(arrow - equation));
  g_auto (GStrv) term = g_strsplit (left, ",", -1);

  return r->i < g_strv_length (term) && (int)strlen (term[r->i]) == r->shape->rank
         && (int)strlen (arrow + 2) == r->result->rank && term[r->i][r->axis] == arrow[2 + r->to];
}

/* A sequence is [T, B, D], or [B, T, D] with batch_first; a state [layers, B, D]. */
static gboolean
apart_by_step (const Read *r)
{
  const gboolean first = g_strcmp0 (onnx_node_get (r->node, "batch_first"), "true") == 0;

  return r->shape->rank == 1 || (r->shape->rank == 3 && r->axis == (r->i == 0 && first ? 0 : 1));
}

/* Nodes of a loop's body have been checked; a sequence is cut along an axis. */
static gboolean
apart_by_loop (const Read *r)
{
  g_auto (GStrv) sequence = g_strsplit (onnx_node_get (r->node, "sequence"), ",", -1);

  return !g_strv_contains ((const char *const *)sequence, r->node->ports[r->i]) || !names_axis (r, "axis");
}

static const struct
{
  gboolean (*apart) (const Read *r);
  const char *const ops[90];
} rules[] = {
  { apart_by_element,
    { "abs",      "acos",        "acosh",       "add",         "asin",        "asinh",       "atan",
      "atan2",    "atanh",       "bernoulli",   "cast",        "ceil",        "celu",        "clamp",
      "cos",      "cosh",        "detach",      "div",         "dropout",     "elu",         "eq",
      "erf",      "exp",         "exp2",        "expand",      "expm1",       "floor",       "fmod",
      "ge",       "gelu",        "gt",          "hardshrink",  "hardsigmoid", "hardswish",   "hardtanh",
      "identity", "isinf",       "isnan",       "le",          "leaky_relu",  "log",         "log10",
      "log1p",    "log2",        "logical_and", "logical_not", "logical_or",  "logical_xor", "logsigmoid",
      "lt",       "masked_fill", "maximum",     "minimum",     "mish",        "mul",         "ne",
      "neg",      "output",      "pow",         "rand",        "randn",       "prelu",       "reciprocal",
      "relu",     "relu6",       "remainder",   "round",       "rsqrt",       "selu",        "sigmoid",
      "sign",     "silu",        "sin",         "sinh",        "softplus",    "softshrink",  "softsign",
      "sqrt",     "square",      "sub",         "tan",         "tanh",        "tanhshrink",  "threshold",
      "tile",     "trunc",       "where" } },
  { apart_along_dim,
    { "all",    "amax",   "amin",           "any",     "argmax",  "argmin", "argsort",     "chunk",
      "concat", "cummax", "cummin",         "cumprod", "cumsum",  "glu",    "log_softmax", "logsumexp",
      "max",    "mean",   "median",         "min",     "narrow",  "norm",   "prod",        "repeat_interleave",
      "roll",   "select", "slice",          "softmax", "softmin", "sort",   "split",       "squeeze",
      "std",    "sum",    "take_along_dim", "topk",    "unbind",  "var" } },
  { apart_along_dims, { "flip" } },
  { apart_by_index, { "gather", "scatter" } },
  { apart_by_table, { "embedding", "index_select" } },
  { apart_by_order,
    { "flatten", "movedim", "one_hot", "permute", "reshape", "stack", "transpose", "unflatten", "unsqueeze" } },
  { apart_but_last, { "linear", "multinomial" } },
  { apart_but_two, { "det", "scaled_dot_product_attention", "tril", "triu" } },
  { apart_by_product, { "bmm", "matmul" } },
  { apart_by_features, { "layer_norm", "rms_norm" } },
  { apart_by_image,
    { "adaptive_avg_pool1d",
      "adaptive_avg_pool2d",
      "adaptive_avg_pool3d",
      "affine_grid",
      "avg_pool1d",
      "avg_pool2d",
      "avg_pool3d",
      "batch_norm1d",
      "batch_norm2d",
      "batch_norm3d",
      "conv1d",
      "conv2d",
      "conv3d",
      "conv_transpose1d",
      "conv_transpose2d",
      "conv_transpose3d",
      "fold",
      "grid_sample",
      "group_norm",
      "instance_norm1d",
      "instance_norm2d",
      "instance_norm3d",
      "local_response_norm",
      "lp_pool1d",
      "lp_pool2d",
      "lp_pool3d",
      "max_pool1d",
      "max_pool2d",
      "max_pool3d",
      "pixel_shuffle",
      "pixel_unshuffle",
      "unfold",
      "upsample" } },
  { apart_by_pad, { "pad" } },
  { apart_by_letters, { "einsum" } },
  { apart_by_step, { "gru", "lstm", "rnn" } },
  { apart_by_loop, { "scan" } },
};

static gboolean
is_apart (const Read *r)
{
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (g_strv_contains (rules[i].ops, r->node->op->name))
      return rules[i].apart (r);
  return FALSE;
}

/* The elements before B in the dimension of a reshaped tensor, before which as many are as were before B; 0: B is not
 * there. */
static gint64
outer_after (const LoomShape *from, int axis, gint64 outer, const LoomShape *to, int at)
{
  LoomDim before = loom_dim (outer), passed = loom_dim (1), rest;

  for (int i = 0; i < axis; i++)
    before = loom_dim_mul (before, from->dim[i]);
  for (int i = 0; i < at; i++)
    passed = loom_dim_mul (passed, to->dim[i]);
  if (!loom_dim_div (before, passed, &rest) || !loom_dim_is_known (rest) || rest.coef < 1
      || to->dim[at].coef % rest.coef != 0)
    return 0;
  return rest.coef;
}

void
onnx_batch_check_node (OnnxCtx *c, const OnnxNode *node)
{
  static const char *const reshapes[] = { "flatten", "reshape", "squeeze", "unflatten", "unsqueeze", NULL };
  const OnnxImport *root = root_of (c->all);
  const OnnxWire *y = NULL;
  gint64 outer = 0;
  gboolean apart = TRUE;

  if (root->fixed_batch == 0 || c->failed)
    return;
  for (guint i = 0; i < node->n_out && y == NULL; i++)
    y = has_batch (root, &node->out[i]) ? &node->out[i] : NULL;
  for (guint i = 0; i < node->n_in && apart; i++)
    if (has_batch (root, node->in[i]))
      {
        const LoomShape *shape = &node->in[i]->type.shape, *result = y != NULL ? &y->type.shape : NULL;
        const Read r = { node, i, shape, result, axis_of (root, shape), y != NULL ? axis_of (root, result) : -1 };
        gint64 own = outer_of (root, node->in[i]);

        if (y != NULL && g_strv_contains (reshapes, node->op->name))
          own = outer_after (shape, r.axis, own, result, r.to);
        /* Rows of a result are those of the first sample, then of the next. */
        apart = own > 0 && (outer == 0 || own == outer) && (own == 1 || node->op->role != LOOM_ROLE_OUTPUT)
                && (y != NULL ? is_apart (&r) : g_str_equal (node->op->name, "arange") && apart_along_dim (&r));
        outer = own;
      }
  if (!apart)
    onnx_fail (c, "it mixes the samples of a batch.");
  for (guint i = 0; i < node->n_out && outer > 1; i++)
    if (has_batch (root, &node->out[i]))
      set_outer (root, &node->out[i], outer);
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
