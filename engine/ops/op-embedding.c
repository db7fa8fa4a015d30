/* Embedding: a learnt row for each whole number. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Whole numbers from 0 to num_embeddings - 1, of any shape." },
  { "weight", "Ties the table to another tensor [num_embeddings, embedding_dim].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "num_embeddings",
    .type = LOOM_PARAM_INT,
    .minimum = 1,
    .maximum = 1e9,
    .unit = "rows",
    .doc = "How many different things there are." },
  { .name = "embedding_dim",
    .type = LOOM_PARAM_INT,
    .minimum = 1,
    .maximum = 1e9,
    .unit = "features",
    .doc = "How many numbers describe each of them." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  gint64 size[2] = { loom_infer_int (ctx, "num_embeddings"), loom_infer_int (ctx, "embedding_dim") };
  LoomShape shape = x->shape;

  if (loom_dtype_is_float (x->dtype) || x->dtype == LOOM_BOOL)
    {
      loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "input",
                        "embedding looks rows up by number and needs whole numbers; here comes %s.",
                        loom_dtype_name (x->dtype));
      return;
    }
  if (!loom_op_rank (ctx, 0, "input", 0, LOOM_SHAPE_MAX_RANK - 1, "at most seven dimensions",
                     "Put a reshape before it."))
    return;
  loom_infer_weight (ctx, &(LoomWeightSpec){ .name = "weight",
                                             .shape = loom_shape (2, size),
                                             .init = { .kind = LOOM_INIT_NORMAL, .a = 0, .b = 1 },
                                             .dtype = LOOM_F32 });
  shape.dim[shape.rank++] = loom_dim (size[1]);
  loom_infer_output (ctx, 0, LOOM_F32, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomValue in[2] = { loom_lower_weight (ctx, "weight"), loom_lower_input (ctx, 0) };

  loom_lower_output (ctx, 0, loom_emit (loom_lower_program (ctx), loom_prim ("gather_rows"), NULL, 2, in, NULL));
}

static const LoomSample samples[] = {
  { .params = "num_embeddings=10 embedding_dim=3", .inputs = { "i64:B,T" }, .range = "class:10" },
  { .params = "num_embeddings=4 embedding_dim=1", .inputs = { "i64:B" }, .range = "class:4" },
  { .params = "num_embeddings=5 embedding_dim=2", .inputs = { "i64:" }, .range = "class:5" },
  { .params = "num_embeddings=5 embedding_dim=2", .inputs = { "i64:0" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_embedding = {
  .name = "embedding",
  .title = "Embedding",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-embedding-symbolic",
  .doc = "Looks up a learnt row of numbers for each symbol.",
  .details
  = "Letters, words or user numbers have no size that a network could compute with. A table gives each one a "
    "point in space, and training moves points of similar meaning together. Only rows that were looked up get a "
    "gradient.",
  .formula = "y = W[x]",
  .reference = "torch.nn.Embedding",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
