/* Assigns nodes to the stages of a pipeline: as set in the graph, or so that stages take equally long. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "engine/train/loom-step.h"

/* The contents of a stage. */
typedef struct
{
  guint nodes;    /* of its own */
  double seconds; /* of its part of a step by the device's cost table, for all micro-batches together */
} LoomStageCost;

/* Determines the stages of an undivided training step. If nodes name stages, those: neighbouring stages share a rank if
 * there are more than `n`. Otherwise the nodes in the order of computation, cut so that the slowest stage takes the
 * least time by the cost table of the device; communication between stages is not counted. costs (may be NULL) receives
 * n elements. SCHEMA if the graph names fewer than n stages, or skips one; SHAPE if there are fewer computing nodes
 * than stages. */
LoomStages *loom_stages_choose (const LoomStep *step, int n, LoomDevices *devices, const char *device,
                                LoomStageCost *costs, GError **error);
