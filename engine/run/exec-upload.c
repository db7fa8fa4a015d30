/* Uploads the inputs of a device with its own memory, and downloads small results.
 *
 * A batch is copied to page-locked memory, uploaded from there on the arena's second stream to the staging area, and
 * copied within the device by the next step (engine/plan/loom-plan.h). So the upload overlaps with the previous step,
 * and the caller's memory can be reused as soon as loom_exec_upload() returns. Small results are adjacent in memory and
 * are downloaded by one copy after each step. Both halves of page-locked memory are used in turn. */
#include "engine/core/loom-bytes.h"
#include "engine/run/run-private.h"

#include <string.h>

static LoomStatus
new_events (const LoomPlanDevice *device, LoomExecTransit *transit, LoomMessage *message)
{
  LoomEvent **event[] = { &transit->lifted[0], &transit->lifted[1], &transit->taken };
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < G_N_ELEMENTS (event) && status == LOOM_STATUS_OK; i++)
    status = device->backend->event_new (device->device, event[i], message);
  return status;
}

gboolean
loom_exec_transit_new (LoomExec *exec, guint d, GError **error)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, d);
  LoomExecTransit *transit = &exec->devices[d].transit;
  LoomStatus status = LOOM_STATUS_OK;
  void *memory = NULL;
  gsize bytes;

  transit->up_bytes = loom_plan_staging (exec->plan, d).bytes;
  transit->down_bytes = loom_plan_results (exec->plan, d).bytes;
  /* Without streams or page-locked memory, inputs and results are copied when they are needed. */
  if (device->backend->alloc_host == NULL || exec->devices[d].arena->stream == NULL)
    transit->up_bytes = transit->down_bytes = 0;
  bytes = 2 * (transit->up_bytes + transit->down_bytes);
  if (bytes == 0)
    return TRUE;
  status = device->backend->alloc_host (device->device, bytes, &memory, &exec->message);
  if (status == LOOM_STATUS_OUT_OF_MEMORY)
    {
      g_autofree char *size = loom_bytes_to_string ((double)bytes);

      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY,
          "A step needs %s of page-locked memory for copies to and from %s, which could not allocate them (%s). Other "
          "programs may have taken that memory: start again, or use a smaller batch or another device.",
          size, device->name, exec->message.text);
      exec->message.text[0] = '\0';
      return FALSE;
    }
  if (status == LOOM_STATUS_OK)
    {
      transit->up = memory;
      transit->down = transit->up + 2 * transit->up_bytes;
      status = new_events (device, transit, &exec->message);
    }
  return status == LOOM_STATUS_OK || loom_exec_status_error (exec, NULL, status, error);
}

void
loom_exec_transit_free (LoomExec *exec, guint d)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, d);
  LoomExecTransit *transit = &exec->devices[d].transit;
  LoomArena *arena = exec->devices[d].arena;
  LoomEvent *event[] = { transit->lifted[0], transit->lifted[1], transit->taken };
  LoomMessage ignored;

  if (transit->up == NULL)
    return;
  /* An upload that no step has consumed may still be in progress. */
  device->backend->stream_sync (device->device, arena->uploads, &ignored);
  for (guint i = 0; i < G_N_ELEMENTS (event); i++)
    if (event[i] != NULL)
      device->backend->event_free (device->device, event[i]);
  device->backend->free_host (device->device, transit->up);
}

/* TRUE if the host can continue as soon as a step is enqueued: within a step it neither waits for a device or for gates
 * of another back end, nor reads inputs in place. A rank without inputs continues like the others. */
static gboolean
is_ahead (const LoomExec *exec)
{
  if (!exec->all_gates_follow)
    return FALSE;
  for (guint i = 0; i < exec->n_rows; i++)
    if (exec->rows[i].kernel == NULL && exec->rows[i].send == NULL)
      return FALSE;
  for (guint i = 0; i < exec->n_feeds; i++)
    if (exec->feeds[i].used && exec->feeds[i].bytes > 0 && exec->devices[exec->feeds[i].device].transit.up_bytes == 0)
      return FALSE;
  return TRUE;
}

void
loom_exec_find_ahead (LoomExec *exec)
{
  exec->is_ahead = is_ahead (exec);
}

gboolean
loom_exec_can_upload (const LoomExec *exec)
{
  return exec->is_ahead;
}

/* ---- up ------------------------------------------------------------------ */

/* Uploads all inputs of a device by one copy, after the last upload was consumed. */
static LoomStatus
lift (LoomExec *exec, guint d)
{
  LoomExecDevice *of = &exec->devices[d];
  LoomExecTransit *transit = &of->transit;
  const LoomPlanDevice *device = of->arena->device;
  const LoomBackend *b = device->backend;
  LoomMessage *message = &exec->message;
  const guint half = transit->half ^ 1;
  char *from = transit->up + half * transit->up_bytes;
  LoomStatus status = b->event_sync (device->device, transit->lifted[half], message);

  if (status != LOOM_STATUS_OK)
    return status;
  for (guint i = 0; i < loom_plan_n_uploads (exec->plan); i++)
    {
      const LoomPlanUpload *upload = loom_plan_upload (exec->plan, i);

      if (upload->device == d && upload->bytes > 0)
        memcpy (from + upload->offset, exec->feeds[upload->input].fed, upload->bytes);
    }
  status = b->event_wait (device->device, of->arena->uploads, transit->taken, message);
  if (status == LOOM_STATUS_OK)
    status = b->copy (device->device, of->arena->uploads, (char *)of->once + loom_plan_staging (exec->plan, d).offset,
                      from, transit->up_bytes, LOOM_COPY_HOST_TO_DEVICE, message);
  if (status == LOOM_STATUS_OK)
    status = b->event_record (device->device, transit->lifted[half], of->arena->uploads, message);
  if (status != LOOM_STATUS_OK)
    return status;
  transit->half = half;
  transit->is_up = TRUE;
  return LOOM_STATUS_OK;
}

static LoomStatus
take (LoomExec *exec, guint d)
{
  LoomExecDevice *of = &exec->devices[d];
  LoomExecTransit *transit = &of->transit;
  const LoomPlanDevice *device = of->arena->device;
  const LoomBackend *b = device->backend;
  LoomMessage *message = &exec->message;
  const char *staging = (const char *)of->once + loom_plan_staging (exec->plan, d).offset;
  LoomStatus status = b->event_wait (device->device, of->arena->stream, transit->lifted[transit->half], message);

  transit->is_up = FALSE;
  for (guint i = 0; i < loom_plan_n_uploads (exec->plan) && status == LOOM_STATUS_OK; i++)
    {
      const LoomPlanUpload *upload = loom_plan_upload (exec->plan, i);

      if (upload->device == d && upload->bytes > 0)
        status = b->copy (device->device, of->arena->stream, exec->feeds[upload->input].place, staging + upload->offset,
                          upload->bytes, LOOM_COPY_WITHIN, message);
    }
  return status != LOOM_STATUS_OK ? status
                                  : b->event_record (device->device, transit->taken, of->arena->stream, message);
}

gboolean
loom_exec_upload (LoomExec *exec, GError **error)
{
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      const LoomExecTransit *transit = &exec->devices[d].transit;
      LoomStatus status;

      if (transit->up_bytes == 0 || transit->is_up)
        continue;
      status = lift (exec, d);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
    }
  return TRUE;
}

/* Inputs of a host device are read in place, or copied if a kernel needs a fixed address. */
static LoomStatus
copy_feed (LoomExec *exec, const LoomExecFeed *feed)
{
  const LoomPlanDevice *device = loom_plan_device (exec->plan, feed->device);

  if (!device->info.host_memory)
    return device->backend->copy (device->device, exec->devices[feed->device].arena->stream, feed->place, feed->fed,
                                  feed->bytes, LOOM_COPY_HOST_TO_DEVICE, &exec->message);
  memcpy (feed->place, feed->fed, feed->bytes);
  return LOOM_STATUS_OK;
}

gboolean
loom_exec_take_feeds (LoomExec *exec, GError **error)
{
  for (guint i = 0; i < exec->n_feeds; i++)
    {
      const LoomExecFeed *feed = &exec->feeds[i];
      LoomStatus status;

      if (feed->place == NULL || feed->bytes == 0 || exec->devices[feed->device].transit.up_bytes > 0)
        continue;
      status = copy_feed (exec, feed);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
    }
  if (!loom_exec_upload (exec, error))
    return FALSE;
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomStatus status = exec->devices[d].transit.is_up ? take (exec, d) : LOOM_STATUS_OK;

      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
    }
  return TRUE;
}

/* ---- down ------------------------------------------------------------------ */

gboolean
loom_exec_fetch_results (LoomExec *exec, GError **error)
{
  exec->is_read = FALSE;
  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomExecDevice *of = &exec->devices[d];
      LoomExecTransit *transit = &of->transit;
      const LoomPlanDevice *device = of->arena->device;
      LoomStatus status;

      if (transit->down_bytes == 0)
        continue;
      transit->down_half ^= 1;
      status = device->backend->copy (device->device, of->arena->stream,
                                      transit->down + transit->down_half * transit->down_bytes,
                                      (const char *)of->arena->memory + loom_plan_results (exec->plan, d).offset,
                                      transit->down_bytes, LOOM_COPY_DEVICE_TO_HOST, &exec->message);
      if (status != LOOM_STATUS_OK)
        return loom_exec_status_error (exec, NULL, status, error);
      transit->down_step[transit->down_half] = loom_exec_step_number (exec);
      transit->read_half = transit->down_half;
    }
  exec->has_results = TRUE;
  return TRUE;
}

gboolean
loom_exec_keeps_output (const LoomExec *exec, guint output)
{
  return exec->is_ahead && exec->devices[exec->outputs[output].value->location.device].transit.down_bytes > 0
         && loom_plan_is_result (exec->plan, output);
}

gboolean
loom_exec_select_step (LoomExec *exec, gint64 step)
{
  gboolean has_any = FALSE;

  for (guint d = 0; d < loom_plan_n_devices (exec->plan); d++)
    {
      LoomExecTransit *transit = &exec->devices[d].transit;

      if (transit->down_bytes == 0)
        continue;
      if (transit->down_step[0] != step && transit->down_step[1] != step)
        return FALSE;
      transit->read_half = transit->down_step[1] == step;
      has_any = TRUE;
    }
  if (has_any)
    exec->has_results = exec->is_read = TRUE;
  return has_any;
}

const void *
loom_exec_result_at (const LoomExec *exec, const LoomPlanValue *value)
{
  const LoomLocation *at = &value->location;
  const LoomExecTransit *transit = &exec->devices[at->device].transit;
  LoomPlanArea area = loom_plan_results (exec->plan, at->device);

  if (!exec->has_results || at->kind != LOOM_LOCATION_ARENA || transit->down_bytes == 0 || at->offset < area.offset
      || at->offset + loom_desc_bytes (&value->desc) > area.offset + area.bytes)
    return NULL;
  return transit->down + transit->read_half * transit->down_bytes + (at->offset - area.offset);
}
