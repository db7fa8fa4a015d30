/* Embedding: looks up a learnable vector for each index. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "input", "Indices from 0 to num_embeddings - 1, of any shape." },
  { "weight", "Ties the table to another tensor [num_embeddings, embedding_dim].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const LoomParamSpec params[] = {
  LOOM_OP_TABLE_PARAMS,
  { LOOM_PARAM ("padding_idx", INT, ""), LOOM_RANGE (-1e9, 1e9),
    .doc = "The index of padding: its vector is initialised to zero and gets no gradient. A negative number counts "
           "from the end.",
    .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0);
  LoomShape shape = x->shape;

  if (loom_dtype_is_float (x->dtype) || x->dtype == LOOM_BOOL)
    {
      loom_infer_fault (ctx, LOOM_ERROR_DTYPE, "input",
                        "embedding looks up vectors by index and needs integers, but got %s.",
                        loom_dtype_name (x->dtype));
      return;
    }
  if (!loom_op_rank (ctx, 0, "input", 0, LOOM_SHAPE_MAX_RANK - 1, "at most seven dimensions",
                     "Put a reshape before it.")
      || !loom_op_infer_table (ctx))
    return;
  shape.dim[shape.rank++] = loom_dim (loom_infer_int (ctx, "embedding_dim"));
  loom_infer_output (ctx, 0, LOOM_F32, &shape);
}

static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue in[2] = { loom_lower_weight (ctx, "weight"), loom_lower_input (ctx, 0) };
  LoomValue rows = loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL);
  gint64 padding = loom_op_padding_row (loom_lower_infer (ctx)), dims[LOOM_MAX_RANK];

  if (padding >= 0)
    {
      LoomTensorDesc index = loom_op_desc (ctx, in[1]);
      LoomValue is_padding = loom_binary (p, LOOM_SCALAR_EQ, in[1], loom_const (p, index.dtype, (double)padding));

      /* The same vectors, but no gradient flows to those of padding. */
      memcpy (dims, index.dim, sizeof dims);
      dims[index.rank] = 1;
      rows = loom_ternary (p, LOOM_SCALAR_SELECT, loom_reshape (p, is_padding, index.rank + 1, dims),
                           loom_detach (p, rows), rows);
    }
  loom_lower_output (ctx, 0, rows);
}

static const LoomSample samples[] = {
  { .params = "num_embeddings=10 embedding_dim=3", .inputs = { "i64:B,T" }, .range = "class:10" },
  { .params = "num_embeddings=4 embedding_dim=1", .inputs = { "i64:B" }, .range = "class:4" },
  { .params = "num_embeddings=4 embedding_dim=2 padding_idx=-1", .inputs = { "i64:B,T" }, .range = "class:3" },
  { .params = "num_embeddings=5 embedding_dim=2", .inputs = { "i64:" }, .range = "class:5" },
  { .params = "num_embeddings=5 embedding_dim=2", .inputs = { "i64:0" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_embedding = {
  .name = "embedding",
  .title = "Embedding",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-embedding-symbolic",
  .synonyms = "lookup token word vector",
  .usual = TRUE,
  .doc = "Looks up a learnable vector for each index.",
  .details = "Represents tokens, words or other categories by vectors. The output is [ …, embedding_dim], with the "
             "shape of the input in front. Only vectors that are looked up get a gradient. Also called a lookup table.",
  .formula = "y = W[x]",
  .reference = "torch.nn.Embedding",
  .source = "Bengio, Ducharme, Vincent and Jauvin, “A Neural Probabilistic Language Model”, JMLR 3, 2003",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .flops = loom_op_no_flops,
  .samples = samples,
};
