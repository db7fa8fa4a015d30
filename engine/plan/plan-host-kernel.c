/* Makes the kernels of primitives that the host computes (LoomPrim.on_host), and dispatches the primitives that have a
 * kernel of the planner instead of a back end: those with bodies go to plan-loop.c and plan-visit.c. (Collectives,
 * plan-collective.c, are dispatched in plan-kernel.c.)
 *
 * A host kernel computes a few small numbers that decide which work follows. On a device with its own memory the host
 * waits for the device, downloads the operands and uploads the results. */
#include "engine/plan/plan-private.h"

typedef struct
{
  LoomKernel base;
  const LoomPlanDevice *device;
  const LoomPrim *prim;
  gpointer attrs;
  guint n_in, n_out;
  LoomTensorDesc *desc;
  void **mirror; /* host copies of operands and results; NULL on the host */
} Host;

static LoomStatus
copy_all (const Host *h, LoomStream *stream, void *const *buffers, guint first, guint end, LoomCopyKind kind,
          LoomMessage *message)
{
  const LoomBackend *b = h->device->backend;
  LoomStatus status = LOOM_STATUS_OK;

  for (guint k = first; k < end && status == LOOM_STATUS_OK; k++)
    {
      gboolean out = kind == LOOM_COPY_HOST_TO_DEVICE;
      gsize bytes = loom_desc_bytes (&h->desc[k]);

      if (buffers[k] != NULL && bytes > 0)
        status = b->copy (h->device->device, stream, out ? buffers[k] : h->mirror[k], out ? h->mirror[k] : buffers[k],
                          bytes, kind, message);
    }
  /* Waits for the upload, because the next run overwrites the host copies. */
  return status == LOOM_STATUS_OK ? b->stream_sync (h->device->device, stream, message) : status;
}

static LoomStatus
run (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Host *h = (Host *)self;
  void *const *at = h->mirror != NULL ? h->mirror : buffers;
  LoomStatus status = LOOM_STATUS_OK;

  if (h->mirror != NULL)
    status = copy_all (h, stream, buffers, 0, h->n_in, LOOM_COPY_DEVICE_TO_HOST, message);
  if (status == LOOM_STATUS_OK)
    status = h->prim->on_host (h->attrs, h->desc, (const void *const *)at, at + h->n_in, message);
  if (status == LOOM_STATUS_OK && h->mirror != NULL)
    status = copy_all (h, stream, buffers, h->n_in, h->n_in + h->n_out, LOOM_COPY_HOST_TO_DEVICE, message);
  return status;
}

static void
host_free (LoomKernel *self)
{
  Host *h = (Host *)self;

  for (guint k = 0; h->mirror != NULL && k < h->n_in + h->n_out; k++)
    g_free (h->mirror[k]);
  g_free (h->mirror);
  g_free (h->desc);
  g_free (h->attrs);
  g_free (h);
}

static LoomKernel *
host_new (const LoomPlanDevice *device, const LoomPrim *prim, const void *attrs, guint n_in, guint n_out,
          const LoomTensorDesc *desc)
{
  Host *h = g_new0 (Host, 1);

  h->base = (LoomKernel){ .run = run, .free = host_free, .name = "host" };
  h->device = device;
  h->prim = prim;
  h->attrs = g_memdup2 (attrs, prim->attrs_size);
  h->n_in = n_in;
  h->n_out = n_out;
  h->desc = g_memdup2 (desc, sizeof *desc * (n_in + n_out));
  if (device->info.host_memory)
    return &h->base;
  h->mirror = g_new0 (void *, n_in + n_out + 1);
  for (guint k = 0; k < n_in + n_out; k++)
    if (desc[k].dtype != LOOM_N_DTYPES)
      h->mirror[k] = g_malloc (MAX (loom_desc_bytes (&desc[k]), 1));
  return &h->base;
}

gboolean
loom_plan_is_internal (const LoomPrim *prim)
{
  return prim->bodies != NULL || prim->on_host != NULL;
}

LoomKernel *
loom_plan_internal_kernel_new (LoomDevices *devices, const LoomPlanDevice *device, const LoomPlanOptions *options,
                               const LoomPrim *prim, const void *attrs, guint n_in, guint n_out,
                               const LoomTensorDesc *desc, GError **error)
{
  if (prim->on_host != NULL)
    return host_new (device, prim, attrs, n_in, n_out, desc);
  if (prim->n_distinct != NULL)
    return loom_plan_visit_new (devices, device, options, prim, attrs, error);
  return loom_plan_body_new (devices, device, options, prim, attrs, error);
}
