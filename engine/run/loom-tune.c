/* Tuning: times every option of a program's kernels. No other code of the engine measures kernels; plans read the table
 * that is written here. */
#include "engine/run/loom-tune.h"

#include "engine/core/loom-os.h"

#include <stdlib.h>
#include <string.h>

#define WINDOWS 5

typedef struct
{
  double seconds;
  LoomCostTable *table;
  LoomTuneFunc func;
  gpointer data;
  GHashTable *seen; /* device and call */
  LoomTuned *tuned;
  GError *error;
} Tuner;

static int
compare (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

static LoomStatus
run_often (const LoomPlanDevice *d, LoomKernel *kernel, void *const *buffers, guint times, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint i = 0; i < times && status == LOOM_STATUS_OK; i++)
    status = kernel->run (kernel, NULL, buffers, message);
  if (status == LOOM_STATUS_OK && d->backend->stream_sync != NULL)
    status = d->backend->stream_sync (d->device, NULL, message);
  return status;
}

/* The median of several windows, after a warm-up window. */
static LoomStatus
time_kernel (const LoomPlanDevice *d, LoomKernel *kernel, void *const *buffers, double seconds, double *median,
             LoomMessage *message)
{
  LoomStatus status = kernel->bind != NULL ? kernel->bind (kernel, buffers, message) : LOOM_STATUS_OK;
  double took[WINDOWS];
  guint times = 1;

  if (status != LOOM_STATUS_OK)
    return status;
  for (int w = -1; w < WINDOWS; w++)
    {
      gint64 start = loom_monotonic (), took_us;

      status = run_often (d, kernel, buffers, times, message);
      if (status != LOOM_STATUS_OK)
        return status;
      took_us = MAX (loom_monotonic () - start, 1);
      if (w >= 0)
        took[w] = (double)took_us / G_USEC_PER_SEC / times;
      else if ((double)took_us < seconds / (WINDOWS + 1) * G_USEC_PER_SEC && times < (1u << 20))
        {
          times *= 2;
          w--;
        }
    }
  qsort (took, WINDOWS, sizeof *took, compare);
  *median = took[WINDOWS / 2];
  return LOOM_STATUS_OK;
}

/* Makes floats of usual magnitude, and zeros for indices, which are valid rows and classes. */
static LoomStatus
fill (const LoomPlanDevice *d, const LoomTensorDesc *desc, void *buffer, LoomMessage *message)
{
  gsize bytes = loom_desc_bytes (desc), n = (gsize)loom_desc_count (desc);
  g_autofree char *host = g_malloc0 (bytes + 8);

  for (gsize i = 0; i < n; i++)
    {
      float x = (float)((i * 2654435761u) % 1024) / 512.0f - 1.0f;
      guint32 bits;

      memcpy (&bits, &x, sizeof bits);
      if (desc->dtype == LOOM_F32)
        memcpy (host + i * 4, &x, 4);
      else if (desc->dtype == LOOM_BF16)
        memcpy (host + i * 2, &(guint16){ (guint16)(bits >> 16) }, 2);
      else if (desc->dtype == LOOM_F64)
        memcpy (host + i * 8, &(double){ x }, 8);
      else if (desc->dtype == LOOM_F16)
        memcpy (host + i * 2, &(guint16){ 0x3800 }, 2); /* one half */
    }
  return d->backend->copy (d->device, NULL, buffer, host, bytes, LOOM_COPY_HOST_TO_DEVICE, message);
}

/* Times one option, with buffers of its own. */
static LoomStatus
time_option (const LoomPlanDevice *d, const LoomKernelSpec *spec, const LoomKernelOption *option, double seconds,
             double *took, LoomMessage *message)
{
  int n = spec->n_in + spec->n_out;
  g_autofree LoomTensorDesc *desc = g_new (LoomTensorDesc, (guint)n + 1);
  g_autofree void **buffers = g_new0 (void *, (guint)n + 1);
  LoomKernelSpec call = *spec;
  LoomKernel *kernel = NULL;
  LoomStatus status;

  for (int i = 0; i < n; i++)
    {
      desc[i] = i < spec->n_in ? spec->in[i] : spec->out[i - spec->n_in];
      if (i < 64 && ((option->nhwc >> i) & 1))
        desc[i].layout = LOOM_LAYOUT_NHWC;
    }
  call.in = desc;
  call.out = desc + spec->n_in;
  call.algorithm = option->algorithm;
  status = d->backend->kernel_new (d->device, &call, &kernel, message);
  for (int i = 0; i < n && status == LOOM_STATUS_OK; i++)
    {
      if (desc[i].dtype == LOOM_N_DTYPES)
        continue;
      status = d->backend->alloc (d->device, MAX (loom_desc_bytes (&desc[i]), 64), &buffers[i], message);
      if (status == LOOM_STATUS_OK)
        status = fill (d, &desc[i], buffers[i], message);
    }
  if (status == LOOM_STATUS_OK && kernel->scratch_bytes > 0)
    status = d->backend->alloc (d->device, kernel->scratch_bytes, &buffers[n], message);
  if (status == LOOM_STATUS_OK)
    status = time_kernel (d, kernel, buffers, seconds, took, message);
  for (int i = 0; i <= n; i++)
    if (buffers[i] != NULL)
      d->backend->free (d->device, buffers[i]);
  if (kernel != NULL)
    kernel->free (kernel);
  return status;
}

gboolean
loom_tune_time (const LoomPlanDevice *device, const LoomKernelSpec *spec, const LoomKernelOption *option,
                double seconds, double *took, GError **error)
{
  LoomMessage message = { "" };
  LoomStatus status = time_option (device, spec, option, seconds, took, &message);
  g_autofree char *where = NULL;

  if (status == LOOM_STATUS_OK)
    return TRUE;
  where = g_strdup_printf ("%s by %s on %s", spec->primitive, option->algorithm, device->name);
  loom_plan_device_error (status, where, message.text, error);
  return FALSE;
}

/* Marks a call as not measured; after a device's failure its other calls are not measured, either. */
static void
leave_out (Tuner *self, const LoomPlanDevice *d, const char *call, const char *option, LoomStatus status,
           const LoomMessage *message)
{
  g_autofree char *where = g_strdup_printf ("%s could not be measured on %s as %s", call, d->name, option);
  const char *why = message->text[0] != '\0'              ? message->text
                    : status == LOOM_STATUS_OUT_OF_MEMORY ? "the device has no memory left"
                                                          : "the device does not support it";

  if (status == LOOM_STATUS_DEVICE || status == LOOM_STATUS_DEVICE_LOST || status == LOOM_STATUS_INVALID)
    {
      loom_plan_device_error (status, where, message->text, &self->error);
      return;
    }
  self->tuned->n_skipped++;
  if (self->tuned->why == NULL)
    self->tuned->why = g_strdup_printf ("%s: %s.", where, why);
}

static void
tune_call (Tuner *self, const LoomPlanDevice *d, const LoomKernelSpec *spec, const char *attributes,
           const LoomKernelOption *option, guint n)
{
  g_autofree char *call = loom_cost_call_key (spec, attributes), *fastest = NULL;
  g_autofree char *place = g_strconcat (d->cost_key, "|", call, NULL);
  double took[LOOM_MAX_OPTIONS];
  guint best = 0;

  if (self->error != NULL || !g_hash_table_add (self->seen, g_steal_pointer (&place)))
    return;
  for (guint i = 0; i < n; i++)
    {
      LoomMessage message = { "" };
      LoomStatus status = time_option (d, spec, &option[i], self->seconds, &took[i], &message);

      if (status != LOOM_STATUS_OK)
        {
          g_autofree char *name = loom_cost_option_key (spec, &option[i]);

          leave_out (self, d, call, name, status, &message);
          return;
        }
      if (took[i] < took[best])
        best = i;
    }
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = loom_cost_option_key (spec, &option[i]);

      loom_cost_table_set_measured (self->table, d->cost_key, call, name, took[i]);
      if (i == best)
        fastest = g_steal_pointer (&name);
    }
  self->tuned->n++;
  if (self->func != NULL)
    self->func (call, fastest, took[best], self->data);
}

/* Measures a call with several options and, if these differ in layout, the reorders of its images. */
static void
tune_visit (const LoomPlanDevice *d, const LoomKernelSpec *spec, const char *attributes, const LoomKernelOption *option,
            guint n, gpointer data)
{
  guint64 images = 0;

  tune_call (data, d, spec, attributes, option, n);
  for (guint i = 0; i < n; i++)
    images |= option[i].nhwc;
  for (int i = 0; i < MIN (spec->n_in + spec->n_out, 64); i++)
    {
      const LoomTensorDesc *x = i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in];
      LoomCopyTo attrs = { x->dtype };
      LoomKernelSpec copy = { .primitive = "copy", .attrs = &attrs, .n_in = 1, .n_out = 1, .in = x, .out = x };
      LoomKernelOption reorder[LOOM_MAX_OPTIONS];
      LoomMessage message = { "" };
      int m;

      if (!((images >> i) & 1))
        continue;
      m = d->backend->options (d->device, &copy, NULL, reorder, LOOM_MAX_OPTIONS, &message);
      if (m > 1)
        tune_call (data, d, &copy, NULL, reorder, (guint)m);
    }
}

void
loom_tuned_clear (LoomTuned *tuned)
{
  g_clear_pointer (&tuned->why, g_free);
}

gboolean
loom_tune (LoomProgram *program, LoomDevices *devices, const char *device, double seconds, LoomCostTable *table,
           LoomTuneFunc func, gpointer data, LoomTuned *tuned, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Tuner self = { seconds, table, func, data, seen, tuned, NULL };
  LoomPlanOptions options = { .device = device, .visit = tune_visit, .visit_data = &self };
  LoomPlan *plan;

  g_return_val_if_fail (table != loom_devices_costs (devices), FALSE);

  plan = loom_plan_new (program, devices, &options, error);
  if (plan == NULL)
    {
      g_clear_error (&self.error);
      return FALSE;
    }
  loom_plan_free (plan);
  if (self.error == NULL)
    return TRUE;
  g_propagate_error (error, self.error);
  return FALSE;
}
