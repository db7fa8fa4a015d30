/* Imports elementwise mathematics. */
#include "engine/onnx/onnx-private.h"

#include <math.h>

/* Before opset 7 a second operand was broadcast only if "broadcast" was set, from dimension "axis" on. */
const OnnxWire *
onnx_second_operand (OnnxCtx *c, const OnnxWire *a)
{
  const OnnxWire *b = onnx_in (c, 1);
  gboolean has_axis = onnx_has_attr (c, "axis");

  if (onnx_attr_int (c, "broadcast", 0) && has_axis)
    {
      LoomShape shape = b->type.shape;
      int axis = onnx_axis (c, onnx_attr_int (c, "axis", 0), MAX (a->type.shape.rank, 1));
      int trailing = a->type.shape.rank - axis - shape.rank;
      if (trailing < 0 || shape.rank + trailing > LOOM_SHAPE_MAX_RANK)
        onnx_fail (c, "its operands do not fit at axis %d.", axis);
      for (int i = 0; i < trailing && !c->failed; i++)
        shape.dim[shape.rank++] = loom_dim (1);
      return onnx_reshape (c, b, &shape);
    }
  return b;
}

const OnnxWire *
onnx_wrap (OnnxCtx *c, const OnnxWire *x, int elem_type)
{
  gint64 least, most;

  if (x->type.dtype != LOOM_I64 || !onnx_type_range (elem_type, &least, &most))
    return x;
  if (least != 0)
    x = onnx_with_number (c, "sub", x, (double)least);
  x = onnx_with_number (c, "remainder", x, (double)(most - least + 1));
  return least != 0 ? onnx_with_number (c, "add", x, (double)least) : x;
}

static void
map_pair (OnnxCtx *c)
{
  if (g_str_equal (c->map->op, "add") && onnx_map_bias (c))
    return;
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_second_operand (c, a);

  onnx_out (c, 0, onnx_wrap (c, onnx_binary (c, c->map->op, a, b), onnx_elem_type (c, 0)));
}

/* For integers ONNX requires the quotient rounded towards zero; here, as in PyTorch, it is a float. */
static void
map_div (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_second_operand (c, a);
  gboolean whole = !loom_dtype_is_float (a->type.dtype) && !loom_dtype_is_float (b->type.dtype);

  const OnnxWire *y = onnx_emit (c, "div", ONNX_IN (a, b), "rounding_mode", whole ? "trunc" : NULL, NULL);
  onnx_out (c, 0, whole ? onnx_wrap (c, y, onnx_elem_type (c, 0)) : y);
}

/* The result has the type of the base. */
static void
map_pow (OnnxCtx *c)
{
  const OnnxWire *a = onnx_in (c, 0), *b = onnx_second_operand (c, a);

  onnx_out (c, 0, onnx_cast (c, onnx_binary (c, "pow", a, b), a->type.dtype));
}

static void
map_mod (OnnxCtx *c)
{
  gboolean fmod = onnx_attr_int (c, "fmod", 0) != 0;

  onnx_out (c, 0, onnx_binary (c, fmod ? "fmod" : "remainder", onnx_in (c, 0), onnx_in (c, 1)));
}

static const OnnxWire *
chain (OnnxCtx *c, const char *op)
{
  const OnnxWire *y = onnx_in (c, 0);

  for (guint i = 1; i < onnx_n_inputs (c); i++)
    y = onnx_binary (c, op, y, onnx_in (c, i));
  return y;
}

static void
map_chain (OnnxCtx *c)
{
  onnx_out (c, 0, chain (c, c->map->op));
}

static void
map_mean (OnnxCtx *c)
{
  guint n = onnx_n_inputs (c);
  const OnnxWire *y = chain (c, "add");

  onnx_out (c, 0, n > 1 ? onnx_with_number (c, "div", y, n) : y);
}

/* Bounds are attributes before opset 11 and inputs since, either of which may be missing. */
static void
map_clip (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y = x;
  const char *bound[2] = { NULL };
  static const char *const names[] = { "min", "max" };

  for (guint i = 0; i < 2; i++)
    {
      const LoomTensor *t = onnx_is_constant (c, i + 1) ? onnx_const_or_null (c, i + 1) : NULL;
      double value = t != NULL && t->count == 1 ? loom_tensor_get (t, 0) : onnx_attr_float (c, names[i], NAN);
      gint64 whole = t != NULL && t->count == 1 && !loom_dtype_is_float (t->dtype) ? onnx_tensor_int (t, 0) : 0;

      /* The smallest and largest number of a type are no bounds. */
      if (whole == G_MAXINT64 || whole == G_MININT64)
        continue;
      if (whole > ONNX_MAX_WHOLE || whole < -ONNX_MAX_WHOLE)
        onnx_fail (c, "its “%s” is too large for a graph.", names[i]);
      if (isfinite (value))
        bound[i] = onnx_number (c, value);
      else if (onnx_has (c, i + 1) && t == NULL)
        y = onnx_binary (c, i == 0 ? "maximum" : "minimum", y, onnx_in (c, i + 1));
    }
  if (bound[0] != NULL || bound[1] != NULL)
    y = onnx_emit (c, "clamp", ONNX_IN (y), "min", bound[0], "max", bound[1], NULL);
  onnx_out (c, 0, y);
}

static gboolean
is_half (int elem_type)
{
  return elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 || elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
}

static void
map_cast (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  int to = (int)onnx_attr_int (c, "to", 0);
  gint64 least, most;
  LoomDType dtype;

  if (c->node->op_type != NULL && g_str_equal (c->node->op_type, "CastLike"))
    {
      dtype = onnx_in (c, 1)->type.dtype;
      to = onnx_elem_type (c, 1);
    }
  else if (!onnx_wire_dtype (to, &dtype))
    {
      onnx_fail (c, "its output type is %s, which graphs do not have.", onnx_type_name (to));
      return;
    }
  /* A cast to 16 bits rounds, whatever the type of the wire. */
  if (is_half (to))
    {
      onnx_dtype (to, &dtype);
      x = onnx_cast (c, x, dtype);
      dtype = LOOM_F32;
    }
  if (onnx_is_small_float (to))
    x = onnx_to_small_float (c, x, to, onnx_attr_int (c, "saturate", 1) != 0,
                             onnx_attr_word (c, "round_mode", "up", "down", "nearest"));
  /* Integers that do not fit keep their lower bits; for floats ONNX defines that for 4 bits and fewer alone. */
  if (dtype == LOOM_I64 && x->type.dtype != LOOM_BOOL
      && (!loom_dtype_is_float (x->type.dtype) || (onnx_type_range (to, &least, &most) && most < 16)))
    x = onnx_wrap (c, onnx_cast (c, x, LOOM_I64), to);
  onnx_out (c, 0, onnx_cast (c, x, dtype));
}

static void
map_identity (OnnxCtx *c)
{
  const OnnxValue *value = onnx_has (c, 0) ? onnx_value_of (c->all, c->node->input[0]) : NULL;

  if (value != NULL && (value->sequence != NULL || value->is_none) && onnx_has_output (c, 0))
    onnx_alias (c->all, c->node->output[0], value);
  else
    onnx_out (c, 0, onnx_in (c, 0));
}

static void
map_einsum (OnnxCtx *c)
{
  const OnnxWire *in[8];
  guint n = onnx_n_inputs (c);

  if (n > G_N_ELEMENTS (in))
    {
      onnx_fail (c, "it has too many inputs.");
      return;
    }
  for (guint i = 0; i < n; i++)
    in[i] = onnx_in (c, i);
  g_auto (GStrv) words = g_strsplit (onnx_attr_string (c, "equation", ""), " ", -1);
  g_autofree char *equation = g_strjoinv ("", words);
  onnx_out (c, 0, onnx_emit (c, "einsum", n, in, "equation", equation, NULL));
}

const OnnxMap onnx_map_math[] = {
  { "Abs", "abs" },
  { "Acos", "acos" },
  { "Acosh", "acosh" },
  { "Asin", "asin" },
  { "Asinh", "asinh" },
  { "Atan", "atan" },
  { "Atanh", "atanh" },
  { "Ceil", "ceil" },
  { "Cos", "cos" },
  { "Cosh", "cosh" },
  { "Erf", "erf" },
  { "Exp", "exp" },
  { "Floor", "floor" },
  { "Log", "log" },
  { "Neg", "neg" },
  { "Reciprocal", "reciprocal" },
  { "Round", "round" },
  { "Sign", "sign" },
  { "Sin", "sin" },
  { "Sinh", "sinh" },
  { "Sqrt", "sqrt" },
  { "Tan", "tan" },
  { "Det", "det" },
  { "Add", "add", map_pair },
  { "Sub", "sub", map_pair },
  { "Mul", "mul", map_pair },
  { "Div", "div", map_div },
  { "Pow", "pow", map_pow },
  { "Mod", "remainder", map_mod },
  { "Sum", "add", map_chain },
  { "Max", "maximum", map_chain },
  { "Min", "minimum", map_chain },
  { "Mean", "add", map_mean },
  { "Clip", "clamp", map_clip },
  { "Cast", "cast", map_cast },
  { "CastLike", "cast", map_cast },
  { "Identity", NULL, map_identity },
  { "Einsum", "einsum", map_einsum },
  { NULL },
};
