/* Begin, end and faults of a step on asynchronous devices.
 *
 * No call within a step waits for the device. The device writes a fault to host memory, and the next call into the
 * executor reads it from there; until then the gates of all further steps on that stream are closed. */
#include "engine/run/run-private.h"

gboolean
loom_exec_status_error (LoomExec *exec, const LoomPlanInstr *instr, LoomStatus status, GError **error)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, instr != NULL ? instr->device : 0);
  g_autofree char *where = NULL;

  /* The sentence of ranks that have ended names them, and is the same on all. A call that has failed without that has
   * failed here alone. */
  if (instr != NULL && loom_plan_exchanges (instr) && status == LOOM_STATUS_DEVICE
      && loom_plan_ranks_have_ended (instr))
    {
      loom_error_of_ranks (exec->message.text, error);
      exec->message.text[0] = '\0';
      return FALSE;
    }
  if (instr == NULL)
    where = g_strdup_printf ("A step on %s", device->name);
  else if (instr->origin != NULL)
    where = g_strdup_printf ("Node %s (%s on %s)", instr->origin, instr->label, device->name);
  else
    {
      g_autofree char *purpose = loom_plan_purpose (exec->plan, instr);

      where = g_strdup_printf ("%s (%s on %s)", purpose, instr->label, device->name);
    }

  loom_plan_device_error (status, where, exec->message.text, error);
  exec->message.text[0] = '\0';
  return FALSE;
}

/* All devices are idle before the first flag is cleared: the flag of one may close the gate of another. Both may have
 * found something in one step. */
static LoomStatus
clear_faults (LoomExec *exec)
{
  const guint n = loom_plan_n_devices (exec->plan);
  LoomStatus status = LOOM_STATUS_OK;

  for (guint d = 0; d < n; d++)
    if (!loom_arena_sync (exec->devices[d].arena, &exec->message, &status))
      return status;
  for (guint d = 0; d < n && status == LOOM_STATUS_OK; d++)
    {
      const LoomArena *arena = exec->devices[d].arena;

      if (arena->stream != NULL)
        status = arena->device->backend->fault_clear (arena->device->device, arena->stream, &exec->message);
    }
  return status;
}

/* Reads the fault flag of a device's stream. Where it is raised, the devices are synchronised, so that the flag can be
 * cleared, and the fault becomes the error; steps that began meanwhile have written nothing. The fault may be of
 * another executor's step. TRUE: none was raised by a step before this one. */
gboolean
loom_exec_poll_fault (LoomExec *exec, LoomArena *arena, gint64 before, GError **error)
{
  LoomPlanDevice *device = arena->device;
  LoomMessage words;
  LoomDeviceFault fault;
  LoomStatus status;
  const LoomPlanInstr *instr;
  LoomExec *of;
  guint row;

  if (arena->stream == NULL)
    return TRUE;
  device->backend->fault_get (device->device, arena->stream, &fault, &exec->message);
  if (G_LIKELY (fault.status == LOOM_STATUS_OK) || fault.step >= before)
    {
      exec->message.text[0] = '\0';
      return TRUE;
    }
  words = exec->message;
  exec->message.text[0] = '\0';
  status = clear_faults (exec);
  if (status != LOOM_STATUS_OK)
    return loom_exec_status_error (exec, NULL, status, error);
  exec->fault_step = fault.step;
  of = loom_state_find_site (exec->state, fault.site, &row);
  instr = of != NULL ? of->rows[row].instr : NULL;
  if (of == NULL)
    of = exec;
  of->message = words;
  return loom_exec_status_error (of, instr, fault.status, error);
}

gboolean
loom_exec_begin (LoomExec *exec, GError **error)
{
  exec->has_results = FALSE;
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomArena *arena = exec->devices[d].arena;
      LoomPlanDevice *device = arena->device;
      LoomStatus status;

      arena->step++;
      arena->user = exec;
      if (arena->stream == NULL)
        continue;
      status = device->backend->step_begin (device->device, arena->stream, arena->step, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
    }
  return TRUE;
}

gboolean
loom_exec_end (LoomExec *exec, GError **error)
{
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomArena *arena = exec->devices[d].arena;
      LoomPlanDevice *device = arena->device;
      LoomMessage *message = &exec->message;
      LoomStatus status;

      if (arena->stream == NULL)
        continue;
      status = device->backend->event_record (device->device, arena->done[arena->step & 1], arena->stream, message);
      if (status == LOOM_STATUS_OK && arena->step > 1)
        status = device->backend->event_sync (device->device, arena->done[(arena->step - 1) & 1], message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
      arena->ended = arena->step;
      /* A step that ranks exchange in is heard of when the next one is queued, or waited for, however fast a device is:
       * so all of them hear of it at the same place, and none waits for another that has stopped before an exchange. */
      if (!loom_exec_poll_fault (exec, arena, exec->exchanges ? arena->step : G_MAXINT64, error))
        return FALSE;
    }
  return TRUE;
}

gint64
loom_exec_step_number (const LoomExec *exec)
{
  return exec->devices[0].arena->step;
}

gint64
loom_exec_fault_step (const LoomExec *exec)
{
  return exec->fault_step;
}

gboolean
loom_exec_sync (LoomExec *exec, GError **error)
{
  exec->fault_step = 0;
  if (!exec->is_asynchronous)
    return TRUE;
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomStatus status;

      if (!loom_arena_sync (exec->devices[d].arena, &exec->message, &status))
        return loom_exec_status_error (exec, NULL, status, error);
      if (!loom_exec_poll_fault (exec, exec->devices[d].arena, G_MAXINT64, error))
        return FALSE;
    }
  exec->is_read = TRUE;
  return TRUE;
}
