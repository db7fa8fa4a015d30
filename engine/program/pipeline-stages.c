/* Who computes what in a pipeline, who is sent what, and when that can be.
 *
 * An instruction of a node is its stage's, and so is its gradient's; what is made of inputs and hyper-parameters alone
 * is everybody's. The update of a parameter is the stage's that has it; of what is a scalar and made of several stages'
 * scalars (a norm, whether all is finite) everybody has all. */
#include "engine/program/pipeline-private.h"

#include "engine/program/loom-optimizer.h"

#include <string.h>

/* ---- stages ------------------------------------------------------------------- */

LoomStages *
loom_stages_new (int n)
{
  LoomStages *stages = g_new0 (LoomStages, 1);

  g_atomic_ref_count_init (&stages->refs);
  stages->n = n;
  stages->node = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  stages->slot = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return stages;
}

LoomStages *
loom_stages_ref (LoomStages *stages)
{
  g_atomic_ref_count_inc (&stages->refs);
  return stages;
}

void
loom_stages_unref (LoomStages *stages)
{
  if (stages == NULL || !g_atomic_ref_count_dec (&stages->refs))
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

/* ---- faults --------------------------------------------------------------------- */

static const char *
name_of (const LoomInstr *instr)
{
  return instr->origin != NULL ? instr->origin : instr->prim->name;
}

static gboolean refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_propagate_error (error, g_error_new_valist (LOOM_ERROR, LOOM_ERROR_SHAPE, format, args));
  va_end (args);
  return FALSE;
}

static const LoomInstr *
producer_of (const Pipeline *self, LoomValue v)
{
  guint producer = loom_value_info (self->p, v)->producer;

  return producer == G_MAXUINT ? NULL : loom_program_instr (self->p, producer);
}

/* ---- parts of micro-batches ------------------------------------------------------- */

static gboolean
is_whole (LoomShare share)
{
  return share.kind == LOOM_SHARE_WHOLE;
}

/* In which form each micro-batch has its operands and results. Sums are completed where they are made: what reads one
 * finds all of it. The update knows whole values alone. */
static void
decide (Pipeline *self, Partition *part)
{
  const LoomProgram *p = self->p;

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      LoomValue v = loom_program_get_input (p, i)->value;
      const LoomTensorDesc *d = value_desc (p, v);

      if (d->rank > 0 && d->dim[0] == self->options->samples)
        part->have[v] = (LoomShare){ .kind = LOOM_SHARE_SPLIT };
    }
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if (instr->region == LOOM_REGION_UPDATE)
        {
          part->want[i] = g_new0 (LoomShare, instr->n_in + 1);
          continue;
        }
      partition_decide (part, i);
      for (guint k = 0; k < instr->n_in; k++)
        self->divided[i] = self->divided[i] || !is_whole (part->want[i][k]);
      for (guint o = 0; o < instr->n_out; o++)
        {
          LoomValue v = instr->out[o];

          if (v == 0 || is_whole (part->have[v]))
            continue;
          self->divided[i] = TRUE;
          if (part->have[v].kind != LOOM_SHARE_PENDING)
            continue;
          self->summed[v] = TRUE;
          part->have[v] = (LoomShare){ .kind = LOOM_SHARE_WHOLE };
        }
    }
}

/* ---- what is needed at all --------------------------------------------------------- */

static void
mark_producer (Pipeline *self, LoomValue v)
{
  guint producer = v != 0 ? loom_value_info (self->p, v)->producer : G_MAXUINT;

  if (producer != G_MAXUINT)
    self->is_live[producer] = TRUE;
}

static void
find_live (Pipeline *self)
{
  for (guint i = 0; i < loom_program_n_outputs (self->p); i++)
    mark_producer (self, loom_program_get_output (self->p, i)->value);
  for (guint i = 0; i < loom_program_n_slots (self->p); i++)
    mark_producer (self, loom_program_get_slot (self->p, i)->commit);
  for (guint i = loom_program_n_instrs (self->p); i-- > 0;)
    for (guint k = 0; self->is_live[i] && k < loom_program_instr (self->p, i)->n_in; k++)
      mark_producer (self, loom_program_instr (self->p, i)->in[k]);
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

/* The slot of the parameter that a state belongs to, "optimizer.KIND.PARAMETER"; -1 where it is none's. */
static int
parameter_of (const Pipeline *self, const LoomSlot *slot)
{
  const char *point = slot->kind == LOOM_SLOT_OPTIMIZER ? strchr (slot->name, '.') : NULL;

  for (; point != NULL; point = strchr (point + 1, '.'))
    {
      int k = loom_program_find_slot (self->p, point + 1);

      if (k >= 0)
        return k;
    }
  return -1;
}

static const char *
own_name (const LoomSlot *slot)
{
  /* An evaluation that reads averages has them under their names. */
  return g_str_has_prefix (slot->name, LOOM_SLOT_EMA) ? slot->name + strlen (LOOM_SLOT_EMA) : slot->name;
}

/* Those that an earlier program knows, and of the others those that nodes with a stage read: the first of these stages
 * has them. */
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
      int of = self->slot_owner[s] == PIPELINE_EVERYWHERE ? parameter_of (self, slot) : -1;

      if (of >= 0)
        own_slot (self, (int)s, self->slot_owner[of]);
    }
}

/* Of a pass; without a stage of its own it follows its operands, in the forward pass the last one's, in the backward
 * pass the first one's. */
static gboolean
stage_of_pass (Pipeline *self, guint i, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean forward = instr->region == LOOM_REGION_FORWARD;
  int stage = loom_stages_get (self->options->stages, instr->origin), follows = PIPELINE_EVERYWHERE;

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
      follows = follows == PIPELINE_EVERYWHERE ? owner : forward ? MAX (follows, owner) : MIN (follows, owner);
      if (forward && stage >= 0 && owner > stage && s < 0)
        return refuse (error,
                       "“%s” is in stage %d and reads “%s” of stage %d: a stage reads what it or an earlier one makes. "
                       "Give “%s” stage %d or a later one.",
                       name_of (instr), stage, name_of (producer_of (self, instr->in[k])), owner, name_of (instr),
                       owner);
    }
  self->stage[i] = follows == PIPELINE_EVERYWHERE ? PIPELINE_EVERYWHERE : stage >= 0 ? stage : follows;
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      self->owner[instr->out[o]] = self->stage[i];
  return TRUE;
}

static gboolean
no_stage (const LoomInstr *instr, GError **error)
{
  return refuse (error,
                 "The optimizer's %s reads weights of several stages at once, so that no stage can compute it. Train "
                 "without a pipeline, or take another optimizer.",
                 instr->prim->name);
}

static gboolean
stage_of_update (Pipeline *self, guint i, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  int of_tensors = PIPELINE_EVERYWHERE, of_scalars = PIPELINE_EVERYWHERE;
  gboolean several = FALSE;

  if (instr->prim->share == loom_share_grad_stats || instr->prim->share == loom_share_step)
    {
      guint n = (guint) * (const int *)instr->attrs;

      self->stage[i] = PIPELINE_SPREAD;
      for (guint o = 0; o < instr->n_out && instr->prim->share == loom_share_step; o++)
        if (instr->out[o] != 0)
          self->owner[instr->out[o]] = self->owner[instr->in[o % n]];
      return TRUE;
    }
  /* A step that writes nothing ends there, on all ranks. */
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
            return no_stage (instr, error);
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

static gboolean
find_owners (Pipeline *self, GError **error)
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
      /* A parameter that the pass has given to a stage brings its states there. */
      if (!updates && i + 1 < loom_program_n_instrs (self->p)
          && loom_program_instr (self->p, i + 1)->region == LOOM_REGION_UPDATE)
        own_states (self);
    }
  for (guint s = 0; s < loom_program_n_slots (self->p); s++)
    if (self->slot_owner[s] != PIPELINE_EVERYWHERE)
      g_hash_table_insert (self->options->stages->slot, g_strdup (own_name (loom_program_get_slot (self->p, s))),
                           GINT_TO_POINTER (self->slot_owner[s] + 1));
  return TRUE;
}

/* ---- when ------------------------------------------------------------------------------ */

/* TRUE if an instruction reads the whole of what its stage makes micro-batch by micro-batch. */
static gboolean
joins (const Pipeline *self, guint i, guint k)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  LoomValue v = instr->in[k];
  LoomShare have, want;

  if (v == 0 || !self->dynamic[v])
    return FALSE;
  have = self->part[0].have[v];
  want = self->part[0].want[i][k];
  return self->summed[v] || (!is_whole (have) && !loom_share_equal (have, want));
}

static void
find_late (Pipeline *self)
{
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->p, i);
      gboolean dynamic = self->divided[i];
      guint8 late = 0;

      for (guint k = 0; k < instr->n_in; k++)
        {
          if (instr->in[k] == 0)
            continue;
          dynamic = dynamic || self->dynamic[instr->in[k]];
          late |= self->late[instr->in[k]];
          if (joins (self, i, k))
            late |= producer_of (self, instr->in[k])->region == LOOM_REGION_FORWARD ? PIPELINE_LATE_FORWARD
                                                                                    : PIPELINE_LATE_BACKWARD;
        }
      for (guint o = 0; o < instr->n_out; o++)
        if (instr->out[o] != 0)
          {
            self->dynamic[instr->out[o]] = dynamic && self->stage[i] != PIPELINE_EVERYWHERE;
            self->late[instr->out[o]] = late;
          }
    }
}

/* A pass that has to wait for other micro-batches; with GPipe a backward pass may wait for all forward passes of its
 * own stage. */
static gboolean
check_pass (const Pipeline *self, guint i, guint8 late, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean gpipe = self->options->kind == LOOM_PIPELINE_GPIPE;

  if (instr->region != LOOM_REGION_BACKWARD || late == 0 || (late == PIPELINE_LATE_FORWARD && gpipe))
    return TRUE;
  return refuse (error,
                 "The gradient of “%s” depends on all micro-batches at once, so that none can go back before the last "
                 "has come: %s.",
                 name_of (instr),
                 late == PIPELINE_LATE_FORWARD ? "schedule=\"gpipe\" waits for it" : "it has no pipeline");
}

static gboolean
not_by_parts (const LoomInstr *instr, const LoomInstr *maker, GError **error)
{
  return refuse (error,
                 "“%s” needs all of “%s”, which an earlier stage makes micro-batch by micro-batch. Give both the same "
                 "stage, the last one.",
                 name_of (instr), maker != NULL ? name_of (maker) : "a weight");
}

/* Operand k of instruction i, which another stage makes. */
static gboolean
note_need (Pipeline *self, guint i, guint k, guint64 to, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i), *maker;
  LoomValue v = instr->in[k];
  gboolean is_pass = self->divided[i] && instr->region != LOOM_REGION_UPDATE;

  if (!self->dynamic[v] && instr->region != LOOM_REGION_UPDATE)
    {
      self->need_before[v] |= to;
      return TRUE;
    }
  if (!is_pass)
    {
      self->need_after[v] |= to;
      return TRUE;
    }
  maker = producer_of (self, v);
  if (joins (self, i, k) || is_whole (self->part[0].have[v])
      || self->late[v] & (maker->region == LOOM_REGION_FORWARD ? PIPELINE_LATE_FORWARD : PIPELINE_LATE_BACKWARD))
    return not_by_parts (instr, maker, error);
  if (instr->region == LOOM_REGION_FORWARD)
    self->need_forward[v] |= to;
  else
    self->need_backward[v] |= to;
  return TRUE;
}

/* Of lists of tensors each stage needs what belongs to its own parameters, and all scalars. */
static gboolean
spread_needs (Pipeline *self, guint i, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  guint n = (guint) * (const int *)instr->attrs;

  for (guint k = 0; k < instr->n_in; k++)
    {
      gboolean is_step = instr->prim->share == loom_share_step;
      int owner = self->owner[instr->in[k]], at;

      if (owner == PIPELINE_EVERYWHERE && value_desc (self->p, instr->in[k])->rank > 0)
        return no_stage (instr, error);
      if (owner == PIPELINE_EVERYWHERE || !is_step)
        continue;
      at = k < n * (1 + instr->n_out / n) ? self->owner[instr->in[k % n]] : PIPELINE_EVERYWHERE;
      if (at != owner)
        self->need_after[instr->in[k]] |= at == PIPELINE_EVERYWHERE ? PIPELINE_ALL : G_GUINT64_CONSTANT (1) << at;
    }
  return TRUE;
}

static gboolean
find_needs (Pipeline *self, GError **error)
{
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->p, i);
      guint8 late = 0;

      if (!self->is_live[i])
        continue;
      if (self->stage[i] == PIPELINE_SPREAD)
        {
          if (!spread_needs (self, i, error))
            return FALSE;
          continue;
        }
      for (guint k = 0; k < instr->n_in; k++)
        {
          int owner = instr->in[k] != 0 ? self->owner[instr->in[k]] : PIPELINE_EVERYWHERE;

          if (owner == PIPELINE_EVERYWHERE || owner == self->stage[i])
            continue;
          if (!note_need (self, i, k,
                          self->stage[i] == PIPELINE_EVERYWHERE ? PIPELINE_ALL
                                                                : G_GUINT64_CONSTANT (1) << self->stage[i],
                          error))
            return FALSE;
        }
      for (guint o = 0; o < instr->n_out; o++)
        late |= instr->out[o] != 0 ? self->late[instr->out[o]] : 0;
      if (self->divided[i] && self->stage[i] != PIPELINE_EVERYWHERE && !check_pass (self, i, late, error))
        return FALSE;
    }
  return TRUE;
}

/* What leaves the program is the same on every rank. */
static void
need_ends (Pipeline *self)
{
  for (guint i = 0; i < loom_program_n_outputs (self->p); i++)
    {
      LoomValue v = loom_program_get_output (self->p, i)->value;

      if (self->owner[v] != PIPELINE_EVERYWHERE)
        self->need_after[v] = PIPELINE_ALL;
    }
  for (guint s = 0; s < loom_program_n_slots (self->p); s++)
    {
      LoomValue v = loom_program_get_slot (self->p, s)->commit;

      if (v != 0 && self->owner[v] != PIPELINE_EVERYWHERE && self->owner[v] != self->slot_owner[s])
        self->need_after[v] |= self->slot_owner[s] == PIPELINE_EVERYWHERE
                                   ? PIPELINE_ALL
                                   : G_GUINT64_CONSTANT (1) << self->slot_owner[s];
    }
}

/* A slot that somebody else gives its next value belongs to whom that is, unless it is everybody's. */
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
pipeline_survey (Pipeline *self, GError **error)
{
  guint number = 0;

  for (int m = 0; m < self->micros; m++)
    decide (self, &self->part[m]);
  find_live (self);
  if (!find_owners (self, error))
    return FALSE;
  own_written_slots (self);
  find_late (self);
  if (!find_needs (self, error))
    return FALSE;
  need_ends (self);
  for (LoomValue v = 1; v <= loom_program_n_values (self->p); v++)
    {
      self->need_backward[v] &= ~self->need_forward[v];
      self->opaque[v] = self->summed[v];
      if ((self->need_forward[v] | self->need_backward[v] | self->need_before[v] | self->need_after[v]) != 0)
        self->number[v] = number++;
    }
  return TRUE;
}
