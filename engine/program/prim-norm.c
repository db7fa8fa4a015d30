/* Batch and layer normalisation, their gradients, and batch_norm_apply, which takes given statistics (Ioffe and Szegedy
 * 2015, section 3; Ba et al. 2016).
 *
 * Batch and layer norm compute x̂ = (x - mean)·rstd, scaled and shifted. They differ in the axes over which statistics
 * are taken and in the shape of the scale. One struct (Norm) describes both for all five expansions. */
#include "engine/program/partition-sharding.h"
#include "engine/program/position-rules.h"

#define ADD(a, b) loom_binary (p, LOOM_SCALAR_ADD, a, b)
#define SUB(a, b) loom_binary (p, LOOM_SCALAR_SUB, a, b)
#define MUL(a, b) loom_binary (p, LOOM_SCALAR_MUL, a, b)
#define DIV(a, b) loom_binary (p, LOOM_SCALAR_DIV, a, b)

/* The axes of statistics and scale, relative to x. */
typedef struct
{
  guint32 pooled;    /* axes over which a mean is taken */
  guint32 scale_sum; /* axes over which the gradient of a scale is summed */
  int stat_rank;     /* rank of mean and var as results */
  gint64 stat[LOOM_MAX_RANK];
  gint64 stat_dims[LOOM_MAX_RANK]; /* shape of the mean with size 1 on pooled axes, which broadcasts against x */
  int scale_rank;
  gint64 scale[LOOM_MAX_RANK];
  gint64 scale_wide[LOOM_MAX_RANK];
  double count; /* number of elements of a mean */
} Norm;

static Norm
layout_of (const LoomTensorDesc *x, const LoomNormAttrs *a, gboolean batch)
{
  Norm n = { .count = 1 };

  for (int i = 0; i < x->rank; i++)
    {
      gboolean pooled = batch ? i != 1 : i >= x->rank - a->axes;
      gboolean scaled = batch ? i == 1 : pooled;

      n.stat_dims[i] = pooled ? 1 : x->dim[i];
      n.scale_wide[i] = scaled ? x->dim[i] : 1;
      if (pooled)
        {
          n.pooled |= 1u << i;
          n.count *= (double)x->dim[i];
        }
      else
        n.stat[n.stat_rank++] = x->dim[i];
      if (scaled)
        n.scale[n.scale_rank++] = x->dim[i];
      else
        n.scale_sum |= 1u << i;
    }
  return n;
}

static gboolean
check_scale (const Norm *n, const LoomTensorDesc *scale, gboolean affine, char **why)
{
  LoomTensorDesc want = loom_desc_make (LOOM_F32, n->scale_rank, n->scale);

  if (affine != !desc_is_absent (scale) || (affine && !loom_desc_same_shape (scale, &want)))
    return loom_prim_refuse (why, "weight and bias do not match the normalised axes");
  return TRUE;
}

static gboolean
infer_norm (const LoomNormAttrs *a, gboolean batch, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out,
            guint *n_out, char **why)
{
  Norm n;

  if (!loom_prim_arity (n_in, 3, why))
    return FALSE;
  if (!loom_dtype_is_float (in[0].dtype) || (batch ? in[0].rank < 2 : a->axes < 1 || a->axes > in[0].rank))
    return loom_prim_refuse (why, "cannot normalise rank %d", in[0].rank);
  n = layout_of (&in[0], a, batch);
  if (!check_scale (&n, &in[1], a->affine, why) || !check_scale (&n, &in[2], a->affine, why))
    return FALSE;
  out[0] = in[0];
  out[1] = out[2] = loom_desc_make (dtype_computed (in[0].dtype), n.stat_rank, n.stat);
  *n_out = 3;
  return TRUE;
}

/* g, x, mean, var or rstd, [weight] → dx, [dweight, dbias] */
static gboolean
infer_norm_grad (const LoomNormAttrs *a, gboolean batch, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out,
                 guint *n_out, char **why)
{
  Norm n;

  if (!loom_prim_arity (n_in, 5, why))
    return FALSE;
  n = layout_of (&in[1], a, batch);
  if (!loom_desc_same_shape (&in[0], &in[1]) || in[2].rank != n.stat_rank || in[3].rank != n.stat_rank)
    return loom_prim_refuse (why, "the shapes of g, x and the statistics do not match");
  if (!check_scale (&n, &in[4], a->affine, why))
    return FALSE;
  out[0] = in[1];
  if (a->affine)
    out[1] = out[2] = loom_desc_make (dtype_computed (in[1].dtype), n.scale_rank, n.scale);
  *n_out = a->affine ? 3 : 1;
  return TRUE;
}

static gboolean
infer_batch (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  return infer_norm (attrs, TRUE, n_in, in, out, n_out, why);
}

static gboolean
infer_batch_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  return infer_norm_grad (attrs, TRUE, n_in, in, out, n_out, why);
}

/* x, mean, var, weight, bias → y */
static gboolean
infer_batch_apply (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                   char **why)
{
  const LoomNormAttrs *a = attrs;
  Norm n;

  if (!loom_prim_arity (n_in, 5, why))
    return FALSE;
  if (!loom_dtype_is_float (in[0].dtype) || in[0].rank < 2)
    return loom_prim_refuse (why, "cannot normalise rank %d", in[0].rank);
  n = layout_of (&in[0], a, TRUE);
  if (in[1].rank != n.stat_rank || in[2].rank != n.stat_rank)
    return loom_prim_refuse (why, "the shapes of x and the statistics do not match");
  if (!check_scale (&n, &in[3], a->affine, why) || !check_scale (&n, &in[4], a->affine, why))
    return FALSE;
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

static gboolean
infer_layer (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  return infer_norm (attrs, FALSE, n_in, in, out, n_out, why);
}

static gboolean
infer_layer_grad (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  return infer_norm_grad (attrs, FALSE, n_in, in, out, n_out, why);
}

/* ---- gradients -------------------------------------------------------- */

/* Adds the gradients of x through its statistics. mean: g/n for each element; var: 2(x - mean)/n·g; rstd = (var +
 * eps)^-½: -rstd³(x - mean)/n·g. */
static LoomValue
add_statistics_gradient (const LoomGradCall *call, const Norm *n, gboolean batch)
{
  LoomProgram *p = call->p;
  LoomValue x = call->instr->in[0], sum = 0;
  LoomTensorDesc d = *value_desc (p, x);
  LoomValue mean = loom_reshape (p, call->instr->out[1], d.rank, n->stat_dims);

  if (call->grad[1] != 0)
    {
      LoomValue g = loom_reshape (p, call->grad[1], d.rank, n->stat_dims);

      sum = loom_expand_to (p, DIV (g, loom_const (p, d.dtype, n->count)), d.rank, d.dim);
    }
  if (call->grad[2] != 0)
    {
      LoomValue g = loom_reshape (p, call->grad[2], d.rank, n->stat_dims), v;

      if (!batch)
        {
          LoomValue rstd = loom_reshape (p, call->instr->out[2], d.rank, n->stat_dims);

          g = MUL (g, MUL (loom_unary (p, LOOM_SCALAR_SQUARE, rstd), rstd));
        }
      v = MUL (SUB (x, mean), MUL (g, loom_const (p, d.dtype, (batch ? 2.0 : -1.0) / n->count)));
      sum = sum == 0 ? v : ADD (sum, v);
    }
  return loom_cast (p, sum, d.dtype);
}

static gboolean
gradient_norm (const LoomGradCall *call, gboolean batch)
{
  const LoomNormAttrs *a = call->instr->attrs;
  const LoomInstr *instr = call->instr;
  LoomProgram *p = call->p;
  Norm n = layout_of (value_desc (p, instr->in[0]), a, batch);

  if (call->grad[0] != 0)
    {
      LoomValue in[5] = { call->grad[0], instr->in[0], instr->out[1], instr->out[2], a->affine ? instr->in[1] : 0 };
      LoomValue out[3];

      loom_emit (p, loom_prim (batch ? "batch_norm_grad" : "layer_norm_grad"), a, 5, in, out);
      call->in_grad[0] = out[0];
      if (a->affine)
        {
          call->in_grad[1] = out[1];
          call->in_grad[2] = out[2];
        }
    }
  if (call->needed[0] && (call->grad[1] != 0 || call->grad[2] != 0))
    {
      LoomValue v = add_statistics_gradient (call, &n, batch);

      call->in_grad[0] = call->in_grad[0] == 0 ? v : ADD (call->in_grad[0], v);
    }
  return TRUE;
}

static gboolean
gradient_batch (const LoomGradCall *call)
{
  return gradient_norm (call, TRUE);
}

static gboolean
gradient_layer (const LoomGradCall *call)
{
  return gradient_norm (call, FALSE);
}

/* ---- expansions -------------------------------------------------------
 *
 * 16-bit operands are converted to f32 as in the kernels, and statistics are f32. */

static void
expand_norm (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out, gboolean batch)
{
  const LoomNormAttrs *a = instr->attrs;
  LoomTensorDesc x = *value_desc (p, in[0]);
  LoomDType wide = dtype_computed (x.dtype);
  Norm n = layout_of (&x, a, batch);
  LoomValue from = loom_cast (p, in[0], wide), count = loom_const (p, wide, n.count);
  LoomValue mean = DIV (loom_reduce (p, LOOM_REDUCE_SUM, from, n.pooled, TRUE), count);
  LoomValue centred = SUB (from, mean);
  LoomValue var
      = DIV (loom_reduce (p, LOOM_REDUCE_SUM, loom_unary (p, LOOM_SCALAR_SQUARE, centred), n.pooled, TRUE), count);
  LoomValue rstd = loom_unary (p, LOOM_SCALAR_RSQRT, ADD (var, loom_const (p, wide, a->eps)));
  LoomValue y = MUL (centred, rstd);

  if (a->affine)
    y = ADD (MUL (y, loom_reshape (p, in[1], x.rank, n.scale_wide)), loom_reshape (p, in[2], x.rank, n.scale_wide));
  out[0] = loom_cast (p, y, x.dtype);
  out[1] = loom_reshape (p, mean, n.stat_rank, n.stat);
  out[2] = loom_reshape (p, batch ? var : rstd, n.stat_rank, n.stat);
}

/* dx = rstd·(gw - mean(gw) - x̂·mean(gw·x̂)) with gw = g·weight. */
static void
expand_norm_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out, gboolean batch)
{
  const LoomNormAttrs *a = instr->attrs;
  LoomTensorDesc x = *value_desc (p, in[1]);
  LoomDType wide = dtype_computed (x.dtype);
  Norm n = layout_of (&x, a, batch);
  LoomValue from = loom_cast (p, in[1], wide), g = loom_cast (p, in[0], wide);
  LoomValue count = loom_const (p, wide, n.count), gw = g, mean_gw, mean_gwx;
  LoomValue mean = loom_reshape (p, in[2], x.rank, n.stat_dims), rstd = loom_reshape (p, in[3], x.rank, n.stat_dims);
  LoomValue normed;

  if (batch)
    rstd = loom_unary (p, LOOM_SCALAR_RSQRT, ADD (rstd, loom_const (p, wide, a->eps)));
  normed = MUL (SUB (from, mean), rstd);
  if (a->affine)
    gw = MUL (g, loom_reshape (p, in[4], x.rank, n.scale_wide));
  mean_gw = DIV (loom_reduce (p, LOOM_REDUCE_SUM, gw, n.pooled, TRUE), count);
  mean_gwx = DIV (loom_reduce (p, LOOM_REDUCE_SUM, MUL (gw, normed), n.pooled, TRUE), count);
  out[0] = loom_cast (p, MUL (rstd, SUB (SUB (gw, mean_gw), MUL (normed, mean_gwx))), x.dtype);
  if (a->affine)
    {
      out[1] = loom_reshape (p, loom_reduce (p, LOOM_REDUCE_SUM, MUL (g, normed), n.scale_sum, TRUE), n.scale_rank,
                             n.scale);
      out[2] = loom_reshape (p, loom_reduce (p, LOOM_REDUCE_SUM, g, n.scale_sum, TRUE), n.scale_rank, n.scale);
    }
}

static void
expand_batch (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  expand_norm (p, instr, in, out, TRUE);
}

static void
expand_batch_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  expand_norm_grad (p, instr, in, out, TRUE);
}

static void
expand_batch_apply (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  const LoomNormAttrs *a = instr->attrs;
  LoomTensorDesc x = *value_desc (p, in[0]);
  LoomDType wide = dtype_computed (x.dtype);
  Norm n = layout_of (&x, a, TRUE);
  LoomValue mean = loom_reshape (p, in[1], x.rank, n.stat_dims), var = loom_reshape (p, in[2], x.rank, n.stat_dims);
  LoomValue rstd = loom_unary (p, LOOM_SCALAR_RSQRT, ADD (var, loom_const (p, wide, a->eps)));
  LoomValue y = MUL (SUB (loom_cast (p, in[0], wide), mean), rstd);

  if (a->affine)
    y = ADD (MUL (y, loom_reshape (p, in[3], x.rank, n.scale_wide)), loom_reshape (p, in[4], x.rank, n.scale_wide));
  out[0] = loom_cast (p, y, x.dtype);
}

static void
expand_layer (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  expand_norm (p, instr, in, out, FALSE);
}

static void
expand_layer_grad (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  expand_norm_grad (p, instr, in, out, FALSE);
}

/* ---- listings --------------------------------------------------------- */

static double
flops_norm (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 8.0 * (double)loom_desc_count (&out[0]);
}

static const LoomAttr norm_attrs[]
    = { LOOM_ATTR ("eps", NUMBER, LoomNormAttrs, eps), LOOM_ATTR (NULL, INT, LoomNormAttrs, axes),
        LOOM_ATTR ("affine", FLAG, LoomNormAttrs, affine), LOOM_ATTR ("act", SCALAR, LoomNormAttrs, act),
        LOOM_ATTR_LAST };

/* What the norms have in common. */
#define NORM .tier = LOOM_TIER_COMPOSITE, .attrs_size = sizeof (LoomNormAttrs), .attrs = norm_attrs, .flops = flops_norm

const LoomPrim loom_prim_batch_norm
    = { NORM,
        .name = "batch_norm",
        .doc = "Normalises each channel to mean 0 and variance 1 over the batch; also returns mean and variance.",
        .max_out = 3,
        .infer = infer_batch,
        .gradient = gradient_batch,
        .expand = expand_batch,
        .precision = LOOM_PRECISION_NORM,
        .sharding = loom_shard_batch_norm };

const LoomPrim loom_prim_batch_norm_grad = { NORM,
                                             .name = "batch_norm_grad",
                                             .doc = "The gradient of batch_norm.",
                                             .max_out = 3,
                                             .infer = infer_batch_grad,
                                             .expand = expand_batch_grad,
                                             .sharding = loom_shard_batch_norm_grad };

const LoomPrim loom_prim_batch_norm_apply = { NORM,
                                              .name = "batch_norm_apply",
                                              .doc = "batch_norm with given statistics.",
                                              .max_out = 1,
                                              .infer = infer_batch_apply,
                                              .expand = expand_batch_apply,
                                              .precision = LOOM_PRECISION_NORM,
                                              .sharding = loom_shard_batch_norm_apply,
                                              .separates_positions = loom_positions_by_channel };

const LoomPrim loom_prim_layer_norm
    = { NORM,
        .name = "layer_norm",
        .doc = "Normalises each sample to mean 0 and variance 1 over its last axes; also returns mean and 1/deviation.",
        .flags = LOOM_PRIM_ONE_PASS,
        .max_out = 3,
        .infer = infer_layer,
        .gradient = gradient_layer,
        .expand = expand_layer,
        .precision = LOOM_PRECISION_NORM,
        .sharding = loom_shard_layer_norm,
        .separates_positions = loom_positions_layer_norm };

const LoomPrim loom_prim_layer_norm_grad = { NORM,
                                             .name = "layer_norm_grad",
                                             .doc = "The gradient of layer_norm.",
                                             .max_out = 3,
                                             .infer = infer_layer_grad,
                                             .expand = expand_layer_grad,
                                             .sharding = loom_shard_layer_norm_grad };
