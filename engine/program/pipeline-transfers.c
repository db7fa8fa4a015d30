/* Analyses a program before its stages are written. It chooses the shardings of each instruction's operands and results
 * for every micro-batch. It also determines which values stages need from each other, and when these are available: per
 * micro-batch, before all passes, or after them. A program that cannot be pipelined, for example because its backward
 * pass needs all micro-batches at once, is refused here with an error. */
#include "engine/program/pipeline-private.h"

/* ---- shardings for micro-batches ---------------------------------------------- */

static gboolean
is_whole (LoomSharding sharding)
{
  return sharding.kind == LOOM_SHARDING_REPLICATED;
}

/* Replicas of a stage exchange the sum of all micro-batches, so they exchange once in a step. A per-sample exchange, as
 * of features, runs for each micro-batch. */
static void
decide_exchange (Partition *part, guint i)
{
  const LoomInstr *instr = loom_program_instr (part->r.from, i);
  gboolean by_itself = loom_collective_along (instr->prim, instr->attrs) != LOOM_MESH_DATA;

  for (guint k = 0; k < instr->n_in; k++)
    by_itself = by_itself && part->want[i][k].kind == LOOM_SHARDING_SPLIT;
  for (guint k = 0; k < instr->n_in && !by_itself; k++)
    part->want[i][k] = (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
  for (guint o = 0; o < instr->n_out && !by_itself; o++)
    if (instr->out[o] != 0)
      part->have[instr->out[o]] = (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
}

/* Chooses the shardings of each micro-batch's operands and results. Sums are completed where they are computed, so a
 * reader gets the whole sum. The update reads only whole values.
 *
 * A single micro-batch is the batch, so nothing is split: stages then compute one after another, in the order of the
 * undivided program. The rules could not split a batch of one sample anyway, because an axis of size 1 looks like a
 * broadcast one. The number of micro-batches decides, not the number of samples, because replicas with one and two
 * samples must exchange in the same order. */
static void
decide (Pipeline *self, Partition *part)
{
  const LoomProgram *p = self->p;

  for (guint i = 0; i < loom_program_n_inputs (p) && self->micros > 1; i++)
    {
      LoomValue v = loom_program_get_input (p, i)->value;
      const LoomTensorDesc *d = value_desc (p, v);

      if (d->rank > 0 && d->dim[0] == self->options->samples)
        part->have[v] = (LoomSharding){ .kind = LOOM_SHARDING_SPLIT };
    }
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);

      if (instr->region == LOOM_REGION_UPDATE)
        {
          part->want[i] = g_new0 (LoomSharding, instr->n_in + 1);
          continue;
        }
      partition_choose (part, i);
      if (pipeline_is_exchange (instr))
        decide_exchange (part, i);
      for (guint k = 0; k < instr->n_in; k++)
        self->divided[i] = self->divided[i] || !is_whole (part->want[i][k]);
      for (guint o = 0; o < instr->n_out; o++)
        {
          LoomValue v = instr->out[o];

          if (v == 0 || is_whole (part->have[v]))
            continue;
          self->divided[i] = TRUE;
          if (part->have[v].kind != LOOM_SHARDING_PARTIAL)
            continue;
          self->summed[v] = TRUE;
          part->have[v] = (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
        }
    }
}

/* ---- live values ------------------------------------------------------------------- */

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

/* ---- availability ------------------------------------------------------------- */

/* TRUE if an instruction reads all of a value that its stage computes per micro-batch. */
static gboolean
needs_all_micro_batches (const Pipeline *self, guint i, guint k)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  LoomValue v = instr->in[k];
  LoomSharding have, want;

  if (v == 0 || !self->dynamic[v])
    return FALSE;
  have = self->part[0].have[v];
  want = self->part[0].want[i][k];
  return self->summed[v] || (!is_whole (have) && !loom_sharding_equal (have, want));
}

/* The passes that must be finished before operand k can be read. */
static guint8
passes_before (const Pipeline *self, guint i, guint k)
{
  LoomValue v = loom_program_instr (self->p, i)->in[k];

  if (v == 0 || !needs_all_micro_batches (self, i, k))
    return v != 0 ? self->late[v] : 0;
  return self->late[v]
         | (pipeline_producer_of (self, v)->region == LOOM_REGION_FORWARD ? PIPELINE_LATE_FORWARD
                                                                          : PIPELINE_LATE_BACKWARD);
}

static void
find_late (Pipeline *self)
{
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->p, i);
      gboolean dynamic = self->divided[i];
      guint8 late = 0;

      if (self->stage[i] == PIPELINE_PER_STAGE && pipeline_is_exchange (instr))
        {
          for (guint o = 0; o < instr->n_out; o++)
            if (instr->out[o] != 0)
              {
                self->dynamic[instr->out[o]] = self->dynamic[instr->in[o]];
                self->late[instr->out[o]] = passes_before (self, i, o);
              }
          continue;
        }
      for (guint k = 0; k < instr->n_in; k++)
        {
          dynamic = dynamic || (instr->in[k] != 0 && self->dynamic[instr->in[k]]);
          late |= passes_before (self, i, k);
        }
      for (guint o = 0; o < instr->n_out; o++)
        if (instr->out[o] != 0)
          {
            self->dynamic[instr->out[o]] = dynamic && self->stage[i] != PIPELINE_EVERYWHERE;
            self->late[instr->out[o]] = late;
          }
    }
}

/* Checks a pass that waits for other micro-batches: with GPipe a backward pass may wait for all forward passes of its
 * own stage. */
static gboolean
check_pass (const Pipeline *self, guint i, guint8 late, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean gpipe = self->options->kind == LOOM_PIPELINE_GPIPE;

  if (instr->region != LOOM_REGION_BACKWARD || late == 0 || (late == PIPELINE_LATE_FORWARD && gpipe))
    return TRUE;
  return pipeline_fault (
      error,
      "The gradient of “%s” depends on all micro-batches, so no backward pass can begin before the last forward pass "
      "ends: %s.",
      pipeline_name_of (instr), late == PIPELINE_LATE_FORWARD ? "use schedule=\"gpipe\"" : "it cannot be pipelined");
}

static gboolean
fault_not_split (const LoomInstr *instr, const LoomInstr *maker, GError **error)
{
  return pipeline_fault (
      error,
      "“%s” needs the whole batch of “%s”, which an earlier stage computes per micro-batch. Give both the last stage.",
      pipeline_name_of (instr), maker != NULL ? pipeline_name_of (maker) : "a weight");
}

static gboolean
fault_comes_late (const LoomInstr *instr, const LoomInstr *maker, GError **error)
{
  return pipeline_fault (
      error,
      "“%s” needs “%s” for each micro-batch, but another stage computes it only after all of them. Give both the same "
      "stage, the last one.",
      pipeline_name_of (instr), maker != NULL ? pipeline_name_of (maker) : "a weight");
}

/* Values that stages do not have during their passes, because they depend on a value that another stage sends after all
 * passes. */
typedef struct
{
  guint64 *stages;  /* by value: the stages without it */
  LoomValue *cause; /* by value: the sent value on which it depends */
} Waits;

static gboolean
note_waits (const Pipeline *self, guint i, Waits *waits, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  const int stage = self->stage[i];
  const guint64 to = stage == PIPELINE_EVERYWHERE ? PIPELINE_ALL : G_GUINT64_CONSTANT (1) << stage;
  guint64 late = 0;
  LoomValue cause = 0;

  if (instr->region == LOOM_REGION_UPDATE)
    return TRUE;
  for (guint k = 0; k < instr->n_in; k++)
    {
      const LoomValue v = instr->in[k];
      guint64 of_operand = v != 0 ? waits->stages[v] & to : 0;

      if (of_operand != 0 && self->divided[i] && stage != PIPELINE_EVERYWHERE)
        return fault_comes_late (instr, pipeline_producer_of (self, waits->cause[v]), error);
      if (of_operand != 0)
        cause = waits->cause[v];
      if (v != 0 && !self->divided[i] && self->dynamic[v] && self->owner[v] != PIPELINE_EVERYWHERE
          && self->owner[v] != stage)
        {
          of_operand |= to & ~(G_GUINT64_CONSTANT (1) << self->owner[v]);
          cause = v;
        }
      late |= of_operand;
    }
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      {
        waits->stages[instr->out[o]] = late;
        waits->cause[instr->out[o]] = cause;
      }
  return TRUE;
}

/* Marks results of the backward pass that depend on values of other stages. FALSE if a forward pass reads one, as after
 * the operator `gradient`: the other stage sends it only in the backward pass. */
static gboolean
note_crossing (const Pipeline *self, guint i, gboolean *crosses, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean crossing = FALSE;

  for (guint k = 0; k < instr->n_in && self->divided[i]; k++)
    {
      const LoomValue v = instr->in[k];
      const LoomInstr *maker = v != 0 ? pipeline_producer_of (self, v) : NULL;

      if (maker == NULL)
        continue;
      if (instr->region == LOOM_REGION_FORWARD
          && (crosses[v]
              || (maker->region == LOOM_REGION_BACKWARD && self->owner[v] != PIPELINE_EVERYWHERE
                  && self->owner[v] != self->stage[i])))
        return pipeline_fault (error,
                               "The forward pass of “%s” reads a gradient that other stages compute, so their passes "
                               "wait for each other. Give all nodes of this gradient the same stage.",
                               pipeline_name_of (instr));
      crossing = crossing || crosses[v]
                 || (instr->region == LOOM_REGION_BACKWARD && self->owner[v] != PIPELINE_EVERYWHERE
                     && self->owner[v] != self->stage[i]);
    }
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      crosses[instr->out[o]] = crossing;
  return TRUE;
}

/* Records that operand k of instruction i comes from another stage. */
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
  maker = pipeline_producer_of (self, v);
  if (needs_all_micro_batches (self, i, k) || is_whole (self->part[0].have[v])
      || self->late[v] & (maker->region == LOOM_REGION_FORWARD ? PIPELINE_LATE_FORWARD : PIPELINE_LATE_BACKWARD))
    return fault_not_split (instr, maker, error);
  if (instr->region == LOOM_REGION_FORWARD)
    self->need_forward[v] |= to;
  else
    self->need_backward[v] |= to;
  return TRUE;
}

/* Of lists of tensors each stage needs those of its own parameters, and all scalars. A gradient may be constant, which
 * every stage computes; a parameter or a state belongs to a stage. */
static gboolean
per_stage_needs (Pipeline *self, guint i, GError **error)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  guint n = (guint) * (const int *)instr->attrs;

  if (pipeline_is_exchange (instr))
    return TRUE;
  for (guint k = 0; k < instr->n_in; k++)
    {
      gboolean is_step = loom_sharding_is_step (instr->prim);
      int owner = self->owner[instr->in[k]], at;

      if (owner == PIPELINE_EVERYWHERE && is_step && k / n != 1 && value_desc (self->p, instr->in[k])->rank > 0)
        return pipeline_no_stage (instr, error);
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
  g_autofree guint64 *stages = g_new0 (guint64, loom_program_n_values (self->p) + 1);
  g_autofree LoomValue *cause = g_new0 (LoomValue, loom_program_n_values (self->p) + 1);
  g_autofree gboolean *crosses = g_new0 (gboolean, loom_program_n_values (self->p) + 1);
  Waits waits = { stages, cause };

  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->p, i);
      guint8 late = 0;

      if (!self->is_live[i])
        continue;
      if (self->stage[i] == PIPELINE_PER_STAGE)
        {
          if (!per_stage_needs (self, i, error))
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
      if (!note_waits (self, i, &waits, error) || !note_crossing (self, i, crosses, error))
        return FALSE;
      for (guint o = 0; o < instr->n_out; o++)
        late |= instr->out[o] != 0 ? self->late[instr->out[o]] : 0;
      if (self->divided[i] && self->stage[i] != PIPELINE_EVERYWHERE && !check_pass (self, i, late, error))
        return FALSE;
    }
  return TRUE;
}

/* Outputs are needed on every rank. */
static void
need_outputs (Pipeline *self)
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

gboolean
pipeline_analyse (Pipeline *self, GError **error)
{
  guint number = 0;

  for (int m = 0; m < self->micros; m++)
    decide (self, &self->part[m]);
  find_live (self);
  if (!pipeline_find_owners (self, error))
    return FALSE;
  find_late (self);
  if (!find_needs (self, error))
    return FALSE;
  need_outputs (self);
  for (LoomValue v = 1; v <= loom_program_n_values (self->p); v++)
    {
      self->need_backward[v] &= ~self->need_forward[v];
      self->opaque[v] = self->summed[v];
      if ((self->need_forward[v] | self->need_backward[v] | self->need_before[v] | self->need_after[v]) != 0)
        self->number[v] = number++;
    }
  return TRUE;
}
