/* Whether a graph differs from what its file holds, known from the edits since it was saved.
 *
 * It takes each edit after it was applied, as its inverse, and compares the texts of both only if elements came and
 * went in equal numbers. So the answer costs nothing after most edits, also of graphs of 20,000 nodes. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

typedef struct _SavedContent SavedContent;

SavedContent *saved_content_new (void);
void saved_content_free (SavedContent *self);
/* The file holds this text (transfer full), which loom_graph_write() wrote of the graph as it is now. */
void saved_content_set (SavedContent *self, char *text);
/* The same of an earlier state of the graph. */
void saved_content_set_earlier (SavedContent *self, char *text);
/* An edit was applied to the graph; the inverse takes it back. */
void saved_content_note (SavedContent *self, const LoomGraph *graph, const LoomEdit *inverse);
gboolean saved_content_differs (SavedContent *self, const LoomGraph *graph);
/* Whether saved_content_differs() need not compare texts: for tests and measurements. */
gboolean saved_content_is_known (SavedContent *self);

G_END_DECLS
