/* Shared by the files of a skeleton: tensors of a state_dict as a tree of names, and guesses of layers. */
#pragma once

#include "engine/core/loom-tensor.h"

G_BEGIN_DECLS

/* A tensor of a layer, by the last part of its name: "weight". */
typedef struct
{
  char *name;
  LoomType type;
} SkeletonTensor;

/* A layer as far as shapes tell it. */
typedef struct
{
  const char *op;       /* NULL of a batch norm, whose operator follows from what comes */
  int spatial;          /* sizes behind the channels; 0: features in the last dimension; -1: whatever comes */
  gint64 in, out;       /* features or channels */
  gboolean symbols;     /* it takes whole numbers */
  GPtrArray *attribute; /* name, value, … */
} SkeletonLayer;

/* One part of names: "layer1" of "layer1.0.conv1.weight". */
typedef struct _SkeletonPart SkeletonPart;
struct _SkeletonPart
{
  char *id, *path;
  GPtrArray *parts;     /* SkeletonPart, in the order of the file, then of computing */
  GPtrArray *tensors;   /* SkeletonTensor: its own */
  SkeletonLayer *layer; /* NULL: its tensors are those of no layer that is known */
};

void skeleton_layer_free (SkeletonLayer *layer);

/* The layer that has exactly these tensors. NULL with the reason, the end of a sentence that begins with the layer's
 * name, where there is none or several are possible. spatial: sizes behind the channels of what is beside it. */
SkeletonLayer *skeleton_guess (const char *id, const GPtrArray *tensors, int spatial, char **why);

/* The operator of a batch norm for so many sizes behind the channels. */
const char *skeleton_batch_norm (int spatial);

G_END_DECLS
