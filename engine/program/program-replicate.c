/* Replicates a program on several devices of one process, like torch.nn.DataParallel. The first device has the weights
 * and the batch. Each step scatters the batch, replicates the weights, gathers the replicas' results, and updates on
 * the first device. Every copy is from or to the first device.
 *
 * The replicas are the parts of ranks (loom_program_partition()), instruction by instruction. The first device computes
 * exchanges of ranks from gathered values. */
#include "engine/program/loom-partition.h"
#include "engine/program/prim-private.h"
#include "kernels/comm.h"

typedef struct
{
  LoomRewrite r; /* rewrites the first part */
  const LoomProgram *whole;
  int n;
  const char *const *device;
  LoomProgram **part;
  GArray **map;        /* by replica: value → value in the new program; that of the first replica is r.map */
  gboolean *exchanged; /* by value: it is an operand of an exchange */
} Replicas;

static LoomValue
value (const Replicas *self, int k, LoomValue v)
{
  return v == 0 ? 0 : g_array_index (self->map[k], LoomValue, v);
}

static gboolean
is_exchange (const LoomInstr *instr)
{
  return (instr->prim->flags & LOOM_PRIM_COLLECTIVE) != 0;
}

/* Marks operands of exchanges. FALSE if ranks use exchanges other than reductions. */
static gboolean
find_exchanged (Replicas *self)
{
  const LoomProgram *p = self->part[0];

  for (guint i = loom_program_n_instrs (p); i-- > 0;)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      gboolean any = is_exchange (instr);

      if (any && !prim_is_all_reduce (instr->prim))
        return FALSE;
      for (guint o = 0; o < instr->n_out; o++)
        any = any || self->exchanged[instr->out[o]];
      for (guint k = 0; k < instr->n_in && any; k++)
        self->exchanged[instr->in[k]] = instr->in[k] != 0;
    }
  return TRUE;
}

/* The first device has the whole batch. */
static void
keep_whole (LoomRewrite *r, guint input, LoomTensorDesc *desc)
{
  const LoomProgram *whole = ((const Replicas *)r)->whole;

  *desc = loom_value_info (whole, loom_program_get_input (whole, input)->value)->desc;
}

/* Makes each replica's part of the inputs, and copies of the first device's weights. */
static void
scatter (Replicas *self, gint64 samples)
{
  const LoomProgram *p = self->part[0];

  /* The first replica comes last: until then its map has the whole inputs. */
  for (int k = self->n - 1; k >= 0; k--)
    for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
      {
        const LoomValueInfo *info = loom_value_info (self->part[k], v);
        LoomValue whole = g_array_index (self->r.map, LoomValue, v);
        gint64 start[LOOM_MAX_RANK] = { 0 }, step[LOOM_MAX_RANK];
        LoomCommShard own = loom_comm_shard (samples, k, self->n);

        if (info->slot < 0 && info->input < 0)
          continue;
        if (info->input >= 0 && info->desc.rank > 0
            && info->desc.dim[0] != loom_value_info (self->r.to, whole)->desc.dim[0])
          {
            for (int d = 0; d < info->desc.rank; d++)
              step[d] = 1;
            start[0] = own.first;
            loom_program_set_origin (self->r.to, NULL, self->device[0]);
            whole = loom_slice (self->r.to, whole, start, step, info->desc.dim);
          }
        g_array_index (self->map[k], LoomValue, v) = whole;
      }
}

/* Computes an exchange on the first device. */
static void
gather (Replicas *self, const LoomInstr *instr)
{
  static const LoomScalarOp join[] = { [LOOM_REDUCE_SUM] = LOOM_SCALAR_ADD,
                                       [LOOM_REDUCE_MAX] = LOOM_SCALAR_MAX,
                                       [LOOM_REDUCE_MIN] = LOOM_SCALAR_MIN,
                                       [LOOM_REDUCE_PROD] = LOOM_SCALAR_MUL };
  const LoomAllReduceAttrs *attrs = instr->attrs;

  loom_rewrite_set_origin (&self->r, instr);
  loom_program_set_origin (self->r.to, instr->origin, self->device[0]);
  for (guint i = 0; i < attrs->n; i++)
    {
      LoomValue all = value (self, 0, instr->in[i]);

      for (int k = 1; k < self->n; k++)
        all = loom_binary (self->r.to, join[attrs->op], all, value (self, k, instr->in[i]));
      for (int k = 0; k < self->n; k++)
        g_array_index (self->map[k], LoomValue, instr->out[i]) = all;
    }
}

static void
replicate (Replicas *self, guint i, int k)
{
  const LoomInstr *instr = loom_program_instr (self->part[k], i);
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1), *out = g_new0 (LoomValue, instr->n_out + 1);

  for (guint j = 0; j < instr->n_in; j++)
    in[j] = value (self, k, instr->in[j]);
  loom_rewrite_set_origin (&self->r, instr);
  loom_program_set_origin (self->r.to, instr->origin, self->device[k]);
  loom_emit (self->r.to, instr->prim, instr->attrs, instr->n_in, in, out);
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0)
      g_array_index (self->map[k], LoomValue, instr->out[o]) = out[o];
}

static gboolean
is_exchanged (const Replicas *self, const LoomInstr *instr)
{
  for (guint o = 0; o < instr->n_out; o++)
    if (self->exchanged[instr->out[o]])
      return TRUE;
  return FALSE;
}

LoomProgram *
loom_program_replicate (const LoomProgram *p, gint64 samples, const char *const *devices)
{
  Replicas self = { .whole = p, .n = (int)g_strv_length ((char **)devices), .device = devices };
  LoomProgram *result = NULL;

  g_return_val_if_fail (self.n > 1, NULL);

  self.r.localise = keep_whole;
  self.part = g_new0 (LoomProgram *, (gsize)self.n);
  self.map = g_new0 (GArray *, (gsize)self.n);
  for (int k = 0; k < self.n; k++)
    self.part[k] = loom_program_partition (
        p, &(LoomPartition){ .samples = samples, .rank = k, .ranks = self.n, .bucket = G_MAXINT32 });
  self.exchanged = g_new0 (gboolean, loom_program_n_values (self.part[0]) + 1);
  if (find_exchanged (&self))
    {
      loom_rewrite_begin (&self.r, self.part[0], "replicate",
                          "Places a replica on each device and gathers their results.");
      self.map[0] = self.r.map;
      for (int k = 1; k < self.n; k++)
        {
          self.map[k] = g_array_new (FALSE, TRUE, sizeof (LoomValue));
          g_array_set_size (self.map[k], self.r.map->len);
        }
      scatter (&self, samples);
      for (guint i = 0; i < loom_program_n_instrs (self.part[0]); i++)
        {
          const LoomInstr *instr = loom_program_instr (self.part[0], i);

          if (is_exchange (instr))
            gather (&self, instr);
          else
            for (int k = 0; k < self.n; k++)
              if (k == 0 || is_exchanged (&self, instr))
                replicate (&self, i, k);
        }
      loom_program_set_origin (self.r.to, NULL, self.device[0]);
      result = loom_rewrite_end (&self.r);
      for (int k = 1; k < self.n; k++)
        g_array_unref (self.map[k]);
    }
  for (int k = 0; k < self.n; k++)
    loom_program_unref (self.part[k]);
  g_free (self.part);
  g_free (self.map);
  g_free (self.exchanged);
  return result;
}
