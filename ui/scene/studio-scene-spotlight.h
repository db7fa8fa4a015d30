/* The spotlight of a lesson or a slide: cards outside it are dimmed, with their wires. */
#pragma once

#include "ui/scene/studio-scene.h"

typedef struct _StudioSceneSpotlight StudioSceneSpotlight;

StudioSceneSpotlight *studio_scene_spotlight_new (void);
void studio_scene_spotlight_free (StudioSceneSpotlight *self);

/* Lights the nodes with these ids in one scope ("" is the graph, else an instance's path); NULL: every node is lit.
 * Returns whether anything changed. */
gboolean studio_scene_spotlight_set (StudioSceneSpotlight *self, const char *scope, const char *const *ids);
/* The opacity of an item's card, 0 to 1. scope is the path of the scene's scope. */
double studio_scene_spotlight_opacity (const StudioSceneSpotlight *self, const char *scope, const StudioScene *scene,
                                       guint item);
/* Sets the number of dimmed ends of each wire of the scene. */
void studio_scene_spotlight_mark_wires (const StudioSceneSpotlight *self, const char *scope, StudioScene *scene);
