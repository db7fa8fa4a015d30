/* A small picture of the whole scope over the canvas's corner, while not all of it is visible: dragging in it pans. */
#pragma once

#include "ui/canvas/studio-canvas.h"

#define STUDIO_TYPE_MINIMAP (studio_minimap_get_type ())
G_DECLARE_FINAL_TYPE (StudioMinimap, studio_minimap, STUDIO, MINIMAP, GtkWidget)

/* For an overlay of the canvas. */
StudioMinimap *studio_minimap_new (StudioCanvas *canvas);
/* Whether it may be shown; it is if the graph does not fit. */
void studio_minimap_set_wanted (StudioMinimap *self, gboolean wanted);
