/* The list of faults of a document: errors, things to do, advice, and their remedies as buttons. */
#pragma once

#include <adwaita.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/document/studio-document.h"

#define STUDIO_TYPE_FAULT_LIST (studio_fault_list_get_type ())
G_DECLARE_FINAL_TYPE (StudioFaultList, studio_fault_list, STUDIO, FAULT_LIST, AdwBin)

/* toasts: an AdwToastOverlay for sentences. Signals:
 *   "changed"  the faults were found again
 *   "left"     a row was activated: what it is about is shown elsewhere
 *   "read"     data outside the graph's folder are to be read */
StudioFaultList *studio_fault_list_new (StudioDocument *document, StudioCanvas *canvas, GtkWidget *toasts);
/* Call it before the list is shown: its rows are made then, and follow the faults while it is shown. */
void studio_fault_list_fill (StudioFaultList *self);
/* "No faults", "2 to do", "⚠ 3 faults". */
const char *studio_fault_list_get_summary (StudioFaultList *self);
guint studio_fault_list_n_errors (StudioFaultList *self);
