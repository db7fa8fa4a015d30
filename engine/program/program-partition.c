/* Divides a program among ranks (loom-partition.h).
 *
 * First every instruction says in which form it takes its operands and what its results then are. Then the rank's
 * program is written: an operand in another form is made on the way, once, by a collective or a slice. Gradients that
 * only the update wants whole, and other sums that nobody waits for, are gathered in buckets, in the order in which the
 * backward pass makes them, and exchanged as soon as a bucket is full. */
#include "engine/program/partition-private.h"

#include "kernels/comm.h"

#include <string.h>

typedef struct
{
  LoomRewrite r;
  const LoomPartition *options;
  LoomCommPart own;
  LoomShare *have;   /* by value of r.from: how its value in r.to is divided */
  LoomShare **want;  /* by instruction: of its operands */
  gboolean *late;    /* by value: pending, and wanted whole by the update alone */
  LoomValue *whole;  /* by value: where it was made whole; 0: not yet */
  GHashTable *parts; /* value and axis → the rank's part of it */
  GArray *bucket;    /* values of r.from that wait to be exchanged */
  gsize bucket_bytes;
} Partition;

static const LoomTensorDesc *
desc_from (const Partition *self, LoomValue v)
{
  return value_desc (self->r.from, v);
}

/* ---- deciding ------------------------------------------------------------------ */

static LoomShare
share_of (const Partition *self, LoomValue v)
{
  return v != 0 ? self->have[v] : (LoomShare){ LOOM_SHARE_WHOLE, 0 };
}

static void
fill_descs (const Partition *self, guint n, const LoomValue *values, LoomTensorDesc *desc)
{
  for (guint k = 0; k < n; k++)
    if (values[k] != 0)
      desc[k] = *desc_from (self, values[k]);
    else
      desc[k].dtype = LOOM_N_DTYPES;
}

static void
decide (Partition *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, instr->n_in + 1);
  g_autofree LoomTensorDesc *out = g_new0 (LoomTensorDesc, instr->n_out + 1);
  g_autofree LoomShare *have = g_new0 (LoomShare, instr->n_in + 1);
  g_autofree LoomShare *result = g_new0 (LoomShare, instr->n_out + 1);
  gboolean divided = FALSE;

  self->want[i] = g_new0 (LoomShare, instr->n_in + 1);
  for (guint k = 0; k < instr->n_in; k++)
    {
      have[k] = share_of (self, instr->in[k]);
      divided = divided || have[k].kind != LOOM_SHARE_WHOLE;
    }
  if (!divided)
    return;
  fill_descs (self, instr->n_in, instr->in, in);
  fill_descs (self, instr->n_out, instr->out, out);
  LoomShareCall call = { .attrs = instr->attrs,
                         .n_in = instr->n_in,
                         .n_out = instr->n_out,
                         .in = in,
                         .out = out,
                         .have = have,
                         .samples = self->options->samples,
                         .want = self->want[i],
                         .result = result };
  if (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
    loom_share_elementwise (&call, instr->prim->scalar);
  else if (instr->prim->share != NULL)
    instr->prim->share (&call);
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      self->have[instr->out[o]] = result[o];
}

/* The values that leave the program: the next ones of slots, then outputs; 0 where a slot stays as it is. */
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

/* A pending value that somebody wants whole, but nobody before the update. */
static void
find_late (Partition *self)
{
  guint n = loom_program_n_values (self->r.from);
  g_autofree gboolean *early = g_new0 (gboolean, n + 1);

  for (guint i = 0; i < n_ends (self->r.from); i++)
    {
      LoomValue v = end_of (self->r.from, i);

      self->late[v] = v != 0 && self->have[v].kind == LOOM_SHARE_PENDING;
    }

  for (guint i = 0; i < loom_program_n_instrs (self->r.from); i++)
    {
      const LoomInstr *instr = loom_program_instr (self->r.from, i);

      for (guint k = 0; k < instr->n_in; k++)
        {
          LoomValue v = instr->in[k];

          if (v == 0 || self->have[v].kind != LOOM_SHARE_PENDING || self->want[i][k].kind == LOOM_SHARE_PENDING)
            continue;
          if (instr->region == LOOM_REGION_UPDATE)
            self->late[v] = TRUE;
          else
            early[v] = TRUE;
        }
    }
  for (guint v = 1; v <= n; v++)
    self->late[v] = self->late[v] && !early[v];
}

/* ---- forms ------------------------------------------------------------------------ */

static LoomValue
local_value (const Partition *self, LoomValue v)
{
  return loom_rewrite_value (&self->r, v);
}

static gint64
rows_of (const Partition *self, gint64 size, gint64 samples)
{
  return size / self->options->samples * samples;
}

static LoomValue
all_reduce (LoomProgram *p, guint n, const LoomValue *in, LoomValue *out)
{
  LoomAllReduceAttrs attrs = { .n = n, .op = LOOM_REDUCE_SUM };

  return loom_emit (p, loom_prim ("all_reduce"), &attrs, n, in, out);
}

/* Exchanges what waits. All are of one type. */
static void
flush_bucket (Partition *self)
{
  guint n = self->bucket->len;
  g_autofree LoomValue *in = g_new0 (LoomValue, n + 1), *out = g_new0 (LoomValue, n + 1);

  if (n == 0)
    return;
  for (guint k = 0; k < n; k++)
    in[k] = local_value (self, g_array_index (self->bucket, LoomValue, k));
  loom_program_set_origin (self->r.to, NULL, loom_value_info (self->r.to, in[0])->device);
  all_reduce (self->r.to, n, in, out);
  for (guint k = 0; k < n; k++)
    self->whole[g_array_index (self->bucket, LoomValue, k)] = out[k];
  g_array_set_size (self->bucket, 0);
  self->bucket_bytes = 0;
}

static void
add_to_bucket (Partition *self, LoomValue v)
{
  const LoomTensorDesc *d = desc_from (self, v);

  if (self->bucket->len > 0 && desc_from (self, g_array_index (self->bucket, LoomValue, 0))->dtype != d->dtype)
    flush_bucket (self);
  g_array_append_val (self->bucket, v);
  self->bucket_bytes += loom_desc_bytes (d);
  if (self->bucket_bytes >= self->options->bucket)
    flush_bucket (self);
}

/* perm that brings an axis to the front, or from there back to its place. */
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

static LoomValue
gather (const Partition *self, LoomValue v)
{
  LoomProgram *p = self->r.to;
  int axis = self->have[v].axis;
  LoomValue part = move_axis (p, local_value (self, v), axis, FALSE);
  LoomAllGatherTo attrs = { .samples = self->options->samples, .to = { .rank = value_desc (p, part)->rank } };

  for (int i = 0; i < attrs.to.rank; i++)
    attrs.to.dim[i] = value_desc (p, part)->dim[i];
  attrs.to.dim[0] = desc_from (self, v)->dim[axis];
  return move_axis (p, loom_emit (p, loom_prim ("all_gather"), &attrs, 1, &part, NULL), axis, TRUE);
}

static LoomValue
mean_over_ranks (const Partition *self, LoomValue v)
{
  LoomProgram *p = self->r.to;
  LoomValue local = local_value (self, v);
  double weight = (double)self->own.count / (double)self->options->samples;
  LoomValue part = loom_binary (p, LOOM_SCALAR_MUL, local, loom_const (p, value_desc (p, local)->dtype, weight));

  return all_reduce (p, 1, &part, NULL);
}

static LoomValue
whole_value (Partition *self, LoomValue v)
{
  LoomValue local = local_value (self, v);

  if (v == 0 || self->have[v].kind == LOOM_SHARE_WHOLE)
    return local;
  if (self->whole[v] == 0 && self->late[v])
    flush_bucket (self);
  if (self->whole[v] != 0)
    return self->whole[v];
  if (self->have[v].kind == LOOM_SHARE_SPLIT)
    self->whole[v] = gather (self, v);
  else if (self->have[v].kind == LOOM_SHARE_LOCAL)
    self->whole[v] = mean_over_ranks (self, v);
  else
    self->whole[v] = all_reduce (self->r.to, 1, &local, NULL);
  return self->whole[v];
}

static LoomValue part_of (Partition *self, LoomValue v, int axis);

/* The part of what an instruction makes of operands that every rank has: made of parts of those, where that is as easy.
 * 0: it is not. */
static LoomValue
make_part (Partition *self, LoomValue v, int axis)
{
  guint producer = loom_value_info (self->r.from, v)->producer;
  const LoomInstr *instr = producer != G_MAXUINT ? loom_program_instr (self->r.from, producer) : NULL;
  const LoomTensorDesc *d = desc_from (self, v);
  g_autofree LoomValue *in = NULL;
  g_autofree gpointer attrs = NULL;

  if (instr == NULL || instr->n_out != 1
      || !((instr->prim->flags & (LOOM_PRIM_ELEMENTWISE | LOOM_PRIM_CONVERTS))
           || instr->prim->share == loom_share_expand || instr->prim->constant != NULL))
    return 0;
  in = g_new0 (LoomValue, instr->n_in + 1);
  for (guint k = 0; k < instr->n_in; k++)
    {
      int own_axis = instr->in[k] != 0 ? desc_from (self, instr->in[k])->rank - (d->rank - axis) : -1;

      in[k] = own_axis >= 0 && desc_from (self, instr->in[k])->dim[own_axis] != 1
                  ? part_of (self, instr->in[k], own_axis)
                  : whole_value (self, instr->in[k]);
    }
  attrs = g_memdup2 (instr->attrs, instr->prim->attrs_size);
  if (instr->prim->dims_at > 0)
    G_STRUCT_MEMBER (LoomDims, attrs, instr->prim->dims_at - 1).dim[axis]
        = rows_of (self, d->dim[axis], self->own.count);
  return loom_emit (self->r.to, instr->prim, attrs, instr->n_in, in, NULL);
}

static LoomValue
slice_part (Partition *self, LoomValue v, int axis)
{
  LoomValue all = whole_value (self, v);
  LoomTensorDesc d = *desc_from (self, v);
  gint64 start[LOOM_MAX_RANK] = { 0 };

  start[axis] = rows_of (self, d.dim[axis], self->own.first);
  d.dim[axis] = rows_of (self, d.dim[axis], self->own.count);
  return loom_slice (self->r.to, all, start, NULL, d.dim);
}

static LoomValue
part_of (Partition *self, LoomValue v, int axis)
{
  gpointer key = GUINT_TO_POINTER (v * LOOM_MAX_RANK + (guint)axis);
  LoomValue part;

  if (self->have[v].kind == LOOM_SHARE_SPLIT && self->have[v].axis == axis)
    return local_value (self, v);
  part = GPOINTER_TO_UINT (g_hash_table_lookup (self->parts, key));
  if (part != 0)
    return part;
  if (self->have[v].kind == LOOM_SHARE_WHOLE)
    part = make_part (self, v, axis);
  if (part == 0)
    part = slice_part (self, v, axis);
  g_hash_table_insert (self->parts, key, GUINT_TO_POINTER (part));
  return part;
}

static LoomValue
value_in_form (Partition *self, LoomValue v, LoomShare want)
{
  if (v == 0)
    return 0;
  if (want.kind == LOOM_SHARE_WHOLE)
    return whole_value (self, v);
  if (want.kind == LOOM_SHARE_SPLIT)
    return part_of (self, v, want.axis);
  g_assert (self->have[v].kind == want.kind);
  return local_value (self, v);
}

/* ---- writing the rank's program ------------------------------------------------------ */

/* The attributes, with the result's own shape where it is split. */
static gpointer
local_attrs (const Partition *self, const LoomInstr *instr)
{
  gpointer attrs = g_memdup2 (instr->attrs, instr->prim->attrs_size);
  LoomShare share = share_of (self, instr->n_out > 0 ? instr->out[0] : 0);

  if (instr->prim->dims_at > 0 && share.kind == LOOM_SHARE_SPLIT)
    {
      LoomDims *to = &G_STRUCT_MEMBER (LoomDims, attrs, instr->prim->dims_at - 1);

      to->dim[share.axis] = rows_of (self, to->dim[share.axis], self->own.count);
    }
  return attrs;
}

static void
write_instr (Partition *self, guint i)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);
  g_autofree LoomValue *out = g_new0 (LoomValue, instr->n_out + 1);
  g_autofree gpointer attrs = local_attrs (self, instr);

  loom_rewrite_place (&self->r, instr);
  for (guint k = 0; k < instr->n_in; k++)
    in[k] = value_in_form (self, instr->in[k], self->want[i][k]);
  loom_rewrite_place (&self->r, instr);
  loom_emit (self->r.to, instr->prim, attrs, instr->n_in, in, out);
  loom_rewrite_results (&self->r, instr, out);
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0 && self->late[instr->out[o]])
      add_to_bucket (self, instr->out[o]);
}

/* What leaves the program does so whole. */
static void
write_ends (Partition *self)
{
  const LoomProgram *p = self->r.from;

  loom_program_set_region (self->r.to, LOOM_REGION_UPDATE);
  loom_program_set_origin (self->r.to, NULL, NULL);
  loom_program_set_recomputation (self->r.to, 0);
  for (guint i = 0; i < n_ends (p); i++)
    whole_value (self, end_of (p, i));
  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    if (self->whole[v] != 0)
      g_array_index (self->r.map, LoomValue, v) = self->whole[v];
}

static void
localise_input (LoomRewrite *r, LoomTensorDesc *desc)
{
  Partition *self = (Partition *)r;

  if (desc->rank > 0 && desc->dim[0] == self->options->samples)
    desc->dim[0] = self->own.count;
}

static void
decide_inputs (Partition *self)
{
  for (guint i = 0; i < loom_program_n_inputs (self->r.from); i++)
    {
      LoomValue v = loom_program_get_input (self->r.from, i)->value;
      const LoomTensorDesc *d = desc_from (self, v);

      if (d->rank > 0 && d->dim[0] == self->options->samples)
        self->have[v] = (LoomShare){ LOOM_SHARE_SPLIT, 0 };
    }
}

static LoomProgram *
divide (const LoomProgram *p, const LoomPartition *options)
{
  Partition self = { .options = options, .own = loom_comm_part (options->samples, options->rank, options->ranks) };
  guint n = loom_program_n_values (p), n_instrs = loom_program_n_instrs (p);
  LoomProgram *to;

  self.have = g_new0 (LoomShare, n + 1);
  self.want = g_new0 (LoomShare *, n_instrs + 1);
  self.late = g_new0 (gboolean, n + 1);
  self.whole = g_new0 (LoomValue, n + 1);
  self.parts = g_hash_table_new (NULL, NULL);
  self.bucket = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  self.r.localise = localise_input;
  loom_rewrite_begin (&self.r, p, "partition", "Each rank computes the part of its samples; sums go over all ranks.");
  decide_inputs (&self);
  for (guint i = 0; i < n_instrs; i++)
    decide (&self, i);
  find_late (&self);
  for (guint i = 0; i < n_instrs; i++)
    write_instr (&self, i);
  write_ends (&self);
  to = loom_rewrite_end (&self.r);
  for (guint i = 0; i < n_instrs; i++)
    g_free (self.want[i]);
  g_free (self.have);
  g_free (self.want);
  g_free (self.late);
  g_free (self.whole);
  g_hash_table_unref (self.parts);
  g_array_unref (self.bucket);
  return to;
}

/* Batch norms in core primitives, whose sums then go over all ranks. */
static LoomProgram *
expand_batch_norms (const LoomProgram *p)
{
  LoomRewrite r = { 0 };

  loom_rewrite_begin (&r, p, "synchronised batch norm", "Statistics of batch norms are sums over all ranks.");
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);

      for (guint k = 0; k < instr->n_in; k++)
        in[k] = loom_rewrite_value (&r, instr->in[k]);
      if (instr->prim->share == loom_share_batch_norm || instr->prim->share == loom_share_batch_norm_grad)
        loom_rewrite_expand (&r, instr, in);
      else
        loom_rewrite_copy (&r, instr, in);
    }
  return loom_rewrite_end (&r);
}

LoomProgram *
loom_program_partition (const LoomProgram *p, const LoomPartition *options)
{
  g_autoptr (LoomProgram) synchronised = options->sync_batch_norm ? expand_batch_norms (p) : NULL;

  g_return_val_if_fail (options->samples >= options->ranks, NULL);
  return divide (synchronised != NULL ? synchronised : p, options);
}
