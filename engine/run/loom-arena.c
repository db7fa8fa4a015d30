/* Arenas: the memory that all executors of a run share on a device; see the private header.
 *
 * A larger plan needs a larger arena, and the old one is freed first, because its contents are not needed after a step,
 * and both together may exceed the device's memory. If the larger one cannot be allocated, the old size is allocated
 * again, so that the earlier plans still run. */
#include "engine/run/run-private.h"

#include <string.h>

#define NUMBERS 64 /* maximum number that the host sets between two steps without waiting */

typedef struct
{
  gint64 first;
  guint n;
  LoomExec *exec;
} Sites;

static gboolean
device_error (const LoomArena *arena, LoomStatus status, const LoomMessage *message, GError **error)
{
  g_autofree char *where = g_strdup_printf ("Device %s", arena->device->name);

  loom_plan_device_error (status, where, message->text, error);
  return FALSE;
}

static void
arena_free (LoomArena *arena)
{
  const LoomBackend *b = arena->device->backend;
  LoomDevice *device = arena->device->device;
  LoomStatus status;

  /* Enqueued work may still use the memory. On a lost device the call fails, and no work is left on it. */
  loom_arena_sync (arena, NULL, &status);
  for (guint i = 0; i < 2; i++)
    if (arena->done[i] != NULL)
      b->event_free (device, arena->done[i]);
  if (arena->stream != NULL)
    b->stream_free (device, arena->stream);
  if (arena->uploads != NULL)
    b->stream_free (device, arena->uploads);
  if (arena->sends != NULL)
    b->stream_free (device, arena->sends);
  if (arena->memory != NULL)
    b->free (device, arena->memory);
  if (arena->numbers != NULL)
    b->free_host (device, arena->numbers);
  g_free (arena);
}

static LoomArena *
arena_new (LoomPlanDevice *device, GError **error)
{
  const LoomBackend *b = device->backend;
  LoomArena *arena = g_new0 (LoomArena, 1);
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_OK;

  arena->device = device;
  if (!device->info.host_memory && b->stream_new != NULL)
    status = b->stream_new (device->device, &arena->stream, &message);
  if (status == LOOM_STATUS_OK && arena->stream != NULL)
    status = b->stream_new (device->device, &arena->uploads, &message);
  for (guint i = 0; i < 2 && status == LOOM_STATUS_OK && arena->stream != NULL; i++)
    status = b->event_new (device->device, &arena->done[i], &message);
  if (status == LOOM_STATUS_OK)
    return arena;
  device_error (arena, status, &message, error);
  arena_free (arena);
  return NULL;
}

gboolean
loom_arena_sync (LoomArena *arena, LoomMessage *message, LoomStatus *status)
{
  LoomMessage ignored;

  *status = LOOM_STATUS_OK;
  if (message == NULL)
    message = &ignored;
  if (arena->stream != NULL)
    *status = arena->device->backend->stream_sync (arena->device->device, arena->stream, message);
  /* A step that has not reached its end has not waited for them. */
  if (arena->sends != NULL && *status == LOOM_STATUS_OK)
    *status = arena->device->backend->stream_sync (arena->device->device, arena->sends, message);
  return *status == LOOM_STATUS_OK;
}

LoomStatus
loom_arena_sends (LoomArena *arena, LoomMessage *message)
{
  if (arena->sends != NULL)
    return LOOM_STATUS_OK;
  return arena->device->backend->stream_new (arena->device->device, &arena->sends, message);
}

/* Numbers set between two steps are stored in the half of the next step's parity. The device read that half before the
 * second last step, which is over as soon as the end of its successor was enqueued (loom_exec_end()). */
LoomStatus
loom_arena_put (LoomArena *arena, void *to, const void *from, gsize bytes, LoomMessage *message)
{
  const LoomBackend *b = arena->device->backend;
  LoomDevice *device = arena->device->device;
  LoomStatus status = LOOM_STATUS_OK;
  gboolean is_new = arena->numbers_step != arena->step;
  void *at;

  g_return_val_if_fail (bytes <= sizeof *arena->numbers, LOOM_STATUS_INVALID);

  if (arena->numbers == NULL && b->alloc_host != NULL
      && b->alloc_host (device, 2 * NUMBERS * sizeof *arena->numbers, &at, message) == LOOM_STATUS_OK)
    arena->numbers = at;
  if (arena->numbers == NULL || (is_new ? arena->ended != arena->step : arena->n_numbers == NUMBERS))
    loom_arena_sync (arena, message, &status);
  if (status != LOOM_STATUS_OK)
    return status;
  if (is_new || arena->n_numbers == NUMBERS)
    arena->n_numbers = 0;
  arena->numbers_step = arena->step;
  if (arena->numbers == NULL)
    {
      status = b->copy (device, arena->stream, to, from, bytes, LOOM_COPY_HOST_TO_DEVICE, message);
      if (status == LOOM_STATUS_OK)
        loom_arena_sync (arena, message, &status);
      return status;
    }
  at = arena->numbers + ((arena->step + 1) & 1) * NUMBERS + arena->n_numbers++;
  memcpy (at, from, bytes);
  return b->copy (device, arena->stream, to, at, bytes, LOOM_COPY_HOST_TO_DEVICE, message);
}

static LoomStatus
take (LoomArena *arena, gsize bytes, LoomMessage *message)
{
  arena->moves++;
  arena->user = NULL;
  return arena->device->backend->alloc (arena->device->device, bytes, &arena->memory, message);
}

/* The error of a step whose memory could not be allocated. */
static gboolean
taken (LoomArena *arena, gsize bytes, LoomStatus status, const LoomMessage *message, GError **error)
{
  if (status == LOOM_STATUS_OK)
    return TRUE;
  arena->memory = NULL;
  if (status != LOOM_STATUS_OUT_OF_MEMORY)
    return device_error (arena, status, message, error);
  loom_plan_device_out_of_memory (arena->device, bytes, "A step", message->text, error);
  return FALSE;
}

gboolean
loom_arena_reserve (LoomArena *arena, const LoomPlanMemory *memory, GError **error)
{
  LoomMessage message = { "" }, ignored;
  gsize before = arena->bytes;
  LoomStatus status;

  if (memory->arena <= arena->bytes)
    return TRUE;
  if (!loom_plan_device_fits (arena->device, memory->arena - (arena->memory != NULL ? before : 0),
                              arena->memory != NULL ? "In addition to what is in use, a step" : "A step", error))
    return FALSE;
  if (!loom_arena_sync (arena, &message, &status))
    return device_error (arena, status, &message, error);
  if (arena->memory != NULL)
    arena->device->backend->free (arena->device->device, arena->memory);
  arena->memory = NULL;
  status = take (arena, memory->arena, &message);
  if (!taken (arena, memory->arena, status, &message, error))
    {
      if (before > 0 && take (arena, before, &ignored) != LOOM_STATUS_OK)
        arena->memory = NULL; /* the next step tries to allocate it */
      return FALSE;
    }
  arena->bytes = memory->arena;
  memcpy (arena->peak, memory->peak, sizeof arena->peak);
  return TRUE;
}

gboolean
loom_arena_reacquire (LoomArena *arena, GError **error)
{
  LoomMessage message = { "" };

  if (arena->memory != NULL || arena->bytes == 0)
    return TRUE;
  return taken (arena, arena->bytes, take (arena, arena->bytes, &message), &message, error);
}

/* ---- of a state ---------------------------------------------------------- */

void
loom_shared_init (LoomShared *shared)
{
  shared->arenas = g_ptr_array_new_with_free_func ((GDestroyNotify)arena_free);
  shared->sites = g_array_new (FALSE, FALSE, sizeof (Sites));
}

void
loom_shared_clear (LoomShared *shared)
{
  g_ptr_array_unref (shared->arenas);
  g_array_unref (shared->sites);
}

LoomArena *
loom_state_arena (LoomState *state, LoomPlanDevice *device, GError **error)
{
  LoomShared *shared = loom_state_shared (state);
  LoomArena *arena;

  for (guint i = 0; i < shared->arenas->len; i++)
    {
      arena = shared->arenas->pdata[i];
      if (arena->device == device)
        return arena;
    }
  arena = arena_new (device, error);
  if (arena != NULL)
    g_ptr_array_add (shared->arenas, arena);
  return arena;
}

gint64
loom_state_add_sites (LoomState *state, LoomExec *exec, guint n)
{
  LoomShared *shared = loom_state_shared (state);
  Sites sites = { shared->n_sites, n, exec };

  g_array_append_val (shared->sites, sites);
  shared->n_sites += n;
  return sites.first;
}

void
loom_state_remove_sites (LoomState *state, const LoomExec *exec)
{
  LoomShared *shared = loom_state_shared (state);

  for (guint i = shared->sites->len; i-- > 0;)
    if (g_array_index (shared->sites, Sites, i).exec == exec)
      g_array_remove_index (shared->sites, i);
}

LoomExec *
loom_state_find_site (LoomState *state, gint64 site, guint *row)
{
  LoomShared *shared = loom_state_shared (state);

  for (guint i = 0; i < shared->sites->len; i++)
    {
      const Sites *sites = &g_array_index (shared->sites, Sites, i);

      if (site < sites->first || site >= sites->first + sites->n)
        continue;
      *row = (guint)(site - sites->first);
      return sites->exec;
    }
  return NULL;
}
