/* Devices of a scene: badges of cards, and copies on wires. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* Gives cards the badge of a device that is not the run's, and wires across devices their copies, as the engine
 * foresees them. */
void studio_scene_add_devices (StudioScene *scene, const LoomNet *net);
/* Marks the cards whose device is none of these; NULL: it is not known which there are. */
void studio_scene_mark_away (StudioScene *scene, const char *const *devices);

G_END_DECLS
