/* Turns instructions that move no byte into views of their operand, which need no kernel. */
#include "engine/plan/plan-private.h"

static gboolean
is_view (Work *g, const WorkInstr *instr)
{
  const LoomTensorDesc *a, *b;

  if (instr->steps != NULL || instr->prim->view != LOOM_VIEW_WHERE_EQUAL)
    return instr->steps == NULL && instr->prim->view == LOOM_VIEW_ALWAYS;
  a = &work_value (g, work_in (instr, 0))->desc;
  b = &work_value (g, work_out (instr, 0))->desc;
  return a->dtype == b->dtype && loom_desc_count (a) == loom_desc_count (b);
}

/* Between two devices such an instruction is the transfer that the placement pass makes of it. */
void
work_find_views (Work *g)
{
  for (WorkInstr *instr = work_first (g); instr != NULL; instr = work_next (instr))
    {
      if (!is_view (g, instr))
        continue;
      if (instr->device_name != work_value (g, work_in (instr, 0))->device_name)
        {
          instr->crosses_only = TRUE;
          continue;
        }
      work_set_alias (g, work_out (instr, 0), work_in (instr, 0));
      work_erase (g, instr);
    }
}
