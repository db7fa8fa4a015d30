/* The steps of a document, by name and time, the oldest first: a click or Enter makes one of them present. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_HISTORY_PANE (studio_history_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioHistoryPane, studio_history_pane, STUDIO, HISTORY_PANE, GtkWidget)

/* Signal "compare"(guint position): the button beside an entry, which compares it with what is present. */
StudioHistoryPane *studio_history_pane_new (StudioDocument *document);
/* Puts the keyboard on the present entry. */
void studio_history_pane_focus (StudioHistoryPane *self);

G_END_DECLS
