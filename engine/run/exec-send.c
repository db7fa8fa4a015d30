/* Copies between devices on their streams: the copies of a step, the waits for them, and the joins of all streams at a
 * gate, at the end of a step and around a captured step.
 *
 * The host enqueues everything and never waits. A copy is enqueued on its source's send stream, after an event that
 * marks the value as computed and one that marks the destination as free; readers wait for the copy's own event
 * (engine/plan/plan-device-copies.c). An event that is waited for right after it is recorded can be recorded again, so
 * one per device is enough. */
#include "engine/core/loom-env.h"
#include "engine/run/run-private.h"

static LoomStatus
record (LoomExec *exec, LoomEvent *event, guint device, LoomStream *stream)
{
  const LoomPlanDevice *of = loom_plan_device (exec->plan, device);

  return of->backend->event_record (of->device, event, stream, &exec->message);
}

static LoomStatus
await (LoomExec *exec, guint device, LoomStream *stream, LoomEvent *event)
{
  const LoomPlanDevice *of = loom_plan_device (exec->plan, device);

  return of->backend->event_wait (of->device, stream, event, &exec->message);
}

/* Makes the stream wait for all work enqueued on the device so far. */
static LoomStatus
await_device (LoomExec *exec, guint device, LoomStream *stream, guint other)
{
  LoomExecDevice *of = &exec->devices[other];
  LoomStatus status = record (exec, of->mark, other, of->arena->stream);

  return status == LOOM_STATUS_OK ? await (exec, device, stream, of->mark) : status;
}

/* ---- made once --------------------------------------------------------------- */

static gboolean
make_mark (LoomExec *exec, guint d, GError **error)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, d);
  LoomStatus status = LOOM_STATUS_OK;

  if (exec->devices[d].arena->stream != NULL)
    status = device->backend->event_new (device->device, &exec->devices[d].mark, &exec->message);
  return status == LOOM_STATUS_OK || loom_exec_status_error (exec, NULL, status, error);
}

/* Connects the device's gates to the faults of all other devices: faults of a host device end the step at once; for
 * those of another back end the host has to wait. */
static gboolean
join_faults (LoomExec *exec, guint d, GError **error)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, d);
  LoomArena *arena = exec->devices[d].arena;
  LoomStatus status = LOOM_STATUS_OK;

  exec->devices[d].gates_follow_all = arena->stream != NULL && device->backend->fault_join != NULL;
  for (guint k = 0; k < loom_plan_n_devices (exec->plan) && exec->devices[d].gates_follow_all; k++)
    {
      const LoomPlanDevice *other = loom_plan_device (exec->plan, k);

      if (k == d || exec->devices[k].arena->stream == NULL)
        continue;
      if (other->backend == device->backend)
        status = device->backend->fault_join (device->device, arena->stream, other->device,
                                              exec->devices[k].arena->stream, &exec->message);
      exec->devices[d].gates_follow_all = other->backend == device->backend && status == LOOM_STATUS_OK;
    }
  return status == LOOM_STATUS_OK || status == LOOM_STATUS_UNSUPPORTED
         || loom_exec_status_error (exec, NULL, status, error);
}

/* For each pair of devices, the end of a step waits for the last copy. */
static void
note_send (LoomExec *exec, const LoomExecSend *send)
{
  for (guint i = 0; i < exec->last_sends->len; i++)
    {
      LoomExecSend *last = &g_array_index (exec->last_sends, LoomExecSend, i);

      if (last->from == send->from && last->to == send->to)
        {
          *last = *send;
          return;
        }
    }
  g_array_append_val (exec->last_sends, *send);
}

static gboolean
make_send (LoomExec *exec, guint row, GError **error)
{
  const LoomPlanInstr *instr = exec->rows[row].instr;
  const LoomPlanValue *value = loom_plan_value (exec->plan, instr->value[0]);
  LoomExecSend *send = g_new0 (LoomExecSend, 1);
  const LoomPlanDevice *device = loom_plan_device (exec->plan, value->location.device);
  LoomStatus status;

  exec->rows[row].send = send;
  send->from = value->location.device;
  send->to = instr->device;
  send->bytes = loom_desc_bytes (&value->desc);
  status = loom_arena_sends (exec->devices[send->from].arena, &exec->message);
  if (status == LOOM_STATUS_OK)
    status = device->backend->event_new (device->device, &send->over, &exec->message);
  if (status != LOOM_STATUS_OK)
    return loom_exec_status_error (exec, instr, status, error);
  note_send (exec, send);
  return TRUE;
}

gboolean
loom_exec_sends_new (LoomExec *exec, GError **error)
{
  const guint n = loom_plan_n_devices (exec->plan);

  exec->last_sends = g_array_new (FALSE, FALSE, sizeof (LoomExecSend));
  exec->all_gates_follow = TRUE;
  for (guint d = 0; d < n; d++)
    {
      if (n > 1 && (!make_mark (exec, d, error) || !join_faults (exec, d, error)))
        return FALSE;
      exec->all_gates_follow &= n > 1 ? exec->devices[d].gates_follow_all : exec->devices[d].arena->stream != NULL;
    }
  for (guint i = 0; i < exec->n_rows; i++)
    if (exec->rows[i].instr->is_send && !make_send (exec, i, error))
      return FALSE;
  return TRUE;
}

void
loom_exec_sends_free (LoomExec *exec)
{
  for (guint i = 0; i < exec->n_rows; i++)
    {
      LoomExecSend *send = exec->rows[i].send;

      if (send != NULL && send->over != NULL)
        {
          const LoomPlanDevice *device = loom_plan_device (exec->plan, send->from);

          device->backend->event_free (device->device, send->over);
        }
      g_free (send);
    }
  for (guint d = 0; exec->devices != NULL && d < loom_plan_n_devices (exec->plan); d++)
    if (exec->devices[d].mark != NULL)
      {
        const LoomPlanDevice *device = loom_plan_device (exec->plan, d);

        device->backend->event_free (device->device, exec->devices[d].mark);
      }
  g_clear_pointer (&exec->last_sends, g_array_unref);
}

/* If a device is lost, no work is left on it. */
void
loom_exec_sends_settle (LoomExec *exec)
{
  LoomStatus status;

  for (guint d = 0; exec->devices != NULL && d < loom_plan_n_devices (exec->plan); d++)
    if (exec->devices[d].mark != NULL)
      loom_arena_sync (exec->devices[d].arena, NULL, &status);
}

gboolean
loom_exec_may_capture (const LoomExec *exec)
{
  const LoomBackend *b = loom_plan_device (exec->plan, 0)->backend;

  if (g_strcmp0 (loom_env ("GRADLOOM_CUDA_GRAPHS"), "0") == 0 || b->capture_begin == NULL || exec->is_blocking
      || !exec->all_gates_follow)
    return FALSE;
  for (guint i = 0; i < exec->n_rows; i++)
    if (exec->rows[i].kernel == NULL && exec->rows[i].send == NULL)
      return FALSE;
  return TRUE;
}

/* ---- within a step ------------------------------------------------------------- */

LoomStatus
loom_exec_await_sent (LoomExec *exec, const LoomExecRow *row)
{
  const LoomPlanInstr *instr = row->instr;
  LoomStatus status = LOOM_STATUS_OK;
  guint device = instr->device;
  LoomStream *stream;

  if (row->kernel == NULL)
    device = loom_plan_value (exec->plan, instr->value[0])->location.device;
  stream = row->send != NULL ? exec->devices[device].arena->sends : exec->devices[device].arena->stream;
  for (guint i = 0; i < instr->n_sent && status == LOOM_STATUS_OK; i++)
    status = await (exec, device, stream, exec->rows[instr->sent[i]].send->over);
  if (row->send != NULL && status == LOOM_STATUS_OK)
    status = await_device (exec, device, stream, device);
  if (row->send != NULL && status == LOOM_STATUS_OK)
    status = await_device (exec, device, stream, row->send->to);
  return status;
}

LoomStatus
loom_exec_send (LoomExec *exec, const LoomExecRow *row)
{
  const LoomExecSend *send = row->send;
  const LoomPlanDevice *from = loom_plan_device (exec->plan, send->from);
  LoomStream *stream = exec->devices[send->from].arena->sends;
  LoomStatus status = from->backend->send (from->device, stream, loom_plan_device (exec->plan, send->to)->device,
                                           row->buffers[1], row->buffers[0], send->bytes, &exec->message);

  return status == LOOM_STATUS_OK ? record (exec, send->over, send->from, stream) : status;
}

LoomStatus
loom_exec_wait_for_others (LoomExec *exec, guint device)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint d = 0; d < loom_plan_n_devices (exec->plan) && status == LOOM_STATUS_OK; d++)
    if (d != device && exec->devices[d].arena->stream != NULL)
      status = await_device (exec, device, exec->devices[device].arena->stream, d);
  return status;
}

LoomStatus
loom_exec_release_others (LoomExec *exec, guint device)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint d = 0; d < loom_plan_n_devices (exec->plan) && status == LOOM_STATUS_OK; d++)
    if (d != device && exec->devices[d].arena->stream != NULL)
      status = await_device (exec, d, exec->devices[d].arena->stream, device);
  return status;
}

LoomStatus
loom_exec_join_streams (LoomExec *exec)
{
  const guint n = loom_plan_n_devices (exec->plan);
  guint first = n;
  LoomStatus status;

  for (guint d = 0; d < n; d++)
    if (exec->devices[d].arena->stream != NULL)
      {
        if (n > 1 && !exec->devices[d].gates_follow_all)
          return LOOM_STATUS_OK;
        first = MIN (first, d);
      }
  if (first == n)
    return LOOM_STATUS_OK;
  status = loom_exec_wait_for_others (exec, first);
  return status == LOOM_STATUS_OK ? loom_exec_release_others (exec, first) : status;
}

LoomStatus
loom_exec_end_sends (LoomExec *exec)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < exec->last_sends->len && status == LOOM_STATUS_OK; i++)
    {
      const LoomExecSend *send = &g_array_index (exec->last_sends, LoomExecSend, i);

      status = await (exec, send->from, exec->devices[send->from].arena->stream, send->over);
      if (status == LOOM_STATUS_OK)
        status = await (exec, send->to, exec->devices[send->to].arena->stream, send->over);
    }
  return status;
}
