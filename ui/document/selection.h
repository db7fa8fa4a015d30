/* The selection: serials in the order of selection, and as a set. */
#pragma once

#include "engine/loom.h"

typedef struct _Selection Selection;

Selection *selection_new (void);
void selection_free (Selection *self);
guint selection_n (const Selection *self);
guint64 selection_get (const Selection *self, guint i); /* 0: no such element */
gboolean selection_has (const Selection *self, guint64 serial);
/* These functions return TRUE if the selection has changed. */
gboolean selection_set (Selection *self, const guint64 *serials, guint n);
gboolean selection_put (Selection *self, guint64 serial, gboolean selected);
/* Removes elements that are no longer in the graph. */
gboolean selection_prune (Selection *self, const LoomGraph *graph);
