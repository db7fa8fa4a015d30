/* Options of the canvas that each new scene gets before its cards are made: how wires and shapes are shown, the devices
 * of this machine, the stages of a pipeline, and times and health of a run. */
#pragma once

#include "ui/scene/studio-scene.h"

typedef struct _CanvasOptions CanvasOptions;

CanvasOptions *canvas_options_new (void);
void canvas_options_free (CanvasOptions *self);

/* Wires in right angles, else curved if nothing is in their way. Also sets it on this scene. */
void canvas_options_set_right_angles (CanvasOptions *self, gboolean on, StudioScene *scene);
/* How shapes are written on wires. Also sets it on this scene. */
void canvas_options_set_shapes (CanvasOptions *self, StudioShapes shapes, StudioScene *scene);
/* NULL-terminated; NULL: they are not known yet. */
void canvas_options_set_devices (CanvasOptions *self, const char *const *devices);
/* As studio_scene_set_stages() takes them; NULL: nodes name their stages, or there are none. Returns whether it is
 * another table. */
gboolean canvas_options_set_stages (CanvasOptions *self, GHashTable *stages);
/* Path → double *, seconds; NULL: nothing was measured. Also sets it on this scene. Returns FALSE if there were none
 * before either. */
gboolean canvas_options_set_times (CanvasOptions *self, GHashTable *seconds, StudioScene *scene);

/* LoomHealthNode; NULL: not measured. Also sets it on this scene, with its net. Returns FALSE if there was none before
 * either. */
gboolean canvas_options_set_health (CanvasOptions *self, GPtrArray *nodes, const LoomNet *net, StudioScene *scene);

/* Sets all but what a run measures on a new scene: cards are made from it. */
void canvas_options_apply (const CanvasOptions *self, StudioScene *scene);
/* Sets times and health, if any: after the cards are made, whose texts do not depend on them. */
void canvas_options_apply_measured (const CanvasOptions *self, const LoomNet *net, StudioScene *scene);
