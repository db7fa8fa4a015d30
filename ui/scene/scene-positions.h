/* Reads <layout> and <view> into a scene: positions of cards, heights of pins, frames and notes, and waypoints of
 * wires. For studio-scene.c. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* Call after the scene has its items, sizes and links. */
void scene_positions_read (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope);

G_END_DECLS
