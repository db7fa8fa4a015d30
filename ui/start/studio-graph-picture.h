/* Draws a scene into a GdkTexture, for thumbnails of graphs. */
#pragma once

#include <gdk/gdk.h>

#include "ui/scene/studio-scene.h"

/* width × height pixels; NULL for an empty scene (transfer full). */
GdkTexture *studio_graph_picture_new (const StudioScene *scene, int width, int height, gboolean dark);
