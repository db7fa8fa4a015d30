/* Names instructions that belong to no node, for errors: a fault in the update must name the parameter.
 *
 * An instruction of a node has the node's name. The others are between gradients and state, and are named by their
 * results. */
#include "engine/program/prim-private.h"

/* Finds the first slot of a kind whose next value is among the results, and counts these slots. */
static const LoomSlot *
first_slot (const LoomProgram *p, LoomSlotKind kind, guint n_out, const guint *out, guint *n)
{
  const LoomSlot *first = NULL;

  *n = 0;
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      gboolean made = FALSE;

      for (guint k = 0; k < n_out && slot->kind == kind && slot->commit != 0 && !made; k++)
        made = out[k] == slot->commit;
      if (!made)
        continue;
      *n += 1;
      if (first == NULL)
        first = slot;
    }
  return first;
}

static const char *
output_name (const LoomProgram *p, guint n_out, const guint *out)
{
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    for (guint k = 0; k < n_out; k++)
      if (out[k] != 0 && loom_program_get_output (p, i)->value == out[k])
        return loom_program_get_output (p, i)->name;
  return NULL;
}

char *
loom_program_purpose (const LoomProgram *p, const LoomPrim *prim, LoomRegion region, guint n_out, const guint *out)
{
  static const char *const of_region[LOOM_N_REGIONS]
      = { "A part of the forward pass", "A part of the backward pass", "A part of the update" };
  static const LoomSlotKind kinds[] = { LOOM_SLOT_PARAMETER, LOOM_SLOT_BUFFER, LOOM_SLOT_OPTIMIZER, LOOM_SLOT_SCALAR };
  const char *name;

  if (prim != NULL && prim->purpose != NULL)
    return g_strdup (prim->purpose);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      guint n;
      const LoomSlot *slot = first_slot (p, kinds[i], n_out, out, &n);

      if (slot != NULL && n > 1)
        return g_strdup_printf ("The update of %s and %u more", slot->name, n - 1);
      if (slot != NULL)
        return g_strdup_printf ("The update of %s", slot->name);
    }
  name = output_name (p, n_out, out);
  return name != NULL ? g_strdup_printf ("The computation of %s", name) : g_strdup (of_region[region]);
}
