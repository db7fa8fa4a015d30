/* Declares what the files of a skeleton share: tensors of a state_dict as a tree of names, and guesses of layers. */
#pragma once

#include "engine/core/loom-tensor.h"

/* A tensor of a layer, by the last part of its name: "weight". */
typedef struct
{
  char *name;
  LoomType type;
} SkeletonTensor;

/* A layer, as far as shapes determine it. */
typedef struct
{
  const char *op;       /* NULL for a batch norm, whose operator depends on its input */
  int spatial;          /* sizes after the channels; 0: features in the last dimension; -1: any */
  gint64 in, out;       /* features or channels */
  gboolean symbols;     /* its inputs are integers */
  GPtrArray *attribute; /* name, value, … */
} SkeletonLayer;

/* One part of names: "layer1" of "layer1.0.conv1.weight". */
typedef struct _SkeletonPart SkeletonPart;
struct _SkeletonPart
{
  char *id, *path;
  GPtrArray *parts;     /* SkeletonPart, in the order of the file, then of computation */
  GPtrArray *tensors;   /* SkeletonTensor: its own */
  SkeletonLayer *layer; /* NULL: its tensors are not those of a known layer */
};

void skeleton_layer_free (SkeletonLayer *layer);

/* The layer that has exactly these tensors. NULL with the reason, the end of a sentence that begins with the layer's
 * name, if there is none or several are possible. spatial: sizes after the channels in its scope. */
SkeletonLayer *skeleton_guess (const char *id, const GPtrArray *tensors, int spatial, char **why);

/* The operator of a batch norm for this number of sizes after the channels. */
const char *skeleton_batch_norm (int spatial);
