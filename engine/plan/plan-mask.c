/* Replaces a comparison of random numbers by an instruction that draws the mask itself, so that the numbers (4 bytes
 * each, instead of 1 in the mask) are not written and read. Dropout makes its mask in this way; the probability may
 * change during a run.
 *
 * Values of rank 4 are excluded: they may be images in either layout, but numbers are drawn in logical order only. */
#include "engine/plan/plan-pattern.h"

/* The random numbers of u >= threshold: the producer of u. */
static PlanNode *
find_draw (PlanGraph *g, const PlanNode *compare, guint k)
{
  const PlanStep *last = node_step (compare, compare->steps->len - 1);
  const guint u = last->arg[0];

  return last->op == LOOM_SCALAR_GE && compare->compute == LOOM_F32 && u != last->arg[1]
                 && graph_only_reader (g, u, FALSE) == compare
             ? graph_value (g, u)->producer
             : NULL;
}

/* TRUE if the threshold is a step of the comparison itself, a constant, which needs a value of its own. */
static gboolean
has_constant (const PlanNode *compare)
{
  return compare->steps->len == 2 && node_step (compare, 0)->op == LOOM_SCALAR_CONST
         && node_step (compare, 0)->result == node_step (compare, 1)->arg[1];
}

/* A value of its own for the constant; unused if the device draws no masks. */
static guint
value_of_constant (PlanGraph *g, PlanNode *compare, guint least)
{
  const LoomFillTo to = { .kernel.value = node_step (compare, 0)->imm, .dtype = LOOM_F32 };
  PlanNode *fill = graph_insert_like (g, compare, compare, loom_prim ("fill"), &to, "fill");
  guint v = graph_new_value (g, &(LoomTensorDesc){ .dtype = LOOM_F32 }, graph_value (g, least));

  graph_add_out (g, fill, v);
  return v;
}

static gboolean
is_f32_scalar (const LoomTensorDesc *d)
{
  return d->dtype == LOOM_F32 && loom_desc_count (d) == 1;
}

/* Makes the comparison a draw of the mask, if u are uniform f32 numbers. */
static gboolean
draw_mask (PlanRewrite *r)
{
  PlanGraph *g = r->g;
  const PlanNode *compare = r->root;
  const guint u = node_out (r->other, 0), least = node_step (compare, compare->steps->len - 1)->arg[1];
  const LoomTensorDesc *numbers = &graph_value (g, u)->desc, *mask = &graph_value (g, node_out (compare, 0))->desc;
  LoomRandomTo *attrs;

  if ((compare->steps->len > 1 && !has_constant (compare)) || !is_f32_scalar (&graph_value (g, least)->desc)
      || graph_value (g, least)->device_name != compare->device_name || numbers->rank == 4 || numbers->dtype != LOOM_F32
      || mask->dtype != LOOM_BOOL || !plan_same_dims (numbers, mask)
      || ((const LoomRandomTo *)r->other->attrs)->kernel.kind != LOOM_RANDOM_UNIFORM)
    return FALSE;
  plan_rewrite_as (r, r->other);
  attrs = r->attrs;
  attrs->kernel.kind = LOOM_RANDOM_MASK;
  attrs->dtype = LOOM_BOOL;
  for (guint k = r->in->len; k < 3; k++)
    rewrite_add_in (r, 0);
  rewrite_add_in (r, has_constant (compare) ? value_of_constant (g, r->root, least) : least);
  g_string_printf (r->label, "%s+ge", r->other->label->str);
  return TRUE;
}

const PlanPattern patterns_of_masks[] = {
  { .other = PATTERN_CALL ("random"), .find = find_draw, .rewrite = draw_mask },
  { .rewrite = NULL },
};
