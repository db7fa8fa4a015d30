/* Imports ONNX models as graphs in threads, because a model may have gigabytes of weights: it is read first, so that
 * what would be written can be said before it is. */
#pragma once

#include <gio/gio.h>

/* A model that was read. */
typedef struct _StudioImport StudioImport;

/* sizes: "height=224", values of open sizes, NULL-terminated, or NULL. keeps_batch: a fixed batch stays fixed. */
void studio_import_read_async (const char *path, const char *const *sizes, gboolean keeps_batch,
                               GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* (transfer full). The error lists every unsupported operator with its node. */
StudioImport *studio_import_read_finish (GAsyncResult *result, GError **error);
void studio_import_free (StudioImport *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioImport, studio_import_free)

/* If the model cannot be imported while sizes of its inputs are open: their names, NULL-terminated, and why. The import
 * then has no other content. NULL: the model was read. */
const char *const *studio_import_get_open_sizes (const StudioImport *self, const char **why);
/* The graph's path, in the model's folder, under the model's name or a similar one that is free. */
const char *studio_import_get_path (const StudioImport *self);
/* That of the weights; NULL: the model has none. */
const char *studio_import_get_weights_path (const StudioImport *self);
/* The model's fixed batch, if the graph takes any; else 0. */
gint64 studio_import_get_batch (const StudioImport *self);
guint64 studio_import_get_bytes (const StudioImport *self); /* of the weights */
/* Notes about the model, one sentence per line; "" for none. */
const char *studio_import_get_notes (const StudioImport *self);

/* Writes the graph and its weights; no file is overwritten. The import must outlive the call. */
void studio_import_save_async (StudioImport *self, GAsyncReadyCallback callback, gpointer data);
gboolean studio_import_save_finish (GAsyncResult *result, GError **error);
