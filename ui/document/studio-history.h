/* A document's history as a list model, for list views: nothing is copied, and items are made on demand. */
#pragma once

#include "ui/document/studio-document-history.h"

/* An item: an index in the history. Its name is queried when it is shown, so an item that outlives its entry shows the
 * entry that replaced it. */
#define STUDIO_TYPE_HISTORY_ITEM (studio_history_item_get_type ())
G_DECLARE_FINAL_TYPE (StudioHistoryItem, studio_history_item, STUDIO, HISTORY_ITEM, GObject)

guint studio_history_item_get_position (StudioHistoryItem *self);

/* A GListModel of StudioHistoryItem, the oldest first. Signal "marks-changed": another entry is current, or saved. */
#define STUDIO_TYPE_HISTORY (studio_history_get_type ())
G_DECLARE_FINAL_TYPE (StudioHistory, studio_history, STUDIO, HISTORY, GObject)

StudioHistory *studio_history_new (StudioDocument *document);
