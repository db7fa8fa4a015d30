/* Animates the view from one part of the graph to another. It only computes positions: the view follows. */
#pragma once

#include <gtk/gtk.h>

#include "ui/scene/studio-geometry.h"

typedef struct _CanvasFlight CanvasFlight;
/* Brings the point x, y of the canvas into the middle at this zoom; FALSE ends the flight, because the user has moved
 * the view. */
typedef gboolean (*CanvasFlightStep) (double x, double y, double zoom, gpointer data);

/* widget: the one whose frames are counted; it must outlive the flight. */
CanvasFlight *canvas_flight_new (GtkWidget *widget, CanvasFlightStep step, gpointer data);
void canvas_flight_free (CanvasFlight *self);

/* Whether animations are on and the widget is visible. */
gboolean canvas_flight_is_possible (const CanvasFlight *self);
/* The first step comes with the next frame. */
void canvas_flight_start (CanvasFlight *self, const StudioView *from, const StudioView *to);
/* The view stays where it is now. */
void canvas_flight_stop (CanvasFlight *self);
