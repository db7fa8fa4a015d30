/* Random numbers that are only compared with a number become a mask as they are drawn: that is a quarter of what would
 * be written, and read again. So dropout decides what it keeps. */
#include "engine/plan/plan-private.h"

/* u >= least as one call, where u are uniform numbers of f32 that nothing else reads. */
static void
draw_mask (Work *w, WorkInstr *compare)
{
  const guint u = work_step (compare, 0)->arg[0], least = work_step (compare, 0)->arg[1];
  guint mask = work_out (compare, 0), in[3];
  WorkInstr *draw = work_value (w, u)->producer, *call;
  LoomRandomTo attrs;

  if (draw == NULL || !work_is (draw, "random") || work_only_reader (w, u, FALSE) != compare
      || !work_value (w, least)->is_uniform || work_value (w, least)->desc.dtype != LOOM_F32
      || work_value (w, u)->desc.dtype != LOOM_F32 || work_value (w, mask)->desc.dtype != LOOM_BOOL
      || !work_same_dims (&work_value (w, u)->desc, &work_value (w, mask)->desc)
      || draw->device_name != compare->device_name || draw->in->len > G_N_ELEMENTS (in))
    return;
  attrs = *(const LoomRandomTo *)draw->attrs;
  if (attrs.kernel.kind != LOOM_RANDOM_UNIFORM)
    return;
  attrs.kernel.kind = LOOM_RANDOM_MASK;
  attrs.kernel.least = (float)work_value (w, least)->uniform;
  attrs.dtype = LOOM_BOOL;
  call = work_insert_like (w, compare, compare, draw->prim, &attrs, "");
  for (guint k = 0; k < draw->in->len; k++)
    in[k] = work_in (draw, k);
  if (!work_has_kernel (w, call, draw->in->len, in, 1, &mask))
    {
      work_erase (w, call);
      return;
    }
  for (guint k = 0; k < draw->in->len; k++)
    work_add_in (w, call, in[k]);
  g_string_printf (call->label, "%s+%s", draw->label->str, compare->label->str);
  work_erase (w, compare);
  work_add_out (w, call, mask);
  work_erase (w, draw);
}

void
work_draw_masks (Work *w)
{
  for (WorkInstr *instr = work_first (w); instr != NULL; instr = work_next (instr))
    if (work_is_step (instr, LOOM_SCALAR_GE))
      draw_mask (w, instr);
}
