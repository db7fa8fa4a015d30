/* The changes that another value of a node would make, worked out on a thread. studio_document_dup_preview() says the
 * same at once. */
#pragma once

#include <gio/gio.h>

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

/* value NULL: the attribute is taken away. The document may change meanwhile: what is said is of the graph as it is
 * now. */
void studio_preview_async (StudioDocument *document, guint64 serial, const char *attribute, const char *value,
                           GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* FALSE after a cancellation. text: parameters, shapes and a fault, a line each; NULL: nothing changes (transfer
 * full). */
gboolean studio_preview_finish (GAsyncResult *result, char **text);

G_END_DECLS
