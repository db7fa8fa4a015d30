/* A card on the canvas: one focusable widget without children that draws itself and its ports. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/card-context.h"

#define STUDIO_TYPE_NODE (studio_node_get_type ())
G_DECLARE_FINAL_TYPE (StudioNode, studio_node, STUDIO, NODE, GtkWidget)

/* context must outlive the card. */
StudioNode *studio_node_new (const CardContext *context, guint64 serial);
guint64 studio_node_get_serial (StudioNode *self);
const guint64 *studio_node_peek_serial (StudioNode *self);
/* The index in the scene; STUDIO_NO_ITEM before it is set. */
guint studio_node_get_item (StudioNode *self);
/* Sets the index in the scene, if nothing else of the card has changed. */
void studio_node_set_item (StudioNode *self, guint item);
/* Sets the index in the scene; redraws the card if its content differs. */
void studio_node_update (StudioNode *self, const StudioScene *scene, guint item, gboolean selected);
/* Sets whether it is selected, also for screen readers, and nothing else. */
void studio_node_select (StudioNode *self, gboolean selected);
/* The card is not visible: thousands of them need not keep their pictures. */
void studio_node_hide (StudioNode *self);
/* Draws again what does not depend on the item: theme, values, lit ports. texts: also lays out the texts again. */
void studio_node_refresh (StudioNode *self, gboolean texts);
/* Sets name, description and state for screen readers. */
void studio_node_describe (StudioNode *self, const StudioScene *scene, gboolean selected);
/* Tells screen readers which cards the node's wires lead to, if they are others than before. nodes: &serial →
 * StudioNode. */
void studio_node_update_targets (StudioNode *self, const StudioScene *scene, GHashTable *nodes);
