/* Lowers batch norm and instance norm over any number of dimensions, and what the other norms share.
 *
 * A batch norm is a primitive. An instance norm is a layer norm over the elements of each channel or, with running
 * statistics, a batch norm of N·C channels. Scale and shift of a channel are then one multiply-add. */
#include "engine/ops/op-layers.h"

#include <inttypes.h>

const char *const loom_op_norm_buffers[] = { "running_mean", "running_var", "num_batches_tracked", NULL };

#define TIES                                                                                                           \
  { "weight", "Ties the scale γ to another tensor [channels].", LOOM_PORT_WEIGHT },                                    \
      { "bias", "Ties the shift β to another tensor [channels].", LOOM_PORT_WEIGHT },                                  \
  {                                                                                                                    \
    NULL                                                                                                               \
  }
const LoomPortSpec loom_op_port_norm[LOOM_MAX_SPACE][4] = {
  { LOOM_OP_SPACE_1, TIES },
  { LOOM_OP_SPACE_2, TIES },
  { LOOM_OP_SPACE_3, TIES },
};

/* ---- over the last dimensions ------------------------------------------ */

int
loom_op_n_features (const LoomInfer *ctx)
{
  gint64 given[LOOM_SHAPE_MAX_RANK];

  if (!loom_infer_is_set (ctx, "normalized_shape"))
    return 1;
  return (int)loom_infer_ints (ctx, "normalized_shape", given, G_N_ELEMENTS (given));
}

/* The sizes of those dimensions. FALSE with a fault if the sizes of the input differ or are not known. */
static gboolean
features_of (LoomInfer *ctx, LoomShape *features)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 given[LOOM_SHAPE_MAX_RANK], size[LOOM_SHAPE_MAX_RANK];
  int axes = loom_op_n_features (ctx);

  if (!loom_op_rank (ctx, 0, "input", MAX (axes, 1), LOOM_SHAPE_MAX_RANK,
                     axes > 1 ? "at least as many dimensions as normalized_shape" : "features in the last dimension",
                     "Put a reshape before it.")
      || !loom_op_needs_float (ctx, 0, "input", NULL))
    return FALSE;
  if (loom_infer_is_set (ctx, "normalized_shape"))
    loom_infer_ints (ctx, "normalized_shape", given, G_N_ELEMENTS (given));
  for (int i = 0; i < axes; i++)
    {
      LoomDim d = x->shape.dim[x->shape.rank - axes + i];

      if (!loom_op_plain_dim (ctx, d, "each feature", &size[i]))
        return FALSE;
      if (loom_infer_is_set (ctx, "normalized_shape") && given[i] != size[i])
        {
          g_autofree char *text = loom_shape_to_string (&x->shape);

          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "normalized_shape",
                            "normalized_shape has %" PRId64 " where the input %s has %" PRId64
                            ". Leave it empty to normalise over the last dimension.",
                            given[i], text, size[i]);
          return FALSE;
        }
    }
  *features = loom_shape (axes, size);
  return TRUE;
}

void
loom_op_infer_feature_norm (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomWeightSpec weight = { .name = "weight", .init = { .kind = LOOM_INIT_CONSTANT, .a = 1 }, .dtype = LOOM_F32 };
  LoomWeightSpec bias = { .name = "bias", .init = { .kind = LOOM_INIT_ZEROS }, .dtype = LOOM_F32 };
  LoomShape features;

  if (!features_of (ctx, &features))
    return;
  weight.shape = bias.shape = features;
  if (loom_infer_bool (ctx, "elementwise_affine"))
    {
      loom_infer_weight (ctx, &weight);
      if (loom_op_has_param (loom_infer_op (ctx), "bias") && loom_infer_bool (ctx, "bias"))
        loom_infer_weight (ctx, &bias);
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

/* ---- parameters ------------------------------------------------------- */

/* FALSE if the momentum is neither a number from 0 to 1 nor “none”, which is represented by a negative one. */
static gboolean
momentum_of (const LoomInfer *ctx, double *momentum)
{
  const char *text = loom_infer_string (ctx, "momentum");
  char *end;

  *momentum = -1;
  if (g_ascii_strcasecmp (text, "none") == 0)
    return TRUE;
  *momentum = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && *momentum >= 0 && *momentum <= 1;
}

void
loom_op_infer_channel_norm (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  const LoomInit one = { .kind = LOOM_INIT_CONSTANT, .a = 1 }, zero = { .kind = LOOM_INIT_ZEROS };
  LoomShape channels, scalar = loom_shape_scalar ();
  double momentum;
  gint64 c;

  if (!loom_op_plain_dim (ctx, x->shape.dim[1], "each channel", &c))
    return;
  if (!momentum_of (ctx, &momentum))
    {
      loom_fault_set_fix (loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "momentum",
                                            "A momentum of “%s” is neither a number from 0 to 1 nor “none”.",
                                            loom_infer_string (ctx, "momentum")),
                          "momentum", "0.1", "Use 0.1.");
      return;
    }
  channels = loom_shape (1, &c);
  if (loom_infer_bool (ctx, "affine"))
    {
      loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "weight", .shape = channels, .init = one, .dtype = LOOM_F32 });
      loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "bias", .shape = channels, .init = zero, .dtype = LOOM_F32 });
    }
  if (loom_infer_bool (ctx, "track_running_stats"))
    {
      loom_infer_weight (
          ctx, &(LoomWeightSpec){
                   .name = "running_mean", .shape = channels, .init = zero, .is_buffer = TRUE, .dtype = LOOM_F32 });
      loom_infer_weight (
          ctx, &(LoomWeightSpec){
                   .name = "running_var", .shape = channels, .init = one, .is_buffer = TRUE, .dtype = LOOM_F32 });
      loom_infer_weight (
          ctx,
          &(LoomWeightSpec){
              .name = "num_batches_tracked", .shape = scalar, .init = zero, .is_buffer = TRUE, .dtype = LOOM_I64 });
    }
  loom_infer_output (ctx, 0, x->dtype, &x->shape);
}

/* ---- running statistics ----------------------------------------------- */

/* (1 - momentum)·old + momentum·new, for a momentum that may be a value. */
static LoomValue
moved (LoomProgram *p, LoomValue old, LoomValue new, LoomValue momentum)
{
  LoomValue one = loom_const (p, loom_value_info (p, old)->desc.dtype, 1);

  return loom_binary (p, LOOM_SCALAR_ADD,
                      loom_binary (p, LOOM_SCALAR_MUL, old, loom_binary (p, LOOM_SCALAR_SUB, one, momentum)),
                      loom_binary (p, LOOM_SCALAR_MUL, new, momentum));
}

/* Updates the running mean and variance; the stored variance is the unbiased one, of `count` values. */
static void
track (LoomLower *ctx, LoomValue mean, LoomValue var, double count, LoomValue momentum)
{
  LoomProgram *p = loom_lower_program (ctx);
  /* A single value has no unbiased variance. Only a program that takes no step can have such a batch, and its result
   * is not used. */
  double unbiased = count > 1 ? count / (count - 1) : 1;

  var = loom_binary (p, LOOM_SCALAR_MUL, var, loom_op_const_like (ctx, var, unbiased));
  loom_lower_commit (ctx, "running_mean", moved (p, loom_lower_weight (ctx, "running_mean"), mean, momentum));
  loom_lower_commit (ctx, "running_var", moved (p, loom_lower_weight (ctx, "running_var"), var, momentum));
}

/* [C] as [C,1,…], to broadcast with a tensor of that rank whose axis 1 is the channels. */
static LoomValue
like_channels (LoomProgram *p, LoomValue v, int rank)
{
  gint64 dims[LOOM_MAX_RANK] = { loom_value_info (p, v)->desc.dim[0], 1, 1, 1, 1, 1, 1, 1 };

  return loom_reshape (p, v, rank - 1, dims);
}

LoomValue
loom_op_scale_channels (LoomProgram *p, LoomValue v, LoomValue weight, LoomValue bias)
{
  int rank = loom_value_info (p, v)->desc.rank;

  if (weight != 0 && bias != 0)
    return loom_ternary (p, LOOM_SCALAR_FMA, v, like_channels (p, weight, rank), like_channels (p, bias, rank));
  if (weight != 0)
    return loom_binary (p, LOOM_SCALAR_MUL, v, like_channels (p, weight, rank));
  return bias != 0 ? loom_binary (p, LOOM_SCALAR_ADD, v, like_channels (p, bias, rank)) : v;
}

/* Evaluation: y = x·a + b for each channel, with a = weight/√(var + eps) and b = bias - mean·a. */
static LoomValue
with_running (LoomLower *ctx, LoomValue x, LoomValue weight, LoomValue bias)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue eps = loom_op_const_like (ctx, x, loom_infer_float (loom_lower_infer (ctx), "eps"));
  LoomValue a, b;

  a = loom_unary (p, LOOM_SCALAR_RSQRT, loom_binary (p, LOOM_SCALAR_ADD, loom_lower_weight (ctx, "running_var"), eps));
  if (weight != 0)
    a = loom_binary (p, LOOM_SCALAR_MUL, a, weight);
  b = loom_unary (p, LOOM_SCALAR_NEG, loom_binary (p, LOOM_SCALAR_MUL, loom_lower_weight (ctx, "running_mean"), a));
  if (bias != 0)
    b = loom_binary (p, LOOM_SCALAR_ADD, b, bias);
  return loom_op_scale_channels (p, x, a, b);
}

/* ---- batch norm ------------------------------------------------------- */

const char *
loom_op_batch_norm_untrainable (const LoomInfer *ctx)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK], count = 1;
  const LoomShape *shape = &loom_infer_input (ctx, 0)->shape;

  loom_shape_get (shape, dims);
  for (int i = 0; i < shape->rank; i++)
    count *= i == 1 ? 1 : dims[i];
  return count != 1 ? NULL
                    : "one value per channel: it is its own mean, so the output is constant and the layers before it "
                      "get no gradient. Make batch_size larger, or use layer_norm instead.";
}

void
loom_op_lower_batch_norm (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), out[3], seen;
  LoomValue in[3] = { x, loom_lower_weight (ctx, "weight"), loom_lower_weight (ctx, "bias") };
  gboolean tracked = loom_infer_bool (infer, "track_running_stats");
  LoomNormAttrs attrs = { .eps = loom_infer_float (infer, "eps"), .affine = in[1] != 0 };
  LoomTensorDesc d = loom_op_desc (ctx, x);
  double momentum;

  if (!loom_lower_is_training (ctx) && tracked)
    {
      loom_lower_output (ctx, 0, with_running (ctx, x, in[1], in[2]));
      return;
    }
  loom_emit (p, loom_prim ("batch_norm"), &attrs, 3, in, out);
  if (loom_lower_is_training (ctx) && tracked)
    {
      momentum_of (infer, &momentum);
      seen = loom_binary (p, LOOM_SCALAR_ADD, loom_lower_weight (ctx, "num_batches_tracked"),
                          loom_const (p, LOOM_I64, 1));
      loom_lower_commit (ctx, "num_batches_tracked", seen);
      /* Without a momentum all batches have the same weight: the newest of n changes the mean by 1/n. An empty batch
       * is counted but changes nothing. */
      if (loom_desc_count (&d) > 0)
        track (ctx, out[1], out[2], (double)loom_desc_count (&d) / (double)MAX (d.dim[1], 1),
               momentum >= 0 ? loom_const (p, d.dtype, momentum)
                             : loom_unary (p, LOOM_SCALAR_RECIP, loom_cast (p, seen, d.dtype)));
    }
  loom_lower_output (ctx, 0, out[0]);
}

/* ---- instance norm ---------------------------------------------------- */

LoomValue
loom_op_normalise (LoomProgram *p, LoomValue v, int axes, double eps)
{
  LoomNormAttrs attrs = { .eps = eps, .axes = axes };
  LoomValue in[3] = { v, 0, 0 };

  return loom_emit (p, loom_prim ("layer_norm"), &attrs, 3, in, NULL);
}

/* The means over the batch of a statistic of each instance, [N·C] → [C]. */
static LoomValue
mean_over_batch (LoomProgram *p, LoomValue v, gint64 n, gint64 c)
{
  LoomDType dtype = loom_value_info (p, v)->desc.dtype;

  v = loom_reduce (p, LOOM_REDUCE_SUM, loom_reshape (p, v, 2, (gint64[]){ n, c }), 1u << 0, FALSE);
  return loom_binary (p, LOOM_SCALAR_DIV, v, loom_const (p, dtype, (double)n));
}

const char *
loom_op_instance_norm_untrainable (const LoomInfer *ctx)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK], places = 1;
  const LoomShape *shape = &loom_infer_input (ctx, 0)->shape;

  loom_shape_get (shape, dims);
  for (int i = 2; i < shape->rank; i++)
    places *= dims[i];
  return places != 1 ? NULL
                     : "one element per channel and sample: it is its own mean, so the output is constant and the "
                       "layers before it get no gradient. Put it before the layer that makes the input so small, or "
                       "use layer_norm instead.";
}

void
loom_op_lower_instance_norm (LoomLower *ctx)
{
  const LoomInfer *infer = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0), weight = loom_lower_weight (ctx, "weight");
  LoomValue bias = loom_lower_weight (ctx, "bias"), y;
  gboolean tracked = loom_infer_bool (infer, "track_running_stats");
  LoomNormAttrs attrs = { .eps = loom_infer_float (infer, "eps") };
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 n = d.dim[0], c = d.dim[1], places = loom_desc_count (&d) / MAX (n * c, 1);

  if (tracked && !loom_lower_is_training (ctx))
    {
      loom_lower_output (ctx, 0, with_running (ctx, x, weight, bias));
      return;
    }
  if (tracked)
    {
      LoomValue in[3] = { loom_reshape (p, x, 3, (gint64[]){ 1, n * c, places }), 0, 0 }, out[3];
      double momentum;

      /* PyTorch does not count batches here, so without a momentum the statistics never change. */
      momentum_of (infer, &momentum);
      y = loom_emit (p, loom_prim ("batch_norm"), &attrs, 3, in, out);
      track (ctx, mean_over_batch (p, out[1], n, c), mean_over_batch (p, out[2], n, c), (double)places,
             loom_const (p, d.dtype, MAX (momentum, 0)));
    }
  else
    y = loom_op_normalise (p, loom_reshape (p, x, 2, (gint64[]){ n * c, places }), 1, attrs.eps);
  loom_lower_output (ctx, 0, loom_op_scale_channels (p, loom_reshape (p, y, d.rank, d.dim), weight, bias));
}

double
loom_op_norm_flops (const LoomInfer *ctx)
{
  return 8 * loom_op_output_count (ctx, 0);
}
