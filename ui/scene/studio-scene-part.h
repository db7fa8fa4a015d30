/* Reduces a scene to some of its cards, for a picture of a selection. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Keeps the cards that `keeps` accepts, the wires between them, and the frames and notes that it accepts, by their
 * serials. Shapes, faults and positions stay as they are; wires find new ways, because fewer cards are around them. */
typedef gboolean (*StudioSceneKeeps) (guint64 serial, gpointer data);
void studio_scene_keep (StudioScene *scene, StudioSceneKeeps keeps, gpointer data);
