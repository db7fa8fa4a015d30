/* The measured seconds of each node, which views show as its fraction of a step.
 *
 * The eager executor computes the loss and the gradients of all weights, one primitive at a time, and each primitive's
 * time is added to its node. The training step itself fuses nodes, so it takes less than the sum, and parts of a fused
 * kernel have no node. The eager executor reads the state and commits nothing. */
#pragma once

#include "engine/train/train-data.h"
#include "engine/train/watched-state.h"

/* net is bound to the sample's size; sample: LoomTensor for each port of the data set. f32 [nodes]. (transfer full) */
LoomTensor *node_times_measure (const TrainModel *model, const TrainData *data, WatchedState *watched,
                                const LoomNet *net, const GPtrArray *sample, GError **error);
