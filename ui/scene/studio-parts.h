/* Parts of a scene whose graph is divided: the stage of a pipeline or else the device that a card is in, by a colour
 * and a mark, and which cards have weights that ranks share among them. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

/* As nodes name stages, and devices where there are no stages. */
void studio_scene_add_parts (StudioScene *scene, const LoomNet *net);
/* Weights as nodes and <parallel> say; the net is that of the graph as it is. */
void studio_scene_add_splits (StudioScene *scene, const LoomGraph *graph, const LoomNet *net);
/* Stages that were chosen by what nodes cost: path → GINT_TO_POINTER (stage + 1). NULL changes nothing. */
void studio_scene_set_stages (StudioScene *scene, GHashTable *stages);
/* "Stage 1 of the pipeline", "Stages 0 to 1 of the pipeline". NULL: the card is in none. (transfer full) */
char *studio_item_stage_words (const StudioItem *item);
/* "Each rank has a part of its weights: split="column"." NULL: each has them whole. (transfer full) */
char *studio_item_split_words (const StudioItem *item);

G_END_DECLS
