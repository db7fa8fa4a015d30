/* Collapsed frames of a scene: which cards they stand for, and the wires that cross their border. For studio-scene.c.
 */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* The frames of a scope that are collapsed and stand for a node at least (LoomElement). members: the id of each such
 * node → the index of its frame + 1; ids belong to the graph. */
GPtrArray *scene_frames_collapsed (const LoomElement *scope, GHashTable *members);
/* Makes the card of a collapsed frame, all but its ports; n: of nodes that it stands for. */
void scene_frames_card (const LoomElement *frame, guint n, StudioItem *item);
/* Leads links whose ends are among the hidden items, from scene->n_items on, to ports of the cards that stand for them,
 * and drops links that are within one. inputs and outputs: of each item a GArray of StudioPort; card: of each hidden
 * item the card. Returns how many links are left. */
guint scene_frames_lead (const StudioScene *scene, GPtrArray *inputs, GPtrArray *outputs, const guint *card,
                         StudioLink *link, guint n_links);

G_END_DECLS
