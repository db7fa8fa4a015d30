/* The owners of memory (parameters, gradients, activations …), by which plans, runs and their events list bytes. */
#pragma once

#include <glib.h>

typedef enum
{
  LOOM_OWNER_PARAMETERS,
  LOOM_OWNER_GRADIENTS,
  LOOM_OWNER_OPTIMIZER,
  LOOM_OWNER_ACTIVATIONS,
  LOOM_OWNER_WORKSPACE,
  LOOM_OWNER_DATA,
  LOOM_N_OWNERS
} LoomOwner;

/* "parameters", the name in events and listings (plan-memory-owners.c). */
const char *loom_owner_name (LoomOwner owner);
