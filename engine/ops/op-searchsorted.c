/* Searchsorted: the insertion index into a sorted sequence. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "sorted_sequence",
    "A sorted sequence along the last dimension, in ascending order: [n] for all values, or one for each row." },
  { "input", "The values to find the index of." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { LOOM_PARAM ("right", BOOL, "false"), .doc = "Whether the index is after equal elements; else before them." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *list = loom_infer_input (ctx, 0), *x = loom_infer_input (ctx, 1);
  gboolean fits = list->shape.rank == x->shape.rank;

  if (!loom_op_rank (ctx, 0, "sorted_sequence", 1, LOOM_SHAPE_MAX_RANK - 1, "a sorted sequence", "A scalar is none.")
      || !loom_op_rank (ctx, 1, "input", 0, LOOM_SHAPE_MAX_RANK - 1, "at most seven dimensions",
                        "Put a reshape before it."))
    return;
  for (int i = 0; fits && i < x->shape.rank - 1; i++)
    fits = loom_dim_compatible (list->shape.dim[i], x->shape.dim[i]);
  if (list->shape.rank != 1 && !fits)
    {
      g_autofree char *a = loom_shape_to_string (&list->shape), *b = loom_shape_to_string (&x->shape);

      loom_infer_fault (
          ctx, LOOM_ERROR_SHAPE, "sorted_sequence",
          "The sorted sequences must be one for all values, or one for each row; here they are %s for values %s.", a,
          b);
      return;
    }
  loom_infer_output (ctx, 0, LOOM_I64, &x->shape);
}

/* The index is the number of smaller elements. NaN is neither smaller nor not smaller than a number: the negated
 * comparison places it at the end. */
static void
lower (LoomLower *ctx)
{
  gboolean right = loom_infer_bool (loom_lower_infer (ctx), "right");
  LoomProgram *p = loom_lower_program (ctx);
  LoomValue list = loom_lower_input (ctx, 0), x = loom_lower_input (ctx, 1), before;
  LoomTensorDesc l = loom_op_desc (ctx, list), d = loom_op_desc (ctx, x);

  d.dim[d.rank] = 1;
  x = loom_reshape (p, x, d.rank + 1, d.dim);
  if (l.rank > 1)
    {
      l.dim[l.rank] = l.dim[l.rank - 1];
      l.dim[l.rank - 1] = 1;
      list = loom_reshape (p, list, l.rank + 1, l.dim);
    }
  before = loom_unary (p, LOOM_SCALAR_NOT, loom_binary (p, right ? LOOM_SCALAR_GT : LOOM_SCALAR_GE, list, x));
  loom_lower_output (ctx, 0, loom_reduce (p, LOOM_REDUCE_SUM, loom_cast (p, before, LOOM_I64), 1u << d.rank, FALSE));
}

static const LoomSample samples[] = {
  { .inputs = { "f32:5", "f32:B,3" } },
  { .params = "right=true", .inputs = { "f32:B,4", "f32:B,3" } },
  { .inputs = { "i64:5", "i64:" } },
  { .inputs = { "f32:0", "f32:2" } },
  { NULL },
};

const LoomOp loom_op_searchsorted = {
  .name = "searchsorted",
  .title = "Searchsorted",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sort-symbolic",
  .doc = "Finds the indices at which values would be inserted into a sorted sequence.",
  .details = "The index is the number of smaller elements. For example, it assigns measurements to intervals, or "
             "samples from a distribution by its cumulative probabilities.",
  .formula = "y = number of elements smaller than x",
  .reference = "torch.searchsorted",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
