/* Tables of vectors: embedding and embedding_bag. */
#include "engine/ops/op-private.h"

#include <inttypes.h>

gint64
loom_op_padding_row (const LoomInfer *ctx)
{
  gint64 row = loom_infer_is_set (ctx, "padding_idx") ? loom_infer_int (ctx, "padding_idx") : -1;

  if (row < 0 && loom_infer_is_set (ctx, "padding_idx"))
    row += loom_infer_int (ctx, "num_embeddings");
  return row;
}

gboolean
loom_op_infer_table (LoomInfer *ctx)
{
  static const LoomWeightSplit splits[] = { { "vocabulary", 0, 0, "rows" }, { "column", 1, 0, "features" }, { NULL } };
  const gint64 size[2] = { loom_infer_int (ctx, "num_embeddings"), loom_infer_int (ctx, "embedding_dim") };
  const gint64 row = loom_op_padding_row (ctx);
  LoomInit init = { .kind = LOOM_INIT_NORMAL, .a = 0, .b = 1 };

  if (loom_infer_is_set (ctx, "padding_idx"))
    {
      if (row < 0 || row >= size[0])
        {
          loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "padding_idx",
                            "There is no row %" PRId64 " in a table of %" PRId64 " rows.",
                            loom_infer_int (ctx, "padding_idx"), size[0]);
          return FALSE;
        }
      init.zero_from = row * size[1];
      init.zero_count = size[1];
    }
  loom_infer_weight (
      ctx, &(LoomWeightSpec){
               .name = "weight", .shape = loom_shape (2, size), .init = init, .dtype = LOOM_F32, .splits = splits });
  return TRUE;
}
