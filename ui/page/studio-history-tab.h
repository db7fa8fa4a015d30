/* The page of the end pane that lists the history of a document, opened and closed by a command. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_HISTORY_TAB (studio_history_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioHistoryTab, studio_history_tab, STUDIO, HISTORY_TAB, GObject)

/* Signal "compare" (guint position): the graph is to be compared with that entry. */
StudioHistoryTab *studio_history_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioPanes *panes);
/* Shows the page, or removes it if it is visible and focuses the canvas. */
void studio_history_tab_toggle (StudioHistoryTab *self);
