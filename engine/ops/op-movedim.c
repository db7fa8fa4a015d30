/* Movedim: moves dimensions, the others keep their order. */
#include "engine/ops/op-private.h"

static const LoomParamSpec params[] = {
  { LOOM_OP_DIMS ("source"), .fresh = "1", .doc = "The dimensions to move." },
  { LOOM_OP_DIMS ("destination"), .fresh = "-1", .doc = "Their positions in the result, in the same order." },
  { NULL },
};

/* perm[i] is the dimension of the input at position i of the result; FALSE if the lists are invalid. */
static gboolean
find_order (const LoomInfer *ctx, int rank, int *perm)
{
  gint64 source[LOOM_MAX_RANK], destination[LOOM_MAX_RANK];
  guint n = loom_infer_ints (ctx, "source", source, LOOM_MAX_RANK);
  guint32 from = 0, to = 0;

  if (n != loom_infer_ints (ctx, "destination", destination, LOOM_MAX_RANK) || n > LOOM_MAX_RANK)
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      int s = loom_op_axis_of (source[i], rank), d = loom_op_axis_of (destination[i], rank);

      if (s < 0 || s >= rank || d < 0 || d >= rank || from >> s & 1 || to >> d & 1)
        return FALSE;
      from |= 1u << s;
      to |= 1u << d;
      perm[d] = s;
    }
  for (int i = 0, next = 0; i < rank; i++)
    {
      if (to >> i & 1)
        continue;
      while (from >> next & 1)
        next++;
      perm[i] = next++;
    }
  return TRUE;
}

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = x->shape;
  int perm[LOOM_MAX_RANK];

  if (!find_order (ctx, shape.rank, perm))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "source",
                        "source and destination must name the same number of the %d dimensions, each at most once.",
                        shape.rank);
      return;
    }
  for (int i = 0; i < shape.rank; i++)
    shape.dim[i] = x->shape.dim[perm[i]];
  loom_infer_output (ctx, 0, x->dtype, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomValue x = loom_lower_input (ctx, 0);
  int perm[LOOM_MAX_RANK];

  find_order (loom_lower_infer (ctx), loom_op_desc (ctx, x).rank, perm);
  loom_lower_output (ctx, 0, loom_permute (loom_lower_program (ctx), x, perm));
}

static const LoomSample samples[] = {
  { .params = "source=-1 destination=1", .inputs = { "f32:B,2,3,4" } },
  { .params = "source=0,1 destination=-1,0", .inputs = { "f32:2,3,4" } },
  { .params = "source=0 destination=0", .inputs = { "f32:3" } },
  { .params = "source=1 destination=0", .inputs = { "f32:0,3" } },
  { NULL },
};

const LoomOp loom_op_movedim = {
  .name = "movedim",
  .title = "Move dimension",
  .category = LOOM_CATEGORY_SHAPE,
  .icon = "loom-permute-symbolic",
  .doc = "Moves dimensions to other positions.",
  .details = "The other dimensions keep their order, for example if channels move from the last to the second "
             "position. To reorder all dimensions use permute.",
  .formula = "B × H × W × C → B × C × H × W",
  .reference = "torch.movedim",
  .inputs = loom_op_port_input,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
