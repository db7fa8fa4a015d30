/* Reads the names of a state_dict as a tree, in the likely order of computation. */
#pragma once

#include "engine/interop/loom-safetensors.h"
#include "engine/template/skeleton-private.h"

/* Returns the root, whose id is "". Sentences about tensors that are left out are appended to left_out. */
SkeletonPart *skeleton_tree_new (const LoomTensorFile *file, GPtrArray *left_out);
void skeleton_part_free (SkeletonPart *part);
/* The number of sizes after the channels of its own convolutions, or of those below it; 0 if there are none. */
int skeleton_part_spatial (const SkeletonPart *part);
