/* Tile: repeats a whole tensor along dimensions. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("dims", INTS, NULL), LOOM_RANGE (0, 1e15),
    .doc = "The number of repetitions of each dimension, counted from the right; more numbers than dimensions add "
           "leading dimensions." },
  { NULL },
};

/* A number for each dimension of the result, and how many there are, which may be too many. */
static guint
read_times (const LoomInfer *ctx, int rank, gint64 *times)
{
  gint64 given[LOOM_MAX_RANK];
  guint n = loom_infer_ints (ctx, "dims", given, LOOM_MAX_RANK), all = MAX (n, (guint)rank);

  for (guint i = 0; i < MIN (all, LOOM_MAX_RANK); i++)
    times[i] = i + n < all ? 1 : given[i + n - all];
  return all;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 times[LOOM_MAX_RANK];
  guint rank = read_times (ctx, x->shape.rank, times);
  LoomShape shape = { .rank = (int)rank };

  if (rank > LOOM_SHAPE_MAX_RANK)
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "dims", "dims has %u numbers; a tensor has at most %d dimensions.", rank,
                        LOOM_SHAPE_MAX_RANK);
      return;
    }
  for (int i = 0; i < shape.rank; i++)
    {
      int from = i - (shape.rank - x->shape.rank);

      shape.dim[i] = loom_dim_mul (from < 0 ? loom_dim (1) : x->shape.dim[from], loom_dim (times[i]));
    }
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue x = loom_lower_input (ctx, 0);
  LoomTensorDesc d = loom_op_desc (ctx, x);
  gint64 times[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  int rank = (int)read_times (loom_lower_infer (ctx), d.rank, times), lead = rank - d.rank;

  for (int i = 0; i < rank; i++)
    dims[i] = i < lead ? 1 : d.dim[i - lead];
  x = loom_reshape (p, x, rank, dims);
  for (int i = 0; i < rank; i++)
    x = loom_op_repeat (p, x, i, times[i], FALSE);
  loom_lower_output (ctx, 0, x);
}

static const LoomSample samples[] = {
  { .params = "dims=1,3", .inputs = { "f32:B,2" } },   { .params = "dims=2", .inputs = { "f32:2,3" } },
  { .params = "dims=2,1,3", .inputs = { "f32:2,3" } }, { .params = "dims=2,2", .inputs = { "f32:" } },
  { .params = "dims=0,2", .inputs = { "f32:2,3" } },   { NULL },
};

const LoomOp loom_op_tile = {
  .name = "tile",
  .title = "Tile",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-expand-symbolic",
  .doc = "Repeats a whole tensor along its dimensions.",
  .details = "With dims 1,2 the columns are repeated once more: 1 2 becomes 1 2 1 2. The gradient is summed over the "
             "copies. PyTorch calls it repeat, too.",
  .formula = "1 2 → 1 2 1 2",
  .reference = "torch.tile",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
