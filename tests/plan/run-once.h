/* A step of a plan, for tests that compare plans. */
#pragma once

#include "engine/run/loom-exec.h"

/* The program's outputs in order, after one step from a new state. x: the data of the first input; NULL if the program
 * has none. */
static inline GPtrArray *
run_once (LoomDevices *devices, LoomPlan *plan /* taken */, const char *device, const float *x)
{
  GPtrArray *results = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, device, 1);
  g_autoptr (LoomExec) exec = loom_exec_new (plan, state, &error);

  g_assert_no_error (error);
  if (x != NULL)
    loom_exec_feed (exec, 0, x);
  g_assert_true (loom_exec_step (exec, &error));
  for (guint o = 0; o < loom_program_n_outputs (loom_plan_program (plan)); o++)
    g_ptr_array_add (results, loom_exec_output (exec, o, &error));
  g_assert_no_error (error);
  return results;
}
