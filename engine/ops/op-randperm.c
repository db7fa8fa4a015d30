/* Randperm: a random permutation of 0 … n-1, as torch.randperm. */
#include "engine/ops/family-random.h"

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("n", INT, ""), LOOM_RANGE (0, 1e9), .doc = "The number of elements n; not used if “like” is wired." },
  { LOOM_OP_DIM ("dim"), .def = "0", .doc = "The dimension of “like” whose size is n; 0 is the batch." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *like = loom_infer_input (ctx, 0);
  LoomShape shape = { .rank = 1 };
  int axis;

  if ((like != NULL) == loom_infer_is_set (ctx, "n"))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SCHEMA, "n",
                        "randperm needs a length: give n, or wire a tensor into “like”, but not both.")
          ->is_todo
          = like == NULL;
      return;
    }
  if (like == NULL)
    shape.dim[0] = loom_dim (loom_infer_int (ctx, "n"));
  else if (!loom_op_rank (ctx, 0, "like", 1, LOOM_SHAPE_MAX_RANK, "a tensor with at least one dimension",
                          "A scalar has no size.")
           || !loom_op_axis (ctx, "dim", loom_infer_int (ctx, "dim"), like->shape.rank, &axis))
    return;
  else
    shape.dim[0] = like->shape.dim[axis];
  loom_infer_output (ctx, 0, LOOM_I64, &shape);
}

/* The order that sorts random numbers of 63 bits, which are hardly ever equal. */
static void
lower (LoomLower *ctx)
{
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);
  LoomValue indices;

  loom_sort (loom_lower_program (ctx), loom_lower_random_int (ctx, 0, rank, dims), 0, FALSE, &indices);
  loom_lower_output (ctx, 0, indices);
}

static const LoomSample samples[] = {
  { .params = "n=5" },
  { .params = "n=0" },
  { .inputs = { "f32:B,3" } },
  { .params = "dim=1", .inputs = { "i64:2,T" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_randperm = {
  .name = "randperm",
  .title = "Random permutation",
  .category = LOOM_CATEGORY_DATA,
  .icon = "loom-randperm-symbolic",
  .doc = "Returns a random permutation of the integers from 0 to n − 1.",
  .details
  = "As the index of index_select it shuffles the samples of a batch that is wired into “like”, as for mixup; its "
    "first elements are a sample without replacement. A new permutation is drawn at each step, in evaluation too.",
  .formula = "y is a permutation of 0 … n − 1",
  .reference = "torch.randperm",
  .inputs = loom_op_port_like,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
