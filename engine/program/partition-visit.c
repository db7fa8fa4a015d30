/* Partitions `visit` and its permutations of rows: each rank sorts the rows of its own samples, or the nodes of its own
 * trees, and visits those.
 *
 * The permutation of a rank's own rows is not a part of the global permutation, but looking up rows by it finds the
 * same rows. So each rank sorts its own rows if all readers of the permutation look up, add up or visit rows, and if
 * bodies compute each row independently without an exchange. Random numbers depend on a row's position in its group, so
 * bodies that draw them take the rows of all ranks. */
#include "engine/program/partition-state.h"

#include "engine/program/program-visit.h"

#include <string.h>

static const LoomSharding rows_split = { .kind = LOOM_SHARDING_SPLIT };

void
loom_shard_order (LoomShardingCall *call)
{
}

void
loom_shard_visit (LoomShardingCall *call)
{
}

static gboolean
is_by_rows (const LoomSharding *sharding)
{
  return sharding->kind == LOOM_SHARDING_SPLIT && sharding->axis == 0 && sharding->blocks <= 1;
}

/* The shardings of a body's inputs, then outputs, on a rank. */
static LoomSharding *
body_forms (const LoomVisitAttrs *a)
{
  guint n_in = visit_n_inputs (a), rows = a->n_rows + visit_n_links_in (a), links = visit_n_links_out (a);
  LoomSharding *forms = g_new0 (LoomSharding, n_in + visit_n_outputs (a) + 1);

  for (guint i = 0; i < rows; i++)
    forms[i] = rows_split;
  for (guint o = 0; o < visit_n_outputs (a); o++)
    forms[n_in + o]
        = o >= links && o < links + a->n_sums ? (LoomSharding){ .kind = LOOM_SHARDING_PARTIAL } : rows_split;
  return forms;
}

gboolean
partition_draws (const LoomProgram *p)
{
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      guint n = 0;
      LoomProgram **body = instr->prim->bodies != NULL ? instr->prim->bodies (instr->attrs, &n) : NULL;

      if (instr->prim->flags & LOOM_PRIM_RANDOM || (instr->prim->draws != NULL && instr->prim->draws (instr->attrs)))
        return TRUE;
      for (guint b = 0; b < n; b++)
        if (partition_draws (body[b]))
          return TRUE;
    }
  return FALSE;
}

static gboolean
can_divide (const Partition *self, const LoomVisitAttrs *a)
{
  g_autofree LoomSharding *forms = body_forms (a);
  g_autofree LoomSharding *output = g_new0 (LoomSharding, visit_n_outputs (a) + 1);

  if (a->n_counters > 0 || a->n_sizes == 0)
    return FALSE;
  for (guint b = 0; b < a->n_branches; b++)
    {
      if (partition_draws (a->body[b]) || !partition_choose_body (self, a->body[b], forms, output))
        return FALSE;
      for (guint o = 0; o < visit_n_outputs (a); o++)
        if (!partition_is_local_conversion (output[o], forms[visit_n_inputs (a) + o]))
          return FALSE;
    }
  return TRUE;
}

/* TRUE if operand k of an instruction may be a permutation of a rank's own rows. */
static gboolean
may_read (const Partition *self, const LoomInstr *instr, guint k, gint64 rows)
{
  if (instr->prim->sharding == loom_shard_gather_rows)
    return k == 1 && desc_from (self, instr->in[0])->dim[0] == rows;
  if (instr->prim->sharding == loom_shard_scatter_add_rows)
    return k == 0 && ((const LoomScatterTo *)instr->attrs)->rows == rows;
  return instr->prim->sharding == loom_shard_visit && k < visit_n_leading (instr->attrs)
         && can_divide (self, instr->attrs);
}

static gboolean
is_output (const LoomProgram *p, LoomValue v)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    if (loom_program_get_slot (p, i)->commit == v)
      return TRUE;
  for (guint i = 0; i < loom_program_n_outputs (p); i++)
    if (loom_program_get_output (p, i)->value == v)
      return TRUE;
  return FALSE;
}

static gboolean
all_may_read (const Partition *self, guint i, LoomValue v)
{
  const LoomProgram *p = self->r.from;
  gint64 rows = desc_from (self, v)->dim[0];

  for (guint j = i + 1; j < loom_program_n_instrs (p); j++)
    {
      const LoomInstr *instr = loom_program_instr (p, j);

      for (guint k = 0; k < instr->n_in; k++)
        if (instr->in[k] == v && !may_read (self, instr, k, rows))
          return FALSE;
    }
  return !is_output (p, v);
}

static void
decide_order (Partition *self, guint i, LoomShardingCall *call)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);

  if (self->is_body || self->pipeline != NULL || !is_by_rows (&call->have[0]))
    return;
  for (guint o = 0; o < instr->n_out; o++)
    if (instr->out[o] != 0 && !all_may_read (self, i, instr->out[o]))
      return;
  call->want[0] = call->have[0];
  for (guint o = 0; o < instr->n_out; o++)
    {
      call->result[o] = rows_split;
      self->is_order[instr->out[o]] = TRUE;
    }
}

static void
decide_visit (const LoomVisitAttrs *a, LoomShardingCall *call)
{
  for (guint k = 0; k < visit_n_leading (a) + a->n_rows; k++)
    call->want[k] = rows_split;
  for (guint o = 0; o < call->n_out; o++)
    call->result[o] = o < a->n_sums ? (LoomSharding){ .kind = LOOM_SHARDING_PARTIAL } : rows_split;
}

gboolean
partition_visit_choose (Partition *self, guint i, LoomShardingCall *call)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);

  if (self->of_weights)
    return FALSE;
  if (instr->prim->sharding == loom_shard_order)
    decide_order (self, i, call);
  else if (instr->prim->sharding == loom_shard_visit && self->is_order[instr->in[0]])
    decide_visit (instr->attrs, call);
  else if ((instr->prim->sharding == loom_shard_gather_rows && self->is_order[instr->in[1]])
           || (instr->prim->sharding == loom_shard_scatter_add_rows && self->is_order[instr->in[0]]))
    call->want[0] = call->want[1] = call->result[0] = rows_split;
  else
    return FALSE;
  return TRUE;
}

GPtrArray *
partition_visit_attrs (Partition *self, guint i, gpointer attrs)
{
  const LoomInstr *instr = loom_program_instr (self->r.from, i);
  LoomVisitAttrs *to = attrs;
  const LoomVisitAttrs *from = instr->attrs;
  g_autofree LoomSharding *forms = NULL;
  GPtrArray *bodies = NULL;

  if (instr->prim->sharding == loom_shard_scatter_add_rows && self->is_order[instr->in[0]])
    ((LoomScatterTo *)attrs)->rows = partition_rows (self, ((LoomScatterTo *)attrs)->rows, self->own.count);
  if (instr->prim->sharding != loom_shard_visit || !self->is_order[instr->in[0]])
    return NULL;
  forms = body_forms (from);
  bodies = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_program_unref);
  to->size[0] = partition_rows (self, from->size[0], self->own.count);
  to->n_sizes = 1;
  for (guint b = 0; b < from->n_branches; b++)
    g_ptr_array_add (bodies, to->body[b] = partition_body (self, from->body[b], forms));
  /* Bodies for fewer rows are unchanged. */
  for (guint k = 1; k < from->n_sizes; k++)
    if (from->size[k] < to->size[0])
      {
        memcpy (&to->body[to->n_sizes * from->n_branches], &from->body[k * from->n_branches],
                from->n_branches * sizeof to->body[0]);
        to->size[to->n_sizes++] = from->size[k];
      }
  for (guint k = visit_n_bodies (to); k < visit_n_bodies (from); k++)
    to->body[k] = NULL;
  return bodies;
}
