/* Converts a rank's values between shardings (whole, split, partial, flat shard) with collectives and slices.
 *
 * A value is converted once, at its first use. Values that only the update uses are collected in buckets, in the order
 * of the backward pass, and a bucket is exchanged as soon as it is full. Gathered values, unless they are vectors, are
 * forgotten at the end of their region. So sharded parameters are gathered once for the forward pass and once for the
 * backward pass and take no memory in between. A part of a whole value is computed alone if its producer can do that,
 * as for the columns of a product. */
#include "engine/program/partition-state.h"

gint64
partition_rows (const Partition *self, gint64 size, gint64 samples)
{
  return size / self->options->samples * samples;
}

/* ---- exchanges --------------------------------------------------------------- */

LoomValue
partition_all_reduce (const Partition *self, LoomReduceOp op, guint n, const LoomValue *in, LoomValue *out)
{
  LoomAllReduceAttrs attrs = { .n = n, .op = op, .along = self->options->along };

  return loom_emit (self->r.to, loom_prim ("all_reduce"), &attrs, n, in, out);
}

static LoomValue
reduce_scatter (const Partition *self, guint n, const LoomValue *in, LoomValue *out)
{
  LoomReduceScatterAttrs attrs = { .n = n,
                                   .op = LOOM_REDUCE_SUM,
                                   .along = self->options->along,
                                   .rank = self->options->rank,
                                   .ranks = self->options->ranks };

  return loom_emit (self->r.to, loom_prim ("reduce_scatter"), &attrs, n, in, out);
}

/* ---- buckets -------------------------------------------------------------------- */

void
partition_init_buckets (Partition *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->bucket); i++)
    self->bucket[i] = (PartitionBucket){ .values = g_array_new (FALSE, FALSE, sizeof (LoomValue)), .scatter = i == 1 };
  self->gathered = g_array_new (FALSE, FALSE, sizeof (LoomValue));
}

void
partition_clear_buckets (Partition *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->bucket); i++)
    g_array_unref (self->bucket[i].values);
  g_array_unref (self->gathered);
}

static gsize
bytes_of (const Partition *self, LoomValue v)
{
  return loom_desc_bytes (desc_from (self, v));
}

/* The type in which a value is exchanged: bf16 if requested, for f32 tensors whose sums are not reported to the user.
 * Scalars (a norm for clipping, a loss) keep their type. */
static LoomDType
exchange_type (const Partition *self, LoomValue v)
{
  const LoomTensorDesc *d = desc_from (self, v);

  return self->options->bf16 && d->dtype == LOOM_F32 && d->rank > 0 && !self->exact[v] ? LOOM_BF16 : d->dtype;
}

/* The type of the value itself, in which shards are gathered. */
static LoomDType
own_type (const Partition *self, LoomValue v)
{
  return desc_from (self, v)->dtype;
}

/* The length of the first bucket of a list: values of one type, up to the bytes of a bucket and at most `most`
 * values. */
static guint
first_bucket (const Partition *self, guint n, const LoomValue *values, guint most,
              LoomDType (*type_of) (const Partition *self, LoomValue v))
{
  LoomDType dtype = type_of (self, values[0]);
  gsize bytes = bytes_of (self, values[0]);
  guint k = 1;

  while (k < MIN (n, most) && bytes < self->options->bucket && type_of (self, values[k]) == dtype)
    bytes += bytes_of (self, values[k++]);
  return k;
}

static void
exchange (Partition *self, guint n, const LoomValue *values, gboolean scatter)
{
  g_autofree LoomValue *in = g_new0 (LoomValue, n + 1), *out = g_new0 (LoomValue, n + 1);

  const LoomDType travels = exchange_type (self, values[0]);

  loom_program_set_origin (self->r.to, NULL, loom_value_info (self->r.to, local_value (self, values[0]))->device);
  for (guint k = 0; k < n; k++)
    in[k] = loom_cast (self->r.to, local_value (self, values[k]), travels);
  if (scatter)
    reduce_scatter (self, n, in, out);
  else
    partition_all_reduce (self, LOOM_REDUCE_SUM, n, in, out);
  for (guint k = 0; k < n; k++)
    (scatter ? self->shard : self->whole)[values[k]]
        = loom_cast (self->r.to, out[k], desc_from (self, values[k])->dtype);
}

static void
flush (Partition *self, PartitionBucket *b)
{
  const LoomValue *values = (const LoomValue *)b->values->data;

  for (guint first = 0; first < b->values->len;)
    {
      guint n = first_bucket (self, b->values->len - first, values + first, G_MAXUINT, exchange_type);

      exchange (self, n, values + first, b->scatter);
      first += n;
    }
  g_array_set_size (b->values, 0);
  b->bytes = 0;
}

void
partition_enqueue (Partition *self, LoomValue v)
{
  PartitionBucket *b = &self->bucket[self->time[v] == PARTITION_LATE_SHARD];

  if (!self->holds_buckets && b->values->len > 0
      && exchange_type (self, g_array_index (b->values, LoomValue, 0)) != exchange_type (self, v))
    flush (self, b);
  g_array_append_val (b->values, v);
  b->bytes += bytes_of (self, v);
  if (!self->holds_buckets && b->bytes >= self->options->bucket)
    flush (self, b);
}

/* ---- whole ------------------------------------------------------------------------ */

/* Permutes an axis to the front, or back to its position. */
static LoomValue
move_axis (LoomProgram *p, LoomValue v, int axis, gboolean back)
{
  int rank = value_desc (p, v)->rank, perm[LOOM_MAX_RANK];

  if (axis == 0)
    return v;
  for (int i = 0; i < rank; i++)
    if (back)
      perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    else
      perm[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
  return loom_permute (p, v, perm);
}

/* Reshapes an axis to blocks × size of a block, or back. */
static LoomValue
part_blocks (LoomProgram *p, LoomValue v, int axis, gint64 blocks)
{
  LoomTensorDesc d = *value_desc (p, v);
  gint64 dim[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank; i++)
    dim[i + (i > axis)] = d.dim[i];
  dim[axis] = blocks;
  dim[axis + 1] = d.dim[axis] / blocks;
  return loom_reshape (p, v, d.rank + 1, dim);
}

static LoomValue
join_blocks (LoomProgram *p, LoomValue v, int axis)
{
  LoomTensorDesc d = *value_desc (p, v);
  gint64 dim[LOOM_MAX_RANK];

  for (int i = 0; i < d.rank - 1; i++)
    dim[i] = i < axis ? d.dim[i] : i > axis ? d.dim[i + 1] : d.dim[axis] * d.dim[axis + 1];
  return loom_reshape (p, v, d.rank - 1, dim);
}

static LoomValue
gather_axis (const Partition *self, LoomValue local, gint64 size, int axis)
{
  LoomProgram *p = self->r.to;
  LoomValue part = move_axis (p, local, axis, FALSE);
  LoomAllGatherTo attrs = { .samples = self->options->samples,
                            .along = self->options->along,
                            .to = { .rank = value_desc (p, part)->rank } };

  for (int i = 0; i < attrs.to.rank; i++)
    attrs.to.dim[i] = value_desc (p, part)->dim[i];
  attrs.to.dim[0] = size;
  return move_axis (p, loom_emit (p, loom_prim ("all_gather"), &attrs, 1, &part, NULL), axis, TRUE);
}

static LoomValue
gather (const Partition *self, LoomValue v)
{
  LoomProgram *p = self->r.to;
  LoomSharding sharding = self->have[v];
  gint64 size = desc_from (self, v)->dim[sharding.axis];
  LoomValue parts;

  if (sharding.blocks <= 1)
    return gather_axis (self, local_value (self, v), size, sharding.axis);
  parts = part_blocks (p, local_value (self, v), sharding.axis, sharding.blocks);
  return join_blocks (p, gather_axis (self, parts, size / sharding.blocks, sharding.axis + 1), sharding.axis);
}

static LoomValue
part_of_mean (const Partition *self, LoomValue v)
{
  LoomProgram *p = self->r.to;
  LoomValue local = local_value (self, v);
  double weight = (double)self->own.count / (double)self->options->samples;

  return loom_binary (p, LOOM_SCALAR_MUL, local, loom_const (p, value_desc (p, local)->dtype, weight));
}

static LoomValue
mean_over_ranks (const Partition *self, LoomValue v)
{
  LoomValue part = part_of_mean (self, v);

  return partition_all_reduce (self, LOOM_REDUCE_SUM, 1, &part, NULL);
}

void
partition_unshard (const Partition *self, guint n, const LoomTensorDesc *const *whole, const LoomValue *in,
                   LoomValue *out)
{
  LoomUnshardTo attrs = { .n = n, .along = self->options->along };

  for (guint k = 0; k < n; k++)
    {
      attrs.to[k].rank = whole[k]->rank;
      for (int i = 0; i < whole[k]->rank; i++)
        attrs.to[k].dim[i] = whole[k]->dim[i];
    }
  loom_emit (self->r.to, loom_prim ("unshard"), &attrs, n, in, out);
}

static void
unshard (Partition *self, guint n, const LoomValue *values)
{
  const LoomTensorDesc *whole[LOOM_UNSHARD_MAX] = { NULL };
  LoomValue in[LOOM_UNSHARD_MAX] = { 0 }, out[LOOM_UNSHARD_MAX];

  for (guint k = 0; k < n; k++)
    {
      in[k] = local_value (self, values[k]);
      whole[k] = desc_from (self, values[k]);
    }
  partition_unshard (self, n, whole, in, out);
  for (guint k = 0; k < n; k++)
    {
      self->whole[values[k]] = out[k];
      g_array_append_val (self->gathered, values[k]);
    }
}

void
partition_gather (Partition *self, guint n, const LoomValue *values)
{
  for (guint first = 0; first < n;)
    {
      guint count = first_bucket (self, n - first, values + first, LOOM_UNSHARD_MAX, own_type);

      unshard (self, count, values + first);
      first += count;
    }
}

static LoomValue
whole_value (Partition *self, LoomValue v)
{
  LoomValue local = local_value (self, v);

  if (v == 0 || self->have[v].kind == LOOM_SHARDING_REPLICATED)
    return local;
  if (self->whole[v] == 0 && self->time[v] == PARTITION_LATE)
    flush (self, &self->bucket[0]);
  if (self->whole[v] != 0)
    return self->whole[v];
  switch (self->have[v].kind)
    {
    case LOOM_SHARDING_SPLIT:
      self->whole[v] = gather (self, v);
      break;
    case LOOM_SHARDING_LOCAL:
      self->whole[v] = mean_over_ranks (self, v);
      break;
    case LOOM_SHARDING_FLAT:
      unshard (self, 1, &v);
      break;
    default:
      self->whole[v] = partition_all_reduce (
          self, self->have[v].kind == LOOM_SHARDING_MINIMUM ? LOOM_REDUCE_MIN : LOOM_REDUCE_SUM, 1, &local, NULL);
    }
  return self->whole[v];
}

/* ---- split values ------------------------------------------------------------- */

static LoomValue part_of (Partition *self, LoomValue v, LoomSharding sharding);

static LoomSharding
along (LoomSharding sharding, int axis)
{
  sharding.axis = axis;
  return sharding;
}

/* Computes a part of a product from a part of the operand that has its rows or columns; 0 if the axis is neither. */
static LoomValue
make_part_of_product (Partition *self, const LoomInstr *instr, LoomSharding sharding)
{
  const LoomMatmulAttrs *a = instr->attrs;
  int rank = desc_from (self, instr->out[0])->rank;
  guint k = sharding.axis == rank - 2 ? 0 : 1;
  LoomValue in[3] = { 0 };

  if (sharding.axis < rank - 2)
    return 0;
  for (guint i = 0; i < instr->n_in; i++)
    {
      const LoomTensorDesc *d = instr->in[i] != 0 ? desc_from (self, instr->in[i]) : NULL;
      /* The axis of operand i: rows of the first operand, columns of the second, and the bias's only axis. */
      int axis = d == NULL ? -1 : i == 0 ? d->rank - (a->trans_a ? 1 : 2) : i == 1 ? d->rank - (a->trans_b ? 2 : 1) : 0;

      in[i] = d == NULL                      ? 0
              : i == k || (i == 2 && k == 1) ? part_of (self, instr->in[i], along (sharding, axis))
                                             : whole_value (self, instr->in[i]);
    }
  return loom_emit (self->r.to, instr->prim, instr->attrs, instr->n_in, in, NULL);
}

/* Computes a part of an instruction's result from parts of its operands, if all ranks have the operands and this is as
 * cheap; else 0. */
static LoomValue
make_part (Partition *self, LoomValue v, LoomSharding sharding)
{
  guint producer = loom_value_info (self->r.from, v)->producer;
  const LoomInstr *instr = producer != G_MAXUINT ? loom_program_instr (self->r.from, producer) : NULL;
  const LoomTensorDesc *d = desc_from (self, v);
  int axis = sharding.axis;
  g_autofree LoomValue *in = NULL;
  g_autofree gpointer attrs = NULL;

  if (instr != NULL && self->of_weights && instr->prim->sharding == loom_shard_matmul)
    return make_part_of_product (self, instr, sharding);
  if (instr == NULL || instr->n_out != 1
      || !((instr->prim->flags & (LOOM_PRIM_ELEMENTWISE | LOOM_PRIM_CONVERTS))
           || instr->prim->sharding == loom_shard_expand || instr->prim->constant != NULL))
    return 0;
  in = g_new0 (LoomValue, instr->n_in + 1);
  for (guint k = 0; k < instr->n_in; k++)
    {
      int own_axis = instr->in[k] != 0 ? desc_from (self, instr->in[k])->rank - (d->rank - axis) : -1;

      in[k] = own_axis >= 0 && desc_from (self, instr->in[k])->dim[own_axis] != 1
                  ? part_of (self, instr->in[k], along (sharding, own_axis))
                  : whole_value (self, instr->in[k]);
    }
  attrs = g_memdup2 (instr->attrs, instr->prim->attrs_size);
  if (instr->prim->dims_at > 0)
    G_STRUCT_MEMBER (LoomDims, attrs, instr->prim->dims_at - 1).dim[axis]
        = partition_rows (self, d->dim[axis], self->own.count);
  return loom_emit (self->r.to, instr->prim, attrs, instr->n_in, in, NULL);
}

static LoomValue
slice_axis (const Partition *self, LoomValue all, int axis)
{
  LoomTensorDesc d = *value_desc (self->r.to, all);
  gint64 start[LOOM_MAX_RANK] = { 0 };

  start[axis] = partition_rows (self, d.dim[axis], self->own.first);
  d.dim[axis] = partition_rows (self, d.dim[axis], self->own.count);
  return loom_slice (self->r.to, all, start, NULL, d.dim);
}

static LoomValue
slice_part (Partition *self, LoomValue v, LoomSharding sharding)
{
  LoomProgram *p = self->r.to;
  LoomValue all = whole_value (self, v);

  if (sharding.blocks <= 1)
    return slice_axis (self, all, sharding.axis);
  return join_blocks (p, slice_axis (self, part_blocks (p, all, sharding.axis, sharding.blocks), sharding.axis + 1),
                      sharding.axis);
}

static LoomValue
part_of (Partition *self, LoomValue v, LoomSharding sharding)
{
  gsize number = (gsize)MAX (sharding.blocks, 1) << 40 | (gsize)(v * LOOM_MAX_RANK + (guint)sharding.axis);
  gpointer key = GSIZE_TO_POINTER (number);
  const LoomValueInfo *info = loom_value_info (self->r.from, v);
  const char *origin, *device;
  LoomValue part;

  if (loom_sharding_equal (self->have[v], sharding))
    return local_value (self, v);
  part = GPOINTER_TO_UINT (g_hash_table_lookup (self->parts, key));
  if (part != 0)
    return part;
  /* The part is computed on the device of the whole value, also if an instruction on another device reads it (an
   * optimizer whose states are on the host). */
  loom_program_get_origin (self->r.to, &origin, &device);
  if (info->producer != G_MAXUINT)
    loom_program_set_origin (self->r.to, origin, info->device);
  if (self->have[v].kind == LOOM_SHARDING_REPLICATED && (self->opaque == NULL || !self->opaque[v]))
    part = make_part (self, v, sharding);
  if (part == 0)
    part = slice_part (self, v, sharding);
  loom_program_set_origin (self->r.to, origin, device);
  g_hash_table_insert (self->parts, key, GUINT_TO_POINTER (part));
  return part;
}

/* ---- shards and partial values ------------------------------------------------ */

LoomValue
partition_slice_shard (const Partition *self, LoomValue whole)
{
  gint64 total = (gint64)loom_desc_count (value_desc (self->r.to, whole));
  LoomCommShard own = loom_comm_shard (total, self->options->rank, self->options->ranks);
  LoomValue flat = loom_reshape (self->r.to, whole, 1, &total);

  return loom_slice (self->r.to, flat, &own.first, NULL, &own.count);
}

static LoomValue
shard_of (Partition *self, LoomValue v)
{
  LoomValue local = local_value (self, v);

  if (self->have[v].kind == LOOM_SHARDING_FLAT)
    return local;
  if (self->shard[v] == 0 && self->time[v] == PARTITION_LATE_SHARD)
    flush (self, &self->bucket[1]);
  if (self->shard[v] == 0 && self->have[v].kind == LOOM_SHARDING_PARTIAL && self->whole[v] == 0
      && self->time[v] == PARTITION_EARLY)
    reduce_scatter (self, 1, &local, &self->shard[v]);
  if (self->shard[v] == 0)
    self->shard[v] = partition_slice_shard (self, whole_value (self, v));
  return self->shard[v];
}

static LoomValue
pad_axis (const Partition *self, LoomValue own, int axis)
{
  LoomTensorDesc d = *value_desc (self->r.to, own);
  gint64 start[LOOM_MAX_RANK] = { 0 };

  start[axis] = d.dim[axis] / self->own.count * self->own.first;
  d.dim[axis] = d.dim[axis] / self->own.count * self->options->samples;
  return loom_pad (self->r.to, own, start, NULL, d.dim, 0);
}

/* A rank's part padded with zeros to the size of the whole. */
static LoomValue
pad_part (Partition *self, LoomValue v)
{
  LoomProgram *p = self->r.to;
  LoomSharding sharding = self->have[v];

  if (sharding.blocks <= 1)
    return pad_axis (self, local_value (self, v), sharding.axis);
  return join_blocks (
      p, pad_axis (self, part_blocks (p, local_value (self, v), sharding.axis, sharding.blocks), sharding.axis + 1),
      sharding.axis);
}

static LoomValue
pad_shard (Partition *self, LoomValue v)
{
  const LoomTensorDesc *d = desc_from (self, v);
  gint64 total = (gint64)loom_desc_count (d);
  LoomCommShard own = loom_comm_shard (total, self->options->rank, self->options->ranks);
  LoomValue flat = loom_pad (self->r.to, local_value (self, v), &own.first, NULL, &total, 0);

  return loom_reshape (self->r.to, flat, d->rank, (const gint64 *)d->dim);
}

/* Zeros of v's shape that do not depend on v. */
static LoomValue
zeros_of (LoomProgram *p, LoomValue v)
{
  LoomTensorDesc d = *value_desc (p, v);
  gint64 total = (gint64)loom_desc_count (&d), none = 0, at = 0;
  LoomValue flat = loom_slice (p, loom_reshape (p, v, 1, &total), &at, NULL, &none);

  return loom_reshape (p, loom_pad (p, flat, &at, NULL, &total, 0), d.rank, (const gint64 *)d.dim);
}

/* The rank's summand of a value. Of a whole value the first rank adds all, and the others add zeros. The zeros depend
 * on the value, unless it is an input or state: otherwise an exchange that computes it would be dead code on those
 * ranks, and they would remove it. */
static LoomValue
summand_of (Partition *self, LoomValue v)
{
  const LoomTensorDesc *d = desc_from (self, v);
  LoomValue local = local_value (self, v);

  switch (self->have[v].kind)
    {
    case LOOM_SHARDING_PARTIAL:
      return local;
    case LOOM_SHARDING_SPLIT:
      return pad_part (self, v);
    case LOOM_SHARDING_FLAT:
      return pad_shard (self, v);
    case LOOM_SHARDING_LOCAL:
      return part_of_mean (self, v);
    default:
      g_assert (self->have[v].kind == LOOM_SHARDING_REPLICATED);
      if (self->options->rank == 0)
        return local;
      if (loom_value_info (self->r.from, v)->producer != G_MAXUINT)
        return zeros_of (self->r.to, local);
      return loom_fill (self->r.to, d->dtype, d->rank, (const gint64 *)d->dim, 0);
    }
}

LoomValue
partition_value (Partition *self, LoomValue v, LoomSharding want)
{
  if (v == 0)
    return 0;
  switch (want.kind)
    {
    case LOOM_SHARDING_REPLICATED:
      return whole_value (self, v);
    case LOOM_SHARDING_SPLIT:
      return part_of (self, v, want);
    case LOOM_SHARDING_FLAT:
      return shard_of (self, v);
    case LOOM_SHARDING_PARTIAL:
      return summand_of (self, v);
    default:
      g_assert (self->have[v].kind == want.kind);
      return local_value (self, v);
    }
}
