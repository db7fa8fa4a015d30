/* Embedding bag: reduces the vectors of several indices to one, as torch.nn.EmbeddingBag. */
#include "engine/ops/op-private.h"

#include <math.h>

static const LoomPortSpec inputs[] = {
  { "input", "Indices from 0 to num_embeddings - 1, a bag in each row [batch, indices]." },
  { "per_sample_weights", "A factor for each index, with the shape of the input, for mode sum.", LOOM_PORT_OPTIONAL },
  { "weight", "Ties the table to another tensor [num_embeddings, embedding_dim].", LOOM_PORT_WEIGHT },
  { NULL },
};

static const char *const modes[] = { "sum", "mean", "max", NULL };

static const LoomParamSpec params[] = {
  LOOM_OP_TABLE_PARAMS,
  { LOOM_PARAM ("mode", ENUM, "mean"), .choices = modes, .doc = "How the vectors of a bag are reduced." },
  { LOOM_PARAM ("padding_idx", INT, ""), LOOM_RANGE (-1e9, 1e9),
    .doc = "The index of padding, which is left out of a bag, so that bags of different lengths can share a batch. A "
           "negative number counts from the end.",
    .advanced = TRUE },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *x = loom_infer_input (ctx, 0), *factors = loom_infer_input (ctx, 1);
  LoomShape shape = { .rank = 2 };

  if (!loom_op_rank (ctx, 0, "input", 2, 2, "indices, batch × indices",
                     "Pad bags of different lengths with padding_idx.")
      || !loom_op_needs_int (ctx, 0, "input") || !loom_op_infer_table (ctx))
    return;
  if (factors != NULL && !g_str_equal (loom_infer_string (ctx, "mode"), "sum"))
    {
      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "per_sample_weights",
          "per_sample_weights needs mode=\"sum\", because a mean or maximum would not be linear in them.");
      return;
    }
  if (factors != NULL
      && (!loom_shape_compatible (&x->shape, &factors->shape)
          || !loom_op_needs_weight_type (ctx, 1, "per_sample_weights")))
    {
      if (!loom_infer_has_fault (ctx))
        loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "per_sample_weights",
                          "per_sample_weights has a factor for each index, in the shape of the input.");
      return;
    }
  shape.dim[0] = x->shape.dim[0];
  shape.dim[1] = loom_dim (loom_infer_int (ctx, "embedding_dim"));
  loom_infer_output (ctx, 0, LOOM_F32, &shape);
}

/* Without indices a bag is 0 in every mode. */
static void
lower (LoomLower *ctx)
{
  const LoomInfer *infer_ctx = loom_lower_infer (ctx);
  LoomProgram *p = loom_lower_program (ctx);
  const char *mode = loom_infer_string (infer_ctx, "mode");
  LoomValue in[2] = { loom_lower_weight (ctx, "weight"), loom_lower_input (ctx, 0) },
            factors = loom_lower_input (ctx, 1);
  LoomValue rows = loom_emit (p, loom_prim ("gather_rows"), NULL, 2, in, NULL), counts = 0, n, zero, y;
  LoomTensorDesc index = loom_op_desc (ctx, in[1]), d = loom_op_desc (ctx, rows);
  gint64 padding = loom_op_padding_row (infer_ctx), column[3] = { index.dim[0], index.dim[1], 1 };

  zero = loom_const (p, d.dtype, 0);
  if (padding >= 0)
    counts = loom_reshape (p, loom_binary (p, LOOM_SCALAR_NE, in[1], loom_const (p, index.dtype, (double)padding)), 3,
                           column);
  n = counts != 0 ? loom_reduce (p, LOOM_REDUCE_SUM, loom_cast (p, counts, d.dtype), 1u << 1, FALSE)
                  : loom_fill (p, d.dtype, 2, (gint64[]){ index.dim[0], 1 }, (double)index.dim[1]);
  if (factors != 0)
    rows = loom_binary (p, LOOM_SCALAR_MUL, rows, loom_reshape (p, factors, 3, column));
  if (g_str_equal (mode, "max") && index.dim[1] > 0)
    {
      if (counts != 0)
        rows = loom_ternary (p, LOOM_SCALAR_SELECT, counts, rows, loom_const (p, d.dtype, -INFINITY));
      y = loom_reduce (p, LOOM_REDUCE_MAX, rows, 1u << 1, FALSE);
      loom_lower_output (ctx, 0,
                         loom_ternary (p, LOOM_SCALAR_SELECT, loom_binary (p, LOOM_SCALAR_GT, n, zero), y, zero));
      return;
    }
  if (counts != 0)
    rows = loom_ternary (p, LOOM_SCALAR_SELECT, counts, rows, zero);
  y = loom_reduce (p, LOOM_REDUCE_SUM, rows, 1u << 1, FALSE);
  if (g_str_equal (mode, "mean"))
    y = loom_binary (p, LOOM_SCALAR_DIV, y, loom_binary (p, LOOM_SCALAR_MAX, n, loom_const (p, d.dtype, 1)));
  loom_lower_output (ctx, 0, y);
}

static const LoomSample samples[] = {
  { .params = "num_embeddings=10 embedding_dim=3", .inputs = { "i64:B,4" }, .range = "class:10" },
  { .params = "num_embeddings=4 embedding_dim=2 mode=sum", .inputs = { "i64:B,3", "f32:B,3" }, .range = "class:4" },
  { .params = "num_embeddings=5 embedding_dim=2 mode=max padding_idx=0", .inputs = { "i64:B,3" }, .range = "class:5" },
  { .params = "num_embeddings=3 embedding_dim=1 padding_idx=-1", .inputs = { "i64:4,2" }, .range = "class:3" },
  { .params = "num_embeddings=5 embedding_dim=2", .inputs = { "i64:0,2" }, .range = "class:5" },
  { NULL },
};

const LoomOp loom_op_embedding_bag = {
  .name = "embedding_bag",
  .title = "Embedding bag",
  .category = LOOM_CATEGORY_LAYERS,
  .icon = "loom-embedding-symbolic",
  .synonyms = "bag of words fasttext",
  .doc = "Looks up the vectors of several indices and reduces them to one vector.",
  .details
  = "A text as a bag of words, or a user as a list of items: the mean, sum or maximum of the vectors of a row. "
    "Rows are padded with padding_idx, which is left out.",
  .formula = "y = mean W[x₁], …, W[xₙ]",
  .reference = "torch.nn.EmbeddingBag",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
