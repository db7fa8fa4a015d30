/* A command to the walk of a run's next step (step-walk.h). */
#pragma once

#include "engine/run/loom-stepper.h"

typedef enum
{
  LOOM_WALK_BEGIN,  /* the next step of the run, before its first node */
  LOOM_WALK_MOVE,   /* move */
  LOOM_WALK_FINISH, /* to the end of region */
  LOOM_WALK_GO_TO   /* to node in region */
} LoomWalkKind;

typedef struct
{
  LoomWalkKind kind;
  LoomStepperMove move;
  LoomRegion region;
  const char *node;
} LoomWalkCommand;
