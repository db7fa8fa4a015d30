/* Imports ONNX models as graphs in a thread, because a model may have gigabytes of weights. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Writes the graph and its weights into the model's folder, under the model's name or a similar one that is free; no
 * file is overwritten. If cancelled, nothing is written. */
void
studio_import_onnx_async (const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* Returns the graph's path (transfer full). *notes (transfer full): notes about the model, one sentence per line, or
 * NULL. The error lists every unsupported operator with its node; then nothing was written. */
char *studio_import_onnx_finish (GAsyncResult *result, char **notes, GError **error);

G_END_DECLS
