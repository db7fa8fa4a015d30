/* The window with a page of parameters and a page of memory, updated while a run trains. The page of memory has the
 * bytes by owner, or of each rank (studio-rank-memory.h), the figures of the device's driver, and the table of nodes.
 * studio-inventory.h builds the rows of both tables. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

/* *window (weak, may be NULL) is reused. page is "parameters" or "memory"; NULL: the page shown last. Selecting a row
 * selects the node in the document. */
void studio_inventory_window_present (GtkWindow *parent, GtkWidget **window, StudioDocument *document, StudioRun *run,
                                      const char *page);
