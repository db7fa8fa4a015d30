/* A scene as a texture, for widgets that show the picture of a graph. */
#pragma once

#include <gdk/gdk.h>

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* Of width × height pixels; NULL of an empty scene (transfer full). */
GdkTexture *studio_graph_picture_new (const StudioScene *scene, int width, int height, gboolean dark);

G_END_DECLS
