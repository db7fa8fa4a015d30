/* Makes the kernels of collectives, which call the plan's communicator with the values' addresses.
 *
 * Each message has a fixed cost, so small values that are exchanged together are packed in scratch memory and sent in
 * one call. Large ones are exchanged in place. */
#include "engine/plan/plan-collective-private.h"
#include "engine/plan/plan-private.h"

#include <string.h>

#define LARGE (64 * 1024) /* bytes from which on a value is exchanged in its own call */

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

static LoomCommShard
part (const Collective *c, gint64 count, int rank)
{
  return loom_comm_shard (count, rank, c->comm->size);
}

/* The size of each rank's shard of one value, in elements times `unit`. */
static const gint64 *
parts_of (Collective *c, gint64 count, gint64 unit)
{
  for (int r = 0; r < c->comm->size; r++)
    c->by_rank[r] = part (c, count, r).count * unit;
  return c->by_rank;
}

/* The size of each rank's shards of all small values together. */
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

/* Copies rank's shards of the small values to `at`, and returns the end. values_are_parts: `values` are these shards
 * instead of the unsharded values. */
static char *
pack (const Collective *c, char *at, void *const *values, int rank, gboolean values_are_parts)
{
  for (guint k = 0; k < c->n; k++)
    if (is_packed (c, k))
      {
        LoomCommShard p = part (c, c->count[k], rank);

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
        LoomCommShard p = part (c, c->count[k], rank);

        copy_bytes ((char *)values[k] + (values_are_parts ? 0 : (gsize)p.first * element (c)), at, p.count, c);
        at += (gsize)p.count * element (c);
      }
  return at;
}

static LoomStatus
all_reduce (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  char *packing = c->packed > 0 ? buffers[2 * c->n] : NULL, *to = packing;
  const char *from = packing;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = 0; k < c->n && status == LOOM_STATUS_OK; k++)
    if (!is_packed (c, k))
      status = comm->all_reduce (comm, buffers[k], buffers[c->n + k], c->count[k], c->dtype, c->op, message);
  if (status != LOOM_STATUS_OK || c->packed == 0)
    return status;
  for (int r = 0; r < comm->size; r++)
    to = pack (c, to, buffers, r, FALSE);
  status = comm->all_reduce (comm, packing, packing, c->packed, c->dtype, c->op, message);
  for (int r = 0; r < comm->size && status == LOOM_STATUS_OK; r++)
    from = unpack (c, from, buffers + c->n, r, FALSE);
  return status;
}

static LoomStatus
reduce_scatter (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  char *packing = c->packed > 0 ? buffers[2 * c->n] : NULL, *to = packing, *own = packing;
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
  status = comm->reduce_scatter (comm, packing, own, packed_parts (c, 1), c->dtype, c->op, message);
  if (status == LOOM_STATUS_OK)
    unpack (c, own, buffers + c->n, comm->rank, TRUE);
  return status;
}

static LoomStatus
unshard (Collective *c, void *const *buffers, LoomMessage *message)
{
  LoomComm *comm = c->comm;
  char *packing = c->packed > 0 ? buffers[2 * c->n] : NULL, *own = packing;
  const char *from = packing;
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
  status = comm->all_gather (comm, own, packing, c->by_rank, message);
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
  if (buffers[1] != buffers[0] && c->link == NULL)
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

/* ---- calls on the communication thread ---------------------------------------- */

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
  plan_comm_thread_wait (c->lane, &c->job, NULL); /* a failed step may have left the job running */
  c->buffers = buffers;
  plan_comm_thread_post (c->lane, &c->job);
  return c->is_async ? LOOM_STATUS_OK : plan_comm_thread_wait (c->lane, &c->job, message);
}

/* ---- overlap with the computation ---------------------------------------- */

void
plan_collective_drain (LoomKernel *kernel)
{
  Collective *c = (Collective *)kernel;

  if (kernel->run == run && c->lane != NULL)
    plan_comm_thread_wait (c->lane, &c->job, NULL);
}

void
plan_collective_set_lane (LoomKernel *kernel, PlanCommThread *lane)
{
  Collective *c = (Collective *)kernel;

  c->lane = plan_comm_thread_ref (lane);
  c->job = (PlanCommJob){ .run = run_job, .data = c };
}

typedef struct
{
  LoomKernel base;
  PlanCommThread *lane;
  PlanCommJob *job;
  const Collective *of; /* the collective to wait for */
} Wait;

static LoomStatus
run_wait_on_device (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  return plan_collective_wait_on_device (((Wait *)self)->of, stream, message);
}

static LoomStatus
run_wait (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Wait *wait = (Wait *)self;

  return plan_comm_thread_wait (wait->lane, wait->job, message);
}

static void
wait_free (LoomKernel *self)
{
  plan_comm_thread_unref (((Wait *)self)->lane);
  g_free (self);
}

LoomKernel *
plan_collective_make_async (LoomKernel *kernel)
{
  Collective *c = (Collective *)kernel;
  Wait *wait = g_new0 (Wait, 1);

  c->is_async = TRUE;
  wait->base = (LoomKernel){ .run = c->device != NULL ? run_wait_on_device : run_wait,
                             .free = wait_free,
                             .name = "until it is over" };
  wait->of = c;
  wait->lane = c->lane != NULL ? plan_comm_thread_ref (c->lane) : NULL;
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

gboolean
loom_plan_exchanges (const LoomPlanInstr *instr)
{
  const LoomPrim *prim = instr->primitive != NULL ? loom_prim (instr->primitive) : NULL;

  return prim != NULL && (prim->flags & LOOM_PRIM_COLLECTIVE) != 0;
}

gboolean
loom_plan_exchange_times (const LoomPlanInstr *instr, LoomPlanExchange *times)
{
  const Collective *c = (const Collective *)instr->kernel;

  if (instr->until == G_MAXUINT || instr->is_send || c->is_via_host)
    return FALSE;
  *times = c->device != NULL ? (LoomPlanExchange){ .ready = c->first->ready, .over = c->last->over }
                             : (LoomPlanExchange){ .begin = c->job.begin, .end = c->job.end };
  return TRUE;
}

static void
collective_free (LoomKernel *self)
{
  Collective *c = (Collective *)self;

  plan_collective_drain (self);
  plan_comm_thread_unref (c->lane);
  if (c->device != NULL)
    plan_collective_close_device (c);
  g_free (c->count);
  g_free (c->by_rank);
  g_free (c->name);
  g_free (c);
}

/* Allocates the arrays for n values with these unsharded shapes. */
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
  c->exchange_slot = attrs->exchange_slot;
  c->n = (guint)spec->n_in;
  c->bytes = loom_desc_bytes (spec->n_in > 0 ? &spec->in[0] : &spec->out[0]);
  c->exchange = exchange;
}

static void
prepare_send (Collective *c, const LoomKernelSpec *spec)
{
  prepare_transfer (c, spec, send);
  c->is_send_only = TRUE;
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

LoomKernel *
plan_collective_new (const LoomMesh *mesh, const LoomPlanDevice *device, const LoomPrim *prim,
                     const LoomKernelSpec *spec, LoomMessage *message)
{
  const LoomMeshAxis along = loom_collective_along (prim, spec->attrs);
  LoomComm *comm = mesh != NULL ? mesh->along[along] : NULL;
  const gboolean on_host = device->info.host_memory;
  Collective *c;

  if (comm == NULL)
    {
      g_snprintf (message->text, sizeof message->text, "the ranks have no communicator");
      return NULL;
    }
  c = g_new0 (Collective, 1);
  c->comm = comm;
  c->first = c->last = c;
  c->device = on_host ? NULL : device;
  c->can_go_via_host = along == LOOM_MESH_PIPELINE;
  c->dtype = spec->n_in > 0 ? spec->in[0].dtype : spec->out[0].dtype;
  c->by_rank = g_new0 (gint64, (gsize)comm->size + 1);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (prim->name, kinds[i].name))
      kinds[i].prepare (c, spec);
  c->name = g_strdup_printf ("%s, %d ranks", on_host ? comm->name : "nccl", comm->size);
  c->base.run = on_host ? run : plan_collective_run_on_device;
  c->base.free = collective_free;
  c->base.name = c->name;
  return &c->base;
}
