/* The pane with the undo history of a document, oldest first: activating a step restores it. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_HISTORY_PANE (studio_history_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioHistoryPane, studio_history_pane, STUDIO, HISTORY_PANE, GtkWidget)

/* Signal "compare"(guint position): the button of an entry, which compares it with the current graph. */
StudioHistoryPane *studio_history_pane_new (StudioDocument *document);
/* Focuses the current entry. */
void studio_history_pane_focus (StudioHistoryPane *self);
