/* Formats shapes in three forms: sizes, names of dimensions, or numbers of one batch. */
#pragma once

#include "ui/scene/studio-scene.h"

const char *studio_shapes_name (StudioShapes shapes); /* "sizes", "names", "numbers": for settings and actions */
StudioShapes studio_shapes_find (const char *name);   /* SIZES: unknown name */
/* Rebuilds the label of a wire: its shape and, tab-separated, the direction and the bytes of its copy. */
void studio_link_relabel (const StudioScene *scene, StudioLink *link);
/* Sets the form of all wires' shapes. */
void studio_scene_set_shapes (StudioScene *scene, StudioShapes shapes);
