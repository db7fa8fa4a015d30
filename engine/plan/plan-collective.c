/* The kernels of collectives: the plan's communicator, called with the addresses of the values.
 *
 * A message costs as much as many bytes do, so small values that are exchanged together are laid one behind the other
 * in scratch memory, and one call serves all of them. Large ones are exchanged where they lie, without a copy.
 *
 * Values on a device with streams are exchanged by its own link, on a stream beside the one that computes; events order
 * the two, and the library makes one call of several. What a stage of a pipeline gives to another one goes by way of
 * the host: a send of NCCL waits for its receive, and schedules count on one that does not. */
#include "engine/plan/plan-lane.h"
#include "engine/plan/plan-link.h"
#include "engine/plan/plan-private.h"

#include "kernels/comm.h"

#include <string.h>

#define LARGE (64 * 1024) /* bytes from which on a value is exchanged by a call of its own */

typedef struct _Collective Collective;
struct _Collective
{
  LoomKernel base;
  LoomStatus (*exchange) (Collective *c, void *const *buffers, LoomMessage *message);
  LoomComm *comm;
  const LoomPlanDevice *device; /* in whose memory the values lie; NULL: in the host's */
  PlanLink *link;               /* of the device, from the first run() on */
  LoomEvent *ready, *over;      /* the values to exchange are there; they are exchanged */
  PlanLane *lane;               /* which makes the calls; NULL: they are made at once */
  PlanJob job;
  void *const *buffers; /* of the job */
  gboolean goes_ahead;  /* somebody else waits for the job, or for what is over */
  LoomDType dtype;
  LoomReduceOp op;
  guint n;         /* values */
  gint64 *count;   /* elements of each, whole */
  gint64 packed;   /* elements of all that are exchanged together */
  gint64 *by_rank; /* each rank's part of what is exchanged: elements or bytes */
  int peer, tag;   /* of what goes to one rank or comes from one */
  gsize bytes;     /* of that */
  void *letter;    /* of what goes by way of the host, page-locked where there is such memory */
  char *name;
};

static gsize
element (const Collective *c)
{
  return loom_dtype_size (c->dtype);
}

static gboolean
is_packed (const Collective *c, guint k)
{
  return c->n > 1 && c->device == NULL && (gsize)c->count[k] * element (c) < LARGE;
}

static LoomCommPart
part (const Collective *c, gint64 count, int rank)
{
  return loom_comm_part (count, rank, c->comm->size);
}

/* Every rank's part of one value, in units of so many bytes. */
static const gint64 *
parts_of (Collective *c, gint64 count, gint64 unit)
{
  for (int r = 0; r < c->comm->size; r++)
    c->by_rank[r] = part (c, count, r).count * unit;
  return c->by_rank;
}

/* The same of all small ones together. */
static const gint64 *
packed_parts (Collective *c, gint64 unit)
{
  memset (c->by_rank, 0, (gsize)c->comm->size * sizeof *c->by_rank);
  for (guint k = 0; k < c->n; k++)
    for (int r = 0; r < c->comm->size && is_packed (c, k); r++)
      c->by_rank[r] += part (c, c->count[k], r).count * unit;
  return c->by_rank;
}

static char *
copy_bytes (char *to, const void *from, gint64 count, const Collective *c)
{
  if (count > 0)
    memcpy (to, from, (gsize)count * element (c));
  return to + (gsize)count * element (c);
}

/* Small values to scratch memory or back, those of each rank together: all of them, or one rank's. */
static char *
pack (const Collective *c, char *at, void *const *values, int rank, gboolean values_are_parts)
{
  for (guint k = 0; k < c->n; k++)
    if (is_packed (c, k))
      {
        LoomCommPart p = part (c, c->count[k], rank);

        at = copy_bytes (at, (char *)values[k] + (values_are_parts ? 0 : (gsize)p.first * element (c)), p.count, c);
      }
  return at;
}

static const char *
unpack (const Collective *c, const char *at, void *const *values, int rank, gboolean values_are_parts)
{
  for (guint k = 0; k < c->n; k++)
    if (is_packed (c, k))
      {
        LoomCommPart p = part (c, c->count[k], rank);

        copy_bytes ((char *)values[k] + (values_are_parts ? 0 : (gsize)p.first * element (c)), at, p.count, c);
        at += (gsize)p.count * element (c);
      }
  return at;
}

static LoomStatus
all_reduce (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  char *room = c->packed > 0 ? buffers[2 * c->n] : NULL, *to = room;
  const char *from = room;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < c->n && status == LOOM_STATUS_OK; k++)
    if (!is_packed (c, k))
      status = comm->all_reduce (comm, buffers[k], buffers[c->n + k], c->count[k], c->dtype, c->op, message);
  if (status != LOOM_STATUS_OK || c->packed == 0)
    return status;
  for (int r = 0; r < comm->size; r++)
    to = pack (c, to, buffers, r, FALSE);
  status = comm->all_reduce (comm, room, room, c->packed, c->dtype, c->op, message);
  for (int r = 0; r < comm->size && status == LOOM_STATUS_OK; r++)
    from = unpack (c, from, buffers + c->n, r, FALSE);
  return status;
}

static LoomStatus
reduce_scatter (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  char *room = c->packed > 0 ? buffers[2 * c->n] : NULL, *to = room, *own = room;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < c->n && status == LOOM_STATUS_OK; k++)
    if (!is_packed (c, k))
      status = comm->reduce_scatter (comm, buffers[k], buffers[c->n + k], parts_of (c, c->count[k], 1), c->dtype, c->op,
                                     message);
  if (status != LOOM_STATUS_OK || c->packed == 0)
    return status;
  for (int r = 0; r < comm->size; r++)
    {
      own = r == comm->rank ? to : own;
      to = pack (c, to, buffers, r, FALSE);
    }
  status = comm->reduce_scatter (comm, room, own, packed_parts (c, 1), c->dtype, c->op, message);
  if (status == LOOM_STATUS_OK)
    unpack (c, own, buffers + c->n, comm->rank, TRUE);
  return status;
}

static LoomStatus
unshard (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  char *room = c->packed > 0 ? buffers[2 * c->n] : NULL, *own = room;
  const char *from = room;
  gint64 bytes = (gint64)element (c);
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < c->n && status == LOOM_STATUS_OK; k++)
    if (!is_packed (c, k))
      status = comm->all_gather (comm, buffers[k], buffers[c->n + k], parts_of (c, c->count[k], bytes), message);
  if (status != LOOM_STATUS_OK || c->packed == 0)
    return status;
  packed_parts (c, bytes);
  for (int r = 0; r < comm->rank; r++)
    own += c->by_rank[r];
  pack (c, own, buffers, comm->rank, TRUE);
  status = comm->all_gather (comm, own, room, c->by_rank, message);
  for (int r = 0; r < comm->size && status == LOOM_STATUS_OK; r++)
    from = unpack (c, from, buffers + c->n, r, FALSE);
  return status;
}

static LoomStatus
all_gather (Collective *c, void *const *buffers, LoomMessage *message)
{
  return c->comm->all_gather (c->comm, buffers[0], buffers[1], c->by_rank, message);
}

static LoomStatus
send (Collective *c, void *const *buffers, LoomMessage *message)
{
  return c->comm->send (c->comm, buffers[0], (int64_t)c->bytes, c->peer, c->tag, message);
}

static LoomStatus
receive (Collective *c, void *const *buffers, LoomMessage *message)
{
  return c->comm->receive (c->comm, buffers[0], (int64_t)c->bytes, c->peer, c->tag, message);
}

static LoomStatus
broadcast (Collective *c, void *const *buffers, LoomMessage *message)
{
  if (c->n == 0)
    return c->comm->broadcast (c->comm, buffers[0], (int64_t)c->bytes, c->peer, message);
  if (buffers[1] != buffers[0] && c->device == NULL)
    memcpy (buffers[1], buffers[0], c->bytes);
  else if (buffers[1] != buffers[0])
    {
      LoomStatus status = c->device->backend->copy (c->device->device, c->link->stream, buffers[1], buffers[0],
                                                    c->bytes, LOOM_COPY_WITHIN, message);

      if (status != LOOM_STATUS_OK)
        return status;
    }
  return c->comm->broadcast (c->comm, buffers[1], (int64_t)c->bytes, c->peer, message);
}

/* ---- the lane ------------------------------------------------------------- */

static LoomStatus
run_job (gpointer data, LoomMessage *message)
{
  Collective *c = data;

  return c->exchange (c, c->buffers, message);
}

static LoomStatus
run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Collective *c = (Collective *)self;

  if (c->lane == NULL)
    return c->exchange (c, buffers, message);
  plan_lane_wait (c->lane, &c->job, NULL); /* of a step that has failed before it came to wait */
  c->buffers = buffers;
  plan_lane_post (c->lane, &c->job);
  return c->goes_ahead ? LOOM_STATUS_OK : plan_lane_wait (c->lane, &c->job, message);
}

/* ---- on a device --------------------------------------------------------- */

/* At the first step, which is never recorded: ranks make a link together, and have agreed to begin by then. */
static LoomStatus
join_device (Collective *c, LoomMessage *message)
{
  const LoomBackend *b = c->device->backend;
  LoomStatus status = LOOM_STATUS_OK;

  if (c->ready == NULL)
    status = b->event_new (c->device->device, &c->ready, message);
  if (status == LOOM_STATUS_OK && c->over == NULL)
    status = b->event_new (c->device->device, &c->over, message);
  if (status != LOOM_STATUS_OK)
    return status;
  c->link = plan_link_get (c->device, c->comm, message);
  if (c->link == NULL)
    return LOOM_STATUS_DEVICE;
  c->comm = c->link->comm;
  return LOOM_STATUS_OK;
}

static LoomStatus
exchange_as_one (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  LoomMessage ignored;
  LoomStatus status;

  if (c->n < 2)
    return c->exchange (c, buffers, message);
  status = comm->group (comm, TRUE, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = c->exchange (c, buffers, message);
  /* A group that is left open would take up what this thread asks of the next communicator. */
  return status == LOOM_STATUS_OK ? comm->group (comm, FALSE, message) : (comm->group (comm, FALSE, &ignored), status);
}

static LoomStatus
run_on_device (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Collective *c = (Collective *)self;
  const LoomBackend *b = c->device->backend;
  LoomDevice *device = c->device->device;
  LoomStatus status = c->link == NULL ? join_device (c, message) : LOOM_STATUS_OK;

  if (status == LOOM_STATUS_OK)
    status = b->event_record (device, c->ready, stream, message);
  if (status == LOOM_STATUS_OK)
    status = b->event_wait (device, c->link->stream, c->ready, message);
  if (status == LOOM_STATUS_OK)
    status = exchange_as_one (c, buffers, message);
  if (status == LOOM_STATUS_OK)
    status = b->event_record (device, c->over, c->link->stream, message);
  return status == LOOM_STATUS_OK && !c->goes_ahead ? b->event_wait (device, stream, c->over, message) : status;
}

/* ---- by way of the host ---------------------------------------------------- */

static LoomStatus
open_letter (Collective *c, LoomMessage *message)
{
  const LoomBackend *b = c->device->backend;

  if (b->alloc_host != NULL)
    return b->alloc_host (c->device->device, MAX (c->bytes, 1), &c->letter, message);
  c->letter = g_malloc (MAX (c->bytes, 1));
  return LOOM_STATUS_OK;
}

/* The host waits for the device: of a send, until it has the value, of a receive, until the letter is free that it has
 * of the step before. */
static LoomStatus
run_by_host (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Collective *c = (Collective *)self;
  const LoomBackend *b = c->device->backend;
  LoomDevice *device = c->device->device;
  const gboolean sends = c->exchange == send;
  LoomStatus status = c->letter == NULL ? open_letter (c, message) : LOOM_STATUS_OK;

  if (status == LOOM_STATUS_OK && sends)
    status = b->copy (device, stream, c->letter, buffers[0], c->bytes, LOOM_COPY_DEVICE_TO_HOST, message);
  if (status == LOOM_STATUS_OK)
    status = b->stream_sync (device, stream, message);
  if (status == LOOM_STATUS_OK)
    status = c->exchange (c, &c->letter, message);
  if (status == LOOM_STATUS_OK && !sends)
    status = b->copy (device, stream, buffers[0], c->letter, c->bytes, LOOM_COPY_HOST_TO_DEVICE, message);
  return status;
}

gboolean
plan_collective_waits (const LoomKernel *kernel)
{
  return kernel->run == run_by_host;
}

static void
leave_device (Collective *c)
{
  if (c->letter != NULL && c->device->backend->alloc_host != NULL)
    c->device->backend->free_host (c->device->device, c->letter);
  else
    g_free (c->letter);
  if (c->ready != NULL)
    c->device->backend->event_free (c->device->device, c->ready);
  if (c->over != NULL)
    c->device->backend->event_free (c->device->device, c->over);
  plan_link_put_back (c->link);
}

/* ---- beside the computation ---------------------------------------------- */

void
plan_collective_settle (LoomKernel *kernel)
{
  Collective *c = (Collective *)kernel;

  if (kernel->run == run && c->lane != NULL)
    plan_lane_wait (c->lane, &c->job, NULL);
}

void
plan_collective_set_lane (LoomKernel *kernel, PlanLane *lane)
{
  Collective *c = (Collective *)kernel;

  c->lane = plan_lane_ref (lane);
  c->job = (PlanJob){ .run = run_job, .data = c };
}

typedef struct
{
  LoomKernel base;
  PlanLane *lane;
  PlanJob *job;
  const Collective *of; /* on a device */
} Wait;

static LoomStatus
run_wait_on_device (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  const Collective *c = ((Wait *)self)->of;

  return c->device->backend->event_wait (c->device->device, stream, c->over, message);
}

static LoomStatus
run_wait (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Wait *wait = (Wait *)self;

  return plan_lane_wait (wait->lane, wait->job, message);
}

static void
wait_free (LoomKernel *self)
{
  plan_lane_unref (((Wait *)self)->lane);
  g_free (self);
}

LoomKernel *
plan_collective_go_ahead (LoomKernel *kernel)
{
  Collective *c = (Collective *)kernel;
  Wait *wait = g_new0 (Wait, 1);

  c->goes_ahead = TRUE;
  wait->base = (LoomKernel){ .run = c->device != NULL ? run_wait_on_device : run_wait,
                             .free = wait_free,
                             .name = "until it is over" };
  wait->of = c;
  wait->lane = c->lane != NULL ? plan_lane_ref (c->lane) : NULL;
  wait->job = &c->job;
  return &wait->base;
}

gboolean
loom_plan_ranks_have_ended (const LoomPlanInstr *instr)
{
  LoomKernel *kernel = instr->kernel;
  const Collective *c
      = kernel->run == run_wait || kernel->run == run_wait_on_device ? ((Wait *)kernel)->of : (Collective *)kernel;

  return c->comm->has_ended (c->comm);
}

static void
collective_free (LoomKernel *self)
{
  Collective *c = (Collective *)self;

  plan_collective_settle (self);
  plan_lane_unref (c->lane);
  if (c->device != NULL)
    leave_device (c);
  g_free (c->count);
  g_free (c->by_rank);
  g_free (c->name);
  g_free (c);
}

/* n values whose whole shapes these are. */
static void
prepare_values (Collective *c, guint n, const LoomTensorDesc *whole)
{
  c->n = n;
  c->count = g_new0 (gint64, n + 1);
  for (guint k = 0; k < n; k++)
    c->count[k] = (gint64)loom_desc_count (&whole[k]);
  for (guint k = 0; k < n; k++)
    c->packed += is_packed (c, k) ? c->count[k] : 0;
  c->base.scratch_bytes = (gsize)c->packed * element (c);
}

static void
prepare_all_reduce (Collective *c, const LoomKernelSpec *spec)
{
  const LoomAllReduceAttrs *attrs = spec->attrs;

  c->op = attrs->op;
  prepare_values (c, attrs->n, spec->in);
  c->exchange = all_reduce;
  for (guint k = 0; k < MIN (c->n, LOOM_EW_MAX_OUT); k++)
    c->base.inplace[k] = 1u << k;
}

static void
prepare_reduce_scatter (Collective *c, const LoomKernelSpec *spec)
{
  const LoomReduceScatterAttrs *attrs = spec->attrs;

  c->op = attrs->op;
  prepare_values (c, attrs->n, spec->in);
  c->exchange = reduce_scatter;
}

static void
prepare_unshard (Collective *c, const LoomKernelSpec *spec)
{
  prepare_values (c, ((const LoomUnshardTo *)spec->attrs)->n, spec->out);
  c->exchange = unshard;
}

static void
prepare_all_gather (Collective *c, const LoomKernelSpec *spec)
{
  const LoomAllGatherTo *attrs = spec->attrs;

  parts_of (c, attrs->samples, (gint64)loom_desc_bytes (&spec->out[0]) / attrs->samples);
  c->exchange = all_gather;
}

static void
prepare_transfer (Collective *c, const LoomKernelSpec *spec,
                  LoomStatus (*exchange) (Collective *, void *const *, LoomMessage *))
{
  const LoomTransferAttrs *attrs = spec->attrs;

  c->peer = attrs->rank;
  c->tag = attrs->tag;
  c->n = (guint)spec->n_in;
  c->bytes = loom_desc_bytes (spec->n_in > 0 ? &spec->in[0] : &spec->out[0]);
  c->exchange = exchange;
}

static void
prepare_send (Collective *c, const LoomKernelSpec *spec)
{
  prepare_transfer (c, spec, send);
}

static void
prepare_receive (Collective *c, const LoomKernelSpec *spec)
{
  prepare_transfer (c, spec, receive);
}

static void
prepare_broadcast (Collective *c, const LoomKernelSpec *spec)
{
  prepare_transfer (c, spec, broadcast);
  c->base.inplace[0] = 1u;
}

static const struct
{
  const char *name;
  void (*prepare) (Collective *c, const LoomKernelSpec *spec);
} kinds[] = { { "all_reduce", prepare_all_reduce },
              { "reduce_scatter", prepare_reduce_scatter },
              { "unshard", prepare_unshard },
              { "all_gather", prepare_all_gather },
              { "send", prepare_send },
              { "receive", prepare_receive },
              { "broadcast", prepare_broadcast },
              { "stage_reduce", prepare_all_reduce } };

/* From one rank to another. */
static gboolean
is_transfer (const LoomPrim *prim)
{
  return g_str_equal (prim->name, "send") || g_str_equal (prim->name, "receive");
}

LoomKernel *
work_collective_new (const LoomMesh *mesh, const LoomPlanDevice *device, const LoomPrim *prim,
                     const LoomKernelSpec *spec, LoomMessage *message)
{
  LoomComm *comm = mesh != NULL ? mesh->along[loom_collective_along (prim, spec->attrs)] : NULL;
  Collective *c;

  const gboolean on_host = device->info.host_memory, by_host = !on_host && is_transfer (prim);

  if (comm == NULL)
    {
      g_snprintf (message->text, sizeof message->text, "the ranks have no way to exchange values");
      return NULL;
    }
  c = g_new0 (Collective, 1);
  c->comm = comm;
  c->device = on_host ? NULL : device;
  c->dtype = spec->n_in > 0 ? spec->in[0].dtype : spec->out[0].dtype;
  c->by_rank = g_new0 (gint64, (gsize)comm->size + 1);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (prim->name, kinds[i].name))
      kinds[i].prepare (c, spec);
  c->name = g_strdup_printf ("%s, %d ranks", on_host ? comm->name : by_host ? "by the host" : "nccl", comm->size);
  c->base.run = on_host ? run : by_host ? run_by_host : run_on_device;
  c->base.free = collective_free;
  c->base.name = c->name;
  return &c->base;
}
