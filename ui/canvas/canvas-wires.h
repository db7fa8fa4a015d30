/* All wires of a view as one render node, and the grid of dots below them. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-geometry.h"
#include "ui/canvas/canvas-style.h"
#include "ui/drawing/draw-wires.h"

/* Wires that cross the view. hidden: one whose end is being dragged, or 0. (transfer full), may be NULL. */
GskRenderNode *studio_wires_render (const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                                    guint64 hidden, StudioIsSelected is_selected, gpointer data);
/* Shape labels, from STUDIO_ZOOM_SHAPE_LABELS on (sooner if text is larger), each if it covers no other. named: the
 * item of which the ports are named, which takes the positions of the labels of its wires; or STUDIO_NO_ITEM. layouts
 * caches texts (char * → PangoLayout) between calls. (transfer full), may be NULL. */
GskRenderNode *
studio_wires_render_shape_labels (const StudioScene *scene, const StudioView *view, const StudioTheme *theme,
                                  guint named, PangoContext *context, GHashTable *layouts);
void studio_wires_snapshot_grid (GtkSnapshot *snapshot, const StudioView *view, const StudioTheme *theme);
/* The wire that is being drawn, from the fixed end to the pointer. */
void
studio_wires_snapshot_loose (GtkSnapshot *snapshot, const StudioView *view, const StudioTheme *theme, StudioFlow flow,
                             double x0, double y0, double x1, double y1, const StudioColor *color);
