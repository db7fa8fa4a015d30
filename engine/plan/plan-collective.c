/* The kernel of a collective: the plan's communicator, called with the addresses of the values.
 *
 * Values that are exchanged together are laid one behind the other in scratch memory, so that one call serves all: a
 * message costs as much as many bytes do. What is alone is exchanged where it lies. */
#include "engine/plan/plan-private.h"

#include "kernels/comm.h"

#include <string.h>

typedef struct
{
  LoomKernel base;
  LoomComm *comm;
  LoomDType dtype;
  LoomReduceOp op;
  guint n;         /* values */
  gsize *bytes;    /* of each */
  gint64 count;    /* elements of all */
  gint64 *by_rank; /* all_gather: bytes of each rank's part */
  char *name;
} Collective;

static LoomStatus
run_all_reduce (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Collective *c = (Collective *)self;
  char *pack = c->n > 1 ? buffers[2 * c->n] : NULL, *at = pack;
  LoomStatus status;

  if (c->n == 1)
    return c->comm->all_reduce (c->comm, buffers[0], buffers[1], c->count, c->dtype, c->op, message);
  for (guint k = 0; k < c->n; at += c->bytes[k++])
    if (c->bytes[k] > 0)
      memcpy (at, buffers[k], c->bytes[k]);
  status = c->comm->all_reduce (c->comm, pack, pack, c->count, c->dtype, c->op, message);
  at = pack;
  for (guint k = 0; k < c->n && status == LOOM_STATUS_OK; at += c->bytes[k++])
    if (c->bytes[k] > 0)
      memcpy (buffers[c->n + k], at, c->bytes[k]);
  return status;
}

static LoomStatus
run_all_gather (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Collective *c = (Collective *)self;

  return c->comm->all_gather (c->comm, buffers[0], buffers[1], c->by_rank, message);
}

static void
collective_free (LoomKernel *self)
{
  Collective *c = (Collective *)self;

  g_free (c->bytes);
  g_free (c->by_rank);
  g_free (c->name);
  g_free (c);
}

static void
prepare_all_reduce (Collective *c, const LoomAllReduceAttrs *attrs, const LoomKernelSpec *spec)
{
  gsize all = 0;

  c->op = attrs->op;
  c->n = attrs->n;
  c->bytes = g_new0 (gsize, c->n + 1);
  for (guint k = 0; k < c->n; k++)
    {
      c->bytes[k] = loom_desc_bytes (&spec->in[k]);
      c->count += loom_desc_count (&spec->in[k]);
      all += c->bytes[k];
    }
  c->base.run = run_all_reduce;
  c->base.scratch_bytes = c->n > 1 ? MAX (all, 1) : 0;
  c->name = g_strdup_printf ("%s, %d ranks", c->comm->name, c->comm->size);
}

static void
prepare_all_gather (Collective *c, const LoomAllGatherTo *attrs, const LoomKernelSpec *spec)
{
  gint64 sample = (gint64)loom_desc_bytes (&spec->out[0]) / attrs->samples;

  c->by_rank = g_new0 (gint64, (gsize)c->comm->size + 1);
  for (int k = 0; k < c->comm->size; k++)
    c->by_rank[k] = loom_comm_part (attrs->samples, k, c->comm->size).count * sample;
  c->base.run = run_all_gather;
  c->name = g_strdup_printf ("%s, %d ranks", c->comm->name, c->comm->size);
}

LoomKernel *
work_collective_new (LoomComm *comm, const LoomPlanDevice *device, const LoomPrim *prim, const LoomKernelSpec *spec,
                     LoomMessage *message)
{
  Collective *c;

  if (comm == NULL || !device->info.host_memory)
    {
      g_snprintf (message->text, sizeof message->text, "%s",
                  comm == NULL ? "the ranks have no way to exchange values" : "ranks exchange values of CPUs only");
      return NULL;
    }
  c = g_new0 (Collective, 1);
  c->comm = comm;
  c->dtype = spec->in[0].dtype;
  if (prim == loom_prim ("all_reduce"))
    prepare_all_reduce (c, spec->attrs, spec);
  else
    prepare_all_gather (c, spec->attrs, spec);
  c->base.free = collective_free;
  c->base.name = c->name;
  return &c->base;
}
