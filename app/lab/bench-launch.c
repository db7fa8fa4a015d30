/* `gradloom bench devices`: times the launch of a kernel that computes almost nothing, which is the part of the back
 * end and the driver in the empty step of bench-devices.c.
 *
 * Two times: throughput, many consecutive launches followed by one synchronisation, and latency, one launch with its
 * synchronisation. The kernel writes one float without operands (iota), so every back end has it. */
#include "app/lab/bench-private.h"

/* Few enough for a GPU's launch queue; a full queue would make a launch wait until a kernel is done. The one
 * synchronisation adds a thousandth to each launch. */
#define IN_A_ROW 1000

typedef struct
{
  const LoomPlanDevice *device;
  LoomStream *stream; /* NULL if the back end has no streams */
  LoomKernel *kernel;
  void *buffers[2]; /* the float, and no scratch */
  int times;
} Launch;

static LoomStatus
launch_and_wait (Launch *self, LoomMessage *message)
{
  const LoomBackend *b = self->device->backend;
  LoomStatus status = LOOM_STATUS_OK;

  for (int i = 0; i < self->times && status == LOOM_STATUS_OK; i++)
    status = self->kernel->run (self->kernel, self->stream, self->buffers, message);
  if (status == LOOM_STATUS_OK && b->stream_sync != NULL)
    status = b->stream_sync (self->device->device, self->stream, message);
  return status;
}

static gboolean
launch_once (gpointer data, GError **error)
{
  LoomMessage message = { "" };
  LoomStatus status = launch_and_wait (data, &message);

  if (status != LOOM_STATUS_OK)
    loom_plan_device_error (status, "Launching a kernel", message.text, error);
  return status == LOOM_STATUS_OK;
}

static LoomStatus
launch_ready (Launch *self, LoomMessage *message)
{
  const LoomBackend *b = self->device->backend;
  const LoomIotaAttrs attrs = { .axis = 0, .start = 1, .step = 1 };
  const LoomTensorDesc y = { .dtype = LOOM_F32, .rank = 1, .dim = { 1 } };
  const LoomKernelSpec spec = { .primitive = "iota", .attrs = &attrs, .n_out = 1, .out = &y };
  LoomStatus status = LOOM_STATUS_OK;

  if (b->stream_new != NULL)
    status = b->stream_new (self->device->device, &self->stream, message);
  if (status == LOOM_STATUS_OK)
    status = b->kernel_new (self->device->device, &spec, &self->kernel, message);
  if (status == LOOM_STATUS_OK)
    status = b->alloc (self->device->device, 64, &self->buffers[0], message);
  if (status == LOOM_STATUS_OK && self->kernel->bind != NULL)
    status = self->kernel->bind (self->kernel, self->buffers, message);
  return status;
}

static void
launch_clear (Launch *self)
{
  const LoomBackend *b = self->device->backend;

  if (self->kernel != NULL)
    self->kernel->free (self->kernel);
  if (self->buffers[0] != NULL)
    b->free (self->device->device, self->buffers[0]);
  if (self->stream != NULL)
    b->stream_free (self->device->device, self->stream);
}

gboolean
bench_launches (LoomDevices *devices, const char *name, const BenchOptions *o, GError **error)
{
  static const struct
  {
    const char *what;
    int times;
  } rows[] = { { "consecutive launches", IN_A_ROW }, { "launch and wait", 1 } };
  Launch launch = { .device = loom_devices_get (devices, name, error) };
  LoomMessage message = { "" };
  LoomStatus status;
  gboolean ok = TRUE;

  if (launch.device == NULL)
    return FALSE;
  status = launch_ready (&launch, &message);
  if (status != LOOM_STATUS_OK)
    loom_plan_device_error (status, "Launching a kernel", message.text, error);
  for (guint i = 0; i < G_N_ELEMENTS (rows) && status == LOOM_STATUS_OK && ok; i++)
    {
      BenchStats s;

      launch.times = rows[i].times;
      ok = bench_measure (launch_once, &launch, o->windows, MIN (o->seconds, 0.2), &s, error);
      if (ok)
        bench_show_row (name, rows[i].what, rows[i].times, "µs",
                        (const double[]){ 1e6 / s.median / rows[i].times, 1e6 / s.min / rows[i].times,
                                          1e6 / s.max / rows[i].times },
                        o);
    }
  launch_clear (&launch);
  return status == LOOM_STATUS_OK && ok;
}
