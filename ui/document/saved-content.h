/* Determines whether a graph differs from its file, from the edits since it was saved.
 *
 * It receives each edit after it was applied, as its inverse, and compares the texts of both only if equally many
 * elements were inserted and removed. So the query is cheap after most edits, even for graphs of 20,000 nodes. */
#pragma once

#include "engine/loom.h"

typedef struct _SavedContent SavedContent;

SavedContent *saved_content_new (void);
void saved_content_free (SavedContent *self);
/* Sets the text of the file (transfer full), which loom_graph_write() made from the current graph. */
void saved_content_set (SavedContent *self, char *text);
/* The same for an earlier state of the graph. */
void saved_content_set_earlier (SavedContent *self, char *text);
/* Records an edit that was applied to the graph, by its inverse. */
void saved_content_note (SavedContent *self, const LoomGraph *graph, const LoomEdit *inverse);
gboolean saved_content_differs (SavedContent *self, const LoomGraph *graph);
/* TRUE if saved_content_differs() need not compare texts: for tests and measurements. */
gboolean saved_content_is_known (SavedContent *self);
