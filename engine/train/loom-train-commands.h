/* Commands from other threads to a run, and names of snapshots. */
#pragma once

#include <glib.h>

typedef enum
{
  LOOM_COMMAND_PAUSE,
  LOOM_COMMAND_RESUME,
  LOOM_COMMAND_STEP, /* one batch, then pause */
  LOOM_COMMAND_STOP, /* finishes the step, writes a checkpoint, evaluates nothing */
  LOOM_COMMAND_INTERRUPT,
  LOOM_COMMAND_CHECKPOINT,
  LOOM_COMMAND_SET_HYPER /* name, value */
} LoomCommandKind;

/* Names for loom_trainer_snapshot() that are no ports; see there. */
#define LOOM_SNAPSHOT_TIMES   "time:"
#define LOOM_SNAPSHOT_SAMPLES "samples:"
#define LOOM_SNAPSHOT_TRACE   "trace:"
#define LOOM_SNAPSHOT_NODES   "nodes:"
#define LOOM_SNAPSHOT_LOSSES  "losses:"
#define LOOM_SNAPSHOT_RANKS   "ranks:"
#define LOOM_SNAPSHOT_HEALTH  "health:"
