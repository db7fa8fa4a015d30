/* Which stage of a pipeline has which nodes: as the graph says, or so that stages take equally long. */
#pragma once

#include "engine/plan/loom-plan.h"
#include "engine/train/loom-step.h"

G_BEGIN_DECLS

/* What a stage has. */
typedef struct
{
  guint nodes;    /* of its own */
  double seconds; /* that its part of a step takes by the device's cost table, all micro-batches together */
} LoomStageCost;

/* The stages of an undivided training step. Where nodes name stages, those: neighbours share a rank where there are
 * more of them than `n`. Else nodes in the order of computing, cut so that the slowest stage takes least time by the
 * cost table of the device; what stages send to each other counts nothing. costs (may be NULL) receives n of them.
 * SCHEMA where the graph names fewer stages than n, or names one that no node is in; SHAPE where fewer nodes compute
 * than there are stages. */
LoomStages *loom_stages_choose (const LoomStep *step, int n, LoomDevices *devices, const char *device,
                                LoomStageCost *costs, GError **error);

G_END_DECLS
