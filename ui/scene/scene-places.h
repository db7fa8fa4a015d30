/* Reads what <layout> and <view> say of a scene: places of cards, room for what hangs on them, frames and notes, and
 * points that wires are led through. For studio-scene.c. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* The scene's items and links are there, and have their sizes. */
void scene_places_read (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope);

G_END_DECLS
