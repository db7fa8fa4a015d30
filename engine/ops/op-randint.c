/* Randint: random integers, as torch.randint. */
#include "engine/ops/family-random.h"

#include <inttypes.h>

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("low", INT, "0"), LOOM_RANGE (-4e15, 4e15), .doc = "The smallest integer that can be drawn." },
  { LOOM_PARAM_FRESH ("high", INT, "10"), LOOM_RANGE (-4e15, 4e15), .doc = "The upper bound, which is excluded." },
  { LOOM_PARAM ("shape", SHAPE, ""),
    .doc = "The sizes of the dimensions. If not set: those of the tensor wired into “like”, else a scalar." },
  { LOOM_PARAM ("dtype", DTYPE, "i64"), .doc = "The type of the elements.", .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  gint64 low = loom_infer_int (ctx, "low"), high = loom_infer_int (ctx, "high");

  if (low >= high)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "high",
                        "There is no integer from %" PRId64 " up to, but not including, %" PRId64 ". Make high larger.",
                        low, high);
      return;
    }
  loom_op_infer_filled (ctx);
}

static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  gint64 low = loom_infer_int (infer_ctx, "low"), n = loom_infer_int (infer_ctx, "high") - low, dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomValue y = loom_lower_random_int (ctx, 0, rank, dims);

  y = loom_binary (p, LOOM_SCALAR_MOD, y, loom_const (p, LOOM_I64, (double)n));
  loom_op_put_drawn (ctx, loom_binary (p, LOOM_SCALAR_ADD, y, loom_const (p, LOOM_I64, (double)low)));
}

static const LoomSample samples[] = {
  { .params = "high=10 shape=B,3" },
  { .params = "low=-3 high=4", .inputs = { "f32:B,2" } },
  { .params = "high=2 shape=3 dtype=f32" },
  { .params = "high=256 shape=0,3 dtype=u8" },
  { .params = "high=5" },
  { NULL },
};

const LoomOp loom_op_randint = {
  .name = "randint",
  .title = "Random integers",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-randint-symbolic",
  .doc = "Draws random integers with equal probability from low up to, but not including, high.",
  .details = "Examples are random class labels, row indices, and time steps of diffusion. Each step, also of an "
             "evaluation, draws new numbers, which depend only on the seed and the step.",
  .formula = "y ~ U{low, …, high − 1}",
  .reference = "torch.randint",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
