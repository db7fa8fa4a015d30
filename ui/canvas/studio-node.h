/* A card on the canvas: one focusable widget without children that draws itself and its ports. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

typedef struct _StudioCanvas StudioCanvas;

#define STUDIO_TYPE_NODE (studio_node_get_type ())
G_DECLARE_FINAL_TYPE (StudioNode, studio_node, STUDIO, NODE, GtkWidget)

StudioNode *studio_node_new (StudioCanvas *canvas, guint64 serial);
guint64 studio_node_get_serial (StudioNode *self);
const guint64 *studio_node_peek_serial (StudioNode *self);
guint studio_node_get_item (StudioNode *self);
/* Where in the scene its item is now; redraws when what it shows differs. */
void studio_node_update (StudioNode *self, const StudioScene *scene, guint item, gboolean selected);
/* Out of sight: thousands of cards that were seen once need not keep their pictures. */
void studio_node_hide (StudioNode *self);
/* Draws anew: theme, live value, ports lit. */
void studio_node_refresh (StudioNode *self, gboolean texts);
/* Name, description, state and the cards that it flows to. */
void studio_node_update_accessible (StudioNode *self, const StudioScene *scene, gboolean selected);
/* Its shapes, what is so of it, and its neighbours, for a screen reader (transfer full). */
char *studio_node_words (StudioCanvas *canvas, const StudioScene *scene, guint item);

G_END_DECLS
