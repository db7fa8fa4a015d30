/* Values of the eager executor: each in memory of its own on the device that computed it, copied to its readers. */
#include "engine/run/eager-private.h"

#include <string.h>

/* ---- addresses ------------------------------------------------------------- */

LoomStream *
eager_stream_of (LoomEager *eager, LoomPlanDevice *device)
{
  LoomArena *arena = device->info.host_memory ? NULL : loom_state_arena (eager->state, device, NULL);

  return arena != NULL ? arena->stream : NULL;
}

LoomPlanDevice *
eager_device_named (LoomEager *eager, const char *name, GError **error)
{
  name = loom_devices_for_dtype (eager->devices, name, loom_program_get_float (eager->program));
  return name != NULL ? loom_devices_get (eager->devices, name, error) : eager->device;
}

char *
eager_instr_name (const LoomEager *eager, const LoomInstr *instr)
{
  if (instr->origin != NULL)
    return g_strdup_printf ("Node %s", instr->origin);
  return loom_program_purpose (eager->program, instr->prim, instr->region, instr->n_out, instr->out);
}

gboolean
eager_failed (LoomEager *eager, const LoomInstr *instr, const LoomPlanDevice *device, LoomStatus status, GError **error)
{
  g_autofree char *place = instr != NULL ? eager_instr_name (eager, instr) : g_strdup ("A walk");
  g_autofree char *where
      = g_strdup_printf ("%s (%s on %s)", place, instr != NULL ? instr->prim->name : "copy", device->name);

  loom_plan_device_error (status, where, eager->message.text, error);
  eager->message.text[0] = '\0';
  return FALSE;
}

gboolean
eager_allocate (LoomEager *eager, LoomPlanDevice *device, gsize bytes, void **memory, GError **error)
{
  LoomStatus status;

  if (bytes == 0)
    return TRUE;
  if (!loom_plan_device_fits (device, bytes, "A value", error))
    return FALSE;
  status = device->backend->alloc (device->device, bytes, memory, &eager->message);
  if (status == LOOM_STATUS_OUT_OF_MEMORY)
    {
      loom_plan_device_out_of_memory (device, bytes, "A value", eager->message.text, error);
      return FALSE;
    }
  return status == LOOM_STATUS_OK || eager_failed (eager, NULL, device, status, error);
}

static gboolean
copy (LoomEager *eager, LoomPlanDevice *device, void *to, const void *from, gsize bytes, LoomCopyKind kind,
      GError **error)
{
  LoomStream *stream = eager_stream_of (eager, device);
  LoomStatus status;

  if (bytes == 0)
    return TRUE;
  if (device->info.host_memory)
    {
      memcpy (to, from, bytes);
      return TRUE;
    }
  status = device->backend->copy (device->device, stream, to, from, bytes, kind, &eager->message);
  if (status == LOOM_STATUS_OK)
    status = device->backend->stream_sync (device->device, stream, &eager->message);
  return status == LOOM_STATUS_OK || eager_failed (eager, NULL, device, status, error);
}

/* ---- values ---------------------------------------------------------------- */

const LoomTensorDesc *
eager_desc_of (const LoomEager *eager, LoomValue v)
{
  return &loom_value_info (eager->program, v)->desc;
}

static LoomTensor *
new_tensor (const LoomTensorDesc *d, GError **error)
{
  gint64 dims[LOOM_MAX_RANK];

  for (int r = 0; r < d->rank; r++)
    dims[r] = d->dim[r];
  return loom_tensor_new (d->dtype, d->rank, dims, error);
}

void
eager_clear_value (EagerValue *value)
{
  if (value->memory != NULL)
    value->device->backend->free (value->device->device, value->memory);
  g_clear_pointer (&value->tensor, loom_tensor_unref);
  *value = (EagerValue){ 0 };
}

void
eager_clear_values (LoomEager *eager)
{
  for (guint v = 0; v <= loom_program_n_values (eager->program); v++)
    eager_clear_value (&eager->values[v]);
}

gboolean
eager_make_value (LoomEager *eager, LoomValue v, LoomPlanDevice *device, GError **error)
{
  EagerValue *value = &eager->values[v];

  if (device->info.host_memory)
    value->tensor = new_tensor (eager_desc_of (eager, v), error);
  if (device->info.host_memory
          ? value->tensor == NULL
          : !eager_allocate (eager, device, loom_desc_bytes (eager_desc_of (eager, v)), &value->memory, error))
    return FALSE;
  value->device = device;
  return TRUE;
}

void *
eager_address_of (const EagerValue *value)
{
  return value->device->info.host_memory ? value->tensor->data : value->memory;
}

LoomTensor *
eager_host_value (LoomEager *eager, LoomValue v, GError **error)
{
  EagerValue *value = &eager->values[v];

  if (value->tensor != NULL)
    return value->tensor;
  value->tensor = new_tensor (eager_desc_of (eager, v), error);
  if (value->tensor != NULL
      && !copy (eager, value->device, value->tensor->data, value->memory, value->tensor->bytes,
                LOOM_COPY_DEVICE_TO_HOST, error))
    g_clear_pointer (&value->tensor, loom_tensor_unref);
  return value->tensor;
}

gboolean
eager_copy_value (LoomEager *eager, LoomValue v, LoomPlanDevice *device, void *to, GError **error)
{
  const EagerValue *from = &eager->values[v];
  gsize bytes = loom_desc_bytes (eager_desc_of (eager, v));
  LoomTensor *host;

  if (from->device == device)
    return copy (eager, device, to, eager_address_of (from), bytes, LOOM_COPY_WITHIN, error);
  host = eager_host_value (eager, v, error);
  return host != NULL && copy (eager, device, to, host->data, bytes, LOOM_COPY_HOST_TO_DEVICE, error);
}

gboolean
eager_operand (LoomEager *eager, LoomValue v, LoomPlanDevice *device, GPtrArray *borrowed, void **address,
               GError **error)
{
  EagerValue *value = &eager->values[v];
  LoomTensor *host;
  void *memory = NULL;

  if (value->device == device)
    {
      *address = eager_address_of (value);
      return TRUE;
    }
  if (device->info.host_memory)
    {
      host = eager_host_value (eager, v, error);
      *address = host != NULL ? host->data : NULL;
      return host != NULL;
    }
  if (!eager_allocate (eager, device, loom_desc_bytes (eager_desc_of (eager, v)), &memory, error))
    return FALSE;
  if (memory != NULL)
    g_ptr_array_add (borrowed, memory);
  *address = memory;
  return eager_copy_value (eager, v, device, memory, error);
}

static LoomTensor *
source (LoomEager *eager, const LoomValueInfo *info, GError **error)
{
  LoomTensor *t;

  if (info->slot >= 0)
    return loom_state_get (eager->state, loom_program_get_slot (eager->program, (guint)info->slot)->name, error);
  t = new_tensor (&info->desc, error);
  if (t == NULL || t->bytes == 0)
    return t;
  g_return_val_if_fail (eager->fed[info->input] != NULL, NULL);
  memcpy (t->data, eager->fed[info->input], t->bytes);
  return t;
}

gboolean
eager_load_source (LoomEager *eager, LoomValue v, GError **error)
{
  const LoomValueInfo *info = loom_value_info (eager->program, v);
  EagerValue *value = &eager->values[v];
  LoomPlanDevice *device = eager_device_named (eager, info->device, error);

  if (device == NULL)
    return FALSE;
  value->tensor = source (eager, info, error);
  if (value->tensor == NULL)
    return FALSE;
  value->device = device;
  return device->info.host_memory
         || (eager_allocate (eager, device, value->tensor->bytes, &value->memory, error)
             && copy (eager, device, value->memory, value->tensor->data, value->tensor->bytes, LOOM_COPY_HOST_TO_DEVICE,
                      error));
}
