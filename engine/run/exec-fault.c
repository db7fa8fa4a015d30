/* Begin and end of a step on asynchronous devices, and the faults that they report.
 *
 * No call within a step waits for the device. The device writes a fault to host memory, and the next call to the
 * executor reads it; until then the gates of all further steps on that stream stay closed. */
#include "engine/run/run-private.h"

/* TRUE if slots may have values of the step that failed. Faults close the gates that are before all updates. An
 * asynchronous device that fails does not say in which row; a call that it refuses has enqueued nothing. */
static gboolean
has_committed (const LoomExec *exec, const LoomPlanInstr *instr, LoomStatus status)
{
  if (status == LOOM_STATUS_INDEX || status == LOOM_STATUS_NO_RESULT || status == LOOM_STATUS_NOT_FINITE)
    return FALSE;
  if (exec->is_asynchronous && status != LOOM_STATUS_OUT_OF_MEMORY && status != LOOM_STATUS_UNSUPPORTED)
    return TRUE;
  if (!exec->is_enqueuing)
    return FALSE;
  for (const LoomExecRow *row = exec->rows; row < exec->rows + exec->n_rows && row->instr != instr; row++)
    if (row->instr->is_gate)
      return TRUE;
  return FALSE;
}

gboolean
loom_exec_status_error (LoomExec *exec, const LoomPlanInstr *instr, LoomStatus status, GError **error)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, instr != NULL ? instr->device : 0);
  g_autofree char *where = NULL;

  exec->is_between = has_committed (exec, instr, status);
  /* If ranks have ended, the message names them and is the same on all ranks. A call that failed otherwise failed only
   * on this rank. */
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

/* All devices of the run must be idle before the first flag is cleared: the flag of one may close a gate that another
 * executor has queued on another device. Several devices may report faults of one step. */
static LoomStatus
idle_all (LoomExec *exec)
{
  const GPtrArray *arenas = loom_state_shared (exec->state)->arenas;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < arenas->len && status == LOOM_STATUS_OK; i++)
    loom_arena_sync (arenas->pdata[i], &exec->message, &status);
  return status;
}

static LoomStatus
clear_faults (LoomExec *exec)
{
  const GPtrArray *arenas = loom_state_shared (exec->state)->arenas;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < arenas->len && status == LOOM_STATUS_OK; i++)
    {
      const LoomArena *arena = arenas->pdata[i];

      if (arena->stream != NULL)
        status = arena->device->backend->fault_clear (arena->device->device, arena->stream, &exec->message);
    }
  return status;
}

/* The fault of the earliest step before `before` that the plan's devices (all: the run's devices) have reported; of
 * several in one step, that of the plan's first device; status OK if there is none. exec->message holds its text. */
static LoomDeviceFault
first_fault (LoomExec *exec, gint64 before, gboolean all)
{
  const GPtrArray *arenas = loom_state_shared (exec->state)->arenas;
  const guint own = loom_plan_n_devices (exec->plan), n = own + (all ? arenas->len : 0);
  LoomDeviceFault first = { .status = LOOM_STATUS_OK };
  LoomMessage words = { "" };

  for (guint d = 0; d < n; d++)
    {
      const LoomArena *arena = d < own ? exec->devices[d].arena : arenas->pdata[d - own];
      LoomDeviceFault fault;

      if (arena->stream == NULL)
        continue;
      arena->device->backend->fault_get (arena->device->device, arena->stream, &fault, &exec->message);
      if (G_LIKELY (fault.status == LOOM_STATUS_OK) || fault.step >= before
          || (first.status != LOOM_STATUS_OK && fault.step >= first.step))
        continue;
      first = fault;
      words = exec->message;
    }
  exec->message = words;
  return first;
}

/* Reads the fault flags of the plan's devices. If one is set, all devices are synchronised so that the flags can be
 * cleared, and the fault becomes the error; steps that began meanwhile have written nothing. After synchronising, the
 * flags of all devices of the run are read again and cleared: a device that is ahead may report before the one that
 * found the cause. The fault may belong to a step of another executor. TRUE: no step before `before` has a fault. */
gboolean
loom_exec_poll_fault (LoomExec *exec, gint64 before, GError **error)
{
  LoomDeviceFault fault = first_fault (exec, before, FALSE);
  LoomMessage words;
  LoomStatus status;
  const LoomPlanInstr *instr;
  LoomExec *of;
  guint row;

  if (G_LIKELY (fault.status == LOOM_STATUS_OK))
    return TRUE;
  status = idle_all (exec);
  if (status == LOOM_STATUS_OK)
    {
      fault = first_fault (exec, before, TRUE);
      words = exec->message;
      exec->message.text[0] = '\0';
      status = clear_faults (exec);
    }
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
  const gint64 step = ++loom_state_shared (exec->state)->step;

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
      status = device->backend->step_begin (device->device, arena->stream, step, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
    }
  return TRUE;
}

/* All devices have ended the previous step when the first flag is read. If both steps have a fault, the earlier one is
 * therefore reported, on any device. */
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
    }
  /* The faults of a step with exchanges are read when the next step is queued or waited for, independent of the
   * device's speed: all ranks then stop at the same point, and none waits for one that stopped before an exchange. */
  return loom_exec_poll_fault (exec, exec->exchanges ? loom_exec_step_number (exec) : G_MAXINT64, error);
}

gint64
loom_exec_step_number (const LoomExec *exec)
{
  return loom_state_shared (exec->state)->step;
}

gboolean
loom_exec_reports_faults_of (const LoomExec *exec, const LoomExec *before)
{
  for (guint d = 0; d < loom_plan_n_devices (before->plan); d++)
    {
      gboolean is_there = FALSE;

      for (guint k = 0; k < loom_plan_n_devices (exec->plan); k++)
        is_there |= exec->devices[k].arena == before->devices[d].arena;
      if (!is_there)
        return FALSE;
    }
  return TRUE;
}

gboolean
loom_exec_is_between (const LoomExec *exec)
{
  return exec->is_between;
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
  if (!exec->is_asynchronous || exec->eager != NULL)
    return TRUE;
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomStatus status;

      if (!loom_arena_sync (exec->devices[d].arena, &exec->message, &status))
        return loom_exec_status_error (exec, NULL, status, error);
    }
  if (!loom_exec_poll_fault (exec, G_MAXINT64, error))
    return FALSE;
  exec->is_read = TRUE;
  return TRUE;
}
