/* The selected waypoint of a wire, which keys act on, and the waypoint that a drag displaces. */
#pragma once

#include "ui/canvas/canvas-gesture.h"
#include "ui/document/studio-document.h"

typedef struct _CanvasPoints CanvasPoints;

/* document must outlive this. */
CanvasPoints *canvas_points_new (StudioDocument *document);
void canvas_points_free (CanvasPoints *self);

/* The point that was pressed or added last; point STUDIO_NO_ITEM or wire 0: none was. */
void canvas_points_set (CanvasPoints *self, guint64 wire, guint point);
/* Finds it in a scene; FALSE: there is none, or its wire is not all that is selected. */
gboolean canvas_points_get (const CanvasPoints *self, const StudioScene *scene, guint *link, guint *point);

/* Displaces the point that the gesture has taken by dx, dy in the document's scene; 0, 0 takes it back. Returns whether
 * the wires have to be redrawn. */
gboolean canvas_points_bend (CanvasPoints *self, const StudioGesture *gesture, double dx, double dy);
/* The scene has its own points again. */
void canvas_points_forget_bend (CanvasPoints *self);
