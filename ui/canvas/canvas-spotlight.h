/* The spotlight of a lesson or a slide: cards outside it are dimmed, with their wires. */
#pragma once

#include "ui/scene/studio-scene.h"

typedef struct _CanvasSpotlight CanvasSpotlight;

CanvasSpotlight *canvas_spotlight_new (void);
void canvas_spotlight_free (CanvasSpotlight *self);

/* Lights the nodes with these ids in one scope ("" is the graph, else an instance's path); NULL: every node is lit.
 * Returns whether anything changed. */
gboolean canvas_spotlight_set (CanvasSpotlight *self, const char *scope, const char *const *ids);
/* The opacity of an item's card, 0 to 1. scope is the path of the scene's scope. */
double canvas_spotlight_opacity (const CanvasSpotlight *self, const char *scope, const StudioScene *scene, guint item);
/* Sets the number of dimmed ends of each wire of the scene. */
void canvas_spotlight_mark_wires (const CanvasSpotlight *self, const char *scope, StudioScene *scene);
