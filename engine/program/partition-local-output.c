/* Computes a rank's local version of an output, for display: its value if the whole batch were like this rank's
 * samples. Partial values are scaled by (samples of the batch) / (samples of the rank), and the instructions after them
 * are repeated. So a mean over an exchanged count becomes the mean over the rank's own samples. */
#include "engine/program/partition-state.h"

static gboolean
is_number (const LoomTensorDesc *d)
{
  return loom_desc_count (d) == 1 && (d->dtype == LOOM_F32 || d->dtype == LOOM_F64);
}

/* The local version of v of r.from, as a value of r.to; 0: none. *is_local: it differs from the global value. */
static LoomValue
local_version (Partition *self, LoomValue v, gboolean *is_local)
{
  LoomProgram *p = self->r.to;
  guint producer = loom_value_info (self->r.from, v)->producer;
  const LoomInstr *instr = producer != G_MAXUINT ? loom_program_instr (self->r.from, producer) : NULL;
  LoomValue local = local_value (self, v);
  gboolean any = FALSE;
  g_autofree LoomValue *in = NULL;

  if (local == 0 || !is_number (desc_from (self, v)))
    return self->have[v].kind == LOOM_SHARDING_REPLICATED ? local : 0;
  if (self->have[v].kind == LOOM_SHARDING_PARTIAL)
    {
      double times = (double)self->options->samples / (double)self->own.count;

      *is_local = TRUE;
      return loom_binary (p, LOOM_SCALAR_MUL, local, loom_const (p, value_desc (p, local)->dtype, times));
    }
  if (self->have[v].kind != LOOM_SHARDING_REPLICATED)
    return 0;
  if (instr == NULL || instr->n_out != 1
      || !((instr->prim->flags & (LOOM_PRIM_ELEMENTWISE | LOOM_PRIM_CONVERTS))
           || instr->prim->sharding == loom_shard_reshape))
    return local;
  in = g_new0 (LoomValue, instr->n_in + 1);
  for (guint k = 0; k < instr->n_in; k++)
    {
      in[k] = instr->in[k] != 0 ? local_version (self, instr->in[k], &any) : 0;
      if (in[k] == 0 && instr->in[k] != 0)
        return local;
    }
  if (!any)
    return local;
  *is_local = TRUE;
  return loom_emit (p, instr->prim, instr->attrs, instr->n_in, in, NULL);
}

LoomValue
partition_local_output (Partition *self)
{
  for (guint i = 0; self->options->local_output != NULL && i < loom_program_n_outputs (self->r.from); i++)
    {
      const LoomProgramOutput *output = loom_program_get_output (self->r.from, i);
      gboolean is_local = FALSE;
      LoomValue own;

      if (!g_str_equal (output->name, self->options->local_output))
        continue;
      loom_program_set_region (self->r.to, LOOM_REGION_UPDATE);
      loom_program_set_origin (self->r.to, NULL, NULL);
      loom_program_set_recomputation (self->r.to, 0);
      own = local_version (self, output->value, &is_local);
      return is_local ? own : 0;
    }
  return 0;
}
