/* Multinomial: indices drawn with given weights, as torch.multinomial. */
#include "engine/ops/family-random.h"

#include <inttypes.h>

static const LoomPortSpec inputs[] = {
  { "input", "Weights [ …, n], not negative; they need not sum to 1." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM_FRESH ("num_samples", INT, "1"), LOOM_RANGE (1, 1e9), .doc = "The number of indices to draw." },
  { LOOM_PARAM ("replacement", BOOL, "false"), .doc = "Whether an index can be drawn several times." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  LoomShape shape = loom_infer_input (ctx, 0)->shape;
  gint64 n = loom_infer_int (ctx, "num_samples");
  LoomDim size;

  if (!loom_op_needs_float (ctx, 0, "input", "draws by weights")
      || !loom_op_rank (ctx, 0, "input", 1, 2, "weights [n] or [m, n]", "Put a reshape before it."))
    return;
  size = shape.dim[shape.rank - 1];
  if (loom_dim_is_known (size) && (size.coef == 0 || (size.coef < n && !loom_infer_bool (ctx, "replacement"))))
    {
      LoomFault *fault
          = loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "num_samples",
                              "Of %" PRId64 " indices, %" PRId64 " cannot be drawn without replacement.", size.coef, n);

      if (size.coef > 0)
        loom_fault_set_fix (fault, "replacement", "true", "Draw with replacement.");
      return;
    }
  shape.dim[shape.rank - 1] = loom_dim (n);
  loom_infer_output (ctx, 0, LOOM_I64, &shape);
}

static LoomValue
no (LoomProgram *p, LoomValue condition)
{
  return loom_unary (p, LOOM_SCALAR_NOT, condition);
}

/* The first index at which the cumulative sum of the weights exceeds a uniform random part of the total. The part is
 * below 1 by two units in the last place, so that rounding cannot reach the end. */
static LoomValue
with_replacement (LoomLower *ctx, LoomValue w, gint64 rows, gint64 n, gint64 samples)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_desc (ctx, w).dtype;
  LoomValue sums = loom_cumsum (p, w, 1, FALSE, FALSE), u, total;

  u = loom_lower_random (ctx, LOOM_RANDOM_UNIFORM, 0, 3, (gint64[]){ rows, samples, 1 });
  u = loom_binary (p, LOOM_SCALAR_MIN, u, loom_const (p, dtype, 1 - 1.0 / 8388608));
  total = loom_slice (p, sums, (gint64[]){ 0, n - 1 }, NULL, (gint64[]){ rows, 1 });
  u = loom_binary (p, LOOM_SCALAR_MUL, u, loom_reshape (p, total, 3, (gint64[]){ rows, 1, 1 }));
  sums = loom_binary (p, LOOM_SCALAR_LE, loom_reshape (p, sums, 3, (gint64[]){ rows, 1, n }), u);
  return loom_reduce (p, LOOM_REDUCE_SUM, loom_cast (p, sums, LOOM_I64), 1u << 2, FALSE);
}

/* Each index gets an exponential random number with its weight as the rate; the indices of the smallest numbers are
 * drawn (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). A weight of 0 has an infinite
 * number. */
static LoomValue
without_replacement (LoomLower *ctx, LoomValue w, gint64 rows, gint64 n, gint64 samples)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue wait = loom_lower_random (ctx, LOOM_RANDOM_EXPONENTIAL, 0, 2, (gint64[]){ rows, n }), where, enough;

  enough = loom_reduce (p, LOOM_REDUCE_SUM,
                        loom_cast (p, loom_binary (p, LOOM_SCALAR_GT, w, loom_op_const_like (ctx, w, 0)), LOOM_I64),
                        1u << 1, FALSE);
  w = loom_require (p, w, loom_binary (p, LOOM_SCALAR_GE, enough, loom_const (p, LOOM_I64, (double)samples)),
                    "fewer weights are above 0 than indices are to be drawn");
  loom_sort (p, loom_binary (p, LOOM_SCALAR_DIV, wait, w), 1, FALSE, &where);
  return loom_slice (p, where, (gint64[]){ 0, 0 }, NULL, (gint64[]){ rows, samples });
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue w = loom_cast (p, loom_lower_input (ctx, 0), loom_program_get_float (p)), zero, y, wrong;
  LoomTensorDesc d = loom_op_desc (ctx, w);
  gint64 n = d.dim[d.rank - 1], rows = d.rank == 2 ? d.dim[0] : 1, samples = loom_infer_int (infer_ctx, "num_samples");
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  zero = loom_op_const_like (ctx, w, 0);
  wrong = loom_binary (p, LOOM_SCALAR_OR, no (p, loom_binary (p, LOOM_SCALAR_GE, w, zero)),
                       loom_unary (p, LOOM_SCALAR_ISINF, w));
  w = loom_require (p, w, no (p, wrong), "a weight is negative, infinite or NaN");
  w = loom_reshape (p, w, 2, (gint64[]){ rows, n });
  w = loom_require (p, w, loom_binary (p, LOOM_SCALAR_GT, loom_reduce (p, LOOM_REDUCE_SUM, w, 1u << 1, FALSE), zero),
                    "all weights are 0");
  y = loom_infer_bool (infer_ctx, "replacement") ? with_replacement (ctx, w, rows, n, samples)
                                                 : without_replacement (ctx, w, rows, n, samples);
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
}

static const LoomSample samples[] = {
  { .params = "num_samples=2", .inputs = { "f32:5" }, .range = "positive" },
  { .params = "num_samples=7 replacement=true", .inputs = { "f32:B,3" }, .range = "positive" },
  { .params = "num_samples=3", .inputs = { "f32:B,3" }, .range = "positive" },
  { .params = "num_samples=1", .inputs = { "f32:0,3" }, .range = "positive" },
  { NULL },
};

const LoomOp loom_op_multinomial = {
  .name = "multinomial",
  .title = "Multinomial",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-multinomial-symbolic",
  .doc = "Draws indices with probabilities proportional to weights.",
  .details = "For example, it samples the next token from a softmax. Without replacement no index is drawn twice; the "
             "indices are in the order of drawing. A weight that is negative, infinite or NaN, and a row of zeros, are "
             "errors that report their index. Not differentiable; gumbel_softmax has a gradient.",
  .formula = "P (y = i) = wᵢ / Σ w",
  .reference = "torch.multinomial",
  .source
  = "Efraimidis and Spirakis, “Weighted Random Sampling with a Reservoir”, Information Processing Letters 97, 2006",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
