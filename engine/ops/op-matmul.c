/* Matrix product with the rank rules of torch.matmul: vectors are rows on the left and columns on the right, leading
 * dimensions are batches and broadcast. */
#include "engine/ops/op-private.h"

#include <glib/gi18n.h>

static const LoomPortSpec inputs[] = {
  { "input", "The first matrices [ …, n, k]." },
  { "other", "The second matrices [ …, k, m]." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0), *b = loom_infer_input (ctx, 1);
  LoomShape lead_a = a->shape, lead_b = b->shape, shape;
  g_autofree char *sa = loom_shape_to_string (&a->shape), *sb = loom_shape_to_string (&b->shape);
  LoomDim ka, kb;

  if (!loom_op_rank (ctx, 0, "input", 1, LOOM_SHAPE_MAX_RANK, "vectors or matrices", "For numbers use mul.")
      || !loom_op_rank (ctx, 1, "other", 1, LOOM_SHAPE_MAX_RANK, "vectors or matrices", "For numbers use mul.")
      || !loom_op_needs_float (ctx, 0, "input", NULL) || !loom_op_needs_float (ctx, 1, "other", NULL))
    return;
  ka = a->shape.dim[a->shape.rank - 1];
  kb = b->shape.dim[MAX (b->shape.rank - 2, 0)];
  if (!loom_dim_compatible (ka, kb))
    {
      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "other",
          b->shape.rank <= 1
              ? N_ ("%s and %s cannot be multiplied: the last size of the left must equal the only size of the right.")
          : loom_dim_equal (ka, b->shape.dim[b->shape.rank - 1])
              ? N_ (
                  "%s and %s cannot be multiplied: the last size of the left must equal the second-to-last size of the "
                  "right. Put a transpose before the right one.")
              : N_ (
                  "%s and %s cannot be multiplied: the last size of the left must equal the second-to-last size of the "
                  "right."),
          sa, sb);
      return;
    }
  lead_a.rank = MAX (a->shape.rank - 2, 0);
  lead_b.rank = MAX (b->shape.rank - 2, 0);
  if (!loom_shape_broadcast (&lead_a, &lead_b, &shape))
    {
      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "other",
                        "%s and %s cannot be multiplied: the sizes before the last two must be equal or 1.", sa, sb);
      return;
    }
  if (a->shape.rank > 1)
    shape.dim[shape.rank++] = a->shape.dim[a->shape.rank - 2];
  if (b->shape.rank > 1)
    shape.dim[shape.rank++] = b->shape.dim[b->shape.rank - 1];
  loom_infer_output (ctx, 0, loom_op_promote (a->dtype, b->dtype), &shape);
}

/* A batch of matrices times one matrix is one larger product; so is its gradient. */
static void
lower (LoomLower *ctx)
{
  LoomProgram *p = loom_lower_program (ctx);
  LoomDType dtype = loom_op_dtype (ctx, loom_infer_get_output (loom_lower_infer (ctx), 0)->dtype);
  LoomValue a = loom_cast (p, loom_lower_input (ctx, 0), dtype), b = loom_cast (p, loom_lower_input (ctx, 1), dtype), y;
  LoomTensorDesc da = loom_op_desc (ctx, a), db = loom_op_desc (ctx, b);
  gint64 dims[LOOM_MAX_RANK];
  int rank = loom_op_output_dims (ctx, 0, dims);

  if (da.rank == 1)
    a = loom_reshape (p, a, 2, (gint64[]){ 1, da.dim[0] });
  if (db.rank == 1)
    b = loom_reshape (p, b, 2, (gint64[]){ db.dim[0], 1 });
  if (da.rank > 2 && db.rank <= 2)
    {
      gint64 rows = 1;

      for (int i = 0; i + 1 < da.rank; i++)
        rows *= da.dim[i];
      a = loom_reshape (p, a, 2, (gint64[]){ rows, da.dim[da.rank - 1] });
    }
  y = loom_matmul (p, a, b, FALSE, FALSE);
  loom_lower_output (ctx, 0, loom_reshape (p, y, rank, dims));
}

static double
flops (const LoomInfer *ctx)
{
  const LoomType *a = loom_infer_input (ctx, 0);

  return 2.0 * loom_op_output_count (ctx, 0) * (double)a->shape.dim[a->shape.rank - 1].coef;
}

static const LoomSample samples[] = {
  { .inputs = { "f32:3,4", "f32:4,2" } },
  { .inputs = { "f32:B,T,4", "f32:4,3" } },
  { .inputs = { "f32:B,T,3", "f32:B,3,T" } },
  { .inputs = { "f32:B,1,2,3", "f32:2,3,2" } },
  { .inputs = { "f32:4", "f32:4" } },
  { .inputs = { "f32:4", "f32:4,3" } },
  { .inputs = { "f32:B,2,4", "f32:4" } },
  { .inputs = { "f32:3", "f32:B,3,2" } },
  { .inputs = { "f32:0,4", "f32:4,2" } },
  { .inputs = { "f32:1,1", "f32:1,1" } },
  { NULL },
};

const LoomOp loom_op_matmul = {
  .name = "matmul",
  .title = "Matrix product",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-matmul-symbolic",
  .synonyms = "matrix product multiply @ mm",
  .usual = TRUE,
  .doc = "Computes the matrix product of two tensors.",
  .details = "Each element of the result is the dot product of a row and a column. Leading dimensions are batches and "
             "broadcast. Attention consists of two of these: queries with keys, then attention weights with values.",
  .formula = "yᵢⱼ = Σₖ aᵢₖ bₖⱼ",
  .first = LOOM_FIRST_PRODUCT,
  .reference = "torch.matmul",
  .source = "Golub and Van Loan, “Matrix Computations”, 4th edition, 2013, chapter 1",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .infer = infer,
  .lower = lower,
  .flops = flops,
  .samples = samples,
};
