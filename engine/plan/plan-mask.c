/* Replaces a comparison of random numbers by an instruction that draws the mask itself, so that the numbers (4 bytes
 * each, instead of 1 in the mask) are not written and read. Dropout makes its mask in this way; the probability may
 * change during a run.
 *
 * Values of rank 4 are excluded: they may be images in either layout, but numbers are drawn in logical order only. */
#include "engine/plan/plan-private.h"

/* The threshold of u >= threshold, an f32 scalar; 0 for another comparison. If the threshold is a constant step,
 * *number is that step, and the threshold needs a value of its own. */
static guint
threshold_of (PlanGraph *g, const PlanNode *compare, const PlanStep **number)
{
  const PlanStep *last;

  if (compare->steps == NULL || compare->steps->len > 2 || compare->compute != LOOM_F32)
    return 0;
  last = node_step (compare, compare->steps->len - 1);
  *number = compare->steps->len == 2 ? node_step (compare, 0) : NULL;
  if (last->op != LOOM_SCALAR_GE
      || (*number != NULL && ((*number)->op != LOOM_SCALAR_CONST || (*number)->result != last->arg[1])))
    return 0;
  return loom_desc_count (&graph_value (g, last->arg[1])->desc) == 1
                 && graph_value (g, last->arg[1])->desc.dtype == LOOM_F32
             ? last->arg[1]
             : 0;
}

/* Replaces u >= threshold by one call if u are uniform f32 numbers without another reader. */
static void
draw_mask (PlanGraph *g, PlanNode *compare)
{
  const PlanStep *number = NULL;
  const guint least = threshold_of (g, compare, &number);
  guint mask, u, in[4] = { 0 };
  PlanNode *draw, *call, *fill = NULL;
  LoomRandomTo attrs;

  if (least == 0)
    return;
  mask = node_out (compare, 0);
  u = node_step (compare, compare->steps->len - 1)->arg[0];
  draw = graph_value (g, u)->producer;
  if (u == least || draw == NULL || !node_is (draw, "random") || graph_only_reader (g, u, FALSE) != compare
      || graph_value (g, u)->desc.rank == 4 || graph_value (g, u)->desc.dtype != LOOM_F32
      || graph_value (g, mask)->desc.dtype != LOOM_BOOL
      || !plan_same_dims (&graph_value (g, u)->desc, &graph_value (g, mask)->desc)
      || draw->device_name != compare->device_name || graph_value (g, least)->device_name != compare->device_name)
    return;
  attrs = *(const LoomRandomTo *)draw->attrs;
  if (attrs.kernel.kind != LOOM_RANDOM_UNIFORM)
    return;
  attrs.kernel.kind = LOOM_RANDOM_MASK;
  attrs.dtype = LOOM_BOOL;
  for (guint k = 0; k < draw->in->len; k++)
    in[k] = node_in (draw, k);
  in[3] = least;
  if (number != NULL)
    {
      const LoomFillTo to = { .kernel.value = number->imm, .dtype = LOOM_F32 };
      const LoomTensorDesc scalar = { .dtype = LOOM_F32 };

      fill = graph_insert_like (g, compare, compare, loom_prim ("fill"), &to, "fill");
      in[3] = graph_new_value (g, &scalar, graph_value (g, least));
      graph_add_out (g, fill, in[3]);
    }
  call = graph_insert_like (g, compare, compare, draw->prim, &attrs, "");
  if (!graph_has_kernel (g, call, G_N_ELEMENTS (in), in, 1, &mask))
    {
      graph_erase (g, call);
      if (fill != NULL)
        graph_erase (g, fill);
      return;
    }
  for (guint k = 0; k < G_N_ELEMENTS (in); k++)
    graph_add_in (g, call, in[k]);
  g_string_printf (call->label, "%s+ge", draw->label->str);
  graph_erase (g, compare);
  graph_add_out (g, call, mask);
  graph_erase (g, draw);
}

void
pass_draw_masks (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    draw_mask (g, instr);
}
