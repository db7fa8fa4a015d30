/* A small picture of the whole scope over the canvas's corner, while not all of it is seen: dragging in it pans. */
#pragma once

#include "ui/canvas/studio-canvas.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_MINIMAP (studio_minimap_get_type ())
G_DECLARE_FINAL_TYPE (StudioMinimap, studio_minimap, STUDIO, MINIMAP, GtkWidget)

/* To be laid over the canvas. */
StudioMinimap *studio_minimap_new (StudioCanvas *canvas);
/* Whether it may be seen; then it is where the graph does not fit. */
void studio_minimap_set_wanted (StudioMinimap *self, gboolean wanted);

G_END_DECLS
