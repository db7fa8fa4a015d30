/* Writes the program of one pipeline stage.
 *
 * Passes are written in the order of the schedule. A pass receives its values, computes, and sends. If stages exchange
 * after each slot instead, the values of the slot's passes follow, in the order of stages, on both senders and
 * receivers. Everything else is written at its first use. Values that all ranks exchange after the passes (norms,
 * losses, gradients of shared weights) keep the order of the undivided program. */
#include "engine/program/pipeline-private.h"

static void ensure_whole (Pipeline *self, LoomValue v);

/* ---- instructions ------------------------------------------------------------------- */

static void ensure_made (Pipeline *self, LoomValue v, int m);

static void
ensure_operands (Pipeline *self, guint i, int m)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  const Partition *part = &self->part[m];

  for (guint k = 0; k < instr->n_in; k++)
    {
      LoomValue v = instr->in[k];

      if (v == 0)
        continue;
      if (part->have[v].kind != LOOM_SHARDING_REPLICATED && loom_sharding_equal (part->have[v], part->want[i][k]))
        ensure_made (self, v, m);
      else
        ensure_whole (self, v);
    }
}

static void
write_divided (Pipeline *self, guint i, int m)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean *written = &self->written[i * (guint)self->micros + (guint)m];

  if (*written)
    return;
  *written = TRUE;
  /* Summands are added in the order of micro-batches. */
  for (guint o = 0; o < instr->n_out; o++)
    for (int before = 0; instr->out[o] != 0 && self->summed[instr->out[o]] && before < m; before++)
      write_divided (self, i, before);
  ensure_operands (self, i, m);
  partition_write (&self->part[m], i);
  for (guint o = 0; o < instr->n_out; o++)
    {
      LoomValue v = instr->out[o];

      if (v == 0)
        continue;
      if (self->summed[v])
        pipeline_add_summand (self, v, m);
      else if (m == 0 && self->part[0].have[v].kind == LOOM_SHARDING_REPLICATED)
        pipeline_set_whole (self, v, local_value (&self->part[0], v));
    }
}

static void
write_undivided (Pipeline *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean *written = &self->written[i * (guint)self->micros];

  if (*written)
    return;
  *written = TRUE;
  ensure_operands (self, i, 0);
  pipeline_set_single_micro_batch (self, instr);
  partition_write (&self->part[0], i);
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      pipeline_set_whole (self, instr->out[o], local_value (&self->part[0], instr->out[o]));
}

/* Finds those of n values that are on this stage: stores their indices in `at` and returns their number. */
static guint
find_on_stage (const Pipeline *self, guint n, const LoomValue *values, guint *at)
{
  guint own = 0;

  for (guint k = 0; k < n; k++)
    if (pipeline_is_here (self, self->owner[values[k]]))
      at[own++] = k;
  return own;
}

/* Writes an exchange of the operands that are on this stage. */
static void
write_exchange (Pipeline *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean *written = &self->written[i * (guint)self->micros];
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1), *out = g_new0 (LoomValue, instr->n_out + 1);
  g_autofree guint *at = g_new0 (guint, instr->n_in + 1);
  g_autofree gpointer attrs = g_memdup2 (instr->attrs, instr->prim->attrs_size);
  guint own = find_on_stage (self, instr->n_in, instr->in, at);

  if (*written || own == 0)
    return;
  *written = TRUE;
  for (guint k = 0; k < own; k++)
    {
      ensure_whole (self, instr->in[at[k]]);
      in[k] = pipeline_whole (self, instr->in[at[k]]);
    }
  prim_collective_choose (instr->prim, attrs, own, at);
  pipeline_set_single_micro_batch (self, instr);
  loom_rewrite_set_origin (&self->part[0].r, instr);
  loom_emit (pipeline_target (self), instr->prim, attrs, own, in, out);
  for (guint k = 0; k < own; k++)
    if (instr->out[at[k]] != 0)
      pipeline_set_whole (self, instr->out[at[k]], out[k]);
}

/* Writes an optimizer's step over the parameters of this stage. */
static void
write_step (Pipeline *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  gboolean *written = &self->written[i * (guint)self->micros];
  guint n = (guint) * (const int *)instr->attrs, results = instr->n_out / n, lists = results + 1, n_in = 0, own;
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1), *out = g_new0 (LoomValue, instr->n_out + 1);
  g_autofree guint *at = g_new0 (guint, n + 1);
  g_autofree gpointer attrs = g_memdup2 (instr->attrs, instr->prim->attrs_size);

  if (*written)
    return;
  *written = TRUE;
  own = find_on_stage (self, n, instr->in, at);
  if (own == 0)
    return;
  for (guint list = 0; list < lists; list++)
    for (guint k = 0; k < own; k++)
      in[n_in++] = instr->in[list * n + at[k]];
  for (guint k = lists * n; k < instr->n_in; k++)
    in[n_in++] = instr->in[k];
  for (guint k = 0; k < n_in; k++)
    {
      ensure_whole (self, in[k]);
      in[k] = pipeline_whole (self, in[k]);
    }
  *(int *)attrs = (int)own;
  pipeline_set_single_micro_batch (self, instr);
  loom_rewrite_set_origin (&self->part[0].r, instr);
  loom_emit (pipeline_target (self), instr->prim, attrs, n_in, in, out);
  for (guint list = 0; list < results; list++)
    for (guint k = 0; k < own; k++)
      if (instr->out[list * n + at[k]] != 0)
        pipeline_set_whole (self, instr->out[list * n + at[k]], out[list * own + k]);
}

static LoomValue
reduce_stages (LoomProgram *p, LoomReduceOp op, LoomValue v)
{
  LoomAllReduceAttrs attrs = { .n = 1, .op = op };

  return loom_emit (p, loom_prim ("stage_reduce"), &attrs, 1, &v, NULL);
}

/* TRUE if this stage's statistics include a gradient. Every stage computes a constant one, and the first counts it. */
static gboolean
counts_gradient (const Pipeline *self, LoomValue grad)
{
  const int owner = self->owner[grad];

  return self->options->stage == (owner == PIPELINE_EVERYWHERE ? 0 : owner);
}

/* Writes the sum of squares of all gradients and the finite flag: each stage's own, then all stages' together. */
static void
write_stats (Pipeline *self, guint i)
{
  LoomProgram *p = pipeline_target (self);
  const LoomInstr *instr = loom_program_instr (self->p, i);
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
  LoomDType dtype = value_desc (self->p, instr->out[0])->dtype;
  LoomGradStatsAttrs attrs = { 0 };
  LoomValue out[2];

  for (guint k = 0; k < instr->n_in; k++)
    if (counts_gradient (self, instr->in[k]))
      {
        ensure_whole (self, instr->in[k]);
        in[attrs.n++] = pipeline_whole (self, instr->in[k]);
      }
  pipeline_set_single_micro_batch (self, instr);
  loom_rewrite_set_origin (&self->part[0].r, instr);
  if (attrs.n > 0)
    loom_emit (p, instr->prim, &attrs, (guint)attrs.n, in, out);
  else
    {
      out[0] = loom_fill (p, dtype, 0, NULL, 0);
      out[1] = loom_fill (p, dtype, 0, NULL, 1);
    }
  pipeline_set_whole (self, instr->out[0], reduce_stages (p, LOOM_REDUCE_SUM, out[0]));
  pipeline_set_whole (self, instr->out[1], reduce_stages (p, LOOM_REDUCE_MIN, out[1]));
}

static void
ensure_made (Pipeline *self, LoomValue v, int m)
{
  guint i = loom_value_info (self->p, v)->producer;
  const LoomInstr *instr = pipeline_producer_of (self, v);

  if (local_value (&self->part[m], v) != 0)
    return;
  if (instr == NULL)
    {
      /* An input has the whole batch, so a micro-batch's value is a slice of it. */
      LoomTensorDesc d = pipeline_part_desc (self, v, m);
      gint64 start[LOOM_MAX_RANK]
          = { partition_rows (&self->part[m], value_desc (self->p, v)->dim[0], self->part[m].own.first) };

      pipeline_set_local (self, m, v, loom_slice (pipeline_target (self), self->part[0].whole[v], start, NULL, d.dim));
      return;
    }
  if (!pipeline_is_here (self, self->owner[v]))
    g_error ("stage %d: %s was not received from stage %d", self->options->stage, pipeline_name_of (instr),
             self->owner[v]);
  write_divided (self, i, m);
}

static void
ensure_whole (Pipeline *self, LoomValue v)
{
  const LoomInstr *instr;
  guint i;

  if (v == 0 || self->complete[v])
    return;
  i = loom_value_info (self->p, v)->producer;
  instr = pipeline_producer_of (self, v);
  if (instr == NULL)
    return;
  if (!pipeline_is_here (self, self->owner[v]) && self->part[0].have[v].kind == LOOM_SHARDING_REPLICATED)
    g_error ("stage %d: the whole of %s was not received from stage %d", self->options->stage, pipeline_name_of (instr),
             self->owner[v]);
  if (self->stage[i] == PIPELINE_PER_STAGE)
    {
      if (pipeline_is_exchange (instr))
        write_exchange (self, i);
      else
        write_step (self, i);
      return;
    }
  if (!self->divided[i])
    {
      write_undivided (self, i);
      return;
    }
  for (int m = 0; m < self->micros; m++)
    ensure_made (self, v, m);
  if (self->part[0].have[v].kind == LOOM_SHARDING_REPLICATED)
    return;
  loom_rewrite_set_origin (&self->part[0].r, instr);
  pipeline_set_whole (self, v, pipeline_join_parts (self, v));
}

/* ---- passes --------------------------------------------------------------------------- */

static gboolean
is_of_pass (const Pipeline *self, guint i, const LoomPipelineEvent *e)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  LoomRegion region = e->backward ? LOOM_REGION_BACKWARD : LOOM_REGION_FORWARD;

  if (!self->is_live[i] || !self->divided[i] || self->stage[i] != e->stage || instr->region != region)
    return FALSE;
  /* An instruction that waits for other micro-batches is not written in a pass, but at its first use. */
  for (guint o = 0; o < instr->n_out && !e->backward; o++)
    if (instr->out[o] != 0 && self->late[instr->out[o]] != 0)
      return FALSE;
  return TRUE;
}

static void
receive_for (Pipeline *self, const LoomPipelineEvent *e)
{
  const guint64 *need = e->backward ? self->need_backward : self->need_forward;

  for (LoomValue v = 1; v <= loom_program_n_values (self->p); v++)
    if (need[v] & (G_GUINT64_CONSTANT (1) << e->stage))
      {
        LoomTensorDesc d = pipeline_part_desc (self, v, e->micro);

        pipeline_set_local (self, e->micro, v, pipeline_receive (self, v, &d, e->micro, 0));
      }
}

static void
send_of (Pipeline *self, guint i, int micro, int exchange_slot)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);

  for (guint o = 0; o < instr->n_out; o++)
    for (int s = 0; instr->out[o] != 0 && s < self->stages; s++)
      if ((self->need_forward[instr->out[o]] | self->need_backward[instr->out[o]]) & (G_GUINT64_CONSTANT (1) << s))
        pipeline_send (self, instr->out[o], local_value (&self->part[micro], instr->out[o]), s, micro, exchange_slot);
}

/* Receives an operand of this pass that another stage's pass has sent. */
static void
receive_of (Pipeline *self, guint i, int micro, int exchange_slot)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);
  const guint64 own = G_GUINT64_CONSTANT (1) << self->options->stage;

  for (guint o = 0; o < instr->n_out; o++)
    {
      LoomValue v = instr->out[o];

      if (v != 0 && ((self->need_forward[v] | self->need_backward[v]) & own))
        {
          LoomTensorDesc d = pipeline_part_desc (self, v, micro);

          pipeline_set_local (self, micro, v, pipeline_receive (self, v, &d, micro, exchange_slot));
        }
    }
}

static void
begin_pass (Pipeline *self, const LoomPipelineEvent *e)
{
  loom_program_set_pass (pipeline_target (self), 1 + 2 * (guint)e->micro + (e->backward != 0));
}

static void
write_pass (Pipeline *self, const LoomPipelineEvent *e)
{
  const gboolean meet = self->options->stages->meet;

  begin_pass (self, e);
  if (!meet)
    receive_for (self, e);
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    if (is_of_pass (self, i, e))
      {
        write_divided (self, i, e->micro);
        if (!meet)
          send_of (self, i, e->micro, 0);
      }
}

/* Writes the exchange after a slot: the values of its passes that other stages need. */
static void
write_slot_exchange (Pipeline *self, const GArray *events, guint first, guint end)
{
  for (guint k = first; k < end; k++)
    {
      const LoomPipelineEvent *e = &g_array_index (events, LoomPipelineEvent, k);

      begin_pass (self, e);
      for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
        if (is_of_pass (self, i, e))
          (e->stage == self->options->stage ? send_of : receive_of) (self, i, e->micro, e->slot + 1);
    }
}

static void
write_passes (Pipeline *self)
{
  gboolean training = FALSE;
  g_autoptr (GArray) events = NULL;

  for (guint i = 0; i < loom_program_n_instrs (self->p) && !training; i++)
    training = loom_program_instr (self->p, i)->region == LOOM_REGION_BACKWARD;
  events = loom_pipeline_schedule (self->options->kind, self->stages, self->micros, training);
  for (guint k = 0, slot = 0; k < events->len; k++)
    {
      const LoomPipelineEvent *e = &g_array_index (events, LoomPipelineEvent, k);

      if (e->stage == self->options->stage)
        write_pass (self, e);
      if (k + 1 < events->len && (e + 1)->slot == e->slot)
        continue;
      if (self->options->stages->meet)
        write_slot_exchange (self, events, slot, k + 1);
      slot = k + 1;
    }
  loom_program_set_pass (pipeline_target (self), 0);
}

/* ---- before and after the passes ---------------------------------------------------------- */

static void
exchange_slots (Pipeline *self, const guint64 *need, gboolean together)
{
  for (guint s = 0; s < loom_program_n_slots (self->p); s++)
    {
      LoomValue v = loom_program_get_slot (self->p, s)->read;

      if (v != 0 && need[v] != 0)
        {
          if (self->owner[v] == self->options->stage)
            ensure_whole (self, v);
          pipeline_exchange (self, v, need[v], together);
        }
    }
}

static void
exchange_results (Pipeline *self, guint i, const guint64 *need, gboolean together)
{
  const LoomInstr *instr = loom_program_instr (self->p, i);

  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0 && need[instr->out[o]] != 0)
      {
        if (self->owner[instr->out[o]] == self->options->stage)
          ensure_whole (self, instr->out[o]);
        pipeline_exchange (self, instr->out[o], need[instr->out[o]], together);
      }
}

static void
write_before (Pipeline *self)
{
  exchange_slots (self, self->need_before, FALSE);
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    if (self->is_live[i])
      exchange_results (self, i, self->need_before, FALSE);
}

static void
write_after (Pipeline *self)
{
  exchange_slots (self, self->need_after, TRUE);
  for (guint i = 0; i < loom_program_n_instrs (self->p); i++)
    {
      if (!self->is_live[i])
        continue;
      if (self->stage[i] == PIPELINE_PER_STAGE
          && loom_program_instr (self->p, i)->prim->sharding == loom_shard_grad_stats)
        write_stats (self, i);
      /* A step may end at the gate on all ranks, after which no rank may wait for a send. */
      if (loom_program_instr (self->p, i)->prim->flags & LOOM_PRIM_GATE)
        write_undivided (self, i);
      exchange_results (self, i, self->need_after, TRUE);
    }
}

static void
write_ends (Pipeline *self, LoomValue *next)
{
  const LoomProgram *p = self->p;

  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    ensure_whole (self, loom_program_get_output (p, i)->value);
  for (guint s = 0; s < loom_program_n_slots (p); s++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, s);

      if (slot->commit == 0)
        continue;
      if (!pipeline_is_here (self, self->slot_owner[s]))
        {
          next[s] = loom_program_read (pipeline_target (self), (int)s); /* a slot of another stage is unchanged */
          continue;
        }
      ensure_whole (self, slot->commit);
      next[s] = pipeline_whole (self, slot->commit);
    }
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    if (self->part[0].have[v].kind != LOOM_SHARDING_REPLICATED)
      pipeline_set_local (self, 0, v, self->part[0].whole[v]);
  self->part[0].r.next = next;
}

/* ---- the program ---------------------------------------------------------------------------- */

static gboolean
place_slot (LoomRewrite *r, guint slot, gboolean *here)
{
  const Pipeline *self = ((Partition *)r)->pipeline;

  *here = self->slot_owner[slot] == self->options->stage;
  return self->slot_owner[slot] != PIPELINE_EVERYWHERE;
}

static void
pipeline_init (Pipeline *self, const LoomProgram *p, const LoomPipeline *options)
{
  guint n = loom_program_n_values (p) + 1, n_instrs = loom_program_n_instrs (p) + 1;

  *self = (Pipeline){ .p = p,
                      .options = options,
                      .stages = options->stages->n,
                      .micros = (int)CLAMP (options->samples, 1, MAX (options->micros, 1)) };
  self->part = g_new0 (Partition, self->micros);
  self->partition = g_new0 (LoomPartition, self->micros);
  for (int m = 0; m < self->micros; m++)
    {
      self->partition[m] = (LoomPartition){ .samples = options->samples, .rank = m, .ranks = self->micros };
      partition_init (&self->part[m], p, &self->partition[m]);
      self->part[m].pipeline = self;
    }
  self->owner = g_new0 (int, n);
  self->summed = g_new0 (gboolean, n);
  self->dynamic = g_new0 (gboolean, n);
  self->late = g_new0 (guint8, n);
  self->need_forward = g_new0 (guint64, n);
  self->need_backward = g_new0 (guint64, n);
  self->need_before = g_new0 (guint64, n);
  self->need_after = g_new0 (guint64, n);
  self->number = g_new0 (guint, n);
  self->sum = g_new0 (LoomValue, n);
  self->complete = g_new0 (gboolean, n);
  self->opaque = g_new0 (gboolean, n);
  self->stage = g_new0 (int, n_instrs);
  self->is_live = g_new0 (gboolean, n_instrs);
  self->divided = g_new0 (gboolean, n_instrs);
  self->written = g_new0 (gboolean, n_instrs * (guint)self->micros);
  self->slot_owner = g_new0 (int, loom_program_n_slots (p) + 1);
}

static void
pipeline_clear (Pipeline *self)
{
  for (int m = 0; m < self->micros; m++)
    {
      if (m > 0 && self->part[m].r.map != NULL)
        g_array_unref (self->part[m].r.map);
      partition_clear (&self->part[m]);
    }
  g_free (self->part);
  g_free (self->partition);
  g_free (self->owner);
  g_free (self->summed);
  g_free (self->dynamic);
  g_free (self->late);
  g_free (self->need_forward);
  g_free (self->need_backward);
  g_free (self->need_before);
  g_free (self->need_after);
  g_free (self->number);
  g_free (self->sum);
  g_free (self->complete);
  g_free (self->opaque);
  g_free (self->stage);
  g_free (self->is_live);
  g_free (self->divided);
  g_free (self->written);
  g_free (self->slot_owner);
}

/* Begins the new program: all micro-batches write into it, and its inputs are whole batches. */
static void
begin (Pipeline *self)
{
  LoomRewrite *r = &self->part[0].r;

  r->localise = NULL;
  r->place = place_slot;
  loom_rewrite_begin (r, self->p, "pipeline",
                      "Divides the program into stages, which compute micro-batches one after the other.");
  for (int m = 0; m < self->micros; m++)
    self->part[m].opaque = self->opaque;
  for (int m = 1; m < self->micros; m++)
    {
      LoomRewrite *other = &self->part[m].r;

      other->to = r->to;
      other->map = g_array_new (FALSE, TRUE, sizeof (LoomValue));
      g_array_append_vals (other->map, r->map->data, r->map->len);
    }
  for (guint i = 0; i < loom_program_n_inputs (self->p); i++)
    {
      LoomValue v = loom_program_get_input (self->p, i)->value;
      LoomValue whole = local_value (&self->part[0], v);

      for (int m = 0; m < self->micros && self->part[0].have[v].kind != LOOM_SHARDING_REPLICATED; m++)
        {
          self->part[m].whole[v] = whole;
          pipeline_set_local (self, m, v, 0);
        }
    }
}

LoomProgram *
loom_program_pipeline (const LoomProgram *p, const LoomPipeline *options, GError **error)
{
  Pipeline self;
  g_autofree LoomValue *next = g_new0 (LoomValue, loom_program_n_slots (p) + 1);
  LoomProgram *to = NULL;

  pipeline_init (&self, p, options);
  if (pipeline_analyse (&self, error))
    {
      begin (&self);
      write_before (&self);
      write_passes (&self);
      write_after (&self);
      write_ends (&self, next);
      to = loom_rewrite_end (&self.part[0].r);
    }
  pipeline_clear (&self);
  return to;
}
