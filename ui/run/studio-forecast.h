/* What `gradloom plan` says of a graph before it is trained: Studio plans nothing itself. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Runs `gradloom plan - WHAT --json` with the graph's canonical text, whose relative paths hold in folder (NULL: here).
 * what: "--parameters", "--memory" or "--stages"; ranks: as many as divide the graph, 0: what it says itself. */
void studio_forecast_async (const char *graph_xml, const char *folder, const char *what, int ranks,
                            GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* Its events, JsonObject; NULL with its own sentence as the error. */
GPtrArray *studio_forecast_finish (GAsyncResult *result, GError **error);
/* The same of a text that has them, an object a line. */
GPtrArray *studio_forecast_parse (const char *text, gsize length);

G_END_DECLS
