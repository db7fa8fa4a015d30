/* Turns a comparison of random numbers into a mask that is drawn directly, which saves writing and reading four times
 * as many bytes. Dropout decides in this way what it keeps, with a probability that may change during a run.
 *
 * Values of rank 4 are left alone: they may be images in either layout, but numbers are drawn in logical order only. */
#include "engine/plan/plan-private.h"

/* The threshold of u >= threshold, an f32 scalar; 0 for another comparison. A constant threshold is a preceding step
 * and needs a value of its own: *number. */
static guint
least_of (Work *g, const WorkInstr *compare, const WorkStep **number)
{
  const WorkStep *last;

  if (compare->steps == NULL || compare->steps->len > 2 || compare->compute != LOOM_F32)
    return 0;
  last = work_step (compare, compare->steps->len - 1);
  *number = compare->steps->len == 2 ? work_step (compare, 0) : NULL;
  if (last->op != LOOM_SCALAR_GE
      || (*number != NULL && ((*number)->op != LOOM_SCALAR_CONST || (*number)->result != last->arg[1])))
    return 0;
  return loom_desc_count (&work_value (g, last->arg[1])->desc) == 1
                 && work_value (g, last->arg[1])->desc.dtype == LOOM_F32
             ? last->arg[1]
             : 0;
}

/* Makes one call of u >= threshold if u are uniform f32 numbers that nothing else reads. */
static void
draw_mask (Work *g, WorkInstr *compare)
{
  const WorkStep *number = NULL;
  const guint least = least_of (g, compare, &number);
  guint mask, u, in[4] = { 0 };
  WorkInstr *draw, *call, *fill = NULL;
  LoomRandomTo attrs;

  if (least == 0)
    return;
  mask = work_out (compare, 0);
  u = work_step (compare, compare->steps->len - 1)->arg[0];
  draw = work_value (g, u)->producer;
  if (u == least || draw == NULL || !work_is (draw, "random") || work_only_reader (g, u, FALSE) != compare
      || work_value (g, u)->desc.rank == 4 || work_value (g, u)->desc.dtype != LOOM_F32
      || work_value (g, mask)->desc.dtype != LOOM_BOOL
      || !work_same_dims (&work_value (g, u)->desc, &work_value (g, mask)->desc)
      || draw->device_name != compare->device_name || work_value (g, least)->device_name != compare->device_name)
    return;
  attrs = *(const LoomRandomTo *)draw->attrs;
  if (attrs.kernel.kind != LOOM_RANDOM_UNIFORM)
    return;
  attrs.kernel.kind = LOOM_RANDOM_MASK;
  attrs.dtype = LOOM_BOOL;
  for (guint k = 0; k < draw->in->len; k++)
    in[k] = work_in (draw, k);
  in[3] = least;
  if (number != NULL)
    {
      const LoomFillTo to = { .kernel.value = number->imm, .dtype = LOOM_F32 };
      const LoomTensorDesc scalar = { .dtype = LOOM_F32 };

      fill = work_insert_like (g, compare, compare, loom_prim ("fill"), &to, "fill");
      in[3] = work_new_value (g, &scalar, work_value (g, least));
      work_add_out (g, fill, in[3]);
    }
  call = work_insert_like (g, compare, compare, draw->prim, &attrs, "");
  if (!work_has_kernel (g, call, G_N_ELEMENTS (in), in, 1, &mask))
    {
      work_erase (g, call);
      if (fill != NULL)
        work_erase (g, fill);
      return;
    }
  for (guint k = 0; k < G_N_ELEMENTS (in); k++)
    work_add_in (g, call, in[k]);
  g_string_printf (call->label, "%s+ge", draw->label->str);
  work_erase (g, compare);
  work_add_out (g, call, mask);
  work_erase (g, draw);
}

void
work_draw_masks (Work *g)
{
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    draw_mask (g, instr);
}
