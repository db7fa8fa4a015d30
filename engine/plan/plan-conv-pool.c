/* Fuses a max pooling into the convolution before it, and the pooling's gradient into those of the convolution, on
 * devices that have such a convolution (kernels/conv-pooled.h).
 *
 * The convolution's result is not read elsewhere. It and its gradient are four times as large as their pooled
 * counterparts. The pooling's gradient remains for a reader that cannot be fused. */
#include "engine/plan/plan-pattern.h"

/* TRUE for windows of 2×2 that meet and cover d [N,C,H,W]. */
static gboolean
halves (const PlanNode *pool, const LoomTensorDesc *d)
{
  const LoomPool2dAttrs *a = pool->attrs;

  for (int i = 0; i < 2; i++)
    if (a->kernel[i] != 2 || a->stride[i] != 2 || a->pad[i] != 0 || a->dilation[i] != 1 || d->dim[2 + i] % 2 != 0)
      return FALSE;
  return TRUE;
}

static gboolean
fuse_pool (PlanRewrite *r)
{
  LoomConv2dAttrs *attrs = r->attrs;

  if (attrs->act != LOOM_SCALAR_ID || r->out->len != 1 || node_out (r->other, 1) == 0
      || !halves (r->other, &graph_value (r->g, rewrite_out (r, 0))->desc))
    return FALSE;
  attrs->pooled = true;
  rewrite_set_out (r, 0, node_out (r->other, 0));
  rewrite_set_out (r, 1, node_out (r->other, 1));
  g_string_append_printf (r->label, "+%s", r->other->label->str);
  return TRUE;
}

static gboolean
fuse_pool_grad (PlanRewrite *r)
{
  LoomConv2dAttrs *attrs = r->attrs;

  if (attrs->pooled || !halves (r->other, &graph_value (r->g, rewrite_in (r, 0))->desc)
      || graph_value (r->g, node_in (r->other, 0))->is_uniform)
    return FALSE;
  attrs->pooled = true;
  rewrite_set_in (r, 0, node_in (r->other, 0));
  rewrite_add_in (r, node_in (r->other, 1));
  g_string_append_printf (r->label, "+%s", r->other->label->str);
  return TRUE;
}

const PlanPattern patterns_of_pooled_convolutions[] = {
  { .root = PATTERN_CALL ("conv2d"),
    .other = PATTERN_CALL ("max_pool2d"),
    .find = pattern_reader,
    .rewrite = fuse_pool },
  { .root = PATTERN_CALL ("conv2d_weight_grad", "conv2d_input_grad"),
    .other = PATTERN_CALL ("max_pool2d_grad"),
    .find = pattern_producer,
    .flags = PATTERN_KEEPS_OTHER | PATTERN_MOVES_OTHER,
    .rewrite = fuse_pool_grad },
  { .rewrite = NULL },
};
