/* Collapsed frames of a scene: the cards they replace, and the wires that cross their border. For studio-scene.c. */
#pragma once

#include "ui/scene/studio-scene.h"

/* The collapsed frames of a scope with at least one node (LoomElement). members: the id of each such node → the index
 * of its frame + 1; ids belong to the graph. */
GPtrArray *scene_frames_collapsed (const LoomElement *scope, GHashTable *members);
/* Fills the card of a collapsed frame, without ports; n: number of its nodes. */
void scene_frames_card (const LoomElement *frame, guint n, StudioItem *item);
/* Redirects links whose ends are hidden items, from scene->n_items on, to ports of their frames' cards, and drops links
 * within one. inputs and outputs: of each item a GArray of StudioPort; card: of each hidden item the card. Returns the
 * number of links left. */
guint scene_frames_lead (const StudioScene *scene, GPtrArray *inputs, GPtrArray *outputs, const guint *card,
                         StudioLink *link, guint n_links);
