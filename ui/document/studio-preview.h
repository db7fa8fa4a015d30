/* Previews the changes that another value of a node would make, on a thread. studio_document_dup_preview() returns the
 * same synchronously. */
#pragma once

#include <gio/gio.h>

#include "ui/document/studio-document.h"

/* value NULL: removes the attribute. The document may change meanwhile: the preview is that of the graph at the call.
 */
void studio_preview_async (StudioDocument *document, guint64 serial, const char *attribute, const char *value,
                           GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* FALSE after a cancellation. text: parameters, shapes and a fault, one per line; NULL: nothing changes (transfer
 * full). */
gboolean studio_preview_finish (GAsyncResult *result, char **text);
