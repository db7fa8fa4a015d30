/* The beginning of a connection to a worker: skips what libraries have printed, up to the magic line, and makes the
 * proxy. */
#pragma once

#include <gio/gio.h>

#include "loom-worker-bus.h"

void worker_greeting_async (GIOStream *stream, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* Calls of the proxy have no timeout, because planning a large graph may take long. Errors have sentences: CLOSED if
 * the stream has ended before the line, BUSY if the worker has another client, NOT_SUPPORTED if it is of another
 * version, INVALID_DATA if it printed too much before; others are of the connection. (transfer full) */
LoomBusWorker1 *worker_greeting_finish (GAsyncResult *result, GError **error);
