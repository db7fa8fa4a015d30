/* Memory: when each value is alive, which may share bytes, and what takes whose place.
 *
 * Setup values lie beside the arena, side by side, because they outlive steps; gradients until the update, because no
 * parameter may change before every gradient is known to be finite. Where in the arena the storages lie is found by
 * plan-arena.c. */
#include "engine/plan/plan-private.h"

#define ALIGNMENT 64

static WorkStorage *
storage_of (Work *w, guint v)
{
  int s = work_value (w, work_root (w, v))->storage;

  return s < 0 ? NULL : &g_array_index (w->storages, WorkStorage, (guint)s);
}

int
work_new_storage (Work *w, gsize bytes, int device, int first, LoomOwner owner)
{
  WorkStorage s = { .bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                    .first = first,
                    .last = first,
                    .device = device,
                    .slot = -1,
                    .input = -1,
                    .block = -1,
                    .owner = owner };

  g_array_append_val (w->storages, s);
  return (int)w->storages->len - 1;
}

/* Where an instruction that begins here is over. */
static int
end_of (Work *w, guint i)
{
  const WorkInstr *instr = g_ptr_array_index (w->schedule, i);
  guint position = i;

  if (instr->until != NULL)
    g_ptr_array_find (w->schedule, instr->until, &position);
  return (int)position;
}

/* Position of the last instruction that reads each root value; the end for outputs. */
static int *
find_last_uses (Work *w)
{
  int *last = g_new (int, w->values->len);
  int end = (int)w->schedule->len;

  for (guint v = 0; v < w->values->len; v++)
    last[v] = -1;
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);

      for (guint k = 0; k < instr->in->len; k++)
        if (work_in (instr, k) != 0)
          last[work_root (w, work_in (instr, k))] = MAX (last[work_root (w, work_in (instr, k))], end_of (w, i));
    }
  for (guint v = 1; v < w->values->len; v++)
    if (work_value (w, v)->is_output)
      last[work_root (w, v)] = end;
  return last;
}

static gboolean
is_update (const WorkInstr *instr)
{
  return instr->prim != NULL && instr->prim->updates != NULL;
}

/* What the update reads, and what the ranks of a batch exchange in front of it. */
static gboolean
takes_gradients (const WorkInstr *instr)
{
  return is_update (instr) || (instr->prim != NULL && (instr->prim->flags & LOOM_PRIM_COLLECTIVE) != 0
                                 && loom_collective_along (instr->prim, instr->attrs) == LOOM_MESH_DATA);
}

static void
classify_owners (Work *w)
{
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);

      if (!takes_gradients (instr))
        continue;
      for (guint k = 0; k < instr->in->len; k++)
        if (work_in (instr, k) != 0)
          {
            WorkValue *v = work_value (w, work_root (w, work_in (instr, k)));

            if (v->slot < 0 && v->region == LOOM_REGION_BACKWARD)
              v->owner = LOOM_OWNER_GRADIENTS;
          }
    }
}

/* The slot whose place the new value may take at once: no instruction reads the old value behind the one that writes
 * it. */
static gboolean
may_write_slot (Work *w, const WorkInstr *instr, guint position, guint result, const int *last)
{
  const WorkValue *v = work_value (w, work_out (instr, result));
  const LoomSlot *slot = loom_program_get_slot (w->program, (guint)v->commit);
  guint old;

  if (slot->read == 0)
    return TRUE;
  old = work_root (w, slot->read);
  if (work_value (w, old)->device != v->device || v->desc.layout != LOOM_LAYOUT_PLAIN)
    return FALSE;
  if (last[old] < (int)position)
    return TRUE;
  if (last[old] > (int)position || result >= LOOM_EW_MAX_OUT || instr->kernel == NULL)
    return FALSE;
  for (guint k = 0; k < instr->in->len; k++)
    if (work_in (instr, k) != 0 && work_root (w, work_in (instr, k)) == old
        && (k >= 32 || !(instr->kernel->inplace[result] & (1u << k))))
      return FALSE;
  return TRUE;
}

/* Gives result o the place of the operand that it updates. */
static void
stay_in_place (Work *w, WorkInstr *instr, guint position, guint o, const int *last)
{
  WorkValue *value = work_value (w, work_out (instr, o));
  guint old = work_root (w, work_in (instr, instr->prim->updates (instr->attrs, o)));
  WorkStorage *s = storage_of (w, old);

  g_assert (last[old] <= (int)position); /* an optimiser's step comes after every use of its parameters */
  value->storage = work_value (w, old)->storage;
  if (s->slot >= 0)
    {
      int slot = s->slot;

      value->storage = work_new_storage (w, loom_desc_bytes (&value->desc), value->device, (int)position, value->owner);
      g_array_index (w->storages, WorkStorage, (guint)value->storage).slot = slot;
    }
}

/* Lets result `o` take over the bytes of an operand that dies here, when the kernel can work in place. */
static gboolean
take_over (Work *w, WorkInstr *instr, guint position, guint o, const int *last)
{
  guint out = work_out (instr, o);
  int end = end_of (w, position);

  if (w->options.no_reuse || instr->kernel == NULL || o >= LOOM_EW_MAX_OUT || instr->setup)
    return FALSE;
  for (guint k = 0; k < instr->in->len && k < 32; k++)
    {
      guint v = work_in (instr, k);
      WorkStorage *s;
      gboolean safe = TRUE;

      if (v == 0 || !(instr->kernel->inplace[o] & (1u << k)) || last[work_root (w, v)] != end)
        continue;
      /* What goes on beside others must not write what these read until it is waited for. */
      if (end != (int)position && work_only_reader (w, work_root (w, v), TRUE) != instr)
        continue;
      /* What is no gradient may lie elsewhere, or live shorter. */
      if (work_value (w, out)->owner == LOOM_OWNER_GRADIENTS
          && (w->options.flat_gradients || work_value (w, work_root (w, v))->owner != LOOM_OWNER_GRADIENTS))
        continue;
      s = storage_of (w, v);
      if (s == NULL || s->slot >= 0 || s->input >= 0 || s->first < 0 || s->last > end
          || loom_desc_bytes (&work_value (w, v)->desc) != loom_desc_bytes (&work_value (w, out)->desc))
        continue;
      /* Every other operand in the same bytes must allow it as well, and no other result may have taken them. */
      for (guint j = 0; j < instr->in->len; j++)
        if (j != k && work_in (instr, j) != 0 && storage_of (w, work_in (instr, j)) == s
            && (j >= 32 || !(instr->kernel->inplace[o] & (1u << j))))
          safe = FALSE;
      for (guint j = 0; j < o; j++)
        if (work_out (instr, j) != 0 && storage_of (w, work_out (instr, j)) == s)
          safe = FALSE;
      if (!safe)
        continue;
      work_value (w, out)->storage = work_value (w, work_root (w, v))->storage;
      return TRUE;
    }
  return FALSE;
}

static void
extend (Work *w, guint v, int last)
{
  WorkStorage *s = storage_of (w, v);

  if (s != NULL)
    s->last = MAX (s->last, last);
}

static void
make_storages (Work *w)
{
  g_autofree int *last = find_last_uses (w);
  int end = (int)w->schedule->len;

  for (guint v = 1; v < w->values->len; v++)
    {
      WorkValue *value = work_value (w, v);

      if (value->alias != 0 || (value->slot < 0 && value->input < 0))
        continue;
      value->storage = work_new_storage (w, loom_desc_bytes (&value->desc), value->device, -1, value->owner);
      g_array_index (w->storages, WorkStorage, (guint)value->storage).slot = value->slot;
      g_array_index (w->storages, WorkStorage, (guint)value->storage).input = value->input;
      g_array_index (w->storages, WorkStorage, (guint)value->storage).origin = value->origin;
      g_array_index (w->storages, WorkStorage, (guint)value->storage).last = MAX (last[v], 0);
    }
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);

      for (guint o = 0; o < instr->out->len; o++)
        {
          guint v = work_out (instr, o);
          WorkValue *value;

          if (v == 0)
            continue;
          value = work_value (w, v);
          if (is_update (instr) && instr->prim->updates (instr->attrs, o) != LOOM_UPDATES_NOTHING)
            stay_in_place (w, instr, i, o, last);
          else if (value->commit >= 0 && may_write_slot (w, instr, i, o, last))
            {
              value->storage
                  = work_new_storage (w, loom_desc_bytes (&value->desc), value->device, (int)i, value->owner);
              g_array_index (w->storages, WorkStorage, (guint)value->storage).slot = value->commit;
            }
          else if (value->commit >= 0 || !take_over (w, instr, i, o, last))
            {
              value->storage = work_new_storage (w, loom_desc_bytes (&value->desc), value->device,
                                                 instr->setup ? -1 : (int)i, value->owner);
              g_array_index (w->storages, WorkStorage, (guint)value->storage).once = instr->setup;
              g_array_index (w->storages, WorkStorage, (guint)value->storage).origin
                  = value->origin != NULL ? value->origin : instr->origin;
            }
          extend (w, v, instr->setup || value->commit >= 0 || w->options.no_reuse ? end : MAX (last[v], (int)i));
        }
    }
  /* Aliases of committed values: the commit may name a reshape of what was computed. */
  for (guint v = 1; v < w->values->len; v++)
    if (work_value (w, v)->commit >= 0)
      extend (w, v, end);
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);

      if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
        {
          int s = work_new_storage (w, instr->kernel->scratch_bytes, instr->device, instr->setup ? -1 : (int)i,
                                    LOOM_OWNER_WORKSPACE);

          g_array_index (w->storages, WorkStorage, (guint)s).last = instr->setup ? -1 : end_of (w, i);
          g_array_index (w->storages, WorkStorage, (guint)s).origin = instr->origin;
          instr->scratch_offset = (gsize)s; /* replaced by the offset once it is known */
        }
    }
}

/* Gives the gradients that one update reads a block of their own, in the order of the parameters, so that a
 * collective, a norm or a kernel meets one flat buffer. The block lives from the first of them to the update. */
static void
flatten_gradients (Work *w)
{
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);
      int block = -1;
      gsize at = 0;

      if (!is_update (instr))
        continue;
      for (guint k = 0; k < instr->in->len; k++)
        {
          WorkStorage *s = work_in (instr, k) != 0 ? storage_of (w, work_in (instr, k)) : NULL;
          WorkStorage *b;

          if (s == NULL || s->owner != LOOM_OWNER_GRADIENTS || s->slot >= 0 || s->input >= 0 || s->first < 0
              || s->block >= 0)
            continue;
          if (block < 0)
            {
              block = work_new_storage (w, 0, s->device, s->first, LOOM_OWNER_GRADIENTS);
              s = storage_of (w, work_in (instr, k)); /* the array may have moved */
            }
          b = &g_array_index (w->storages, WorkStorage, (guint)block);
          if (s->device != b->device)
            continue;
          s->block = block;
          s->offset = at;
          at += s->bytes;
          b->bytes = at;
          b->first = MIN (b->first, s->first);
          b->last = MAX (b->last, s->last);
        }
    }
}

/* Offsets of the results of setup instructions, side by side. */
static void
assign_once (Work *w, int device)
{
  gsize at = 0;

  for (guint i = 0; i < w->storages->len; i++)
    {
      WorkStorage *s = &g_array_index (w->storages, WorkStorage, i);

      if (s->device != device || !s->once)
        continue;
      s->offset = at;
      at += s->bytes;
    }
}

void
work_assign_memory (Work *w)
{
  classify_owners (w);
  /* An input is read in place on a host device; elsewhere, and where a kernel wants addresses that
   * never change, it is copied into the arena at the step's start. */
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);

      for (guint k = 0; k < instr->in->len; k++)
        if (work_in (instr, k) != 0)
          {
            const WorkValue *v = work_value (w, work_root (w, work_in (instr, k)));

            if (v->input >= 0 && instr->kernel != NULL && instr->kernel->bind != NULL)
              g_array_index (w->input_copied, gboolean, (guint)v->input) = TRUE;
          }
    }
  for (guint v = 1; v < w->values->len; v++)
    {
      const WorkValue *value = work_value (w, v);

      if (value->input >= 0 && value->device >= 0 && !w->options.resident_inputs
          && !((LoomPlanDevice *)g_ptr_array_index (w->plan_devices, (guint)value->device))->info.host_memory)
        g_array_index (w->input_copied, gboolean, (guint)value->input) = TRUE;
    }
  make_storages (w);
  if (w->options.flat_gradients)
    flatten_gradients (w);
  work_stage_uploads (w);
  work_join_results (w);
  for (guint d = 0; d < w->plan_devices->len; d++)
    {
      work_assign_offsets (w, (int)d);
      assign_once (w, (int)d);
    }
  for (guint i = 0; i < w->storages->len; i++)
    {
      WorkStorage *s = &g_array_index (w->storages, WorkStorage, i);

      if (s->block >= 0)
        s->offset += g_array_index (w->storages, WorkStorage, (guint)s->block).offset;
    }
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);

      if (instr->kernel != NULL && instr->kernel->scratch_bytes > 0)
        instr->scratch_offset = g_array_index (w->storages, WorkStorage, (guint)instr->scratch_offset).offset;
    }
}
