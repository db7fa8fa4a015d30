/* Searchsorted: where a number belongs in an ordered list. */
#include "engine/ops/op-private.h"

static const LoomPortSpec inputs[] = {
  { "sorted_sequence", "Numbers in ascending order along the last dimension; one list for all, or one a row." },
  { "input", "The numbers that are looked for." },
  { NULL },
};

static const LoomParamSpec params[] = {
  { .name = "right",
    .type = LOOM_PARAM_BOOL,
    .def = "false",
    .doc = "After elements that are equal; else before them." },
  { NULL },
};

static void
infer (LoomInfer *ctx)
{
  const LoomType *list = loom_infer_input (ctx, 0), *x = loom_infer_input (ctx, 1);
  gboolean fits = list->shape.rank == x->shape.rank;

  if (!loom_op_rank (ctx, 0, "sorted_sequence", 1, LOOM_SHAPE_MAX_RANK - 1, "an ordered list", "A scalar is none.")
      || !loom_op_rank (ctx, 1, "input", 0, LOOM_SHAPE_MAX_RANK - 1, "at most seven dimensions",
                        "Put a reshape before it."))
    return;
  for (int i = 0; fits && i < x->shape.rank - 1; i++)
    fits = loom_dim_compatible (list->shape.dim[i], x->shape.dim[i]);
  if (list->shape.rank != 1 && !fits)
    {
      g_autofree char *a = loom_shape_to_string (&list->shape), *b = loom_shape_to_string (&x->shape);

      loom_infer_fault (ctx, LOOM_ERROR_SHAPE, "sorted_sequence",
                        "One ordered list serves all numbers, or there is one for each row; here are lists %s for "
                        "numbers %s.",
                        a, b);
      return;
    }
  loom_infer_output (ctx, 0, LOOM_I64, &x->shape);
}

/* A number belongs behind as many as are smaller. NaN is smaller than nothing and no smaller than anything: the negated
 * comparison puts it at the end. */
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
  .title = "Search Sorted",
  .category = LOOM_CATEGORY_MATHS,
  .icon = "loom-sort-symbolic",
  .doc = "Finds where numbers belong in an ordered list.",
  .details
  = "The result is the position at which a number could be put in without disturbing the order: how many "
    "elements are smaller. With class borders as the list it sorts measurements into classes, and with running "
    "sums of probabilities it draws from a distribution.",
  .formula = "y = number of elements smaller than x",
  .reference = "torch.searchsorted",
  .inputs = inputs,
  .outputs = loom_op_port_out,
  .params = params,
  .infer = infer,
  .lower = lower,
  .samples = samples,
};
