/* ONNX models become graphs on a thread: a model may have gigabytes of weights. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Reads the model and writes the graph and, beside it, its weights into the model's folder, under the model's name or a
 * free one like it: nothing that is there is written over. Cancelled, it writes nothing. */
void
studio_import_onnx_async (const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* The graph's path (transfer full). *notes (transfer full): what the user should know of the model, a sentence a line,
 * NULL or empty if there is nothing. An error names every operator that has no counterpart, with its node, and then
 * nothing was written. */
char *studio_import_onnx_finish (GAsyncResult *result, char **notes, GError **error);

G_END_DECLS
