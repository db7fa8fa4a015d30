/* A program without composites: each is replaced by its own expansion into core primitives.
 *
 * It is what an oracle in f64 walks and what a back end without a composite's kernel can still run. */
#include "engine/program/prim-private.h"

static LoomValue
mapped (const GArray *map, LoomValue v)
{
  return v == 0 ? 0 : g_array_index (map, LoomValue, v);
}

static void
copy_instr (LoomProgram *to, const LoomInstr *instr, GArray *map)
{
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);

  for (guint k = 0; k < instr->n_in; k++)
    in[k] = mapped (map, instr->in[k]);
  loom_program_set_region (to, instr->region);
  loom_program_set_origin (to, instr->origin, instr->device);
  if (instr->prim->tier == LOOM_TIER_COMPOSITE && instr->prim->expand != NULL)
    instr->prim->expand (to, instr, in, out);
  else
    loom_emit (to, instr->prim, instr->attrs, instr->n_in, in, out);
  for (guint k = 0; k < instr->n_out; k++)
    {
      if (instr->out[k] != 0)
        g_array_index (map, LoomValue, instr->out[k]) = out[k];
    }
}

/* Values from outside, in the order in which they were made, so that listings of the two forms read alike. */
static void
copy_sources (LoomProgram *to, const LoomProgram *p, GArray *map)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      loom_program_slot (to, slot->name, slot->kind, slot->dtype, slot->rank, slot->dim, &slot->init, slot->trainable);
    }
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    {
      const LoomValueInfo *info = loom_value_info (p, v);

      loom_program_set_region (to, info->region);
      loom_program_set_origin (to, info->origin, info->device);
      if (info->slot >= 0)
        g_array_index (map, LoomValue, v) = loom_program_read (to, info->slot);
      else if (info->input >= 0)
        g_array_index (map, LoomValue, v) = loom_program_input (to, loom_program_get_input (p, info->input)->name,
                                                                info->desc.dtype, info->desc.rank, info->desc.dim);
    }
}

LoomProgram *
loom_program_expand (const LoomProgram *p, GError **error)
{
  g_autoptr (GArray) map = g_array_new (FALSE, TRUE, sizeof (LoomValue));
  LoomProgram *to = loom_program_new ();

  g_array_set_size (map, loom_program_n_values (p) + 1);
  loom_program_set_float (to, loom_program_get_float (p));
  copy_sources (to, p, map);
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    copy_instr (to, loom_program_instr (p, i), map);
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->commit != 0)
        loom_program_commit (to, i, mapped (map, slot->commit));
    }
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (p, i);

      loom_program_output (to, output->name, mapped (map, output->value));
    }
  return to;
}
