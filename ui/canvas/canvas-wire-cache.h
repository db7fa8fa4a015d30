/* The wires of a view and their shape labels as render nodes, kept until they change: most frames only draw cards
 * again. */
#pragma once

#include "ui/canvas/canvas-wires.h"

typedef struct _CanvasWireCache CanvasWireCache;

CanvasWireCache *canvas_wire_cache_new (void);
void canvas_wire_cache_free (CanvasWireCache *self);

/* View, routes, selection or theme changed. */
void canvas_wire_cache_forget (CanvasWireCache *self);
/* Only the item with named ports changed. */
void canvas_wire_cache_forget_labels (CanvasWireCache *self);
/* The arguments are those of studio_wires_render() and studio_wires_render_shape_labels(), which are called if
 * something was forgotten. */
void canvas_wire_cache_snapshot (CanvasWireCache *self, GtkSnapshot *snapshot, const StudioScene *scene,
                                 const StudioView *view, const StudioTheme *theme, guint64 hidden,
                                 StudioIsSelected is_selected, gpointer data);
void canvas_wire_cache_snapshot_labels (CanvasWireCache *self, GtkSnapshot *snapshot, const StudioScene *scene,
                                        const StudioView *view, const StudioTheme *theme, guint named,
                                        PangoContext *context, GHashTable *layouts);
