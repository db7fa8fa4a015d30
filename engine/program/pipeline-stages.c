/* Assigns instructions and slots to pipeline stages.
 *
 * An instruction of a node and its gradient belong to the node's stage; values that depend only on inputs and
 * hyper-parameters are computed on every stage. The update of a parameter belongs to the parameter's stage; scalars
 * that combine scalars of several stages (a norm, whether all is finite) are computed on every stage. If replicas of
 * stages exchange several values in one call, each stage has a call for its own values. */
#include "engine/program/pipeline-private.h"

#include "engine/program/loom-optimizer.h"

#include <string.h>

/* ---- stages ------------------------------------------------------------------- */

LoomStages *
loom_stages_new (int n)
{
  LoomStages *stages = g_new0 (LoomStages, 1);

  stages->n = n;
  stages->node = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  stages->slot = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return stages;
}

void
loom_stages_free (LoomStages *stages)
{
  if (stages == NULL)
    return;
  g_hash_table_unref (stages->node);
  g_hash_table_unref (stages->slot);
  g_free (stages);
}

void
loom_stages_set (LoomStages *stages, const char *path, int stage)
{
  g_hash_table_insert (stages->node, g_strdup (path), GINT_TO_POINTER (stage + 1));
}

int
loom_stages_get (const LoomStages *stages, const char *path)
{
  return path == NULL ? -1 : GPOINTER_TO_INT (g_hash_table_lookup (stages->node, path)) - 1;
}

/* ---- faults ------------------------------------------------------------------------ */

const char *
pipeline_name_of (const LoomInstr *instr)
{
  return instr->origin != NULL ? instr->origin : instr->prim->name;
}

gboolean
pipeline_is_exchange (const LoomInstr *instr)
{
  return (instr->prim->flags & (LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT)) == LOOM_PRIM_COLLECTIVE;
}

gboolean
pipeline_fault (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_propagate_error (error, g_error_new_valist (LOOM_ERROR, LOOM_ERROR_SHAPE, format, args));
  va_end (args);
  return FALSE;
}

const LoomInstr *
pipeline_producer_of (const Pipeline *self, LoomValue v)
{
  guint producer = loom_value_info (self->p, v)->producer;

  return producer == G_MAXUINT ? NULL : loom_program_instr (self->p, producer);
}

gboolean
pipeline_no_stage (const LoomInstr *instr, GError **error)
{
  return pipeline_fault (
      error,
      "The optimizer's %s reads weights of several stages at once, so no stage can compute it. Train without a "
      "pipeline, or use another optimizer.",
      instr->prim->name);
}

/* ---- owners -------------------------------------------------------------------------- */

static int
slot_of (const Pipeline *self, LoomValue v)
{
  return v != 0 ? loom_value_info (self->p, v)->slot : -1;
}

static void
own_slot (Pipeline *self, int slot, int stage)
{
  const LoomSlot *s = loom_program_get_slot (self->p, (guint)slot);

  self->slot_owner[slot] = stage;
  if (s->read != 0)
    self->owner[s->read] = stage;
}

/* The slot of the parameter to which a state belongs, or −1. */
static int
parameter_slot (const Pipeline *self, const LoomSlot *slot)
{
  const char *name = slot->kind == LOOM_SLOT_OPTIMIZER ? partition_parameter_of (slot) : NULL;

  return name != NULL ? loom_program_find_slot (self->p, name) : -1;
}

static const char *
own_name (const LoomSlot *slot)
{
  /* In an evaluation with averages, parameters have the names of the averages. */
  return g_str_has_prefix (slot->name, LOOM_SLOT_EMA) ? slot->name + strlen (LOOM_SLOT_EMA) : slot->name;
}

/* Assigns slots: those that an earlier program has assigned in the same way, others to the first stage whose nodes read
 * them. */
static void
own_slots (Pipeline *self)
{
  for (guint s = 0; s < loom_program_n_slots (self->p); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (self->p, s);
      int known = GPOINTER_TO_INT (g_hash_table_lookup (self->options->stages->slot, own_name (slot))) - 1;

      self->slot_owner[s] = PIPELINE_EVERYWHERE;
      if (known >= 0)
        own_slot (self, (int)s, known);
    }
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->p, i);
      int stage = loom_stages_get (self->options->stages, instr->origin);

      for (guint k = 0; k < instr->n_in && stage >= 0 && instr->region == LOOM_REGION_FORWARD; k++)
        {
          int s = slot_of (self, instr->in[k]);
          const LoomSlot *slot = s >= 0 ? loom_program_get_slot (self->p, (guint)s) : NULL;

          if (slot == NULL || slot->kind == LOOM_SLOT_SCALAR
              || g_hash_table_contains (self->options->stages->slot, own_name (slot)))
            continue;
          if (self->slot_owner[s] == PIPELINE_EVERYWHERE || stage < self->slot_owner[s])
            own_slot (self, s, stage);
        }
    }
}

static void
own_states (Pipeline *self)
{
  for (guint s = 0; s < loom_program_n_slots (self->p); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (self->p, s);
      int of = self->slot_owner[s] == PIPELINE_EVERYWHERE ? parameter_slot (self, slot) : -1;

      if (of >= 0)
        own_slot (self, (int)s, self->slot_owner[of]);
    }
}

/* TRUE for an exchange of values of several stages, each of which exchanges its own. */
static gboolean
is_per_stage (const Pipeline *self, const LoomInstr *instr)
{
  for (guint k = 1; k < instr->n_in && pipeline_is_exchange (instr); k++)
    if (self->owner[instr->in[k]] != self->owner[instr->in[0]])
      return TRUE;
  return FALSE;
}

static void
set_per_stage (Pipeline *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);

  self->stage[i] = PIPELINE_PER_STAGE;
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      self->owner[instr->out[o]] = self->owner[instr->in[o]];
}

/* Finds the stage of an instruction of a pass. If its node has no stage, it is the stage of its last operand in the
 * forward pass, and of its first operand in the backward pass.
 *
 * Cotangents never return to a later stage, whose backward pass would wait for one while the earlier stage's waits for
 * that pass. So what reads a cotangent of an earlier stage is computed there, as the sum of the cotangents of a value
 * that a loss reads in two types. */
static gboolean
stage_of_pass (Pipeline *self, guint i, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean forward = instr->region == LOOM_REGION_FORWARD;
  int stage = loom_stages_get (self->options->stages, instr->origin), follows = PIPELINE_EVERYWHERE;
  int earliest = G_MAXINT;

  for (guint k = 0; k < instr->n_in; k++)
    {
      int s = slot_of (self, instr->in[k]), owner;

      if (instr->in[k] == 0)
        continue;
      if (s >= 0 && self->slot_owner[s] == PIPELINE_EVERYWHERE
          && loom_program_get_slot (self->p, (guint)s)->kind != LOOM_SLOT_SCALAR)
        own_slot (self, s, MAX (stage, 0));
      owner = self->owner[instr->in[k]];
      if (owner == PIPELINE_EVERYWHERE)
        continue;
      if (!forward && s < 0 && pipeline_producer_of (self, instr->in[k])->region == LOOM_REGION_BACKWARD)
        earliest = MIN (earliest, owner);
      follows = follows == PIPELINE_EVERYWHERE ? owner : forward ? MAX (follows, owner) : MIN (follows, owner);
      if (forward && stage >= 0 && owner > stage && s < 0)
        return pipeline_fault (
            error, "“%s” is in stage %d but reads “%s” of the later stage %d. Give “%s” stage %d or a later one.",
            pipeline_name_of (instr), stage, pipeline_name_of (pipeline_producer_of (self, instr->in[k])), owner,
            pipeline_name_of (instr), owner);
    }
  if (is_per_stage (self, instr))
    {
      set_per_stage (self, i);
      return TRUE;
    }
  if (follows == PIPELINE_EVERYWHERE)
    self->stage[i] = PIPELINE_EVERYWHERE;
  else
    self->stage[i] = stage >= 0 ? MIN (stage, earliest) : follows;
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      self->owner[instr->out[o]] = self->stage[i];
  return TRUE;
}

static gboolean
stage_of_update (Pipeline *self, guint i, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  int of_tensors = PIPELINE_EVERYWHERE, of_scalars = PIPELINE_EVERYWHERE;
  gboolean several = FALSE;

  if (instr->prim->sharding == loom_shard_grad_stats || loom_sharding_is_step (instr->prim))
    {
      guint n = (guint) * (const int *)instr->attrs;

      self->stage[i] = PIPELINE_PER_STAGE;
      for (guint o = 0; o < instr->n_out && loom_sharding_is_step (instr->prim); o++)
        if (instr->out[o] != 0)
          self->owner[instr->out[o]] = self->owner[instr->in[o % n]];
      return TRUE;
    }
  if (is_per_stage (self, instr))
    {
      set_per_stage (self, i);
      return TRUE;
    }
  /* If a step writes nothing, it ends at the gate on all ranks. */
  if (instr->prim->flags & LOOM_PRIM_GATE)
    {
      self->stage[i] = PIPELINE_EVERYWHERE;
      return TRUE;
    }
  for (guint k = 0; k < instr->n_in; k++)
    {
      int owner = instr->in[k] != 0 ? self->owner[instr->in[k]] : PIPELINE_EVERYWHERE;
      int *of
          = owner != PIPELINE_EVERYWHERE && value_desc (self->p, instr->in[k])->rank > 0 ? &of_tensors : &of_scalars;

      if (owner == PIPELINE_EVERYWHERE)
        continue;
      if (*of != PIPELINE_EVERYWHERE && *of != owner)
        {
          if (of == &of_tensors)
            return pipeline_no_stage (instr, error);
          several = TRUE;
        }
      *of = owner;
    }
  self->stage[i] = of_tensors != PIPELINE_EVERYWHERE ? of_tensors : several ? PIPELINE_EVERYWHERE : of_scalars;
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      self->owner[instr->out[o]] = self->stage[i];
  return TRUE;
}

/* Assigns a slot to the stage that computes its next value, unless every stage computes it. */
static void
own_written_slots (Pipeline *self)
{
  for (guint s = 0; s < loom_program_n_slots (self->p); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (self->p, s);

      if (slot->commit != 0 && slot->kind != LOOM_SLOT_SCALAR && self->slot_owner[s] == PIPELINE_EVERYWHERE
          && slot->read == 0)
        own_slot (self, (int)s, self->owner[slot->commit]);
    }
}

gboolean
pipeline_find_owners (Pipeline *self, GError **error)
{
  for (LoomValue v = 0; v <= loom_program_n_values (self->p); v++)
    self->owner[v] = PIPELINE_EVERYWHERE;
  own_slots (self);
  own_states (self);
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    {
      gboolean updates = loom_program_instr (self->p, i)->region == LOOM_REGION_UPDATE;

      if (!(updates ? stage_of_update (self, i, error) : stage_of_pass (self, i, error)))
        return FALSE;
      /* The passes have assigned parameters to stages; their states are assigned to the same stages. */
      if (!updates && i + 1 < loom_program_n_instrs (self->p)
          && loom_program_instr (self->p, i + 1)->region == LOOM_REGION_UPDATE)
        own_states (self);
    }
  own_written_slots (self);
  for (guint s = 0; s < loom_program_n_slots (self->p); s++)
    if (self->slot_owner[s] != PIPELINE_EVERYWHERE)
      g_hash_table_insert (self->options->stages->slot, g_strdup (own_name (loom_program_get_slot (self->p, s))),
                           GINT_TO_POINTER (self->slot_owner[s] + 1));
  return TRUE;
}

gboolean
loom_stages_assign_slots (LoomStages *stages, const LoomProgram *p, GError **error)
{
  const LoomPipeline options = { .stages = stages };
  g_autofree int *owner = g_new0 (int, loom_program_n_values (p) + 1);
  g_autofree int *stage = g_new0 (int, loom_program_n_instrs (p) + 1);
  g_autofree int *slot_owner = g_new0 (int, loom_program_n_slots (p) + 1);
  Pipeline self = { .p = p, .options = &options, .owner = owner, .stage = stage, .slot_owner = slot_owner };

  return pipeline_find_owners (&self, error);
}
