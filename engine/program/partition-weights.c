/* Partitions weights (tensor parallelism): finds each slot's part in LoomPartition.splits, which
 * engine/recipe/recipe-split.c reads from the graph, and writes the instructions on split weights that become several.
 * These are embeddings, statistics of gradients and, in partition-loss.c, cross-entropy. Partial values that are needed
 * whole before the update are reduced as soon as they are computed, so that no rank keeps both.
 *
 * A product with weights that are split by columns computes columns of the result on each rank. A product with weights
 * that are split by rows takes such columns and computes a partial result, so the pair needs one exchange in each
 * direction (Shoeybi et al. 2019, arXiv:1909.08053, section 3). An embedding table that is split by rows is of the
 * second kind: each rank looks up its own rows, and zeros replace the others. */
#include "engine/program/partition-state.h"

#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-slot-names.h"

#include <string.h>

/* ---- slots ------------------------------------------------------------------- */

const char *
partition_parameter_of (const LoomSlot *slot)
{
  const char *dot = strchr (slot->name, '.'), *accumulated;
  guint term;

  if (g_str_has_prefix (slot->name, LOOM_SLOT_EMA))
    return slot->name + strlen (LOOM_SLOT_EMA);
  if (slot->kind == LOOM_SLOT_PARAMETER)
    return slot->name;
  if (slot->kind != LOOM_SLOT_OPTIMIZER || g_str_has_prefix (slot->name, LOOM_SLOT_CARRY)
      || g_str_has_prefix (slot->name, LOOM_SLOT_TABLE))
    return NULL;
  accumulated = loom_accumulated_parameter (slot, &term);
  if (accumulated != NULL)
    return accumulated;
  dot = dot != NULL ? strchr (dot + 1, '.') : NULL;
  return dot != NULL ? dot + 1 : NULL;
}

static const LoomSplitWeight *
split_of (const Partition *self, const LoomSlot *slot)
{
  const char *parameter = partition_parameter_of (slot);

  for (guint i = 0; i < self->options->n_splits && parameter != NULL; i++)
    {
      const LoomSplitWeight *split = &self->options->splits[i];

      if (g_str_equal (split->weight, parameter) && split->axis < slot->rank && slot->dim[split->axis] == split->size)
        return split;
    }
  return NULL;
}

LoomSharding
partition_weight_sharding (const Partition *self, const LoomSlot *slot)
{
  const LoomSplitWeight *split = split_of (self, slot);

  return split != NULL ? (LoomSharding){ LOOM_SHARDING_SPLIT, split->axis, split->blocks }
                       : (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
}

gboolean
partition_weight_part (LoomRewrite *r, const LoomSlot *slot, LoomSlotPart *part)
{
  const Partition *self = (const Partition *)r;
  const LoomSplitWeight *split = split_of (self, slot);

  if (split == NULL)
    return FALSE;
  *part = (LoomSlotPart){
    .axis = split->axis, .blocks = split->blocks, .index = self->options->rank, .of = self->options->ranks
  };
  return TRUE;
}

/* ---- choosing shardings --------------------------------------------------------- */

static gboolean
has_rows (const LoomShardingCall *call)
{
  return call->have[0].kind == LOOM_SHARDING_SPLIT && call->have[0].axis == 0 && call->have[0].blocks <= 1;
}

gboolean
partition_weight_choose (Partition *self, guint i, LoomShardingCall *call)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);

  if (instr->prim->sharding == loom_shard_grad_stats)
    {
      for (guint k = 0; k < call->n_in; k++)
        if (call->have[k].kind == LOOM_SHARDING_SPLIT)
          call->want[k] = call->have[k];
      return TRUE;
    }
  if (instr->prim->sharding == loom_shard_cross_entropy)
    return partition_loss_choose (call);
  if (instr->prim->sharding == loom_shard_gather_rows && has_rows (call))
    {
      call->want[0] = call->have[0];
      call->result[0] = (LoomSharding){ .kind = LOOM_SHARDING_PARTIAL };
      g_hash_table_insert (self->row_tables, GUINT_TO_POINTER (instr->in[1]), GSIZE_TO_POINTER (call->in[0].dim[0]));
      return TRUE;
    }
  /* The gradient of a split table: each rank adds the rows that it has looked up. */
  if (instr->prim->sharding == loom_shard_scatter_add_rows
      && g_hash_table_lookup (self->row_tables, GUINT_TO_POINTER (instr->in[0]))
             == GSIZE_TO_POINTER (call->out[0].dim[0]))
    {
      call->result[0] = (LoomSharding){ .kind = LOOM_SHARDING_SPLIT };
      return TRUE;
    }
  return FALSE;
}

/* The value of which v is a view, or v. */
static LoomValue
root_of (const Partition *self, LoomValue v)
{
  for (;;)
    {
      guint producer = loom_value_info (self->r.from, v)->producer;
      const LoomInstr *instr = producer != G_MAXUINT ? loom_program_instr (self->r.from, producer) : NULL;

      if (instr == NULL || (instr->prim->sharding != loom_shard_reshape && instr->prim->sharding != loom_shard_permute)
          || self->have[instr->in[0]].kind != LOOM_SHARDING_PARTIAL)
        return v;
      v = instr->in[0];
    }
}

gboolean
partition_weight_reduce_early (Partition *self)
{
  gboolean changed = FALSE;

  for (guint i = 0; i < loom_program_n_instrs (self->r.from); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->r.from, i);

      for (guint k = 0; k < instr->n_in && instr->region != LOOM_REGION_UPDATE; k++)
        {
          LoomValue v = instr->in[k];

          if (v == 0 || self->have[v].kind != LOOM_SHARDING_PARTIAL || self->want[i][k].kind == LOOM_SHARDING_PARTIAL)
            continue;
          v = root_of (self, v);
          changed = changed || !self->settled[v];
          self->settled[v] = TRUE;
        }
    }
  return changed;
}

/* ---- writing ------------------------------------------------------------------- */

/* Sums of squares of split gradients are summed over ranks; those of whole gradients are added once. */
static gboolean
write_grad_stats (Partition *self, const LoomInstr *instr, const LoomSharding *want, const LoomValue *in,
                  LoomValue *out)
{
  LoomProgram *p = self->r.to;
  g_autofree LoomValue *own = g_new0 (LoomValue, instr->n_in), *all = g_new0 (LoomValue, instr->n_in);
  LoomGradStatsAttrs n_own = { 0 }, n_all = { 0 };
  LoomValue part[2], sum[2], whole[2];
  LoomDType dtype = value_desc (p, in[0])->dtype;

  for (guint k = 0; k < instr->n_in; k++)
    if (want[k].kind == LOOM_SHARDING_SPLIT)
      own[n_own.n++] = in[k];
    else
      all[n_all.n++] = in[k];
  if (n_own.n == 0)
    return FALSE;
  loom_emit (p, instr->prim, &n_own, (guint)n_own.n, own, part);
  part[0] = loom_cast (p, part[0], dtype);
  part[1] = loom_cast (p, part[1], dtype);
  partition_all_reduce (self, LOOM_REDUCE_SUM, 2, part, sum);
  out[0] = sum[0];
  /* All are finite if the sum of the flags is the number of ranks. */
  out[1] = loom_cast (p, loom_binary (p, LOOM_SCALAR_GE, sum[1], loom_const (p, dtype, self->options->ranks)), dtype);
  if (n_all.n == 0)
    return TRUE;
  loom_emit (p, instr->prim, &n_all, (guint)n_all.n, all, whole);
  out[0] = loom_binary (p, LOOM_SCALAR_ADD, out[0], loom_cast (p, whole[0], dtype));
  out[1] = loom_binary (p, LOOM_SCALAR_MUL, out[1], loom_cast (p, whole[1], dtype));
  return TRUE;
}

/* Converts indices to the rank's own `rows` rows of a table, 0 for rows of other ranks; *mine: the mask of own rows. An
 * invalid index stays invalid. */
static LoomValue
own_rows (Partition *self, LoomValue index, gint64 rows, LoomValue *mine)
{
  LoomProgram *p = self->r.to;
  gint64 count = rows / self->options->ranks, first = self->options->rank * count;
  LoomValue at = loom_cast (p, index, LOOM_I64), valid;

#define NUMBER(x) loom_const (p, LOOM_I64, (double)(x))
  *mine = loom_binary (p, LOOM_SCALAR_AND, loom_binary (p, LOOM_SCALAR_GE, at, NUMBER (first)),
                       loom_binary (p, LOOM_SCALAR_LT, at, NUMBER (first + count)));
  valid = loom_binary (p, LOOM_SCALAR_AND, loom_binary (p, LOOM_SCALAR_GE, at, NUMBER (0)),
                       loom_binary (p, LOOM_SCALAR_LT, at, NUMBER (rows)));
  return loom_ternary (p, LOOM_SCALAR_SELECT, *mine, loom_binary (p, LOOM_SCALAR_SUB, at, NUMBER (first)),
                       loom_ternary (p, LOOM_SCALAR_SELECT, valid, NUMBER (0), at));
#undef NUMBER
}

/* rows [i…, d…] where `mine` [i…] is true, zeros elsewhere. */
static LoomValue
keep_rows (LoomProgram *p, LoomValue rows, LoomValue mine)
{
  const LoomTensorDesc *d = value_desc (p, mine), *r = value_desc (p, rows);
  gint64 dim[LOOM_MAX_RANK];
  LoomDType dtype = r->dtype;
  int rank = r->rank;

  for (int i = 0; i < rank; i++)
    dim[i] = i < d->rank ? d->dim[i] : 1;
  return loom_ternary (p, LOOM_SCALAR_SELECT, loom_reshape (p, mine, rank, dim), rows, loom_const (p, dtype, 0));
}

static gboolean
write_gather (Partition *self, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  LoomProgram *p = self->r.to;
  LoomValue mine, row = own_rows (self, in[1], desc_from (self, instr->in[0])->dim[0], &mine);

  out[0] = keep_rows (p, loom_emit (p, instr->prim, instr->attrs, 2, (LoomValue[]){ in[0], row }, NULL), mine);
  return TRUE;
}

static gboolean
write_scatter (Partition *self, const LoomInstr *instr, const LoomValue *in, LoomValue *out)
{
  LoomScatterTo attrs = *(const LoomScatterTo *)instr->attrs;
  LoomValue mine, row = own_rows (self, in[0], attrs.rows, &mine);
  LoomValue kept = keep_rows (self->r.to, in[1], mine);

  attrs.rows /= self->options->ranks;
  out[0] = loom_emit (self->r.to, instr->prim, &attrs, 2, (LoomValue[]){ row, kept }, NULL);
  return TRUE;
}

gboolean
partition_weight_write (Partition *self, guint i, const LoomValue *in, LoomValue *out)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  LoomSharding table = { .kind = LOOM_SHARDING_REPLICATED };

  if (instr->prim->sharding == loom_shard_grad_stats)
    return write_grad_stats (self, instr, self->want[i], in, out);
  if (instr->prim->sharding == loom_shard_cross_entropy)
    return partition_loss_write (self, instr, self->want[i][0], in, out);
  if (instr->prim->sharding == loom_shard_gather_rows)
    table = self->want[i][0];
  else if (instr->prim->sharding == loom_shard_scatter_add_rows)
    table = self->have[instr->out[0]];
  if (table.kind != LOOM_SHARDING_SPLIT || table.axis != 0)
    return FALSE;
  return instr->prim->sharding == loom_shard_gather_rows ? write_gather (self, instr, in, out)
                                                         : write_scatter (self, instr, in, out);
}
