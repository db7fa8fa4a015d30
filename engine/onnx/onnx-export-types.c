/* Infers, for viewers, the types of results that no port and no primitive determines: of operators whose result has the
 * shape of an operand, or the broadcast shape. Others stay untyped. */
#include "engine/onnx/onnx-export-private.h"

/* clang-format off */
static const char *const like_first[] = {
  "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Clip", "Cos", "Cosh", "CumSum", "Elu", "Erf",
  "Exp", "Floor", "Identity", "Log", "LogSoftmax", "Neg", "Not", "Reciprocal", "Relu", "Round", "ScatterElements",
  "ScatterND", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Sqrt", "Tan", "Tanh", NULL
};
static const char *const broadcasts[]
    = { "Add", "And", "Div", "Max", "Min", "Mod", "Mul", "Or", "Pow", "Sub", "Where", NULL };
static const char *const compares[] = { "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", NULL };
/* clang-format on */

static gboolean
infer_broadcast (const OnnxOutNode *node, LoomType *type)
{
  LoomType each;

  for (guint i = 0; i < node->in->len; i++)
    {
      if (node->in->pdata[i] == NULL || !onnx_var_get_type (node->in->pdata[i], &each))
        return FALSE;
      if (i > 0 && !loom_shape_broadcast (&type->shape, &each.shape, &each.shape))
        return FALSE;
      *type = each; /* Where also has the type of its last operand */
    }
  if (g_strv_contains (compares, node->op))
    type->dtype = LOOM_BOOL;
  return node->in->len > 0;
}

/* [… , n, k] · [… , k, m] */
static gboolean
infer_product (const OnnxOutNode *node, LoomType *type)
{
  LoomType a, b;

  if (!onnx_var_get_type (node->in->pdata[0], &a) || !onnx_var_get_type (node->in->pdata[1], &b) || a.shape.rank < 2
      || b.shape.rank < 2)
    return FALSE;
  const LoomDim rows = a.shape.dim[a.shape.rank - 2], columns = b.shape.dim[b.shape.rank - 1];
  a.shape.rank -= 2;
  b.shape.rank -= 2;
  type->dtype = a.dtype;
  if (!loom_shape_broadcast (&a.shape, &b.shape, &type->shape))
    return FALSE;
  type->shape.dim[type->shape.rank++] = rows;
  type->shape.dim[type->shape.rank++] = columns;
  return TRUE;
}

static gboolean
infer_transpose (const OnnxOutNode *node, LoomType *type)
{
  const Onnx__AttributeProto *perm = node->attributes->len > 0 ? node->attributes->pdata[0] : NULL;
  LoomType from;

  if (perm == NULL || !onnx_var_get_type (node->in->pdata[0], &from) || perm->n_ints != (gsize)from.shape.rank)
    return FALSE;
  *type = from;
  for (int i = 0; i < from.shape.rank; i++)
    type->shape.dim[i] = from.shape.dim[perm->ints[i]];
  return TRUE;
}

/* Unsqueeze and Squeeze, if the axes are numbers of the model. */
static gboolean
infer_axes (const OnnxOutNode *node, gboolean adds, LoomType *type)
{
  const OnnxVar *axes = node->in->len > 1 ? node->in->pdata[1] : NULL;
  LoomType from;
  gboolean is_axis[LOOM_SHAPE_MAX_RANK] = { FALSE };
  int rank, k = 0;

  if (axes == NULL || axes->tensor == NULL || !onnx_var_get_type (node->in->pdata[0], &from))
    return FALSE;
  rank = from.shape.rank + (adds ? (int)axes->tensor->count : 0);
  if (rank > LOOM_SHAPE_MAX_RANK)
    return FALSE;
  for (gint64 i = 0; i < axes->tensor->count; i++)
    {
      gint64 axis = ((const gint64 *)axes->tensor->data)[i];

      is_axis[axis < 0 ? axis + rank : axis] = TRUE;
    }
  *type = (LoomType){ .dtype = from.dtype };
  for (int i = 0; i < rank; i++)
    if (adds)
      type->shape.dim[type->shape.rank++] = is_axis[i] ? loom_dim (1) : from.shape.dim[k++];
    else if (!is_axis[i])
      type->shape.dim[type->shape.rank++] = from.shape.dim[i];
  return TRUE;
}

static gboolean
infer (const OnnxOutNode *node, LoomType *type)
{
  if (node->in->len == 0 || node->in->pdata[0] == NULL)
    return FALSE;
  return g_strv_contains (like_first, node->op) ? onnx_var_get_type (node->in->pdata[0], type)
         : g_strv_contains (broadcasts, node->op) || g_strv_contains (compares, node->op) ? infer_broadcast (node, type)
         : g_str_equal (node->op, "MatMul")                                               ? infer_product (node, type)
         : g_str_equal (node->op, "Transpose")                                            ? infer_transpose (node, type)
         : g_str_equal (node->op, "Unsqueeze") ? infer_axes (node, TRUE, type)
         : g_str_equal (node->op, "Squeeze")   ? infer_axes (node, FALSE, type)
                                               : FALSE;
}

void
onnx_export_infer (GPtrArray *nodes)
{
  for (guint i = 0; i < nodes->len; i++)
    {
      const OnnxOutNode *node = nodes->pdata[i];
      LoomType type = { 0 };

      if (node->out->len > 0 && infer (node, &type))
        onnx_var_set_type (node->out->pdata[0], &type);
      for (guint k = 0; k < node->bodies->len; k++)
        onnx_export_infer (((const OnnxBody *)node->bodies->pdata[k])->nodes);
    }
}
