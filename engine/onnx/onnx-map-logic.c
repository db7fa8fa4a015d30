/* Imports comparisons and logic. */
#include "engine/onnx/onnx-private.h"

static void
map_compare (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_second_operand (c, a);

  onnx_out (c, 0, onnx_binary (c, c->map->op, a, b));
}

static void
map_is_inf (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y = onnx_unary (c, "isinf", x);
  gboolean up = onnx_attr_int (c, "detect_positive", 1) != 0, down = onnx_attr_int (c, "detect_negative", 1) != 0;

  if (!up || !down)
    y = onnx_binary (c, "logical_and", y, onnx_with_number (c, up ? "gt" : "lt", x, 0));
  if (!up && !down)
    y = onnx_binary (c, "logical_and", y, onnx_unary (c, "logical_not", y));
  onnx_out (c, 0, y);
}

const OnnxMap onnx_map_logic[] = {
  { "Equal", "eq", map_compare },
  { "Less", "lt", map_compare },
  { "LessOrEqual", "le", map_compare },
  { "Greater", "gt", map_compare },
  { "GreaterOrEqual", "ge", map_compare },
  { "And", "logical_and", map_compare },
  { "Or", "logical_or", map_compare },
  { "Xor", "logical_xor", map_compare },
  { "Not", "logical_not" },
  { "IsNaN", "isnan" },
  { "IsInf", "isinf", map_is_inf },
  { "Where", "where" },
  { NULL },
};
