/* Assigns memory: computes when each value is alive, which values may share bytes, and which results overwrite an
 * operand. On request the gradients of an update are put next to each other, as one flat buffer.
 *
 * Setup results have a separate block, because they outlive steps. Gradients live until the update, because no
 * parameter may change before every gradient is known to be finite. plan-arena.c then finds the offsets. */
#include "engine/plan/plan-private.h"

#define ALIGNMENT 64

static PlanStorage *
storage_of (PlanGraph *g, guint v)
{
  int s = graph_value (g, graph_root (g, v))->storage;

  return s < 0 ? NULL : &g_array_index (g->storages, PlanStorage, (guint)s);
}

int
graph_new_storage (PlanGraph *g, gsize bytes, int device, int first, LoomOwner owner)
{
  PlanStorage s = { .bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                    .first = first,
                    .last = first,
                    .device = device,
                    .slot = -1,
                    .input = -1,
                    .block = -1,
                    .owner = owner };

  g_array_append_val (g->storages, s);
  return (int)g->storages->len - 1;
}

/* Computes when each root value is read; an output, and a slot's next value or what it is a view of, are read after the
 * step. */
static PlanSpan *
find_uses (PlanGraph *g)
{
  PlanSpan *uses = g_new0 (PlanSpan, g->values->len);

  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = g_ptr_array_index (g->schedule, i);

      for (guint k = 0; k < instr->in->len; k++)
        if (node_in (instr, k) != 0)
          plan_span_touch (&uses[graph_root (g, node_in (instr, k))], g->order, plan_order_reads_at (g->order, i));
    }
  for (guint v = 1; v < g->values->len; v++)
    if (graph_value (g, v)->is_output || graph_value (g, v)->commit >= 0)
      uses[graph_root (g, v)].ends[PLAN_STREAM_COMPUTE] = PLAN_FOREVER;
  return uses;
}

static gboolean
is_update (const PlanNode *instr)
{
  return instr->prim != NULL && instr->prim->updates != NULL;
}

/* TRUE if a result can be written directly to its slot, because all reads of the slot's old value are finished. */
static gboolean
may_write_slot (PlanGraph *g, const PlanNode *instr, guint op, guint result, const PlanSpan *uses)
{
  const PlanValue *v = graph_value (g, node_out (instr, result));
  const LoomSlot *slot = loom_program_get_slot (g->program, (guint)v->commit);
  guint old;

  if (slot->read == 0)
    return TRUE;
  old = graph_root (g, slot->read);
  if (graph_value (g, old)->device != v->device || v->desc.layout != LOOM_LAYOUT_PLAIN)
    return FALSE;
  if (plan_span_is_over (&uses[old], g->order, op, FALSE))
    return TRUE;
  if (!plan_span_is_over (&uses[old], g->order, op, TRUE) || result >= LOOM_EW_MAX_OUT || instr->kernel == NULL)
    return FALSE;
  for (guint k = 0; k < instr->in->len; k++)
    if (node_in (instr, k) != 0 && graph_root (g, node_in (instr, k)) == old
        && (k >= 32 || !(instr->kernel->inplace[result] & (1u << k))))
      return FALSE;
  return TRUE;
}

/* Gives result o the memory of the operand that it updates. */
static void
update_in_place (PlanGraph *g, PlanNode *instr, guint position, guint o, const PlanSpan *uses)
{
  PlanValue *value = graph_value (g, node_out (instr, o));
  guint old = graph_root (g, node_in (instr, instr->prim->updates (instr->attrs, o)));
  PlanStorage *s = storage_of (g, old);

  /* An optimizer's step comes after every use of its parameters. */
  g_assert (plan_span_is_over (&uses[old], g->order, plan_order_writes_at (g->order, position), TRUE));
  value->storage = graph_value (g, old)->storage;
  if (s->slot >= 0)
    {
      int slot = s->slot;

      value->storage
          = graph_new_storage (g, loom_desc_bytes (&value->desc), value->device, (int)position, value->owner);
      g_array_index (g->storages, PlanStorage, (guint)value->storage).slot = slot;
    }
}

/* Gives result `o` the memory of an operand if the kernel can work in place and nothing else uses the operand after the
 * instruction begins. */
static gboolean
reuse_operand (PlanGraph *g, PlanNode *instr, guint op, guint o)
{
  guint out = node_out (instr, o);

  if (g->options.no_reuse || instr->kernel == NULL || o >= LOOM_EW_MAX_OUT || instr->setup)
    return FALSE;
  for (guint k = 0; k < instr->in->len && k < 32; k++)
    {
      guint v = node_in (instr, k);
      PlanStorage *s;
      gboolean safe = TRUE;

      if (v == 0 || !(instr->kernel->inplace[o] & (1u << k)))
        continue;
      /* A gradient reuses only another gradient's memory: that of any other value may be outside the flat block, or
       * live shorter. */
      if (graph_value (g, out)->owner == LOOM_OWNER_GRADIENTS
          && (g->options.flat_gradients || graph_value (g, graph_root (g, v))->owner != LOOM_OWNER_GRADIENTS))
        continue;
      s = storage_of (g, v);
      if (s == NULL || s->slot >= 0 || s->input >= 0 || s->first < 0
          || !plan_span_is_over (&s->span, g->order, op, TRUE)
          || loom_desc_bytes (&graph_value (g, v)->desc) != loom_desc_bytes (&graph_value (g, out)->desc))
        continue;
      /* All other operands in the same bytes must allow it too, and no other result may have taken them. */
      for (guint j = 0; j < instr->in->len; j++)
        if (j != k && node_in (instr, j) != 0 && storage_of (g, node_in (instr, j)) == s
            && (j >= 32 || !(instr->kernel->inplace[o] & (1u << j))))
          safe = FALSE;
      for (guint j = 0; j < o; j++)
        if (node_out (instr, j) != 0 && storage_of (g, node_out (instr, j)) == s)
          safe = FALSE;
      if (!safe)
        continue;
      graph_value (g, out)->storage = graph_value (g, graph_root (g, v))->storage;
      return TRUE;
    }
  return FALSE;
}

static PlanStorage *
storage_at (PlanGraph *g, int storage)
{
  return &g_array_index (g->storages, PlanStorage, (guint)storage);
}

/* Extends the life of v's storage to the operation that makes v and those that read it. */
static void
extend_span (PlanGraph *g, guint v, guint op, const PlanSpan *uses)
{
  PlanStorage *s = storage_of (g, v);

  plan_span_touch (&s->span, g->order, op);
  for (guint k = 0; k < PLAN_N_STREAMS; k++)
    s->span.ends[k] = MAX (s->span.ends[k], uses[v].ends[k]);
}

/* Extends the life of v's storage to the end of the step and beyond. */
static void
keep_after_step (PlanGraph *g, guint v)
{
  PlanStorage *s = storage_of (g, v);

  if (s != NULL)
    s->span.ends[PLAN_STREAM_COMPUTE] = PLAN_FOREVER;
}

/* Computes first and last positions for code that treats the schedule as a sequence. */
static void
find_positions (PlanGraph *g)
{
  for (guint i = 0; i < g->storages->len; i++)
    {
      PlanStorage *s = storage_at (g, (int)i);
      gboolean stays = s->span.ends[PLAN_STREAM_COMPUTE] == PLAN_FOREVER || s->device < 0;

      s->last = stays ? (int)g->schedule->len : plan_span_last (&s->span, g->order, (guint)s->device);
    }
}

static void
make_storages (PlanGraph *g)
{
  g_autofree PlanSpan *uses = find_uses (g);

  for (guint v = 1; v < g->values->len; v++)
    {
      PlanValue *value = graph_value (g, v);

      if (value->alias != 0 || (value->slot < 0 && value->input < 0))
        continue;
      value->storage = graph_new_storage (g, loom_desc_bytes (&value->desc), value->device, -1, value->owner);
      storage_at (g, value->storage)->slot = value->slot;
      storage_at (g, value->storage)->input = value->input;
      storage_at (g, value->storage)->origin = value->origin;
      if (value->device >= 0)
        extend_span (g, v, plan_order_begins_at (value->device), uses); /* a step begins by copying inputs to it */
    }
  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = g_ptr_array_index (g->schedule, i);
      const guint op = plan_order_writes_at (g->order, i);

      for (guint o = 0; o < instr->out->len; o++)
        {
          guint v = node_out (instr, o);
          PlanValue *value;

          if (v == 0)
            continue;
          value = graph_value (g, v);
          if (is_update (instr) && instr->prim->updates (instr->attrs, o) != LOOM_UPDATES_NOTHING)
            update_in_place (g, instr, i, o, uses);
          else if (value->commit >= 0 && may_write_slot (g, instr, op, o, uses))
            {
              value->storage
                  = graph_new_storage (g, loom_desc_bytes (&value->desc), value->device, (int)i, value->owner);
              storage_at (g, value->storage)->slot = value->commit;
            }
          else if (value->commit >= 0 || !reuse_operand (g, instr, op, o))
            {
              value->storage = graph_new_storage (g, loom_desc_bytes (&value->desc), value->device,
                                                  instr->setup ? -1 : (int)i, value->owner);
              storage_at (g, value->storage)->once = instr->setup;
              storage_at (g, value->storage)->origin = value->origin != NULL ? value->origin : instr->origin;
            }
          extend_span (g, v, op, uses);
          if (instr->setup || g->options.no_reuse)
            keep_after_step (g, v);
        }
    }
  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = g_ptr_array_index (g->schedule, i);

      if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
        {
          int s = graph_new_storage (g, instr->kernel->scratch_bytes, instr->device, instr->setup ? -1 : (int)i,
                                     LOOM_OWNER_WORKSPACE);

          plan_span_touch (&storage_at (g, s)->span, g->order, plan_order_writes_at (g->order, i));
          storage_at (g, s)->origin = instr->origin;
          instr->scratch_offset = (gsize)s; /* later replaced by the offset */
        }
      if (instr->kernel != NULL && instr->kernel->kept_bytes > 0)
        {
          int s = graph_new_storage (g, instr->kernel->kept_bytes, instr->device, -1, LOOM_OWNER_WORKSPACE);

          storage_at (g, s)->once = TRUE;
          storage_at (g, s)->origin = instr->origin;
          instr->kept_offset = (gsize)s;
        }
    }
  find_positions (g);
}

/* Puts the gradients that one update reads into one block, in the parameters' order, so that a collective, a norm or a
 * kernel sees one flat buffer. The block lives from the first gradient to the update. */
static void
flatten_gradients (PlanGraph *g)
{
  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = g_ptr_array_index (g->schedule, i);
      int block = -1;
      gsize at = 0;

      if (!is_update (instr))
        continue;
      for (guint k = 0; k < instr->in->len; k++)
        {
          PlanStorage *s = node_in (instr, k) != 0 ? storage_of (g, node_in (instr, k)) : NULL;
          PlanStorage *b;

          if (s == NULL || s->owner != LOOM_OWNER_GRADIENTS || s->slot >= 0 || s->input >= 0 || s->first < 0
              || s->block >= 0)
            continue;
          if (block < 0)
            {
              block = graph_new_storage (g, 0, s->device, s->first, LOOM_OWNER_GRADIENTS);
              s = storage_of (g, node_in (instr, k)); /* the array may be reallocated */
              storage_at (g, block)->span = s->span;
            }
          b = &g_array_index (g->storages, PlanStorage, (guint)block);
          if (s->device != b->device)
            continue;
          s->block = block;
          s->offset = at;
          at += s->bytes;
          b->bytes = at;
          b->first = MIN (b->first, s->first);
          b->last = MAX (b->last, s->last);
          plan_span_join (&b->span, &s->span);
        }
    }
}

/* Assigns offsets to the results of setup instructions, and to what kernels keep. */
static void
assign_once (PlanGraph *g, int device)
{
  gsize at = 0;

  for (guint i = 0; i < g->storages->len; i++)
    {
      PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);

      if (s->device != device || !s->once)
        continue;
      s->offset = at;
      at += s->bytes;
    }
}

void
pass_assign_memory (PlanGraph *g)
{
  graph_mark_gradients (g);
  /* A host device reads an input in place. On other devices, and if a kernel binds addresses, the step begins by
   * copying the input into the arena. */
  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = g_ptr_array_index (g->schedule, i);

      for (guint k = 0; k < instr->in->len; k++)
        if (node_in (instr, k) != 0)
          {
            const PlanValue *v = graph_value (g, graph_root (g, node_in (instr, k)));

            if (v->input >= 0 && instr->kernel != NULL && instr->kernel->bind != NULL)
              g_array_index (g->input_copied, gboolean, (guint)v->input) = TRUE;
          }
    }
  for (guint v = 1; v < g->values->len; v++)
    {
      const PlanValue *value = graph_value (g, v);

      if (value->input >= 0 && value->device >= 0 && !g->options.resident_inputs
          && !((LoomPlanDevice *)g_ptr_array_index (g->plan_devices, (guint)value->device))->info.host_memory)
        g_array_index (g->input_copied, gboolean, (guint)value->input) = TRUE;
    }
  g->order = plan_order_new (g);
  make_storages (g);
  if (g->options.flat_gradients)
    flatten_gradients (g);
  graph_stage_uploads (g);
  graph_pack_results (g);
  for (guint d = 0; d < g->plan_devices->len; d++)
    {
      graph_assign_offsets (g, (int)d);
      assign_once (g, (int)d);
    }
  for (guint i = 0; i < g->storages->len; i++)
    {
      PlanStorage *s = &g_array_index (g->storages, PlanStorage, i);

      if (s->block >= 0)
        s->offset += g_array_index (g->storages, PlanStorage, (guint)s->block).offset;
    }
  for (guint i = 0; i < g->schedule->len; i++)
    {
      PlanNode *instr = g_ptr_array_index (g->schedule, i);

      if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
        instr->scratch_offset = g_array_index (g->storages, PlanStorage, (guint)instr->scratch_offset).offset;
      if (instr->kernel != NULL && instr->kernel->kept_bytes > 0)
        instr->kept_offset = g_array_index (g->storages, PlanStorage, (guint)instr->kept_offset).offset;
    }
}
