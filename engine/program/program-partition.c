/* Partitions a program among ranks (loom-partition.h).
 *
 * First each instruction chooses the shardings of its operands and results; then the rank's program is written, with
 * conversions between shardings (partition-reshard.c). If batch norms are synchronised, a pass before both expands
 * them, so that their sums are over the samples of all ranks. */
#include "engine/program/partition-state.h"

#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-slot-names.h"

#include <string.h>

/* ---- choosing shardings -------------------------------------------------------- */

static LoomSharding
sharding_of (const Partition *self, LoomValue v)
{
  return v != 0 ? self->have[v] : (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
}

/* ---- state ---------------------------------------------------------------------- */

/* The sharding of a slot. Scalars are whole. */
static LoomSharding
slot_sharding (const Partition *self, const LoomSlot *slot)
{
  const LoomSharding shard = { .kind = LOOM_SHARDING_FLAT }, pending = { .kind = LOOM_SHARDING_PARTIAL };
  LoomShards shards = self->options->shards;

  if (self->of_weights)
    return partition_weight_sharding (self, slot);
  gboolean is_state = slot->kind == LOOM_SLOT_OPTIMIZER && !g_str_has_prefix (slot->name, LOOM_SLOT_CARRY)
                      && !g_str_has_prefix (slot->name, LOOM_SLOT_TABLE);

  if (g_str_has_prefix (slot->name, LOOM_SLOT_ACCUMULATE))
    return shards >= LOOM_SHARDS_GRADIENTS && slot->rank > 0 ? shard : pending;
  if ((is_state || g_str_has_prefix (slot->name, LOOM_SLOT_EMA)) && shards >= LOOM_SHARDS_OPTIMIZER && slot->rank > 0)
    return shard;
  if (slot->kind == LOOM_SLOT_PARAMETER && shards >= LOOM_SHARDS_PARAMETERS && slot->rank > 0)
    return shard;
  return (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
}

static gboolean
shard_slot (LoomRewrite *r, const LoomSlot *slot, gint64 *first, gint64 *count)
{
  const Partition *self = (const Partition *)r;
  LoomTensorDesc d = loom_desc_make (slot->dtype, slot->rank, slot->dim);
  LoomCommShard own = loom_comm_shard ((gint64)loom_desc_count (&d), self->options->rank, self->options->ranks);

  *first = own.first;
  *count = own.count;
  return slot_sharding (self, slot).kind == LOOM_SHARDING_FLAT;
}

static void
decide_slots (Partition *self)
{
  for (guint i = 0; i < loom_program_n_slots (self->r.from); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (self->r.from, i);

      if (slot->read != 0)
        {
          self->have[slot->read] = slot_sharding (self, slot);
          self->is_weight[slot->read] = slot->kind == LOOM_SLOT_PARAMETER;
        }
    }
}

/* TRUE if the norm of gradients affects the values that an optimizer writes; then its bits must not depend on the
 * partitioning. */
static gboolean
norm_matters (const LoomProgram *p)
{
  g_autofree gboolean *follows = g_new0 (gboolean, loom_program_n_values (p) + 1);

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      gboolean any = instr->prim->sharding == loom_shard_grad_stats;

      for (guint k = 0; k < instr->n_in; k++)
        any = any || follows[instr->in[k]];
      if (any && loom_sharding_is_step (instr->prim))
        return TRUE;
      /* The finite flags only affect whether it writes. */
      for (guint o = 0; o < instr->n_out && any; o++)
        if (instr->out[o] != 0 && (o == 0 || instr->prim->sharding != loom_shard_grad_stats))
          follows[instr->out[o]] = TRUE;
    }
  /* The step of some optimizers is several instructions. */
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->kind == LOOM_SLOT_PARAMETER && slot->commit != 0 && follows[slot->commit])
        return TRUE;
    }
  return FALSE;
}

/* TRUE if the program only accumulates gradients; the update over all micro-batches is another program. */
static gboolean
is_accumulating (const LoomProgram *p)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    if (g_str_has_prefix (loom_program_get_slot (p, i)->name, LOOM_SLOT_ACCUMULATE)
        && loom_program_get_slot (p, i)->commit != 0)
      return TRUE;
  return FALSE;
}

/* ---- instructions --------------------------------------------------------------------- */

static void
fill_descs (const Partition *self, guint n, const LoomValue *values, LoomTensorDesc *desc)
{
  for (guint k = 0; k < n; k++)
    if (values[k] != 0)
      desc[k] = *desc_from (self, values[k]);
    else
      desc[k].dtype = LOOM_N_DTYPES;
}

void
partition_choose (Partition *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, instr->n_in + 1);
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->n_out + 1);
  g_autofree LoomSharding *have = g_new0 (LoomSharding, instr->n_in + 1);
  g_autofree LoomSharding *result = g_new0 (LoomSharding, instr->n_out + 1);
  g_autofree gboolean *is_zero = g_new0 (gboolean, instr->n_in + 1);
  g_autofree gboolean *is_weight = g_new0 (gboolean, instr->n_in + 1);
  gboolean updates = instr->region == LOOM_REGION_UPDATE;
  gboolean divided = self->divides_norm && instr->prim->sharding == loom_shard_grad_stats;
  double value;

  g_free (self->want[i]);
  self->want[i] = g_new0 (LoomSharding, instr->n_in + 1);
  for (guint k = 0; k < instr->n_in; k++)
    {
      have[k] = sharding_of (self, instr->in[k]);
      is_weight[k] = self->is_weight[instr->in[k]];
      divided = divided || have[k].kind != LOOM_SHARDING_REPLICATED;
      is_zero[k]
          = updates && instr->in[k] != 0 && loom_value_is_fill (self->r.from, instr->in[k], &value) && value == 0;
    }
  if (!divided && !self->of_weights)
    return;
  fill_descs (self, instr->n_in, instr->in, in);
  fill_descs (self, instr->n_out, instr->out, out);
  LoomShardingCall call = { .attrs = instr->attrs,
                            .n_in = instr->n_in,
                            .n_out = instr->n_out,
                            .in = in,
                            .out = out,
                            .have = have,
                            .is_zero = is_zero,
                            .is_weight = is_weight,
                            .of_weights = self->of_weights,
                            .samples = self->options->samples,
                            .divides_update = updates && self->options->shards != LOOM_SHARDS_NONE,
                            .divides_norm = self->divides_norm,
                            .keeps_sums = (updates && self->keeps_sums) || self->is_body,
                            .want = self->want[i],
                            .result = result };
  if (self->of_weights ? partition_weight_choose (self, i, &call) : partition_visit_choose (self, i, &call))
    ;
  else if (instr->prim->flags & LOOM_PRIM_LOOP)
    partition_choose_loop (self, i, &call);
  else if (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
    loom_shard_elementwise (&call, instr->prim->scalar);
  else if (instr->prim->sharding != NULL)
    instr->prim->sharding (&call);
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      {
        LoomValue v = instr->out[o];

        self->is_reduced[v] = self->settled[v] && result[o].kind == LOOM_SHARDING_PARTIAL;
        self->have[v] = self->is_reduced[v] ? (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED } : result[o];
      }
  if (instr->n_in == 1 && instr->n_out == 1
      && ((instr->prim->flags & LOOM_PRIM_CONVERTS) || instr->prim->sharding == loom_shard_permute))
    self->is_weight[instr->out[0]] = is_weight[0];
}

/* The values at the end of a program: the next values of slots (0: unchanged), then outputs. */
static guint
n_ends (const LoomProgram *p)
{
  return loom_program_n_slots (p) + loom_program_n_outputs (p);
}

static LoomValue
end_of (const LoomProgram *p, guint i)
{
  guint n = loom_program_n_slots (p);

  return i < n ? loom_program_get_slot (p, i)->commit : loom_program_get_output (p, i - n)->value;
}

static LoomSharding
end_sharding (const Partition *self, guint i)
{
  if (i < loom_program_n_slots (self->r.from))
    return slot_sharding (self, loom_program_get_slot (self->r.from, i));
  return (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
}

/* Records that a reader needs a partial value in another sharding. */
static void
note_want (Partition *self, LoomValue v, LoomShardingKind want, gboolean is_late, gboolean *early)
{
  if (v == 0 || self->have[v].kind != LOOM_SHARDING_PARTIAL || want == LOOM_SHARDING_PARTIAL)
    return;
  early[v] = early[v] || !is_late;
  if (want != LOOM_SHARDING_FLAT)
    self->time[v] = PARTITION_LATE;
  else if (self->time[v] == PARTITION_EARLY)
    self->time[v] = PARTITION_LATE_SHARD;
}

/* Finds the partial values that are needed in another sharding, but only by the update. */
static void
find_late (Partition *self)
{
  guint n = loom_program_n_values (self->r.from);
  g_autofree gboolean *early = g_new0 (gboolean, n + 1);

  for (guint i = loom_program_n_slots (self->r.from); i < n_ends (self->r.from); i++)
    self->exact[end_of (self->r.from, i)] = TRUE;
  for (guint i = 0; i < n_ends (self->r.from); i++)
    note_want (self, end_of (self->r.from, i), end_sharding (self, i).kind, TRUE, early);
  for (guint i = 0; i < loom_program_n_instrs (self->r.from); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->r.from, i);

      for (guint k = 0; k < instr->n_in; k++)
        note_want (self, instr->in[k], self->want[i][k].kind, instr->region == LOOM_REGION_UPDATE, early);
    }
  for (guint v = 1; v <= n; v++)
    if (early[v])
      self->time[v] = PARTITION_EARLY;
}

/* ---- writing the rank's program ------------------------------------------------------ */

/* Adjusts the start of a slice or pad along a split axis. */
static void
localise_start (const Partition *self, const LoomPrim *prim, gpointer attrs, int axis)
{
  gint64 *start = prim->sharding == loom_shard_slice ? ((LoomSliceTo *)attrs)->kernel.start
                  : prim->sharding == loom_shard_pad ? ((LoomPadTo *)attrs)->kernel.start
                                                     : NULL;

  if (start != NULL)
    start[axis] = partition_rows (self, start[axis], self->own.count);
}

/* The instruction's attributes, with the shape of the rank's part of the result. */
static gpointer
local_attrs (const Partition *self, const LoomInstr *instr)
{
  gpointer attrs = g_memdup2 (instr->attrs, instr->prim->attrs_size);
  LoomSharding sharding = sharding_of (self, instr->n_out > 0 ? instr->out[0] : 0);

  if (instr->prim->dims_at > 0 && sharding.kind == LOOM_SHARDING_SPLIT)
    {
      LoomDims *to = &G_STRUCT_MEMBER (LoomDims, attrs, instr->prim->dims_at - 1);

      to->dim[sharding.axis] = partition_rows (self, to->dim[sharding.axis], self->own.count);
      localise_start (self, instr->prim, attrs, sharding.axis);
    }
  return attrs;
}

/* Gathered values are forgotten at the end of their region, so the backward pass gathers them again. Vectors are kept:
 * they need little memory, and with a norm's scale and shift its result can be recomputed instead of kept
 * (plan-rematerialise.c). */
static void
enter_region (Partition *self, LoomRegion region)
{
  guint n = 0;

  if (region == self->region)
    return;
  for (guint i = 0; i < self->gathered->len; i++)
    {
      LoomValue v = g_array_index (self->gathered, LoomValue, i);

      if (desc_from (self, v)->rank > 1)
        self->whole[v] = 0;
      else
        g_array_index (self->gathered, LoomValue, n++) = v;
    }
  g_array_set_size (self->gathered, n);
  self->region = region;
}

static gboolean
is_to_gather (const Partition *self, guint i, guint k)
{
  LoomValue v = loom_program_instr (self->r.from, i)->in[k];

  return v != 0 && self->want[i][k].kind == LOOM_SHARDING_REPLICATED && self->have[v].kind == LOOM_SHARDING_FLAT
         && self->whole[v] == 0 && local_value (self, v) != 0;
}

static void
add_gathered (const Partition *self, guint i, GArray *values)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);

  for (guint k = 0; k < instr->n_in; k++)
    {
      gboolean known = !is_to_gather (self, i, k);

      for (guint j = 0; j < values->len && !known; j++)
        known = g_array_index (values, LoomValue, j) == instr->in[k];
      if (!known)
        g_array_append_val (values, instr->in[k]);
    }
}

/* Gathers the sharded operands that an instruction needs whole, together with those of the next instructions of its
 * node. */
static void
gather_operands (Partition *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (LoomValue));

  add_gathered (self, i, values);
  if (values->len == 0)
    return;
  for (guint j = i + 1; instr->origin != NULL && j < loom_program_n_instrs (self->r.from); j++)
    {
      const LoomInstr *next = loom_program_instr (self->r.from, j);

      if (next->origin != instr->origin || next->region != instr->region)
        break;
      add_gathered (self, j, values);
    }
  partition_gather (self, values->len, (const LoomValue *)values->data);
}

/* Gathers outputs that are unchanged state before the update changes it. */
static void
read_state_at_ends (Partition *self)
{
  const LoomSharding whole = { .kind = LOOM_SHARDING_REPLICATED };

  for (guint i = 0; i < n_ends (self->r.from); i++)
    {
      LoomValue v = end_of (self->r.from, i);

      if (v != 0 && loom_value_info (self->r.from, v)->slot >= 0 && end_sharding (self, i).kind == whole.kind)
        partition_value (self, v, whole);
    }
}

void
partition_write (Partition *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);
  g_autofree gpointer attrs = local_attrs (self, instr);
  g_autoptr (LoomProgram) body = NULL;
  g_autoptr (GPtrArray) bodies = NULL;
  gboolean ends = instr->region == LOOM_REGION_UPDATE && self->region != LOOM_REGION_UPDATE;

  enter_region (self, instr->region);
  loom_rewrite_set_origin (&self->r, instr);
  if (ends)
    read_state_at_ends (self);
  gather_operands (self, i);
  for (guint k = 0; k < instr->n_in; k++)
    in[k] = partition_value (self, instr->in[k], self->want[i][k]);
  if (instr->prim->flags & LOOM_PRIM_LOOP)
    body = ((LoomScanAttrs *)attrs)->body = partition_loop_body (self, i);
  bodies = partition_visit_attrs (self, i, attrs);
  loom_rewrite_set_origin (&self->r, instr);
  if (self->of_weights ? !partition_weight_write (self, i, in, out) : !partition_write_step (self, i, in, out))
    loom_emit (self->r.to, instr->prim, attrs, instr->n_in, in, out);
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0 && self->is_reduced[instr->out[o]])
      out[o] = partition_all_reduce (self, LOOM_REDUCE_SUM, 1, &out[o], NULL);
  loom_rewrite_results (&self->r, instr, out);
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0 && self->time[instr->out[o]] != PARTITION_EARLY)
      partition_enqueue (self, instr->out[o]);
}

/* Writes outputs and next values of slots, whole except for split or sharded slots. */
static void
write_ends (Partition *self)
{
  const LoomProgram *p = self->r.from;
  const LoomSharding whole = { .kind = LOOM_SHARDING_REPLICATED };
  g_autoptr (GArray) gathered = g_array_new (FALSE, FALSE, sizeof (LoomValue));

  enter_region (self, LOOM_REGION_UPDATE);
  loom_program_set_region (self->r.to, LOOM_REGION_UPDATE);
  loom_program_set_origin (self->r.to, NULL, NULL);
  loom_program_set_recomputation (self->r.to, 0);
  for (guint i = 0; i < n_ends (p); i++)
    {
      LoomValue v = end_of (p, i);

      if (v != 0 && end_sharding (self, i).kind == LOOM_SHARDING_REPLICATED && self->have[v].kind == LOOM_SHARDING_FLAT
          && self->whole[v] == 0)
        g_array_append_val (gathered, v);
    }
  partition_gather (self, gathered->len, (const LoomValue *)gathered->data);
  for (guint i = 0; i < n_ends (p); i++)
    if (i < loom_program_n_slots (p))
      self->next[i] = partition_value (self, end_of (p, i), end_sharding (self, i));
    else
      partition_value (self, end_of (p, i), whole);
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    if (self->whole[v] != 0)
      g_array_index (self->r.map, LoomValue, v) = self->whole[v];
  self->r.next = self->next;
}

static void
localise_input (LoomRewrite *r, guint input, LoomTensorDesc *desc)
{
  const Partition *self = (const Partition *)r;
  LoomSharding sharding = self->have[loom_program_get_input (r->from, input)->value];

  if (sharding.kind == LOOM_SHARDING_SPLIT)
    desc->dim[sharding.axis] = partition_rows (self, desc->dim[sharding.axis], self->own.count);
}

static void
decide_inputs (Partition *self)
{
  for (guint i = 0; i < loom_program_n_inputs (self->r.from); i++)
    {
      LoomValue v = loom_program_get_input (self->r.from, i)->value;
      const LoomTensorDesc *d = desc_from (self, v);

      if (self->divides && !self->of_weights && d->rank > 0 && d->dim[0] == self->options->samples)
        self->have[v] = (LoomSharding){ .kind = LOOM_SHARDING_SPLIT };
    }
}

/* Queues the accumulated sums in slots for their exchange, at the beginning. */
static void
put_slots (Partition *self)
{
  for (guint i = 0; i < loom_program_n_slots (self->r.from); i++)
    {
      LoomValue v = loom_program_get_slot (self->r.from, i)->read;

      if (v != 0 && self->time[v] != PARTITION_EARLY)
        partition_enqueue (self, v);
    }
}

void
partition_init (Partition *self, const LoomProgram *p, const LoomPartition *options)
{
  guint n = loom_program_n_values (p);

  self->options = options;
  self->of_weights = options->along == LOOM_MESH_TENSOR;
  self->divides = options->samples >= options->ranks;
  self->own = loom_comm_shard (options->samples, options->rank, options->ranks);
  self->r.from = p;
  self->r.localise = localise_input;
  self->have = g_new0 (LoomSharding, n + 1);
  self->want = g_new0 (LoomSharding *, loom_program_n_instrs (p) + 1);
  self->time = g_new0 (PartitionTime, n + 1);
  self->exact = g_new0 (gboolean, n + 1);
  self->is_weight = g_new0 (gboolean, n + 1);
  self->is_order = g_new0 (gboolean, n + 1);
  self->settled = g_new0 (gboolean, n + 1);
  self->is_reduced = g_new0 (gboolean, n + 1);
  self->whole = g_new0 (LoomValue, n + 1);
  self->shard = g_new0 (LoomValue, n + 1);
  self->next = g_new0 (LoomValue, loom_program_n_slots (p) + 1);
  self->parts = g_hash_table_new (NULL, NULL);
  self->loops = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->row_tables = g_hash_table_new (NULL, NULL);
  partition_init_buckets (self);
}

void
partition_clear (Partition *self)
{
  for (guint i = 0; i < loom_program_n_instrs (self->r.from); i++)
    g_free (self->want[i]);
  g_free (self->have);
  g_free (self->want);
  g_free (self->time);
  g_free (self->exact);
  g_free (self->is_weight);
  g_free (self->is_order);
  g_free (self->settled);
  g_free (self->is_reduced);
  g_free (self->whole);
  g_free (self->shard);
  g_free (self->next);
  g_hash_table_unref (self->parts);
  g_hash_table_unref (self->loops);
  g_hash_table_unref (self->row_tables);
  partition_clear_buckets (self);
}

static LoomProgram *
divide (const LoomProgram *p, const LoomPartition *options)
{
  Partition self = { 0 };
  guint n_instrs = loom_program_n_instrs (p);
  LoomProgram *to;
  LoomValue local_output;

  partition_init (&self, p, options);
  self.divides_norm = !self.of_weights && norm_matters (p);
  self.keeps_sums = !self.of_weights && is_accumulating (p) && options->shards < LOOM_SHARDS_GRADIENTS;
  self.holds_buckets = options->shards == LOOM_SHARDS_OPTIMIZER;
  if (self.of_weights)
    self.r.part = partition_weight_part;
  else
    self.r.shard = shard_slot;
  decide_inputs (&self);
  decide_slots (&self);
  if (self.of_weights)
    loom_rewrite_begin (&self.r, p, "split",
                        "Divides the weights of split nodes among ranks and inserts sums over them.");
  else
    loom_rewrite_begin (&self.r, p, "partition",
                        "Divides the batch among ranks and inserts sums of gradients over them.");
  do
    for (guint i = 0; i < n_instrs; i++)
      partition_choose (&self, i);
  while (self.of_weights && partition_weight_reduce_early (&self));
  find_late (&self);
  put_slots (&self);
  for (guint i = 0; i < n_instrs; i++)
    partition_write (&self, i);
  local_output = partition_local_output (&self);
  write_ends (&self);
  to = loom_rewrite_end (&self.r);
  if (local_output != 0)
    loom_program_output (to, LOOM_PARTITION_LOCAL, local_output);
  partition_clear (&self);
  return to;
}

/* Expands batch norms into core primitives, so that their sums are over the samples of all ranks. */
static LoomProgram *
expand_batch_norms (const LoomProgram *p)
{
  LoomRewrite r = { 0 };

  loom_rewrite_begin (&r, p, "synchronised batch norm", "Computes the statistics of batch norms over all ranks.");
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);

      for (guint k = 0; k < instr->n_in; k++)
        in[k] = loom_rewrite_value (&r, instr->in[k]);
      if (instr->prim->sharding == loom_shard_batch_norm || instr->prim->sharding == loom_shard_batch_norm_grad)
        loom_rewrite_expand (&r, instr, in);
      else
        loom_rewrite_copy (&r, instr, in);
    }
  return loom_rewrite_end (&r);
}

LoomProgram *
loom_program_partition (const LoomProgram *p, const LoomPartition *options)
{
  g_autoptr (LoomProgram) synchronised = NULL;

  if (options->along == LOOM_MESH_TENSOR)
    {
      /* If weights are split, there is one part for each rank, in place of samples. */
      LoomPartition parts = { .along = LOOM_MESH_TENSOR,
                              .samples = options->ranks,
                              .rank = options->rank,
                              .ranks = options->ranks,
                              .splits = options->splits,
                              .n_splits = options->n_splits,
                              .bucket = options->bucket };

      return divide (p, &parts);
    }
  if (options->sync_batch_norm)
    synchronised = expand_batch_norms (p);
  return divide (synchronised != NULL ? synchronised : p, options);
}
