/* Names of a state_dict as a tree, in the order in which its parts are likely to be computed. */
#pragma once

#include "engine/interop/loom-safetensors.h"
#include "engine/template/skeleton-private.h"

G_BEGIN_DECLS

/* The root, whose id is "". Sentences about what is left out are appended to left_out. */
SkeletonPart *skeleton_tree_new (const LoomSafetensors *file, GPtrArray *left_out);
void skeleton_part_free (SkeletonPart *part);
/* Sizes behind the channels of its own convolutions, or of those below it: 0 where there are none. */
int skeleton_part_spatial (const SkeletonPart *part);

G_END_DECLS
