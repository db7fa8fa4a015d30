/* An output that is state is what it was when the step began, so it is copied out of the slot's place before anything
 * is written there. */
#include "engine/plan/plan-private.h"

void
work_copy_state_outputs (Work *w)
{
  WorkInstr *first = work_first (w);

  for (guint o = 0; o < w->output_value->len; o++)
    {
      guint v = g_array_index (w->output_value, guint, o), copy;
      int slot = work_value (w, work_root (w, v))->slot;
      const LoomSlot *s = slot >= 0 ? loom_program_get_slot (w->program, (guint)slot) : NULL;
      LoomTensorDesc desc = work_value (w, v)->desc;
      LoomCopyTo to = { desc.dtype };
      WorkValue like;
      WorkInstr *instr;

      if (s == NULL || s->commit == 0 || s->commit == s->read)
        continue;
      like = *work_value (w, v);
      like.owner = LOOM_OWNER_ACTIVATIONS;
      copy = work_new_value (w, &desc, &like);
      work_value (w, copy)->is_output = TRUE;
      work_value (w, v)->is_output = FALSE;
      g_array_index (w->output_value, guint, o) = copy;
      instr = work_insert (w, first, loom_prim ("copy"), &to);
      instr->origin = like.origin;
      instr->device_name = like.device_name;
      g_string_assign (instr->label, "copy");
      work_add_in (w, instr, v);
      work_add_out (w, instr, copy);
    }
}
