/* Runs `gradloom plan` on a graph and parses the JSON events that it prints. Studio shows planned parameters, memory
 * and pipeline stages from it, because it links no planner itself. studio_planner_parse_events() also parses the lines
 * that a worker returns for its ranks and nodes. */
#pragma once

#include <gio/gio.h>

/* Runs `gradloom plan - WHAT --json`. graph_xml is the canonical text of the graph; its relative paths are resolved in
 * folder (NULL: the working directory). what is "--parameters", "--memory", "--steps" or "--stages"; ranks is the
 * number of ranks, 0: the graph's own. */
void studio_planner_run_async (const char *graph_xml, const char *folder, const char *what, int ranks,
                               GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* The same for any command of gradloom that prints such events: words are those after the program's name. */
void studio_planner_command_async (const char *graph_xml, const char *folder, const char *const *words,
                                   GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
/* Returns the events (JsonObject), or NULL with the message that the command printed. */
GPtrArray *studio_planner_run_finish (GAsyncResult *result, GError **error);
/* Parses text with one JSON object per line; other lines are skipped. */
GPtrArray *studio_planner_parse_events (const char *text, gsize length);
