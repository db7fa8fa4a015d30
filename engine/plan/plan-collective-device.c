/* Runs collectives on values in a device's memory: with the device's own communicator, on a separate stream. Events
 * order it with the compute stream, and several calls become one group.
 *
 * The sends and receives of pipeline stages after one time slot of the schedule are one group: NCCL's send waits for
 * its receive, and within a group neither side waits for the other's order. If GPUs cannot communicate, because NCCL is
 * missing or two ranks share a GPU, stages exchange through the host. */
#include "engine/plan/plan-collective-private.h"

/* Creates an event, with a timestamp for traces if the device's tools have such events. */
static LoomStatus
event_new (const LoomPlanDevice *d, LoomEvent **event, LoomMessage *message)
{
  if (*event != NULL)
    return LOOM_STATUS_OK;
  if (d->tools != NULL && d->tools->timed_event_new (d->device, event, message) == LOOM_STATUS_OK)
    return LOOM_STATUS_OK;
  return d->backend->event_new (d->device, event, message);
}

/* Opens the link, which all ranks do together. This is in the first step, which is never recorded and which all ranks
 * have agreed to begin. Of a group of transfers, the first one waits for the operands, and readers wait for the last
 * one. */
static LoomStatus
connect_device (Collective *c, LoomMessage *message)
{
  LoomStatus status = c->first == c ? event_new (c->device, &c->ready, message) : LOOM_STATUS_OK;

  if (status == LOOM_STATUS_OK && c->last == c)
    status = event_new (c->device, &c->over, message);
  if (status != LOOM_STATUS_OK)
    return status;
  c->link = plan_link_get (c->device, c->comm, message);
  if (c->link == NULL)
    return LOOM_STATUS_DEVICE;
  if (c->link->comm != NULL)
    c->comm = c->link->comm;
  else if (c->can_go_via_host)
    c->is_via_host = TRUE;
  else
    {
      *message = c->link->why_not;
      plan_link_put_back (g_steal_pointer (&c->link));
      return LOOM_STATUS_DEVICE;
    }
  return LOOM_STATUS_OK;
}

/* Closes the group even after an error, because an open group would absorb this thread's calls to the next
 * communicator. */
static LoomStatus
close_group (LoomComm *comm, LoomStatus status, LoomMessage *message)
{
  LoomMessage ignored;

  return status == LOOM_STATUS_OK ? comm->group (comm, FALSE, message) : (comm->group (comm, FALSE, &ignored), status);
}

static LoomStatus
exchange_group (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  LoomStatus status = LOOM_STATUS_OK;

  if (c->n < 2 && c->first == c->last)
    return c->exchange (c, buffers, message);
  if (c->first == c)
    status = comm->group (comm, TRUE, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = c->exchange (c, buffers, message);
  return status == LOOM_STATUS_OK && c->last != c ? status : close_group (comm, status, message);
}

/* ---- exchange through the host ------------------------------------------------ */

static gsize
host_buffer_bytes (const Collective *c)
{
  return c->count != NULL ? (gsize)c->count[0] * loom_dtype_size (c->dtype) : c->bytes;
}

static LoomStatus
alloc_host_buffer (Collective *c, LoomMessage *message)
{
  const LoomBackend *b = c->device->backend;
  const gsize bytes = MAX (host_buffer_bytes (c), 1);

  if (b->alloc_host != NULL)
    return b->alloc_host (c->device->device, bytes, &c->host_buffer, message);
  c->host_buffer = g_malloc (bytes);
  return LOOM_STATUS_OK;
}

/* Sends one value, receives one, or both. The host waits for the device until it has the value to send, or until the
 * previous step has read the host buffer. */
static LoomStatus
run_via_host (Collective *c, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const LoomBackend *b = c->device->backend;
  LoomDevice *device = c->device->device;
  const gsize bytes = host_buffer_bytes (c);
  LoomStatus status = c->host_buffer == NULL ? alloc_host_buffer (c, message) : LOOM_STATUS_OK;
  void *const letters[] = { c->host_buffer, c->host_buffer };

  if (status == LOOM_STATUS_OK && c->n > 0)
    status = b->copy (device, stream, c->host_buffer, buffers[0], bytes, LOOM_COPY_DEVICE_TO_HOST, message);
  if (status == LOOM_STATUS_OK)
    status = b->stream_sync (device, stream, message);
  if (status == LOOM_STATUS_OK)
    status = c->exchange (c, letters, message);
  if (status == LOOM_STATUS_OK && !c->is_send_only)
    status = b->copy (device, stream, buffers[c->n], c->host_buffer, bytes, LOOM_COPY_HOST_TO_DEVICE, message);
  return status;
}

/* ---- run and wait ------------------------------------------------------------- */

LoomStatus
plan_collective_run_on_device (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Collective *c = (Collective *)self;
  const LoomBackend *b = c->device->backend;
  LoomDevice *device = c->device->device;
  LoomStatus status = c->link == NULL ? connect_device (c, message) : LOOM_STATUS_OK;

  if (status != LOOM_STATUS_OK && c->first != c && c->first->link != NULL && c->first->link->comm != NULL)
    return close_group (c->first->comm, status, message);
  if (c->is_via_host)
    return run_via_host (c, stream, buffers, message);
  if (status == LOOM_STATUS_OK && c->first == c)
    status = b->event_record (device, c->ready, stream, message);
  if (status == LOOM_STATUS_OK && c->first == c)
    status = b->event_wait (device, c->link->stream, c->ready, message);
  if (status == LOOM_STATUS_OK)
    status = exchange_group (c, buffers, message);
  if (status != LOOM_STATUS_OK || c->last != c)
    return status;
  status = b->event_record (device, c->over, c->link->stream, message);
  return status == LOOM_STATUS_OK && !c->is_async ? b->event_wait (device, stream, c->over, message) : status;
}

LoomStatus
plan_collective_wait_on_device (const Collective *c, LoomStream *stream, LoomMessage *message)
{
  return c->is_via_host ? LOOM_STATUS_OK
                        : c->device->backend->event_wait (c->device->device, stream, c->last->over, message);
}

gboolean
plan_collective_syncs_host (const LoomKernel *kernel)
{
  return kernel->run == plan_collective_run_on_device && ((const Collective *)kernel)->is_via_host;
}

const char *
plan_collective_why_via_host (const LoomKernel *kernel)
{
  return plan_collective_syncs_host (kernel) ? ((const Collective *)kernel)->link->why_not.text : NULL;
}

void
plan_collective_close_device (Collective *c)
{
  if (c->host_buffer != NULL && c->device->backend->alloc_host != NULL)
    c->device->backend->free_host (c->device->device, c->host_buffer);
  else
    g_free (c->host_buffer);
  if (c->ready != NULL)
    c->device->backend->event_free (c->device->device, c->ready);
  if (c->over != NULL)
    c->device->backend->event_free (c->device->device, c->over);
  plan_link_put_back (c->link);
}

/* ---- groups of transfers ------------------------------------------------------ */

int
plan_collective_exchange_slot (const LoomKernel *kernel)
{
  return kernel->run == plan_collective_run_on_device ? ((const Collective *)kernel)->exchange_slot : 0;
}

void
plan_collective_set_group (LoomKernel *kernel, LoomKernel *first, LoomKernel *last)
{
  Collective *c = (Collective *)kernel;

  c->first = (Collective *)first;
  c->last = (Collective *)last;
}
