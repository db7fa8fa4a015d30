/* Requests a report, or a whole tensor, of the run of a worker. */
#pragma once

#include "ui/run/studio-run.h"

/* worker: studio_run_get_proxy(). port: a tensor or LOOM_SNAPSHOT_…, reduced to max_bytes. */
void run_report_async (LoomBusWorker1 *worker, const char *port, guint max_bytes, GCancellable *cancellable,
                       GAsyncReadyCallback callback, gpointer data);
/* The bytes, an “ay”, or NULL with an error. step, which may be NULL, receives the step from which they are. (transfer
 * full) */
GVariant *run_report_finish (GObject *worker, GAsyncResult *result, gint64 *step, GError **error);
