/* Devices of a scene: badges of cards, and copies on wires. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Sets the badge of cards on another device than the run's, and the copies of wires across devices. */
void studio_scene_add_devices (StudioScene *scene, const LoomGraph *graph, const LoomNet *net);
/* Adds to wires what a pipeline stage sends to a later one in a step of one replica. Call it when stages are marked. */
void studio_scene_add_transfers (StudioScene *scene);
/* Marks cards whose device is not in the list; NULL: unknown. */
void studio_scene_mark_missing_devices (StudioScene *scene, const char *const *devices);
