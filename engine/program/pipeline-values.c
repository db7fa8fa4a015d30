/* Stores the values of a stage's program (per micro-batch, or whole) and emits conversions between these: sends and
 * receives between stages, concatenations of micro-batches, and sums over them. */
#include "engine/program/pipeline-private.h"

#include <string.h>

void
pipeline_set_whole (Pipeline *self, LoomValue v, LoomValue whole)
{
  for (int m = 0; m < self->micros; m++)
    if (self->part[m].have[v].kind == LOOM_SHARDING_REPLICATED)
      pipeline_set_local (self, m, v, whole);
    else
      self->part[m].whole[v] = whole;
  self->complete[v] = TRUE;
}

LoomValue
pipeline_whole (const Pipeline *self, LoomValue v)
{
  const Partition *part = &self->part[0];

  return part->have[v].kind == LOOM_SHARDING_REPLICATED ? local_value (part, v) : part->whole[v];
}

void
pipeline_set_single_micro_batch (Pipeline *self, const LoomInstr *instr)
{
  const gboolean is_pass = instr->region == LOOM_REGION_FORWARD || instr->region == LOOM_REGION_BACKWARD;

  if (self->micros == 1)
    loom_program_set_pass (pipeline_target (self), is_pass ? 1 + (instr->region == LOOM_REGION_BACKWARD) : 0);
}

/* ---- exchanges --------------------------------------------------------------- */

static LoomTransferAttrs
transfer_attrs (const Pipeline *self, const LoomTensorDesc *d, LoomValue v, int rank, int micro)
{
  LoomTransferAttrs attrs = { .rank = rank, .micro = micro, .dtype = d->dtype, .to = { .rank = d->rank } };

  attrs.tag = (int)((self->number[v] * (guint64)self->micros + (guint64)MAX (micro, 0)) % (LOOM_COMM_TAGS - 1));
  memcpy (attrs.to.dim, d->dim, sizeof attrs.to.dim);
  return attrs;
}

/* Sets the node and the region of an exchange to those of the exchanged value. */
static void
set_exchange_origin (Pipeline *self, LoomValue v)
{
  const LoomValueInfo *info = loom_value_info (self->p, v);

  loom_program_set_region (pipeline_target (self), info->region);
  loom_program_set_origin (pipeline_target (self), info->origin, info->device);
  loom_program_set_recomputation (pipeline_target (self), 0);
  loom_program_set_recomputed (pipeline_target (self), FALSE);
}

void
pipeline_send (Pipeline *self, LoomValue v, LoomValue local, int to, int micro, int exchange_slot)
{
  LoomTransferAttrs attrs = transfer_attrs (self, value_desc (pipeline_target (self), local), v, to, micro);

  attrs.exchange_slot = exchange_slot;
  set_exchange_origin (self, v);
  loom_emit (pipeline_target (self), loom_prim ("send"), &attrs, 1, &local, NULL);
}

LoomValue
pipeline_receive (Pipeline *self, LoomValue v, const LoomTensorDesc *d, int micro, int exchange_slot)
{
  LoomTransferAttrs attrs = transfer_attrs (self, d, v, self->owner[v], micro);

  attrs.exchange_slot = exchange_slot;
  set_exchange_origin (self, v);
  return loom_emit (pipeline_target (self), loom_prim ("receive"), &attrs, 0, NULL, NULL);
}

LoomTensorDesc
pipeline_part_desc (const Pipeline *self, LoomValue v, int m)
{
  LoomTensorDesc d = *value_desc (self->p, v);
  LoomSharding sharding = self->part[m].have[v];

  if (sharding.kind == LOOM_SHARDING_SPLIT)
    d.dim[sharding.axis] = partition_rows (&self->part[m], d.dim[sharding.axis], self->part[m].own.count);
  return d;
}

void
pipeline_exchange (Pipeline *self, LoomValue v, guint64 to, gboolean together)
{
  int own = self->options->stage;
  gboolean one = (to & (to - 1)) == 0;

  if (!one && together)
    {
      LoomTransferAttrs attrs = transfer_attrs (self, value_desc (self->p, v), v, self->owner[v], -1);
      LoomValue in = self->owner[v] == own ? pipeline_whole (self, v) : 0, out;

      set_exchange_origin (self, v);
      out = loom_emit (pipeline_target (self), loom_prim ("broadcast"), &attrs, in != 0, &in, NULL);
      if (in == 0)
        {
          pipeline_set_whole (self, v, out);
          self->opaque[v] = TRUE;
        }
      return;
    }
  for (int s = 0; s < self->stages; s++)
    {
      if ((to & (G_GUINT64_CONSTANT (1) << s)) == 0 || s == self->owner[v])
        continue;
      if (self->owner[v] == own)
        pipeline_send (self, v, pipeline_whole (self, v), s, -1, 0);
      else if (s == own)
        {
          pipeline_set_whole (self, v, pipeline_receive (self, v, value_desc (self->p, v), -1, 0));
          self->opaque[v] = TRUE;
        }
    }
}

/* ---- whole values from parts ------------------------------------------------------- */

/* Reshapes an axis to blocks × size of a block, or back. */
static LoomValue
fold_axis (LoomProgram *p, LoomValue v, int axis, gint64 blocks)
{
  LoomTensorDesc d = *value_desc (p, v);
  gint64 dim[LOOM_MAX_RANK + 1];
  int rank = 0;

  for (int i = 0; i < d.rank; i++)
    if (i == axis && blocks > 0)
      {
        dim[rank++] = blocks;
        dim[rank++] = d.dim[i] / blocks;
      }
    else if (i == axis)
      {
        dim[rank++] = d.dim[i] * d.dim[i + 1];
        i++;
      }
    else
      dim[rank++] = d.dim[i];
  return loom_reshape (p, v, rank, dim);
}

static LoomValue
concat_parts (Pipeline *self, LoomValue v)
{
  g_autofree LoomValue *parts = g_new0 (LoomValue, (gsize)self->micros + 1);
  LoomSharding sharding = self->part[0].have[v];
  gboolean blocks = sharding.blocks > 1;
  LoomValue whole;

  for (int m = 0; m < self->micros; m++)
    {
      parts[m] = local_value (&self->part[m], v);
      if (blocks)
        parts[m] = fold_axis (pipeline_target (self), parts[m], sharding.axis, sharding.blocks);
    }
  if (self->micros == 1)
    whole = parts[0];
  else
    whole = loom_concat (pipeline_target (self), (guint)self->micros, parts, sharding.axis + blocks);
  return blocks ? fold_axis (pipeline_target (self), whole, sharding.axis, 0) : whole;
}

/* The mean of the micro-batches' statistics, weighted by their samples. */
static LoomValue
mean_of_parts (Pipeline *self, LoomValue v)
{
  LoomProgram *p = pipeline_target (self);
  LoomValue sum = 0;

  for (int m = 0; m < self->micros; m++)
    {
      double weight = (double)self->part[m].own.count / (double)self->options->samples;
      LoomValue part = local_value (&self->part[m], v);

      part = loom_binary (p, LOOM_SCALAR_MUL, part, loom_const (p, value_desc (p, part)->dtype, weight));
      sum = sum == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, sum, part);
    }
  return sum;
}

LoomValue
pipeline_join_parts (Pipeline *self, LoomValue v)
{
  return self->part[0].have[v].kind == LOOM_SHARDING_LOCAL ? mean_of_parts (self, v) : concat_parts (self, v);
}

/* 16-bit floats are summed in f32. */
void
pipeline_add_summand (Pipeline *self, LoomValue v, int m)
{
  LoomProgram *p = pipeline_target (self);
  LoomDType dtype = value_desc (self->p, v)->dtype;
  LoomValue part = loom_cast (p, local_value (&self->part[m], v), self->micros > 1 ? dtype_computed (dtype) : dtype);

  self->sum[v] = m == 0 ? part : loom_binary (p, LOOM_SCALAR_ADD, self->sum[v], part);
  if (m + 1 == self->micros)
    pipeline_set_whole (self, v, loom_cast (p, self->sum[v], dtype));
}
