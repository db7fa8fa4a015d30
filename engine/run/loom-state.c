/* The state of a run: slots by name, in flat buffers on their devices.
 *
 * Each program that adds slots gets one buffer per device and kind, so addresses never change. Plans hold those
 * addresses; the state outlives them. */
#include "engine/run/run-private.h"

#include "engine/core/loom-refuse.h"

#include <math.h>
#include <string.h>

#define ALIGNMENT 64

typedef struct
{
  char *name;
  LoomSlotKind kind;
  LoomTensorDesc desc; /* of the part that this rank stores */
  LoomTensorDesc whole;
  gboolean is_part; /* a shard along an axis of `whole` */
  StatePart part;
  LoomTensorDesc own; /* the description of that shard, or of the whole */
  gboolean is_shard;  /* a range of its elements, from `first` on */
  gint64 first;
  gboolean is_placed, is_here; /* as in LoomSlot */
  LoomPlanDevice *device;
  char *address;
} StateSlot;

typedef struct
{
  LoomPlanDevice *device;
  void *memory;
  gsize bytes;
} Buffer;

struct _LoomState
{
  gatomicrefcount refs;
  LoomDevices *devices;
  char *device;
  guint64 seed;
  const LoomMesh *mesh; /* NULL: a single rank */
  gboolean is_divided;
  GArray *slots;   /* StateSlot */
  GArray *buffers; /* Buffer */
  GHashTable *by_name;
  LoomShared shared;
};

static void
clear_slot (StateSlot *s)
{
  g_free (s->name);
}

static void
clear_buffer (Buffer *b)
{
  b->device->backend->free (b->device->device, b->memory);
}

LoomState *
loom_state_new (LoomDevices *devices, const char *device, guint64 seed)
{
  LoomState *state = g_new0 (LoomState, 1);

  g_atomic_ref_count_init (&state->refs);
  state->devices = loom_devices_ref (devices);
  state->device = g_strdup (device);
  state->seed = seed;
  state->slots = g_array_new (FALSE, TRUE, sizeof (StateSlot));
  g_array_set_clear_func (state->slots, (GDestroyNotify)clear_slot);
  state->buffers = g_array_new (FALSE, TRUE, sizeof (Buffer));
  g_array_set_clear_func (state->buffers, (GDestroyNotify)clear_buffer);
  state->by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  loom_shared_init (&state->shared);
  return state;
}

LoomState *
loom_state_ref (LoomState *state)
{
  g_atomic_ref_count_inc (&state->refs);
  return state;
}

void
loom_state_unref (LoomState *state)
{
  if (state == NULL || !g_atomic_ref_count_dec (&state->refs))
    return;
  g_hash_table_unref (state->by_name);
  g_array_unref (state->slots);
  loom_shared_clear (&state->shared); /* its streams end first */
  g_array_unref (state->buffers);
  loom_devices_unref (state->devices);
  g_free (state->device);
  g_free (state);
}

void
loom_state_set_mesh (LoomState *state, const LoomMesh *mesh)
{
  state->mesh = mesh;
}

gboolean
loom_state_is_divided (const LoomState *state)
{
  return state->is_divided;
}

static StateSlot *
slot_at (const LoomState *state, guint i)
{
  return &g_array_index (state->slots, StateSlot, i);
}

gboolean
loom_state_slot_is_divided (const LoomState *state, guint i)
{
  const StateSlot *s = slot_at (state, i);

  return s->is_part || s->is_shard || s->is_placed;
}

int
loom_state_find (const LoomState *state, const char *name)
{
  gpointer index;

  return g_hash_table_lookup_extended (state->by_name, name, NULL, &index) ? GPOINTER_TO_INT (index) : -1;
}

LoomShared *
loom_state_shared (LoomState *state)
{
  return &state->shared;
}

/* ---- copies ----------------------------------------------------------- */

static gboolean
device_error (const LoomPlanDevice *device, LoomStatus status, const LoomMessage *message, GError **error)
{
  g_autofree char *where = g_strdup_printf ("The state on %s", device->name);

  loom_plan_device_error (status, where, message->text, error);
  return FALSE;
}

/* Copies to or from the slot on the stream of the run's steps, so after any step in progress. */
static gboolean
copy_on_device (LoomState *state, StateSlot *s, void *to, const void *from, LoomCopyKind kind, GError **error)
{
  const LoomBackend *b = s->device->backend;
  gsize bytes = loom_desc_bytes (&s->desc);
  LoomArena *arena = loom_state_arena (state, s->device, error);
  LoomMessage message = { "" };
  LoomStatus status;

  if (arena == NULL)
    return FALSE;
  status = b->copy (s->device->device, arena->stream, to, from, bytes, kind, &message);
  if (status == LOOM_STATUS_OK)
    loom_arena_sync (arena, &message, &status);
  return status == LOOM_STATUS_OK || device_error (s->device, status, &message, error);
}

static gboolean
copy (LoomState *state, StateSlot *s, void *to, const void *from, LoomCopyKind kind, GError **error)
{
  if (!s->device->info.host_memory)
    return copy_on_device (state, s, to, from, kind, error);
  memcpy (to, from, loom_desc_bytes (&s->desc));
  return TRUE;
}

static gboolean
copy_in (LoomState *state, StateSlot *s, const void *from, GError **error)
{
  return copy (state, s, s->address, from, LOOM_COPY_HOST_TO_DEVICE, error);
}

static gboolean
copy_out (LoomState *state, StateSlot *s, void *to, GError **error)
{
  return copy (state, s, to, s->address, LOOM_COPY_DEVICE_TO_HOST, error);
}

/* ---- adding a program's slots ------------------------------------------ */

static gboolean
check_same (const StateSlot *have, const LoomSlot *want, GError **error)
{
  gboolean same_part
      = have->is_shard == want->is_shard && have->is_placed == want->is_placed && have->is_part == (want->part.of > 0);
  gboolean same = have->desc.dtype == want->dtype && have->desc.rank == want->rank && same_part;

  for (int i = 0; same && i < want->rank; i++)
    same = have->desc.dim[i] == want->dim[i];
  if (!same && !same_part)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                 "Each rank has only a part of %s, so a single rank cannot read it.", want->name);
  else if (!same)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                 "%s has another shape or type than this run's state. Start a new run for a changed graph.",
                 want->name);
  return same;
}

/* Allocates one buffer for the new slots [first, end) of one device and kind. */
static gboolean
allocate (LoomState *state, guint first, LoomPlanDevice *device, LoomSlotKind kind, GError **error)
{
  gsize bytes = 0;
  LoomMessage message = { "" };
  Buffer buffer = { .device = device };

  for (guint i = first; i < state->slots->len; i++)
    if (slot_at (state, i)->device == device && slot_at (state, i)->kind == kind)
      bytes += (loom_desc_bytes (&slot_at (state, i)->desc) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (bytes == 0)
    return TRUE;
  if (!loom_plan_device_fits (device, bytes, "The state of this graph", error))
    return FALSE;
  LoomStatus status = device->backend->alloc (device->device, bytes, &buffer.memory, &message);
  if (status == LOOM_STATUS_OUT_OF_MEMORY)
    loom_plan_device_out_of_memory (device, bytes, "The state of this graph", message.text, error);
  else if (status != LOOM_STATUS_OK)
    device_error (device, status, &message, error);
  if (status != LOOM_STATUS_OK)
    return FALSE;
  buffer.bytes = bytes;
  g_array_append_val (state->buffers, buffer);
  bytes = 0;
  for (guint i = first; i < state->slots->len; i++)
    if (slot_at (state, i)->device == device && slot_at (state, i)->kind == kind)
      {
        slot_at (state, i)->address = (char *)buffer.memory + bytes;
        bytes += (loom_desc_bytes (&slot_at (state, i)->desc) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
      }
  return TRUE;
}

/* Removes what a failed loom_state_add_slots() has added: slots from `first` on, buffers from `first_buffer` on. */
static void
forget (LoomState *state, guint first, guint first_buffer)
{
  g_array_set_size (state->buffers, first_buffer);
  for (guint i = first; i < state->slots->len; i++)
    g_hash_table_remove (state->by_name, slot_at (state, i)->name);
  g_array_set_size (state->slots, first);
}

gboolean
loom_state_add_slots (LoomState *state, const LoomProgram *program, GError **error)
{
  guint first = state->slots->len, first_buffer = state->buffers->len;
  g_autoptr (GArray) source = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < loom_program_n_slots (program); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (program, i);
      int have = loom_state_find (state, slot->name);
      const char *device = slot->read != 0 ? loom_value_info (program, slot->read)->device : NULL;
      StateSlot s = { .kind = slot->kind };

      device = loom_devices_for_dtype (state->devices, device, loom_program_get_float (program));
      if (have >= 0)
        {
          if (check_same (slot_at (state, (guint)have), slot, error))
            continue;
          forget (state, first, first_buffer);
          return FALSE;
        }
      s.device = loom_devices_get (state->devices, device != NULL ? device : state->device, error);
      if (s.device == NULL)
        {
          forget (state, first, first_buffer);
          return FALSE;
        }
      s.name = g_strdup (slot->name);
      s.desc.dtype = slot->dtype;
      s.desc.rank = slot->rank;
      for (int r = 0; r < slot->rank; r++)
        s.desc.dim[r] = slot->dim[r];
      s.is_part = slot->part.of > 0;
      s.whole = s.desc;
      s.whole.rank = loom_slot_whole (slot, s.whole.dim);
      s.own = s.whole;
      if (s.is_part)
        s.own.dim[slot->part.axis] /= slot->part.of;
      s.part = state_part (&slot->part, &s.own);
      s.is_shard = slot->is_shard;
      s.first = slot->first;
      s.is_placed = slot->is_placed;
      s.is_here = slot->is_here;
      state->is_divided = state->is_divided || slot->is_shard || slot->is_placed || s.is_part;
      g_array_append_val (state->slots, s);
      g_array_append_val (source, i);
      g_hash_table_insert (state->by_name, g_strdup (slot->name), GINT_TO_POINTER ((int)state->slots->len - 1));
    }
  for (guint i = first; i < state->slots->len; i++)
    if (slot_at (state, i)->address == NULL
        && !allocate (state, first, slot_at (state, i)->device, slot_at (state, i)->kind, error))
      {
        forget (state, first, first_buffer);
        return FALSE;
      }
  for (guint i = first; i < state->slots->len; i++)
    {
      StateSlot *s = slot_at (state, i);
      const LoomSlot *slot = loom_program_get_slot (program, g_array_index (source, guint, i - first));
      gint64 dims[LOOM_MAX_RANK];
      g_autoptr (LoomTensor) t = NULL;

      for (int r = 0; r < s->desc.rank; r++)
        dims[r] = s->desc.dim[r];
      if (s->device->info.host_memory)
        {
          /* In place, because there may not be memory for two copies of large weights. */
          g_autoptr (GBytes) there = g_bytes_new_static (s->address, loom_desc_bytes (&s->desc));

          if (loom_desc_count (&s->desc) > 0)
            memset (s->address, 0, loom_desc_bytes (&s->desc));
          t = loom_tensor_new_from_bytes (s->desc.dtype, s->desc.rank, dims, there, 0);
          loom_state_fill_initial (t, &s->part, s->first, &slot->init, state->seed, s->name);
          continue;
        }
      t = loom_tensor_new (s->desc.dtype, s->desc.rank, dims, error);
      if (t != NULL)
        loom_state_fill_initial (t, &s->part, s->first, &slot->init, state->seed, s->name);
      if (t == NULL || (t->bytes > 0 && !copy_in (state, s, t->data, error)))
        {
          forget (state, first, first_buffer);
          return FALSE;
        }
    }
  return TRUE;
}

/* ---- accessors -------------------------------------------------------- */

guint
loom_state_n_slots (const LoomState *state)
{
  return state->slots->len;
}

void
loom_state_slot (const LoomState *state, guint i, const char **name, LoomSlotKind *kind, LoomTensorDesc *desc)
{
  const StateSlot *s = slot_at (state, i);

  if (name != NULL)
    *name = s->name;
  if (kind != NULL)
    *kind = s->kind;
  if (desc != NULL)
    *desc = s->whole;
}

void *
loom_state_address (const LoomState *state, guint i)
{
  return slot_at (state, i)->address;
}

static StateSlot *
find_slot (LoomState *state, const char *name, GError **error)
{
  int i = loom_state_find (state, name);

  if (i < 0)
    return loom_refuse_null (error, LOOM_ERROR_DATA, "This run has no state named %s.", name);
  return slot_at (state, (guint)i);
}

static LoomTensor *
tensor_like (const LoomTensorDesc *d, GError **error)
{
  gint64 dims[LOOM_MAX_RANK];

  for (int r = 0; r < d->rank; r++)
    dims[r] = d->dim[r];
  return loom_tensor_new (d->dtype, d->rank, dims, error);
}

/* The shards of `count` elements that the ranks along an axis have, one after the other: loom_comm_shard() of each. */
static gboolean
gather (LoomState *state, LoomMeshAxis along, const void *own, void *all, gint64 count, gsize bytes_each,
        GError **error)
{
  LoomComm *comm = state->mesh->along[along];
  g_autofree gint64 *bytes = g_new0 (gint64, (gsize)comm->size + 1);
  LoomMessage message = { "" };

  for (int r = 0; r < comm->size; r++)
    bytes[r] = loom_comm_shard (count, r, comm->size).count * (gint64)bytes_each;
  return comm->all_gather (comm, own, all, bytes, &message) == LOOM_STATUS_OK
         || loom_error_of_ranks (message.text, error);
}

/* TRUE if the pieces of n ranks are all of these bytes. */
static gboolean
is_whole (const gint64 *bytes, int n, gsize all)
{
  gsize sum = 0;

  for (int k = 0; k < n; k++)
    {
      if (bytes[k] < 0 || (gsize)bytes[k] > all - sum)
        return FALSE;
      sum += (gsize)bytes[k];
    }
  return sum == all;
}

/* Broadcasts a slot that one stage stores to all ranks, which know neither the stage nor the size. */
static LoomTensor *
gather_placed (LoomState *state, const StateSlot *s, const LoomTensor *own, GError **error)
{
  LoomComm *comm = state->mesh->along[LOOM_MESH_PIPELINE];
  g_autoptr (LoomTensor) all = tensor_like (&s->whole, error);
  g_autofree gint64 *bytes = g_new0 (gint64, (gsize)comm->size + 1), *word = g_new0 (gint64, (gsize)comm->size + 1);
  gint64 here = (gint64)own->bytes;
  LoomMessage message = { "" };

  if (all == NULL)
    return NULL;
  for (int r = 0; r < comm->size; r++)
    word[r] = sizeof here;
  if (comm->all_gather (comm, &here, bytes, word, &message) == LOOM_STATUS_OK)
    {
      if (!is_whole (bytes, comm->size, all->bytes))
        return loom_refuse_null (error, LOOM_ERROR_DIST, "The ranks do not have %s whole.", s->name);
      if (comm->all_gather (comm, own->data, all->data, bytes, &message) == LOOM_STATUS_OK)
        return g_steal_pointer (&all);
    }
  loom_error_of_ranks (message.text, error);
  return NULL;
}

/* Returns the flat list, gathered from the ranges of all ranks. */
static LoomTensor *
join_shards (LoomState *state, const StateSlot *s, const LoomTensor *own, GError **error)
{
  g_autoptr (LoomTensor) all = tensor_like (&s->own, error);

  return all != NULL
                 && gather (state, LOOM_MESH_DATA, own->data, all->data, all->count, loom_dtype_size (s->desc.dtype),
                            error)
             ? g_steal_pointer (&all)
             : NULL;
}

/* Returns the tensor, gathered from the shards of all ranks along its axis. */
static LoomTensor *
join_parts (LoomState *state, const StateSlot *s, const LoomTensor *own, GError **error)
{
  gsize bytes = loom_dtype_size (s->desc.dtype);
  g_autoptr (LoomTensor) whole = tensor_like (&s->whole, error);
  g_autofree char *all = whole != NULL ? g_try_malloc (whole->bytes + 1) : NULL;
  StatePart part = s->part;

  if (whole == NULL)
    return NULL;
  if (all == NULL)
    return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY, "Out of memory while the parts of %s were gathered.",
                             s->name);
  if (!gather (state, LOOM_MESH_TENSOR, own->data, all, whole->count, bytes, error))
    return NULL;
  for (part.index = 0; part.index < part.of; part.index++)
    state_part_put (&part, whole->data, all + (gsize)part.index * own->bytes, own->count, bytes);
  return g_steal_pointer (&whole);
}

/* Returns the tensor from the ranks that store shards of it: all ranks of a stage, or none. */
static LoomTensor *
join_here (LoomState *state, const StateSlot *s, LoomTensor *own, GError **error)
{
  g_autoptr (LoomTensor) list = NULL;

  if (s->is_placed && !s->is_here)
    return loom_tensor_ref (own);
  list = s->is_shard ? join_shards (state, s, own, error) : loom_tensor_ref (own);
  if (list == NULL)
    return NULL;
  return s->is_part ? join_parts (state, s, list, error) : g_steal_pointer (&list);
}

LoomTensor *
loom_state_get (LoomState *state, const char *name, GError **error)
{
  StateSlot *s = find_slot (state, name, error);
  g_autoptr (LoomTensor) own = NULL, here = NULL;

  if (s == NULL)
    return NULL;
  own = tensor_like (&s->desc, error);
  if (own == NULL || (own->bytes > 0 && !copy_out (state, s, own->data, error)))
    return NULL;
  here = join_here (state, s, own, error);
  if (here == NULL)
    return NULL;
  return s->is_placed ? gather_placed (state, s, here, error) : g_steal_pointer (&here);
}

LoomType
state_type_of (const LoomTensorDesc *d)
{
  return (LoomType){ .dtype = d->dtype, .shape = loom_shape (d->rank, (const gint64 *)d->dim) };
}

static gboolean
same_shape (const StateSlot *s, const LoomTensor *t)
{
  gboolean same = s->whole.rank == t->rank;

  for (int r = 0; same && r < t->rank; r++)
    same = s->whole.dim[r] == t->dim[r];
  return same;
}

gboolean
loom_state_set (LoomState *state, const char *name, const LoomTensor *value, GError **error)
{
  StateSlot *s = find_slot (state, name, error);
  g_autoptr (LoomTensor) converted = NULL, own = NULL;

  if (s == NULL)
    return FALSE;
  if (!same_shape (s, value) || loom_dtype_is_float (s->desc.dtype) != loom_dtype_is_float (value->dtype))
    {
      LoomShape shape = loom_tensor_shape (value);
      LoomType wanted = state_type_of (&s->whole);
      g_autofree char *want = loom_shape_to_string (&wanted.shape);
      g_autofree char *got = loom_shape_to_string (&shape);

      return loom_refuse (error, LOOM_ERROR_SHAPE, "%s is %s %s here, but %s %s in the file.", name,
                          loom_dtype_name (s->desc.dtype), want, loom_dtype_name (value->dtype), got);
    }
  converted = loom_tensor_convert (value, s->desc.dtype, !loom_dtype_is_float (s->desc.dtype), error);
  own = converted == NULL ? NULL : s->is_part ? tensor_like (&s->own, error) : loom_tensor_ref (converted);
  if (own == NULL)
    return FALSE;
  if (s->is_part)
    state_part_take (&s->part, own->data, converted->data, own->count, loom_dtype_size (s->desc.dtype));
  return loom_desc_count (&s->desc) == 0
         || copy_in (state, s, (const char *)own->data + (gsize)s->first * loom_dtype_size (s->desc.dtype), error);
}

/* The copy to a device is enqueued on the stream of the run's steps, before the next one. */
gboolean
loom_state_put_scalar_at (LoomState *state, guint i, double value)
{
  StateSlot *s = slot_at (state, i);
  union
  {
    double f64;
    float f32;
    gint64 i64;
  } raw;
  LoomMessage message;
  LoomArena *arena;

  if (loom_desc_count (&s->desc) != 1)
    return FALSE;
  if (s->desc.dtype == LOOM_F32)
    raw.f32 = (float)value;
  else if (s->desc.dtype == LOOM_F64)
    raw.f64 = value;
  else if (s->desc.dtype == LOOM_I64)
    raw.i64 = (gint64)value;
  else
    return FALSE;
  if (s->device->info.host_memory)
    return copy_in (state, s, &raw, NULL);
  arena = loom_state_arena (state, s->device, NULL);
  return arena != NULL
         && loom_arena_put (arena, s->address, &raw, loom_desc_bytes (&s->desc), &message) == LOOM_STATUS_OK;
}

gboolean
loom_state_set_scalar (LoomState *state, const char *name, double value)
{
  int i = loom_state_find (state, name);
  LoomArena *arena;
  LoomStatus status;

  if (i < 0 || !loom_state_put_scalar_at (state, (guint)i, value))
    return FALSE;
  arena = slot_at (state, (guint)i)->device->info.host_memory
              ? NULL
              : loom_state_arena (state, slot_at (state, (guint)i)->device, NULL);
  return arena == NULL || loom_arena_sync (arena, NULL, &status);
}

gboolean
loom_state_get_scalar (LoomState *state, const char *name, double *value, GError **error)
{
  g_autoptr (LoomTensor) t = loom_state_get (state, name, error);

  if (t == NULL)
    return FALSE;
  g_return_val_if_fail (t->count == 1, FALSE);
  *value = loom_tensor_get (t, 0);
  return TRUE;
}

gboolean
loom_state_copy_scalar (LoomState *to, LoomState *from, const char *name, GError **error)
{
  g_autoptr (LoomTensor) value = NULL;

  if (loom_state_find (from, name) < 0)
    return TRUE;
  value = loom_state_get (from, name, error);
  return value != NULL && loom_state_set (to, name, value, error);
}

void
loom_state_memory (const LoomState *state, const LoomPlanDevice *device, gsize bytes[LOOM_N_OWNERS])
{
  for (int o = 0; o < LOOM_N_OWNERS; o++)
    bytes[o] = 0;
  for (guint i = 0; i < state->slots->len; i++)
    if (device == NULL || slot_at (state, i)->device == device)
      bytes[loom_owner_of_slot (slot_at (state, i)->kind)]
          += (loom_desc_bytes (&slot_at (state, i)->desc) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  for (guint i = 0; i < state->shared.arenas->len; i++)
    {
      const LoomArena *arena = state->shared.arenas->pdata[i];

      for (int o = 0; o < LOOM_N_OWNERS && (device == NULL || arena->device == device); o++)
        bytes[o] += arena->peak[o] + arena->once[o];
    }
}
