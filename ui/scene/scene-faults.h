/* Faults of a scene: which one each card shows, and which cards only wait for another's. For studio-scene.c. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* Gives each fault to the card that stands for its node. fix: as in studio_scene_new(). */
void scene_faults_add (StudioScene *scene, const LoomFaults *faults, StudioSceneFix fix, gpointer data);
/* Tells consequences of a fault from the fault itself: cards behind it have no type, and wait. Walks along the wires
 * from each faulty card; the first to reach a card is what it waits for. */
void scene_faults_follow (StudioScene *scene);

G_END_DECLS
