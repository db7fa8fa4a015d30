/* The window with the tables of parameters and of memory per node (studio-inventory.h), updated while a run trains. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

/* *window (weak, may be NULL) is reused. page is "parameters" or "memory"; NULL: the page shown last. Selecting a row
 * selects the node in the document. */
void studio_inventory_window_present (GtkWindow *parent, GtkWidget **window, StudioDocument *document, StudioRun *run,
                                      const char *page);

G_END_DECLS
