/* The helper of passes from program to program. It begins a second program with the same slots and inputs, maps the
 * values of the first to those of the second, and copies commits, outputs and ports at the end.
 *
 * Slots and inputs keep their order, so an index of the first program is valid for the second. */
#include "engine/program/program-body.h"

/* Emits the slots' values and the inputs in their original order, so that listings of both programs look alike. */
static void
copy_sources (LoomRewrite *r)
{
  const LoomProgram *p = r->from;
  LoomProgram *to = r->to;
  GArray *map = r->map;

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      gboolean is_shard = slot->is_shard;
      gint64 first = slot->first, count = slot->dim[0], dim[LOOM_MAX_RANK];
      gboolean here = slot->is_here, is_placed = slot->is_placed;
      LoomSlotPart part = slot->part;
      int rank = loom_slot_whole (slot, dim);

      loom_program_slot (to, slot->name, slot->kind, slot->dtype, rank, dim, &slot->init, slot->trainable);
      if (part.of > 0 || (r->part != NULL && r->part (r, slot, &part)))
        loom_program_part_slot (to, (int)i, &part);
      if (is_shard || (r->shard != NULL && r->shard (r, slot, &first, &count)))
        loom_program_shard_slot (to, (int)i, first, count);
      if (is_placed || (r->place != NULL && r->place (r, i, &here)))
        loom_program_place_slot (to, (int)i, here);
    }
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const LoomValueInfo *info = loom_value_info (p, v);

      loom_program_set_region (to, info->region);
      loom_program_set_origin (to, info->origin, info->device);
      if (info->slot >= 0)
        g_array_index (map, LoomValue, v) = loom_program_read (to, info->slot);
      else if (info->input >= 0)
        {
          LoomTensorDesc desc = info->desc;

          if (r->localise != NULL)
            r->localise (r, (guint)info->input, &desc);
          g_array_index (map, LoomValue, v)
              = loom_program_input (to, loom_program_get_input (p, info->input)->name, desc.dtype, desc.rank, desc.dim);
        }
    }
}

void
loom_rewrite_begin (LoomRewrite *r, const LoomProgram *from, const char *name, const char *doc)
{
  r->from = from;
  r->to = loom_program_new_like (from);
  r->pass = (LoomProgramPass){ .name = name, .doc = doc };
  r->map = g_array_new (FALSE, TRUE, sizeof (LoomValue));
  g_array_set_size (r->map, loom_program_n_values (from) + 1);
  copy_sources (r);
}

LoomValue
loom_rewrite_value (const LoomRewrite *r, LoomValue v)
{
  return v == 0 ? 0 : g_array_index (r->map, LoomValue, v);
}

void
loom_rewrite_set_origin (LoomRewrite *r, const LoomInstr *instr)
{
  loom_program_set_region (r->to, instr->region);
  loom_program_set_origin (r->to, instr->origin, instr->device);
  loom_program_set_recomputation (r->to, instr->recomputation);
  loom_program_set_recomputed (r->to, instr->is_recomputed);
}

void
loom_rewrite_results (LoomRewrite *r, const LoomInstr *instr, const LoomValue *out)
{
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      g_array_index (r->map, LoomValue, instr->out[k]) = out[k];
}

void
loom_rewrite_copy (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in)
{
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);

  loom_rewrite_set_origin (r, instr);
  loom_emit (r->to, instr->prim, instr->attrs, instr->n_in, in, out);
  loom_rewrite_results (r, instr, out);
}

void
loom_rewrite_expand (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in)
{
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);

  loom_rewrite_set_origin (r, instr);
  instr->prim->expand (r->to, instr, in, out);
  loom_rewrite_results (r, instr, out);
}

LoomProgram *
loom_rewrite_end (LoomRewrite *r)
{
  for (guint i = 0; i < loom_program_n_slots (r->from); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (r->from, i);

      LoomValue next = r->next != NULL ? r->next[i] : loom_rewrite_value (r, slot->commit);

      /* State keeps its type, even if the pass computes its next value in another one. */
      if (slot->commit != 0)
        loom_program_commit (r->to, (int)i, loom_cast (r->to, next, slot->dtype));
    }
  for (guint i = 0; i < loom_program_n_outputs (r->from); i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (r->from, i);

      loom_program_output (r->to, output->name, loom_rewrite_value (r, output->value));
    }
  for (guint i = 0; i < loom_program_n_ports (r->from); i++)
    {
      const LoomProgramPort *port = loom_program_get_port (r->from, i);

      if (loom_rewrite_value (r, port->value) != 0)
        loom_program_set_port (r->to, port->name, loom_rewrite_value (r, port->value));
    }
  loom_program_set_recomputation (r->to, 0);
  loom_program_set_recomputed (r->to, FALSE);
  for (guint i = 0; i < loom_program_n_passes (r->from); i++)
    loom_program_add_pass (r->to, loom_program_pass (r->from, i));
  r->pass.n_instrs = loom_program_n_instrs (r->to);
  r->pass.bytes = loom_program_bytes (r->to);
  loom_program_add_pass (r->to, &r->pass);
  g_clear_pointer (&r->map, g_array_unref);
  return g_steal_pointer (&r->to);
}
