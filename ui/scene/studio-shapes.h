/* Shapes in words: sizes, names of dimensions, or the numbers of one batch. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

const char *studio_shapes_name (StudioShapes shapes); /* "sizes", "names", "numbers": for settings and actions */
StudioShapes studio_shapes_find (const char *name);   /* SIZES where there is none of that name */
/* Writes the label of a wire anew: its shape and, behind tabulators, the way and the bytes of its copy. */
void studio_link_relabel (const StudioScene *scene, StudioLink *link);
/* Writes the shapes of all wires in this form. */
void studio_scene_set_shapes (StudioScene *scene, StudioShapes shapes);

G_END_DECLS
