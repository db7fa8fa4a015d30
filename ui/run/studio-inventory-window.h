/* The window of parameters and memory: where each parameter lies before and after it moves to its device, and what each
 * node takes of the memory, as planned and in the run, live. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

/* *window (weak, may be NULL) is kept for the next time. page: "parameters" or "memory"; NULL: the one that was seen
 * last. A row that is chosen is selected in the document. */
void studio_inventory_window_present (GtkWindow *parent, GtkWidget **window, StudioDocument *document, StudioRun *run,
                                      const char *page);

G_END_DECLS
