/* The negative of a negative is the number itself. */
#include "engine/plan/plan-private.h"

void
work_drop_negatives (Work *w)
{
  for (WorkInstr *instr = work_first (w), *next; instr != NULL; instr = next)
    {
      const WorkInstr *inner = work_is_step (instr, LOOM_SCALAR_NEG) ? work_value (w, work_in (instr, 0))->producer : NULL;

      next = work_next (instr);
      if (inner == NULL || !work_is_step (inner, LOOM_SCALAR_NEG))
        continue;
      work_replace (w, work_out (instr, 0), work_in (inner, 0));
      work_erase (w, instr);
    }
}
