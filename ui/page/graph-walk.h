/* The order in which a lecture visits the layers of a scene: the order of computation. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Returns the item that is visited after (by 1) or before (by -1) the item at, or STUDIO_NO_ITEM. at: STUDIO_NO_ITEM
 * for the first or the last. */
guint graph_walk_next (const StudioScene *scene, guint at, int by);
