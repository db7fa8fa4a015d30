/* Fits the graph into the canvas after the layout around it has settled. */
#pragma once

#include "ui/canvas/studio-canvas.h"

typedef struct _CanvasFitter CanvasFitter;

/* Called after the frames of waiting. TRUE: it has changed the layout, so the fitter waits again. */
typedef gboolean (*CanvasFitterSettled) (gpointer data);

CanvasFitter *canvas_fitter_new (StudioCanvas *canvas, CanvasFitterSettled settled, gpointer data);
void canvas_fitter_free (CanvasFitter *self);
void canvas_fitter_start (CanvasFitter *self);
