/* Makes nodes of tensors that are known during the import.
 *
 * A short tensor is a constant with its numbers, a longer one that no checkpoint has is a constant with a compressed
 * table, and any other is a parameter. */
#include "engine/onnx/onnx-constant.h"
#include "engine/ops/loom-table.h"

#include <math.h>
#include <string.h>

/* Maximum number of elements in an attribute: the limit of the constant node, which keeps graphs readable. Larger
 * tables become parameters. */
#define MAX_CONSTANT 256
#define MAX_TABLE    1000000 /* the longest attribute that a graph may have, in bytes */

LoomTensor *
onnx_tensor_new (OnnxCtx *c, LoomDType dtype, int rank, const gint64 *dims)
{
  g_autoptr (GError) error = NULL;
  LoomTensor *t = loom_tensor_new (dtype, rank, dims, &error);

  if (t == NULL)
    onnx_fail (c, "%s", error->message);
  return t;
}

static gboolean
all_finite (const LoomTensor *t)
{
  for (gint64 i = 0; i < t->count; i++)
    if (!isfinite (loom_tensor_get (t, i)))
      return FALSE;
  return TRUE;
}

gboolean
onnx_tensor_is_uniform (const LoomTensor *t)
{
  for (gint64 i = 1; i < t->count; i++)
    if (loom_tensor_get (t, i) != loom_tensor_get (t, 0))
      return FALSE;
  return TRUE;
}

void
onnx_row_major (const LoomTensor *x, gint64 stride[LOOM_SHAPE_MAX_RANK])
{
  gint64 step = 1;

  for (int d = x->rank - 1; d >= 0; d--)
    {
      stride[d] = step;
      step *= x->dim[d];
    }
}

gboolean
onnx_tensor_is_filled (const LoomTensor *t, double number)
{
  return t != NULL && onnx_tensor_is_uniform (t) && (t->count == 0 || loom_tensor_get (t, 0) == number);
}

static const OnnxWire *
constant_node (OnnxCtx *c, const LoomTensor *t, const char *name)
{
  LoomShape shape = loom_tensor_shape (t);
  g_autoptr (GString) values = g_string_new (NULL);
  gint64 n = t->count == 0 || onnx_tensor_is_uniform (t) ? 1 : t->count;
  LoomDType dtype = onnx_on_wire (t->dtype);
  gboolean plain = n > 1 && t->rank == 1;

  for (gint64 i = 0; i < n; i++)
    g_string_append_printf (values, "%s%s", i ? "," : "", onnx_number (c, t->count == 0 ? 0 : loom_tensor_get (t, i)));
  const Onnx__NodeProto *from = c->node;
  Onnx__NodeProto named = *from;
  named.name = (char *)name;
  c->node = &named;
  const OnnxWire *wire
      = onnx_emit (c, "constant", 0, NULL, "value", values->str, "shape",
                   plain || t->rank == 0 ? NULL : onnx_dims (c, &shape), "dtype", loom_dtype_name (dtype), NULL);
  c->node = from;
  return wire;
}

/* A table that is computed, so that no checkpoint has it; NULL if it is too long for a graph. */
static const OnnxWire *
table_node (OnnxCtx *c, const LoomTensor *t)
{
  LoomDType dtype = onnx_on_wire (t->dtype);
  g_autoptr (LoomTensor) converted
      = t->count <= LOOM_TABLE_MAX_COUNT ? loom_tensor_convert (t, dtype, FALSE, NULL) : NULL;
  LoomShape shape = loom_tensor_shape (t);
  g_autofree char *data = converted != NULL ? loom_table_encode (converted) : NULL;

  return data != NULL && strlen (data) <= MAX_TABLE
             ? onnx_emit (c, "constant", 0, NULL, "data", data, "shape", onnx_dims (c, &shape), "dtype",
                          loom_dtype_name (dtype), NULL)
             : NULL;
}

/* A table that the exporter has computed (a mask, rotated positions) is not in the state dict, and not trained. name:
 * in the state dict, or in the model. */
static gboolean
is_computed (OnnxCtx *c, const char *name)
{
  return g_hash_table_size (c->all->kinds) > 0 && (name == NULL || !g_hash_table_contains (c->all->kinds, name));
}

static const OnnxWire *
parameter_node (OnnxCtx *c, LoomTensor *t, const char *name, gboolean is_weight)
{
  LoomShape shape = loom_tensor_shape (t);
  const LoomOp *op = loom_op ("parameter");
  OnnxNode *node;

  if (c->failed)
    return onnx_constant (c, 0, LOOM_F32);
  node = onnx_node_new (c->all, op, name != NULL && *name ? name : "parameter");
  onnx_node_set (node, "shape", onnx_dims (c, &shape));
  onnx_node_set (node, "init", "zeros");
  onnx_node_set (node, "dtype", loom_dtype_name (onnx_on_wire (t->dtype)));
  if (!is_weight || onnx_is_buffer (c, name) || is_computed (c, name))
    onnx_node_set (node, "frozen", "true");
  if (is_weight && name != NULL && (strchr (name, '.') != NULL || g_hash_table_contains (c->all->kinds, name)))
    node->weight_path = g_strdup (name);
  onnx_infer (c, node);
  if (c->failed)
    return onnx_constant (c, 0, LOOM_F32);
  onnx_add_weight (c, node, "out", t, name != NULL && !is_computed (c, name) ? name : NULL);
  return &node->out[0];
}

const OnnxWire *
onnx_tensor_wire (OnnxCtx *c, LoomTensor *t, const char *name, gboolean is_weight)
{
  gboolean is_float;

  if (c->failed)
    return onnx_constant (c, 0, LOOM_F32);
  is_float = loom_dtype_is_float (t->dtype);
  if (onnx_has_dynamic (c->all, t))
    {
      onnx_fail (c, "it computes with a dynamic size. Export the model with fixed sizes.");
      return onnx_constant (c, 0, LOOM_F32);
    }
  for (gint64 i = 0; !is_float && i < t->count; i++)
    if (onnx_tensor_int (t, i) > ONNX_MAX_WHOLE || onnx_tensor_int (t, i) < -ONNX_MAX_WHOLE)
      {
        onnx_fail (c, "the integers of “%s” are too large for a graph.", name != NULL ? name : "");
        return onnx_constant (c, 0, LOOM_F32);
      }
  if (is_weight && onnx_is_buffer (c, name))
    return parameter_node (c, t, name, TRUE);
  if (t->count == 0
      || (all_finite (t) && !(is_weight && onnx_is_trained (c->all, name, t))
          && (onnx_tensor_is_uniform (t) || t->count <= MAX_CONSTANT)))
    return constant_node (c, t, name);
  const OnnxWire *table = !is_weight || !is_float || is_computed (c, name) ? table_node (c, t) : NULL;
  return table != NULL ? table : parameter_node (c, t, name, is_weight && is_float);
}
