/* A scalar slot of a run's state. */
#pragma once

#include "engine/run/loom-state.h"

static inline double
scalar_of (LoomState *state, const char *name)
{
  g_autoptr (GError) error = NULL;
  double value = 0;

  loom_state_get_scalar (state, name, &value, &error);
  g_assert_no_error (error);
  return value;
}
