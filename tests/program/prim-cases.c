/* Programs of primitives whose operands differ from those of the kernels' samples, or have to be small or distinct. */
#include "tests/program/prim-cases.h"

/* In cases a type and a shape; in samples the type alone. */
#undef F
#define F(r, ...)                                                                                                      \
  {                                                                                                                    \
    LOOM_F64, r,                                                                                                       \
    {                                                                                                                  \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
#define N(r, ...)                                                                                                      \
  {                                                                                                                    \
    LOOM_I64, r,                                                                                                       \
    {                                                                                                                  \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
#define BUILD(name)          static guint name (LoomProgram *p, const LoomValue *x, LoomValue *y)
#define EMIT(prim, attrs, n) loom_emit (p, loom_prim (prim), attrs, n, x, y)

static guint
product_of (LoomProgram *p, const LoomValue *x, LoomValue *y, gboolean ta, gboolean tb, gboolean bias)
{
  LoomMatmulAttrs attrs = { .trans_a = ta, .trans_b = tb, .has_bias = bias, .act = LOOM_SCALAR_ID };
  LoomValue in[3] = { x[0], x[1], bias ? x[2] : 0 };

  loom_emit (p, loom_prim ("matmul"), &attrs, 3, in, y);
  return 1;
}

BUILD (matmul_nn)
{
  return product_of (p, x, y, FALSE, FALSE, FALSE);
}

BUILD (matmul_nt)
{
  return product_of (p, x, y, FALSE, TRUE, TRUE);
}

BUILD (matmul_tn)
{
  return product_of (p, x, y, TRUE, FALSE, FALSE);
}

BUILD (matmul_tt)
{
  return product_of (p, x, y, TRUE, TRUE, FALSE);
}

BUILD (conv)
{
  LoomConv2dTo attrs = { .kernel = { { 2, 1 }, { 1, 0, 1, 2 }, { 1, 2 }, 2, true, LOOM_SCALAR_ID } };

  EMIT ("conv2d", &attrs, 3);
  return 1;
}

BUILD (conv_plain)
{
  LoomConv2dTo attrs = { .kernel = { { 1, 1 }, { 0 }, { 1, 1 }, 1, false, LOOM_SCALAR_ID } };
  LoomValue in[3] = { x[0], x[1], 0 };

  loom_emit (p, loom_prim ("conv2d"), &attrs, 3, in, y);
  return 1;
}

BUILD (conv_input_grad)
{
  LoomConv2dTo attrs = { .kernel = { { 2, 1 }, { 1, 0, 1, 1 }, { 1, 1 }, 2, false, LOOM_SCALAR_ID }, .size = { 5, 4 } };

  EMIT ("conv2d_input_grad", &attrs, 2);
  return 1;
}

BUILD (conv_weight_grad)
{
  LoomConv2dTo attrs = { .kernel = { { 2, 1 }, { 1, 0, 1, 1 }, { 1, 1 }, 2, true, LOOM_SCALAR_ID }, .size = { 3, 3 } };

  EMIT ("conv2d_weight_grad", &attrs, 2);
  return 2;
}

BUILD (max_pool)
{
  LoomPool2dTo attrs = { .kernel = { { 3, 2 }, { 2, 1 }, { 1, 1 }, { 1, 2 }, false, 0 }, .size = { 3, 4 } };

  EMIT ("max_pool2d", &attrs, 1);
  return 2;
}

BUILD (max_pool_grad)
{
  LoomPool2dTo attrs = { .kernel = { { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 }, false, 0 }, .size = { 4, 5 } };
  LoomValue in[2] = { x[0], loom_cast (p, x[1], LOOM_U8) };

  loom_emit (p, loom_prim ("max_pool2d_grad"), &attrs, 2, in, y);
  return 1;
}

/* Ceil mode: the last windows extend beyond the edge. */
BUILD (avg_pool)
{
  LoomPool2dTo attrs = { .kernel = { { 3, 2 }, { 2, 2 }, { 1, 0 }, { 1, 1 }, true, 0 }, .size = { 3, 3 } };

  EMIT ("avg_pool2d", &attrs, 1);
  return 1;
}

BUILD (avg_pool_inside)
{
  LoomPool2dTo attrs = { .kernel = { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, false, 0 }, .size = { 3, 3 } };

  EMIT ("avg_pool2d", &attrs, 1);
  return 1;
}

BUILD (avg_pool_grad)
{
  LoomPool2dTo attrs = { .kernel = { { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 }, false, 3 }, .size = { 4, 5 } };

  EMIT ("avg_pool2d_grad", &attrs, 1);
  return 1;
}

BUILD (softmax_grad)
{
  LoomSoftmaxAttrs attrs = { 1, false };

  EMIT ("softmax_grad", &attrs, 2);
  return 1;
}

BUILD (log_softmax_grad)
{
  LoomSoftmaxAttrs attrs = { 1, true };

  EMIT ("softmax_grad", &attrs, 2);
  return 1;
}

/* q [2,4,3,2], k [2,2,4,2], v [2,2,4,3]: two heads share keys. */
static guint
attention_of (LoomProgram *p, const LoomValue *x, LoomValue *y, gboolean causal)
{
  LoomAttentionAttrs attrs = { .scale = 0.7, .causal = causal };
  LoomValue in[4] = { x[0], x[1], x[2] };

  loom_emit (p, loom_prim ("attention"), &attrs, 4, in, y);
  return 2;
}

BUILD (attention)
{
  return attention_of (p, x, y, FALSE);
}

BUILD (attention_causal)
{
  return attention_of (p, x, y, TRUE);
}

BUILD (attention_bias)
{
  LoomAttentionAttrs attrs = { .scale = 0.7, .has_mask = true };

  EMIT ("attention", &attrs, 4);
  return 2;
}

/* seed, step and the number of each of [2,4] heads. */
static void
numbers (LoomProgram *p, LoomValue *to)
{
  LoomIotaTo sample = { .kernel = { .axis = 0, .start = 3, .step = 4 }, .dtype = LOOM_I64, .to = { 2, { 2, 4 } } };
  LoomIotaTo head = { .kernel = { .axis = 1, .step = 1 }, .dtype = LOOM_I64, .to = { 2, { 2, 4 } } };

  to[0] = loom_const (p, LOOM_I64, 11);
  to[1] = loom_const (p, LOOM_I64, 5);
  to[2] = loom_binary (p, LOOM_SCALAR_ADD, loom_emit (p, loom_prim ("iota"), &sample, 0, NULL, NULL),
                       loom_emit (p, loom_prim ("iota"), &head, 0, NULL, NULL));
}

BUILD (attention_dropout)
{
  LoomAttentionAttrs attrs = { .scale = 0.7, .causal = true, .has_mask = true, .dropout = 0.4, .stream = 99 };
  LoomValue in[7] = { x[0], x[1], x[2], x[3] };

  numbers (p, in + 4);
  loom_emit (p, loom_prim ("attention"), &attrs, 7, in, y);
  return 2;
}

/* The mask comes from a table of 0 and 1; the first query keeps no key. */
BUILD (attention_mask)
{
  LoomAttentionAttrs attrs = { .scale = 0.7, .has_mask = true };
  LoomIotaTo row = { .kernel = { .axis = 2, .step = 1 }, .dtype = LOOM_I64, .to = { 4, { 1, 1, 3, 1 } } };
  LoomIotaTo column = { .kernel = { .axis = 3, .step = 1 }, .dtype = LOOM_I64, .to = { 4, { 1, 1, 1, 4 } } };
  LoomValue mask = loom_binary (p, LOOM_SCALAR_GT, loom_emit (p, loom_prim ("iota"), &row, 0, NULL, NULL),
                                loom_emit (p, loom_prim ("iota"), &column, 0, NULL, NULL));
  LoomValue in[4] = { x[0], x[1], x[2], mask };
  LoomValue out[2];

  loom_emit (p, loom_prim ("attention"), &attrs, 4, in, out);
  y[0] = out[0];
  return 1;
}

/* The fourth operand is the gradient of y. */
BUILD (attention_grad)
{
  LoomAttentionAttrs attrs = { .scale = 0.7, .causal = true };
  LoomValue in[4] = { x[0], x[1], x[2] }, out[2], grad[8] = { x[3], x[0], x[1], x[2] };

  loom_emit (p, loom_prim ("attention"), &attrs, 4, in, out);
  grad[4] = out[1];
  grad[7] = out[0];
  loom_emit (p, loom_prim ("attention_grad"), &attrs, 8, grad, y);
  return 3;
}

BUILD (cross_entropy)
{
  LoomCrossEntropyAttrs attrs = { 1 };

  EMIT ("cross_entropy", &attrs, 2);
  return 2;
}

BUILD (cross_entropy_grad)
{
  LoomCrossEntropyAttrs attrs = { -100 };

  EMIT ("cross_entropy_grad", &attrs, 4);
  return 1;
}

BUILD (batch_norm)
{
  LoomNormAttrs attrs = { .eps = 0.01, .affine = true };

  EMIT ("batch_norm", &attrs, 3);
  return 3;
}

BUILD (layer_norm)
{
  LoomNormAttrs attrs = { .eps = 0.01, .axes = 2, .affine = true };

  EMIT ("layer_norm", &attrs, 3);
  return 3;
}

BUILD (layer_norm_plain)
{
  LoomNormAttrs attrs = { .eps = 0.01, .axes = 1 };
  LoomValue in[3] = { x[0], 0, 0 };

  loom_emit (p, loom_prim ("layer_norm"), &attrs, 3, in, y);
  return 3;
}

/* The backward of a backward uses the expansion. */
BUILD (batch_norm_apply)
{
  LoomNormAttrs attrs = { .eps = 1e-2, .affine = TRUE };
  LoomValue in[5] = { x[0], x[1], loom_unary (p, LOOM_SCALAR_SQUARE, x[2]), x[1], x[2] };

  y[0] = loom_emit (p, loom_prim ("batch_norm_apply"), &attrs, 5, in, NULL);
  return 1;
}

BUILD (batch_norm_grad)
{
  LoomNormAttrs attrs = { .eps = 0.01, .affine = true };
  LoomValue in[3] = { x[1], x[2], x[2] }, stats[3], grad[5];

  loom_emit (p, loom_prim ("batch_norm"), &attrs, 3, in, stats);
  grad[0] = x[0];
  grad[1] = x[1];
  grad[2] = stats[1];
  grad[3] = stats[2];
  grad[4] = x[2];
  loom_emit (p, loom_prim ("batch_norm_grad"), &attrs, 5, grad, y);
  return 3;
}

BUILD (layer_norm_grad)
{
  LoomNormAttrs attrs = { .eps = 0.01, .axes = 1, .affine = true };
  LoomValue in[3] = { x[1], x[2], x[2] }, stats[3], grad[5];

  loom_emit (p, loom_prim ("layer_norm"), &attrs, 3, in, stats);
  grad[0] = x[0];
  grad[1] = x[1];
  grad[2] = stats[1];
  grad[3] = stats[2];
  grad[4] = x[2];
  loom_emit (p, loom_prim ("layer_norm_grad"), &attrs, 5, grad, y);
  return 3;
}

BUILD (scatter)
{
  LoomScatterTo attrs = { 5 };

  EMIT ("scatter_add_rows", &attrs, 2);
  return 1;
}

/* Indices of three values among five positions: some are equal, and some positions keep their value. */
BUILD (moves)
{
  LoomValue t = loom_permute (p, x[0], (int[]){ 2, 0, 1 });

  y[0] = loom_slice (p, t, (gint64[]){ 1, 0, 0 }, (gint64[]){ 2, 1, 2 }, (gint64[]){ 2, 2, 2 });
  y[1] = loom_pad (p, y[0], (gint64[]){ 1, 0, 1 }, (gint64[]){ 1, 1, 2 }, (gint64[]){ 3, 2, 5 }, 0.5);
  y[2] = loom_concat (p, 2, (LoomValue[]){ y[0], y[0] }, 1);
  y[3] = loom_reshape (p, y[0], 1, (gint64[]){ 8 });
  return 4;
}

static const PrimCase cases[] = {
  { "matmul", NULL, 2, { F (3, 2, 3, 4), F (3, 1, 4, 2) }, matmul_nn },
  { "matmul nt", NULL, 3, { F (2, 3, 4), F (2, 2, 4), F (1, 2) }, matmul_nt },
  { "matmul tn", NULL, 2, { F (3, 2, 4, 3), F (2, 4, 2) }, matmul_tn },
  { "matmul tt", NULL, 2, { F (2, 4, 3), F (2, 2, 4) }, matmul_tt },
  { "conv2d", NULL, 3, { F (4, 2, 4, 5, 6), F (4, 4, 2, 3, 2), F (1, 4) }, conv },
  { "conv2d plain", NULL, 2, { F (4, 1, 2, 3, 3), F (4, 2, 2, 2, 2) }, conv_plain },
  { "conv2d_input_grad", NULL, 2, { F (4, 2, 4, 2, 4), F (4, 4, 1, 3, 3) }, conv_input_grad },
  { "conv2d_weight_grad", NULL, 2, { F (4, 2, 4, 2, 4), F (4, 2, 2, 5, 4) }, conv_weight_grad },
  { "max_pool2d", "distinct", 1, { F (4, 1, 2, 5, 4) }, max_pool },
  { "max_pool2d_grad", "class:4", 2, { F (4, 1, 2, 2, 2), N (4, 1, 2, 2, 2) }, max_pool_grad },
  { "avg_pool2d", NULL, 1, { F (4, 1, 2, 4, 5) }, avg_pool },
  { "avg_pool2d inside", NULL, 1, { F (4, 1, 2, 5, 5) }, avg_pool_inside },
  { "avg_pool2d_grad", NULL, 1, { F (4, 1, 2, 2, 2) }, avg_pool_grad },
  { "softmax_grad", NULL, 2, { F (2, 2, 4), F (2, 2, 4) }, softmax_grad },
  { "log_softmax_grad", NULL, 2, { F (2, 2, 4), F (2, 2, 4) }, log_softmax_grad },
  { "attention", NULL, 3, { F (4, 2, 4, 3, 2), F (4, 2, 2, 4, 2), F (4, 2, 2, 4, 3) }, attention },
  { "attention causal", NULL, 3, { F (4, 2, 4, 3, 2), F (4, 2, 2, 4, 2), F (4, 2, 2, 4, 3) }, attention_causal },
  { "attention bias",
    NULL,
    4,
    { F (4, 2, 2, 3, 2), F (4, 2, 2, 4, 2), F (4, 2, 2, 4, 3), F (4, 1, 2, 3, 4) },
    attention_bias },
  { "attention dropout",
    NULL,
    4,
    { F (4, 2, 4, 3, 2), F (4, 2, 2, 4, 2), F (4, 2, 2, 4, 3), F (4, 1, 4, 3, 4) },
    attention_dropout },
  { "attention mask", NULL, 3, { F (4, 2, 2, 3, 2), F (4, 2, 1, 4, 2), F (4, 2, 1, 4, 3) }, attention_mask },
  { "attention_grad",
    NULL,
    4,
    { F (4, 1, 2, 3, 2), F (4, 1, 1, 4, 2), F (4, 1, 1, 4, 3), F (4, 1, 2, 3, 3) },
    attention_grad },
  { "cross_entropy", "class:3", 2, { F (3, 4, 3, 2), N (2, 4, 2) }, cross_entropy },
  { "cross_entropy_grad", "class:3", 4, { F (2, 4, 3), N (1, 4), F (1, 4), F (1, 4) }, cross_entropy_grad },
  { "batch_norm", NULL, 3, { F (4, 3, 2, 2, 2), F (1, 2), F (1, 2) }, batch_norm },
  { "layer_norm", NULL, 3, { F (3, 2, 3, 2), F (2, 3, 2), F (2, 3, 2) }, layer_norm },
  { "layer_norm plain", NULL, 1, { F (2, 3, 4) }, layer_norm_plain },
  { "batch_norm_grad", NULL, 3, { F (3, 3, 2, 2), F (3, 3, 2, 2), F (1, 2) }, batch_norm_grad },
  { "batch_norm_apply", NULL, 3, { F (3, 3, 2, 2), F (1, 2), F (1, 2) }, batch_norm_apply },
  { "layer_norm_grad", NULL, 3, { F (2, 3, 4), F (2, 3, 4), F (1, 4) }, layer_norm_grad },
  { "scatter_add_rows", "class:5", 2, { N (1, 4), F (2, 4, 3) }, scatter },
  { "moves", NULL, 1, { F (3, 2, 3, 4) }, moves },
};

const PrimCase *
prim_cases (guint *n)
{
  *n = G_N_ELEMENTS (cases);
  return cases;
}
