/* A document's history as a list model, for list views: nothing is copied, an item is made when it is asked for. */
#pragma once

#include "ui/document/studio-document-history.h"

G_BEGIN_DECLS

/* An item: a place in the history. What it is called is asked there, so an item that outlives its entry shows what has
 * come in its place. */
#define STUDIO_TYPE_HISTORY_ITEM (studio_history_item_get_type ())
G_DECLARE_FINAL_TYPE (StudioHistoryItem, studio_history_item, STUDIO, HISTORY_ITEM, GObject)

guint studio_history_item_get_position (StudioHistoryItem *self);

/* A GListModel of StudioHistoryItem, the oldest first. Signal "marks-changed": another entry is present, or saved. */
#define STUDIO_TYPE_HISTORY (studio_history_get_type ())
G_DECLARE_FINAL_TYPE (StudioHistory, studio_history, STUDIO, HISTORY, GObject)

StudioHistory *studio_history_new (StudioDocument *document);

G_END_DECLS
