/* Compares the graph with a file, its saved version, the version of its run, or itself at an earlier time. The canvas
 * marks the differences, a page of the end pane lists them, and both follow edits. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_COMPARING (studio_comparing_get_type ())
G_DECLARE_FINAL_TYPE (StudioComparing, studio_comparing, STUDIO, COMPARING, GObject)

/* toasts: an AdwToastOverlay for sentences; the file chooser is over its window. Signal "changed": a comparison has
 * begun or ended. */
StudioComparing *studio_comparing_new (StudioDocument *document, StudioRun *run, StudioCanvas *canvas,
                                       StudioPanes *panes, GtkWidget *toasts);
void studio_comparing_choose (StudioComparing *self); /* a file */
void studio_comparing_with_saved (StudioComparing *self);
void studio_comparing_with_run (StudioComparing *self);
void studio_comparing_with_entry (StudioComparing *self, guint position); /* of the history */
/* Takes ownership of the graph; title: how it is called in the heading. */
void studio_comparing_with_graph (StudioComparing *self, LoomGraph *graph, const char *title);
void studio_comparing_end (StudioComparing *self);
/* Escape ends it, in a widget and those below, which handle the key first: Escape leaves a field, a selection or a
 * module before that. */
void studio_comparing_watch_keys (StudioComparing *self, GtkWidget *widget);
gboolean studio_comparing_is_on (StudioComparing *self);
