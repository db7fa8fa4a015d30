/* Imports ONNX's operators for training: gradients, and steps of optimisers, which become formulas because optimisers
 * are no operators here.
 *
 * Inputs are R (rate), T (steps so far), then the tensors, their gradients and their states, each in one block.
 * Formulas: ONNX operator specification, ai.onnx.preview.training. */
#include "engine/onnx/onnx-private.h"

#define DOMAIN "ai.onnx.preview.training"

/* Tensor i of n in block b of the inputs after R and T. */
static const OnnxWire *
block (OnnxCtx *c, guint n, guint b, guint i)
{
  return onnx_in (c, 2 + b * n + i);
}

static const OnnxWire *
times (OnnxCtx *c, const OnnxWire *x, double factor)
{
  return onnx_with_number (c, "mul", x, factor);
}

static const OnnxWire *
regularised (OnnxCtx *c, const OnnxWire *g, const OnnxWire *x)
{
  double norm = onnx_attr_float (c, "norm_coefficient", 0);

  return norm == 0 ? g : onnx_binary (c, "add", g, times (c, x, norm));
}

static void
map_adagrad (OnnxCtx *c)
{
  guint n = (onnx_n_inputs (c) - 2) / 3;
  const OnnxWire *rate = onnx_in (c, 0), *step = onnx_cast (c, onnx_in (c, 1), LOOM_F32);
  double decay = onnx_attr_float (c, "decay_factor", 0), eps = onnx_attr_float (c, "epsilon", 0);

  rate = onnx_binary (c, "div", rate, onnx_with_number (c, "add", times (c, step, decay), 1));
  for (guint i = 0; i < n && !c->failed; i++)
    {
      const OnnxWire *x = block (c, n, 0, i), *g = regularised (c, block (c, n, 1, i), x);
      const OnnxWire *h = onnx_binary (c, "add", block (c, n, 2, i), onnx_binary (c, "mul", g, g));
      const OnnxWire *by = onnx_with_number (c, "add", onnx_unary (c, "sqrt", h), eps);
      onnx_out (c, i, onnx_binary (c, "sub", x, onnx_binary (c, "div", onnx_binary (c, "mul", rate, g), by)));
      onnx_out (c, n + i, h);
    }
}

/* The step's number is only compared with 0: the first step does not correct the bias of the averages. */
static void
map_adam (OnnxCtx *c)
{
  guint n = (onnx_n_inputs (c) - 2) / 4;
  const OnnxWire *rate = onnx_in (c, 0), *step = onnx_cast (c, onnx_in (c, 1), LOOM_F32);
  double alpha = onnx_attr_float (c, "alpha", 0.9), beta = onnx_attr_float (c, "beta", 0.999);
  double eps = onnx_attr_float (c, "epsilon", 1e-6), after = onnx_attr_float (c, "norm_coefficient_post", 0);
  /* R (1 - βᵗ)½ / (1 - αᵗ), and R itself where t = 0. */
  const OnnxWire *second = onnx_binary (c, "pow", onnx_constant (c, beta, LOOM_F32), step);
  const OnnxWire *first = onnx_binary (c, "pow", onnx_constant (c, alpha, LOOM_F32), step);
  const OnnxWire *is_first = onnx_with_number (c, "eq", step, 0), *one = onnx_constant (c, 1, LOOM_F32);
  second = onnx_unary (c, "sqrt", onnx_binary (c, "sub", one, second));
  first = onnx_binary (c, "sub", one, first);
  const OnnxWire *factor = onnx_emit (c, "where", ONNX_IN (is_first, one, onnx_binary (c, "div", second, first)), NULL);
  rate = onnx_binary (c, "mul", rate, factor);

  for (guint i = 0; i < n && !c->failed; i++)
    {
      const OnnxWire *x = block (c, n, 0, i), *g = regularised (c, block (c, n, 1, i), x);
      const OnnxWire *v = onnx_binary (c, "add", times (c, block (c, n, 2, i), alpha), times (c, g, 1 - alpha));
      const OnnxWire *h = onnx_binary (c, "add", times (c, block (c, n, 3, i), beta),
                                       times (c, onnx_binary (c, "mul", g, g), 1 - beta));
      const OnnxWire *by = onnx_with_number (c, "add", onnx_unary (c, "sqrt", h), eps);
      x = onnx_binary (c, "sub", x, onnx_binary (c, "div", onnx_binary (c, "mul", rate, v), by));
      onnx_out (c, i, after == 0 ? x : times (c, x, 1 - after));
      onnx_out (c, n + i, v);
      onnx_out (c, 2 * n + i, h);
    }
}

static void
map_momentum (OnnxCtx *c)
{
  guint n = (onnx_n_inputs (c) - 2) / 3;
  const OnnxWire *rate = onnx_in (c, 0), *step = onnx_cast (c, onnx_in (c, 1), LOOM_F32);
  double alpha = onnx_attr_float (c, "alpha", 0), beta = onnx_attr_float (c, "beta", 0);
  gboolean nesterov = g_str_equal (onnx_attr_word (c, "mode", "standard", "nesterov"), "nesterov");
  /* beta is used from the second step on; the first one uses the whole gradient. */
  const OnnxWire *later = onnx_cast (c, onnx_with_number (c, "gt", step, 0), LOOM_F32);
  const OnnxWire *share = onnx_with_number (c, "add", times (c, later, beta - 1), 1);

  for (guint i = 0; i < n && !c->failed; i++)
    {
      const OnnxWire *x = block (c, n, 0, i), *g = regularised (c, block (c, n, 1, i), x);
      const OnnxWire *v
          = onnx_binary (c, "add", times (c, block (c, n, 2, i), alpha), onnx_binary (c, "mul", share, g));
      const OnnxWire *by = nesterov ? onnx_binary (c, "add", g, times (c, v, alpha)) : v;
      onnx_out (c, i, onnx_binary (c, "sub", x, onnx_binary (c, "mul", rate, by)));
      onnx_out (c, n + i, v);
    }
}

/* The derivatives of y with respect to each input; of a tensor, the sum of its elements. */
static void
map_gradient (OnnxCtx *c)
{
  const OnnxValue *y = onnx_reach (c, onnx_attr_string (c, "y", ""));
  const OnnxWire *seed = NULL;

  if (y == NULL || y->wire == NULL || y->failed)
    {
      onnx_fail (c, "no earlier node computes its “y”.");
      return;
    }
  if (y->wire->type.shape.rank > 0)
    seed = onnx_emit (c, "constant", 0, NULL, "value", "1", "shape", onnx_dims (c, &y->wire->type.shape), NULL);
  for (guint i = 0; i < onnx_n_inputs (c); i++)
    onnx_out (c, i, onnx_emit (c, "gradient", ONNX_IN (y->wire, onnx_in (c, i), seed), NULL));
}

const OnnxMap onnx_map_training[] = {
  { "Gradient", "gradient", map_gradient, DOMAIN },
  { "Adagrad", NULL, map_adagrad, DOMAIN },
  { "Adam", NULL, map_adam, DOMAIN },
  { "Momentum", NULL, map_momentum, DOMAIN },
  { NULL },
};
