/* Implements run-report.h. */
#include "ui/run/run-report.h"

void
run_report_async (LoomBusWorker1 *worker, const char *port, guint max_bytes, GCancellable *cancellable,
                  GAsyncReadyCallback callback, gpointer data)
{
  loom_bus_worker1_call_get_snapshot (worker, port, g_variant_new_array (G_VARIANT_TYPE_INT64, NULL, 0), max_bytes,
                                      cancellable, callback, data);
}

GVariant *
run_report_finish (GObject *worker, GAsyncResult *result, gint64 *step, GError **error)
{
  g_autoptr (GVariant) shape = NULL, full_shape = NULL;
  GVariant *bytes = NULL;
  gint64 of;

  loom_bus_worker1_call_get_snapshot_finish (LOOM_BUS_WORKER1 (worker), &of, &shape, &full_shape, &bytes, result,
                                             error);
  if (bytes != NULL && step != NULL)
    *step = of;
  return bytes;
}
