/* Marks the cards of a distributed graph: with the colour and number of their pipeline stage or device, and whether
 * ranks hold shards of their weights. */
#pragma once

#include "ui/scene/studio-scene.h"

/* As set in nodes: stages, or devices if there are no stages. */
void studio_scene_add_partitions (StudioScene *scene, const LoomNet *net);
/* As set in nodes and <parallel>; net must be of the current graph. */
void studio_scene_add_shards (StudioScene *scene, const LoomGraph *graph, const LoomNet *net);
/* Sets stages chosen by the planner: path → GINT_TO_POINTER (stage + 1). NULL: no change. */
void studio_scene_set_stages (StudioScene *scene, GHashTable *stages);
/* "Stage 1 of the pipeline", "Stages 0 to 1 of the pipeline". NULL: no stage. (transfer full) */
char *studio_item_stage_text (const StudioItem *item);
/* A sentence about the shards of its weights. NULL: each rank has whole weights. (transfer full) */
char *studio_item_split_text (const StudioItem *item);
