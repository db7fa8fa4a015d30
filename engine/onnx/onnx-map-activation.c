/* Imports activations. Those that PyTorch lacks, or whose constants may differ, are composed of simpler operators. */
#include "engine/onnx/onnx-private.h"

static const OnnxWire *
scaled (OnnxCtx *c, const OnnxWire *x, double factor)
{
  return factor == 1 ? x : onnx_with_number (c, "mul", x, factor);
}

/* PyTorch's constants of selu are ONNX's defaults; some exporters write them with fewer digits. */
static void
map_selu (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  double alpha = onnx_attr_float (c, "alpha", 1.6732632423543772),
         gamma = onnx_attr_float (c, "gamma", 1.0507009873554805);

  if (ABS (alpha - 1.6732632423543772) < 1e-6 && ABS (gamma - 1.0507009873554805) < 1e-6)
    onnx_out (c, 0, onnx_unary (c, "selu", x));
  else
    onnx_out (c, 0, scaled (c, onnx_emit (c, "elu", ONNX_IN (x), "alpha", onnx_number (c, alpha), NULL), gamma));
}

static void
map_celu (OnnxCtx *c)
{
  double alpha = onnx_attr_float (c, "alpha", 1);

  onnx_out (c, 0, onnx_emit (c, "celu", ONNX_IN (onnx_in (c, 0)), "alpha", onnx_number (c, alpha), NULL));
}

static void
map_hard_sigmoid (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  const OnnxWire *line
      = onnx_with_number (c, "add", scaled (c, x, onnx_attr_float (c, "alpha", 0.2)), onnx_attr_float (c, "beta", 0.5));

  onnx_out (c, 0, onnx_clamp (c, line, 0, 1));
}

static void
map_thresholded_relu (OnnxCtx *c)
{
  onnx_out (c, 0,
            onnx_emit (c, "threshold", ONNX_IN (onnx_in (c, 0)), "threshold",
                       onnx_number (c, onnx_attr_float (c, "alpha", 1)), "value", "0", NULL));
}

/* x - bias above lambd, x + bias below -lambd, 0 between. */
static void
map_shrink (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  double lambd = onnx_attr_float (c, "lambd", 0.5), bias = onnx_attr_float (c, "bias", 0);
  if (lambd >= 0 && (bias == 0 || bias == lambd))
    {
      onnx_out (
          c, 0,
          onnx_emit (c, bias == 0 ? "hardshrink" : "softshrink", ONNX_IN (x), "lambd", onnx_number (c, lambd), NULL));
      return;
    }
  const OnnxWire *above = onnx_cast (c, onnx_with_number (c, "gt", x, lambd), LOOM_F32);
  const OnnxWire *below = onnx_cast (c, onnx_with_number (c, "lt", x, -lambd), LOOM_F32);
  const OnnxWire *high = onnx_binary (c, "mul", above, onnx_with_number (c, "sub", x, bias));
  const OnnxWire *low = onnx_binary (c, "mul", below, onnx_with_number (c, "add", x, bias));

  onnx_out (c, 0, onnx_binary (c, "add", high, low));
}

/* The slope of a channel is [C, 1, 1] in ONNX since opset 7, and [C] before and in PyTorch; for any other shape the
 * formula is composed. */
static void
map_prelu (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  const LoomTensor *t = onnx_is_constant (c, 1) ? onnx_const_or_null (c, 1) : NULL;
  gint64 channels = x->type.shape.rank > 1 && loom_dim_is_known (x->type.shape.dim[1]) ? x->type.shape.dim[1].coef : 1;

  if (t != NULL
      && (t->count == 1
          || (t->count == channels && (t->rank == x->type.shape.rank - 1 || onnx_opset (c) < 7)
              && t->dim[0] == channels)))
    {
      const OnnxWire *y
          = onnx_emit (c, "prelu", ONNX_IN (x), "num_parameters", onnx_text (c, "%" G_GINT64_FORMAT, t->count), NULL);
      g_autoptr (LoomTensor) flat = loom_tensor_new (t->dtype, 1, &t->count, NULL);
      for (gint64 i = 0; i < t->count; i++)
        loom_tensor_set (flat, i, loom_tensor_get (t, i));
      onnx_own (c, y, "weight", flat);
      onnx_out (c, 0, y);
      return;
    }
  const OnnxWire *slope = onnx_in (c, 1);
  if (onnx_opset (c) < 7 && slope->type.shape.rank == 1 && x->type.shape.rank > 1)
    {
      LoomShape shape = { .rank = x->type.shape.rank - 1, .dim = { slope->type.shape.dim[0] } };
      for (int i = 1; i < shape.rank; i++)
        shape.dim[i] = loom_dim (1);
      slope = onnx_reshape (c, slope, &shape);
    }
  const OnnxWire *down = onnx_unary (c, "relu", onnx_unary (c, "neg", x));
  if (loom_dtype_is_float (x->type.dtype))
    onnx_out (c, 0, onnx_binary (c, "sub", onnx_unary (c, "relu", x), onnx_binary (c, "mul", slope, down)));
  else
    onnx_out (
        c, 0,
        onnx_emit (c, "where", ONNX_IN (onnx_with_number (c, "lt", x, 0), onnx_binary (c, "mul", slope, x), x), NULL));
}

/* Before opset 13 all dimensions from the axis on were one row; since then only the axis is. */
static void
map_softmax (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  gboolean rows = onnx_opset (c) < 13;
  int rank = x->type.shape.rank, axis = onnx_axis (c, onnx_attr_int (c, "axis", rows ? 1 : -1), MAX (rank, 1));

  if (!rows || axis == rank - 1)
    {
      onnx_out (c, 0,
                onnx_emit (c, c->map->op, ONNX_IN (x), "dim", onnx_text (c, "%d", axis == rank - 1 ? -1 : axis), NULL));
      return;
    }
  LoomShape flat = x->type.shape;
  for (int i = axis + 1; i < rank; i++)
    flat.dim[axis] = loom_dim_mul (flat.dim[axis], x->type.shape.dim[i]);
  flat.rank = axis + 1;
  y = onnx_emit (c, c->map->op, ONNX_IN (onnx_reshape (c, x, &flat)), "dim", "-1", NULL);
  onnx_out (c, 0, onnx_reshape (c, y, &x->type.shape));
}

/* 1 at the first largest element of each row, 0 elsewhere. */
static void
map_hardmax (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  gboolean rows = onnx_opset (c) < 13;
  LoomShape shape = x->type.shape, flat = shape;
  int axis = onnx_axis (c, onnx_attr_int (c, "axis", rows ? 1 : -1), MAX (shape.rank, 1));

  for (int i = axis + 1; rows && i < shape.rank; i++)
    flat.dim[axis] = loom_dim_mul (flat.dim[axis], shape.dim[i]);
  if (rows)
    flat.rank = axis + 1;
  const OnnxWire *in = onnx_reshape (c, x, &flat);
  const OnnxWire *best
      = onnx_emit (c, "argmax", ONNX_IN (in), "dim", onnx_text (c, "%d", axis), "keepdim", "true", NULL);
  LoomShape line = { .rank = flat.rank };
  gint64 n = onnx_dim (c, in, axis);
  for (int i = 0; i < line.rank; i++)
    line.dim[i] = loom_dim (i == axis ? n : 1);
  const OnnxWire *count = onnx_emit (c, "arange", 0, NULL, "end", onnx_text (c, "%" G_GINT64_FORMAT, n), NULL);
  const OnnxWire *hit = onnx_binary (c, "eq", best, onnx_reshape (c, count, &line));
  onnx_out (c, 0, onnx_reshape (c, onnx_cast (c, hit, x->type.dtype), &shape));
}

static void
map_gelu (OnnxCtx *c)
{
  onnx_out (c, 0,
            onnx_emit (c, "gelu", ONNX_IN (onnx_in (c, 0)), "approximate",
                       onnx_attr_word (c, "approximate", "none", "tanh"), NULL));
}

static void
map_hard_swish (OnnxCtx *c)
{
  onnx_out (c, 0, onnx_unary (c, "hardswish", onnx_in (c, 0)));
}

/* x · sigmoid (alpha · x) */
static const OnnxWire *
swish (OnnxCtx *c, const OnnxWire *x)
{
  double alpha = onnx_attr_float (c, "alpha", 1);

  return alpha == 1 ? onnx_unary (c, "silu", x)
                    : onnx_binary (c, "mul", x, onnx_unary (c, "sigmoid", onnx_with_number (c, "mul", x, alpha)));
}

static void
map_swish (OnnxCtx *c)
{
  onnx_out (c, 0, swish (c, onnx_in (c, 0)));
}

static void
map_swiglu (OnnxCtx *c)
{
  onnx_out (c, 0, onnx_binary (c, "mul", swish (c, onnx_in (c, 0)), onnx_in (c, 1)));
}

const OnnxMap onnx_map_activation[] = {
  { "Relu", "relu" },
  { "Sigmoid", "sigmoid" },
  { "Tanh", "tanh" },
  { "Softplus", "softplus" },
  { "Mish", "mish", .since = 18 },
  { "LeakyRelu", "leaky_relu", .attributes = "alpha=negative_slope=0.01" },
  { "Elu", "elu", .attributes = "alpha=alpha=1" },
  { "Gelu", "gelu", map_gelu },
  { "HardSwish", "hardswish", map_hard_swish },
  { "Swish", "silu", map_swish },
  { "SwiGLU", "silu", map_swiglu },
  { "Selu", "selu", map_selu },
  { "Celu", "elu", map_celu },
  { "HardSigmoid", "clamp", map_hard_sigmoid },
  { "Softsign", "softsign" },
  { "ThresholdedRelu", "threshold", map_thresholded_relu },
  { "Shrink", "where", map_shrink },
  { "PRelu", "prelu", map_prelu },
  { "Softmax", "softmax", map_softmax },
  { "LogSoftmax", "log_softmax", map_softmax },
  { "Hardmax", "argmax", map_hardmax },
  { NULL },
};
