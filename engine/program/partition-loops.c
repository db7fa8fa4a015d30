/* Partitions loops, and bodies also for partition-visit.c: chooses the shardings of a body's results from those of its
 * inputs, and writes the body of a rank.
 *
 * Each rank runs the loop for its samples. Carried values must have the same sharding before and after an iteration, so
 * shardings are iterated to a fixed point. If a body would need an exchange in each iteration, the loop is not split:
 * its operands are gathered once before it. */
#include "engine/program/partition-state.h"

gboolean
partition_is_local_conversion (LoomSharding have, LoomSharding want)
{
  return loom_sharding_equal (have, want)
         || (have.kind == LOOM_SHARDING_REPLICATED
             && (want.kind == LOOM_SHARDING_SPLIT || want.kind == LOOM_SHARDING_PARTIAL));
}

gboolean
partition_choose_body (const Partition *outer, const LoomProgram *body, const LoomSharding *input, LoomSharding *output)
{
  Partition self = { 0 };
  gboolean ok = TRUE;

  partition_init (&self, body, outer->options);
  self.is_body = TRUE;
  for (guint i = 0; i < loom_program_n_inputs (body); i++)
    self.have[loom_program_get_input (body, i)->value] = input[i];
  for (guint i = 0; i < loom_program_n_instrs (body) && ok; i++)
    {
      const LoomInstr *instr = loom_program_instr (body, i);

      partition_choose (&self, i);
      for (guint k = 0; k < instr->n_in && ok; k++)
        ok = instr->in[k] == 0 || partition_is_local_conversion (self.have[instr->in[k]], self.want[i][k]);
    }
  for (guint o = 0; o < loom_program_n_outputs (body) && ok; o++)
    output[o] = self.have[loom_program_get_output (body, o)->value];
  partition_clear (&self);
  return ok;
}

/* The sharding of a row of a tensor; rows_of() is the inverse. */
static LoomSharding
row_of (LoomSharding sharding)
{
  sharding.axis -= sharding.kind == LOOM_SHARDING_SPLIT;
  return sharding;
}

static LoomSharding
rows_of (LoomSharding sharding)
{
  sharding.axis += sharding.kind == LOOM_SHARDING_SPLIT;
  return sharding;
}

/* Sets the shardings of carried values that are whole at first (mostly zeros) to those of the body's results. FALSE if
 * both cannot be equal. */
static gboolean
unify_carried (const LoomScanAttrs *a, LoomSharding *input, const LoomSharding *output, gboolean *changed)
{
  *changed = FALSE;
  for (guint k = 0; k < a->n_carried; k++)
    if (!partition_is_local_conversion (output[k], input[k]))
      {
        if (!partition_is_local_conversion (input[k], output[k]))
          return FALSE;
        input[k] = output[k];
        *changed = TRUE;
      }
  return TRUE;
}

void
partition_choose_loop (Partition *self, guint i, LoomShardingCall *call)
{
  const LoomScanAttrs *a = call->attrs;
  guint sequences = a->n_carried + a->n_sequences;
  g_autofree LoomSharding *forms = g_new0 (LoomSharding, call->n_in + call->n_out + 1);
  LoomSharding *output = forms + call->n_in;
  gboolean changed = FALSE, any = FALSE;

  for (guint k = 0; k < call->n_in; k++)
    {
      gboolean is_sequence = k >= a->n_carried && k < sequences;

      if (call->have[k].kind != LOOM_SHARDING_SPLIT || (is_sequence && call->have[k].axis == 0))
        continue;
      forms[k] = is_sequence ? row_of (call->have[k]) : call->have[k];
      any = TRUE;
    }
  for (guint round = 0; any && round <= a->n_carried + 1; round++)
    {
      if (!partition_choose_body (self, a->body, forms, output) || !unify_carried (a, forms, output, &changed))
        return;
      if (!changed)
        break;
    }
  if (!any || changed)
    return;
  for (guint o = 0; o < call->n_out; o++)
    if (output[o].kind > LOOM_SHARDING_PARTIAL)
      return;
  for (guint k = 0; k < call->n_in; k++)
    call->want[k] = k >= a->n_carried && k < sequences ? rows_of (forms[k]) : forms[k];
  for (guint o = 0; o < call->n_out; o++)
    {
      for (guint k = 0; k < a->n_carried; k++)
        if (loom_program_get_output (a->body, k)->value == loom_program_get_output (a->body, o)->value)
          output[o] = forms[k];
      call->result[o] = o < a->n_carried ? forms[o] : rows_of (output[o]);
    }
  g_hash_table_insert (self->loops, GUINT_TO_POINTER (i), g_steal_pointer (&forms));
}

LoomProgram *
partition_body (const Partition *outer, LoomProgram *of, const LoomSharding *forms)
{
  guint n_in = loom_program_n_inputs (of), n_out = loom_program_n_outputs (of);
  Partition body = { 0 };
  LoomProgram *to;

  partition_init (&body, of, outer->options);
  body.is_body = TRUE;
  for (guint k = 0; k < n_in; k++)
    body.have[loom_program_get_input (of, k)->value] = forms[k];
  loom_rewrite_begin (&body.r, of, "partition", "Runs bodies on the samples of each rank.");
  for (guint k = 0; k < loom_program_n_instrs (of); k++)
    partition_choose (&body, k);
  for (guint k = 0; k < loom_program_n_instrs (of); k++)
    partition_write (&body, k);
  for (guint o = 0; o < n_out; o++)
    {
      LoomValue v = loom_program_get_output (of, o)->value;
      LoomValue own = partition_value (&body, v, forms[n_in + o]);

      g_array_index (body.r.map, LoomValue, v) = own;
    }
  to = loom_rewrite_end (&body.r);
  partition_clear (&body);
  return to;
}

LoomProgram *
partition_loop_body (Partition *self, guint i)
{
  const LoomScanAttrs *a = loom_program_instr (self->r.from, i)->attrs;
  const LoomSharding *forms = g_hash_table_lookup (self->loops, GUINT_TO_POINTER (i));

  return forms != NULL ? partition_body (self, a->body, forms) : loom_program_ref (a->body);
}

/* ---- parts on one device --------------------------------------------------------- */

/* TRUE if a body exchanges nothing with anybody, draws nothing, and has no batch norm: the rules of batch norms give
 * each part the statistics of its own samples. */
static gboolean
is_local (const LoomProgram *body)
{
  for (guint i = 0; i < loom_program_n_instrs (body); i++)
    {
      const LoomPrim *prim = loom_program_instr (body, i)->prim;

      if ((prim->flags & (LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT)) || prim->bodies != NULL
          || prim->on_host != NULL || prim->sharding == loom_shard_batch_norm
          || prim->sharding == loom_shard_batch_norm_grad || prim->sharding == loom_shard_batch_norm_apply)
        return FALSE;
    }
  return !partition_draws (body);
}

/* Splits every input whose first axis has the size of the samples; a value that is the same in all iterations may be a
 * weight, so it is split only if asked, and if it is a matrix. */
static void
split_inputs (const LoomScanAttrs *a, gint64 samples, gboolean split_same, LoomSharding *form)
{
  for (guint k = 0; k < loom_program_n_inputs (a->body); k++)
    {
      const LoomTensorDesc *desc = value_desc (a->body, loom_program_get_input (a->body, k)->value);
      const gboolean same = k >= a->n_carried + a->n_sequences;

      form[k] = (LoomSharding){ .kind = LOOM_SHARDING_REPLICATED };
      if (desc->rank >= 1 && desc->dim[0] == samples && (!same || (split_same && desc->rank >= 2)))
        form[k].kind = LOOM_SHARDING_SPLIT;
    }
}

static gboolean
is_split_by_samples (LoomSharding form)
{
  return form.kind == LOOM_SHARDING_SPLIT && form.axis == 0 && form.blocks <= 1;
}

/* TRUE if all results, and all carried values, are split by samples if the inputs have these forms. */
static gboolean
choose_parts (const Partition *outer, const LoomScanAttrs *a, LoomSharding *form)
{
  LoomSharding *result = form + loom_program_n_inputs (a->body);

  if (!partition_choose_body (outer, a->body, form, result))
    return FALSE;
  for (guint o = 0; o < loom_program_n_outputs (a->body); o++)
    if (!is_split_by_samples (result[o]) || (o < a->n_carried && !is_split_by_samples (form[o])))
      return FALSE;
  return TRUE;
}

LoomProgram *
loom_program_part_of_scan (const LoomScanAttrs *a, int part, int parts, gboolean *is_split)
{
  const guint n_in = loom_program_n_inputs (a->body), n = n_in + loom_program_n_outputs (a->body);
  g_autofree LoomSharding *form = g_new0 (LoomSharding, n + 1);
  const LoomTensorDesc *first;
  LoomPartition options = { .along = LOOM_MESH_DATA, .rank = part, .ranks = parts };
  Partition outer = { .options = &options };

  if (a->n_carried + a->n_sequences == 0 || !is_local (a->body))
    return NULL;
  first = value_desc (a->body, loom_program_get_input (a->body, 0)->value);
  if (first->rank == 0 || first->dim[0] < parts || first->dim[0] % parts != 0)
    return NULL;
  options.samples = first->dim[0];
  split_inputs (a, options.samples, TRUE, form);
  if (!choose_parts (&outer, a, form))
    {
      split_inputs (a, options.samples, FALSE, form);
      if (!choose_parts (&outer, a, form))
        return NULL;
    }
  for (guint k = 0; k < n; k++)
    is_split[k] = form[k].kind == LOOM_SHARDING_SPLIT;
  return partition_body (&outer, a->body, form);
}
