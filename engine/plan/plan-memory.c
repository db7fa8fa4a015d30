/* Memory: when each value is alive, which may share bytes, and where in the arena each lies.
 *
 * Offsets are found by size: the largest block first, each into the smallest gap that is free during its
 * life (XLA's heap simulator does the same; see also Pisarchyk and Lee, "Efficient Memory Management for Deep Neural
 * Net Inference", 2020). Setup values live for ever; gradients until the update, because no parameter may change before
 * every gradient is known to be finite. */
#include "engine/plan/plan-private.h"

#define ALIGNMENT 64
/* Blocks from which on no pass may look at every pair. */
#define MANY 1500

static WorkStorage *
storage_of (Work *w, guint v)
{
  int s = work_value (w, work_root (w, v))->storage;

  return s < 0 ? NULL : &g_array_index (w->storages, WorkStorage, (guint)s);
}

static int
new_storage (Work *w, gsize bytes, int device, int first, LoomOwner owner)
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

/* Position of the last instruction that reads each root value; the end for outputs and pending commits. */
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
          last[work_root (w, work_in (instr, k))] = MAX (last[work_root (w, work_in (instr, k))], (int)i);
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

static void
classify_owners (Work *w)
{
  for (guint i = 0; i < w->schedule->len; i++)
    {
      WorkInstr *instr = g_ptr_array_index (w->schedule, i);

      if (!is_update (instr))
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

/* The slot whose place the new value may take at once: nobody reads the old value any more when it is written. */
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

      value->storage = new_storage (w, loom_desc_bytes (&value->desc), value->device, (int)position, value->owner);
      g_array_index (w->storages, WorkStorage, (guint)value->storage).slot = slot;
    }
}

/* Lets result `o` take over the bytes of an operand that dies here, when the kernel can work in place. */
static gboolean
take_over (Work *w, WorkInstr *instr, guint position, guint o, const int *last)
{
  guint out = work_out (instr, o);

  if (w->options.no_reuse || instr->kernel == NULL || o >= LOOM_EW_MAX_OUT || instr->setup
      || work_value (w, out)->owner == LOOM_OWNER_GRADIENTS)
    return FALSE;
  for (guint k = 0; k < instr->in->len && k < 32; k++)
    {
      guint v = work_in (instr, k);
      WorkStorage *s;
      gboolean safe = TRUE;

      if (v == 0 || !(instr->kernel->inplace[o] & (1u << k)) || last[work_root (w, v)] != (int)position)
        continue;
      s = storage_of (w, v);
      if (s == NULL || s->slot >= 0 || s->input >= 0 || s->first < 0 || s->last > (int)position
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
      value->storage = new_storage (w, loom_desc_bytes (&value->desc), value->device, -1, value->owner);
      g_array_index (w->storages, WorkStorage, (guint)value->storage).slot = value->slot;
      g_array_index (w->storages, WorkStorage, (guint)value->storage).input = value->input;
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
          if (is_update (instr))
            stay_in_place (w, instr, i, o, last);
          else if (value->commit >= 0 && may_write_slot (w, instr, i, o, last))
            {
              value->storage = new_storage (w, loom_desc_bytes (&value->desc), value->device, (int)i, value->owner);
              g_array_index (w->storages, WorkStorage, (guint)value->storage).slot = value->commit;
            }
          else if (value->commit >= 0 || !take_over (w, instr, i, o, last))
            value->storage = new_storage (w, loom_desc_bytes (&value->desc), value->device, instr->setup ? -1 : (int)i,
                                          value->owner);
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
          int s = new_storage (w, instr->kernel->scratch_bytes, instr->device, instr->setup ? -1 : (int)i,
                               LOOM_OWNER_WORKSPACE);

          if (instr->setup)
            g_array_index (w->storages, WorkStorage, (guint)s).last = end;
          instr->scratch_offset = (gsize)s; /* replaced by the offset once it is known */
        }
    }
}

/* ---- offsets ---------------------------------------------------------- */

static int
compare_size (gconstpointer a, gconstpointer b)
{
  const WorkStorage *x = *(WorkStorage *const *)a, *y = *(WorkStorage *const *)b;

  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : 0;
}

static int
compare_area (gconstpointer a, gconstpointer b)
{
  const WorkStorage *x = *(WorkStorage *const *)a, *y = *(WorkStorage *const *)b;
  double ax = (double)x->bytes * (x->last - x->first + 1), ay = (double)y->bytes * (y->last - y->first + 1);

  return ax != ay ? (ax < ay ? 1 : -1) : compare_size (a, b);
}

static int
compare_birth (gconstpointer a, gconstpointer b)
{
  const WorkStorage *x = *(WorkStorage *const *)a, *y = *(WorkStorage *const *)b;

  return x->first != y->first ? (x->first < y->first ? -1 : 1) : compare_size (a, b);
}

static int
compare_death (gconstpointer a, gconstpointer b)
{
  const WorkStorage *x = *(WorkStorage *const *)a, *y = *(WorkStorage *const *)b;

  return x->last != y->last ? (x->last < y->last ? -1 : 1) : compare_size (a, b);
}

static gboolean
in_arena (Work *w, const WorkStorage *s)
{
  if (s->slot >= 0)
    return FALSE;
  return s->input < 0 || g_array_index (w->input_copied, gboolean, (guint)s->input);
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
              block = new_storage (w, 0, s->device, s->first, LOOM_OWNER_GRADIENTS);
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

/* Puts each of `blocks`, in this order, into the smallest gap that is free while it lives; the bytes needed in all. */
static gsize
fit (GPtrArray *blocks)
{
  g_autoptr (GPtrArray) placed = g_ptr_array_new ();
  gsize top = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      WorkStorage *s = g_ptr_array_index (blocks, i);
      gsize best = G_MAXSIZE, best_gap = G_MAXSIZE, cursor = 0;
      guint at = 0;

      for (guint k = 0; k < placed->len; k++)
        {
          WorkStorage *o = g_ptr_array_index (placed, k);

          if (o->last < s->first || o->first > s->last)
            continue;
          if (o->offset >= cursor + s->bytes && o->offset - cursor < best_gap)
            {
              best = cursor;
              best_gap = o->offset - cursor;
            }
          cursor = MAX (cursor, o->offset + o->bytes);
        }
      s->offset = best != G_MAXSIZE ? best : cursor;
      top = MAX (top, s->offset + s->bytes);
      while (at < placed->len && ((WorkStorage *)g_ptr_array_index (placed, at))->offset <= s->offset)
        at++;
      g_ptr_array_insert (placed, (int)at, s);
    }
  return top;
}

typedef struct
{
  gsize offset, bytes;
} Hole;

/* Gives bytes back: holes are kept by offset, and those that touch become one. What touches the end of what is in use
 * is no hole; that end is returned. */
static gsize
release (GArray *holes, gsize end, Hole h)
{
  guint low = 0, high = holes->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (holes, Hole, middle).offset < h.offset)
        low = middle + 1;
      else
        high = middle;
    }
  if (low < holes->len && h.offset + h.bytes == g_array_index (holes, Hole, low).offset)
    {
      h.bytes += g_array_index (holes, Hole, low).bytes;
      g_array_remove_index (holes, low);
    }
  if (low > 0 && g_array_index (holes, Hole, low - 1).offset + g_array_index (holes, Hole, low - 1).bytes == h.offset)
    {
      low--;
      h.offset = g_array_index (holes, Hole, low).offset;
      h.bytes += g_array_index (holes, Hole, low).bytes;
      g_array_remove_index (holes, low);
    }
  if (h.offset + h.bytes == end)
    return h.offset;
  g_array_insert_val (holes, low, h);
  return end;
}

/* As fit() in the order of time, forwards or backwards, but without looking at every pair: walking along, what is dead
 * is given back to a list of holes, and each new one takes the smallest that holds it. For plans of tens of thousands
 * of values. */
static gsize
fit_in_time (GPtrArray *blocks, gboolean backwards)
{
  g_autoptr (GArray) holes = g_array_new (FALSE, FALSE, sizeof (Hole));
  g_autoptr (GPtrArray) leaving = g_ptr_array_copy (blocks, NULL, NULL);
  gsize top = 0, end = 0;
  guint next = 0;

  g_ptr_array_sort (blocks, backwards ? compare_death : compare_birth);
  g_ptr_array_sort (leaving, backwards ? compare_birth : compare_death);
  for (guint i = 0; i < blocks->len; i++)
    {
      WorkStorage *s = g_ptr_array_index (blocks, backwards ? blocks->len - 1 - i : i);
      guint best;

      for (; next < leaving->len; next++)
        {
          const WorkStorage *o = g_ptr_array_index (leaving, backwards ? leaving->len - 1 - next : next);

          if (backwards ? o->first <= s->last : o->last >= s->first)
            break;
          end = release (holes, end, (Hole){ o->offset, o->bytes });
        }
      best = holes->len;
      for (guint k = 0; k < holes->len; k++)
        if (g_array_index (holes, Hole, k).bytes >= s->bytes
            && (best == holes->len || g_array_index (holes, Hole, k).bytes < g_array_index (holes, Hole, best).bytes))
          best = k;
      if (best == holes->len)
        {
          s->offset = end;
          end += s->bytes;
          top = MAX (top, end);
          continue;
        }
      s->offset = g_array_index (holes, Hole, best).offset;
      g_array_index (holes, Hole, best).offset += s->bytes;
      g_array_index (holes, Hole, best).bytes -= s->bytes;
      if (g_array_index (holes, Hole, best).bytes == 0)
        g_array_remove_index (holes, best);
    }
  return top;
}

/* The largest sum of bytes that are alive at once: no arena can be smaller. */
static gsize
most_alive (GPtrArray *blocks, int end)
{
  g_autofree gint64 *change = g_new0 (gint64, end + 3);
  gint64 now = 0, most = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      const WorkStorage *s = g_ptr_array_index (blocks, i);

      change[s->first + 1] += (gint64)s->bytes;
      change[s->last + 2] -= (gint64)s->bytes;
    }
  for (int i = 0; i < end + 3; i++)
    {
      now += change[i];
      most = MAX (most, now);
    }
  return (gsize)most;
}

typedef struct
{
  Work *w;
  GPtrArray *blocks;
  gsize least;
  gsize *kept; /* offset of each storage in the smallest arena so far */
} Fitting;

/* Keeps the offsets that were just given when no arena so far was smaller. */
static gboolean
keep_if_better (Fitting *f, gsize top)
{
  if (top > f->least)
    return FALSE;
  f->least = top;
  for (guint i = 0; i < f->w->storages->len; i++)
    f->kept[i] = g_array_index (f->w->storages, WorkStorage, i).offset;
  return TRUE;
}

/* Fits in the order that blocks has now; TRUE when no arena so far was smaller. */
static gboolean
try_order (Fitting *f)
{
  return keep_if_better (f, fit (f->blocks));
}

/* Where the simple orders leave a gap to what is alive at once, blocks that reach the top are tried earlier; what does
 * not make it worse stays. The same plan always comes out, as the numbers that choose are the same. */
static void
improve (Fitting *f, gsize goal)
{
  guint n = f->blocks->len, tries = n < 400 ? MIN (2000, 4000000 / (n * n + 1)) : 0;
  guint32 random = 12345;

  for (guint t = 0; t < tries && f->least > goal; t++)
    {
      guint from, to;
      gpointer moved;

      random = random * 1664525 + 1013904223;
      from = (random >> 8) % n;
      /* Every other time one of those at the top. */
      for (guint k = 0; t % 2 == 0 && k < n; k++)
        {
          const WorkStorage *s = g_ptr_array_index (f->blocks, (from + k) % n);

          if (f->kept[s - (WorkStorage *)(gpointer)f->w->storages->data] + s->bytes != f->least)
            continue;
          from = (from + k) % n;
          break;
        }
      random = random * 1664525 + 1013904223;
      to = (random >> 8) % (from + 1);
      moved = g_ptr_array_steal_index (f->blocks, from);
      g_ptr_array_insert (f->blocks, (int)to, moved);
      if (!try_order (f))
        {
          moved = g_ptr_array_steal_index (f->blocks, to);
          g_ptr_array_insert (f->blocks, (int)from, moved);
        }
    }
}

/* Largest first is nearly always best; where it is not, taking the longest lived times size, or those that are born
 * first, may be. A plan is made once, so all are tried and the smallest arena is kept. */
static void
assign_offsets (Work *w, int device)
{
  static int (*const orders[]) (gconstpointer, gconstpointer) = { compare_size, compare_area, compare_birth };
  g_autoptr (GPtrArray) blocks = g_ptr_array_new ();
  g_autofree gsize *kept = NULL;
  Fitting f = { w, blocks, G_MAXSIZE, NULL };
  guint best = 0;
  gsize goal;

  for (guint i = 0; i < w->storages->len; i++)
    {
      WorkStorage *s = &g_array_index (w->storages, WorkStorage, i);

      if (s->device == device && in_arena (w, s) && s->bytes > 0 && s->block < 0)
        g_ptr_array_add (blocks, s);
    }
  f.kept = kept = g_new (gsize, w->storages->len + 1);
  goal = most_alive (blocks, (int)w->schedule->len);
  /* The work below grows with the square of the blocks; a very large plan is content with what a walk along time finds,
   * unless that is much too large. */
  if (blocks->len > MANY)
    for (int backwards = 0; backwards < 2; backwards++)
      keep_if_better (&f, fit_in_time (blocks, backwards));
  for (guint order = 0; order < G_N_ELEMENTS (orders) && (blocks->len <= MANY || f.least - goal > goal / 10); order++)
    {
      gsize before = f.least;

      g_ptr_array_sort (blocks, orders[order]);
      if (try_order (&f) && f.least < before)
        best = order;
    }
  if (f.least > goal && blocks->len <= MANY)
    {
      g_ptr_array_sort (blocks, orders[best]);
      improve (&f, goal);
    }
  for (guint i = 0; i < blocks->len; i++)
    {
      WorkStorage *s = g_ptr_array_index (blocks, i);

      s->offset = kept[s - (WorkStorage *)(gpointer)w->storages->data];
    }
}

gsize
work_arena (Work *w, guint device)
{
  gsize bytes = 0;

  for (guint i = 0; i < w->storages->len; i++)
    {
      const WorkStorage *s = &g_array_index (w->storages, WorkStorage, i);

      if (s->device == (int)device && in_arena (w, s))
        bytes = MAX (bytes, s->offset + s->bytes);
    }
  return bytes;
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

      if (value->input >= 0 && value->device >= 0
          && !((LoomPlanDevice *)g_ptr_array_index (w->plan_devices, (guint)value->device))->info.host_memory)
        g_array_index (w->input_copied, gboolean, (guint)value->input) = TRUE;
    }
  make_storages (w);
  if (w->options.flat_gradients)
    flatten_gradients (w);
  for (guint d = 0; d < w->plan_devices->len; d++)
    assign_offsets (w, (int)d);
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
