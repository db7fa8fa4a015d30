/* Assigns faults to the cards of a scene, and finds the cards that only depend on another card's fault. For
 * studio-scene.c. */
#pragma once

#include "ui/scene/studio-scene.h"

/* Adds each fault to the card of its node. fix: as in studio_scene_new(). */
void scene_faults_add (StudioScene *scene, const LoomFaults *faults, StudioSceneFix fix, gpointer data);
/* Separates faults from their consequences: follows the wires from each faulty card, and marks cards without a type as
 * waiting for the first faulty card that reaches them. */
void scene_faults_follow (StudioScene *scene);
