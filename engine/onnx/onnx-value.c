/* The values of a model by name: wires of the graph, constants, weights. */
#include "engine/onnx/onnx-constant.h"

/* A chain of computed constants has a handful of nodes; this bounds the search for one. */
#define MAX_FOLD_DEPTH 64

OnnxValue *
onnx_own_value (OnnxImport *all, const char *name)
{
  return g_hash_table_lookup (all->values, name);
}

OnnxValue *
onnx_value_of (OnnxImport *all, const char *name)
{
  OnnxValue *value = NULL;

  for (; all != NULL && value == NULL; all = all->outer)
    {
      const char *outside = all->kept != NULL ? g_hash_table_lookup (all->kept, name) : NULL;

      name = outside != NULL ? outside : name;
      value = onnx_own_value (all, name);
    }
  return value;
}

void
onnx_value_free (gpointer data)
{
  OnnxValue *value = data;

  g_clear_pointer (&value->constant, loom_tensor_unref);
  g_clear_pointer (&value->given, loom_tensor_unref);
  g_free (value->name);
  g_free (value);
}

OnnxValue *
onnx_declare (OnnxImport *all, const char *name)
{
  OnnxValue *value = onnx_own_value (all, name);

  if (value == NULL)
    {
      value = g_new0 (OnnxValue, 1);
      value->home = all;
      value->name = g_strdup (name);
      g_hash_table_insert (all->values, value->name, value);
    }
  return value;
}

guint
onnx_n_inputs (OnnxCtx *c)
{
  return (guint)c->node->n_input;
}

int
onnx_port_type (const Onnx__ValueInfoProto *port)
{
  return port->type != NULL && port->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
             ? port->type->tensor_type->elem_type
             : 0;
}

/* The attribute that is, or that contains, the type of an operator's results. */
static const char *
type_attribute (const char *op)
{
  return g_str_equal (op, "Cast")                                              ? "to"
         : g_str_equal (op, "Constant") || g_str_equal (op, "ConstantOfShape") ? "value"
         : g_str_equal (op, "EyeLike")                                         ? "dtype"
         : g_str_equal (op, "If")                                              ? "then_branch"
         : g_str_equal (op, "Loop") || g_str_equal (op, "Scan")                ? "body"
                                                                               : "output_dtype";
}

/* The input that has the type of an operator's first result; −1 if none has. */
static int
type_input (const char *op)
{
  static const char *const keep[] = { "Abs",
                                      "Add",
                                      "BitShift",
                                      "Clip",
                                      "Compress",
                                      "Concat",
                                      "CumSum",
                                      "Div",
                                      "EyeLike",
                                      "DepthToSpace",
                                      "Expand",
                                      "Flatten",
                                      "Identity",
                                      "Max",
                                      "MaxPool",
                                      "Min",
                                      "Mod",
                                      "Mul",
                                      "Neg",
                                      "Pad",
                                      "Pow",
                                      "Range",
                                      "Relu",
                                      "Reshape",
                                      "ReverseSequence",
                                      "Sign",
                                      "Slice",
                                      "SpaceToDepth",
                                      "Split",
                                      "Squeeze",
                                      "Sub",
                                      "Tile",
                                      "TopK",
                                      "Transpose",
                                      "Trilu",
                                      "Unique",
                                      "Unsqueeze",
                                      NULL };

  if (g_str_equal (op, "CastLike") || g_str_equal (op, "Where"))
    return 1;
  if (g_str_equal (op, "QuantizeLinear") || g_str_equal (op, "OneHot"))
    return 2;
  if (g_str_has_prefix (op, "QLinear"))
    return 7;
  return g_strv_contains (keep, op) || g_str_has_prefix (op, "Gather") || g_str_has_prefix (op, "Scatter")
                 || g_str_has_prefix (op, "Reduce")
             ? 0
             : -1;
}

int
onnx_result_type (OnnxImport *all, const Onnx__NodeProto *node, guint i)
{
  const char *op = node->op_type;
  const Onnx__AttributeProto *a = onnx_attribute (node, type_attribute (op));
  const int like = type_input (op);
  const OnnxValue *value;

  if (a != NULL && a->g != NULL)
    {
      i += g_str_equal (op, "Loop"); /* its body also returns the condition */
      return i < a->g->n_output ? onnx_port_type (a->g->output[i]) : 0;
    }
  if (g_str_equal (op, "DynamicQuantizeLinear") && i != 1)
    return ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
  if (i > 0 && !g_str_equal (op, "Split"))
    return 0;
  if (a != NULL && a->t != NULL)
    return a->t->data_type;
  if (a != NULL && a->i != 0)
    return (int)a->i;
  if (like >= 0 && (gsize)like < node->n_input && *node->input[like])
    {
      value = onnx_value_of (all, node->input[like]);
      return value != NULL ? value->elem_type : 0;
    }
  return g_str_equal (op, "QuantizeLinear") ? ONNX__TENSOR_PROTO__DATA_TYPE__UINT8 : 0;
}

void
onnx_report_types (OnnxImport *all, const Onnx__NodeProto *node)
{
  for (gsize i = 0; i < node->n_output; i++)
    {
      OnnxValue *value = *node->output[i] ? onnx_own_value (all, node->output[i]) : NULL;

      if (value != NULL && value->elem_type == 0)
        value->elem_type = onnx_result_type (all, node, (guint)i);
    }
}

int
onnx_elem_type (OnnxCtx *c, guint i)
{
  const OnnxValue *value = onnx_has (c, i) ? onnx_value_of (c->all, c->node->input[i]) : NULL;

  return value != NULL ? value->elem_type : 0;
}

/* An empty name means an omitted optional input. */
gboolean
onnx_has (OnnxCtx *c, guint i)
{
  return i < c->node->n_input && *c->node->input[i];
}

gboolean
onnx_has_output (OnnxCtx *c, guint i)
{
  return i < c->node->n_output && *c->node->output[i];
}

static OnnxWire failed_wire = { .port = "out", .type = { .dtype = LOOM_F32 } };

static OnnxValue *
input_value (OnnxCtx *c, guint i)
{
  OnnxValue *value;

  if (!onnx_has (c, i))
    {
      onnx_fail (c, "its input number %u is missing.", i + 1);
      return NULL;
    }
  value = onnx_reach (c, c->node->input[i]);
  if (value == NULL)
    onnx_fail (c, "no earlier node computes its input “%s”.", c->node->input[i]);
  else if (value->failed)
    c->failed = TRUE; /* reported at the node that failed first */
  return c->failed ? NULL : value;
}

const OnnxWire *
onnx_value_wire (OnnxCtx *c, OnnxValue *value)
{
  if (value->constant != NULL && onnx_is_beyond (value->elem_type, value->constant))
    onnx_fail (c, "“%s” has a number of 2⁶³ or more, which no type of graphs can hold.", value->name);
  else if (value->wire == NULL && value->constant != NULL)
    value->wire = onnx_tensor_wire (c, value->constant, value->original != NULL ? value->original : value->name,
                                    value->is_weight);
  if (value->wire == NULL && !c->failed)
    onnx_fail (c, "its input “%s” %s.", value->name,
               value->sequence != NULL ? "is a sequence of tensors, but it needs one tensor"
               : value->is_none        ? "is an optional value that is absent"
                                       : "has no value");
  return c->failed ? &failed_wire : value->wire;
}

const OnnxWire *
onnx_reach_wire (OnnxCtx *c, const char *name)
{
  OnnxValue *value = c->failed ? NULL : onnx_reach (c, name);

  if (value == NULL)
    onnx_fail (c, "nothing makes “%s”.", name);
  else if (value->failed)
    c->failed = TRUE; /* reported at the node that failed first */
  return c->failed ? &failed_wire : onnx_value_wire (c, value);
}

const OnnxWire *
onnx_in (OnnxCtx *c, guint i)
{
  OnnxValue *value = c->failed ? NULL : input_value (c, i);

  return value != NULL ? onnx_value_wire (c, value) : &failed_wire;
}

const OnnxWire *
onnx_value_weight (OnnxCtx *c, OnnxValue *value)
{
  OnnxWire *wire;

  if (value->wire != NULL || value->constant == NULL || !loom_dtype_is_float (value->constant->dtype))
    return onnx_value_wire (c, value);
  wire = g_new0 (OnnxWire, 1);
  *wire = (OnnxWire){ .port = "out", .type = { LOOM_F32, loom_tensor_shape (value->constant) }, .own = value };
  g_ptr_array_add (c->all->wires, wire);
  return wire;
}

const OnnxWire *
onnx_weight (OnnxCtx *c, guint i)
{
  OnnxValue *value = c->failed ? NULL : input_value (c, i);

  return value != NULL ? onnx_value_weight (c, value) : &failed_wire;
}

const LoomTensor *
onnx_known (OnnxImport *all, const char *name, gboolean given, guint depth)
{
  OnnxValue *value = onnx_value_of (all, name);

  if (value == NULL)
    return NULL;
  if (value->constant != NULL)
    return onnx_is_beyond (value->elem_type, value->constant) ? NULL : value->constant;
  if (given && value->given != NULL)
    return value->given;
  if (!given || value->producer == NULL || depth > MAX_FOLD_DEPTH)
    return NULL;
  value->given = onnx_fold (all, value->producer, TRUE, depth + 1);
  return value->given;
}

const LoomTensor *
onnx_const_or_null (OnnxCtx *c, guint i)
{
  return onnx_has (c, i) && !c->failed ? onnx_known (c->all, c->node->input[i], TRUE, 0) : NULL;
}

const LoomTensor *
onnx_const (OnnxCtx *c, guint i, const char *what)
{
  const LoomTensor *t = onnx_const_or_null (c, i);

  if (t == NULL)
    onnx_fail (c, "its “%s” must be a constant of the model, because here it is part of the graph.", what);
  return t;
}

gboolean
onnx_is_constant (OnnxCtx *c, guint i)
{
  return onnx_has (c, i) && onnx_known (c->all, c->node->input[i], FALSE, 0) != NULL;
}

void
onnx_out (OnnxCtx *c, guint i, const OnnxWire *wire)
{
  if (c->failed || !onnx_has_output (c, i))
    return;
  OnnxValue *value = onnx_declare (c->all, c->node->output[i]);
  value->wire = wire;
  value->producer = c->node;
}

void
onnx_out_tensor (OnnxCtx *c, guint i, LoomTensor *t)
{
  if (!c->failed && onnx_has_output (c, i) && onnx_own_value (c->all, c->node->output[i]) == NULL)
    onnx_declare (c->all, c->node->output[i])->constant = t;
  else
    loom_tensor_unref (t);
}
