/* Outputs of a step, in logical order. An output stays in the arena until the next step of any executor of the run;
 * small outputs that were downloaded with the step can be read until later, after loom_exec_select_step(). */
#include "engine/run/run-private.h"

#include "engine/core/loom-refuse.h"
#include "engine/run/loom-eager.h"

#include <math.h>
#include <string.h>

/* The current address of an output; NULL only if it is empty. */
static const void *
output_address (LoomExec *exec, guint output, const LoomPlanValue **value)
{
  const LoomExecOutput *o = &exec->outputs[output];
  const LoomLocation *location = &o->value->location;

  *value = o->value;
  /* An executor that ran after this one has overwritten its outputs. */
  g_return_val_if_fail (location->kind != LOOM_LOCATION_ARENA || exec->devices[location->device].arena->user == exec
                            || (exec->is_read && loom_exec_result_at (exec, o->value) != NULL),
                        NULL);
  return location->kind == LOOM_LOCATION_INPUT ? exec->feeds[location->index].fed : o->at;
}

static gboolean
fetch (LoomExec *exec, const LoomPlanValue *value, const void *from, void *to, GError **error)
{
  LoomPlanDevice *device = loom_plan_device (exec->plan, value->location.device);
  LoomStream *stream = exec->devices[value->location.device].arena->stream;
  gsize bytes = loom_desc_bytes (&value->desc);
  const void *there = loom_exec_result_at (exec, value);
  LoomStatus status = LOOM_STATUS_OK;

  if (bytes == 0)
    return TRUE;
  if (there != NULL)
    {
      if (!exec->is_read)
        status = device->backend->stream_sync (device->device, stream, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
      memcpy (to, there, bytes);
      return TRUE;
    }
  if (device->info.host_memory || value->location.kind == LOOM_LOCATION_INPUT)
    {
      memcpy (to, from, bytes);
      return TRUE;
    }
  status = device->backend->copy (device->device, stream, to, from, bytes, LOOM_COPY_DEVICE_TO_HOST, &exec->message);
  if (status == LOOM_STATUS_OK)
    status = device->backend->stream_sync (device->device, stream, &exec->message);
  return status == LOOM_STATUS_OK || loom_exec_status_error (exec, NULL, status, error);
}

/* [N,H,W,C] bytes into [N,C,H,W] order. */
static void
nhwc_to_plain (const LoomTensorDesc *d, const char *from, char *to)
{
  gsize size = loom_dtype_size (d->dtype);

  for (gint64 n = 0; n < d->dim[0]; n++)
    for (gint64 c = 0; c < d->dim[1]; c++)
      for (gint64 p = 0; p < d->dim[2] * d->dim[3]; p++)
        memcpy (to + (gsize)((n * d->dim[1] + c) * d->dim[2] * d->dim[3] + p) * size,
                from + (gsize)((n * d->dim[2] * d->dim[3] + p) * d->dim[1] + c) * size, size);
}

LoomTensor *
loom_exec_output (LoomExec *exec, guint output, GError **error)
{
  const LoomPlanValue *value;
  const void *from;
  g_autoptr (LoomTensor) t = NULL;
  gint64 dims[LOOM_MAX_RANK];

  g_return_val_if_fail (output < loom_program_n_outputs (loom_plan_program (exec->plan)), NULL);

  if (G_UNLIKELY (exec->eager != NULL))
    return loom_eager_output (exec->eager, output, error);
  from = output_address (exec, output, &value);
  for (int r = 0; r < value->desc.rank; r++)
    dims[r] = value->desc.dim[r];
  t = loom_tensor_new (value->desc.dtype, value->desc.rank, dims, error);
  if (t == NULL || !fetch (exec, value, from, t->data, error))
    return NULL;
  if (value->desc.layout == LOOM_LAYOUT_NHWC)
    {
      g_autoptr (LoomTensor) plain = loom_tensor_new (value->desc.dtype, value->desc.rank, dims, error);

      if (plain == NULL)
        return NULL;
      nhwc_to_plain (&value->desc, t->data, plain->data);
      return g_steal_pointer (&plain);
    }
  return g_steal_pointer (&t);
}

double
loom_exec_scalar (LoomExec *exec, guint output)
{
  const LoomPlanValue *value;
  const void *from = exec->eager == NULL ? output_address (exec, output, &value) : NULL;
  union
  {
    double f64;
    float f32;
    gint64 i64;
    gint32 i32;
    guint8 u8;
  } raw = { 0 };

  if (G_UNLIKELY (exec->eager != NULL))
    return loom_exec_eager_scalar (exec, output);
  if (loom_desc_count (&value->desc) != 1 || loom_dtype_size (value->desc.dtype) > sizeof raw
      || !fetch (exec, value, from, &raw, NULL))
    return NAN;
  switch (value->desc.dtype)
    {
    case LOOM_F64:
      return raw.f64;
    case LOOM_F32:
      return raw.f32;
    case LOOM_I64:
      return (double)raw.i64;
    case LOOM_I32:
      return raw.i32;
    default:
      return raw.u8;
    }
}

gboolean
loom_exec_numbers (LoomExec *exec, guint output, guint n, double *to, GError **error)
{
  const LoomPlanValue *value = loom_plan_value (exec->plan, loom_plan_output_value (exec->plan, output));
  LoomDType dtype = value->desc.dtype;
  const void *from;

  if (loom_desc_count (&value->desc) != n || value->desc.rank > 3 || (dtype != LOOM_F32 && dtype != LOOM_F64))
    return loom_refuse (error, LOOM_ERROR_SHAPE,
                        "The output “%s” cannot be read as %u numbers: it has %" G_GINT64_FORMAT
                        " of type %s and rank %d.",
                        loom_program_get_output (loom_plan_program (exec->plan), output)->name, n,
                        (gint64)loom_desc_count (&value->desc), loom_dtype_name (dtype), value->desc.rank);
  if (G_UNLIKELY (exec->eager != NULL))
    {
      g_autoptr (LoomTensor) t = loom_eager_output (exec->eager, output, error);

      for (guint i = 0; t != NULL && i < n; i++)
        to[i] = loom_tensor_get (t, i);
      return t != NULL;
    }
  from = output_address (exec, output, &value);
  if (!fetch (exec, value, from, to, error))
    return FALSE;
  /* Converts to f64 in place, from the last element to the first, so that no element is overwritten before it is read.
   */
  for (guint i = dtype == LOOM_F32 ? n : 0; i-- > 0;)
    {
      float narrow;

      memcpy (&narrow, (const char *)to + i * sizeof narrow, sizeof narrow);
      to[i] = narrow;
    }
  return TRUE;
}

gsize
loom_exec_arena_bytes (const LoomExec *exec)
{
  gsize sum = 0;

  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomPlanMemory memory;

      loom_plan_memory (exec->plan, d, &memory);
      sum += memory.arena;
      for (int i = 0; i < LOOM_N_OWNERS; i++)
        sum += memory.once[i];
    }
  return sum;
}
