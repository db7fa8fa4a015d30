/* The wires of a scene that has its cards and ports: lists of each port, types and labels. For studio-scene.c. */
#pragma once

#include "ui/scene/scene-change.h"

/* Removes from wires what others say of them: copies between devices, waypoints, faults, measured values. */
void scene_links_reset (StudioScene *scene, gboolean relabel);
/* Enters the wires into the lists of their ports, in the order of the file. If all have the ends that they had, only
 * the ports of cards with a changed wire lack them. */
void scene_links_list (const SceneChange *change);
/* Types the wires of outputs that are typed again, and of cards with a changed wire. An input has the type of the first
 * of its wires. */
void scene_links_type (SceneChange *change);
/* Marks the wires about which a card has an error. */
void scene_links_mark_faulty (StudioScene *scene);
