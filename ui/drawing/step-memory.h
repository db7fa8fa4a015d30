/* The memory along a step on one device, from the events of `gradloom plan --steps --json`: what Studio and
 * gradloom-picture draw (draw-step-memory.h) and write as a table. */
#pragma once

#include <json-glib/json-glib.h>

#include "engine/loom.h"

/* What is alive while one instruction runs. */
typedef struct
{
  guint part, index; /* the plan (0: the step, 1: the update) and the instruction's position in it */
  guint phase;       /* 0 setup, 1 forward, 2 backward, 3 update */
  char *node, *label;
  guint64 bytes[LOOM_N_OWNERS], total;
} StudioMoment;

/* A block of memory; alive from the instruction `first` of its plan to `last`. */
typedef struct
{
  guint part, first, last;
  char *node, *name; /* either may be NULL; name: a parameter's */
  LoomOwner owner;
  guint64 bytes;
} StudioStorage;

typedef struct
{
  char *device;
  GArray *moments;  /* StudioMoment */
  GArray *storages; /* StudioStorage */
  guint peak;       /* the moment with the most memory */
} StudioStepMemory;

/* events: JsonObject; others than steps and storages are skipped. NULL if there is no step. The device is the one with
 * the most memory. */
StudioStepMemory *studio_step_memory_new (GPtrArray *events);
void studio_step_memory_free (StudioStepMemory *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioStepMemory, studio_step_memory_free)

const StudioMoment *studio_step_memory_moment (const StudioStepMemory *self, guint i);
/* The number of a phase by its name in events; 0: unknown. */
guint studio_step_memory_phase (const char *name);
/* The blocks that are alive at a moment, the largest first. (transfer container) */
GPtrArray *studio_step_memory_alive (const StudioStepMemory *self, guint moment);
/* "step 12, conv1 conv2d+bias+relu: 7.7 MB. Largest: conv1 activations 2.9 MB, …" (transfer full) */
char *studio_step_memory_describe (const StudioStepMemory *self, guint moment);
/* The name of an owner for display. */
const char *studio_step_memory_owner (LoomOwner owner);
/* One row for each moment. (transfer full) */
char *studio_step_memory_to_csv (const StudioStepMemory *self);
