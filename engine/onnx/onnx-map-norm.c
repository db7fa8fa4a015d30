/* Imports normalisations and Dropout. */
#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-data-free.h"
#include "engine/onnx/onnx-private.h"
#include "engine/onnx/onnx-window.h"

/* [C] as [C, 1, 1], to be broadcast over [N, C, H, W]. */
static const OnnxWire *
by_channel (OnnxCtx *c, const OnnxWire *v, int rank)
{
  LoomShape shape = { .rank = MAX (rank - 1, 1) };

  shape.dim[0] = v->type.shape.rank > 0 ? v->type.shape.dim[0] : loom_dim (1);
  for (int i = 1; i < shape.rank; i++)
    shape.dim[i] = loom_dim (1);
  return onnx_reshape (c, v, &shape);
}

static const OnnxWire *
standardise (OnnxCtx *c, const OnnxWire *x, const OnnxWire *mean, const OnnxWire *var, double eps)
{
  return onnx_binary (c, "div", onnx_binary (c, "sub", x, mean),
                      onnx_unary (c, "sqrt", onnx_with_number (c, "add", var, eps)));
}

static const OnnxWire *
variance (OnnxCtx *c, const OnnxWire *x, const OnnxWire *mean, guint n, const gint64 *axes)
{
  const OnnxWire *d = onnx_binary (c, "sub", x, mean);

  return onnx_reduce (c, "mean", onnx_binary (c, "mul", d, d), n, axes, TRUE);
}

/* TRUE if the input is missing, or has this number everywhere. An older exporter expands it by the shape of another
 * one. */
static gboolean
is_filled (OnnxCtx *c, guint i, double number)
{
  const LoomTensor *t = onnx_has (c, i) ? onnx_known (c->all, c->node->input[i], FALSE, 0) : NULL;

  if (t == NULL && onnx_has (c, i))
    t = onnx_data_free_value (c->all, onnx_in (c, i));
  return !onnx_has (c, i) || onnx_tensor_is_filled (t, number);
}

/* TRUE if PyTorch's norm has no weights, which are arguments of its call from `at` on: its exporter passes ones and
 * zeros, which training must not change. Another tool may have put other numbers there. */
static gboolean
is_plain (OnnxCtx *c, const char *function, guint at)
{
  g_autofree char *x = onnx_call_argument (c->node, function, 0), *w = onnx_call_argument (c->node, function, at),
                  *b = onnx_call_argument (c->node, function, at + 1);

  return x != NULL && (w == NULL || *w != '%') && (b == NULL || *b != '%') && is_filled (c, 1, 1)
         && is_filled (c, 2, 0);
}

/* Weights and statistics in the model make a layer; computed ones make the formula. */
static void
map_batch_norm (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *mean, *var, *y;
  int rank = x->type.shape.rank, n = rank - 2;
  double eps = onnx_attr_float (c, "epsilon", 1e-5), momentum = onnx_attr_float (c, "momentum", 0.9);
  gboolean training = onnx_attr_int (c, "training_mode", 0) != 0
                      || (onnx_opset (c) < 14 && onnx_opset (c) >= 7 && onnx_has_output (c, 1));
  gboolean known = TRUE, plain = is_plain (c, "_native_batch_norm_legit_no_training", 1)
                                 || is_plain (c, "_native_batch_norm_legit_functional", 1);
  gint64 axes[LOOM_SHAPE_MAX_RANK] = { 0 };

  if (!onnx_attr_int (c, "spatial", 1))
    onnx_fail (c, "it has statistics for each element (“spatial” is 0), but only statistics for each channel are "
                  "supported.");
  if (c->failed)
    return;
  for (guint i = plain ? 3 : 1; i < 5; i++)
    known = known && onnx_is_constant (c, i);
  if (known && !training && rank >= 2 && rank <= 5)
    {
      const OnnxWire *w = plain ? NULL : onnx_weight (c, 1), *b = plain ? NULL : onnx_weight (c, 2);
      y = onnx_emit (c, onnx_text (c, "batch_norm%dd", MAX (n, 1)), ONNX_IN (x, w, b), "eps", onnx_number (c, eps),
                     "momentum", onnx_number (c, (double)(float)(1 - momentum)), "affine", plain ? "false" : NULL,
                     NULL);
      onnx_own_named (c, y, "running_mean", onnx_value_of (c->all, c->node->input[3]));
      onnx_own_named (c, y, "running_var", onnx_value_of (c->all, c->node->input[4]));
      gint64 none = 0;
      g_autoptr (LoomTensor) batches = loom_tensor_new (LOOM_I64, 0, &none, NULL);
      onnx_own (c, y, "num_batches_tracked", batches);
      onnx_out (c, 0, y);
      return;
    }
  if (training)
    {
      for (int i = 0; i < n + 1; i++)
        axes[i] = i == 0 ? 0 : i + 1;
      LoomShape flat = { .rank = 1, .dim = { x->type.shape.dim[1] } };
      mean = onnx_reduce (c, "mean", x, (guint)(n + 1), axes, TRUE);
      var = variance (c, x, mean, (guint)(n + 1), axes);
      const OnnxWire *now[] = { onnx_reshape (c, mean, &flat), onnx_reshape (c, var, &flat) };
      for (guint i = 0; i < 2; i++)
        if (onnx_has_output (c, i + 1))
          onnx_out (c, i + 1,
                    onnx_binary (c, "add", onnx_with_number (c, "mul", onnx_in (c, i + 3), momentum),
                                 onnx_with_number (c, "mul", now[i], 1 - momentum)));
    }
  else
    {
      mean = by_channel (c, onnx_in (c, 3), rank);
      var = by_channel (c, onnx_in (c, 4), rank);
    }
  y = onnx_binary (c, "mul", standardise (c, x, mean, var, eps), by_channel (c, onnx_in (c, 1), rank));
  onnx_out (c, 0, onnx_binary (c, "add", y, by_channel (c, onnx_in (c, 2), rank)));
}

/* Each channel is a group. */
static void
map_instance_norm (OnnxCtx *c)
{
  const gboolean plain = is_plain (c, "instance_norm", 1);
  const OnnxWire *x = onnx_in (c, 0), *w = plain ? NULL : onnx_weight (c, 1), *b = plain ? NULL : onnx_weight (c, 2);

  onnx_out (c, 0,
            onnx_emit (c, "group_norm", ONNX_IN (x, w, b), "num_groups",
                       onnx_text (c, "%" G_GINT64_FORMAT, onnx_dim (c, x, 1)), "eps",
                       onnx_number (c, onnx_attr_float (c, "epsilon", 1e-5)), "affine", plain ? "false" : NULL, NULL));
}

/* Until opset 20 there was one scale for a group, which PyTorch does not have. */
static void
map_group_norm (OnnxCtx *c)
{
  const gboolean plain = is_plain (c, "group_norm", 2);
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_weight (c, 1), *b = onnx_weight (c, 2);
  gint64 groups = onnx_attr_int (c, "num_groups", 1);

  if (!c->failed && onnx_opset (c) < 21 && onnx_dim (c, x, 1) != onnx_dim (c, w, 0))
    {
      onnx_fail (c, "a scale for each group instead of each channel is not supported.");
      return;
    }
  onnx_out (c, 0,
            onnx_emit (c, "group_norm", ONNX_IN (x, plain ? NULL : w, plain ? NULL : b), "num_groups",
                       onnx_text (c, "%" G_GINT64_FORMAT, groups), "eps",
                       onnx_number (c, onnx_attr_float (c, "epsilon", 1e-5)), "affine", plain ? "false" : NULL, NULL));
}

static void
map_layer_norm (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_weight (c, 1), *b = onnx_has (c, 2) ? onnx_weight (c, 2) : NULL;
  int rank = x->type.shape.rank, axis = onnx_axis (c, onnx_attr_int (c, "axis", -1), MAX (rank, 1));
  double eps = onnx_attr_float (c, "epsilon", 1e-5);
  LoomShape tail = { .rank = rank - axis };
  gint64 axes[LOOM_SHAPE_MAX_RANK];

  if (is_plain (c, "layer_norm", 2))
    w = b = NULL;
  for (int i = axis; i < rank; i++)
    {
      tail.dim[i - axis] = x->type.shape.dim[i];
      axes[i - axis] = i;
    }
  onnx_out (c, 0,
            onnx_emit (c, "layer_norm", ONNX_IN (x, w, b), "normalized_shape", onnx_dims (c, &tail), "eps",
                       onnx_number (c, eps), "elementwise_affine", w != NULL ? NULL : "false", "bias",
                       w == NULL || b != NULL ? NULL : "false", NULL));
  if (onnx_has_output (c, 1) || onnx_has_output (c, 2))
    {
      const OnnxWire *mean = onnx_reduce (c, "mean", x, (guint)tail.rank, axes, TRUE);
      onnx_out (c, 1, mean);
      if (onnx_has_output (c, 2))
        onnx_out (
            c, 2,
            onnx_unary (c, "reciprocal",
                        onnx_unary (c, "sqrt",
                                    onnx_with_number (c, "add", variance (c, x, mean, (guint)tail.rank, axes), eps))));
    }
}

static void
map_rms_norm (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *w = onnx_weight (c, 1);
  int rank = x->type.shape.rank, axis = onnx_axis (c, onnx_attr_int (c, "axis", -1), MAX (rank, 1));
  LoomShape tail = { .rank = rank - axis };

  for (int i = axis; i < rank; i++)
    tail.dim[i - axis] = x->type.shape.dim[i];
  if (is_plain (c, "rms_norm", 2))
    w = NULL;
  onnx_out (c, 0,
            onnx_emit (c, "rms_norm", ONNX_IN (x, w), "normalized_shape", onnx_dims (c, &tail), "eps",
                       onnx_number (c, onnx_attr_float (c, "epsilon", 1e-5)), "elementwise_affine",
                       w != NULL ? NULL : "false", NULL));
}

/* x / (bias + alpha/size Σ x²)^beta, the sum over neighbouring channels (AlexNet, section 3.3). Channels become the
 * rows of an image, over which an average is pooled. */
static void
map_lrn (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  gint64 size = MAX (0, onnx_attr_int (c, "size", 1)), before = (size - 1) / 2;
  gint64 begin[LOOM_SHAPE_MAX_RANK] = { 0, 0, before }, end[LOOM_SHAPE_MAX_RANK] = { 0, 0, size - 1 - before };
  LoomShape image = { .rank = 4, .dim = { loom_dim (1), loom_dim (1), loom_dim (1), loom_dim (1) } };

  if (c->failed || x->type.shape.rank < 2 || size < 1)
    {
      onnx_fail (c, "it needs batch and channels.");
      return;
    }
  /* An odd number of neighbours is symmetric, as PyTorch's and ONNX's definitions both are. */
  if (size % 2 == 1)
    {
      onnx_out (c, 0,
                onnx_emit (c, "local_response_norm", ONNX_IN (x), "size", onnx_text (c, "%" G_GINT64_FORMAT, size),
                           "alpha", onnx_number (c, onnx_attr_float (c, "alpha", 1e-4)), "beta",
                           onnx_number (c, onnx_attr_float (c, "beta", 0.75)), "k",
                           onnx_number (c, onnx_attr_float (c, "bias", 1)), NULL));
      return;
    }
  image.dim[0] = x->type.shape.dim[0];
  image.dim[2] = x->type.shape.dim[1];
  for (int i = 2; i < x->type.shape.rank; i++)
    image.dim[3] = loom_dim_mul (image.dim[3], x->type.shape.dim[i]);
  y = onnx_pad (c, onnx_reshape (c, onnx_binary (c, "mul", x, x), &image), begin, end, "constant", "0");
  y = onnx_emit (c, "avg_pool2d", ONNX_IN (y), "kernel_size", onnx_text (c, "%" G_GINT64_FORMAT ",1", size), "stride",
                 "1", NULL);
  y = onnx_with_number (c, "mul", onnx_reshape (c, y, &x->type.shape), onnx_attr_float (c, "alpha", 1e-4));
  y = onnx_with_number (c, "add", y, onnx_attr_float (c, "bias", 1));
  y = onnx_with_number (c, "pow", y, onnx_attr_float (c, "beta", 0.75));
  onnx_out (c, 0, onnx_binary (c, "div", x, y));
}

static void
map_mean_variance (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *mean, *deviation;
  gint64 axes[LOOM_SHAPE_MAX_RANK] = { 0, 2, 3 };
  guint n = onnx_has_attr (c, "axes") ? onnx_attr_ints (c, "axes", axes, LOOM_SHAPE_MAX_RANK) : 3;

  mean = onnx_reduce (c, "mean", x, n, axes, TRUE);
  deviation = onnx_unary (c, "sqrt", variance (c, x, mean, n, axes));
  onnx_out (c, 0,
            onnx_binary (c, "div", onnx_binary (c, "sub", x, mean), onnx_with_number (c, "add", deviation, 1e-9)));
}

static void
map_lp_norm (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *sum;
  gint64 p = onnx_attr_int (c, "p", 2);
  gint64 axis = onnx_axis (c, onnx_attr_int (c, "axis", -1), MAX (x->type.shape.rank, 1));

  if (p != 1 && p != 2)
    onnx_fail (c, "its “p” is %" G_GINT64_FORMAT "; it can be 1 or 2.", p);
  if (p == 1)
    sum = onnx_reduce (c, "sum", onnx_unary (c, "abs", x), 1, &axis, TRUE);
  else
    sum = onnx_reduce (c, "sum", onnx_binary (c, "mul", x, x), 1, &axis, TRUE);
  /* Zeros remain zeros: their sum is raised from 0 to 1, whose root is 1. */
  sum = onnx_binary (c, "add", sum, onnx_cast (c, onnx_with_number (c, "eq", sum, 0), sum->type.dtype));
  onnx_out (c, 0, onnx_binary (c, "div", x, p == 1 ? sum : onnx_unary (c, "sqrt", sum)));
}

/* As a layer it drops during training only. That is also what is meant by an export in training mode, whose numbers are
 * random, unless the model computes with the elements that were dropped. */
static void
map_dropout (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0);
  const LoomTensor *ratio = onnx_const_or_null (c, 1), *training = onnx_const_or_null (c, 2);
  double p = ratio != NULL && ratio->count == 1 ? loom_tensor_get (ratio, 0) : onnx_attr_float (c, "ratio", 0.5);

  if (onnx_has (c, 2) && training == NULL)
    {
      onnx_const (c, 2, "training_mode");
      return;
    }
  if (training != NULL && training->count == 1 && loom_tensor_get (training, 0) != 0 && p > 0)
    {
      if (onnx_has_output (c, 1))
        {
          onnx_fail (c,
                     "its training_mode drops elements at random, and the model reads which; that is not supported.");
          return;
        }
      onnx_note_training (c->all);
    }
  onnx_out (c, 0, p > 0 && p <= 1 ? onnx_emit (c, "dropout", ONNX_IN (x), "p", onnx_number (c, p), NULL) : x);
  if (onnx_has_output (c, 1))
    onnx_out (c, 1,
              onnx_emit (c, "constant", 0, NULL, "value", "1", "shape", onnx_dims (c, &x->type.shape), "dtype",
                         onnx_opset (c) < 10 ? loom_dtype_name (x->type.dtype) : "bool", NULL));
}

const OnnxMap onnx_map_norm[] = {
  { "BatchNormalization", "batch_norm2d", map_batch_norm },
  { "InstanceNormalization", "group_norm", map_instance_norm },
  { "GroupNormalization", "group_norm", map_group_norm },
  { "LayerNormalization", "layer_norm", map_layer_norm },
  { "RMSNormalization", "rms_norm", map_rms_norm },
  /* onnxruntime's optimiser writes it into ONNX's own domain. */
  { "SimplifiedLayerNormalization", "rms_norm", map_rms_norm },
  { "LRN", "avg_pool2d", map_lrn },
  { "MeanVarianceNormalization", "mean", map_mean_variance },
  { "LpNormalization", "sum", map_lp_norm },
  { "Dropout", "dropout", map_dropout },
  { NULL },
};
