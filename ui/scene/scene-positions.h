/* Reads <layout> and <view> into a scene: positions of cards, heights of pins, frames and notes, and waypoints of
 * wires. For studio-scene.c. */
#pragma once

#include "ui/scene/scene-change.h"

/* Call after the scene has its items, sizes and links. version: of the graph of which it was. */
void scene_positions_read (StudioScene *scene, const LoomGraph *graph, const LoomElement *scope, guint64 version);
